//! One dimension over all ranks: sameness, tiling, padding, counts.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::{Part, SetReport};
use crate::check::{Repair, Strictness};
use crate::{Code, DimDict, Dist, Padding, ProtocolVersion, Violation};

/// S2, S4 to S8 along one dimension, all ranks of the grid given in order. Whether it has padding at periodic edges.
pub(super) fn check(
    strictness: Strictness,
    axis: usize,
    ranks: &[Part<'_>],
    report: &mut SetReport,
) -> bool {
    let before = report.violations.len();
    let Some(dims) = representatives(axis, ranks, &mut report.violations) else {
        return false;
    };
    match dims.first().map(|(_, dim)| dim.dist()) {
        Some(Dist::Block { .. }) => {
            for line in lines(axis, ranks) {
                interfaces(axis, &line, strictness, report);
            }
        }
        Some(Dist::Unstructured {
            one_to_one: true, ..
        }) => disjoint(axis, &dims, &mut report.violations),
        _ => {}
    }
    if report.violations.len() > before {
        return false;
    }
    report.violations.extend(counted(axis, &dims));
    let other = |dim: &DimDict| dim.owned_len_in(ProtocolVersion::V0_9_0);
    dims.iter().any(|(_, dim)| dim.owned_len() != other(dim))
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
    /// Elements owned, periodic edges among them.
    owned: u64,
    size: u64,
    grid_size: usize,
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
                owned: dim.owned_len(),
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
                owned: 0,
                size: dim.size(),
                grid_size: dim.grid_size(),
            });
        }
    }
    lines.into_values().collect()
}

/// S4, S5, S6 between neighbours on one line. Ranks that hold nothing are stepped over.
fn interfaces(axis: usize, line: &[Block], strictness: Strictness, report: &mut SetReport) {
    let mut add = |code, key: &str, rank, given: u64, allowed: String| {
        let violation = Violation::new(code, given.to_string(), allowed);
        let violation = violation.key(key).axis(axis).rank(rank);
        report.violations.push(violation);
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
        interface(axis, &pair[0], &pair[1], strictness, report);
    }
}

/// S4, S5, S6 where `below` meets `above`.
fn interface(
    axis: usize,
    below: &Block,
    above: &Block,
    strictness: Strictness,
    report: &mut SetReport,
) {
    let (upper, lower) = (below.padding.upper, above.padding.lower);
    // Leniently, padding that is too wide for the neighbour goes on behind it, up to the end.
    let mut wide = |strictness, code, rank, given: u64, allowed: String| {
        let given = given.to_string();
        match strictness {
            Strictness::Strict => {
                let violation = Violation::new(code, given, allowed);
                let violation = violation.key("padding").axis(axis).rank(rank);
                report.violations.push(violation);
            }
            Strictness::Lenient => report.repairs.push(Repair {
                code,
                axis: Some(axis),
                rank: Some(rank),
                key: Some("padding".to_owned()),
                read_as: format!("{given}, over several neighbours"),
                given,
            }),
        }
    };
    // The smaller one ends where the dimension does: all that lies there is stored.
    let cut_short = match upper.cmp(&lower) {
        Ordering::Less => below.stop == below.size,
        Ordering::Equal => true,
        Ordering::Greater => above.start == 0,
    };
    if upper != lower {
        let allowed = format!("{upper} (upper padding of rank {})", below.rank);
        let strictness = if cut_short {
            strictness
        } else {
            Strictness::Strict
        };
        wide(strictness, Code::S5, above.rank, lower, allowed);
        if strictness == Strictness::Strict {
            return;
        }
    }
    for (block, padding, neighbour) in [(below, upper, above), (above, lower, below)] {
        if padding > neighbour.owned {
            let allowed = format!(
                "at most {} (owned by rank {})",
                neighbour.owned, neighbour.rank
            );
            wide(strictness, Code::S6, block.rank, padding, allowed);
        }
    }
    // Padding fits into a block and blocks into 63 bits: no sum here overflows.
    if above.start + upper + lower != below.stop {
        let overlap = upper + lower;
        let allowed = format!(
            "{} (stop of rank {} less the padding of {overlap})",
            below.stop.saturating_sub(overlap),
            below.rank
        );
        let violation = Violation::new(Code::S4, above.start.to_string(), allowed);
        let violation = violation.key("start").axis(axis).rank(above.rank);
        report.violations.push(violation);
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

/// S7: the owned counts along one dimension sum to its size, where no index may be on several ranks.
fn counted(axis: usize, dims: &[(usize, &DimDict)]) -> Option<Violation> {
    let (_, first) = dims.first()?;
    if let Dist::Unstructured {
        one_to_one: false, ..
    } = first.dist()
    {
        return None;
    }
    let owned: u128 = dims
        .iter()
        .map(|(_, dim)| u128::from(dim.owned_len()))
        .sum();
    if owned == first.size().into() {
        return None;
    }
    let violation = Violation::new(
        Code::S7,
        owned.to_string(),
        format!("{} (size)", first.size()),
    );
    Some(violation.key("sum of the owned counts").axis(axis))
}
