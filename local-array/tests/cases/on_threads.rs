//! The cases on 1 to 7 thread ranks, as many runs side by side as there are cores.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dist_comm::ThreadComm;

use crate::Chosen;

const RANKS: usize = 7;

/// What is known of a case so far.
#[derive(Default)]
struct Progress {
    runs: usize,
    time: Duration,
    failures: Vec<String>,
}

pub fn run(cases: &[Chosen]) -> ExitCode {
    let runs: Vec<(usize, usize)> = (0..cases.len())
        .flat_map(|case| (1..=RANKS).rev().map(move |ranks| (case, ranks)))
        .collect();
    let next = AtomicUsize::new(0);
    let progress: Vec<Mutex<Progress>> = cases.iter().map(|_| Mutex::default()).collect();
    let work = || {
        while let Some(&(case, ranks)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            one(&cases[case], ranks, &progress[case]);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let failed = progress
        .iter()
        .filter(|case| !case.lock().expect("no worker is left").failures.is_empty())
        .count();
    crate::result(
        cases.len() - failed,
        failed,
        &format!("on 1 to {RANKS} thread ranks"),
    )
}

/// A case on some ranks; the last of its runs says how it went.
fn one(case: &Chosen, ranks: usize, progress: &Mutex<Progress>) {
    let began = Instant::now();
    let outcome = ThreadComm::run(ranks, |comm| {
        (case.run)(comm).map_err(|failure| failure.to_string())
    });
    let mut progress = progress.lock().expect("no run panics");
    progress.runs += 1;
    progress.time += began.elapsed();
    if let Err(error) = outcome {
        progress
            .failures
            .push(format!("  on {ranks} ranks: {error}"));
    }
    if progress.runs == RANKS {
        let word = if progress.failures.is_empty() {
            "ok"
        } else {
            "FAILED"
        };
        let seconds = progress.time.as_secs_f64();
        let failures: String = progress
            .failures
            .iter()
            .map(|line| format!("\n{line}"))
            .collect();
        println!("test {} ... {word} ({seconds:.1} s){failures}", case.path);
    }
}
