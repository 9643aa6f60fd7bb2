//! [`to_file`] and [`ToFile`]: a distributed array as one virtual dataset, every rank's part in a file of its own.

use std::borrow::Cow;
use std::path::Path;

use dap_protocol::{DimData, DistBuffer, DistributedArray, ElementType, HostBuffer};
use dist_comm::Communicator;

use super::super::AttributeValue;
use super::super::save::{SaveHdf5, bytes_of, check_edges};
use super::write::save;
use crate::{IoError, IoReport};

/// Saves a distributed array as one dataset of an HDF5 file, the elements in a file for each rank. Collective; equal paths and
/// keys.
///
/// ```text
/// run.h5                             the dataset, virtual: h5py reads it as one
/// run.h5.Xy12Ab34Cd56Ef78.parts/     this save's folder; the names in run.h5 are relative, so both can be moved together
///     0.h5  1.h5  2.h5               one block of the array each
/// ```
///
/// Any exporter of the protocol is taken, in any distribution. Where every rank owns a block in long runs, its part is that
/// block; otherwise elements are exchanged in memory first, and each part is a slab of rows. A rank without elements writes no
/// part. A scalar, and an array without elements, is an ordinary dataset in the file itself.
///
/// Folders on the way to `path` are made. Groups on the way to the dataset are made too. A file that is there keeps its other
/// datasets: this one is added to a copy of it, which then replaces the file; saves of one file wait for each other, and one that
/// another program has open to write it is refused. **A dataset of this name is replaced**, whatever its shape and type
/// ([`save_hdf5`](crate::save_hdf5) refuses a key that exists). Its parts are removed afterwards, unless another dataset of the
/// file names them, or a program has the old file open: the HDF5 library would give that one fill values in their place. Then a
/// later save of the file removes them. Where the file system has no locks this cannot be told, and they are removed.
///
/// Parts have the permissions of the file that is there.
///
/// Parts are written and synced first, each stamped with its save and its block; the file is renamed last. Whoever opens it, at
/// any time and after any crash, finds the old dataset or the new one, whole. A killed save leaves a folder `<file>.<save>.parts`
/// and perhaps a file `.<file>.<random>.tmp`.
///
/// Returns when all of this is done. Numbers in the report are those of this rank's part.
///
/// # Errors
/// The same on every rank; the file is then as it was, unless the refusal is [`Refusal::Unsynced`](crate::Refusal::Unsynced). [`IoError::Hdf5`] with what is wrong with path or name (a folder, a file
/// that is no HDF5, a name that is a group's), [`IoError::Differ`] when ranks give different ones, or elements of different types;
/// [`IoError::Protocol`] or [`IoError::Map`] when the parts are no array; [`IoError::NoHdf5Type`];
/// [`IoError::Uncovered`] when no rank holds some index; [`IoError::Agreed`] and [`IoError::Comm`] when a rank fails by itself.
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, SingleComm, ThreadComm};
/// use dist_io::legate::{from_file, to_file};
/// use dist_io::{IoError, Wanted};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("results/run.h5"); // the folder is made
/// let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let mine = HostArray::new(vec![2, 3], vec![comm.rank() as f32; 6])?;
///     let mine = DistBuffer::new(rows.dim_data(comm.rank())?, mine)?;
///     to_file(&mine, &path, "/heat", comm)?; // collective
///     assert_eq!(from_file::<f32>(&path, "/heat", Wanted::AsSaved, comm)?, mine);
///     Ok::<_, IoError>(())
/// })?;
/// let whole = Distribution::over(1).shape([4, 3]).build()?;
/// let whole = from_file::<f32>(&path, "/heat", &whole, &SingleComm::new())?;
/// assert_eq!(whole.buffer().data()[3..9], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_file<'a, A>(
    array: &'a A,
    path: impl AsRef<Path>,
    key: &str,
    comm: &(impl Communicator + ?Sized),
) -> Result<IoReport, IoError>
where
    A: DistributedArray,
    A::Buffer<'a>: HostBuffer,
{
    ToFile::new(path).key(key).save(array, comm)
}

