//! [`AxisDist`]: one dimension of an array, seen by all ranks along it.

mod construct;

use std::ops::Range;
use std::sync::Arc;

use dap_protocol::literal::Value;
use dap_protocol::{DimDict, Dist, MAX_SIZE, Padding};

use crate::{DimMap, MapError, map_from_dim_dict};

/// The largest number of ranks, 2²⁴: what is allocated per rank stays small whatever is asked.
pub const MAX_RANKS: usize = 1 << 24;

/// The extra key of [`AxisDist::dim_dict`].
pub(crate) const BOUNDARY: &str = "boundary_padding";

/// How one dimension is spread over the ranks along it, its grid coordinates `0..ranks()`.
///
/// The variants can be matched everywhere and made only here, so their fields always keep the
/// stated invariants.
///
/// ```
/// use dist_maps::AxisDist;
/// let axis = AxisDist::block(10, 4)?; // 0..3, 3..6, 6..9, 9..10
/// assert_eq!(axis.owner(7), Some(2));
/// let axis = AxisDist::cyclic(7, 2, 2)?; // {0, 1, 4, 5} and {2, 3, 6}
/// assert_eq!((axis.owned_len(0), axis.owned_len(1)), (4, 3));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AxisDist {
    /// One contiguous range per coordinate.
    #[non_exhaustive]
    Block {
        /// `ranks + 1` bounds, ascending from 0 to the size: coordinate `c` owns `bounds[c]..bounds[c + 1]`.
        bounds: Arc<[u64]>,
        /// Communication padding per coordinate: stored beside what is owned, inside `0..size`.
        padding: Arc<[Padding]>,
        /// Owned elements at the outer edges that the protocol calls boundary padding. On a
        /// periodic axis a halo exchange fills them from the other end.
        boundary: Padding,
        /// Whether the axis wraps around.
        periodic: bool,
    },
    /// Blocks of `block_size` dealt to the coordinates in turn.
    #[non_exhaustive]
    Cyclic {
        /// Global extent, in elements.
        size: u64,
        /// Coordinates, at least 1.
        ranks: usize,
        /// Elements per block, at least 1.
        block_size: u64,
    },
    /// An explicit list per coordinate, in local order.
    #[non_exhaustive]
    Unstructured {
        /// Global extent, in elements.
        size: u64,
        /// Global indices per coordinate; none twice in one list.
        indices: Arc<[Arc<[i64]>]>,
        /// Whether no index lies on two coordinates.
        one_to_one: bool,
    },
}

pub(crate) fn check_size(size: u64) -> Result<(), MapError> {
    let allowed = MAX_SIZE.min(u64::try_from(isize::MAX).unwrap_or(u64::MAX));
    if size > allowed {
        return Err(MapError::Size {
            axis: None,
            given: size,
            allowed,
        });
    }
    Ok(())
}

pub(crate) fn check_ranks(ranks: usize) -> Result<(), MapError> {
    if ranks == 0 || ranks > MAX_RANKS {
        return Err(MapError::Ranks {
            given: ranks,
            allowed: MAX_RANKS,
        });
    }
    Ok(())
}

