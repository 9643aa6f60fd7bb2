//! Repacks files: `repack IN OUT [IN OUT …]`, each a `.npy` or a `.dnpy` file by its name.
//!
//! A `.npy` file becomes a `.dnpy` file of one rank that holds everything; of a `.dnpy` file only
//! the elements remain in a `.npy` file.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use dap_protocol::{DimData, DimDict, DistBuffer, ProtocolVersion};
use dnpy_format::{
    Alignment, AnyPart, load_any, npy, read_localarray_any, save, write_array_header,
};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.is_empty() || args.len() % 2 == 1 {
        return Err("usage: repack IN OUT [IN OUT …]".into());
    }
    for pair in args.chunks_exact(2) {
        repack(Path::new(&pair[0]), Path::new(&pair[1]))
            .map_err(|e| format!("{}: {e}", pair[0]))?;
    }
    Ok(())
}

fn repack(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let is_npy = |path: &Path| path.extension().is_some_and(|ext| ext == "npy");
    let part = if is_npy(from) {
        whole(from)?
    } else {
        load_any(from)?
    };
    if is_npy(to) {
        npy::save(to, part.buffer())?;
    } else {
        let buffer =
            DistBuffer::with_version(part.version(), part.dim_data().clone(), part.buffer())?;
        save(to, &buffer)?;
    }
    Ok(())
}

/// A `.npy` file with the header of a `.dnpy` file put in front is a `.dnpy` file.
fn whole(path: &Path) -> Result<AnyPart, Box<dyn Error>> {
    let mut file = BufReader::new(File::open(path)?);
    let shape = npy::header(path)?.shape().to_vec();
    let dims = shape.iter().map(|&n| DimDict::whole(n as u64));
    let dim_data: DimData = dims.collect::<Result<_, _>>()?;
    let mut head = Vec::new();
    write_array_header(
        &mut head,
        ProtocolVersion::CURRENT,
        &dim_data,
        None,
        Alignment::Sixteen,
    )?;
    Ok(read_localarray_any(&mut (&head[..]).chain(&mut file))?)
}
