//! [`DimMap`]: the map of any dictionary.

use dap_protocol::{DimDict, Dist};

use crate::map::sealed::Sealed;
use crate::runs::Runs;
use crate::{
    BlockCyclicMap, BlockMap, CyclicMap, GlobalIndex, IndexMap, LocalIndex, MapError,
    UnstructuredMap,
};

/// One rank's part of one dimension, of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum DimMap {
    /// One contiguous range.
    Block(BlockMap),
    /// Single elements dealt in turn.
    Cyclic(CyclicMap),
    /// Blocks dealt in turn.
    BlockCyclic(BlockCyclicMap),
    /// Explicit indices.
    Unstructured(UnstructuredMap),
}

/// The map of a dictionary. Unstructured indices may have any value.
///
/// # Errors
/// When a size exceeds this machine's addresses.
///
/// ```
/// use dist_maps::{DimMap, IndexMap, map_from_dim_dict};
/// let map = map_from_dim_dict(&dap_protocol::DimDict::cyclic(10, 3, 1, 2)?)?;
/// assert!(matches!(map, DimMap::BlockCyclic(_)));
/// assert!(map.global_iter().map(|g| g.get()).eq([2, 3, 8, 9]));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
pub fn map_from_dim_dict(dim: &DimDict) -> Result<DimMap, MapError> {
    let dim = dim.clone();
    Ok(match dim.dist() {
        Dist::Block { .. } => DimMap::Block(BlockMap::of(dim)?),
        Dist::Cyclic { block_size: 1, .. } => DimMap::Cyclic(CyclicMap::of(dim)?),
        Dist::Cyclic { .. } => DimMap::BlockCyclic(BlockCyclicMap::of(dim)?),
        Dist::Unstructured { .. } => DimMap::Unstructured(UnstructuredMap::of(dim)?),
    })
}

/// Calls a method of whichever map it is.
macro_rules! each {
    ($self:ident, $map:ident => $call:expr) => {
        match $self {
            DimMap::Block($map) => $call,
            DimMap::Cyclic($map) => $call,
            DimMap::BlockCyclic($map) => $call,
            DimMap::Unstructured($map) => $call,
        }
    };
}

impl Sealed for DimMap {}

impl IndexMap for DimMap {
    fn size(&self) -> usize {
        each!(self, map => map.size())
    }

    fn dim_dict(&self) -> &DimDict {
        each!(self, map => map.dim_dict())
    }

    fn local_from_global(&self, index: GlobalIndex) -> Option<LocalIndex> {
        each!(self, map => map.local_from_global(index))
    }

    fn global_from_local(&self, index: LocalIndex) -> Option<GlobalIndex> {
        each!(self, map => map.global_from_local(index))
    }

    fn owner(&self, index: GlobalIndex) -> Option<usize> {
        each!(self, map => map.owner(index))
    }

    fn runs(&self) -> Runs<'_> {
        each!(self, map => map.runs())
    }

    fn local_from_global_bulk(&self, global: &[i64], local: &mut [usize]) -> Result<(), MapError> {
        each!(self, map => map.local_from_global_bulk(global, local))
    }

    fn global_from_local_bulk(&self, local: &[usize], global: &mut [i64]) -> Result<(), MapError> {
        each!(self, map => map.global_from_local_bulk(local, global))
    }
}
