//! Self-checks: every element of the destination is written exactly once, and both ends of every
//! message describe it alike.

use std::collections::{HashMap, HashSet};

use super::{PlanError, RedistPlan, Redistribution, Section, Transfer};

impl RedistPlan {
    /// Checks that what this rank receives and keeps covers its part of the destination exactly
    /// once. Cost by runs and messages.
    ///
    /// # Errors
    /// [`PlanError::Inexact`] or [`PlanError::WrittenTwice`].
    pub fn verify(&self) -> Result<(), PlanError> {
        let transfers = self.recvs.iter().chain(&self.local);
        written_once(self.rank, transfers, self.writes)
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

/// Every message is in the plans of both its ends, with the same elements. One item per rank: rank,
/// sends, receives.
pub(crate) fn matched(ends: &[(usize, &[Transfer], &[Transfer])]) -> Result<(), PlanError> {
    let unmatched = |from, to| PlanError::Unmatched { from, to };
    let find = |list: &[Transfer], peer| list.iter().find(|t| t.peer() == peer).cloned();
    for &(to, _, recvs) in ends {
        for recv in recvs {
            let from = recv.peer();
            let sends = ends.get(from).map_or(&[][..], |end| end.1);
            let send = find(sends, to).ok_or(unmatched(from, to))?;
            if send.parts() != recv.parts() {
                return Err(unmatched(from, to));
            }
        }
    }
    for &(from, sends, _) in ends {
        for send in sends {
            let to = send.peer();
            let recvs = ends.get(to).map_or(&[][..], |end| end.2);
            find(recvs, from).ok_or(unmatched(from, to))?;
        }
    }
    Ok(())
}

/// Boxes that are products of sections cover `allowed` elements exactly once when per axis any two
/// sections are equal or disjoint, no box occurs twice, and the elements add up.
pub(crate) fn written_once<'a>(
    rank: usize,
    transfers: impl Iterator<Item = &'a Transfer>,
    allowed: u128,
) -> Result<(), PlanError> {
    let mut axes: Vec<HashMap<Vec<Vec<usize>>, usize>> = Vec::new();
    let mut boxes = HashSet::new();
    let mut written = 0_u128;
    for part in transfers.flat_map(Transfer::parts) {
        let sections = part.sections();
        axes.resize_with(axes.len().max(sections.len()), HashMap::new);
        let mut key = Vec::with_capacity(sections.len());
        for (section, known) in sections.iter().zip(&mut axes) {
            let next = known.len();
            key.push(*known.entry(targets(section)).or_insert(next));
        }
        written += part.elements() as u128;
        if !boxes.insert(key) {
            written += 1;
        }
    }
    for (axis, known) in axes.iter().enumerate() {
        // (positions along all axes but the last, start, length)
        let mut runs: Vec<&Vec<usize>> = known.keys().flatten().collect();
        runs.sort_unstable();
        for pair in runs.windows(2) {
            let n = pair[0].len();
            let (before, after) = (&pair[0][..n - 1], &pair[1][..n - 1]);
            let same_row = before[..n - 2] == after[..n - 2];
            if same_row && before[n - 2] + pair[0][n - 1] > after[n - 2] {
                return Err(PlanError::WrittenTwice {
                    rank,
                    axis,
                    position: after[n - 2],
                });
            }
        }
    }
    if written == allowed {
        Ok(())
    } else {
        Err(PlanError::Inexact {
            rank,
            written,
            allowed,
        })
    }
}

/// The runs of a section in the destination: positions, then the length.
fn targets(section: &Section) -> Vec<Vec<usize>> {
    match section {
        Section::Axis { pieces, .. } => pieces
            .iter()
            .flat_map(|piece| {
                (0..piece.count).map(|i| {
                    let step = i.cast_signed().wrapping_mul(piece.dst_stride);
                    vec![piece.dst.wrapping_add_signed(step), piece.len]
                })
            })
            .collect(),
        Section::Rows { src_axes, rows, .. } => rows
            .chunks_exact(section.row_width())
            .map(|row| row[*src_axes..].to_vec())
            .collect(),
    }
}
