//! Datasets that grow: step by step, whoever made them, and killed at any moment.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use dap_protocol::{DistBuffer, HostArray, LocalBuffer};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::{IoError, Refusal, SaveHdf5, Series, Storage, WriteMode, inspect_hdf5, load_hdf5};
use dist_maps::Distribution;

use crate::python::run_h5py;
use crate::support::{Value, every_kind, part_with, temporary};

/// The elements of rows `from..to` of an array of rows of 7 x 10.
fn rows(path: &Path, key: &str, from: u64, to: u64) -> Vec<f64> {
    let all = loop {
        let whole = inspect_hdf5(path, key).and_then(|info| {
            let shape = info.shape;
            assert!(shape[0] >= to && shape[1..] == [7, 10], "{shape:?}");
            let d = Distribution::over(1).shape(shape).build()?;
            load_hdf5::<f64>(path, &d, key, &SingleComm::new())
        });
        match whole {
            Err(error) if is_changed(&error) || is_locked(&error) => {}
            Err(IoError::Shape { .. }) => {} // another row has come
            whole => break whole.unwrap(),
        }
    };
    all.buffer().data()[from as usize * 70..to as usize * 70].to_vec()
}

fn step(number: u64) -> Vec<f64> {
    (0..70)
        .map(|flat| f64::at(flat) + 1000.0 * number as f64)
        .collect()
}

/// One step, as a rank's part.
fn part(d: &Distribution, number: u64, comm: &dyn Communicator) -> DistBuffer<HostArray<f64>> {
    let dim_data = d.dim_data(comm.rank()).unwrap();
    let part = part_with::<f64>(&dim_data, None);
    let shape = part.buffer().shape().to_vec();
    let elements = part.buffer().data().iter();
    let elements: Vec<f64> = elements
        .map(|element| element + 1000.0 * number as f64)
        .collect();
    DistBuffer::new(dim_data, HostArray::new(shape, elements).unwrap()).unwrap()
}

#[test]
fn steps_of_every_kind_come_back() {
    let folder = temporary();
    for ranks in 1..=3 {
        for (name, chunk, filtered) in [
            ("rows", vec![1, 7, 10], false),
            ("pieces", vec![1, 3, 4], false),
            ("several rows", vec![3, 4, 3], false),
            ("coded", vec![1, 7, 10], true),
            ("coded pieces", vec![2, 3, 4], true),
        ] {
            for (kind, d) in every_kind(ranks) {
                let path = folder.path().join(format!("{name} {kind} {ranks}.h5"));
                ThreadComm::run(ranks, |comm| {
                    let mut save = SaveHdf5::new(&path).key("g/a").chunk(chunk.clone());
                    if filtered {
                        save = save.shuffle(true).deflate(1).fletcher32(true);
                    }
                    save.begin_series::<f64>(&[7, 10], comm)?;
                    let mut series = Series::open(&path, comm)?;
                    for number in 0..8 {
                        let rows = series.append("g/a", &part(&d, number, comm), comm)?;
                        assert_eq!((rows, series.rows("g/a")), (number + 1, Some(number + 1)));
                    }
                    Ok::<_, IoError>(())
                })
                .unwrap();
                let all: Vec<f64> = (0..8).flat_map(step).collect();
                assert!(rows(&path, "g/a", 0, 8) == all, "{name}, {kind} on {ranks}");
                assert_eq!(
                    inspect_hdf5(&path, "g/a").unwrap().storage,
                    Storage::Chunked {
                        chunk: chunk.clone()
                    }
                );
            }
        }
    }
}

