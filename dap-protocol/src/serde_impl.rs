//! Feature `serde`: dictionaries with the protocol's own keys, versions as text.
//!
//! Formats without tuples, JSON among them, have sequences in their place: `dim_data`, `padding`
//! and `indices` are read from either. `{}` cannot be read here: it needs the shape of a buffer,
//! see [`check::dim_data`](crate::check::dim_data).

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::check::{self, Strictness};
use crate::literal::Value;
use crate::{DimData, DimDict, ProtocolVersion};

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_unit(),
            Self::Bool(b) => serializer.serialize_bool(*b),
            Self::Int(n) => match (i64::try_from(*n), u64::try_from(*n)) {
                (Ok(n), _) => serializer.serialize_i64(n),
                (_, Ok(n)) => serializer.serialize_u64(n),
                _ => serializer.serialize_i128(*n),
            },
            Self::Float(x) => serializer.serialize_f64(*x),
            Self::Str(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Self::List(items) | Self::Tuple(items) => serializer.collect_seq(items),
            Self::Dict(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    /// Sequences become lists.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of a dictionary of the Distributed Array Protocol")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(Value::Bool(b))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(n.into())
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(n.into())
    }

    fn visit_i128<E>(self, n: i128) -> Result<Value, E> {
        Ok(n.into())
    }

    fn visit_f64<E>(self, x: f64) -> Result<Value, E> {
        Ok(x.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::Bytes(bytes.to_vec()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(item) = items.next_element()? {
            out.push(item);
        }
        Ok(Value::List(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut out: Vec<(String, Value)> = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            out.push(entry);
        }
        Ok(Value::Dict(out))
    }
}

/// The tuples of a dictionary back from the sequences of the format.
fn with_tuples(value: Value) -> Value {
    let Value::Dict(entries) = value else {
        return value;
    };
    let entries = entries.into_iter().map(|(key, value)| match value {
        Value::List(items) if key == "padding" || key == "indices" => (key, Value::Tuple(items)),
        value => (key, value),
    });
    Value::Dict(entries.collect())
}

impl Serialize for DimDict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DimDict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = with_tuples(Value::deserialize(deserializer)?);
        check::dim_dict(
            0,
            &value,
            None,
            ProtocolVersion::CURRENT,
            Strictness::Strict,
        )
        .into_result()
        .map(|(dim, _)| dim)
        .map_err(de::Error::custom)
    }
}

impl Serialize for DimData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for DimData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = match Value::deserialize(deserializer)? {
            Value::List(items) => Value::Tuple(items.into_iter().map(with_tuples).collect()),
            other => other,
        };
        Self::from_value(&value, None).map_err(de::Error::custom)
    }
}

impl Serialize for ProtocolVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ProtocolVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_protocols() {
        let dims = vec![
            DimDict::block(18, 2, 1, 8..18)
                .unwrap()
                .with_padding(1, 1)
                .unwrap(),
            DimDict::cyclic(10, 2, 1, 2)
                .unwrap()
                .with_extra("x", Value::None)
                .unwrap(),
            DimDict::unstructured(4, 2, 1, vec![-1, 3], true).unwrap(),
        ];
        let data = DimData::new(dims);
        let text = serde_json::to_string(&data).unwrap();
        assert_eq!(
            text,
            r#"[{"dist_type":"b","size":18,"proc_grid_size":2,"proc_grid_rank":1,"start":8,"stop":18,"padding":[1,1]},{"dist_type":"c","size":10,"proc_grid_size":2,"proc_grid_rank":1,"start":2,"block_size":2,"x":null},{"dist_type":"u","size":4,"proc_grid_size":2,"proc_grid_rank":1,"indices":[-1,3],"one_to_one":true}]"#
        );
        let back: DimData = serde_json::from_str(&text).unwrap();
        assert_eq!(back, data);
        assert_eq!(back.to_value().to_string(), data.to_value().to_string());
    }

    #[test]
    fn what_breaks_a_rule_is_refused_with_its_code() {
        let text = r#"{"dist_type":"b","size":4,"proc_grid_size":1,"proc_grid_rank":0,"start":0,"stop":9}"#;
        let e = serde_json::from_str::<DimDict>(text).unwrap_err();
        assert!(e.to_string().contains("B4 axis 0: stop is 9"), "{e}");
        assert!(serde_json::from_str::<DimDict>("{}").is_err());
        assert!(serde_json::from_str::<DimData>("{}").is_err());
        assert!(serde_json::from_str::<ProtocolVersion>("\"0.10\"").is_err());
        assert_eq!(
            serde_json::from_str::<ProtocolVersion>("\"0.10.0\"").unwrap(),
            ProtocolVersion::CURRENT
        );
    }
}
