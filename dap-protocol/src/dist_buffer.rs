//! [`DistBuffer`]: version, buffer and metadata, the protocol's three keys as a type.

use std::ops::Range;

use crate::{DimData, DimDict, Dist, LocalBuffer, ProtocolError, ProtocolVersion};

/// One rank's part of a distributed array: what `__distarray__` returns.
///
/// Checked when made and private after: the buffer's shape is what `dim_data` describes. `B` is
/// any buffer, owned or borrowed, in host memory or on a device.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// let part = HostArray::new(vec![5], vec![5.0_f64, 6.0, 7.0, 8.0, 9.0])?;
/// let dim_data = DimData::new(vec![DimDict::block(10, 2, 1, 5..10)?]);
/// let shared = DistBuffer::new(dim_data, part)?;
/// assert_eq!(shared.dim_data().global_shape(), [10]);
/// # Ok::<(), dap_protocol::ProtocolError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DistBuffer<B> {
    version: ProtocolVersion,
    dim_data: DimData,
    buffer: B,
}

impl<B: LocalBuffer> DistBuffer<B> {
    /// A part described by the current version of the protocol.
    ///
    /// Metadata that was read by another version belongs into [`DistBuffer::with_version`]: 0.9
    /// counts padding at the edges of a periodic dimension otherwise, and the dictionaries do not
    /// show by which version they were made.
    ///
    /// # Errors
    /// [`ProtocolError::BufferRank`] or [`ProtocolError::BufferShape`] when buffer and metadata differ.
    pub fn new(dim_data: DimData, buffer: B) -> Result<Self, ProtocolError> {
        Self::with_version(ProtocolVersion::CURRENT, dim_data, buffer)
    }

    /// A part described by a given version.
    ///
    /// # Errors
    /// As [`DistBuffer::new`], and [`ProtocolError::UnsupportedVersion`].
    pub fn with_version(
        version: ProtocolVersion,
        dim_data: DimData,
        buffer: B,
    ) -> Result<Self, ProtocolError> {
        if !version.is_supported() {
            return Err(ProtocolError::UnsupportedVersion { given: version });
        }
        check_shape(&dim_data, buffer.shape())?;
        Ok(Self {
            version,
            dim_data,
            buffer,
        })
    }

    /// The same metadata over another buffer of the same shape (host to device, say).
    ///
    /// # Errors
    /// As [`DistBuffer::new`], for the new buffer.
    pub fn map_buffer<C: LocalBuffer>(
        self,
        f: impl FnOnce(B) -> C,
    ) -> Result<DistBuffer<C>, ProtocolError> {
        DistBuffer::with_version(self.version, self.dim_data, f(self.buffer))
    }
}

impl<B> DistBuffer<B> {
    /// The version of the protocol that the metadata follows.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The global range owned along `axis`, by the rule of this part's own version; `None` where
    /// that is no block, or no dimension. [`DimDict::owned_range`] follows 0.10 always.
    #[must_use]
    pub fn owned_range(&self, axis: usize) -> Option<Range<u64>> {
        let dim = self.dim_data.dims().get(axis)?;
        dim.owned_range_in(self.version)
    }

    /// Elements owned per dimension, by the rule of this part's own version.
    #[must_use]
    pub fn owned_shape(&self) -> Vec<u64> {
        let owned = |dim: &DimDict| dim.owned_len_in(self.version);
        self.dim_data.iter().map(owned).collect()
    }

    /// The metadata.
    #[must_use]
    pub fn dim_data(&self) -> &DimData {
        &self.dim_data
    }

    /// The buffer.
    #[must_use]
    pub fn buffer(&self) -> &B {
        &self.buffer
    }

    /// The same part with the buffer borrowed.
    #[must_use]
    pub fn as_ref(&self) -> DistBuffer<&B> {
        DistBuffer {
            version: self.version,
            dim_data: self.dim_data.clone(),
            buffer: &self.buffer,
        }
    }

    /// Version, metadata, buffer.
    #[must_use]
    pub fn into_parts(self) -> (ProtocolVersion, DimData, B) {
        (self.version, self.dim_data, self.buffer)
    }
}

