//! Cases of ranks that are processes of their own: under `mpirun`.

use std::fs;

use dist_comm::Communicator;
use dist_io::legate::{from_file, to_file};
use dist_io::{IoError, WriteMode, load_hdf5, open_dset, save_hdf5, verify};

use crate::cases::{Case, part, refused};
use crate::parts::{alone, rows};
use crate::support::{Folder, Outcome, ensure};

/// All of them.
pub const CASES: &[Case] = &[("ranks in different folders are told so", elsewhere)];

/// Every rank but the first works in another folder.
fn elsewhere(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = rows(comm, [8, 6])?;
    let mine = part::<i32>(&d, comm);
    let before = std::env::current_dir()?;
    let (here, there) = (folder.join("here"), folder.join("there"));
    alone(comm, || {
        fs::create_dir(&here)?;
        fs::create_dir(&there)
    })?;
    std::env::set_current_dir(&here)?;
    to_file(&mine, "a.h5", "a", comm)?;
    save_hdf5("b.h5", &mine, "b", WriteMode::Replace, comm)?;
    ensure(from_file::<i32>("a.h5", "a", &d, comm)? == mine, || {
        "here".into()
    })?;
    comm.barrier()?;
    if comm.size() > 1 {
        if comm.rank() > 0 {
            std::env::set_current_dir(&there)?;
            // of the same name
            if comm.rank() == 1 {
                fs::write("b.h5", "another file")?;
            }
        }
        let errors = [
            refused(comm, to_file(&mine, "a.h5", "a", comm))?,
            refused(comm, from_file::<i32>("a.h5", "a", &d, comm))?,
            refused(comm, save_hdf5("b.h5", &mine, "c", WriteMode::Append, comm))?,
            refused(comm, load_hdf5::<i32>("b.h5", &d, "b", comm))?,
            refused(comm, verify("b.h5", "b", comm))?,
            refused(comm, open_dset::<i32>("b.h5", "b", comm).map(drop))?,
        ];
        for (call, error) in errors.into_iter().enumerate() {
            let right = match &error {
                IoError::Differ {
                    what: "path",
                    rank: 1,
                    given,
                    allowed,
                } => given.contains("/there/") && allowed.contains("/here/"),
                _ => false,
            };
            ensure(right, || format!("call {call}: {error:?}"))?;
        }
        let left = fs::read_dir(&there)?.count() + fs::read_dir(&here)?.count();
        ensure(left == 4, || format!("{left} files"))?; // two, the parts of one, and the other one
        comm.barrier()?;
        // an absolute path is the same everywhere
        let path = here.join("a.h5");
        to_file(&mine, &path, "a", comm)?;
        ensure(from_file::<i32>(&path, "a", &d, comm)? == mine, || {
            "absolute".into()
        })?;
    }
    std::env::set_current_dir(before)?;
    comm.barrier()?;
    Ok(())
}
