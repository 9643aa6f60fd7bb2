//! Types beyond plain numbers, attributes, checksums and limits.

use std::path::Path;

use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{from_file, from_file_batched, to_file};
use dist_io::{
    AttributeNumbers, AttributeValue, ByteOrder, FieldType, IoError, Limits, LoadHdf5, Record,
    Refusal, SaveHdf5, Storage, Wanted, WriteMode, inspect_hdf5, load_hdf5, load_hdf5_records,
    open_dset, verify,
};
use dist_maps::Distribution;
use half::{bf16, f16};
use num_complex::Complex;

use crate::python::run_h5py;
use crate::support::{Value, every_kind, part_with, temporary};

fn refusal<T: std::fmt::Debug>(outcome: Result<T, IoError>) -> Refusal {
    match outcome {
        Err(IoError::Hdf5 { refusal, .. }) => *refusal,
        other => panic!("{other:?}"),
    }
}

fn saved<T: Value>(path: &Path, ranks: usize) {
    for (way, chunk, order) in [
        ("big", None, ByteOrder::Big),
        ("big chunks", Some([3, 4]), ByteOrder::Big),
        ("little", None, ByteOrder::Little),
    ] {
        let code = T::TYPE.numpy_code().unwrap_or("bfloat16");
        let key = format!("{way}/{code}");
        let d = Distribution::over(ranks)
            .shape([7, 10])
            .block_cyclic(0, 2)
            .cyclic(1)
            .build()
            .unwrap();
        ThreadComm::run(ranks, |comm| {
            let part = part_with::<T>(&d.dim_data(comm.rank())?, None);
            let mut save = SaveHdf5::new(path).key(&key).byte_order(order);
            if let Some(chunk) = chunk {
                save = save.chunk(chunk).shuffle(true).deflate(1);
            }
            save.save(&part, comm)?;
            assert_eq!(load_hdf5::<T>(&path, Wanted::AsSaved, &key, comm)?, part);
            Ok::<_, IoError>(())
        })
        .unwrap();
        let found = inspect_hdf5(path, &key).unwrap().byte_order;
        assert_eq!(
            found,
            if size_of::<T>() == 1 {
                ByteOrder::NATIVE
            } else {
                order
            },
            "{key}"
        );
    }
}

#[test]
fn both_byte_orders_are_written() {
    let folder = temporary();
    let path = folder.path().join("orders.h5");
    saved::<bool>(&path, 2);
    saved::<i8>(&path, 2);
    saved::<i16>(&path, 3);
    saved::<i32>(&path, 2);
    saved::<i64>(&path, 1);
    saved::<u8>(&path, 1);
    saved::<u16>(&path, 3);
    saved::<u32>(&path, 2);
    saved::<u64>(&path, 1);
    saved::<f16>(&path, 2);
    saved::<bf16>(&path, 2);
    saved::<f32>(&path, 3);
    saved::<f64>(&path, 2);
    saved::<Complex<f32>>(&path, 2);
    saved::<Complex<f64>>(&path, 3);
    run_h5py("h5py_types.py", "orders", &path);
}

