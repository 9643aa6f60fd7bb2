//! [`Window`]: what a handle sees of a dataset, and which indices of the file a part of it needs.
//!
//! ```text
//! dataset of 10, window 8:1:-3    file     . . 2 . . 5 . . 8 .
//!                                 window       2     1     0         positions of the window
//! a part with positions 0 and 1   reads              5     8         ascending, then put in order: 8 5
//! ```
//!
//! Slices are composed here, in indices of the file: a slice of a slice reads what it takes and no more. Every part is a product
//! of one set of indices for each dimension, which is read in the order of the file whatever the order asked for.

mod selection;

use std::sync::Arc;

use dist_maps::{AxisDist, Distribution, Index, MapError};

use self::selection::{Positions, indices, positions};
use super::{LONG_RUN, Strategy};
use crate::part::Extent;
use crate::{FileLayout, IoError};

pub(crate) use self::selection::Selection;

/// As many reads a rank are few, however short.
const FEW_SPANS: u128 = 16;

/// What is seen of one dimension of the file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Seen {
    /// One index: the window has no such dimension.
    At(u64),
    /// `count` indices from `start` on, `step` apart.
    Range { start: u64, step: i64, count: u64 },
    /// These, in this order, repeated ones too; never empty.
    List(Arc<[u64]>),
}

impl Seen {
    const NOTHING: Self = Self::Range {
        start: 0,
        step: 1,
        count: 0,
    };

    fn count(&self) -> u64 {
        match self {
            Self::At(_) => 1,
            Self::Range { count, .. } => *count,
            Self::List(list) => list.len() as u64,
        }
    }

    /// The index in the file of a position, which is below the count.
    fn at(&self, position: u64) -> u64 {
        match self {
            Self::At(at) => *at,
            Self::Range { start, step, .. } => {
                let at = i128::from(*start) + i128::from(*step) * i128::from(position);
                u64::try_from(at).unwrap_or(0) // inside the dimension
            }
            Self::List(list) => {
                let at = usize::try_from(position).ok();
                at.and_then(|at| list.get(at)).copied().unwrap_or(0)
            }
        }
    }

    /// `count` positions from `start` on, `step` apart, all of them below the count.
    fn sliced(&self, start: u64, step: i64, count: u64) -> Self {
        if count == 0 {
            return Self::NOTHING;
        }
        let position = |k: u64| {
            let at = i128::from(start) + i128::from(step) * i128::from(k);
            u64::try_from(at).unwrap_or(0)
        };
        match self {
            Self::List(_) => Self::List((0..count).map(|k| self.at(position(k))).collect()),
            _ if count == 1 => Self::Range {
                start: self.at(start),
                step: 1,
                count,
            },
            _ => {
                let (first, second) = (self.at(start), self.at(position(1)));
                let step = i128::from(second) - i128::from(first);
                Self::Range {
                    start: first,
                    step: i64::try_from(step).unwrap_or(1), // both are inside the dimension
                    count,
                }
            }
        }
    }
}

/// What a handle sees of a dataset of this shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Window {
    file: Vec<u64>,
    axes: Vec<Seen>,
}

impl Window {
    /// All of it.
    pub(crate) fn whole(shape: &[u64]) -> Self {
        let seen = |&count: &u64| Seen::Range {
            start: 0,
            step: 1,
            count,
        };
        Self {
            file: shape.to_vec(),
            axes: shape.iter().map(seen).collect(),
        }
    }

    /// The dimensions of the file that the window has, too.
    fn kept(&self) -> impl Iterator<Item = (usize, &Seen)> {
        let all = self.axes.iter().enumerate();
        all.filter(|(_, seen)| !matches!(seen, Seen::At(_)))
    }

    /// Extents of the window.
    #[cfg(test)]
    pub(crate) fn shape(&self) -> Vec<u64> {
        self.kept().map(|(_, seen)| seen.count()).collect()
    }

