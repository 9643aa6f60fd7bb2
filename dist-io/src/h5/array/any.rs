//! [`H5Any`]: a handle whose element type is known when the program runs, and [`HostBytes`], what it loads.

use std::collections::BTreeMap;

use dap_protocol::{
    DistBuffer, DistributedArray, Element, ElementType, HostArray, HostBuffer, LocalBuffer, Order,
    copy_bytes_to_elements,
};
use dist_comm::agree::agree;
use dist_maps::{Distribution, Index};

use super::handle::{Handle, axis_of};
use super::pieces::{By, Pieces, Within};
use super::write::Checked;
use super::{H5Array, read, write};
use crate::h5::AttributeValue;
use crate::{IoError, IoReport};

/// A lazy array of any element type: a member of a [`Tree`](crate::Tree). [`typed`](Self::typed) makes an [`H5Array`] of it.
#[derive(Clone)]
pub struct H5Any<'c> {
    pub(in crate::h5) handle: Handle<'c>,
}

impl std::fmt::Debug for H5Any<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("H5Any")
            .field("key", &self.key())
            .field("dtype", &self.dtype())
            .field("shape", &self.shape())
            .finish_non_exhaustive()
    }
}

impl<'c> H5Any<'c> {
    /// Extents, in elements.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        self.handle.shape()
    }

    /// The element type.
    #[must_use]
    pub fn dtype(&self) -> ElementType {
        self.handle.dataset.element
    }

    /// Bytes of all elements of all ranks.
    #[must_use]
    pub fn nbytes(&self) -> u64 {
        self.handle.nbytes()
    }

    /// The key of the dataset, from the root of the file.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.handle.dataset.key
    }

    /// The attributes of the dataset that are single texts or numbers, by name.
    #[must_use]
    pub fn attributes(&self) -> &BTreeMap<String, AttributeValue> {
        &self.handle.dataset.attributes
    }

    /// The text of the attribute `units`, or of `unit`.
    #[must_use]
    pub fn unit(&self) -> Option<&str> {
        self.handle.unit()
    }

    /// How what is seen of the dataset is distributed over the ranks.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.handle.distribution
    }

    /// The handle, if its elements are of this type.
    ///
    /// # Errors
    /// [`IoError::ElementType`].
    pub fn typed<T: Element>(&self) -> Result<H5Array<'c, T>, IoError> {
        H5Array::of(self.handle.clone())
    }

    /// As [`H5Array::slice`]. Local.
    ///
    /// # Errors
    /// As [`H5Array::slice`].
    pub fn slice(&self, items: &[Index]) -> Result<Self, IoError> {
        let handle = self.handle.slice(items)?;
        Ok(Self { handle })
    }

    /// As [`H5Array::take`]. Local.
    ///
    /// # Errors
    /// As [`H5Array::take`].
    pub fn take(&self, axis: i64, indices: &[i64]) -> Result<Self, IoError> {
        let axis = axis_of(axis, self.shape().len())?;
        let handle = self.handle.take(axis, indices)?;
        Ok(Self { handle })
    }

    /// As [`H5Array::compress`]. Local.
    ///
    /// # Errors
    /// As [`H5Array::compress`].
    pub fn compress(&self, axis: i64, flags: &[bool]) -> Result<Self, IoError> {
        let axis = axis_of(axis, self.shape().len())?;
        let handle = self.handle.compress(axis, flags)?;
        Ok(Self { handle })
    }

    /// As [`H5Array::target_offsets`]. Local.
    ///
    /// # Errors
    /// As [`H5Array::target_offsets`].
    pub fn target_offsets(&self, offsets: &[(i64, &[u64])]) -> Result<Self, IoError> {
        let handle = self.handle.target_offsets(offsets)?;
        Ok(Self { handle })
    }

    /// As [`H5Array::target_ranks`]. Local.
    ///
    /// # Errors
    /// As [`H5Array::target_ranks`].
    pub fn target_ranks(&self, ranks: impl AsRef<[usize]>) -> Result<Self, IoError> {
        let handle = self.handle.target_ranks(ranks.as_ref())?;
        Ok(Self { handle })
    }

    /// As [`H5Array::distaxes`]. Local.
    ///
    /// # Errors
    /// As [`H5Array::distaxes`].
    pub fn distaxes(&self, axes: impl AsRef<[i64]>) -> Result<Self, IoError> {
        let handle = self.handle.distaxes(axes.as_ref())?;
        Ok(Self { handle })
    }

    /// As [`H5Array::distribute`]. Local.
    ///
    /// # Errors
    /// As [`H5Array::distribute`].
    pub fn distribute(&self, distribution: &Distribution) -> Result<Self, IoError> {
        let handle = self.handle.distribute(distribution)?;
        Ok(Self { handle })
    }

    /// As [`H5Array::load`], into a buffer that knows its element type. Collective.
    ///
    /// # Errors
    /// As [`H5Array::load`].
    pub fn load(&self) -> Result<DistBuffer<HostBytes>, IoError> {
        read::load_bytes(&self.handle)
    }

    /// As [`H5Array::assign`]. Collective.
    ///
    /// # Errors
    /// As [`H5Array::assign`].
    pub fn assign<'a, A>(&self, array: &'a A) -> Result<IoReport, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let part = array.distarray();
        self.put(&self.check(&part)?)
    }

    /// Checks that parts can be assigned. Collective.
    pub(in crate::h5) fn check<'a, B: HostBuffer>(
        &self,
        part: &'a DistBuffer<B>,
    ) -> Result<Checked<'a>, IoError> {
        write::check(&self.handle, part)
    }

    /// Assigns what was checked. Collective.
    pub(in crate::h5) fn put(&self, checked: &Checked<'_>) -> Result<IoReport, IoError> {
        write::assign(&self.handle, checked)
    }

    /// Assigns one element, as its bytes, to all. Collective; equal handles and elements.
    pub(in crate::h5) fn fill_bytes(&self, bytes: &[u8]) -> Result<IoReport, IoError> {
        self.handle.same()?;
        write::fill_bytes(&self.handle, bytes)
    }
}

