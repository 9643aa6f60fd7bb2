//! [`Series`]: datasets that grow by a row, or some, at a time, in one file that is not copied for it.
//!
//! ```text
//! all ranks   new chunks, behind the end of the file                       nobody reads there
//! rank 0      the part of their index that changes, behind them            nor there
//!             how far the file goes; where the index begins; how many rows there are     one word each
//! ```

mod format;
mod tree;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use dap_protocol::{
    DimData, DistBuffer, DistributedArray, Element, ElementType, HostArray, HostBuffer, LocalBuffer,
};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution, RedistPlan, Redistribution};
use hdf5_metno::dataset::Dataset;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::attribute::names;
use super::chunk::{Filter, Grown, Known, Rows, filters_of};
use super::dataset::{Found, describe, how, opened};
use super::save::{bytes_of, check_edges};
use super::together::{by_rank_0, is_regular, same, settle};
use super::{ByteOrder, Refusal, SaveHdf5, Storage, ffi, metadata, open, verify};
use crate::execute::{exchange, room};
use crate::{Direction, FileLayout, IoError, IoPlan};
pub(super) use format::checksum;
use format::{Header, Superblock, unsuited};
use tree::{Entry, Tree};

/// Datasets of one file that grow along their first dimension: a time series, a step at a time.
///
/// A dataset that can grow is made by [`SaveHdf5::begin_series`], or by [`SaveHdf5::max_shape`] with the rows that are there
/// already, or by another program: h5py's `create_dataset(…, maxshape=(None, …))` is one, if the file was not made with
/// `libver="latest"`. It has chunks, without filters or with `shuffle`, `deflate` (`gzip`) and `fletcher32`.
///
/// The file is changed in place; nothing is copied. Each [`append`](Self::append) writes its chunks and their index behind the
/// end of the file, and the number of rows last. So
/// - a program that opens the file at any time finds the rows of before an append or those of after it;
/// - a process that is killed in an append leaves a file with all earlier rows, which any program reads and another series
///   continues. What was written behind its end by then is overwritten.
///
/// An append returns when its rows are on the device. When the *machine* fails in the middle of one, earlier rows are there as
/// far as the file system keeps the order of writes to one file: rows and index are synced before they are named, but a torn
/// sector of the dataset's header is beyond what a file can guard against. One more limit: where the header has a checksum (h5py
/// with `libver="v108"` or later) more than one word of it is written, in one call. A process that is killed within that call can
/// tear it if it lies across two pages of memory, and a program that opens the file within it may be told that the checksum is
/// wrong, and succeeds when it tries again.
///
/// While a series is open, rank 0 holds a shared lock on the file: programs that use the HDF5 library can read it, and cannot
/// open it to write; in the moment in which a series is opened they are told that it is locked. [`SaveHdf5`] replaces the file;
/// the series then says so in its next append.
///
/// The file is longer than what is in it while a series is open, by room that is not taken up. A program that looks at the length of
/// the file, and only after many appends at the rest of it, is told that the file is cut off, and succeeds when it tries again.
/// This crate's own calls look again while a file changes, and say [`Refusal::Changed`] when it does so all the time: hundreds of
/// times a second.
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
    /// What rank 0 knows.
    superblock: Option<Superblock>,
    /// Where the file ends: what comes is put there.
    eof: u64,
    datasets: BTreeMap<String, Growing>,
    is_broken: bool,
}

/// A dataset that grows, as every rank knows it.
#[derive(Debug)]
struct Growing {
    told: Told,
    element: ElementType,
    /// The chunks that have rows and lack some.
    tail: BTreeMap<Vec<u64>, Known>,
    plan: Option<Plan>,
    /// What rank 0 knows.
    index: Option<(Header, Tree)>,
}

/// What rank 0 tells of a dataset.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    found: Found,
    max: Option<u64>,
    chunk: Vec<u64>,
    filters: Vec<Filter>,
    fill: Vec<u8>,
    /// Chunks of the last row of chunks: coordinates, first byte, length, mask.
    tail: Vec<(Vec<u64>, u64, u32, u32)>,
}

/// How the rows of one append reach the ranks that write them: whole chunks each.
#[derive(Debug)]
struct Plan {
    dim_data: DimData,
    rows: u64,
    /// None where there is nothing to exchange: a scalar.
    redist: Option<RedistPlan>,
    /// What this rank writes, per dimension from the second on, from where to where.
    own: Vec<(u64, u64)>,
    elements: usize,
}

