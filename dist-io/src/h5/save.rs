//! [`SaveHdf5`] and [`save_hdf5`]: a distributed array as one dataset.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dap_protocol::{
    DimData, DistBuffer, DistributedArray, ElementType, HostBuffer, LocalBuffer, Order,
    ProtocolVersion,
};
use dist_comm::agree::agree;
use dist_comm::{Communicator, FileMode, SharedFileOps};
use dist_maps::Distribution;
use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};
use hdf5_metno::{Dataset, Datatype, Extent, SimpleExtents};
use serde::{Deserialize, Serialize};

use super::attribute::{AttributeValue, attach};
use super::chunk::{self, CHUNK_BYTES, Chunks, Filter, LISTED_TO_WRITE, Place, Target};
use super::create::{check_free, close, contiguous, describe, extents, offset_of, shaped};
#[cfg(feature = "hdf5-mpio")]
use super::mpio;
#[cfg(feature = "hdf5-mpio")]
use super::together::refused;
use super::together::{by_rank_0, names, same};
use super::types::Record;
use super::{
    ByteOrder, DEFAULT_KEY, Refusal, Way, WriteMode, element, metadata, open, types, verify,
};
use crate::publish::{Claim, Existing, Pending};
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, write_elements};

/// Bytes of a chunk, at most, where filters ask for chunks and nobody said which.
const CHUNK: u64 = 1 << 20;

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
    mode: WriteMode,
    pub(super) way: Way,
    chunk: Option<Vec<u64>>,
    max_shape: Option<Vec<Option<u64>>>,
    shuffle: bool,
    deflate: Option<u8>,
    fletcher32: bool,
    pub(super) attributes: Vec<(String, AttributeValue)>,
    byte_order: ByteOrder,
    checksums: bool,
    record: Option<Record>,
    members: Vec<(String, i128)>,
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

    /// What becomes of a file that is there.
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
    /// and not distributed, and the dataset has the others. Records are saved in one piece, without filters.
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

    /// Whether elements go into the file as they are, and nothing is kept beside them.
    pub(super) fn is_plain(&self) -> bool {
        let order = self.byte_order == ByteOrder::NATIVE;
        order && !self.checksums && self.record.is_none() && self.members.is_empty()
    }

    /// With an attribute of the dataset, units for example.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        self.attributes.push((name.into(), value.into()));
        self
    }

    /// Saves. Collective; every rank says the same of file and dataset.
    ///
    /// # Errors
    /// The same on every rank; the target is then as it was, unless the refusal is [`Refusal::Unsynced`]. [`IoError::Hdf5`] with
    /// what is wrong with path, key or an attribute, [`Refusal::Locked`] when another program has the file open to write it,
    /// [`Refusal::Changed`] when one has written to it meanwhile;
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
        let (path, key) = (self.path.as_path(), self.key.as_str());
        let part = array.distarray();
        let element = part.buffer().element_type();
        same(
            comm,
            &[
                ("path", path.as_os_str().as_bytes()),
                ("key", key.as_bytes()),
                ("mode", self.mode.letters().as_bytes()),
                ("way of storing", self.text().as_bytes()),
                ("element type", element.to_string().as_bytes()),
            ],
        )?;
        #[cfg(feature = "hdf5-mpio")]
        if self.way == Way::Mpio {
            mpio::check(comm)?;
            if self.record.is_some() {
                return Err(refused(
                    path,
                    key,
                    Refusal::Storage {
                        storage: "as records".to_owned(),
                        allowed: "as plain elements by parallel HDF5".to_owned(),
                    },
                ));
            }
        }
        if !element::has_type(element) {
            return Err(IoError::NoHdf5Type { element });
        }
        agree(comm, check_edges(&part))?;
        let parts = metadata::gather(comm, part.dim_data())?;
        let distribution = metadata::whole(&parts)?;
        let shape = distribution.global_shape();
        let (layout, filters) = self.layout(shape, element.size())?;
        self.check_record(element, &distribution, &layout)?;
        let plan = IoPlan::new(&distribution, element.size(), layout, Direction::Write)?;
        // from here on there are files
        let mut pending = None;
        let mut made = None;
        let begun = by_rank_0(comm, path, key, || {
            let (ty, parts) = match &self.record {
                None => (
                    types::to_write(element, self.byte_order, &self.members)?,
                    parts,
                ),
                Some(record) => (record.to_type()?, parts.iter().map(without_last).collect()),
            };
            let text = metadata::to_text(&parts)?;
            let (file, library) = self.open()?;
            let (room, dataset) = self.create(library, &ty, &plan, &filters, &text)?;
            made = dataset;
            #[cfg(feature = "hdf5-mpio")]
            if self.way == Way::Mpio {
                if let Some((library, dataset)) = made.take() {
                    close(library, dataset)?;
                }
                mpio::reserve(file.file(), &plan, !filters.is_empty())?;
            }
            let begun = Begun {
                path: file.path().as_os_str().as_bytes().to_vec(),
                room,
            };
            pending = Some(file);
            Ok(begun)
        })?;
        let mut bytes = agree(comm, bytes_of(part.buffer(), element))?;
        if self.byte_order != ByteOrder::NATIVE && element.size() > 1 {
            let words = bytes.to_mut().chunks_exact_mut(element.word_size());
            words.for_each(<[u8]>::reverse);
        }
        let plan = match &begun.room {
            Room::Places(_) => plan.with_plain_chunks()?,
            _ => plan,
        };
        let made_here = made.as_ref().map(|(_, dataset)| dataset);
        let file = Path::new(OsStr::from_bytes(&begun.path));
        let to = (file, begun.room, made_here);
        let report = self.write(comm, to, (&plan, &filters), &bytes)?;
        by_rank_0(comm, path, "", || match made.take() {
            Some((file, dataset)) => close(file, dataset),
            None => Ok(()),
        })?;
        if self.checksums {
            let pending = Path::new(OsStr::from_bytes(&begun.path));
            verify::keep(comm, (path, key), pending)?;
        }
        by_rank_0(comm, path, "", || {
            // this is rank 0, which began it; never a success without a file
            let missing = || Refusal::Library {
                operation: "publish".to_owned(),
                message: "there is no file".to_owned(),
            };
            Ok(pending.take().ok_or_else(missing)?.publish()?)
        })?;
        Ok(report)
    }

    /// Puts the elements into the file that rank 0 has made. Collective.
    fn write(
        &self,
        comm: &(impl Communicator + ?Sized),
        (to, room, made): (&Path, Room, Option<&Dataset>),
        (plan, filters): (&IoPlan, &[Filter]),
        bytes: &[u8],
    ) -> Result<IoReport, IoError> {
        let (path, key) = (self.path.as_path(), self.key.as_str());
        let open = || comm.open_shared(to, FileMode::ReadWrite);
        Ok(match room {
            #[cfg(feature = "hdf5-mpio")]
            _ if self.way == Way::Mpio => {
                mpio::write(comm, mpio::Named::new(path, key, to), plan, bytes)?
            }
            Room::At(offset) => {
                let file = open()?;
                let report = write_elements(comm, &*file, offset, plan, bytes)?;
                file.sync()?;
                report
            }
            Room::Places(places) => {
                let file = open()?;
                let target = Target::Places(&*file, places);
                let report = chunk::save(comm, (path, key), plan, filters, &target, bytes)?;
                file.sync()?;
                report
            }
            Room::Library => {
                let target = Target::Rank0(made);
                chunk::save(comm, (path, key), plan, filters, &target, bytes)?
            }
        })
    }

    /// What ranks have to agree on beside path, key and mode.
    fn text(&self) -> String {
        let mut text = format!(
            "way {}, chunk {:?}, largest shape {:?}, shuffle {}, deflate {:?}, fletcher32 {}",
            self.way, self.chunk, self.max_shape, self.shuffle, self.deflate, self.fletcher32
        );
        let _ = write!(
            text,
            ", {:?}, checksums {}, members {:?}, record {:?}",
            self.byte_order, self.checksums, self.members, self.record
        );
        for (name, value) in &self.attributes {
            // writing to a text does not fail
            let _ = write!(text, ", {name:?} = {value:?}");
        }
        text
    }

    /// The filters, in the order of writing.
    fn filters(&self) -> Result<Vec<Filter>, IoError> {
        let mut filters = Vec::new();
        if self.shuffle {
            filters.push(Filter::Shuffle);
        }
        match self.deflate {
            Some(level) if level > 9 => return Err(IoError::DeflateLevel { given: level }),
            Some(level) => filters.push(Filter::Deflate(level)),
            None => {}
        }
        if self.fletcher32 {
            filters.push(Filter::Fletcher32);
        }
        Ok(filters)
    }

    /// How the elements will lie in the file, and the filters that they go through.
    pub(super) fn layout(
        &self,
        shape: &[u64],
        item: usize,
    ) -> Result<(FileLayout, Vec<Filter>), IoError> {
        let filters = self.filters()?;
        self.check_limits(shape)?;
        let chunk = match &self.chunk {
            Some(chunk) if chunk.len() != shape.len() => {
                return Err(IoError::Dimensions {
                    what: "the shape of the chunks",
                    given: chunk.len(),
                    allowed: shape.len(),
                });
            }
            // more than the array's extents is not allowed where these cannot grow
            Some(chunk) => {
                let axes = chunk.iter().zip(shape).enumerate();
                axes.map(|(axis, (&n, &size))| n.min(self.limit(axis, size).max(1)))
                    .collect()
            }
            None if filters.is_empty() && self.max_shape.is_none() => {
                return Ok((FileLayout::Contiguous, filters));
            }
            None => chosen(shape, item),
        };
        if shape.is_empty() {
            return Ok((FileLayout::Contiguous, filters));
        }
        let bytes = chunk
            .iter()
            .fold(item as u64, |bytes, &n: &u64| bytes.saturating_mul(n));
        if bytes > CHUNK_BYTES {
            return Err(IoError::ChunkBytes {
                given: bytes,
                allowed: CHUNK_BYTES,
            });
        }
        Ok((FileLayout::Chunked { chunk }, filters))
    }

    /// The largest extent that a dimension of this size may ever have.
    fn limit(&self, axis: usize, size: u64) -> u64 {
        match &self.max_shape {
            None => size,
            Some(max) => max.get(axis).copied().flatten().unwrap_or(u64::MAX),
        }
    }

    /// Checks that what is saved as records are such.
    fn check_record(
        &self,
        element: ElementType,
        distribution: &Distribution,
        layout: &FileLayout,
    ) -> Result<(), IoError> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        let wrong = |message: String| IoError::Record {
            field: String::new(),
            message,
        };
        if *layout != FileLayout::Contiguous {
            return Err(wrong(
                "records are saved in one piece, without chunks".to_owned(),
            ));
        }
        if element != ElementType::U8 || !self.members.is_empty() {
            return Err(wrong(format!(
                "records are saved from bytes (u8), not from {element}"
            )));
        }
        let last = distribution.global_shape().last().copied();
        let axis = distribution.axes().last();
        let whole = axis.is_some_and(|axis| axis.ranks() == 1);
        if last != Some(record.bytes as u64) || !whole {
            return Err(wrong(format!(
                "the last dimension is a record of {} bytes, and not distributed",
                record.bytes
            )));
        }
        Ok(())
    }

    fn check_limits(&self, shape: &[u64]) -> Result<(), IoError> {
        let Some(max) = &self.max_shape else {
            return Ok(());
        };
        if max.len() != shape.len() {
            return Err(IoError::Dimensions {
                what: "the largest shape",
                given: max.len(),
                allowed: shape.len(),
            });
        }
        for (axis, (max, &given)) in max.iter().zip(shape).enumerate() {
            if let Some(allowed) = max.filter(|&max| given > max) {
                return Err(IoError::MaxExtent {
                    axis,
                    given,
                    allowed,
                });
            }
        }
        Ok(())
    }

    /// Begins the new file, which is not yet known by its name. By rank 0.
    pub(super) fn open(&self) -> Result<(Pending, hdf5::File), Refusal> {
        let existing = match self.mode {
            WriteMode::Replace => Existing::Replace,
            WriteMode::CreateNew => Existing::Refuse,
            WriteMode::Append => Existing::Copy,
        };
        let pending = Claim::new(&self.path)?.pending(existing)?;
        let file = if pending.is_copy() {
            open::private(pending.path())?
        } else {
            open::new_private(pending.path())?
        };
        Ok((pending, file))
    }

    /// The key in a file, where it is free.
    pub(super) fn free(&self, file: &hdf5::File) -> Result<String, Refusal> {
        let names = names(&self.key)?;
        check_free(file, &names)?;
        Ok(names.join("/"))
    }

    /// Makes the dataset, with room for its elements where that can be made before they are there. By rank 0.
    fn create(
        &self,
        file: hdf5::File,
        ty: &Datatype,
        plan: &IoPlan,
        filters: &[Filter],
        dim_data: &str,
    ) -> Result<(Room, Option<(hdf5::File, Dataset)>), Refusal> {
        let key = self.free(&file)?;
        let mut shape = plan.distribution().global_shape();
        if self.record.is_some() {
            shape = &shape[..shape.len().saturating_sub(1)];
        }
        let FileLayout::Chunked { chunk } = plan.layout() else {
            let dataset = contiguous(&file, &key, ty, shape)?;
            describe(&dataset, dim_data, &self.attributes)?;
            let room = Room::At(offset_of(&dataset, shape)?);
            close(file, dataset)?;
            return Ok((room, None));
        };
        let in_place = self.way == Way::Offsets
            && filters.is_empty()
            && self.max_shape.is_none()
            && file.userblock() == 0
            && chunk::count(shape, chunk) <= LISTED_TO_WRITE;
        let known: Vec<_> = filters.iter().map(|filter| filter.known()).collect();
        let when = if in_place {
            AllocTime::Early
        } else {
            AllocTime::Incr
        };
        let builder = file
            .new_dataset_builder()
            .fill_time(match self.max_shape {
                // what others add to it and do not write is the fill value
                Some(_) => FillTime::IfSet,
                None => FillTime::Never,
            })
            .chunk(extents(chunk)?)
            .set_filters(&known)
            .alloc_time(Some(when))
            .empty_as(ty);
        let shaped = match &self.max_shape {
            None => shaped(builder, shape)?,
            Some(max) => {
                let max = max.iter().map(|max| match max {
                    None => Ok(None),
                    Some(max) => Ok(extents(&[*max])?.first().copied()),
                });
                let max = max.collect::<Result<Vec<_>, Refusal>>()?;
                let both = extents(shape)?.into_iter().zip(max);
                builder.shape(SimpleExtents::from_vec(both.map(Extent::from).collect()))
            }
        };
        let dataset = shaped
            .create(key.as_str())
            .map_err(Refusal::library("make the dataset"))?;
        if self.max_shape.is_none() {
            describe(&dataset, dim_data, &self.attributes)?;
        } else {
            for (name, value) in &self.attributes {
                attach(&dataset, name, value)?;
            }
        }
        if !in_place {
            return Ok((Room::Library, Some((file, dataset))));
        }
        let room = Room::Places(Chunks::made(&file, &dataset, shape)?);
        close(file, dataset)?;
        Ok((room, None))
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

/// The metadata of records as a dataset has them: without the dimension of their bytes.
fn without_last(part: &DimData) -> DimData {
    let dims: Vec<_> = part.iter().cloned().collect();
    DimData::new(dims[..dims.len().saturating_sub(1)].to_vec())
}

/// A file with an empty dataset in it, as rank 0 tells the others of it.
#[derive(Serialize, Deserialize)]
struct Begun {
    path: Vec<u8>,
    room: Room,
}

/// Where the elements go.
#[derive(Serialize, Deserialize)]
enum Room {
    /// In one piece, from this byte of the file on; 0 where there are none.
    At(u64),
    /// In chunks that lie there.
    Places(Vec<Place>),
    /// In chunks for which the library finds room when it gets them.
    Library,
}

/// Chunks of whole rows, as far as they fit.
fn chosen(shape: &[u64], item: usize) -> Vec<u64> {
    let mut chunk: Vec<u64> = shape.iter().map(|&n| n.max(1)).collect();
    let bytes = |chunk: &[u64]| {
        let bytes = chunk.iter();
        bytes.fold(item as u64, |bytes, &n| bytes.saturating_mul(n))
    };
    for axis in 0..chunk.len() {
        while chunk[axis] > 1 && bytes(&chunk) > CHUNK {
            chunk[axis] = chunk[axis].div_ceil(2);
        }
    }
    chunk
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