/// What is done with a piece: this rank's parts of it of all members, and the offsets at which it begins.
type Visit<'a> = dyn FnMut(Vec<DistBuffer<HostBytes>>, &[u64]) -> Result<(), IoError> + 'a;

/// Loads arrays of one shape piece by piece, as [`H5Array::for_each_fragment`] does one. Collective.
pub(in crate::h5) fn each_piece(
    members: &[&H5Any<'_>],
    budget: u64,
    f: &mut Visit<'_>,
) -> Result<(), IoError> {
    let Some(first) = members.first() else {
        return Ok(());
    };
    let leaves: Vec<Handle<'_>> = members.iter().map(|any| any.handle.clone()).collect();
    let within = Within {
        by: By::Longest,
        budget,
        ahead: true,
    };
    let ndim = first.shape().len();
    let pieces = Pieces::new(&leaves[0], &leaves, within, &|_| Ok(0))?;
    pieces.each::<u8>(&mut |piece, loaded| {
        let parts = loaded.into_iter().zip(&leaves);
        let parts = parts.map(|(part, leaf)| part.into_bytes(leaf.dataset.element));
        let parts = parts.collect::<Result<Vec<_>, IoError>>();
        f(agree(leaves[0].comm, parts)?, &piece.offsets(ndim))
    })
}

/// A buffer in C order in host memory whose element type is known when the program runs. What takes a
/// [`HostBuffer`] takes it; [`typed`](Self::typed) gives its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostBytes {
    shape: Vec<usize>,
    element: ElementType,
    bytes: Vec<u8>,
}

impl HostBytes {
    pub(super) fn new(shape: Vec<usize>, element: ElementType, bytes: Vec<u8>) -> Self {
        Self {
            shape,
            element,
            bytes,
        }
    }

    /// The elements, if they are of this type.
    ///
    /// # Errors
    /// [`IoError::ElementType`]; [`IoError::Memory`].
    pub fn typed<T: Element>(&self) -> Result<HostArray<T>, IoError> {
        if self.element != T::TYPE {
            return Err(IoError::ElementType {
                given: self.element,
                allowed: T::TYPE,
            });
        }
        let mut elements = Vec::new();
        let count = self.bytes.len() / size_of::<T>();
        elements
            .try_reserve_exact(count)
            .map_err(|_| IoError::Memory {
                bytes: self.bytes.len(),
            })?;
        elements.resize(count, T::default());
        copy_bytes_to_elements(&self.bytes, &mut elements).map_err(|_| IoError::BufferLength {
            given: self.bytes.len(),
            allowed: count * size_of::<T>(),
        })?;
        Ok(HostArray::new(self.shape.clone(), elements)?)
    }
}

impl LocalBuffer for HostBytes {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn element_type(&self) -> ElementType {
        self.element
    }
}

impl HostBuffer for HostBytes {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        Some((&self.bytes, Order::C))
    }

    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit(&self.bytes);
    }
}
