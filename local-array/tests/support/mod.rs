//! What cases and laws share: outcomes, distributions, arrays to compare with.
#![allow(dead_code, reason = "each binary uses a part")]

pub mod arrays;
pub mod counting;
pub mod laws;
pub mod numpy;
pub mod place;
pub mod plain;
pub mod schedule;

use dist_comm::Communicator;
use local_array::ArrayError;

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

/// Fails unless every rank has one and the same error; the ranks are in step after it. Collective.
pub fn refused_everywhere<T>(
    comm: &dyn Communicator,
    outcome: Result<T, ArrayError>,
    what: &str,
) -> Outcome {
    let mine = outcome.map_or_else(|error| error.to_string(), |_| "no error".into());
    let all = comm.all_gather_v(mine.as_bytes())?;
    let all: Vec<_> = all
        .iter()
        .map(|text| String::from_utf8_lossy(text))
        .collect();
    ensure(
        all.iter().all(|text| *text == all[0] && text != "no error"),
        || format!("{what}: {all:?}"),
    )
}
