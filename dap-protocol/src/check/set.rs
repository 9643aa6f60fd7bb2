//! The whole set: what only all ranks together can show.

mod axis;

use std::collections::{BTreeMap, BTreeSet};

use super::{Repair, Strictness};
use crate::{Code, DimData, DimDict, Dist, ProcessGrid, ProtocolVersion, Violation};

/// What the check of a whole set found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetReport {
    /// Every broken rule.
    pub violations: Vec<Violation>,
    /// Padding that reaches over several neighbours, where that was let pass.
    pub repairs: Vec<Repair>,
    /// Per dimension: whether it is periodic with padding at its outer edges that is owned and counted in `size`, as 0.10
    /// says. So is that of a valid set of 0.9 too, which by its own text would not count it: then the last block would stop
    /// beyond `size`, which B4 refuses.
    pub periodic_edges: Vec<bool>,
}

impl SetReport {
    /// Whether the set keeps to every rule, with nothing let pass.
    #[must_use]
    pub fn is_conformant(&self) -> bool {
        self.violations.is_empty() && self.repairs.is_empty()
    }
}

/// Checks the parts of all ranks strictly, in any order; each by itself is valid already.
///
/// Every broken rule is listed, with the rank in the grid's C order. A rule that builds on another
/// (tiling on equal sizes, say) is looked at where that one holds.
#[must_use]
pub fn set(parts: &[(ProtocolVersion, DimData)]) -> Vec<Violation> {
    set_report(parts, Strictness::Strict).violations
}

/// [`set`], and what was let pass.
///
/// Leniently communication padding may reach beyond what the neighbour owns, to the ranks behind
/// it, or up to the end of the dimension: S6, and S5 where the end cuts it short, are repairs then.
#[must_use]
pub fn set_report(parts: &[(ProtocolVersion, DimData)], strictness: Strictness) -> SetReport {
    let mut report = SetReport::default();
    let Some((first_version, first)) = parts.first() else {
        let none = Violation::new(Code::S1, "no rank", "at least one");
        report.violations.push(none);
        return report;
    };
    for (position, (version, data)) in parts.iter().enumerate() {
        if version != first_version {
            let violation =
                Violation::new(Code::S9, version.to_string(), first_version.to_string());
            let rank = data.rank().unwrap_or(position);
            report
                .violations
                .push(violation.key("__version__").rank(rank));
        }
    }
    let agreed = agreement(parts, first, &mut report.violations);
    let Some(ranks) = agreed
        .then(|| place(parts, first, &mut report.violations))
        .flatten()
    else {
        return report;
    };
    for axis in 0..first.ndim() {
        let edges = axis::check(strictness, axis, &ranks, &mut report);
        report.periodic_edges.push(edges);
    }
    report
}

/// A rank of the grid with its dictionaries.
struct Part<'a> {
    rank: usize,
    coords: Vec<usize>,
    data: &'a DimData,
}

/// S3: what all ranks must agree on, compared with the first part.
fn agreement(
    parts: &[(ProtocolVersion, DimData)],
    first: &DimData,
    found: &mut Vec<Violation>,
) -> bool {
    let before = found.len();
    for (position, (_, data)) in parts.iter().enumerate() {
        let rank = data.rank().unwrap_or(position);
        if data.ndim() != first.ndim() {
            let allowed = format!("of length {}", first.ndim());
            let violation = Violation::new(Code::S3, format!("of length {}", data.ndim()), allowed);
            found.push(violation.key("dim_data").rank(rank));
            continue;
        }
        for (axis, (dim, expected)) in data.into_iter().zip(first).enumerate() {
            for ((key, given), (_, allowed)) in shared(dim).into_iter().zip(shared(expected)) {
                if given != allowed {
                    let allowed = format!("{allowed}, as elsewhere");
                    let violation = Violation::new(Code::S3, given, allowed);
                    found.push(violation.key(key).axis(axis).rank(rank));
                }
            }
        }
    }
    found.len() == before
}

/// What a dictionary shares with those of all ranks along its dimension.
fn shared(dim: &DimDict) -> [(&'static str, String); 4] {
    let (key, value) = match dim.dist() {
        Dist::Block { periodic, .. } => ("periodic", periodic.to_string()),
        Dist::Cyclic { block_size, .. } => ("block_size", block_size.to_string()),
        Dist::Unstructured { one_to_one, .. } => ("one_to_one", one_to_one.to_string()),
    };
    [
        ("dist_type", dim.dist_type().to_owned()),
        ("size", dim.size().to_string()),
        ("proc_grid_size", dim.grid_size().to_string()),
        (key, value),
    ]
}

/// S1: each rank of the grid once. The parts by rank, where that holds.
fn place<'a>(
    parts: &'a [(ProtocolVersion, DimData)],
    first: &DimData,
    found: &mut Vec<Violation>,
) -> Option<Vec<Part<'a>>> {
    let count = parts.len();
    let allowed = format!("{count} (ranks given)");
    let Ok(grid) = first.grid() else {
        let given = "a process grid of more than 64 bits";
        found.push(Violation::new(Code::S1, given, allowed).key("proc_grid_size"));
        return None;
    };
    if grid.len() != count {
        let given = format!("{} (product)", grid.len());
        found.push(Violation::new(Code::S1, given, allowed).key("proc_grid_size"));
        return None;
    }
    let mut ranks: BTreeMap<usize, Part<'a>> = BTreeMap::new();
    let mut twice = BTreeSet::new();
    for (_, data) in parts {
        let coords = data.grid_coords();
        let Ok(rank) = grid.rank(&coords) else {
            return None; // excluded by C5 and S3
        };
        if ranks.insert(rank, Part { rank, coords, data }).is_some() {
            twice.insert(rank);
        }
    }
    for &rank in &twice {
        let violation = Violation::new(
            Code::S1,
            format!("{} twice", at(&grid, rank)),
            "each rank once",
        );
        found.push(violation.key("proc_grid_rank").rank(rank));
    }
    twice.is_empty().then(|| ranks.into_values().collect())
}

fn at(grid: &ProcessGrid, rank: usize) -> String {
    grid.coords(rank)
        .map_or_else(|_| rank.to_string(), |coords| format!("{coords:?}"))
}