/// An extent in memory. Sizes were checked against the address space when the axis was made.
pub(crate) fn to_len(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Elements below `limit` on `coord` when blocks of `block` are dealt to `ranks` in turn.
pub(crate) fn cyclic_count(limit: u64, ranks: usize, coord: usize, block: u64) -> u64 {
    let (ranks, coord) = (ranks as u64, coord as u64);
    let (full, rest) = (limit / block, limit % block);
    let (rounds, last) = (full / ranks, full % ranks);
    let tail = match coord.cmp(&last) {
        std::cmp::Ordering::Less => block,
        std::cmp::Ordering::Equal => rest,
        std::cmp::Ordering::Greater => 0,
    };
    rounds * block + tail
}

impl AxisDist {
    /// `"b"`, `"c"` or `"u"`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Block { .. } => "b",
            Self::Cyclic { .. } => "c",
            Self::Unstructured { .. } => "u",
        }
    }

    /// Global extent, in elements.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::Block { bounds, .. } => bounds[bounds.len() - 1],
            Self::Cyclic { size, .. } | Self::Unstructured { size, .. } => *size,
        }
    }

    /// Grid coordinates along the axis, at least 1.
    #[must_use]
    pub fn ranks(&self) -> usize {
        match self {
            Self::Block { padding, .. } => padding.len(),
            Self::Cyclic { ranks, .. } => *ranks,
            Self::Unstructured { indices, .. } => indices.len(),
        }
    }

    /// Whether one coordinate owns all of it, in order.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Block { .. } | Self::Cyclic { .. } => self.ranks() == 1,
            Self::Unstructured { size, indices, .. } => {
                indices.len() == 1
                    && indices[0].len() as u64 == *size
                    && indices[0].iter().copied().eq(0..size.cast_signed())
            }
        }
    }

    /// Whether the axis wraps around.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        matches!(self, Self::Block { periodic: true, .. })
    }

    /// Whether no index lies on two coordinates.
    #[must_use]
    pub fn is_one_to_one(&self) -> bool {
        !matches!(
            self,
            Self::Unstructured {
                one_to_one: false,
                ..
            }
        )
    }

    /// Communication padding of a coordinate; none where the coordinate does not exist.
    #[must_use]
    pub fn padding(&self, coord: usize) -> Padding {
        match self {
            Self::Block { padding, .. } => padding.get(coord).copied().unwrap_or_default(),
            _ => Padding::default(),
        }
    }

    /// The range that a coordinate owns, where this is a block.
    #[must_use]
    pub fn owned_range(&self, coord: usize) -> Option<Range<u64>> {
        match self {
            Self::Block { bounds, .. } => Some(*bounds.get(coord)?..*bounds.get(coord + 1)?),
            _ => None,
        }
    }

    /// The range that a coordinate stores, communication padding included, where this is a block.
    #[must_use]
    pub fn stored_range(&self, coord: usize) -> Option<Range<u64>> {
        let owned = self.owned_range(coord)?;
        let padding = self.padding(coord);
        Some(owned.start - padding.lower..owned.end + padding.upper)
    }

    /// Elements that a coordinate owns; 0 where the coordinate does not exist.
    #[must_use]
    pub fn owned_len(&self, coord: usize) -> usize {
        match self {
            Self::Block { .. } => self
                .owned_range(coord)
                .map_or(0, |range| to_len(range.end - range.start)),
            Self::Cyclic { ranks, .. } if coord >= *ranks => 0,
            Self::Cyclic {
                size,
                ranks,
                block_size,
            } => to_len(cyclic_count(*size, *ranks, coord, *block_size)),
            Self::Unstructured { indices, .. } => indices.get(coord).map_or(0, |list| list.len()),
        }
    }

    /// Elements that a coordinate stores, communication padding included.
    #[must_use]
    pub fn stored_len(&self, coord: usize) -> usize {
        self.stored_range(coord).map_or_else(
            || self.owned_len(coord),
            |range| to_len(range.end - range.start),
        )
    }

    /// Where, among the stored elements, the owned ones lie.
    #[must_use]
    pub fn owned_local(&self, coord: usize) -> Range<usize> {
        let start = to_len(self.padding(coord).lower);
        start..start + self.owned_len(coord)
    }

    /// The coordinate that owns a global index: the lowest one, where several do. `None` where
    /// none does. For many indices make an [`AxisDist::locator`] once.
    #[must_use]
    pub fn owner(&self, global: i64) -> Option<usize> {
        if let Self::Unstructured { indices, .. } = self {
            return indices.iter().position(|list| list.contains(&global));
        }
        let g = u64::try_from(global).ok().filter(|&g| g < self.size())?;
        match self {
            Self::Block { bounds, .. } => Some(bounds.partition_point(|&bound| bound <= g) - 1),
            Self::Cyclic {
                ranks, block_size, ..
            } => usize::try_from(g / block_size % *ranks as u64).ok(),
            Self::Unstructured { .. } => None,
        }
    }

    /// Every coordinate that owns a global index, in ascending order.
    #[must_use]
    pub fn owners(&self, global: i64) -> Vec<usize> {
        match self {
            Self::Unstructured { indices, .. } => (0..indices.len())
                .filter(|&coord| indices[coord].contains(&global))
                .collect(),
            _ => self.owner(global).into_iter().collect(),
        }
    }

    /// The index map of a coordinate.
    ///
    /// # Errors
    /// When there is no such coordinate.
    pub fn map(&self, coord: usize) -> Result<DimMap, MapError> {
        map_from_dim_dict(&self.dim_dict(coord)?)
    }

    /// The protocol's dictionary of a coordinate.
    ///
    /// The protocol has boundary padding on the first and the last coordinate only. Where one of them
    /// owns less than the boundary, or nothing, its dictionary says what it owns of it, and all
    /// dictionaries of the axis have the whole in a key that the protocol does not know:
    /// `'boundary_padding': (lower, upper)`. Others ignore it;
    /// [`Distribution::from_dim_data_per_rank`](crate::Distribution::from_dim_data_per_rank) reads it.
    ///
    /// # Errors
    /// When there is no such coordinate.
    pub fn dim_dict(&self, coord: usize) -> Result<DimDict, MapError> {
        let (size, ranks) = (self.size(), self.ranks());
        if coord >= ranks {
            return Err(MapError::Count {
                what: "coordinates along the axis",
                given: coord,
                expected: ranks,
            });
        }
        match self {
            Self::Block {
                boundary, periodic, ..
            } => {
                let stored = self.stored_range(coord).unwrap_or(0..0);
                let owned = self.owned_len(coord) as u64;
                let mut padding = self.padding(coord);
                if coord == 0 {
                    padding.lower = boundary.lower.min(owned);
                }
                if coord + 1 == ranks {
                    padding.upper = boundary.upper.min(owned);
                }
                if coord == 0 && coord + 1 == ranks {
                    padding.upper = padding.upper.min(owned - padding.lower);
                }
                let dist = Dist::Block {
                    start: stored.start,
                    stop: stored.end,
                    padding,
                    periodic: *periodic,
                };
                let dim = DimDict::new(size, ranks, coord, dist)?;
                let (lower, upper) = (boundary.lower, boundary.upper);
                if lower <= self.owned_len(0) as u64 && upper <= self.owned_len(ranks - 1) as u64 {
                    return Ok(dim);
                }
                let both = Value::Tuple(vec![lower.into(), upper.into()]);
                Ok(dim.with_extra(BOUNDARY, both)?)
            }
            Self::Cyclic { block_size, .. } => {
                Ok(DimDict::cyclic(size, ranks, coord, *block_size)?)
            }
            Self::Unstructured {
                indices,
                one_to_one,
                ..
            } => Ok(DimDict::unstructured(
                size,
                ranks,
                coord,
                Arc::clone(&indices[coord]),
                *one_to_one,
            )?),
        }
    }
}
