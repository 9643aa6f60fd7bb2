//! [`Header`]: version and `dim_data` as they stand at the start of a `.dnpy` file.

use std::io::{Read, Write};

use dap_protocol::check::{self, Strictness};
use dap_protocol::literal::{MAX_LEN, Note, Value, parse_with_notes};
use dap_protocol::{DimData, ProtocolVersion};

use crate::DnpyError;
use crate::magic::magic;
use crate::npy::key_list;
use crate::repair::Repair;
use crate::source::Source;

/// The `.dnpy` format versions that this crate reads and writes.
///
/// Version 1.0 is `DistArray`'s. Version 2.0 is the same with a header length of 32 bits in place
/// of 16, for headers over 65,535 bytes (long `indices`), as `.npy` did it: after the eight bytes
/// of magic string and version come four bytes, the header's length, little-endian; the header
/// ends with spaces and a newline so that its end is a multiple of 16 bytes from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FormatVersion {
    /// 1.0: a header of at most 65,535 bytes.
    V1_0,
    /// 2.0: a header of at most 2²⁸ bytes ([`MAX_LEN`]); its length could say more, but a literal may have no more.
    V2_0,
}

impl FormatVersion {
    /// Major and minor version.
    #[must_use]
    pub const fn parts(self) -> (u8, u8) {
        match self {
            Self::V1_0 => (1, 0),
            Self::V2_0 => (2, 0),
        }
    }

    /// The version of two numbers, where it is known.
    #[must_use]
    pub const fn from_parts(major: u8, minor: u8) -> Option<Self> {
        match (major, minor) {
            (1, 0) => Some(Self::V1_0),
            (2, 0) => Some(Self::V2_0),
            _ => None,
        }
    }

    /// Bytes before the header's text: magic string, version, length.
    const fn prefix_len(self) -> usize {
        match self {
            Self::V1_0 => 10,
            Self::V2_0 => 12,
        }
    }

    const fn max_header(self) -> u64 {
        match self {
            Self::V1_0 => u16::MAX as u64,
            Self::V2_0 => MAX_LEN as u64,
        }
    }
}

/// What the end of a header is aligned to, in bytes from the start of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Alignment {
    /// 16, as the format says and `DistArray` writes. One to sixteen spaces, never none.
    #[default]
    Sixteen,
    /// 64, a cache line: the elements of a mapped file are then aligned to it too. Every reader
    /// takes it, for it is a multiple of 16; the bytes are not `DistArray`'s.
    SixtyFour,
}

impl Alignment {
    const fn bytes(self) -> usize {
        match self {
            Self::Sixteen => 16,
            Self::SixtyFour => 64,
        }
    }
}

/// The header of a `.dnpy` file, read but not yet put together with the array's shape.
///
/// A dimension may be the empty dictionary `{}`, "all of it is here": what that means is only
/// known with the shape of the array that follows, see [`Header::dim_data`].
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    version: ProtocolVersion,
    dim_data: Value,
    repairs: Vec<Repair>,
    text_offset: u64,
}

impl Header {
    /// The version of the protocol: `__version__`.
    #[must_use]
    pub fn version(&self) -> ProtocolVersion {
        self.version
    }

    /// `dim_data` as it was written.
    #[must_use]
    pub fn literal(&self) -> &Value {
        &self.dim_data
    }

    /// What was not as it should be in the text, and was read nevertheless.
    #[must_use]
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// `dim_data` for an array of the given shape, in elements, and all repairs made.
    ///
    /// Without a shape, `{}` has no meaning and is refused.
    ///
    /// # Errors
    /// [`DnpyError::Protocol`] with every rule that is broken.
    pub fn dim_data(&self, shape: Option<&[usize]>) -> Result<(DimData, Vec<Repair>), DnpyError> {
        let checked = check::dim_data(&self.dim_data, shape, self.version, Strictness::Lenient);
        let (dim_data, more) = checked
            .into_result()
            .map_err(|source| DnpyError::Protocol {
                offset: self.text_offset,
                source,
            })?;
        let mut repairs = self.repairs.clone();
        repairs.extend(more.into_iter().map(Repair::Metadata));
        Ok((dim_data, repairs))
    }
}