#[test]
fn enumerations_have_names() {
    let folder = temporary();
    let path = folder.path().join("enum.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([5]).build().unwrap();
    let codes = |codes: Vec<i16>| {
        DistBuffer::new(
            d.dim_data(0).unwrap(),
            HostArray::new(vec![5], codes).unwrap(),
        )
        .unwrap()
    };
    let colours = codes(vec![0, -3, 300, 0, 7]);
    let names = [("RED", 0_i16), ("GREEN", -3), ("BLUE", 300)];
    for (key, order) in [("native", ByteOrder::NATIVE), ("big", ByteOrder::Big)] {
        let save = SaveHdf5::new(&path)
            .key(key)
            .byte_order(order)
            .enumeration(names);
        save.save(&colours, &comm).unwrap();
        let info = inspect_hdf5(&path, key).unwrap();
        let expected = names.map(|(name, code)| (name.to_owned(), i128::from(code)));
        assert!(info.is_enumeration);
        assert_eq!(info.members, expected);
        assert_eq!(
            LoadHdf5::new(&path)
                .key(key)
                .codes(true)
                .load::<i16>(&d, &comm)
                .unwrap(),
            colours
        );
        assert_eq!(
            refusal(load_hdf5::<i16>(&path, &d, key, &comm)),
            Refusal::Enumeration
        );
    }
    run_h5py("h5py_types.py", "enumerations", &path);
    let save = || SaveHdf5::new(&path).key("wrong");
    for (wrong, name) in [
        (save().enumeration([("LONG", 40_000)]), "LONG"),
        (save().enumeration([("A", 1), ("A", 2)]), "A"),
        (save().enumeration([("A", 1), ("B", 1)]), "B"),
        (save().enumeration([("", 1)]), ""),
        (save().enumeration([("a\0", 1)]), "a\0"),
    ] {
        match refusal(wrong.save(&colours, &comm)) {
            Refusal::Member { name: found, .. } => assert_eq!(found, name),
            other => panic!("{other}"),
        }
    }
    let numbers = part_with::<f64>(&d.dim_data(0).unwrap(), None);
    assert!(matches!(
        refusal(save().enumeration([("A", 1)]).save(&numbers, &comm)),
        Refusal::Member { .. }
    ));
}

/// An enumeration of this type of codes, by two ranks: in one piece in both byte orders, and in chunks.
fn coded<T: Value>(path: &Path) {
    let d = Distribution::over(2).shape([7, 10]).block_cyclic(0, 2);
    let d = d.cyclic(1).build().unwrap();
    let names = [("NONE", 0_i16), ("SEVEN", 7), ("MOST", 119)];
    for (way, order, chunk) in [
        ("native", ByteOrder::NATIVE, None),
        ("big", ByteOrder::Big, None),
        ("big chunks", ByteOrder::Big, Some([3, 4])),
    ] {
        let key = format!("{way}/{}", T::TYPE.numpy_code().unwrap());
        let save = SaveHdf5::new(path).key(&key).byte_order(order);
        let mut save = save.enumeration(names);
        if let Some(chunk) = chunk {
            save = save.chunk(chunk).shuffle(true).deflate(1);
        }
        ThreadComm::run(2, |comm| {
            let mine = part_with::<T>(&d.dim_data(comm.rank())?, None);
            save.save(&mine, comm)?;
            let load = LoadHdf5::new(path).key(&key).codes(true);
            assert_eq!(load.load::<T>(Wanted::AsSaved, comm)?, mine, "{key}");
            Ok::<_, IoError>(())
        })
        .unwrap();
        let info = inspect_hdf5(path, &key).unwrap();
        let named = names.map(|(name, code)| (name.to_owned(), i128::from(code)));
        assert!(info.is_enumeration && info.element == T::TYPE, "{info:?}");
        assert_eq!(info.members, named, "{key}");
    }
}

#[test]
fn codes_of_every_integer_have_names() {
    let folder = temporary();
    let path = folder.path().join("codes.h5");
    coded::<i8>(&path);
    coded::<i16>(&path);
    coded::<i32>(&path);
    coded::<i64>(&path);
    coded::<u8>(&path);
    coded::<u16>(&path);
    coded::<u32>(&path);
    coded::<u64>(&path);
    run_h5py("h5py_types.py", "codes", &path);
}

/// A virtual dataset of this type that h5py made of two files, on three ranks, as a lazy handle, and in chunks.
fn of_two_files<T: Value>(path: &Path, key: &str) {
    let d = Distribution::over(3).shape([7, 10]).cyclic(0).block(1);
    let d = d.padding(1).build().unwrap();
    let is_coded = key.starts_with("enum");
    ThreadComm::run(3, |comm| {
        let expected = part_with::<T>(&d.dim_data(comm.rank())?, None);
        let load = LoadHdf5::new(path).key(key).codes(is_coded);
        assert_eq!(load.load::<T>(&d, comm)?, expected, "{key}");
        if !is_coded {
            assert_eq!(from_file::<T>(path, key, &d, comm)?, expected, "{key}");
            let lazy = open_dset::<T>(path, key, comm)?.distribute(&d)?;
            assert_eq!(lazy.load()?, expected, "{key}");
        }
        Ok::<_, IoError>(())
    })
    .unwrap();
    let whole = Distribution::over(1).shape([7, 10]).build().unwrap();
    if is_coded {
        let refused = refusal(load_hdf5::<T>(path, &whole, key, &SingleComm::new()));
        assert_eq!(refused, Refusal::Enumeration, "{key}");
        return;
    }
    let expected = part_with::<T>(&whole.dim_data(0).unwrap(), None);
    let chunks = from_file_batched::<T>(path, key, &[2, 10]).unwrap();
    let rows = chunks.flat_map(|chunk| chunk.unwrap().0.into_parts().1);
    assert_eq!(rows.collect::<Vec<_>>(), expected.buffer().data(), "{key}");
}

fn codes_of_two_files<T: Value>(path: &Path) {
    for order in ["<", ">"] {
        let code = T::TYPE.numpy_code().unwrap();
        of_two_files::<T>(path, &format!("{order}{code}"));
        of_two_files::<T>(path, &format!("enum {order}{code}"));
    }
}

#[test]
fn virtual_datasets_of_every_type_are_read() {
    let folder = temporary();
    if run_h5py("h5py_types.py", "virtual", folder.path()).is_none() {
        return;
    }
    let path = folder.path().join("virtual.h5");
    of_two_files::<bool>(&path, "b1");
    codes_of_two_files::<i8>(&path);
    codes_of_two_files::<i16>(&path);
    codes_of_two_files::<i32>(&path);
    codes_of_two_files::<i64>(&path);
    codes_of_two_files::<u8>(&path);
    codes_of_two_files::<u16>(&path);
    codes_of_two_files::<u32>(&path);
    codes_of_two_files::<u64>(&path);
    for order in ["<", ">"] {
        let key = |code: &str| format!("{order}{code}");
        of_two_files::<f16>(&path, &key("f2"));
        of_two_files::<bf16>(&path, &key("bfloat16"));
        of_two_files::<f32>(&path, &key("f4"));
        of_two_files::<f64>(&path, &key("f8"));
        of_two_files::<Complex<f32>>(&path, &key("c8"));
        of_two_files::<Complex<f64>>(&path, &key("c16"));
    }
}

fn in_parts<T: Value>(path: &Path, ranks: usize) {
    let d = Distribution::over(ranks).shape([7, 10]).block_cyclic(0, 2);
    let d = d.cyclic(1).build().unwrap();
    let code = T::TYPE.numpy_code().unwrap_or("bfloat16");
    ThreadComm::run(ranks, |comm| {
        let part = part_with::<T>(&d.dim_data(comm.rank())?, None);
        to_file(&part, path, &format!("types/{code}"), comm)
    })
    .unwrap();
}

#[test]
fn h5py_reads_parts_of_every_type() {
    let folder = temporary();
    let path = folder.path().join("parts.h5");
    in_parts::<bool>(&path, 3);
    in_parts::<i8>(&path, 2);
    in_parts::<i16>(&path, 3);
    in_parts::<i32>(&path, 2);
    in_parts::<i64>(&path, 1);
    in_parts::<u8>(&path, 4);
    in_parts::<u16>(&path, 2);
    in_parts::<u32>(&path, 3);
    in_parts::<u64>(&path, 2);
    in_parts::<f16>(&path, 3);
    in_parts::<bf16>(&path, 2);
    in_parts::<f32>(&path, 3);
    in_parts::<f64>(&path, 2);
    in_parts::<Complex<f32>>(&path, 3);
    in_parts::<Complex<f64>>(&path, 2);
    run_h5py("h5py_types.py", "parts", &path);
}

/// What texts end with is theirs, unless it is what they are filled up with.
#[test]
fn texts_keep_what_they_end_with() {
    let folder = temporary();
    let path = folder.path().join("texts.h5");
    let comm = SingleComm::new();
    let whole = |n: u64| Distribution::over(1).shape([n]).build().unwrap();
    // ours: filled up with spaces, as a dataset and as a field
    let spaced = Record::packed([("", FieldType::SpacedText { bytes: 6 })]);
    let mut bytes = vec![0; 24];
    let words = ["a", "süß", "", "sixsix"];
    spaced.put_texts("", &words, &mut bytes).unwrap();
    assert_eq!(spaced.texts("", &bytes).unwrap(), words);
    let dims = DimData::new(vec![DimDict::whole(4).unwrap(), DimDict::whole(6).unwrap()]);
    let saved = DistBuffer::new(dims, HostArray::new(vec![4, 6], bytes).unwrap()).unwrap();
    let save = SaveHdf5::new(&path).key("spaces").record(spaced.clone());
    save.save(&saved, &comm).unwrap();
    let (found, loaded) = load_hdf5_records(&path, &whole(4), "spaces", &comm).unwrap();
    assert_eq!((&found, &loaded), (&spaced, &saved));
    let zeros = Record::text(4);
    let mut bytes = vec![0; 12];
    let words = ["a ", "\t", "b\n"];
    zeros.put_texts("", &words, &mut bytes).unwrap();
    assert_eq!(zeros.texts("", &bytes).unwrap(), words);
    if run_h5py("h5py_types.py", "spaces", &path).is_none() {
        return;
    }
    run_h5py("h5py_types.py", "texts", &path);
    let all = ["a", "b ", " c", "d\n", "ü", "", "sixsix"];
    for key in ["numpy", "gzip", "utf-8", "zero at the end", "spaces"] {
        for (field, key) in [("", key.to_owned()), ("text", format!("{key} in records"))] {
            let is_there = field.is_empty() || key.contains("spaces") || key.contains("zero");
            if !is_there {
                continue;
            }
            let (record, loaded) = load_hdf5_records(&path, &whole(7), &key, &comm).unwrap();
            let texts = record.texts(field, loaded.buffer().data()).unwrap();
            // a space at its end is one of those that fill it up
            let expected = if key.contains("spaces") {
                all.map(|text| text.trim_end_matches(' '))
            } else {
                all
            };
            assert_eq!(texts, expected, "{key}");
            if field == "text" {
                let numbers = record.column::<i8>("n", loaded.buffer().data()).unwrap();
                assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6], "{key}");
            }
        }
    }
}

