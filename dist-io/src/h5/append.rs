//! [`Series`]: datasets that grow by a row, or some, at a time, in one file that is not copied for it.
//!
//! ```text
//! all ranks   new chunks, behind the end of the file                       nobody reads there
//! rank 0      the part of their index that changes, behind them            nor there
//!             where the index begins; how many rows there are              one word each
//!             now and then, before that: how far the file goes             further than what is in it
//! ```
//!
//! The library is not asked to do this: it changes an index where it lies, and a process that is killed meanwhile leaves a file that no
//! program can read; kept whole by a copy, each step would take as long as the file is. What it does itself (shapes, types, filters,
//! attributes) it is asked for, and of the format only what it writes by default is known here: indices of version 1, which are refused
//! by name where they are others.

mod begin;
mod checksum;
mod format;
mod growing;
mod header;
mod publish;
mod steps;
mod superblock;
mod tree;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dap_protocol::{DistBuffer, DistributedArray, ElementType, HostBuffer, LocalBuffer};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use self::format::unsuited;
use self::growing::Growing;
use self::publish::ahead;
use self::steps::Steps;
use self::superblock::Superblock;
use super::chunk::Rows;
use super::save::check_edges;
use super::together::{by_rank_0, is_regular, refused, same, settle};
use super::{ByteOrder, Refusal, open};
use crate::IoError;

pub(super) use checksum::checksum;
pub(super) use growing::places;

/// Datasets of one file that grow along their first dimension: a time series, a step at a time.
///
/// A dataset that can grow is made by [`SaveHdf5::begin_series`](crate::SaveHdf5::begin_series), or by [`SaveHdf5::max_shape`](crate::SaveHdf5::max_shape) with the rows that are there
/// already, or by another program: h5py's `create_dataset(…, maxshape=(None, …))` is one, if the file was not made with
/// `libver="latest"`. It has chunks, without filters or with `shuffle`, `deflate` (`gzip`) and `fletcher32`.
///
/// The file is changed in place; nothing is copied. Each [`append`](Self::append) writes its chunks and their index behind the
/// end of the file, and the number of rows last. So
/// - a program that opens the file at any time finds the rows of before an append or those of after it;
/// - a process that is killed in an append leaves a file with all earlier rows, which any program reads and another series
///   continues. What it wrote by then, and some room behind it, stays behind.
///
/// An append returns when its rows are on the device. When the *machine* fails in the middle of one, earlier rows are there as
/// far as the file system keeps the order of writes to one file: rows and index are synced before they are named, but a torn
/// sector of the dataset's header is beyond what a file can guard against. Where the header has
/// a checksum (h5py with `libver="v108"` or later) more than one word of it is written, in one call: a program that opens the file
/// within it may be told that the checksum is wrong, and succeeds when it tries again. A header that lies across two pages of memory
/// would be torn by a kill within that call; it is refused.
///
/// While a series is open, rank 0 holds a shared lock on the file: programs that use the HDF5 library can read it, and cannot
/// open it to write; in the moment in which a series is opened they are told that it is locked. [`SaveHdf5`](crate::SaveHdf5) replaces the file;
/// the series then says so in its next append.
///
/// The file goes further than what is in it while a series is open, and after one that was killed: by 1 MiB, or four steps, which take no
/// place on the device. The library looks nowhere behind the end that it found when it opened the file, so a program that looks a
/// dataset up when the file has grown by more than that meanwhile is told so; it finds all rows when it opens the file again. This
/// crate's own calls do that by themselves, ten times at most, and find the rows that were there then. What a program has looked up
/// it finds as long as it has the file open.
///
/// What an append replaces of the index, some KB, stays behind as room that nobody uses, until the file is packed again
/// (`h5repack`): with small steps, make chunks of several rows. With filters, a chunk that gets more rows is coded anew and its
/// old room stays behind too: append whole chunks of rows, or make chunks of one row, as `begin_series` does.
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, SingleComm, ThreadComm};
/// use dist_io::{IoError, SaveHdf5, Series, inspect_hdf5, load_hdf5};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("run.h5");
/// let step = Distribution::over(2).shape([100, 30]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     SaveHdf5::new(&path).key("heat").deflate(1).attribute("units", "K").begin_series::<f64>(&[100, 30], comm)?;
///     let mut series = Series::open(&path, comm)?;
///     for t in 0..5 {
///         let mine = HostArray::new(vec![50, 30], vec![f64::from(t); 1500])?;
///         let mine = DistBuffer::new(step.dim_data(comm.rank())?, mine)?;
///         series.append("heat", &mine, comm)?; // collective; the plan of the first step serves all
///     }
///     assert_eq!(series.rows("heat"), Some(5));
///     Ok::<_, IoError>(())
/// })?;
/// assert_eq!(inspect_hdf5(&path, "heat")?.shape, [5, 100, 30]);
/// let last = Distribution::over(1).shape([5, 100, 30]).build()?;
/// assert_eq!(load_hdf5::<f64>(&path, &last, "heat", &SingleComm::new())?.buffer().data()[4 * 3000], 4.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Series {
    path: PathBuf,
    file: File,
    /// What rank 0 knows: among others how far the file goes, which is further than what is in it.
    superblock: Option<Superblock>,
    /// Where what is in the file ends: what comes is put there.
    eof: u64,
    /// Which dataset a key is that of: several may be that of one.
    keys: BTreeMap<String, u64>,
    /// By the address of their headers.
    datasets: BTreeMap<u64, Growing>,
    is_broken: bool,
}

