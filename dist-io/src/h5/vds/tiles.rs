//! [`Tiles`]: a virtual dataset of any sources, chunked ones and interleaved ones too, read tile by tile.
//!
//! ```text
//! what is wanted, per dimension       . 3 4 5 . . 8
//! a tile's indices of the whole       0 . . . 4 5 6 7 8      ─► positions 1 2 5 ─► indices of its source, read at once
//! ```
//!
//! What no tile has is the fill value. A source is read as any other dataset is, so chunks are decoded here and not by the library.

use std::ffi::OsStr;
use std::num::NonZero;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{DimData, DimDict};
use dist_comm::SingleComm;
use serde::{Deserialize, Serialize};

use super::super::dataset::Found;
use super::super::source::{Contents, Source};
use super::super::together::refusal;
use super::super::{ByteOrder, Refusal, Storage, Way};
use super::along::Along;
use crate::execute::room;
use crate::identity::Identity;
use crate::part::{AxisPart, Extent, axes_of};
use crate::plan::LONG_RUN;
use crate::{FileLayout, IoError};

/// Bytes of a source that are in memory beside those that are wanted, or one row of its chunks.
const WINDOW: u64 = 32 << 20;

/// A source of a virtual dataset, looked at.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::h5) struct Part {
    /// Where its file is.
    pub(super) path: Vec<u8>,
    /// The file, as the dataset names it.
    pub(super) name: String,
    pub(super) key: String,
    /// No other file is read.
    pub(super) identity: Identity,
    pub(super) found: Found,
    pub(super) contents: Contents,
}

/// Elements of the whole that are those of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::h5) struct Tile {
    /// The number of the part.
    pub(super) part: usize,
    /// Along each dimension of the whole, and of the part.
    pub(super) target: Vec<Along>,
    pub(super) source: Vec<Along>,
    /// For each dimension of the whole the part's, `None` where one index is meant.
    pub(super) pairs: Vec<Option<usize>>,
}

/// A virtual dataset whose sources were looked at. No element lies in two tiles.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::h5) struct Tiles {
    parts: Vec<Part>,
    all: Vec<Tile>,
    /// One element, in this machine's byte order, and whether it is anywhere.
    fill: Vec<u8>,
    has_gaps: bool,
}

impl Tiles {
    /// `fill` is as it is in the file.
    pub(super) fn new(
        whole: &Found,
        parts: Vec<Part>,
        all: Vec<Tile>,
        (mut fill, has_gaps): (Vec<u8>, bool),
    ) -> Result<Self, Refusal> {
        if whole.byte_order != ByteOrder::NATIVE {
            let words = fill.chunks_exact_mut(whole.element()?.word_size());
            words.for_each(<[u8]>::reverse);
        }
        Ok(Self {
            parts,
            all,
            fill,
            has_gaps,
        })
    }

    /// The files of its parts, and the keys of their datasets.
    pub(super) fn files(&self) -> impl Iterator<Item = (&Path, &str)> {
        let parts = self.parts.iter();
        parts.map(|part| (Path::new(OsStr::from_bytes(&part.path)), &*part.key))
    }

    /// How the elements of the first chunked part lie, by which ranks share the work.
    pub(in crate::h5) fn layout(&self) -> FileLayout {
        let chunk = self.all.iter().find_map(|tile| {
            let Storage::Chunked { chunk } = &self.parts[tile.part].found.storage else {
                return None;
            };
            let pairs = tile.pairs.iter();
            let chunk = pairs.map(|pair| pair.map_or(1, |axis| chunk[axis].max(1)));
            Some(chunk.collect())
        });
        chunk.map_or(FileLayout::Contiguous, |chunk| FileLayout::Chunked {
            chunk,
        })
    }

