//! Reading a `.dnpy` stream from any reader, front to back.

use std::io::Read;

use dap_protocol::{
    DimData, DistBuffer, Element, ElementType, HostArray, LocalBuffer, ProtocolVersion,
};

use crate::any::{AnyPart, with_element};
use crate::header::{FormatVersion, header_of};
use crate::magic::magic_of;
use crate::repair::Repair;
use crate::source::Source;
use crate::{DnpyError, npy};

/// Everything that a `.dnpy` file says before its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct PartInfo {
    format: FormatVersion,
    version: ProtocolVersion,
    dim_data: DimData,
    array: npy::Header,
    repairs: Vec<Repair>,
    text_offset: u64,
}

impl PartInfo {
    /// The version of the file format.
    #[must_use]
    pub fn format_version(&self) -> FormatVersion {
        self.format
    }

    /// The version of the protocol that the metadata follows.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// The metadata; its local shape is the array's.
    #[must_use]
    pub fn dim_data(&self) -> &DimData {
        &self.dim_data
    }

    /// The array's own header: element type, byte order, order, shape, offset.
    #[must_use]
    pub fn array(&self) -> &npy::Header {
        &self.array
    }

    /// What was not as the format says, in either header, and was read nevertheless.
    #[must_use]
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Puts metadata and buffer together.
    pub(crate) fn part<B: LocalBuffer>(&self, buffer: B) -> Result<DistBuffer<B>, DnpyError> {
        DistBuffer::with_version(self.version, self.dim_data.clone(), buffer)
            .map_err(|source| self.protocol_error(source))
    }

    fn protocol_error(&self, source: dap_protocol::ProtocolError) -> DnpyError {
        DnpyError::Protocol {
            offset: self.text_offset,
            source,
        }
    }
}

/// A buffer that is only a shape, to check metadata against before any element is read.
struct Shape<'a>(&'a npy::Header);

impl LocalBuffer for Shape<'_> {
    fn shape(&self) -> &[usize] {
        self.0.shape()
    }
    fn element_type(&self) -> ElementType {
        self.0.element_type()
    }
}

/// Reads everything before the elements; the source then stands at the first one.
pub(crate) fn info_of<R: Read>(source: &mut Source<R>) -> Result<PartInfo, DnpyError> {
    let at = source.offset();
    let (major, minor) = magic_of(source)?;
    let format =
        FormatVersion::from_parts(major, minor).ok_or_else(|| DnpyError::FormatVersion {
            offset: at + 6,
            format: ".dnpy",
            given: (major, minor),
            allowed: "1.0, 2.0",
        })?;
    let prefix = if format == FormatVersion::V1_0 { 2 } else { 4 };
    let text_offset = source.offset() + prefix;
    let header = header_of(source, format)?;
    let array = npy::header_of(source)?;
    let (dim_data, mut repairs) = header.dim_data(Some(array.shape()))?;
    repairs.extend_from_slice(array.repairs());
    let info = PartInfo {
        format,
        version: header.version(),
        dim_data,
        array,
        repairs,
        text_offset,
    };
    info.part(Shape(&info.array))?;
    Ok(info)
}

/// Reads the headers of a `.dnpy` stream; the reader then stands at the first element.
///
/// # Errors
/// [`DnpyError`] with the byte offset.
pub fn read_info<R: Read + ?Sized>(reader: &mut R) -> Result<PartInfo, DnpyError> {
    info_of(&mut Source::new(reader))
}

/// Reads one part from a `.dnpy` stream. Bytes after it stay unread.
///
/// The elements must be of type `T`; they come in native byte order, in the order (C or Fortran)
/// of the file. Memory grows with the bytes that arrive, whatever the header claims. For a file
/// by its name [`load`](crate::load) is faster.
///
/// # Errors
/// [`DnpyError`] with the byte offset of what is wrong.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dnpy_format::{read_localarray, write_localarray};
/// let dim_data = DimData::new(vec![DimDict::block(10, 2, 1, 5..10)?]);
/// let part = DistBuffer::new(dim_data, HostArray::new(vec![5], vec![5.0_f64, 6.0, 7.0, 8.0, 9.0])?)?;
/// let mut file = Vec::new();
/// write_localarray(&mut file, &part)?;
/// assert_eq!(read_localarray::<f64, _>(&mut &file[..])?, part);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_localarray<T: Element, R: Read + ?Sized>(
    reader: &mut R,
) -> Result<DistBuffer<HostArray<T>>, DnpyError> {
    let mut source = Source::new(reader);
    let info = info_of(&mut source)?;
    info.part(npy::elements(&mut source, info.array())?)
}

/// Reads one part whatever its element type is.
///
/// # Errors
/// As [`read_localarray`].
pub fn read_localarray_any<R: Read + ?Sized>(reader: &mut R) -> Result<AnyPart, DnpyError> {
    let mut source = Source::new(reader);
    let info = info_of(&mut source)?;
    let element = info.array().element_type();
    with_element!(
        element,
        T => Ok(info.part(npy::elements::<T, _>(&mut source, info.array())?)?.into()),
        else Err(DnpyError::NoTypeCode { element })
    )
}