/// What other programs write and few read: filters with many parameters, names that are no UTF-8, truth in either order.
#[test]
fn odd_types_and_names_of_others() {
    let folder = temporary();
    let path = folder.path().join("odd.h5");
    if run_h5py("h5py_types.py", "odd", &path).is_none() {
        return;
    }
    let whole = |n: u64| Distribution::over(1).shape([n]).build().unwrap();
    let comm = SingleComm::new();
    let d = Distribution::over(2).shape([7, 10]).block(0);
    let d = d.build().unwrap();
    let errors = ThreadComm::run(2, |comm| {
        Ok::<_, IoError>(load_hdf5::<i32>(&path, &d, "parameters", comm))
    });
    for outcome in errors.unwrap() {
        let expected = Refusal::Filter {
            name: "zstd".to_owned(),
            number: 32015,
        };
        assert_eq!(refusal(outcome), expected);
    }
    assert_eq!(inspect_hdf5(&path, "parameters").unwrap().filters, ["zstd"]);
    let info = inspect_hdf5(&path, "colours").unwrap();
    let names: Vec<&str> = info.members.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["ROT", "GRÜN", "BLAU"]);
    let load = LoadHdf5::new(&path).key("colours").codes(true);
    let codes = load.load::<i16>(&whole(3), &comm).unwrap();
    assert_eq!(codes.buffer().data(), [0, 1, 2]);
    let (record, sizes) = load_hdf5_records(&path, &whole(2), "sizes", &comm).unwrap();
    let sizes = record.column::<f64>("größe", sizes.buffer().data());
    assert_eq!(sizes.unwrap(), [0.5, 1.5]);
    let flags = load_hdf5::<bool>(&path, &whole(3), "true first", &comm).unwrap();
    assert_eq!(flags.buffer().data(), [false, true, true]);
    let no_bool = load_hdf5::<bool>(&path, &whole(3), "yes and no", &comm);
    assert!(no_bool.is_err(), "{no_bool:?}");
    let codes = LoadHdf5::new(&path).key("yes and no").codes(true);
    let codes = codes.load::<u8>(&whole(3), &comm).unwrap();
    assert_eq!(codes.buffer().data(), [0, 1, 1]);
    let halves = refusal(load_hdf5::<Complex<f32>>(
        &path,
        &whole(2),
        "complex of halves",
        &comm,
    ));
    assert!(
        halves.to_string().contains("records of 4 bytes (r, i)"),
        "{halves}"
    );
    let (record, halves) = load_hdf5_records(&path, &whole(2), "complex of halves", &comm).unwrap();
    let column = |name| record.column::<f16>(name, halves.buffer().data()).unwrap();
    assert_eq!(column("r"), [0.5, 2.0].map(f16::from_f64));
    assert_eq!(column("i"), [-1.0, 0.25].map(f16::from_f64));
    let plain = inspect_hdf5(&path, "plain").unwrap();
    assert_eq!(plain.attributes["unit"], "K".into());
    let whole = load_hdf5::<i64>(&path, &whole(3), "plain", &comm).unwrap();
    assert_eq!(whole.buffer().data(), [0, 1, 2]);
}

