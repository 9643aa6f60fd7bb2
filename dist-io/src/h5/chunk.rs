//! Chunked datasets: every rank moves its chunks, and codes and decodes them outside the library's lock.
//!
//! ```text
//! reading    rank 0 ── where each chunk lies ──► all ranks ─► read, decode in threads, place
//! writing    raw         rank 0 makes room for all chunks and says where it is; every rank writes whole chunks there
//!            filtered    every rank codes its chunks in threads; rank 0 gives them to the library, some at a time
//! ```

mod filter;
mod fletcher;
mod grow;
mod lzf;
mod pieces;
mod read;
mod shuffle;
mod threads;
mod write;

use hdf5_metno as hdf5;
use hdf5_metno::dataset::ChunkOpts;
use serde::{Deserialize, Serialize};

use super::dataset::how;
use super::{HandleRefusal, Refusal, ffi};

pub(super) use filter::{Filter, deflate_level, filter_names, filters_of, name as filter_name};
pub(super) use grow::{Grown, Known, Rows};
pub(super) use read::{Open, load};
pub(super) use threads::threads as threads_of_rank;
pub(super) use write::{Target, overwrite, save, save_alone, save_piece};

/// Bytes that a chunk may have: HDF5's limit is 4 GiB, less one.
pub(super) const CHUNK_BYTES: u64 = u32::MAX as u64;

/// As many chunks are listed when they are read. The library looks each up by walking over those before it: 1024 take it some
/// 20 ms, 4096 some 400 ms. More are left to the library, which finds each by its coordinates.
const LISTED_TO_READ: u64 = 1024;

/// As many chunks are listed when they are written; more go through rank 0, which takes longer for each.
pub(super) const LISTED_TO_WRITE: u64 = 4096;

/// What is wrong with the bytes of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum ChunkProblem {
    /// The file ends before the chunk does.
    #[error("it should end at byte {expected}, the file ends at byte {found}")]
    Truncated {
        /// Where it should end.
        expected: u64,
        /// Where the file ends.
        found: u64,
    },
    /// Bytes that a filter cannot decode.
    #[error("filter {filter}: {message}")]
    Decode {
        /// The filter.
        filter: String,
        /// What it says.
        message: String,
    },
    /// A checksum that is not that of the bytes.
    #[error(
        "filter fletcher32: the checksum of its bytes is {computed:#010x}, it says {stored:#010x}"
    )]
    Checksum {
        /// What is in the file.
        stored: u32,
        /// That of the bytes.
        computed: u32,
    },
    /// A chunk of another length than its elements take.
    #[error("it has {given} bytes, allowed: {allowed}")]
    Length {
        /// Bytes that it has, or decodes to.
        given: u64,
        /// Bytes that its elements take, with checksums.
        allowed: u64,
    },
}

/// A chunk in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Its number in C order of the grid of chunks.
    number: u64,
    /// First byte in the file, and length in bytes.
    offset: u64,
    len: u64,
    /// The filters that it did not go through, by bit.
    left_out: u32,
}

/// The chunks of a dataset, as rank 0 tells the others of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Chunks {
    shape: Vec<u64>,
    chunk: Vec<u64>,
    filters: Vec<Filter>,
    /// Whether only the library can undo the filters.
    by_library: bool,
    /// Whether chunks that reach beyond the array went through no filter.
    raw_edges: bool,
    /// One element, for chunks that are nowhere.
    fill: Vec<u8>,
    /// Where they lie, ascending by number; `None` where the library has to find them.
    places: Option<Vec<Place>>,
}

impl Chunks {
    /// Those of a dataset that is read.
    pub(super) fn of(
        file: &hdf5::File,
        dataset: &hdf5::Dataset,
        shape: &[u64],
        fill: Vec<u8>,
    ) -> Result<Self, Refusal> {
        Self::listing(LISTED_TO_READ, file, dataset, shape, fill)
    }

