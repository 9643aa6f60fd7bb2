//! Python literals: the text form of the protocol's metadata, as in a `.dnpy` header.

mod value;

pub use value::Value;
