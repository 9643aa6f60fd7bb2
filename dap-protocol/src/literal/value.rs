//! [`Value`]: what a Python literal can say.

/// A Python literal: `None`, booleans, numbers, strings, lists, tuples, dictionaries.
///
/// Its text ([`Display`](std::fmt::Display)) is Python's, in ASCII, with dictionary keys in
/// alphabetical order; floats that are not finite have no literal and print as `nan`, `inf`.
/// Two dictionaries are equal when their entries are, in any order.
#[derive(Clone, Debug)]
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
    /// `(…)`, and `array([…])`.
    Tuple(Vec<Value>),
    /// `{…}` in the order of the text; keys are strings, the parser leaves none twice.
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

    /// The elements of a list or tuple.
    #[must_use]
    pub fn as_sequence(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) | Self::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The integer, where this is one. A boolean is none, unlike in Python.
    #[must_use]
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// What Python calls the type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Float(_) => "float",
            Self::Str(_) => "str",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Tuple(_) => "tuple",
            Self::Dict(_) => "dict",
        }
    }
}

/// Entries in alphabetical order of the keys, of equal keys the last one only.
pub(super) fn sorted(entries: &[(String, Value)]) -> Vec<(&str, &Value)> {
    let mut out: Vec<(&str, &Value)> = entries.iter().rev().map(|(k, v)| (&**k, v)).collect();
    out.sort_by_key(|&(key, _)| key); // stable: of equal keys the later entry comes first
    out.dedup_by_key(|entry| entry.0);
    out
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::None, Self::None) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a == b,
            (Self::Str(a), Self::Str(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) | (Self::Tuple(a), Self::Tuple(b)) => a == b,
            (Self::Dict(a), Self::Dict(b)) => sorted(a) == sorted(b),
            _ => false,
        }
    }
}

macro_rules! from {
    ($($t:ty => $name:ident),* $(,)?) => {$(
        impl From<$t> for Value {
            fn from(value: $t) -> Self {
                Self::$name(value.into())
            }
        }
    )*};
}

from! { bool => Bool, i64 => Int, u64 => Int, i128 => Int, f64 => Float, &str => Str, String => Str }