    /// Those of a dataset that is there and is written to; a refusal where that cannot be done without the library.
    pub(super) fn to_overwrite(
        file: &hdf5::File,
        dataset: &hdf5::Dataset,
        shape: &[u64],
        fill: Vec<u8>,
    ) -> Result<Self, Refusal> {
        let chunks = Self::listing(LISTED_TO_WRITE, file, dataset, shape, fill)?;
        if chunks.by_library {
            filter::filters_of(&how(dataset)?)?; // says which filter it is
        }
        let cannot = |storage: String| Refusal::from(HandleRefusal::Overwrite { storage });
        if chunks.raw_edges && !chunks.filters.is_empty() {
            return Err(cannot(
                "in chunks, those at the edges without filters".to_owned(),
            ));
        }
        if chunks.places.is_none() {
            return Err(cannot(format!(
                "in more than {LISTED_TO_WRITE} chunks, or behind a user block"
            )));
        }
        Ok(chunks)
    }

    /// The places that were made for those of a dataset, ascending by number.
    pub(super) fn made(
        file: &hdf5::File,
        dataset: &hdf5::Dataset,
        shape: &[u64],
    ) -> Result<Vec<Place>, Refusal> {
        let made = Self::listing(LISTED_TO_WRITE, file, dataset, shape, Vec::new())?;
        Ok(made.places.unwrap_or_default())
    }

    /// Those of a dataset, none of which is anywhere yet: [`add`](Self::add) and then [`sort`](Self::sort) say where they are.
    pub(super) fn none(
        shape: &[u64],
        chunk: &[u64],
        filters: Vec<Filter>,
        raw_edges: bool,
        fill: Vec<u8>,
    ) -> Self {
        Self {
            shape: shape.to_vec(),
            chunk: chunk.to_vec(),
            filters,
            by_library: false,
            raw_edges,
            fill,
            places: Some(Vec::new()),
        }
    }

    /// Takes note of a chunk: its place in the grid of chunks, first byte and length, and the filters that it did not go through.
    pub(super) fn add(&mut self, coords: &[u64], (offset, len): (u64, u64), left_out: u32) {
        let number = self.number(coords);
        self.places.get_or_insert_default().push(Place {
            number,
            offset,
            len,
            left_out,
        });
    }

    /// Puts the chunks in order, of several of one place in the grid the first one.
    pub(super) fn sort(&mut self) {
        if let Some(places) = &mut self.places {
            places.sort_by_key(|place| place.number);
            places.dedup_by_key(|place| place.number);
        }
    }

    /// First byte and length of every chunk that is listed, in C order.
    pub(super) fn listed_bytes(&self) -> Vec<(u64, u64)> {
        let places = self.places.iter().flatten();
        places.map(|place| (place.offset, place.len)).collect()
    }

    fn listing(
        most: u64,
        file: &hdf5::File,
        dataset: &hdf5::Dataset,
        shape: &[u64],
        fill: Vec<u8>,
    ) -> Result<Self, Refusal> {
        let how = how(dataset)?;
        let chunk = how.chunk().unwrap_or_default();
        let chunk: Vec<u64> = chunk.into_iter().map(|n| n as u64).collect();
        let (filters, by_library) = match filter::filters_of(&how) {
            Ok(filters) => (filters, false),
            Err(Refusal::Filter { .. }) if how.all_filters_avail() => (Vec::new(), true),
            Err(refusal) => return Err(refusal),
        };
        let mut chunks = Self {
            shape: shape.to_vec(),
            filters,
            by_library,
            raw_edges: how
                .chunk_opts()
                .is_some_and(|opts| opts.contains(ChunkOpts::DONT_FILTER_PARTIAL_CHUNKS)),
            chunk,
            fill,
            places: None,
        };
        chunks.places = chunks.listed(most, file, dataset)?;
        Ok(chunks)
    }

