//! How many rows a group may take: refused, before any is listed, where they are too many.

use super::{Group, Merged, Side};
use crate::AxisDist;
use crate::axis_dist::cyclic_count;
use crate::canonical::check_listed;
use crate::plan::{PlanError, sets};

/// The most that any one coordinate has of an axis.
struct Most {
    elements: u64,
    runs: u64,
    /// The longest run.
    run: u64,
}

impl Group<'_> {
    /// Refuses what could take a rank more than [`MAX_LISTED`](crate::MAX_LISTED) rows. From the
    /// distributions alone, hence the same on every rank.
    pub(super) fn check_rows(&self) -> Result<(), PlanError> {
        for (near, far) in [(&self.src, &self.dst), (&self.dst, &self.src)] {
            let rows = near.most_rows(far);
            check_listed(u64::try_from(rows).unwrap_or(u64::MAX))?;
        }
        Ok(())
    }
}

impl Side<'_> {
    /// At most as many rows as this does a rank's part of this side have, cut where `far` ends.
    fn most_rows(&self, far: &Side<'_>) -> u128 {
        let Some((last, outer)) = self.axes.split_last() else {
            return far.most_parts(1);
        };
        let last = last.most();
        let lines = outer
            .iter()
            .map(|axis| u128::from(axis.most().elements))
            .fold(1, u128::saturating_mul);
        lines
            .saturating_mul(last.runs.into())
            .saturating_mul(far.most_parts(last.run))
    }

    /// In at most as many parts does a run of this many elements lie on this side.
    fn most_parts(&self, run: u64) -> u128 {
        let Some(last) = self.axes.last() else {
            return 1;
        };
        let run = u128::from(run);
        let touched = |width: u64| run.saturating_sub(1).div_ceil(width.max(1).into()) + 1;
        let lines = touched(last.sets.axis().size());
        let parts = match last.sets.axis() {
            AxisDist::Block { bounds, .. } => {
                lines * bounds.windows(2).filter(|b| b[0] < b[1]).count() as u128
            }
            AxisDist::Cyclic { block_size, .. } => touched(*block_size) + 2 * lines,
            AxisDist::Unstructured { .. } => run,
        };
        let copies = self.axes.iter().map(Merged::copies);
        copies.fold(parts.min(run), u128::saturating_mul)
    }
}

impl Merged<'_> {
    fn most(&self) -> Most {
        match self.sets.axis() {
            AxisDist::Block { bounds, .. } => {
                let widest = bounds.windows(2).map(|b| b[1] - b[0]).max().unwrap_or(0);
                Most {
                    elements: widest,
                    runs: widest.min(1),
                    run: widest,
                }
            }
            AxisDist::Cyclic {
                size,
                ranks,
                block_size,
            } => {
                let elements = cyclic_count(*size, *ranks, 0, *block_size);
                Most {
                    elements,
                    runs: elements.div_ceil(*block_size),
                    run: elements.min(*block_size),
                }
            }
            AxisDist::Unstructured { indices, .. } => {
                let sets = || (0..indices.len()).map(|coord| self.sets.get(coord));
                let runs = |set: &[sets::Progression]| set.iter().map(|p| p.count).sum();
                let longest = |set: &[sets::Progression]| set.iter().map(|p| p.len).max();
                Most {
                    elements: sets().map(|s| sets::elements(&s)).max().unwrap_or(0),
                    runs: sets().map(|s| runs(&s)).max().unwrap_or(0),
                    run: sets().filter_map(|s| longest(&s)).max().unwrap_or(0),
                }
            }
        }
    }

    /// The most coordinates that hold one index.
    fn copies(&self) -> u128 {
        let same = self.places.chunk_by(|a, b| a.0 == b.0);
        same.map(<[_]>::len).max().unwrap_or(1) as u128
    }
}
