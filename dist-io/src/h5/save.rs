//! [`SaveHdf5`] and [`save_hdf5`]: a distributed array as one dataset.

mod dataset;
mod layout;
mod part;
mod write;

use std::path::{Path, PathBuf};

use dap_protocol::{DistributedArray, ElementType, HostBuffer};
use dist_comm::Communicator;
use dist_maps::Distribution;

use super::attribute::AttributeValue;
use super::types::Record;
use super::{ByteOrder, DEFAULT_KEY, Way, WriteMode, element};
use crate::{Direction, IoError, IoPlan, IoReport};

pub(super) use dataset::Room;
pub(super) use layout::chosen;
pub(super) use part::{bytes_of, check_edges};

/// Saves a distributed array as one dataset of an HDF5 file: how, and then [`save`](Self::save).
///
/// Any exporter of the protocol is taken, in any distribution. For other programs the dataset is an ordinary one, in this
/// machine's byte order; padding is not in it. Its attributes `dim_data` and `__version__` say how it was distributed,
/// so that [`load_hdf5`](super::load_hdf5) can restore that: a Python list with the tuple of dictionaries of every rank.
///
/// It is contiguous, unless [`chunk`](Self::chunk) or a filter asks for chunks. Chunks are filtered by all ranks, in threads: as
/// many as there are processors for each rank.
///
/// What is written is a file beside the target. It is synced and renamed when all ranks are done: whoever opens the target, at
/// any time and after any crash, finds the old file or the new one. A killed save leaves a file `.<target>.<random>.tmp`.
/// Where the path is a symbolic link, the file behind it is replaced; its permissions are kept. Saves of one file wait for each
/// other, by a lock on `.<target>.lock` beside it; a file that another program has open to write it is refused.
///
/// All ranks see one file system. (On network file systems this has not been tried.)
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::{AttributeValue, IoError, SaveHdf5, Storage, Wanted, inspect_hdf5, load_hdf5};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("heat.h5");
/// let rows = Distribution::over(2).shape([100, 30]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let part = DistBuffer::new(rows.dim_data(comm.rank())?, HostArray::new(vec![50, 30], vec![273.15; 1500])?)?;
///     let save = SaveHdf5::new(&path).key("run/heat").chunk([20, 30]).shuffle(true).deflate(4).attribute("units", "K");
///     save.save(&part, comm)?; // collective
///     assert_eq!(load_hdf5::<f64>(&path, Wanted::AsSaved, "run/heat", comm)?, part);
///     Ok::<_, IoError>(())
/// })?;
/// let info = inspect_hdf5(&path, "run/heat")?;
/// assert_eq!(info.storage, Storage::Chunked { chunk: vec![20, 30] });
/// assert_eq!(info.filters, ["shuffle", "deflate"]);
/// assert_eq!(info.attributes["units"], AttributeValue::Text("K".to_owned()));
/// assert!(std::fs::metadata(&path)?.len() < 100 * 30 * 8 / 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct SaveHdf5 {
    pub(super) path: PathBuf,
    pub(super) key: String,
    pub(super) mode: WriteMode,
    pub(super) way: Way,
    chunk: Option<Vec<u64>>,
    max_shape: Option<Vec<Option<u64>>>,
    shuffle: bool,
    deflate: Option<u8>,
    fletcher32: bool,
    pub(super) attributes: Vec<(String, AttributeValue)>,
    pub(super) byte_order: ByteOrder,
    pub(super) checksums: bool,
    pub(super) record: Option<Record>,
    pub(super) members: Vec<(String, i128)>,
}

