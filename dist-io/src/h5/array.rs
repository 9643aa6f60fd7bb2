//! [`H5Array`]: a dataset as a lazy distributed array.

mod any;
mod computed;
mod create;
mod expr;
mod fragment;
mod handle;
mod job;
mod number;
mod operators;
mod pieces;
mod read;
mod repeat;
mod span;
mod write;
mod written;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use dap_protocol::{
    DistBuffer, DistributedArray, Element, ElementType, HostArray, HostBuffer,
    copy_bytes_to_elements,
};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::{Distribution, Index};

use self::written::State;
use super::{AttributeValue, Limits};
use crate::execute::room;
use crate::{FileLayout, IoError, IoReport};

pub(super) use any::each_piece;
pub use any::{H5Any, HostBytes};
pub use create::create;
pub use expr::Expr;
pub use fragment::Fragments;
pub(super) use handle::{Handle, Looked, look};
pub use number::{Bits, Divisible, Number, Root, Shift};
pub use operators::Operand;

/// A dataset of an HDF5 file as a distributed array that is not read yet: pyDive's `h5_ndarray`.
///
/// A handle is a description: file, dataset, what is seen of it, and how that is distributed over the ranks. It holds no open file,
/// can be cloned and sent to other threads, and is cheap to slice and to redistribute: only [`load`](Self::load),
/// [`gather`](Self::gather), [`at`](Self::at) and assignments touch the file. Slices are composed before anything is read, so what
/// is loaded is what was asked for last.
///
/// All ranks make the same calls on the same handles. What only describes is local and never waits for another rank; what touches
/// the file is collective and checks that the handles are the same.
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::{IoError, SaveHdf5, open_dset};
/// use dist_maps::{Distribution, Slice};
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("heat.h5");
/// let rows = Distribution::over(2).shape([8, 3]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let first = 12 * comm.rank() as i64; // rows 0 to 3, and 4 to 7
///     let part = HostArray::new(vec![4, 3], (first..first + 12).collect::<Vec<i64>>())?;
///     SaveHdf5::new(&path).key("t").attribute("units", "K").save(&DistBuffer::new(rows.dim_data(comm.rank())?, part)?, comm)?;
///
///     let heat = open_dset::<i64>(&path, "t", comm)?;
///     assert_eq!((heat.shape(), heat.unit()), (&[8, 3][..], Some("K")));
///     let every_other = Slice::new(None, None, -2).into(); // rows 7, 5, 3, 1
///     let middle = heat.slice(&[every_other, 1.into()])?.distaxes([0])?; // of those the column 1: nothing is read
///     let part = middle.load()?;
///     assert_eq!(part.buffer().data(), [[22, 16], [10, 4]][comm.rank()]);
///     assert_eq!(middle.gather()?.data(), [22, 16, 10, 4]);
///     assert_eq!(heat.at(&[-1, 0])?, 21);
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct H5Array<'c, T> {
    handle: Handle<'c>,
    copy: Copy<T>,
}

/// What was gathered, and the file as it was then.
type Copy<T> = Arc<Mutex<Option<(State, Arc<HostArray<T>>)>>>;

impl<T> Clone for H5Array<'_, T> {
    fn clone(&self) -> Self {
        Self {
            handle: self.handle.clone(),
            copy: self.copy.clone(),
        }
    }
}

impl<T> fmt::Debug for H5Array<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("H5Array")
            .field("path", &self.handle.dataset.path)
            .field("key", &self.handle.dataset.key)
            .field("shape", &self.handle.shape())
            .finish_non_exhaustive()
    }
}

/// Opens one dataset of an HDF5 file as a lazy array: its shape and type are looked up, nothing is read. Collective; equal paths,
/// keys and element types.
///
/// Every dimension is distributed in blocks, as pyDive does where nothing else is said: [`H5Array::distaxes`] and the others
/// change that for nothing. Contiguous, chunked, compact and virtual datasets are read, and those that were never written.
///
/// # Errors
/// The same on every rank: [`IoError::Hdf5`] with what is wrong with the file or the key, [`IoError::ElementType`],
/// [`IoError::Differ`], [`IoError::Comm`].
pub fn open_dset<'c, T: Element>(
    path: impl AsRef<Path>,
    key: &str,
    comm: &'c dyn Communicator,
) -> Result<H5Array<'c, T>, IoError> {
    open_within(path.as_ref(), key, None, comm)
}