/// More chunks than a node of the index holds, several datasets of one file, many steps in one call, and a file opened again.
#[test]
fn long_series_of_one_file() {
    let folder = temporary();
    let path = folder.path().join("long.h5");
    ThreadComm::run(2, |comm| {
        let save = |key: &str| SaveHdf5::new(&path).key(key).chunk([1, 2]);
        save("a").begin_series::<i32>(&[9], comm)?;
        save("b").deflate(1).begin_series::<i32>(&[9], comm)?;
        SaveHdf5::new(&path)
            .key("t")
            .begin_series::<f64>(&[], comm)?;
        let d = Distribution::over(2).shape([9]).cyclic(0).build()?;
        let many = Distribution::over(2).shape([5, 9]).block(0).build()?;
        for _ in 0..2 {
            let mut series = Series::open(&path, comm)?;
            for number in 0..150 {
                let mine = part_with::<i32>(&d.dim_data(comm.rank())?, None);
                series.append("a", &mine, comm)?;
                let several = part_with::<i32>(&many.dim_data(comm.rank())?, None);
                series.append("b", &several, comm)?;
                let time = HostArray::new(vec![], vec![f64::from(number)])?;
                let time = DistBuffer::new(dap_protocol::DimData::new(vec![]), time)?;
                series.append("t", &time, comm)?;
            }
        }
        Ok::<_, IoError>(())
    })
    .unwrap();
    let load = |key: &str, shape: &[u64]| {
        let d = Distribution::over(1).shape(shape).build().unwrap();
        load_hdf5::<i32>(&path, &d, key, &SingleComm::new()).unwrap()
    };
    let expected = |rows: u64, all: u64| -> Vec<i32> {
        (0..all).map(|flat| i32::at(flat % (rows * 9))).collect()
    };
    assert!(load("a", &[300, 9]).buffer().data() == expected(1, 2700));
    assert!(load("b", &[1500, 9]).buffer().data() == expected(5, 13500));
    let d = Distribution::over(1).shape([300]).build().unwrap();
    let times = load_hdf5::<f64>(&path, &d, "t", &SingleComm::new()).unwrap();
    assert_eq!(times.buffer().data()[299], 149.0);
    // what the library makes of it: every chunk, and a copy
    let file = hdf5_metno::File::open(&path).unwrap();
    assert_eq!(file.dataset("a").unwrap().num_chunks(), Some(1500));
    let values: Vec<i32> = file.dataset("b").unwrap().read_raw().unwrap();
    assert!(values == expected(5, 13500));
}

#[test]
fn what_cannot_grow_is_refused() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let one = part(&d, 0, &comm);
    let refusal = |error: IoError| match error {
        IoError::Hdf5 { refusal, .. } => *refusal,
        other => panic!("{other}"),
    };
    assert_eq!(
        refusal(Series::open(&path, &comm).unwrap_err()),
        Refusal::NotFound
    );
    std::fs::write(&path, b"text").unwrap();
    assert_eq!(
        refusal(Series::open(&path, &comm).unwrap_err()),
        Refusal::NotHdf5
    );
    let save = SaveHdf5::new(&path).mode(WriteMode::Replace).key("plain");
    save.save(&one, &comm).unwrap();
    let save = SaveHdf5::new(&path)
        .key("short")
        .max_shape([Some(2), Some(7), Some(10)]);
    save.begin_series::<f64>(&[7, 10], &comm).unwrap();
    let grown = SaveHdf5::new(&path)
        .key("grown")
        .max_shape([None, Some(30)]);
    grown.save(&one, &comm).unwrap();
    assert_eq!(inspect_hdf5(&path, "grown").unwrap().dim_data, None);
    for (max, expected) in [
        (
            vec![None],
            "the largest shape has 1 dimensions, the array 2",
        ),
        (
            vec![None, Some(9)],
            "axis 1: 10 elements, the dataset may have 9 at most",
        ),
    ] {
        let refused = SaveHdf5::new(&path)
            .key("no")
            .max_shape(max)
            .save(&one, &comm);
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }
    let mut series = Series::open(&path, &comm).unwrap();
    let text = |error: IoError| error.to_string();
    assert!(text(series.append("plain", &one, &comm).unwrap_err()).contains("not in chunks"));
    assert!(matches!(
        refusal(series.append("none", &one, &comm).unwrap_err()),
        Refusal::MissingKey { .. }
    ));
    assert_eq!(series.append("short", &one, &comm), Ok(1));
    assert_eq!(series.append("short", &one, &comm), Ok(2));
    assert_eq!(
        series.append("short", &one, &comm),
        Err(IoError::MaxExtent {
            axis: 0,
            given: 3,
            allowed: 2
        })
    );
    let other = part_with::<f32>(&d.dim_data(0).unwrap(), None);
    assert!(matches!(
        series.append("short", &other, &comm),
        Err(IoError::ElementType { .. })
    ));
    let long = Distribution::over(1).shape([8, 10]).build().unwrap();
    assert!(matches!(
        series.append("short", &part(&long, 0, &comm), &comm),
        Err(IoError::Shape { .. })
    ));
    // what was said of `grown` still holds; its rows come after those of the save
    let row = Distribution::over(1).shape([10]).build().unwrap();
    assert_eq!(series.append("grown", &part(&row, 0, &comm), &comm), Ok(8));
    assert_eq!(
        refusal(Series::open(&path, &comm).unwrap_err()),
        Refusal::Locked {
            message: "it is open elsewhere".to_owned()
        }
    );
    // another save takes the file away
    SaveHdf5::new(&path).key("new").save(&one, &comm).unwrap();
    let gone = series
        .append("grown", &part(&row, 0, &comm), &comm)
        .unwrap_err();
    assert!(is_changed(&gone), "{gone}");
    let now = Distribution::over(1).shape([8, 10]).build().unwrap();
    let grown = load_hdf5::<f64>(&path, &now, "grown", &comm).unwrap();
    assert_eq!(grown.buffer().data()[70..], step(0)[..10]);
}

