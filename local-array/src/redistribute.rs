//! Redistribution of arrays: [`LocalArrayBase::redistribute`] and what `DistArray` calls `asdist`.

mod messages;
mod moved;
mod redistributor;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::{Data, Dimension};

use crate::agreement::same_on_all_ranks;
use crate::{ArrayError, LocalArray, LocalArrayBase};

pub(crate) use messages::Messages;
pub(crate) use moved::moved_to;
pub use redistributor::Redistributor;

use moved::carried;

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// A copy of the array in another distribution of the same shape. Collective; every rank gives the same distribution.
    ///
    /// What is owned moves; padding of the result is zero until [`exchange_halo`](LocalArrayBase::exchange_halo), or copied
    /// where the two distributions are the same. For repeated use see [`Redistributor`].
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([5]).block(0).build()?;
    ///     let cyclic = Distribution::over(2).shape([5]).cyclic(0).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |global| global[0])?;
    ///     Ok::<_, ArrayError>(a.redistribute(&cyclic)?.into_local().to_vec())
    /// })?;
    /// assert_eq!(parts, [vec![0, 2, 4], vec![1, 3]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Plan`] when the shapes differ or this array lacks an index that the new
    /// distribution has, [`ArrayError::IncompatibleArray`] when the ranks have or ask for different distributions,
    /// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
    pub fn redistribute(
        &self,
        distribution: &Distribution,
    ) -> Result<LocalArray<S::Elem, D, C>, ArrayError> {
        self.check_on_all_ranks(Some(distribution))?;
        carried(self, distribution, Redistributor::new)
    }

    /// A copy of the array in another shape of as many elements, which keep their global C order. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2, array};
    ///
    /// let whole = ThreadComm::run(2, |comm| {
    ///     let line = LocalArray::<i64, Ix1, _>::arange(0, 6, 1, "b", comm)?;
    ///     let columns = Distribution::over(2).shape([2, 3]).block(1).build()?;
    ///     let table: LocalArray<i64, Ix2, _> = line.redistribute_reshaped(&columns)?;
    ///     table.gather_to(0)
    /// })?;
    /// assert_eq!(whole[0], Some(array![[0, 1, 2], [3, 4, 5]]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`redistribute`](Self::redistribute); [`ArrayError::InvalidDimension`] when `D2` does not fit the new shape.
    pub fn redistribute_reshaped<D2: Dimension>(
        &self,
        distribution: &Distribution,
    ) -> Result<LocalArray<S::Elem, D2, C>, ArrayError> {
        self.check_on_all_ranks(Some(distribution))?;
        carried(self, distribution, Redistributor::reshaped)
    }

    /// A copy distributed as `other` is (`DistArray`'s `asdist_like`). Collective. Example: see
    /// [`are_compatible`](crate::are_compatible).
    ///
    /// # Errors
    /// As [`redistribute`](Self::redistribute).
    pub fn asdist_like<S2: ndarray::RawData, C2: Communicator>(
        &self,
        other: &LocalArrayBase<S2, D, C2>,
    ) -> Result<LocalArray<S::Elem, D, C>, ArrayError> {
        self.redistribute(other.distribution())
    }

    /// A copy of shape `shape` with one letter per dimension for its distribution: `b` block, `c` cyclic, `n` not
    /// distributed (`DistArray`'s `asdist`; its `redist` is [`redist`](Self::redist)). The shape may be another one of as many
    /// elements. `grid` is the process grid, chosen where it is `None`. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i64, Ix1, _>::arange(0, 6, 1, "c", comm)?;
    ///     let b: LocalArray<i64, Ix2, _> = a.asdist(&[2, 3], "bn", None)?; // a row on each rank
    ///     assert_eq!((b.dist(), b.local_shape()), ("bn".to_owned(), &[1, 3][..]));
    ///     let c: LocalArray<i64, Ix1, _> = b.redist(&[6], "c", None)?;
    ///     assert_eq!(c.local(), a.local());
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`redistribute`](Self::redistribute); [`ArrayError::InvalidMapCode`] for another letter.
    pub fn asdist<D2: Dimension>(
        &self,
        shape: &[u64],
        dist: &str,
        grid: Option<&[usize]>,
    ) -> Result<LocalArray<S::Elem, D2, C>, ArrayError> {
        let asked = Distribution::from_shape(shape, dist, grid, self.comm.size());
        self.check_on_all_ranks(asked.as_ref().ok())?;
        moved_to(self, &asked?)
    }

    /// The same as [`asdist`](Self::asdist), whose example has it, under `DistArray`'s other name. Collective.
    ///
    /// # Errors
    /// As [`asdist`](Self::asdist).
    pub fn redist<D2: Dimension>(
        &self,
        shape: &[u64],
        dist: &str,
        grid: Option<&[usize]>,
    ) -> Result<LocalArray<S::Elem, D2, C>, ArrayError> {
        self.asdist(shape, dist, grid)
    }

    /// Checks that all ranks have the array in the same distribution, and ask for the same, or for none because it is refused.
    fn check_on_all_ranks(&self, asked: Option<&Distribution>) -> Result<(), ArrayError> {
        let given = [
            ("the distribution", Some(self.distribution())),
            ("the distribution asked for", asked),
        ];
        same_on_all_ranks(&self.comm, &given)
    }
}