impl SaveHdf5 {
    /// Makes a dataset without rows, to which a [`Series`] appends steps of this shape: elements per dimension, `[]` for
    /// numbers. Collective; every rank says the same. All that was said of the dataset holds; its first dimension has no limit
    /// unless [`max_shape`](Self::max_shape) gives one, and its chunks are of one row, of at most 1 MiB, unless
    /// [`chunk`](Self::chunk) says otherwise (the row comes first).
    ///
    /// As every save, it replaces the file by a copy with the dataset in it: begin all series of a file before one is open.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn begin_series<T: Element>(
        &self,
        step: &[u64],
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(), IoError> {
        let shape: Vec<u64> = std::iter::once(0).chain(step.iter().copied()).collect();
        let save = if self.has_max_shape() {
            self.clone()
        } else {
            let steps = step.iter().map(|&size| Some(size));
            let max: Vec<Option<u64>> = std::iter::once(None).chain(steps).collect();
            self.clone().max_shape(max)
        };
        let part = || {
            let nothing = Distribution::over(comm.size())
                .shape(shape)
                .block(0)
                .build()?;
            let extents = nothing.local_shape(comm.rank());
            let buffer = HostArray::<T>::new(extents, Vec::new())?;
            Ok::<_, IoError>(DistBuffer::new(nothing.dim_data(comm.rank())?, buffer)?)
        };
        save.save(&agree(comm, part())?, comm)?;
        Ok(())
    }
}

/// Rank 0 cuts off what is behind the end of the file.
impl Drop for Series {
    fn drop(&mut self) {
        if let (Some(superblock), false) = (&self.superblock, self.is_broken) {
            // it does no harm where it is
            let _ = self.file.set_len(superblock.eof);
        }
    }
}

