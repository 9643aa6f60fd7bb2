//! Python literals: the text form of the protocol's metadata, as in a `.dnpy` header.
//!
//! One parser, tolerant of what Python 2 and `NumPy` wrote, and one printer, strict: Python's own
//! spelling in ASCII, dictionary keys in alphabetical order.
//!
//! ```
//! use dap_protocol::literal::{self, Value};
//! let (value, notes) = literal::parse_with_notes("{u'stop': 5L, 'start': np.int64(0)}")?;
//! assert_eq!(value.get("stop"), Some(&Value::Int(5)));
//! assert_eq!(value.to_string(), "{'start': 0, 'stop': 5}");
//! assert_eq!(notes.len(), 3);
//! # Ok::<(), literal::LiteralError>(())
//! ```

mod error;
mod number;
mod parse;
mod print;
mod string;
mod value;

pub use error::{LiteralError, Reason};
pub use parse::{MAX_DEPTH, MAX_LEN, MAX_NOTES, Note, NoteKind, parse, parse_with_notes};
pub use value::Value;
