//! The cases of HDF5 files on MPI ranks. Run it under `mpirun`: `scripts/mpi-test.sh dist-io mpi 1 2 4`.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "small numbers, compared exactly"
)]

#[path = "support/arrays.rs"]
mod arrays;
#[path = "support/cases.rs"]
mod cases;
#[path = "support/parts.rs"]
mod parts;
mod support;

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
    let all = || cases::CASES.iter().chain(parts::CASES).chain(arrays::CASES);
    for (name, run) in all() {
        let verdict = agree(&comm, run(&comm));
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
        let (word, passed) = (
            if failed == 0 { "ok" } else { "FAILED" },
            all().count() - failed,
        );
        println!(
            "test result: {word}. {passed} passed; {failed} failed; on {} MPI ranks",
            comm.size()
        );
    }
    ExitCode::from(u8::from(failed != 0))
}
