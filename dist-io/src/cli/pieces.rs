//! [`Pieces`]: a part of an array in boxes that fit a budget, in the order of the part's buffer.

use std::ops::Range;

use dap_protocol::{DimData, DimDict, Dist};
use dist_maps::{DimMap, GlobalIndex, IndexMap, LocalIndex, MapError, map_from_dim_dict};

/// What an index costs that has to be listed, in bytes, from its dictionary to the plan that finds it.
const LISTED: u64 = 512;

/// A part in boxes, each contiguous in the part's buffer (C order, padding included).
///
/// ```text
/// axes before the cut   one index at a time
/// the axis of the cut   as many as fit the budget
/// axes behind it        all
/// ```
pub(super) struct Pieces<'a> {
    dims: &'a [DimDict],
    maps: Vec<DimMap>,
    shape: Vec<usize>,
    /// The axis of the cut, and its indices a piece.
    axis: usize,
    step: usize,
    /// What an index of the first axis takes in memory, in bytes.
    row: u64,
    /// Pieces of blocks end at multiples of this along the first axis, which is no more than `step`.
    align: u64,
    /// First index along each axis; `None` when all is done.
    at: Option<Vec<usize>>,
}

impl<'a> Pieces<'a> {
    /// `item` is what an element takes in memory while it is read, in bytes. Counted are besides the rows of the whole array that
    /// a piece is taken from: of a file whose rows are read in pieces the system keeps them all at hand.
    pub(super) fn new(dim_data: &'a DimData, item: u64, budget: u64) -> Result<Self, MapError> {
        let dims = dim_data.dims();
        let maps = dims
            .iter()
            .map(map_from_dim_dict)
            .collect::<Result<_, _>>()?;
        let extents = dim_data.local_shape();
        let shape: Vec<usize> = extents
            .iter()
            .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
            .collect();
        let mut cut = (0, usize::MAX);
        let mut of_row = item;
        for (axis, dim) in dims.iter().enumerate() {
            let behind = |of: fn(&DimDict) -> u64| {
                let all = dims[axis + 1..].iter().map(of);
                all.fold(item, |bytes, n| bytes.saturating_mul(n.max(1)))
            };
            let (spread, listed) = match dim.dist() {
                Dist::Block { .. } => (1, 0),
                Dist::Cyclic { .. } => (dim.grid_size() as u64, LISTED),
                Dist::Unstructured { .. } => (1, LISTED),
            };
            let row = behind(DimDict::size)
                .saturating_mul(spread)
                .saturating_add(behind(DimDict::stored_len))
                .saturating_add(listed);
            if axis == 0 {
                of_row = row;
            }
            let fits = budget / row;
            cut = (axis, usize::try_from(fits.max(1)).unwrap_or(usize::MAX));
            if fits > 0 {
                break;
            }
        }
        let at = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
        Ok(Self {
            dims,
            maps,
            shape,
            axis: cut.0,
            step: cut.1,
            row: of_row,
            align: 1,
            at,
        })
    }

    /// Cuts so that chunks of so many indices along the first axis are not cut apart, where that can be; otherwise the bytes that
    /// the smallest such piece takes.
    pub(super) fn in_chunks(mut self, chunk: u64) -> Result<Self, u64> {
        let Some(&extent) = self.shape.first() else {
            return Ok(self);
        };
        let rows = chunk.min(extent as u64);
        if self.at.is_some() && (self.axis > 0 || (self.step as u64) < rows) {
            return Err(self.row.saturating_mul(rows));
        }
        self.align = chunk.min(self.step as u64).max(1);
        Ok(self)
    }

    fn range(&self, axis: usize, first: usize) -> Range<usize> {
        let extent = self.shape[axis];
        match axis.cmp(&self.axis) {
            std::cmp::Ordering::Less => first..first + 1,
            std::cmp::Ordering::Equal => first..self.end(first).min(extent),
            std::cmp::Ordering::Greater => 0..extent,
        }
    }

    /// Where a piece ends along the axis of the cut that begins there.
    fn end(&self, first: usize) -> usize {
        let end = first.saturating_add(self.step);
        let Dist::Block { start, .. } = self.dims[self.axis].dist() else {
            return end;
        };
        if self.axis > 0 || self.align == 1 || end >= self.shape[0] {
            return end;
        }
        let over = usize::try_from((start + end as u64) % self.align).unwrap_or(0);
        end - over // `over` is less than the step
    }

    /// The first indices of the next piece.
    fn advance(&self, mut at: Vec<usize>) -> Option<Vec<usize>> {
        for axis in (0..self.shape.len().min(self.axis + 1)).rev() {
            at[axis] = self.range(axis, at[axis]).end;
            if at[axis] < self.shape[axis] {
                return Some(at);
            }
            at[axis] = 0;
        }
        None
    }
}

impl Iterator for Pieces<'_> {
    type Item = Result<DimData, MapError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at.take()?;
        let axes = self.dims.iter().zip(&self.maps).enumerate();
        let piece = axes
            .map(|(axis, (dim, map))| cut(dim, map, self.range(axis, at[axis])))
            .collect();
        self.at = self.advance(at);
        Some(piece)
    }
}