    /// Whether what is seen has the order of the file, along every dimension.
    pub(crate) fn ascends(&self) -> bool {
        self.kept().all(|(_, seen)| match seen {
            Seen::At(_) => true,
            Seen::Range { step, count, .. } => *step > 0 || *count < 2,
            Seen::List(list) => list.windows(2).all(|pair| pair[0] < pair[1]),
        })
    }

    /// A dimension and an index of the file that is seen twice.
    pub(crate) fn repeated(&self) -> Option<(usize, u64)> {
        self.kept().enumerate().find_map(|(axis, (_, seen))| {
            let Seen::List(list) = seen else { return None };
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            let twice = sorted.windows(2).find(|pair| pair[0] == pair[1])?;
            Some((axis, twice[0]))
        })
    }

    /// Along a dimension of the window: the first index in the file, where they follow each other one by one.
    pub(crate) fn straight_from(&self, axis: usize) -> Option<u64> {
        match self.kept().nth(axis) {
            Some((_, Seen::Range { start, step: 1, .. })) => Some(*start),
            _ => None,
        }
    }

    /// The dimension of the file that is a dimension of the window.
    pub(crate) fn file_axis(&self, axis: usize) -> Option<usize> {
        self.kept().nth(axis).map(|(axis, _)| axis)
    }

    /// A slice of the window, by `NumPy`'s rules.
    pub(crate) fn slice(&self, items: &[Index]) -> Result<Self, MapError> {
        let ndim = self.kept().count();
        let mut items = Index::expand(items, ndim)?.into_iter();
        let mut axes = Vec::with_capacity(self.axes.len());
        let mut number = 0;
        for seen in &self.axes {
            let item = match seen {
                Seen::At(_) => None,
                _ => items.next(),
            };
            let Some(item) = item else {
                axes.push(seen.clone());
                continue;
            };
            let size = seen.count();
            axes.push(match item {
                Index::Ellipsis => seen.clone(),
                Index::At(at) => Seen::At(seen.at(position(at, size, number)?)),
                Index::Slice(slice) => {
                    let (start, step, count) = slice.resolve(size)?;
                    if (step, count) == (1, size) {
                        seen.clone()
                    } else {
                        seen.sliced(u64::try_from(start).unwrap_or(0), step, count)
                    }
                }
            });
            number += 1;
        }
        Ok(Self {
            file: self.file.clone(),
            axes,
        })
    }

    /// These positions of a dimension, in any order, repeated ones too; negative ones from the end.
    pub(crate) fn take(&self, axis: usize, indices: &[i64]) -> Result<Self, MapError> {
        let kept = self.kept().nth(axis);
        let (file, seen) = kept.ok_or(MapError::Axis {
            given: axis,
            ndim: self.kept().count(),
        })?;
        let size = seen.count();
        let at = |&given: &i64| Ok(seen.at(position(given, size, axis)?));
        let list: Vec<u64> = indices.iter().map(at).collect::<Result<_, MapError>>()?;
        let mut window = self.clone();
        window.axes[file] = if list.is_empty() {
            Seen::NOTHING
        } else {
            Seen::List(list.into())
        };
        Ok(window)
    }

    /// What a rank's part reads or writes in the file. `distribution` is one of the window; a rank without a place in its grid
    /// has nothing, save for a scalar that is read.
    pub(crate) fn part(
        &self,
        distribution: &Distribution,
        rank: usize,
        extent: Extent,
    ) -> Result<Selection, IoError> {
        let ndim = distribution.ndim();
        let coords = match distribution.coords(rank) {
            Some(coords) => Some(coords),
            None if ndim == 0 && extent == Extent::Stored => Some(Vec::new()),
            None => None,
        };
        let Some(coords) = coords else {
            return Selection::nothing(&self.file);
        };
        let mut own = distribution.axes().iter().zip(coords).enumerate();
        let mut along = Vec::with_capacity(self.axes.len());
        for (seen, &size) in self.axes.iter().zip(&self.file) {
            let positions = match seen {
                Seen::At(_) => Positions::Range(0..1),
                _ => match own.next() {
                    Some((number, (axis, coord))) => positions(number, axis, coord, extent)?,
                    None => Positions::Range(0..0), // a distribution of another array
                },
            };
            along.push(indices(seen, size, &positions)?);
        }
        Ok(Selection::new(along))
    }

