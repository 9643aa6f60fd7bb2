//! Filling what a rank stores by global index, one row of the last axis at a time.

use dist_maps::{IndexMap, Run};
use ndarray::{Array, Dimension};

use crate::part::Part;

/// Hands `fill` every stored row, padding included, in C order: the global indices of the axes before the last, the runs of
/// the last axis, and the row. The one element of a 0-d array is a row with one run. Nothing on a rank without a place in the
/// grid. `data` is in C order, as [`Part::zeros`] makes it.
pub(crate) fn fill_rows<T, D: Dimension>(
    data: &mut Array<T, D>,
    part: &Part,
    mut fill: impl FnMut(&[i64], &mut dyn Iterator<Item = Run>, &mut [T]),
) {
    let (Some(map), Some(stored)) = (part.map(), data.as_slice_mut()) else {
        return;
    };
    let Some((last, outer)) = map.dims().split_last() else {
        let one = Run {
            global: 0,
            local: 0,
            len: stored.len(),
        };
        return fill(&[], &mut std::iter::once(one), stored);
    };
    if stored.is_empty() {
        return;
    }
    let mut iterators: Vec<_> = outer.iter().map(IndexMap::global_iter).collect();
    let mut at: Vec<i64> = iterators
        .iter_mut()
        .filter_map(Iterator::next)
        .map(dist_maps::GlobalIndex::get)
        .collect();
    for row in stored.chunks_exact_mut(last.size()) {
        fill(&at, &mut last.runs(), row);
        for axis in (0..outer.len()).rev() {
            if let Some(index) = iterators[axis].next() {
                at[axis] = index.get();
                break;
            }
            iterators[axis] = outer[axis].global_iter();
            at[axis] = iterators[axis]
                .next()
                .map_or(0, dist_maps::GlobalIndex::get);
        }
    }
}

/// Fills every stored element, padding included, in C order by its global index.
pub(crate) fn fill_by_index<T, D: Dimension>(
    data: &mut Array<T, D>,
    part: &Part,
    mut f: impl FnMut(&[i64]) -> T,
) {
    let ndim = data.ndim();
    let mut global = vec![0; ndim];
    fill_rows(data, part, |outer, runs, row| {
        global[..outer.len()].copy_from_slice(outer);
        for run in runs {
            for (i, slot) in (0..).zip(&mut row[run.local..run.local + run.len]) {
                if let Some(last) = global.last_mut() {
                    *last = run.global.wrapping_add(i); // never beyond the last index of a run
                }
                *slot = f(&global);
            }
        }
    });
}
