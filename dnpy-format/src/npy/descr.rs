//! `descr`: `NumPy`'s name for an element type and its byte order.

use dap_protocol::ElementType;

/// Order of the bytes of a word in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// This machine's.
    pub const NATIVE: Self = if cfg!(target_endian = "big") {
        Self::Big
    } else {
        Self::Little
    };
}

/// `NumPy`'s text for a type, for instance `<f8`; `None` where it has none.
pub(crate) fn to_text(element: ElementType, byte_order: ByteOrder) -> Option<String> {
    let code = element.numpy_code()?;
    let prefix = match byte_order {
        _ if element.word_size() == 1 => '|',
        ByteOrder::Little => '<',
        ByteOrder::Big => '>',
    };
    Some(format!("{prefix}{code}"))
}

/// The type of a text; `None` for everything that is no number.
pub(crate) fn from_text(text: &str) -> Option<(ElementType, ByteOrder)> {
    let (byte_order, code) = match text.split_at_checked(1)? {
        ("<", code) => (ByteOrder::Little, code),
        (">", code) => (ByteOrder::Big, code),
        // `|` is right for single bytes, and read by NumPy as native for the others
        ("=" | "|", code) => (ByteOrder::NATIVE, code),
        _ => (ByteOrder::NATIVE, text),
    };
    let element = ElementType::from_numpy_code(code)?;
    let byte_order = if element.word_size() == 1 {
        ByteOrder::NATIVE
    } else {
        byte_order
    };
    Some((element, byte_order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_survives_both_orders() {
        for element in ElementType::ALL {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let Some(text) = to_text(element, order) else {
                    assert_eq!(element, ElementType::Bf16);
                    continue;
                };
                let (read, read_order) = from_text(&text).unwrap();
                assert_eq!(read, element);
                assert!(element.word_size() == 1 || read_order == order, "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "", "<", "|O", "<q8", "|S3", "<U4", "<M8[D]", "<f16", "|V12", "é",
        ] {
            assert_eq!(from_text(text), None, "{text}");
        }
    }
}
