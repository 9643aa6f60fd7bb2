//! Writing a `.dnpy` stream.

use std::io::Write;

use dap_protocol::{DistBuffer, HostBuffer};

use crate::header::{Alignment, FormatVersion, header_bytes};
use crate::npy::ByteOrder;
use crate::{DnpyError, npy};

/// How a part is written. The default is what `DistArray` would write.
///
/// ```
/// use dnpy_format::{Alignment, WriteOptions};
/// let options = WriteOptions::new().alignment(Alignment::SixtyFour);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// The format version; `None` takes the smallest one that the header fits.
    pub format: Option<FormatVersion>,
    /// What the end of the header is aligned to.
    pub alignment: Alignment,
    /// The byte order of the elements; by default this machine's.
    pub byte_order: ByteOrder,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            format: None,
            alignment: Alignment::Sixteen,
            byte_order: ByteOrder::NATIVE,
        }
    }
}

impl WriteOptions {
    /// The default.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same with a given format version.
    #[must_use]
    pub fn format(mut self, format: FormatVersion) -> Self {
        self.format = Some(format);
        self
    }

    /// The same with another alignment.
    #[must_use]
    pub fn alignment(mut self, alignment: Alignment) -> Self {
        self.alignment = alignment;
        self
    }

    /// The same with a given byte order.
    #[must_use]
    pub fn byte_order(mut self, byte_order: ByteOrder) -> Self {
        self.byte_order = byte_order;
        self
    }
}

/// Writes one part as a `.dnpy` stream: the bytes that `DistArray` writes, the keys of each
/// dimension in alphabetical order.
///
/// Contiguous buffers are written as they lie, Fortran order included; strided ones in C order.
///
/// # Errors
/// [`DnpyError::NoTypeCode`] for bfloat16, [`DnpyError::HeaderLength`], and what the writer fails
/// with.
pub fn write_localarray<W: Write + ?Sized, B: HostBuffer>(
    writer: &mut W,
    part: &DistBuffer<B>,
) -> Result<(), DnpyError> {
    write_localarray_with(writer, part, WriteOptions::default())
}

/// [`write_localarray`] with options.
///
/// # Errors
/// As [`write_localarray`].
pub fn write_localarray_with<W: Write + ?Sized, B: HostBuffer>(
    writer: &mut W,
    part: &DistBuffer<B>,
    options: WriteOptions,
) -> Result<(), DnpyError> {
    // both headers before the first byte: what cannot be written leaves nothing half written
    let mut headers = header_bytes(
        part.version(),
        part.dim_data(),
        options.format,
        options.alignment,
    )?;
    headers.extend(npy::header_for(part.buffer(), options.byte_order)?);
    npy::write_behind(&headers, writer, part.buffer(), options.byte_order)
}
