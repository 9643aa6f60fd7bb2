//! Keys of a dictionary that the protocol does not know.

use std::collections::BTreeMap;

use super::{DimDict, is_reserved};
use crate::ProtocolError;
use crate::error::excerpt;
use crate::literal::{MAX_DEPTH, Value};

/// Depth of an unknown key's value, so that a file's header around it can be parsed again.
const DEPTH: usize = MAX_DEPTH - 4;

impl DimDict {
    /// The same with a key that the protocol does not know; it survives a round trip.
    ///
    /// # Errors
    /// [`ProtocolError::ReservedKey`] for a key that says something about this `dist_type`: it has
    /// its own constructor. [`ProtocolError::ExtraValue`] for a value that could not be read back:
    /// a float that is not finite, or brackets too deep inside each other.
    ///
    /// ```
    /// use dap_protocol::DimDict;
    /// let dim = DimDict::whole(4)?.with_extra("unit", "m".into())?;
    /// assert!(dim.to_value().get("unit").is_some());
    /// assert!(dim.clone().with_extra("size", "m".into()).is_err());
    /// assert!(dim.with_extra("scale", f64::NAN.into()).is_err());
    /// # Ok::<(), dap_protocol::ProtocolError>(())
    /// ```
    pub fn with_extra(
        mut self,
        key: impl Into<String>,
        value: Value,
    ) -> Result<Self, ProtocolError> {
        let key = key.into();
        if is_reserved(self.dist_type(), &key) {
            return Err(ProtocolError::ReservedKey {
                key,
                dist_type: self.dist_type(),
            });
        }
        if let Some((given, allowed)) = unwritable(&value) {
            return Err(ProtocolError::ExtraValue {
                key: excerpt(&key),
                given,
                allowed,
            });
        }
        self.extra.insert(key, value);
        Ok(self)
    }

    /// Keys that the protocol does not know, as they were read.
    #[must_use]
    pub fn extra(&self) -> &BTreeMap<String, Value> {
        &self.extra
    }
}

/// What of a value could not be read back, and what can; none where all can.
pub(crate) fn unwritable(value: &Value) -> Option<(&'static str, String)> {
    fn within(value: &Value, depth: usize) -> Option<(&'static str, String)> {
        if let Value::Float(x) = value
            && !x.is_finite()
        {
            return Some(("not a finite number", "a finite one".to_owned()));
        }
        let mut inside: Box<dyn Iterator<Item = &Value>> = match value {
            Value::List(items) | Value::Tuple(items) => Box::new(items.iter()),
            Value::Dict(entries) => Box::new(entries.iter().map(|(_, value)| value)),
            _ => return None,
        };
        let Some(depth) = depth.checked_sub(1) else {
            let allowed = format!("at most {DEPTH} brackets inside each other");
            return Some(("nested deeper", allowed));
        };
        inside.find_map(|value| within(value, depth))
    }
    within(value, DEPTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Strictness, dim_dict};
    use crate::literal::parse;
    use crate::{Code, ProtocolVersion};

    fn nested(depth: usize) -> Value {
        (0..depth).fold(Value::Int(1), |inside, _| Value::List(vec![inside]))
    }

    #[test]
    fn what_cannot_be_read_back_is_refused() {
        let dim = DimDict::cyclic(7, 2, 1, 1).unwrap();
        for key in ["size", "start", "block_size", "padding"] {
            let e = dim.clone().with_extra(key, 1_i64.into()).unwrap_err();
            let key = key.to_owned();
            assert_eq!(
                e,
                ProtocolError::ReservedKey {
                    key,
                    dist_type: "c"
                }
            );
        }
        let nan = Value::Dict(vec![("x".to_owned(), Value::List(vec![f64::NAN.into()]))]);
        for value in [f64::INFINITY.into(), nan] {
            let e = dim.clone().with_extra("k", value.clone()).unwrap_err();
            assert_eq!(
                e.to_string(),
                "the value of key \"k\" is not a finite number, allowed: a finite one"
            );
            let Value::Dict(mut entries) = dim.to_value() else {
                panic!("{dim:?}");
            };
            entries.push(("k".to_owned(), value));
            let value = Value::Dict(entries);
            let now = ProtocolVersion::CURRENT;
            let found = dim_dict(0, &value, None, now, Strictness::Lenient);
            assert_eq!(found.codes(), [Code::C2]);
        }
        let e = dim.clone().with_extra("k", nested(29)).unwrap_err();
        assert_eq!(
            e.to_string(),
            "the value of key \"k\" is nested deeper, allowed: at most 28 brackets inside each other"
        );
        let deepest = dim.with_extra("k", nested(28)).unwrap().to_value();
        let header = format!("{{'dim_data': ({deepest},)}}");
        assert!(parse(&header).is_ok());
    }
}
