//! Arrays from others' memory: [`aslocalarray`](LocalArrayBase::aslocalarray),
//! [`fromlocalarray_like`](LocalArrayBase::fromlocalarray_like).

use std::sync::Arc;

use dap_protocol::{DistributedArray, Element};
use dist_comm::Communicator;
use ndarray::{
    Array, ArrayBase, ArrayView, CowArray, CowRepr, Dimension, RawData, ShapeBuilder, ViewRepr,
};

use crate::{ArrayError, Cast, IntoLocal, LocalArray, LocalArrayBase, LocalArrayView};

/// The order in which a local array lies in memory: `DistArray`'s `order`, as in the example of
/// [`aslocalarray`](LocalArrayBase::aslocalarray).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row by row: the last index runs fastest.
    C,
    /// Column by column: the first index runs fastest.
    F,
    /// As it is when it is column by column, row by row otherwise.
    A,
    /// As it is (`DistArray`'s `None`).
    #[default]
    K,
}

impl<S: RawData, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// `local_arr` as this rank's part of an array distributed like `like_arr`; nothing is copied, and its elements may be of
    /// another type (`DistArray`'s `fromlocalarray_like`). Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Array1, Ix1};
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([5]).block(0).build()?;
    ///     let like = LocalArray::<f64, Ix1, _>::zeros(&blocks, comm)?;
    ///     let mine = Array1::from_elem(like.local_shape()[0], 7_u8);
    ///     LocalArray::fromlocalarray_like(mine, &like)?.sum()
    /// })?;
    /// assert_eq!(sums, [35, 35]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::LocalShape`] when it has another shape than `like_arr` stores on this rank.
    pub fn fromlocalarray_like<S2: RawData>(
        local_arr: ArrayBase<S, D>,
        like_arr: &LocalArrayBase<S2, D, C>,
    ) -> Result<Self, ArrayError>
    where
        C: Clone,
    {
        Self::from_part(local_arr, Arc::clone(&like_arr.part), like_arr.comm.clone())
    }
}

impl<'a, T: Element, D: Dimension, C: Communicator> LocalArrayBase<CowRepr<'a, T>, D, C> {
    /// Anybody's distributed array as one of ours, in the given memory order (`DistArray`'s `aslocalarray`): borrowed where it
    /// lies in that order already, copied otherwise. Collective; the order may differ between ranks.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, LocalArrayBase, Order};
    /// use ndarray::{CowRepr, Ix2};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let theirs = LocalArray::<i16, Ix2, _>::eye(4, Some(3), 0, "b", comm)?;
    ///     let ours: LocalArrayBase<CowRepr<'_, i16>, Ix2, _> = LocalArrayBase::aslocalarray(&theirs, Order::K, comm)?;
    ///     assert!(std::ptr::eq(ours.local().as_ptr(), theirs.local().as_ptr()));
    ///     let floats = LocalArray::<f64, Ix2, _>::aslocalarray_as(&theirs, Order::F, comm)?;
    ///     assert_eq!(floats.local().strides(), [1, 2]);
    ///     assert_eq!(floats.sum()?, 3.0);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_distarray`](Self::from_distarray).
    pub fn aslocalarray<O>(object: &'a O, order: Order, comm: C) -> Result<Self, ArrayError>
    where
        O: DistributedArray,
        O::Buffer<'a>: IntoLocal<Storage = ViewRepr<&'a T>>,
    {
        let view: LocalArrayView<'a, T, D, C> =
            LocalArrayBase::from_distarray(object.distarray(), comm)?;
        let data = if lies_in(&view.data, order) {
            CowArray::from(view.data)
        } else {
            CowArray::from(ordered(&view.data, order, |x| x))
        };
        Ok(Self {
            data,
            part: view.part,
            comm: view.comm,
        })
    }
}

impl<U: Element, D: Dimension, C: Communicator> LocalArray<U, D, C> {
    /// A copy of anybody's distributed array with elements of another type (`DistArray`'s `aslocalarray` with a `dtype`), in the
    /// given memory order. Collective; the order may differ between ranks.
    /// Example: see [`aslocalarray`](LocalArrayBase::aslocalarray).
    ///
    /// # Errors
    /// As [`from_distarray`](Self::from_distarray).
    pub fn aslocalarray_as<'a, T, O>(
        object: &'a O,
        order: Order,
        comm: C,
    ) -> Result<Self, ArrayError>
    where
        T: Cast<U>,
        O: DistributedArray,
        O::Buffer<'a>: IntoLocal<Storage = ViewRepr<&'a T>>,
    {
        let view: LocalArrayView<'a, T, D, C> =
            LocalArrayBase::from_distarray(object.distarray(), comm)?;
        Ok(Self {
            data: ordered(&view.data, order, Cast::cast),
            part: view.part,
            comm: view.comm,
        })
    }
}

fn lies_in<T, D: Dimension>(data: &ArrayView<'_, T, D>, order: Order) -> bool {
    match order {
        Order::C => data.is_standard_layout(),
        Order::F => data.t().is_standard_layout(),
        Order::A => data.is_standard_layout() || data.t().is_standard_layout(),
        Order::K => true,
    }
}

/// A copy in the given order, element by element.
fn ordered<T: Copy, U: Copy, D: Dimension>(
    data: &ArrayView<'_, T, D>,
    order: Order,
    f: impl Fn(T) -> U,
) -> Array<U, D> {
    let mapped = data.map(|&x| f(x)); // in the order of memory, where it is dense
    let is_column_wise = data.t().is_standard_layout() && !data.is_standard_layout();
    let wanted = match order {
        Order::F => true,
        Order::C => false,
        Order::A => is_column_wise,
        Order::K => return mapped,
    };
    if wanted {
        if mapped.t().is_standard_layout() {
            return mapped;
        }
        let by_columns: Vec<U> = mapped.t().iter().copied().collect();
        return Array::from_shape_vec(mapped.raw_dim().f(), by_columns).unwrap_or(mapped);
    }
    if mapped.is_standard_layout() {
        return mapped;
    }
    let by_rows: Vec<U> = mapped.iter().copied().collect();
    Array::from_shape_vec(mapped.raw_dim(), by_rows).unwrap_or(mapped)
}
