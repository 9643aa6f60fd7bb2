//! Says which calls the HDF5 library has that is built against; without the feature `hdf5`, nothing.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(hdf5_file_locking)");
    println!("cargo::rustc-check-cfg=cfg(fuzzing)");
    if env::var_os("CARGO_FEATURE_HDF5").is_none() {
        return;
    }
    // `hdf5-metno-sys` says each version that the library is at least
    let is_at_least = |version: &str| env::var_os(format!("DEP_HDF5_VERSION_{version}")).is_some();
    if !is_at_least("1_10_5") {
        println!(
            "cargo::error=the feature `hdf5` of dist-io needs HDF5 1.10.5 or later (Debian: libhdf5-dev)"
        );
    }
    // H5Pset_file_locking came in 1.10.7 and, beside it, in 1.12.1
    if (is_at_least("1_10_7") && !is_at_least("1_12_0")) || is_at_least("1_12_1") {
        println!("cargo::rustc-cfg=hdf5_file_locking");
    }
}
