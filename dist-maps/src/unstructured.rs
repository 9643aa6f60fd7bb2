//! [`UnstructuredMap`]: explicit global indices, and the table that finds them again.

use std::sync::Arc;

use dap_protocol::{DimDict, Dist};

use crate::axis_dist::check_size;
use crate::map::{NOT_HERE, check_lengths, fill_globals, fill_locals, sealed::Sealed};
use crate::runs::{Run, Runs};
use crate::{GlobalIndex, IndexMap, LocalIndex, MapError};

/// A rank's explicit list of global indices.
#[derive(Clone, Debug)]
pub struct UnstructuredMap {
    dim: DimDict,
    indices: Arc<[i64]>,
    inverse: Inverse,
    /// The smallest index, and distances from it: half the size, so that more of a long list stays
    /// in the cache. Empty where the list is short or the distances do not fit.
    short: (i64, Vec<u32>),
}

/// Lists from this length on, in elements, get a copy in 32 bits.
const LONG: usize = 1 << 16;

fn short(indices: &[i64]) -> (i64, Vec<u32>) {
    let base = indices.iter().copied().min().unwrap_or(0);
    // Exact, as no index is below the first.
    let distance = |&g: &i64| u32::try_from(g.wrapping_sub(base).cast_unsigned()).ok();
    if indices.iter().any(|g| distance(g).is_none()) {
        return (base, Vec::new());
    }
    let mut distances = Vec::with_capacity(indices.len());
    large_pages::prefer_large_pages(distances.spare_capacity_mut());
    distances.extend(indices.iter().filter_map(distance));
    (base, distances)
}

/// Global index → local position.
#[derive(Clone, Debug)]
enum Inverse {
    /// One entry per index from `base` on; `u32::MAX` where there is none.
    Dense { base: i64, table: Vec<u32> },
    /// Ascending by global index.
    Runs(Vec<Run>),
}

/// How many entries a dense table over `low..=high` has, where it is worth its memory: when the
/// range is at most four times the count.
pub(crate) fn dense_len(low: i64, high: i64, count: usize) -> Option<usize> {
    let range = usize::try_from(high.checked_sub(low)?.checked_add(1)?).ok()?;
    (range <= count.saturating_mul(4)).then_some(range)
}

impl Inverse {
    fn new(indices: &[i64]) -> Self {
        let low = indices.iter().copied().min().unwrap_or(0);
        let high = indices.iter().copied().max().unwrap_or(-1);
        let small = u32::try_from(indices.len()).is_ok_and(|len| len < u32::MAX);
        if small && let Some(len) = dense_len(low, high, indices.len()) {
            let mut table = Vec::with_capacity(len);
            large_pages::prefer_large_pages(table.spare_capacity_mut());
            table.resize(len, u32::MAX);
            for (&g, l) in indices.iter().zip(0_u32..) {
                // inside the table, whose range is that of the indices
                if let Ok(at) = usize::try_from(g - low) {
                    table[at] = l;
                }
            }
            return Self::Dense { base: low, table };
        }
        let mut runs: Vec<Run> = Runs::list(indices).collect();
        runs.sort_unstable_by_key(|run| run.global);
        Self::Runs(runs)
    }

    #[inline]
    fn find(&self, g: i64) -> usize {
        match self {
            Self::Dense { base, table } => in_table(*base, table, g),
            Self::Runs(runs) => in_runs(runs, g),
        }
    }
}

#[inline]
fn in_table(base: i64, table: &[u32], g: i64) -> usize {
    let entry = usize::try_from(g.wrapping_sub(base).cast_unsigned())
        .ok()
        .and_then(|at| table.get(at))
        .copied()
        .unwrap_or(u32::MAX);
    if entry == u32::MAX {
        NOT_HERE
    } else {
        entry as usize
    }
}

fn in_runs(runs: &[Run], g: i64) -> usize {
    let Some(at) = runs.partition_point(|run| run.global <= g).checked_sub(1) else {
        return NOT_HERE;
    };
    let run = runs[at];
    match usize::try_from(g.wrapping_sub(run.global)) {
        Ok(offset) if offset < run.len => run.local + offset,
        _ => NOT_HERE,
    }
}

