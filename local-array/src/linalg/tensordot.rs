//! Products of arrays of any number of dimensions, by way of matrices.

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::{CowRepr, Data, Dimension, Ix2, IxDyn};

use super::MatMul;
use super::summa::matmul;
use super::vector::sum_of_products;
use crate::agreement::same_everywhere;
use crate::axis::axes_of;
use crate::redistribute::moved_to;
use crate::reshape::spread_out;
use crate::{ArrayError, LocalArray, LocalArrayBase, LocalArrayView};

/// The dimensions that [`tensordot`] sums over: the first list of the first array, each with the one of the second list.
///
/// From a number `n`: the last `n` of the first with the first `n` of the second. From two numbers: one dimension of each.
/// Negative ones count from the end. Example: see [`tensordot`]. Every rank gives the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorAxes {
    first: Vec<i32>,
    second: Vec<i32>,
}

impl From<i32> for TensorAxes {
    fn from(count: i32) -> Self {
        Self {
            first: (-count..0).collect(),
            second: (0..count).collect(),
        }
    }
}

impl From<(i32, i32)> for TensorAxes {
    fn from((first, second): (i32, i32)) -> Self {
        Self {
            first: vec![first],
            second: vec![second],
        }
    }
}

impl<const N: usize> From<([i32; N], [i32; N])> for TensorAxes {
    fn from((first, second): ([i32; N], [i32; N])) -> Self {
        Self {
            first: first.to_vec(),
            second: second.to_vec(),
        }
    }
}

impl From<(&[i32], &[i32])> for TensorAxes {
    fn from((first, second): (&[i32], &[i32])) -> Self {
        Self {
            first: first.to_vec(),
            second: second.to_vec(),
        }
    }
}

/// The sum of products over some dimensions of each array: the result has the others of the first, then those of the second.
/// Collective; on [`part`](LocalArrayBase::part) local.
///
/// Every rank gives the same `axes`. The arrays are taken as two matrices, whose product is made and distributed as
/// [`dot`](super::dot) says (SUMMA); a result of another number of dimensions lies in blocks of the first one that has an index
/// for every rank, or of its longest. Where no dimension is left each rank adds up what it has, as in [`vdot`](super::vdot),
/// and the result, without dimensions, lies on rank 0.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, TensorAxes, tensordot};
/// use ndarray::Ix3;
///
/// let shapes = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([4, 3, 2]).block(0).build()?;
///     let a = LocalArray::<f64, Ix3, _>::ones(&blocks, comm)?;
///     let product = tensordot(&a, &a, ([0, 1], [0, 1]))?; // over the 4 × 3 of each
///     let last = TensorAxes::from((-1, -1)); // over the 2 of each
///     assert_eq!(tensordot(&a, &a, last)?.global_shape(), [4, 3, 4, 3]);
///     Ok::<_, ArrayError>((product.global_shape().to_vec(), product.sum()?))
/// })?;
/// assert_eq!(shapes, [(vec![2, 2], 48.0), (vec![2, 2], 48.0)]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// The same on every rank: [`ArrayError::Argument`] for axes that do not exist, are named twice, differ in number or between
/// the ranks, [`ArrayError::Shape`] when their extents differ; as [`redistribute`](LocalArrayBase::redistribute).
pub fn tensordot<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
    axes: impl Into<TensorAxes>,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    let axes = axes.into();
    same_everywhere(a.comm(), "axes", &(&axes, a.part.laid(), b.part.laid()))?;
    contract(a, b, axes, &Plain)
}

/// How products are added up.
pub(super) trait Sums<T> {
    /// Of two matrices: those of each row of the first with each column of the second.
    fn of_matrices<S1, S2, C>(
        &self,
        a: &LocalArrayBase<S1, Ix2, C>,
        b: &LocalArrayBase<S2, Ix2, C>,
    ) -> Result<LocalArray<T, Ix2, C>, ArrayError>
    where
        S1: Data<Elem = T>,
        S2: Data<Elem = T>,
        C: Communicator + Clone;

    /// Of two arrays of one size: those of all elements.
    fn of_all<S1, D1, S2, D2, C>(
        &self,
        a: &LocalArrayBase<S1, D1, C>,
        b: &LocalArrayBase<S2, D2, C>,
    ) -> Result<T, ArrayError>
    where
        S1: Data<Elem = T>,
        S2: Data<Elem = T>,
        D1: Dimension,
        D2: Dimension,
        C: Communicator + Clone;
}

/// In an order that follows the distributions.
struct Plain;

impl<T: MatMul> Sums<T> for Plain {
    fn of_matrices<S1, S2, C>(
        &self,
        a: &LocalArrayBase<S1, Ix2, C>,
        b: &LocalArrayBase<S2, Ix2, C>,
    ) -> Result<LocalArray<T, Ix2, C>, ArrayError>
    where
        S1: Data<Elem = T>,
        S2: Data<Elem = T>,
        C: Communicator + Clone,
    {
        matmul(a, b)
    }

    fn of_all<S1, D1, S2, D2, C>(
        &self,
        a: &LocalArrayBase<S1, D1, C>,
        b: &LocalArrayBase<S2, D2, C>,
    ) -> Result<T, ArrayError>
    where
        S1: Data<Elem = T>,
        S2: Data<Elem = T>,
        D1: Dimension,
        D2: Dimension,
        C: Communicator + Clone,
    {
        sum_of_products(a, b, false)
    }
}

/// The sum of products over axes that all ranks gave alike.
pub(super) fn contract<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
    axes: TensorAxes,
    sums: &impl Sums<T>,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError>
