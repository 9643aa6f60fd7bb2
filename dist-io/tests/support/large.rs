//! A dataset of more than 2 GiB of which the disk has nothing: a sparse file.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dist_comm::Communicator;
use dist_io::{Storage, inspect_hdf5};
use dist_maps::Distribution;
use hdf5_metno::dataset::{AllocTime, FillTime};
use num_complex::Complex;

use crate::support::{Failure, Outcome, ensure};

/// Elements of 16 bytes: 2 GiB and a mebibyte.
pub const ELEMENTS: u64 = (1 << 27) + (1 << 16);

/// Elements that are not zero: at both ends, and at the borders of what numbers of 31 and 30 bits can say.
const MARKED: [u64; 6] = [
    0,
    (1 << 26) - 1,
    1 << 26,
    (1 << 27) - 1,
    1 << 27,
    ELEMENTS - 1,
];

fn mark(at: u64) -> Complex<f64> {
    Complex::new(at as f64 + 1.0, -1.0)
}

/// Makes it, under the key "a". Local.
pub fn make(path: &Path) -> Result<(), Failure> {
    let file = hdf5_metno::File::create(path)?;
    let dataset = file.new_dataset_builder().no_chunk();
    let dataset = dataset
        .alloc_time(Some(AllocTime::Early))
        .fill_time(FillTime::Never);
    let elements = usize::try_from(ELEMENTS)?;
    dataset
        .empty::<Complex<f64>>()
        .shape((elements,))
        .create("a")?;
    file.close()?;
    let Storage::Contiguous {
        offset: Some(start),
    } = inspect_hdf5(path, "a")?.storage
    else {
        return Err("it is not in one piece".into());
    };
    let file = OpenOptions::new().write(true).open(path)?;
    for at in MARKED {
        let mark = mark(at);
        let bytes = [mark.re.to_ne_bytes(), mark.im.to_ne_bytes()].concat();
        file.write_all_at(&bytes, start + at * 16)?;
    }
    Ok(())
}

/// The first rank has all of it.
pub fn on_rank_0(comm: &dyn Communicator) -> Result<Distribution, Failure> {
    let mut bounds = vec![ELEMENTS; comm.size() + 1];
    bounds[0] = 0;
    let one = Distribution::over(comm.size()).shape([ELEMENTS]);
    Ok(one.block_bounds(0, bounds).build()?)
}

/// All of its elements.
pub fn elements() -> Result<Vec<Complex<f64>>, Failure> {
    let mut elements = vec![Complex::new(0.0, 0.0); usize::try_from(ELEMENTS)?];
    for at in MARKED {
        elements[usize::try_from(at)?] = mark(at);
    }
    Ok(elements)
}

/// Checks what was read.
pub fn check(elements: &[Complex<f64>]) -> Outcome {
    for (i, &at) in MARKED.iter().enumerate() {
        let here = usize::try_from(at)?;
        let right = elements[here] == mark(at);
        ensure(right, || format!("element {at}: {}", elements[here]))?;
        // beside it there are zeros, or the next mark
        let next = here + 1;
        if next < elements.len() && MARKED.get(i + 1) != Some(&(at + 1)) {
            let zero = elements[next] == Complex::new(0.0, 0.0);
            ensure(zero, || format!("element {next}: {}", elements[next]))?;
        }
    }
    Ok(())
}
