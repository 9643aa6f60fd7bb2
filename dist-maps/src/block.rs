//! [`BlockMap`]: one contiguous range, padding included.

use std::ops::Range;

use dap_protocol::{DimDict, Dist, Padding};

use crate::axis_dist::to_len;
use crate::map::{NOT_HERE, check_lengths, fill_globals, fill_locals, sealed::Sealed};
use crate::runs::Runs;
use crate::{GlobalIndex, IndexMap, LocalIndex, MapError};

/// A rank's block of a dimension.
///
/// ```
/// use dist_maps::{BlockMap, IndexMap};
/// // 18 elements over two ranks, one element of padding on each side: rank 1 stores 8..18
/// let map = BlockMap::new(18, 2, 1, 8, 18)?.with_padding(1, 1)?;
/// assert_eq!((map.size(), map.owned_local()), (10, 1..10)); // the outer edge is owned
/// assert_eq!(map.dim_dict().padding(), dist_maps::Padding::new(1, 1));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BlockMap {
    dim: DimDict,
    /// First global index stored.
    start: i64,
    len: usize,
}

impl BlockMap {
    /// The block `start..stop` of a dimension, padding included: see [`BlockMap::with_padding`].
    ///
    /// # Errors
    /// When the protocol refuses it.
    pub fn new(
        global_size: u64,
        grid_size: usize,
        grid_rank: usize,
        start: u64,
        stop: u64,
    ) -> Result<Self, MapError> {
        let dist = Dist::Block {
            start,
            stop,
            padding: Padding::default(),
            periodic: false,
        };
        Self::of(DimDict::new(global_size, grid_size, grid_rank, dist)?)
    }

    /// The same block with the first `lower` and the last `upper` of its elements as padding:
    /// communication padding, or boundary padding at the outer edges of the dimension.
    ///
    /// # Errors
    /// When the block is shorter than the two together.
    pub fn with_padding(self, lower: u64, upper: u64) -> Result<Self, MapError> {
        Self::of(self.dim.with_padding(lower, upper)?)
    }

    /// The same block of a dimension that wraps around or does not.
    #[must_use]
    pub fn with_periodic(mut self, periodic: bool) -> Self {
        if let Ok(dim) = self.dim.clone().with_periodic(periodic) {
            self.dim = dim; // a block: never refused
        }
        self
    }

    /// The map of a block dictionary.
    pub(crate) fn of(dim: DimDict) -> Result<Self, MapError> {
        let Dist::Block { start, .. } = *dim.dist() else {
            return Err(MapError::NotABlock {
                axis: None,
                what: "a block map",
                kind: dim.dist_type(),
            });
        };
        crate::axis_dist::check_size(dim.size())?;
        Ok(Self {
            // at most `size`, which was checked
            start: i64::try_from(start).unwrap_or(i64::MAX),
            len: to_len(dim.stored_len()),
            dim,
        })
    }

    /// The local positions of what is owned here: those without communication padding. Padding at a
    /// periodic edge is owned, as version 0.10 of the protocol says; of a dictionary of 0.9 see
    /// [`DimDict::owned_range_in`].
    #[must_use]
    pub fn owned_local(&self) -> Range<usize> {
        let owned = self.dim.owned_range().unwrap_or(0..0);
        let lower = to_len(owned.start) - to_len(self.start.unsigned_abs());
        lower..lower + to_len(owned.end - owned.start)
    }
}

impl Sealed for BlockMap {}

impl IndexMap for BlockMap {
    fn size(&self) -> usize {
        self.len
    }

    fn dim_dict(&self) -> &DimDict {
        &self.dim
    }

    fn local_from_global(&self, index: GlobalIndex) -> Option<LocalIndex> {
        let offset = usize::try_from(index.get().checked_sub(self.start)?).ok()?;
        (offset < self.len).then_some(LocalIndex::new(offset))
    }

    fn global_from_local(&self, index: LocalIndex) -> Option<GlobalIndex> {
        if index.get() >= self.len {
            return None;
        }
        let offset = i64::try_from(index.get()).ok()?;
        Some(GlobalIndex::new(self.start + offset))
    }

    fn owner(&self, index: GlobalIndex) -> Option<usize> {
        let g = u64::try_from(index.get()).ok()?;
        let owned = self.dim.owned_range()?;
        owned.contains(&g).then_some(self.dim.grid_rank())
    }

    fn runs(&self) -> Runs<'_> {
        Runs::one(self.start, self.len)
    }

    #[expect(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "an index below the start becomes a number above every length"
    )]
    fn local_from_global_bulk(&self, global: &[i64], local: &mut [usize]) -> Result<(), MapError> {
        check_lengths(local.len(), global.len())?;
        let (start, len) = (self.start, self.len as u64);
        fill_locals(global, local, |g| {
            let offset = g.wrapping_sub(start) as u64;
            if offset < len {
                offset as usize
            } else {
                NOT_HERE
            }
        });
        Ok(())
    }

    #[expect(
        clippy::cast_possible_wrap,
        reason = "positions in range are below the size, which fits"
    )]
    fn global_from_local_bulk(&self, local: &[usize], global: &mut [i64]) -> Result<(), MapError> {
        let start = self.start;
        fill_globals(self.len, local, global, |l| start.wrapping_add(l as i64))
    }
}