#[test]
fn attributes_come_back_as_they_were() {
    let folder = temporary();
    let path = folder.path().join("attributes.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([2]).build().unwrap();
    let part = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    let all: Vec<(&str, AttributeValue)> = vec![
        ("text", "Kelvin °".into()),
        ("integer", i64::MIN.into()),
        ("unsigned", u64::MAX.into()),
        ("real", 0.1.into()),
        ("single", 0.1_f32.into()),
        ("yes", true.into()),
        ("no", false.into()),
        (
            "texts",
            vec!["x".to_owned(), String::new(), "zü".to_owned()].into(),
        ),
        ("integers", vec![-1_i64, 0, i64::MAX].into()),
        ("unsigneds", vec![0_u64, u64::MAX].into()),
        ("singles", vec![0.5_f32].into()),
        ("bools", vec![true, false].into()),
        ("nothing", Vec::<f64>::new().into()),
        (
            "matrix",
            AttributeValue::Array {
                shape: vec![2, 3],
                values: AttributeNumbers::Real((0..6).map(f64::from).collect()),
            },
        ),
    ];
    let mut save = SaveHdf5::new(&path).key("a");
    for (name, value) in &all {
        save = save.attribute(*name, value.clone());
    }
    save.save(&part, &comm).unwrap();
    let found = inspect_hdf5(&path, "a").unwrap().attributes;
    assert_eq!(found.len(), all.len());
    for (name, value) in &all {
        assert_eq!(&found[*name], value, "{name}");
    }
    for (name, wrong) in [
        ("other", AttributeValue::Other("anything".to_owned())),
        (
            "shape",
            AttributeValue::Array {
                shape: vec![2],
                values: AttributeNumbers::Real(vec![0.0]),
            },
        ),
        ("zero", "a\0b".into()),
    ] {
        let save = SaveHdf5::new(&path).key("b").attribute(name, wrong);
        assert!(
            matches!(refusal(save.save(&part, &comm)), Refusal::Attribute { .. }),
            "{name}"
        );
    }
    if run_h5py("h5py_types.py", "attributes", &path).is_none() {
        return;
    }
    // those that h5py has added
    let found = inspect_hdf5(&path, "a").unwrap().attributes;
    assert_eq!(found["h5py bytes"], AttributeValue::Text("abc".to_owned()));
    assert_eq!(
        found["h5py fixed"],
        AttributeValue::Texts(vec!["ab".to_owned(), "c".to_owned()])
    );
    assert_eq!(found["h5py u1"], AttributeValue::Unsigned(200));
    assert_eq!(found["h5py half"], AttributeValue::Single(0.5));
    let others = found
        .iter()
        .filter(|(_, value)| matches!(value, AttributeValue::Other(_)));
    let others: Vec<&str> = others.map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        others,
        ["h5py empty", "h5py record", "h5py reference", "h5py texts"]
    );
}

