//! Import by the protocol: [`LocalArrayBase::from_distarray`], [`IntoLocal`].

use std::sync::Arc;

use dap_protocol::{
    DimData, DistBuffer, Element, ElementType, HostArray, LocalBuffer, Order, ProtocolVersion,
};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use ndarray::{ArrayBase, Dimension, IxDyn, OwnedRepr, RawData, ShapeBuilder};

use crate::metadata;
use crate::part::{Part, check_ndim};
use crate::{ArrayError, LocalArrayBase};

/// A buffer that becomes an `ndarray` without a copy. Open: implement it for yours.
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
        let dim = IxDyn(&shape).set_f(order == Order::Fortran);
        ArrayBase::from_shape_vec(dim, data).map_err(|_| {
            dap_protocol::ProtocolError::ElementCount {
                shape,
                expected: None,
                given,
            }
            .into()
        })
    }
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
