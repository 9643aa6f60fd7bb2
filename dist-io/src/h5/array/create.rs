//! [`create`]: a dataset without elements yet, to be written region by region.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;

use super::{H5Array, open_dset};
use crate::h5::together::{by_rank_0, same};
use crate::h5::{self, SaveHdf5, element, metadata};
use crate::{Direction, FileLayout, IoError, IoPlan};

/// Makes a contiguous dataset of zeros and opens it, in this distribution: [`assign`](H5Array::assign) through its slices fills it region by
/// region. Collective; equal paths, keys, distributions and element types.
///
/// The file may be there, and has other datasets then; the key may not. Groups on the way are made. Nothing is written of the elements: the
/// file system gives zeros for what was never written, and room when it is. The dataset is published as a whole, empty as it is.
///
/// # Errors
/// The same on every rank; the file is then as it was: [`IoError::Hdf5`] with what is wrong with path or key, [`IoError::Ranks`] when the
/// distribution is for another number of ranks, [`IoError::Uncovered`] when it leaves elements out, [`IoError::Overflow`],
/// [`IoError::Differ`], [`IoError::Comm`].
///
/// ```
/// use dap_protocol::HostArray;
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::{IoError, create};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("new.h5");
/// let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let a = create::<f32>(&path, "run/a", &rows, comm)?;
///     a.slice(&[(..).into(), 1.into()])?.fill(1.5)?; // a column
///     assert_eq!(a.load()?.buffer().data(), [0.0, 1.5, 0.0, 0.0, 1.5, 0.0]);
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create<'c, T: Element>(
    path: impl AsRef<Path>,
    key: &str,
    distribution: &Distribution,
    comm: &'c dyn Communicator,
) -> Result<H5Array<'c, T>, IoError> {
    let path = path.as_ref();
    same(
        comm,
        &[
            ("path", path.as_os_str().as_bytes()),
            ("key", key.as_bytes()),
            ("element type", T::TYPE.to_string().as_bytes()),
        ],
    )?;
    let all = comm.all_gather_value(distribution.ranks() as u64)?;
    if let Some(&given) = all.iter().find(|&&given| given != comm.size() as u64) {
        return Err(IoError::Ranks {
            what: "the distribution",
            given: usize::try_from(given).unwrap_or(usize::MAX),
            allowed: comm.size(),
        });
    }
    let parts = metadata::gather(comm, &distribution.dim_data(comm.rank())?)?;
    let whole = metadata::whole(&parts)?;
    // the number of bytes is one that a file can have, and every element has a rank
    let layout = FileLayout::Contiguous;
    let _ = IoPlan::new(&whole, T::TYPE.size(), layout, Direction::Write)?;
    by_rank_0(comm, path, key, || {
        let save = SaveHdf5::new(path).key(key);
        let (pending, file) = save.open()?;
        let names = save.free(&file)?;
        let ty = element::in_file(T::TYPE)?;
        let dataset = h5::create::contiguous(&file, &names, &ty, whole.global_shape())?;
        h5::create::describe(&dataset, &metadata::to_text(&parts)?, &[])?;
        h5::create::close(file, dataset)?;
        Ok(pending.publish()?)
    })?;
    open_dset::<T>(path, key, comm)?.distribute(distribution)
}