/// Rank 0 cuts off what is behind the end of what is in the file; where that cannot be done, it does no harm.
impl Drop for Series {
    fn drop(&mut self) {
        let (Some(superblock), false) = (&mut self.superblock, self.is_broken) else {
            return;
        };
        let said = superblock.eof == self.eof || superblock.set(&self.file, self.eof).is_ok();
        // never shorter than it says it is, on the device either
        if said && self.file.sync_data().is_ok() {
            let _ = self.file.set_len(self.eof);
        }
    }
}

impl Series {
    /// Opens a file to append to its datasets. Collective; equal paths.
    ///
    /// # Errors
    /// The same on every rank: [`IoError::Hdf5`] when there is no such file, or it is none whose datasets can be appended to
    /// ([`SeriesRefusal::NotGrowable`](crate::SeriesRefusal::NotGrowable)), or another program has it open ([`Refusal::Locked`]); [`IoError::Differ`], [`IoError::Comm`].
    pub fn open(
        path: impl AsRef<Path>,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<Self, IoError> {
        let path = path.as_ref();
        same(comm, &[("path", path.as_os_str().as_bytes())])?;
        let mut held = None;
        let (inode, eof) = by_rank_0(comm, path, "", || {
            is_regular(path)?.ok_or(Refusal::NotFound)?;
            let file = to_write(path)?;
            lock(&file)?;
            // what is wrong with the file, in the words of every other call
            drop(open::to_read(path)?);
            let superblock = Superblock::read(&file)?;
            ahead(&file, superblock.eof, 0)?;
            let known = (inode(&file)?, superblock.eof);
            held = Some((file, superblock));
            Ok(known)
        })?;
        let (file, superblock) = match held {
            Some((file, superblock)) => (Ok(file), Some(superblock)),
            None => (to_write(path), None),
        };
        let file = file.and_then(|file| {
            if self::inode(&file)? == inode {
                Ok(file)
            } else {
                Err(Refusal::Changed)
            }
        });
        Ok(Self {
            path: path.to_owned(),
            file: settle(comm, path, "", file)?,
            superblock,
            eof,
            keys: BTreeMap::new(),
            datasets: BTreeMap::new(),
            is_broken: false,
        })
    }

    /// The rows of a dataset, once something was appended to it under this key. Local.
    #[must_use]
    pub fn rows(&self, key: &str) -> Option<u64> {
        let growing = self.datasets.get(self.keys.get(key)?)?;
        Some(growing.rows())
    }

    /// Appends to a dataset, and returns when it is on the device; the number of rows that there are then. Collective; every rank
    /// says the same of key and element type.
    ///
    /// The array is one step, or has one dimension more and is as many steps as it is long. It may be distributed in any way; as
    /// long as that stays the same, the plan of the first step is used again. Where a rank's part is not made of whole chunks,
    /// elements are exchanged. Elements go into the file in its byte order; codes of an enumeration are integers.
    ///
    /// # Errors
    /// The same on every rank; the dataset is then as it was. [`IoError::Hdf5`] with what is wrong with key or file,
    /// [`IoError::ElementType`], [`IoError::Shape`], [`IoError::MaxExtent`] when the dataset cannot become so long,
    /// and as [`SaveHdf5::save`](crate::SaveHdf5::save) when the parts are no array. After an error of the operating system while rows are published, the
    /// series refuses to go on: open it again.
    pub fn append<'a, A>(
        &mut self,
        key: &str,
        array: &'a A,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<u64, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let part = array.distarray();
        let element = part.buffer().element_type();
        same(
            comm,
            &[
                ("key", key.as_bytes()),
                ("element type", element.to_string().as_bytes()),
            ],
        )?;
        if self.is_broken {
            let broken = unsuited("an append to it was cut short: open it again");
            return Err(self.refused(key, broken));
        }
        let address = match self.keys.get(key) {
            Some(&address) => address,
            None => self.look_up(key, comm)?,
        };
        let Some(mut growing) = self.datasets.remove(&address) else {
            return Err(self.refused(key, unsuited("it is not looked up"))); // it was, above
        };
        let outcome = self.grow(key, &mut growing, &part, element, comm);
        self.datasets.insert(address, growing);
        outcome
    }

