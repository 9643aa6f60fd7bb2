//! Import by the protocol: [`LocalArrayBase::from_distarray`], [`IntoLocal`].

use std::sync::Arc;

use dap_protocol::{
    DimData, DistBuffer, Element, ElementType, HostArray, LocalBuffer, Order, ProtocolVersion,
};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use ndarray::{
    ArrayBase, ArrayView, ArrayViewMut, Dimension, IxDyn, OwnedRepr, RawData, ShapeBuilder,
    ShapeError, StrideShape, ViewRepr,
};

use crate::metadata;
use crate::part::{Part, check_ndim};
use crate::{ArrayError, LocalArrayBase};

/// A buffer that becomes an `ndarray` without a copy: an `ndarray` of any storage, or a [`HostArray`], owned or borrowed.
/// Open: implement it for yours. Local.
///
/// Who takes a buffer decides by its storage what comes of it: [`LocalArray`](crate::LocalArray) of an owned one,
/// [`LocalArrayView`](crate::LocalArrayView) of a borrowed one, which [`to_owned`](LocalArrayBase::to_owned) copies where it has
/// to be kept.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, DistributedArray, HostArray};
/// use dist_comm::{Communicator, ThreadComm};
/// use local_array::{ArrayError, LocalArrayView};
/// use ndarray::Ix1;
///
/// let sums = ThreadComm::run(2, |comm| {
///     let part = HostArray::new(vec![2], vec![1.5, comm.rank() as f64])?;
///     let dim_data = DimData::new(vec![DimDict::block(4, 2, comm.rank(), [0..2, 2..4][comm.rank()].clone())?]);
///     let kept = DistBuffer::new(dim_data, part)?; // what a reader of files gives
///     let view = LocalArrayView::<f64, Ix1, _>::from_distarray(kept.distarray(), comm)?; // borrows from `kept`
///     assert!(std::ptr::eq(view.local().as_ptr(), kept.buffer().data().as_ptr()));
///     view.to_owned().sum()
/// })?;
/// assert_eq!(sums, [4.0, 4.0]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub trait IntoLocal: LocalBuffer {
    /// The storage of the array: owned or borrowed.
    type Storage: RawData;

    /// The array, of the buffer's shape, in the buffer's memory.
    ///
    /// # Errors
    /// When the buffer is no array that `ndarray` can describe.
    fn into_local(self) -> Result<ArrayBase<Self::Storage, IxDyn>, ArrayError>;
}

impl<T: Element> IntoLocal for HostArray<T> {
    type Storage = OwnedRepr<T>;

    fn into_local(self) -> Result<ArrayBase<OwnedRepr<T>, IxDyn>, ArrayError> {
        let (shape, data, order) = self.into_parts();
        let given = data.len();
        ArrayBase::from_shape_vec(ordered(&shape, order), data)
            .map_err(|error| not_of_shape(error, &shape, given))
    }
}

impl<'a, T: Element> IntoLocal for &'a HostArray<T> {
    type Storage = ViewRepr<&'a T>;

    fn into_local(self) -> Result<ArrayView<'a, T, IxDyn>, ArrayError> {
        let data = self.data();
        ArrayView::from_shape(ordered(self.shape(), self.order()), data)
            .map_err(|error| not_of_shape(error, self.shape(), data.len()))
    }
}

impl<'a, T: Element> IntoLocal for &'a mut HostArray<T> {
    type Storage = ViewRepr<&'a mut T>;

    fn into_local(self) -> Result<ArrayViewMut<'a, T, IxDyn>, ArrayError> {
        let (shape, order) = (LocalBuffer::shape(self).to_vec(), self.order());
        let data = self.data_mut();
        let given = data.len();
        ArrayViewMut::from_shape(ordered(&shape, order), data)
            .map_err(|error| not_of_shape(error, &shape, given))
    }
}

/// A shape whose elements stand in `order`.
fn ordered(shape: &[usize], order: Order) -> StrideShape<IxDyn> {
    IxDyn(shape).set_f(order == Order::Fortran).into()
}

/// What a host array does not give: it was checked when it was made.
fn not_of_shape(_: ShapeError, shape: &[usize], given: usize) -> ArrayError {
    let shape = shape.to_vec();
    dap_protocol::ProtocolError::ElementCount {
        shape,
        expected: None,
        given,
    }
    .into()
}

impl<S, D> IntoLocal for ArrayBase<S, D>
where
    S: RawData,
    D: Dimension,
    Self: LocalBuffer,
{
    type Storage = S;

    fn into_local(self) -> Result<ArrayBase<S, IxDyn>, ArrayError> {
        Ok(self.into_dyn())
    }
}

