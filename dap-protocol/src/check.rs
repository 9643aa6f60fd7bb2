//! Validation: of one dictionary, of one rank's `dim_data`, and of the whole set of ranks.
//!
//! Nothing stops at the first mistake: every violation is listed, with a stable [`Code`]. What can
//! be read in spite of a broken rule is read in [`Strictness::Lenient`], with a [`Repair`] each.
//!
//! ```
//! use dap_protocol::check::{self, Strictness};
//! use dap_protocol::{ProtocolVersion, literal};
//! let text = "({'dist_type': 'n', 'size': 4}, {'dist_type': 'c', 'size': 9, 'proc_grid_size': 2})";
//! let value = literal::parse(text)?;
//! let found = check::dim_data(&value, None, ProtocolVersion::CURRENT, Strictness::Lenient);
//! assert_eq!(found.repairs[0].to_string(), "C6 axis 0: dist_type is 'n', read as 'b'");
//! let codes: Vec<_> = found.violations.iter().map(ToString::to_string).collect();
//! assert_eq!(codes, [
//!     "C1 axis 1: proc_grid_rank is missing, allowed: an integer",
//!     "C1 axis 1: start is missing, allowed: an integer",
//! ]);
//! # Ok::<(), literal::LiteralError>(())
//! ```

mod data;
mod dict;
mod reader;
mod set;
mod top;

use std::fmt;

pub use data::dim_data;
pub use dict::dim_dict;
pub use set::{SetReport, set, set_report};
pub use top::{dist_buffer, header, version};

use crate::{Code, ProtocolError, Violation};

/// What to do with a broken rule where the meaning is clear nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strictness {
    /// It is a violation.
    Strict,
    /// It is read, and reported as a [`Repair`].
    Lenient,
}

/// A broken rule that was read in spite of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
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
    /// What it was taken for.
    pub read_as: String,
}

impl fmt::Display for Repair {
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
        write!(f, "{}, read as {}", self.given, self.read_as)
    }
}

/// What was read, and everything that was found on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked<T> {
    /// What was read; there when no rule is broken beyond repair.
    pub value: Option<T>,
    /// Every broken rule.
    pub violations: Vec<Violation>,
    /// Every broken rule that was read in spite of it.
    pub repairs: Vec<Repair>,
}

impl<T> Checked<T> {
    /// The value and the repairs.
    ///
    /// # Errors
    /// [`ProtocolError::Violations`] with all of them.
    pub fn into_result(self) -> Result<(T, Vec<Repair>), ProtocolError> {
        match self.value {
            Some(value) if self.violations.is_empty() => Ok((value, self.repairs)),
            _ => Err(ProtocolError::Violations(self.violations)),
        }
    }

    /// The stable names of the violations, in the order found.
    #[must_use]
    pub fn codes(&self) -> Vec<Code> {
        self.violations.iter().map(|v| v.code).collect()
    }
}

#[cfg(test)]
mod tests;
