//! [`Header`]: what a `.npy` stream says before its elements.

use std::io::Read;

use dap_protocol::literal::{Note, Value, parse_with_notes};
use dap_protocol::{ElementType, Order};

use super::descr::{ByteOrder, from_text, to_text};
use crate::DnpyError;
use crate::error::excerpt;
use crate::repair::Repair;
use crate::source::Source;

const MAGIC: [u8; 6] = *b"\x93NUMPY";

/// `NumPy` leaves room for this many digits in the extent that an append would change.
const GROWTH_DIGITS: usize = 21;

const KEYS: &str = "'descr', 'fortran_order', 'shape'";

/// The header of a `.npy` stream: what the elements are, and where they begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    version: (u8, u8),
    element_type: ElementType,
    byte_order: ByteOrder,
    order: Order,
    shape: Vec<usize>,
    len: usize,
    text_offset: u64,
    data_offset: u64,
    repairs: Vec<Repair>,
}

impl Header {
    /// Format version: (1, 0), (2, 0) or (3, 0).
    #[must_use]
    pub fn version(&self) -> (u8, u8) {
        self.version
    }

    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element_type
    }

    /// Their byte order in the file; this machine's where one word is one byte.
    #[must_use]
    pub fn byte_order(&self) -> ByteOrder {
        self.byte_order
    }

    /// The order of the elements in the file.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Extent per dimension, in elements.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of elements.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a header holds no elements, it counts them"
    )]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes of all elements.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.len * self.element_type.size()
    }

    /// Where the first element lies, in bytes from the start of the file.
    #[must_use]
    pub fn data_offset(&self) -> u64 {
        self.data_offset
    }

    /// What was not as it should be in the text, and was read nevertheless: `5L` in a shape.
    #[must_use]
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Where the header's text begins, in bytes from the start of the file.
    pub(crate) fn text_offset(&self) -> u64 {
        self.text_offset
    }
}

/// Reads a header; the source then stands at the first element.
pub(crate) fn header_of<R: Read>(source: &mut Source<R>) -> Result<Header, DnpyError> {
    let offset = source.offset();
    let magic: [u8; 8] = source.array("the .npy magic string")?;
    if magic[..6] != MAGIC {
        return Err(DnpyError::Magic {
            offset,
            given: magic[..6].to_vec(),
            expected: &MAGIC,
        });
    }
    let version = (magic[6], magic[7]);
    let len = match version {
        (1, 0) => u16::from_le_bytes(source.array("the .npy header's length")?).into(),
        (2 | 3, 0) => u32::from_le_bytes(source.array("the .npy header's length")?),
        given => {
            return Err(DnpyError::FormatVersion {
                offset: offset + 6,
                format: ".npy",
                given,
                allowed: "1.0, 2.0, 3.0",
            });
        }
    };
    let text_offset = source.offset();
    let bytes = source.text(len, "the .npy header")?;
    let text = if version.0 == 3 || bytes.is_ascii() {
        String::from_utf8(bytes).map_err(|e| DnpyError::Encoding {
            offset: text_offset + e.utf8_error().valid_up_to() as u64,
            encoding: "UTF-8",
        })?
    } else {
        bytes.into_iter().map(char::from).collect() // Latin-1
    };
    // one byte of Latin-1 may be two of the text: where the second ones are
    let second: Vec<usize> = match version.0 {
        3 => Vec::new(),
        _ => text
            .bytes()
            .enumerate()
            .filter_map(|(at, byte)| (byte & 0xc0 == 0x80).then_some(at))
            .collect(),
    };
    let in_file = |at: usize| at - second.partition_point(|&second| second < at);
    let (value, notes) = parse_with_notes(&text).map_err(|mut source| {
        source.offset = in_file(source.offset);
        DnpyError::Literal {
            offset: text_offset + source.offset as u64,
            source,
        }
    })?;
    let repair = |note: Note| Repair::Spelling {
        offset: text_offset + in_file(note.offset) as u64,
        kind: note.kind,
    };
    let repairs = notes.into_iter().map(repair).collect();
    let (descr, fortran_order, shape) = entries(&value, text_offset)?;
    let (element_type, byte_order) =
        descr
            .as_str()
            .and_then(from_text)
            .ok_or_else(|| DnpyError::Descr {
                offset: text_offset,
                descr: excerpt(&descr.to_string()),
            })?;
    let Value::Bool(fortran) = *fortran_order else {
        return Err(wrong(
            text_offset,
            "fortran_order",
            fortran_order,
            "True or False",
        ));
    };
    let shape = shape_of(shape, text_offset)?;
    let len = element_count(&shape, element_type).ok_or_else(|| DnpyError::Overflow {
        offset: text_offset,
        shape: shape.clone(),
        element: element_type,
    })?;
    Ok(Header {
        version,
        element_type,
        byte_order,
        order: if fortran { Order::Fortran } else { Order::C },
        shape,
        len,
        text_offset,
        data_offset: source.offset(),
        repairs,
    })
}

fn entries(value: &Value, offset: u64) -> Result<(&Value, &Value, &Value), DnpyError> {
    let wrong_keys = |given| DnpyError::Keys {
        offset,
        given,
        allowed: KEYS,
    };
    let Value::Dict(dict) = value else {
        return Err(wrong_keys(value.type_name().to_owned()));
    };
    match (
        value.get("descr"),
        value.get("fortran_order"),
        value.get("shape"),
    ) {
        (Some(descr), Some(order), Some(shape)) if dict.len() == 3 => Ok((descr, order, shape)),
        _ => Err(wrong_keys(key_list(dict))),
    }
}

