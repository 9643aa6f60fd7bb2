//! Self-checks: every element of the destination is written exactly once, and both ends of every
//! message describe it alike.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::region::Region;
use super::{Part, PlanError, RedistPlan, Redistribution, Section, Transfer};

impl RedistPlan {
    /// Checks that what this rank receives and keeps covers its part of the destination exactly
    /// once. Cost by runs and messages.
    ///
    /// # Errors
    /// [`PlanError::Outside`], [`PlanError::WrittenTwice`] or [`PlanError::Inexact`].
    pub fn verify(&self) -> Result<(), PlanError> {
        let transfers = self.recvs.iter().chain(&self.local);
        written_once(self.rank, transfers, &self.writes)
    }
}

impl Redistribution<'_> {
    /// Makes the plans of all ranks and checks them: each destination is covered exactly once, and
    /// every message is described alike by its sender and its receiver.
    ///
    /// # Errors
    /// As [`Redistribution::plan`]; the first fault found, by rank.
    pub fn verify(&self) -> Result<(), PlanError> {
        let factors = self.factors()?;
        let plans = (0..self.ranks())
            .map(|rank| self.plan_of(&factors, rank))
            .collect::<Result<Vec<_>, _>>()?;
        plans.iter().try_for_each(RedistPlan::verify)?;
        let ends = plans.iter().map(|p| (p.rank(), p.sends(), p.recvs()));
        matched(&ends.collect::<Vec<_>>())
    }
}

/// Every message is in the plans of both its ends, once, with the same elements. One item per rank:
/// rank, sends, receives.
pub(crate) fn matched(ends: &[(usize, &[Transfer], &[Transfer])]) -> Result<(), PlanError> {
    let unmatched = |(from, to)| PlanError::Unmatched { from, to };
    let mut sent = BTreeMap::new();
    for &(from, sends, _) in ends {
        for send in sends {
            let ends = (from, send.peer());
            if sent.insert(ends, send.parts()).is_some() {
                return Err(unmatched(ends));
            }
        }
    }
    for &(to, _, recvs) in ends {
        for recv in recvs {
            let ends = (recv.peer(), to);
            if sent.remove(&ends) != Some(recv.parts()) {
                return Err(unmatched(ends));
            }
        }
    }
    sent.into_keys()
        .next()
        .map_or(Ok(()), |ends| Err(unmatched(ends)))
}

/// Boxes that are products of sections cover a region exactly once when all lie in it, per axis any
/// two sections are equal or disjoint, no box occurs twice, and the elements add up.
pub(crate) fn written_once<'a>(
    rank: usize,
    transfers: impl Iterator<Item = &'a Transfer>,
    region: &Region,
) -> Result<(), PlanError> {
    let twice = |(axis, position)| PlanError::WrittenTwice {
        rank,
        axis,
        position,
    };
    let mut axes: Vec<(usize, HashMap<Vec<Run>, usize>)> = Vec::new();
    let mut boxes = HashSet::new();
    let mut written = 0_u128;
    for part in transfers.flat_map(Transfer::parts) {
        let sections: Vec<Vec<Run>> = part.sections().iter().map(runs).collect();
        if let Some((axis, position)) = region.outside(part, &sections) {
            return Err(PlanError::Outside {
                rank,
                axis,
                position,
            });
        }
        let firsts = part.sections().iter().map(Section::dst_axis);
        axes.extend(firsts.skip(axes.len()).map(|axis| (axis, HashMap::new())));
        let mut key = Vec::with_capacity(sections.len());
        let corner = first_cell(part, &sections);
        for (section, (_, known)) in sections.into_iter().zip(&mut axes) {
            let next = known.len();
            key.push(*known.entry(section).or_insert(next));
        }
        if !boxes.insert(key) {
            return Err(twice(corner));
        }
        written += part.elements() as u128;
    }
    for (axis, known) in &axes {
        let mut runs: Vec<&Run> = known.keys().flatten().collect();
        runs.sort_unstable();
        for pair in runs.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            if before.row == after.row && before.end() > after.start {
                return Err(twice((*axis, after.start)));
            }
        }
    }
    if written == region.elements() {
        Ok(())
    } else {
        Err(PlanError::Inexact {
            rank,
            written,
            allowed: region.elements(),
        })
    }
}

/// Neighbouring positions in the destination that a section writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Run {
    /// Positions along all axes of the section but the last.
    pub(super) row: Vec<usize>,
    /// The first position along the last axis.
    pub(super) start: usize,
    pub(super) len: usize,
}

impl Run {
    pub(super) fn end(&self) -> usize {
        self.start.saturating_add(self.len)
    }

    /// The positions along each axis of the section.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let row = self.row.iter().map(|&at| at..at.saturating_add(1));
        row.chain(std::iter::once(self.start..self.end()))
    }
}

/// The runs of a section in the destination.
fn runs(section: &Section) -> Vec<Run> {
    match section {
        Section::Axis { pieces, .. } => pieces
            .iter()
            .flat_map(|piece| {
                (0..piece.count).map(|i| {
                    let step = i.cast_signed().wrapping_mul(piece.dst_stride);
                    Run {
                        row: Vec::new(),
                        start: piece.dst.wrapping_add_signed(step),
                        len: piece.len,
                    }
                })
            })
            .collect(),
        Section::Rows {
            src_axes, dst_axes, ..
        } => section
            .rows()
            .map(|row| {
                let (to, len) = row[*src_axes..].split_at(*dst_axes);
                // a scalar has no axis, and one cell
                let (&start, row) = to.split_last().unwrap_or((&0, &[]));
                Run {
                    row: row.to_vec(),
                    start,
                    len: len[0],
                }
            })
            .collect(),
    }
}

/// Axis and position that stand for a box in an error: where its first section begins.
fn first_cell(part: &Part, sections: &[Vec<Run>]) -> (usize, usize) {
    let axis = part.sections().first().map_or(0, Section::dst_axis);
    let run = sections.first().and_then(|runs| runs.first());
    (axis, run.map_or(0, |run| run.start))
}

#[cfg(test)]
pub(crate) mod tests;