/// The dictionary of some of the positions that `dim` stores. The grid in it is made up: it only has to let a block begin and
/// end anywhere.
fn cut(dim: &DimDict, map: &DimMap, range: Range<usize>) -> Result<DimDict, MapError> {
    let size = dim.size();
    let global = |at: usize| {
        map.global_from_local(LocalIndex::new(at))
            .map(GlobalIndex::get)
    };
    if let Dist::Block { start, .. } = dim.dist() {
        let (first, end) = (start + range.start as u64, start + range.end as u64);
        return Ok(DimDict::block(size, 3, 1, first..end)?);
    }
    if range == (0..map.size()) {
        return Ok(dim.clone());
    }
    let indices: Vec<i64> = range.filter_map(global).collect();
    let rises = indices
        .windows(2)
        .all(|pair| pair[0].checked_add(1) == Some(pair[1]));
    if let (true, Some(&first)) = (rises, indices.first())
        && let Ok(first) = u64::try_from(first)
        && first + indices.len() as u64 <= size
    {
        return Ok(DimDict::block(
            size,
            3,
            1,
            first..first + indices.len() as u64,
        )?);
    }
    Ok(DimDict::unstructured(size, 3, 1, indices, false)?)
}

/// A part of which only some of the positions along one axis are left.
pub(super) fn cut_axis(
    dim_data: &DimData,
    axis: usize,
    range: Range<usize>,
) -> Result<DimData, MapError> {
    let mut dims = dim_data.dims().to_vec();
    let map = map_from_dim_dict(&dims[axis])?;
    dims[axis] = cut(&dims[axis], &map, range)?;
    Ok(DimData::new(dims))
}

/// The dictionaries of an array that lies whole in one place.
pub(super) fn whole(shape: &[u64]) -> Result<DimData, MapError> {
    let dims = shape.iter().map(|&size| DimDict::whole(size));
    Ok(dims.collect::<Result<DimData, _>>()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dist_maps::{Distribution, MdMap};

    /// The global indices of a part in the order of its buffer.
    fn indices(dim_data: &DimData) -> Vec<Vec<i64>> {
        let map = MdMap::from_dim_data(dim_data).unwrap();
        let mut all = vec![Vec::new()];
        for dim in map.dims() {
            let along: Vec<i64> = dim.global_iter().map(GlobalIndex::get).collect();
            all = all
                .iter()
                .flat_map(|at| {
                    along.iter().map(move |&g| {
                        let mut at = at.clone();
                        at.push(g);
                        at
                    })
                })
                .collect();
        }
        all
    }

    #[test]
    fn pieces_are_the_part_in_order_and_fit() {
        let lists = [vec![5, 0, 3], vec![1, 2], vec![4, 6]];
        for d in [
            Distribution::over(3).shape([7, 5, 4]).block(0).padding(1),
            Distribution::over(3).shape([7, 5, 4]).cyclic(0),
            Distribution::over(4)
                .shape([7, 5, 4])
                .block_cyclic(0, 2)
                .cyclic(2),
            Distribution::over(3)
                .shape([7, 5, 4])
                .unstructured(0, lists),
            Distribution::over(2).shape([30]).block_cyclic(0, 4),
            Distribution::over(2).shape([]),
            Distribution::over(2).shape([0, 3]).block(0),
            Distribution::over(9).shape([4, 3]).block(0),
        ] {
            let d = d.build().unwrap();
            for rank in 0..d.ranks() {
                let part = d.dim_data(rank).unwrap();
                for budget in [1, 700, 1500, 6000, 1 << 40] {
                    let pieces = Pieces::new(&part, 8, budget).unwrap();
                    let pieces: Vec<DimData> = pieces.map(Result::unwrap).collect();
                    let found: Vec<_> = pieces.iter().flat_map(indices).collect();
                    assert_eq!(found, indices(&part), "{d:?} rank {rank} budget {budget}");
                    if budget > 1500 && d.ndim() == 3 {
                        let large =
                            |p: &DimData| p.local_shape().iter().product::<u64>() * 8 > budget;
                        assert!(!pieces.iter().any(large), "{d:?}");
                    }
                    let longest = part.local_shape().iter().product::<u64>();
                    if budget == 1 && longest > 0 {
                        assert_eq!(pieces.len() as u64, longest);
                    }
                }
            }
        }
    }

    #[test]
    fn chunks_are_not_cut_apart() {
        let whole = whole(&[100, 10]).unwrap();
        // a row takes 160 bytes
        let pieces = |budget| Pieces::new(&whole, 8, budget).unwrap().in_chunks(12);
        let rows = |pieces: Pieces<'_>| -> Vec<u64> {
            let pieces: Vec<_> = pieces
                .map(|piece| piece.unwrap().local_shape()[0])
                .collect();
            assert_eq!(pieces.iter().sum::<u64>(), 100);
            pieces
        };
        assert_eq!(rows(pieces(30 * 160).unwrap()), [24, 24, 24, 28]);
        assert_eq!(
            rows(pieces(12 * 160).unwrap()),
            [12, 12, 12, 12, 12, 12, 12, 12, 4]
        );
        assert_eq!(pieces(11 * 160).err(), Some(12 * 160));
        assert_eq!(pieces(100).err(), Some(12 * 160));
        let block = DimData::new(vec![DimDict::block(100, 2, 1, 50..100).unwrap()]);
        let mut pieces = Pieces::new(&block, 8, 16 * 20)
            .unwrap()
            .in_chunks(12)
            .unwrap();
        let first = pieces.next().unwrap().unwrap();
        assert_eq!(first.dims()[0].owned_range(), Some(50..60));
    }

    #[test]
    fn rows_are_cut_by_what_fits() {
        let part = whole(&[100, 10]).unwrap();
        // a row in memory and in the file: 160 bytes
        let pieces = Pieces::new(&part, 8, 1600).unwrap();
        let shapes: Vec<_> = pieces.map(|p| p.unwrap().local_shape()).collect();
        assert_eq!(shapes, vec![vec![10, 10]; 10]);
    }
}
