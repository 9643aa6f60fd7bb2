//! Bodies of the fuzz targets: laws that hold for any bytes. They panic where one does not.

use crate::check::{self, Strictness};
use crate::literal::{Value, parse};
use crate::{Code, DimData, ProtocolVersion};

/// What parses prints, parses again to the same value, and prints the same.
///
/// # Panics
/// When a law does not hold.
pub fn fuzz_literal(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    match parse(text) {
        Ok(value) => {
            let printed = value.to_string();
            assert!(printed.is_ascii(), "{printed}");
            let again = parse(&printed).expect("a printed value parses");
            assert_eq!(again, value, "{printed}");
            assert_eq!(again.to_string(), printed);
            fuzz_value(&value);
        }
        Err(e) => assert!(
            e.offset <= text.len() && text.is_char_boundary(e.offset),
            "{e}"
        ),
    }
}

/// `dim_data` of a rank, or a list of those of several, as JSON: no check panics, and what is
/// accepted is written and read as the same.
///
/// # Panics
/// When a law does not hold.
pub fn fuzz_dim_data_json(value: &Value) {
    fuzz_value(value);
    if let Some(items) = value.as_sequence() {
        let version = ProtocolVersion::CURRENT;
        let parts: Vec<(ProtocolVersion, DimData)> = items
            .iter()
            .filter_map(|item| check::dim_data(item, None, version, Strictness::Lenient).value)
            .map(|data| (version, data))
            .collect();
        let report = check::set_report(&parts, Strictness::Strict);
        assert!(!parts.is_empty() || !report.violations.is_empty());
    }
}

/// A value as `dim_data`, in every way of reading.
fn fuzz_value(value: &Value) {
    for version in [ProtocolVersion::V0_9_0, ProtocolVersion::V0_10_0] {
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            for shape in [None, Some(&[4_usize, 0][..])] {
                let found = check::dim_data(value, shape, version, strictness);
                assert_eq!(found.value.is_some(), found.violations.is_empty());
                if let Some(data) = found.value {
                    // A cyclic rank that ends out of turn is written as it was read.
                    let bent = found.repairs.iter().any(|r| r.code == Code::K2);
                    let reread = if bent { strictness } else { Strictness::Strict };
                    accepted(&data, shape, reread);
                }
            }
            let found = check::dist_buffer(value, Some(&[4]), strictness);
            assert_eq!(found.value.is_some(), found.violations.is_empty());
        }
    }
}

fn accepted(data: &DimData, shape: Option<&[usize]>, strictness: Strictness) {
    let canonical = data.to_value().to_string();
    for printed in [&canonical, &data.to_value_as_read().to_string()] {
        let value = parse(printed).expect("printed metadata parses");
        let again = check::dim_data(&value, shape, ProtocolVersion::CURRENT, strictness);
        let again = again.value.expect("printed metadata is valid");
        assert_eq!(&again, data);
        assert_eq!(again.to_value().to_string(), canonical);
        assert_eq!(&again.to_value_as_read().to_string(), printed);
    }
    for dim in data {
        assert!(dim.owned_len() <= dim.stored_len());
    }
    let _ = (data.global_size(), data.rank());
    let report = check::set_report(
        &[(ProtocolVersion::CURRENT, data.clone())],
        Strictness::Lenient,
    );
    assert!(report.periodic_edges.len() <= data.ndim());
}
