//! The parser: recursive descent over bytes, each read once.

use std::fmt;

use super::error::{LiteralError, Reason};
use super::{Value, number, string};

/// Brackets that may lie inside each other.
pub const MAX_DEPTH: usize = 32;

/// Bytes that a text may have: some 25 million indices.
pub const MAX_LEN: usize = 1 << 28;

/// Notes that are kept of one text; the last one then says that there are more.
pub const MAX_NOTES: usize = 10_000;

/// Something that Python 3's literals do not have, and that was read nevertheless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// Byte offset into the text.
    pub offset: usize,
    /// What was met.
    pub kind: NoteKind,
}

/// What a [`Note`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoteKind {
    /// `5L`: Python 2's long integer.
    LongInteger,
    /// `u'…'`: Python 2's text.
    UnicodePrefix,
    /// `b'…'` as a dictionary key, read as text.
    BytesKey,
    /// `np.int64(5)`, `np.str_('b')`, `np.True_`: a `NumPy` scalar, read as its value.
    NumpyScalar,
    /// `array([…])`: a `NumPy` array, read as a tuple.
    NumpyArray,
    /// A dictionary key that came before; the last value stands.
    DuplicateKey,
    /// More such spellings, from here on, than [`MAX_NOTES`].
    More,
}

impl fmt::Display for NoteKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LongInteger => "long integer of Python 2",
            Self::UnicodePrefix => "text prefix u",
            Self::BytesKey => "bytes as a dictionary key, read as text",
            Self::NumpyScalar => "NumPy scalar, read as its value",
            Self::NumpyArray => "NumPy array, read as a tuple",
            Self::DuplicateKey => "dictionary key a second time, the last value stands",
            Self::More => "more spellings like those before, not listed",
        })
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.kind)
    }
}

/// Reads one literal, the whole text; white space and comments around it are no part of it.
///
/// Time and memory are linear in the text: a list of short numbers takes up to fifty times its bytes while it is read.
///
/// # Errors
/// [`LiteralError`] with the byte offset.
pub fn parse(text: &str) -> Result<Value, LiteralError> {
    parse_with_notes(text).map(|(value, _)| value)
}

/// [`parse`], and what of it is no literal of today's Python.
///
/// # Errors
/// As [`parse`].
pub fn parse_with_notes(text: &str) -> Result<(Value, Vec<Note>), LiteralError> {
    if text.len() > MAX_LEN {
        return Err(LiteralError {
            offset: MAX_LEN,
            reason: Reason::Length,
        });
    }
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
        notes: Vec::new(),
    };
    let value = parser.value()?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.error(Reason::Trailing));
    }
    Ok((value, parser.notes))
}

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    depth: usize,
    notes: Vec<Note>,
}

type Result<T, E = LiteralError> = std::result::Result<T, E>;

impl<'a> Parser<'a> {
    /// The byte under the cursor.
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn error(&self, reason: Reason) -> LiteralError {
        LiteralError {
            offset: self.at,
            reason,
        }
    }

    /// The error that something else was expected here.
    pub(super) fn unexpected(&self, expected: &'static str) -> LiteralError {
        let rest = self.text.get(self.at..).unwrap_or("");
        self.error(
            rest.chars()
                .next()
                .map_or(Reason::End(expected), |found| Reason::Unexpected {
                    found,
                    expected,
                }),
        )
    }

