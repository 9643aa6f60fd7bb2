//! Elements as slices and bytes: what movement needs of an `ndarray`.

use std::borrow::Cow;

use bytemuck::Pod;
use dap_protocol::{Element, ElementType};
use dist_maps::Transfer;
use dist_maps::copy::{CopyError, Layout};
use ndarray::{ArrayView, ArrayViewMut, Axis, Dimension};

/// Hands `f` the elements as a slice with its layout: borrowed where they are dense in any order, else a copy in C order.
pub(crate) fn with_memory<T: Copy, D: Dimension, R>(
    array: &ArrayView<'_, T, D>,
    f: impl FnOnce(&[T], &Layout) -> R,
) -> Result<R, CopyError> {
    if let Some(slice) = array.as_slice_memory_order() {
        return Ok(f(
            slice,
            &Layout::in_memory_order(array.shape(), array.strides())?,
        ));
    }
    let copy: Vec<T> = array.iter().copied().collect();
    Ok(f(&copy, &Layout::c_order(array.shape())?))
}

/// The same for writing; a copy is written back.
pub(crate) fn with_memory_mut<T: Copy, D: Dimension, R>(
    mut array: ArrayViewMut<'_, T, D>,
    f: impl FnOnce(&mut [T], &Layout) -> R,
) -> Result<R, CopyError> {
    let layout = Layout::in_memory_order(array.shape(), array.strides())?;
    if let Some(slice) = array.as_slice_memory_order_mut() {
        return Ok(f(slice, &layout));
    }
    let mut copy: Vec<T> = array.iter().copied().collect();
    let result = f(&mut copy, &Layout::c_order(array.shape())?);
    for (slot, element) in array.iter_mut().zip(copy) {
        *slot = element;
    }
    Ok(result)
}

/// Packs a message as bytes.
pub(crate) fn pack<T: Element>(
    transfer: &Transfer,
    src: &[T],
    layout: &Layout,
    bytes: &mut [u8],
) -> Result<(), CopyError> {
    // As words of the same size and alignment, so that bytes that are no value (of `bool`) need not be thought of, and types
    // of equal size share the code.
    match (size_of::<T>(), align_of::<T>()) {
        (1, 1) => pack_words::<u8, T>(transfer, src, layout, bytes),
        (2, 2) => pack_words::<u16, T>(transfer, src, layout, bytes),
        (4, 4) => pack_words::<u32, T>(transfer, src, layout, bytes),
        (8, 4) => pack_words::<[u32; 2], T>(transfer, src, layout, bytes),
        (8, 8) => pack_words::<u64, T>(transfer, src, layout, bytes),
        _ => pack_words::<[u64; 2], T>(transfer, src, layout, bytes),
    }
}

fn pack_words<W: Pod, T: Element>(
    transfer: &Transfer,
    src: &[T],
    layout: &Layout,
    bytes: &mut [u8],
) -> Result<(), CopyError> {
    const { assert!(size_of::<T>() <= 16) };
    let src: &[W] = bytemuck::cast_slice(src);
    if let Ok(words) = bytemuck::try_cast_slice_mut(bytes) {
        return transfer.pack(src, layout, words);
    }
    // A communicator of a stranger that does not align its buffers.
    let mut words = vec![W::zeroed(); transfer.elements()];
    transfer.pack(src, layout, &mut words)?;
    let packed: &[u8] = bytemuck::cast_slice(&words);
    if bytes.len() != packed.len() {
        return Err(CopyError::PackedLength {
            given: bytes.len() / size_of::<T>(),
            allowed: transfer.elements(),
        });
    }
    bytes.copy_from_slice(packed);
    Ok(())
}

/// Unpacks a message from bytes.
pub(crate) fn unpack<T: Element>(
    transfer: &Transfer,
    bytes: &[u8],
    dst: &mut [T],
    layout: &Layout,
) -> Result<(), CopyError> {
    transfer.unpack(&elements(bytes), dst, layout)
}

/// Copies from memory that a peer lends.
pub(crate) fn copy<T: Element>(
    transfer: &Transfer,
    (bytes, bytes_layout): (&[u8], &Layout),
    (dst, layout): (&mut [T], &Layout),
) -> Result<(), CopyError> {
    if T::TYPE == ElementType::Bool {
        // Bytes may be no `bool`: those that are copied are looked at, not all that the peer has.
        let mut words = vec![0; transfer.elements()];
        transfer.pack(bytes, bytes_layout, &mut words)?;
        return unpack(transfer, &words, dst, layout);
    }
    transfer.copy(&elements(bytes), bytes_layout, dst, layout)
}

/// The elements that a peer sent or lends: borrowed where they are aligned, else a copy. Bytes that are no value of the type
/// end the list, which the copy that follows refuses; the peer has the same type, so there are none.
pub(crate) fn elements<T: Element>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::checked::try_cast_slice(bytes) {
        Ok(elements) => Cow::Borrowed(elements),
        Err(_) => Cow::Owned(
            bytes
                .chunks_exact(size_of::<T>())
                .map_while(|element| bytemuck::checked::try_pod_read_unaligned(element).ok())
                .collect(),
        ),
    }
}

/// Hands over all elements in C order, in runs as long as the memory allows.
pub(crate) fn for_each_run<T: Copy, D: Dimension>(
    elements: &ArrayView<'_, T, D>,
    mut see: impl FnMut(&[T]),
) {
    if let Some(all) = elements.as_slice() {
        see(all);
        return;
    }
    let ndim = elements.ndim();
    if ndim == 0 || elements.is_empty() {
        elements
            .iter()
            .for_each(|element| see(std::slice::from_ref(element)));
        return;
    }
    let mut buffer = Vec::new();
    for lane in elements.lanes(Axis(ndim - 1)) {
        if let Some(lane) = lane.as_slice() {
            see(lane);
        } else {
            buffer.clear();
            buffer.extend(lane.iter().copied());
            see(&buffer);
        }
    }
}
