//! The product of a distributed matrix and a vector, where the matrix lies.
//!
//! ```text
//! matrix over a grid of 2 × 2      vector, to the columns      partial sums, over each row of the grid
//!   rank 0 | rank 1                  0 1 | 2 3                   rank 0 <- rank 1
//!   rank 2 | rank 3                  0 1 | 2 3                   rank 2 <- rank 3
//! ```

use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution, PlanError};
use ndarray::{Array2, Axis, CowArray, Data, Ix1, Ix2, IxDyn};

use super::MatMul;
use crate::cow::without_padding;
use crate::meet::replicated;
use crate::redistribute::moved_to;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// The tag of the partial sums.
const TAG: u32 = 0x4d56;

/// `matrix · vector`, of which the extents fit. The same error on every rank.
///
/// The matrix stays; of the vector each rank gets the elements that its columns meet. The result has the rows as the matrix
/// has them, on the lowest rank of each row of the grid, which adds up the ranks' sums in order of columns.
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
    let mut result = agree(comm, LocalArray::<T, Ix1, C>::zeros(&target, comm.clone()))?;
    let Some(line) = Line::of(distribution, comm.rank()) else {
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
    let mut sums: Array2<T::Acc> =
        Array2::from_elem((block.nrows(), 1), bytemuck::Zeroable::zeroed());
    if !block.is_empty() {
        T::multiply_add(&block.view(), &row.t(), &mut sums.view_mut());
    }
    let own: Vec<T::Acc> = sums.into_iter().collect();
    if let Some(totals) = line.total::<T>(&own, comm)? {
        for (slot, total) in result.owned_mut().iter_mut().zip(totals) {
            *slot = T::sum_of(total);
        }
    }
    Ok(result)
}

/// The ranks that share this one's rows, in order of columns.
struct Line {
    members: Vec<usize>,
    me: usize,
}

impl Line {
    /// `None` where the rank has no place in the grid.
    fn of(distribution: &Distribution, rank: usize) -> Option<Self> {
        let coords = distribution.coords(rank)?;
        let columns = 0..distribution.grid().shape()[1];
        let members = columns.filter_map(|column| distribution.rank_at(&[coords[0], column]));
        Some(Self {
            members: members.collect(),
            me: rank,
        })
    }

    /// The sums of all, on the lowest rank. Every rank of the line calls it, with as many of its own.
    fn total<T: MatMul>(
        &self,
        own: &[T::Acc],
        comm: &dyn Communicator,
    ) -> Result<Option<Vec<T::Acc>>, ArrayError> {
        let root = self.members.iter().copied().min().unwrap_or(self.me);
        if self.me != root {
            if !own.is_empty() {
                comm.send(root, TAG, bytemuck::cast_slice(own))?;
            }
            return Ok(None);
        }
        let mut totals: Vec<T::Acc> = Vec::new();
        let mut theirs: Vec<T::Acc> = own.to_vec();
        for &member in &self.members {
            let part = if member == self.me || own.is_empty() {
                own
            } else {
                comm.recv(member, TAG, bytemuck::cast_slice_mut(&mut theirs))?;
                &theirs
            };
            if totals.is_empty() {
                totals.extend_from_slice(part);
                continue;
            }
            for (total, &sum) in totals.iter_mut().zip(part) {
                *total = T::add(*total, sum);
            }
        }
        Ok(Some(totals))
    }
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
