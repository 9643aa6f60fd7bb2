//! Reading chunks: from where they lie, or through the library, and from there into a rank's buffer.

use std::convert::Infallible;
use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use dap_protocol::DimData;
use dist_comm::agree::agree;
use dist_comm::{CommError, Communicator, SharedFile};
use dist_maps::Distribution;
use hdf5_metno as hdf5;
use hdf5_metno::{Dataspace, Hyperslab, SliceOrIndex};

use super::filter::{Scratch, Undone, is_left_out, reserve};
use super::pieces::ChunkPieces;
use super::threads::{in_threads, locked, threads};
use super::{ChunkProblem, Chunks, Place, in_memory};
use crate::execute::{NO_EXCHANGE, exchange, room};
use crate::h5::together::settle;
use crate::h5::{Refusal, ffi};
use crate::part::Extent;
use crate::plan::LONG_RUN;
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, Strategy};

/// A file that all ranks have open, its name, and the dataset's.
pub(in crate::h5) struct Open<'a> {
    pub(in crate::h5) path: &'a Path,
    pub(in crate::h5) key: &'a str,
    pub(in crate::h5) file: &'a dyn SharedFile,
    /// The dataset, where this rank has it open: all have where the library has to find the chunks.
    pub(in crate::h5) library: Option<&'a hdf5::Dataset>,
    /// Threads of this rank, where somebody said how many.
    pub(in crate::h5) threads: Option<NonZero<usize>>,
}

/// Reads what every rank stores of a chunked dataset into its buffer, elements of `item` bytes. Collective.
///
/// With a distribution, ranks whose chunks are shared read slabs of whole chunks, so that each is decoded once, and exchange them.
pub(in crate::h5) fn load(
    comm: &(impl Communicator + ?Sized),
    open: &Open<'_>,
    chunks: &Chunks,
    distribution: Option<&Distribution>,
    dim_data: &DimData,
    item: usize,
    elements: &mut [u8],
) -> Result<IoReport, IoError> {
    let rank = comm.rank();
    let settled = |outcome: Result<(), Refusal>| settle(comm, open.path, open.key, outcome);
    let shaped = in_memory(&chunks.chunk, chunks.shape.len(), item);
    let (chunk, bytes) = settle(comm, open.path, open.key, shaped)?;
    let reader = Reader {
        file: open.file,
        library: open.library.filter(|_| chunks.needs_library()),
        chunks,
        item,
        extents: chunk.clone(),
        bytes,
        threads: open
            .threads
            .map_or_else(|| threads(comm.size()), NonZero::get),
        file_bytes: AtomicU64::new(0),
        requests: AtomicU64::new(0),
    };
    let pieces = |dim_data: &DimData, extent| ChunkPieces::new(dim_data, &chunk, item, extent);
    let Some(distribution) = distribution else {
        let pieces = agree(comm, pieces(dim_data, Extent::Stored))?;
        settled(reader.read(&pieces, elements))?;
        return Ok(reader.report(Strategy::Direct));
    };
    let layout = FileLayout::Chunked {
        chunk: chunks.chunk.clone(),
    };
    let mut plan = IoPlan::new(distribution, item, layout, Direction::Read)?;
    if chunks.filters.is_empty() && !chunks.needs_library() {
        plan = plan.with_plain_chunks()?;
    }
    match plan.strategy() {
        Strategy::Direct => {
            let pieces = agree(comm, own(distribution, rank, |d| pieces(d, Extent::Stored)))?;
            settled(reader.read(&pieces, elements))?;
            Ok(reader.report(Strategy::Direct))
        }
        Strategy::TwoPhase => {
            let redist = agree(comm, plan.exchange(rank))?.ok_or(NO_EXCHANGE)?;
            let pieces = agree(comm, own(plan.slabs(), rank, |d| pieces(d, Extent::Owned)))?;
            let requests = agree(comm, plan.requests(rank))?;
            let mut slab = agree(comm, room(requests.elements(), item))?;
            settled(reader.read(&pieces, &mut slab))?;
            let mut report = reader.report(Strategy::TwoPhase);
            report.exchanged_bytes = exchange::exchange(comm, &redist, item, &slab, elements)?;
            Ok(report)
        }
    }
}

