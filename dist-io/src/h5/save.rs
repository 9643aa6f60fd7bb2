//! [`save_hdf5`]: a distributed array as one dataset.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{
    DistBuffer, DistributedArray, ElementType, HostBuffer, LocalBuffer, Order, ProtocolVersion,
};
use dist_comm::agree::agree;
use dist_comm::{Communicator, FileMode, SharedFileOps};
use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};
use hdf5_metno::types::{TypeDescriptor, VarLenUnicode};
use serde::{Deserialize, Serialize};

use super::dataset::{kind_at, not_opened};
use super::publish::Pending;
use super::together::{by_rank_0, names, same};
use super::{DIM_DATA_ATTRIBUTE, Refusal, VERSION_ATTRIBUTE, WriteMode, element, metadata};
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, write_elements};

/// Saves a distributed array as one dataset of an HDF5 file. Collective; equal paths, keys and modes.
///
/// Any exporter of the protocol is taken, in any distribution. For other programs the dataset is an ordinary one, contiguous and
/// in this machine's byte order; padding is not in it. Its attributes `dim_data` and `__version__` say how it was distributed,
/// so that [`load_hdf5`](super::load_hdf5) can restore that: a Python list with the tuple of dictionaries of every rank.
///
/// `key` may name groups on the way, `"run/7/heat"`, which are made. A key that exists is an error: nothing is overwritten.
///
/// What is written is a file beside the target. It is synced and renamed when all ranks are done: whoever opens the target, at
/// any time and after any crash, finds the old file or the new one. A killed save leaves a file `.<target>.<random>.tmp`.
/// Where the path is a symbolic link, the file behind it is replaced; its permissions are kept.
///
/// All ranks see one file system. (On network file systems this has not been tried.)
///
/// # Errors
/// The same on every rank; the target is then as it was. [`IoError::Hdf5`] with what is wrong with path or key,
/// [`IoError::Differ`] when ranks give different ones, or elements of different types; [`IoError::Protocol`] or [`IoError::Map`]
/// when the parts are no array; [`IoError::NoHdf5Type`] for bfloat16; [`IoError::Uncovered`] when no rank holds some index;
/// [`IoError::Agreed`] and [`IoError::Comm`] when a rank fails by itself.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::{IoError, WriteMode, inspect_hdf5, save_hdf5};
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("heat.h5");
/// ThreadComm::run(2, |comm| {
///     let dim = DimDict::cyclic(5, 2, comm.rank(), 1)?;
///     let elements = [vec![0.0, 0.2, 0.4], vec![0.1, 0.3]][comm.rank()].clone();
///     let part = DistBuffer::new(DimData::new(vec![dim]), HostArray::new(vec![elements.len()], elements)?)?;
///     save_hdf5(&path, &part, "run/heat", WriteMode::Replace, comm)?; // collective
///     Ok::<_, IoError>(())
/// })?;
/// let info = inspect_hdf5(&path, "run/heat")?;
/// assert_eq!((info.shape, info.dim_data.map(|ranks| ranks.len())), (vec![5], Some(2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_hdf5<'a, A>(
    path: impl AsRef<Path>,
    array: &'a A,
    key: &str,
    mode: WriteMode,
    comm: &(impl Communicator + ?Sized),
) -> Result<IoReport, IoError>
where
    A: DistributedArray,
    A::Buffer<'a>: HostBuffer,
{
    let path = path.as_ref();
    let part = array.distarray();
    let element = part.buffer().element_type();
    same(comm, "path", path.as_os_str().as_bytes())?;
    same(comm, "key", key.as_bytes())?;
    same(comm, "mode", mode.letters().as_bytes())?;
    same(comm, "element type", element.to_string().as_bytes())?;
    let Some(descriptor) = element::descriptor(element) else {
        return Err(IoError::NoHdf5Type { element });
    };
    agree(comm, check_edges(&part))?;
    let parts = metadata::gather(comm, part.dim_data())?;
    let distribution = metadata::whole(&parts)?;
    let plan = IoPlan::new(
        &distribution,
        element.size(),
        FileLayout::Contiguous,
        Direction::Write,
    )?;
    // from here on there are files
    let mut pending = None;
    let begun = by_rank_0(comm, path, key, || {
        let file = Pending::new(path, mode)?;
        let text = metadata::to_text(&parts);
        let shape = distribution.global_shape();
        let offset = create(&file, key, &descriptor, shape, &text)?;
        let begun = Begun {
            path: file.path().as_os_str().as_bytes().to_vec(),
            offset,
        };
        pending = Some(file);
        Ok(begun)
    })?;
    let file = comm.open_shared(
        Path::new(OsStr::from_bytes(&begun.path)),
        FileMode::ReadWrite,
    )?;
    let bytes = agree(comm, bytes_of(part.buffer(), element))?;
    let report = write_elements(comm, &*file, begun.offset, &plan, &bytes)?;
    file.sync()?;
    drop(file);
    by_rank_0(comm, path, "", || match pending.take() {
        Some(file) => file.publish(),
        None => Ok(()),
    })?;
    Ok(report)
}

