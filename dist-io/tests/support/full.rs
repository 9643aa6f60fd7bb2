//! A disk that is full for one rank: a process whose files may have 64 MiB. It has to be started so.

use std::os::unix::process::CommandExt;
use std::process::Command;

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::Communicator;
use dist_io::legate::{ToFile, from_file};
use dist_io::{IoError, SaveHdf5, Wanted, WriteMode, load_hdf5};
use dist_maps::Distribution;

use crate::cases::{Case, refused};
use crate::support::{Folder, Outcome, ensure};

pub const CASES: &[Case] = &[
    ("a full disk on one rank is an error on all", full_disk),
    ("a full disk for one part is an error on all", full_part),
];

/// Set for a process that was started again with the limit.
const LIMITED: &str = "DIST_IO_LIMITED";

/// Starts the last of the processes again, with the limit. Where this is not told from outside, nothing is limited.
pub fn limit_the_last() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|n| n.parse::<usize>().ok())
    };
    let (Some(rank), Some(size)) = (
        number("OMPI_COMM_WORLD_RANK"),
        number("OMPI_COMM_WORLD_SIZE"),
    ) else {
        return;
    };
    if rank + 1 != size || std::env::var_os(LIMITED).is_some() {
        return;
    }
    // in blocks of 512 bytes; the signal would end the process where an error can be returned
    let error = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 131072; exec \"$0\" \"$@\""])
        .args(std::env::args_os())
        .env(LIMITED, "1")
        .exec();
    panic!("sh: {error}");
}

fn full_disk(comm: &dyn Communicator) -> Outcome {
    let limited = u8::from(std::env::var_os(LIMITED).is_some());
    let limited = comm.all_gather_v(&[limited])?;
    ensure(
        limited.iter().filter(|flag| flag[..] == [1]).count() == 1,
        || "run it under Open MPI".to_owned(),
    )?;
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let part = |rows: u64| -> Result<_, IoError> {
        let d = Distribution::over(comm.size()).shape([rows, 1 << 10]);
        let d = d.block(0).build()?;
        let shape = d.local_shape(comm.rank());
        let elements = vec![7_u64; shape.iter().product()];
        let mine = HostArray::new(shape, elements)?;
        Ok(DistBuffer::new(d.dim_data(comm.rank())?, mine)?)
    };
    let old = part(4)?;
    SaveHdf5::new(&path).key("a").save(&old, comm)?;
    // 80 MiB, of which the last rank has the end
    let large = part(10 << 10)?;
    let plain = SaveHdf5::new(&path).key("a").mode(WriteMode::Replace);
    let saves = vec![
        ("in one piece", plain.clone()),
        ("in chunks", plain.clone().chunk([1 << 8, 1 << 10])),
        #[cfg(feature = "hdf5-mpio")]
        ("parallel", plain.way(dist_io::Way::Mpio)),
    ];
    for (name, save) in saves {
        let outcome = save.save(&large, comm);
        // parallel HDF5 has other ranks write for the last one, as it likes
        if name == "parallel" {
            let all = comm.all_gather_v(&[u8::from(outcome.is_ok())])?;
            ensure(all.iter().all(|other| *other == all[0]), || {
                format!("{all:?}")
            })?;
            if outcome.is_ok() {
                continue;
            }
        }
        let error = refused(comm, outcome)?;
        let text = error.to_string();
        let of_a_write = text.contains("File too large") || name == "parallel";
        ensure(of_a_write, || format!("{name}: {text}"))?;
        let back = load_hdf5::<u64>(&path, Wanted::AsSaved, "a", comm)?;
        ensure(back == old, || format!("{name}: another array is there"))?;
        if comm.rank() == 0 {
            let files = std::fs::read_dir(folder.path())?.count();
            ensure(files == 1, || format!("{name}: {files} files"))?;
        }
        comm.barrier()?;
    }
    Ok(())
}

/// The same of files in parts, of which that of the last rank is too large.
fn full_part(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let part = |rows: u64| -> Result<_, IoError> {
        let d = Distribution::over(comm.size()).shape([comm.size() as u64 * rows, 1 << 10]);
        let d = d.block(0).build()?;
        let shape = d.local_shape(comm.rank());
        let elements = vec![7_u64; shape.iter().product()];
        let mine = HostArray::new(shape, elements)?;
        Ok(DistBuffer::new(d.dim_data(comm.rank())?, mine)?)
    };
    let (old, large) = (part(4)?, part(9 << 10)?);
    let save = ToFile::new(&path).key("a");
    save.save(&old, comm)?;
    for (name, save) in [
        ("in one piece", save.clone()),
        ("in chunks", save.clone().chunk([1 << 8, 1 << 10])),
        ("with checksums", save.clone().checksums(true)),
    ] {
        let error = refused(comm, save.save(&large, comm))?;
        ensure(
            matches!(error, IoError::Hdf5 { .. } | IoError::Agreed(_)),
            || format!("{name}: {error:?}"),
        )?;
        let back = from_file::<u64>(&path, "a", Wanted::AsSaved, comm)?;
        ensure(back == old, || format!("{name}: another array is there"))?;
        if comm.rank() == 0 {
            let files = std::fs::read_dir(folder.path())?.count();
            ensure(files == 2, || format!("{name}: {files} files"))?;
        }
        comm.barrier()?;
    }
    // what fits is compressed
    save.deflate(1).save(&large, comm)?;
    let back = from_file::<u64>(&path, "a", Wanted::AsSaved, comm)?;
    ensure(back == large, || "compressed: another array".to_owned())?;
    comm.barrier()?;
    Ok(())
}
