//! Files of unknown origin that are damaged, cut, or claim too much: `Limits` says what is wrong, and where.

use dist_comm::{SingleComm, ThreadComm};
use dist_io::legate::{ToFile, to_file};
use dist_io::{IoError, Limits, Refusal, Storage, datasets_hdf5, load_hdf5};
use dist_maps::Distribution;
use hdf5_metno::{File, SimpleExtents};

use crate::cases::part;
use crate::support::{part_with, temporary};
use crate::untrusted::{LARGE, file, refusal};

/// What a key may lead to that is no dataset, and what may be no file: the same answer with limits and without.
#[test]
fn refusals_are_those_of_files_that_are_trusted() {
    let folder = temporary();
    let path = folder.path().join("odd.h5");
    let file = file(&path, false);
    file.create_group("group").unwrap();
    file.new_dataset::<i32>()
        .create("a")
        .unwrap()
        .write_scalar(&5)
        .unwrap();
    file.new_dataset::<i32>().shape(0).create("none").unwrap();
    for (to, name) in [
        ("/loop two", "loop one"),
        ("/loop one", "loop two"),
        ("/nowhere", "dangling"),
        ("/self/self", "self"),
    ] {
        file.link_soft(to, name).unwrap();
    }
    file.link_soft("group/../a", "dots").unwrap();
    file.link_external("other.h5", "/a", "outside").unwrap();
    let other = crate::untrusted::file(&folder.path().join("other.h5"), false);
    other.new_dataset::<i32>().create("a").unwrap();
    other.close().unwrap();
    file.close().unwrap();
    std::fs::write(
        folder.path().join("text"),
        "no HDF5 at all, but of some length",
    )
    .unwrap();
    std::fs::write(folder.path().join("nothing"), "").unwrap();
    let comm = SingleComm::new();
    let scalar = Distribution::over(1).shape([]).build().unwrap();
    let missing = |missing: &str| Refusal::MissingKey {
        missing: missing.to_owned(),
    };
    let group = || Refusal::NotADataset {
        kind: "group".to_owned(),
    };
    for (name, key, expected) in [
        ("odd.h5", "b", missing("b")),
        ("odd.h5", "no/such/group", missing("no")),
        ("odd.h5", "group/none/a", missing("group/none")),
        ("odd.h5", "group", group()),
        ("odd.h5", "a/b", Refusal::NotAGroup { at: "a".to_owned() }),
        (
            "odd.h5",
            "a//b",
            Refusal::Key {
                given: "a//b".to_owned(),
            },
        ),
        ("odd.h5", "loop one", missing("loop one")),
        ("odd.h5", "self", missing("self")),
        ("odd.h5", "dangling", missing("dangling")),
        ("odd.h5", "dangling/a", missing("dangling")),
        ("odd.h5", "dots", missing("dots")),
        (
            "odd.h5",
            "outside",
            Refusal::AnotherFile {
                at: "outside".to_owned(),
            },
        ),
        ("absent.h5", "a", Refusal::NotFound),
        (".", "a", Refusal::NotAFile),
        ("text", "a", Refusal::NotHdf5),
        ("nothing", "a", Refusal::NotHdf5),
    ] {
        let path = folder.path().join(name);
        let limits = Limits::untrusted();
        let given = [
            refusal(load_hdf5::<i32>(&path, &scalar, key, &comm)),
            refusal(limits.load::<i32>(&path, &scalar, key, &comm)),
            refusal(limits.inspect(&path, key)),
            refusal(limits.verify(&path, key, &comm)),
            refusal(limits.reader(&path, key)),
            refusal(limits.open_dset::<i32>(&path, key, &comm).map(|_| ())),
            refusal(limits.load_records(&path, &scalar, key, &comm)),
            refusal(limits.from_file_batched::<i32>(&path, key, &[]).map(|_| ())),
        ];
        for (call, given) in given.into_iter().enumerate() {
            assert_eq!(given, expected, "{name}:{key}, call {call}");
        }
        if name != "odd.h5" {
            assert_eq!(refusal(limits.check(&path)), expected);
            assert_eq!(refusal(limits.datasets(&path)), expected);
        }
    }
    let limits = Limits::untrusted();
    let five = limits.load::<i32>(&path, &scalar, "a", &comm).unwrap();
    assert_eq!(five.buffer().data(), [5]);
    let none = Distribution::over(1).shape([0]).build().unwrap();
    let none = limits.load::<i32>(&path, &none, "none", &comm).unwrap();
    assert!(none.buffer().data().is_empty());
    // somebody has it open to write
    let held = File::open_rw(&path).unwrap();
    let locked = refusal(limits.inspect(&path, "a"));
    assert!(matches!(locked, Refusal::Locked { .. }), "{locked}");
    held.close().unwrap();
    limits.inspect(&path, "a").unwrap();
}