/// The keys of a dictionary, for an error.
pub(crate) fn key_list(dict: &[(String, Value)]) -> String {
    let keys: Vec<String> = dict.iter().map(|(key, _)| format!("{key:?}")).collect();
    excerpt(&format!("the keys {}", keys.join(", ")))
}

fn wrong(offset: u64, key: &'static str, given: &Value, allowed: &'static str) -> DnpyError {
    DnpyError::Value {
        offset,
        key,
        given: excerpt(&given.to_string()),
        allowed,
    }
}

fn shape_of(value: &Value, offset: u64) -> Result<Vec<usize>, DnpyError> {
    let refuse = || {
        wrong(
            offset,
            "shape",
            value,
            "a tuple of extents from 0 to 2^63 - 1",
        )
    };
    let Value::Tuple(items) = value else {
        return Err(refuse());
    };
    items
        .iter()
        .map(|item| match item {
            Value::Int(n) => i64::try_from(*n)
                .ok()
                .and_then(|n| usize::try_from(n).ok())
                .ok_or_else(refuse),
            _ => Err(refuse()),
        })
        .collect()
}

/// Number of elements, where they and their bytes can be counted in 63 bits. As in `NumPy` and
/// `ndarray`, an extent of 0 does not excuse the others from that.
pub(crate) fn element_count(shape: &[usize], element: ElementType) -> Option<usize> {
    let full = shape
        .iter()
        .filter(|&&extent| extent != 0)
        .try_fold(1_usize, |n, &extent| n.checked_mul(extent))?;
    isize::try_from(full.checked_mul(element.size())?).ok()?;
    Some(if shape.contains(&0) { 0 } else { full })
}

/// Magic string and header of version 1.0 as `numpy.save` writes them: a multiple of 64 bytes.
pub(crate) fn header_bytes(
    element: ElementType,
    byte_order: ByteOrder,
    order: Order,
    shape: &[usize],
) -> Result<Vec<u8>, DnpyError> {
    let descr = to_text(element, byte_order).ok_or(DnpyError::NoTypeCode { element })?;
    let fortran = if order == Order::Fortran {
        "True"
    } else {
        "False"
    };
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    let comma = if shape.len() == 1 { "," } else { "" };
    let mut text = format!(
        "{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': ({}{comma}), }}",
        extents.join(", ")
    );
    let growing = match order {
        Order::C => extents.first(),
        Order::Fortran => extents.last(),
    };
    let room = growing.map_or(0, |extent| GROWTH_DIGITS.saturating_sub(extent.len()));
    text.push_str(&" ".repeat(room));

    let prefix = MAGIC.len() + 4;
    let padding = 64 - (prefix + text.len() + 1) % 64;
    text.push_str(&" ".repeat(padding));
    text.push('\n');
    let len = u16::try_from(text.len()).map_err(|_| DnpyError::HeaderLength {
        version: (1, 0),
        given: text.len() as u64,
        allowed: u64::from(u16::MAX),
    })?;
    let mut bytes = Vec::with_capacity(prefix + text.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[1, 0]);
    bytes.extend_from_slice(&len.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Header, DnpyError> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&u16::try_from(text.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        header_of(&mut Source::new(&bytes[..]))
    }

    #[test]
    fn what_is_written_is_read() {
        let shape = [3, 0, 7];
        let bytes = header_bytes(
            ElementType::Complex32,
            ByteOrder::Big,
            Order::Fortran,
            &shape,
        )
        .unwrap();
        assert_eq!(bytes.len() % 64, 0);
        let header = header_of(&mut Source::new(&bytes[..])).unwrap();
        assert_eq!(header.shape(), shape);
        assert_eq!(header.element_type(), ElementType::Complex32);
        assert_eq!(header.byte_order(), ByteOrder::Big);
        assert_eq!(header.order(), Order::Fortran);
        assert_eq!(header.data_offset(), bytes.len() as u64);
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        for shape in [
            "(-1,)",
            "(9223372036854775808,)",
            "(4294967296, 4294967296)",
            "(1152921504606846976,)",
            "(1152921504606846976, 0)",
            "[3]",
            "3",
            "(3.0,)",
            "(True,)",
        ] {
            let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
            let e = read(&text).unwrap_err();
            assert_eq!(e.offset(), Some(10), "{shape}: {e}");
        }
        let text =
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846975, 0), }\n";
        assert_eq!(read(text).unwrap().byte_len(), 0);
    }

    #[test]
    fn offsets_count_bytes_of_the_file() {
        let mut bytes = b"\x93NUMPY\x01\x00\x0c\x00{'d': '".to_vec();
        bytes.extend_from_slice(b"\xe9\xe9\xe9\xe9\xe9");
        bytes[8] = u8::try_from(bytes.len() - 10).unwrap();
        let e = header_of(&mut Source::new(&bytes[..])).unwrap_err();
        assert!(e.offset().is_some_and(|at| at <= bytes.len() as u64), "{e}");
    }

    #[test]
    fn a_long_integer_of_python_2_is_read_and_reported() {
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (5L,), }\n";
        let header = read(text).unwrap();
        assert_eq!(header.shape(), [5]);
        let [Repair::Spelling { offset, .. }] = header.repairs() else {
            panic!("{:?}", header.repairs())
        };
        let at = 10 + text.find("5L").unwrap() as u64;
        assert!((at..at + 2).contains(offset), "{offset}");
        assert_eq!(read(&text.replace('L', "")).unwrap().repairs(), []);
    }

    #[test]
    fn records_are_refused_by_name() {
        let e = read("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,), }\n");
        assert!(
            matches!(e, Err(DnpyError::Descr { ref descr, .. }) if descr == "[('a', '<i4')]"),
            "{e:?}"
        );
    }
}
