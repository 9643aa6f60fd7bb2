//! Files that are not what they should be: pipes, devices, bombs, sets replaced while they are opened.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dap_protocol::literal::MAX_NOTES;
use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
use dnpy_format::set::{Set, SetError, SetWriter};
use dnpy_format::{DnpyError, MappedArray, MappedPart, PartFile, SaveId, inspect, npy};

fn npy_stream(text: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
    bytes.extend_from_slice(&u32::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn part(ranks: usize, rank: usize, value: f64) -> DistBuffer<HostArray<f64>> {
    let start = 10 * rank as u64;
    let dim = DimDict::block(10 * ranks as u64, ranks, rank, start..start + 10).unwrap();
    let array = HostArray::new(vec![10], vec![value; 10]).unwrap();
    DistBuffer::new(DimData::new(vec![dim]), array).unwrap()
}

fn save_set(writer: &SetWriter, ranks: usize, value: f64) {
    let record = |rank| writer.save_part(rank, &part(ranks, rank, value)).unwrap();
    let records: Vec<_> = (0..ranks).map(record).collect();
    writer.publish(&records).unwrap();
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_unopened() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    let whole = DimData::new(vec![DimDict::whole(4).unwrap()]);
    let refused = |outcome: Result<(), DnpyError>| {
        let e = outcome.unwrap_err();
        assert!(e.to_string().ends_with(": no regular file"), "{e}");
    };
    for path in [&pipe, Path::new("/dev/zero"), dir.path()] {
        refused(PartFile::open(path).map(drop));
        refused(inspect(path).map(drop));
        refused(MappedPart::open(path).map(drop));
        refused(MappedArray::<i32>::open_npy(path).map(drop));
        refused(npy::header(path).map(drop));
        refused(npy::load::<i32>(path).map(drop));
        refused(npy::read_owned::<i32>(path, &whole).map(drop));
    }
    for (prefix, file) in [("part", "part_0.dnpy"), ("set", "set.manifest.json")] {
        for target in [&pipe, Path::new("/dev/zero")] {
            let link = dir.path().join(file);
            std::os::unix::fs::symlink(target, &link).unwrap();
            refused(Set::open(dir.path().join(prefix)).map(drop));
            fs::remove_file(link).unwrap();
        }
    }
}

#[test]
fn a_manifest_is_read_no_further_than_it_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let manifest = fs::File::create(dir.path().join("run.manifest.json")).unwrap();
    manifest.set_len(1 << 40).unwrap(); // a hole: nothing on the disk
    let e = Set::open(dir.path().join("run")).unwrap_err();
    let is_refused = matches!(e, DnpyError::Set(SetError::Manifest { .. }));
    assert!(is_refused, "{e}");
}

#[test]
fn time_is_linear_in_a_header_full_of_repairs() {
    // 300,000 spellings in a text of 900,000 bytes, of which the first ones are told
    let text = format!(
        "{{'descr': '<i4', 'fortran_order': False, 'shape': ({}), }}\n",
        "0L,".repeat(300_000)
    );
    let began = Instant::now();
    let header = npy::read_header(&mut &npy_stream(&text, b"")[..]).unwrap();
    assert_eq!(header.repairs().len(), MAX_NOTES);
    assert!(began.elapsed() < Duration::from_secs(20));
}

#[test]
fn a_part_of_very_many_dimensions_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    for (order, expected) in [("False", [3, 4]), ("True", [3, 4])] {
        let text = format!(
            "{{'descr': '|i1', 'fortran_order': {order}, 'shape': ({}4, {}), }}\n",
            "1, ".repeat(60_000),
            "1, ".repeat(60_000)
        );
        fs::write(&path, npy_stream(&text, &[1, 2, 3, 4])).unwrap();
        let mut dims = vec![DimDict::whole(1).unwrap(); 120_001];
        dims[60_000] = DimDict::block(4, 2, 1, 2..4).unwrap();
        let read = npy::read_owned::<i8>(&path, &DimData::new(dims)).unwrap();
        assert_eq!(read.part.buffer().data(), expected);
        assert_eq!((read.bytes_read, read.reads), (2, 1));
    }
}

#[test]
fn one_block_of_very_many_ranks_costs_one_block() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("whole.npy");
    let array = HostArray::new(vec![10], (0..10).collect::<Vec<i32>>()).unwrap();
    npy::save(&path, &array).unwrap();
    let read = |block, rank| {
        let dim = DimDict::cyclic(10, 1 << 24, rank, block).unwrap();
        let read = npy::read_owned::<i32>(&path, &DimData::new(vec![dim])).unwrap();
        read.part.buffer().data().to_vec()
    };
    assert_eq!(read(1, 2), [2]);
    assert_eq!(read(4, 2), [8, 9]);
    assert_eq!(read(4, 3), [0; 0]);
}

#[test]
fn a_set_is_opened_while_others_are_published() {
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("run");
    let save = |value| save_set(&SetWriter::new(&prefix, SaveId::random()), 3, value);
    save(0.0);
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=150_u8 {
                save(round.into());
            }
            over.store(true, Ordering::Release);
        });
        while !over.load(Ordering::Acquire) {
            match Set::open(&prefix) {
                Ok(set) => {
                    let whole = DimData::new(vec![DimDict::whole(30).unwrap()]);
                    match set.read::<f64>(&whole) {
                        Ok(read) => {
                            let data = read.part.buffer().data();
                            assert!(data.iter().all(|x| x.to_bits() == data[0].to_bits()));
                        }
                        Err(DnpyError::Set(SetError::Replaced { .. })) => {}
                        Err(e) => panic!("read: {e}"),
                    }
                }
                // what it says when it was overtaken each time
                Err(DnpyError::Set(SetError::Manifest { .. })) => {}
                Err(e) => panic!("open: {e}"),
            }
        }
    });
}

#[test]
fn a_set_named_like_a_save_of_another_keeps_its_parts() {
    let dir = tempfile::tempdir().unwrap();
    let (run, other) = (dir.path().join("run"), "run_0123456789abcdef");
    let other = dir.path().join(other);
    save_set(
        &SetWriter::new(&other, SaveId::random()).plain_names(),
        2,
        1.0,
    );
    save_set(&SetWriter::new(&run, SaveId::random()), 2, 2.0);
    save_set(&SetWriter::new(&run, SaveId::random()), 1, 3.0);
    assert_eq!(Set::open(&other).unwrap().ranks(), 2);
    assert_eq!(Set::open(&run).unwrap().ranks(), 1);
}
