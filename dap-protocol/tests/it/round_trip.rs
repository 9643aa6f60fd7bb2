//! What is written is read as the same; what is valid is found to be.

use dap_protocol::check::{self, Strictness};
use dap_protocol::literal::{Value, parse, parse_with_notes};
use dap_protocol::testkit::dim_data_set;
use dap_protocol::{DimData, DimDict, ProtocolVersion};
use proptest::prelude::*;

use super::cases;

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::None),
        any::<bool>().prop_map(Value::from),
        any::<i128>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("literals are finite", |x| x.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[a-z'\"\\\\\n]{0,8}".prop_map(Value::from),
        any::<Vec<u8>>().prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let items = prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            items.clone().prop_map(Value::List),
            items.prop_map(Value::Tuple),
            prop::collection::vec((any::<String>(), inner), 0..6).prop_map(Value::Dict),
        ]
    })
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn values_are_printed_and_parsed(value in values()) {
        let text = value.to_string();
        prop_assert!(text.is_ascii());
        let (again, notes) = parse_with_notes(&text).unwrap();
        prop_assert_eq!(&again, &value);
        prop_assert_eq!(again.to_string(), text);
        prop_assert!(notes.is_empty());
    }

    #[test]
    fn a_cut_text_is_an_error_with_an_offset_inside(value in values(), at in any::<prop::sample::Index>()) {
        let text = Value::Tuple(vec![value, Value::None]).to_string();
        let cut = at.index(text.len());
        let e = parse(&text[..cut]).unwrap_err();
        prop_assert!(e.offset <= cut);
    }

    #[test]
    fn any_text_is_a_value_or_an_error(text in "[\\[\\](){}:,'\"a-z0-9_.+LeEjunp \\\\-]{0,40}") {
        if let Ok(value) = parse(&text) {
            prop_assert_eq!(parse(&value.to_string()).unwrap(), value);
        }
    }

    #[test]
    fn sets_are_valid_and_survive_text_and_json(set in dim_data_set(1..=8)) {
        let version = ProtocolVersion::CURRENT;
        let parts: Vec<_> = set.iter().map(|data| (version, data.clone())).collect();
        prop_assert_eq!(check::set(&parts), []);
        for data in &set {
            let text = data.to_value().to_string();
            let shape: Vec<usize> = data.local_shape().iter().map(|&n| n.try_into().unwrap()).collect();
            let found = check::dim_data(&parse(&text).unwrap(), Some(&shape), version, Strictness::Strict);
            prop_assert_eq!(&found.repairs, &[]);
            let again = found.into_result().unwrap().0;
            prop_assert_eq!(&again, data);
            prop_assert_eq!(again.to_value().to_string(), text);
            let json = serde_json::to_string(data).unwrap();
            prop_assert_eq!(&serde_json::from_str::<DimData>(&json).unwrap(), data);
        }
    }

    /// Brute force: the owned counts of all ranks sum to the array's size where no index lies on
    /// two ranks.
    #[test]
    fn owned_elements_partition_the_array(set in dim_data_set(1..=8)) {
        let shared = set[0].iter().any(|dim| matches!(
            dim.dist(),
            dap_protocol::Dist::Unstructured { one_to_one: false, .. }
        ));
        let owned: u64 = set.iter().map(|data| data.iter().map(DimDict::owned_len).product::<u64>()).sum();
        if !shared {
            prop_assert_eq!(owned, set[0].global_size().unwrap());
        }
    }
}