    /// Looks a dataset up, which may be known under another key; the address of its header. Collective.
    fn look_up(&mut self, key: &str, comm: &(impl Communicator + ?Sized)) -> Result<u64, IoError> {
        let mut index = None;
        let (address, told) = by_rank_0(comm, &self.path, key, || {
            let Some(superblock) = &self.superblock else {
                return Err(unsuited("rank 0 did not open it"));
            };
            self.still_there()?;
            let (address, told, found) = growing::look_up(&self.path, key, &self.file, superblock)?;
            index = Some(found);
            Ok((address, told))
        })?;
        let growing = Growing::new(told, index).map_err(|refusal| self.refused(key, refusal))?;
        self.datasets.entry(address).or_insert(growing);
        self.keys.insert(key.to_owned(), address);
        Ok(address)
    }

    fn grow<B: HostBuffer>(
        &mut self,
        key: &str,
        growing: &mut Growing,
        part: &DistBuffer<B>,
        element: ElementType,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<u64, IoError> {
        if growing.element != element {
            return Err(IoError::ElementType {
                given: growing.element,
                allowed: element,
            });
        }
        let item = element.size();
        let before = growing.rows();
        let edges = check_edges(part);
        let fits = growing.steps.as_ref();
        let fits = edges.is_ok() && fits.is_some_and(|steps| steps.dim_data == *part.dim_data());
        let fit = comm.all_gather_value(u8::from(fits))?;
        if fit.contains(&0) {
            agree(comm, edges)?;
            growing.steps = None;
            growing.steps = Some(Steps::new(&growing.told, part.dim_data(), item, comm)?);
        }
        let Some(steps) = &growing.steps else {
            return Ok(before); // they were made above
        };
        let rows = growing.rows_after(steps.rows)?;
        if rows == before {
            return Ok(before);
        }
        let mut slab = steps.bring(part, element, comm)?;
        if growing.told.found.byte_order != ByteOrder::NATIVE {
            let words = slab.chunks_exact_mut(element.word_size());
            words.for_each(<[u8]>::reverse);
        }
        let new = Rows {
            before,
            count: steps.rows,
            own: &steps.own,
            chunk: &growing.told.chunk,
            filters: &growing.told.filters,
            item,
            fill: &growing.told.fill,
            elements: &slab,
        };
        let known = |coords: &[u64]| growing.tail.get(coords).copied();
        let chunks = new.chunks(&self.file, &known, comm.size());
        let chunks = settle(comm, &self.path, key, chunks)?;
        let (entries, own, end) = self.places(key, &growing.told.chunk, &chunks, comm)?;
        let written = self.write(&chunks, own);
        settle(comm, &self.path, key, written)?;
        let mut superblock = self.superblock.take();
        let index = growing.index.as_mut();
        let published = by_rank_0(comm, &self.path, key, || {
            self.publish(superblock.as_mut().zip(index), &entries, end, rows)
        });
        self.superblock = superblock;
        match published {
            Ok(eof) => self.eof = eof,
            Err(error) => {
                self.is_broken = true;
                return Err(error);
            }
        }
        growing.has_grown(rows, entries);
        Ok(rows)
    }

    /// Whether the path still is that of the file. Local.
    fn still_there(&self) -> Result<(), Refusal> {
        let now = is_regular(&self.path)?.ok_or(Refusal::NotFound)?;
        if (now.dev(), now.ino()) == inode(&self.file)? {
            Ok(())
        } else {
            Err(Refusal::Changed)
        }
    }

    fn refused(&self, key: &str, refusal: Refusal) -> IoError {
        refused(&self.path, key, refusal)
    }
}

fn to_write(path: &Path) -> Result<File, Refusal> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    file.map_err(Refusal::os("open"))
}

fn inode(file: &File) -> Result<(u64, u64), Refusal> {
    let meta = file.metadata().map_err(Refusal::os("look at the file"))?;
    Ok((meta.dev(), meta.ino()))
}

/// Takes a shared lock on a file that nobody else has locked: others may read it, and not write.
fn lock(file: &File) -> Result<(), Refusal> {
    const ELSEWHERE: &str = "it is open elsewhere";
    if !open::lock_alone(file, ELSEWHERE)? {
        return Ok(()); // a file system without locks
    }
    // whoever comes between the two has it alone
    flock(file, FlockOperation::NonBlockingLockShared).map_err(|error| match error {
        Errno::WOULDBLOCK => Refusal::Locked {
            message: ELSEWHERE.to_owned(),
        },
        error => Refusal::os("lock")(error.into()),
    })
}
