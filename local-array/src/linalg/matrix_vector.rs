//! The product of a distributed matrix and a vector, where the matrix lies.
//!
//! ```text
//! matrix over a grid of 2 × 2      vector, to the columns      partial sums, over each row of the grid
//!   rank 0 | rank 1                  0 1 | 2 3                   rank 0 <- rank 1
//!   rank 2 | rank 3                  0 1 | 2 3                   rank 2 <- rank 3
//! ```

use bytemuck::Zeroable;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, PlanError};
use ndarray::{ArrayViewMut2, Axis, CowArray, Data, Ix1, Ix2, IxDyn};

use super::MatMul;
use crate::cow::without_padding;
use crate::meet::replicated;
use crate::output::room;
use crate::redistribute::moved_to;
use crate::reduction::Group;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// `matrix · vector`, of which the extents fit. The same error on every rank.
///
/// The matrix stays; of the vector each rank gets the elements that its columns meet. The result has the rows as the matrix
/// has them, on the lowest rank of each row of the grid, to which the ranks' sums are added up as a binomial tree by rank.
pub(super) fn matrix_vector<T, S1, S2, C>(
    matrix: &LocalArrayBase<S1, Ix2, C>,
    vector: &LocalArrayBase<S2, Ix1, C>,
) -> Result<LocalArray<T, Ix1, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let (distribution, comm) = (matrix.distribution(), matrix.comm());
    check_complete(&distribution.axes()[1])?;
    let wanted = replicated(vector.global_shape(), distribution)?;
    let row: LocalArray<T, IxDyn, C> = moved_to(&vector.view_of().with_axes(&[0])?, &wanted)?;
    let target = without_padding(&distribution.reduce(Some(&[1]), false)?)?;
    let group = Group::of(distribution, &[false, true], comm.rank());
    let rows = group.as_ref().map_or(0, |_| matrix.owned().nrows());
    let made = LocalArray::<T, Ix1, C>::zeros(&target, comm.clone())
        .and_then(|result| Ok((result, room(rows, comm.rank())?)));
    let (mut result, mut sums) = agree(comm, made)?;
    let Some(group) = group else {
        return Ok(result);
    };
    let (mut block, mut row) = (
        CowArray::from(matrix.owned()),
        row.into_dimensionality::<Ix2>()?.into_local(),
    );
    if let Some([_, columns]) = matrix.part.chosen(&[false, true]) {
        // A column on several coordinates counts once.
        block = block.select(Axis(1), columns).into();
        row = row.select(Axis(1), columns);
    }
    sums.resize(rows, T::Acc::zeroed());
    if let Ok(mut sums) = ArrayViewMut2::from_shape((rows, 1), &mut sums)
        && !block.is_empty()
    {
        T::multiply_add(&block.view(), &row.t(), &mut sums);
    }
    let join = |total: &mut T::Acc, &sum: &T::Acc| *total = T::add(*total, sum);
    if group.join(comm, rows, &mut sums, &mut Vec::new(), join)? {
        for (slot, total) in result.owned_mut().iter_mut().zip(sums) {
            *slot = T::sum_of(total);
        }
    }
    Ok(result)
}

/// Refuses columns of which explicit lists leave one out: its products would be missing.
fn check_complete(columns: &AxisDist) -> Result<(), ArrayError> {
    let AxisDist::Unstructured { size, indices, .. } = columns else {
        return Ok(());
    };
    let mut listed: Vec<i64> = indices
        .iter()
        .flat_map(|list| list.iter().copied())
        .collect();
    listed.sort_unstable();
    listed.dedup();
    let missing = (0..size.cast_signed()).find(|&index| {
        let at = usize::try_from(index).unwrap_or(usize::MAX);
        listed.get(at) != Some(&index)
    });
    match missing {
        None => Ok(()),
        Some(index) => Err(PlanError::Missing { axis: 1, index }.into()),
    }
}
