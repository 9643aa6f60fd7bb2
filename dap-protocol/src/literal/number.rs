//! Numbers: decimal, hexadecimal, octal and binary integers, and floats.

use super::Value;
use super::error::{LiteralError, Reason};
use super::parse::{NoteKind, Parser};

/// A number, with one sign at most.
pub(super) fn number(p: &mut Parser<'_>) -> Result<Value, LiteralError> {
    let negative = match p.peek() {
        Some(b'-') => Some(true),
        Some(b'+') => Some(false),
        _ => None,
    };
    if negative.is_some() {
        p.at += 1;
        while matches!(p.peek(), Some(b' ' | b'\t')) {
            p.at += 1;
        }
    }
    let negative = negative == Some(true);
    let start = p.at;
    match p.peek() {
        Some(b'0'..=b'9') => {}
        Some(b'.') if p.peek_at(1).is_some_and(|b| b.is_ascii_digit()) => {}
        Some(b'.') if p.text[p.at..].starts_with("...") => return Err(p.error(Reason::Lossy)),
        _ if ["inf", "nan"].iter().any(|n| p.text[p.at..].starts_with(n)) => {
            return Err(p.error(Reason::NotFinite));
        }
        _ => return Err(p.unexpected("a digit")),
    }
    while let Some(byte) = p.peek() {
        let exponent_sign = matches!(byte, b'+' | b'-')
            && is_decimal(&p.text[start..p.at])
            && matches!(p.text.as_bytes()[p.at - 1], b'e' | b'E');
        if !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.') || exponent_sign) {
            break;
        }
        p.at += 1;
    }
    let token = &p.text[start..p.at];
    let at_token = |reason| LiteralError {
        offset: start,
        reason,
    };
    if let Some(digits) = token.strip_suffix(['L', 'l']) {
        let value = integer(digits, negative).map_err(at_token)?;
        p.note(start, NoteKind::LongInteger);
        return Ok(Value::Int(value));
    }
    if is_decimal(token) && token.contains(['.', 'e', 'E']) {
        return float(token, negative).map(Value::Float).map_err(at_token);
    }
    integer(token, negative).map(Value::Int).map_err(at_token)
}

/// Whether a token is decimal, not `0x…`: there `e` is a digit.
fn is_decimal(token: &str) -> bool {
    !matches!(
        token.as_bytes(),
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]
    )
}

fn integer(token: &str, negative: bool) -> Result<i128, Reason> {
    let (radix, digits) = match token.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &token[2..]),
        [b'0', b'o' | b'O', ..] => (8, &token[2..]),
        [b'0', b'b' | b'B', ..] => (2, &token[2..]),
        _ => (10, token),
    };
    // After a radix Python takes one underscore, before the first digit too.
    let digits = if radix == 10 {
        digits
    } else {
        digits.strip_prefix('_').unwrap_or(digits)
    };
    // 0777 was octal in Python 2 and is an error in Python 3: not ours to guess.
    let leading_zero =
        radix == 10 && digits.starts_with('0') && digits.contains(|c| c > '0' && c != '_');
    if !well_separated(digits) || leading_zero {
        return Err(Reason::Number);
    }
    let mut value = 0_i128;
    for c in digits.chars().filter(|&c| c != '_') {
        let digit = i128::from(c.to_digit(radix).ok_or(Reason::Number)?);
        value = value
            .checked_mul(i128::from(radix))
            .and_then(|v| {
                if negative {
                    v.checked_sub(digit)
                } else {
                    v.checked_add(digit)
                }
            })
            .ok_or(Reason::IntegerRange)?;
    }
    Ok(value)
}

/// Not empty, and underscores single, between digits.
fn well_separated(digits: &str) -> bool {
    digits.split('_').all(|group| !group.is_empty())
}

fn float(token: &str, negative: bool) -> Result<f64, Reason> {
    let mantissa_and_exponent = || token.split(['e', 'E']).flat_map(|part| part.split('.'));
    let separated = mantissa_and_exponent()
        .map(|part| part.trim_start_matches(['+', '-']))
        .all(|part| part.is_empty() || well_separated(part));
    let plain = token
        .bytes()
        .all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-' | b'_'));
    if !separated || !plain {
        return Err(Reason::Number);
    }
    let digits: String = token.chars().filter(|&c| c != '_').collect();
    let value: f64 = digits.parse().map_err(|_| Reason::Number)?;
    if !value.is_finite() {
        return Err(Reason::NotFinite);
    }
    Ok(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::super::{Reason, parse};

    #[test]
    fn numbers() {
        for (text, expected) in [
            ("0", "0"),
            ("00", "0"),
            ("-0", "0"),
            ("+7", "7"),
            ("- 7", "-7"),
            ("1_000", "1000"),
            ("0x1F", "31"),
            ("0xe", "14"),
            ("0x1L", "1"),
            ("0o17", "15"),
            ("-0b101", "-5"),
            ("0x_ff", "255"),
            (
                "170141183460469231731687303715884105727",
                "170141183460469231731687303715884105727",
            ),
            (
                "-170141183460469231731687303715884105728",
                "-170141183460469231731687303715884105728",
            ),
            ("1.", "1.0"),
            (".5", "0.5"),
            ("-1e5", "-100000.0"),
            ("1E-7", "1e-07"),
            ("1e+22", "1e+22"),
            ("01.5", "1.5"),
            ("1_0.0_1", "10.01"),
            ("-0.0", "-0.0"),
        ] {
            assert_eq!(
                parse(text).map(|v| v.to_string()),
                Ok(expected.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn no_numbers() {
        for (text, offset, reason) in [
            ("0777", 0, Reason::Number),
            ("[1__0]", 1, Reason::Number),
            ("1_", 0, Reason::Number),
            ("5j", 0, Reason::Number),
            ("5LL", 0, Reason::Number),
            ("1.5L", 0, Reason::Number),
            ("1.2.3", 0, Reason::Number),
            ("1e", 0, Reason::Number),
            ("0x", 0, Reason::Number),
            ("-0o8", 1, Reason::Number),
            ("1e999", 0, Reason::NotFinite),
            (
                "170141183460469231731687303715884105728",
                0,
                Reason::IntegerRange,
            ),
        ] {
            let e = parse(text).unwrap_err();
            assert_eq!((e.offset, e.reason), (offset, reason), "{text}");
        }
        assert!(parse("--5").is_err());
        assert!(parse("1-1").is_err());
        assert!(parse("5 L").is_err());
    }
}
