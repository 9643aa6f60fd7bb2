//! A dataset read in chunks, each put in its place: `cargo run --features hdf5 --example hdf5_batched_read`.

use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
use dist_comm::SingleComm;
use dist_io::inspect_hdf5;
use dist_io::legate::{from_file_batched, to_file};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("big.h5");
    let expected: Vec<f64> = (0..700).map(f64::from).collect();
    let dims = DimData::new(vec![DimDict::whole(25)?, DimDict::whole(28)?]);
    let whole = DistBuffer::new(dims, HostArray::new(vec![25, 28], expected.clone())?)?;
    to_file(&whole, &path, "data", &SingleComm::new())?;

    // shape and type, without the elements
    let info = inspect_hdf5(&path, "data")?;
    println!("{:?} of {}", info.shape, info.element);

    let mut out = vec![0.0; 25 * 28];
    // 25 rows by 10 are 10, 10, 5; the next chunk is read while this one is copied
    for batch in from_file_batched::<f64>(&path, "data", &[10, 10])?.within(1600)? {
        let (chunk, offsets) = batch?;
        let (shape, elements, _) = chunk.into_parts();
        let (row, column) = (usize::try_from(offsets[0])?, usize::try_from(offsets[1])?);
        for (i, line) in elements.chunks_exact(shape[1]).enumerate() {
            let at = (row + i) * 28 + column;
            out[at..at + line.len()].copy_from_slice(line);
        }
    }
    if out != expected {
        return Err("the chunks do not make the array".into());
    }
    println!("HDF5 BATCHED READ OK");
    Ok(())
}
