//! How the elements of a save will lie in the file.

use dap_protocol::ElementType;
use dist_maps::Distribution;

use super::SaveHdf5;
use crate::h5::chunk::{CHUNK_BYTES, Filter};
use crate::{FileLayout, IoError};

/// Bytes of a chunk, at most, where filters ask for chunks and nobody said which.
const CHUNK: u64 = 1 << 20;

impl SaveHdf5 {
    /// The filters, in the order of writing.
    pub(super) fn filters(&self) -> Result<Vec<Filter>, IoError> {
        let mut filters = Vec::new();
        if self.shuffle {
            filters.push(Filter::Shuffle);
        }
        match self.deflate {
            Some(level) if level > 9 => return Err(IoError::DeflateLevel { given: level }),
            Some(level) => filters.push(Filter::Deflate(level)),
            None => {}
        }
        if self.fletcher32 {
            filters.push(Filter::Fletcher32);
        }
        Ok(filters)
    }

    /// How the elements will lie in the file, and the filters that they go through.
    pub(in crate::h5) fn layout(
        &self,
        shape: &[u64],
        item: usize,
    ) -> Result<(FileLayout, Vec<Filter>), IoError> {
        let filters = self.filters()?;
        self.check_limits(shape)?;
        let chunk = match &self.chunk {
            Some(chunk) if chunk.len() != shape.len() => {
                return Err(IoError::Dimensions {
                    what: "the shape of the chunks",
                    given: chunk.len(),
                    allowed: shape.len(),
                });
            }
            // more than the array's extents is not allowed where these cannot grow
            Some(chunk) => {
                let axes = chunk.iter().zip(shape).enumerate();
                axes.map(|(axis, (&n, &size))| n.min(self.limit(axis, size).max(1)))
                    .collect()
            }
            None if filters.is_empty() && self.max_shape.is_none() => {
                return Ok((FileLayout::Contiguous, filters));
            }
            None => chosen(shape, item, CHUNK),
        };
        if shape.is_empty() {
            return Ok((FileLayout::Contiguous, filters));
        }
        let bytes = chunk
            .iter()
            .fold(item as u64, |bytes, &n: &u64| bytes.saturating_mul(n));
        if bytes > CHUNK_BYTES {
            return Err(IoError::ChunkBytes {
                given: bytes,
                allowed: CHUNK_BYTES,
            });
        }
        Ok((FileLayout::Chunked { chunk }, filters))
    }

    /// As [`layout`](Self::layout), of the elements of an array; those of records are bytes.
    pub(super) fn layout_of_bytes(
        &self,
        shape: &[u64],
        item: usize,
    ) -> Result<(FileLayout, Vec<Filter>), IoError> {
        let Some(record) = &self.record else {
            return self.layout(shape, item);
        };
        let records = &shape[..shape.len().saturating_sub(1)];
        let (mut layout, filters) = self.layout(records, record.bytes)?;
        if let FileLayout::Chunked { chunk } = &mut layout {
            chunk.push(record.bytes as u64);
        }
        Ok((layout, filters))
    }

    /// The largest extent that a dimension of this size may ever have.
    pub(super) fn limit(&self, axis: usize, size: u64) -> u64 {
        match &self.max_shape {
            None => size,
            Some(max) => max.get(axis).copied().flatten().unwrap_or(u64::MAX),
        }
    }

    pub(super) fn check_limits(&self, shape: &[u64]) -> Result<(), IoError> {
        let Some(max) = &self.max_shape else {
            return Ok(());
        };
        if max.len() != shape.len() {
            return Err(IoError::Dimensions {
                what: "the largest shape",
                given: max.len(),
                allowed: shape.len(),
            });
        }
        for (axis, (max, &given)) in max.iter().zip(shape).enumerate() {
            if let Some(allowed) = max.filter(|&max| given > max) {
                return Err(IoError::MaxExtent {
                    axis,
                    given,
                    allowed,
                });
            }
        }
        Ok(())
    }

    /// Checks that what is saved as records are such.
    pub(super) fn check_record(
        &self,
        element: ElementType,
        distribution: &Distribution,
    ) -> Result<(), IoError> {
        let Some(record) = &self.record else {
            return Ok(());
        };
        let wrong = |message: String| IoError::Record {
            field: String::new(),
            message,
        };
        if element != ElementType::U8 || !self.members.is_empty() {
            return Err(wrong(format!(
                "records are saved from bytes (u8), not from {element}"
            )));
        }
        let last = distribution.global_shape().last().copied();
        let axis = distribution.axes().last();
        let whole = axis.is_some_and(|axis| axis.ranks() == 1);
        if last != Some(record.bytes as u64) || !whole {
            return Err(wrong(format!(
                "the last dimension is a record of {} bytes, and not distributed",
                record.bytes
            )));
        }
        Ok(())
    }
}

/// Chunks of whole rows, as far as they fit in so many bytes.
pub(in crate::h5) fn chosen(shape: &[u64], item: usize, most: u64) -> Vec<u64> {
    let mut chunk: Vec<u64> = shape.iter().map(|&n| n.max(1)).collect();
    let bytes = |chunk: &[u64]| {
        let bytes = chunk.iter();
        bytes.fold(item as u64, |bytes, &n| bytes.saturating_mul(n))
    };
    for axis in 0..chunk.len() {
        while chunk[axis] > 1 && bytes(&chunk) > most {
            chunk[axis] = chunk[axis].div_ceil(2);
        }
    }
    chunk
}
