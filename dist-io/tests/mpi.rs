//! The cases of HDF5 files on MPI ranks. Run it under `mpirun`:
//!
//! ```text
//! scripts/mpi-test.sh dist-io mpi 1 2 4
//! MPI_TEST_ARGS=--full-disk scripts/mpi-test.sh dist-io mpi 2             files of one rank may not be large (Open MPI)
//! MPI_TEST_ARGS=--parallel scripts/mpi-test.sh dist-io mpi 1 2 3 4 7      parallel HDF5 (feature `hdf5-mpio`)
//! MPI_TEST_ARGS=--ways scripts/mpi-test.sh dist-io mpi 3                  all ways, read by h5py (DIST_IO_PYTHON)
//! MPI_TEST_ARGS=--large scripts/mpi-test.sh dist-io mpi 2                 more than 2 GiB on a rank
//! ```
//!
//! Each case has `CASE_SECONDS` (60); after that the rank ends, and with it the job.
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
#[cfg(feature = "hdf5-mpio")]
#[path = "support/doomed.rs"]
mod doomed;
#[path = "support/full.rs"]
mod full;
#[cfg(feature = "hdf5-mpio")]
#[path = "support/large.rs"]
mod large;
#[path = "support/model.rs"]
mod model;
#[cfg(feature = "hdf5-mpio")]
#[path = "support/mpio.rs"]
#[warn(dead_code, reason = "a case that is in no list is never run")]
mod mpio;
#[path = "support/parts.rs"]
mod parts;
#[path = "support/pieces.rs"]
mod pieces;
#[path = "support/processes.rs"]
mod processes;
mod support;

use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use dist_comm::agree::agree;
use dist_comm::{Communicator, MpiComm};

use crate::cases::Case;

/// The cases that the arguments ask for.
fn asked() -> Option<Vec<&'static Case>> {
    // that of the test harness, which all binaries of a run are given
    let args = std::env::args()
        .skip(1)
        .filter(|arg| arg != "--show-output");
    let args: Vec<String> = args.collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        [] => Some(
            cases::CASES
                .iter()
                .chain(parts::CASES)
                .chain(processes::CASES)
                .chain(arrays::CASES)
                .chain(pieces::CASES)
                .collect(),
        ),
        #[cfg(feature = "hdf5-mpio")]
        ["--parallel"] => Some(mpio::CASES.iter().collect()),
        #[cfg(feature = "hdf5-mpio")]
        ["--ways"] => Some(mpio::WAYS.iter().collect()),
        #[cfg(feature = "hdf5-mpio")]
        ["--large"] => Some(mpio::LARGE.iter().collect()),
        ["--full-disk"] => {
            full::limit_the_last();
            Some(full::CASES.iter().collect())
        }
        _ => None,
    }
}

/// What runs, and since when.
type Running = Arc<Mutex<Option<(&'static str, Instant)>>>;

/// Ends this rank when a case takes longer than it may.
fn watch(running: &Running) {
    let given = std::env::var("CASE_SECONDS");
    let seconds = given.ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let running = Arc::clone(running);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(200));
            if let Some((name, began)) = *running.lock().unwrap()
                && began.elapsed() > Duration::from_secs(seconds)
            {
                eprintln!("test {name} ... FAILED: no end within {seconds} s");
                std::process::abort();
            }
        }
    });
}

fn main() -> ExitCode {
    let Some(cases) = asked() else {
        eprintln!(
            "arguments: none, --full-disk, or with the feature hdf5-mpio --parallel, --ways, --large"
        );
        return ExitCode::FAILURE;
    };
    let comm = match MpiComm::world() {
        Ok(comm) => comm,
        Err(error) => {
            eprintln!("MPI does not start: {error}");
            return ExitCode::FAILURE;
        }
    };
    let running = Running::default();
    watch(&running);
    let mut failed = 0;
    for (name, run) in &cases {
        let began = Instant::now();
        *running.lock().unwrap() = Some((name, began));
        let outcome = run(&comm);
        if let Err(error) = &outcome {
            // the ranks may not reach each other any more
            eprintln!("rank {}: {name}: {error}", comm.rank());
        }
        let verdict = agree(&comm, outcome);
        failed += usize::from(verdict.is_err());
        let seconds = began.elapsed().as_secs_f64();
        if comm.rank() == 0 {
            let word = if verdict.is_ok() { "ok" } else { "FAILED" };
            println!("test {name} ... {word} ({seconds:.1} s)");
            if let Err(error) = verdict {
                println!("  {error}");
            }
        }
    }
    *running.lock().unwrap() = None;
    if comm.rank() == 0 {
        let word = if failed == 0 { "ok" } else { "FAILED" };
        println!(
            "test result: {word}. {} passed; {failed} failed; on {} MPI ranks",
            cases.len() - failed,
            comm.size()
        );
    }
    ExitCode::from(u8::from(failed != 0))
}