    /// A distribution of the window over the ranks whose parts follow each other in the file and share no chunk.
    pub(crate) fn slabs(&self, layout: &FileLayout, ranks: usize) -> Result<Distribution, IoError> {
        let mut left = ranks;
        let mut axes = Vec::new();
        for (file, seen) in self.kept() {
            let chunk = layout.step(file).max(1);
            let (axis, units) = match seen {
                Seen::List(list) => cut_list(list, chunk, left)?,
                Seen::At(_) => continue,
                Seen::Range { start, step, count } => {
                    let (bounds, units) = cut_range(*start, *step, *count, chunk, left);
                    (AxisDist::block_bounds(bounds)?, units)
                }
            };
            // only what is one chunk thick may be cut further
            left = if axis.ranks() as u64 == units {
                left / axis.ranks()
            } else {
                1
            };
            axes.push(axis);
        }
        let places: usize = axes.iter().map(AxisDist::ranks).product();
        let targets: Vec<usize> = (0..places).collect();
        Ok(Distribution::from_axes(axes, ranks, targets)?)
    }

    /// How the ranks best read their parts of the window; the same on all of them.
    pub(crate) fn strategy(
        &self,
        distribution: &Distribution,
        layout: &FileLayout,
        item: usize,
    ) -> Strategy {
        let axes = distribution.axes();
        if distribution.ranks() == 1 || axes.is_empty() || !is_mostly_held(axes) {
            return Strategy::Direct;
        }
        let kept: Vec<_> = self.kept().collect();
        if let FileLayout::Chunked { .. } = layout {
            let apart = |(axis, &(file, seen)): (&AxisDist, &(usize, &Seen))| {
                is_apart(axis, seen, layout.step(file))
            };
            let all = axes.iter().zip(&kept).all(apart);
            return if all && distribution.grid().len() > 1 {
                Strategy::Direct
            } else {
                Strategy::TwoPhase
            };
        }
        let Some(last) = axes.iter().rposition(|axis| axis.ranks() > 1) else {
            return Strategy::Direct;
        };
        let Some(&(file, seen)) = kept.get(last) else {
            return Strategy::Direct;
        };
        // what of the file a rank spans without a gap that belongs to another, and how often
        let inner = self.file[file + 1..].iter();
        let inner = inner.fold(item as u128, |bytes, &n| bytes.saturating_mul(n.into()));
        let mean = |axis: &AxisDist| {
            let held: u128 = (0..axis.ranks()).map(|c| axis.stored_len(c) as u128).sum();
            held.div_ceil(axis.ranks() as u128)
        };
        let outer = axes[..last].iter().map(mean);
        let rows = outer.fold(1_u128, u128::saturating_mul);
        let (thick, pieces) = match (&axes[last], seen) {
            (axis @ AxisDist::Block { .. }, Seen::Range { .. }) => (mean(axis), 1),
            (AxisDist::Cyclic { block_size, .. }, Seen::Range { .. }) => {
                let block = u128::from(*block_size);
                (block, mean(&axes[last]).div_ceil(block))
            }
            (axis, _) => (1, mean(axis)),
        };
        let step = match seen {
            Seen::Range { step, .. } => u128::from(step.unsigned_abs()),
            _ => 1,
        };
        let span = thick.saturating_mul(step).saturating_mul(inner);
        if span >= u128::from(LONG_RUN) || rows.saturating_mul(pieces) <= FEW_SPANS {
            Strategy::Direct
        } else {
            Strategy::TwoPhase
        }
    }
}

/// A position counted from the start, of one that may count from the end.
fn position(at: i64, size: u64, axis: usize) -> Result<u64, MapError> {
    let from_start = if at < 0 {
        i128::from(at) + i128::from(size)
    } else {
        i128::from(at)
    };
    let inside = u64::try_from(from_start).ok().filter(|&at| at < size);
    inside.ok_or(MapError::Index {
        axis: Some(axis),
        given: at,
        size,
    })
}

