//! [`from_file_batched`]: a dataset chunk by chunk, the next one read while this one is worked on.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use dap_protocol::{Element, ElementType, HostArray, copy_bytes_to_elements};

use super::super::source::Source as Dataset;
use super::super::together::refused;
use super::block::{Block, product};
use super::blockwise::Blockwise;
use crate::execute::zeroed;
use crate::{IoError, Limits, Refusal};

/// A chunk, and the global index of its first element.
pub type Batch<T> = (HostArray<T>, Vec<u64>);

/// Reads one dataset of an HDF5 file in chunks of `chunk_size` elements, in C order of the grid of chunks. Local: one rank, or a
/// program without ranks.
///
/// Any dataset is read that [`load_hdf5`](crate::load_hdf5) reads, a chunked or compressed one too: its own chunks are decoded
/// as often as chunks of `chunk_size` meet them, once with [`aligned`](Batches::aligned). One thread decodes, unless
/// [`threads`](Batches::threads) says otherwise: ranks that share the work share the processors too.
///
/// `key` is the full path of one array, as for [`from_file`](crate::legate::from_file), which says what is read of virtual
/// datasets. Nothing is read yet; every [`next`](Iterator::next) gives a chunk and the offsets at which it belongs. Chunks at the
/// upper edges are clipped: an axis of length 5 in chunks of 2 gives 2, 2, 1. A scalar is one chunk, of no dimension; an array
/// without elements has none.
///
/// While a chunk is worked on, the next one is read, by some threads where it is large, straight into the memory that it will be handed over
/// in: two chunks are in memory, with [`within`](Batches::within) perhaps one. Ranks that share the work step over each other's chunks,
/// `batches.skip(rank).step_by(ranks)`: what is stepped over is not read, save for one chunk before the stride is known.
///
/// # Errors
/// [`IoError::Hdf5`] with what is wrong with the file, the name or a part; [`IoError::ElementType`]; [`IoError::Dimensions`] when
/// `chunk_size` has not one entry for each dimension, [`IoError::ChunkExtent`] when one is 0; [`IoError::Overflow`].
/// While reading: [`IoError::Hdf5`], [`Refusal::Changed`] when a part was replaced meanwhile, [`IoError::Memory`], [`IoError::Element`] (its rank is 0, its position that in the chunk); no
/// chunk follows an error.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::legate::{from_file_batched, to_file};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers.h5");
/// let dims = DimData::new(vec![DimDict::whole(5)?, DimDict::whole(3)?]);
/// let numbers = DistBuffer::new(dims, HostArray::new(vec![5, 3], (0..15).collect::<Vec<i64>>())?)?;
/// to_file(&numbers, &path, "/n", &SingleComm::new())?;
///
/// let mut sum = 0;
/// let mut corners = Vec::new();
/// for batch in from_file_batched::<i64>(&path, "/n", &[2, 3])? {
///     let (chunk, offsets) = batch?;
///     sum += chunk.data().iter().sum::<i64>();
///     corners.push(offsets);
/// }
/// assert_eq!(sum, 105);
/// assert_eq!(corners, [[0, 0], [2, 0], [4, 0]]); // the last chunk is 1 x 3
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_file_batched<T: Element>(
    path: impl AsRef<Path>,
    key: &str,
    chunk_size: &[u64],
) -> Result<Batches<T>, IoError> {
    batched(path.as_ref(), key, chunk_size, None)
}

/// As [`from_file_batched`], without the library where there are limits.
pub(in crate::h5) fn batched<T: Element>(
    path: &Path,
    key: &str,
    chunk_size: &[u64],
    limits: Option<&Limits>,
) -> Result<Batches<T>, IoError> {
    let refused = |refusal| refused(path, key, refusal);
    let source = Dataset::alone(path, key, limits)?.without_library();
    let element = source.found.element().map_err(refused)?;
    if source.found.is_enumeration {
        return Err(refused(Refusal::Enumeration));
    }
    if element != T::TYPE {
        return Err(IoError::ElementType {
            given: element,
            allowed: T::TYPE,
        });
    }
    let shape = source.found.shape.clone();
    let grid = Grid::new(&shape, chunk_size, element.size())?;
    let source = Source {
        path: path.to_owned(),
        key: key.to_owned(),
        elements: Blockwise::new(source).map_err(refused)?,
        grid,
    };
    Ok(Batches {
        left: source.grid.chunks,
        source: Arc::new(source),
        next: 0,
        step: 1,
        ahead: None,
        reads_ahead: true,
        spare: Vec::new(),
    })
}