impl Series {
    /// Opens a file to append to its datasets. Collective; equal paths.
    ///
    /// # Errors
    /// The same on every rank: [`IoError::Hdf5`] when there is no such file, or it is none whose datasets can be appended to
    /// ([`Refusal::NotGrowable`]), or another program has it open ([`Refusal::Locked`]); [`IoError::Differ`], [`IoError::Comm`].
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
                Err(replaced())
            }
        });
        Ok(Self {
            path: path.to_owned(),
            file: settle(comm, path, "", file)?,
            superblock,
            eof,
            datasets: BTreeMap::new(),
            is_broken: false,
        })
    }

    /// The rows of a dataset, once something was appended to it. Local.
    #[must_use]
    pub fn rows(&self, key: &str) -> Option<u64> {
        let growing = self.datasets.get(key)?;
        growing.told.found.shape.first().copied()
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
    /// and as [`SaveHdf5::save`] when the parts are no array. After an error of the operating system while rows are published, the
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
            return Err(self.refused(
                key,
                unsuited("an append to it was cut short: open it again"),
            ));
        }
        let mut growing = match self.datasets.remove(key) {
            Some(growing) => growing,
            None => self.look_up(key, comm)?,
        };
        let outcome = self.grow(key, &mut growing, &part, element, comm);
        self.datasets.insert(key.to_owned(), growing);
        outcome
    }

    /// Looks a dataset up. Collective.
    fn look_up(&self, key: &str, comm: &(impl Communicator + ?Sized)) -> Result<Growing, IoError> {
        let mut index = None;
        let told = by_rank_0(comm, &self.path, key, || {
            let Some(superblock) = &self.superblock else {
                return Err(unsuited("rank 0 did not open it"));
            };
            self.still_there()?;
            let (told, header, tree) = grows(&self.path, key, &self.file, superblock)?;
            index = Some((header, tree));
            Ok(told)
        })?;
        let element = told
            .found
            .element()
            .map_err(|refusal| self.refused(key, refusal))?;
        let known = |&(ref coords, offset, len, left_out): &(Vec<u64>, u64, u32, u32)| {
            let known = Known {
                offset,
                len,
                left_out,
            };
            (coords.clone(), known)
        };
        Ok(Growing {
            element,
            tail: told.tail.iter().map(known).collect(),
            told,
            plan: None,
            index,
        })
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
        let (rank, item) = (comm.rank(), element.size());
        let before = growing.told.found.shape[0];
        let fits = growing
            .plan
            .as_ref()
            .is_some_and(|plan| plan.dim_data == *part.dim_data());
        let fit = comm.all_gather_value(u8::from(fits))?;
        if fit.contains(&0) {
            agree(comm, check_edges(part))?;
            growing.plan = None;
            growing.plan = Some(plan(&growing.told, part.dim_data(), item, comm)?);
        }
        let Some(plan) = &growing.plan else {
            return Ok(before); // it was made above
        };
        let rows = before.checked_add(plan.rows).ok_or(IoError::Overflow {
            what: "number of rows",
        })?;
        if let Some(max) = growing.told.max.filter(|&max| rows > max) {
            return Err(IoError::MaxExtent {
                axis: 0,
                given: rows,
                allowed: max,
            });
        }
        if plan.rows == 0 {
            return Ok(before);
        }
        let bytes = agree(comm, bytes_of(part.buffer(), element))?;
        let mut slab = agree(comm, room(plan.elements, item))?;
        match &plan.redist {
            Some(redist) => {
                exchange::exchange(comm, redist, item, &bytes, &mut slab)?;
            }
            None if rank == 0 => slab.copy_from_slice(&bytes[..item]),
            None => {}
        }
        if growing.told.found.byte_order != ByteOrder::NATIVE {
            let words = slab.chunks_exact_mut(element.word_size());
            words.for_each(<[u8]>::reverse);
        }
        let new = Rows {
            before,
            count: plan.rows,
            own: &plan.own,
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
        growing.told.found.shape[0] = rows;
        let step = growing.told.chunk[0];
        let last = rows / step;
        for entry in entries {
            let known = Known {
                offset: entry.offset,
                len: entry.len,
                left_out: entry.left_out,
            };
            growing.tail.insert(entry.coords, known);
        }
        growing
            .tail
            .retain(|coords, _| coords[0] == last && !rows.is_multiple_of(step));
        Ok(rows)
    }

    /// Gives the chunks of all ranks places behind the end of the file; all of them, those of this rank, and where they end.
    /// Collective.
    fn places(
        &self,
        key: &str,
        chunk: &[u64],
        chunks: &[Grown],
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(Vec<Entry>, Vec<u64>, u64), IoError> {
        let mut message = Vec::new();
        let mut outcome = Ok(());
        for chunk in chunks.iter().filter(|chunk| chunk.at.is_none()) {
            for coord in &chunk.coords {
                message.extend_from_slice(&coord.to_le_bytes());
            }
            let len = u32::try_from(chunk.bytes.len());
            if len.is_err() {
                outcome = Err(Refusal::ChunkShape {
                    given: chunk.coords.clone(),
                });
            }
            message.extend_from_slice(&len.unwrap_or(0).to_le_bytes());
            message.extend_from_slice(&chunk.left_out.to_le_bytes());
        }
        settle(comm, &self.path, key, outcome)?;
        let all = comm.all_gather_v(&message)?;
        let (mut entries, mut own, mut end) = (Vec::new(), Vec::new(), self.eof);
        for (rank, message) in all.iter().enumerate() {
            for entry in message.chunks_exact(8 * chunk.len() + 8) {
                let (coords, rest) = entry.split_at(8 * chunk.len());
                let (coords, _) = coords.as_chunks::<8>();
                let coords = coords.iter().map(|word| u64::from_le_bytes(*word));
                let (rest, _) = rest.as_chunks::<4>();
                let (len, left_out) = (rest[0], rest[1]);
                let len = u32::from_le_bytes(len);
                if rank == comm.rank() {
                    own.push(end);
                }
                entries.push(Entry {
                    coords: coords.collect(),
                    offset: end,
                    len,
                    left_out: u32::from_le_bytes(left_out),
                });
                end = end.saturating_add(u64::from(len));
            }
        }
        Ok((entries, own, end))
    }

    /// Writes this rank's chunks, and waits for the device. Local.
    fn write(&self, chunks: &[Grown], own: Vec<u64>) -> Result<(), Refusal> {
        let mut own = own.into_iter();
        for chunk in chunks {
            let Some(at) = chunk.at.or_else(|| own.next()) else {
                return Err(unsuited("a chunk has no place"));
            };
            self.file
                .write_all_at(&chunk.bytes, at)
                .map_err(Refusal::os("write"))?;
        }
        if chunks.is_empty() {
            return Ok(());
        }
        self.file.sync_data().map_err(Refusal::os("sync"))
    }

    /// Names the new chunks in the index, and then the rows; where the file ends. By rank 0.
    fn publish(
        &self,
        known: Option<(&mut Superblock, &mut (Header, Tree))>,
        entries: &[Entry],
        end: u64,
        rows: u64,
    ) -> Result<u64, Refusal> {
        self.still_there()?;
        let Some((superblock, (header, tree))) = known else {
            return Err(unsuited("rank 0 did not open it"));
        };
        let sync = || self.file.sync_data().map_err(Refusal::os("sync"));
        if entries.is_empty() {
            header.set(&self.file, header.root(), rows)?;
            sync()?;
            return Ok(superblock.eof);
        }
        let first = tree.put(entries);
        // so that headers that come after it lie at whole words
        let at = end.next_multiple_of(8);
        let nodes = tree.nodes(first, at);
        let eof = at.saturating_add(nodes.bytes.len() as u64);
        ahead(&self.file, eof, eof - superblock.eof)?;
        format::write(&self.file, at, &nodes.bytes)?;
        superblock.set(&self.file, eof)?;
        sync()?;
        header.set(&self.file, nodes.root, rows)?;
        for &(at, word) in &nodes.neighbours {
            format::write(&self.file, at, &word.to_le_bytes())?;
        }
        sync()?;
        tree.written(nodes);
        Ok(eof)
    }

    /// Whether the path still is that of the file. Local.
    fn still_there(&self) -> Result<(), Refusal> {
        let now = is_regular(&self.path)?.ok_or(Refusal::NotFound)?;
        if (now.dev(), now.ino()) == inode(&self.file)? {
            Ok(())
        } else {
            Err(replaced())
        }
    }

    fn refused(&self, key: &str, refusal: Refusal) -> IoError {
        IoError::Hdf5 {
            path: self.path.clone(),
            key: key.to_owned(),
            refusal: Box::new(refusal),
        }
    }
}

fn replaced() -> Refusal {
    Refusal::Changed
}

fn to_write(path: &Path) -> Result<File, Refusal> {
    let file = OpenOptions::new().read(true).write(true).open(path);
    file.map_err(Refusal::os("open"))
}

fn inode(file: &File) -> Result<(u64, u64), Refusal> {
    let meta = file.metadata().map_err(Refusal::os("look at the file"))?;
    Ok((meta.dev(), meta.ino()))
}

/// Makes a file longer than it says it is, before it says more: a program that opens it looks at its length first, and then at
/// what it says, and refuses one that says more.
fn ahead(file: &File, eof: u64, step: u64) -> Result<(), Refusal> {
    /// Bytes, at least; they take no room.
    const LEAST: u64 = 1 << 20;
    let room = step.saturating_mul(4).max(LEAST);
    let meta = file.metadata().map_err(Refusal::os("look at the file"))?;
    if meta.len() < eof.saturating_add(room / 2) {
        file.set_len(eof.saturating_add(room))
            .map_err(Refusal::os("lengthen"))?;
    }
    Ok(())
}

/// Takes a shared lock on a file that nobody else has locked: others may read it, and not write.
fn lock(file: &File) -> Result<(), Refusal> {
    for operation in [
        FlockOperation::NonBlockingLockExclusive,
        FlockOperation::NonBlockingLockShared,
    ] {
        match flock(file, operation) {
            Ok(()) => {}
            // a file system without locks
            Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {
                return Err(Refusal::Locked {
                    message: "it is open elsewhere".to_owned(),
                });
            }
            Err(error) => return Err(Refusal::os("lock")(error.into())),
        }
    }
    Ok(())
}

/// What is to be known of a dataset to append to it, and where it says so. By rank 0.
fn grows(
    path: &Path,
    key: &str,
    file: &File,
    superblock: &Superblock,
) -> Result<(Told, Header, Tree), Refusal> {
    let (_library, dataset) = opened(path, key)?;
    let len = is_regular(path)?.ok_or(Refusal::NotFound)?.len();
    let found = describe(&dataset, len)?;
    let Storage::Chunked { chunk } = found.storage.clone() else {
        return Err(unsuited("it is not in chunks"));
    };
    let how = how(&dataset)?;
    let filters = filters_of(&how)?;
    let names = names(&dataset)?;
    if names.iter().any(|name| name == verify::SUMS) {
        return Err(unsuited("it has checksums, which would no longer be right"));
    }
    if filters.contains(&Filter::Lzf) {
        return Err(unsuited(
            "its chunks go through the filter lzf, which is only undone",
        ));
    }
    let ty = dataset
        .dtype()
        .map_err(Refusal::library("ask for the element type"))?;
    let max = limit(&dataset)?;
    let address = ffi::header_address(&dataset)?;
    let header = Header::read(file, address, superblock.eof)?;
    if header.chunk != chunk || chunk.len() != found.shape.len() {
        return Err(unsuited("its header says other chunks than the library"));
    }
    let tree = Tree::read(file, header.root(), &chunk, superblock.fan, superblock.eof)?;
    let row = found.shape[0] / chunk[0];
    let tail = tree.row(row).map(|entry| {
        let expected = entry.offset.saturating_add(u64::from(entry.len));
        if expected > superblock.eof {
            return Err(Refusal::Truncated {
                expected,
                found: superblock.eof,
            });
        }
        Ok((
            entry.coords.clone(),
            entry.offset,
            entry.len,
            entry.left_out,
        ))
    });
    let told = Told {
        tail: tail.collect::<Result<_, _>>()?,
        found,
        max,
        chunk,
        filters,
        fill: ffi::fill_value(&how, &ty),
    };
    Ok((told, header, tree))
}

/// Where the chunks of a dataset lie, in C order of their grid: first byte and length. By one rank.
pub(super) fn places(path: &Path, dataset: &Dataset) -> Result<Vec<(u64, u64)>, Refusal> {
    let file = File::open(path).map_err(Refusal::os("open"))?;
    let superblock = Superblock::read(&file)?;
    let header = Header::read(&file, ffi::header_address(dataset)?, superblock.eof)?;
    let chunk = header.chunk.clone();
    let tree = Tree::read(&file, header.root(), &chunk, superblock.fan, superblock.eof)?;
    let places = tree.entries().iter().map(|entry| {
        let len = u64::from(entry.len);
        let expected = entry.offset.saturating_add(len);
        if expected > superblock.eof {
            return Err(Refusal::Truncated {
                expected,
                found: superblock.eof,
            });
        }
        Ok((entry.offset, len))
    });
    places.collect()
}

/// How many rows a dataset may have; `None` where there is no limit.
fn limit(dataset: &Dataset) -> Result<Option<u64>, Refusal> {
    let space = dataset
        .space()
        .map_err(Refusal::library("ask for the shape"))?;
    let extents = space
        .extents()
        .map_err(Refusal::library("ask for the shape"))?;
    match extents.maxdims().first() {
        Some(first) => Ok(first.map(|max| max as u64)),
        None => Err(unsuited("it has no dimensions")),
    }
}

/// How the rows of parts that are distributed like this one reach the ranks that write them. Collective.
fn plan(
    told: &Told,
    dim_data: &DimData,
    item: usize,
    comm: &(impl Communicator + ?Sized),
) -> Result<Plan, IoError> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let parts = metadata::gather(comm, dim_data)?;
    let distribution = metadata::whole(&parts)?;
    let shape = distribution.global_shape().to_vec();
    let steps = &told.found.shape[1..];
    let (lead, rows) = match shape.split_first() {
        _ if shape == steps => (1, 1),
        Some((&rows, rest)) if rest == steps => (0, rows),
        _ => {
            return Err(IoError::Shape {
                given: told.found.shape.clone(),
                allowed: shape,
            });
        }
    };
    // every index is on some rank
    let _ = IoPlan::new(
        &distribution,
        item,
        FileLayout::Contiguous,
        Direction::Write,
    )?;
    let units = |axis: usize| steps[axis].div_ceil(told.chunk[axis + 1]);
    let cut = (0..steps.len()).max_by_key(|&axis| units(axis));
    let mut axes = Vec::with_capacity(shape.len());
    let mut own = Vec::with_capacity(steps.len());
    let mut parts = 1;
    if lead == 0 {
        axes.push(AxisDist::block_bounds([0, rows])?);
    }
    for (axis, &size) in steps.iter().enumerate() {
        let mut bounds = vec![0, size];
        if Some(axis) == cut {
            let units = units(axis).max(1);
            parts = usize::try_from(units).map_or(ranks, |units| units.min(ranks));
            let bound = |at: usize| {
                let unit = u128::from(units) * at as u128 / parts as u128;
                let bound = (unit * u128::from(told.chunk[axis + 1])).min(u128::from(size));
                u64::try_from(bound).unwrap_or(size)
            };
            bounds = (0..=parts).map(bound).collect();
            own.push(match bounds.get(rank..rank + 2) {
                Some(own) => (own[0], own[1]),
                None => (0, 0),
            });
        } else {
            own.push((0, size));
        }
        axes.push(AxisDist::block_bounds(bounds)?);
    }
    let redist = if axes.is_empty() {
        None
    } else {
        let target = Distribution::from_axes(axes, ranks, (0..parts).collect::<Vec<_>>())?;
        let between = Redistribution::between(&distribution, &target);
        Some(agree(comm, between.plan(rank))?)
    };
    let extents = own.iter().map(|(from, to)| to - from);
    let elements = extents.fold(rows, u64::saturating_mul);
    let elements = if rank < parts { elements } else { 0 };
    let elements = usize::try_from(elements).map_err(|_| IoError::Overflow {
        what: "number of elements of a part",
    });
    Ok(Plan {
        dim_data: dim_data.clone(),
        rows,
        redist,
        own,
        elements: agree(comm, elements)?,
    })
}
