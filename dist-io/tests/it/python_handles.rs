//! Handles read slices of what h5py wrote, and h5py reads what was assigned through them.

use std::path::Path;

use dap_protocol::{Element, HostArray};
use dist_comm::{Communicator, ThreadComm};
use dist_io::{IoError, open_dset};
use dist_maps::Slice;
use num_complex::Complex;

use crate::python::run_h5py;
use crate::support::temporary;

/// What the script writes and assigns, given a number of the type.
fn assign<T: Element>(
    path: &Path,
    key: &str,
    before: fn(u64) -> f64,
    number: fn(f64) -> T,
    comm: &dyn Communicator,
) -> Result<(), IoError> {
    let a = open_dset::<T>(path, key, comm)?;
    let part = a.slice(&[Slice::new(Some(10), Some(2), -3).into(), (1..7).into()])?;
    let rows = [10, 7, 4_u64].into_iter();
    let expected: Vec<T> = rows
        .flat_map(|row| (1..7).map(move |column| number(before(9 * row + column))))
        .collect();
    assert_eq!(part.gather()?.data(), expected, "{key}");
    let values = (0..18).map(|n| number(f64::from(n))).collect();
    part.assign_from(&HostArray::new(vec![3, 6], values)?)?;
    let ends = a.take(0, &[11, 0])?.slice(&[(..).into(), (-1).into()])?;
    ends.fill(number(99.0))?;
    assert_eq!(a.at(&[0, 8])?, number(99.0), "{key}");
    assert_eq!(a.at(&[1, 8])?, number(before(17)), "{key}");
    Ok(())
}

#[test]
fn h5py_reads_what_was_assigned() {
    let folder = temporary();
    if run_h5py("h5py_handles.py", "make", folder.path()).is_none() {
        return;
    }
    let path = folder.path().join("theirs.h5");
    ThreadComm::run(3, |comm| {
        let comm: &dyn Communicator = comm;
        let before = |flat: u64| (flat * 7 % 120) as f64;
        for stored in ["contiguous", "raw", "gzip", "lzf", "grows"] {
            let key = |dtype: &str| format!("{stored}/{dtype}");
            assign(&path, &key("<i2"), before, |x| x as i16, comm)?;
            assign(&path, &key(">i4"), before, |x| x as i32, comm)?;
            assign(&path, &key("<f8"), before, |x| x, comm)?;
            assign(&path, &key(">f4"), before, |x| x as f32, comm)?;
            assign(&path, &key(">c16"), before, |x| Complex::new(x, 0.0), comm)?;
        }
        assign(&path, "late", |_| 3.5, |x| x, comm)
    })
    .unwrap();
    let checked = run_h5py("h5py_handles.py", "check", folder.path());
    assert_eq!(checked.as_deref().map(str::trim), Some("26"));
}
