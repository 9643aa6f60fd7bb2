//! [`Distribution`]: how an array is spread over ranks, seen by all of them.

mod algebra;
mod builder;
mod from_dim_data;
mod reshape;
mod slicing;

use std::sync::{Arc, OnceLock};

use dap_protocol::{DimData, DimDict, ProcessGrid};

pub use builder::DistributionBuilder;
pub use from_dim_data::GlobalDim;
pub use slicing::{LocalPart, Sliced};

use crate::axis_dist::check_ranks;
use crate::index::flat_size;
use crate::{AxisDist, AxisLocator, MapError};

/// Marks a rank without a place in the grid.
const INACTIVE: u32 = u32::MAX;

/// One [`AxisDist`] per dimension over a grid of ranks.
///
/// The grid may use fewer ranks than there are; the others are *inactive*: they hold nothing.
///
/// ```
/// use dist_maps::Distribution;
/// let d = Distribution::over(4).shape([9, 9]).block(0).block(1).build()?;
/// assert_eq!(d.grid().shape(), [2, 2]);
/// assert_eq!(d.local_shape(1), [5, 4]);
/// assert_eq!(d.owner(&[4, 5]), Some(1));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distribution {
    axes: Vec<AxisDist>,
    shape: Vec<u64>,
    grid: ProcessGrid,
    ranks: usize,
    targets: Arc<[usize]>,
    /// Grid rank of each rank.
    places: Arc<[u32]>,
    locators: Locators,
}

/// Made when first asked for, shared by clones; no part of what a distribution is.
#[derive(Clone, Debug, Default)]
struct Locators(Arc<OnceLock<Vec<AxisLocator>>>);

impl PartialEq for Locators {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Locators {}

impl Distribution {
    /// Starts a distribution over `ranks` ranks.
    pub fn over(ranks: usize) -> DistributionBuilder {
        DistributionBuilder::new(ranks)
    }

    /// A distribution of these axes, grid rank `r` (C order) being rank `targets[r]` of `ranks`.
    ///
    /// # Errors
    /// When the grid has more ranks than there are, or `targets` has another length than the grid,
    /// names a rank twice or one that is not below `ranks`.
    pub fn from_axes(
        axes: Vec<AxisDist>,
        ranks: usize,
        targets: impl Into<Arc<[usize]>>,
    ) -> Result<Self, MapError> {
        let targets = targets.into();
        check_ranks(ranks)?;
        let grid = ProcessGrid::new(axes.iter().map(AxisDist::ranks).collect())?;
        if grid.len() > ranks {
            return Err(MapError::GridTooLarge {
                given: grid.len(),
                allowed: ranks,
            });
        }
        if targets.len() != grid.len() {
            return Err(MapError::Count {
                what: "targets",
                given: targets.len(),
                expected: grid.len(),
            });
        }
        let mut places = vec![INACTIVE; ranks];
        for (place, &target) in targets.iter().enumerate() {
            match places.get_mut(target) {
                // below MAX_RANKS, so it fits
                Some(slot) if *slot == INACTIVE => {
                    *slot = u32::try_from(place).unwrap_or(INACTIVE);
                }
                _ => {
                    return Err(MapError::Target {
                        given: target,
                        ranks,
                    });
                }
            }
        }
        Ok(Self {
            shape: axes.iter().map(AxisDist::size).collect(),
            axes,
            grid,
            ranks,
            targets,
            places: places.into(),
            locators: Locators::default(),
        })
    }

    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.axes.len()
    }

    /// Global extent per dimension, in elements.
    #[must_use]
    pub fn global_shape(&self) -> &[u64] {
        &self.shape
    }

    /// Elements of the whole array; 1 for a scalar.
    ///
    /// # Errors
    /// When the product overflows 64 bits.
    pub fn global_size(&self) -> Result<u64, MapError> {
        flat_size(&self.shape)
    }

    /// Number of ranks, inactive ones included.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The process grid.
    #[must_use]
    pub fn grid(&self) -> &ProcessGrid {
        &self.grid
    }

    /// The dimensions.
    #[must_use]
    pub fn axes(&self) -> &[AxisDist] {
        &self.axes
    }

    /// The rank at each place of the grid, in C order.
    #[must_use]
    pub fn targets(&self) -> &[usize] {
        &self.targets
    }

    /// The place in the grid (C order) of a rank; `None` for an inactive one, or none at all.
    #[must_use]
    pub fn grid_rank(&self, rank: usize) -> Option<usize> {
        let &place = self.places.get(rank)?;
        if place == INACTIVE {
            None
        } else {
            usize::try_from(place).ok()
        }
    }

    /// Grid coordinates of a rank; `None` for an inactive one.
    #[must_use]
    pub fn coords(&self, rank: usize) -> Option<Vec<usize>> {
        self.grid.coords(self.grid_rank(rank)?).ok()
    }

