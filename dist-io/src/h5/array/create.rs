//! [`create`]: a dataset without elements yet, to be written region by region.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{Element, ProtocolVersion};
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;
use hdf5_metno::dataset::{AllocTime, FillTime};

use super::{H5Array, open_dset};
use crate::h5::attribute::{AttributeValue, attach};
use crate::h5::publish::Pending;
use crate::h5::save::{check_free, close};
use crate::h5::together::{by_rank_0, names, same};
use crate::h5::{
    DIM_DATA_ATTRIBUTE, Refusal, VERSION_ATTRIBUTE, WriteMode, element, metadata, open,
};
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
    same(comm, "path", path.as_os_str().as_bytes())?;
    same(comm, "key", key.as_bytes())?;
    same(comm, "element type", T::TYPE.to_string().as_bytes())?;
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
        let pending = Pending::new(path, WriteMode::Append)?;
        let file = if pending.is_copy() {
            open::private(pending.path())?
        } else {
            open::new_private(pending.path())?
        };
        let names = names(key)?;
        check_free(&file, &names)?;
        let make = |error| Refusal::library("make the dataset")(error);
        let builder = file.new_dataset_builder().no_chunk();
        let builder = builder
            .alloc_time(Some(AllocTime::Early))
            .fill_time(FillTime::Never)
            .empty_as(element::in_file(T::TYPE)?);
        let shape = whole.global_shape();
        let builder = if shape.is_empty() {
            builder.shape(())
        } else {
            let extents = shape.iter().map(|&n| usize::try_from(n));
            let extents = extents.collect::<Result<Vec<usize>, _>>();
            builder.shape(extents.map_err(|_| Refusal::Memory { bytes: u64::MAX })?)
        };
        let dataset = builder.create(names.join("/").as_str()).map_err(make)?;
        let text = |text: &str| AttributeValue::Text(text.to_owned());
        let version = ProtocolVersion::CURRENT.to_string();
        attach(&dataset, VERSION_ATTRIBUTE, &text(&version))?;
        attach(
            &dataset,
            DIM_DATA_ATTRIBUTE,
            &text(&metadata::to_text(&parts)),
        )?;
        close(file, dataset)?;
        pending.publish()
    })?;
    open_dset::<T>(path, key, comm)?.distribute(distribution)
}
