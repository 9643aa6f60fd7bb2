//! Reshaped distributions, where the ranks' parts stay parts.

use std::sync::Arc;

use super::Distribution;
use super::algebra::extend;
use crate::canonical::check_listed;
use crate::index::flat_size;
use crate::{AxisDist, MapError};

impl Distribution {
    /// The distribution of the same elements in C order under another shape, every element staying
    /// on its rank; of a reshape that moves elements, a redistribution plan takes care.
    ///
    /// Old and new dimensions are matched in groups of equal size. A group whose parts are still
    /// boxes of index sets in the new shape has a distribution: flattening always does (rows over
    /// 4 ranks, or columns: dealt blocks), splitting does where the parts end at the new rows or
    /// within one row. Padding goes, except in dimensions that stay as they are.
    ///
    /// # Errors
    /// When the sizes differ; [`MapError::NotABox`] when some part is no box in the new shape; when
    /// more than [`MAX_LISTED`](crate::MAX_LISTED) indices would have to be listed.
    ///
    /// ```
    /// use dist_maps::{AxisDist, Distribution};
    /// let rows = Distribution::over(2).shape([4, 6]).block(0).build()?;
    /// assert_eq!(rows.reshape(&[24])?.axes()[0], AxisDist::block(24, 2)?);
    /// let columns = Distribution::over(2).shape([4, 6]).block(1).build()?;
    /// assert_eq!(columns.reshape(&[24])?.axes()[0], AxisDist::cyclic(24, 2, 3)?);
    /// assert!(Distribution::over(3).shape([16]).block(0).build()?.reshape(&[4, 4]).is_err()); // 6, 6, 4
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    pub fn reshape(&self, shape: &[u64]) -> Result<Self, MapError> {
        let (old, new) = (self.global_size()?, flat_size(shape)?);
        if old != new {
            return Err(MapError::ReshapeSize {
                given: new,
                expected: old,
            });
        }
        if old == 0 {
            // Nobody owns anything: any grid will do.
            let axes = shape.iter().map(|&n| AxisDist::whole(n));
            let first = self.targets()[0];
            return Self::from_axes(axes.collect::<Result<_, _>>()?, self.ranks(), [first]);
        }
        if shape == self.global_shape() {
            return Ok(self.clone());
        }
        // Then a dimension of one element has one coordinate, and can go.
        self.drop_empty().regrouped(shape)
    }

    fn regrouped(&self, shape: &[u64]) -> Result<Self, MapError> {
        let mut axes = Vec::with_capacity(shape.len());
        let (mut i, mut j) = (0, 0);
        while i < self.ndim() || j < shape.len() {
            let (from_i, from_j) = (i, j);
            let (mut left, mut right) = (1_u64, 1_u64);
            // Equal products end a group; both are at most the size, which fits.
            loop {
                if left <= right && i < self.ndim() && (left < right || i == from_i) {
                    left *= self.global_shape()[i];
                    i += 1;
                } else if j < shape.len() && (right < left || j == from_j) {
                    right *= shape[j];
                    j += 1;
                } else {
                    break;
                }
            }
            // Trailing ones belong to whatever stands before them.
            while i < self.ndim() && self.global_shape()[i] == 1 && j == shape.len() {
                i += 1;
            }
            while j < shape.len() && shape[j] == 1 && i == self.ndim() {
                j += 1;
            }
            axes.extend(regroup(&self.axes()[from_i..i], &shape[from_j..j])?);
        }
        // Each group keeps its coordinates in C order, so that the places stay too.
        Self::from_axes(axes, self.ranks(), Arc::clone(&self.targets))
    }
}

/// New axes for a group of old ones of the same size, their coordinates in C order being the old.
fn regroup(old: &[AxisDist], shape: &[u64]) -> Result<Vec<AxisDist>, MapError> {
    let sizes: Vec<u64> = old.iter().map(AxisDist::size).collect();
    if sizes == shape {
        return Ok(old.to_vec());
    }
    let flat = flatten(old)?;
    split(&flat, shape)
}

