//! h5py reads what ranks wrote, bit for bit, and ranks read what h5py wrote.
//!
//! The Python is that of `DIST_IO_PYTHON`, or `python3`; without h5py in it the test says so and is counted as skipped.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use dap_protocol::{DimData, DimDict};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::{
    ByteOrder, ChunkProblem, IoError, LoadHdf5, Refusal, SaveHdf5, Storage, WriteMode,
    inspect_hdf5, load_hdf5, save_hdf5,
};
use dist_maps::Distribution;
use half::{bf16, f16};
use num_complex::Complex;

use crate::support::{Value, every_kind, part_with, temporary};

/// A Python with h5py; `None`, and a word about it, where there is none.
pub fn python() -> Option<String> {
    let python = std::env::var("DIST_IO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python).args(["-c", "import h5py"]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    println!("skipped: h5py is not in {python} (DIST_IO_PYTHON names another Python)");
    None
}

/// What the script printed; `None`, and a word about it, where there is no h5py.
fn h5py(command: &str, folder: &Path) -> Option<String> {
    run_h5py("h5py_files.py", command, folder)
}

/// The same, by another script.
pub fn run_h5py(name: &str, command: &str, folder: &Path) -> Option<String> {
    let python = python()?;
    let output = script(&python, name, command, folder).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn script(python: &str, name: &str, command: &str, path: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/interop")
        .join(name);
    let mut script_of = Command::new(python);
    script_of.arg(script).arg(command).arg(path);
    script_of
}

fn save<T: Value>(path: &Path, ranks: usize) {
    let d = Distribution::over(ranks)
        .shape([7, 10])
        .block_cyclic(0, 2)
        .cyclic(1)
        .build()
        .unwrap();
    let code = T::TYPE.numpy_code().unwrap_or("bfloat16");
    ThreadComm::run(ranks, |comm| {
        let part = part_with::<T>(&d.dim_data(comm.rank())?, None);
        save_hdf5(
            path,
            &part,
            &format!("types/{code}"),
            WriteMode::Append,
            comm,
        )?;
        let save = SaveHdf5::new(path)
            .key(format!("filters/{code}/3x4 shuffle gzip fletcher32"))
            .chunk([3, 4]);
        save.shuffle(true)
            .deflate(4)
            .fletcher32(true)
            .save(&part, comm)
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
    save::<bf16>(&path, 2);
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
    for (way, chunk, shuffle, deflate, fletcher32) in [
        ("2x5", [2, 5], false, None, false),
        ("3x4", [3, 4], false, None, false),
        ("7x10 shuffle", [7, 10], true, None, false),
        ("3x4 gzip", [3, 4], false, Some(0), false),
        ("3x4 fletcher32", [3, 4], false, None, true),
        ("4x3 shuffle gzip", [4, 3], true, Some(9), false),
        ("1x1 shuffle gzip fletcher32", [1, 1], true, Some(1), true),
    ] {
        for ranks in 1..=4 {
            for (name, d) in every_kind(ranks) {
                let mut save = SaveHdf5::new(&path)
                    .key(format!("chunks/{name} on {ranks}/{way}"))
                    .chunk(chunk)
                    .shuffle(shuffle)
                    .fletcher32(fletcher32)
                    .attribute("units", "K")
                    .attribute("n", -3_i64)
                    .attribute("x", 0.5);
                if let Some(level) = deflate {
                    save = save.deflate(level);
                }
                ThreadComm::run(ranks, |comm| {
                    let part = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
                    save.save(&part, comm)
                })
                .unwrap();
            }
        }
    }
    if let Some(said) = h5py("check", folder.path()) {
        assert_eq!(said.trim(), "350 datasets"); // 15 types twice, 40 kinds, 40 kinds in 7 ways
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
        let part = load_hdf5::<T>(path, &d, key, comm)?;
        assert_eq!(part, part_with(&d.dim_data(comm.rank())?, None), "{key}");
        // parts that are no array together
        let rows = DimDict::unstructured(7, 1, 0, vec![6, 1, 5, 2 + comm.rank() as i64], false)?;
        let mine = DimData::new(vec![rows, DimDict::whole(10)?]);
        let part = load_hdf5::<T>(path, &mine, key, comm)?;
        assert_eq!(part, part_with(&mine, None), "{key}");
        Ok::<_, IoError>(())
    })
    .unwrap();
}

fn codes<T: Value>(path: &Path, key: &str) {
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let load = LoadHdf5::new(path).key(key).codes(true);
    let codes = load.load::<T>(&d, &SingleComm::new()).unwrap();
    assert_eq!(codes, part_with(&d.dim_data(0).unwrap(), None), "{key}");
    let info = inspect_hdf5(path, key).unwrap();
    assert_eq!(
        (info.element, info.is_enumeration),
        (T::TYPE, key.contains("enum"))
    );
}

/// All elements, as they are.
fn whole<T: Value>(path: &Path, key: &str, shape: &[u64]) -> Vec<T> {
    let d = Distribution::over(2)
        .shape(shape)
        .cyclic(0)
        .build()
        .unwrap();
    let alone = Distribution::over(1).shape(shape).build().unwrap();
    ThreadComm::run(2, |comm| load_hdf5::<T>(path, &d, key, comm)).unwrap();
    let part = load_hdf5::<T>(path, &alone, key, &SingleComm::new()).unwrap();
    part.buffer().data().to_vec()
}

fn chunked(path: &Path) {
    for name in ["chunked", "ragged", "wide", "grown", "one way"] {
        load::<f64>(path, name);
    }
    for compression in ["None", "gzip", "lzf"] {
        for shuffle in ["False", "True"] {
            for fletcher32 in ["False", "True"] {
                load::<f64>(
                    path,
                    &format!("filters {compression} {shuffle} {fletcher32}"),
                );
            }
        }
    }
    for order in ["<", ">"] {
        let key = |code: &str| format!("gzip {order}{code}");
        load::<i8>(path, &key("i1"));
        load::<i16>(path, &key("i2"));
        load::<u32>(path, &key("u4"));
        load::<i64>(path, &key("i8"));
        load::<f16>(path, &key("f2"));
        load::<f32>(path, &key("f4"));
        load::<f64>(path, &key("f8"));
        load::<Complex<f32>>(path, &key("c8"));
        load::<Complex<f64>>(path, &key("c16"));
    }
    load::<bool>(path, "gzip b1");
    let shape = [7, 10];
    let noise = whole::<u8>(path, "noise", &shape);
    assert_eq!(noise, whole::<u8>(path, "noise as it is", &shape));
    assert_eq!(whole::<f64>(path, "chunks nowhere", &shape), [2.5; 70]);
    // rows 3 and 4, columns 4 to 8 were written; their chunks hold fill values beside them, and so do the others
    let partly = whole::<f64>(path, "partly", &shape);
    for (flat, found) in (0_u64..).zip(partly) {
        let written = (3..5).contains(&(flat / 10)) && (4..9).contains(&(flat % 10));
        let expected = if written { f64::at(flat) } else { -1.5 };
        assert_eq!(found, expected, "element {flat}");
    }
    let many = whole::<i32>(path, "many", &[5000]);
    assert_eq!(many, (0..5000).collect::<Vec<_>>());
}

#[test]
fn a_locked_file_is_refused() {
    let folder = temporary();
    let path = folder.path().join("locked.h5");
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let part = part_with::<f64>(&d.dim_data(0).unwrap(), None);
    save_hdf5(&path, &part, "a", WriteMode::Replace, &SingleComm::new()).unwrap();
    let Some(python) = python() else {
        return;
    };
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_some() {
        println!("skipped: HDF5_USE_FILE_LOCKING decides what is locked");
        return;
    }
    let mut script = script(&python, "h5py_files.py", "lock", &path);
    let script = script.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = script.spawn().unwrap();
    let mut said = String::new();
    let out = holder.stdout.take().unwrap();
    BufReader::new(out).read_line(&mut said).unwrap();
    let loaded = load_hdf5::<f64>(&path, &d, "a", &SingleComm::new());
    drop(holder.stdin.take());
    holder.wait().unwrap();
    assert_eq!(said.trim(), "locked");
    let error = loaded.unwrap_err();
    assert!(
        matches!(&error, IoError::Hdf5 { refusal, .. } if matches!(**refusal, Refusal::Locked { .. })),
        "{error:?}"
    );
    assert_eq!(load_hdf5(&path, &d, "a", &SingleComm::new()).unwrap(), part);
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
    load::<f64>(&folder.path().join("userblock.h5"), "chunked");
    load::<f64>(&path, "soft link");
    load::<f64>(&path, "compact");
    load::<f64>(&path, "virtual");
    load::<bf16>(&path, "bfloat16");
    load::<bf16>(&path, "bfloat16 big");
    load::<bool>(&path, "bitfield");
    assert_eq!(whole::<f64>(&path, "never written", &[7, 10]), [0.0; 70]);
    assert_eq!(whole::<f64>(&path, "never filled", &[7, 10]), [2.5; 70]);
    chunked(&path);
    // newer formats have other indices of chunks
    chunked(&folder.path().join("latest.h5"));
    broken(&folder.path().join("broken.h5"));

    let refused = |key: &str| match inspect_then_load(&path, key) {
        IoError::Hdf5 { refusal, .. } => *refusal,
        other => panic!("{key}: {other:?}"),
    };
    assert_eq!(
        refused("external"),
        Refusal::Storage {
            storage: "in other files (external)".to_owned(),
            allowed: "in one piece, in chunks, compact, and virtual".to_owned(),
        }
    );
    assert_eq!(refused("null"), Refusal::NullDataspace);
    assert_eq!(
        refused("dangling"),
        Refusal::MissingKey {
            missing: "dangling".to_owned()
        }
    );
    load::<i32>(&path, "scaleoffset");
    let zstd = Refusal::Filter {
        name: "zstd".to_owned(),
        number: 32015,
    };
    assert_eq!(refused("zstd"), zstd);
    assert_eq!(inspect_hdf5(&path, "zstd").unwrap().filters, ["zstd"]);
    assert_eq!(refused("enum i1"), Refusal::Enumeration);
    codes::<i8>(&path, "enum i1");
    codes::<u16>(&path, "enum >u2");
    codes::<i64>(&path, "enum <i8");
    codes::<i32>(&path, "<i4");
    for key in ["text", "compound", "12 bits"] {
        assert!(
            matches!(refused(key), Refusal::ElementType { .. }),
            "{key}: {:?}",
            refused(key)
        );
    }
    let error =
        load_hdf5::<f64>(&path, dist_io::Wanted::AsSaved, "<f8", &SingleComm::new()).unwrap_err();
    assert!(matches!(error, IoError::Hdf5 { refusal, .. } if *refusal == Refusal::NoDimData));
    let error = load_hdf5::<f64>(
        &path,
        dist_io::Wanted::AsSaved,
        "odd dim_data",
        &SingleComm::new(),
    )
    .unwrap_err();
    assert!(
        matches!(error, IoError::Hdf5 { refusal, .. } if matches!(*refusal, Refusal::DimData { .. }))
    );
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let error = load_hdf5::<bool>(&path, &d, "odd bool", &SingleComm::new()).unwrap_err();
    assert_eq!(error.to_string(), "rank 0: local position 12 is no bool");
    let chunked = inspect_hdf5(&path, "chunked").unwrap();
    assert_eq!(chunked.storage, Storage::Chunked { chunk: vec![2, 5] });
}

/// Chunks of four rows of four, the second of two rows with bytes that are not its elements.
fn broken(path: &Path) {
    let d = Distribution::over(2)
        .shape([4, 4])
        .cyclic(0)
        .build()
        .unwrap();
    for (key, problem) in [
        ("no stream", "filter deflate: "),
        ("cut stream", "filter deflate: the stream is cut off"),
        (
            "longer stream",
            "filter deflate: the stream is longer than 16 bytes",
        ),
        (
            "huge stream",
            "filter deflate: the stream is longer than 16 bytes",
        ),
        ("shorter stream", "it has 15 bytes, allowed: 16"),
        (
            "wrong checksum",
            "filter fletcher32: the checksum of its bytes is ",
        ),
        ("no checksum", "it has 3 bytes, allowed: 4"),
        ("no lzf", "filter lzf: no stream of 16 bytes"),
        ("no shuffle", "it has 14 bytes, allowed: 16"),
    ] {
        let errors = ThreadComm::run(2, |comm| {
            Ok::<_, IoError>(load_hdf5::<i16>(path, &d, key, comm).unwrap_err())
        })
        .unwrap();
        assert_eq!(errors[0], errors[1]);
        let IoError::Hdf5 { refusal, .. } = &errors[0] else {
            panic!("{key}: {:?}", errors[0]);
        };
        let Refusal::Chunk {
            origin,
            offset,
            problem: found,
        } = &**refusal
        else {
            panic!("{key}: {refusal:?}");
        };
        assert!(*origin == [2, 0] && offset.is_some(), "{key}: {refusal}");
        assert!(found.to_string().starts_with(problem), "{key}: {found}");
        if key == "wrong checksum" {
            assert!(matches!(
                found,
                ChunkProblem::Checksum {
                    stored: 0x0403_0201,
                    ..
                }
            ));
        }
    }
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
        Ok::<_, IoError>(load_hdf5::<f64>(path, &d, key, comm).unwrap_err())
    })
    .unwrap();
    assert_eq!(errors[0], errors[1]);
    errors.into_iter().next().unwrap()
}
