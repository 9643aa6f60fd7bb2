//! [`Chunk`]: the chunks of a chunked file that a rank reads or writes, counted and walked without listing them.

use std::ops::Range;

use dist_maps::{AxisDist, Distribution, IndexMap};

use crate::IoError;
use crate::part::Extent;

/// One chunk of a chunked file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// Its place in the grid of chunks.
    pub coords: Vec<u64>,
    /// The global index of its first element per dimension.
    pub origin: Vec<u64>,
    /// Its extent inside the array per dimension, in elements: less than the shape of the chunks at an upper edge.
    pub shape: Vec<u64>,
}

/// The chunks that a rank reads or writes, in C order of the grid of chunks: [`IoPlan::chunks`](crate::IoPlan::chunks).
#[derive(Clone, Debug)]
#[must_use]
pub struct Chunks {
    axes: Vec<Axis>,
    total: u64,
    /// The chunk that comes next.
    next: Option<Vec<Cursor>>,
}

#[derive(Clone, Debug)]
struct Axis {
    size: u64,
    step: u64,
    along: Along,
}

impl Chunks {
    /// No chunks at all.
    pub(super) fn none() -> Self {
        Self {
            axes: Vec::new(),
            total: 0,
            next: None,
        }
    }

    /// The chunks in which a rank owns or stores elements.
    pub(super) fn of(
        distribution: &Distribution,
        rank: usize,
        chunk: &[u64],
        extent: Extent,
    ) -> Result<Self, IoError> {
        distribution.dim_data(rank)?; // there is such a rank
        let Some(coords) = distribution.coords(rank) else {
            return Ok(Self::none());
        };
        let axes = distribution.axes().iter().zip(coords).zip(chunk);
        let axes = axes.map(|((axis, coord), &step)| {
            Ok(Axis {
                size: axis.size(),
                step,
                along: Along::new(axis, coord, step, extent)?,
            })
        });
        let axes = axes.collect::<Result<Vec<_>, IoError>>()?;
        let all = axes.iter().map(|axis| axis.along.count());
        Ok(Self {
            total: all.fold(1, u64::saturating_mul),
            next: axes.iter().map(|axis| axis.along.first()).collect(),
            axes,
        })
    }

    /// How many there are in all, whether they were walked or not.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let mut cursors = self.next.take()?;
        let mut chunk = Chunk {
            coords: Vec::with_capacity(cursors.len()),
            origin: Vec::with_capacity(cursors.len()),
            shape: Vec::with_capacity(cursors.len()),
        };
        for (axis, cursor) in self.axes.iter().zip(&cursors) {
            let origin = cursor.at * axis.step; // below the size
            chunk.coords.push(cursor.at);
            chunk.origin.push(origin);
            chunk.shape.push(axis.step.min(axis.size - origin));
        }
        let mut more = false;
        for (axis, cursor) in self.axes.iter().zip(&mut cursors).rev() {
            if axis.along.advance(cursor) {
                more = true;
                break;
            }
            // the first is there: the axis has one
            *cursor = axis.along.first()?;
        }
        self.next = more.then_some(cursors);
        Some(chunk)
    }
}

impl std::iter::FusedIterator for Chunks {}

/// The places along an axis of the chunks in which a coordinate has elements, ascending.
#[derive(Clone, Debug)]
pub(super) enum Along {
    Range(Range<u64>),
    /// Blocks that are further from each other than a chunk is long: no chunk has elements of two of them.
    Dealt(Dealt),
    List(Vec<u64>),
}

/// Blocks of `block` elements from `start` on, `period` apart, in an axis of `size`; at least one.
#[derive(Clone, Debug)]
pub(super) struct Dealt {
    start: u64,
    period: u64,
    block: u64,
    size: u64,
    step: u64,
    runs: u64,
}

impl Dealt {
    /// The places of a block: the first and the last.
    fn run(&self, run: u64) -> (u64, u64) {
        let start = self.start + run * self.period; // below the size
        let end = start.saturating_add(self.block).min(self.size);
        (start / self.step, (end - 1) / self.step)
    }
}

/// Where a walk along an axis is.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    at: u64,
    /// The last place of the run, and its number.
    last: u64,
    run: u64,
}

impl Along {
    pub(super) fn new(
        axis: &AxisDist,
        coord: usize,
        step: u64,
        extent: Extent,
    ) -> Result<Self, IoError> {
        let range = match extent {
            Extent::Owned => axis.owned_range(coord),
            Extent::Stored => axis.stored_range(coord),
        };
        if let Some(range) = range {
            return Ok(Self::Range(places(range, step)));
        }
        if let AxisDist::Cyclic {
            size,
            ranks,
            block_size: block,
            ..
        } = axis
        {
            let (size, block) = (*size, *block);
            let start = block.saturating_mul(coord as u64);
            let period = block.saturating_mul(*ranks as u64);
            if start >= size {
                return Ok(Self::Range(0..0));
            }
            let runs = (size - start).div_ceil(period);
            let last = start + (runs - 1) * period;
            if period - block < step {
                // no chunk fits between two blocks
                let end = last.saturating_add(block).min(size);
                return Ok(Self::Range(places(start..end, step)));
            }
            return Ok(Self::Dealt(Dealt {
                start,
                period,
                block,
                size,
                step,
                runs,
            }));
        }
        let mut list = Vec::new();
        for run in axis.map(coord)?.runs() {
            // inside the array, as planning makes sure
            let start = u64::try_from(run.global).unwrap_or(0);
            let range = places(start..start.saturating_add(run.len as u64), step);
            let known = list.last().copied();
            list.extend(range.filter(|&place| Some(place) != known));
        }
        list.sort_unstable();
        list.dedup();
        Ok(Self::List(list))
    }