impl PartialEq for UnstructuredMap {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim
    }
}

impl UnstructuredMap {
    /// The elements `indices`, in local order, each inside the dimension and none twice.
    ///
    /// # Errors
    /// When an index is outside `0..global_size`, or the protocol refuses the list.
    pub fn new(
        global_size: u64,
        grid_size: usize,
        grid_rank: usize,
        indices: impl Into<Arc<[i64]>>,
    ) -> Result<Self, MapError> {
        let indices = indices.into();
        let outside = |&&g: &&i64| u64::try_from(g).map_or(true, |g| g >= global_size);
        if let Some(&given) = indices.iter().find(outside) {
            return Err(MapError::Index {
                axis: None,
                given,
                size: global_size,
            });
        }
        Self::free(global_size, grid_size, grid_rank, indices)
    }

    /// As [`UnstructuredMap::new`] with indices of any value, as the protocol allows.
    ///
    /// # Errors
    /// When the protocol refuses the list.
    pub fn free(
        global_size: u64,
        grid_size: usize,
        grid_rank: usize,
        indices: impl Into<Arc<[i64]>>,
    ) -> Result<Self, MapError> {
        Self::of(DimDict::unstructured(
            global_size,
            grid_size,
            grid_rank,
            indices,
            false,
        )?)
    }

    /// The map of an unstructured dictionary.
    pub(crate) fn of(dim: DimDict) -> Result<Self, MapError> {
        let Dist::Unstructured { indices, .. } = dim.dist() else {
            return Err(MapError::NotUnstructured {
                kind: dim.dist_type(),
            });
        };
        check_size(dim.size())?;
        let indices = Arc::clone(indices);
        Ok(Self {
            inverse: Inverse::new(&indices),
            short: if indices.len() < LONG {
                (0, Vec::new())
            } else {
                short(&indices)
            },
            indices,
            dim,
        })
    }

    /// The global indices, in local order.
    #[must_use]
    pub fn indices(&self) -> &[i64] {
        &self.indices
    }
}

impl Sealed for UnstructuredMap {}

impl IndexMap for UnstructuredMap {
    fn size(&self) -> usize {
        self.indices.len()
    }

    fn dim_dict(&self) -> &DimDict {
        &self.dim
    }

    fn local_from_global(&self, index: GlobalIndex) -> Option<LocalIndex> {
        let at = self.inverse.find(index.get());
        (at != NOT_HERE).then_some(LocalIndex::new(at))
    }

    fn global_from_local(&self, index: LocalIndex) -> Option<GlobalIndex> {
        self.indices.get(index.get()).copied().map(GlobalIndex::new)
    }

    fn owner(&self, index: GlobalIndex) -> Option<usize> {
        self.local_from_global(index).map(|_| self.dim.grid_rank())
    }

    fn runs(&self) -> Runs<'_> {
        Runs::list(&self.indices)
    }

    fn local_from_global_bulk(&self, global: &[i64], local: &mut [usize]) -> Result<(), MapError> {
        check_lengths(local.len(), global.len())?;
        match &self.inverse {
            Inverse::Dense { base, table } => {
                fill_locals(global, local, |g| in_table(*base, table, g));
            }
            Inverse::Runs(runs) => {
                fill_locals(global, local, |g| in_runs(runs, g));
            }
        }
        Ok(())
    }

    fn global_from_local_bulk(&self, local: &[usize], global: &mut [i64]) -> Result<(), MapError> {
        let (base, short) = &self.short;
        if !short.is_empty() {
            return fill_globals(short.len(), local, global, |l| {
                base + i64::from(short.get(l).copied().unwrap_or(0))
            });
        }
        let indices = &*self.indices;
        fill_globals(indices.len(), local, global, |l| {
            indices.get(l).copied().unwrap_or(0)
        })
    }
}
