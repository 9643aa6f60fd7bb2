//! [`SaveId`]: which save a file belongs to.

use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::str::FromStr;
use std::time::SystemTime;

/// The identity of one save by all ranks: a random number, in text 16 hexadecimal digits.
///
/// One rank makes it and tells it to all others.
///
/// ```
/// use dnpy_format::SaveId;
/// let id = SaveId::random();
/// assert_eq!(SaveId::from_bytes(id.to_bytes()), id);
/// assert_eq!(id.to_string().parse(), Ok(id));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SaveId(u64);

impl SaveId {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        // the keys of a `RandomState` come from the operating system; time and process keep two
        // ids apart that are made from related keys
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        hasher.write_u128(now.map_or(0, |d| d.as_nanos()));
        Self(hasher.finish())
    }

    /// Eight bytes, for a broadcast.
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }

    /// The id of eight bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 8]) -> Self {
        Self(u64::from_le_bytes(bytes))
    }
}

impl fmt::Display for SaveId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A text that is no [`SaveId`]: anything but 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a save id is 16 lower-case hexadecimal digits")]
pub struct ParseSaveIdError;

impl FromStr for SaveId {
    type Err = ParseSaveIdError;

    fn from_str(text: &str) -> Result<Self, ParseSaveIdError> {
        let digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() != 16 || !text.bytes().all(digit) {
            return Err(ParseSaveIdError);
        }
        u64::from_str_radix(text, 16)
            .map(Self)
            .map_err(|_| ParseSaveIdError)
    }
}
