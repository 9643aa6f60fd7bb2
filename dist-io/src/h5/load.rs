//! [`load_hdf5`]: a dataset as a distributed array.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{DimData, DistBuffer, Element, ElementType, HostArray, copy_bytes_to_elements};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, FileMode, SharedFileOps};
use dist_maps::Distribution;

use super::chunk::{self, Open};
use super::dataset::{Contents, Found, find_contents};
use super::together::{by_rank_0, same};
use super::{ByteOrder, Refusal, metadata};
use crate::part::{Extent, FilePart};
use crate::{Direction, FileLayout, IoError, IoPlan, read_elements};

/// Which part of a dataset every rank gets.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The part that the rank of this number saved. The communicator has as many ranks as the one that saved.
    AsSaved,
    /// The rank's part of a distribution, the same on all ranks.
    Distribution(&'a Distribution),
    /// What this rank's dictionaries describe. Those of all ranks need not be one array: ranks may ask for the same elements,
    /// and leave some out.
    DimData(&'a DimData),
}

impl<'a> From<&'a Distribution> for Wanted<'a> {
    fn from(distribution: &'a Distribution) -> Self {
        Self::Distribution(distribution)
    }
}

impl<'a> From<&'a DimData> for Wanted<'a> {
    fn from(dim_data: &'a DimData) -> Self {
        Self::DimData(dim_data)
    }
}

/// Loads one dataset of an HDF5 file, each rank its part. Collective; equal paths, keys and element types.
///
/// All that a rank's part stores is read, communication padding too, so that no halo exchange is needed after it. Unstructured
/// indices may come in any order; a scalar is read by every rank. Elements of either byte order are read, of exactly the type asked for: nothing is converted.
///
/// The dataset may be anybody's: contiguous, compact, or in chunks. Chunks are read by all ranks, and those that went through the
/// filters shuffle, deflate (`gzip`), fletcher32 and lzf are decoded in threads; those of other filters go through the library,
/// one at a time in each process, if it has the filter. What was never written is the fill value. Virtual and external datasets
/// are refused by name.
///
/// # Errors
/// The same on every rank. [`IoError::Hdf5`] with what is wrong with path, key or a chunk, [`IoError::ElementType`], [`IoError::Shape`],
/// [`IoError::Ranks`] when it was saved by another number of ranks than [`Wanted::AsSaved`] finds, [`IoError::Differ`],
/// [`IoError::Index`], [`IoError::Element`] for a `bool` that is neither 0 nor 1, [`IoError::Agreed`] and [`IoError::Comm`] when a
/// rank fails by itself.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::{Communicator, SingleComm, ThreadComm};
/// use dist_io::{IoError, Wanted, WriteMode, load_hdf5, save_hdf5};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers.h5");
/// let whole = DistBuffer::new(DimData::new(vec![DimDict::whole(6)?]), HostArray::new(vec![6], vec![0_i32, 1, 2, 3, 4, 5])?)?;
/// save_hdf5(&path, &whole, "n", WriteMode::Replace, &SingleComm::new())?;
/// let parts = ThreadComm::run(2, |comm| {
///     let cyclic = Distribution::over(2).shape([6]).cyclic(0).build()?;
///     let part = load_hdf5::<i32>(&path, comm, &cyclic, "n")?;
///     Ok::<_, IoError>(part.buffer().data().to_vec())
/// })?;
/// assert_eq!(parts, [[0, 2, 4], [1, 3, 5]]);
/// assert_eq!(load_hdf5::<i32>(&path, &SingleComm::new(), Wanted::AsSaved, "n")?, whole);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_hdf5<'a, T: Element>(
    path: impl AsRef<Path>,
    comm: &(impl Communicator + ?Sized),
    wanted: impl Into<Wanted<'a>>,
    key: &str,
) -> Result<DistBuffer<HostArray<T>>, IoError> {
    load(path.as_ref(), comm, wanted.into(), key, false)
}

/// As [`load_hdf5`], of an enumeration: its codes, as they are in the file. Integers are read as well. Collective; equal paths,
/// keys and element types.
///
/// # Errors
/// As [`load_hdf5`].
pub fn load_hdf5_codes<'a, T: Element>(
    path: impl AsRef<Path>,
    comm: &(impl Communicator + ?Sized),
    wanted: impl Into<Wanted<'a>>,
    key: &str,
) -> Result<DistBuffer<HostArray<T>>, IoError> {
    load(path.as_ref(), comm, wanted.into(), key, true)
}