/// How chunks lie in an array.
#[derive(Debug)]
struct Grid {
    shape: Vec<u64>,
    /// Extent of a chunk, no more than that of the array.
    chunk: Vec<u64>,
    /// Chunks per dimension, and of all.
    counts: Vec<u64>,
    chunks: u64,
    /// Bytes of a chunk that is not clipped.
    bytes: u64,
}

impl Grid {
    fn new(shape: &[u64], chunk_size: &[u64], item: usize) -> Result<Self, IoError> {
        if chunk_size.len() != shape.len() {
            return Err(IoError::Dimensions {
                what: "chunk_size",
                given: chunk_size.len(),
                allowed: shape.len(),
            });
        }
        if let Some(axis) = chunk_size.iter().position(|&extent| extent == 0) {
            return Err(IoError::ChunkExtent { axis, given: 0 });
        }
        let fits = product(shape).and_then(|elements| elements.checked_mul(item as u64));
        if fits.and_then(|bytes| i64::try_from(bytes).ok()).is_none() {
            return Err(IoError::Overflow {
                what: "number of bytes of the array",
            });
        }
        let axes = || shape.iter().zip(chunk_size);
        let chunk: Vec<u64> = axes().map(|(&size, &extent)| extent.min(size)).collect();
        let counts: Vec<u64> = axes()
            .map(|(&size, &extent)| size.div_ceil(extent))
            .collect();
        Ok(Self {
            shape: shape.to_vec(),
            // each is no more than the array's
            bytes: product(&chunk).unwrap_or(0) * item as u64,
            chunks: product(&counts).unwrap_or(0),
            chunk,
            counts,
        })
    }

    /// The chunk of a number, in C order of the grid.
    fn block(&self, number: u64) -> Block {
        let mut rest = number;
        let mut start = vec![0; self.shape.len()];
        for (axis, &count) in self.counts.iter().enumerate().rev() {
            start[axis] = rest % count * self.chunk[axis];
            rest /= count;
        }
        let left = self
            .shape
            .iter()
            .zip(&start)
            .map(|(size, start)| size - start);
        let shape = left.zip(&self.chunk).map(|(left, &chunk)| left.min(chunk));
        let shape = shape.collect();
        Block::new(start, shape)
    }
}

/// What is read from.
#[derive(Debug)]
struct Source {
    path: PathBuf,
    key: String,
    elements: Blockwise,
    grid: Grid,
}

impl Source {
    /// Reads a chunk, into the memory of another one where that is large enough.
    fn read<T: Element>(&self, number: u64, spare: Vec<T>) -> Result<Batch<T>, IoError> {
        let block = self.grid.block(number);
        let extents = block.shape.iter().map(|&extent| usize::try_from(extent));
        let too_large = |_| IoError::Overflow {
            what: "number of elements of a chunk",
        };
        let shape = extents.collect::<Result<Vec<_>, _>>().map_err(too_large)?;
        let elements = block.elements().and_then(|n| usize::try_from(n).ok());
        let elements = elements.unwrap_or(usize::MAX);
        let mut chunk = if spare.capacity() < elements {
            drop(spare);
            zeroed(elements)?
        } else {
            let mut chunk = spare;
            chunk.resize(elements, T::default());
            chunk
        };
        let mut checked: Vec<u8> = match T::bytes_mut(&mut chunk) {
            Some(_) => Vec::new(),
            None => zeroed(elements)?, // `bool`: bytes are looked at before they are elements
        };
        let bytes = T::bytes_mut(&mut chunk).unwrap_or(&mut checked);
        let read = self.elements.read(&block, bytes, threads(bytes.len()));
        read.map_err(|refusal| refused(&self.path, &self.key, refusal))?;
        if T::TYPE == ElementType::Bool {
            if let Some(position) = checked.iter().position(|&byte| byte > 1) {
                return Err(IoError::Element {
                    rank: 0,
                    position: position as u64,
                    element: T::TYPE,
                });
            }
            copy_bytes_to_elements(&checked, &mut chunk).expect("as many bytes, each 0 or 1");
        }
        Ok((HostArray::new(shape, chunk)?, block.start))
    }
}

