//! Cases for any communicator, compiled once: on 1 to 7 thread ranks, and with `--mpi` under `mpirun` on its ranks.
//!
//! An argument chooses the cases whose path contains it; `--list` names them.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    reason = "small numbers, compared exactly"
)]

#[cfg(feature = "mpi")]
mod on_mpi;
mod on_threads;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

use dist_comm::Communicator;
use support::{Failure, Outcome, counting, ensure, numpy, plain, refused_everywhere, same};

/// A case: its name, and what all ranks call.
pub type Case = (&'static str, fn(&dyn Communicator) -> Outcome);

/// Lists the cases of an area as its `CASES`.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        /// The cases of this area.
        pub const CASES: &[crate::Case] = &[$((stringify!($name), $name)),*];
    };
}

macro_rules! areas {
    ($($area:ident),* $(,)?) => {
        $(mod $area;)*

        /// The areas and their cases: names are unique over all of them.
        const AREAS: &[(&str, &[Case])] = &[$((stringify!($area), $area::CASES)),*];
    };
}

areas! {
    construct,
    element,
    elementwise,
    foundation,
    indexing,
    laws,
    layouts,
    linalg,
    metadata,
    movement,
    names,
    over,
    parts,
    printing,
    random,
    received,
    rearrange,
    reductions,
    reproducible,
    shares,
    sorting,
    statistics,
    stencils,
}

/// A case and its path, as `sorting::sorting_sort`.
struct Chosen {
    path: String,
    run: fn(&dyn Communicator) -> Outcome,
}

fn chosen(filter: &str) -> Vec<Chosen> {
    let all = AREAS
        .iter()
        .flat_map(|(area, cases)| cases.iter().map(move |&(name, run)| (area, name, run)));
    all.map(|(area, name, run)| Chosen {
        path: format!("{area}::{name}"),
        run,
    })
    .filter(|case| case.path.contains(filter))
    .collect()
}

/// The last line, in the words of the standard harness, and the exit status.
fn result(passed: usize, failed: usize, what: &str) -> ExitCode {
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("test result: {word}. {passed} passed; {failed} failed; {what}");
    ExitCode::from(u8::from(failed != 0))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let cases = chosen(filter.map_or("", |filter| filter));
    if has("--list") {
        for case in &cases {
            println!("{}: test", case.path);
        }
        return ExitCode::SUCCESS;
    }
    if !has("--mpi") {
        return on_threads::run(&cases);
    }
    #[cfg(feature = "mpi")]
    return on_mpi::run(&cases);
    #[cfg(not(feature = "mpi"))]
    {
        eprintln!("built without the feature `mpi`");
        ExitCode::FAILURE
    }
}
