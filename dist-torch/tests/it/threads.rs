//! The cases of `support/cases.rs` on thread ranks, and on one rank without threads.

use dist_comm::{SingleComm, ThreadComm};

use crate::cases::CASES;

#[test]
fn cases_hold_on_threads() {
    for ranks in [1, 2, 3, 4, 7] {
        for (name, case) in CASES {
            let outcome = ThreadComm::run(ranks, |comm| case(comm));
            assert!(
                outcome.is_ok(),
                "{name} on {ranks}: {}",
                outcome.unwrap_err()
            );
        }
    }
}

#[test]
fn cases_hold_on_one_rank() {
    for (name, case) in CASES {
        assert_eq!(case(&SingleComm::new()), Ok(()), "{name}");
    }
}
