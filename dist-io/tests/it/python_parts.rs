//! h5py reads files in parts as one dataset, bit for bit, and ranks read virtual datasets that h5py made.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{from_file, from_file_batched, repack, to_file};
use dist_io::{IoError, Refusal, Storage, WriteMode, inspect_hdf5, open_dset, save_hdf5};
use dist_maps::Distribution;
use half::f16;
use num_complex::Complex;

use crate::python::{python, run_h5py, script};
use crate::support::{Value, every_kind, flat_indices, part_with, temporary};

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
    load::<f64>(&path, "pattern");
    load::<f64>(&path, "chunked");
    for key in ["overlap", "reshaped"] {
        let refusal = refused(key);
        assert!(
            matches!(refusal, Refusal::NotBlocks { .. }),
            "{key}: {refusal:?}"
        );
    }
    // what no source has is the fill value
    let whole = Distribution::over(1).shape([7, 10]).build().unwrap();
    let read = |key: &str| {
        let part = from_file::<f64>(&path, key, &whole, &SingleComm::new()).unwrap();
        part.buffer().data().to_vec()
    };
    let expected = |rows: &[Option<u64>]| -> Vec<f64> {
        let all = rows
            .iter()
            .flat_map(|row| (0..10).map(move |at| (*row, at)));
        all.map(|(row, at)| row.map_or(0.0, |row| f64::at(10 * row + at)))
            .collect()
    };
    let gap = [Some(0), Some(1), Some(2), None, None, None, None];
    assert_eq!(read("gap"), expected(&gap));
    let points = [Some(3), None, Some(4), Some(5), Some(6), None, None];
    assert_eq!(read("points"), expected(&points));
    let strided = [3, 0, 4, 1, 5, 2, 6].map(Some);
    assert_eq!(read("strided"), expected(&strided));
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

/// A virtual dataset that h5py made, and what h5py reads of it.
struct Odd {
    key: String,
    shape: [u64; 2],
    elements: Vec<f64>,
}

impl Odd {
    /// A rank's part of it.
    fn part(&self, dim_data: &DimData) -> Vec<f64> {
        let flat = flat_indices(dim_data).into_iter();
        flat.map(|flat| self.elements[flat as usize]).collect()
    }

    fn over(&self, ranks: usize) -> Vec<Distribution> {
        let over = || Distribution::over(ranks).shape(self.shape);
        vec![
            over().block(0).padding(1).build().unwrap(),
            over().block(0).block(1).build().unwrap(),
            over().cyclic(1).build().unwrap(),
            over().block_cyclic(0, 3).cyclic(1).build().unwrap(),
        ]
    }
}

fn same(given: &[f64], expected: &[f64]) -> bool {
    let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    bits(given) == bits(expected)
}

