//! A save that ends at any point leaves the old dataset or the new one, whole.

use std::io::{Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{ToFile, from_file, to_file};
use dist_io::{IoError, Refusal, SaveHdf5, WriteMode, load_hdf5};
use dist_maps::Distribution;

use crate::doomed::Doomed;
use crate::support::temporary;

const ROWS: u64 = 40;

fn columns(ranks: usize) -> Distribution {
    Distribution::over(ranks)
        .shape([ROWS, 12])
        .cyclic(1)
        .build()
        .unwrap()
}

/// A rank's part of an array of one value.
fn filled(value: i64, comm: &dyn Communicator) -> Result<DistBuffer<HostArray<i64>>, IoError> {
    let d = columns(comm.size());
    let shape = d.local_shape(comm.rank());
    let elements = vec![value; shape.iter().product()];
    let part = HostArray::new(shape, elements)?;
    Ok(DistBuffer::new(d.dim_data(comm.rank())?, part)?)
}

/// The value that all elements have.
fn the_value(elements: &[i64]) -> i64 {
    assert_eq!(elements.len() as u64, ROWS * 12);
    let first = elements[0];
    let same = elements.iter().all(|&element| element == first);
    assert!(same, "two saves in one array");
    first
}

/// Saves an array of one value, a file for each rank.
fn save(path: &Path, value: i64, comm: &dyn Communicator) -> Result<(), IoError> {
    to_file(&filled(value, comm)?, path, "/a", comm)?;
    Ok(())
}

/// The value of the array, which all of its elements have.
fn value(path: &Path) -> Result<i64, IoError> {
    let d = columns(1);
    let whole = from_file::<i64>(path, "/a", &d, &SingleComm::new())?;
    Ok(the_value(whole.buffer().data()))
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_save_that_fails_at_any_call_changes_nothing() {
    for ranks in [1, 3] {
        let folder = temporary();
        let path = folder.path().join("a.h5");
        let mut refused = 0;
        for calls in 0.. {
            ThreadComm::run(ranks, |comm| save(&path, -1, comm)).unwrap();
            let outcomes = ThreadComm::run(ranks, |comm| {
                let doomed = Doomed::new(comm, calls);
                let outcome = save(&path, calls as i64, &doomed);
                comm.barrier()?;
                Ok::<_, IoError>(outcome.is_ok())
            })
            .unwrap();
            let now = value(&path).unwrap();
            assert!(
                now == -1 || now == calls as i64,
                "{now} after {calls} calls"
            );
            // nothing is left over: the file, and the folder with its parts
            assert_eq!(files(folder.path()), 2, "after {calls} calls");
            if outcomes.iter().all(|&done| done) {
                assert_eq!(now, calls as i64);
                break;
            }
            assert!(outcomes.iter().all(|&done| !done), "{outcomes:?}");
            refused += usize::from(now == -1);
        }
        assert!(refused > 10, "only {refused} points on {ranks} ranks");
    }
}

/// One dataset in one piece, in place of the file.
fn save_plain(path: &Path, value: i64, comm: &dyn Communicator) -> Result<(), IoError> {
    let how = SaveHdf5::new(path).key("a").mode(WriteMode::Replace);
    how.save(&filled(value, comm)?, comm)?;
    Ok(())
}

/// In chunks that go through filters, in place of the file.
fn save_chunked(path: &Path, value: i64, comm: &dyn Communicator) -> Result<(), IoError> {
    let how = SaveHdf5::new(path).key("a").mode(WriteMode::Replace);
    let how = how.chunk([7, 5]).shuffle(true).deflate(3);
    how.save(&filled(value, comm)?, comm)?;
    Ok(())
}

/// One more dataset in the file, under its number.
fn save_added(path: &Path, value: i64, comm: &dyn Communicator) -> Result<(), IoError> {
    let how = SaveHdf5::new(path).key(format!("n{}", value + 1));
    how.save(&filled(value, comm)?, comm)?;
    Ok(())
}

/// The value of an array of one value.
fn loaded(path: &Path, key: &str) -> Result<i64, IoError> {
    let d = columns(1);
    let whole = load_hdf5::<i64>(path, &d, key, &SingleComm::new())?;
    Ok(the_value(whole.buffer().data()))
}

/// The value of the last dataset, and all before it are there.
fn value_of_added(path: &Path) -> Result<i64, IoError> {
    for number in 0.. {
        match loaded(path, &format!("n{number}")) {
            Ok(value) => assert_eq!(value, number - 1, "in n{number}"),
            Err(IoError::Hdf5 { refusal, .. })
                if number > 0 && matches!(*refusal, Refusal::MissingKey { .. }) =>
            {
                return Ok(number - 2);
            }
            Err(error) => return Err(error),
        }
    }
    unreachable!("a file of endless datasets")
}

fn inode(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

/// How often each kind of save is killed: `DIST_IO_KILLS`, 20 where it is not set.
fn kills() -> u64 {
    let given = std::env::var("DIST_IO_KILLS");
    given.ok().and_then(|n| n.parse().ok()).unwrap_or(20)
}

/// The target of a process that saves; it is set for the child alone.
const PATH: &str = "DIST_IO_TEST_SAVER";

type Save = fn(&Path, i64, &dyn Communicator) -> Result<(), IoError>;

/// Saves by two ranks, one array after another, until nobody holds the other end of the input.
fn save_on(path: &Path, save: Save, first: i64) -> ! {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    for number in first.. {
        ThreadComm::run(2, |comm| save(path, number, comm)).unwrap();
    }
    unreachable!("the numbers have no end")
}

/// Starts the test `name` again as a program that saves, and kills it in the middle of a save.
fn killed(name: &str, save: Save, value: fn(&Path) -> Result<i64, IoError>) {
    if let Some(path) = std::env::var_os(PATH) {
        let path = Path::new(&path);
        save_on(path, save, value(path).unwrap() + 1);
    }
    let folder = temporary();
    let path = folder.path().join("a.h5");
    ThreadComm::run(2, |comm| save(&path, -1, comm)).unwrap();
    let mut between = 0;
    for round in 0..kills() {
        let (before, old) = (inode(&path), value(&path).unwrap());
        let there = files(folder.path());
        let mut words = tempfile::tempfile().unwrap();
        let mut saver = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(PATH, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(words.try_clone().unwrap())
            .spawn()
            .unwrap();
        // it has begun: the file is another one
        let began = Instant::now();
        while inode(&path) == before {
            if let Some(status) = saver.try_wait().unwrap() {
                let mut said = String::new();
                words.rewind().unwrap();
                words.read_to_string(&mut said).unwrap();
                panic!("round {round}: a save failed, {status}: {said}");
            }
            let waited = began.elapsed();
            assert!(
                waited < Duration::from_secs(60),
                "round {round}: nothing was saved"
            );
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(Duration::from_micros(round * 3_701 % 20_000));
        saver.kill().unwrap();
        saver.wait().unwrap();
        // whole, which `value` asserts, and not an older one
        let new = value(&path).unwrap_or_else(|error| {
            let there: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
            panic!("round {round}, after {old}: {error}; {there:?}")
        });
        assert!(new > old, "{new} after {old}");
        between += usize::from(files(folder.path()) > there);
        clean(folder.path());
    }
    println!("{} kills, {between} of them within a save", kills());
    // of a few, all may fall between two saves
    assert!(between > 0 || kills() < 10, "no save was interrupted");
}

/// Removes what a killed save left over, so that the next one is seen.
fn clean(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.as_os_str().as_encoded_bytes();
        if name.ends_with(b".tmp") || name.ends_with(b".lock") {
            std::fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_killed_save_leaves_a_whole_array() {
    let name = "interrupted::a_killed_save_leaves_a_whole_array";
    killed(name, save_plain, |path| loaded(path, "a"));
}

#[test]
fn a_killed_save_of_chunks_leaves_a_whole_array() {
    let name = "interrupted::a_killed_save_of_chunks_leaves_a_whole_array";
    killed(name, save_chunked, |path| loaded(path, "a"));
}

#[test]
fn a_killed_save_into_a_file_leaves_what_was_there() {
    let name = "interrupted::a_killed_save_into_a_file_leaves_what_was_there";
    killed(name, save_added, value_of_added);
}

#[test]
fn a_killed_save_of_parts_leaves_a_whole_array() {
    let name = "interrupted::a_killed_save_of_parts_leaves_a_whole_array";
    killed(name, save, value);
}

/// In parts, and as one file in place of those, by turns.
fn save_by_turns(path: &Path, value: i64, comm: &dyn Communicator) -> Result<(), IoError> {
    if value % 2 == 0 {
        let how = ToFile::new(path).key("/a").deflate(1).checksums(true);
        how.save(&filled(value, comm)?, comm)?;
        return Ok(());
    }
    save_plain(path, value, comm)
}

#[test]
fn a_killed_save_over_parts_leaves_a_whole_array() {
    let name = "interrupted::a_killed_save_over_parts_leaves_a_whole_array";
    killed(name, save_by_turns, value);
}
