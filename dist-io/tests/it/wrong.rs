//! What is no dataset that can be read, given to every call: the same refusal on every rank, and no file is changed.

use std::path::Path;

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{from_file, from_file_batched, repack, to_file};
use dist_io::{
    Hdf5Reader, IoError, Limits, LoadHdf5, Refusal, SaveHdf5, Series, WriteMode, datasets_hdf5,
    inspect_hdf5, load_hdf5, load_hdf5_records, open, open_dset, save_hdf5, verify,
};
use dist_maps::Distribution;
use hdf5_metno::types::{FloatSize, TypeDescriptor, VarLenUnicode};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::cases::part;
use crate::support::temporary;

/// A call that reads one dataset of a file, and its error.
type Reads = fn(&Path, &str, &dyn Communicator) -> Option<IoError>;

fn five(comm: &dyn Communicator) -> Distribution {
    let five = Distribution::over(comm.size()).shape([5]).block(0);
    five.build().unwrap()
}

/// Calls that read a dataset of numbers.
const NUMBERS: [(&str, Reads); 10] = [
    ("load", |path, key, comm| {
        load_hdf5::<f64>(path, &five(comm), key, comm).err()
    }),
    ("load codes", |path, key, comm| {
        let load = LoadHdf5::new(path).key(key).codes(true);
        load.load::<f64>(&five(comm), comm).err()
    }),
    ("from_file", |path, key, comm| {
        from_file::<f64>(path, key, &five(comm), comm).err()
    }),
    ("open_dset", |path, key, comm| {
        let array = open_dset::<f64>(path, key, comm);
        array.and_then(|array| array.load()).err()
    }),
    ("limits", |path, key, comm| {
        let limits = Limits::untrusted();
        limits.load::<f64>(path, &five(comm), key, comm).err()
    }),
    ("inspect", |path, key, _| inspect_hdf5(path, key).err()),
    ("limits, inspect", |path, key, _| {
        Limits::untrusted().inspect(path, key).err()
    }),
    ("reader", |path, key, _| Hdf5Reader::open(path, key).err()),
    ("batched", |path, key, _| {
        from_file_batched::<f64>(path, key, &[2]).err()
    }),
    ("verify", |path, key, comm| verify(path, key, comm).err()),
];

/// Calls that read a file, whatever is in it.
const FILES: [(&str, Reads); 6] = [
    ("records", |path, key, comm| {
        load_hdf5_records(path, &five(comm), key, comm).err()
    }),
    ("open", |path, key, comm| open(path, key, comm).err()),
    ("series", |path, _, comm| Series::open(path, comm).err()),
    ("list", |path, _, _| datasets_hdf5(path).err()),
    ("limits, file", |path, _, _| {
        Limits::untrusted().check(path).err()
    }),
    ("repack", |path, _, comm| {
        let out = format!("repacked {}", comm.rank());
        repack(path, path.with_file_name(out)).err()
    }),
];

