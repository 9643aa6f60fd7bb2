//! Files of other programs: PyTables' own, and netCDF-4 files of a Debian package. Ranks read what h5py reads, bit for bit.

use std::path::{Path, PathBuf};
use std::process::Command;

use dap_protocol::{Element, HostBuffer, Order};
use dist_comm::ThreadComm;
use dist_io::load_hdf5;
use dist_maps::Distribution;
use num_complex::Complex;

use crate::python::run_h5py;
use crate::support::{flat_indices, temporary};

/// Loads a dataset on three ranks, dealt one by one along its first axis, and brings it together.
fn loaded<T: Element>(path: &Path, key: &str, shape: &[u64]) -> Vec<u8> {
    let item = size_of::<T>();
    let parts = ThreadComm::run(3, |comm| {
        let d = Distribution::over(3).shape(shape);
        let d = if shape.is_empty() { d } else { d.cyclic(0) };
        let part = load_hdf5::<T>(path, &d.build()?, key, comm)?;
        let flat = flat_indices(part.dim_data());
        let Some((bytes, Order::C)) = part.buffer().contiguous_bytes() else {
            panic!("{key}: not in one piece");
        };
        Ok::<_, dist_io::IoError>((flat, bytes.to_vec()))
    });
    let elements: u64 = shape.iter().product();
    let mut all = vec![0; usize::try_from(elements).unwrap() * item];
    for (flat, bytes) in parts.unwrap_or_else(|error| panic!("{key}: {error}")) {
        // of a scalar every rank has the element
        for (at, element) in flat.into_iter().zip(bytes.chunks_exact(item)) {
            let at = usize::try_from(at).unwrap() * item;
            all[at..at + item].copy_from_slice(element);
        }
    }
    all
}

/// Compares every dataset of numbers of a file with what h5py reads; how many there are.
fn compared(path: &Path) -> Option<usize> {
    let said = run_h5py("others.py", "list", path)?;
    let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
    for line in &lines {
        let words: Vec<&str> = line.split(' ').collect();
        let [key, kind, shape, file] = words[..] else {
            panic!("{line}");
        };
        let shape: Vec<u64> = match shape {
            "-" => Vec::new(),
            shape => shape.split(',').map(|n| n.parse().unwrap()).collect(),
        };
        let load = match kind {
            "bool" => loaded::<bool>,
            "i8" => loaded::<i8>,
            "i16" => loaded::<i16>,
            "i32" => loaded::<i32>,
            "i64" => loaded::<i64>,
            "u8" => loaded::<u8>,
            "u16" => loaded::<u16>,
            "u32" => loaded::<u32>,
            "u64" => loaded::<u64>,
            "f32" => loaded::<f32>,
            "f64" => loaded::<f64>,
            "c64" => loaded::<Complex<f32>>,
            "c128" => loaded::<Complex<f64>>,
            other => panic!("{other}"),
        };
        let expected = std::fs::read(file).unwrap();
        let read = load(path, key, &shape);
        assert!(
            read == expected,
            "{}: {key} {kind} {shape:?}",
            path.display()
        );
    }
    Some(lines.len())
}

/// PyTables 3: plain arrays of every type it has, chunked and growing ones through zlib, shuffle and fletcher32.
#[test]
fn files_of_pytables() {
    let python = std::env::var("DIST_IO_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has = Command::new(&python)
        .args(["-c", "import h5py, tables"])
        .output();
    if !has.is_ok_and(|output| output.status.success()) {
        println!("skipped: PyTables is not in {python} (DIST_IO_PYTHON names another Python)");
        return;
    }
    let folder = temporary();
    run_h5py("others.py", "tables", folder.path());
    let compared = compared(&folder.path().join("tables.h5")).unwrap();
    assert_eq!(compared, 16 + 8);
}

/// Coasts, borders and rivers as GMT has them: the netCDF-4 files of the Debian package gmt-gshhg-low (LGPL), unpacked in the
/// folder that `DIST_IO_NETCDF` names.
#[test]
fn netcdf_4_files() {
    let Some(folder) = std::env::var_os("DIST_IO_NETCDF") else {
        println!("skipped: no netCDF-4 files (DIST_IO_NETCDF; Debian package gmt-gshhg-low)");
        return;
    };
    let scratch = temporary();
    let mut all = 0;
    for name in [
        "binned_GSHHS_c.nc",
        "binned_border_c.nc",
        "binned_river_i.nc",
    ] {
        let from = PathBuf::from(&folder).join(name);
        let path = scratch.path().join(name);
        std::fs::copy(&from, &path).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
        let Some(compared) = compared(&path) else {
            return;
        };
        assert!(compared > 10, "{name}: {compared} datasets");
        all += compared;
    }
    println!("{all} datasets of netCDF-4 files");
}