    /// The rank at the given grid coordinates.
    #[must_use]
    pub fn rank_at(&self, coords: &[usize]) -> Option<usize> {
        Some(self.targets[self.grid.rank(coords).ok()?])
    }

    /// What the protocol says about a rank's part, as [`AxisDist::dim_dict`] says it of each axis. For
    /// an inactive rank: blocks of no elements at the end of each axis. (No dictionary can say "nothing" of a 0-d array; there an inactive
    /// rank's `dim_data` is that of the one that holds the scalar.)
    ///
    /// # Errors
    /// When there is no such rank.
    pub fn dim_data(&self, rank: usize) -> Result<DimData, MapError> {
        self.check_rank(rank)?;
        if let Some(coords) = self.coords(rank) {
            return self
                .axes
                .iter()
                .zip(coords)
                .map(|(axis, coord)| axis.dim_dict(coord))
                .collect();
        }
        self.axes
            .iter()
            .map(|axis| {
                let (size, ranks) = (axis.size(), axis.ranks());
                let nothing = DimDict::block(size, ranks, ranks - 1, size..size)?;
                Ok(nothing.with_periodic(axis.is_periodic())?)
            })
            .collect()
    }

    /// Extent of a rank's buffer per dimension, communication padding included, in elements; all 0
    /// for an inactive rank.
    #[must_use]
    pub fn local_shape(&self, rank: usize) -> Vec<usize> {
        self.extents(rank, AxisDist::stored_len)
    }

    /// Elements that a rank owns per dimension; all 0 for an inactive rank.
    #[must_use]
    pub fn owned_shape(&self, rank: usize) -> Vec<usize> {
        self.extents(rank, AxisDist::owned_len)
    }

    fn extents(&self, rank: usize, of: impl Fn(&AxisDist, usize) -> usize) -> Vec<usize> {
        match self.coords(rank) {
            Some(coords) => self
                .axes
                .iter()
                .zip(coords)
                .map(|(axis, coord)| of(axis, coord))
                .collect(),
            None => vec![0; self.ndim()],
        }
    }

    /// Whether a rank owns no element: it is inactive, or one of its extents is 0.
    #[must_use]
    pub fn is_empty_on(&self, rank: usize) -> bool {
        self.grid_rank(rank).is_none() || self.owned_shape(rank).contains(&0)
    }

    /// The rank that owns an element: the one at the lowest coordinates, where several do. `None`
    /// where none does, and where `index` has another length than the array has dimensions.
    #[must_use]
    pub fn owner(&self, index: &[i64]) -> Option<usize> {
        if index.len() != self.ndim() {
            return None;
        }
        let coords: Option<Vec<usize>> = self
            .locators()
            .iter()
            .zip(index)
            .map(|(axis, &g)| Some(axis.locate(g)?.0))
            .collect();
        self.rank_at(&coords?)
    }

    /// One locator per dimension, made when first asked for and kept.
    #[must_use]
    pub fn locators(&self) -> &[AxisLocator] {
        let make = || self.axes.iter().map(AxisDist::locator).collect();
        self.locators.0.get_or_init(make)
    }

    pub(crate) fn check_rank(&self, rank: usize) -> Result<(), MapError> {
        if rank >= self.ranks {
            return Err(MapError::Target {
                given: rank,
                ranks: self.ranks,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inactive_ranks_hold_nothing() {
        let d = Distribution::over(7)
            .shape([3, 3])
            .block(0)
            .block(1)
            .build()
            .unwrap();
        assert_eq!(d.grid().shape(), [2, 3]);
        assert_eq!(d.coords(6), None);
        assert_eq!(d.local_shape(6), [0, 0]);
        assert_eq!(d.dim_data(6).unwrap().local_shape(), [0, 0]);
        assert!(d.dim_data(7).is_err());
    }

    #[test]
    fn a_scalar_lies_on_rank_0() {
        let d = Distribution::over(3).shape([]).build().unwrap();
        assert_eq!(d.owner(&[]), Some(0));
        assert_eq!(d.global_size().unwrap(), 1);
        assert!(!d.is_empty_on(0));
        assert!(d.is_empty_on(1));
    }

    #[test]
    fn padding_widens_what_is_stored() {
        let d = Distribution::over(2)
            .shape([18])
            .block(0)
            .padding(1)
            .boundary(0, 1, 1)
            .build()
            .unwrap();
        let part = d.dim_data(1).unwrap();
        assert_eq!(
            part,
            DimData::new(vec![
                DimDict::block(18, 2, 1, 8..18)
                    .unwrap()
                    .with_padding(1, 1)
                    .unwrap()
            ])
        );
        assert_eq!((part[0].stored_len(), part[0].owned_len()), (10, 9));
        assert_eq!(d.axes()[0].owned_local(1), 1..10);
    }
}