impl SaveHdf5 {
    /// To a file of this name, under the key `"buffer"` and in mode `a` unless another one is given, contiguous.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            key: DEFAULT_KEY.to_owned(),
            mode: WriteMode::default(),
            way: Way::default(),
            chunk: None,
            max_shape: None,
            shuffle: false,
            deflate: None,
            fletcher32: false,
            attributes: Vec::new(),
            byte_order: ByteOrder::NATIVE,
            checksums: false,
            record: None,
            members: Vec::new(),
        }
    }

    /// The key of the dataset. It may name groups on the way, `"run/7/heat"`, which are made. A key that exists is an error:
    /// nothing is overwritten.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// What becomes of a file that is there. With one that is replaced go the parts that [`to_file`](crate::legate::to_file) saved
    /// for it, unless a program has it open: then with a later save.
    pub fn mode(mut self, mode: WriteMode) -> Self {
        self.mode = mode;
        self
    }

    /// Who moves the elements.
    pub fn way(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    /// In chunks of so many elements per dimension, each at most the array's extent. A scalar has no chunks and no filters.
    pub fn chunk(mut self, chunk: impl Into<Vec<u64>>) -> Self {
        self.chunk = Some(chunk.into());
        self
    }

    /// With room to grow: of each dimension the largest extent that it may ever have, `None` where there is no limit. A
    /// [`Series`](super::Series) appends to it, and h5py's `resize` changes it.
    ///
    /// Such an array is in chunks, of at most 1 MiB unless [`chunk`](Self::chunk) says how large. How it was distributed is not
    /// kept, as that would be wrong once it grows: it is loaded in a distribution of the caller's.
    pub fn max_shape(mut self, max: impl Into<Vec<Option<u64>>>) -> Self {
        self.max_shape = Some(max.into());
        self
    }

    pub(super) fn has_max_shape(&self) -> bool {
        self.max_shape.is_some()
    }

    /// Whether elements go into the file as they are, and nothing is kept beside them.
    pub(super) fn is_plain(&self) -> bool {
        let order = self.byte_order == ByteOrder::NATIVE;
        order && !self.checksums && self.record.is_none() && self.members.is_empty()
    }

    /// Bytes of equal significance together, which compresses better: the filter `shuffle`.
    ///
    /// A filter without [`chunk`](Self::chunk) chooses chunks of at most 1 MiB.
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.shuffle = shuffle;
        self
    }

    /// Compressed at a level from 0 to 9: the filter `deflate`, h5py's `gzip`.
    pub fn deflate(mut self, level: u8) -> Self {
        self.deflate = Some(level);
        self
    }

    /// A checksum for each chunk, which is checked when it is read: the filter `fletcher32`.
    pub fn fletcher32(mut self, fletcher32: bool) -> Self {
        self.fletcher32 = fletcher32;
        self
    }

    /// In this byte order; without this in that of the machine.
    pub fn byte_order(mut self, byte_order: ByteOrder) -> Self {
        self.byte_order = byte_order;
        self
    }

    /// With checksums of its pieces, or of its chunks, which [`verify`](super::verify()) compares with what is in the file, at any
    /// time. What was written is read once more for them; a dataset with checksums cannot be appended to.
    pub fn checksums(mut self, checksums: bool) -> Self {
        self.checksums = checksums;
        self
    }

    /// As records, or as texts of a fixed length: the elements are bytes, the last dimension of the array is as long as a record
    /// and not distributed, and the dataset has the others: a [`chunk`](Self::chunk) is one of so many records. For the filters a
    /// record is one element.
    pub fn record(mut self, record: Record) -> Self {
        self.record = Some(record);
        self
    }

    /// As the codes of an enumeration with these names. The elements are integers; codes without a name stay what they are.
    /// [`LoadHdf5::codes`](super::LoadHdf5::codes) reads them, and [`inspect_hdf5`](super::inspect_hdf5) the names.
    pub fn enumeration<N: Into<String>, C: Into<i128>>(
        mut self,
        members: impl IntoIterator<Item = (N, C)>,
    ) -> Self {
        let members = members.into_iter();
        self.members = members
            .map(|(name, code)| (name.into(), code.into()))
            .collect();
        self
    }

    /// With an attribute of the dataset, units for example.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// Saves. Collective; every rank says the same of file and dataset.
    ///
    /// # Errors
    /// The same on every rank; the target is then as it was, unless the refusal is [`Refusal::Unsynced`](crate::Refusal::Unsynced). [`IoError::Hdf5`] with
    /// what is wrong with path, key or an attribute, [`Refusal::Locked`](crate::Refusal::Locked) when another program has the file open to write it,
    /// [`Refusal::Changed`](crate::Refusal::Changed) when one has written to it meanwhile;
    /// [`IoError::Differ`] when ranks give different ones, or elements of different types; [`IoError::Dimensions`],
    /// [`IoError::ChunkExtent`], [`IoError::ChunkBytes`], [`IoError::DeflateLevel`]; [`IoError::Protocol`] or [`IoError::Map`]
    /// when the parts are no array; [`IoError::Uncovered`] when no rank holds some index; [`IoError::Agreed`] and
    /// [`IoError::Comm`] when a rank fails by itself.
    pub fn save<'a, A>(
        &self,
        array: &'a A,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<IoReport, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        self.save_by(None, array, comm)
    }

    /// Saves by a plan that was made before, as [`save`](Self::save) does by one that it makes: for many arrays of one distribution, the
    /// steps of a run for example, the ranks gather and survey nothing anew. Collective; equal plans, made by [`plan`](Self::plan) of
    /// a save like this one, or by [`IoPlan::new`] for the same layout; [`IoPlan::with_strategy`] is followed.
    ///
    /// The file is the one that `save` writes.
    ///
    /// # Errors
    /// As [`save`](Self::save), and the same on every rank: [`IoError::OtherPlan`] when the plan is to read, or for another size of
    /// elements, another layout or another shape of records, [`IoError::OtherPart`] when a rank's part is not the one that the plan has
    /// for it, [`IoError::Ranks`], [`IoError::Differ`] when ranks give different plans, or some of them none.
    ///
    /// ```
    /// use dap_protocol::{DistBuffer, ElementType, HostArray};
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_io::{IoError, SaveHdf5};
    /// use dist_maps::Distribution;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("run.h5");
    /// let dealt = Distribution::over(2).shape([8, 6]).cyclic(0).build()?;
    /// let save = SaveHdf5::new(&path).chunk([2, 6]).shuffle(true).deflate(1);
    /// let plan = save.plan(&dealt, ElementType::F64)?;
    /// println!("{}", plan.explain()?); // before any byte moves
    /// ThreadComm::run(2, |comm| {
    ///     for step in 0..3 {
    ///         let heat = HostArray::new(vec![4, 6], vec![f64::from(step); 24])?;
    ///         let heat = DistBuffer::new(dealt.dim_data(comm.rank())?, heat)?;
    ///         let report = save.clone().key(format!("heat/{step}")).save_planned(&plan, &heat, comm)?;
    ///         assert_eq!(report.strategy, plan.strategy());
    ///     }
    ///     Ok::<_, IoError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save_planned<'a, A>(
        &self,
        plan: &IoPlan,
        array: &'a A,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<IoReport, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        self.save_by(Some(plan), array, comm)
    }

    /// The plan by which this saves arrays of such a distribution and element type, whatever their key and file. Local, and pure: equal
    /// on all ranks that ask for the same.
    ///
    /// # Errors
    /// Those of [`save`](Self::save) that need no file: [`IoError::NoHdf5Type`], [`IoError::Dimensions`], [`IoError::ChunkExtent`],
    /// [`IoError::ChunkBytes`], [`IoError::MaxExtent`], [`IoError::DeflateLevel`], [`IoError::Record`], [`IoError::Index`],
    /// [`IoError::Uncovered`], [`IoError::Overflow`].
    pub fn plan(
        &self,
        distribution: &Distribution,
        element: ElementType,
    ) -> Result<IoPlan, IoError> {
        if !element::has_type(element) {
            return Err(IoError::NoHdf5Type { element });
        }
        self.check_record(element, distribution)?;
        let (layout, _) = self.layout_of_bytes(distribution.global_shape(), element.size())?;
        IoPlan::new(distribution, element.size(), layout, Direction::Write)
    }
}

/// Saves a distributed array as one contiguous dataset of an HDF5 file: [`SaveHdf5`] in one call. Collective; equal paths, keys
/// and modes.
///
/// # Errors
/// As [`SaveHdf5::save`].
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
    let save = SaveHdf5::new(path).key(key).mode(mode);
    save.save(array, comm)
}
