//! Memory of the communicators: aligned bytes, and bytes that peers may read.

use std::fmt;
use std::ops::{Deref, DerefMut};

use large_pages::prefer_large_pages;

use crate::{CommError, Operation};

/// Every buffer starts at a multiple of this many bytes: a cache line, and enough for any element type.
pub(crate) const ALIGNMENT: usize = 64;

/// Collective calls that bring more bytes than this to a rank ask first whether every rank has the memory.
pub(crate) const ASK_ABOVE: usize = 1 << 20;

/// Whether `len` bytes can be had now; they are given back.
pub(crate) fn can_have(len: usize) -> Option<()> {
    Vec::<u8>::new().try_reserve_exact(len).ok()
}

/// Bytes on the heap, the first of them at a multiple of [`ALIGNMENT`].
#[derive(Default)]
pub(crate) struct AlignedBytes {
    raw: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBytes {
    /// `len` zeros, or `None` when the memory cannot be had.
    pub(crate) fn try_zeroed(len: usize) -> Option<Self> {
        if len == 0 {
            return Some(Self::default());
        }
        let room = len.checked_add(ALIGNMENT)?;
        // Asking first makes a size that cannot be had an error; the zeros themselves then come from fresh pages.
        can_have(room)?;
        let mut raw = vec![0; room];
        prefer_large_pages(&mut raw);
        let start = raw.as_ptr().align_offset(ALIGNMENT);
        Some(Self { raw, start, len })
    }

    pub(crate) fn zeroed(len: usize, operation: Operation, rank: usize) -> Result<Self, CommError> {
        Self::try_zeroed(len).ok_or(CommError::Allocation {
            operation,
            rank,
            bytes: len as u64,
        })
    }

    /// Makes the length at least `len`; what the bytes hold afterwards is not specified.
    pub(crate) fn grow(
        &mut self,
        len: usize,
        operation: Operation,
        rank: usize,
    ) -> Result<(), CommError> {
        if self.len < len {
            *self = Self::default();
            *self = Self::zeroed(len, operation, rank)?;
        }
        Ok(())
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.raw[self.start..self.start + self.len]
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.raw[self.start..self.start + self.len]
    }
}

/// Bytes that peers on this node can read without a copy through [`Communicator::lend`](crate::Communicator::lend).
///
/// Made by [`Communicator::alloc_shared`](crate::Communicator::alloc_shared), zeroed, the first byte at a multiple of 64.
/// Dropping it is local; memory that the ranks share is given back once every rank has dropped its part.
pub struct SharedBytes(Memory);

enum Memory {
    Heap(AlignedBytes),
    #[cfg(feature = "mpi")]
    Mpi(crate::mpi::SharedPart),
}

impl SharedBytes {
    /// `len` zeros on the heap, for a [`Communicator`](crate::Communicator) whose ranks can read each other's heap (or
    /// that never lends). Local.
    ///
    /// # Errors
    /// [`CommError::Allocation`] when the memory cannot be had.
    pub fn on_heap(len: usize, rank: usize) -> Result<Self, CommError> {
        AlignedBytes::zeroed(len, Operation::AllocShared, rank)
            .map(|bytes| Self(Memory::Heap(bytes)))
    }

    #[cfg(feature = "mpi")]
    pub(crate) fn on_node(part: crate::mpi::SharedPart) -> Self {
        Self(Memory::Mpi(part))
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Memory::Heap(bytes) => bytes,
            #[cfg(feature = "mpi")]
            Memory::Mpi(part) => part.bytes(),
        }
    }
}

impl DerefMut for SharedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.0 {
            Memory::Heap(bytes) => bytes,
            #[cfg(feature = "mpi")]
            Memory::Mpi(part) => part.bytes_mut(),
        }
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBytes")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_aligned_and_zero() {
        for len in [0, 1, 63, 64, 65, 4097] {
            let bytes = AlignedBytes::try_zeroed(len).unwrap();
            assert_eq!(bytes.len(), len);
            assert!(bytes.iter().all(|&byte| byte == 0));
            assert!(len == 0 || bytes.as_ptr().align_offset(ALIGNMENT) == 0);
        }
    }

    #[test]
    fn a_size_that_cannot_be_had_is_an_error() {
        assert!(AlignedBytes::try_zeroed(usize::MAX).is_none());
        assert!(AlignedBytes::try_zeroed(usize::MAX / 2).is_none());
        assert!(SharedBytes::on_heap(usize::MAX / 2, 3).is_err());
    }
}