/// The pieces of a rank's part, none where it has no place in the grid.
pub(super) fn own(
    distribution: &Distribution,
    rank: usize,
    pieces: impl FnOnce(&DimData) -> Result<ChunkPieces, IoError>,
) -> Result<ChunkPieces, IoError> {
    if distribution.grid_rank(rank).is_none() {
        return Ok(ChunkPieces::nothing());
    }
    pieces(&distribution.dim_data(rank)?)
}

/// How one rank reads chunks.
struct Reader<'a> {
    file: &'a dyn SharedFile,
    /// Where the library has to find the chunks.
    library: Option<&'a hdf5::Dataset>,
    chunks: &'a Chunks,
    item: usize,
    /// Elements of a chunk per dimension, and its bytes.
    extents: Vec<usize>,
    bytes: usize,
    threads: usize,
    /// What was read so far, by all threads.
    file_bytes: AtomicU64,
    requests: AtomicU64,
}

impl Reader<'_> {
    /// What was read of the file.
    fn report(&self, strategy: Strategy) -> IoReport {
        let mut report = IoReport::begun(strategy, 0);
        report.file_bytes = self.file_bytes.load(Ordering::Relaxed);
        report.requests = self.requests.load(Ordering::Relaxed);
        report
    }

    /// Takes note of a read.
    fn count(&self, bytes: usize) {
        self.file_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads all chunks of a part. Local.
    fn read(&self, pieces: &ChunkPieces, elements: &mut [u8]) -> Result<(), Refusal> {
        let end = self.file.len().map_err(refused)?;
        let elements = Mutex::new(elements);
        // without filters there is nothing to do beside reading
        let threads = if self.chunks.filters.is_empty() {
            1
        } else {
            self.threads
        };
        in_threads(threads, 0..pieces.count(), &|number, scratch| {
            self.one(pieces, &pieces.at(number), end, scratch, &elements)
        })
    }

    /// Reads one chunk of a file that ends at byte `end`.
    fn one(
        &self,
        pieces: &ChunkPieces,
        at: &[usize],
        end: u64,
        scratch: &mut Scratch,
        elements: &Mutex<&mut [u8]>,
    ) -> Result<(), Refusal> {
        let chunks = self.chunks;
        let coords = pieces.coords(at);
        let origin = chunks.origin(&coords);
        let wrong = |offset, problem| Refusal::Chunk {
            origin: origin.clone(),
            offset,
            problem,
        };
        if let (Some(dataset), true) = (self.library, chunks.by_library) {
            scratch.zeros(self.bytes)?;
            self.through(dataset, &origin, &mut scratch.bytes)?;
            self.count(self.bytes);
            place(pieces, at, &scratch.bytes, elements);
            return Ok(());
        }
        scratch.bytes.clear();
        let (offset, left_out) = match (self.library, chunks.place(&coords)) {
            (Some(dataset), _) => {
                match ffi::read_chunk(dataset, &origin, end, &mut scratch.bytes)? {
                    Some(left_out) => {
                        self.count(scratch.bytes.len());
                        (None, left_out)
                    }
                    None => return self.fill(pieces, at, elements),
                }
            }
            (None, None) if chunks.needs_library() => {
                return Err(Refusal::Library {
                    operation: "find the chunks".to_owned(),
                    message: "this rank does not have the dataset open".to_owned(),
                });
            }
            (None, None) => return self.fill(pieces, at, elements),
            (None, Some(place)) => {
                let offset = Some(place.offset);
                let is_raw = self.is_raw(place.left_out, &coords);
                let checked = self.check(place, is_raw, end);
                checked.map_err(|problem| wrong(offset, problem))?;
                if is_raw && pieces.run(at) as u64 >= LONG_RUN {
                    return self.straight(pieces, at, place, &mut locked(elements));
                }
                self.fetch(place, &mut scratch.bytes)?;
                (offset, place.left_out)
            }
        };
        let left_out = if chunks.raw_edges && chunks.is_edge(&coords) {
            u32::MAX
        } else {
            left_out
        };
        let decoded = scratch.decode(&chunks.filters, left_out, self.item, self.bytes);
        decoded.map_err(|undone| match undone {
            Undone::Problem(problem) => wrong(offset, problem),
            Undone::Refused(refusal) => refusal,
        })?;
        place(pieces, at, &scratch.bytes, elements);
        Ok(())
    }

    /// Reads a chunk through the library, which undoes the filters; what reaches beyond the array stays as it is.
    fn through(
        &self,
        dataset: &hdf5::Dataset,
        origin: &[u64],
        bytes: &mut [u8],
    ) -> Result<(), Refusal> {
        let ask = Refusal::library;
        let ty = dataset.dtype().map_err(ask("ask for the element type"))?;
        let space = dataset.space().map_err(ask("ask for the shape"))?;
        let (mut in_file, mut in_memory) = (Vec::new(), Vec::new());
        let axes = origin.iter().zip(&self.extents).zip(&self.chunks.shape);
        for ((&start, &step), &size) in axes {
            // within an array that the library has in its own numbers
            let to_index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
            let len = step.min(to_index(size.saturating_sub(start)));
            let start = to_index(start);
            in_file.push(SliceOrIndex::from(start..start.saturating_add(len)));
            in_memory.push(SliceOrIndex::from(0..len));
        }
        let file = space.select(Hyperslab::from(in_file));
        let file = file.map_err(ask("select a chunk"))?;
        let memory = Dataspace::try_new(self.extents.as_slice())
            .and_then(|memory| memory.select(Hyperslab::from(in_memory)));
        let memory = memory.map_err(ask("select a chunk"))?;
        ffi::read_box(dataset, &ty, (&file, &memory), bytes)
    }

    /// Checks a place before anything is read there.
    fn check(&self, place: Place, is_raw: bool, end: u64) -> Result<(), ChunkProblem> {
        let expected = place.offset.saturating_add(place.len);
        if expected > end {
            return Err(ChunkProblem::Truncated {
                expected,
                found: end,
            });
        }
        if is_raw && place.len != self.bytes as u64 {
            return Err(ChunkProblem::Length {
                given: place.len,
                allowed: self.bytes as u64,
            });
        }
        Ok(())
    }

    /// Puts the fill value where a chunk is nowhere.
    fn fill(
        &self,
        pieces: &ChunkPieces,
        at: &[usize],
        elements: &Mutex<&mut [u8]>,
    ) -> Result<(), Refusal> {
        let mut elements = locked(elements);
        pieces.each(at, &mut |_, to, len| {
            let items = elements[to..to + len].chunks_exact_mut(self.item);
            items.for_each(|item| item.copy_from_slice(&self.chunks.fill));
            Ok(())
        })
    }

    /// Whether a chunk went through no filter.
    fn is_raw(&self, left_out: u32, coords: &[u64]) -> bool {
        let chunks = self.chunks;
        let filters = 0..chunks.filters.len();
        filters.into_iter().all(|i| is_left_out(left_out, i))
            || (chunks.raw_edges && chunks.is_edge(coords))
    }

    /// Reads a chunk as it is in the file, which holds all of it.
    fn fetch(&self, place: Place, bytes: &mut Vec<u8>) -> Result<(), Refusal> {
        let len = usize::try_from(place.len).map_err(|_| Refusal::Memory { bytes: place.len })?;
        reserve(bytes, len)?;
        bytes.resize(len, 0);
        self.count(len);
        self.file.read_at(place.offset, bytes).map_err(refused)
    }

    /// Reads the long runs of a chunk without filters straight to where they belong.
    fn straight(
        &self,
        pieces: &ChunkPieces,
        at: &[usize],
        place: Place,
        elements: &mut [u8],
    ) -> Result<(), Refusal> {
        pieces.each(at, &mut |from, to, len| {
            let target: Range<usize> = to..to + len;
            self.count(len);
            let read = self
                .file
                .read_at(place.offset + from as u64, &mut elements[target]);
            read.map_err(refused)
        })
    }
}

