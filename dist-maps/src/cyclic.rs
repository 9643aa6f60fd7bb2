//! [`BlockCyclicMap`] and [`CyclicMap`], its case of blocks of one element.

use dap_protocol::{DimDict, Dist};

use crate::axis_dist::{cyclic_count, to_len};
use crate::map::{NOT_HERE, check_lengths, fill_globals, fill_locals, sealed::Sealed};
use crate::reciprocal::{Divide, NARROW, Reciprocal};
use crate::runs::Runs;
use crate::{GlobalIndex, IndexMap, LocalIndex, MapError};

/// A rank's share of blocks dealt to the ranks in turn.
#[derive(Clone, Debug)]
pub struct BlockCyclicMap {
    dim: DimDict,
    len: usize,
    rank: u64,
    block: Reciprocal,
    ranks: Reciprocal,
}

impl PartialEq for BlockCyclicMap {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim
    }
}

impl BlockCyclicMap {
    /// Blocks of `block_size`; `start` is `grid_rank * block_size`, or at least `global_size` where
    /// nothing is held.
    ///
    /// # Errors
    /// When the protocol refuses it.
    pub fn new(
        global_size: u64,
        grid_size: usize,
        grid_rank: usize,
        start: u64,
        block_size: u64,
    ) -> Result<Self, MapError> {
        let dist = Dist::Cyclic { start, block_size };
        Self::of(DimDict::new(global_size, grid_size, grid_rank, dist)?)
    }

    /// The map of a cyclic dictionary.
    pub(crate) fn of(dim: DimDict) -> Result<Self, MapError> {
        let Dist::Cyclic { block_size, .. } = *dim.dist() else {
            return Err(MapError::NotCyclic {
                kind: dim.dist_type(),
            });
        };
        crate::axis_dist::check_size(dim.size())?;
        Ok(Self {
            len: to_len(cyclic_count(
                dim.size(),
                dim.grid_size(),
                dim.grid_rank(),
                block_size,
            )),
            rank: dim.grid_rank() as u64,
            // A block longer than the dimension works as one as long.
            block: Reciprocal::new(block_size.min(dim.size().max(1))),
            ranks: Reciprocal::new((dim.grid_size() as u64).min(dap_protocol::MAX_SIZE)),
            dim,
        })
    }

    /// Elements per block.
    #[must_use]
    pub fn block_size(&self) -> u64 {
        match *self.dim.dist() {
            Dist::Cyclic { block_size, .. } => block_size,
            _ => 1,
        }
    }

    /// Coordinate and local position of a global index inside the dimension.
    fn locate(&self, g: u64) -> (u64, u64) {
        let block = self.block.divide(g);
        let round = self.ranks.divide(block);
        let coord = block - round * self.ranks.divisor();
        let inside = g - block * self.block.divisor();
        (coord, round * self.block.divisor() + inside)
    }

    fn inside(&self, index: GlobalIndex) -> Option<u64> {
        u64::try_from(index.get())
            .ok()
            .filter(|&g| g < self.dim.size())
    }

    #[inline]
    fn fill_here(
        &self,
        block: impl Divide,
        ranks: impl Divide,
        global: &[i64],
        local: &mut [usize],
    ) {
        let (size, width, rank) = (self.dim.size(), self.block.divisor(), self.rank);
        fill_locals(global, local, |g| {
            // Out of range becomes 0 for the arithmetic. All without branches, which nothing could foretell.
            let g = g.cast_unsigned();
            let inside_all = u64::from(g < size);
            let (number, inside) = block.divide(g & inside_all.wrapping_neg());
            let (round, coord) = ranks.divide(number);
            let here = u64::from(coord == rank) & inside_all;
            let at = round.wrapping_mul(width).wrapping_add(inside);
            to_len(at | here.wrapping_sub(1)) // all ones, which is `NOT_HERE`
        });
    }
}

impl Sealed for BlockCyclicMap {}

impl IndexMap for BlockCyclicMap {
    fn size(&self) -> usize {
        self.len
    }

    fn dim_dict(&self) -> &DimDict {
        &self.dim
    }

    fn local_from_global(&self, index: GlobalIndex) -> Option<LocalIndex> {
        let (coord, local) = self.locate(self.inside(index)?);
        (coord == self.rank).then(|| LocalIndex::new(to_len(local)))
    }

    fn global_from_local(&self, index: LocalIndex) -> Option<GlobalIndex> {
        if index.get() >= self.len {
            return None;
        }
        let l = index.get() as u64;
        let round = self.block.divide(l);
        let inside = l - round * self.block.divisor();
        let block = round * self.ranks.divisor() + self.rank;
        let g = block * self.block.divisor() + inside;
        i64::try_from(g).ok().map(GlobalIndex::new)
    }