/// In the oldest format, and in one whose headers have checksums.
#[test]
fn h5py_and_ranks_append_in_turn() {
    let folder = temporary();
    for made in ["make", "make v108"] {
        let path = folder.path().join(format!("{made}.h5"));
        if run_h5py("h5py_series.py", made, &path).is_none() {
            return;
        }
        let keys = ["raw", "several", "gzip", "big", "nothing"];
        for turn in 0..3_u64 {
            ThreadComm::run(3, |comm| {
                let d = Distribution::over(3).shape([7, 10]).cyclic(1).build()?;
                let mut series = Series::open(&path, comm)?;
                for key in keys {
                    for number in 0..4 {
                        series.append(key, &part(&d, 8 * turn + number, comm), comm)?;
                    }
                }
                Ok::<_, IoError>(())
            })
            .unwrap();
            // checks all of them, and appends four rows of its own
            run_h5py("h5py_series.py", "turn", &path).unwrap();
        }
        for key in keys {
            let all: Vec<f64> = (0..24).flat_map(step).collect();
            assert!(rows(&path, key, 0, 24) == all, "{key}, {made}");
        }
    }
    let path = folder.path().join("latest.h5");
    run_h5py("h5py_series.py", "make latest", &path).unwrap();
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let mut series = Series::open(&path, &comm).unwrap();
    let refused = series.append("raw", &part(&d, 0, &comm), &comm);
    assert!(refused.unwrap_err().to_string().contains("latest"));
}