/// Whether the parts of all ranks together hold at least half of the array.
fn is_mostly_held(axes: &[AxisDist]) -> bool {
    let (mut held, mut all) = (1.0_f64, 1.0_f64);
    for axis in axes {
        let lens = (0..axis.ranks()).map(|c| axis.stored_len(c) as u64);
        #[expect(clippy::cast_precision_loss, reason = "compared roughly")]
        {
            held *= lens.sum::<u64>() as f64;
            all *= axis.size() as f64;
        }
    }
    held * 2.0 >= all
}

/// Whether no two coordinates of an axis own indices of one chunk.
fn is_apart(axis: &AxisDist, seen: &Seen, chunk: u64) -> bool {
    if axis.ranks() == 1 {
        return true;
    }
    let (AxisDist::Block { bounds, .. }, Seen::Range { count, .. }) = (axis, seen) else {
        return false;
    };
    let chunk = chunk.max(1);
    let inner = bounds.iter().filter(|&&bound| 0 < bound && bound < *count);
    inner
        .into_iter()
        .all(|&bound| seen.at(bound - 1) / chunk != seen.at(bound) / chunk)
}

/// Bounds of at most `left` parts, none of which begins inside a chunk, and the number of chunks that are touched.
fn cut_range(start: u64, step: i64, count: u64, chunk: u64, left: usize) -> (Vec<u64>, u64) {
    let seen = Seen::Range { start, step, count };
    let stride = step.unsigned_abs();
    let last = seen.at(count.saturating_sub(1));
    let units = match count {
        0 => 1,
        _ if stride > chunk => count,
        _ => (start / chunk).abs_diff(last / chunk) + 1,
    };
    let parts = usize::try_from(units).map_or(left, |units| units.min(left));
    let bound = |part: usize| {
        if part == parts {
            return count;
        }
        let unit = u128::from(units) * part as u128 / parts as u128;
        let unit = u64::try_from(unit).unwrap_or(0);
        if unit == 0 || stride > chunk {
            return unit;
        }
        // the first position in that chunk
        let distance = if step > 0 {
            (start / chunk + unit) * chunk - start
        } else {
            start - ((start / chunk - unit + 1) * chunk - 1)
        };
        distance.div_ceil(stride)
    };
    ((0..=parts).map(bound).collect(), units)
}

/// Positions of a list in the order of the file, at most `left` parts that share no chunk; the number of chunks.
fn cut_list(list: &[u64], chunk: u64, left: usize) -> Result<(AxisDist, u64), IoError> {
    let mut sorted: Vec<(u64, i64)> = list.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let chunks: Vec<&[(u64, i64)]> = sorted.chunk_by(|a, b| a.0 / chunk == b.0 / chunk).collect();
    let parts = chunks.len().min(left).max(1);
    let part = |part: usize| -> Vec<i64> {
        let range = chunks.len() * part / parts..chunks.len() * (part + 1) / parts;
        let places = chunks[range].iter().copied().flatten();
        places.map(|&(_, position)| position).collect()
    };
    let axis = AxisDist::unstructured(list.len() as u64, (0..parts).map(part))?;
    Ok((axis, chunks.len().max(1) as u64))
}

#[cfg(test)]
mod tests {
    use dist_maps::{IndexMap, Slice, map_from_dim_dict};

    use super::*;

    fn slice(start: Option<i64>, stop: Option<i64>, step: i64) -> Index {
        Slice::new(start, stop, step).into()
    }

