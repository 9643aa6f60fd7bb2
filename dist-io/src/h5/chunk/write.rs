//! Writing chunks: to room that was made for all of them, or coded, through rank 0.

use std::path::Path;
use std::sync::Mutex;

use dap_protocol::{DimData, DimDict};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, ReduceOp, SharedFile, SingleComm};
use hdf5_metno as hdf5;

use super::filter::{Filter, reserve};
use super::pieces::ChunkPieces;
use super::read::{Open, own, refused};
use super::threads::{in_threads, locked, threads};
use super::{Chunks, Place, in_memory, number, origin};
use crate::execute::{NO_EXCHANGE, exchange, room};
use crate::h5::together::{refusal, settle};
use crate::h5::{Refusal, ffi};
use crate::part::Extent;
use crate::plan::LONG_RUN;
use crate::{FileLayout, IoError, IoPlan, IoReport, Strategy};

/// Bytes of chunks that rank 0 is sent at once, or one chunk. Chosen, not measured.
const ROUND: usize = 64 << 20;

/// Where the chunks go.
pub(in crate::h5) enum Target<'a> {
    /// To their places in a file.
    Places(&'a dyn SharedFile, Vec<Place>),
    /// To rank 0, which has the dataset and gives them to the library.
    Rank0(Option<&'a hdf5::Dataset>),
}

/// Writes what every rank owns of a chunked dataset, whose chunks go through these filters. Collective.
///
/// Where the elements are records of so many bytes, these bytes are the last dimension of the plan, and the dataset has the others.
pub(in crate::h5) fn save(
    comm: &(impl Communicator + ?Sized),
    (path, key): (&Path, &str),
    plan: &IoPlan,
    (filters, record): (&[Filter], Option<usize>),
    target: &Target<'_>,
    elements: &[u8],
) -> Result<IoReport, IoError> {
    let (rank, item) = (comm.rank(), plan.item_size());
    let mut report = IoReport::begun(plan.strategy(), 0);
    let FileLayout::Chunked { chunk } = plan.layout() else {
        return Ok(report);
    };
    let shape = plan.distribution().global_shape().to_vec();
    let (extents, bytes) = settle(comm, path, key, in_memory(chunk, shape.len(), item))?;
    let pieces = |dim_data: &DimData| ChunkPieces::new(dim_data, &extents, item, Extent::Owned);
    let mut slab = Vec::new();
    let (pieces, elements) = match plan.strategy() {
        Strategy::Direct => (
            agree(comm, own(plan.distribution(), rank, pieces))?,
            elements,
        ),
        Strategy::TwoPhase => {
            let redist = agree(comm, plan.exchange(rank))?.ok_or(NO_EXCHANGE)?;
            let requests = agree(comm, plan.requests(rank))?;
            slab = agree(comm, room(requests.elements(), item))?;
            report.exchanged_bytes = exchange::exchange(comm, &redist, item, elements, &mut slab)?;
            (agree(comm, own(plan.slabs(), rank, pieces))?, &slab[..])
        }
    };
    let ndim = shape.len().saturating_sub(usize::from(record.is_some()));
    let writer = Writer {
        pieces: &pieces,
        elements,
        shape: &shape[..ndim],
        chunk: &chunk[..ndim],
        item: record.unwrap_or(item),
        bytes,
        known: None,
        shares: plan.shares_chunks(),
    };
    match target {
        Target::Places(file, places) => {
            settle(comm, path, key, writer.in_place(*file, places, &mut report))?;
        }
        Target::Rank0(dataset) => {
            let outcome = writer.by_rank_0(comm, ROUND, filters, *dataset, &mut report)?;
            settle(comm, path, key, outcome)?;
        }
    }
    drop(slab);
    Ok(report)
}

/// Writes whole chunks of a dataset that is there, `elements` being those of `dim_data`, which no other rank has chunks of. Rank 0
/// has the dataset open; the file is that of all ranks. Collective.
pub(in crate::h5) fn overwrite(
    comm: &(impl Communicator + ?Sized),
    open: &Open<'_>,
    dataset: Option<&hdf5::Dataset>,
    chunks: &Chunks,
    (dim_data, item): (&DimData, usize),
    elements: &[u8],
    report: &mut IoReport,
) -> Result<(), IoError> {
    let (path, key) = (open.path, open.key);
    let shaped = in_memory(&chunks.chunk, chunks.shape.len(), item);
    let (extents, bytes) = settle(comm, path, key, shaped)?;
    let pieces = agree(
        comm,
        ChunkPieces::new(dim_data, &extents, item, Extent::Owned),
    )?;
    let writer = Writer {
        pieces: &pieces,
        elements,
        shape: &chunks.shape,
        chunk: &chunks.chunk,
        item,
        bytes,
        known: Some(chunks),
        shares: false,
    };
    let has_place = |index| {
        let place = chunks.place(&pieces.coords(&pieces.at(index)));
        place.is_some_and(|place| place.len == bytes as u64)
    };
    let raw = chunks.filters.is_empty() && (0..pieces.count()).all(has_place);
    let all = comm.all_gather_value(u8::from(raw))?;
    if let (Some(places), true) = (&chunks.places, all.iter().all(|&raw| raw == 1)) {
        return settle(comm, path, key, writer.in_place(open.file, places, report));
    }
    let outcome = writer.by_rank_0(comm, ROUND, &chunks.filters, dataset, report)?;
    settle(comm, path, key, outcome)
}

/// Writes the chunks of a piece of an array of `(shape, chunk, bytes an element)`, which is made of whole ones; coded at once are
/// those of about `most` bytes. Local.
pub(in crate::h5) fn save_piece(
    (shape, chunk, item): (&[u64], &[u64], usize),
    filters: &[Filter],
    target: &Target<'_>,
    (dim_data, elements): (&DimData, &[u8]),
    most: usize,
) -> Result<Result<(), Refusal>, IoError> {
    let (extents, bytes) = match in_memory(chunk, shape.len(), item) {
        Ok(found) => found,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let pieces = ChunkPieces::new(dim_data, &extents, item, Extent::Owned)?;
    let writer = Writer {
        pieces: &pieces,
        elements,
        shape,
        chunk,
        item,
        bytes,
        known: None,
        shares: false,
    };
    let mut report = IoReport::begun(Strategy::Direct, 0);
    match target {
        Target::Places(file, places) => Ok(writer.in_place(*file, places, &mut report)),
        Target::Rank0(dataset) => {
            let alone = SingleComm::new();
            writer.by_rank_0(&alone, most, filters, *dataset, &mut report)
        }
    }
}

/// Writes all elements of a chunked dataset, C order, through these filters and with so many threads. Local: this process has made it.
/// Before the library gets chunks, there has to be `room` for so many bytes more.
pub(in crate::h5) fn save_alone(
    (dataset, room): (&hdf5::Dataset, &dyn Fn(u64) -> Result<(), Refusal>),
    (shape, item): (&[u64], usize),
    (chunk, filters): (&[u64], &[Filter]),
    threads: usize,
    elements: &[u8],
    report: &mut IoReport,
) -> Result<(), Refusal> {
    let (extents, bytes) = in_memory(chunk, shape.len(), item)?;
    let whole = shape.iter().map(|&size| DimDict::whole(size));
    let whole = whole.collect::<Result<Vec<_>, _>>();
    let whole = DimData::new(whole.map_err(|error| refusal(error.into()))?);
    let pieces = ChunkPieces::new(&whole, &extents, item, Extent::Owned).map_err(refusal)?;
    let writer = Writer {
        pieces: &pieces,
        elements,
        shape,
        chunk,
        item,
        bytes,
        known: None,
        shares: false,
    };
    let batch = (ROUND / bytes).max(1) as u64;
    let mut first = 0;
    while first < pieces.count() {
        let end = first.saturating_add(batch).min(pieces.count());
        let all = writer.coded(first..end, filters, threads)?;
        room(all.iter().map(|coded| coded.bytes.len() as u64).sum())?;
        for coded in all {
            report.requests += 1;
            report.file_bytes += coded.bytes.len() as u64;
            writer.hand_over(dataset, &coded.coords, coded.left_out, &coded.bytes)?;
        }
        first = end;
    }
    Ok(())
}

/// How one rank writes chunks.
struct Writer<'a> {
    pieces: &'a ChunkPieces,
    elements: &'a [u8],
    /// Elements per dimension of the dataset and of a chunk, and bytes of an element.
    shape: &'a [u64],
    chunk: &'a [u64],
    item: usize,
    /// Bytes of a chunk.
    bytes: usize,
    /// The chunks that are there, where some may be.
    known: Option<&'a Chunks>,
    /// Whether other ranks have elements of the same chunks.
    shares: bool,
}

impl Writer<'_> {
    /// Gathers a chunk; what reaches beyond the array stays as it is.
    fn gather(&self, at: &[usize], bytes: &mut [u8]) {
        let Ok(()) = self.pieces.each(at, &mut |from, to, len| {
            bytes[from..from + len].copy_from_slice(&self.elements[to..to + len]);
            Ok::<_, std::convert::Infallible>(())
        });
    }

    /// Writes each chunk to its place. Local.
    fn in_place(
        &self,
        file: &dyn SharedFile,
        places: &[Place],
        report: &mut IoReport,
    ) -> Result<(), Refusal> {
        let mut whole = Vec::new();
        for index in 0..self.pieces.count() {
            let at = self.pieces.at(index);
            let coords = self.pieces.coords(&at);
            let number = number(self.shape, self.chunk, &coords);
            let place = places.binary_search_by_key(&number, |place| place.number);
            let place = place.ok().map(|at| places[at]);
            let Some(place) = place.filter(|place| place.len == self.bytes as u64) else {
                return Err(Refusal::Library {
                    operation: "make room for the chunks".to_owned(),
                    message: format!("chunk {number} has no place"),
                });
            };
            let long = || self.pieces.run(&at) as u64 >= LONG_RUN && self.pieces.is_whole(&at);
            if self.shares || long() {
                self.pieces.each(&at, &mut |from, to, len| {
                    let bytes = &self.elements[to..to + len];
                    report.requests += 1;
                    report.file_bytes += bytes.len() as u64;
                    file.write_at(place.offset + from as u64, bytes)
                        .map_err(refused)
                })?;
            } else {
                whole.clear();
                reserve(&mut whole, self.bytes)?;
                whole.resize(self.bytes, 0);
                self.gather(&at, &mut whole);
                report.requests += 1;
                report.file_bytes += place.len;
                file.write_at(place.offset, &whole).map_err(refused)?;
            }
        }
        Ok(())
    }

    /// Codes chunks and sends them to rank 0, no more than `most` bytes at once where that can be. Collective; what went wrong is returned when all is done,
    /// so that no rank waits for another in vain.
    fn by_rank_0(
        &self,
        comm: &(impl Communicator + ?Sized),
        most: usize,
        filters: &[Filter],
        dataset: Option<&hdf5::Dataset>,
        report: &mut IoReport,
    ) -> Result<Result<(), Refusal>, IoError> {
        let (rank, ranks) = (comm.rank(), comm.size());
        let count = self.pieces.count();
        let batch = (most / ranks / self.bytes).max(1) as u64;
        let rounds = comm.all_reduce_value(count.div_ceil(batch), ReduceOp::Max)?;
        let threads = threads(ranks);
        // where even one chunk of each is too much, they come a few ranks at a time
        let at_once = (most / self.bytes).clamp(1, ranks);
        let groups = if batch > 1 {
            1
        } else {
            ranks.div_ceil(at_once)
        };
        let mut outcome = Ok(());
        for round in 0..rounds {
            // when one has failed, the others need not go on
            let failed = u64::from(outcome.is_err());
            if round > 0 && comm.all_reduce_value(failed, ReduceOp::Max)? > 0 {
                break;
            }
            let first = (round * batch).min(count);
            let end = first.saturating_add(batch).min(count);
            let mut coded = Vec::new();
            if outcome.is_ok() {
                match self.coded(first..end, filters, threads) {
                    Ok(all) => coded = all,
                    Err(refusal) => outcome = Err(refusal),
                }
            }
            report.requests += coded.len() as u64;
            report.file_bytes += coded.iter().map(|c| c.bytes.len() as u64).sum::<u64>();
            if ranks == 1 {
                if let (Some(dataset), Ok(())) = (dataset, &outcome) {
                    outcome = coded.iter().try_for_each(|coded| {
                        self.hand_over(dataset, &coded.coords, coded.left_out, &coded.bytes)
                    });
                }
                continue;
            }
            let mut own = message(&coded);
            drop(coded);
            for group in 0..groups {
                let mine = groups == 1 || rank / at_once == group;
                let message = if mine {
                    std::mem::take(&mut own)
                } else {
                    Vec::new()
                };
                if rank > 0 {
                    report.exchanged_bytes += message.len() as u64;
                }
                let Some(messages) = comm.gather_v(0, &message)? else {
                    continue;
                };
                report.exchanged_bytes += messages[1..].iter().map(|m| m.len() as u64).sum::<u64>();
                if let (Some(dataset), Ok(())) = (dataset, &outcome) {
                    outcome = self.give(dataset, &messages);
                }
            }
        }
        Ok(outcome)
    }

    /// Gives a chunk to the library. The library (1.10 at least) keeps the mask of a chunk that is written again in the same length: then one of
    /// another length goes before it.
    fn hand_over(
        &self,
        dataset: &hdf5::Dataset,
        coords: &[u64],
        left_out: u32,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        let origin = origin(self.chunk, coords);
        let known = self.known.and_then(|chunks| chunks.place(coords));
        if known.is_some_and(|old| old.len == bytes.len() as u64 && old.left_out != left_out) {
            let another = match bytes.split_last() {
                Some((_, shorter)) if !shorter.is_empty() => shorter,
                _ => &[0, 0],
            };
            ffi::write_chunk(dataset, &origin, left_out, another)?;
        }
        ffi::write_chunk(dataset, &origin, left_out, bytes)
    }

    /// Gives the chunks of messages to the library.
    fn give(&self, dataset: &hdf5::Dataset, messages: &[Vec<u8>]) -> Result<(), Refusal> {
        let write = |(coords, left_out, bytes): (Vec<u64>, u32, &[u8])| {
            self.hand_over(dataset, &coords, left_out, bytes)
        };
        messages
            .iter()
            .try_for_each(|message| opened(message, self.chunk.len()).try_for_each(write))
    }

    /// The chunks of these numbers, coded. Local.
    fn coded(
        &self,
        range: std::ops::Range<u64>,
        filters: &[Filter],
        threads: usize,
    ) -> Result<Vec<Coded>, Refusal> {
        let all = Mutex::new(Vec::new());
        in_threads(threads, range, &|index, scratch| {
            let at = self.pieces.at(index);
            scratch.zeros(self.bytes)?;
            self.gather(&at, &mut scratch.bytes);
            let left_out = scratch.encode(filters, self.item)?;
            let mut bytes = Vec::new();
            if filters.is_empty() {
                std::mem::swap(&mut bytes, &mut scratch.bytes);
            } else {
                reserve(&mut bytes, scratch.bytes.len())?;
                bytes.extend_from_slice(&scratch.bytes);
            }
            let mut coords = self.pieces.coords(&at);
            coords.truncate(self.chunk.len()); // the bytes of a record are no dimension
            locked(&all).push(Coded {
                index,
                coords,
                left_out,
                bytes,
            });
            Ok(())
        })?;
        let mut all = all
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.sort_unstable_by_key(|coded| coded.index);
        Ok(all)
    }
}