fn particles() -> (Record, Vec<u8>) {
    let mut record = Record::packed([
        ("id", FieldType::of::<u16>()),
        (
            "x",
            FieldType::Element {
                element: ElementType::F64,
                byte_order: ByteOrder::Big,
            },
        ),
        ("kind", FieldType::Text { bytes: 5 }),
        ("z", FieldType::of::<Complex<f32>>()),
        ("alive", FieldType::of::<bool>()),
    ]);
    record.bytes = 32; // room at the end
    let mut bytes = vec![0; 12 * 32];
    let ids: Vec<u16> = (0..12).map(|i| i * 300).collect();
    record.put("id", &ids, &mut bytes).unwrap();
    let x: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.25).collect();
    record.put("x", &x, &mut bytes).unwrap();
    let kinds: Vec<String> = (0..12).map(|i| format!("k{i}")).collect();
    record.put_texts("kind", &kinds, &mut bytes).unwrap();
    let z: Vec<Complex<f32>> = (0..12).map(|i| Complex::new(i as f32, -1.0)).collect();
    record.put("z", &z, &mut bytes).unwrap();
    let alive: Vec<bool> = (0..12).map(|i| i % 3 == 0).collect();
    record.put("alive", &alive, &mut bytes).unwrap();
    (record, bytes)
}

