//! The largest and the smallest: bytes of one call, dimensions, and room that there is not.

use std::os::unix::fs::FileExt;
use std::process::Command;

use dap_protocol::{DistBuffer, ElementType, HostArray};
use dist_comm::{SingleComm, ThreadComm};
use dist_io::legate::{from_file, to_file};
use dist_io::{IoError, SaveHdf5, Wanted, WriteMode, inspect_hdf5, load_hdf5, save_hdf5};
use dist_maps::Distribution;
use num_complex::Complex;

use crate::cases::part;
use crate::large;
use crate::support::temporary;

#[test]
fn more_than_2_gib_are_read_in_one_call() {
    let folder = temporary();
    let path = folder.path().join("large.h5");
    large::make(&path).unwrap();
    let comm = SingleComm::new();
    let d = large::on_rank_0(&comm).unwrap();
    let whole = load_hdf5::<Complex<f64>>(&path, &d, "a", &comm).unwrap();
    large::check(whole.buffer().data()).unwrap();
}

#[test]
fn more_than_2_gib_are_written_in_one_call() {
    let folder = temporary();
    let comm = SingleComm::new();
    let d = large::on_rank_0(&comm).unwrap();
    let elements = large::elements().unwrap();
    let array = HostArray::new(vec![elements.len()], elements).unwrap();
    let array = DistBuffer::new(d.dim_data(0).unwrap(), array).unwrap();
    for (name, parts) in [("whole.h5", false), ("parts.h5", true)] {
        let path = folder.path().join(name);
        if parts {
            to_file(&array, &path, "a", &comm).unwrap();
        } else {
            save_hdf5(&path, &array, "a", WriteMode::Replace, &comm).unwrap();
        }
        let whole = load_hdf5::<Complex<f64>>(&path, &d, "a", &comm).unwrap();
        large::check(whole.buffer().data()).unwrap();
        drop(whole);
        // 2 GiB of memory, if that is where files are
        std::fs::remove_file(&path).unwrap();
    }
}

/// As many dimensions as the library has.
#[test]
fn arrays_of_32_dimensions() {
    let folder = temporary();
    let mut shape = vec![1; 32];
    (shape[0], shape[13], shape[31]) = (3, 2, 5);
    let d = Distribution::over(2)
        .shape(shape.clone())
        .block(0)
        .cyclic(31);
    let d = d.grid([vec![2], vec![1; 31]].concat()).build().unwrap();
    let path = |name: &str| folder.path().join(name);
    ThreadComm::run(2, |comm| {
        let mine = part::<i32>(&d, comm);
        let plain = SaveHdf5::new(path("plain.h5"));
        plain.save(&mine, comm)?;
        let chunks = SaveHdf5::new(path("chunks.h5"))
            .chunk(vec![2; 32])
            .deflate(1);
        chunks.save(&mine, comm)?;
        to_file(&mine, path("parts.h5"), "/buffer", comm)?;
        for name in ["plain.h5", "chunks.h5"] {
            let back = load_hdf5::<i32>(path(name), Wanted::AsSaved, "buffer", comm)?;
            assert_eq!(back, mine, "{name}");
        }
        let back = from_file::<i32>(path("parts.h5"), "/buffer", Wanted::AsSaved, comm)?;
        assert_eq!(back, mine, "parts.h5");
        Ok::<_, IoError>(())
    })
    .unwrap();
    assert_eq!(
        inspect_hdf5(path("plain.h5"), "buffer").unwrap().shape,
        shape
    );
    // the library has no more
    let d = Distribution::over(2).shape([1; 33]).build().unwrap();
    let errors = ThreadComm::run(2, |comm| {
        let mine = part::<i32>(&d, comm);
        let plain = SaveHdf5::new(path("more.h5")).save(&mine, comm);
        let parts = to_file(&mine, path("more.h5"), "/a", comm);
        Ok::<_, IoError>([plain.unwrap_err(), parts.unwrap_err()])
    });
    let errors = errors.unwrap();
    assert_eq!(errors[0], errors[1]);
    assert!(!path("more.h5").exists());
}

/// A reader goes on reading what it opened; who opens the file later sees the new one.
#[test]
fn a_reader_holds_the_file_during_saves() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(2)
        .shape([64, 3])
        .cyclic(0)
        .build()
        .unwrap();
    let save = |mode| {
        ThreadComm::run(2, |comm| {
            save_hdf5(&path, &part::<i64>(&d, comm), "a", mode, comm)
        })
        .unwrap();
    };
    save(WriteMode::Replace);
    let expected = part::<i64>(
        &Distribution::over(1).shape([64, 3]).build().unwrap(),
        &SingleComm::new(),
    );
    let expected = expected.buffer().data();
    let reader = hdf5_metno::File::open(&path).unwrap();
    let held = reader.dataset("a").unwrap();
    let start = held.offset().unwrap();
    let plain = std::fs::File::open(&path).unwrap();
    // in its place, and added to a copy of it
    ThreadComm::run(2, |comm| {
        let other = part::<f32>(&d, comm);
        save_hdf5(&path, &other, "b", WriteMode::Append, comm)?;
        save_hdf5(&path, &other, "a", WriteMode::Replace, comm)?;
        to_file(&other, &path, "/a", comm)?;
        Ok::<_, IoError>(())
    })
    .unwrap();
    assert_eq!(held.read_raw::<i64>().unwrap(), expected);
    let mut bytes = [0; 8];
    plain.read_exact_at(&mut bytes, start + 8).unwrap();
    assert_eq!(i64::from_ne_bytes(bytes), expected[1]);
    let now = inspect_hdf5(&path, "a").unwrap();
    assert_eq!(now.element, ElementType::F32);
    let mine = ThreadComm::run(2, |comm| {
        let back = from_file::<f32>(&path, "/a", &d, comm)?;
        Ok::<_, IoError>(back == part(&d, comm))
    });
    assert_eq!(mine.unwrap(), [true, true]);
    assert!(held.read_raw::<i64>().is_ok());
}

/// Set for a process whose files may have 1 MiB.
const LIMITED: &str = "DIST_IO_TEST_LIMITED";

/// One rank's part is larger than its file may be. The test starts itself again with that limit.
#[test]
fn a_full_disk_under_a_part() {
    let d = |rows| {
        let d = Distribution::over(2).shape([rows, 1 << 10]);
        d.block_bounds(0, [0, 0, rows]).build().unwrap()
    };
    if let Some(path) = std::env::var_os(LIMITED) {
        let errors = ThreadComm::run(2, |comm| {
            let outcome = to_file(&part::<i64>(&d(256), comm), &path, "/a", comm);
            Ok::<_, IoError>(outcome.unwrap_err())
        });
        let errors = errors.unwrap();
        assert_eq!(errors[0], errors[1]);
        assert!(
            errors[0].to_string().contains("File too large"),
            "{errors:?}"
        );
        return;
    }
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let old = ThreadComm::run(2, |comm| {
        let old = part::<i64>(&d(2), comm);
        to_file(&old, &path, "/a", comm)?;
        Ok::<_, IoError>(old)
    });
    // in blocks of 512 bytes; the signal would end the process where an error can be returned
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 2048; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "limits::a_full_disk_under_a_part", "--nocapture"])
        .env(LIMITED, &path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stderr).into_owned();
    assert!(limited.status.success(), "{said}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let back = ThreadComm::run(2, |comm| {
        from_file::<i64>(&path, "/a", Wanted::AsSaved, comm)
    });
    assert_eq!(back.unwrap(), old.unwrap());
}
