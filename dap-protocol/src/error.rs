//! What can be wrong: [`Violation`], one broken rule with its clause, and [`ProtocolError`].

use std::fmt;

use crate::ProtocolVersion;

/// The rule of the protocol that a [`Violation`] breaks. The text form ([`Code::as_str`]) is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Code {
    /// `T1`: the top level has exactly the keys `__version__`, `buffer`, `dim_data`.
    T1,
    /// `T2`: `__version__` is a supported `major.minor.patch`.
    T2,
    /// `D1`: `dim_data` is a tuple of dictionaries.
    D1,
    /// `D2`: one dictionary per dimension of the buffer.
    D2,
    /// `C1`: a required key is there.
    C1,
    /// `C2`: a value has the type that its key asks for.
    C2,
    /// `C3`: `size` is in `0..=i64::MAX`.
    C3,
    /// `C4`: `proc_grid_size` is at least 1.
    C4,
    /// `C5`: `proc_grid_rank` is in `0..proc_grid_size`.
    C5,
    /// `C6`: `dist_type` is one of `b`, `c`, `u`.
    C6,
    /// `C7`: a key belongs to its `dist_type`.
    C7,
    /// `C8`: the buffer's extent is what the dictionary describes.
    C8,
    /// `B1`: block: `start` is not negative.
    B1,
    /// `B2`: block: `start` does not exceed `stop`.
    B2,
    /// `B3`: block: `padding` is two counts that are not negative.
    B3,
    /// `B4`: block: `stop` does not exceed `size`.
    B4,
    /// `B5`: block: padding fits into `stop - start`.
    B5,
    /// `B6`: block: the first rank of the grid starts at 0, unless it holds nothing.
    B6,
    /// `K1`: cyclic: `block_size` is at least 1.
    K1,
    /// `K2`: cyclic: `start` is `proc_grid_rank * block_size`, or at least `size` when nothing is held.
    K2,
    /// `U1`: unstructured: `indices` are integers, in one dimension.
    U1,
    /// `U2`: unstructured: no index twice on one rank.
    U2,
    /// `S1`: whole set: the product of the grid sizes is the number of ranks, each rank once.
    S1,
    /// `S2`: whole set: ranks of one grid coordinate carry the same dictionary (padding apart).
    S2,
    /// `S3`: whole set: ranks agree on `size`, `dist_type`, `proc_grid_size`, `block_size`, and the number of dimensions.
    S3,
    /// `S4`: whole set: blocks tile `0..size` without a gap or an overlap beyond the padding.
    S4,
    /// `S5`: whole set: communication padding has its counterpart on the neighbour.
    S5,
    /// `S6`: whole set: communication padding does not exceed what the neighbour owns.
    S6,
    /// `S7`: whole set: the owned counts sum to `size`.
    S7,
    /// `S8`: whole set: with `one_to_one` no index lies on two ranks.
    S8,
    /// `S9`: whole set: ranks agree on `__version__`.
    S9,
}

impl Code {
    /// All of them, in the order of this list.
    pub const ALL: [Self; 31] = [
        Self::T1,
        Self::T2,
        Self::D1,
        Self::D2,
        Self::C1,
        Self::C2,
        Self::C3,
        Self::C4,
        Self::C5,
        Self::C6,
        Self::C7,
        Self::C8,
        Self::B1,
        Self::B2,
        Self::B3,
        Self::B4,
        Self::B5,
        Self::B6,
        Self::K1,
        Self::K2,
        Self::U1,
        Self::U2,
        Self::S1,
        Self::S2,
        Self::S3,
        Self::S4,
        Self::S5,
        Self::S6,
        Self::S7,
        Self::S8,
        Self::S9,
    ];

    /// The stable name, for instance `"B4"`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::T1 => "T1",
            Self::T2 => "T2",
            Self::D1 => "D1",
            Self::D2 => "D2",
            Self::C1 => "C1",
            Self::C2 => "C2",
            Self::C3 => "C3",
            Self::C4 => "C4",
            Self::C5 => "C5",
            Self::C6 => "C6",
            Self::C7 => "C7",
            Self::C8 => "C8",
            Self::B1 => "B1",
            Self::B2 => "B2",
            Self::B3 => "B3",
            Self::B4 => "B4",
            Self::B5 => "B5",
            Self::B6 => "B6",
            Self::K1 => "K1",
            Self::K2 => "K2",
            Self::U1 => "U1",
            Self::U2 => "U2",
            Self::S1 => "S1",
            Self::S2 => "S2",
            Self::S3 => "S3",
            Self::S4 => "S4",
            Self::S5 => "S5",
            Self::S6 => "S6",
            Self::S7 => "S7",
            Self::S8 => "S8",
            Self::S9 => "S9",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One broken rule: which, where, what was given and what is allowed.
///
/// Its text reads `B4 axis 1 rank 3: stop is 12, allowed: at most 9 (size)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub code: Code,
    /// The dimension, where one is meant.
    pub axis: Option<usize>,
    /// The rank, where one is meant: a rank of the whole grid in a whole-set check.
    pub rank: Option<usize>,
    /// The dictionary key, where one is meant.
    pub key: Option<String>,
    /// What was found.
    pub given: String,
    /// What the rule allows.
    pub allowed: String,
}

