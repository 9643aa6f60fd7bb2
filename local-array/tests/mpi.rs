//! The cases of `it.rs` under MPI: `mpirun -n N` this binary. An argument chooses the cases whose name contains it.
#![allow(
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
    for (name, case) in cases::all::<MpiComm>() {
        if !name.contains(&filter) {
            continue;
        }
        let verdict = agree(&comm, case(&comm));
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
