//! Gathering: the whole array on one rank.

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use ndarray::{Array, Data, Dimension};

use crate::{ArrayError, LocalArrayBase};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The whole array on rank `root`: `Some`, of the global shape and in C order, there, and `None` elsewhere. Collective.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix2, array};
    ///
    /// let whole = ThreadComm::run(4, |comm| {
    ///     let blocks = Distribution::over(4).shape([2, 3]).block(0).block(1).build()?;
    ///     LocalArray::<i64, Ix2, _>::from_fn(&blocks, comm, |g| g[0] * 3 + g[1])?.gather_to(1)
    /// })?;
    /// assert_eq!(whole[1], Some(array![[0, 1, 2], [3, 4, 5]]));
    /// assert_eq!(whole[0], None);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidRank`] when there is no such rank, [`ArrayError::Roots`] when the ranks
    /// name different ones; as [`redistribute`](Self::redistribute).
    pub fn gather_to(&self, root: usize) -> Result<Option<Array<S::Elem, D>>, ArrayError> {
        let roots = self.comm.all_gather_value(root as u64)?;
        let ranks = self.comm.size();
        if roots.iter().any(|&other| other != roots[0]) {
            return Err(ArrayError::Roots { given: roots });
        }
        if root >= ranks {
            return Err(ArrayError::InvalidRank {
                what: "root",
                given: root,
                allowed: ranks,
            });
        }
        let axes = self
            .global_shape()
            .iter()
            .map(|&n| AxisDist::whole(n))
            .collect::<Result<Vec<_>, _>>()?;
        let whole = Distribution::from_axes(axes, ranks, vec![root])?;
        let gathered = self.redistribute(&whole)?;
        Ok((self.comm.rank() == root).then_some(gathered.data))
    }
}