/// Sizes that a few bytes claim, and structures without end.
#[test]
fn claims_are_limited() {
    let folder = temporary();
    let path = folder.path().join("claims.h5");
    let file = file(&path, false);
    file.new_dataset::<u8>()
        .shape(1_usize << 40)
        .create("large")
        .unwrap();
    file.new_dataset::<u8>()
        .chunk(100 << 20)
        .shape(1_usize << 30)
        .create("chunk")
        .unwrap();
    let mut deep = file.create_group("deep").unwrap();
    for _ in 0..40 {
        deep = deep.create_group("g").unwrap();
    }
    deep.new_dataset::<u8>().create("x").unwrap();
    file.link_hard("deep", "deep/g/loop").unwrap();
    let noted = file.new_dataset::<u8>().create("noted").unwrap();
    for n in 0..3 {
        let attribute = noted.new_attr::<u64>().shape(100);
        attribute.create(format!("{n}").as_str()).unwrap();
    }
    drop((deep, noted));
    file.close().unwrap();
    let limits = Limits::untrusted();
    let len = std::fs::metadata(&path).unwrap().len();
    let says = |limits: Limits, key: &str| match refusal(limits.inspect(&path, key)) {
        Refusal::Limit {
            what,
            given,
            allowed,
        } => (what, given, allowed),
        other => panic!("{other}"),
    };
    let limit = |what: &str, given, allowed| (what.to_owned(), given, allowed);
    assert_eq!(
        says(limits, "large"),
        limit("bytes of the elements", 1 << 40, len)
    );
    assert_eq!(
        says(LARGE, "large"),
        limit("bytes of the elements", 1 << 40, 16 << 30)
    );
    assert_eq!(
        says(LARGE, "chunk"),
        limit("bytes of a chunk", 100 << 20, 64 << 20)
    );
    let x = format!("deep/{}x", "g/".repeat(40));
    assert_eq!(says(limits, &x), limit("depth of groups", 33, 32));
    let few = Limits {
        attributes: 2,
        ..limits
    };
    assert_eq!(says(few, "noted"), limit("attributes", 3, 2));
    let small = Limits {
        attribute_bytes: 1700,
        ..limits
    };
    // three of 800 bytes, their names, and what they are filled up with
    let (what, given, allowed) = says(small, "noted");
    assert!(what == "bytes of attributes" && (2403..2424).contains(&given) && allowed == 1700);
    let (what, given, allowed) = says(
        Limits {
            metadata_bytes: 2000,
            ..limits
        },
        "noted",
    );
    assert!(what == "bytes of metadata" && given > 2000 && allowed == 2000);
    let error = limits.check(&path).unwrap_err();
    let deep = Limits {
        depth: 100,
        bytes: 1 << 50,
        chunk_bytes: 1 << 30,
        ..LARGE
    };
    assert!(matches!(error, IoError::Hdf5 { .. }), "{error}");
    deep.check(&path).unwrap();
    assert_eq!(deep.datasets(&path).unwrap(), datasets_hdf5(&path).unwrap());
}

