//! One dimension over all ranks: sameness, tiling, padding, counts.

use std::collections::BTreeMap;

use super::{EdgeReading, Part};
use crate::{Code, DimDict, Dist, Padding, ProtocolVersion, Violation};

/// S2, S4 to S8 along one dimension, all ranks of the grid given in order.
pub(super) fn check(
    version: ProtocolVersion,
    axis: usize,
    ranks: &[Part<'_>],
    found: &mut Vec<Violation>,
) -> Option<EdgeReading> {
    let before = found.len();
    let dims = representatives(axis, ranks, found)?;
    match dims.first().map(|(_, dim)| dim.dist()) {
        Some(Dist::Block { .. }) => {
            for line in lines(axis, ranks) {
                interfaces(axis, &line, found);
            }
        }
        Some(Dist::Unstructured {
            one_to_one: true, ..
        }) => disjoint(axis, &dims, found),
        _ => {}
    }
    if found.len() > before {
        return None;
    }
    sums(version, axis, &dims, found)
}

/// S2: the dictionary of each coordinate, with the first rank that has it, where all that have
/// the coordinate carry the same.
fn representatives<'a>(
    axis: usize,
    ranks: &[Part<'a>],
    found: &mut Vec<Violation>,
) -> Option<Vec<(usize, &'a DimDict)>> {
    let before = found.len();
    let mut dims: Vec<Option<(usize, &DimDict)>> = Vec::new();
    for part in ranks {
        let (coord, dim) = (part.coords[axis], &part.data[axis]);
        if coord >= dims.len() {
            dims.resize(coord + 1, None);
        }
        match dims[coord] {
            None => dims[coord] = Some((part.rank, dim)),
            Some((rank, expected)) if !same_but_padding(dim, expected) => {
                let violation = Violation::new(
                    Code::S2,
                    format!("another dictionary than that of rank {rank}"),
                    "the same for the same proc_grid_rank, padding apart",
                );
                found.push(violation.axis(axis).rank(part.rank));
            }
            Some(_) => {}
        }
    }
    (found.len() == before).then(|| dims.into_iter().flatten().collect())
}

fn same_but_padding(a: &DimDict, b: &DimDict) -> bool {
    let dist = match (a.dist(), b.dist()) {
        (
            Dist::Block {
                start: a1,
                stop: a2,
                ..
            },
            Dist::Block {
                start: b1,
                stop: b2,
                ..
            },
        ) => (a1, a2) == (b1, b2),
        (a, b) => a == b,
    };
    dist && a.extra() == b.extra()
}

/// One rank's block on a line of ranks along the dimension.
struct Block {
    rank: usize,
    coord: usize,
    start: u64,
    stop: u64,
    padding: Padding,
    size: u64,
    grid_size: usize,
}

impl Block {
    /// Elements owned, the edges of the grid included.
    fn owned(&self) -> u64 {
        let lower = if self.coord == 0 {
            0
        } else {
            self.padding.lower
        };
        let upper = if self.coord + 1 == self.grid_size {
            0
        } else {
            self.padding.upper
        };
        self.stop - self.start - lower - upper
    }
}

/// The blocks that hold something, by line of ranks that differ in this coordinate only.
fn lines(axis: usize, ranks: &[Part<'_>]) -> Vec<Vec<Block>> {
    let mut lines: BTreeMap<Vec<usize>, Vec<Block>> = BTreeMap::new();
    for part in ranks {
        let dim = &part.data[axis];
        let mut others = part.coords.clone();
        let coord = others.remove(axis);
        let line = lines.entry(others).or_default();
        if let Dist::Block {
            start,
            stop,
            padding,
            ..
        } = *dim.dist()
            && start < stop
        {
            line.push(Block {
                rank: part.rank,
                coord,
                start,
                stop,
                padding,
                size: dim.size(),
                grid_size: dim.grid_size(),
            });
        } else if line.is_empty() && coord + 1 == dim.grid_size() && dim.size() > 0 {
            // Nobody holds anything: an empty block that stands for the gap.
            line.push(Block {
                rank: part.rank,
                coord,
                start: 0,
                stop: 0,
                padding: Padding::default(),
                size: dim.size(),
                grid_size: dim.grid_size(),
            });
        }
    }
    lines.into_values().collect()
}

/// S4, S5, S6 between neighbours on one line. Ranks that hold nothing are stepped over.
fn interfaces(axis: usize, line: &[Block], found: &mut Vec<Violation>) {
    let mut add = |code, key: &str, rank, given: u64, allowed: String| {
        let violation = Violation::new(code, given.to_string(), allowed);
        found.push(violation.key(key).axis(axis).rank(rank));
    };
    if let Some(first) = line.first() {
        if first.start != 0 {
            add(
                Code::S4,
                "start",
                first.rank,
                first.start,
                "0 (first block)".to_owned(),
            );
        }
        if first.coord != 0 && first.padding.lower != 0 {
            let allowed = "0 (no block below)".to_owned();
            add(
                Code::S5,
                "padding",
                first.rank,
                first.padding.lower,
                allowed,
            );
        }
    }
    if let Some(last) = line.last() {
        if last.stop != last.size {
            let allowed = format!("{} (size, last block)", last.size);
            add(Code::S4, "stop", last.rank, last.stop, allowed);
        }
        if last.coord + 1 != last.grid_size && last.padding.upper != 0 {
            let allowed = "0 (no block above)".to_owned();
            add(Code::S5, "padding", last.rank, last.padding.upper, allowed);
        }
    }
    for pair in line.windows(2) {
        let (below, above) = (&pair[0], &pair[1]);
        let (upper, lower) = (below.padding.upper, above.padding.lower);
        if upper != lower {
            let allowed = format!("{upper} (upper padding of rank {})", below.rank);
            add(Code::S5, "padding", above.rank, lower, allowed);
            continue;
        }
        // Padding fits into a block and blocks into 63 bits: no sum here overflows.
        if above.start + upper + lower != below.stop {
            let overlap = upper + lower;
            let allowed = format!(
                "{} (stop of rank {} less the padding of {overlap})",
                below.stop.saturating_sub(overlap),
                below.rank
            );
            add(Code::S4, "start", above.rank, above.start, allowed);
        }
        for (block, neighbour) in [(below, above), (above, below)] {
            if upper > neighbour.owned() {
                let allowed = format!(
                    "at most {} (owned by rank {})",
                    neighbour.owned(),
                    neighbour.rank
                );
                add(Code::S6, "padding", block.rank, upper, allowed);
            }
        }
    }
}

/// S8: no index at two coordinates.
fn disjoint(axis: usize, dims: &[(usize, &DimDict)], found: &mut Vec<Violation>) {
    let mut all: Vec<(i64, usize)> = Vec::new();
    for &(rank, dim) in dims {
        if let Dist::Unstructured { indices, .. } = dim.dist() {
            all.extend(indices.iter().map(|&index| (index, rank)));
        }
    }
    all.sort_unstable();
    for pair in all.windows(2) {
        let ((index, first), (next, second)) = (pair[0], pair[1]);
        if index == next {
            let given = format!("{index}, on rank {first} too");
            let violation = Violation::new(Code::S8, given, "each index on one rank (one_to_one)");
            found.push(violation.key("indices").axis(axis).rank(second));
        }
    }
}

/// S7, and for periodic dimensions with padded edges the reading by which it holds.
fn sums(
    version: ProtocolVersion,
    axis: usize,
    dims: &[(usize, &DimDict)],
    found: &mut Vec<Violation>,
) -> Option<EdgeReading> {
    let (_, first) = *dims.first()?;
    if matches!(
        first.dist(),
        Dist::Unstructured {
            one_to_one: false,
            ..
        }
    ) {
        return None; // indices on several ranks are counted several times
    }
    let sum = |version: ProtocolVersion| -> u128 {
        dims.iter()
            .map(|(_, dim)| match dim.owned_range_in(version) {
                Some(range) => u128::from(range.end - range.start),
                None => u128::from(dim.stored_len()),
            })
            .sum()
    };
    let size = u128::from(first.size());
    let (owned, other) = (sum(ProtocolVersion::V0_10_0), sum(ProtocolVersion::V0_9_0));
    let mut readings = [
        (EdgeReading::Owned, owned),
        (EdgeReading::Communication, other),
    ];
    if !version.periodic_edge_is_owned() {
        readings.reverse();
    }
    if let Some((reading, _)) = readings.into_iter().find(|&(_, sum)| sum == size) {
        return (owned != other).then_some(reading);
    }
    let given = if owned == other {
        owned.to_string()
    } else {
        format!("{owned}, or {other} without the periodic edges")
    };
    let violation = Violation::new(Code::S7, given, format!("{size} (size)"));
    found.push(violation.key("sum of the owned counts").axis(axis));
    None
}