impl<S: RawData, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// The part of this rank from anybody's buffer and metadata; nothing is copied. Collective.
    ///
    /// The metadata of all ranks are compared: they must describe one array, over a grid that fits the communicator, in which
    /// no rank is named twice. Where the distribution is known, [`from_array`](Self::from_array) is faster and local.
    ///
    /// ```
    /// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    /// use dist_comm::{Communicator, ThreadComm};
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let means = ThreadComm::run(2, |comm| {
    ///     let range = [0..4, 4..6][comm.rank()].clone();
    ///     let part = HostArray::new(vec![range.clone().count()], range.clone().map(|i| i as f64).collect())?;
    ///     let dim = DimDict::block(6, 2, comm.rank(), range)?;
    ///     let theirs = DistBuffer::new(DimData::new(vec![dim]), part)?;
    ///     let ours: LocalArray<f64, Ix1, _> = LocalArray::from_distarray(theirs, comm)?;
    ///     ours.mean()
    /// })?;
    /// assert_eq!(means, [2.5, 2.5]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Parts`] with all that does not fit together, [`ArrayError::Map`],
    /// [`ArrayError::InvalidDimension`] when the whole has another number of dimensions than `D`, [`ArrayError::Agreed`] when
    /// the buffer of a rank is of another type than the array.
    pub fn from_distarray<B>(part: DistBuffer<B>, comm: C) -> Result<Self, ArrayError>
    where
        B: IntoLocal<Storage = S>,
        S::Elem: Element,
    {
        let (version, dim_data, buffer) = part.into_parts();
        let part = part_of_all::<D, _>(&dim_data, version, &comm)?;
        let checked = into_dimension::<_, D>(buffer).and_then(|data| {
            part.check_data(&data)?;
            Ok(data)
        });
        let data = agree(&comm, checked)?;
        Ok(Self {
            data,
            part: Arc::new(part),
            comm,
        })
    }
}

fn into_dimension<B, D>(buffer: B) -> Result<ArrayBase<B::Storage, D>, ArrayError>
where
    B: IntoLocal<Storage: RawData<Elem: Element>>,
    D: Dimension,
{
    let (given, allowed) = (buffer.element_type(), element_type::<B::Storage>());
    if given != allowed {
        return Err(ArrayError::ElementType { given, allowed });
    }
    let data = buffer.into_local()?;
    let given = data.ndim();
    let ndim = D::NDIM.unwrap_or(given);
    let wrong = ArrayError::InvalidDimension {
        what: "number of dimensions",
        given: given.cast_signed(),
        ndim,
    };
    data.into_dimensionality::<D>().map_err(|_| wrong)
}

fn element_type<S: RawData<Elem: Element>>() -> ElementType {
    <S::Elem as Element>::TYPE
}

/// The distribution that the metadata of all ranks describe, checked as a whole and to be one of arrays of `D`. Collective.
pub(crate) fn part_of_all<D: Dimension, C: Communicator>(
    dim_data: &DimData,
    version: ProtocolVersion,
    comm: &C,
) -> Result<Part, ArrayError> {
    let sent = comm.all_gather_v(&metadata::encode(version, dim_data))?;
    let parts = agree(
        comm,
        sent.iter()
            .map(|bytes| metadata::decode(bytes))
            .collect::<Result<Vec<_>, _>>(),
    )?;
    // From here on every rank has the same metadata and comes to the same answer.
    let distribution = metadata::whole(&parts)?;
    check_ndim::<D>(&distribution)?;
    Part::new(Arc::new(distribution), comm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borrowed_host_arrays_are_used_where_they_lie() {
        let data = vec![0_i32, 1, 2, 3, 4, 5];
        for order in [Order::C, Order::Fortran] {
            let mut host = HostArray::with_order(vec![2, 3], data.clone(), order).unwrap();
            let at = host.data().as_ptr();
            let wanted = host.clone().into_local().unwrap();
            let view = (&host).into_local().unwrap();
            assert_eq!((view.as_ptr(), &view), (at, &wanted.view()));
            assert_eq!(view[[1, 0]], if order == Order::C { 3 } else { 1 });
            let mut view = (&mut host).into_local().unwrap();
            assert_eq!(view.as_ptr(), at);
            view[[1, 2]] = 9; // the last one in either order
            assert_eq!(host.data()[5], 9);
        }
    }
}