/// What every rank is told by every call, with the call's name.
fn told(calls: &[(&'static str, Reads)], path: &Path, key: &str) -> Vec<(&'static str, Refusal)> {
    let mut told = Vec::new();
    for ranks in [1, 3] {
        for (name, call) in calls {
            let errors = ThreadComm::run(ranks, |comm| Ok::<_, IoError>(call(path, key, comm)));
            let errors = errors.unwrap();
            let first = &errors[0];
            assert!(
                errors.iter().all(|error| error == first),
                "{name}: {errors:?}"
            );
            match first {
                Some(IoError::Hdf5 { refusal, .. }) => told.push((*name, (**refusal).clone())),
                other => panic!("{name} of {}:/{key}: {other:?}", path.display()),
            }
        }
    }
    told
}

#[test]
fn what_is_no_file_to_read() {
    let folder = temporary();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("folder")).unwrap();
    std::fs::write(path("empty"), b"").unwrap();
    std::fs::write(path("text"), b"no HDF5 at all, but of some length").unwrap();
    std::os::unix::fs::symlink("nowhere", path("dangling")).unwrap();
    std::os::unix::fs::symlink("circle", path("circle")).unwrap();
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let calls = [&NUMBERS[..], &FILES[..]].concat();
    for (name, expected) in [
        ("folder", Refusal::NotAFile),
        // nobody writes to it, so whoever opens it waits
        ("pipe", Refusal::NotAFile),
        ("absent", Refusal::NotFound),
        ("dangling", Refusal::NotFound),
        ("empty", Refusal::NotHdf5),
        ("text", Refusal::NotHdf5),
    ] {
        for (call, refusal) in told(&calls, &path(name), "a") {
            assert_eq!(refusal, expected, "{call} of {name}");
        }
    }
    for (call, refusal) in told(&calls, &path("circle"), "a") {
        assert!(matches!(refusal, Refusal::Os { .. }), "{call}: {refusal}");
    }
    assert!(std::fs::read(path("empty")).unwrap().is_empty());
    let device = told(&calls, Path::new("/dev/null"), "a");
    assert!(
        device
            .iter()
            .all(|(_, refusal)| *refusal == Refusal::NotAFile)
    );
}

/// A file with a dataset, and with much that is none, or none of numbers.
fn odd(path: &Path) {
    let file = hdf5_metno::File::create(path).unwrap();
    let group = file.create_group("group").unwrap();
    let numbers = group.new_dataset::<f64>().shape(5);
    numbers.create("numbers").unwrap();
    file.link_soft("/nowhere", "dangling").unwrap();
    file.link_soft("/circle", "circle").unwrap();
    file.link_external("absent.h5", "/a", "out").unwrap();
    let null = file.new_dataset::<f64>().shape(hdf5_metno::Extents::Null);
    null.create("null").unwrap();
    let of = |name: &str, ty: TypeDescriptor| {
        let builder = file.new_dataset_builder().empty_as(&ty).shape(5);
        builder.create(name).unwrap();
    };
    of("text", TypeDescriptor::VarLenUnicode);
    of("fixed", TypeDescriptor::FixedAscii(3));
    let number = || Box::new(TypeDescriptor::Float(FloatSize::U8));
    of("arrays", TypeDescriptor::FixedArray(number(), 2));
    of("lists", TypeDescriptor::VarLenArray(number()));
    let deep = (0..40).fold(*number(), |ty, _| TypeDescriptor::VarLenArray(Box::new(ty)));
    of("lists in lists", deep);
    file.close().unwrap();
}

#[test]
fn what_is_no_dataset_of_numbers() {
    let folder = temporary();
    let path = folder.path().join("odd.h5");
    odd(&path);
    let before = std::fs::read(&path).unwrap();
    let missing = |name: &str| Refusal::MissingKey {
        missing: name.to_owned(),
    };
    let no_dataset = |kind: &str| Refusal::NotADataset {
        kind: kind.to_owned(),
    };
    let not_a_group = |at: &str| Refusal::NotAGroup { at: at.to_owned() };
    for (key, expected) in [
        ("none", missing("none")),
        ("none/middle/a", missing("none")),
        ("group/none/a", missing("group/none")),
        ("dangling", missing("dangling")),
        ("group", no_dataset("group")),
        ("group/numbers/a", not_a_group("group/numbers")),
        ("null", Refusal::NullDataspace),
    ] {
        for (call, refusal) in told(&[&NUMBERS[..], &FILES[..1]].concat(), &path, key) {
            // of records it is asked first what kind they are, and of sums whether there are any
            let known = match call {
                "records" => matches!(refusal, Refusal::ElementType { .. }),
                "verify" => refusal == Refusal::NoChecksums,
                _ => false,
            };
            let known = known && key == "null";
            assert!(known || refusal == expected, "{call} of {key}: {refusal}");
        }
    }
    for key in ["circle", "out"] {
        for (call, refusal) in told(&NUMBERS, &path, key) {
            // within limits no other file is looked for
            let expected = match (call.starts_with("limits"), key) {
                (true, "out") => Refusal::AnotherFile { at: key.to_owned() },
                _ => missing(key),
            };
            assert_eq!(refusal, expected, "{call} of {key}");
        }
    }
    let numbers = &NUMBERS[..NUMBERS.len() - 1]; // sums are of bytes, whatever they are
    for key in ["text", "fixed", "arrays", "lists", "lists in lists"] {
        for (call, refusal) in told(numbers, &path, key) {
            let known = match refusal {
                Refusal::ElementType { .. } => true,
                // within limits no type is looked at to any depth
                Refusal::Untrusted { .. } => call.starts_with("limits") && key == "lists in lists",
                _ => false,
            };
            assert!(known, "{call} of {key}: {refusal:?}");
        }
        if key != "fixed" {
            for (call, refusal) in told(&FILES[..1], &path, key) {
                let known = matches!(refusal, Refusal::ElementType { .. });
                assert!(known, "{call} of {key}: {refusal:?}");
            }
        }
    }
    let sums = told(&NUMBERS[NUMBERS.len() - 1..], &path, "group/numbers");
    assert!(
        sums.iter()
            .all(|(_, refusal)| *refusal == Refusal::NoChecksums)
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// A text of any length as an attribute is read, and one in lists in lists is told by name.
#[test]
fn attributes_of_any_type_keep_nobody_from_the_elements() {
    let folder = temporary();
    let path = folder.path().join("attributes.h5");
    let comm = SingleComm::new();
    let whole = part::<i32>(&five(&comm), &comm);
    save_hdf5(&path, &whole, "a", WriteMode::Replace, &comm).unwrap();
    let file = hdf5_metno::File::open_rw(&path).unwrap();
    let dataset = file.dataset("a").unwrap();
    let text: VarLenUnicode = "K".parse().unwrap();
    let unit = dataset.new_attr::<VarLenUnicode>().create("unit").unwrap();
    unit.write_scalar(&text).unwrap();
    let number = TypeDescriptor::Float(FloatSize::U8);
    let deep = (0..40).fold(number, |ty, _| TypeDescriptor::VarLenArray(Box::new(ty)));
    let odd = dataset.new_attr_builder().empty_as(&deep).shape(2);
    odd.create("deep").unwrap();
    drop((dataset, unit));
    file.close().unwrap();
    let info = inspect_hdf5(&path, "a").unwrap();
    assert_eq!(info.attributes["unit"], "K".into());
    let deep = format!("{:?}", info.attributes["deep"]);
    assert!(deep.contains("lists of any length"), "{deep}");
    assert_eq!(load_hdf5(&path, &five(&comm), "a", &comm).unwrap(), whole);
}

/// A file that was cut off, at every byte of its metadata: nothing is added to it, and nothing of it is lost.
#[test]
fn nothing_is_added_to_a_file_that_is_cut() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([4, 5]).build().unwrap();
    let mine = part::<i32>(&d, &comm);
    save_hdf5(&path, &mine, "group/a", WriteMode::Replace, &comm).unwrap();
    let series = SaveHdf5::new(&path).key("steps");
    series.begin_series::<i32>(&[4, 5], &comm).unwrap();
    let mut steps = Series::open(&path, &comm).unwrap();
    steps.append("steps", &mine, &comm).unwrap();
    drop(steps);
    let whole = std::fs::read(&path).unwrap();
    let first = (1..whole.len().min(700)).chain((700..whole.len()).step_by(37));
    for len in first.chain([whole.len() - 1]) {
        std::fs::write(&path, &whole[..len]).unwrap();
        let refused = [
            save_hdf5(&path, &mine, "b", WriteMode::Append, &comm).err(),
            save_hdf5(&path, &mine, "b", WriteMode::CreateNew, &comm).err(),
            to_file(&mine, &path, "/b", &comm).err(),
            Series::open(&path, &comm).err(),
            open_dset::<i32>(&path, "group/a", &comm)
                .and_then(|array| array.fill(0))
                .err(),
        ];
        for (call, error) in refused.iter().enumerate() {
            let known = matches!(error, Some(IoError::Hdf5 { .. }));
            assert!(known, "call {call}, cut at {len}: {error:?}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), whole[..len], "cut at {len}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    // one that replaces it does not look at it, and of one without a byte nothing can be lost
    save_hdf5(&path, &mine, "b", WriteMode::Replace, &comm).unwrap();
    assert_eq!(load_hdf5(&path, &d, "b", &comm).unwrap(), mine);
    std::fs::write(&path, b"").unwrap();
    save_hdf5(&path, &mine, "c", WriteMode::Append, &comm).unwrap();
    assert_eq!(load_hdf5(&path, &d, "c", &comm).unwrap(), mine);
}

/// A dimension of more than a chunk may have, and chunks of more bytes.
#[test]
fn chunks_of_4_gib_are_refused() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let outcomes = ThreadComm::run(2, |comm| {
        // it has no elements, and takes no memory
        let none = Distribution::over(2).shape([0, 1 << 33]).block(0);
        let none = none.build()?;
        let array = HostArray::new(none.local_shape(comm.rank()), Vec::<i32>::new())?;
        let mine = DistBuffer::new(none.dim_data(comm.rank())?, array)?;
        let save = SaveHdf5::new(&path).chunk([1, 1 << 30]);
        let bytes = save.save(&mine, comm).unwrap_err();
        let save = SaveHdf5::new(&path).chunk([1, (1 << 30) - 1]);
        save.save(&mine, comm)?;
        Ok::<_, IoError>(bytes)
    })
    .unwrap();
    let expected = IoError::ChunkBytes {
        given: 1 << 32,
        allowed: (1 << 32) - 1,
    };
    assert_eq!(outcomes, [expected.clone(), expected]);
}