    /// Reads what `dim_data` stores, in this machine's byte order, with so many threads. Local.
    pub(in crate::h5) fn read(
        &self,
        dim_data: &DimData,
        bytes: &mut [u8],
        threads: NonZero<usize>,
    ) -> Result<(), Refusal> {
        let item = self.fill.len().max(1);
        let axes = axes_of(dim_data, Extent::Stored).map_err(refusal)?;
        if self.has_gaps {
            let items = bytes.chunks_exact_mut(item);
            items.for_each(|item| item.copy_from_slice(&self.fill));
        }
        for tile in &self.all {
            let part = &self.parts[tile.part];
            let wanted = Wanted::new(tile, &axes, item);
            if let Some(wanted) = wanted {
                let read = part.read(tile, &wanted, bytes, threads);
                read.map_err(|refusal| match refusal {
                    Refusal::Changed => refusal,
                    refusal => Refusal::Part {
                        part: part.name.clone(),
                        refusal: Box::new(refusal),
                    },
                })?;
            }
        }
        Ok(())
    }
}

/// Indices of a part that are neighbours there and in a buffer, along one dimension of the whole.
#[derive(Clone, Copy, Debug)]
struct Run {
    source: u64,
    local: usize,
    len: usize,
}

/// What is wanted of a tile.
struct Wanted {
    /// Along each dimension of the whole.
    runs: Vec<Vec<Run>>,
    /// Bytes between neighbours in the buffer.
    strides: Vec<usize>,
    item: usize,
}

impl Wanted {
    /// `None` where that is nothing.
    fn new(tile: &Tile, axes: &[AxisPart], item: usize) -> Option<Self> {
        let mut runs = Vec::with_capacity(axes.len());
        for (axis, part) in axes.iter().enumerate() {
            let of_source = tile.pairs[axis].map(|pair| &tile.source[pair]);
            let mut along = Vec::new();
            for run in part.runs() {
                // indices of the array, which were checked to be so
                let first = u64::try_from(run.global).unwrap_or(0);
                let end = first + run.len as u64;
                tile.target[axis].within(first, end, &mut |position, index, len| {
                    let mut local = run.local + small(index - first);
                    let mut push = |source: u64, len: u64| {
                        let len = small(len);
                        along.push(Run { source, local, len });
                        local += len;
                    };
                    match of_source {
                        Some(source) => source.from(position, len, &mut push),
                        None => push(0, len),
                    }
                });
            }
            if along.is_empty() {
                return None;
            }
            runs.push(along);
        }
        let mut strides = vec![item; axes.len()];
        for axis in (1..axes.len()).rev() {
            strides[axis - 1] = strides[axis] * axes[axis].stored();
        }
        Some(Self {
            runs,
            strides,
            item,
        })
    }

    /// The indices of the part along one of its dimensions, in order.
    fn indices(&self, tile: &Tile, axis: usize) -> Ranges {
        let of_whole = tile.pairs.iter().position(|pair| *pair == Some(axis));
        let Some(of_whole) = of_whole else {
            let one = tile.source[axis].first();
            return Ranges(std::iter::once(one..one + 1).collect());
        };
        let runs = self.runs[of_whole].iter();
        let ranges = runs.map(|run| run.source..run.source + run.len as u64);
        Ranges::new(ranges.collect())
    }
}

