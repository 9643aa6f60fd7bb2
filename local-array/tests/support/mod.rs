//! What cases and laws share: outcomes, distributions, arrays to compare with.
#![allow(dead_code, reason = "each binary uses a part")]

pub mod arrays;
pub mod numpy;
pub mod plain;

/// What a failed case says.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
/// The outcome of a case on one rank.
pub type Outcome = Result<(), Failure>;

/// Fails with a text unless `condition`.
pub fn ensure(condition: bool, text: impl FnOnce() -> String) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(text().into())
    }
}

/// Fails unless the two are equal.
pub fn same<A: PartialEq<B> + std::fmt::Debug, B: std::fmt::Debug>(
    found: A,
    wanted: B,
    what: &str,
) -> Outcome {
    ensure(found == wanted, || {
        format!("{what}: found {found:?}, wanted {wanted:?}")
    })
}
