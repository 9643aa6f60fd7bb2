//! This rank's part as an array of its own: what gives every operation its local meaning.

use std::sync::Arc;

use dist_comm::{Communicator, SingleComm};
use dist_maps::{AxisDist, Distribution};
use ndarray::{Data, Dimension};

use crate::part::Part;
use crate::{ArrayError, LocalArrayBase, LocalArrayView};

impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// What this rank owns, as an array over one rank; nothing is copied. Local.
    ///
    /// Every collective operation on it concerns this rank alone: `a.sum()` is the sum of the whole array, `a.part()?.sum()`
    /// that of this rank's part. Shape: [`owned_shape`](Self::owned_shape), so indices count from 0 within the part.
    ///
    /// On a rank without a place in the process grid the part of a 0-d array still has its one element, which counts for
    /// nothing.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([7]).block(0).build()?; // 3, 3, 1 elements
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |global| global[0])?;
    ///     Ok::<_, ArrayError>((a.part()?.sum()?, a.sum()?))
    /// })?;
    /// assert_eq!(sums, [(3, 21), (12, 21), (6, 21)]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Map`] for an extent beyond `isize::MAX`, which elements in memory do not have.
    pub fn part(&self) -> Result<LocalArrayView<'_, S::Elem, D, SingleComm>, ArrayError> {
        let data = self.owned();
        let axes = data.shape().iter().map(|&n| AxisDist::whole(n as u64));
        let whole = Distribution::from_axes(axes.collect::<Result<_, _>>()?, 1, vec![0])?;
        let comm = SingleComm::new();
        let part = Arc::new(Part::new(Arc::new(whole), &comm)?);
        Ok(LocalArrayView { data, part, comm })
    }
}
