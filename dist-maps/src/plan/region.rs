//! [`Region`]: the cells that a plan is to write on its rank.

use std::ops::Range;

use super::verify::Run;
use super::{Part, Section};
use crate::halo::Corners;

/// A box of stored cells, or the rim of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Region {
    /// Positions per axis of the destination.
    pub(crate) cells: Vec<Range<usize>>,
    /// Of a halo: the positions per axis that are not halo, and which corners count.
    pub(crate) within: Option<(Vec<Range<usize>>, Corners)>,
    /// Cells.
    pub(crate) elements: u128,
}

impl Region {
    pub(crate) fn elements(&self) -> u128 {
        self.elements
    }

    /// Axis and position of a cell of a box that is not of this region. `sections` are the runs of
    /// the box.
    pub(super) fn outside(&self, part: &Part, sections: &[Vec<Run>]) -> Option<(usize, usize)> {
        for (section, runs) in part.sections().iter().zip(sections) {
            // A section may have no axis here: extents of 1 that a reshape drops.
            let axes = section.dst_axis()..section.dst_axis() + dst_axes(section);
            for (axis, given) in runs.iter().flat_map(|run| axes.clone().zip(run.ranges())) {
                let none = 0..0;
                let allowed = self.cells.get(axis).unwrap_or(&none);
                if given.start < allowed.start {
                    return Some((axis, given.start));
                }
                if given.end > allowed.end {
                    return Some((axis, given.start.max(allowed.end)));
                }
            }
        }
        let (own, corners) = self.within.as_ref()?;
        // The sections of a halo have one axis each; every one is all halo or has none of it.
        let mut halos = 0;
        let firsts = part.sections().iter().map(Section::dst_axis);
        for ((axis, runs), own) in firsts.zip(sections).zip(own) {
            let is_halo = |run: &Run| {
                if run.end() <= own.start || run.start >= own.end {
                    Some(true)
                } else {
                    (run.start >= own.start && run.end() <= own.end).then_some(false)
                }
            };
            let kind = runs.first().and_then(is_halo);
            let mixed = |run: &&Run| kind.is_none() || is_halo(run) != kind;
            if let Some(run) = runs.iter().find(mixed) {
                return Some((axis, run.start));
            }
            halos += usize::from(kind == Some(true));
        }
        let wanted = match corners {
            Corners::Filled => halos > 0,
            Corners::Skipped => halos == 1,
        };
        let first = sections.first().and_then(|runs| runs.first());
        (!wanted).then(|| (0, first.map_or(0, |run| run.start)))
    }
}

/// How many axes of the destination a section has.
fn dst_axes(section: &Section) -> usize {
    match section {
        Section::Axis { .. } => 1,
        Section::Rows { dst_axes, .. } => *dst_axes,
    }
}