where
    T: Element,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    let TensorAxes { first, second } = axes;
    if first.len() != second.len() {
        return Err(ArrayError::Argument {
            what: "axes",
            given: format!("{first:?} and {second:?}"),
            allowed: "two lists of equal length".to_owned(),
        });
    }
    let (first, second) = (axes_of(&first, a.ndim())?, axes_of(&second, b.ndim())?);
    for (&x, &y) in first.iter().zip(&second) {
        if a.global_shape()[x] != b.global_shape()[y] {
            return Err(ArrayError::Shape {
                what: "the second factor",
                given: b.global_shape().to_vec(),
                allowed: format!(
                    "extent {} in dimension {y}, as dimension {x} of the first",
                    a.global_shape()[x]
                ),
            });
        }
    }
    let others = |ndim: usize, summed: &[usize]| {
        (0..ndim)
            .filter(|axis| !summed.contains(axis))
            .collect::<Vec<_>>()
    };
    let (rows, columns) = (others(a.ndim(), &first), others(b.ndim(), &second));
    if rows.is_empty() && columns.is_empty() {
        let sum = sums.of_all(&permuted(a, &first)?, &permuted(b, &second)?)?;
        return LocalArray::full(&spread_out(&[], a.comm_size())?, a.comm().clone(), sum);
    }
    let left = matrix(a, &rows, &first)?;
    let right = matrix(b, &second, &columns)?;
    let product = sums.of_matrices(&left, &right)?;
    let extents =
        |shape: &[u64], axes: &[usize]| axes.iter().map(|&axis| shape[axis]).collect::<Vec<_>>();
    let mut shape = extents(a.global_shape(), &rows);
    shape.extend(extents(b.global_shape(), &columns));
    reshaped(product, &shape)
}

/// The sum of products over the last dimension of each array. Collective; on [`part`](LocalArrayBase::part) local.
///
/// Of two vectors a result without dimensions; else of the other dimensions of `a`, then those of `b`, distributed as
/// [`tensordot`]'s. With an array without dimensions it is the product with its one element.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, inner};
/// use ndarray::{Ix2, array};
///
/// let products = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([2, 2]).block(0).build()?;
///     let a = LocalArray::<i64, Ix2, _>::from_fn(&blocks, comm, |g| 2 * g[0] + g[1])?; // 0 1, 2 3
///     inner(&a, &a)?.gather_to(0)
/// })?;
/// assert_eq!(products[0], Some(array![[1, 3], [3, 13]].into_dyn())); // of rows with rows
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// As [`tensordot`].
pub fn inner<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    if a.ndim() == 0 || b.ndim() == 0 {
        return tensordot(a, b, 0);
    }
    tensordot(a, b, (-1, -1))
}

/// A view with its dimensions in another order.
fn permuted<'a, T, S, D, C>(
    array: &'a LocalArrayBase<S, D, C>,
    order: &[usize],
) -> Result<LocalArrayView<'a, T, IxDyn, C>, ArrayError>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
    C: Communicator + Clone,
{
    let distribution = array.distribution().transpose(Some(order))?;
    let data = array.data.view().into_dyn().permuted_axes(order);
    LocalArrayView::from_array(data, &distribution, array.comm().clone())
}

/// An array as a matrix: as it lies where it has two dimensions, else a copy.
pub(super) type Matrix<'a, T, C> = LocalArrayBase<CowRepr<'a, T>, Ix2, C>;

/// The dimensions `rows`, then `columns`, of an array as those of a matrix.
pub(super) fn matrix<'a, T, S, D, C>(
    array: &'a LocalArrayBase<S, D, C>,
    rows: &[usize],
    columns: &[usize],
) -> Result<Matrix<'a, T, C>, ArrayError>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
    C: Communicator + Clone,
{
    let order: Vec<usize> = rows.iter().chain(columns).copied().collect();
    let turned = permuted(array, &order)?;
    let turned = match (rows, columns) {
        ([_], []) => turned.with_axes(&[1])?,
        ([], [_]) => turned.with_axes(&[0])?,
        _ => turned,
    };
    if turned.ndim() == 2 && rows.len() <= 1 && columns.len() <= 1 {
        let matrix = turned.into_dimensionality::<Ix2>()?;
        return Ok(LocalArrayBase {
            data: matrix.data.into(),
            part: matrix.part,
            comm: matrix.comm,
        });
    }
    let extent = |axes: &[usize]| {
        axes.iter().try_fold(1_u64, |product, &axis| {
            product.checked_mul(array.global_shape()[axis])
        })
    };
    let overflow = || ArrayError::Shape {
        what: "an array taken as a matrix",
        given: array.global_shape().to_vec(),
        allowed: "products of extents in 64 bits".to_owned(),
    };
    let shape = [
        extent(rows).ok_or_else(overflow)?,
        extent(columns).ok_or_else(overflow)?,
    ];
    let blocks = Distribution::over(array.comm_size())
        .shape(shape)
        .block(usize::from(shape[0] < shape[1]))
        .build()?;
    let matrix: LocalArray<T, Ix2, C> = moved_to(&turned, &blocks)?;
    Ok(LocalArrayBase {
        data: matrix.data.into(),
        part: matrix.part,
        comm: matrix.comm,
    })
}

/// A matrix in another shape of as many elements, spread over all ranks.
pub(super) fn reshaped<T: Element, C: Communicator + Clone>(
    product: LocalArray<T, Ix2, C>,
    shape: &[u64],
) -> Result<LocalArray<T, IxDyn, C>, ArrayError> {
    if product.global_shape() == shape {
        return Ok(product.into_dyn());
    }
    moved_to(&product, &spread_out(shape, product.comm_size())?)
}
