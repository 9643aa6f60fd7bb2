//! The cases of `it.rs` under MPI: `mpirun -n N` this binary. An argument chooses the cases whose name contains it.
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
    dead_code,
    reason = "small numbers, compared exactly; helpers of other runners"
)]

mod cases;

use std::process::ExitCode;

use dist_comm::agree::agree;
use dist_comm::{Communicator, MpiComm};

/// A case as it is called.
enum Run {
    Generic(fn(&MpiComm) -> cases::Outcome),
    Dynamic(fn(&dyn Communicator) -> cases::Outcome),
}

fn main() -> ExitCode {
    let comm = match MpiComm::world() {
        Ok(comm) => comm,
        Err(error) => {
            eprintln!("MPI does not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let filter = std::env::args()
        .skip(1)
        .find(|arg| !arg.starts_with('-'))
        .unwrap_or_default();
    let (mut passed, mut failed) = (0, 0);
    let areas = cases::AREAS
        .iter()
        .flat_map(|(_, cases)| cases.iter().copied());
    let dynamic = areas.map(|(name, case)| (name, Run::Dynamic(case)));
    let generic = cases::all::<MpiComm>()
        .into_iter()
        .map(|(name, case)| (name, Run::Generic(case)));
    for (name, case) in generic.chain(dynamic) {
        if !name.contains(&filter) {
            continue;
        }
        let outcome = match case {
            Run::Generic(case) => case(&comm),
            Run::Dynamic(case) => case(&comm),
        };
        let verdict = agree(&comm, outcome);
        let word = if verdict.is_ok() { "ok" } else { "FAILED" };
        passed += usize::from(verdict.is_ok());
        failed += usize::from(verdict.is_err());
        if comm.rank() == 0 {
            println!("test {name} ... {word}");
            if let Err(error) = verdict {
                println!("  {error}");
            }
        }
    }
    if comm.rank() == 0 {
        let word = if failed == 0 { "ok" } else { "FAILED" };
        println!(
            "test result: {word}. {passed} passed; {failed} failed; on {} MPI ranks",
            comm.size()
        );
    }
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