    #[test]
    fn slices_compose_in_indices_of_the_file() {
        let window = Window::whole(&[10, 4]);
        let odd = window.slice(&[slice(Some(1), None, 2)]).unwrap(); // 1 3 5 7 9
        let back = odd.slice(&[slice(None, None, -2), 3.into()]).unwrap(); // 9 5 1
        assert_eq!(back.shape(), [3]);
        let seen = Seen::Range {
            start: 9,
            step: -4,
            count: 3,
        };
        assert_eq!(back.axes, [seen, Seen::At(3)]);
        let last = back.slice(&[(-1).into()]).unwrap();
        assert_eq!(last.axes, [Seen::At(1), Seen::At(3)]);
        assert_eq!(last.shape(), Vec::<u64>::new());
        let nothing = back.slice(&[slice(Some(2), Some(2), 1)]).unwrap();
        assert_eq!(nothing.shape(), [0]);
        let wrong = back.slice(&[3.into()]).unwrap_err();
        assert!(matches!(
            wrong,
            MapError::Index {
                given: 3,
                size: 3,
                ..
            }
        ));
        let many = back.slice(&[0.into(), 0.into()]).unwrap_err();
        assert!(matches!(
            many,
            MapError::Count {
                given: 2,
                expected: 1,
                ..
            }
        ));
    }

    #[test]
    fn what_ascends_is_read_as_it_is() {
        let window = Window::whole(&[10, 4]);
        let back = window.slice(&[slice(None, None, -1)]).unwrap();
        assert!(window.ascends() && !back.ascends());
        assert!(back.slice(&[slice(None, None, -2)]).unwrap().ascends());
        assert!(back.slice(&[3.into()]).unwrap().ascends());
        assert!(window.take(0, &[1, 5, -1]).unwrap().ascends());
        assert!(!window.take(0, &[1, 1]).unwrap().ascends());
    }

    #[test]
    fn lists_are_read_sorted_and_once() {
        let window = Window::whole(&[10]).take(0, &[7, -1, 7, 0]).unwrap();
        assert_eq!(window.repeated(), Some((0, 7)));
        let all = Distribution::over(1).shape([4]).build().unwrap();
        let part = window.part(&all, 0, Extent::Stored).unwrap();
        assert_eq!(part.elements(), Some(3)); // 0 7 9
        let mut runs = Vec::new();
        part.each(2, &mut |from, to, len| runs.push((from, to, len)));
        assert_eq!(runs, [(2, 0, 2), (4, 2, 2), (2, 4, 2), (0, 6, 2)]);
        assert!(Window::whole(&[10]).take(0, &[10]).is_err());
        assert!(Window::whole(&[10]).take(1, &[0]).is_err());
    }

    #[test]
    fn a_part_among_whole_chunks() {
        // 9 6 3 0 of chunks of 4 in 10: of 3 and 0 the chunk is one, 8 and 9 are all that there is of the last
        let window = Window::whole(&[10])
            .slice(&[slice(None, None, -3)])
            .unwrap();
        let all = Distribution::over(1).shape([4]).build().unwrap();
        let part = window.part(&all, 0, Extent::Owned).unwrap();
        let rounded = part.rounded(&[10], &[4]).unwrap();
        assert_eq!(rounded.elements(), Some(10));
        let mut runs = Vec::new();
        rounded.each(1, &mut |from, to, len| runs.push((from, to, len)));
        assert_eq!(runs, [(9, 0, 1), (6, 1, 1), (3, 2, 1), (0, 3, 1)]);
        let window = Window::whole(&[30]).take(0, &[25, 2]).unwrap();
        let all = Distribution::over(1).shape([2]).build().unwrap();
        let rounded = window.part(&all, 0, Extent::Owned).unwrap();
        let rounded = rounded.rounded(&[30], &[4]).unwrap();
        let mut runs = Vec::new();
        rounded.each(1, &mut |from, to, len| runs.push((from, to, len)));
        assert_eq!(
            (rounded.elements(), runs),
            (Some(8), vec![(5, 0, 1), (2, 1, 1)])
        );
    }