#[test]
fn virtual_datasets_of_any_sources_are_read_as_h5py_does() {
    let folder = temporary();
    let Some(said) = h5py("odd", folder.path()) else {
        return;
    };
    let path = folder.path().join("odd.h5");
    let one = folder.path().join("one.h5");
    let mut all = Vec::new();
    for line in said.lines() {
        let mut words = line.splitn(4, ' ');
        let number = words.next().unwrap();
        let mut size = || words.next().unwrap().parse::<u64>().unwrap();
        let shape = [size(), size()];
        let bytes = std::fs::read(folder.path().join(format!("{number}.bin"))).unwrap();
        let elements = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| f64::from_le_bytes(*word));
        let elements: Vec<f64> = elements.collect();
        assert_eq!(elements.len() as u64, shape[0] * shape[1], "{line}");
        all.push(Odd {
            key: words.next().unwrap().to_owned(),
            shape,
            elements,
        });
    }
    assert!(all.len() >= 26, "only {} datasets", all.len());
    for odd in &all {
        let key = &odd.key;
        for ranks in [1, 2, 3, 7] {
            for (kind, d) in odd.over(ranks).iter().enumerate() {
                ThreadComm::run(ranks, |comm| {
                    let part = from_file::<f64>(&path, key, d, comm)?;
                    let expected = odd.part(&d.dim_data(comm.rank())?);
                    assert!(
                        same(part.buffer().data(), &expected),
                        "{key}, kind {kind} on {ranks}: {part:?}"
                    );
                    Ok::<_, IoError>(())
                })
                .unwrap();
            }
        }
        // in no order
        let lists = odd.shape.map(|size| {
            let size = size as i64;
            let list = vec![size - 1, 0, size / 2, size / 3];
            DimDict::unstructured(size as u64, 1, 0, list, false).unwrap()
        });
        let lists = DimData::new(lists.to_vec());
        let part = from_file::<f64>(&path, key, &lists, &SingleComm::new()).unwrap();
        assert!(
            same(part.buffer().data(), &odd.part(&lists)),
            "{key}: {part:?}"
        );
        let [rows, columns] = odd.shape;
        for chunk in [[rows, columns], [7, columns], [3, 4]] {
            let batches = from_file_batched::<f64>(&path, key, &chunk).unwrap();
            for batch in batches.aligned().unwrap() {
                let (chunk, offsets) = batch.unwrap();
                let (shape, elements, _) = chunk.into_parts();
                for (row, found) in elements.chunks(shape[1]).enumerate() {
                    let first = (offsets[0] + row as u64) * columns + offsets[1];
                    let expected = &odd.elements[first as usize..][..shape[1]];
                    assert!(same(found, expected), "{key}: {found:?} at {offsets:?}");
                }
            }
        }
        // lazily too
        let comm = SingleComm::new();
        let handle = open_dset::<f64>(&path, key, &comm).unwrap();
        assert!(
            same(handle.gather().unwrap().data(), &odd.elements),
            "{key}, lazily"
        );
    }
    let refused = |key: &str| {
        let d = Distribution::over(2)
            .shape([40, 30])
            .block(0)
            .build()
            .unwrap();
        let key = format!("refused/{key}");
        let errors = ThreadComm::run(2, |comm| {
            Ok::<_, IoError>(from_file::<f64>(&path, &key, &d, comm).unwrap_err())
        });
        let errors = errors.unwrap();
        assert_eq!(errors[0], errors[1]);
        match &errors[0] {
            IoError::Hdf5 { refusal, .. } => (**refusal).clone(),
            other => panic!("{key}: {other:?}"),
        }
    };
    let missing = refused("missing");
    assert!(
        matches!(&missing, Refusal::Part { refusal, .. } if **refusal == Refusal::NotFound),
        "{missing:?}"
    );
    let itself = refused("itself").to_string();
    assert!(itself.contains("sources without end"), "{itself}");
    for key in ["overlap", "reshaped", "stairs"] {
        let refusal = refused(key);
        assert!(
            matches!(refusal, Refusal::NotBlocks { .. }),
            "{key}: {refusal:?}"
        );
    }
    // one plain file of all of them, once those that cannot be read are gone
    repack(&path, &one).unwrap_err();
    let file = hdf5_metno::File::open_rw(&path).unwrap();
    file.unlink("refused").unwrap();
    file.close().unwrap();
    repack(&path, &one).unwrap();
    for odd in &all {
        let whole = Distribution::over(1).shape(odd.shape).build().unwrap();
        let part = from_file::<f64>(&one, &odd.key, &whole, &SingleComm::new()).unwrap();
        assert!(same(part.buffer().data(), &odd.elements), "{}", odd.key);
        assert!(!matches!(
            inspect_hdf5(&one, &odd.key).unwrap().storage,
            Storage::Virtual
        ));
    }
    // a file that a pattern names is gone: the dataset ends before it, which is told by its shape
    std::fs::remove_file(folder.path().join("step_3%.h5")).unwrap();
    let d = Distribution::over(1).shape([15, 4]).build().unwrap();
    let error =
        from_file::<f64>(&path, "a file for each block", &d, &SingleComm::new()).unwrap_err();
    let shape = IoError::Shape {
        given: vec![9, 4],
        allowed: vec![15, 4],
    };
    assert_eq!(error, shape);
    // and so is a chunk that is damaged
    let sources = folder.path().join("sources.h5");
    let mut bytes = std::fs::read(&sources).unwrap();
    let file = hdf5_metno::File::open(&sources).unwrap();
    let place = file.dataset("gzip").unwrap().chunk_info(0).unwrap();
    file.close().unwrap();
    bytes[place.addr as usize + 5] ^= 0x55;
    std::fs::write(&sources, bytes).unwrap();
    let d = Distribution::over(1).shape([40, 30]).build().unwrap();
    let error = from_file::<f64>(&path, "alone/gzip", &d, &SingleComm::new()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("sources.h5") && text.contains("the chunk at [0, 0]"),
        "{text}"
    );
}

/// By both calls, the same.
fn both<T: Value>(path: &Path, key: &str, shape: &[u64]) -> Result<Vec<T>, IoError> {
    let whole = Distribution::over(1).shape(shape).build()?;
    let part = from_file::<T>(path, key, &whole, &SingleComm::new());
    let chunk = vec![3; shape.len()];
    let batches = from_file_batched::<T>(path, key, &chunk);
    let part = match (part, batches) {
        (Ok(part), Ok(batches)) => {
            let mut count = 0;
            for batch in batches {
                count += batch?.0.data().len();
            }
            assert_eq!(count, part.buffer().data().len(), "{key}");
            part
        }
        (Err(one), Err(other)) => {
            assert_eq!(one, other, "{key}");
            return Err(one);
        }
        (one, other) => panic!("{key}: {one:?}, {other:?}"),
    };
    Ok(part.buffer().data().to_vec())
}

