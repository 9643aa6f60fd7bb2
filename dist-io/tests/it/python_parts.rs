//! h5py reads files in parts as one dataset, bit for bit, and ranks read virtual datasets that h5py made.

use std::path::Path;

use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{from_file, from_file_batched, repack, to_file};
use dist_io::{IoError, Refusal, WriteMode, save_hdf5};
use dist_maps::Distribution;
use half::f16;
use num_complex::Complex;

use crate::python::run_h5py;
use crate::support::{Value, every_kind, part_with, temporary};

fn h5py(command: &str, folder: &Path) -> Option<String> {
    run_h5py("h5py_parts.py", command, folder)
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
        to_file(&part, path, &name, comm)
    })
    .unwrap();
}

#[test]
fn h5py_reads_what_ranks_wrote_in_parts() {
    let folder = temporary();
    let here = folder.path().join("50% here");
    let path = here.join("ours.h5");
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
                to_file(&part, &path, &format!("kinds/{name} on {ranks}"), comm)
            })
            .unwrap();
        }
    }
    let Some(said) = h5py("check", &here) else {
        return;
    };
    assert_eq!(said.trim(), "54 datasets, 54 virtual");
    // the folder can be moved
    let there = folder.path().join("there");
    std::fs::rename(&here, &there).unwrap();
    assert_eq!(
        h5py("check", &there).unwrap().trim(),
        "54 datasets, 54 virtual"
    );
    // h5py adds attributes and links, which stay when the file is repacked, as the old attributes do
    h5py("annotate", &there).unwrap();
    let path = there.join("ours.h5");
    repack(&path, &path).unwrap();
    assert_eq!(
        h5py("check", &there).unwrap().trim(),
        "55 datasets, 0 virtual"
    );
    assert_eq!(h5py("annotated", &there).unwrap().trim(), "annotated");
    assert_eq!(std::fs::read_dir(&there).unwrap().count(), 1);
}

fn load<T: Value>(path: &Path, key: &str) {
    for d in [
        Distribution::over(3)
            .shape([7, 10])
            .cyclic(0)
            .block(1)
            .padding(1)
            .build()
            .unwrap(),
        Distribution::over(2)
            .shape([7, 10])
            .block(0)
            .build()
            .unwrap(),
    ] {
        ThreadComm::run(d.ranks(), |comm| {
            let part = from_file::<T>(path, key, &d, comm)?;
            assert_eq!(part, part_with(&d.dim_data(comm.rank())?, None), "{key}");
            Ok::<_, IoError>(())
        })
        .unwrap();
    }
    let whole = Distribution::over(1).shape([7, 10]).build().unwrap();
    let expected = part_with::<T>(&whole.dim_data(0).unwrap(), None);
    let chunks = from_file_batched::<T>(path, key, &[3, 10]).unwrap();
    let rows = chunks.flat_map(|chunk| chunk.unwrap().0.into_parts().1);
    assert_eq!(rows.collect::<Vec<_>>(), expected.buffer().data(), "{key}");
}

#[test]
fn ranks_read_virtual_datasets_of_h5py() {
    let folder = temporary();
    if h5py("make", folder.path()).is_none() {
        return;
    }
    let path = folder.path().join("theirs.h5");
    for key in [
        "halves",
        "stacked rows",
        "tiles",
        "own file",
        "absolute",
        "nested/group",
        "other folder",
    ] {
        load::<f64>(&path, key);
    }
    load::<f64>(&path, "big parts");
    load::<f64>(&path, "big");
    load::<bool>(&path, "bool");
    load::<Complex<f32>>(&path, "complex");
    // a link to the file from elsewhere: sources are found where the file is
    let elsewhere = temporary();
    let link = elsewhere.path().join("link.h5");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    load::<f64>(&link, "halves");

    let refused = |key: &str| {
        let d = Distribution::over(2)
            .shape([7, 10])
            .block(0)
            .build()
            .unwrap();
        let errors = ThreadComm::run(2, |comm| {
            assert!(comm.size() == 2);
            Ok::<_, IoError>(from_file::<f64>(&path, key, &d, comm).unwrap_err())
        });
        let errors = errors.unwrap();
        assert_eq!(errors[0], errors[1]);
        match &errors[0] {
            IoError::Hdf5 { refusal, .. } => (**refusal).clone(),
            other => panic!("{key}: {other:?}"),
        }
    };
    for key in ["strided", "pattern", "overlap", "points", "reshaped"] {
        let refusal = refused(key);
        assert!(
            matches!(refusal, Refusal::NotBlocks { .. }),
            "{key}: {refusal:?}"
        );
    }
    let covered = Refusal::Uncovered {
        covered: 30,
        size: 70,
    };
    assert_eq!(refused("gap"), covered);
    let of_part = |key: &str| match refused(key) {
        Refusal::Part { refusal, .. } => *refusal,
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(of_part("no file"), Refusal::NotFound);
    assert!(matches!(of_part("no dataset"), Refusal::MissingKey { .. }));
    assert!(matches!(of_part("another type"), Refusal::Stamp { .. }));
    assert!(matches!(of_part("another shape"), Refusal::Stamp { .. }));
    assert!(matches!(of_part("beyond"), Refusal::Stamp { .. }));
    assert!(matches!(of_part("group"), Refusal::NotADataset { .. }));
    assert!(matches!(of_part("chunked"), Refusal::Storage { .. }));

    // ours over theirs: what else is in the file stays
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let mine = part_with::<f64>(&d.dim_data(0).unwrap(), None);
    let comm = SingleComm::new();
    to_file(&mine, &path, "gap", &comm).unwrap();
    load::<f64>(&path, "gap");
    load::<f64>(&path, "halves");
    save_hdf5(&path, &mine, "ours", WriteMode::Append, &comm).unwrap();
    load::<f64>(&path, "ours");
}
