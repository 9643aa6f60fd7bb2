//! [`Value`]: what a Python literal can say.

/// A Python literal: `None`, booleans, numbers, strings, lists, tuples, dictionaries.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// An integer, `5L` and `np.int64(5)` included. Larger ones are refused by the parser.
    Int(i128),
    /// A floating-point number.
    Float(f64),
    /// A string, `u'…'` included.
    Str(String),
    /// A bytes literal, `b'…'`.
    Bytes(Vec<u8>),
    /// `[…]`
    List(Vec<Value>),
    /// `(…)`
    Tuple(Vec<Value>),
    /// `{…}` in the order of the text; keys are strings.
    Dict(Vec<(String, Value)>),
}

impl Value {
    /// The value of `key`, where this is a dictionary that has it (the last one, as in Python).
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Dict(entries) => entries.iter().rev().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }
}
