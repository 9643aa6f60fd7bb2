//! [`DistributionBuilder`]: a distribution, one axis at a time.

use std::sync::Arc;

use dap_protocol::Padding;

use super::Distribution;
use crate::axis_dist::check_ranks;
use crate::{AxisDist, MapError, choose_grid};

/// Makes a [`Distribution`]; see [`Distribution::over`].
///
/// An axis that is not named is not distributed. Unless [`DistributionBuilder::grid`] says how many
/// ranks each axis gets, [`choose_grid`] does; axes with given bounds or lists have as many as those.
///
/// ```
/// use dist_maps::Distribution;
/// let d = Distribution::over(4).shape([344, 403]).block(0).block(1).padding(1).build()?;
/// assert_eq!(d.local_shape(0), [173, 203]); // 172 × 202 owned
/// let d = Distribution::over(3).shape([10]).block_bounds(0, [0, 1, 1, 10]).build()?;
/// assert_eq!(d.local_shape(1), [0]);
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is built"]
pub struct DistributionBuilder {
    ranks: usize,
    /// `None` until it is given.
    shape: Option<Vec<u64>>,
    kinds: Vec<(usize, Kind)>,
    everywhere: Option<Padding>,
    padding: Vec<(usize, Padding)>,
    boundary: Vec<(usize, Padding)>,
    periodic: Vec<usize>,
    grid: Option<Vec<usize>>,
    targets: Option<Vec<usize>>,
}

#[derive(Clone, Debug)]
enum Kind {
    Whole,
    Ceil,
    Balanced,
    Floor,
    Bounds(Vec<u64>),
    Cyclic(u64),
    Unstructured(Vec<Arc<[i64]>>),
    Free(Vec<Arc<[i64]>>),
}

impl Kind {
    /// The number of ranks that the kind itself fixes.
    fn fixed_ranks(&self) -> Option<usize> {
        match self {
            Self::Whole => Some(1),
            Self::Bounds(bounds) => Some(bounds.len().saturating_sub(1)),
            Self::Unstructured(lists) | Self::Free(lists) => Some(lists.len()),
            Self::Ceil | Self::Balanced | Self::Floor | Self::Cyclic(_) => None,
        }
    }

    fn axis(self, size: u64, ranks: usize) -> Result<AxisDist, MapError> {
        match self {
            Self::Whole => AxisDist::whole(size),
            Self::Ceil => AxisDist::block(size, ranks),
            Self::Balanced => AxisDist::block_balanced(size, ranks),
            Self::Floor => AxisDist::block_floor(size, ranks),
            Self::Bounds(bounds) => {
                if let Some(&given) = bounds.last()
                    && given != size
                {
                    let position = bounds.len() - 1;
                    return Err(MapError::Bounds {
                        axis: None,
                        position,
                        given,
                        low: size,
                        high: size,
                    });
                }
                AxisDist::block_bounds(bounds)
            }
            Self::Cyclic(block_size) => AxisDist::cyclic(size, ranks, block_size),
            Self::Unstructured(lists) => AxisDist::unstructured(size, lists),
            Self::Free(lists) => AxisDist::unstructured_free(size, lists),
        }
    }
}

impl DistributionBuilder {
    pub(super) fn new(ranks: usize) -> Self {
        Self {
            ranks,
            shape: None,
            kinds: Vec::new(),
            everywhere: None,
            padding: Vec::new(),
            boundary: Vec::new(),
            periodic: Vec::new(),
            grid: None,
            targets: None,
        }
    }

    /// The global extent per dimension, in elements. Without it, and without an axis named, the array is a scalar.
    pub fn shape(mut self, shape: impl Into<Vec<u64>>) -> Self {
        self.shape = Some(shape.into());
        self
    }

    fn kind(mut self, axis: usize, kind: Kind) -> Self {
        self.kinds.push((axis, kind));
        self
    }

    /// Blocks of `ceil(size / ranks)` along an axis: [`AxisDist::block`].
    pub fn block(self, axis: usize) -> Self {
        self.kind(axis, Kind::Ceil)
    }

    /// Blocks whose lengths differ by at most one: [`AxisDist::block_balanced`].
    pub fn block_balanced(self, axis: usize) -> Self {
        self.kind(axis, Kind::Balanced)
    }

    /// Blocks with bounds at `floor(size * c / ranks)`: [`AxisDist::block_floor`].
    pub fn block_floor(self, axis: usize) -> Self {
        self.kind(axis, Kind::Floor)
    }

