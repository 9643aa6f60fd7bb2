//! [`Repair`]: what was not as the format says, and was read nevertheless.

use std::fmt;

use dap_protocol::check;
use dap_protocol::literal::NoteKind;

/// A departure from the format that a reader took and put right.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// A spelling of Python 2 or `NumPy` in the header's text: `5L`, `u'b'`, `np.int64(5)`.
    Spelling {
        /// Where, in bytes from the start of the file.
        offset: u64,
        /// What it is.
        kind: NoteKind,
    },
    /// A value that the protocol spells otherwise, in `__version__` or `dim_data`.
    Metadata(check::Repair),
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spelling { offset, kind } => write!(f, "byte {offset}: {kind}"),
            Self::Metadata(repair) => write!(f, "{repair}"),
        }
    }
}