/// The same dataset by another name: a leading "/", a soft link, a hard one.
#[test]
fn one_dataset_has_many_names() {
    let folder = temporary();
    let path = folder.path().join("names.h5");
    ThreadComm::run(2, |comm| {
        for (key, chunk) in [("a", [1, 7, 10]), ("b", [3, 4, 5])] {
            let save = SaveHdf5::new(&path).key(key).chunk(chunk);
            save.begin_series::<f64>(&[7, 10], comm)?;
        }
        if comm.rank() == 0 {
            let file = hdf5_metno::File::open_rw(&path).unwrap();
            file.link_soft("/a", "soft").unwrap();
            file.link_hard("a", "hard").unwrap();
            file.create_group("g").unwrap();
            file.link_hard("a", "g/a").unwrap();
            file.close().unwrap();
        }
        comm.barrier()?;
        let d = Distribution::over(2).shape([7, 10]).block(1).build()?;
        let mut series = Series::open(&path, comm)?;
        let names = ["a", "/a", "soft", "hard", "g/a", "a", "/g/a", "soft"];
        for (number, name) in (0..).zip(names) {
            let rows = series.append(name, &part(&d, number, comm), comm)?;
            assert_eq!(
                (rows, series.rows("a")),
                (number + 1, Some(number + 1)),
                "{name}"
            );
            assert_eq!(
                series.append("b", &part(&d, number, comm), comm)?,
                number + 1
            );
        }
        assert_eq!((series.rows("/soft"), series.rows("b")), (None, Some(8)));
        Ok::<_, IoError>(())
    })
    .unwrap();
    for key in ["a", "b"] {
        let all: Vec<f64> = (0..8).flat_map(step).collect();
        assert!(rows(&path, key, 0, 8) == all, "{key}");
    }
}

/// A program that appends one step and ends leaves no more behind than one that appends all of them.
#[test]
fn a_series_opened_for_each_step_is_no_longer() {
    let folder = temporary();
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([9]).build().unwrap();
    let mine = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    let lengths = [1, 150].map(|times| {
        let path = folder.path().join(format!("{times}.h5"));
        let save = SaveHdf5::new(&path).key("a").chunk([1, 2]);
        save.begin_series::<i32>(&[9], &comm).unwrap();
        for _ in 0..times {
            let mut series = Series::open(&path, &comm).unwrap();
            for _ in 0..150 / times {
                series.append("a", &mine, &comm).unwrap();
            }
        }
        let d = Distribution::over(1).shape([150, 9]).build().unwrap();
        let all = load_hdf5::<i32>(&path, &d, "a", &comm).unwrap();
        assert!(all.buffer().data() == mine.buffer().data().repeat(150));
        std::fs::metadata(&path).unwrap().len()
    });
    assert_eq!(lengths[0], lengths[1]);
}

const UNLOCKED: &str = "DIST_IO_TEST_UNLOCKED";

/// The library keeps what it has read of a file as long as somebody in the process has it open, and without locks that may be while a
/// series is opened. This test starts itself again as a program without them.
#[test]
fn rows_that_the_library_has_not_seen_are_kept() {
    let folder = temporary();
    let path = folder.path().join("seen.h5");
    let comm = SingleComm::new();
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    if let Some(path) = std::env::var_os(UNLOCKED) {
        let path = Path::new(&path);
        let file = hdf5_metno::File::open(path).unwrap();
        let seen = file.dataset("a").unwrap();
        for number in 0..4 {
            let mut series = Series::open(path, &comm).unwrap();
            let rows = series.append("a", &part(&d, number, &comm), &comm);
            assert_eq!(rows, Ok(number + 1));
        }
        // it still is what the library knows
        assert_eq!(file.dataset("a").unwrap().shape(), [0, 7, 10]);
        drop(seen);
        return;
    }
    let save = SaveHdf5::new(&path).key("a").chunk([2, 7, 10]);
    save.begin_series::<f64>(&[7, 10], &comm).unwrap();
    let done = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "series::rows_that_the_library_has_not_seen_are_kept",
        ])
        .env(UNLOCKED, &path)
        .env("HDF5_USE_FILE_LOCKING", "FALSE")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stdout)
    );
    let all: Vec<f64> = (0..4).flat_map(step).collect();
    assert!(rows(&path, "a", 0, 4) == all);
}

