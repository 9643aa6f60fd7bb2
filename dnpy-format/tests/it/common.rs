//! What several modules need.

use dap_protocol::literal::Value;
use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
use serde_json::Value as Json;

pub(crate) fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The cases of a fixture file.
pub(crate) fn cases(name: &str) -> Vec<Json> {
    let json: Json = serde_json::from_slice(&fixture(name)).unwrap();
    json["cases"].as_array().unwrap().clone()
}

/// JSON as a literal. Lists are lists, except where Python's writer had tuples.
pub(crate) fn literal(json: &Json) -> Value {
    match json {
        Json::Null => Value::None,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => Value::Int(n.as_i64().unwrap().into()),
        Json::String(s) => Value::Str(s.clone()),
        Json::Array(items) => Value::List(items.iter().map(literal).collect()),
        Json::Object(entries) => Value::Dict(
            entries
                .iter()
                .map(|(key, value)| {
                    let value = match (key.as_str(), literal(value)) {
                        ("padding", Value::List(items)) => Value::Tuple(items),
                        (_, other) => other,
                    };
                    (key.clone(), value)
                })
                .collect(),
        ),
    }
}

pub(crate) fn unhex(text: &str) -> Vec<u8> {
    let digit = |b: u8| u8::try_from((b as char).to_digit(16).unwrap()).unwrap();
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| digit(pair[0]) * 16 + digit(pair[1]))
        .collect()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        use std::fmt::Write as _;
        write!(text, "{b:02x}").unwrap();
        text
    })
}

/// Rank 1 of 2 of ten elements, all of them `value`.
pub(crate) fn part(value: f64) -> DistBuffer<HostArray<f64>> {
    large_part(value, 5)
}

/// A part of `len` elements, all of them `value`.
pub(crate) fn large_part(value: f64, len: usize) -> DistBuffer<HostArray<f64>> {
    let n = len as u64;
    let dim_data = DimData::new(vec![DimDict::block(2 * n, 2, 1, n..2 * n).unwrap()]);
    DistBuffer::new(
        dim_data,
        HostArray::new(vec![len], vec![value; len]).unwrap(),
    )
    .unwrap()
}
