//! The cases of HDF5 files on 1 to 4 thread ranks.

use dist_comm::ThreadComm;

use crate::cases::CASES;

#[test]
fn cases_on_thread_ranks() {
    let mut failed = Vec::new();
    for (name, run) in CASES {
        for ranks in 1..=4 {
            let outcome =
                ThreadComm::run(ranks, |comm| run(comm).map_err(|error| error.to_string()));
            if let Err(error) = outcome {
                failed.push(format!("{name}, on {ranks} ranks: {error}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
