//! A dataset that is never in memory as a whole: sliced, computed with, and saved piece by piece, by four ranks:
//! `cargo run --features hdf5 --example hdf5_lazy`.

use dist_comm::ThreadComm;
use dist_io::{IoError, create, open_dset};
use dist_maps::{Distribution, Slice};

/// Bytes that a rank may hold of what it works on.
const BUDGET: u64 = 16 << 10;

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("heat.h5");
    let rows = Distribution::over(4).shape([240, 60]).block(0).build()?;
    let found = ThreadComm::run(4, |comm| {
        // made empty, then written region by region
        let kelvin = create::<f64>(&path, "kelvin", &rows, comm)?;
        for (first, value) in [(0, 280.0), (80, 300.0), (160, 320.0)] {
            kelvin.slice(&[(first..first + 80).into()])?.fill(value)?;
        }
        // no element is read before it is asked for
        let kelvin = open_dset::<f64>(&path, "kelvin", comm)?;
        let every_tenth = kelvin.slice(&[Slice::new(None, None, -10).into(), 0.into()])?;
        let firsts = every_tenth.gather()?;
        // arithmetic, within the budget
        let celsius = &kelvin - 273.15;
        let warm = celsius.gt(30.0).count(BUDGET)?;
        let mean = celsius.sum(BUDGET)? / 14400.0;
        let saved = celsius.save(&path, "celsius", BUDGET)?;
        let largest = saved.map_reduce(
            BUDGET,
            |part| part.data().iter().copied().fold(f64::MIN, f64::max),
            f64::max,
        )?;
        Ok::<_, IoError>((firsts.data().to_vec(), warm, mean, largest))
    })?;
    for (firsts, warm, mean, largest) in found {
        let right = firsts.len() == 24 && (firsts[0], firsts[23]) == (320.0, 280.0);
        let right = right && warm == 4800 && (mean - 26.85).abs() < 1e-9;
        if !right || largest != Some(320.0 - 273.15) {
            return Err(
                format!("{firsts:?}, {warm} warm, {mean} on average, {largest:?} at most").into(),
            );
        }
    }
    println!("HDF5 LAZY OK");
    Ok(())
}
