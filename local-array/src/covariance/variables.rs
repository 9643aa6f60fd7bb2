//! Many variables: they are dealt to the ranks, and each multiplies its own by those of every rank in turn.

use dist_comm::{CommExt, Communicator};
use dist_maps::AxisDist;
use ndarray::{Array2, Axis, Ix2, Slice};

use super::rows::{Rows, block, center, joined, moved, sums_of, times_conjugate};
use crate::summable::Center;
use crate::{ArrayError, LocalArrayView};

pub(super) fn by_variables<K: Center, C: Communicator + Clone>(
    sets: &[LocalArrayView<'_, K, Ix2, C>],
    n: u64,
    variables: u64,
    comm: &C,
) -> Result<Rows<K>, ArrayError> {
    let ranks = comm.size();
    let all = AxisDist::block_balanced(variables, ranks)?;
    let bounds: Vec<u64> = (0..ranks)
        .filter_map(|rank| all.owned_range(rank))
        .map(|range| range.start)
        .chain([variables])
        .collect();
    let mut first = 0;
    let mut parts = Vec::new();
    for set in sets {
        // The blocks of all variables, cut to those of this set.
        let count = set.global_shape()[0];
        let cut: Vec<u64> = bounds
            .iter()
            .map(|&bound| bound.saturating_sub(first).min(count))
            .collect();
        parts.push(moved(
            set,
            &[AxisDist::block_bounds(cut)?, AxisDist::whole(n)?],
        )?);
        first += count;
    }
    let mut own = joined(&parts)?;
    drop(parts);
    let sums = sums_of(&own);
    center(&mut own, &sums, n);
    let mine = block(variables, ranks, comm.rank())?;
    let width = block(variables, 1, 0)?.len();
    let mut products = Array2::from_elem((mine.len(), width), K::NOTHING);
    for rank in 0..ranks {
        let rows = block(variables, ranks, rank)?;
        let mut theirs = if rank == comm.rank() {
            own.clone()
        } else {
            Array2::from_elem((rows.len(), own.ncols()), K::NOTHING)
        };
        if let Some(elements) = theirs.as_slice_mut() {
            comm.broadcast_slice(rank, elements)?;
        }
        products
            .slice_axis_mut(Axis(1), Slice::from(rows))
            .assign(&times_conjugate(&own, &theirs));
    }
    Ok(Rows {
        products,
        mine,
        observations: n,
    })
}