    pub(super) fn count(&self) -> u64 {
        match self {
            Self::Range(range) => range.end - range.start,
            Self::List(list) => list.len() as u64,
            Self::Dealt(dealt) => {
                // all but the last have their full length
                let (full, step) = (u128::from(dealt.runs - 1), u128::from(dealt.step));
                let (start, period) = (u128::from(dealt.start), u128::from(dealt.period));
                let end = start + u128::from(dealt.block) - 1;
                let of_full = floor_sum(full, step, period, end)
                    - floor_sum(full, step, period, start)
                    + full;
                let (first, last) = dealt.run(dealt.runs - 1);
                u64::try_from(of_full).map_or(u64::MAX, |n| n.saturating_add(last - first + 1))
            }
        }
    }

    /// Pieces of so many runs that lie in one chunk each, at most: a run is cut where chunks meet, and a chunk may hold pieces of
    /// several.
    pub(super) fn pieces(&self, runs: u64) -> u64 {
        match self {
            Self::Dealt(_) => self.count(),
            Self::Range(_) | Self::List(_) => self.count().saturating_add(runs).saturating_sub(1),
        }
    }

    fn first(&self) -> Option<Cursor> {
        let (at, last) = match self {
            Self::Range(range) if range.is_empty() => return None,
            Self::Range(range) => (range.start, range.end - 1),
            Self::Dealt(dealt) => dealt.run(0),
            Self::List(list) => (*list.first()?, *list.first()?),
        };
        Some(Cursor { at, last, run: 0 })
    }

    /// Moves on; whether there is a next one.
    fn advance(&self, cursor: &mut Cursor) -> bool {
        if cursor.at < cursor.last {
            cursor.at += 1;
            return true;
        }
        cursor.run += 1;
        let run = match self {
            Self::Range(_) => None,
            Self::Dealt(dealt) => (cursor.run < dealt.runs).then(|| dealt.run(cursor.run)),
            Self::List(list) => {
                let at = usize::try_from(cursor.run)
                    .ok()
                    .and_then(|run| list.get(run));
                at.map(|&at| (at, at))
            }
        };
        if let Some((at, last)) = run {
            (cursor.at, cursor.last) = (at, last);
        }
        run.is_some()
    }
}

/// The places of the chunks that a range of elements touches.
fn places(range: Range<u64>, step: u64) -> Range<u64> {
    if range.start >= range.end {
        return 0..0;
    }
    range.start / step..(range.end - 1) / step + 1
}

/// The sum of `(a i + b) / m`, rounded down, for `i` below `n`; of numbers below 2⁶³.
fn floor_sum(mut n: u128, mut m: u128, mut a: u128, mut b: u128) -> u128 {
    let mut sum = 0;
    while n > 0 {
        sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        let most = a * n + b;
        n = most / m;
        b = most % m;
        (m, a) = (a, m);
        if m == 0 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_counted_whether_they_were_walked_or_not() {
        for (shape, chunk, total) in [
            (vec![], vec![], 1),
            (vec![5_u64, 3], vec![2_u64, 2], 6),
            (vec![0], vec![2], 0),
        ] {
            let d = Distribution::over(2).shape(shape).build().unwrap();
            let mut chunks = Chunks::of(&d, 0, &chunk, Extent::Owned).unwrap();
            assert_eq!(chunks.total(), total);
            assert_eq!(chunks.by_ref().count() as u64, total);
            assert_eq!(chunks.total(), total);
            let idle = Chunks::of(&d, 1, &chunk, Extent::Owned).unwrap();
            assert_eq!((idle.total(), idle.count()), (0, 0));
        }
    }

    #[test]
    fn places_are_counted_as_they_are_walked() {
        for size in 0..14_u64 {
            for step in 1..6 {
                let mut axes = vec![];
                for ranks in 1..4 {
                    for block in 1..5 {
                        axes.push(AxisDist::cyclic(size, ranks, block).unwrap());
                    }
                    axes.push(AxisDist::block(size, ranks).unwrap());
                }
                let evens = (0..size.cast_signed()).rev().step_by(2);
                axes.push(AxisDist::unstructured(size, vec![evens.collect::<Vec<_>>()]).unwrap());
                for axis in axes {
                    for coord in 0..axis.ranks() {
                        let along = Along::new(&axis, coord, step, Extent::Owned).unwrap();
                        let mut walked = vec![];
                        let mut cursor = along.first();
                        while let Some(mut at) = cursor {
                            walked.push(at.at);
                            cursor = along.advance(&mut at).then_some(at);
                        }
                        let map = axis.map(coord).unwrap();
                        let elements = map.global_iter().map(|g| g.get().cast_unsigned());
                        let mut expected: Vec<u64> = elements.map(|g| g / step).collect();
                        expected.sort_unstable();
                        expected.dedup();
                        assert_eq!(walked, expected, "{axis:?} {coord} in {step}");
                        assert_eq!(along.count(), expected.len() as u64, "{axis:?} in {step}");
                    }
                }
            }
        }
    }
}
