//! `dot`: of two vectors, of a matrix and a vector, of two matrices, of arrays of any number of dimensions.

use dist_comm::Communicator;
use ndarray::{Data, Ix1, Ix2, IxDyn};

use super::matrix_vector::matrix_vector;
use super::summa::matmul;
use super::vector::{alike, sum_of_products};
use super::{MatMul, tensordot};
use crate::{ArrayError, LocalArray, LocalArrayBase};

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
/// The two may be distributed in any way. A product of two matrices has the rows as `self` has them and the columns as `other`
/// has them where a grid of these has as many ranks as there are, none with more than twice its share; else it lies in blocks
/// over a grid of all ranks. It is made by panels of the dimension that is summed over, as SUMMA does (R. A. van de Geijn and
/// J. Watts, "SUMMA: scalable universal matrix multiplication algorithm", 1997); what a panel needs comes by a redistribution,
/// so that any layouts will do. Where that would send a rank more than its share of both matrices and, from every rank, a sum
/// for each of its elements of the product, as for a row times a column, each rank multiplies its share instead, and the sums of
/// all ranks are added up in order of rank; they and their copies on the way take no more memory than one and a half times that
/// share. In a product of a matrix and a vector the matrix stays where it is: each rank multiplies what it has, and the lowest
/// rank of each row of the grid (of each column for vector times matrix) adds up the sums of that row and has the result, distributed
/// as the matrix is along that dimension, without padding. The kernel is `matrixmultiply`'s for floats (see [`MatMul`]); the
/// order of additions is fixed by the shapes and distributions.
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, Dot, LocalArray};
/// use ndarray::{Ix1, Ix2};
///
/// ThreadComm::run(2, |comm| {
///     let v = LocalArray::<f64, Ix1, _>::arange(0, 3, 1, "b", comm)?; // 0 1 2
///     let m = LocalArray::<f64, Ix2, _>::eye(3, None, 1, "bn", comm)?; // ones above the diagonal
///     assert_eq!(v.dot(&v)?, 5.0);
///     assert_eq!(m.dot(&v)?.sum()?, 1.0 + 2.0); // 1 2 0
///     assert_eq!(m.dot(&m)?.sum()?, 1.0); // one element, at 0, 2
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub trait Dot<Rhs> {
    /// A number, or an array.
    type Output;
    /// The product. Collective; on [`part`](LocalArrayBase::part) local.
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

/// [`Dot`] for a pair of numbers of dimensions.
macro_rules! dots {
    ($($left:ty, $right:ty => $output:ty: |$a:ident, $b:ident| $product:expr;)*) => {$(
        impl<T, S1, S2, C> Dot<LocalArrayBase<S2, $right, C>> for LocalArrayBase<S1, $left, C>
        where
            T: MatMul,
            S1: Data<Elem = T>,
            S2: Data<Elem = T>,
            C: Communicator + Clone,
        {
            type Output = $output;

            fn dot(&self, other: &LocalArrayBase<S2, $right, C>) -> Result<$output, ArrayError> {
                let ($a, $b) = (self, other);
                $product
            }
        }
    )*};
}

dots! {
    Ix1, Ix1 => T: |a, b| {
        alike(a, b)?;
        check(a.global_shape(), b.global_shape())?;
        sum_of_products(a, b, false)
    };
    Ix2, Ix2 => LocalArray<T, Ix2, C>: |a, b| {
        alike(a, b)?;
        matmul(a, b)
    };
    Ix2, Ix1 => LocalArray<T, Ix1, C>: |a, b| {
        alike(a, b)?;
        check(a.global_shape(), b.global_shape())?;
        matrix_vector(a, b)
    };
    Ix1, Ix2 => LocalArray<T, Ix1, C>: |a, b| {
        alike(a, b)?;
        check(a.global_shape(), b.global_shape())?;
        matrix_vector(&b.permuted(&[1, 0])?, a)
    };
    IxDyn, IxDyn => LocalArray<T, IxDyn, C>: |a, b| match (a.ndim(), b.ndim()) {
        (0, _) | (_, 0) => tensordot(a, b, 0),
        (2, 1) => {
            let matrix = a.view_of().into_dimensionality::<Ix2>()?;
            let vector = b.view_of().into_dimensionality::<Ix1>()?;
            Ok(matrix.dot(&vector)?.into_dyn())
        }
        (1, 2) => {
            let vector = a.view_of().into_dimensionality::<Ix1>()?;
            let matrix = b.view_of().into_dimensionality::<Ix2>()?;
            Ok(vector.dot(&matrix)?.into_dyn())
        }
        (_, 1) => tensordot(a, b, (-1, 0)),
        _ => tensordot(a, b, (-1, -2)),
    };
}

/// Checks that the last extent of the first factor is the first one of the second.
fn check(first: &[u64], second: &[u64]) -> Result<(), ArrayError> {
    let (extent, given) = (first.last(), second.first());
    if extent == given {
        return Ok(());
    }
    Err(ArrayError::Shape {
        what: "the second factor",
        given: second.to_vec(),
        allowed: format!(
            "extent {} in dimension 0, as the first factor's last",
            extent.copied().unwrap_or(1)
        ),
    })
}