    /// Blocks between given bounds: [`AxisDist::block_bounds`].
    pub fn block_bounds(self, axis: usize, bounds: impl Into<Vec<u64>>) -> Self {
        self.kind(axis, Kind::Bounds(bounds.into()))
    }

    /// Single elements dealt to the ranks in turn.
    pub fn cyclic(self, axis: usize) -> Self {
        self.kind(axis, Kind::Cyclic(1))
    }

    /// Blocks of `block_size` dealt to the ranks in turn: [`AxisDist::cyclic`].
    pub fn block_cyclic(self, axis: usize, block_size: u64) -> Self {
        self.kind(axis, Kind::Cyclic(block_size))
    }

    /// An explicit list of indices per rank of the axis: [`AxisDist::unstructured`].
    pub fn unstructured<L: Into<Arc<[i64]>>>(
        self,
        axis: usize,
        lists: impl IntoIterator<Item = L>,
    ) -> Self {
        let lists = lists.into_iter().map(Into::into).collect();
        self.kind(axis, Kind::Unstructured(lists))
    }

    /// As [`DistributionBuilder::unstructured`], with indices of any value:
    /// [`AxisDist::unstructured_free`].
    pub fn unstructured_free<L: Into<Arc<[i64]>>>(
        self,
        axis: usize,
        lists: impl IntoIterator<Item = L>,
    ) -> Self {
        let lists = lists.into_iter().map(Into::into).collect();
        self.kind(axis, Kind::Free(lists))
    }

    /// Not distributed: the default.
    pub fn whole(self, axis: usize) -> Self {
        self.kind(axis, Kind::Whole)
    }

    /// `width` elements of communication padding on both sides of every block, on all block axes
    /// that are distributed or periodic.
    pub fn padding(mut self, width: u64) -> Self {
        self.everywhere = Some(Padding::new(width, width));
        self
    }

    /// Communication padding of one axis, in elements: [`AxisDist::with_padding`].
    pub fn padding_of(mut self, axis: usize, lower: u64, upper: u64) -> Self {
        self.padding.push((axis, Padding::new(lower, upper)));
        self
    }

    /// Boundary padding of one axis, in elements: [`AxisDist::with_boundary`]. Without it a
    /// periodic axis has as much as its communication padding, and another axis none.
    pub fn boundary(mut self, axis: usize, lower: u64, upper: u64) -> Self {
        self.boundary.push((axis, Padding::new(lower, upper)));
        self
    }

    /// The axis wraps around. Its outermost elements, as many as the padding, are then the places
    /// that a halo exchange fills from the other end: they count in the shape, as DAP 0.10 says. So an
    /// axis of `n` cells with padding 1 has extent `n + 2`, and the cells are `1..=n`.
    ///
    /// ```
    /// use dist_maps::Distribution;
    /// let n = 6;
    /// let ring = Distribution::over(2).shape([n + 2]).block(0).padding(1).periodic(0).build()?;
    /// let axis = &ring.axes()[0];
    /// assert_eq!((axis.owned_range(0), axis.owned_range(1)), (Some(0..4), Some(4..8)));
    /// // cells 1, 2, 3 and place 0, which is cell 6 of the other end; then cells 4, 5, 6 and place 7, which is cell 1
    /// assert_eq!((axis.stored_range(0), axis.stored_range(1)), (Some(0..5), Some(3..8)));
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    pub fn periodic(mut self, axis: usize) -> Self {
        self.periodic.push(axis);
        self
    }

    /// How many ranks each axis gets.
    pub fn grid(mut self, grid: impl Into<Vec<usize>>) -> Self {
        self.grid = Some(grid.into());
        self
    }

    /// The rank at each place of the grid, in C order; the ranks in order without it.
    pub fn targets(mut self, targets: impl Into<Vec<usize>>) -> Self {
        self.targets = Some(targets.into());
        self
    }

