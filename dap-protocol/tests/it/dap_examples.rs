//! The nine worked examples of the specification.

use dap_protocol::check::{self, Strictness};
use dap_protocol::literal::parse;
use dap_protocol::testkit::check_exporter;
use dap_protocol::{DimData, DimDict, DistBuffer, HostArray, ProtocolVersion};

use super::fixtures::{dim_data, ints, read};

const EXAMPLES: [&str; 9] = [
    "1_block_whole",
    "2_block_block",
    "3_block_cyclic",
    "4_cyclic_cyclic",
    "5_irregular_block",
    "6_block_cyclic_blocks",
    "7_unstructured",
    "8_padded_block",
    "9_unequal_padding",
];

#[test]
fn examples_are_valid_and_hold_what_they_say() {
    for name in EXAMPLES {
        let example = read(&format!("dap_0_10/{name}.json"));
        let mut parts = Vec::new();
        for rank in example.get("ranks").unwrap().as_sequence().unwrap() {
            let shape = ints(rank.get("local_shape").unwrap());
            let value = dim_data(rank.get("dim_data").unwrap());
            // JSON has lists for the padding's tuples, and this is what lenient reading is for.
            let found = check::dim_data(
                &value,
                Some(&shape),
                ProtocolVersion::CURRENT,
                Strictness::Lenient,
            );
            let data = found
                .value
                .unwrap_or_else(|| panic!("{name}: {:?}", found.violations));
            let owned: u64 = data.iter().map(DimDict::owned_len).product();
            assert_eq!(
                Some(i128::from(owned)),
                rank.get("owned").unwrap().as_int(),
                "{name}"
            );
            let buffer = HostArray::new(shape.clone(), vec![0_u8; shape.iter().product()]).unwrap();
            parts.push(DistBuffer::new(data, buffer).unwrap());
        }
        let size = parts[0].dim_data().global_size().unwrap();
        let owned = |part: &DistBuffer<_>| -> u64 {
            part.dim_data().iter().map(DimDict::owned_len).product()
        };
        assert_eq!(parts.iter().map(owned).sum::<u64>(), size, "{name}");
        check_exporter(&parts).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn examples_survive_json() {
    for name in EXAMPLES {
        let example = read(&format!("dap_0_10/{name}.json"));
        for rank in example.get("ranks").unwrap().as_sequence().unwrap() {
            let text = serde_json::to_string(rank.get("dim_data").unwrap()).unwrap();
            let data: DimData = serde_json::from_str(&text).unwrap();
            assert_eq!(serde_json::to_string(&data).unwrap(), text, "{name}");
        }
    }
}

/// Slips of hand-written metadata that the specification's own text has.
#[test]
fn slips_are_named() {
    let whole = "{'dist_type': 'b', 'size': 4, 'proc_grid_size': 1, 'proc_grid_rank': 0, 'start': 0, 'stop': 4}";
    let read = |text: &str, shape: &[usize], strictness| {
        let value = parse(text).unwrap();
        let version = ProtocolVersion::CURRENT;
        let found = check::dim_data(&value, Some(shape), version, strictness);
        let codes: Vec<_> = found.codes().iter().map(|c| c.as_str()).collect();
        (codes.join(" "), found.repairs.len())
    };
    let no_comma = format!("({whole})");
    assert_eq!(read(&no_comma, &[4], Strictness::Strict), ("D1".into(), 0));
    assert_eq!(
        read(&no_comma, &[4], Strictness::Lenient),
        (String::new(), 1)
    );
    let two_of_one = format!("({whole}, {whole})");
    assert_eq!(
        read(&two_of_one, &[4], Strictness::Lenient),
        ("D2".into(), 0)
    );
    assert!(parse(&format!("({whole}, ")).is_err());
}
