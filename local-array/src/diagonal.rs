//! [`diagonal`](LocalArrayBase::diagonal).

use std::collections::BTreeMap;
use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution, MAX_LISTED, MapError};
use ndarray::{Array, Axis, Data, Dimension, IxDyn};

use crate::agreement::same_everywhere;
use crate::axis::axis_of;
use crate::part::Part;
use crate::remote::{Owners, nobodys};
use crate::{ArrayError, LocalArray, LocalArrayBase};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The elements whose index along `axis2` is `offset` more than that along `axis1` (`NumPy`'s `diagonal`): a copy.
    /// Collective; every rank gives the same arguments. Local meaning: on [`part`](Self::part).
    ///
    /// Shape: the other dimensions in their order, the diagonal last. No element moves: along the diagonal the grid has the
    /// coordinates that it passes through, in blocks where both axes are in blocks. Padding of the other axes stays.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix2, array};
    ///
    /// let found = ThreadComm::run(4, |comm| {
    ///     let grid = Distribution::over(4).shape([3, 4]).block(0).block(1).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&grid, comm, |g| g[0] * 10 + g[1])?;
    ///     a.diagonal(1, 0, 1)?.gather_to(0)
    /// })?;
    /// assert_eq!(found[0], Some(array![1, 12, 23].into_dyn()));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`] for
    /// one and the same axis twice, an index that explicit lists leave out, or arguments that differ between the ranks;
    /// [`ArrayError::Map`] where the diagonal of axes that are not in blocks is longer than can be listed;
    /// [`ArrayError::Agreed`] when a rank cannot have the memory.
    pub fn diagonal(
        &self,
        offset: i64,
        axis1: i32,
        axis2: i32,
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        same_everywhere(&self.comm, "offset or axes", &(offset, axis1, axis2))?;
        let (first, second) = (axis_of(axis1, self.ndim())?, axis_of(axis2, self.ndim())?);
        if first == second {
            return Err(ArrayError::Argument {
                what: "axis2",
                given: axis2.to_string(),
                allowed: format!("another axis than {axis1}"),
            });
        }
        let source = self.distribution();
        let here = self.part.coords();
        let here = here.map(|coords| (coords[first], coords[second]));
        let passed = passed(&source.axes()[first], &source.axes()[second], offset, here)?;
        let others: Vec<usize> = (0..self.ndim())
            .filter(|&axis| axis != first && axis != second)
            .collect();
        // Ranks in C order of the other axes and of the cells.
        let mut coords = vec![vec![0; self.ndim()]];
        for &axis in &others {
            let extent = source.grid().shape()[axis];
            coords = coords
                .into_iter()
                .flat_map(|at| {
                    (0..extent).map(move |coord| {
                        let mut at = at.clone();
                        at[axis] = coord;
                        at
                    })
                })
                .collect();
        }
        let mut targets = Vec::with_capacity(coords.len() * passed.cells.len());
        for mut at in coords {
            for &(row, column) in &passed.cells {
                (at[first], at[second]) = (row, column);
                targets.extend(source.rank_at(&at));
            }
        }
        let mut axes: Vec<AxisDist> = others.iter().map(|&a| source.axes()[a].clone()).collect();
        axes.push(passed.axis);
        let distribution = Distribution::from_axes(axes, source.ranks(), targets)?;
        let part = Part::new(Arc::new(distribution), &self.comm)?;
        let mut data: Array<S::Elem, IxDyn> = agree(&self.comm, part.zeros())?;
        if part.is_active() {
            let stored = self.data.view().into_dyn();
            let shift = |axis: usize| self.part.owned()[axis].start;
            let (low1, low2) = (shift(first), shift(second));
            let last = Axis(others.len());
            // The later axis goes first, so that the other keeps its number.
            for ((row, column), mut slot) in passed.here.iter().zip(data.axis_iter_mut(last)) {
                let (row, column) = (row + low1, column + low2);
                let pair = [(first, row), (second, column)];
                let (early, late) = if first < second {
                    (pair[0], pair[1])
                } else {
                    (pair[1], pair[0])
                };
                let lane = stored.index_axis(Axis(late.0), late.1);
                slot.assign(&lane.index_axis(Axis(early.0), early.1));
            }
        }
        LocalArray::from_part(data, Arc::new(part), self.comm.clone())
    }
}

/// What a diagonal passes through.
struct Passed {
    /// Pairs of coordinates, in the order in which the diagonal meets them.
    cells: Vec<(usize, usize)>,
    /// The diagonal over those cells.
    axis: AxisDist,
    /// The owned positions of this rank on it.
    here: Vec<(usize, usize)>,
}

fn passed(
    rows: &AxisDist,
    columns: &AxisDist,
    offset: i64,
    mine: Option<(usize, usize)>,
) -> Result<Passed, ArrayError> {
    let (down, right) = (offset.min(0).unsigned_abs(), offset.max(0).unsigned_abs());
    let len = rows
        .size()
        .saturating_sub(down)
        .min(columns.size().saturating_sub(right));
    if len == 0 {
        return Ok(Passed {
            cells: vec![(0, 0)],
            axis: AxisDist::whole(0)?,
            here: Vec::new(),
        });
    }
    if let (AxisDist::Block { bounds: r, .. }, AxisDist::Block { bounds: c, .. }) = (rows, columns)
    {
        let (mut cells, mut bounds, mut here) = (Vec::new(), vec![0], Vec::new());
        let mut at = 0;
        while at < len {
            let (row, column) = (at + down, at + right);
            let cell = (
                r.partition_point(|&bound| bound <= row) - 1,
                c.partition_point(|&bound| bound <= column) - 1,
            );
            let end = (r[cell.0 + 1] - down).min(c[cell.1 + 1] - right).min(len);
            if Some(cell) == mine {
                let from = (row - r[cell.0], column - c[cell.1]);
                let local = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
                here.extend((0..end - at).map(|i| (local(from.0 + i), local(from.1 + i))));
            }
            cells.push(cell);
            bounds.push(end);
            at = end;
        }
        let axis = AxisDist::block_bounds(bounds)?;
        return Ok(Passed { cells, axis, here });
    }
    if len > MAX_LISTED {
        return Err(ArrayError::Map(MapError::TooManyToList {
            given: len,
            allowed: MAX_LISTED,
        }));
    }
    let (row_owners, column_owners) = (Owners::of(rows), Owners::of(columns));
    let mut lists: Vec<Vec<i64>> = Vec::new();
    let mut cells = Vec::new();
    let mut number_of = BTreeMap::new();
    let mut here = Vec::new();
    for at in 0..len {
        let (row, column) = (at + down, at + right);
        let pairs = (
            row_owners.of_index(row.cast_signed()),
            column_owners.of_index(column.cast_signed()),
        );
        if pairs.0.is_empty() || pairs.1.is_empty() {
            return Err(nobodys(at));
        }
        for &(r, row) in &pairs.0 {
            for &(c, column) in &pairs.1 {
                let number = *number_of.entry((r, c)).or_insert_with(|| {
                    cells.push((r, c));
                    lists.push(Vec::new());
                    lists.len() - 1
                });
                lists[number].push(at.cast_signed());
                if Some((r, c)) == mine {
                    let local = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
                    here.push((local(row), local(column)));
                }
            }
        }
    }
    let axis = AxisDist::unstructured(len, lists)?.canonical();
    Ok(Passed { cells, axis, here })
}