/// A chunk as it goes to the file.
struct Coded {
    index: u64,
    coords: Vec<u64>,
    left_out: u32,
    bytes: Vec<u8>,
}

/// Coded chunks as one message: of each its coordinates, mask and length, then its bytes.
fn message(all: &[Coded]) -> Vec<u8> {
    let mut message = Vec::new();
    for coded in all {
        for coord in &coded.coords {
            message.extend_from_slice(&coord.to_le_bytes());
        }
        message.extend_from_slice(&coded.left_out.to_le_bytes());
        message.extend_from_slice(&(coded.bytes.len() as u64).to_le_bytes());
        message.extend_from_slice(&coded.bytes);
    }
    message
}

/// What [`message`] holds.
fn opened(mut rest: &[u8], ndim: usize) -> impl Iterator<Item = (Vec<u64>, u32, &[u8])> {
    std::iter::from_fn(move || {
        let mut coords = Vec::with_capacity(ndim);
        for _ in 0..ndim {
            let (coord, after) = rest.split_first_chunk()?;
            coords.push(u64::from_le_bytes(*coord));
            rest = after;
        }
        let (left_out, after) = rest.split_first_chunk()?;
        let (len, after) = after.split_first_chunk()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        let (bytes, after) = after.split_at_checked(len)?;
        rest = after;
        Some((coords, u32::from_le_bytes(*left_out), bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_take_turns_where_chunks_are_large() {
        let folder = tempfile::tempdir().unwrap();
        let d = dist_maps::Distribution::over(3).shape([6]).block(0);
        let d = d.build().unwrap();
        // of 4 bytes a chunk: one of two ranks at once, one of each rank, all
        for most in [8, 12, 1 << 20] {
            let path = folder.path().join(format!("{most}.h5"));
            dist_comm::ThreadComm::run(3, |comm| {
                let dataset = (comm.rank() == 0).then(|| {
                    let file = hdf5::File::create(&path).unwrap();
                    let builder = file.new_dataset_builder().chunk(1).deflate(4);
                    builder.empty::<i32>().shape(6).create("a").unwrap()
                });
                let first = 2 * i32::try_from(comm.rank()).unwrap();
                let elements: Vec<u8> = (first..first + 2).flat_map(i32::to_ne_bytes).collect();
                let dim_data = d.dim_data(comm.rank()).unwrap();
                let writer = Writer {
                    pieces: &ChunkPieces::new(&dim_data, &[1], 4, Extent::Owned).unwrap(),
                    elements: &elements,
                    shape: &[6],
                    chunk: &[1],
                    item: 4,
                    bytes: 4,
                    known: None,
                    shares: false,
                };
                let mut report = IoReport::begun(Strategy::Direct, 0);
                let filters = [Filter::Deflate(4)];
                let dataset = dataset.as_ref();
                let outcome = writer.by_rank_0(comm, most, &filters, dataset, &mut report);
                outcome?.unwrap();
                assert_eq!(report.requests, 2);
                if let Some(dataset) = dataset {
                    assert_eq!(dataset.read_raw::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
                }
                Ok::<_, IoError>(())
            })
            .unwrap();
        }
    }

    #[test]
    fn messages_come_apart_again() {
        let coded = |coords: [u64; 2], left_out, bytes: &[u8]| Coded {
            index: 0,
            coords: coords.to_vec(),
            left_out,
            bytes: bytes.to_vec(),
        };
        let sent = message(&[coded([1, 2], 0, &[7, 8, 9]), coded([0, 5], 2, &[])]);
        let all: Vec<_> = opened(&sent, 2).collect();
        assert_eq!(
            all,
            [(vec![1, 2], 0, &[7, 8, 9][..]), (vec![0, 5], 2, &[][..])]
        );
        assert_eq!(opened(&[], 2).count(), 0);
    }
}