fn load<T: Element>(
    path: &Path,
    comm: &(impl Communicator + ?Sized),
    wanted: Wanted<'_>,
    key: &str,
    codes: bool,
) -> Result<DistBuffer<HostArray<T>>, IoError> {
    let kind = match wanted {
        Wanted::AsSaved => "as saved",
        Wanted::Distribution(_) => "a distribution",
        Wanted::DimData(_) => "dim_data",
    };
    same(comm, "path", path.as_os_str().as_bytes())?;
    same(comm, "key", key.as_bytes())?;
    same(comm, "element type", T::TYPE.to_string().as_bytes())?;
    same(comm, "kind of part", kind.as_bytes())?;
    let elements = if codes { "codes" } else { "elements" };
    same(comm, "kind of elements", elements.as_bytes())?;
    // all that is not read is refused here
    let (found, contents) = by_rank_0(comm, path, key, || find_contents(path, key))?;
    let refused = |refusal| IoError::Hdf5 {
        path: path.to_owned(),
        key: key.to_owned(),
        refusal: Box::new(refusal),
    };
    let element = found.element().map_err(refused)?;
    if found.is_enumeration && !codes {
        return Err(refused(Refusal::Enumeration));
    }
    if element != T::TYPE {
        return Err(IoError::ElementType {
            given: element,
            allowed: T::TYPE,
        });
    }
    let (dim_data, distribution) = placed(comm, &found, wanted, &refused)?;
    // a scalar is read by every rank: no dictionary can say that one has none
    let distribution = distribution.filter(|_| dim_data.ndim() > 0);
    let array = agree(comm, zeros::<T>(&dim_data))?;
    let (shape, mut elements) = array;
    let mut checked = match T::bytes_mut(&mut elements) {
        Some(_) => Vec::new(),
        None => vec![0; elements.len()], // `bool`: bytes are looked at before they are elements
    };
    let bytes = T::bytes_mut(&mut elements).unwrap_or(&mut checked);
    let item = element.size();
    match (&contents, &distribution) {
        (Contents::At(start), Some(distribution)) => {
            let file = comm.open_shared(path, FileMode::Read)?;
            let layout = FileLayout::Contiguous;
            let plan = IoPlan::new(distribution, item, layout, Direction::Read)?;
            read_elements(comm, &*file, *start, &plan, bytes)?;
        }
        (Contents::At(start), None) => {
            let file = comm.open_shared(path, FileMode::Read)?;
            let read = |offset, to: &mut [u8]| file.read_at(start + offset, to);
            agree(comm, read_part(read, &dim_data, item, bytes))?;
        }
        (Contents::Here(all), _) => {
            let read = |offset, to: &mut [u8]| copy_from(all, offset, to);
            agree(comm, read_part(read, &dim_data, item, bytes))?;
        }
        (Contents::Nowhere(fill), _) => {
            let items = bytes.chunks_exact_mut(item);
            items.for_each(|item| item.copy_from_slice(fill));
        }
        (Contents::Chunks(chunks), distribution) => {
            let file = comm.open_shared(path, FileMode::Read)?;
            let open = Open {
                path,
                key,
                file: &*file,
            };
            let distribution = distribution.as_ref();
            chunk::load(comm, &open, chunks, distribution, &dim_data, item, bytes)?;
        }
    }
    if found.byte_order != ByteOrder::NATIVE {
        let word = element.word_size();
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    check_values(comm, &checked, element)?;
    if element == ElementType::Bool {
        let copied = copy_bytes_to_elements(&checked, &mut elements);
        agree(comm, copied)?;
    }
    let buffer = HostArray::new(shape, elements).map_err(IoError::from);
    let part = buffer.and_then(|buffer| Ok(DistBuffer::new(dim_data, buffer)?));
    Ok(agree(comm, part)?)
}

/// This rank's part, and the distribution of all where theirs make one. Collective.
pub(super) fn placed(
    comm: &(impl Communicator + ?Sized),
    found: &Found,
    wanted: Wanted<'_>,
    refused: &dyn Fn(Refusal) -> IoError,
) -> Result<(DimData, Option<Distribution>), IoError> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let parts = match wanted {
        Wanted::AsSaved => {
            let parts = found.parts().map_err(refused)?;
            if parts.len() != ranks {
                return Err(IoError::Ranks {
                    what: "the dataset, as it was saved,",
                    given: parts.len(),
                    allowed: ranks,
                });
            }
            let distribution = metadata::whole(&parts)?;
            return Ok((parts[rank].clone(), Some(distribution)));
        }
        Wanted::Distribution(distribution) => {
            let all = comm.all_gather_value(distribution.ranks() as u64)?;
            if let Some(&given) = all.iter().find(|&&given| given != ranks as u64) {
                return Err(IoError::Ranks {
                    what: "the distribution",
                    given: usize::try_from(given).unwrap_or(usize::MAX),
                    allowed: ranks,
                });
            }
            metadata::gather(comm, &distribution.dim_data(rank)?)?
        }
        Wanted::DimData(dim_data) => metadata::gather(comm, dim_data)?,
    };
    for part in &parts {
        if part.global_shape() != found.shape {
            return Err(IoError::Shape {
                given: found.shape.clone(),
                allowed: part.global_shape(),
            });
        }
    }
    let distribution = match (wanted, metadata::whole(&parts)) {
        (_, Ok(distribution)) => Some(distribution),
        (Wanted::Distribution(_), Err(error)) => return Err(error),
        (_, Err(_)) => None,
    };
    Ok((parts[rank].clone(), distribution))
}

