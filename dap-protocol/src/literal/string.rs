//! String and bytes literals, with Python's escapes.

use super::Value;
use super::error::{LiteralError, Reason};
use super::parse::{NoteKind, Parser};

/// One literal, or several in a row, which Python joins.
pub(super) fn strings(p: &mut Parser<'_>) -> Result<Value, LiteralError> {
    let mut joined = string(p)?;
    loop {
        let before = p.at;
        while matches!(p.peek(), Some(b' ' | b'\t' | b'\n' | b'\r' | 0x0c)) {
            p.at += 1;
        }
        if !starts_string(p) {
            p.at = before;
            return Ok(joined);
        }
        let at = p.at;
        match (&mut joined, string(p)?) {
            (Value::Str(a), Value::Str(b)) => a.push_str(&b),
            (Value::Bytes(a), Value::Bytes(b)) => a.extend(b),
            _ => {
                return Err(LiteralError {
                    offset: at,
                    reason: Reason::Prefix,
                });
            }
        }
    }
}

/// Whether a quote comes next, or up to two letters and a quote.
fn starts_string(p: &Parser<'_>) -> bool {
    for ahead in 0..3 {
        match p.peek_at(ahead) {
            Some(b'\'' | b'"') => return true,
            Some(b) if b.is_ascii_alphabetic() => {}
            _ => return false,
        }
    }
    false
}

fn string(p: &mut Parser<'_>) -> Result<Value, LiteralError> {
    let start = p.at;
    while p.peek().is_some_and(|b| b != b'\'' && b != b'"') {
        p.at += 1;
    }
    let (bytes, raw) = match p.text[start..p.at].to_ascii_lowercase().as_str() {
        "" => (false, false),
        "u" => {
            p.note(start, NoteKind::UnicodePrefix);
            (false, false)
        }
        "r" => (false, true),
        "b" => (true, false),
        "br" | "rb" => (true, true),
        _ => {
            p.at = start;
            return Err(p.error(Reason::Prefix));
        }
    };
    let one = &p.text[p.at..=p.at];
    let triple = p.text[p.at..].starts_with(&one.repeat(3));
    p.at += if triple { 3 } else { 1 };
    let end = if triple {
        one.repeat(3)
    } else {
        one.to_owned()
    };
    if bytes {
        let mut out = Vec::new();
        body(p, &end, raw, true, &mut |n| {
            out.push(u8::try_from(n).ok()?);
            Some(())
        })?;
        Ok(Value::Bytes(out))
    } else {
        let mut out = String::new();
        body(p, &end, raw, false, &mut |n| {
            out.push(char::from_u32(n)?);
            Some(())
        })?;
        Ok(Value::Str(out))
    }
}

/// Hands each character's number to `push`, up to and over the closing quote.
fn body(
    p: &mut Parser<'_>,
    end: &str,
    raw: bool,
    bytes: bool,
    push: &mut dyn FnMut(u32) -> Option<()>,
) -> Result<(), LiteralError> {
    loop {
        let rest = &p.text[p.at..];
        if rest.starts_with(end) {
            p.at += end.len();
            return Ok(());
        }
        let Some(c) = rest.chars().next() else {
            return Err(p.error(Reason::End("a closing quote")));
        };
        if matches!(c, '\n' | '\r') && end.len() == 1 {
            return Err(p.unexpected("a closing quote"));
        }
        if bytes && !c.is_ascii() {
            return Err(p.error(Reason::NotAscii));
        }
        if c == '\0' {
            return Err(p.unexpected("a character that is not null"));
        }
        if c == '\\' {
            let at = p.at;
            if raw {
                // The backslash stays, and so does a quote behind it.
                let next = rest[1..].chars().next();
                push(u32::from(c));
                p.at += 1;
                if let Some(next @ ('\\' | '\'' | '"')) = next {
                    push(u32::from(next));
                    p.at += 1;
                }
                continue;
            }
            p.at += 1;
            if escape(p, bytes, push)?.is_none() {
                p.at = at;
                return Err(p.error(Reason::Escape));
            }
            continue;
        }
        push(u32::from(c));
        p.at += c.len_utf8();
    }
}

