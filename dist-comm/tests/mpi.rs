//! The suites of the test kit on MPI ranks. Run it under `mpirun`: `scripts/mpi-test.sh dist-comm mpi 1 2 3 4 6`.
//!
//! Every rank runs the same cases in the same order; verdicts are those of all ranks, and rank 0 prints them. An argument
//! runs only the cases whose name contains it.

use std::process::ExitCode;

use dist_comm::testkit::{self, Verdict};
use dist_comm::{CommError, CommExt, Communicator, MpiComm, OneSided, SingleComm, agree};

struct Suite {
    passed: usize,
    failed: Vec<String>,
    filter: Option<String>,
    speaks: bool,
}

impl Suite {
    /// Runs a case on the ranks of `comm`, a part of `all`.
    fn case(&mut self, all: &MpiComm, what: &str, name: &str, run: impl FnOnce() -> Verdict) {
        let name = format!("{what}: {name}");
        if self
            .filter
            .as_ref()
            .is_some_and(|filter| !name.contains(filter.as_str()))
        {
            return;
        }
        let verdict = testkit::settle(all, &name, run());
        if self.speaks {
            println!(
                "test {name} ... {}",
                if verdict.is_ok() { "ok" } else { "FAILED" }
            );
        }
        match verdict {
            Ok(()) => self.passed += 1,
            Err(text) => self.failed.push(text),
        }
    }

    fn suites(&mut self, all: &MpiComm, comm: &MpiComm, what: &str, dir: &std::path::Path) {
        for case in testkit::communicator_cases() {
            self.case(all, what, case.name, || (case.run)(comm));
        }
        for case in testkit::one_sided_cases() {
            self.case(all, what, case.name, || (case.run)(comm));
        }
        for case in testkit::file_cases() {
            self.case(all, what, case.name, || (case.run)(comm, dir));
        }
    }
}

/// Rank 1 means the second window, the others the first.
fn different_windows(comm: &MpiComm) -> Verdict {
    let text = |error: CommError| error.to_string();
    let mut windows = [comm.window(8).map_err(text)?, comm.window(8).map_err(text)?];
    let meant = &mut windows[usize::from(comm.rank() == 1)];
    let mut called = false;
    let outcomes = [meant.with_local(&mut |_| called = true), meant.fence()];
    comm.barrier().map_err(text)?;
    for outcome in outcomes {
        let right = match outcome {
            Err(CommError::Length { rank, .. }) => rank == 1 && comm.size() > 1 && !called,
            Err(_) => false,
            Ok(()) => comm.size() == 1,
        };
        if !right {
            return Err(format!("got {outcome:?}"));
        }
    }
    windows[0].fence().map_err(text)
}

fn main() -> ExitCode {
    let comm = MpiComm::world().expect("MPI starts");
    let mut suite = Suite {
        passed: 0,
        failed: Vec::new(),
        filter: std::env::args()
            .nth(1)
            .filter(|argument| !argument.starts_with('-')),
        speaks: comm.rank() == 0,
    };
    // One directory for all ranks, made by the first.
    let dir = (comm.rank() == 0).then(|| tempfile::tempdir().expect("a temporary directory"));
    let path = dir.as_ref().map_or(Vec::new(), |dir| {
        dir.path().as_os_str().as_encoded_bytes().to_vec()
    });
    let path = comm.broadcast_vec(0, path).expect("broadcast");
    let path = std::path::PathBuf::from(String::from_utf8(path).expect("a path in UTF-8"));

    suite.suites(&comm, &comm, "world", &path);
    // A part: all ranks but the first, in reversed order, and the first alone.
    let key = -i64::try_from(comm.rank()).expect("a small rank");
    let part = comm
        .subgroup(Some(u32::from(comm.rank() == 0)), key)
        .expect("split")
        .expect("a part");
    let part_dir = path.join(format!("part-{}", comm.rank() == 0));
    let made = std::fs::create_dir_all(&part_dir);
    agree::agree(&comm, made).expect("a directory");
    suite.suites(&comm, &part, "part", &part_dir);
    drop(part);
    let rsmpi = rsmpi::topology::SimpleCommunicator::world();
    let duplicate = MpiComm::duplicate_of(&rsmpi).expect("duplicate");
    suite.case(&comm, "duplicate", "of an rsmpi communicator", || {
        let ranks = duplicate
            .all_gather_value(comm.rank() as u64)
            .map_err(|error| error.to_string())?;
        if ranks == (0..comm.size() as u64).collect::<Vec<_>>() {
            Ok(())
        } else {
            Err(format!("{ranks:?}"))
        }
    });
    suite.case(&comm, "window", "different windows are an error", || {
        different_windows(&comm)
    });
    suite.case(&comm, "single", "beside MPI", || {
        testkit::check_communicator(&SingleComm::new())
    });

    let failed = suite.failed.len();
    if suite.speaks {
        for text in &suite.failed {
            println!("\n{text}");
        }
        let word = if failed == 0 { "ok" } else { "FAILED" };
        println!(
            "\ntest result: {word}. {} passed; {failed} failed; {} ranks",
            suite.passed,
            comm.size()
        );
    }
    comm.barrier().expect("barrier");
    drop(dir);
    if failed == 0 && suite.passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
