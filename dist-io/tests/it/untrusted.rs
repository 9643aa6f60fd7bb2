//! Files of unknown origin: what `Limits` reads without the HDF5 library is what the library reads, by every call.

use std::path::Path;

use dap_protocol::{Element, ElementType};
use dist_comm::{SingleComm, ThreadComm};
use dist_io::legate::{from_file_batched, to_file};
use dist_io::{
    AttributeValue, DatasetInfo, FieldType, IoError, Limits, LoadHdf5, Record, Refusal, SaveHdf5,
    TreeFilter, Wanted, datasets_hdf5, inspect_hdf5, load_hdf5, load_hdf5_records, open, open_dset,
    verify,
};
use dist_maps::Distribution;
use half::{bf16, f16};
use hdf5_metno::dataset::AllocTime;
use hdf5_metno::types::{FixedAscii, VarLenUnicode};
use hdf5_metno::{Extent, File, SimpleExtents};
use num_complex::Complex;

use crate::cases::part;
use crate::python::run_h5py;
use crate::support::{part_with, temporary};

/// Without the limit that compressed elements are no longer than their file.
pub const LARGE: Limits = Limits {
    times_file: None,
    ..Limits::untrusted()
};

pub fn refusal<T: std::fmt::Debug>(outcome: Result<T, IoError>) -> Refusal {
    match outcome {
        Err(IoError::Hdf5 { refusal, .. }) => *refusal,
        other => panic!("{other:?}"),
    }
}

/// A new file, in the oldest format or the newest.
pub fn file(path: &Path, latest: bool) -> File {
    let mut options = File::with_options();
    if latest {
        options.with_fapl(|access| access.libver_latest());
    }
    options.create(path).unwrap()
}

fn numbers() -> impl Iterator<Item = i32> + Clone {
    (0..70).map(|n| n * n - 7)
}