/// As [`open_dset`], without the library where there are limits.
pub(super) fn open_within<'c, T: Element>(
    path: &Path,
    key: &str,
    limits: Option<Limits>,
    comm: &'c dyn Communicator,
) -> Result<H5Array<'c, T>, IoError> {
    super::together::same(comm, &[("element type", T::TYPE.to_string().as_bytes())])?;
    H5Array::of(Handle::open(path, key, limits, comm)?)
}

impl<'c, T: Element> H5Array<'c, T> {
    /// A handle, if its elements are of this type.
    pub(super) fn of(handle: Handle<'c>) -> Result<Self, IoError> {
        if handle.dataset.element != T::TYPE {
            return Err(IoError::ElementType {
                given: handle.dataset.element,
                allowed: T::TYPE,
            });
        }
        Ok(Self::new(handle))
    }

    fn new(handle: Handle<'c>) -> Self {
        Self {
            handle,
            copy: Copy::default(),
        }
    }

    /// Extents, in elements.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        self.handle.shape()
    }

    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.shape().len()
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> ElementType {
        T::TYPE
    }

    /// Bytes of all elements of all ranks.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.handle.nbytes()
    }

    /// The file, as it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.handle.dataset.path
    }

    /// The key of the dataset.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.handle.dataset.key
    }

    /// The attributes of the dataset that are single texts or numbers, by name, as they were when it was opened.
    #[must_use]
    pub fn attributes(&self) -> &BTreeMap<String, AttributeValue> {
        &self.handle.dataset.attributes
    }

    /// The text of the attribute `units`, or of `unit`.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        self.handle.unit()
    }

    /// How the elements are stored.
    #[must_use]
    pub fn layout(&self) -> FileLayout {
        self.handle.layout()
    }

    /// How what is seen of the dataset is distributed over the ranks.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.handle.distribution
    }

    /// The communicator that the handle was opened with.
    #[must_use]
    pub fn comm(&self) -> &'c dyn Communicator {
        self.handle.comm
    }

    /// A slice by `NumPy`'s rules: integers drop their dimension, negative positions count from the end, steps may have any sign,
    /// an ellipsis stands for what is not named. Local; nothing is read.
    ///
    /// Elements stay on the rank that had them, as in [`Distribution::slice`].
    ///
    /// # Errors
    /// [`IoError::Map`] when there are more items than dimensions, an integer is out of range, or a step is 0.
    pub fn slice(&self, items: &[Index]) -> Result<Self, IoError> {
        Ok(Self::new(self.handle.slice(items)?))
    }

    /// These indices of a dimension, in this order; they may repeat, and negative ones count from the end. Local; nothing is
    /// read.
    ///
    /// The dimension is distributed anew over its ranks, in blocks unless it was dealt. What is read later is read in the order of the
    /// file, each index once.
    ///
    /// # Errors
    /// [`IoError::Map`] when there is no such dimension, or an index is out of range.
    pub fn take(&self, axis: i64, indices: &[i64]) -> Result<Self, IoError> {
        let axis = handle::axis_of(axis, self.ndim())?;
        Ok(Self::new(self.handle.take(axis, indices)?))
    }

    /// The indices of a dimension whose flag is set: `NumPy`'s `compress`. Local; nothing is read.
    ///
    /// # Errors
    /// [`IoError::Map`] when there is no such dimension, or it has not as many indices as there are flags.
    pub fn compress(&self, axis: i64, flags: &[bool]) -> Result<Self, IoError> {
        let axis = handle::axis_of(axis, self.ndim())?;
        Ok(Self::new(self.handle.compress(axis, flags)?))
    }

    /// In blocks along these dimensions alone, negative ones from the last; none means all on one rank. Local; nothing is read.
    ///
    /// # Errors
    /// [`IoError::Map`] when there is no such dimension, or one is named twice.
    pub fn distaxes(&self, axes: impl AsRef<[i64]>) -> Result<Self, IoError> {
        Ok(Self::new(self.handle.distaxes(axes.as_ref())?))
    }

    /// In blocks along these dimensions alone, negative ones from the last, that begin at these offsets, the first of which is 0: as many
    /// blocks along each as there are offsets. The ranks are taken in order, the last dimension first. Local; nothing is read.
    ///
    /// # Errors
    /// [`IoError::Map`] when there is no such dimension, one is named twice, offsets do not ascend from 0 to its extent, or the blocks are
    /// more than there are ranks.
    ///
    /// ```
    /// # use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    /// # use dist_comm::{Communicator, SingleComm, ThreadComm};
    /// # use dist_io::{IoError, WriteMode, open_dset, save_hdf5};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// # let dims = DimData::new(vec![DimDict::whole(3)?, DimDict::whole(4)?]);
    /// # let all = DistBuffer::new(dims, HostArray::new(vec![3, 4], (0..12).collect::<Vec<i64>>())?)?;
    /// # save_hdf5(&path, &all, "n", WriteMode::Replace, &SingleComm::new())?;
    /// ThreadComm::run(4, |comm| {
    ///     let n = open_dset::<i64>(&path, "n", comm)?; // 3 rows of 4
    ///     let blocks = n.target_offsets([(0, [0, 1]), (1, [0, 3])])?.target_ranks([3, 2, 1, 0])?;
    ///     let part = blocks.load()?; // rank 3 has the first of row 0, rank 0 the last of rows 1 and 2
    ///     let expected: [&[i64]; 4] = [&[7, 11], &[4, 5, 6, 8, 9, 10], &[3], &[0, 1, 2]];
    ///     assert_eq!(part.buffer().data(), expected[comm.rank()]);
    ///     Ok::<_, IoError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn target_offsets<O: AsRef<[u64]>>(
        &self,
        offsets: impl IntoIterator<Item = (i64, O)>,
    ) -> Result<Self, IoError> {
        let offsets: Vec<_> = offsets.into_iter().collect();
        let offsets = offsets.iter().map(|(axis, all)| (*axis, all.as_ref()));
        let offsets: Vec<_> = offsets.collect();
        Ok(Self::new(self.handle.target_offsets(&offsets)?))
    }

    /// With these ranks for the blocks, in C order of their grid: as many as there are blocks, none twice. Local; nothing is read.
    ///
    /// # Errors
    /// [`IoError::Map`] when they are not as many, or name a rank twice or one that there is not.
    pub fn target_ranks(&self, ranks: impl AsRef<[usize]>) -> Result<Self, IoError> {
        Ok(Self::new(self.handle.target_ranks(ranks.as_ref())?))
    }

    /// Distributed as another handle, of any element type. Local; nothing is read or moved.
    ///
    /// # Errors
    /// As [`distribute`](Self::distribute).
    pub fn dist_like<U: Element>(&self, other: &H5Array<'_, U>) -> Result<Self, IoError> {
        self.distribute(other.distribution())
    }

    /// In this distribution. Local; nothing is read or moved.
    ///
    /// # Errors
    /// [`IoError::Shape`] when it is one of an array of another shape, [`IoError::Ranks`] when it is for another number of ranks.
    pub fn distribute(&self, distribution: &Distribution) -> Result<Self, IoError> {
        Ok(Self::new(self.handle.distribute(distribution)?))
    }

    /// Distributed as the dataset was saved. Local; nothing is read.
    ///
    /// # Errors
    /// [`IoError::Hdf5`] when the dataset does not say how it was distributed, [`IoError::Ranks`] when over another number of ranks;
    /// [`IoError::Shape`] for a handle that sees a part of it.
    pub fn as_saved(&self) -> Result<Self, IoError> {
        Ok(Self::new(self.handle.as_saved()?))
    }

    /// Loads the part of every rank, communication padding included. Collective; equal handles.
    ///
    /// What lies near each other in the file is read at once, indices that are not wanted too; parts that interleave in the file are read as
    /// slabs and exchanged in memory; a chunk that ranks share is decoded by one of them. A scalar is loaded by every rank.
    ///
    /// # Errors
    /// The same on every rank: [`IoError::Hdf5`] with what is wrong with the file or a chunk, [`IoError::Shape`] and
    /// [`IoError::ElementType`] when the dataset is no longer what was opened, [`IoError::Differ`] when ranks have different handles,
    /// [`IoError::Index`], [`IoError::Element`] for a `bool` that is neither 0 nor 1; [`IoError::Agreed`] and [`IoError::Comm`] when a rank
    /// fails by itself.
    pub fn load(&self) -> Result<DistBuffer<HostArray<T>>, IoError> {
        Ok(self.load_with_report()?.0)
    }

    /// As [`load`](Self::load), with what reading took. Of chunks only what is exchanged is counted. Collective; equal handles.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_with_report(&self) -> Result<(DistBuffer<HostArray<T>>, IoReport), IoError> {
        read::load(&self.handle, &self.handle.distribution)
    }

    /// Writes the parts of all ranks to the file, in place: any exporter, in any distribution of what this handle sees. Collective;
    /// equal handles.
    ///
    /// An array of another shape is repeated by `NumPy`'s rule: dimensions are counted from the last, and one of a single element, or one that is
    /// not there, stands for any extent. What is assigned is in memory before anything is written, so it may come from this dataset, in
    /// whatever order.
    ///
    /// Only the elements that the handle sees change. The parts go through memory to slabs that are contiguous in the file and share no
    /// chunk, each rank writes its own, and chunks that are not written whole keep their other elements. The file is locked meanwhile, and
    /// synced at the end. An interrupted assignment leaves old and new elements side by side: a save that has to be whole or not at all is
    /// [`SaveHdf5`](crate::SaveHdf5)'s. Where ranks hold the same element, that of the lowest place is written.
    ///
    /// Contiguous datasets are written to, and those of at most 4096 chunks whose filters are shuffle, deflate, fletcher32 and lzf (which
    /// is left out of new chunks).
    ///
    /// # Errors
    /// The same on every rank: those of [`load`](Self::load); [`IoError::Shape`] when the parts are an array of a shape that does not fit,
    /// [`IoError::ElementType`], [`IoError::Uncovered`] when no rank holds some index, [`IoError::Map`] when the handle sees an element
    /// twice; of [`IoError::Hdf5`] also [`HandleRefusal::Overwrite`](crate::HandleRefusal::Overwrite) with what is not written to, and
    /// [`Refusal::Locked`](crate::Refusal::Locked).
    ///
    /// ```
    /// use dap_protocol::HostArray;
    /// use dist_comm::ThreadComm;
    /// use dist_io::{IoError, open_dset};
    /// # use dap_protocol::{DimData, DimDict, DistBuffer};
    /// # use dist_comm::SingleComm;
    /// # use dist_io::{WriteMode, save_hdf5};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// # let zeros = DistBuffer::new(DimData::new(vec![DimDict::whole(6)?]), HostArray::new(vec![6], vec![0_i32; 6])?)?;
    /// # save_hdf5(&path, &zeros, "n", WriteMode::Replace, &SingleComm::new())?;
    /// ThreadComm::run(2, |comm| {
    ///     let n = open_dset::<i32>(&path, "n", comm)?; // 0 0 0 0 0 0
    ///     n.slice(&[(1..4).into()])?.fill(7)?;
    ///     let ends = n.take(0, &[5, 0])?;
    ///     ends.assign_from(&HostArray::new(vec![2], vec![8, 9])?)?;
    ///     assert_eq!(n.gather()?.data(), [9, 7, 7, 7, 0, 8]);
    ///     n.assign(&n.slice(&[dist_maps::Slice::new(None, None, -1).into()])?.load()?)?; // backwards
    ///     assert_eq!(n.gather()?.data(), [8, 0, 7, 7, 7, 9]);
    ///     Ok::<_, IoError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn assign<'a, A>(&self, array: &'a A) -> Result<IoReport, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let part = array.distarray();
        write::assign(&self.handle, &write::check(&self.handle, &part)?)
    }

    /// As [`assign`](Self::assign), of an array that rank 0 has whole; the other ranks give one of the same shape. Collective; equal
    /// handles.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn assign_from(&self, array: &HostArray<T>) -> Result<IoReport, IoError> {
        write::assign_from(&self.handle, array)
    }

    /// As [`assign`](Self::assign), of one value for all elements. Collective; equal handles and values.
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    pub fn fill(&self, value: T) -> Result<IoReport, IoError> {
        write::fill(&self.handle, value)
    }

    /// One element, on every rank; negative positions count from the end. Collective; equal handles and positions.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`IoError::Map`] when the positions are not as many as there are dimensions, or one is out of range.
    pub fn at(&self, index: &[i64]) -> Result<T, IoError> {
        let text = format!("{index:?}");
        super::together::same(self.handle.comm, &[("position", text.as_bytes())])?;
        if index.len() != self.ndim() {
            return Err(dist_maps::MapError::Count {
                what: "indices",
                given: index.len(),
                expected: self.ndim(),
            }
            .into());
        }
        let items: Vec<Index> = index.iter().map(|&at| at.into()).collect();
        let window = self.handle.window.slice(&items)?;
        let mut scalar = self.handle.clone();
        scalar.window = window;
        scalar.distribution = Distribution::over(self.handle.comm.size()).build()?;
        let (part, _) = read::load::<T>(&scalar, &scalar.distribution)?;
        Ok(part.buffer().data().first().copied().unwrap_or_default())
    }

    /// All elements, on rank `root`; `None` elsewhere. Collective; equal handles and roots.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`IoError::Map`] when there is no such rank.
    pub fn gather_to(&self, root: usize) -> Result<Option<HostArray<T>>, IoError> {
        let comm = self.handle.comm;
        super::together::same(comm, &[("root", root.to_string().as_bytes())])?;
        let axes = self.shape().iter().map(|&n| dist_maps::AxisDist::whole(n));
        let axes = axes.collect::<Result<Vec<_>, _>>()?;
        let whole = Distribution::from_axes(axes, comm.size(), [root])?;
        let (part, _) = read::load::<T>(&self.handle, &whole)?;
        Ok((comm.rank() == root).then(|| part.into_parts().2))
    }

    /// All elements, on every rank. Collective; equal handles.
    ///
    /// The copy is kept by this handle and its clones until the file is written to: by this process through whatever handle, or by
    /// another as far as the file's time of change tells.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn gather(&self) -> Result<Arc<HostArray<T>>, IoError> {
        let comm = self.handle.comm;
        self.handle.same()?;
        let state = self.handle.state();
        let kept = || self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().clone().filter(|(then, _)| Some(*then) == state);
        let flags = comm.all_gather_value(u8::from(known.is_some()))?;
        if let (Some((_, copy)), true) = (known, flags.iter().all(|&flag| flag == 1)) {
            return Ok(copy);
        }
        let shape = self.shape().iter().map(|&n| usize::try_from(n));
        let shape = shape.collect::<Result<Vec<usize>, _>>();
        let shape = shape.map_err(|_| IoError::Overflow {
            what: "number of elements",
        })?;
        let elements = match self.gather_to(0)? {
            Some(all) => Ok(all.into_parts().1),
            None => job::zeros(shape.iter().product()), // as many as rank 0 has
        };
        let mut elements: Vec<T> = agree(comm, elements)?;
        if let Some(bytes) = T::bytes_mut(&mut elements) {
            comm.broadcast(0, bytes)?;
        } else {
            // `bool`, whose bytes are looked at before they are elements
            let mut bytes = agree(comm, room(elements.len(), 1))?;
            for (byte, element) in bytes.iter_mut().zip(&elements) {
                *byte = u8::from(*element != T::default());
            }
            comm.broadcast(0, &mut bytes)?;
            agree(comm, copy_bytes_to_elements(&bytes, &mut elements))?;
        }
        let copy = Arc::new(agree(comm, HostArray::new(shape, elements))?);
        *kept() = state.map(|state| (state, copy.clone()));
        Ok(copy)
    }
}