    /// The distribution.
    ///
    /// # Errors
    /// When an axis is named and no [`shape`](Self::shape) given, an axis does not exist or is named twice, a size, bound, list or number of ranks is out
    /// of range, the grid does not fit the axes or has more ranks than there are, or padding is
    /// asked of an axis that is no block.
    pub fn build(self) -> Result<Distribution, MapError> {
        check_ranks(self.ranks)?;
        let padded = self.padding.iter().chain(&self.boundary);
        let padded = padded.map(|&(axis, _)| axis).next();
        let named = self.kinds.first().map(|&(axis, _)| axis);
        let named = named.or(padded).or(self.periodic.first().copied());
        let shape = match (self.shape, named) {
            (None, Some(axis)) => return Err(MapError::NoShape { axis }),
            (shape, _) => shape.unwrap_or_default(),
        };
        let ndim = shape.len();
        let kinds = per_axis(self.kinds, ndim)?;
        let kinds: Vec<Kind> = kinds
            .into_iter()
            .map(|kind| kind.unwrap_or(Kind::Whole))
            .collect();
        let grid = grid_for(&shape, &kinds, self.ranks, self.grid)?;
        let padding = per_axis(self.padding, ndim)?;
        let boundary = per_axis(self.boundary, ndim)?;
        let periodic = per_axis(
            self.periodic.into_iter().map(|axis| (axis, ())).collect(),
            ndim,
        )?;
        let make = |axis: usize, kind: Kind| -> Result<AxisDist, MapError> {
            let mut dist = kind.axis(shape[axis], grid[axis])?;
            let is_periodic = periodic[axis].is_some();
            let is_block = matches!(dist, AxisDist::Block { .. });
            let default = self.everywhere.filter(|_| is_block);
            let width = padding[axis].or(default);
            if let Some(width) = width {
                dist = dist.with_padding(width.lower, width.upper)?;
            }
            let edge = boundary[axis].or(width.filter(|_| is_periodic));
            if let Some(edge) = edge {
                dist = dist.with_boundary(edge.lower, edge.upper)?;
            }
            if is_periodic {
                dist = dist.with_periodic(true)?;
            }
            Ok(dist)
        };
        let axes = (0..ndim)
            .zip(kinds)
            .map(|(axis, kind)| make(axis, kind).map_err(|error| error.on_axis(axis)))
            .collect::<Result<_, _>>()?;
        let targets = self
            .targets
            .unwrap_or_else(|| (0..grid.iter().product()).collect());
        Distribution::from_axes(axes, self.ranks, targets)
    }
}

/// One value per axis; each axis at most once.
fn per_axis<T>(given: Vec<(usize, T)>, ndim: usize) -> Result<Vec<Option<T>>, MapError> {
    let mut by_axis: Vec<Option<T>> = (0..ndim).map(|_| None).collect();
    for (axis, value) in given {
        match by_axis.get_mut(axis) {
            None => return Err(MapError::Axis { given: axis, ndim }),
            Some(Some(_)) => return Err(MapError::RepeatedAxis { axis }),
            Some(slot) => *slot = Some(value),
        }
    }
    Ok(by_axis)
}

/// The grid asked for, or the one chosen; its product is at most `ranks`.
fn grid_for(
    shape: &[u64],
    kinds: &[Kind],
    ranks: usize,
    asked: Option<Vec<usize>>,
) -> Result<Vec<usize>, MapError> {
    let product = |grid: &[usize]| {
        grid.iter()
            .try_fold(1_usize, |product, &n| product.checked_mul(n))
            .unwrap_or(usize::MAX)
    };
    let fixed: Vec<usize> = kinds.iter().filter_map(Kind::fixed_ranks).collect();
    let taken = product(&fixed);
    let grid = if let Some(grid) = asked {
        if grid.len() != kinds.len() {
            return Err(MapError::Count {
                what: "grid extents",
                given: grid.len(),
                expected: kinds.len(),
            });
        }
        for (axis, (&given, kind)) in grid.iter().zip(kinds).enumerate() {
            let allowed = kind.fixed_ranks().unwrap_or(given.max(1));
            if given != allowed {
                return Err(MapError::GridExtent {
                    axis,
                    given,
                    allowed,
                });
            }
        }
        grid
    } else {
        let free: Vec<bool> = kinds
            .iter()
            .map(|kind| kind.fixed_ranks().is_none())
            .collect();
        let left = (ranks / taken.max(1)).max(1);
        let mut grid = choose_grid(shape, &free, left)?;
        for (extent, kind) in grid.iter_mut().zip(kinds) {
            *extent = kind.fixed_ranks().unwrap_or(*extent);
        }
        grid
    };
    let given = product(&grid);
    if given > ranks {
        return Err(MapError::GridTooLarge {
            given,
            allowed: ranks,
        });
    }
    Ok(grid)
}