/// Reads a header of format version 1.0, from just behind the magic string to just before the
/// array. Offsets in errors count from the start of the file.
///
/// # Errors
/// [`DnpyError`] with the byte offset.
///
/// ```
/// use dnpy_format::{read_array_header_1_0, read_magic};
/// let mut file = &b"\x93DARRY\x01\x00\x2a\x00{'__version__': '0.10.0', 'dim_data': ()}\n"[..];
/// assert_eq!(read_magic(&mut file)?, (1, 0));
/// let header = read_array_header_1_0(&mut file)?;
/// assert_eq!(header.dim_data(Some(&[]))?.0.ndim(), 0);
/// # Ok::<(), dnpy_format::DnpyError>(())
/// ```
pub fn read_array_header_1_0<R: Read + ?Sized>(reader: &mut R) -> Result<Header, DnpyError> {
    let mut source = Source::at(reader, 8);
    header_of(&mut source, FormatVersion::V1_0)
}

/// Reads a header of format version 2.0, as [`read_array_header_1_0`] does 1.0.
///
/// # Errors
/// [`DnpyError`] with the byte offset.
pub fn read_array_header_2_0<R: Read + ?Sized>(reader: &mut R) -> Result<Header, DnpyError> {
    let mut source = Source::at(reader, 8);
    header_of(&mut source, FormatVersion::V2_0)
}

pub(crate) fn header_of<R: Read>(
    source: &mut Source<R>,
    format: FormatVersion,
) -> Result<Header, DnpyError> {
    let len = match format {
        FormatVersion::V1_0 => u16::from_le_bytes(source.array("the header's length")?).into(),
        FormatVersion::V2_0 => u32::from_le_bytes(source.array("the header's length")?),
    };
    let text_offset = source.offset();
    let bytes = source.text(len, "the header")?;
    if let Some(at) = bytes.iter().position(|b| !b.is_ascii()) {
        return Err(DnpyError::Encoding {
            offset: text_offset + at as u64,
            encoding: "ASCII",
        });
    }
    let text = String::from_utf8(bytes).map_err(|e| DnpyError::Encoding {
        offset: text_offset + e.utf8_error().valid_up_to() as u64,
        encoding: "ASCII",
    })?;
    let (value, notes) = parse_with_notes(&text).map_err(|source| DnpyError::Literal {
        offset: text_offset + source.offset as u64,
        source,
    })?;
    let (version, dim_data) = entries(value, text_offset)?;
    let (version, bent) = check::version(&version, Strictness::Lenient)
        .into_result()
        .map_err(|source| DnpyError::Protocol {
            offset: text_offset,
            source,
        })?;
    let at_file = |note: Note| Repair::Spelling {
        offset: text_offset + note.offset as u64,
        kind: note.kind,
    };
    Ok(Header {
        version,
        dim_data,
        repairs: notes
            .into_iter()
            .map(at_file)
            .chain(bent.into_iter().map(Repair::Metadata))
            .collect(),
        text_offset,
    })
}

fn entries(value: Value, offset: u64) -> Result<(Value, Value), DnpyError> {
    let refuse = |given| DnpyError::Keys {
        offset,
        given,
        allowed: "'__version__', 'dim_data'",
    };
    let Value::Dict(entries) = value else {
        return Err(refuse(value.type_name().to_owned()));
    };
    let keys = key_list(&entries);
    let (mut version, mut dim_data) = (None, None);
    for (key, value) in entries {
        match key.as_str() {
            "__version__" => version = Some(value),
            "dim_data" => dim_data = Some(value),
            _ => return Err(refuse(keys)),
        }
    }
    version.zip(dim_data).ok_or_else(|| refuse(keys))
}

/// Writes magic string and header, the part of a `.dnpy` file before the array; returns its
/// length in bytes.
///
/// `format` `None` takes the smallest version that the header fits. `dim_data` is spelled as it was
/// read ([`DimData::to_value_as_read`]), so that what is read and written again keeps its bytes.
///
/// # Errors
/// [`DnpyError::HeaderLength`], and what the writer fails with.
pub fn write_array_header<W: Write + ?Sized>(
    writer: &mut W,
    version: ProtocolVersion,
    dim_data: &DimData,
    format: Option<FormatVersion>,
    alignment: Alignment,
) -> Result<u64, DnpyError> {
    let bytes = header_bytes(version, dim_data, format, alignment)?;
    writer
        .write_all(&bytes)
        .map_err(DnpyError::stream("write"))?;
    Ok(bytes.len() as u64)
}

