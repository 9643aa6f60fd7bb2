//! Buffer traits: what the protocol asks of a buffer, and what host code asks on top.

use crate::{Element, ElementType};

/// What the protocol needs to know of a buffer: its shape and its element type.
///
/// Open: implement it for your own array type, in host memory or not.
pub trait LocalBuffer {
    /// Extent per dimension, in elements; padding included.
    fn shape(&self) -> &[usize];
    /// The type of the elements.
    fn element_type(&self) -> ElementType;
}

/// Order of a contiguous buffer in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Last index fastest.
    C,
    /// First index fastest.
    Fortran,
}

/// A buffer in host memory that can be read, in native byte order.
///
/// Open. Strided and reversed views are buffers too: they are read in pieces.
pub trait HostBuffer: LocalBuffer {
    /// All bytes as one slice and their order, where the buffer is contiguous. A buffer that is
    /// both (one dimension, one element, none) says [`Order::C`].
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)>;
    /// Hands over the bytes in C order, in pieces of whole elements, as long as the memory allows.
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8]));
}

/// A buffer in host memory that can be written, in native byte order.
pub trait HostBufferMut: HostBuffer {
    /// Fills the buffer in C order from `bytes`.
    ///
    /// # Errors
    /// [`CopyError`] when the length is not the buffer's, or a byte pattern is no value of the
    /// element type (a `bool` that is neither 0 nor 1). The buffer then holds a part of the data.
    fn copy_from_bytes(&mut self, bytes: &[u8]) -> Result<(), CopyError>;
}

/// Why bytes could not become elements.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// Another number of bytes than the buffer has.
    #[error("{given} byte(s) were given, the buffer has {expected}")]
    Length {
        /// Bytes given.
        given: usize,
        /// Bytes of the buffer.
        expected: usize,
    },
    /// A byte pattern that is no value of the type.
    #[error("the bytes at offset {offset} are no {element}")]
    Value {
        /// Byte offset of the element.
        offset: usize,
        /// The element type.
        element: ElementType,
    },
}

impl CopyError {
    /// The error of a piece of the bytes that begins at `start`.
    pub(crate) fn shifted(self, start: usize) -> Self {
        match self {
            Self::Value { offset, element } => Self::Value {
                offset: start + offset,
                element,
            },
            Self::Length { .. } => self,
        }
    }
}

impl<B: LocalBuffer + ?Sized> LocalBuffer for &B {
    fn shape(&self) -> &[usize] {
        (**self).shape()
    }
    fn element_type(&self) -> ElementType {
        (**self).element_type()
    }
}

impl<B: HostBuffer + ?Sized> HostBuffer for &B {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        (**self).contiguous_bytes()
    }
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        (**self).visit_bytes(visit);
    }
}

impl<B: LocalBuffer + ?Sized> LocalBuffer for &mut B {
    fn shape(&self) -> &[usize] {
        (**self).shape()
    }
    fn element_type(&self) -> ElementType {
        (**self).element_type()
    }
}

impl<B: HostBuffer + ?Sized> HostBuffer for &mut B {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        (**self).contiguous_bytes()
    }
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        (**self).visit_bytes(visit);
    }
}

impl<B: HostBufferMut + ?Sized> HostBufferMut for &mut B {
    fn copy_from_bytes(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        (**self).copy_from_bytes(bytes)
    }
}

impl<B: LocalBuffer + ?Sized> LocalBuffer for Box<B> {
    fn shape(&self) -> &[usize] {
        (**self).shape()
    }
    fn element_type(&self) -> ElementType {
        (**self).element_type()
    }
}

impl<B: HostBuffer + ?Sized> HostBuffer for Box<B> {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        (**self).contiguous_bytes()
    }
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        (**self).visit_bytes(visit);
    }
}

impl<B: HostBufferMut + ?Sized> HostBufferMut for Box<B> {
    fn copy_from_bytes(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        (**self).copy_from_bytes(bytes)
    }
}

/// Visits elements that do not lie side by side, a chunk of copies at a time.
pub(crate) fn visit_elements<T: Element>(
    elements: impl Iterator<Item = T>,
    visit: &mut dyn FnMut(&[u8]),
) {
    let mut chunk = [T::default(); 256];
    let mut held = 0;
    for element in elements {
        chunk[held] = element;
        held += 1;
        if held == chunk.len() {
            visit(bytemuck::must_cast_slice(&chunk));
            held = 0;
        }
    }
    if held > 0 {
        visit(bytemuck::must_cast_slice(&chunk[..held]));
    }
}

/// Copies native-order `bytes` into `out`, checking each bit pattern.
///
/// # Errors
/// [`CopyError`], as in [`HostBufferMut::copy_from_bytes`].
pub fn copy_bytes_to_elements<T: Element>(bytes: &[u8], out: &mut [T]) -> Result<(), CopyError> {
    let size = size_of::<T>();
    if bytes.len() != size_of_val(out) {
        return Err(CopyError::Length {
            given: bytes.len(),
            expected: size_of_val(out),
        });
    }
    if let Some(target) = T::bytes_mut(out) {
        target.copy_from_slice(bytes);
        return Ok(());
    }
    for (i, (chunk, slot)) in bytes.chunks_exact(size).zip(out).enumerate() {
        *slot = bytemuck::checked::try_pod_read_unaligned(chunk).map_err(|_| CopyError::Value {
            offset: i.saturating_mul(size),
            element: T::TYPE,
        })?;
    }
    Ok(())
}
