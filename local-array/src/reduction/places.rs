//! [`Places`]: where the positions of an axis stand among the reduced elements of an output.

use dist_maps::AxisDist;

use crate::part::Part;

/// The places of the positions of a reduced axis: the global index of each, times the distance of neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Places {
    /// All 0: they are not asked for, or the axis is kept.
    Unasked,
    /// At even distances, as in a block.
    Even { first: i64, step: i64 },
    /// One by one, and whether they ascend.
    Listed(Vec<i64>, bool),
}

impl Places {
    /// Those of the owned positions of a rank along an axis, or of those of them that are `chosen`.
    pub(crate) fn of_axis(part: &Part, axis: usize, chosen: Option<&[usize]>, stride: i64) -> Self {
        let is_block = matches!(part.distribution().axes()[axis], AxisDist::Block { .. });
        if is_block && chosen.is_none() {
            let first = part.owned_globals(axis, Some(&[0])).first().copied();
            return Self::Even {
                first: first.unwrap_or(0) * stride,
                step: stride,
            };
        }
        let globals = part.owned_globals(axis, chosen);
        // The indices of a list may be any; those of others lie in the array.
        Self::listed(globals.into_iter().map(|at| at.wrapping_mul(stride)))
    }

    pub(crate) fn listed(places: impl Iterator<Item = i64>) -> Self {
        let places: Vec<i64> = places.collect();
        let ascend = places.is_sorted();
        Self::Listed(places, ascend)
    }

    pub(crate) fn are_asked(&self) -> bool {
        *self != Self::Unasked
    }

    /// The place of a position.
    #[inline]
    pub(crate) fn at(&self, position: usize) -> i64 {
        match self {
            Self::Unasked => 0,
            Self::Even { first, step } => {
                first + step * i64::try_from(position).unwrap_or(i64::MAX)
            }
            Self::Listed(places, _) => places.get(position).copied().unwrap_or(0),
        }
    }

    /// Whether they ascend.
    pub(crate) fn ascend(&self) -> bool {
        match self {
            Self::Unasked => true,
            Self::Even { step, .. } => *step >= 0,
            Self::Listed(_, ascend) => *ascend,
        }
    }
}
