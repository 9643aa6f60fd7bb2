//! Files that others replace, lock or add to meanwhile.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{from_file, from_file_batched, repack, to_file};
use dist_io::{
    AttributeValue, Hdf5Reader, IoError, Refusal, SaveHdf5, Wanted, WriteMode, datasets_hdf5,
    inspect_hdf5, load_hdf5, save_hdf5,
};
use dist_maps::Distribution;
use hdf5_metno::{File, Hyperslab, SliceOrIndex};

use crate::support::{part_with, temporary};

fn alone(shape: &[u64]) -> Distribution {
    Distribution::over(1).shape(shape).build().unwrap()
}

/// An array of one value.
fn filled(d: &Distribution, rank: usize, value: f64) -> DistBuffer<HostArray<f64>> {
    let shape = d.local_shape(rank);
    let elements = vec![value; shape.iter().product()];
    DistBuffer::new(
        d.dim_data(rank).unwrap(),
        HostArray::new(shape, elements).unwrap(),
    )
    .unwrap()
}

fn refusal(error: IoError) -> Refusal {
    match error {
        IoError::Hdf5 { refusal, .. } => *refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_opened_is_read_whatever_becomes_of_the_name() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let (d, comm) = (alone(&[9, 5]), SingleComm::new());
    let old = part_with::<f64>(&d.dim_data(0).unwrap(), None);
    save_hdf5(&path, &old, "a", WriteMode::Replace, &comm).unwrap();
    let batches = from_file_batched::<f64>(&path, "a", &[4, 5]).unwrap();
    let reader = Hdf5Reader::open(&path, "a").unwrap();
    // elsewhere in the file, and of another length
    let new = filled(&alone(&[40, 5]), 0, -1.0);
    save_hdf5(&path, &new, "before", WriteMode::Replace, &comm).unwrap();
    save_hdf5(&path, &new, "a", WriteMode::Append, &comm).unwrap();
    let mut read = Vec::new();
    for batch in batches {
        read.extend_from_slice(batch.unwrap().0.data());
    }
    assert_eq!(read, old.buffer().data());
    assert_eq!(reader.read::<f64>(&d.dim_data(0).unwrap()).unwrap(), old);
    assert_eq!(reader.info().shape, [9, 5]);

    // the parts of a virtual dataset stay while somebody has its file open
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_some() {
        println!("skipped: HDF5_USE_FILE_LOCKING decides what is locked");
        return;
    }
    to_file(&old, &path, "a", &comm).unwrap();
    let reader = Hdf5Reader::open(&path, "a").unwrap();
    let mut batches = from_file_batched::<f64>(&path, "a", &[4, 5]).unwrap();
    to_file(&filled(&d, 0, 7.0), &path, "a", &comm).unwrap();
    assert_eq!(reader.read::<f64>(&d.dim_data(0).unwrap()).unwrap(), old);
    batches.next().unwrap().unwrap();
    // and otherwise are missed
    drop((reader, batches));
    let mut batches = from_file_batched::<f64>(&path, "a", &[4, 5]).unwrap();
    to_file(&old, &path, "a", &comm).unwrap();
    let error = batches.next().unwrap().unwrap_err();
    assert_eq!(refusal(error), Refusal::Changed);
    // the file and the parts of the last save are left
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Saves arrays of one value, one after another, until `read` is done with loading them.
fn while_saving(save: impl Fn(f64) + Sync, read: impl Fn() -> Vec<f64>) {
    /// When reading is over, by a panic too.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reading = Done(&done);
        scope.spawn(|| {
            for value in 1.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                save(f64::from(value));
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        });
        let seen = (0..40).map(|_| {
            let elements = read();
            let first = elements[0];
            assert!(
                elements.iter().all(|&element| element == first),
                "two arrays in one"
            );
            first
        });
        let mut seen: Vec<f64> = seen.collect();
        drop(reading);
        seen.dedup();
        assert!(seen.len() > 1, "nothing was saved meanwhile");
        assert!(seen.is_sorted(), "an old array after a new one");
    });
}

fn loaded(path: &Path) -> Vec<f64> {
    let d = Distribution::over(3)
        .shape([60, 50])
        .cyclic(0)
        .build()
        .unwrap();
    let parts = ThreadComm::run(3, |comm| {
        let part = load_hdf5::<f64>(path, &d, "a", comm)?;
        Ok::<_, IoError>(part.buffer().data().to_vec())
    });
    parts.unwrap().concat()
}

#[test]
fn a_load_beside_a_save_is_of_one_array() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = alone(&[60, 50]);
    let save = |value: f64| {
        // not always at the same place of the file
        let comm = SingleComm::new();
        let first = if value % 2.0 == 0.0 { "a" } else { "b" };
        let second = if value % 2.0 == 0.0 { "b" } else { "a" };
        let beside = folder.path().join("next.h5");
        save_hdf5(
            &beside,
            &filled(&d, 0, value),
            first,
            WriteMode::Replace,
            &comm,
        )
        .unwrap();
        save_hdf5(
            &beside,
            &filled(&d, 0, value),
            second,
            WriteMode::Append,
            &comm,
        )
        .unwrap();
        std::fs::rename(&beside, &path).unwrap();
    };
    save(0.0);
    while_saving(save, || loaded(&path));
}

#[test]
fn a_load_beside_a_save_in_parts_is_of_one_array() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(2)
        .shape([60, 50])
        .block(0)
        .build()
        .unwrap();
    let save = |value: f64| {
        ThreadComm::run(2, |comm| {
            to_file(&filled(&d, comm.rank(), value), &path, "a", comm)
        })
        .unwrap();
    };
    save(0.0);
    while_saving(save, || loaded(&path));
}

