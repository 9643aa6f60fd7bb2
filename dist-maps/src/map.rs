//! [`IndexMap`]: one rank's part of one dimension, global index ↔ local index.

use dap_protocol::DimDict;
use multiversion::multiversion;

use crate::runs::{GlobalIter, Runs};
use crate::{GlobalIndex, LocalIndex, MapError};

pub(crate) mod sealed {
    #[expect(unnameable_types, reason = "that is what seals a trait")]
    pub trait Sealed {}
}

/// The local position that bulk conversion gives for an index that is not held here.
pub const NOT_HERE: usize = usize::MAX;

/// One rank's part of one dimension.
///
/// Local positions count the stored elements, padding included. Implemented by [`crate::BlockMap`],
/// [`crate::CyclicMap`], [`crate::BlockCyclicMap`], [`crate::UnstructuredMap`] and
/// [`crate::DimMap`], and by no other type: the trait is sealed.
///
/// ```
/// use dist_maps::{CyclicMap, GlobalIndex, IndexMap, LocalIndex};
/// let map = CyclicMap::new(16, 4, 2, 2)?; // 2, 6, 10, 14
/// assert_eq!(map.local_from_global(GlobalIndex::new(10)), Some(LocalIndex::new(2)));
/// assert_eq!(map.local_from_global(GlobalIndex::new(11)), None);
/// assert_eq!(map.owner(GlobalIndex::new(11)), Some(3));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
pub trait IndexMap: sealed::Sealed {
    /// Elements stored here, padding included.
    fn size(&self) -> usize;

    /// The protocol's dictionary.
    fn dim_dict(&self) -> &DimDict;

    /// Where a global index is stored here; `None` where it is not. Never wraps around.
    fn local_from_global(&self, index: GlobalIndex) -> Option<LocalIndex>;

    /// The global index stored at a local position; `None` beyond the end.
    fn global_from_local(&self, index: LocalIndex) -> Option<GlobalIndex>;

    /// The grid coordinate that owns a global index, as far as this rank's dictionary tells: always
    /// for cyclic dimensions, for others only where it is this rank or there is one rank. Ask an
    /// [`crate::AxisDist`] for the rest.
    fn owner(&self, index: GlobalIndex) -> Option<usize>;

    /// What is stored here, as runs that are contiguous on both sides, in local order.
    fn runs(&self) -> Runs<'_>;

    /// [`IndexMap::local_from_global`] for many; [`NOT_HERE`] where an index is not stored here.
    ///
    /// # Errors
    /// When the two slices differ in length; nothing is written then.
    fn local_from_global_bulk(&self, global: &[i64], local: &mut [usize]) -> Result<(), MapError>;

    /// [`IndexMap::global_from_local`] for many.
    ///
    /// # Errors
    /// When the two slices differ in length, or a position is beyond the end; `global` then holds
    /// nothing of use.
    fn global_from_local_bulk(&self, local: &[usize], global: &mut [i64]) -> Result<(), MapError>;

    /// Global extent of the dimension, in elements.
    fn global_size(&self) -> u64 {
        self.dim_dict().size()
    }

    /// The global indices stored here, in local order.
    fn global_iter(&self) -> GlobalIter<'_> {
        GlobalIter::new(self.runs(), self.size())
    }
}

pub(crate) fn check_lengths(given: usize, expected: usize) -> Result<(), MapError> {
    if given != expected {
        return Err(MapError::Count {
            what: "elements of the result",
            given,
            expected,
        });
    }
    Ok(())
}

/// Sets each result to `f` of its index. In wide registers where the processor has them.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
pub(crate) fn fill_locals<F: Fn(i64) -> usize>(global: &[i64], local: &mut [usize], f: F) {
    for (l, &g) in local.iter_mut().zip(global) {
        *l = f(g);
    }
}

/// Fills `global` by `f`, which is right for positions below `len` and harmless for others. In wide registers where the
/// processor has them.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
pub(crate) fn fill_globals<F: Fn(usize) -> i64>(
    len: usize,
    local: &[usize],
    global: &mut [i64],
    f: F,
) -> Result<(), MapError> {
    check_lengths(global.len(), local.len())?;
    let mut wrong = false;
    for (g, &l) in global.iter_mut().zip(local) {
        wrong |= l >= len;
        *g = f(l);
    }
    if wrong {
        let given = local.iter().copied().find(|&l| l >= len).unwrap_or(len);
        return Err(MapError::Local { given, len });
    }
    Ok(())
}
