//! The laws of the protocol, on public items alone.

#[path = "it/broken.rs"]
mod broken;
#[path = "it/dap_examples.rs"]
mod dap_examples;
#[path = "it/fixtures.rs"]
mod fixtures;
#[path = "it/ndarray_buffers.rs"]
mod ndarray_buffers;
#[path = "it/oracle.rs"]
mod oracle;
#[path = "it/round_trip.rs"]
mod round_trip;
#[path = "it/suites.rs"]
mod suites;

/// 64 cases a law; the environment variable `PROPTEST_CASES` sets another number.
fn cases() -> proptest::test_runner::Config {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    proptest::test_runner::Config {
        cases: cases.unwrap_or(64),
        failure_persistence: None,
        ..Default::default()
    }
}
