//! [`cross`]: the vector product.

use std::sync::Arc;

use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution};
use ndarray::{ArrayD, Axis, CowArray, CowRepr, Data, Dimension, IxDyn};

use crate::agreement::same_everywhere;
use crate::part::Part;
use crate::redistribute::moved_to;
use crate::reshape::with_whole;
use crate::{Arithmetic, ArrayError, Equalised, LocalArray, LocalArrayBase};

/// Where the vectors of a [`cross`] lie: the dimension of each array that has their components. Negative ones count from the
/// end; by default all are the last. Example: see [`cross`]. Every rank gives the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CrossAxes {
    /// Of the first array.
    pub axisa: i32,
    /// Of the second array.
    pub axisb: i32,
    /// Of the result, where that has vectors.
    pub axisc: i32,
}

impl Default for CrossAxes {
    fn default() -> Self {
        Self {
            axisa: -1,
            axisb: -1,
            axisc: -1,
        }
    }
}

impl From<i32> for CrossAxes {
    /// The same dimension of all three (`NumPy`'s `axis`).
    fn from(axis: i32) -> Self {
        Self {
            axisa: axis,
            axisb: axis,
            axisc: axis,
        }
    }
}

/// The vector products of the vectors of two arrays, whose other dimensions broadcast. Collective; on
/// [`part`](LocalArrayBase::part) local.
///
/// Vectors have 2 or 3 components; a missing third is 0. The products of vectors of 2 are numbers, the third components, and
/// the result then lacks the dimension. Where the components of a vector lie on several ranks, its array is first brought into
/// blocks of the other dimensions over all ranks, so that they lie on one; then the arrays are brought to each other as
/// [`Equalised`] does. Every rank gives the same `axes`.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, CrossAxes, LocalArray, cross};
/// use ndarray::{Ix2, array};
///
/// let products = ThreadComm::run(2, |comm| {
///     let columns = Distribution::over(2).shape([2, 3]).block(1).build()?;
///     let a = LocalArray::<i64, Ix2, _>::from_fn(&columns, comm, |g| g[1])?; // 0 1 2, twice
///     let b = LocalArray::<i64, Ix2, _>::ones(&columns, comm)?;
///     cross(&a, &b, CrossAxes::default())?.into_dimensionality::<Ix2>()?.gather_to(0)
/// })?;
/// assert_eq!(products[0], Some(array![[-1, 2, -1], [-1, 2, -1]]));
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// The same on every rank: [`ArrayError::Argument`] for a dimension that is not there, [`ArrayError::Shape`] for vectors of
/// another length, [`ArrayError::IncompatibleArray`] where the others do not broadcast; as
/// [`redistribute`](LocalArrayBase::redistribute).
pub fn cross<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
    axes: impl Into<CrossAxes>,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError>
where
    T: Arithmetic,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    let axes = axes.into();
    same_everywhere(a.comm(), "axes", &(&axes, a.part.laid(), b.part.laid()))?;
    let CrossAxes {
        axisa,
        axisb,
        axisc,
    } = axes;
    let axes = (place(axisa, a.ndim())?, place(axisb, b.ndim())?);
    let (m, n) = (a.global_shape()[axes.0], b.global_shape()[axes.1]);
    for (what, array, len) in [
        ("the first factor", a.global_shape(), m),
        ("the second factor", b.global_shape(), n),
    ] {
        if !(2..=3).contains(&len) {
            return Err(ArrayError::Shape {
                what,
                given: array.to_vec(),
                allowed: "2 or 3 components along the dimension of the vectors".to_owned(),
            });
        }
    }
    let results = if m == 2 && n == 2 { 1 } else { 3 };
    let dims = a.ndim().max(b.ndim()) - usize::from(results == 1);
    let at = if results == 3 { place(axisc, dims)? } else { 0 };
    let (left, right) = (vectors(a, axes.0)?, vectors(b, axes.1)?);
    let (x, y) = (components(&left, axes.0)?, components(&right, axes.1)?);
    let times = |i: usize, j: usize| x[i].zip_elements(Equalised(&y[j]), T::times);
    let minus = |plus: Product<T, C>, minus: Product<T, C>| {
        plus?.zip_elements(Equalised(&minus?), T::minus)
    };
    let negated = |product: Product<T, C>| Ok::<_, ArrayError>(product?.map(|&x| x.negated()));
    let third = minus(times(0, 1), times(1, 0))?;
    let (first, second) = match (m, n) {
        (2, 2) => return Ok(third),
        (2, _) => (times(1, 2)?, negated(times(0, 2))?),
        (_, 2) => (negated(times(2, 1))?, times(2, 0)?),
        _ => (
            minus(times(1, 2), times(2, 1))?,
            minus(times(2, 0), times(0, 2))?,
        ),
    };
    stacked(&[first, second, third], at)
}