/// A file with an empty dataset in it, as rank 0 tells the others of it.
#[derive(Serialize, Deserialize)]
struct Begun {
    path: Vec<u8>,
    /// Where the elements begin; 0 where there are none.
    offset: u64,
}

/// Refuses a part that does not own the padding at its periodic edges: the whole has no elements there then.
pub(super) fn check_edges<B: LocalBuffer>(part: &DistBuffer<B>) -> Result<(), IoError> {
    if part.version() == ProtocolVersion::CURRENT {
        return Ok(());
    }
    let owned = part.owned_shape();
    let differs = |(dim, &owned): (&dap_protocol::DimDict, &u64)| dim.owned_len() != owned;
    match part.dim_data().iter().zip(&owned).position(differs) {
        Some(axis) => Err(IoError::PeriodicEdge { axis }),
        None => Ok(()),
    }
}

/// A buffer's bytes in C order, where they are if they lie so.
pub(super) fn bytes_of(
    buffer: &impl HostBuffer,
    element: ElementType,
) -> Result<Cow<'_, [u8]>, IoError> {
    if let Some((bytes, Order::C)) = buffer.contiguous_bytes() {
        return Ok(Cow::Borrowed(bytes));
    }
    let elements = buffer
        .shape()
        .iter()
        .try_fold(1_usize, |n, &extent| n.checked_mul(extent));
    let bytes = elements.and_then(|n| n.checked_mul(element.size()));
    let bytes = bytes.unwrap_or(usize::MAX);
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes)
        .map_err(|_| IoError::Memory { bytes })?;
    buffer.visit_bytes(&mut |piece| copy.extend_from_slice(piece));
    Ok(Cow::Owned(copy))
}

/// Makes the dataset, all of its bytes allocated and none written; where its elements begin.
fn create(
    pending: &Pending,
    key: &str,
    descriptor: &TypeDescriptor,
    shape: &[u64],
    dim_data: &str,
) -> Result<u64, Refusal> {
    let names = names(key)?;
    let path = pending.path();
    let file = if pending.is_copy() {
        hdf5::File::open_rw(path).map_err(|error| not_opened(path, error))?
    } else {
        hdf5::File::create(path).map_err(Refusal::library("create"))?
    };
    check_free(&file, &names)?;
    let make = |error| Refusal::library("make the dataset")(error);
    let builder = file
        .new_dataset_builder()
        .no_chunk()
        .alloc_time(Some(AllocTime::Early))
        .fill_time(FillTime::Never)
        .empty_as(descriptor);
    let builder = if shape.is_empty() {
        builder.shape(())
    } else {
        let extents = shape.iter().map(|&n| usize::try_from(n));
        let extents = extents.collect::<Result<Vec<usize>, _>>();
        builder.shape(extents.map_err(|error| Refusal::Library {
            operation: "make the dataset".to_owned(),
            message: error.to_string(),
        })?)
    };
    let dataset = builder.create(names.join("/").as_str()).map_err(make)?;
    let version = ProtocolVersion::CURRENT.to_string();
    for (name, text) in [
        (VERSION_ATTRIBUTE, version.as_str()),
        (DIM_DATA_ATTRIBUTE, dim_data),
    ] {
        let text: VarLenUnicode = text.parse().map_err(|_| Refusal::DimData {
            message: "a text with a zero byte".to_owned(),
        })?;
        let attribute = dataset
            .new_attr::<VarLenUnicode>()
            .create(name)
            .map_err(make)?;
        attribute.write_scalar(&text).map_err(make)?;
    }
    let offset = dataset.offset();
    drop(dataset);
    file.flush().map_err(make)?;
    file.close().map_err(make)?;
    match offset {
        Some(offset) => Ok(offset),
        None if shape.contains(&0) => Ok(0),
        None => Err(Refusal::Library {
            operation: "make the dataset".to_owned(),
            message: "its elements have no place".to_owned(),
        }),
    }
}

/// Checks that a dataset can be made under this key.
fn check_free(file: &hdf5::File, names: &[&str]) -> Result<(), Refusal> {
    for end in 1..=names.len() {
        let path = names[..end].join("/");
        if !file.link_exists(&path) {
            return Ok(());
        }
        if end == names.len() {
            return Err(Refusal::KeyExists);
        }
        if kind_at(file, &path) != Some(hdf5::LocationType::Group) {
            return Err(Refusal::NotAGroup { at: path });
        }
    }
    Ok(())
}
