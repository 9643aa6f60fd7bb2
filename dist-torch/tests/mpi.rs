//! The cases of data sets on MPI ranks. Run it under `mpirun`: `scripts/mpi-test.sh dist-torch mpi 1 2 4`.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    reason = "small numbers, compared exactly"
)]

#[path = "support/cases.rs"]
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
    let mut failed = 0;
    for (name, case) in cases::CASES {
        let verdict = agree(&comm, case(&comm));
        failed += usize::from(verdict.is_err());
        if comm.rank() == 0 {
            let word = if verdict.is_ok() { "ok" } else { "FAILED" };
            println!("test {name} ... {word}");
            if let Err(error) = verdict {
                println!("  {error}");
            }
        }
    }
    if comm.rank() == 0 {
        let word = if failed == 0 { "ok" } else { "FAILED" };
        println!(
            "test result: {word}. {} passed; {failed} failed; on {} MPI ranks",
            cases::CASES.len() - failed,
            comm.size()
        );
    }
    ExitCode::from(u8::from(failed != 0))
}
