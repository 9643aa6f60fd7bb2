//! How an [`AxisDist`] is made: by rule, by bounds, by lists; with padding.

use std::sync::Arc;

use dap_protocol::Padding;

use super::{check_ranks, check_size};
use crate::{AxisDist, MapError};

impl AxisDist {
    /// Blocks of `ceil(size / ranks)`, the last ones short or empty: 10 over 4 is 3, 3, 3, 1.
    ///
    /// # Errors
    /// When `size` or `ranks` is out of range.
    pub fn block(size: u64, ranks: usize) -> Result<Self, MapError> {
        check_size(size)?;
        check_ranks(ranks)?;
        let block = size.div_ceil(ranks as u64);
        let bounds = (0..=ranks as u64).map(|c| c.saturating_mul(block).min(size));
        Ok(Self::from_bounds(bounds.collect()))
    }

    /// Blocks whose lengths differ by at most one, the longer ones first: 10 over 4 is 3, 3, 2, 2.
    ///
    /// # Errors
    /// When `size` or `ranks` is out of range.
    pub fn block_balanced(size: u64, ranks: usize) -> Result<Self, MapError> {
        check_size(size)?;
        check_ranks(ranks)?;
        let (short, longer) = (size / ranks as u64, size % ranks as u64);
        let bounds = (0..=ranks as u64).map(|c| c * short + c.min(longer));
        Ok(Self::from_bounds(bounds.collect()))
    }

    /// Bounds at `floor(size * c / ranks)`: 10 over 4 is 2, 3, 2, 3.
    ///
    /// # Errors
    /// When `size` or `ranks` is out of range.
    pub fn block_floor(size: u64, ranks: usize) -> Result<Self, MapError> {
        check_size(size)?;
        check_ranks(ranks)?;
        let bounds = (0..=ranks as u128).map(|c| {
            // at most `size`, so it fits
            u64::try_from(u128::from(size) * c / ranks as u128).unwrap_or(size)
        });
        Ok(Self::from_bounds(bounds.collect()))
    }

