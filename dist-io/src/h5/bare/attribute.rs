//! Attributes. (File Format Specification, IV.A.2.m and IV.A.2.v.)

use std::collections::BTreeMap;

use super::datatype::{self, Kind, Padding, Type, integer_of};
use super::dense::Dense;
use super::header::{ATTRIBUTE, ATTRIBUTE_INFO, Header};
use super::heap::{GlobalHeap, Reference};
use super::{Cursor, Image, dataset, unread, within};
use crate::h5::attribute::decoded;
use crate::h5::element;
use crate::h5::{AttributeNumbers, AttributeValue, Refusal};

/// What a text counts beside its bytes: there may be very many of no length.
const TEXT_COST: usize = 32;

/// Attributes by name.
pub(super) type Attributes = BTreeMap<String, AttributeValue>;

/// Reads attributes, which have limits together.
struct Reader<'i, 'f> {
    image: &'i Image<'f>,
    heap: GlobalHeap,
    count: u64,
    bytes: u64,
    found: Attributes,
}

/// All attributes of an object; of one that cannot be read, why not.
pub(super) fn attributes(image: &Image<'_>, header: &Header) -> Result<Attributes, Refusal> {
    let mut reader = Reader {
        image,
        heap: GlobalHeap::default(),
        count: 0,
        bytes: 0,
        found: Attributes::new(),
    };
    for message in &header.messages {
        if message.kind == ATTRIBUTE {
            reader.attribute(message.cursor()?)?;
        }
    }
    if let Some(info) = header.get(ATTRIBUTE_INFO) {
        let mut bytes = info.cursor()?;
        bytes.expect(&[0], "attribute information")?;
        if bytes.byte()? & 1 != 0 {
            bytes.skip(2)?;
        }
        let (heap, tree) = (bytes.address()?, bytes.address()?);
        if let (Some(heap), Some(tree)) = (heap, tree) {
            let dense = Dense::read(image, heap)?;
            dense.each(image, tree, 8, 0, &mut |bytes| reader.attribute(bytes))?;
        }
    }
    Ok(reader.found)
}

impl Reader<'_, '_> {
    fn attribute(&mut self, mut bytes: Cursor<'_>) -> Result<(), Refusal> {
        let limits = self.image.limits;
        self.count += 1;
        within("attributes", self.count, limits.attributes as u64)?;
        let version = bytes.byte()?;
        if !(1..=3).contains(&version) {
            return Err(bytes.damaged("here is no attribute"));
        }
        let flags = bytes.byte()?;
        let flags = if version == 1 { 0 } else { flags };
        let (name, ty, space) = (bytes.count(2)?, bytes.count(2)?, bytes.count(2)?);
        if version == 3 {
            bytes.skip(1)?;
        }
        let padded = |len: usize| match version {
            1 => len.next_multiple_of(8),
            _ => len,
        };
        let name = bytes.part(padded(name))?;
        let name = name.rest.split(|&byte| byte == 0).next();
        let name = decoded(name.unwrap_or_default());
        let mut ty = bytes.part(padded(ty))?;
        let mut space = bytes.part(padded(space))?;
        self.count_bytes(bytes.rest.len() + name.len())?;
        if flags & 2 != 0 {
            return Err(unread("shapes that several objects share"));
        }
        let read = || {
            let ty = if flags & 1 == 0 {
                datatype::take(&mut ty)?
            } else {
                dataset::shared_type(self.image, &mut ty)?
            };
            let shape = dataset::shape(&mut space)?;
            self.value(&ty, shape, bytes)
        };
        let value = match read() {
            Err(refusal @ Refusal::Limit { .. }) => return Err(refusal),
            Err(refusal) => AttributeValue::Other(format!("unreadable: {refusal}")),
            Ok(value) => value,
        };
        self.found.insert(name, value);
        Ok(())
    }

    fn count_bytes(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.bytes = self.bytes.saturating_add(bytes as u64);
        let allowed = self.image.limits.attribute_bytes;
        within("bytes of attributes", self.bytes, allowed)
    }

    /// A value of this type; of no shape where its dataspace is null.
    fn value(
        &mut self,
        ty: &Type,
        shape: Option<Vec<u64>>,
        mut bytes: Cursor<'_>,
    ) -> Result<AttributeValue, Refusal> {
        let Some(shape) = shape else {
            return Ok(AttributeValue::Other(
                "nothing (a null dataspace)".to_owned(),
            ));
        };
        let count = dataset::bytes_of(ty.size, &shape) / ty.size as u64;
        let size = ty
            .size
            .saturating_mul(usize::try_from(count).unwrap_or(usize::MAX));
        let all = bytes.part(size)?.rest;
        let items = all.chunks_exact(ty.size);
        if let Kind::Text(padding) = ty.kind {
            self.count_bytes(items.len().saturating_mul(TEXT_COST))?;
            let texts = items.map(|text| decoded(trimmed(text, padding)));
            return Ok(texts_of(texts.collect(), &shape));
        }
        if matches!(ty.kind, Kind::AnyText) {
            let mut texts = Vec::new();
            for item in items {
                let mut item = Cursor {
                    at: bytes.at,
                    rest: item,
                    widths: bytes.widths,
                };
                let len = item.count(4)?;
                let reference = Reference::take(&mut item)?;
                let text = match reference {
                    Some(reference) => {
                        let text = self.heap.get(self.image, reference)?.take(len)?;
                        decoded(trimmed(text, Padding::Terminated))
                    }
                    None => String::new(),
                };
                self.count_bytes(text.len() + TEXT_COST)?;
                texts.push(text);
            }
            return Ok(texts_of(texts, &shape));
        }
        Ok(numbers(ty, &shape, all))
    }
}