    /// Where the chunks lie; `None` where there are too many, or where the library's answer does not say it.
    fn listed(
        &self,
        most: u64,
        file: &hdf5::File,
        dataset: &hdf5::Dataset,
    ) -> Result<Option<Vec<Place>>, Refusal> {
        let unknown = || Refusal::Library {
            operation: "ask where the chunks are".to_owned(),
            message: "no answer".to_owned(),
        };
        // some releases count from behind the user block, and some from the start of the file
        if self.by_library || file.userblock() > 0 {
            return Ok(None);
        }
        let count = dataset.num_chunks().ok_or_else(unknown)?;
        if count as u64 > most {
            return Ok(None);
        }
        // releases of the library list chunks in other places where a later dimension alone is unlimited, in the newer format
        let space = dataset.space();
        let most = space
            .map_err(Refusal::library("ask for the shape"))?
            .maxdims();
        let is_later = most
            .iter()
            .position(Option::is_none)
            .is_some_and(|axis| axis > 0);
        if is_later && ffi::header_version(dataset)? > 1 {
            return Ok(None);
        }
        let mut places = Vec::with_capacity(count);
        for index in 0..count {
            let info = dataset.chunk_info(index).ok_or_else(unknown)?;
            let coords = info.offset.iter().zip(&self.chunk);
            let coords: Vec<u64> = coords.map(|(origin, step)| origin / step).collect();
            places.push(Place {
                number: self.number(&coords),
                offset: info.addr,
                len: info.size,
                left_out: info.filter_mask,
            });
        }
        places.sort_unstable_by_key(|place| place.number);
        Ok(Some(places))
    }

    /// Elements of a chunk per dimension.
    #[cfg(feature = "hdf5-mpio")]
    pub(super) fn extents(&self) -> &[u64] {
        &self.chunk
    }

    /// Whether the library has to find the chunks.
    pub(super) fn needs_library(&self) -> bool {
        self.places.is_none()
    }

    /// A chunk's number, by its place in the grid of chunks.
    fn number(&self, coords: &[u64]) -> u64 {
        number(&self.shape, &self.chunk, coords)
    }

    /// Where a chunk lies, if it is listed.
    fn place(&self, coords: &[u64]) -> Option<Place> {
        let places = self.places.as_ref()?;
        let number = self.number(coords);
        let at = places.binary_search_by_key(&number, |place| place.number);
        at.ok().map(|at| places[at])
    }

    /// The first element of a chunk.
    fn origin(&self, coords: &[u64]) -> Vec<u64> {
        origin(&self.chunk, coords)
    }

    /// Whether a chunk reaches beyond the array.
    fn is_edge(&self, coords: &[u64]) -> bool {
        let axes = coords.iter().zip(&self.chunk).zip(&self.shape);
        axes.into_iter()
            .any(|((at, step), &size)| (at + 1).saturating_mul(*step) > size)
    }
}

/// Number of chunks of an array.
pub(super) fn count(shape: &[u64], chunk: &[u64]) -> u64 {
    let axes = shape.iter().zip(chunk);
    axes.fold(1, |count: u64, (size, step)| {
        count.saturating_mul(size.div_ceil(*step))
    })
}

/// A chunk's number in C order of the grid of chunks.
fn number(shape: &[u64], chunk: &[u64], coords: &[u64]) -> u64 {
    let axes = shape.iter().zip(chunk).zip(coords);
    // no more chunks than elements, the number of which was checked
    axes.fold(0, |number: u64, ((size, step), at)| {
        number
            .saturating_mul(size.div_ceil(*step))
            .saturating_add(*at)
    })
}

/// The first element of a chunk.
fn origin(chunk: &[u64], coords: &[u64]) -> Vec<u64> {
    coords
        .iter()
        .zip(chunk)
        .map(|(at, step)| at * step)
        .collect()
}

/// The shape of chunks in memory, and bytes of one; a refusal where there is no such chunk.
fn in_memory(chunk: &[u64], ndim: usize, item: usize) -> Result<(Vec<usize>, usize), Refusal> {
    let bytes = chunk
        .iter()
        .try_fold(item as u64, |bytes, &n| bytes.checked_mul(n))
        .filter(|&bytes| bytes > 0 && bytes <= CHUNK_BYTES && chunk.len() == ndim)
        .and_then(|bytes| usize::try_from(bytes).ok());
    let extents: Result<Vec<usize>, _> = chunk.iter().map(|&n| usize::try_from(n)).collect();
    match (extents, bytes) {
        (Ok(extents), Some(bytes)) => Ok((extents, bytes)),
        _ => Err(Refusal::ChunkShape {
            given: chunk.to_vec(),
        }),
    }
}