    /// Blocks between given bounds, which ascend from 0 to the size; equal ones make an empty block.
    ///
    /// # Errors
    /// [`MapError::Bounds`] when they do not; also when their number or size is out of range.
    pub fn block_bounds(bounds: impl Into<Arc<[u64]>>) -> Result<Self, MapError> {
        let bounds = bounds.into();
        check_ranks(bounds.len().saturating_sub(1))?;
        let size = bounds[bounds.len() - 1];
        check_size(size)?;
        if bounds[0] != 0 {
            return Err(MapError::Bounds {
                axis: None,
                position: 0,
                given: bounds[0],
                low: 0,
                high: 0,
            });
        }
        if let Some(at) = bounds.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(MapError::Bounds {
                axis: None,
                position: at + 1,
                given: bounds[at + 1],
                low: bounds[at],
                high: size,
            });
        }
        Ok(Self::from_bounds(bounds))
    }

    /// All of it on every rank of this coordinate: one block.
    ///
    /// # Errors
    /// When `size` is out of range.
    pub fn whole(size: u64) -> Result<Self, MapError> {
        Self::block(size, 1)
    }

    /// Blocks of `block_size` dealt to the ranks in turn; 1 is the cyclic distribution.
    ///
    /// # Errors
    /// When `size` or `ranks` is out of range, or `block_size` is 0.
    pub fn cyclic(size: u64, ranks: usize, block_size: u64) -> Result<Self, MapError> {
        check_size(size)?;
        check_ranks(ranks)?;
        if block_size == 0 {
            return Err(MapError::BlockSize { axis: None });
        }
        Ok(Self::Cyclic {
            size,
            ranks,
            block_size,
        })
    }

    /// An explicit list of global indices per coordinate, each in local order and inside `0..size`.
    /// Indices may lie on several coordinates, or on none.
    ///
    /// # Errors
    /// When an index is out of range or twice in one list, or `size` or the number of lists is out
    /// of range.
    pub fn unstructured<L: Into<Arc<[i64]>>>(
        size: u64,
        lists: impl IntoIterator<Item = L>,
    ) -> Result<Self, MapError> {
        check_size(size)?;
        let lists: Arc<[Arc<[i64]>]> = lists.into_iter().map(Into::into).collect();
        for &given in lists.iter().flat_map(|list| list.iter()) {
            if u64::try_from(given).is_ok_and(|g| g < size) {
                continue;
            }
            return Err(MapError::Index {
                axis: None,
                given,
                size,
            });
        }
        Self::unstructured_free(size, lists)
    }

    /// As [`AxisDist::unstructured`], with indices of any value, as the protocol allows.
    ///
    /// # Errors
    /// When an index is twice in one list, or `size` or the number of lists is out of range.
    pub fn unstructured_free(
        size: u64,
        lists: impl Into<Arc<[Arc<[i64]>]>>,
    ) -> Result<Self, MapError> {
        check_size(size)?;
        let indices = lists.into();
        check_ranks(indices.len())?;
        let mut all: Vec<(i64, usize)> = indices
            .iter()
            .enumerate()
            .flat_map(|(coord, list)| list.iter().map(move |&g| (g, coord)))
            .collect();
        all.sort_unstable();
        let mut one_to_one = true;
        for pair in all.windows(2) {
            if pair[0] == pair[1] {
                let (given, coord) = pair[0];
                return Err(MapError::RepeatedIndex {
                    axis: None,
                    coord,
                    given,
                });
            }
            one_to_one &= pair[0].0 != pair[1].0;
        }
        Ok(Self::Unstructured {
            size,
            indices,
            one_to_one,
        })
    }

    pub(crate) fn from_bounds(bounds: Arc<[u64]>) -> Self {
        let padding = vec![Padding::default(); bounds.len() - 1].into();
        Self::Block {
            bounds,
            padding,
            boundary: Padding::default(),
            periodic: false,
        }
    }

    /// The same blocks with `lower` and `upper` elements of the neighbours stored beside each,
    /// as far as the axis reaches; a coordinate that owns nothing stores nothing.
    ///
    /// # Errors
    /// When this is no block.
    pub fn with_padding(self, lower: u64, upper: u64) -> Result<Self, MapError> {
        match self {
            Self::Block {
                bounds,
                boundary,
                periodic,
                ..
            } => {
                let size = bounds[bounds.len() - 1];
                let padding = bounds
                    .windows(2)
                    .map(|owned| {
                        if owned[0] == owned[1] {
                            Padding::default()
                        } else {
                            Padding::new(lower.min(owned[0]), upper.min(size - owned[1]))
                        }
                    })
                    .collect();
                Ok(Self::Block {
                    bounds,
                    padding,
                    boundary,
                    periodic,
                })
            }
            other => Err(other.not_a_block("padding")),
        }
    }

    /// Padding as the parts of the ranks gave it; it lies inside `0..size` by their own checks.
    pub(crate) fn with_padding_per_coord(
        self,
        padding: Vec<Padding>,
        boundary: Padding,
        periodic: bool,
    ) -> Result<Self, MapError> {
        match self {
            Self::Block { bounds, .. } => Ok(Self::Block {
                bounds,
                padding: padding.into(),
                boundary,
                periodic,
            }),
            other => Err(other.not_a_block("padding")),
        }
    }

    /// The same blocks, the outermost `lower` and `upper` elements of the axis being boundary
    /// padding: owned, and on a periodic axis filled from the other end by a halo exchange.
    ///
    /// # Errors
    /// When this is no block, or the axis is shorter than the two together.
    pub fn with_boundary(self, lower: u64, upper: u64) -> Result<Self, MapError> {
        let size = self.size();
        match self {
            Self::Block {
                bounds,
                padding,
                periodic,
                ..
            } => {
                let given = lower.saturating_add(upper);
                if given > size {
                    return Err(MapError::Boundary {
                        axis: None,
                        given,
                        size,
                    });
                }
                Ok(Self::Block {
                    bounds,
                    padding,
                    boundary: Padding::new(lower, upper),
                    periodic,
                })
            }
            other => Err(other.not_a_block("boundary padding")),
        }
    }

    /// The same blocks, wrapping around or not.
    ///
    /// # Errors
    /// When this is no block.
    pub fn with_periodic(mut self, value: bool) -> Result<Self, MapError> {
        if let Self::Block { periodic, .. } = &mut self {
            *periodic = value;
            Ok(self)
        } else {
            Err(self.not_a_block("periodic"))
        }
    }

    fn not_a_block(&self, what: &'static str) -> MapError {
        MapError::NotABlock {
            axis: None,
            what,
            kind: self.kind(),
        }
    }
}
