//! Any bytes as an HDF5 file with a dataset `a`: what is loaded within limits is as long as its shape, and the same twice.
#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use dap_protocol::Element;
use dist_comm::SingleComm;
use dist_io::{Limits, load_hdf5_records};
use dist_maps::Distribution;
use libfuzzer_sys::fuzz_target;

/// One file for each process, in memory.
static FILE: LazyLock<PathBuf> =
    LazyLock::new(|| PathBuf::from(format!("/dev/shm/hdf5_load.{}.h5", std::process::id())));

fn load<T: Element>(whole: &Distribution) {
    let comm = SingleComm::new();
    let loaded = Limits::untrusted().load::<T>(&*FILE, whole, "a", &comm);
    if let Ok(part) = loaded {
        let elements: u64 = whole.global_shape().iter().product();
        assert_eq!(part.buffer().data().len() as u64, elements);
        assert!(
            elements * size_of::<T>() as u64 <= std::fs::metadata(&*FILE).expect("the file").len()
        );
    }
}

fuzz_target!(|data: &[u8]| {
    std::fs::write(&*FILE, data).expect("a file");
    let limits = Limits::untrusted();
    if limits.check(&*FILE).is_err() {
        return;
    }
    let Ok(info) = limits.inspect(&*FILE, "a") else {
        return;
    };
    let Ok(whole) = Distribution::over(1).shape(info.shape).build() else {
        return;
    };
    load::<bool>(&whole);
    load::<i32>(&whole);
    load::<f64>(&whole);
    let _ = load_hdf5_records(&*FILE, &whole, "a", &SingleComm::new());
});
