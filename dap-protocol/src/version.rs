//! Versions of the protocol: `major.minor.patch`, compatible within 0.9 and 0.10.

use std::fmt;
use std::str::FromStr;

use crate::ProtocolError;

/// A version of the Distributed Array Protocol, as in the `__version__` key.
///
/// ```
/// use dap_protocol::ProtocolVersion;
/// let v: ProtocolVersion = "0.9.1".parse()?;
/// assert!(v.is_supported() && v < ProtocolVersion::CURRENT);
/// assert!("0.10.0a1".parse::<ProtocolVersion>().is_err());
/// # Ok::<(), dap_protocol::ProtocolError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion {
    major: u32,
    minor: u32,
    patch: u32,
}

impl ProtocolVersion {
    /// 0.9.0, the first published version.
    pub const V0_9_0: Self = Self::new(0, 9, 0);
    /// 0.10.0, the version that this crate writes.
    pub const V0_10_0: Self = Self::new(0, 10, 0);
    /// What writers of this workspace emit.
    pub const CURRENT: Self = Self::V0_10_0;

    /// The version `major.minor.patch`.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// The three numbers, major first.
    #[must_use]
    pub const fn parts(self) -> (u32, u32, u32) {
        (self.major, self.minor, self.patch)
    }

    /// Whether this crate reads metadata of this version: 0.9.x and 0.10.x.
    #[must_use]
    pub const fn is_supported(self) -> bool {
        self.major == 0 && (self.minor == 9 || self.minor == 10)
    }

    /// Whether padding at the outer edge of a *periodic* dimension is owned, that is counted in
    /// `size`: 0.10 says so, 0.9 calls it communication padding.
    #[must_use]
    pub const fn periodic_edge_is_owned(self) -> bool {
        !(self.major == 0 && self.minor == 9)
    }
}

impl Default for ProtocolVersion {
    fn default() -> Self {
        Self::CURRENT
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for ProtocolVersion {
    type Err = ProtocolError;

    /// Parses exactly `major.minor.patch`, decimal digits only.
    ///
    /// # Errors
    /// [`ProtocolError::Version`] for anything else, a supported version or not.
    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        let number = |part: &str| {
            let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| part.parse::<u32>().ok()).flatten()
        };
        let mut parts = text.split('.').map(number);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => {
                Ok(Self::new(major, minor, patch))
            }
            _ => Err(ProtocolError::Version {
                given: crate::error::excerpt(text),
            }),
        }
    }
}