/// A file with everything in it that the library writes in the oldest format, or in the newest that it knows.
fn make(path: &Path, latest: bool) {
    let file = file(path, latest);
    let fill = |dataset: &hdf5_metno::Dataset, rows: usize| {
        let all: Vec<i32> = numbers().cycle().take(rows * 10).collect();
        dataset.as_writer().write_raw(&all).unwrap();
    };
    let new = || file.new_dataset::<i32>();
    fill(&new().shape((7, 10)).create("plain").unwrap(), 7);
    fill(
        &new()
            .chunk((7, 10))
            .shape((7, 10))
            .create("one chunk")
            .unwrap(),
        7,
    );
    fill(
        &new()
            .chunk((7, 10))
            .deflate(3)
            .shape((7, 10))
            .create("one coded chunk")
            .unwrap(),
        7,
    );
    fill(
        &new().chunk((2, 3)).shape((7, 10)).create("chunks").unwrap(),
        7,
    );
    fill(
        &new()
            .chunk((2, 3))
            .shuffle()
            .deflate(5)
            .fletcher32()
            .shape((7, 10))
            .create("coded")
            .unwrap(),
        7,
    );
    // more than a page of them
    fill(
        &new()
            .chunk((1, 1))
            .shape((300, 10))
            .create("many chunks")
            .unwrap(),
        300,
    );
    let early = new().chunk((2, 3)).alloc_time(Some(AllocTime::Early));
    fill(&early.shape((7, 10)).create("chunks in a row").unwrap(), 7);
    // fewer rows than there may be, and any number of them
    let most = |rows: Extent, columns: Extent| SimpleExtents::from_vec(vec![rows, columns]);
    let bounded = most(Extent::new(7, Some(20)), Extent::new(10, Some(31)));
    fill(
        &new()
            .chunk((2, 3))
            .shape(bounded.clone())
            .create("bounded")
            .unwrap(),
        7,
    );
    for (name, rows) in [("grows", 7), ("grows long", 900)] {
        let shape = most(Extent::resizable(rows), Extent::fixed(10));
        fill(
            &new()
                .chunk((2, 3))
                .shape(shape.clone())
                .create(name)
                .unwrap(),
            rows,
        );
        let coded = new().chunk((2, 3)).deflate(1).shape(shape);
        fill(
            &coded.create(format!("{name} coded").as_str()).unwrap(),
            rows,
        );
        let shape = most(Extent::fixed(rows), Extent::resizable(10));
        fill(
            &new()
                .chunk((2, 3))
                .shape(shape)
                .create(format!("{name} aside").as_str())
                .unwrap(),
            rows,
        );
        let shape = most(Extent::resizable(rows), Extent::resizable(10));
        fill(
            &new()
                .chunk((2, 3))
                .shape(shape.clone())
                .create(format!("{name} both").as_str())
                .unwrap(),
            rows,
        );
        let coded = new().chunk((2, 3)).shuffle().fletcher32().shape(shape);
        fill(
            &coded
                .create(format!("{name} both, coded").as_str())
                .unwrap(),
            rows,
        );
    }
    new()
        .fill_value(9)
        .shape((7, 10))
        .create("nowhere")
        .unwrap();
    new()
        .shape(())
        .create("scalar")
        .unwrap()
        .write_scalar(&-3)
        .unwrap();
    new().shape((0, 10)).create("empty").unwrap();
    file.new_dataset::<bool>()
        .shape(3)
        .create("flags")
        .unwrap()
        .write_raw(&[true, false, true])
        .unwrap();
    file.new_dataset::<f64>()
        .shape(2)
        .create("reals")
        .unwrap()
        .write_raw(&[0.1, -1e300])
        .unwrap();
    file.new_dataset::<VarLenUnicode>()
        .shape(2)
        .create("texts")
        .unwrap();
    let group = file.create_group("group/in/group").unwrap();
    for n in 0..40 {
        let dataset = group
            .new_dataset::<u8>()
            .create(format!("number {n}").as_str())
            .unwrap();
        dataset.write_scalar(&n).unwrap();
    }
    file.link_soft("/group/in/group/number 7", "soft").unwrap();
    file.link_hard("/group/in/group/number 8", "again").unwrap();
    let noted = new().create("noted").unwrap();
    for n in 0..30_i64 {
        let name = format!("attribute {n}");
        noted
            .new_attr::<i64>()
            .create(name.as_str())
            .unwrap()
            .write_scalar(&(n - 15))
            .unwrap();
    }
    let text: VarLenUnicode = "Kelvin °".parse().unwrap();
    noted
        .new_attr::<VarLenUnicode>()
        .create("text")
        .unwrap()
        .write_scalar(&text)
        .unwrap();
    let texts: Vec<VarLenUnicode> = ["a", "", "zü"].map(|text| text.parse().unwrap()).to_vec();
    noted
        .new_attr::<VarLenUnicode>()
        .shape(3)
        .create("some")
        .unwrap()
        .write_raw(&texts)
        .unwrap();
    let fixed = FixedAscii::<5>::from_ascii(b"abc").unwrap();
    noted
        .new_attr::<FixedAscii<5>>()
        .create("fixed")
        .unwrap()
        .write_scalar(&fixed)
        .unwrap();
    noted
        .new_attr::<f32>()
        .shape(2)
        .create("pair")
        .unwrap()
        .write_raw(&[0.5_f32, 2.0])
        .unwrap();
    noted
        .new_attr::<bool>()
        .create("yes")
        .unwrap()
        .write_scalar(&true)
        .unwrap();
    noted
        .new_attr::<f64>()
        .shape((2, 2))
        .create("matrix")
        .unwrap()
        .write_raw(&[1.0, 2.0, 3.0, 4.0])
        .unwrap();
    noted.new_attr::<u16>().shape(0).create("none").unwrap();
    file.close().unwrap();
}

/// What is known of a dataset, but for the words for attributes that are neither text nor number.
fn known(mut info: DatasetInfo) -> DatasetInfo {
    for value in info.attributes.values_mut() {
        if let AttributeValue::Other(_) = value {
            *value = AttributeValue::Other(String::new());
        }
    }
    info
}

/// Loads a dataset both ways, on one rank.
fn both<T: Element + PartialEq + std::fmt::Debug>(path: &Path, key: &str, shape: &[u64]) -> bool {
    let d = Distribution::over(1).shape(shape).build().unwrap();
    let comm = SingleComm::new();
    let load = LoadHdf5::new(path).key(key).codes(true);
    let ours = load.clone().limits(LARGE).load::<T>(&d, &comm);
    match (load.load::<T>(&d, &comm), ours) {
        (Ok(theirs), Ok(ours)) => {
            assert!(theirs == ours, "{key}");
            true
        }
        // what only the library undoes
        (Ok(_), Err(IoError::Hdf5 { refusal, .. })) => {
            assert!(
                matches!(*refusal, Refusal::Filter { .. }),
                "{key}: {refusal}"
            );
            false
        }
        (Err(theirs), Err(ours)) => {
            assert_eq!(theirs, ours, "{key}");
            false
        }
        (theirs, ours) => panic!("{key}: {theirs:?}, {ours:?}"),
    }
}