/// Copies the elements of a chunk to where they belong.
fn place(pieces: &ChunkPieces, at: &[usize], bytes: &[u8], elements: &Mutex<&mut [u8]>) {
    let mut elements = locked(elements);
    let Ok(()) = pieces.each(at, &mut |from, to, len| {
        elements[to..to + len].copy_from_slice(&bytes[from..from + len]);
        Ok::<_, Infallible>(())
    });
}

/// An error of a file as a refusal.
pub(super) fn refused(error: CommError) -> Refusal {
    match error {
        CommError::File {
            operation, message, ..
        } => Refusal::Os {
            operation: operation.to_string(),
            message,
        },
        other => Refusal::Os {
            operation: "use the file".to_owned(),
            message: other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use dist_comm::{FileMode, SharedFileOps, SingleComm};
    use hdf5_metno::dataset::ChunkOpts;
    use hdf5_metno::file::LibraryVersion;

    use super::*;
    use crate::{inspect_hdf5, load_hdf5};

    /// No other program here makes such chunks.
    #[test]
    fn edges_may_be_left_out_of_the_filters() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("edges.h5");
        let numbers: Vec<i32> = (0..10).map(|i| i / 3).collect();
        let file = hdf5::File::with_options()
            .with_fapl(|access| access.libver_bounds(LibraryVersion::V110, LibraryVersion::V110))
            .create(&path)
            .unwrap();
        for (name, opts) in [
            ("raw", ChunkOpts::DONT_FILTER_PARTIAL_CHUNKS),
            ("filtered", ChunkOpts::empty()),
        ] {
            let builder = file.new_dataset_builder().chunk(4).deflate(4).fletcher32();
            let builder = builder.chunk_opts(opts).with_data(&numbers);
            builder.create(name).unwrap();
        }
        file.close().unwrap();
        let whole = Distribution::over(1).shape([10]).build().unwrap();
        for name in ["raw", "filtered"] {
            let part = load_hdf5::<i32>(&path, &whole, name, &SingleComm::new()).unwrap();
            assert_eq!(part.buffer().data(), numbers, "{name}");
        }
    }

    #[test]
    fn chunks_that_only_the_library_finds_are_not_taken_to_be_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("many.h5");
        let numbers: Vec<u8> = (0..2000_u16).map(|i| i.to_le_bytes()[0]).collect();
        let file = hdf5::File::create(&path).unwrap();
        let builder = file.new_dataset_builder().chunk(1).with_data(&numbers);
        let dataset = builder.create("a").unwrap();
        file.flush().unwrap();
        let chunks = Chunks::of(&file, &dataset, &[2000], vec![0]).unwrap();
        assert!(chunks.needs_library());
        let comm = SingleComm::new();
        let shared = comm.open_shared(&path, FileMode::Read).unwrap();
        let whole = Distribution::over(1).shape([2000]).build().unwrap();
        let loaded = |library| {
            let open = Open {
                path: &path,
                key: "a",
                file: &*shared,
                library,
                threads: None,
            };
            let (dim_data, mut read) = (whole.dim_data(0).unwrap(), vec![7; 2000]);
            load(&comm, &open, &chunks, None, &dim_data, 1, &mut read).map(|_| read)
        };
        assert_eq!(loaded(Some(&dataset)), Ok(numbers));
        let refused = loaded(None).unwrap_err().to_string();
        assert!(refused.contains("find the chunks"), "{refused}");
    }

    #[test]
    fn other_filters_are_left_to_the_library() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nbit.h5");
        let file = hdf5::File::create(&path).unwrap();
        let builder = file.new_dataset_builder().chunk(4).shuffle().nbit();
        let numbers: Vec<i32> = (0..10).collect();
        builder.with_data(&numbers).create("a").unwrap();
        file.close().unwrap();
        let whole = Distribution::over(1).shape([10]).build().unwrap();
        let part = load_hdf5::<i32>(&path, &whole, "a", &SingleComm::new()).unwrap();
        assert_eq!(part.buffer().data(), numbers);
        assert_eq!(
            inspect_hdf5(&path, "a").unwrap().filters,
            ["shuffle", "nbit"]
        );
    }
}