/// A file cut at every byte says so.
#[test]
fn cut_files_say_where() {
    let folder = temporary();
    let path = folder.path().join("whole.h5");
    let cut = folder.path().join("cut.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([2, 3]).build().unwrap();
    for latest in [false, true] {
        let file = file(&path, latest);
        let dataset = file
            .new_dataset::<i32>()
            .chunk((2, 2))
            .shape((2, 3))
            .create("g/a");
        dataset
            .unwrap()
            .as_writer()
            .write_raw(&[1, 2, 3, 4, 5, 6])
            .unwrap();
        file.close().unwrap();
        let whole = std::fs::read(&path).unwrap();
        for len in 0..whole.len() {
            std::fs::write(&cut, &whole[..len]).unwrap();
            let given = [
                refusal(LARGE.load::<i32>(&cut, &d, "g/a", &comm)),
                refusal(LARGE.inspect(&cut, "g/a")),
                refusal(LARGE.check(&cut)),
                refusal(LARGE.datasets(&cut)),
            ];
            for given in given {
                match given {
                    Refusal::NotHdf5 if len < 8 => {}
                    Refusal::Truncated { expected, found } => {
                        assert!(found == len as u64 && expected > found && len >= 8);
                    }
                    other => panic!("cut at {len}: {other}"),
                }
            }
        }
        std::fs::write(&cut, &whole).unwrap();
        assert_eq!(
            LARGE
                .load::<i32>(&cut, &d, "g/a", &comm)
                .unwrap()
                .buffer()
                .data(),
            [1, 2, 3, 4, 5, 6]
        );
    }
}

/// Each byte of a file is another one: nothing panics, and in the newer format, which has checksums, nothing is taken for what it
/// is not.
#[test]
fn damaged_bytes_are_noticed() {
    let folder = temporary();
    let path = folder.path().join("damaged.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([6]).build().unwrap();
    let elements = [11_i32, 12, 13, 14, 15, 16];
    for latest in [false, true] {
        let file = file(&path, latest);
        let dataset = file
            .new_dataset::<i32>()
            .chunk(2)
            .fletcher32()
            .shape(SimpleExtents::resizable([6]))
            .create("g/a")
            .unwrap();
        dataset.as_writer().write_raw(&elements).unwrap();
        for n in 0..if latest { 10 } else { 2 } {
            let attribute = dataset.new_attr::<u16>().create(format!("n{n}").as_str());
            attribute.unwrap().write_scalar(&n).unwrap();
        }
        drop(dataset);
        file.close().unwrap();
        let whole = std::fs::read(&path).unwrap();
        let right = LARGE.inspect(&path, "g/a").unwrap();
        assert!(matches!(right.storage, Storage::Chunked { .. }));
        let (mut noticed, mut damaged) = (0, whole.clone());
        for at in 0..whole.len() {
            for change in [0x01, 0x80, 0xff] {
                damaged[at] = whole[at] ^ change;
                std::fs::write(&path, &damaged).unwrap();
                let inspected = LARGE.inspect(&path, "g/a");
                let loaded = LARGE.load::<i32>(&path, &d, "g/a", &comm);
                let checked = LARGE.check(&path);
                noticed += usize::from(inspected.is_err());
                if let (true, Ok(info)) = (latest, &inspected) {
                    assert_eq!(*info, right, "byte {at}");
                }
                if let (true, Ok(part)) = (latest, &loaded) {
                    assert_eq!(part.buffer().data(), elements, "byte {at}");
                }
                if inspected.is_err() {
                    assert!(checked.is_err() || !latest, "byte {at}");
                }
            }
            damaged[at] = whole[at];
        }
        assert!(noticed > 300, "{noticed}");
    }
}

/// Parts of a virtual dataset are files of unknown origin too.
#[test]
fn parts_are_looked_at_without_the_library() {
    let folder = temporary();
    let path = folder.path().join("parts.h5");
    let d = Distribution::over(2)
        .shape([6, 4])
        .block(0)
        .build()
        .unwrap();
    ThreadComm::run(2, |comm| to_file(&part::<i64>(&d, comm), &path, "/a", comm)).unwrap();
    let parts = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let parts = parts.into_iter().find(|path| path.is_dir()).unwrap();
    let limits = Limits::untrusted();
    let load = |limits: Limits| {
        ThreadComm::run(2, |comm| {
            Ok::<_, IoError>(
                limits
                    .load::<i64>(&path, &d, "a", comm)
                    .map(|part| part.buffer().data().to_vec()),
            )
        })
        .unwrap()
    };
    let read = load(limits);
    for (rank, read) in read.into_iter().enumerate() {
        let expected = part_with::<i64>(&d.dim_data(rank).unwrap(), None);
        assert_eq!(read.unwrap(), expected.buffer().data());
    }
    let second = parts.join("1.h5");
    let whole = std::fs::read(&second).unwrap();
    std::fs::write(&second, &whole[..whole.len() - 1]).unwrap();
    let errors = load(limits).into_iter().map(Result::unwrap_err);
    let cut = Refusal::Truncated {
        expected: whole.len() as u64,
        found: whole.len() as u64 - 1,
    };
    for error in errors {
        match refusal::<()>(Err(error)) {
            Refusal::Part { refusal, .. } => assert_eq!(*refusal, cut),
            other => panic!("{other}"),
        }
    }
    std::fs::write(&second, &whole).unwrap();
    let few = Limits {
        datasets: 1,
        ..limits
    };
    let refused = refusal(few.inspect(&path, "a"));
    let parts = Refusal::Limit {
        what: "parts".to_owned(),
        given: 2,
        allowed: 1,
    };
    assert_eq!(refused, parts);
}

/// Parts are verified one by one, also without the library; parts in chunks are refused by name.
#[test]
fn sums_of_parts_are_compared_without_the_library() {
    let folder = temporary();
    let d = Distribution::over(2)
        .shape([6, 4])
        .block(0)
        .build()
        .unwrap();
    let limits = Limits::untrusted();
    let (plain, chunked) = (
        folder.path().join("plain.h5"),
        folder.path().join("chunked.h5"),
    );
    let verified = ThreadComm::run(2, |comm| {
        let mine = part::<i64>(&d, comm);
        let save = |path| ToFile::new(path).key("a").checksums(true);
        save(&plain).save(&mine, comm)?;
        save(&chunked).chunk([2, 2]).save(&mine, comm)?;
        limits.verify(&plain, "a", comm)
    });
    for verified in verified.unwrap() {
        assert_eq!((verified.bytes, verified.sums), (6 * 4 * 8, 2));
    }
    let comm = SingleComm::new();
    for refused in [
        refusal(limits.load::<i64>(&chunked, dist_io::Wanted::AsSaved, "a", &comm)),
        refusal(limits.verify(&chunked, "a", &comm)),
    ] {
        assert!(matches!(refused, Refusal::Part { .. }), "{refused}");
    }
    let names = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let folder_of_parts = names
        .filter(|path| path.is_dir())
        .find(|path| path.to_string_lossy().contains("plain"));
    let second = folder_of_parts.unwrap().join("1.h5");
    let mut bytes = std::fs::read(&second).unwrap();
    let key = limits.datasets(&second).unwrap().remove(0);
    let Storage::Contiguous { offset: Some(at) } = limits.inspect(&second, &key).unwrap().storage
    else {
        panic!("not in one piece");
    };
    bytes[usize::try_from(at).unwrap()] ^= 1;
    std::fs::write(&second, &bytes).unwrap();
    match refusal(limits.verify(&plain, "a", &comm)) {
        Refusal::Part { refusal, .. } => {
            assert!(matches!(*refusal, Refusal::Damaged { .. }), "{refusal}");
        }
        other => panic!("{other}"),
    }
}