/// Compares all that the library and `Limits` say of a file; how many datasets were loaded both ways.
fn compared(path: &Path) -> usize {
    let keys = datasets_hdf5(path).unwrap();
    assert_eq!(LARGE.datasets(path).unwrap(), keys);
    let mut loaded = 0;
    for key in &keys {
        let at = || format!("{}: {key}", path.display());
        let info = match (inspect_hdf5(path, key), LARGE.inspect(path, key)) {
            (Ok(theirs), Ok(ours)) => {
                assert_eq!(known(theirs), known(ours.clone()), "{}", at());
                ours
            }
            (Err(_), Err(IoError::Hdf5 { refusal, .. })) => {
                let said = matches!(
                    *refusal,
                    Refusal::ElementType { .. } | Refusal::NullDataspace
                );
                assert!(said, "{}: {refusal}", at());
                continue;
            }
            // complex numbers of a class that older libraries do not know
            (Err(_), Ok(_)) if key == "native" => continue,
            (theirs, ours) => panic!("{}: {theirs:?}, {ours:?}", at()),
        };
        let same = match info.element {
            ElementType::Bool => both::<bool>,
            ElementType::I8 => both::<i8>,
            ElementType::I16 => both::<i16>,
            ElementType::I32 => both::<i32>,
            ElementType::I64 => both::<i64>,
            ElementType::U8 => both::<u8>,
            ElementType::U16 => both::<u16>,
            ElementType::U32 => both::<u32>,
            ElementType::U64 => both::<u64>,
            ElementType::F16 => both::<f16>,
            ElementType::Bf16 => both::<bf16>,
            ElementType::F32 => both::<f32>,
            ElementType::F64 => both::<f64>,
            ElementType::Complex32 => both::<Complex<f32>>,
            ElementType::Complex64 => both::<Complex<f64>>,
            other => panic!("{other}"),
        };
        loaded += usize::from(same(path, key, &info.shape));
    }
    loaded
}

#[test]
fn what_the_library_writes_is_read_as_it_reads_it() {
    let folder = temporary();
    for latest in [false, true] {
        let path = folder.path().join(format!("{latest}.h5"));
        make(&path, latest);
        LARGE.check(&path).unwrap();
        for key in datasets_hdf5(&path).unwrap() {
            let shape = match LARGE.inspect(&path, &key) {
                Ok(info) if info.shape.len() == 2 && key != "nowhere" => info.shape,
                _ => continue,
            };
            let d = Distribution::over(1).shape(shape.clone()).build().unwrap();
            let comm = SingleComm::new();
            let expected: Vec<i32> = numbers().cycle().take(shape[0] as usize * 10).collect();
            let ours = LARGE.load::<i32>(&path, &d, &key, &comm).unwrap();
            assert!(ours.buffer().data() == expected, "{latest}: {key}");
            let theirs = load_hdf5::<i32>(&path, &d, &key, &comm).unwrap();
            assert!(
                theirs.buffer().data() == expected,
                "{latest}: {key}, by the library"
            );
        }
        assert_eq!(compared(&path), 24 + 40, "{latest}");
        for (key, value) in [("soft", 7), ("again", 8), ("/group/in/group/number 39", 39)] {
            let d = Distribution::over(1).shape([]).build().unwrap();
            let comm = SingleComm::new();
            let one = LARGE.load::<u8>(&path, &d, key, &comm).unwrap();
            assert_eq!(one.buffer().data(), [value]);
        }
        let noted = LARGE.inspect(&path, "noted").unwrap().attributes;
        assert_eq!(noted.len(), 37);
        assert_eq!(noted["text"], AttributeValue::Text("Kelvin °".to_owned()));
    }
}

/// Blocks of more than a page of chunks, which there are behind the first 131,060.
#[test]
fn long_lists_of_chunks_are_read() {
    let folder = temporary();
    let path = folder.path().join("long.h5");
    let file = file(&path, true);
    let rows = 134_000;
    let all: Vec<u8> = (0..rows).map(|n| (n * 7 % 251) as u8).collect();
    let shape = SimpleExtents::resizable([rows]);
    let dataset = file.new_dataset::<u8>().chunk(1).shape(shape).create("a");
    dataset.unwrap().as_writer().write_raw(&all).unwrap();
    file.close().unwrap();
    let d = Distribution::over(1).shape([rows as u64]).build().unwrap();
    let read = LARGE
        .load::<u8>(&path, &d, "a", &SingleComm::new())
        .unwrap();
    assert!(read.buffer().data() == all);
}

