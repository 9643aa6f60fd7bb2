//! [`DistributedArray`]: Rust's `__distarray__`.

use crate::{DistBuffer, LocalBuffer};

/// An array that can show its part by the protocol, without a copy. Open: implement it for yours.
///
/// Local: needs no communication, and no other rank.
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
