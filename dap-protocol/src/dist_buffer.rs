//! [`DistBuffer`]: version, buffer and metadata, the protocol's three keys as a type.

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

/// What is probably the matter with a buffer whose extent is not the dictionary's.
pub(crate) fn extent_hint(dim: &DimDict) -> Option<&'static str> {
    match dim.dist() {
        // The reference implementation credits a partial last block to rank 0.
        Dist::Cyclic { block_size, .. } if !dim.size().is_multiple_of(*block_size) => Some(
            "; block-cyclic with a partial last block: DistArray counts it on grid rank 0, such a buffer holds wrong elements and cannot be read",
        ),
        _ => None,
    }
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
            let hint = extent_hint(dim);
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