fn texts_of(mut texts: Vec<String>, shape: &[u64]) -> AttributeValue {
    match (shape.len(), texts.len()) {
        (0, 1) => AttributeValue::Text(texts.remove(0)),
        (1, _) => AttributeValue::Texts(texts),
        (ndim, _) => AttributeValue::Other(format!("texts in {ndim} dimensions")),
    }
}

/// A text without what it is filled up with.
fn trimmed(text: &[u8], padding: Padding) -> &[u8] {
    let end = match padding {
        Padding::Terminated => text.iter().position(|&byte| byte == 0),
        Padding::Zeros | Padding::Spaces => {
            let with = if padding == Padding::Zeros { 0 } else { b' ' };
            Some(
                text.iter()
                    .rposition(|&byte| byte != with)
                    .map_or(0, |last| last + 1),
            )
        }
    };
    &text[..end.unwrap_or(text.len())]
}

/// Numbers, or what they are that are none.
fn numbers(ty: &Type, shape: &[u64], bytes: &[u8]) -> AttributeValue {
    let items = || bytes.chunks_exact(ty.size);
    macro_rules! all {
        ($kind:ident, $values:expr) => {{
            let values: Option<Vec<_>> = $values.collect();
            match values {
                Some(values) if shape.is_empty() && values.len() == 1 => {
                    AttributeValue::$kind(values[0])
                }
                Some(values) => AttributeValue::Array {
                    shape: shape.to_vec(),
                    values: AttributeNumbers::$kind(values),
                },
                None => AttributeValue::Other(ty.named()),
            }
        }};
    }
    match &ty.kind {
        Kind::Integer {
            order,
            signed,
            is_whole: true,
        } => {
            let number = |item| integer_of(item, *order, *signed);
            if *signed {
                all!(
                    Integer,
                    items().map(|item| i64::try_from(number(item)?).ok())
                )
            } else {
                all!(
                    Unsigned,
                    items().map(|item| u64::try_from(number(item)?).ok())
                )
            }
        }
        Kind::Float(Some((order, format))) => {
            let bits = |item| u64::try_from(integer_of(item, *order, false)?).ok();
            let element = element::float(ty.size, *format);
            match element.map(|element| (element.size(), element)) {
                Some((8, _)) => all!(Real, items().map(|item| bits(item).map(f64::from_bits))),
                Some((4, _)) => all!(
                    Single,
                    items().map(|item| u32::try_from(bits(item)?).ok().map(f32::from_bits))
                ),
                Some((2, dap_protocol::ElementType::Bf16)) => all!(
                    Single,
                    items().map(|item| u32::try_from(bits(item)? << 16).ok().map(f32::from_bits))
                ),
                Some((2, _)) => all!(
                    Single,
                    items().map(|item| u16::try_from(bits(item)?).ok().map(widened))
                ),
                _ => AttributeValue::Other(ty.named()),
            }
        }
        Kind::Enumeration { .. } if ty.stored().is_ok_and(|codes| !codes.is_enumeration) => {
            all!(Bool, items().map(|item| Some(item != [0])))
        }
        _ => AttributeValue::Other(ty.named()),
    }
}

/// A number of two bytes as IEEE 754 has it.
fn widened(half: u16) -> f32 {
    let sign = u32::from(half >> 15) << 31;
    let (exponent, mantissa) = (u32::from(half >> 10 & 0x1f), u32::from(half & 0x3ff));
    match exponent {
        // below the smallest that has a leading one: multiples of 2⁻²⁴
        0 => {
            let small = f32::from(half & 0x3ff) * f32::from_bits(0x3380_0000);
            f32::from_bits(small.to_bits() | sign)
        }
        0x1f => f32::from_bits(sign | 0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | mantissa << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_widen_to_themselves() {
        for bits in 0..=u16::MAX {
            let half = half::f16::from_bits(bits);
            let wide = widened(bits);
            // of what is no number the rest of the bits is free
            let same = wide.to_bits() == half.to_f32().to_bits();
            assert!(same || wide.is_nan() && half.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn texts_are_trimmed_as_they_were_filled_up() {
        for (text, padding, expected) in [
            (&b"ab\0c"[..], Padding::Terminated, &b"ab"[..]),
            (b"abcd", Padding::Terminated, b"abcd"),
            (b"a\0b\0", Padding::Zeros, b"a\0b"),
            (b"ab  ", Padding::Spaces, b"ab"),
            (b"    ", Padding::Spaces, b""),
        ] {
            assert_eq!(trimmed(text, padding), expected);
        }
    }
}
