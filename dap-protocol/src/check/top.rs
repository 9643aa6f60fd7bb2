//! The top level: the dictionary that `__distarray__` returns, and a file's header.

use super::reader::{Reader, shown};
use super::{Checked, Strictness, dim_data};
use crate::literal::Value;
use crate::{Code, DimData, ProtocolVersion};

/// Reads the value of `__version__`. A pre-release (`0.10.0a1`) and two numbers (`0.10`) are
/// taken leniently.
#[must_use]
pub fn version(value: &Value, strictness: Strictness) -> Checked<ProtocolVersion> {
    const ALLOWED: &str = "'0.9.x' or '0.10.x'";
    let mut reader = Reader::new(None, value, strictness);
    let found = match value.as_str() {
        None => None,
        Some(text) => text.parse().ok().or_else(|| {
            let near = near_version(text)?;
            let read_as = format!("'{near}'");
            reader
                .bend(Code::T2, "__version__", value, ALLOWED, &read_as)
                .then_some(near)
        }),
    };
    let found = found.filter(|v: &ProtocolVersion| v.is_supported());
    if found.is_none() && reader.violations.is_empty() {
        reader.repairs.clear();
        reader.violate(Code::T2, "__version__", shown(value), ALLOWED);
    }
    Checked {
        value: found,
        violations: reader.violations,
        repairs: reader.repairs,
    }
}

/// `0.10`, or a version with `a1`, `b2`, `rc1`, `.dev0` behind it.
fn near_version(text: &str) -> Option<ProtocolVersion> {
    if let Ok(version) = format!("{text}.0").parse() {
        return Some(version);
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (numbers, tail) = text.split_at(end);
    let kind = tail.trim_end_matches(|c: char| c.is_ascii_digit());
    if !["a", "b", "rc", "dev", "alpha", "beta"].contains(&kind) {
        return None;
    }
    let numbers = numbers.strip_suffix('.').unwrap_or(numbers);
    numbers
        .parse()
        .or_else(|_| format!("{numbers}.0").parse())
        .ok()
}

/// Reads the dictionary that `__distarray__` returns: exactly `__version__`, `buffer`, `dim_data`.
///
/// `shape` is that of the object under `buffer`, in elements, `None` where it is no buffer; the
/// value that stands for it in the dictionary is not looked at.
#[must_use]
pub fn dist_buffer(
    value: &Value,
    shape: Option<&[usize]>,
    strictness: Strictness,
) -> Checked<(ProtocolVersion, DimData)> {
    let keys = ["__version__", "buffer", "dim_data"];
    let mut found = top(value, &keys, shape, strictness);
    if let (Some(given), None) = (value.get("buffer"), shape) {
        let mut reader = Reader::new(None, value, strictness);
        reader.violate(Code::T1, "buffer", shown(given), "a buffer");
        found.violations.extend(reader.violations);
        found.value = None;
    }
    found
}

/// Reads a dictionary of exactly `__version__` and `dim_data`, as in the header of a file.
///
/// `shape` is that of the buffer that goes with it, in elements, where it is known.
#[must_use]
pub fn header(
    value: &Value,
    shape: Option<&[usize]>,
    strictness: Strictness,
) -> Checked<(ProtocolVersion, DimData)> {
    top(value, &["__version__", "dim_data"], shape, strictness)
}

fn top(
    value: &Value,
    keys: &[&str],
    shape: Option<&[usize]>,
    strictness: Strictness,
) -> Checked<(ProtocolVersion, DimData)> {
    let mut reader = Reader::new(None, value, strictness);
    if let Value::Dict(entries) = value {
        for key in keys.iter().filter(|key| value.get(key).is_none()) {
            reader.violate(Code::T1, key, "missing".to_owned(), &keys.join(", "));
        }
        for (key, _) in entries.iter().filter(|(key, _)| !keys.contains(&&**key)) {
            let key = crate::error::excerpt(key);
            reader.violate(
                Code::T1,
                &key,
                "no key of the protocol".to_owned(),
                &keys.join(", "),
            );
        }
    } else {
        reader.violate(Code::T1, "top level", shown(value), "a dictionary");
    }
    let (mut violations, mut repairs) = (reader.violations, reader.repairs);
    let version = value.get("__version__").map(|v| version(v, strictness));
    let version = version.and_then(|found| {
        violations.extend(found.violations);
        repairs.extend(found.repairs);
        found.value
    });
    let data = value.get("dim_data").and_then(|v| {
        let found = dim_data(v, shape, version.unwrap_or_default(), strictness);
        violations.extend(found.violations);
        repairs.extend(found.repairs);
        found.value
    });
    Checked {
        value: version.zip(data).filter(|_| violations.is_empty()),
        violations,
        repairs,
    }
}
