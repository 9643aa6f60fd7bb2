//! [`compact_indices`]: a rank's part as slices where possible, and as lists where not.

use dap_protocol::{DimData, DimDict, Dist};

use crate::canonical::check_listed;
use crate::{GlobalIndex, IndexMap, MapError, map_from_dim_dict};

/// The global indices of one dimension of a rank's part, padding included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompactIndex {
    /// Every `step`-th index from `start` on and below `stop`.
    Slice {
        /// First index.
        start: u64,
        /// One past the last index, at most the size.
        stop: u64,
        /// Distance, at least 1.
        step: u64,
    },
    /// Explicit indices, in local order.
    List(Vec<i64>),
}

impl CompactIndex {
    fn range(start: u64, stop: u64) -> Self {
        Self::Slice {
            start,
            stop,
            step: 1,
        }
    }
}

/// What a rank's part takes of each dimension, to index an array that holds everything: a slice
/// where its indices ascend in equal steps, the list of them otherwise.
///
/// # Errors
/// When more than [`MAX_LISTED`](crate::MAX_LISTED) indices would have to be listed.
///
/// ```
/// use dap_protocol::{DimData, DimDict};
/// use dist_maps::{CompactIndex, compact_indices};
/// let part = DimData::new(vec![DimDict::cyclic(10, 4, 1, 1)?, DimDict::cyclic(10, 3, 1, 2)?]);
/// let [rows, columns] = <[_; 2]>::try_from(compact_indices(&part)?).unwrap();
/// assert_eq!(rows, CompactIndex::Slice { start: 1, stop: 10, step: 4 });
/// assert_eq!(columns, CompactIndex::List(vec![2, 3, 8, 9]));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
pub fn compact_indices(dim_data: &DimData) -> Result<Vec<CompactIndex>, MapError> {
    dim_data.dims().iter().map(compact).collect()
}

fn compact(dim: &DimDict) -> Result<CompactIndex, MapError> {
    let size = dim.size();
    match dim.dist() {
        Dist::Block { start, stop, .. } => Ok(CompactIndex::range(*start, *stop)),
        Dist::Cyclic { .. } if dim.stored_len() == 0 => Ok(CompactIndex::range(size, size)),
        Dist::Cyclic { .. } if dim.grid_size() == 1 => Ok(CompactIndex::range(0, size)),
        Dist::Cyclic { start, block_size } if *block_size == 1 => Ok(CompactIndex::Slice {
            start: *start,
            stop: size,
            step: dim.grid_size() as u64,
        }),
        Dist::Cyclic { start, block_size } if dim.stored_len() <= *block_size => {
            Ok(CompactIndex::range(*start, start + dim.stored_len()))
        }
        Dist::Cyclic { .. } => {
            check_listed(dim.stored_len())?;
            let map = map_from_dim_dict(dim)?;
            let list = map.global_iter().map(GlobalIndex::get);
            Ok(CompactIndex::List(list.collect()))
        }
        Dist::Unstructured { indices, .. } => {
            Ok(even_steps(size, indices).unwrap_or_else(|| CompactIndex::List(indices.to_vec())))
        }
    }
}

/// The slice that the indices are, where they ascend in equal steps inside the dimension.
fn even_steps(size: u64, indices: &[i64]) -> Option<CompactIndex> {
    let Some(&first) = indices.first() else {
        return Some(CompactIndex::range(size, size));
    };
    let start = u64::try_from(first).ok()?;
    let last = u64::try_from(indices[indices.len() - 1]).ok()?;
    let step = match indices.get(1) {
        Some(second) => u64::try_from(second.checked_sub(first)?).ok()?,
        None => 1,
    };
    let even = |pair: &[i64]| pair[1].checked_sub(pair[0]).map(i64::cast_unsigned) == Some(step);
    (step > 0 && last < size && indices.windows(2).all(even)).then_some(CompactIndex::Slice {
        start,
        stop: last + 1,
        step,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(dim: Result<DimDict, dap_protocol::ProtocolError>) -> CompactIndex {
        compact(&dim.unwrap()).unwrap()
    }

    #[test]
    fn slices_wherever_the_indices_are_one() {
        assert_eq!(of(DimDict::whole(7)), CompactIndex::range(0, 7));
        let one_round = DimDict::cyclic(10, 3, 2, 4);
        assert_eq!(of(one_round), CompactIndex::range(8, 10));
        assert_eq!(of(DimDict::cyclic(3, 4, 3, 1)), CompactIndex::range(3, 3));
        let list = |indices: &[i64]| of(DimDict::unstructured(9, 2, 0, indices, true));
        let evens = CompactIndex::Slice {
            start: 0,
            stop: 7,
            step: 2,
        };
        assert_eq!(list(&[0, 2, 4, 6]), evens);
        assert_eq!(list(&[]), CompactIndex::range(9, 9));
        assert_eq!(list(&[6]), CompactIndex::range(6, 7));
        assert_eq!(list(&[2, 1]), CompactIndex::List(vec![2, 1]));
        assert_eq!(list(&[-2, -1]), CompactIndex::List(vec![-2, -1]));
        let huge = DimDict::cyclic(1 << 50, 3, 0, 2).unwrap();
        assert!(matches!(
            compact(&huge),
            Err(MapError::TooManyToList { .. })
        ));
    }
}