/// Products of components.
type Product<T, C> = Result<LocalArray<T, IxDyn, C>, ArrayError>;

fn place(axis: i32, ndim: usize) -> Result<usize, ArrayError> {
    crate::axis::axis_of(axis, ndim)
}

/// The array with the components of each vector on one rank.
fn vectors<T, S, D, C>(
    array: &LocalArrayBase<S, D, C>,
    axis: usize,
) -> Result<LocalArrayBase<CowRepr<'_, T>, IxDyn, C>, ArrayError>
where
    T: Arithmetic,
    S: Data<Elem = T>,
    D: Dimension,
    C: Communicator + Clone,
{
    let distribution = array.distribution();
    if distribution.axes()[axis].is_whole() {
        return Ok(LocalArrayBase {
            data: array.data.view().into_dyn().into(),
            part: Arc::clone(&array.part),
            comm: array.comm.clone(),
        });
    }
    let moved: LocalArray<T, IxDyn, C> = moved_to(array, &with_whole(distribution, axis)?)?;
    Ok(LocalArrayBase {
        data: moved.data.into(),
        part: moved.part,
        comm: moved.comm,
    })
}

/// An array for each component.
fn components<'a, T, C: Communicator + Clone>(
    vectors: &'a LocalArrayBase<CowRepr<'_, T>, IxDyn, C>,
    axis: usize,
) -> Result<Vec<LocalArrayBase<CowRepr<'a, T>, IxDyn, C>>, ArrayError>
where
    T: Arithmetic,
{
    let distribution = vectors.distribution();
    let part = Arc::new(Part::new(
        Arc::new(distribution.reduce(Some(&[axis]), false)?),
        &vectors.comm,
    )?);
    let component = |i: usize| {
        let stored = if part.is_active() {
            CowArray::from(vectors.data.view().index_axis_move(Axis(axis), i))
        } else {
            CowArray::from(part.zeros::<T, IxDyn>()?)
        };
        LocalArrayBase::from_part(stored, Arc::clone(&part), vectors.comm.clone())
    };
    let len = usize::try_from(distribution.global_shape()[axis]).unwrap_or(usize::MAX);
    (0..len).map(component).collect()
}

/// Arrays that lie alike, one after the other along a new dimension.
fn stacked<T, C>(
    parts: &[LocalArray<T, IxDyn, C>; 3],
    axis: usize,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError>
where
    T: Arithmetic,
    C: Communicator + Clone,
{
    let distribution = parts[0].distribution();
    let mut axes = distribution.axes().to_vec();
    axes.insert(axis, AxisDist::whole(3)?);
    let wider =
        Distribution::from_axes(axes, distribution.ranks(), distribution.targets().to_vec())?;
    let comm = parts[0].comm.clone();
    let mut whole: LocalArray<T, IxDyn, C> = agree(&comm, LocalArray::zeros(&wider, comm.clone()))?;
    if whole.part.is_active() {
        for (i, part) in parts.iter().enumerate() {
            let mut slot = whole.data.index_axis_mut(Axis(axis), i);
            let part: &ArrayD<T> = &part.data;
            if slot.shape() == part.shape() {
                slot.assign(part);
            }
        }
    }
    Ok(whole)
}