/// A number of elements in memory.
fn small(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Ascending indices along a dimension of a part, in ranges that do not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Ranges(Vec<Range<u64>>);

impl Ranges {
    fn new(mut ranges: Vec<Range<u64>>) -> Self {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if last.end >= range.start => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Self(joined)
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// With gaps of less than so many indices filled.
    fn closed(self, gap: u64) -> Self {
        let mut closed: Vec<Range<u64>> = Vec::with_capacity(self.0.len());
        for range in self.0 {
            match closed.last_mut() {
                Some(last) if range.start - last.end < gap => last.end = range.end,
                _ => closed.push(range),
            }
        }
        Self(closed)
    }

    /// Those that lie in a window.
    fn cut(&self, window: &Range<u64>) -> Self {
        let first = self.0.partition_point(|range| range.end <= window.start);
        let inside = self.0[first..].iter();
        let inside = inside.take_while(|range| range.start < window.end);
        let cut = |range: &Range<u64>| range.start.max(window.start)..range.end.min(window.end);
        Self(inside.map(cut).collect())
    }

    /// Where an index that is there is among all of them, from the start of each range.
    fn positions(&self) -> Vec<u64> {
        let mut before = 0;
        let ranges = self.0.iter();
        let starts = ranges.map(|range| {
            let start = before;
            before += range.end - range.start;
            start
        });
        starts.collect()
    }

    /// Those of a dimension of this size, as its dictionary.
    fn dim(&self, size: u64) -> Result<DimDict, IoError> {
        if let [range] = &self.0[..] {
            // the middle one of three blocks may lie anywhere
            return Ok(DimDict::block(size, 3, 1, range.clone())?);
        }
        let mut all: Vec<i64> = Vec::new();
        all.try_reserve_exact(small(self.len()))
            .map_err(|_| IoError::Memory {
                bytes: small(self.len()).saturating_mul(8),
            })?;
        let indices = self.0.iter().cloned().flatten();
        all.extend(indices.map(|index| i64::try_from(index).unwrap_or(i64::MAX)));
        Ok(DimDict::unstructured(size, 1, 0, all, true)?)
    }
}

impl Part {
    /// Its file and dataset, opened once more.
    fn open(&self, threads: NonZero<usize>) -> Result<Source, Refusal> {
        let path = Path::new(OsStr::from_bytes(&self.path));
        let (found, contents) = (self.found.clone(), self.contents.clone());
        let mut source = Source::again(path, &self.key, self.identity, found, contents)?;
        source.threads = Some(threads);
        Ok(source)
    }

    /// Reads what is wanted of a tile of it, window by window along its slowest dimension.
    fn read(
        &self,
        tile: &Tile,
        wanted: &Wanted,
        bytes: &mut [u8],
        threads: NonZero<usize>,
    ) -> Result<(), Refusal> {
        let source = self.open(threads)?;
        let (shape, item) = (&self.found.shape, wanted.item);
        let exact: Vec<Ranges> = (0..shape.len())
            .map(|axis| wanted.indices(tile, axis))
            .collect();
        let slowest = exact.iter().position(|ranges| ranges.len() > 1);
        let slowest = slowest.unwrap_or(0);
        let row = |indices: &[Ranges]| {
            let inner = indices.iter().skip(slowest + 1).map(Ranges::len);
            inner.fold(item as u64, u64::saturating_mul)
        };
        // what lies between is read with it where there is room, rather than piece by piece
        let mut read = exact.clone();
        if !matches!(self.contents, Contents::Chunks(_)) {
            let mut inner = item as u64;
            for (ranges, &size) in read.iter_mut().zip(shape).rev() {
                let own = std::mem::replace(ranges, Ranges(Vec::new()));
                *ranges = own.closed(LONG_RUN.div_ceil(inner.max(1)));
                inner = inner.saturating_mul(size);
            }
            if row(&read) > WINDOW {
                read.clone_from(&exact);
            }
        }
        let Some(ranges) = read.get(slowest) else {
            return self.window(&source, tile, wanted, (&[], &[]), bytes); // a scalar
        };
        let mut step = (WINDOW / row(&read).max(1)).max(1);
        if let Storage::Chunked { chunk } = &self.found.storage
            && let Some(&extent) = chunk.get(slowest)
        {
            // chunks are not decoded twice
            step = step.next_multiple_of(extent.max(1));
        }
        let (mut some, mut some_read) = (exact.clone(), read.clone());
        let mut at = 0;
        for range in &ranges.0 {
            at = at.max(range.start);
            while at < range.end {
                let window = at..(at - at % step).saturating_add(step);
                some[slowest] = exact[slowest].cut(&window);
                some_read[slowest] = ranges.cut(&window);
                self.window(&source, tile, wanted, (&some, &some_read), bytes)?;
                at = window.end;
            }
        }
        Ok(())
    }

    /// Reads indices of it, and puts those that are wanted where they belong.
    fn window(
        &self,
        source: &Source,
        tile: &Tile,
        wanted: &Wanted,
        (indices, read): (&[Ranges], &[Ranges]),
        bytes: &mut [u8],
    ) -> Result<(), Refusal> {
        let (shape, item) = (&self.found.shape, wanted.item);
        let dims = read
            .iter()
            .zip(shape)
            .map(|(ranges, &size)| ranges.dim(size));
        let dims = dims.collect::<Result<Vec<_>, _>>().map_err(refusal)?;
        let dims = DimData::new(dims);
        let elements = read.iter().map(Ranges::len).fold(1, u64::saturating_mul);
        let mut found = room(small(elements), item).map_err(refusal)?;
        let one = SingleComm::new();
        let read_all = source.read(&one, &dims, None, &mut found, Way::default());
        read_all.map_err(refusal)?;
        let mut strides = vec![item; read.len()];
        for axis in (1..read.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(small(read[axis].len()));
        }
        let mut axes = Vec::with_capacity(wanted.runs.len());
        for (axis, runs) in wanted.runs.iter().enumerate() {
            let to = wanted.strides[axis];
            axes.push(match tile.pairs[axis] {
                Some(pair) => Copied {
                    from: strides[pair],
                    to,
                    steps: steps(runs, &indices[pair], &read[pair]),
                },
                None => Copied {
                    from: 0,
                    to,
                    steps: runs.iter().map(|run| (0, run.local, run.len)).collect(),
                },
            });
        }
        copy(&axes, (0, 0), item, &found, bytes);
        Ok(())
    }
}

/// How one dimension is copied.
struct Copied {
    /// Bytes between neighbours in what was read, and where they are wanted.
    from: usize,
    to: usize,
    /// First positions there, and how many neighbours.
    steps: Vec<(usize, usize, usize)>,
}

/// The runs that lie in a window, by their positions in what was read.
fn steps(runs: &[Run], window: &Ranges, read: &Ranges) -> Vec<(usize, usize, usize)> {
    let positions = read.positions();
    let mut steps = Vec::with_capacity(runs.len());
    for run in runs {
        for range in &window.cut(&(run.source..run.source + run.len as u64)).0 {
            // what is in the window was read
            let at = read.0.partition_point(|read| read.end <= range.start);
            let position = positions[at] + (range.start - read.0[at].start);
            let local = run.local + small(range.start - run.source);
            steps.push((small(position), local, small(range.end - range.start)));
        }
    }
    steps
}

/// Copies a product of steps, from byte `from` of what was read to byte `to` of where it is wanted.
fn copy(axes: &[Copied], (from, to): (usize, usize), item: usize, found: &[u8], bytes: &mut [u8]) {
    let Some((axis, inner)) = axes.split_first() else {
        bytes[to..to + item].copy_from_slice(&found[from..from + item]);
        return;
    };
    for &(first, local, len) in &axis.steps {
        let (from, to) = (from + first * axis.from, to + local * axis.to);
        if inner.is_empty() && axis.from == item && axis.to == item {
            let len = len * item;
            bytes[to..to + len].copy_from_slice(&found[from..from + len]);
            continue;
        }
        for i in 0..len {
            copy(
                inner,
                (from + i * axis.from, to + i * axis.to),
                item,
                found,
                bytes,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_cut_and_closed() {
        let ranges = Ranges::new(vec![7..9, 0..2, 1..3, 9..10, 20..21]);
        assert_eq!(ranges, Ranges(vec![0..3, 7..10, 20..21]));
        assert_eq!(ranges.len(), 7);
        assert_eq!(ranges.positions(), [0, 3, 6]);
        assert_eq!(ranges.cut(&(2..9)), Ranges(vec![2..3, 7..9]));
        assert_eq!(ranges.cut(&(3..7)), Ranges(vec![]));
        assert_eq!(ranges.clone().closed(5), Ranges(vec![0..10, 20..21]));
        let run = |source, local, len| Run { source, local, len };
        let runs = [run(8, 0, 2), run(1, 2, 2), run(8, 4, 1)];
        let window = ranges.cut(&(1..9));
        let read = window.clone().closed(5); // 1 to 8
        assert_eq!(
            steps(&runs, &window, &read),
            [(7, 0, 1), (0, 2, 2), (7, 4, 1)]
        );
    }
}
