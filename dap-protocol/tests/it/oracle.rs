//! What the protocol's validator and `DistArray` answered.

use std::collections::BTreeMap;

use dap_protocol::check::{self, Strictness};
use dap_protocol::{Code, DimData, ProtocolVersion};

use super::fixtures::{dim_data, ints, object, read};

/// Cases in which the validator's verdict is not the protocol's: the codes of what is wrong, none
/// where it refuses what the protocol allows.
const DIFFERENT: &[(&str, &[Code])] = &[
    // never looks at the type of `size`, and takes booleans for integers
    ("v019", &[Code::C2]),
    ("v021", &[Code::C2]),
    ("v084", &[Code::C2]),
    // nor at a missing or negative size of a dimension that is no block
    ("v060", &[Code::C1]),
    ("v061", &[Code::C3]),
    // nor at a negative rank
    ("v025", &[Code::C5]),
    // nor at what is in the padding, or the type of `periodic`
    ("v036", &[Code::B3]),
    ("v037", &[Code::B5]),
    ("v042", &[Code::C2]),
    // nor at the content of `indices`; and it refuses a list of integers
    ("v069", &[Code::U1]),
    ("v070", &[]),
    ("v075", &[Code::U2]),
    ("v078", &[Code::U1; 3]),
    ("v079", &[Code::U1; 2]),
    // nor at the shape of the buffer
    ("v114", &[Code::C8]),
    // knows one version only, and pre-releases of it
    ("v129", &[]),
    ("v132", &[]),
    ("v133", &[Code::T2]),
];

#[test]
fn verdicts_are_the_validators_or_the_protocols() {
    let different: BTreeMap<_, _> = DIFFERENT.iter().copied().collect();
    let cases = read("oracle/validator.json");
    let mut seen = 0;
    for case in cases.as_sequence().unwrap() {
        let text = |key| case.get(key).and_then(|v| v.as_str()).unwrap();
        let (id, input) = (text("id"), object(case.get("input").unwrap()).value);
        let strict = Strictness::Strict;
        let version = ProtocolVersion::CURRENT;
        let codes = match text("kind") {
            // `{}` stands beside a buffer; the other dictionaries are looked at alone
            "dim_dict" => {
                let extent = (id == "v000").then_some(7);
                check::dim_dict(0, &input, extent, version, strict).codes()
            }
            "dim_data" => {
                let shape = (id == "v108").then_some(&[2, 3][..]);
                check::dim_data(&input, shape, version, strict).codes()
            }
            _ => {
                let buffer = case.get("input").and_then(|v| v.get("buffer")).map(object);
                let shape = buffer.and_then(|buffer| buffer.shape);
                check::dist_buffer(&input, shape.as_deref(), strict).codes()
            }
        };
        // Where the validator itself throws, something is wrong.
        let valid = case.get("valid") == Some(&true.into());
        if let Some(&expected) = different.get(id) {
            assert_eq!(codes, expected, "{id}");
            assert_ne!(expected.is_empty(), valid, "{id} is no difference");
        } else {
            assert_eq!(codes.is_empty(), valid, "{id}: {codes:?}");
        }
        seen += 1;
    }
    assert!(seen > 90, "{seen} cases");
}

/// Arrays whose metadata `DistArray` makes against the protocol: communication padding without the
/// overlap that it means.
const NO_OVERLAP: &[&str] = &["g027", "g028"];

#[test]
fn distarrays_metadata_is_a_valid_set() {
    let cases = read("oracle/dim_data.json");
    let mut seen = 0;
    for case in cases.as_sequence().unwrap() {
        let id = case.get("id").and_then(|v| v.as_str()).unwrap();
        let departs = case.get("departs").is_some();
        let dap_protocol::literal::Value::Dict(sets) = case.get("sets").unwrap() else {
            panic!("{id}");
        };
        for (how, ranks) in sets {
            let mut parts = Vec::new();
            let mut differs = false;
            for rank in ranks.as_sequence().unwrap() {
                let value = dim_data(rank.get("dim_data").unwrap());
                let version = ProtocolVersion::CURRENT;
                let found = check::dim_data(&value, None, version, Strictness::Lenient);
                let data = found
                    .value
                    .unwrap_or_else(|| panic!("{id} {how}: {:?}", found.violations));
                if let Some(shape) = rank.get("local_shape") {
                    let shape: Vec<u64> = ints(shape).into_iter().map(|n| n as u64).collect();
                    differs |= data.local_shape() != shape;
                }
                parts.push((version, data));
            }
            assert_eq!(
                differs,
                departs && how != "global_head",
                "{id} {how}: local shapes"
            );
            if let Some(sizes) = case.get("local_sizes").and_then(|v| v.as_sequence()) {
                for ((_, data), sizes) in parts.iter().zip(sizes) {
                    let sizes: Vec<u64> = ints(sizes).into_iter().map(|n| n as u64).collect();
                    assert_eq!(data.local_shape(), sizes, "{id} {how}");
                }
            }
            let codes: Vec<_> = check::set(&parts).into_iter().map(|v| v.code).collect();
            let padded = |(_, data): &(_, DimData)| data.iter().any(|d| !d.padding().is_none());
            if NO_OVERLAP.contains(&id) && parts.iter().any(padded) {
                assert_eq!(codes, [Code::S4], "{id} {how}");
            } else {
                assert_eq!(codes, [], "{id} {how}");
            }
            seen += 1;
        }
    }
    assert!(seen > 250, "{seen} sets");
}
