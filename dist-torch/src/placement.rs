//! [`Share`] and [`Placement`]: which rank has which rows.

use std::sync::Arc;

use dap_protocol::{DimDict, Padding};
use dist_maps::{AxisDist, AxisLocator, DimMap, IndexMap, LocalIndex};

use crate::DataError;

/// The rule by which rows are shared out to the ranks of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Share {
    /// One range for each rank, their lengths differing by at most one, the longer ones first: 10 rows on 4 ranks are 3, 3, 2, 2.
    #[default]
    Nsplit,
    /// One row for each rank in turn.
    Cyclic,
    /// So many rows for each rank in turn.
    BlockCyclic(u64),
    /// Any distribution of one dimension that gives each row to one rank; its padding, if it has any, is left out.
    Axis(AxisDist),
}

/// Which rank has which row, for all ranks, or for those of one group: pure arithmetic.
///
/// ```
/// use dist_torch::{Placement, Share};
///
/// let placement = Placement::new(10, &Share::Nsplit, 4..8)?; // ten rows on ranks 4 to 7
/// assert_eq!(placement.locate(7)?, dist_torch::Place { rank: 6, local: 1 });
/// assert_eq!((placement.rows_of(4), placement.rows_of(7), placement.rows_of(0)), (3, 2, 0));
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Placement {
    axis: AxisDist,
    locator: AxisLocator,
    /// The rank at each coordinate of the axis.
    ranks: Arc<[usize]>,
}

/// Where a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The rank that has it.
    pub rank: usize,
    /// Its number among the rows of that rank.
    pub local: usize,
}

impl Placement {
    /// `rows` rows on these ranks.
    ///
    /// # Errors
    /// [`DataError::Placement`] when an [axis](Share::Axis) is not of so many rows and ranks, or a row has no rank or several;
    /// [`DataError::Map`] when there are no ranks, or rows beyond 2⁶³ - 1.
    pub fn new(
        rows: u64,
        share: &Share,
        ranks: impl IntoIterator<Item = usize>,
    ) -> Result<Self, DataError> {
        let ranks: Arc<[usize]> = ranks.into_iter().collect();
        let axis = match share {
            Share::Nsplit => AxisDist::block_balanced(rows, ranks.len())?,
            Share::Cyclic => AxisDist::cyclic(rows, ranks.len(), 1)?,
            Share::BlockCyclic(block) => AxisDist::cyclic(rows, ranks.len(), *block)?,
            Share::Axis(axis) => {
                let differs = |what, given, allowed| DataError::Placement {
                    what,
                    given,
                    allowed,
                };
                if axis.size() != rows {
                    return Err(differs("rows", axis.size(), rows));
                }
                if axis.ranks() != ranks.len() {
                    return Err(differs("ranks", axis.ranks() as u64, ranks.len() as u64));
                }
                without_padding(axis)?
            }
        };
        Self::of_axis(axis, ranks)
    }

    /// An axis without padding; each row must have one owner.
    pub(crate) fn of_axis(axis: AxisDist, ranks: Arc<[usize]>) -> Result<Self, DataError> {
        let owned = (0..axis.ranks()).map(|coord| axis.owned_len(coord) as u64);
        let owned = owned.fold(0_u64, u64::saturating_add);
        let inside = match &axis {
            AxisDist::Unstructured { size, indices, .. } => indices
                .iter()
                .flat_map(|list| list.iter())
                .all(|&row| u64::try_from(row).is_ok_and(|row| row < *size)),
            _ => true,
        };
        // as many as there are, and none twice: all
        if owned != axis.size() || !axis.is_one_to_one() || !inside {
            return Err(DataError::Placement {
                what: "rows on all ranks together, or some rows on several ranks:",
                given: owned,
                allowed: axis.size(),
            });
        }
        Ok(Self {
            locator: axis.locator(),
            axis,
            ranks,
        })
    }

    /// Rows on all ranks together.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.axis.size()
    }

    /// The ranks, in the order of the axis.
    #[must_use]
    pub fn ranks(&self) -> &[usize] {
        &self.ranks
    }

    /// The axis along which the rows lie, its coordinates being positions in [`ranks`](Self::ranks).
    #[must_use]
    pub fn axis(&self) -> &AxisDist {
        &self.axis
    }

    /// Where a row is.
    ///
    /// # Errors
    /// [`DataError::IndexOutOfRange`] when there is no such row.
    pub fn locate(&self, row: u64) -> Result<Place, DataError> {
        let found = i64::try_from(row)
            .ok()
            .and_then(|row| self.locator.locate(row));
        let (coord, local) = found.ok_or(DataError::IndexOutOfRange {
            index: row,
            len: self.rows(),
        })?;
        Ok(Place {
            rank: self.ranks[coord],
            local,
        })
    }

    /// How many rows a rank has; 0 where the rank is none of these.
    #[must_use]
    pub fn rows_of(&self, rank: usize) -> usize {
        self.coord(rank)
            .map_or(0, |coord| self.axis.owned_len(coord))
    }

    /// The rows of a rank, in the order in which it stores them.
    ///
    /// # Errors
    /// [`DataError::Map`] when they cannot be counted.
    pub fn rows_on(&self, rank: usize) -> Result<RowsOn, DataError> {
        let map = self
            .coord(rank)
            .map(|coord| self.axis.map(coord))
            .transpose()?;
        Ok(RowsOn { map, next: 0 })
    }

    /// What the protocol says of a rank's rows; `None` where the rank is none of these.
    pub(crate) fn dim_dict(&self, rank: usize) -> Option<Result<DimDict, DataError>> {
        let coord = self.coord(rank)?;
        Some(self.axis.dim_dict(coord).map_err(DataError::from))
    }

    fn coord(&self, rank: usize) -> Option<usize> {
        self.ranks.iter().position(|&r| r == rank)
    }
}

