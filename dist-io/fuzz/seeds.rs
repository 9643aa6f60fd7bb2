//! Writes the seeds of both targets: small files with a dataset `a`, of every way of storing.

use std::path::Path;

use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
use dist_comm::SingleComm;
use dist_io::{FieldType, IoError, Record, SaveHdf5, Series};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let comm = SingleComm::new();
    let dims = || Ok::<_, IoError>(DimData::new(vec![DimDict::whole(3)?, DimDict::whole(4)?]));
    let numbers = DistBuffer::new(
        dims()?,
        HostArray::new(vec![3, 4], (0..12).map(f64::from).collect())?,
    )?;
    let codes = DistBuffer::new(
        dims()?,
        HostArray::new(vec![3, 4], (0..12).collect::<Vec<i32>>())?,
    )?;
    let flags = DistBuffer::new(
        dims()?,
        HostArray::new(vec![3, 4], (0..12).map(|i| i % 2 == 0).collect())?,
    )?;
    let bytes = DistBuffer::new(dims()?, HostArray::new(vec![3, 4], vec![7_u8; 12])?)?;
    let path = |name: &str| folder.path().join(name);
    let save = |name: &str| SaveHdf5::new(path(name)).key("a");
    save("plain")
        .attribute("units", "K")
        .checksums(true)
        .save(&numbers, &comm)?;
    save("chunks")
        .chunk([2, 3])
        .checksums(true)
        .save(&numbers, &comm)?;
    save("coded")
        .chunk([2, 4])
        .shuffle(true)
        .deflate(6)
        .fletcher32(true)
        .save(&numbers, &comm)?;
    save("names")
        .enumeration([("RED", 0), ("GREEN", 1)])
        .save(&codes, &comm)?;
    save("flags")
        .attribute("list", vec![1.0, 2.0])
        .save(&flags, &comm)?;
    let record = Record::packed([
        ("x", FieldType::of::<u16>()),
        ("t", FieldType::Text { bytes: 2 }),
    ]);
    save("records").record(record).save(&bytes, &comm)?;
    save("series").begin_series::<f64>(&[3, 4], &comm)?;
    Series::open(path("series"), &comm)?.append("a", &numbers, &comm)?;
    for target in ["hdf5_inspect", "hdf5_load"] {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(target);
        std::fs::create_dir_all(&corpus)?;
        for entry in std::fs::read_dir(folder.path())? {
            let entry = entry?;
            std::fs::copy(entry.path(), corpus.join(entry.file_name()))?;
        }
    }
    Ok(())
}
