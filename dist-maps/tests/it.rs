//! The laws of maps, distributions and plans.

#[path = "it/algebra.rs"]
mod algebra;
#[path = "it/axes.rs"]
mod axes;
#[path = "it/copy.rs"]
mod copy;
#[path = "it/corpus.rs"]
mod corpus;
#[path = "it/halo.rs"]
mod halo;
#[path = "it/oracle.rs"]
mod oracle;
#[path = "it/plan.rs"]
mod plan;
#[path = "it/recorded.rs"]
mod recorded;
#[path = "it/refusals.rs"]
mod refusals;
#[path = "it/simulate.rs"]
mod simulate;

/// Property-test cases: `PROPTEST_CASES` where it is set.
fn cases(default: u32) -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(default)
}
