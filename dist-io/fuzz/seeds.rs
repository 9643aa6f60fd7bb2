//! Writes the seeds of both targets: small files with a dataset `a`, of every way of storing, in the oldest format and the newest.

use std::path::Path;

use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
use dist_comm::SingleComm;
use dist_io::{FieldType, IoError, Record, SaveHdf5, Series};
use hdf5_metno::dataset::AllocTime;
use hdf5_metno::{Extent, File, SimpleExtents};

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
    for name in ["one", "list", "row", "grows", "grows both", "many"] {
        newest(&path(name), name)?;
    }
    parts(&path("virtual"))?;
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

/// A file in the newest format: one chunk, and chunks that are found in each of its ways; many links and attributes.
fn newest(path: &Path, name: &str) -> hdf5_metno::Result<()> {
    let file = File::with_options()
        .with_fapl(|access| access.libver_latest())
        .create(path)?;
    let new = || file.new_dataset::<i32>();
    let extents = |rows| SimpleExtents::from_vec(vec![rows, Extent::new(4, None)]);
    let fixed = |rows| SimpleExtents::from_vec(vec![rows, Extent::fixed(4)]);
    let dataset = match name {
        "one" => new().chunk((3, 4)).deflate(6).shape((3, 4)).create("a")?,
        "list" => new().chunk((1, 2)).shape((3, 4)).create("a")?,
        "row" => {
            let early = new().chunk((2, 2)).alloc_time(Some(AllocTime::Early));
            early.shape((3, 4)).create("a")?
        }
        "grows" => {
            let coded = new().chunk((1, 1)).fletcher32();
            coded.shape(fixed(Extent::resizable(3))).create("a")?
        }
        "grows both" => new()
            .chunk((1, 2))
            .shape(extents(Extent::resizable(3)))
            .create("a")?,
        _ => new().shape((3, 4)).create("a")?,
    };
    dataset
        .as_writer()
        .write_raw(&(0..12).collect::<Vec<i32>>())?;
    if name == "many" {
        for n in 0..12 {
            let attribute = dataset.new_attr::<i16>().create(format!("n{n}").as_str())?;
            attribute.write_scalar(&n)?;
            file.link_soft("/a", &format!("b{n}"))?;
        }
        file.link_external("other.h5", "/a", "outside")?;
    }
    drop(dataset);
    file.close()
}

/// A virtual dataset of two parts, both of them in its file.
fn parts(path: &Path) -> hdf5_metno::Result<()> {
    let file = File::create(path)?;
    let half = file.new_dataset::<i32>().shape((2, 4)).create("half")?;
    half.as_writer().write_raw(&(0..8).collect::<Vec<i32>>())?;
    let whole = file.new_dataset::<i32>().shape((4, 4));
    let whole = whole.virtual_map(".", "half", (2, 4), (0..2, 0..4), (4, 4), (0..2, 0..4));
    let whole = whole.virtual_map(".", "half", (2, 4), (0..2, 0..4), (4, 4), (2..4, 0..4));
    whole.create("a")?;
    drop(half);
    file.close()
}
