//! The examples do what they say: their checks are their own, an error is one that they found.

#[path = "../../examples/hdf5_batched_read.rs"]
mod hdf5_batched_read;
#[path = "../../examples/hdf5_lazy.rs"]
mod hdf5_lazy;
#[path = "../../examples/hdf5_roundtrip.rs"]
mod hdf5_roundtrip;

#[test]
fn round_trip() {
    let folder = crate::support::temporary();
    hdf5_roundtrip::run(&folder.path().join("out.h5")).unwrap();
}

#[test]
fn batched_read() {
    hdf5_batched_read::main().unwrap();
}

#[test]
fn lazy() {
    hdf5_lazy::main().unwrap();
}
