//! [`DimDict`]: one dimension of one rank's part, the protocol's dimension dictionary.

mod extra;
mod rules;
mod spelling;
mod value;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use extra::unwritable;
pub(crate) use rules::{LISTED, Rules, cyclic_start};
pub(crate) use spelling::Spelling;
pub(crate) use value::is_reserved;

use crate::error::{Code, Violation};
use crate::literal::Value;
use crate::{ProtocolError, ProtocolVersion};

/// The largest `size`: positions must fit the protocol's signed 64-bit indices.
pub const MAX_SIZE: u64 = i64::MAX.unsigned_abs();

/// Padding at the two ends of a block, in elements: the protocol's `padding`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Padding {
    /// Elements below the block's interior.
    pub lower: u64,
    /// Elements above it.
    pub upper: u64,
}

impl Padding {
    /// Padding of `lower` and `upper` elements.
    #[must_use]
    pub const fn new(lower: u64, upper: u64) -> Self {
        Self { lower, upper }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.lower == 0 && self.upper == 0
    }
}

/// How a dimension is distributed, with what this rank holds of it: the protocol's `dist_type`.
///
/// Closed: the specification may add kinds, and each match on it must then be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dist {
    /// `'b'`: one contiguous range, `start..stop`, padding included.
    Block {
        /// First global index stored.
        start: u64,
        /// One past the last global index stored.
        stop: u64,
        /// Padding inside `start..stop`.
        padding: Padding,
        /// Whether the dimension wraps around.
        periodic: bool,
    },
    /// `'c'`: blocks of `block_size`, dealt to the ranks in turn.
    Cyclic {
        /// First global index, `proc_grid_rank * block_size`: at least `size` where nothing is
        /// held (there `size` itself, when the product does not fit 63 bits or is less).
        start: u64,
        /// Elements per block, at least 1.
        block_size: u64,
    },
    /// `'u'`: explicit global indices in local order.
    Unstructured {
        /// Global index of every local one. Any integers: negative, in any order, none twice.
        indices: Arc<[i64]>,
        /// Whether no index lies on two ranks.
        one_to_one: bool,
    },
}

/// One dimension of one rank's part of a distributed array. Valid by construction.
///
/// ```
/// use dap_protocol::DimDict;
/// // 18 elements over two ranks, one element of padding on each side: rank 1 stores 8..18
/// let d = DimDict::block(18, 2, 1, 8..18)?.with_padding(1, 1)?;
/// assert_eq!((d.stored_len(), d.owned_len()), (10, 9));
/// assert!(DimDict::block(9, 4, 3, 9..12).is_err()); // B4: stop exceeds size
/// # Ok::<(), dap_protocol::ProtocolError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DimDict {
    size: u64,
    grid_size: usize,
    grid_rank: usize,
    dist: Dist,
    extra: BTreeMap<String, Value>,
    spelling: Spelling,
}

/// Equal when they say the same; which optional keys were spelled out is no part of that.
impl PartialEq for DimDict {
    fn eq(&self, other: &Self) -> bool {
        (self.size, self.grid_size, self.grid_rank)
            == (other.size, other.grid_size, other.grid_rank)
            && self.dist == other.dist
            && self.extra == other.extra
    }
}

impl DimDict {
    /// A dictionary of any kind.
    ///
    /// # Errors
    /// [`ProtocolError::Violations`] with every rule that is broken.
    pub fn new(
        size: u64,
        grid_size: usize,
        grid_rank: usize,
        dist: Dist,
    ) -> Result<Self, ProtocolError> {
        let mut rules = Rules::default();
        rules.common(size.into(), grid_size.into(), grid_rank.into());
        match &dist {
            Dist::Block {
                start,
                stop,
                padding,
                ..
            } => {
                rules.block_range(
                    size.into(),
                    grid_rank.into(),
                    (*start).into(),
                    (*stop).into(),
                );
                rules.padding(*start, *stop, *padding);
            }
            Dist::Cyclic { start, block_size } => {
                rules.cyclic(
                    size.into(),
                    grid_rank.into(),
                    (*start).into(),
                    (*block_size).into(),
                );
            }
            Dist::Unstructured { indices, .. } => rules.indices(indices),
        }
        if !rules.found.is_empty() {
            return Err(ProtocolError::Violations(rules.found));
        }
        Ok(Self::checked(size, grid_size, grid_rank, dist))
    }

