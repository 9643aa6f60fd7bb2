//! The examples do what they say.

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

#[test]
fn hdf5_lazy() {
    let said = output("hdf5_lazy");
    assert!(
        said.contains("from Some(320.0) down to Some(280.0)"),
        "{said}"
    );
    assert!(
        said.contains("4800 of 14400 are warm, 26.85 on average"),
        "{said}"
    );
    assert!(said.ends_with("HDF5 LAZY OK\n"), "{said}");
}
