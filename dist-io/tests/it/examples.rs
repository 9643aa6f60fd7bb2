//! The examples do what they say.

use std::path::Path;
use std::process::Command;

/// What an example prints. Cargo builds examples when no target is chosen by name.
fn output(name: &str) -> String {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let path = path.join("examples").join(name);
    assert!(
        path.exists(),
        "first: cargo build -p dist-io --features hdf5 --examples"
    );
    // an older one says nothing of this source
    let built = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let source = source.join(name).with_extension("rs");
    assert!(
        built(&path) >= built(&source),
        "{name} is older than its source"
    );
    let output = Command::new(path).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn hdf5_roundtrip() {
    assert!(output("hdf5_roundtrip").ends_with("HDF5 ROUND TRIP OK\n"));
}

#[test]
fn hdf5_batched_read() {
    assert!(output("hdf5_batched_read").ends_with("HDF5 BATCHED READ OK\n"));
}
