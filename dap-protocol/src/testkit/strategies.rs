//! Strategies for the metadata of all ranks.

use std::ops::RangeInclusive;

use proptest::prelude::*;
use proptest::sample::Index;

use crate::{DimData, DimDict, Dist, Padding};

/// Largest extent along a dimension: small, so that empty ranks and thin blocks are common.
const MAX_EXTENT: u64 = 12;

/// The metadata of all ranks of an array, in rank order, on a number of ranks in `ranks`: 0 to 3
/// dimensions of every kind, padded and periodic blocks, empty ranks, zero-length dimensions, more
/// ranks than elements, indices that are negative, unordered, or on several ranks.
///
/// A scalar (no dimension) is drawn where one rank is.
///
/// # Panics
/// When `ranks` is empty or begins at 0.
pub fn dim_data_set(ranks: RangeInclusive<usize>) -> impl Strategy<Value = Vec<DimData>> {
    assert!(*ranks.start() > 0, "an array lies on one rank at least");
    (ranks, 0..=3_usize, any::<[Index; 3]>())
        .prop_flat_map(|(ranks, ndim, picks)| {
            let ndim = if ranks > 1 { ndim.max(1) } else { ndim };
            let grid = factors(ranks, ndim, &picks);
            grid.into_iter().map(dims_along).collect::<Vec<_>>()
        })
        .prop_map(|axes| product(&axes))
}

/// `ranks` as a product of `ndim` factors.
fn factors(ranks: usize, ndim: usize, picks: &[Index]) -> Vec<usize> {
    let mut rest = ranks;
    let mut grid = Vec::with_capacity(ndim);
    for (axis, pick) in (0..ndim).zip(picks) {
        let divisors: Vec<usize> = (1..=rest).filter(|&n| rest.is_multiple_of(n)).collect();
        let factor = if axis + 1 == ndim {
            rest
        } else {
            *pick.get(&divisors)
        };
        grid.push(factor);
        rest /= factor;
    }
    grid
}

/// Every combination of one dictionary per dimension, the last dimension fastest.
pub(super) fn product(axes: &[Vec<DimDict>]) -> Vec<DimData> {
    let mut parts: Vec<Vec<DimDict>> = vec![Vec::new()];
    for axis in axes {
        let with = |part: &Vec<DimDict>, dim: &DimDict| {
            let mut longer = part.clone();
            longer.push(dim.clone());
            longer
        };
        parts = parts
            .iter()
            .flat_map(|part| axis.iter().map(move |dim| with(part, dim)))
            .collect();
    }
    parts.into_iter().map(DimData::new).collect()
}

/// One dimension of any kind over `ranks` ranks: the dictionary of each coordinate.
pub fn dims_along(ranks: usize) -> BoxedStrategy<Vec<DimDict>> {
    prop_oneof![
        3 => blocks(ranks),
        2 => cyclic(ranks),
        1 => one_to_one(ranks),
        1 => overlapping(ranks),
    ]
    .boxed()
}

fn dim(size: u64, ranks: usize, rank: usize, dist: Dist) -> DimDict {
    DimDict::new(size, ranks, rank, dist).expect("the strategy draws valid dictionaries")
}

/// Blocks with any bounds; communication padding as wide as the owners have it, boundary padding.
fn blocks(ranks: usize) -> impl Strategy<Value = Vec<DimDict>> {
    let cuts = prop::collection::vec(0..=MAX_EXTENT, ranks - 1);
    let widths = prop::collection::vec(prop_oneof![Just(0), 0..3_u64], ranks + 1);
    (0..=MAX_EXTENT, cuts, widths, any::<bool>()).prop_map(move |(size, cuts, widths, periodic)| {
        let mut bounds: Vec<u64> = cuts.into_iter().map(|cut| cut.min(size)).collect();
        bounds.extend([0, size]);
        bounds.sort_unstable();
        let owned = |rank: usize| bounds[rank + 1] - bounds[rank];
        let full: Vec<usize> = (0..ranks).filter(|&rank| owned(rank) > 0).collect();
        let mut pads = vec![Padding::default(); ranks];
        for pair in full.windows(2) {
            let width = widths[pair[1]].min(owned(pair[0])).min(owned(pair[1]));
            pads[pair[0]].upper = width;
            pads[pair[1]].lower = width;
        }
        let (starts, stops): (Vec<u64>, Vec<u64>) = (0..ranks)
            .map(|rank| {
                (
                    bounds[rank] - pads[rank].lower,
                    bounds[rank + 1] + pads[rank].upper,
                )
            })
            .unzip();
        // Boundary padding marks owned elements: it widens nothing.
        let last = ranks - 1;
        pads[0].lower = widths[0].min(stops[0] - starts[0] - pads[0].upper);
        pads[last].upper = widths[ranks].min(stops[last] - starts[last] - pads[last].lower);
        (0..ranks)
            .map(|rank| {
                let dist = Dist::Block {
                    start: starts[rank],
                    stop: stops[rank],
                    padding: pads[rank],
                    periodic,
                };
                dim(size, ranks, rank, dist)
            })
            .collect()
    })
}

fn cyclic(ranks: usize) -> impl Strategy<Value = Vec<DimDict>> {
    (0..=MAX_EXTENT, 1..=5_u64).prop_map(move |(size, block_size)| {
        (0..ranks)
            .map(|rank| {
                let start = rank as u64 * block_size;
                dim(size, ranks, rank, Dist::Cyclic { start, block_size })
            })
            .collect()
    })
}

/// Each index on one rank: `0..size` in any order, or other integers as many.
fn one_to_one(ranks: usize) -> impl Strategy<Value = Vec<DimDict>> {
    let order = (0..=MAX_EXTENT).prop_flat_map(|size| {
        let all: Vec<i64> = (0..).take(usize::try_from(size).unwrap_or(0)).collect();
        Just(all).prop_shuffle()
    });
    let homes = prop::collection::vec(0..ranks, 12);
    (
        order,
        homes,
        prop_oneof![4 => Just((1, 0)), 1 => Just((3, -7))],
    )
        .prop_map(move |(order, homes, (scale, shift))| {
            let size = order.len() as u64;
            let mut lists = vec![Vec::new(); ranks];
            for (index, home) in order.into_iter().zip(homes) {
                lists[home].push(scale * index + shift);
            }
            unstructured(size, lists, true)
        })
}

/// Indices that several ranks may hold, some below 0 or beyond the size.
fn overlapping(ranks: usize) -> impl Strategy<Value = Vec<DimDict>> {
    let list = prop::sample::subsequence((-3..15_i64).collect::<Vec<_>>(), 0..6).prop_shuffle();
    let lists = prop::collection::vec(list, ranks);
    (0..=MAX_EXTENT, lists).prop_map(|(size, lists)| unstructured(size, lists, false))
}

fn unstructured(size: u64, lists: Vec<Vec<i64>>, one_to_one: bool) -> Vec<DimDict> {
    let ranks = lists.len();
    let with_rank = lists.into_iter().enumerate();
    with_rank
        .map(|(rank, list)| {
            let indices = list.into();
            dim(
                size,
                ranks,
                rank,
                Dist::Unstructured {
                    indices,
                    one_to_one,
                },
            )
        })
        .collect()
}
