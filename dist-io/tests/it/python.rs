//! h5py reads what ranks wrote, bit for bit, and ranks read what h5py wrote.
//!
//! The Python is that of `DIST_IO_PYTHON`, or `python3`; without h5py in it the test says so and is counted as skipped.

use std::path::Path;
use std::process::Command;

use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::{
    ByteOrder, IoError, Refusal, Storage, WriteMode, inspect_hdf5, load_hdf5, save_hdf5,
};
use dist_maps::Distribution;
use half::f16;
use num_complex::Complex;

use crate::support::{Value, every_kind, part_with, temporary};

/// What the script printed; `None`, and a word about it, where there is no h5py.
pub fn h5py(command: &str, folder: &Path) -> Option<String> {
    run_h5py("h5py_files.py", command, folder)
}

/// The same, by another script.
pub fn run_h5py(script: &str, command: &str, folder: &Path) -> Option<String> {
    let python = std::env::var("DIST_IO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import h5py"]).output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: h5py is not in {python} (DIST_IO_PYTHON names another Python)");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/interop")
        .join(script);
    let output = Command::new(&python)
        .arg(script)
        .arg(command)
        .arg(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn save<T: Value>(path: &Path, ranks: usize) {
    let d = Distribution::over(ranks)
        .shape([7, 10])
        .block_cyclic(0, 2)
        .cyclic(1)
        .build()
        .unwrap();
    let name = format!("types/{}", T::TYPE.numpy_code().unwrap());
    ThreadComm::run(ranks, |comm| {
        let part = part_with::<T>(&d.dim_data(comm.rank())?, None);
        save_hdf5(path, &part, &name, WriteMode::Append, comm)
    })
    .unwrap();
}

#[test]
fn h5py_reads_what_ranks_wrote() {
    let folder = temporary();
    let path = folder.path().join("ours.h5");
    save::<bool>(&path, 3);
    save::<i8>(&path, 4);
    save::<i16>(&path, 3);
    save::<i32>(&path, 2);
    save::<i64>(&path, 4);
    save::<u8>(&path, 3);
    save::<u16>(&path, 2);
    save::<u32>(&path, 4);
    save::<u64>(&path, 3);
    save::<f16>(&path, 4);
    save::<f32>(&path, 1);
    save::<f64>(&path, 4);
    save::<Complex<f32>>(&path, 3);
    save::<Complex<f64>>(&path, 4);
    for ranks in 1..=4 {
        for (name, d) in every_kind(ranks) {
            ThreadComm::run(ranks, |comm| {
                let part = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
                save_hdf5(
                    &path,
                    &part,
                    &format!("kinds/{name} on {ranks}"),
                    WriteMode::Append,
                    comm,
                )
            })
            .unwrap();
        }
    }
    if let Some(said) = h5py("check", folder.path()) {
        assert_eq!(said.trim(), "54 datasets");
    }
}

fn load<T: Value>(path: &Path, key: &str) {
    let d = Distribution::over(3)
        .shape([7, 10])
        .cyclic(0)
        .block(1)
        .padding(1)
        .build()
        .unwrap();
    ThreadComm::run(3, |comm| {
        let part = load_hdf5::<T>(path, comm, &d, key)?;
        assert_eq!(part, part_with(&d.dim_data(comm.rank())?, None), "{key}");
        Ok::<_, IoError>(())
    })
    .unwrap();
}

#[test]
fn ranks_read_what_h5py_wrote() {
    let folder = temporary();
    if h5py("make", folder.path()).is_none() {
        return;
    }
    let path = folder.path().join("theirs.h5");
    load::<bool>(&path, "b1");
    for order in ["<", ">"] {
        let key = |code: &str| format!("{order}{code}");
        load::<i8>(&path, &key("i1"));
        load::<i16>(&path, &key("i2"));
        load::<i32>(&path, &key("i4"));
        load::<i64>(&path, &key("i8"));
        load::<u8>(&path, &key("u1"));
        load::<u16>(&path, &key("u2"));
        load::<u32>(&path, &key("u4"));
        load::<u64>(&path, &key("u8"));
        load::<f16>(&path, &key("f2"));
        load::<f32>(&path, &key("f4"));
        load::<f64>(&path, &key("f8"));
        load::<Complex<f32>>(&path, &key("c8"));
        load::<Complex<f64>>(&path, &key("c16"));
    }
    let big = inspect_hdf5(&path, ">i4").unwrap();
    assert_eq!((big.byte_order, big.dim_data), (ByteOrder::Big, None));
    load::<f64>(&folder.path().join("userblock.h5"), "a");
    load::<f64>(&path, "soft link");

    let refused = |key: &str| match inspect_then_load(&path, key) {
        IoError::Hdf5 { refusal, .. } => *refusal,
        other => panic!("{key}: {other:?}"),
    };
    for (key, storage) in [
        ("chunked", "in chunks of 2 x 5"),
        ("gzip", "in chunks of 7 x 10"),
        ("compact", "among the metadata (compact)"),
        ("virtual", "in other datasets (virtual)"),
        ("external", "in other files (external)"),
        ("never written", "nowhere yet: never written"),
    ] {
        assert_eq!(
            refused(key),
            Refusal::Storage {
                storage: storage.to_owned()
            },
            "{key}"
        );
    }
    assert_eq!(refused("null"), Refusal::NullDataspace);
    assert_eq!(
        refused("dangling"),
        Refusal::MissingKey {
            missing: "dangling".to_owned()
        }
    );
    for key in [
        "text",
        "enum",
        "compound",
        "bitfield",
        "bfloat16",
        "bfloat16 big",
        "12 bits",
    ] {
        assert!(
            matches!(refused(key), Refusal::ElementType { .. }),
            "{key}: {:?}",
            refused(key)
        );
    }
    let error =
        load_hdf5::<f64>(&path, &SingleComm::new(), dist_io::Wanted::AsSaved, "<f8").unwrap_err();
    assert!(matches!(error, IoError::Hdf5 { refusal, .. } if *refusal == Refusal::NoDimData));
    let error = load_hdf5::<f64>(
        &path,
        &SingleComm::new(),
        dist_io::Wanted::AsSaved,
        "odd dim_data",
    )
    .unwrap_err();
    assert!(
        matches!(error, IoError::Hdf5 { refusal, .. } if matches!(*refusal, Refusal::DimData { .. }))
    );
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let error = load_hdf5::<bool>(&path, &SingleComm::new(), &d, "odd bool").unwrap_err();
    assert_eq!(error.to_string(), "rank 0: local position 12 is no bool");
    let chunked = inspect_hdf5(&path, "chunked").unwrap();
    assert_eq!(chunked.storage, Storage::Chunked { chunk: vec![2, 5] });
}

/// The error of loading, on two ranks.
fn inspect_then_load(path: &Path, key: &str) -> IoError {
    let d = Distribution::over(2)
        .shape([7, 10])
        .block(0)
        .build()
        .unwrap();
    let errors = ThreadComm::run(2, |comm| {
        assert!(comm.size() == 2);
        Ok::<_, IoError>(load_hdf5::<f64>(path, comm, &d, key).unwrap_err())
    })
    .unwrap();
    assert_eq!(errors[0], errors[1]);
    errors.into_iter().next().unwrap()
}
