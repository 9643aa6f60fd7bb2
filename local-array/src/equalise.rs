//! Bringing arrays together: [`equalise`], and copies that lie where another array's elements do.

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::{Data, DimMax, Dimension, IxDyn};

use crate::meet::{Guest, broadcasts, meet, replicated};
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// Copies of both arrays with their elements where element-wise operations need them; pyDive's policy. Collective.
///
/// Arrays of one shape come out with the distribution of `a`. Shapes that broadcast come out so that a rank has all that it
/// needs: extents of 1 are copied to every rank that has a part of the other's. Memory per rank: that of the result of an
/// operation, at most.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, equalise};
/// use ndarray::Ix1;
///
/// let sums = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
///     let cyclic = Distribution::over(2).shape([6]).cyclic(0).build()?;
///     let a = LocalArray::<f64, Ix1, _>::ones(&blocks, comm)?;
///     let b = LocalArray::<f64, Ix1, _>::ones(&cyclic, comm)?;
///     let (a, b) = equalise(&a, &b)?;
///     (&a + &b)?.sum()
/// })?;
/// assert_eq!(sums, [12.0; 2]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// [`ArrayError::IncompatibleArray`] for shapes that do not broadcast, and as
/// [`redistribute`](LocalArrayBase::redistribute); the same on every rank.
#[expect(clippy::type_complexity, reason = "two arrays of the larger dimension")]
pub fn equalise<S1, D1, C1, S2, D2, C2>(
    a: &LocalArrayBase<S1, D1, C1>,
    b: &LocalArrayBase<S2, D2, C2>,
) -> Result<
    (
        LocalArray<S1::Elem, <D1 as DimMax<D2>>::Output, C1>,
        LocalArray<S2::Elem, <D1 as DimMax<D2>>::Output, C2>,
    ),
    ArrayError,
>
where
    S1: Data<Elem: Element>,
    S2: Data<Elem: Element>,
    D1: Dimension + DimMax<D2>,
    D2: Dimension,
    C1: Communicator + Clone,
    C2: Communicator + Clone,
{
    let guests = [&a.part, &b.part].map(|part| Guest { part, moves: true });
    let result = meet(&guests, &a.comm)?;
    let target = result.distribution();
    let both = (
        a.carried_to(target)?.into_dimensionality()?,
        b.carried_to(target)?.into_dimensionality()?,
    );
    Ok(both)
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// A copy that every rank has as much of as operations with `other`, whose shape it broadcasts to, take: along an axis of
    /// extent 1, or one that is missing, every rank has the one index. Collective.
    ///
    /// Shape: `other`'s number of dimensions, extents of 1 before this array's. Memory per rank: at most that of `other`.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2, array};
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
    ///     let cyclic = Distribution::over(2).shape([3]).cyclic(0).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&rows, comm, |global| global[0])?;
    ///     let b = LocalArray::<i64, Ix1, _>::from_fn(&cyclic, comm, |global| 10 * global[0])?;
    ///     let b = b.replicate_like(&a)?;
    ///     assert_eq!((b.global_shape(), b.owned_shape()), ([1, 3].as_slice(), vec![1, 3]));
    ///     Ok::<_, ArrayError>((&a + &b)?.into_local())
    /// })?;
    /// assert_eq!(parts[1], array![[2, 12, 22], [3, 13, 23]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Shape`] when the shape does not broadcast to that of `other`, and as
    /// [`redistribute`](Self::redistribute); the same on every rank.
    pub fn replicate_like<S2: ndarray::RawData, D2: Dimension, C2>(
        &self,
        other: &LocalArrayBase<S2, D2, C2>,
    ) -> Result<LocalArray<S::Elem, D2, C>, ArrayError> {
        self.carried_to(other.part.distribution())?
            .into_dimensionality()
    }

    /// A copy of `other`'s shape and distribution, this array's elements repeated: `NumPy`'s `broadcast_to`. Collective;
    /// padding of the result is zero.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2};
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::zeros(&rows, comm)?;
    ///     let last = Distribution::over(2).shape([3]).block(0).build()?;
    ///     LocalArray::<i64, Ix1, _>::ones(&last, comm)?.broadcast_like(&a)?.sum()
    /// })?;
    /// assert_eq!(sums, [12; 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`replicate_like`](Self::replicate_like).
    pub fn broadcast_like<S2: ndarray::RawData, D2: Dimension, C2>(
        &self,
        other: &LocalArrayBase<S2, D2, C2>,
    ) -> Result<LocalArray<S::Elem, D2, C>, ArrayError> {
        let replica = self.replicate_like(other)?;
        let zeros = dist_comm::agree::agree(&self.comm, other.part.zeros::<S::Elem, D2>())?;
        let mut repeated = LocalArray {
            data: zeros,
            part: Arc::clone(&other.part),
            comm: self.comm.clone(),
        };
        repeated.assign(&replica)?;
        Ok(repeated)
    }

    /// A copy, with as many dimensions as `target`, that lies where `target` needs it. Collective.
    pub(crate) fn carried_to(
        &self,
        target: &Distribution,
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        let shape = self.global_shape();
        let to = target.global_shape();
        if !broadcasts(shape, to) {
            return Err(ArrayError::Shape {
                what: "the array to broadcast",
                given: shape.to_vec(),
                allowed: format!("what broadcasts to {to:?}"),
            });
        }
        if target.ranks() != self.comm.size() {
            return Err(ArrayError::InvalidBaseComm {
                given: self.comm.size(),
                allowed: target.ranks(),
            });
        }
        let wanted = if shape == to {
            target.clone()
        } else {
            replicated(shape, target)?
        };
        let lead = vec![0; to.len() - shape.len()];
        self.view_of().with_axes(&lead)?.redistribute(&wanted)
    }
}
