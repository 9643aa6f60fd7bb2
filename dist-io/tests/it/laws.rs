//! What the laws share: lists of cases on thread ranks, and how often properties are tried.

use dist_comm::{Communicator, ThreadComm};
use proptest::prelude::ProptestConfig;

use crate::support::Outcome;

/// A case: its name, and what all ranks call.
type Case<'a> = (&'a str, fn(&dyn Communicator) -> Outcome);

/// Runs every case on 1 to 4 thread ranks, and tells all that fail.
#[track_caller]
pub fn on_thread_ranks(cases: &[Case<'_>]) {
    let mut failed = Vec::new();
    for (name, run) in cases {
        for ranks in 1..=4 {
            let outcome =
                ThreadComm::run(ranks, |comm| run(comm).map_err(|error| error.to_string()));
            if let Err(error) = outcome {
                failed.push(format!("{name}, on {ranks} ranks: {error}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// So many tries of a property, or as many as `PROPTEST_CASES` says.
pub fn tries(n: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked = asked.and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(n),
        ..ProptestConfig::default()
    }
}