    pub(super) fn note(&mut self, offset: usize, kind: NoteKind) {
        let kind = match self.notes.len() + 1 {
            ..MAX_NOTES => kind,
            MAX_NOTES => NoteKind::More,
            _ => return,
        };
        self.notes.push(Note { offset, kind });
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0c => self.at += 1,
                b'#' => {
                    while self.peek().is_some_and(|b| b != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Skips white space and takes `byte`, where it is next.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Result<Value> {
        self.skip_space();
        match self.peek() {
            Some(b'[') => self.nested(|p| p.items(b']').map(|(items, _)| Value::List(items))),
            Some(b'(') => self.nested(|p| {
                let (mut items, comma) = p.items(b')')?;
                // (5) is 5, (5,) is a tuple
                match items.pop() {
                    Some(only) if items.is_empty() && !comma => Ok(only),
                    last => {
                        items.extend(last);
                        Ok(Value::Tuple(items))
                    }
                }
            }),
            Some(b'{') => self.nested(Self::dict),
            Some(b'\'' | b'"') => string::strings(self),
            Some(b'0'..=b'9' | b'.' | b'-' | b'+') => number::number(self),
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => self.word(),
            _ => Err(self.unexpected("a value")),
        }
    }

    /// Steps over the opening bracket and reads with one more of the depth in use.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(Reason::Depth));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// Values up to `close`, and whether a comma came last.
    fn items(&mut self, close: u8) -> Result<(Vec<Value>, bool)> {
        let mut items = Vec::new();
        let mut comma = false;
        while !self.take(close) {
            if !items.is_empty() && !comma {
                return Err(self.unexpected("a comma or the closing bracket"));
            }
            items.push(self.value()?);
            comma = self.take(b',');
        }
        Ok((items, comma))
    }

    fn dict(&mut self) -> Result<Value> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        let mut offsets = Vec::new();
        let mut comma = true;
        while !self.take(b'}') {
            if !comma {
                return Err(self.unexpected("a comma or the closing brace"));
            }
            let offset = self.at;
            let key = match self.value()? {
                Value::Str(key) => key,
                Value::Bytes(key) if key.is_ascii() => {
                    self.note(offset, NoteKind::BytesKey);
                    key.into_iter().map(char::from).collect()
                }
                _ => {
                    self.at = offset;
                    return Err(self.error(Reason::Key));
                }
            };
            if !self.take(b':') {
                return Err(self.unexpected("a colon"));
            }
            entries.push((key, self.value()?));
            offsets.push(offset);
            comma = self.take(b',');
        }
        Ok(Value::Dict(self.last_of_each(entries, &offsets)))
    }

    /// Of equal keys the last value, at the first one's place, as Python has it.
    fn last_of_each(
        &mut self,
        entries: Vec<(String, Value)>,
        offsets: &[usize],
    ) -> Vec<(String, Value)> {
        let mut out: Vec<(String, Value)> = Vec::with_capacity(entries.len());
        let mut places = std::collections::HashMap::with_capacity(entries.len());
        for ((key, value), &offset) in entries.into_iter().zip(offsets) {
            if let Some(&place) = places.get(&key) {
                let entry: &mut (String, Value) = &mut out[place];
                entry.1 = value;
                self.note(offset, NoteKind::DuplicateKey);
            } else {
                places.insert(key.clone(), out.len());
                out.push((key, value));
            }
        }
        out
    }

    /// `name` or `module.name`.
    fn name(&mut self) -> &'a str {
        let start = self.at;
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
        {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    /// A constant, a string with a prefix, a `NumPy` scalar or array.
    fn word(&mut self) -> Result<Value> {
        let start = self.at;
        let full = self.name();
        if matches!(self.peek(), Some(b'\'' | b'"')) {
            self.at = start;
            return string::strings(self);
        }
        let (qualified, name) = match full
            .strip_prefix("np.")
            .or_else(|| full.strip_prefix("numpy."))
        {
            Some(name) => (true, name),
            None => (false, full),
        };
        match name {
            "None" if !qualified => Ok(Value::None),
            "True" if !qualified => Ok(Value::Bool(true)),
            "False" if !qualified => Ok(Value::Bool(false)),
            "True_" | "False_" if qualified => {
                self.note(start, NoteKind::NumpyScalar);
                Ok(Value::Bool(name == "True_"))
            }
            "nan" | "inf" => {
                self.at = start;
                Err(self.error(Reason::NotFinite))
            }
            _ if self.peek() == Some(b'(') => self.call(start, name),
            _ => {
                self.at = start;
                Err(self.error(Reason::Name(crate::error::excerpt(full))))
            }
        }
    }

    fn call(&mut self, start: usize, name: &str) -> Result<Value> {
        let fits: fn(&Value) -> bool = match name {
            "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
            | "intc" | "uintc" | "longlong" | "ulonglong" | "intp" | "uintp" | "int_" | "uint"
            | "long" | "ulong" => |v| matches!(v, Value::Int(_)),
            "float16" | "float32" | "float64" => |v| matches!(v, Value::Float(_) | Value::Int(_)),
            "bool_" | "bool" => |v| matches!(v, Value::Bool(_)),
            "str_" => |v| matches!(v, Value::Str(_)),
            "bytes_" => |v| matches!(v, Value::Bytes(_)),
            "array" => return self.nested(|p| p.array(start)),
            _ => {
                self.at = start;
                return Err(self.error(Reason::Name(crate::error::excerpt(name))));
            }
        };
        self.note(start, NoteKind::NumpyScalar);
        let value = self.nested(Self::value)?;
        if !self.take(b')') {
            return Err(self.unexpected("a closing bracket"));
        }
        if !fits(&value) {
            self.at = start;
            return Err(self.error(Reason::Argument(name.to_owned())));
        }
        Ok(value)
    }

    /// `[…])` as a tuple, which is what is written for it, or with `dtype=…` and `shape=…` before the bracket.
    fn array(&mut self, start: usize) -> Result<Value> {
        self.note(start, NoteKind::NumpyArray);
        self.skip_space();
        if self.peek() != Some(b'[') {
            return Err(self.unexpected("a list"));
        }
        let value = match self.value()? {
            Value::List(items) => Value::Tuple(items),
            other => other,
        };
        while self.take(b',') {
            self.skip_space();
            match self.name() {
                "dtype" if self.take(b'=') => {
                    self.skip_space();
                    if matches!(self.peek(), Some(b'\'' | b'"')) {
                        string::strings(self)?;
                    } else if self.name().is_empty() {
                        return Err(self.unexpected("an element type"));
                    }
                }
                "shape" if self.take(b'=') => {
                    self.value()?;
                }
                "" if self.peek() == Some(b')') => {}
                _ => return Err(self.unexpected("dtype=, shape= or a closing bracket")),
            }
        }
        if !self.take(b')') {
            return Err(self.unexpected("a comma or the closing bracket"));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(text: &str) -> String {
        parse(text).map_or_else(
            |e| format!("{} {:?}", e.offset, e.reason),
            |v| v.to_string(),
        )
    }

    fn kinds(text: &str) -> Vec<(usize, NoteKind)> {
        let (_, notes) = parse_with_notes(text).unwrap();
        notes.into_iter().map(|n| (n.offset, n.kind)).collect()
    }

    #[test]
    fn what_python_reads() {
        for (text, expected) in [
            (" () \n", "()"),
            ("(5)", "5"),
            ("(5,)", "(5,)"),
            ("((5))", "5"),
            ("(1, 2, )", "(1, 2)"),
            ("[]", "[]"),
            ("[1,\n 2,]", "[1, 2]"),
            ("{}", "{}"),
            ("{'b': 1, 'a': None, }", "{'a': None, 'b': 1}"),
            ("{'b': 1} # hi", "{'b': 1}"),
            ("# first\n[True, # yes\nFalse]", "[True, False]"),
            ("('a' 'b')", "'ab'"),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_python_2_and_numpy_wrote() {
        use NoteKind::{
            BytesKey, DuplicateKey, LongInteger, NumpyArray, NumpyScalar, UnicodePrefix,
        };
        for (text, expected, notes) in [
            ("5L", "5", vec![(0, LongInteger)]),
            ("u'b'", "'b'", vec![(0, UnicodePrefix)]),
            ("b'b'", "b'b'", vec![]),
            ("np.int64(5)", "5", vec![(0, NumpyScalar)]),
            ("numpy.int64(-5)", "-5", vec![(0, NumpyScalar)]),
            ("np.str_('b')", "'b'", vec![(0, NumpyScalar)]),
            ("np.bool_(True)", "True", vec![(0, NumpyScalar)]),
            ("[np.False_]", "[False]", vec![(1, NumpyScalar)]),
            ("np.float64(1.5)", "1.5", vec![(0, NumpyScalar)]),
            ("array([3, 1])", "(3, 1)", vec![(0, NumpyArray)]),
            (
                "array([3,\n   1], dtype=int64)",
                "(3, 1)",
                vec![(0, NumpyArray)],
            ),
            ("np.array([], dtype='<i8')", "()", vec![(0, NumpyArray)]),
            (
                "array([], shape=(0, 2), dtype=int64)",
                "()",
                vec![(0, NumpyArray)],
            ),
            ("{b'a': 1}", "{'a': 1}", vec![(1, BytesKey)]),
            ("{'a': 1, 'a': 2}", "{'a': 2}", vec![(9, DuplicateKey)]),
        ] {
            assert_eq!(printed(text), expected, "{text}");
            assert_eq!(kinds(text), notes, "{text}");
        }
    }

    #[test]
    fn what_is_refused_says_where() {
        for (text, expected) in [
            ("", "0 End(\"a value\")"),
            ("[1", "2 End(\"a comma or the closing bracket\")"),
            (
                "[1 2]",
                "3 Unexpected { found: '2', expected: \"a comma or the closing bracket\" }",
            ),
            ("[,]", "1 Unexpected { found: ',', expected: \"a value\" }"),
            ("{1: 2}", "1 Key"),
            ("{1, 2}", "1 Key"),
            (
                "{'a'}",
                "4 Unexpected { found: '}', expected: \"a colon\" }",
            ),
            (
                "(1+1,)",
                "2 Unexpected { found: '+', expected: \"a comma or the closing bracket\" }",
            ),
            ("__import__('os')", "0 Name(\"__import__\")"),
            ("str(1)", "0 Name(\"str\")"),
            ("nan", "0 NotFinite"),
            ("[-inf]", "2 NotFinite"),
            ("array([0, 1, ..., 9])", "13 Lossy"),
            ("np.int64('5')", "0 Argument(\"int64\")"),
            ("1 1", "2 Trailing"),
            ("'a", "2 End(\"a closing quote\")"),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(&nested(MAX_DEPTH)).is_ok());
        let e = parse(&nested(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!((e.offset, e.reason), (MAX_DEPTH, Reason::Depth));
        assert!(parse(&"(".repeat(100_000)).is_err());
        assert!(parse(&"np.int64(".repeat(100_000)).is_err());
    }
}