#[test]
fn records_and_texts_are_saved_and_loaded() {
    let folder = temporary();
    let path = folder.path().join("records.h5");
    let (record, all) = particles();
    for ranks in 1..=3 {
        let key = format!("particles{ranks}");
        let d = Distribution::over(ranks)
            .shape([3, 4, 32])
            .cyclic(0)
            .build()
            .unwrap();
        ThreadComm::run(ranks, |comm| {
            let dims = d.dim_data(comm.rank())?;
            let rows: Vec<u8> = (comm.rank()..3)
                .step_by(ranks)
                .flat_map(|row| all[row * 128..(row + 1) * 128].to_vec())
                .collect();
            let mine = DistBuffer::new(dims, HostArray::new(vec![rows.len() / 128, 4, 32], rows)?)?;
            SaveHdf5::new(&path)
                .key(&key)
                .record(record.clone())
                .checksums(true)
                .save(&mine, comm)?;
            let (found, loaded) = load_hdf5_records(&path, Wanted::AsSaved, &key, comm)?;
            assert_eq!((&found, &loaded), (&record, &mine));
            assert_eq!(verify(&path, &key, comm)?.bytes, 384);
            // in another distribution of what the dataset is
            let columns = Distribution::over(ranks).shape([3, 4]).block(1).build()?;
            let (_, loaded) = load_hdf5_records(&path, &columns, &key, comm)?;
            let ids = found.column::<u16>("id", loaded.buffer().data())?;
            let expected: Vec<u16> = crate::support::flat_indices(&columns.dim_data(comm.rank())?)
                .iter()
                .map(|&flat| flat as u16 * 300)
                .collect();
            assert_eq!(ids, expected);
            Ok::<_, IoError>(())
        })
        .unwrap();
    }
    let comm = SingleComm::new();
    let texts = Record::text(6);
    let mut bytes = vec![0; 24];
    texts
        .put_texts("", &["a", "süß", "", "sixsix"], &mut bytes)
        .unwrap();
    let dims = DimData::new(vec![DimDict::whole(4).unwrap(), DimDict::whole(6).unwrap()]);
    let words = DistBuffer::new(dims, HostArray::new(vec![4, 6], bytes).unwrap()).unwrap();
    SaveHdf5::new(&path)
        .key("words")
        .record(texts.clone())
        .save(&words, &comm)
        .unwrap();
    let (found, loaded) = load_hdf5_records(&path, Wanted::AsSaved, "words", &comm).unwrap();
    assert_eq!((&found, &loaded), (&texts, &words));
    // what is wrong
    let text = |error: IoError| error.to_string();
    assert_eq!(
        text(record.column::<u32>("id", &all).unwrap_err()),
        "the field \"id\": it is Element { element: U16, byte_order: Little }, asked for: u32"
    );
    assert!(text(record.column::<u16>("no", &all).unwrap_err()).contains("no such field"));
    assert!(
        text(record.column::<u16>("id", &all[1..]).unwrap_err())
            .contains("383 bytes are no records of 32")
    );
    assert!(text(record.texts("id", &all).unwrap_err()).contains("no text"));
    let mut copy = all.clone();
    assert!(record.put("id", &[1_u16], &mut copy).is_err());
    assert!(
        record
            .put_texts("kind", &["too long"; 12], &mut copy)
            .is_err()
    );
    let save = SaveHdf5::new(&path).key("no").record(texts.clone());
    assert!(matches!(
        save.record(record.clone()).save(&words, &comm),
        Err(IoError::Record { .. })
    ));
    let mut outside = record.clone();
    outside.fields[4].offset = 32;
    let d = Distribution::over(1).shape([12, 32]).build().unwrap();
    let mine = DistBuffer::new(
        d.dim_data(0).unwrap(),
        HostArray::new(vec![12, 32], all.clone()).unwrap(),
    )
    .unwrap();
    assert!(matches!(
        refusal(
            SaveHdf5::new(&path)
                .key("no")
                .record(outside)
                .save(&mine, &comm)
        ),
        Refusal::Member { .. }
    ));
    assert!(matches!(
        refusal(load_hdf5::<u8>(&path, Wanted::AsSaved, "words", &comm)),
        Refusal::ElementType { .. }
    ));
    if run_h5py("h5py_types.py", "records", &path).is_none() {
        return;
    }
    // h5py's own, compressed too
    for key in ["h5py", "h5py gzip", "h5py compact"] {
        let whole = Distribution::over(1).shape([3, 4]).build().unwrap();
        let (found, loaded) = load_hdf5_records(&path, &whole, key, &comm).unwrap();
        let bytes = loaded.buffer().data();
        assert_eq!(found.column::<f64>("x", bytes).unwrap()[11], 2.75, "{key}");
        assert_eq!(found.texts("kind", bytes).unwrap()[11], "k11");
        assert_eq!(
            found.column::<bool>("alive", bytes).unwrap()[9..],
            [true, false, false]
        );
        assert_eq!(found.fields[5].ty, FieldType::Other { bytes: 6 }); // three int16
    }
    let d = Distribution::over(1).shape([2]).build().unwrap();
    assert!(matches!(
        refusal(load_hdf5_records(&path, &d, "h5py text", &comm)),
        Refusal::ElementType { .. }
    ));
}