impl Violation {
    /// A violation of `code` at no particular place yet.
    pub fn new(code: Code, given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self {
            code,
            axis: None,
            rank: None,
            key: None,
            given: given.into(),
            allowed: allowed.into(),
        }
    }

    /// The same, naming a dictionary key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The same, naming a dimension.
    #[must_use]
    pub fn axis(mut self, axis: usize) -> Self {
        self.axis = Some(axis);
        self
    }

    /// The same, naming a rank.
    #[must_use]
    pub fn rank(mut self, rank: usize) -> Self {
        self.rank = Some(rank);
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.code)?;
        if let Some(axis) = self.axis {
            write!(f, " axis {axis}")?;
        }
        if let Some(rank) = self.rank {
            write!(f, " rank {rank}")?;
        }
        f.write_str(": ")?;
        if let Some(key) = &self.key {
            write!(f, "{key} is ")?;
        }
        write!(f, "{}, allowed: {}", self.given, self.allowed)
    }
}

/// Everything that this crate can refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtocolError {
    /// Rules of the protocol are broken; all of them are listed, never an empty list.
    #[error("DAP {}: {} violation(s): {}", ProtocolVersion::CURRENT, .0.len(), join(.0))]
    Violations(Vec<Violation>),
    /// `__version__` is not of the form `major.minor.patch`.
    #[error("protocol version {given:?} is not of the form major.minor.patch")]
    Version {
        /// The start of what was given.
        given: String,
    },
    /// A well-formed version that this crate does not know.
    #[error("protocol version {given} is not supported, allowed: 0.9.x and 0.10.x")]
    UnsupportedVersion {
        /// What was given.
        given: ProtocolVersion,
    },
    /// The buffer has another number of dimensions than the metadata.
    #[error("the buffer has {given} dimension(s), dim_data describes {expected}")]
    BufferRank {
        /// Dimensions of the buffer.
        given: usize,
        /// Dimensions of the metadata.
        expected: usize,
    },
    /// The buffer's extent along an axis is not what the metadata describes.
    #[error("axis {axis}: the buffer's extent is {given}, dim_data describes {expected}{}", hint.unwrap_or(""))]
    BufferShape {
        /// The dimension.
        axis: usize,
        /// Extent of the buffer, in elements.
        given: u64,
        /// Extent by the metadata, padding included, in elements.
        expected: u64,
        /// What is probably the matter, where it is known.
        hint: Option<&'static str>,
    },
    /// A shape and the number of elements that came with it do not fit.
    #[error("shape {shape:?} holds {expected:?} element(s), {given} were given")]
    ElementCount {
        /// The shape.
        shape: Vec<usize>,
        /// Its product, `None` where that overflows.
        expected: Option<usize>,
        /// Elements given.
        given: usize,
    },
    /// Two element types that had to be the same are not.
    #[error("element type is {given}, expected {expected}")]
    ElementType {
        /// What was given.
        given: crate::ElementType,
        /// What was expected.
        expected: crate::ElementType,
    },
    /// A product or sum of sizes exceeds 64 bits.
    #[error("{what} overflows 64 bits")]
    Overflow {
        /// The quantity, for instance `"global size"`.
        what: &'static str,
    },
    /// A coordinate or rank lies outside the process grid.
    #[error("{what} {given} is outside the process grid, allowed: 0..{len}")]
    OutsideGrid {
        /// `"rank"` or `"coordinate"`.
        what: &'static str,
        /// What was given.
        given: usize,
        /// One past the last.
        len: usize,
    },
    /// A key of the protocol where one of another's own was asked for.
    #[error("the key {key:?} is the protocol's own where dist_type is '{dist_type}'")]
    ReservedKey {
        /// The key.
        key: String,
        /// `"b"`, `"c"` or `"u"`.
        dist_type: &'static str,
    },
    /// A value under a key that the protocol does not know, which could not be read back.
    #[error("the value of key {key:?} is {given}, allowed: {allowed}")]
    ExtraValue {
        /// The start of the key.
        key: String,
        /// What is in it.
        given: &'static str,
        /// What can be read back.
        allowed: String,
    },
    /// As many coordinates as the process grid has dimensions are needed.
    #[error("{given} coordinate(s) were given, the process grid has {expected} dimension(s)")]
    CoordinateCount {
        /// Coordinates given.
        given: usize,
        /// Dimensions of the grid.
        expected: usize,
    },
}

impl From<Violation> for ProtocolError {
    fn from(violation: Violation) -> Self {
        Self::Violations(vec![violation])
    }
}

fn join(violations: &[Violation]) -> String {
    violations
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// At most 80 characters of untrusted text, for an error.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