/// The same distribution with nothing but what is owned.
pub(crate) fn without_padding(axis: &AxisDist) -> Result<AxisDist, DataError> {
    match axis {
        AxisDist::Block {
            bounds,
            padding,
            boundary,
            periodic,
            ..
        } if *periodic
            || *boundary != Padding::default()
            || padding.iter().any(|&p| p != Padding::default()) =>
        {
            Ok(AxisDist::block_bounds(Arc::clone(bounds))?)
        }
        _ => Ok(axis.clone()),
    }
}

/// The rows of a rank, one by one: [`Placement::rows_on`].
#[derive(Clone, Debug)]
pub struct RowsOn {
    map: Option<DimMap>,
    next: usize,
}

impl Iterator for RowsOn {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let row = self
            .map
            .as_ref()?
            .global_from_local(LocalIndex::new(self.next))?;
        self.next += 1;
        u64::try_from(row.get()).ok()
    }
}

/// The ranks of the group to which a rank belongs: `width` ranks each, the last group may have fewer.
#[must_use]
pub(crate) fn group_of(rank: usize, width: usize, ranks: usize) -> std::ops::Range<usize> {
    let first = rank / width * width;
    first..first.saturating_add(width).min(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_split_as_torch_users_know_it() {
        let lens = |rows, ranks| {
            let placement = Placement::new(rows, &Share::Nsplit, 0..ranks).unwrap();
            (0..ranks)
                .map(|rank| placement.rows_of(rank))
                .collect::<Vec<_>>()
        };
        assert_eq!(lens(10, 4), [3, 3, 2, 2]);
        assert_eq!(lens(9, 8), [2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(lens(3, 8), [1, 1, 1, 0, 0, 0, 0, 0]);
        assert_eq!(lens(0, 2), [0, 0]);
    }

    #[test]
    fn groups_have_a_width_and_the_last_one_what_is_left() {
        let groups: Vec<_> = (0..5).map(|rank| group_of(rank, 2, 5)).collect();
        assert_eq!(groups, [0..2, 0..2, 2..4, 2..4, 4..5]);
        assert_eq!(group_of(1, usize::MAX, 5), 0..5);
    }

    #[test]
    fn axes_are_checked() {
        let list = |lists: Vec<Vec<i64>>| Share::Axis(AxisDist::unstructured(4, lists).unwrap());
        let placement = |share: &Share| Placement::new(4, share, [5, 2]);
        let mixed = placement(&list(vec![vec![3, 0], vec![1, 2]])).unwrap();
        assert_eq!(mixed.locate(0), Ok(Place { rank: 5, local: 1 }));
        assert!(mixed.rows_on(5).unwrap().eq([3, 0]));
        assert!(mixed.rows_on(0).unwrap().next().is_none());
        assert!(
            placement(&list(vec![vec![3, 0], vec![1]])).is_err(),
            "row 2 is nowhere"
        );
        assert!(
            placement(&list(vec![vec![3, 0, 1], vec![1, 2]])).is_err(),
            "row 1 is twice"
        );
        assert!(
            placement(&list(vec![vec![3, 0, 1], vec![1]])).is_err(),
            "both"
        );
        assert!(
            placement(&list(vec![vec![0, 1, 2, 3]])).is_err(),
            "one rank"
        );
        let negative = AxisDist::unstructured_free(4, vec![[3, 0].into(), [-1, 2].into()]).unwrap();
        assert!(
            placement(&Share::Axis(negative)).is_err(),
            "row 1 is nowhere"
        );
        let padded = AxisDist::block(4, 2).unwrap().with_padding(1, 1).unwrap();
        let placed = placement(&Share::Axis(padded)).unwrap();
        assert_eq!(
            (placed.rows_of(5), placed.locate(2)),
            (2, Ok(Place { rank: 2, local: 0 }))
        );
        let short = Share::Axis(AxisDist::block(3, 2).unwrap());
        assert!(matches!(
            placement(&short),
            Err(DataError::Placement { what: "rows", .. })
        ));
        assert!(Placement::new(4, &Share::BlockCyclic(0), 0..2).is_err());
        assert!(Placement::new(4, &Share::Nsplit, 0..0).is_err());
        assert!(Placement::new(u64::MAX, &Share::Nsplit, 0..2).is_err());
    }
}
