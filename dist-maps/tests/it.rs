//! The laws of maps, distributions and plans.

#[path = "it/algebra.rs"]
mod algebra;
#[path = "it/axes.rs"]
mod axes;
#[path = "it/oracle.rs"]
mod oracle;

/// Property-test cases: `PROPTEST_CASES` where it is set.
fn cases(default: u32) -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(default)
}
