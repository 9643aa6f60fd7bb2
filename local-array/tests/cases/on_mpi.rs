//! The cases on the ranks of `mpirun`, in the same order on all; a case holds when it holds on every rank.

use std::process::ExitCode;
use std::time::Instant;

use dist_comm::agree::agree;
use dist_comm::{Communicator, MpiComm};

use crate::Chosen;

pub fn run(cases: &[Chosen]) -> ExitCode {
    let comm = match MpiComm::world() {
        Ok(comm) => comm,
        Err(error) => {
            eprintln!("MPI does not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let mut failed = 0;
    for case in cases {
        let began = Instant::now();
        let verdict = agree(&comm, (case.run)(&comm));
        failed += usize::from(verdict.is_err());
        if comm.rank() == 0 {
            let word = if verdict.is_ok() { "ok" } else { "FAILED" };
            let seconds = began.elapsed().as_secs_f64();
            println!("test {} ... {word} ({seconds:.1} s)", case.path);
            if let Err(error) = verdict {
                println!("  {error}");
            }
        }
    }
    if comm.rank() == 0 {
        let what = format!("on {} MPI ranks", comm.size());
        return crate::result(cases.len() - failed, failed, &what);
    }
    ExitCode::from(u8::from(failed != 0))
}