#[test]
fn complex_numbers_of_others_and_long_doubles() {
    let folder = temporary();
    let path = folder.path().join("others.h5");
    if run_h5py("h5py_types.py", "others", &path).is_none() {
        return;
    }
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([3]).build().unwrap();
    let expected: Vec<Complex<f64>> = (0..3).map(|i| Complex::new(f64::from(i), -0.5)).collect();
    for key in ["real imag", "re im", "big"] {
        let found = load_hdf5::<Complex<f64>>(&path, &d, key, &comm).unwrap();
        assert_eq!(found.buffer().data(), expected, "{key}");
    }
    for (key, says) in [
        ("long double", "long double"),
        ("swapped", "records of 16 bytes (i, r)"),
        ("wide codes", "16 bytes"),
    ] {
        let found = refusal(load_hdf5::<f64>(&path, &d, key, &comm));
        assert!(
            matches!(found, Refusal::ElementType { .. }) && found.to_string().contains(says),
            "{found}"
        );
    }
    // read where the library has them, and refused by name where it does not
    match load_hdf5::<Complex<f64>>(&path, &d, "native", &comm) {
        Ok(found) => assert_eq!(found.buffer().data(), expected),
        Err(error) => assert!(error.to_string().contains("native complex"), "{error}"),
    }
}