    #[test]
    fn a_run_among_whole_chunks_is_one_run() {
        // however long it is, nothing is listed
        let size = 1_usize << 40;
        let shape = [8, size as u64];
        let all = |shape: &[u64]| Distribution::over(1).shape(shape).build().unwrap();
        let window = Window::whole(&shape)
            .slice(&[slice(None, None, 1), slice(Some(5), Some(-1), 1)])
            .unwrap();
        let columns = all(&[8, shape[1] - 6]);
        let part = window.part(&columns, 0, Extent::Owned).unwrap();
        assert!(part.is_in_order());
        let rounded = part.rounded(&shape, &[1 << 20, 4]).unwrap();
        assert_eq!(rounded.elements(), Some(8 * (size - 4)));
        let mut runs = Vec::new();
        rounded.each(1, &mut |from, to, len| runs.push((from, to, len)));
        let row = |row: usize| (row * (size - 4) + 1, row * (size - 6), size - 6);
        assert_eq!(runs, (0..8).map(row).collect::<Vec<_>>());
        // backwards: 6 5 4 3 2 of 10, in chunks of 4 all but the last two
        let window = Window::whole(&[10])
            .slice(&[slice(Some(6), Some(1), -1)])
            .unwrap();
        let part = window.part(&all(&[5]), 0, Extent::Owned).unwrap();
        let rounded = part.rounded(&[10], &[4]).unwrap();
        let mut runs = Vec::new();
        rounded.each(2, &mut |from, to, len| runs.push((from, to, len)));
        assert_eq!(rounded.elements(), Some(8));
        let expected = [(12, 0, 2), (10, 2, 2), (8, 4, 2), (6, 6, 2), (4, 8, 2)];
        assert_eq!(runs, expected);
        // in any order, among chunks that follow each other
        let window = Window::whole(&[10]).take(0, &[5, 4, 4, 6]).unwrap();
        let part = window.part(&all(&[4]), 0, Extent::Stored).unwrap();
        let rounded = part.rounded(&[10], &[4]).unwrap();
        let mut runs = Vec::new();
        rounded.each(1, &mut |from, to, len| runs.push((from, to, len)));
        assert_eq!(runs, [(1, 0, 1), (0, 1, 1), (0, 2, 1), (2, 3, 1)]);
    }

    #[test]
    fn more_indices_than_there_is_memory_for_are_an_error() {
        let size = 1 << 60;
        let window = Window::whole(&[size]);
        let dealt = Distribution::over(2)
            .shape([size])
            .cyclic(0)
            .build()
            .unwrap();
        let part = window.part(&dealt, 0, Extent::Owned);
        assert!(matches!(part, Err(IoError::Memory { .. })));
        let strided = window.slice(&[slice(None, None, 2)]).unwrap();
        let half = Distribution::over(1).shape([size / 2]).build().unwrap();
        let part = strided.part(&half, 0, Extent::Owned);
        assert!(matches!(part, Err(IoError::Memory { .. })));
    }

    #[test]
    fn slabs_share_no_chunk() {
        let chunks = FileLayout::Chunked { chunk: vec![4] };
        for step in [-7, -4, -3, -1, 1, 2, 3, 4, 5, 9] {
            for ranks in 1..=5 {
                let window = Window::whole(&[30])
                    .slice(&[slice(None, None, step)])
                    .unwrap();
                let slabs = window.slabs(&chunks, ranks).unwrap();
                let mut owner = [None; 8];
                let mut seen = 0;
                for rank in 0..ranks {
                    let part = window.part(&slabs, rank, Extent::Owned).unwrap();
                    for run in map_from_dim_dict(&part.dim_data().dims()[0])
                        .unwrap()
                        .runs()
                    {
                        for g in
                            run.global.unsigned_abs()..run.global.unsigned_abs() + run.len as u64
                        {
                            let chunk = usize::try_from(g / 4).unwrap();
                            assert_eq!(*owner[chunk].get_or_insert(rank), rank, "{step} {ranks}");
                            seen += 1;
                        }
                    }
                }
                assert_eq!(seen, window.shape()[0], "{step} {ranks}");
            }
        }
        let taken = Window::whole(&[30]).take(0, &[29, 3, 5, 2, 3, 28]).unwrap();
        let slabs = taken.slabs(&chunks, 3).unwrap(); // chunks 0, 1 and 7
        let lists = |rank| slabs.owned_shape(rank)[0];
        assert_eq!([lists(0), lists(1), lists(2)], [3, 1, 2]);
    }
}
