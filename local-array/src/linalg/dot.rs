//! `dot`: of two vectors, of a matrix and a vector, of two matrices, of arrays of any number of dimensions.

use std::sync::Arc;

use dist_comm::Communicator;
use ndarray::{Axis, Data, Ix1, Ix2, IxDyn};

use super::summa::matmul;
use super::tensordot::with_axis;
use super::vector::sum_of_products;
use super::{MatMul, tensordot};
use crate::part::Part;
use crate::{ArrayError, LocalArray, LocalArrayBase, LocalArrayView};

/// `NumPy`'s `dot` with an array of type `Rhs`. Collective; on [`part`](LocalArrayBase::part) local.
///
/// | `self` | `other` | result |
/// |---|---|---|
/// | `n` | `n` | a number, the same bits on every rank, as [`vdot`](super::vdot)'s but not conjugated |
/// | `m × k` | `k × n` | `m × n` |
/// | `m × k` | `k` | `m` |
/// | `k` | `k × n` | `n` |
/// | any, `IxDyn` | any, `IxDyn` | the last dimension of `self` with the last but one (or only one) of `other` |
///
/// The two may be distributed in any way. The result has the rows as `self` has them and the columns as `other` has them
/// where a grid of these has as many ranks as there are; else it lies in blocks over a grid of all ranks. The kernel is
/// `matrixmultiply`'s for floats (see [`MatMul`]); the order of additions is fixed by the shapes and distributions.
pub trait Dot<Rhs> {
    /// A number, or an array.
    type Output;
    /// The product.
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Shape`] when the extents that are summed over differ; as
    /// [`redistribute`](LocalArrayBase::redistribute).
    fn dot(&self, other: &Rhs) -> Result<Self::Output, ArrayError>;
}

/// The product of two arrays: [`Dot::dot`]. Collective; on [`part`](LocalArrayBase::part) local.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, dot};
/// use ndarray::Ix2;
///
/// let traces = ThreadComm::run(4, |comm| {
///     let blocks = Distribution::over(4).shape([3, 5]).block(0).block(1).build()?;
///     let cyclic = Distribution::over(4).shape([5, 3]).cyclic(0).cyclic(1).build()?;
///     let a = LocalArray::<f64, Ix2, _>::from_fn(&blocks, comm, |g| (g[0] + g[1]) as f64)?;
///     let b = LocalArray::<f64, Ix2, _>::from_fn(&cyclic, comm, |g| (g[0] * g[1]) as f64)?;
///     let product = dot(&a, &b)?;
///     Ok::<_, ArrayError>((product.global_shape().to_vec(), product.sum()?))
/// })?;
/// assert_eq!(traces, vec![(vec![3, 3], 360.0); 4]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// As [`Dot::dot`].
pub fn dot<A: Dot<B>, B>(a: &A, b: &B) -> Result<A::Output, ArrayError> {
    a.dot(b)
}

impl<T, S1, S2, C> Dot<LocalArrayBase<S2, Ix1, C>> for LocalArrayBase<S1, Ix1, C>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    type Output = T;

    fn dot(&self, other: &LocalArrayBase<S2, Ix1, C>) -> Result<T, ArrayError> {
        check(self.global_shape()[0], other.global_shape(), 0)?;
        sum_of_products(self, other, false)
    }
}

impl<T, S1, S2, C> Dot<LocalArrayBase<S2, Ix2, C>> for LocalArrayBase<S1, Ix2, C>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    type Output = LocalArray<T, Ix2, C>;

    fn dot(&self, other: &LocalArrayBase<S2, Ix2, C>) -> Result<Self::Output, ArrayError> {
        matmul(self, other)
    }
}

impl<T, S1, S2, C> Dot<LocalArrayBase<S2, Ix1, C>> for LocalArrayBase<S1, Ix2, C>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    type Output = LocalArray<T, Ix1, C>;

    fn dot(&self, other: &LocalArrayBase<S2, Ix1, C>) -> Result<Self::Output, ArrayError> {
        check(self.global_shape()[1], other.global_shape(), 0)?;
        without(matmul(self, &as_matrix(other, 1)?)?, 1)
    }
}

impl<T, S1, S2, C> Dot<LocalArrayBase<S2, Ix2, C>> for LocalArrayBase<S1, Ix1, C>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    type Output = LocalArray<T, Ix1, C>;

    fn dot(&self, other: &LocalArrayBase<S2, Ix2, C>) -> Result<Self::Output, ArrayError> {
        check(self.global_shape()[0], other.global_shape(), 0)?;
        without(matmul(&as_matrix(self, 0)?, other)?, 0)
    }
}

impl<T, S1, S2, C> Dot<LocalArrayBase<S2, IxDyn, C>> for LocalArrayBase<S1, IxDyn, C>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    type Output = LocalArray<T, IxDyn, C>;

    fn dot(&self, other: &LocalArrayBase<S2, IxDyn, C>) -> Result<Self::Output, ArrayError> {
        match (self.ndim(), other.ndim()) {
            (0, _) | (_, 0) => tensordot(self, other, 0),
            (_, 1) => tensordot(self, other, (-1, 0)),
            _ => tensordot(self, other, (-1, -2)),
        }
    }
}

fn check(extent: u64, other: &[u64], axis: usize) -> Result<(), ArrayError> {
    if other[axis] == extent {
        return Ok(());
    }
    Err(ArrayError::Shape {
        what: "the second factor",
        given: other.to_vec(),
        allowed: format!("extent {extent} in dimension {axis}, as the first factor's last"),
    })
}

/// A vector as a matrix with one element along the new dimension `axis`.
fn as_matrix<T, S, C>(
    vector: &LocalArrayBase<S, Ix1, C>,
    axis: usize,
) -> Result<LocalArrayView<'_, T, Ix2, C>, ArrayError>
where
    S: Data<Elem = T>,
    C: Communicator + Clone,
{
    with_axis(
        vector.with_data(vector.data.view(), vector.comm.clone()),
        axis,
    )
}

/// A matrix with one element along `axis` as a vector.
fn without<T, C: Communicator + Clone>(
    matrix: LocalArray<T, Ix2, C>,
    axis: usize,
) -> Result<LocalArray<T, Ix1, C>, ArrayError>
where
    T: MatMul,
{
    let distribution = matrix.distribution().reduce(Some(&[axis]), false)?;
    let part = Part::new(Arc::new(distribution), matrix.comm())?;
    let comm = matrix.comm;
    let data = if part.is_active() {
        matrix.data.index_axis_move(Axis(axis), 0)
    } else {
        part.zeros()?
    };
    LocalArrayBase::from_part(data, Arc::new(part), comm)
}
