//! `dim_data` of one rank: a tuple of dictionaries.

use super::reader::shown;
use super::{Checked, Repair, Strictness, dim_dict};
use crate::literal::Value;
use crate::{Code, DimData, ProtocolVersion, Violation};

/// Reads `dim_data` of one rank.
///
/// `shape` is the buffer's, in elements, where there is a buffer: `{}` needs it, every other
/// dictionary is compared with it. Leniently a list does for the tuple, and so does one dictionary
/// where the comma of the tuple was forgotten.
#[must_use]
pub fn dim_data(
    value: &Value,
    shape: Option<&[usize]>,
    version: ProtocolVersion,
    strictness: Strictness,
) -> Checked<DimData> {
    let mut out = Checked {
        value: None,
        violations: Vec::new(),
        repairs: Vec::new(),
    };
    let items = match value {
        Value::Tuple(items) | Value::List(items) => &items[..],
        Value::Dict(_) => std::slice::from_ref(value),
        _ => &[],
    };
    if !matches!(value, Value::Tuple(_)) {
        let readable = matches!(value, Value::List(_) | Value::Dict(_));
        if readable && strictness == Strictness::Lenient {
            out.repairs.push(Repair {
                code: Code::D1,
                axis: None,
                rank: None,
                key: Some("dim_data".to_owned()),
                given: format!("a {}", value.type_name()),
                read_as: format!("a tuple of {}", items.len()),
            });
        } else {
            let violation = Violation::new(Code::D1, shown(value), "a tuple of dictionaries");
            out.violations.push(violation.key("dim_data"));
        }
        if !readable {
            return out;
        }
    }
    // Extents of another number of dimensions say nothing about these.
    let extents = shape.filter(|shape| shape.len() == items.len());
    if let (Some(shape), None) = (shape, extents) {
        let allowed = format!("{} (dimensions of the buffer)", shape.len());
        let violation = Violation::new(Code::D2, format!("of length {}", items.len()), allowed);
        out.violations.push(violation.key("dim_data"));
    }
    let mut dims = Vec::with_capacity(items.len());
    for (axis, item) in items.iter().enumerate() {
        if shape.is_some() && extents.is_none() && *item == Value::Dict(Vec::new()) {
            continue;
        }
        let extent = extents.and_then(|shape| u64::try_from(shape[axis]).ok());
        let dim = dim_dict(axis, item, extent, version, strictness);
        out.violations.extend(dim.violations);
        out.repairs.extend(dim.repairs);
        dims.extend(dim.value);
    }
    if out.violations.is_empty() {
        out.value = Some(DimData::new(dims));
    }
    out
}