    fn owner(&self, index: GlobalIndex) -> Option<usize> {
        usize::try_from(self.locate(self.inside(index)?).0).ok()
    }

    fn runs(&self) -> Runs<'_> {
        let block = self.block.divisor();
        if self.ranks.divisor() == 1 {
            return Runs::one(0, self.len);
        }
        // Where a second block exists, these products are below the size; where none does, they are
        // cut off and never used.
        let start = self.rank.saturating_mul(block);
        let stride = self.ranks.divisor().saturating_mul(block);
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Runs::regular(signed(start), signed(stride), to_len(block), self.len)
    }

    fn local_from_global_bulk(&self, global: &[i64], local: &mut [usize]) -> Result<(), MapError> {
        check_lengths(local.len(), global.len())?;
        if self.dim.size() > NARROW || self.ranks.divisor() >= NARROW {
            fill_locals(global, local, |g| {
                let at = self.local_from_global(GlobalIndex::new(g));
                at.map_or(NOT_HERE, LocalIndex::get)
            });
            return Ok(());
        }
        match (self.block.shift(), self.ranks.shift()) {
            (Some(b), Some(p)) => self.fill_here(b, p, global, local),
            (Some(b), None) => self.fill_here(b, self.ranks.multiply(), global, local),
            (None, Some(p)) => self.fill_here(self.block.multiply(), p, global, local),
            (None, None) => {
                self.fill_here(self.block.multiply(), self.ranks.multiply(), global, local);
            }
        }
        Ok(())
    }

    #[expect(
        clippy::cast_possible_wrap,
        reason = "positions in range lead to indices below the size, which fits"
    )]
    fn global_from_local_bulk(&self, local: &[usize], global: &mut [i64]) -> Result<(), MapError> {
        let (block, ranks, rank) = (self.block.divisor(), self.ranks.divisor(), self.rank);
        let at = |round: u64, inside: u64| {
            (round.wrapping_mul(ranks).wrapping_add(rank))
                .wrapping_mul(block)
                .wrapping_add(inside) as i64
        };
        if let Some(shift) = self.block.shift() {
            return fill_globals(self.len, local, global, |l| {
                let (round, inside) = shift.divide(l as u64);
                at(round, inside)
            });
        }
        if self.len as u64 <= NARROW {
            let multiply = self.block.multiply();
            return fill_globals(self.len, local, global, |l| {
                let (round, inside) = multiply.divide(l as u64 & (NARROW - 1));
                at(round, inside)
            });
        }
        fill_globals(self.len, local, global, |l| {
            let l = l as u64 & (u64::MAX >> 1);
            let round = self.block.divide(l);
            at(round, l.wrapping_sub(round.wrapping_mul(block)))
        })
    }
}

/// A rank's share of single elements dealt to the ranks in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct CyclicMap(BlockCyclicMap);

impl CyclicMap {
    /// Every `grid_size`-th element from `start` on, which is `grid_rank`, or at least
    /// `global_size` where nothing is held.
    ///
    /// # Errors
    /// When the protocol refuses it.
    pub fn new(
        global_size: u64,
        grid_size: usize,
        grid_rank: usize,
        start: u64,
    ) -> Result<Self, MapError> {
        BlockCyclicMap::new(global_size, grid_size, grid_rank, start, 1).map(Self)
    }

    /// The map of a cyclic dictionary with blocks of one element.
    pub(crate) fn of(dim: DimDict) -> Result<Self, MapError> {
        BlockCyclicMap::of(dim).map(Self)
    }
}

impl Sealed for CyclicMap {}

impl IndexMap for CyclicMap {
    fn size(&self) -> usize {
        self.0.size()
    }

    fn dim_dict(&self) -> &DimDict {
        self.0.dim_dict()
    }

    fn local_from_global(&self, index: GlobalIndex) -> Option<LocalIndex> {
        self.0.local_from_global(index)
    }

    fn global_from_local(&self, index: LocalIndex) -> Option<GlobalIndex> {
        self.0.global_from_local(index)
    }

    fn owner(&self, index: GlobalIndex) -> Option<usize> {
        self.0.owner(index)
    }

    fn runs(&self) -> Runs<'_> {
        self.0.runs()
    }

    fn local_from_global_bulk(&self, global: &[i64], local: &mut [usize]) -> Result<(), MapError> {
        self.0.local_from_global_bulk(global, local)
    }

    fn global_from_local_bulk(&self, local: &[usize], global: &mut [i64]) -> Result<(), MapError> {
        self.0.global_from_local_bulk(local, global)
    }
}