/// What follows a backslash; `None` where it is malformed.
fn escape(
    p: &mut Parser<'_>,
    bytes: bool,
    push: &mut dyn FnMut(u32) -> Option<()>,
) -> Result<Option<()>, LiteralError> {
    let Some(byte) = p.peek() else {
        return Err(p.error(Reason::End("an escape")));
    };
    let simple = match byte {
        b'\n' => {
            p.at += 1;
            return Ok(Some(())); // a continued line
        }
        b'\\' | b'\'' | b'"' => Some(byte),
        b'a' => Some(7),
        b'b' => Some(8),
        b'f' => Some(12),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'v' => Some(11),
        _ => None,
    };
    if let Some(simple) = simple {
        p.at += 1;
        return Ok(push(u32::from(simple)));
    }
    let digits = match byte {
        b'0'..=b'7' => {
            let len = (1..3)
                .take_while(|&i| matches!(p.peek_at(i), Some(b'0'..=b'7')))
                .count()
                + 1;
            return Ok(code(p, len, 8).and_then(&mut *push));
        }
        b'x' => 2,
        b'u' if !bytes => 4,
        b'U' if !bytes => 8,
        b'N' if !bytes => return Ok(None), // names of characters are not carried along
        _ => {
            // Python keeps the backslash of an unknown escape.
            return Ok(push(u32::from(b'\\')));
        }
    };
    p.at += 1;
    Ok(code(p, digits, 16).and_then(&mut *push))
}

/// The number of `len` digits; `None` where there are fewer.
fn code(p: &mut Parser<'_>, len: usize, radix: u32) -> Option<u32> {
    let digits = p.text.get(p.at..p.at.checked_add(len)?)?;
    // from_str_radix would take a sign
    if !digits.bytes().all(|b| char::from(b).is_digit(radix)) {
        return None;
    }
    p.at += len;
    u32::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Reason, Value, parse};

    #[test]
    fn strings() {
        for (text, expected) in [
            (r#""it's""#, "it's"),
            (r"'\'\\\n\t\x41\101\u20ac\U0001F600'", "'\\\n\tAA€😀"),
            (r"'\d'", "\\d"),
            (r"r'\n\''", r"\n\'"),
            (r"U'a'", "a"),
            ("'é'", "é"),
            ("'''a'b\n'''", "a'b\n"),
            ("'a\\\nb'", "ab"),
            ("'a' \"b\"\n'c'", "abc"),
            ("''", ""),
        ] {
            assert_eq!(parse(text), Ok(expected.into()), "{text}");
        }
        for (text, expected) in [
            (r"b'\xff\0\u00e9'", &b"\xff\0\\u00e9"[..]),
            (r"B'a' b'b'", b"ab"),
            (r"Rb'\x'", b"\\x"),
        ] {
            assert_eq!(parse(text), Ok(Value::Bytes(expected.to_vec())), "{text}");
        }
    }

    #[test]
    fn no_strings() {
        for (text, offset, reason) in [
            ("'a", 2, Reason::End("a closing quote")),
            (r"'\", 2, Reason::End("an escape")),
            (r"['\x4g']", 2, Reason::Escape),
            (r"'\ud800'", 1, Reason::Escape),
            (r"'\U00110000'", 1, Reason::Escape),
            (r"'\u+123'", 1, Reason::Escape),
            (r"'\N{DASH}'", 1, Reason::Escape),
            (r"b'\777'", 2, Reason::Escape),
            ("b'é'", 2, Reason::NotAscii),
            ("f'a'", 0, Reason::Prefix),
            ("'a' b'b'", 4, Reason::Prefix),
        ] {
            let e = parse(text).unwrap_err();
            assert_eq!((e.offset, e.reason), (offset, reason), "{text}");
        }
        assert!(parse("'a\nb'").is_err());
        assert!(parse("'a\0b'").is_err());
    }
}
