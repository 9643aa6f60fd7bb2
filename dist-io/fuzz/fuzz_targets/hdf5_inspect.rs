//! Any bytes as an HDF5 file with a dataset `a`: what is said of it is an error, or as large as the limits allow.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use dist_comm::SingleComm;
use dist_io::{Limits, Series, inspect_hdf5, verify};
use libfuzzer_sys::fuzz_target;

/// One file for each process, in memory.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| PathBuf::from(format!("/dev/shm/hdf5_inspect.{}.h5", std::process::id())));

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*FILE, data).expect("a file");
    let limits = Limits::untrusted();
    let _ = limits.check(&*FILE);
    if let Ok(info) = limits.inspect(&*FILE, "a") {
        assert!(info.shape.len() <= limits.dimensions);
        assert_eq!(
            inspect_hdf5(&*FILE, "a").expect("it was inspected").shape,
            info.shape
        );
    }
    let comm = SingleComm::new();
    let _ = verify(&*FILE, "a", &comm);
    let _ = Series::open(&*FILE, &comm);
});