pub(crate) fn header_bytes(
    version: ProtocolVersion,
    dim_data: &DimData,
    format: Option<FormatVersion>,
    alignment: Alignment,
) -> Result<Vec<u8>, DnpyError> {
    let text = format!(
        "{{'__version__': '{version}', 'dim_data': {}, }}",
        dim_data.to_value_as_read()
    );
    let padded = |format: FormatVersion| {
        let end = format.prefix_len() + text.len() + 1;
        let align = alignment.bytes();
        let padding = align - end % align;
        (padding, (text.len() + padding + 1) as u64)
    };
    let fits = |format: FormatVersion| padded(format).1 <= format.max_header();
    let chosen = match format {
        Some(format) => format,
        None if fits(FormatVersion::V1_0) => FormatVersion::V1_0,
        None => FormatVersion::V2_0,
    };
    let (padding, len) = padded(chosen);
    let too_long = DnpyError::HeaderLength {
        version: chosen.parts(),
        given: len,
        allowed: chosen.max_header(),
    };
    let (major, minor) = chosen.parts();
    let mut bytes = Vec::with_capacity(chosen.prefix_len() + text.len() + padding + 1);
    bytes.extend_from_slice(&magic(major, minor));
    match chosen {
        FormatVersion::V1_0 => {
            let len = u16::try_from(len).map_err(|_| too_long)?;
            bytes.extend_from_slice(&len.to_le_bytes());
        }
        FormatVersion::V2_0 => {
            if len > chosen.max_header() {
                return Err(too_long);
            }
            let len = u32::try_from(len).map_err(|_| too_long)?;
            bytes.extend_from_slice(&len.to_le_bytes());
        }
    }
    bytes.extend_from_slice(text.as_bytes());
    bytes.resize(bytes.len() + padding, b' ');
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dap_protocol::DimDict;

    fn block() -> DimData {
        DimData::new(vec![DimDict::block(7, 4, 1, 2..4).unwrap()])
    }

    fn bytes(format: Option<FormatVersion>, alignment: Alignment) -> Vec<u8> {
        header_bytes(ProtocolVersion::CURRENT, &block(), format, alignment).unwrap()
    }

    #[test]
    fn one_block_dimension_is_150_bytes_and_a_scalar_54() {
        let first = bytes(None, Alignment::Sixteen);
        assert_eq!(first[..10], *b"\x93DARRY\x01\x00\x96\x00");
        assert_eq!(first.len(), 160);
        let scalar = header_bytes(
            ProtocolVersion::CURRENT,
            &DimData::default(),
            None,
            Alignment::Sixteen,
        )
        .unwrap();
        assert_eq!(scalar[..10], *b"\x93DARRY\x01\x00\x36\x00");
        assert_eq!(scalar.len(), 64);
    }

    #[test]
    fn version_2_and_wide_alignment_are_read() {
        for format in [FormatVersion::V1_0, FormatVersion::V2_0] {
            for (alignment, n) in [(Alignment::Sixteen, 16), (Alignment::SixtyFour, 64)] {
                let bytes = bytes(Some(format), alignment);
                assert_eq!(bytes.len() % n, 0);
                let header = header_of(&mut Source::at(&bytes[8..], 8), format).unwrap();
                assert_eq!(header.dim_data(Some(&[2])).unwrap(), (block(), vec![]));
            }
        }
    }

    #[test]
    fn headers_over_16_bits_become_version_2() {
        let indices: Vec<i64> = (0..20_000).collect();
        let long = DimDict::unstructured(30_000, 2, 0, indices, false).unwrap();
        let dim_data = DimData::new(vec![long]);
        let version = ProtocolVersion::CURRENT;
        let bytes = header_bytes(version, &dim_data, None, Alignment::Sixteen).unwrap();
        assert_eq!(bytes[..8], magic(2, 0));
        assert_eq!(bytes.len() % 16, 0);
        let header = header_of(&mut Source::at(&bytes[8..], 8), FormatVersion::V2_0).unwrap();
        assert_eq!(header.dim_data(Some(&[20_000])).unwrap().0, dim_data);
        let e = header_bytes(
            version,
            &dim_data,
            Some(FormatVersion::V1_0),
            Alignment::Sixteen,
        );
        assert!(matches!(e, Err(DnpyError::HeaderLength { .. })), "{e:?}");
    }
}