#[test]
fn appends_at_once_are_all_there() {
    let folder = temporary();
    let path = folder.path().join("all.h5");
    let d = alone(&[3]);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (path, d) = (&path, &d);
            scope.spawn(move || {
                let comm = SingleComm::new();
                for key in 0..25 {
                    let array = filled(d, 0, f64::from(key));
                    let name = format!("{thread}/{key}");
                    save_hdf5(path, &array, &name, WriteMode::Append, &comm).unwrap();
                    to_file(&array, path, &format!("parts/{thread}/{key}"), &comm).unwrap();
                }
            });
        }
    });
    assert_eq!(datasets_hdf5(&path).unwrap().len(), 100);
    let last = from_file::<f64>(&path, "parts/1/24", &d, &SingleComm::new()).unwrap();
    assert_eq!(last.buffer().data(), [24.0; 3]);
    // the file, and the parts of 50 saves: no lock is left
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 51);
}

#[test]
fn a_file_that_is_open_to_be_written_is_not_replaced() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let (d, comm) = (alone(&[3]), SingleComm::new());
    let array = filled(&d, 0, 1.0);
    save_hdf5(&path, &array, "a", WriteMode::Replace, &comm).unwrap();
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_some() {
        println!("skipped: HDF5_USE_FILE_LOCKING decides what is locked");
        return;
    }
    let writer = File::open_rw(&path).unwrap();
    writer.create_group("mine").unwrap();
    let refused = [
        save_hdf5(&path, &array, "b", WriteMode::Append, &comm).err(),
        save_hdf5(&path, &array, "b", WriteMode::Replace, &comm).err(),
        to_file(&array, &path, "b", &comm).err(),
        repack(&path, &path).err(),
        SaveHdf5::new(&path)
            .key("b")
            .begin(&d, dap_protocol::ElementType::F64)
            .err(),
    ];
    for (call, error) in refused.into_iter().enumerate() {
        let refusal = refusal(error.unwrap_or_else(|| panic!("call {call} replaced the file")));
        assert!(
            matches!(refusal, Refusal::Locked { .. }),
            "call {call}: {refusal}"
        );
    }
    writer.close().unwrap();
    assert!(File::open(&path).unwrap().link_exists("mine"));
    save_hdf5(&path, &array, "b", WriteMode::Append, &comm).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A mapping of all three elements.
fn all() -> Hyperslab {
    let slice = SliceOrIndex::SliceCount {
        start: 0,
        step: 3,
        count: 1,
        block: 3,
    };
    vec![slice].into()
}

#[test]
fn parts_that_another_dataset_names_stay() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let (d, comm) = (alone(&[3]), SingleComm::new());
    let old = filled(&d, 0, 1.0);
    for key in ["group/a", "other"] {
        to_file(&old, &path, key, &comm).unwrap();
    }
    let parts = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".parts")).collect()
    };
    for part in parts(folder.path()) {
        // as copying the dataset does
        let file = File::open_rw(&path).unwrap();
        let builder = file.new_dataset_builder().empty::<f64>().shape(3);
        let copy = builder.virtual_map(format!("{part}/0.h5"), "part", 3, all(), 3, all());
        copy.create(part.as_str()).unwrap();
        file.close().unwrap();
    }
    let copies = parts(folder.path());
    for value in [2.0, 3.0] {
        to_file(&filled(&d, 0, value), &path, "group/a", &comm).unwrap();
        for copy in &copies {
            let there = from_file::<f64>(&path, copy, &d, &comm).unwrap();
            assert_eq!(there, old);
        }
    }
    // the parts of what was saved with 2 are gone
    assert_eq!(parts(folder.path()).len(), 3);
}

#[test]
fn attributes_of_others_are_theirs() {
    let folder = temporary();
    let comm = SingleComm::new();
    let d = alone(&[3]);
    let old = filled(&d, 0, 1.0);
    let part = folder.path().join("part.h5");
    save_hdf5(&part, &old, "x", WriteMode::Replace, &comm).unwrap();
    for (name, text) in [("text.h5", true), ("number.h5", false)] {
        let path = folder.path().join(name);
        let file = File::create(&path).unwrap();
        let dataset = {
            // it would keep the file open
            let builder = file.new_dataset_builder().empty::<f64>().shape(3);
            let builder = builder.virtual_map("part.h5", "x", 3, all(), 3, all());
            builder.create("a").unwrap()
        };
        for name in ["save", "bounds", "dist_io_save", "dist_io_block"] {
            if text {
                let text: hdf5_metno::types::VarLenUnicode = "theirs".parse().unwrap();
                let made = dataset.new_attr::<hdf5_metno::types::VarLenUnicode>();
                made.create(name).unwrap().write_scalar(&text).unwrap();
            } else {
                let made = dataset.new_attr::<i64>();
                made.create(name).unwrap().write_scalar(&7).unwrap();
            }
        }
        drop(dataset);
        file.close().unwrap();
        let out = folder.path().join("out.h5");
        assert_eq!(from_file::<f64>(&path, "a", &d, &comm).unwrap(), old);
        repack(&path, &out).unwrap();
        let expected = if text {
            AttributeValue::Text("theirs".to_owned())
        } else {
            AttributeValue::Integer(7)
        };
        for path in [&path, &out] {
            let info = inspect_hdf5(path, "a").unwrap();
            assert_eq!(info.attributes["save"], expected);
            assert_eq!(info.attributes["bounds"], expected);
        }
    }
    // ours are not the user's
    let path = folder.path().join("ours.h5");
    to_file(&old, &path, "a", &comm).unwrap();
    assert!(inspect_hdf5(&path, "a").unwrap().attributes.is_empty());
    assert_eq!(
        load_hdf5::<f64>(&path, Wanted::AsSaved, "a", &comm).unwrap(),
        old
    );
}