#[test]
fn damage_is_found_wherever_it_is() {
    let folder = temporary();
    for ranks in [1, 3] {
        for (kind, d) in every_kind(ranks) {
            for chunk in [None, Some(false), Some(true)] {
                let path = folder.path().join("sums.h5");
                let found = ThreadComm::run(ranks, |comm| {
                    let part = part_with::<f64>(&d.dim_data(comm.rank())?, None);
                    let mut save = SaveHdf5::new(&path)
                        .mode(WriteMode::Replace)
                        .key("g/a")
                        .checksums(true);
                    if let Some(coded) = chunk {
                        save = save.chunk([3, 4]);
                        if coded {
                            save = save.shuffle(true).deflate(4);
                        }
                    }
                    save.save(&part, comm)?;
                    assert_eq!(load_hdf5::<f64>(&path, Wanted::AsSaved, "g/a", comm)?, part);
                    verify(&path, "g/a", comm)
                })
                .unwrap();
                assert!(found.iter().all(|&other| other == found[0]), "{kind}");
                let info = inspect_hdf5(&path, "g/a").unwrap();
                assert!(info.attributes.is_empty());
                let (sums, bytes) = (found[0].sums, found[0].bytes);
                match (&info.storage, chunk) {
                    (Storage::Contiguous { .. }, None) => assert_eq!((sums, bytes), (1, 560)),
                    (_, Some(false)) => assert_eq!((sums, bytes), (9, 9 * 96)),
                    _ => assert_eq!(sums, 9),
                }
            }
        }
    }
    // every byte of the elements
    let path = folder.path().join("bytes.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let part = part_with::<u8>(&d.dim_data(0).unwrap(), None);
    SaveHdf5::new(&path)
        .key("a")
        .chunk([3, 10])
        .checksums(true)
        .save(&part, &comm)
        .unwrap();
    let whole = std::fs::read(&path).unwrap();
    let row: Vec<u8> = part.buffer().data()[..30].to_vec();
    let at = whole.windows(30).position(|found| found == row).unwrap();
    for byte in at..at + 30 {
        let mut bytes = whole.clone();
        bytes[byte] ^= 0x40;
        std::fs::write(&path, bytes).unwrap();
        let outcomes =
            ThreadComm::run(3, |comm| Ok::<_, IoError>(verify(&path, "a", comm))).unwrap();
        for outcome in outcomes {
            match refusal(outcome) {
                Refusal::Damaged { from, to, .. } => {
                    assert_eq!((from, to), (at as u64, at as u64 + 30))
                }
                other => panic!("{other}"),
            }
        }
    }
    std::fs::write(&path, whole).unwrap();
    assert_eq!(verify(&path, "a", &comm).unwrap().sums, 3);
    SaveHdf5::new(&path).key("b").save(&part, &comm).unwrap();
    assert_eq!(refusal(verify(&path, "b", &comm)), Refusal::NoChecksums);
    run_h5py("h5py_types.py", "sums", &path);
}

#[test]
fn limits_are_kept() {
    let folder = temporary();
    let path = folder.path().join("limits.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([100, 100]).build().unwrap();
    let zeros = DistBuffer::new(
        d.dim_data(0).unwrap(),
        HostArray::new(vec![100, 100], vec![0_i64; 10_000]).unwrap(),
    )
    .unwrap();
    let save = |key: &str| SaveHdf5::new(&path).key(key);
    save("a/b/c/plain").save(&zeros, &comm).unwrap();
    let untrusted = Limits::untrusted();
    untrusted.check(&path).unwrap();
    assert_eq!(
        untrusted
            .load::<i64>(&path, &d, "a/b/c/plain", &comm)
            .unwrap(),
        zeros
    );
    assert_eq!(
        untrusted.inspect(&path, "a/b/c/plain").unwrap().shape,
        [100, 100]
    );
    let limit = |limits: Limits| match refusal(limits.check(&path)) {
        Refusal::Limit {
            what,
            given,
            allowed,
        } => (what, given, allowed),
        other => panic!("{other}"),
    };
    let says = |what: &str, given, allowed| (what.to_owned(), given, allowed);
    assert_eq!(
        limit(Limits {
            depth: 2,
            ..untrusted
        }),
        says("depth of groups", 3, 2)
    );
    assert_eq!(
        limit(Limits {
            datasets: 3,
            ..untrusted
        }),
        says("datasets and groups", 4, 3)
    );
    assert_eq!(
        limit(Limits {
            dimensions: 1,
            ..untrusted
        }),
        says("dimensions", 2, 1)
    );
    assert_eq!(
        limit(Limits {
            bytes: 79_999,
            ..untrusted
        }),
        says("bytes of the elements", 80_000, 79_999)
    );
    for _ in 0..2 {
        // groups that lie in each other are looked at once
        let file = hdf5_metno::File::open_rw(&path).unwrap();
        let name = format!("a/loop{}", file.group("a").unwrap().len());
        file.link_hard("a", &name).unwrap();
        file.close().unwrap();
    }
    untrusted.check(&path).unwrap();
    save("small")
        .chunk([50, 100])
        .deflate(9)
        .save(&zeros, &comm)
        .unwrap();
    save("smaller")
        .chunk([50, 100])
        .deflate(9)
        .save(&zeros, &comm)
        .unwrap();
    assert_eq!(
        limit(Limits {
            chunk_bytes: 39_999,
            ..untrusted
        }),
        says("bytes of a chunk", 40_000, 39_999)
    );
    // a file of a few KB that says it has megabytes
    let bomb = folder.path().join("bomb.h5");
    let save = SaveHdf5::new(&bomb).key("a").chunk([100, 100]).deflate(9);
    save.save(&zeros, &comm).unwrap();
    let len = std::fs::metadata(&bomb).unwrap().len();
    assert!(len < 40_000);
    let refused = refusal(untrusted.load::<i64>(&bomb, &d, "a", &comm));
    assert_eq!(
        refused,
        Refusal::Limit {
            what: "bytes of a chunk".to_owned(),
            given: 80_000,
            allowed: len
        }
    );
    let trusted = Limits {
        times_file: None,
        ..untrusted
    };
    assert_eq!(trusted.load::<i64>(&bomb, &d, "a", &comm).unwrap(), zeros);
    // parts beside the file, and elsewhere
    let parts = folder.path().join("parts.h5");
    to_file(&zeros, &parts, "/v", &comm).unwrap();
    untrusted.check(&parts).unwrap();
    if run_h5py("h5py_types.py", "elsewhere", &folder.path().join("vds.h5")).is_some() {
        for name in ["above", "absolute"] {
            let refused = refusal(untrusted.inspect(folder.path().join("vds.h5"), name));
            assert!(matches!(refused, Refusal::Limit { .. }), "{refused}");
            let trusted = Limits {
                parts_elsewhere: true,
                ..untrusted
            };
            trusted.inspect(folder.path().join("vds.h5"), name).unwrap();
        }
    }
}
