//! [`DistributedArray`]: Rust's `__distarray__`.

use crate::{DistBuffer, LocalBuffer};

/// An array that can show its part by the protocol, without a copy. Open: implement it for yours.
///
/// Local: needs no communication, and no other rank.
///
/// Every importer says which buffers it takes. An `ndarray` view (feature `ndarray`) is taken by all
/// of this family: it is saved by `dnpy_format::save`, and
/// `local_array::LocalArrayView::from_distarray` uses its memory in place, where it lies.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, DistributedArray};
/// use ndarray::{Array2, ArrayView2};
///
/// /// Some rows of a matrix.
/// struct Rows { dim_data: DimData, mine: Array2<f64> }
///
/// impl DistributedArray for Rows {
///     type Buffer<'a> = ArrayView2<'a, f64>;
///     fn distarray(&self) -> DistBuffer<ArrayView2<'_, f64>> {
///         DistBuffer::new(self.dim_data.clone(), self.mine.view()).expect("made to fit")
///     }
/// }
///
/// // rank 1 of 2 has rows 2 and 3 of four; no row is cut
/// let dim_data = DimData::new(vec![DimDict::block(4, 2, 1, 2..4)?, DimDict::whole(3)?]);
/// let rows = Rows { dim_data, mine: Array2::zeros((2, 3)) };
/// assert_eq!(rows.distarray().dim_data().global_shape(), [4, 3]);
/// # Ok::<(), dap_protocol::ProtocolError>(())
/// ```
pub trait DistributedArray {
    /// The buffer shown; it may borrow from the array.
    type Buffer<'a>: LocalBuffer
    where
        Self: 'a;

    /// This rank's part.
    fn distarray(&self) -> DistBuffer<Self::Buffer<'_>>;
}

/// The same for a buffer that may be written.
pub trait DistributedArrayMut: DistributedArray {
    /// The buffer shown for writing.
    type BufferMut<'a>: LocalBuffer
    where
        Self: 'a;

    /// This rank's part, to be changed in place.
    fn distarray_mut(&mut self) -> DistBuffer<Self::BufferMut<'_>>;
}

impl<B: LocalBuffer> DistributedArray for DistBuffer<B> {
    type Buffer<'a>
        = &'a B
    where
        Self: 'a;

    fn distarray(&self) -> DistBuffer<&B> {
        self.as_ref()
    }
}

impl<A: DistributedArray + ?Sized> DistributedArray for &A {
    type Buffer<'a>
        = A::Buffer<'a>
    where
        Self: 'a;

    fn distarray(&self) -> DistBuffer<Self::Buffer<'_>> {
        (**self).distarray()
    }
}