/// Zeros for a part, in C order.
pub(super) fn zeros<T: Element>(dim_data: &DimData) -> Result<(Vec<usize>, Vec<T>), IoError> {
    let too_large = IoError::Overflow {
        what: "number of elements of a part",
    };
    let shape: Result<Vec<usize>, _> = dim_data
        .local_shape()
        .into_iter()
        .map(usize::try_from)
        .collect();
    let shape = shape.map_err(|_| too_large.clone())?;
    let elements = if shape.contains(&0) {
        0
    } else {
        let product = shape
            .iter()
            .try_fold(1_usize, |n, &extent| n.checked_mul(extent));
        product.ok_or(too_large)?
    };
    let mut room = Vec::new();
    room.try_reserve_exact(elements)
        .map_err(|_| IoError::Memory {
            bytes: elements.saturating_mul(size_of::<T>()),
        })?;
    room.resize(elements, T::default());
    Ok((shape, room))
}

/// Reads a part by itself, run by run: so many bytes from an offset of the array on. Local.
pub(super) fn read_part<E>(
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    dim_data: &DimData,
    item: usize,
    bytes: &mut [u8],
) -> Result<(), IoError>
where
    IoError: From<E>,
{
    let part = FilePart::new(dim_data, item, Extent::Stored)?;
    for run in part.runs() {
        let target = &mut bytes[run.local * item..(run.local + run.len) * item];
        read(run.offset, target)?;
    }
    Ok(())
}

/// Copies from all elements of an array.
pub(super) fn copy_from(all: &[u8], offset: u64, to: &mut [u8]) -> Result<(), IoError> {
    let short = || IoError::BufferLength {
        given: all.len(),
        allowed: usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .saturating_add(to.len()),
    };
    let from = usize::try_from(offset)
        .ok()
        .and_then(|start| all.get(start..));
    let from = from
        .and_then(|from| from.get(..to.len()))
        .ok_or_else(short)?;
    to.copy_from_slice(from);
    Ok(())
}

/// Checks that bytes are values of `bool`. Collective.
pub(super) fn check_values(
    comm: &(impl Communicator + ?Sized),
    bytes: &[u8],
    element: ElementType,
) -> Result<(), IoError> {
    if element != ElementType::Bool {
        return Ok(());
    }
    let wrong = bytes.iter().position(|&byte| byte > 1);
    let all = comm.all_gather_value(wrong.map_or(u64::MAX, |position| position as u64))?;
    match all.iter().position(|&position| position != u64::MAX) {
        None => Ok(()),
        Some(rank) => Err(IoError::Element {
            rank,
            position: all[rank],
            element,
        }),
    }
}