/// A part of an older version, which counts its periodic edges otherwise, is refused at any step.
#[test]
fn older_parts_are_refused_after_the_first_step() {
    let folder = temporary();
    let path = folder.path().join("older.h5");
    let comm = SingleComm::new();
    let periodic = Distribution::over(1)
        .shape([6])
        .block(0)
        .padding(1)
        .periodic(0)
        .build()
        .unwrap();
    SaveHdf5::new(&path)
        .key("a")
        .begin_series::<i32>(&[6], &comm)
        .unwrap();
    let new = part_with::<i32>(&periodic.dim_data(0).unwrap(), None);
    let (_, dim_data, buffer) = new.clone().into_parts();
    let version = dap_protocol::ProtocolVersion::V0_9_0;
    let old = DistBuffer::with_version(version, dim_data, buffer).unwrap();
    let mut series = Series::open(&path, &comm).unwrap();
    assert_eq!(series.append("a", &new, &comm), Ok(1));
    let error = series.append("a", &old, &comm).unwrap_err();
    assert!(error.to_string().contains("version 0.9"), "{error}");
    assert_eq!(series.append("a", &new, &comm), Ok(2));
}

/// Readers find whole rows at their first call, however fast they come: none is told that the file changes all the time.
#[test]
fn readers_beside_fast_appends_are_answered() {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    let folder = temporary();
    let path = folder.path().join("fast.h5");
    let comm = SingleComm::new();
    for (key, chunk) in [("raw", [1, 7, 10]), ("several", [5, 4, 10])] {
        let save = SaveHdf5::new(&path).key(key).chunk(chunk);
        save.begin_series::<f64>(&[7, 10], &comm).unwrap();
    }
    let d = Distribution::over(1).shape([7, 10]).build().unwrap();
    let (done, appended) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        /// When reading is over, by a panic too.
        struct Done<'a>(&'a AtomicBool);
        impl Drop for Done<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let reading = Done(&done);
        scope.spawn(|| {
            let mut series = Series::open(&path, &comm).unwrap();
            for number in 0.. {
                for key in ["raw", "several"] {
                    series.append(key, &part(&d, number, &comm), &comm).unwrap();
                }
                appended.store(number + 1, Ordering::Relaxed);
                if done.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        while appended.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        for turn in 0..150 {
            let key = ["raw", "several"][turn % 2];
            let before = appended.load(Ordering::Relaxed);
            // one process
            let reader = dist_io::Hdf5Reader::open(&path, key).unwrap();
            let shape = reader.info().shape.clone();
            assert!(shape[0] >= before, "{shape:?}, {before} are appended");
            let last = dap_protocol::DimData::new(vec![
                dap_protocol::DimDict::unstructured(
                    shape[0],
                    1,
                    0,
                    vec![0, shape[0] as i64 - 1],
                    false,
                )
                .unwrap(),
                dap_protocol::DimDict::whole(7).unwrap(),
                dap_protocol::DimDict::whole(10).unwrap(),
            ]);
            let ends = reader.read::<f64>(&last).unwrap();
            let expected = [step(0), step(shape[0] - 1)].concat();
            assert!(ends.buffer().data() == expected, "turn {turn}");
            drop(reader);
            // several ranks, which need not find the rows that one of them saw before
            ThreadComm::run(3, |comm| {
                let rows = inspect_hdf5(&path, key)?.shape[0];
                let rows = dist_comm::CommExt::broadcast_value(comm, 0, rows)?;
                let all = Distribution::over(3)
                    .shape([rows, 7, 10])
                    .cyclic(2)
                    .build()?;
                match load_hdf5::<f64>(&path, &all, key, comm) {
                    Err(IoError::Shape { .. }) => Ok(()), // more have come
                    loaded => {
                        let first = loaded?.buffer().data()[0];
                        assert_eq!(first, step(0)[comm.rank()]);
                        Ok::<_, IoError>(())
                    }
                }
            })
            .unwrap();
        }
        drop(reading);
    });
    let all: Vec<f64> = (0..appended.load(Ordering::Relaxed))
        .flat_map(step)
        .collect();
    for key in ["raw", "several"] {
        assert!(rows(&path, key, 0, all.len() as u64 / 70) == all, "{key}");
    }
}

