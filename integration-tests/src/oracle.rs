//! What a part must hold, read off the protocol's dictionaries alone: no map, no plan.

use dap_protocol::{DimData, DimDict, Dist};

/// The global index of each stored position along one dimension.
fn stored(dim: &DimDict) -> Vec<i64> {
    let all = 0..i64::try_from(dim.size()).expect("sizes fit i64");
    match dim.dist() {
        Dist::Block { start, stop, .. } => all
            .filter(|&g| (*start..*stop).contains(&g.unsigned_abs()))
            .collect(),
        Dist::Cyclic { block_size, .. } => all
            .filter(|g| {
                g.unsigned_abs() / block_size % dim.grid_size() as u64 == dim.grid_rank() as u64
            })
            .collect(),
        Dist::Unstructured { indices, .. } => indices.to_vec(),
    }
}

/// Per stored position along one dimension, whether it is this rank's own and not a copy of a neighbour's.
fn owned(dim: &DimDict) -> Vec<bool> {
    let stored = stored(dim);
    let padding = dim.padding();
    let (first, last) = (dim.grid_rank() == 0, dim.grid_rank() + 1 == dim.grid_size());
    let lower = if first {
        0
    } else {
        usize::try_from(padding.lower).expect("padding fits")
    };
    let upper = if last {
        0
    } else {
        usize::try_from(padding.upper).expect("padding fits")
    };
    (0..stored.len())
        .map(|at| at >= lower && at + upper < stored.len())
        .collect()
}

/// The value that every test gives the element at a global index: its position in C order of the whole array.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "test arrays are small")]
pub fn value(global: &[i64], shape: &[u64]) -> f64 {
    let flat = global
        .iter()
        .zip(shape)
        .fold(0, |flat, (&g, &n)| flat * n + g.unsigned_abs());
    flat as f64
}

/// What a part holds, in C order: the value at each stored position, and whether the rank owns it.
#[must_use]
pub fn part(dim_data: &DimData) -> Vec<(f64, bool)> {
    let shape = dim_data.global_shape();
    let mut prefixes = vec![(Vec::new(), true)];
    for dim in dim_data {
        let places: Vec<_> = stored(dim).into_iter().zip(owned(dim)).collect();
        prefixes = prefixes
            .iter()
            .flat_map(|(prefix, own)| {
                places.iter().map(move |&(g, is_own)| {
                    let mut longer: Vec<i64> = prefix.clone();
                    longer.push(g);
                    (longer, *own && is_own)
                })
            })
            .collect();
    }
    prefixes
        .iter()
        .map(|(global, own)| (value(global, &shape), *own))
        .collect()
}
