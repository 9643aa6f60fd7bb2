//! Any exporter into any importer, under `mpirun`: the cases of `compose.rs`, in the same order on all ranks.
//!
//! Runs without the test harness: `scripts/mpi-test.sh integration-tests mpi 1 2 3 4 6`. A case counts when it
//! holds on every rank.

use std::process::ExitCode;

use dist_comm::agree::agree;
use dist_comm::{Communicator, MpiComm};
use integration_tests::{Error, SharedFolder, cases};

fn main() -> Result<ExitCode, Error> {
    let world = MpiComm::world()?;
    let folder = SharedFolder::new(&world)?;
    let (mut passed, mut failed) = (0, 0);
    for case in cases() {
        match agree(&world, case.run(&world, folder.path())) {
            Ok(()) => passed += 1,
            Err(e) => {
                failed += 1;
                if world.rank() == 0 {
                    println!("{case:?} FAILED: {e}");
                }
            }
        }
    }
    folder.close(&world)?;
    if world.rank() == 0 {
        let word = if failed == 0 { "ok" } else { "FAILED" };
        println!(
            "test result: {word}. {passed} passed; {failed} failed; {} ranks",
            world.size()
        );
    }
    Ok(if failed == 0 && passed > 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
