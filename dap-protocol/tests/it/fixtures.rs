//! Fixtures as values: JSON read through the crate's own `Value`.

use dap_protocol::literal::{Value, parse};

/// The JSON file `name` under `tests/fixtures`.
pub(crate) fn read(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// An object of a fixture, and whether it is a buffer of some shape.
pub(crate) struct Object {
    pub(crate) value: Value,
    pub(crate) shape: Option<Vec<usize>>,
}

/// Undoes the conventions of the fixtures for what JSON has no word for.
pub(crate) fn object(value: &Value) -> Object {
    let plain = |value| Object { value, shape: None };
    let Value::Dict(entries) = value else {
        return plain(match value {
            Value::List(items) => Value::List(items.iter().map(|v| object(v).value).collect()),
            other => other.clone(),
        });
    };
    match &entries[..] {
        [(key, Value::List(items))] if key == "__tuple__" => plain(Value::Tuple(
            items.iter().map(|v| object(v).value).collect(),
        )),
        [(key, Value::List(items))] if key == "__i64__" => Object {
            shape: Some(vec![items.len()]),
            value: Value::Tuple(items.clone()),
        },
        [(key, Value::List(items))] if key == "__buffer__" => {
            let shape = ints(&items[1]);
            // What a reader would make of it: floats, or rows of integers.
            let item = if items[0].as_str() == Some("f8") {
                Value::Float(0.5)
            } else {
                Value::List(vec![0_i64.into()])
            };
            let value = Value::List(vec![item; shape.first().copied().unwrap_or(1)]);
            Object {
                value,
                shape: Some(shape),
            }
        }
        [(key, Value::Str(text))] if key == "__py__" => {
            let value = parse(text).expect("a literal");
            let shape = match &value {
                Value::Bytes(bytes) => Some(vec![bytes.len()]),
                _ => None,
            };
            Object { value, shape }
        }
        _ => plain(Value::Dict(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), object(value).value))
                .collect(),
        )),
    }
}

/// A list of counts.
pub(crate) fn ints(value: &Value) -> Vec<usize> {
    let items = value.as_sequence().expect("a list");
    let int = |v: &Value| usize::try_from(v.as_int().expect("an integer")).expect("a count");
    items.iter().map(int).collect()
}

/// `dim_data` of a fixture: a list of dictionaries, as the tuple that it stands for.
pub(crate) fn dim_data(value: &Value) -> Value {
    Value::Tuple(value.as_sequence().expect("a list").to_vec())
}
