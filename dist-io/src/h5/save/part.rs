//! What ranks give to be saved: elements in C order, edges that they own.

use std::borrow::Cow;

use dap_protocol::{DistBuffer, ElementType, HostBuffer, LocalBuffer, Order, ProtocolVersion};

use crate::IoError;

/// Refuses a part that does not own the padding at its periodic edges: the whole has no elements there then.
pub(in crate::h5) fn check_edges<B: LocalBuffer>(part: &DistBuffer<B>) -> Result<(), IoError> {
    if part.version() == ProtocolVersion::CURRENT {
        return Ok(());
    }
    let owned = part.owned_shape();
    let differs = |(dim, &owned): (&dap_protocol::DimDict, &u64)| dim.owned_len() != owned;
    match part.dim_data().iter().zip(&owned).position(differs) {
        Some(axis) => Err(IoError::PeriodicEdge { axis }),
        None => Ok(()),
    }
}

/// A buffer's bytes in C order, where they are if they lie so.
pub(in crate::h5) fn bytes_of(
    buffer: &impl HostBuffer,
    element: ElementType,
) -> Result<Cow<'_, [u8]>, IoError> {
    if let Some((bytes, Order::C)) = buffer.contiguous_bytes() {
        return Ok(Cow::Borrowed(bytes));
    }
    let elements = buffer
        .shape()
        .iter()
        .try_fold(1_usize, |n, &extent| n.checked_mul(extent));
    let bytes = elements.and_then(|n| n.checked_mul(element.size()));
    let bytes = bytes.unwrap_or(usize::MAX);
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes)
        .map_err(|_| IoError::Memory { bytes })?;
    buffer.visit_bytes(&mut |piece| copy.extend_from_slice(piece));
    Ok(Cow::Owned(copy))
}
