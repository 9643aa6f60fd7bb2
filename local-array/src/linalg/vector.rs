//! Products of all elements of two arrays, summed up ([`vdot`]; `dot` of two vectors) or each by itself ([`outer`]).

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use ndarray::{Data, Dimension, Ix2, RawData};

use super::MatMul;
use super::summa::outer_product;
use super::tensordot::matrix;
use crate::agreement::same_everywhere;
use crate::binary_counter::BinaryCounter;
use crate::redistribute::moved_to;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// Products per block; the sums of blocks are added two by two.
const BLOCK: usize = 512;

/// The sum of `conj(a) · b` over all elements, both taken flat; the same bits on every rank. Collective; on
/// [`part`](LocalArrayBase::part) local.
///
/// The shapes may differ where the numbers of elements are the same. Where `b` is distributed otherwise than `a`, it is
/// redistributed first. The type is that of the elements (see [`MatMul`]). The order is fixed: each rank adds up its owned
/// elements in C order, by blocks of 512 that are added two by two, then the ranks' sums are added in order of rank.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, vdot};
/// use ndarray::Ix1;
/// use num_complex::Complex64;
///
/// let products = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
///     let a = LocalArray::<_, Ix1, _>::full(&blocks, comm, Complex64::new(0.0, 1.0))?;
///     vdot(&a, &a)
/// })?;
/// assert_eq!(products, [Complex64::new(3.0, 0.0); 2]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// [`ArrayError::Shape`] when the numbers of elements differ; as [`redistribute`](LocalArrayBase::redistribute).
pub fn vdot<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
) -> Result<T, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    alike(a, b)?;
    same_size(a, b)?;
    sum_of_products(a, b, true)
}

/// Checks that all ranks multiply arrays of the same distributions. Collective.
pub(crate) fn alike<S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
) -> Result<(), ArrayError>
where
    S1: RawData,
    S2: RawData,
    D1: Dimension,
    D2: Dimension,
    C: Communicator,
{
    same_everywhere(a.comm(), "factors", &(a.part.laid(), b.part.laid()))
}

pub(super) fn same_size<S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
) -> Result<(), ArrayError>
where
    S1: RawData,
    S2: RawData,
    D1: Dimension,
    D2: Dimension,
    C: Communicator,
{
    if a.global_size() == b.global_size() {
        return Ok(());
    }
    Err(ArrayError::Shape {
        what: "the second factor",
        given: b.global_shape().to_vec(),
        allowed: format!("as many elements as {:?}", a.global_shape()),
    })
}

/// The product of each element of `a` with each of `b`, both taken flat: `m` and `n` elements give an `m × n` array.
/// Collective; on [`part`](LocalArrayBase::part) local.
///
/// Distributed as a [`dot`](super::dot) of a column and a row; `bool` is multiplied as *and*.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, outer};
/// use ndarray::{Ix1, array};
///
/// let tables = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |g| g[0] + 1)?;
///     outer(&a, &a)?.gather_to(0)
/// })?;
/// assert_eq!(tables[0], Some(array![[1, 2, 3], [2, 4, 6], [3, 6, 9]]));
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// As [`redistribute`](LocalArrayBase::redistribute), the same on every rank.
pub fn outer<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
) -> Result<LocalArray<T, Ix2, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    alike(a, b)?;
    let all = |ndim: usize| (0..ndim).collect::<Vec<_>>();
    outer_product(
        &matrix(a, &all(a.ndim()), &[])?,
        &matrix(b, &[], &all(b.ndim()))?,
    )
}

/// The sum of products of two arrays of as many elements.
pub(super) fn sum_of_products<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
    conjugated: bool,
) -> Result<T, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    let mut sum = [with_pairs(a, b, |a, b| {
        let mut sums = BinaryCounter::new();
        for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
            sums.push(block::<T>(a, b, conjugated), T::add);
        }
        sums.finish(T::add)
            .unwrap_or_else(bytemuck::Zeroable::zeroed)
    })?];
    a.comm
        .all_reduce_with(&mut sum, |acc, &next| *acc = T::add(*acc, next))?;
    Ok(T::sum_of(sum[0]))
}

/// Hands over the elements of `a` that this rank counts, in C order, and those of `b` that belong to them; `b` is moved first
/// where it lies otherwise. Collective.
pub(super) fn with_pairs<T, S1, D1, S2, D2, C, R>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
    see: impl FnOnce(&[T], &[T]) -> R,
) -> Result<R, ArrayError>
where
    T: Element,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    if a.part.check_compatible(&b.part).is_ok() {
        return Ok(see(&a.counted_elements(), &b.counted_elements()));
    }
    let moved: LocalArray<T, D1, C> = moved_to(b, a.distribution())?;
    Ok(see(&a.counted_elements(), &moved.counted_elements()))
}

/// The sum of a block, in eight independent ones.
fn block<T: MatMul>(a: &[T], b: &[T], conjugated: bool) -> T::Acc {
    const LANES: usize = 8;
    let mut lanes = [<T::Acc as bytemuck::Zeroable>::zeroed(); LANES];
    let (a_rows, b_rows) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_rows.remainder().iter().zip(b_rows.remainder());
    for (i, (&x, &y)) in rest.enumerate() {
        lanes[i] = x.product(y, conjugated);
    }
    for (a, b) in a_rows.zip(b_rows) {
        for i in 0..LANES {
            lanes[i] = T::add(lanes[i], a[i].product(b[i], conjugated));
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let pair = T::add;
    pair(pair(pair(a, b), pair(c, d)), pair(pair(e, f), pair(g, h)))
}