/// Saves a distributed array as one dataset, the elements in a file for each rank: how, and then [`save`](Self::save).
/// [`to_file`] is this in one call.
///
/// Without more, parts are in one piece. [`chunk`](Self::chunk) and filters make them chunked, each part from its first element on;
/// every rank codes its own in threads, as many as there are processors for each rank.
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::legate::{ToFile, from_file};
/// use dist_io::{IoError, Wanted, verify};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("run.h5");
/// let rows = Distribution::over(2).shape([400, 30]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let mine = HostArray::new(vec![200, 30], vec![273.15; 6000])?;
///     let mine = DistBuffer::new(rows.dim_data(comm.rank())?, mine)?;
///     let save = ToFile::new(&path).key("/heat").chunk([50, 30]).shuffle(true).deflate(4).checksums(true);
///     let report = save.save(&mine, comm)?; // collective
///     assert!(report.file_bytes < 48_000);
///     assert_eq!(verify(&path, "/heat", comm)?.sums, 8); // one for each chunk, in both parts
///     assert_eq!(from_file::<f64>(&path, "/heat", Wanted::AsSaved, comm)?, mine);
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct ToFile {
    how: SaveHdf5,
}

impl ToFile {
    /// To a file of this name, under the key `"buffer"` unless another one is given.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            how: SaveHdf5::new(path),
        }
    }

    /// The key of the dataset, with those of the groups that lead to it, which are made: `"/run/7/heat"`.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.how = self.how.key(key);
        self
    }

    /// Parts in chunks of so many elements per dimension, each at most the part's extent.
    pub fn chunk(mut self, chunk: impl Into<Vec<u64>>) -> Self {
        self.how = self.how.chunk(chunk);
        self
    }

    /// Bytes of equal significance together, as [`SaveHdf5::shuffle`] has it.
    pub fn shuffle(mut self, shuffle: bool) -> Self {
        self.how = self.how.shuffle(shuffle);
        self
    }

    /// Compressed at a level from 0 to 9, as [`SaveHdf5::deflate`] has it.
    pub fn deflate(mut self, level: u8) -> Self {
        self.how = self.how.deflate(level);
        self
    }

    /// A checksum for each chunk, which every reader checks, as [`SaveHdf5::fletcher32`] has it.
    pub fn fletcher32(mut self, fletcher32: bool) -> Self {
        self.how = self.how.fletcher32(fletcher32);
        self
    }

    /// With checksums of each part, which [`verify`](crate::verify()) compares with what is in the files, at any time. What was
    /// written is read once more for them.
    pub fn checksums(mut self, checksums: bool) -> Self {
        self.how = self.how.checksums(checksums);
        self
    }

    /// With an attribute of the dataset, units for example.
    pub fn attribute(mut self, name: impl Into<String>, value: impl Into<AttributeValue>) -> Self {
        self.how = self.how.attribute(name, value);
        self
    }

    /// Saves, and returns when all is published. Collective; every rank says the same of file and dataset.
    ///
    /// # Errors
    /// As [`to_file`]; also [`IoError::Dimensions`], [`IoError::ChunkExtent`], [`IoError::ChunkBytes`] and
    /// [`IoError::DeflateLevel`].
    pub fn save<'a, A>(
        &self,
        array: &'a A,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<IoReport, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        save(comm, &Job::new(self.clone(), &array.distarray()))
    }
}

/// A rank's part that is to be saved, or why it cannot be.
pub(super) struct Job<'a> {
    pub(super) how: SaveHdf5,
    pub(super) element: ElementType,
    pub(super) dim_data: DimData,
    pub(super) bytes: Result<Cow<'a, [u8]>, IoError>,
}

impl<'a> Job<'a> {
    pub(super) fn new<B: HostBuffer>(to: ToFile, part: &'a DistBuffer<B>) -> Self {
        let element = part.buffer().element_type();
        Self {
            how: to.how,
            element,
            dim_data: part.dim_data().clone(),
            bytes: check_edges(part).and_then(|()| bytes_of(part.buffer(), element)),
        }
    }

    /// The same with a copy of the part.
    pub(super) fn owned(self) -> Job<'static> {
        Job {
            how: self.how,
            element: self.element,
            dim_data: self.dim_data,
            bytes: self.bytes.and_then(owned),
        }
    }
}

/// A copy of a part.
fn owned(bytes: Cow<'_, [u8]>) -> Result<Cow<'static, [u8]>, IoError> {
    let borrowed = match bytes {
        Cow::Owned(bytes) => return Ok(Cow::Owned(bytes)),
        Cow::Borrowed(borrowed) => borrowed,
    };
    let mut copy = Vec::new();
    copy.try_reserve_exact(borrowed.len())
        .map_err(|_| IoError::Memory {
            bytes: borrowed.len(),
        })?;
    copy.extend_from_slice(borrowed);
    Ok(Cow::Owned(copy))
}
