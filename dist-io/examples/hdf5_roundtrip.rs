//! An 8 x 8 array, a file for each rank and one dataset for all readers: `cargo run --features hdf5 --example hdf5_roundtrip [FILE]`.
//!
//! Four thread ranks save and load it; under MPI the same closure takes an `MpiComm`.

use std::path::{Path, PathBuf};

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{Communicator, ThreadComm};
use dist_io::Wanted;
use dist_io::legate::{from_file, to_file};
use dist_maps::Distribution;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let path = std::env::args_os()
        .nth(1)
        .map_or(folder.path().join("out.h5"), PathBuf::from);
    run(&path)
}

pub(crate) fn run(path: &Path) -> Result<(), Failure> {
    ThreadComm::run(4, |comm| {
        round_trip(path, comm).map_err(|error| error.to_string())
    })?;
    println!("HDF5 ROUND TRIP OK");
    Ok(())
}

fn round_trip(path: &Path, comm: &dyn Communicator) -> Result<(), Failure> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let rows = Distribution::over(ranks).shape([8, 8]).block(0).build()?;
    let count = rows.local_shape(rank).iter().product::<usize>();
    let first = i64::try_from(rank * count)?; // each element is its place
    let elements: Vec<i64> = (first..).take(count).collect();
    let mine = HostArray::new(rows.local_shape(rank), elements)?;
    let mine = DistBuffer::new(rows.dim_data(rank)?, mine)?;

    to_file(&mine, path, "/data", comm)?; // published when it returns

    let back = from_file::<i64>(path, "/data", Wanted::AsSaved, comm)?;
    let columns = Distribution::over(ranks).shape([8, 8]).cyclic(1).build()?;
    let turned = from_file::<i64>(path, "/data", &columns, comm)?;
    let corner = turned.buffer().data()[0];
    if back == mine && corner == i64::try_from(rank)? {
        Ok(())
    } else {
        Err(format!("rank {rank} got {back:?} and {turned:?}").into())
    }
}