fn is_changed(error: &IoError) -> bool {
    matches!(error, IoError::Hdf5 { refusal, .. } if **refusal == Refusal::Changed)
}

/// A series that is being opened locks the file for a moment, and so does a reader.
fn is_locked(error: &IoError) -> bool {
    matches!(error, IoError::Hdf5 { refusal, .. } if matches!(**refusal, Refusal::Locked { .. }))
}

const PATH: &str = "DIST_IO_TEST_SERIES";
const KEYS: [&str; 3] = ["raw", "several", "coded"];

/// This test starts itself again as a program that appends one step after another, and kills it.
#[test]
fn a_killed_append_leaves_all_earlier_rows() {
    if let Some(path) = std::env::var_os(PATH) {
        let path = Path::new(&path);
        ThreadComm::run(2, |comm| {
            let d = Distribution::over(2)
                .shape([7, 10])
                .block_cyclic(1, 2)
                .build()?;
            // whoever looks at the file has it locked meanwhile
            let mut series = loop {
                match Series::open(path, comm) {
                    Err(error) if is_locked(&error) => {}
                    opened => break opened?,
                }
            };
            for number in inspect_hdf5(path, KEYS[2])?.shape[0].. {
                for key in KEYS {
                    if series.rows(key).is_none_or(|rows| rows <= number)
                        && (series.rows(key).is_some()
                            || inspect_hdf5(path, key)?.shape[0] <= number)
                    {
                        series.append(key, &part(&d, number, comm), comm)?;
                    }
                }
            }
            Ok::<_, IoError>(())
        })
        .unwrap();
    }
    let rounds = std::env::var("DIST_IO_KILLS").map_or(20, |n| n.parse().expect("a number"));
    let folder = temporary();
    let path = folder.path().join("killed.h5");
    let comm = SingleComm::new();
    let save = |key: &str| SaveHdf5::new(&path).key(key);
    save(KEYS[0])
        .chunk([1, 3, 4])
        .begin_series::<f64>(&[7, 10], &comm)
        .unwrap();
    save(KEYS[1])
        .chunk([4, 7, 10])
        .begin_series::<f64>(&[7, 10], &comm)
        .unwrap();
    let coded = save(KEYS[2])
        .chunk([2, 7, 5])
        .shuffle(true)
        .deflate(1)
        .fletcher32(true);
    coded.begin_series::<f64>(&[7, 10], &comm).unwrap();
    // this crate's readers look again when the file changes, and give up when it does all the time
    let count = |key: &str| {
        loop {
            match inspect_hdf5(&path, key) {
                Err(error) if is_changed(&error) || is_locked(&error) => {}
                found => return found.unwrap().shape[0],
            }
        }
    };
    for round in 0..rounds {
        let before = KEYS.map(count);
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "series::a_killed_append_leaves_all_earlier_rows",
                "--nocapture",
            ])
            .env(PATH, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // it has begun: there is another row; and a reader finds whole rows while it goes on
        let began = Instant::now();
        let mut seen = before[0];
        while seen == before[0] && began.elapsed() < Duration::from_secs(60) {
            seen = count(KEYS[0]);
            std::thread::sleep(Duration::from_micros(200));
        }
        assert!(seen > before[0], "nothing was appended in round {round}");
        let last: Vec<f64> = step(seen - 1);
        assert!(
            rows(&path, KEYS[0], seen - 1, seen) == last,
            "round {round}"
        );
        std::thread::sleep(Duration::from_micros(round * 3_701 % 20_000));
        writer.kill().unwrap();
        writer.wait().unwrap();
        for (key, before) in KEYS.into_iter().zip(before) {
            let now = count(key);
            assert!(
                now >= before,
                "{key}: {before} rows became {now} in round {round}"
            );
            let expected: Vec<f64> = (0..now).flat_map(step).collect();
            assert!(
                rows(&path, key, 0, now) == expected,
                "{key} in round {round}"
            );
        }
    }
    run_h5py("h5py_series.py", "check", &path);
}
