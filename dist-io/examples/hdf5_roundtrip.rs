//! An 8 x 8 array, a file for each rank and one dataset for all readers: `cargo run --features hdf5 --example hdf5_roundtrip [FILE]`.
//!
//! Four thread ranks save and load it; under MPI the same closure takes an `MpiComm`.

use std::path::{Path, PathBuf};

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{Communicator, ThreadComm};
use dist_io::{Wanted, from_file, to_file};
use dist_maps::Distribution;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let folder = tempfile::tempdir()?;
    let path = std::env::args_os()
        .nth(1)
        .map_or(folder.path().join("out.h5"), PathBuf::from);
    ThreadComm::run(4, |comm| {
        round_trip(&path, comm).map_err(|error| error.to_string())
    })?;
    println!("HDF5 ROUND TRIP OK");
    Ok(())
}

fn round_trip(path: &Path, comm: &dyn Communicator) -> Result<(), Failure> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let rows = Distribution::over(ranks).shape([8, 8]).block(0).build()?;
    let count = rows.local_shape(rank).iter().product::<usize>();
    let first = u16::try_from(rank * count)?; // rows of equal numbers
    let elements: Vec<f32> = (first..).map(f32::from).take(count).collect();
    let mine = HostArray::new(rows.local_shape(rank), elements)?;
    let mine = DistBuffer::new(rows.dim_data(rank)?, mine)?;

    to_file(&mine, path, "/data", comm)?; // published when it returns

    let back = from_file::<f32>(path, "/data", Wanted::AsSaved, comm)?;
    let columns = Distribution::over(ranks).shape([8, 8]).cyclic(1).build()?;
    let turned = from_file::<f32>(path, "/data", &columns, comm)?;
    let expected = (0..8).flat_map(|row| [8 * row + rank, 8 * row + rank + 4]);
    let expected = expected.map(|n| u16::try_from(n).map(f32::from));
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    if back == mine && turned.buffer().data() == expected {
        Ok(())
    } else {
        Err(format!("rank {rank} got {back:?} and {turned:?}").into())
    }
}