/// One axis over the C-order flattening of several.
fn flatten(axes: &[AxisDist]) -> Result<AxisDist, MapError> {
    let Some((first, rest)) = axes.split_first() else {
        return AxisDist::whole(1);
    };
    let mut flat = first.bare().canonical();
    for inner in rest {
        flat = flatten_pair(&flat, &inner.bare().canonical())?;
    }
    Ok(flat)
}

fn flatten_pair(outer: &AxisDist, inner: &AxisDist) -> Result<AxisDist, MapError> {
    let (n, m) = (outer.size(), inner.size());
    let size = n.saturating_mul(m);
    crate::axis_dist::check_size(size)?;
    if inner.is_whole() {
        match outer {
            AxisDist::Block { bounds, .. } => {
                return Ok(AxisDist::from_bounds(
                    bounds.iter().map(|&b| b * m).collect(),
                ));
            }
            AxisDist::Cyclic {
                ranks, block_size, ..
            } => {
                let block = block_size.saturating_mul(m);
                return Ok(AxisDist::cyclic(size, *ranks, block)?.canonical());
            }
            AxisDist::Unstructured { .. } => {}
        }
    }
    if outer.is_whole() && n == 1 {
        return Ok(inner.clone());
    }
    if outer.is_whole() {
        // Every row is dealt alike: dealt blocks, where a row has whole rounds of them.
        match inner {
            AxisDist::Block { bounds, .. } => {
                let block = bounds[1];
                let even = bounds.windows(2).all(|b| b[1] - b[0] == block);
                if even && block > 0 {
                    return Ok(AxisDist::cyclic(size, inner.ranks(), block)?.canonical());
                }
            }
            AxisDist::Cyclic {
                ranks, block_size, ..
            } if m.is_multiple_of(block_size.saturating_mul(*ranks as u64)) => {
                return Ok(AxisDist::cyclic(size, *ranks, *block_size)?.canonical());
            }
            _ => {}
        }
    }
    check_listed(size)?;
    let mut lists: Vec<Arc<[i64]>> = Vec::new();
    let list_of = |axis: &AxisDist, coord| {
        let mut list = Vec::new();
        extend(&mut list, axis, coord, 0);
        list
    };
    let columns: Vec<Vec<i64>> = (0..inner.ranks()).map(|c| list_of(inner, c)).collect();
    for coord in 0..outer.ranks() {
        let rows = list_of(outer, coord);
        for columns in &columns {
            let each = rows.iter().flat_map(|row| {
                let start = row.saturating_mul(m.cast_signed());
                columns
                    .iter()
                    .map(move |column| start.saturating_add(*column))
            });
            lists.push(each.collect());
        }
    }
    Ok(AxisDist::unstructured_free(size, lists)?.canonical())
}

/// Axes of `shape` for a flat axis.
fn split(flat: &AxisDist, shape: &[u64]) -> Result<Vec<AxisDist>, MapError> {
    let (&n, rest) = match shape.split_first() {
        None if flat.ranks() == 1 => return Ok(Vec::new()),
        // One element on several ranks.
        None => {
            return Err(MapError::NotABox {
                coord: 1,
                rows: 1,
                columns: 1,
            });
        }
        Some(parts) => parts,
    };
    if rest.is_empty() {
        return Ok(vec![flat.clone()]);
    }
    let m = flat_size(rest)?;
    let (outer, inner) = unflatten(flat, n, m)?;
    let mut axes = vec![outer];
    axes.extend(split(&inner, rest)?);
    Ok(axes)
}