#[test]
fn what_h5py_writes_is_read_as_the_library_reads_it() {
    let folder = temporary();
    if run_h5py("h5py_files.py", "make", folder.path()).is_none() {
        return;
    }
    let all = ["theirs.h5", "latest.h5", "userblock.h5", "broken.h5"];
    let loaded = all.map(|name| compared(&folder.path().join(name)));
    assert_eq!(loaded, [79, 41, 2, 0]);
    let path = folder.path().join("types.h5");
    run_h5py("h5py_types.py", "others", &path).unwrap();
    compared(&path);
}

/// Every call under its name gives what the one that trusts the file gives.
#[test]
fn every_call_has_a_mode_for_unknown_origin() {
    let folder = temporary();
    let path = folder.path().join("run_7.h5");
    let limits = Limits::untrusted();
    let d = Distribution::over(2)
        .shape([6, 4])
        .block(0)
        .build()
        .unwrap();
    ThreadComm::run(2, |comm| {
        let mine = part::<f64>(&d, comm);
        let save = |key: &str| {
            SaveHdf5::new(&path)
                .key(key)
                .attribute("units", "K")
                .attribute("missing", f32::INFINITY)
                .attribute("range", vec![f64::NEG_INFINITY, f64::INFINITY])
                .checksums(true)
        };
        save("g/plain").save(&mine, comm)?;
        save("g/chunks").chunk([4, 4]).save(&mine, comm)?;
        to_file(&mine, folder.path().join("parts.h5"), "/a", comm)?;
        let parts = folder.path().join("parts.h5");
        for key in ["g/plain", "g/chunks"] {
            assert_eq!(limits.load::<f64>(&path, Wanted::AsSaved, key, comm)?, mine);
            assert_eq!(limits.verify(&path, key, comm)?, verify(&path, key, comm)?);
            let (ours, theirs) = (
                limits.open_dset::<f64>(&path, key, comm)?,
                open_dset::<f64>(&path, key, comm)?,
            );
            assert_eq!((ours.unit(), ours.shape()), (Some("K"), &[6, 4][..]));
            assert_eq!(ours.gather()?.data(), theirs.gather()?.data());
            let refused = refusal(ours.fill(1.0));
            assert!(matches!(refused, Refusal::Untrusted { .. }), "{refused}");
        }
        let loaded = limits.from_file::<f64>(&parts, "/a", Wanted::AsSaved, comm)?;
        assert_eq!(loaded, mine);
        let tree = limits
            .open(&path, "g", TreeFilter::All, comm)?
            .tree()
            .unwrap();
        let theirs = open(&path, "g", comm)?.tree().unwrap();
        assert_eq!(
            tree.names().collect::<Vec<_>>(),
            theirs.names().collect::<Vec<_>>()
        );
        assert_eq!(tree.load()?.len(), 2);
        let series = limits.file_series(folder.path().join("run_{step}.h5"), "g/plain", comm)?;
        assert_eq!(
            series.open::<f64>(7)?.load()?.buffer().data(),
            mine.buffer().data()
        );
        Ok::<_, IoError>(())
    })
    .unwrap();
    let whole = Distribution::over(1)
        .shape([6, 4])
        .build()
        .unwrap()
        .dim_data(0)
        .unwrap();
    let reader = limits.reader(&path, "g/chunks").unwrap();
    assert_eq!(
        known(reader.info().clone()),
        known(inspect_hdf5(&path, "g/chunks").unwrap())
    );
    assert_eq!(reader.read::<f64>(&whole).unwrap(), part_with(&whole, None));
    for name in ["run_7.h5", "parts.h5"] {
        let path = folder.path().join(name);
        let key = if name == "parts.h5" { "a" } else { "g/plain" };
        let ours = limits
            .from_file_batched::<f64>(&path, key, &[4, 3])
            .unwrap();
        let theirs = from_file_batched::<f64>(&path, key, &[4, 3]).unwrap();
        let (ours, theirs) = (ours.collect::<Vec<_>>(), theirs.collect::<Vec<_>>());
        assert!(ours.len() == 4 && ours == theirs);
    }
    let records = Record::packed([
        ("n", FieldType::of::<u16>()),
        ("t", FieldType::Text { bytes: 2 }),
    ]);
    let bytes = part_with::<u8>(&whole, None);
    SaveHdf5::new(&path)
        .key("r")
        .record(records)
        .save(&bytes, &SingleComm::new())
        .unwrap();
    let comm = SingleComm::new();
    assert_eq!(
        limits
            .load_records(&path, Wanted::AsSaved, "r", &comm)
            .unwrap(),
        load_hdf5_records(&path, Wanted::AsSaved, "r", &comm).unwrap()
    );
}
