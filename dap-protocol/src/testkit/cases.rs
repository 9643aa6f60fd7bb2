//! A fixed list of arrays that every importer and exporter should be tried with.

use super::strategies::product;
use crate::{DimData, DimDict, Dist, Padding};

/// An array, as the metadata of all its ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// What is special about it.
    pub name: &'static str,
    /// The metadata, in rank order.
    pub parts: Vec<DimData>,
    /// Whether an importer may refuse it: it has indices on several ranks, or outside `0..size`.
    pub unusual: bool,
}

/// One array for every kind of distribution and every edge of each.
#[must_use]
pub fn cases() -> Vec<Case> {
    let case = |name, axes: &[Vec<DimDict>]| Case {
        name,
        parts: product(axes),
        unusual: false,
    };
    let unusual = |name, lists: &[&[i64]], one_to_one| Case {
        name,
        parts: product(&[unstructured(6, lists, one_to_one)]),
        unusual: true,
    };
    vec![
        case("scalar", &[]),
        case("one rank", &[blocks(&[0, 5])]),
        case("blocks", &[blocks(&[0, 5, 10])]),
        case("blocks, the last one empty", &[blocks(&[0, 3, 6, 9, 9])]),
        case("blocks, a middle one empty", &[blocks(&[0, 4, 4, 7])]),
        case("more ranks than elements", &[blocks(&[0, 1, 2, 2, 2])]),
        case("no elements", &[blocks(&[0, 0, 0])]),
        case(
            "no elements in one dimension of two",
            &[blocks(&[0, 0]), blocks(&[0, 2, 4])],
        ),
        case(
            "blocks in two dimensions",
            &[blocks(&[0, 2, 5]), blocks(&[0, 3, 4, 9])],
        ),
        case(
            "padding on both sides",
            &[padded(18, &[(0, 10), (8, 18)], 1, false)],
        ),
        case(
            "periodic, padded",
            &[padded(12, &[(0, 8), (4, 12)], 2, true), blocks(&[0, 3])],
        ),
        case("cyclic", &[cyclic(10, 3, 1)]),
        case("cyclic, more ranks than elements", &[cyclic(2, 4, 1)]),
        case("block-cyclic, the last block partial", &[cyclic(7, 2, 2)]),
        case(
            "block-cyclic in two dimensions",
            &[cyclic(5, 2, 2), cyclic(9, 2, 2)],
        ),
        case(
            "unstructured",
            &[unstructured(6, &[&[5, 0, 3], &[], &[1, 4, 2]], true)],
        ),
        case(
            "every kind",
            &[
                blocks(&[0, 2, 4]),
                cyclic(5, 2, 1),
                unstructured(3, &[&[2, 0, 1]], true),
            ],
        ),
        unusual(
            "indices on several ranks",
            &[&[0, 1, 2, 3], &[2, 3, 4, 5]],
            false,
        ),
        unusual("negative indices", &[&[-1, 7, 2], &[100, -50, 0]], true),
    ]
}

fn dim(size: u64, ranks: usize, rank: usize, dist: Dist) -> DimDict {
    DimDict::new(size, ranks, rank, dist).expect("the list holds valid dictionaries")
}

fn blocks(bounds: &[u64]) -> Vec<DimDict> {
    let (size, ranks) = (bounds[bounds.len() - 1], bounds.len() - 1);
    let dist = |pair: &[u64]| Dist::Block {
        start: pair[0],
        stop: pair[1],
        padding: Padding::default(),
        periodic: false,
    };
    let pairs = bounds.windows(2).enumerate();
    pairs
        .map(|(rank, pair)| dim(size, ranks, rank, dist(pair)))
        .collect()
}

fn padded(size: u64, ranges: &[(u64, u64)], width: u64, periodic: bool) -> Vec<DimDict> {
    let ranges = ranges
        .iter()
        .enumerate()
        .map(|(rank, &(start, stop))| (rank, start, stop));
    let count = ranges.len();
    ranges
        .map(|(rank, start, stop)| {
            let padding = Padding::new(width, width);
            dim(
                size,
                count,
                rank,
                Dist::Block {
                    start,
                    stop,
                    padding,
                    periodic,
                },
            )
        })
        .collect()
}

fn cyclic(size: u64, ranks: usize, block_size: u64) -> Vec<DimDict> {
    (0..ranks)
        .map(|rank| {
            let start = rank as u64 * block_size;
            dim(size, ranks, rank, Dist::Cyclic { start, block_size })
        })
        .collect()
}

fn unstructured(size: u64, lists: &[&[i64]], one_to_one: bool) -> Vec<DimDict> {
    let lists = lists.iter().enumerate();
    let ranks = lists.len();
    lists
        .map(|(rank, &list)| {
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