/// An axis of `n * m` elements as one of `n` and one of `m`.
fn unflatten(flat: &AxisDist, n: u64, m: u64) -> Result<(AxisDist, AxisDist), MapError> {
    if n == 1 {
        return Ok((AxisDist::whole(1)?, flat.clone()));
    }
    if m == 1 {
        return Ok((flat.clone(), AxisDist::whole(1)?));
    }
    match flat {
        AxisDist::Block { bounds, .. } => {
            if bounds.iter().all(|b| b.is_multiple_of(m)) {
                let rows = AxisDist::from_bounds(bounds.iter().map(|b| b / m).collect());
                return Ok((rows, AxisDist::whole(m)?));
            }
            // Several ranks a row, the same number and the same way in each.
            let ranks = flat.ranks();
            let per_row = bounds.partition_point(|&b| b < m);
            let is_grid = (per_row as u64).checked_mul(n) == Some(ranks as u64)
                && (0_u64..).zip(bounds.chunks(per_row)).all(|(row, part)| {
                    part.iter()
                        .zip(bounds.iter())
                        .all(|(&b, &x)| b == row * m + x)
                });
            if is_grid {
                let columns: Vec<u64> = bounds[..=per_row].to_vec();
                let rows = AxisDist::block(n, ranks / per_row)?;
                return Ok((rows, AxisDist::block_bounds(columns)?));
            }
        }
        AxisDist::Cyclic {
            ranks, block_size, ..
        } => {
            if block_size.is_multiple_of(m) {
                let rows = AxisDist::cyclic(n, *ranks, block_size / m)?.canonical();
                return Ok((rows, AxisDist::whole(m)?));
            }
            if m.is_multiple_of(block_size.saturating_mul(*ranks as u64)) {
                let columns = AxisDist::cyclic(m, *ranks, *block_size)?.canonical();
                return Ok((AxisDist::whole(n)?, columns));
            }
        }
        AxisDist::Unstructured { .. } => {}
    }
    by_lists(flat, n, m)
}

/// The general case: each part taken apart into rows and columns.
fn by_lists(flat: &AxisDist, n: u64, m: u64) -> Result<(AxisDist, AxisDist), MapError> {
    let wrong = |coord| MapError::NotABox {
        coord,
        rows: n,
        columns: m,
    };
    check_listed(flat.size())?;
    let width = m.cast_signed();
    let mut boxes: Vec<(Vec<i64>, Vec<i64>)> = Vec::with_capacity(flat.ranks());
    for coord in 0..flat.ranks() {
        let mut list = Vec::new();
        extend(&mut list, flat, coord, 0);
        let columns_len = list
            .windows(2)
            .position(|pair| pair[0].div_euclid(width) != pair[1].div_euclid(width))
            .map_or(list.len(), |at| at + 1);
        let mut rows = Vec::new();
        let columns: Vec<i64> = list
            .get(..columns_len)
            .unwrap_or_default()
            .iter()
            .map(|g| g.rem_euclid(width))
            .collect();
        for row in list.chunks(columns_len.max(1)) {
            let number = row[0].div_euclid(width);
            let expected = columns.iter().map(|c| number * width + c);
            if row.len() != columns.len() || !row.iter().copied().eq(expected) {
                return Err(wrong(coord));
            }
            rows.push(number);
        }
        boxes.push((rows, columns));
    }
    // A grid of boxes: as many columns as parts share the first one's rows, in order.
    let per_row = boxes
        .iter()
        .take_while(|b| b.0 == boxes[0].0)
        .count()
        .max(1);
    for width in [per_row, 1] {
        let count = boxes.len() / width;
        let is_grid = boxes.len().is_multiple_of(width)
            && (0..boxes.len()).all(|at| {
                let (row, column) = (at / width * width, at % width);
                boxes[at].0 == boxes[row].0 && boxes[at].1 == boxes[column].1
            });
        if is_grid {
            let rows = (0..count).map(|r| boxes[r * width].0.as_slice());
            let columns = (0..width).map(|c| boxes[c].1.as_slice());
            return Ok((
                AxisDist::unstructured_free(n, rows.map(Arc::from).collect::<Vec<_>>())?
                    .canonical(),
                AxisDist::unstructured_free(m, columns.map(Arc::from).collect::<Vec<_>>())?
                    .canonical(),
            ));
        }
    }
    Err(wrong(0))
}