/// What is probably the matter with a buffer whose extent `given` is not the dictionary's.
pub(crate) fn extent_hint(dim: &DimDict, given: u64) -> Option<&'static str> {
    match *dim.dist() {
        Dist::Cyclic { block_size, .. } if Some(given) == distarrays_extent(dim, block_size) => {
            Some(
                "; block-cyclic with a partial last block: DistArray counts it on grid rank 0, such a buffer holds wrong elements and cannot be read",
            )
        }
        Dist::Block { .. } if given == dim.owned_len() => {
            Some("; it has room for what is owned, and none for the padding, which lies around it")
        }
        _ => None,
    }
}

/// The extent by the formula of the reference implementation: full blocks dealt in turn, and a
/// partial last one on rank 0 whoever's turn it is.
fn distarrays_extent(dim: &DimDict, block_size: u64) -> Option<u64> {
    let (full, partial) = (dim.size() / block_size, dim.size() % block_size);
    let (ranks, rank) = (
        u64::try_from(dim.grid_size()).ok()?,
        u64::try_from(dim.grid_rank()).ok()?,
    );
    let blocks = full / ranks + u64::from(rank < full % ranks);
    blocks
        .checked_mul(block_size)?
        .checked_add(if rank == 0 { partial } else { 0 })
}

fn check_shape(dim_data: &DimData, shape: &[usize]) -> Result<(), ProtocolError> {
    if shape.len() != dim_data.ndim() {
        return Err(ProtocolError::BufferRank {
            given: shape.len(),
            expected: dim_data.ndim(),
        });
    }
    for (axis, (dim, &extent)) in dim_data.into_iter().zip(shape).enumerate() {
        let (given, expected) = (u64::try_from(extent).unwrap_or(u64::MAX), dim.stored_len());
        if given != expected {
            let hint = extent_hint(dim, given);
            return Err(ProtocolError::BufferShape {
                axis,
                given,
                expected,
                hint,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostArray;

    #[test]
    fn what_is_owned_follows_the_parts_own_version() {
        let edge = DimDict::block(18, 2, 0, 0..10)
            .and_then(|dim| dim.with_padding(1, 1)?.with_periodic(true))
            .unwrap();
        let data = DimData::new(vec![edge, DimDict::cyclic(5, 2, 0, 2).unwrap()]);
        let part = |version| {
            let buffer = HostArray::new(vec![10, 3], vec![0_u8; 30]).unwrap();
            let part = DistBuffer::with_version(version, data.clone(), buffer).unwrap();
            let ranges = [0, 1, 2].map(|axis| part.owned_range(axis));
            (part.owned_shape(), ranges)
        };
        assert_eq!(
            part(ProtocolVersion::V0_10_0),
            (vec![9, 3], [Some(0..9), None, None])
        );
        assert_eq!(
            part(ProtocolVersion::V0_9_0),
            (vec![8, 3], [Some(1..9), None, None])
        );
    }

    #[test]
    fn the_hint_is_for_the_extent_that_distarray_would_give() {
        // 7 in blocks of 2 on two ranks: 4 and 3 elements, DistArray has 5 and 2
        let hint = |rank, extent: usize| {
            let dim_data = DimData::new(vec![DimDict::cyclic(7, 2, rank, 2).unwrap()]);
            let buffer = HostArray::new(vec![extent], vec![0_u8; extent]).unwrap();
            match DistBuffer::new(dim_data, buffer) {
                Err(ProtocolError::BufferShape { hint, .. }) => hint.is_some(),
                other => panic!("{other:?}"),
            }
        };
        assert!(hint(0, 5) && hint(1, 2));
        assert!(!hint(0, 3) && !hint(0, 2) && !hint(1, 5) && !hint(1, 4));
        // 10 in blocks of 4 on three ranks: 6, 4, 0
        let extents: Vec<_> = (0..3)
            .map(|rank| distarrays_extent(&DimDict::cyclic(10, 3, rank, 4).unwrap(), 4))
            .collect();
        assert_eq!(extents, [Some(6), Some(4), Some(0)]);
    }

    #[test]
    fn the_hint_names_padding_that_was_left_out() {
        // 9 owned of 10 stored
        let dim = DimDict::block(18, 2, 1, 8..18)
            .and_then(|dim| dim.with_padding(1, 1))
            .unwrap();
        assert!(extent_hint(&dim, 9).is_some_and(|hint| hint.contains("padding")));
        assert_eq!(extent_hint(&dim, 8), None);
    }
}