/// Bytes that are worth a thread of their own: to start one takes as long as to read some of them.
const A_THREAD: usize = 4 << 20;

/// Threads that read a chunk of so many bytes: from memory, and from fast disks, one alone is slower.
fn threads(bytes: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    processors.min(4).min(bytes / A_THREAD).max(1)
}

/// A chunk that a thread is reading, and its number.
type Ahead<T> = (u64, JoinHandle<Result<Batch<T>, IoError>>);

/// The chunks of a dataset, by [`from_file_batched`].
#[derive(Debug)]
#[must_use = "chunks are read when they are asked for"]
pub struct Batches<T> {
    source: Arc<Source>,
    /// The number of the next chunk, how many are left from it on, and how far apart the last two were.
    next: u64,
    left: u64,
    step: u64,
    ahead: Option<Ahead<T>>,
    reads_ahead: bool,
    /// The memory of a chunk that was given back.
    spare: Vec<T>,
}

impl<T: Element> Batches<T> {
    /// The shape of the dataset, in elements.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        &self.source.grid.shape
    }

    /// Keeps chunks in memory to `bytes`: the one that was handed over and the one that is read meanwhile. Where there is no room
    /// for two, none is read ahead.
    ///
    /// # Errors
    /// [`IoError::Budget`] when there is no room for one.
    pub fn within(mut self, bytes: u64) -> Result<Self, IoError> {
        // the bytes of `bool` are looked at before they are elements
        let copies = if T::TYPE == ElementType::Bool { 2 } else { 1 };
        let chunk = self.source.grid.bytes.saturating_mul(copies);
        if chunk > bytes {
            return Err(IoError::Budget {
                given: chunk,
                allowed: bytes,
            });
        }
        self.reads_ahead = chunk.saturating_mul(2) <= bytes;
        Ok(self)
    }

    /// Makes chunks as large as whole chunks of the file, so that none of those is decoded twice: every extent is rounded up to
    /// a multiple of theirs. A dataset that is not in chunks is read as it was going to be. Before the first chunk, and before
    /// [`within`](Self::within).
    ///
    /// ```
    /// # use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    /// # use dist_comm::SingleComm;
    /// use dist_io::SaveHdf5;
    /// use dist_io::legate::from_file_batched;
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// # let numbers = DistBuffer::new(DimData::new(vec![DimDict::whole(10)?]), HostArray::new(vec![10], vec![1_u8; 10])?)?;
    /// SaveHdf5::new(&path).key("n").chunk([4]).deflate(4).save(&numbers, &SingleComm::new())?;
    /// let batches = from_file_batched::<u8>(&path, "n", &[5])?.aligned()?;
    /// let extents = batches.map(|batch| Ok::<_, dist_io::IoError>(batch?.0.data().len()));
    /// assert_eq!(extents.collect::<Result<Vec<_>, _>>()?, [8, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`IoError::Overflow`].
    pub fn aligned(mut self) -> Result<Self, IoError> {
        let item = size_of::<T>();
        if let Some(source) = Arc::get_mut(&mut self.source)
            && let Some(chunk) = source.elements.chunk()
        {
            let both = source.grid.chunk.iter().zip(chunk);
            let extents = both.map(|(&asked, &chunk)| {
                let extent = asked.max(1).checked_next_multiple_of(chunk.max(1));
                extent.ok_or(IoError::Overflow {
                    what: "extent of a chunk",
                })
            });
            let extents = extents.collect::<Result<Vec<u64>, _>>()?;
            source.grid = Grid::new(&source.grid.shape, &extents, item)?;
            self.left = source.grid.chunks;
        }
        Ok(self)
    }

    /// Decodes the chunks of the file by so many threads. Before the first chunk.
    pub fn threads(mut self, threads: NonZero<usize>) -> Self {
        if let Some(source) = Arc::get_mut(&mut self.source) {
            source.elements.set_threads(threads);
        }
        self
    }

    /// Gives a chunk back, so that a later one is read into its memory: new memory takes the system about as long as reading.
    ///
    /// ```
    /// # use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    /// # use dist_comm::SingleComm;
    /// # use dist_io::legate::{from_file_batched, to_file};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// # let numbers = DistBuffer::new(DimData::new(vec![DimDict::whole(5)?]), HostArray::new(vec![5], vec![1_u8; 5])?)?;
    /// # to_file(&numbers, &path, "/n", &SingleComm::new())?;
    /// let mut batches = from_file_batched::<u8>(&path, "/n", &[2])?;
    /// let mut sum = 0;
    /// while let Some(batch) = batches.next() {
    ///     let (chunk, _) = batch?;
    ///     sum += chunk.data().iter().sum::<u8>();
    ///     batches.recycle(chunk);
    /// }
    /// assert_eq!(sum, 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recycle(&mut self, chunk: HostArray<T>) {
        let (_, elements, _) = chunk.into_parts();
        if elements.capacity() > self.spare.capacity() {
            self.spare = elements;
        }
    }

    /// Waits for the thread that reads ahead, if there is one; its chunk, if it is this one.
    fn taken(&mut self, number: u64) -> Option<Result<Batch<T>, IoError>> {
        let (ahead, thread) = self.ahead.take()?;
        match thread.join() {
            Ok(batch) => (ahead == number).then_some(batch),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn begin(&mut self, number: u64) {
        let source = Arc::clone(&self.source);
        let spare = std::mem::take(&mut self.spare);
        let thread = thread::Builder::new().name("dist-io read ahead".to_owned());
        // without a thread the chunk is read when it is asked for
        if let Ok(thread) = thread.spawn(move || source.read(number, spare)) {
            self.ahead = Some((number, thread));
        }
    }
}

impl<T: Element> Iterator for Batches<T> {
    type Item = Result<Batch<T>, IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.nth(0)
    }

    /// The chunk after `n` others, which are not read.
    fn nth(&mut self, n: usize) -> Option<Self::Item> {
        let n = n as u64;
        if n >= self.left {
            self.left = 0;
            return None;
        }
        let number = self.next + n;
        if self.next > 0 {
            self.step = n + 1;
        }
        self.next = number + 1;
        self.left -= n + 1;
        let taken = self.taken(number);
        let batch = match taken {
            Some(batch) => batch,
            None => self.source.read(number, std::mem::take(&mut self.spare)),
        };
        if batch.is_err() {
            self.left = 0;
        } else if self.reads_ahead && self.left >= self.step {
            self.begin(number + self.step);
        }
        Some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.left);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

impl<T: Element> std::iter::FusedIterator for Batches<T> {}

impl<T> Drop for Batches<T> {
    /// Waits for the thread that reads ahead: it does not outlive what it reads for.
    fn drop(&mut self) {
        if let Some((_, thread)) = self.ahead.take() {
            // what it read, or why it could not, nobody wants any more
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_clipped() {
        let grid = Grid::new(&[5, 3], &[2, 9], 8).unwrap();
        let blocks: Vec<Block> = (0..grid.chunks).map(|number| grid.block(number)).collect();
        let rows = [(0, 2), (2, 2), (4, 1)];
        let expected = rows.map(|(start, rows)| Block::new(vec![start, 0], vec![rows, 3]));
        assert_eq!(blocks, expected);
        assert_eq!(grid.bytes, 48);
        assert_eq!(Grid::new(&[], &[], 8).unwrap().chunks, 1);
        assert_eq!(Grid::new(&[0, 3], &[1, 1], 8).unwrap().chunks, 0);
        let error = Grid::new(&[1 << 40, 1 << 40], &[1, 1], 8).unwrap_err();
        assert!(matches!(error, IoError::Overflow { .. }));
    }
}