    /// A dictionary whose parts were found to be valid.
    pub(crate) fn checked(size: u64, grid_size: usize, grid_rank: usize, mut dist: Dist) -> Self {
        if let Dist::Cyclic { start, block_size } = &mut dist
            && *start >= size
        {
            // Below `size` it would hold something, which a lenient reader was told it does not.
            *start = cyclic_start(size, grid_rank, *block_size).max(size);
        }
        Self {
            size,
            grid_size,
            grid_rank,
            dist,
            extra: BTreeMap::new(),
            spelling: Spelling::default(),
        }
    }

    pub(crate) fn with_spelling(mut self, spelling: Spelling) -> Self {
        self.spelling = spelling;
        self
    }

    /// A block without padding: this rank stores `range`.
    ///
    /// # Errors
    /// As [`DimDict::new`].
    pub fn block(
        size: u64,
        grid_size: usize,
        grid_rank: usize,
        range: Range<u64>,
    ) -> Result<Self, ProtocolError> {
        let dist = Dist::Block {
            start: range.start,
            stop: range.end,
            padding: Padding::default(),
            periodic: false,
        };
        Self::new(size, grid_size, grid_rank, dist)
    }

    /// A dimension that is not distributed: the protocol's empty dictionary `{}`.
    ///
    /// # Errors
    /// When `size` exceeds [`MAX_SIZE`].
    pub fn whole(size: u64) -> Result<Self, ProtocolError> {
        Self::block(size, 1, 0, 0..size)
    }

    /// A block-cyclic dimension; `block_size` 1 is cyclic.
    ///
    /// # Errors
    /// As [`DimDict::new`].
    pub fn cyclic(
        size: u64,
        grid_size: usize,
        grid_rank: usize,
        block_size: u64,
    ) -> Result<Self, ProtocolError> {
        let start = cyclic_start(size, grid_rank, block_size);
        Self::new(
            size,
            grid_size,
            grid_rank,
            Dist::Cyclic { start, block_size },
        )
    }

    /// An unstructured dimension: this rank holds `indices`, in local order.
    ///
    /// # Errors
    /// As [`DimDict::new`].
    pub fn unstructured(
        size: u64,
        grid_size: usize,
        grid_rank: usize,
        indices: impl Into<Arc<[i64]>>,
        one_to_one: bool,
    ) -> Result<Self, ProtocolError> {
        Self::new(
            size,
            grid_size,
            grid_rank,
            Dist::Unstructured {
                indices: indices.into(),
                one_to_one,
            },
        )
    }

    /// The same block with `lower` and `upper` elements of its range as padding.
    ///
    /// # Errors
    /// When this is no block, or the padding does not fit.
    pub fn with_padding(self, lower: u64, upper: u64) -> Result<Self, ProtocolError> {
        let Self {
            size,
            grid_size,
            grid_rank,
            dist,
            extra,
            spelling,
        } = self;
        let Dist::Block {
            start,
            stop,
            periodic,
            ..
        } = dist
        else {
            return Err(Violation::new(
                Code::C7,
                "padding on a dimension that is no block",
                "block only",
            )
            .key("padding")
            .into());
        };
        let dist = Dist::Block {
            start,
            stop,
            padding: Padding::new(lower, upper),
            periodic,
        };
        Ok(Self {
            extra,
            spelling,
            ..Self::new(size, grid_size, grid_rank, dist)?
        })
    }

    /// The same block, wrapping around or not.
    ///
    /// # Errors
    /// When this is no block.
    pub fn with_periodic(mut self, value: bool) -> Result<Self, ProtocolError> {
        match &mut self.dist {
            Dist::Block { periodic, .. } => {
                *periodic = value;
                Ok(self)
            }
            _ => Err(Violation::new(
                Code::C7,
                "periodic on a dimension that is no block",
                "block only",
            )
            .key("periodic")
            .into()),
        }
    }

    /// Global extent, in elements: `size`.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Ranks along this dimension: `proc_grid_size`.
    #[must_use]
    pub fn grid_size(&self) -> usize {
        self.grid_size
    }

    /// This rank's coordinate along this dimension: `proc_grid_rank`.
    #[must_use]
    pub fn grid_rank(&self) -> usize {
        self.grid_rank
    }

    /// The kind of distribution and what it holds here.
    #[must_use]
    pub fn dist(&self) -> &Dist {
        &self.dist
    }

