//! Suites for implementations of the traits, ours and anybody's (feature `testkit`).
//!
//! Every rank calls the same check with its own communicator, at whatever size; the verdict is the same on all ranks. The
//! cases are also listed one by one, for a test runner of one's own.

mod collective;
mod file;
mod message;
mod mistakes;
mod one_sided;
mod shared;

use std::fmt::Display;
use std::path::Path;

use crate::agree::agree;
use crate::{Communicator, OneSided};

/// One case of a suite: collective, the verdict may differ between ranks.
#[derive(Clone, Copy, Debug)]
pub struct Case<F> {
    /// What holds if it passes.
    pub name: &'static str,
    /// Runs the case on one rank.
    pub run: F,
}

/// A case for any communicator.
pub type CommunicatorCase = Case<fn(&dyn Communicator) -> Verdict>;
/// A case for a communicator with windows.
pub type OneSidedCase = Case<fn(&dyn OneSided) -> Verdict>;
/// A case for files in a directory that all ranks can write.
pub type FileCase = Case<fn(&dyn Communicator, &Path) -> Verdict>;

/// Nothing, or what was seen instead of what should be.
pub type Verdict = Result<(), String>;

/// The cases that [`check_communicator`] runs, in this order on every rank.
#[must_use]
pub fn communicator_cases() -> Vec<CommunicatorCase> {
    [
        collective::CASES,
        message::CASES,
        shared::CASES,
        mistakes::CASES,
    ]
    .concat()
}

/// The cases that [`check_one_sided`] runs, in this order on every rank.
#[must_use]
pub fn one_sided_cases() -> Vec<OneSidedCase> {
    one_sided::CASES.to_vec()
}

/// The cases that [`check_shared_file`] runs, in this order on every rank.
#[must_use]
pub fn file_cases() -> Vec<FileCase> {
    file::CASES.to_vec()
}

/// Makes the verdict of each rank on a case that of all ranks. Collective.
///
/// # Errors
/// The name of the case, the lowest rank that failed it and what that rank saw.
pub fn settle(comm: &dyn Communicator, name: &str, verdict: Verdict) -> Verdict {
    agree(comm, verdict).map_err(|agreed| format!("{name}: {agreed}"))
}

/// Checks a [`Communicator`]. Collective.
///
/// ```
/// use dist_comm::{testkit, ThreadComm};
///
/// ThreadComm::run(3, |comm| testkit::check_communicator(comm))?;
/// # Ok::<(), dist_comm::RunError<String>>(())
/// ```
///
/// # Errors
/// The first case that failed, the same on every rank.
pub fn check_communicator(comm: &dyn Communicator) -> Verdict {
    communicator_cases()
        .iter()
        .try_for_each(|case| settle(comm, case.name, (case.run)(comm)))
}

/// Checks a [`OneSided`]. Collective.
///
/// # Errors
/// As [`check_communicator`].
pub fn check_one_sided(comm: &dyn OneSided) -> Verdict {
    one_sided_cases()
        .iter()
        .try_for_each(|case| settle(comm, case.name, (case.run)(comm)))
}

/// Checks shared files of a communicator, in the directory `dir`, which all ranks can write. Collective.
///
/// # Errors
/// As [`check_communicator`].
pub fn check_shared_file(comm: &dyn Communicator, dir: &Path) -> Verdict {
    file_cases()
        .iter()
        .try_for_each(|case| settle(comm, case.name, (case.run)(comm, dir)))
}

fn text(error: impl Display) -> String {
    error.to_string()
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, seen: &T, expected: &T) -> Verdict {
    if seen == expected {
        return Ok(());
    }
    let short = |value: &T| {
        let mut text = format!("{value:?}");
        if text.len() > 200 {
            let end = (0..=200)
                .rev()
                .find(|&at| text.is_char_boundary(at))
                .unwrap_or(0);
            text.truncate(end);
            text.push('…');
        }
        text
    };
    Err(format!(
        "{what}: got {}, expected {}",
        short(seen),
        short(expected)
    ))
}

fn holds(what: &str, condition: bool) -> Verdict {
    if condition {
        Ok(())
    } else {
        Err(format!("does not hold: {what}"))
    }
}

/// Bytes that tell where they come from: another pattern for each pair of numbers.
fn pattern(from: usize, to: usize, len: usize) -> Vec<u8> {
    let seed = from
        .wrapping_mul(131)
        .wrapping_add(to.wrapping_mul(17))
        .wrapping_add(len);
    (0..len)
        .map(|at| (seed.wrapping_add(at.wrapping_mul(7)) % 251).to_le_bytes()[0])
        .collect()
}

/// Lengths around what implementations treat differently.
const LENGTHS: [usize; 6] = [0, 1, 63, 4032, 4097, 100_003];
