//! The printer: Python's `ascii()`, with dictionary keys sorted.

use std::fmt::{self, Write};

use super::value::{Value, sorted};

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(n) => write!(f, "{n}"),
            Self::Float(x) => float(f, *x),
            Self::Str(text) => string(f, text),
            Self::Bytes(bytes) => bytes_literal(f, bytes),
            Self::List(items) => {
                f.write_str("[")?;
                sequence(f, items)?;
                f.write_str("]")
            }
            Self::Tuple(items) => {
                f.write_str("(")?;
                sequence(f, items)?;
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Self::Dict(entries) => {
                f.write_str("{")?;
                for (i, (key, value)) in sorted(entries).into_iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    string(f, key)?;
                    write!(f, ": {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn sequence(f: &mut fmt::Formatter<'_>, items: &[Value]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        write!(f, "{item}")?;
    }
    Ok(())
}

/// Shortest digits that read back; an exponent below 1e-4 and from 1e16 on, as Python has it.
fn float(f: &mut fmt::Formatter<'_>, x: f64) -> fmt::Result {
    if x.is_nan() {
        return f.write_str("nan");
    }
    if x.is_infinite() {
        return f.write_str(if x > 0.0 { "inf" } else { "-inf" });
    }
    let scientific = format!("{x:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(f, "{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
    write!(f, "{x:?}")
}

/// Single quotes, unless the text has one and no double quote.
fn quote(has_single: bool, has_double: bool) -> char {
    if has_single && !has_double { '"' } else { '\'' }
}

fn string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = quote(text.contains('\''), text.contains('"'));
    f.write_char(quote)?;
    for c in text.chars() {
        match u32::from(c) {
            _ if c == quote => write!(f, "\\{c}")?,
            0..0x80 => ascii(f, c)?,
            n @ 0x80..0x100 => write!(f, "\\x{n:02x}")?,
            n @ 0x100..0x1_0000 => write!(f, "\\u{n:04x}")?,
            n => write!(f, "\\U{n:08x}")?,
        }
    }
    f.write_char(quote)
}

fn bytes_literal(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    let quote = quote(bytes.contains(&b'\''), bytes.contains(&b'"'));
    write!(f, "b{quote}")?;
    for &byte in bytes {
        match byte {
            _ if char::from(byte) == quote => write!(f, "\\{quote}")?,
            0..0x80 => ascii(f, char::from(byte))?,
            _ => write!(f, "\\x{byte:02x}")?,
        }
    }
    f.write_char(quote)
}

fn ascii(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '\\' => f.write_str("\\\\"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        ' '..='~' => f.write_char(c),
        _ => write!(f, "\\x{:02x}", u32::from(c)),
    }
}

#[cfg(test)]
mod tests {
    use super::Value;

    #[test]
    fn values_print_as_python_does() {
        let dict = Value::Dict(vec![
            ("stop".into(), Value::Int(5)),
            ("dist_type".into(), "b".into()),
            ("stop".into(), Value::Int(6)),
        ]);
        for (value, text) in [
            (Value::Tuple(vec![]), "()"),
            (Value::Tuple(vec![Value::Int(-1)]), "(-1,)"),
            (
                Value::Tuple(vec![Value::None, Value::Bool(true)]),
                "(None, True)",
            ),
            (Value::List(vec![Value::Int(1)]), "[1]"),
            (dict, "{'dist_type': 'b', 'stop': 6}"),
            ("it's".into(), "\"it's\""),
            ("'\"".into(), "'\\'\"'"),
            (
                "\u{e9}\u{20ac}\u{1f600}\0\n".into(),
                "'\\xe9\\u20ac\\U0001f600\\x00\\n'",
            ),
            (Value::Bytes(vec![0, b'a', 0xff]), "b'\\x00a\\xff'"),
        ] {
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn floats_print_as_python_does() {
        for (x, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (0.000_01, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (123_456_789_012_345.0, "123456789012345.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e100, "1.25e+100"),
        ] {
            assert_eq!(Value::Float(x).to_string(), text);
        }
    }
}