fn right<T: Value>(path: &Path, key: &str) {
    let expected: Vec<T> = (0..70).map(T::at).collect();
    assert_eq!(both::<T>(path, key, &[7, 10]).unwrap(), expected, "{key}");
}

/// What Legate reads as garbage, aborts at, or refuses.
#[test]
fn every_kind_of_dataset_is_read_or_refused_by_name() {
    let folder = temporary();
    if h5py("kinds", folder.path()).is_none() {
        return;
    }
    let path = folder.path().join("kinds.h5");
    for kind in ["big", "big gzip"] {
        let key = |code: &str| format!("{kind}/{code}");
        right::<i32>(&path, &key("i4"));
        right::<f64>(&path, &key("f8"));
        right::<f32>(&path, &key("f4"));
        right::<u16>(&path, &key("u2"));
        right::<Complex<f64>>(&path, &key("c16"));
    }
    right::<f64>(&path, "gzip/f8");
    right::<f64>(&path, "lzf/f8");
    right::<bool>(&path, "bool");
    right::<f16>(&path, "f2");
    let unwritten = both::<i32>(&path, "unwritten", &[7, 10]).unwrap();
    assert_eq!(unwritten, [-5; 70]);
    assert_eq!(both::<f64>(&path, "scalar", &[]).unwrap(), [2.5]);
    for shape in [&[0][..], &[0, 5], &[5, 0], &[0, 0, 3]] {
        let name: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let key = format!("empty/{}", name.join("x"));
        assert!(both::<f64>(&path, &key, shape).unwrap().is_empty());
    }
    let refused = |key: &str| match both::<f64>(&path, key, &[7, 10]).unwrap_err() {
        IoError::Hdf5 { refusal, .. } => *refusal,
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(refused("null"), Refusal::NullDataspace);
    for key in ["long double", "texts", "long texts", "records"] {
        let refusal = refused(key);
        assert!(
            matches!(refusal, Refusal::ElementType { .. }),
            "{key}: {refusal:?}"
        );
    }
    let codes = both::<i32>(&path, "enumeration", &[7, 10]).unwrap_err();
    assert!(matches!(codes, IoError::Hdf5 { refusal, .. } if *refusal == Refusal::Enumeration));
}

/// An h5py that has a file open.
struct Watch {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Watch {
    /// `None` where there is no h5py.
    fn start(folder: &Path) -> Option<Self> {
        let mut process = script(&python()?, "h5py_parts.py", "watch", folder);
        let process = process.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = process.spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap());
        let mut watch = Self { process, said };
        assert_eq!(watch.line(), "open\n");
        Some(watch)
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line
    }

    /// The sum of the elements, as it reads them now; then it ends.
    fn sum(mut self) -> f64 {
        drop(self.process.stdin.take());
        let sum = self.line().trim().parse().unwrap();
        self.process.wait().unwrap();
        sum
    }
}

/// Legate's overwriting ends the process; the library alone would give zeros.
#[test]
fn who_has_the_file_open_reads_the_old_one() {
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_some() {
        println!("skipped: HDF5_USE_FILE_LOCKING decides what is locked");
        return;
    }
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let old = part_with::<f64>(&d.dim_data(0).unwrap(), None);
    let sum: f64 = old.buffer().data().iter().sum();
    let new = HostArray::new(vec![7, 10], vec![1.0; 70]).unwrap();
    let new = DistBuffer::new(d.dim_data(0).unwrap(), new).unwrap();
    let comm = SingleComm::new();
    let parts = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".parts")).count()
    };
    type Save<'a> = &'a dyn Fn() -> Result<(), IoError>;
    let in_parts = || to_file(&new, &path, "a", &comm).map(drop);
    let plain = || save_hdf5(&path, &new, "a", WriteMode::Replace, &comm).map(drop);
    for save in [&in_parts as Save<'_>, &plain] {
        to_file(&old, &path, "a", &comm).unwrap();
        let Some(watch) = Watch::start(folder.path()) else {
            return;
        };
        let before = parts();
        save().unwrap();
        assert!(parts() >= before, "the parts of a file that is read");
        assert_eq!(watch.sum(), sum);
        let back = from_file::<f64>(&path, "a", &d, &comm).unwrap();
        assert_eq!(back, new);
        // now nobody reads it: they go with the next save
        to_file(&new, &path, "b", &comm).unwrap();
        save_hdf5(&path, &new, "a", WriteMode::Replace, &comm).unwrap();
        assert_eq!(parts(), 0);
    }
}
