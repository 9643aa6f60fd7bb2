//! Each rule that is broken alone is found alone.

use std::collections::BTreeSet;

use dap_protocol::check::{self, Strictness};
use dap_protocol::testkit::{
    broken_dim_data, broken_set, cases as arrays, mutations, set_mutations,
};
use dap_protocol::{Code, ProtocolVersion};
use proptest::prelude::*;

use super::cases;

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn one_broken_rule_of_a_rank_is_found_with_its_code(broken in broken_dim_data()) {
        let found = check::dim_data(
            &broken.value,
            Some(&broken.shape),
            ProtocolVersion::CURRENT,
            Strictness::Strict,
        );
        prop_assert_eq!(found.codes(), [broken.code], "{}: {:?}", broken.value, found.violations);
    }

    #[test]
    fn one_broken_rule_of_a_set_is_found_with_its_code(broken in broken_set()) {
        let found = check::set(&broken.parts);
        let codes: BTreeSet<Code> = found.iter().map(|v| v.code).collect();
        prop_assert_eq!(codes, BTreeSet::from([broken.code]), "{:?}", found);
    }
}

/// Every rule is broken by some mutation of some array, and found alone each time.
#[test]
fn every_rule_is_reached() {
    let mut reached = BTreeSet::new();
    for case in arrays() {
        for data in &case.parts {
            for broken in mutations(data) {
                let version = ProtocolVersion::CURRENT;
                let found = check::dim_data(
                    &broken.value,
                    Some(&broken.shape),
                    version,
                    Strictness::Strict,
                );
                assert_eq!(
                    found.codes(),
                    [broken.code],
                    "{}: {}",
                    case.name,
                    broken.value
                );
                reached.insert(broken.code);
            }
        }
        for broken in set_mutations(&case.parts) {
            let codes: BTreeSet<Code> = check::set(&broken.parts).iter().map(|v| v.code).collect();
            assert_eq!(codes, BTreeSet::from([broken.code]), "{}", case.name);
            reached.insert(broken.code);
        }
    }
    // All but T1 and T2, which are of the top level.
    let all: BTreeSet<Code> = Code::ALL[2..].iter().copied().collect();
    assert_eq!(reached, all);
}