    /// `"b"`, `"c"` or `"u"`.
    #[must_use]
    pub fn dist_type(&self) -> &'static str {
        match self.dist {
            Dist::Block { .. } => "b",
            Dist::Cyclic { .. } => "c",
            Dist::Unstructured { .. } => "u",
        }
    }

    /// Padding; none where this is no block.
    #[must_use]
    pub fn padding(&self) -> Padding {
        match self.dist {
            Dist::Block { padding, .. } => padding,
            _ => Padding::default(),
        }
    }

    /// Whether the dimension wraps around.
    #[must_use]
    pub fn is_periodic(&self) -> bool {
        matches!(self.dist, Dist::Block { periodic: true, .. })
    }

    /// The extent of the buffer here, padding included, in elements.
    #[must_use]
    pub fn stored_len(&self) -> u64 {
        match &self.dist {
            Dist::Block { start, stop, .. } => stop - start,
            Dist::Cyclic { start, .. } if *start >= self.size => 0,
            Dist::Cyclic { block_size, .. } => {
                cyclic_len(self.size, self.grid_size, self.grid_rank, *block_size)
            }
            Dist::Unstructured { indices, .. } => u64::try_from(indices.len()).unwrap_or(u64::MAX),
        }
    }

    /// The global range owned, where this is a block: communication padding excluded, boundary
    /// padding included. A periodic edge is boundary, as 0.10 says; for 0.9 see
    /// [`DimDict::owned_range_in`].
    #[must_use]
    pub fn owned_range(&self) -> Option<Range<u64>> {
        self.owned_range_in(ProtocolVersion::CURRENT)
    }

    /// [`DimDict::owned_range`] by the rule of a protocol version.
    #[must_use]
    pub fn owned_range_in(&self, version: ProtocolVersion) -> Option<Range<u64>> {
        let Dist::Block {
            start,
            stop,
            padding,
            periodic,
        } = self.dist
        else {
            return None;
        };
        let edge_is_owned = !periodic || version.periodic_edge_is_owned();
        let lower = if self.grid_rank == 0 && edge_is_owned {
            0
        } else {
            padding.lower
        };
        let upper = if self.grid_rank + 1 == self.grid_size && edge_is_owned {
            0
        } else {
            padding.upper
        };
        Some(start + lower..stop - upper)
    }

    /// Elements owned here: the stored ones without communication padding. By the rule of 0.10, as
    /// [`DimDict::owned_range`].
    #[must_use]
    pub fn owned_len(&self) -> u64 {
        self.owned_len_in(ProtocolVersion::CURRENT)
    }

    /// [`DimDict::owned_len`] by the rule of a protocol version.
    #[must_use]
    pub fn owned_len_in(&self, version: ProtocolVersion) -> u64 {
        self.owned_range_in(version)
            .map_or_else(|| self.stored_len(), |range| range.end - range.start)
    }
}

/// Elements on `rank` of `ranks` when blocks of `block` are dealt in turn; exact, the partial
/// last block included.
fn cyclic_len(size: u64, ranks: usize, rank: usize, block: u64) -> u64 {
    let (ranks, rank) = (ranks as u64, rank as u64);
    let (full, rest) = (size / block, size % block);
    let tail = match rank.cmp(&(full % ranks)) {
        std::cmp::Ordering::Less => block,
        std::cmp::Ordering::Equal => rest,
        std::cmp::Ordering::Greater => 0,
    };
    full / ranks * block + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lens(size: u64, ranks: usize, block: u64) -> Vec<u64> {
        (0..ranks)
            .map(|r| DimDict::cyclic(size, ranks, r, block).unwrap().stored_len())
            .collect()
    }

    #[test]
    fn block_cyclic_credits_the_partial_block_to_its_rank() {
        assert_eq!(lens(7, 2, 2), [4, 3]);
        assert_eq!(lens(10, 3, 4), [4, 4, 2]);
        assert_eq!(lens(11, 3, 2), [4, 4, 3]);
        assert_eq!(lens(3, 4, 5), [3, 0, 0, 0]);
    }

    #[test]
    fn boundary_padding_is_owned() {
        // [0, 20) of 100 with padding (3, 4): left edge 16, right edge 17, middle 13
        let owned = |ranks, rank| {
            DimDict::block(100, ranks, rank, 0..20)
                .unwrap()
                .with_padding(3, 4)
                .unwrap()
                .owned_len()
        };
        assert_eq!((owned(3, 0), owned(3, 2), owned(3, 1)), (16, 17, 13));
    }
}
