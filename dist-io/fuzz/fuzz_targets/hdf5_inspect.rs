//! Any bytes as an HDF5 file: what is said of it within limits is an error, or within them; the library never sees it.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use dist_comm::SingleComm;
use dist_io::{Limits, TreeFilter};
use libfuzzer_sys::fuzz_target;

/// As for files of strangers, and fewer bytes, so that no input takes long.
const LIMITS: Limits = Limits {
    metadata_bytes: 1 << 20,
    ..Limits::untrusted()
};

/// One file for each process, in memory.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| PathBuf::from(format!("/dev/shm/hdf5_inspect.{}.h5", std::process::id())));

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*FILE, data).expect("a file");
    let limits = LIMITS;
    let keys = limits.datasets(&*FILE);
    if limits.check(&*FILE).is_ok() {
        assert!(keys.is_ok(), "a file that is right can be listed");
    }
    for key in keys
        .unwrap_or_default()
        .iter()
        .take(10)
        .chain([&"a".to_owned()])
    {
        if let Ok(info) = limits.inspect(&*FILE, key) {
            assert!(info.shape.len() <= limits.dimensions);
            assert!(info.attributes.len() <= limits.attributes);
        }
        let _ = limits.verify(&*FILE, key, &SingleComm::new());
    }
    let _ = limits.open(&*FILE, "", TreeFilter::SkipMismatched, &SingleComm::new());
});
