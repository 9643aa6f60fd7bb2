//! Types of elements. (File Format Specification, IV.A.2.d.)

use dap_protocol::ElementType;

use super::{Cursor, damaged, unread};
use crate::h5::attribute::decoded;
use crate::h5::element::{self, Stored};
use crate::h5::ffi::FloatFormat;
use crate::h5::types::DEPTH;
use crate::h5::{ByteOrder, Field, FieldType, Record, Refusal};

/// A type.
#[derive(Clone, Debug)]
pub(super) struct Type {
    /// Bytes of an element.
    pub(super) size: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Integer {
        order: ByteOrder,
        signed: bool,
        /// Whether every bit carries the value.
        is_whole: bool,
    },
    /// `None` where the bits are in an order of their own.
    Float(Option<(ByteOrder, FloatFormat)>),
    /// Bits, all of which mean something, or not.
    Bits {
        is_whole: bool,
    },
    Text(Padding),
    Opaque,
    Compound(Vec<Member>),
    Enumeration {
        base: Box<Type>,
        members: Vec<(String, Vec<u8>)>,
    },
    Array(Box<Type>),
    Complex(Box<Type>),
    /// A text of any length, which lies elsewhere.
    AnyText,
    /// Something else that lies elsewhere, or has no meaning here.
    Other(&'static str),
}

/// What a text of a fixed length is filled up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    /// It ends with the first zero.
    Terminated,
    Zeros,
    Spaces,
}

#[derive(Clone, Debug)]
pub(super) struct Member {
    name: String,
    offset: usize,
    ty: Type,
}

/// Takes a type.
pub(super) fn take(bytes: &mut Cursor<'_>) -> Result<Type, Refusal> {
    within(bytes, DEPTH)
}

fn within(bytes: &mut Cursor<'_>, depth: usize) -> Result<Type, Refusal> {
    let at = bytes.at;
    let Some(depth) = depth.checked_sub(1) else {
        return Err(unread("types in each other without end"));
    };
    let first = bytes.byte()?;
    let (version, class) = (first >> 4, first & 15);
    let flags = bytes.number(3)?;
    let size = bytes.count(4)?;
    if size == 0 || !(1..=5).contains(&version) {
        return Err(damaged(at, "here is no type of elements"));
    }
    let order = |bit: u64| match flags & bit {
        0 => ByteOrder::Little,
        _ => ByteOrder::Big,
    };
    let bits = |bytes: &mut Cursor<'_>| {
        let (offset, precision) = (bytes.number(2)?, bytes.count(2)?);
        Ok::<_, Refusal>(offset == 0 && size.checked_mul(8) == Some(precision))
    };
    let kind = match class {
        0 => Kind::Integer {
            order: order(1),
            signed: flags & 8 != 0,
            is_whole: bits(bytes)?,
        },
        1 => {
            let is_whole = bits(bytes)?;
            let mut place = || bytes.count(1);
            let (exponent, exponent_bits) = (place()?, place()?);
            let (mantissa, mantissa_bits) = (place()?, place()?);
            let format = FloatFormat {
                sign: usize::try_from(flags >> 8 & 0xff).unwrap_or(usize::MAX),
                exponent,
                exponent_bits,
                mantissa,
                mantissa_bits,
                bias: bytes.count(4)?,
            };
            // one of the two bits is for the order of VAX machines
            Kind::Float((is_whole && flags & 0x40 == 0).then_some((order(1), format)))
        }
        2 => {
            bytes.skip(2)?;
            Kind::Other("times")
        }
        3 => Kind::Text(padding(flags)),
        4 => Kind::Bits {
            is_whole: bits(bytes)?,
        },
        5 => {
            bytes.skip(usize::try_from(flags & 0xff).unwrap_or(0))?;
            Kind::Opaque
        }
        6 => Kind::Compound(members(bytes, (version, size, flags & 0xffff), depth)?),
        7 => Kind::Other("references"),
        8 => {
            let base = within(bytes, depth)?;
            let count = flags & 0xffff;
            let names = (0..count).map(|_| Ok(decoded(name(bytes, version)?)));
            let names: Vec<String> = names.collect::<Result<_, Refusal>>()?;
            let members = names.into_iter().map(|name| {
                let value = bytes.take(base.size)?;
                Ok((name, value.to_vec()))
            });
            Kind::Enumeration {
                members: members.collect::<Result<_, Refusal>>()?,
                base: Box::new(base),
            }
        }
        9 => {
            within(bytes, depth)?;
            if flags & 15 == 1 {
                Kind::AnyText
            } else {
                Kind::Other("lists of any length")
            }
        }
        10 => {
            let axes = bytes.count(1)?;
            bytes.skip(if version < 3 { 3 } else { 0 })?;
            bytes.skip(4 * axes * if version < 3 { 2 } else { 1 })?;
            Kind::Array(Box::new(within(bytes, depth)?))
        }
        11 => Kind::Complex(Box::new(within(bytes, depth)?)),
        _ => return Err(unread(&format!("a type of class {class}"))),
    };
    Ok(Type { size, kind })
}

fn padding(flags: u64) -> Padding {
    match flags & 15 {
        0 => Padding::Terminated,
        2 => Padding::Spaces,
        _ => Padding::Zeros,
    }
}

/// A name, filled up to eight bytes in old versions.
fn name<'b>(bytes: &mut Cursor<'b>, version: u8) -> Result<&'b [u8], Refusal> {
    let name = bytes.text()?;
    if version < 3 {
        let len = name.len() + 1;
        bytes.skip(len.next_multiple_of(8) - len)?;
    }
    Ok(name)
}

fn members(
    bytes: &mut Cursor<'_>,
    (version, size, count): (u8, usize, u64),
    depth: usize,
) -> Result<Vec<Member>, Refusal> {
    let mut members = Vec::new();
    let width = super::dense::bytes_for(size as u64);
    for _ in 0..count {
        let at = bytes.at;
        let name = decoded(name(bytes, version)?);
        let offset = bytes.count(if version < 3 { 4 } else { width })?;
        let mut axes = Vec::new();
        if version == 1 {
            let ndim = bytes.count(1)?;
            bytes.skip(11)?;
            for axis in 0..4 {
                let extent = bytes.count(4)?;
                if axis < ndim {
                    axes.push(extent);
                }
            }
        }
        let mut ty = within(bytes, depth)?;
        if !axes.is_empty() {
            let size = axes
                .iter()
                .try_fold(ty.size, |size, &n| size.checked_mul(n));
            ty = Type {
                size: size.unwrap_or(usize::MAX),
                kind: Kind::Array(Box::new(ty)),
            };
        }
        if offset.checked_add(ty.size).is_none_or(|end| end > size) {
            return Err(damaged(at, "a member that does not lie in its record"));
        }
        members.push(Member { name, offset, ty });
    }
    Ok(members)
}

impl Type {
    /// The elements that these are here.
    pub(super) fn stored(&self) -> Result<Stored, Refusal> {
        let refused = || Refusal::ElementType {
            given: self.named(),
        };
        let stored = |element: ElementType, order| Stored {
            element,
            byte_order: if element.size() == 1 {
                ByteOrder::NATIVE
            } else {
                order
            },
            is_enumeration: false,
        };
        match &self.kind {
            Kind::Integer {
                order,
                signed,
                is_whole: true,
            } => {
                let element = integer(*signed, self.size).ok_or_else(refused)?;
                Ok(stored(element, *order))
            }
            Kind::Float(Some((order, format))) => {
                let element = element::float(self.size, *format).ok_or_else(refused)?;
                Ok(stored(element, *order))
            }
            Kind::Bits { is_whole: true } if self.size == 1 => {
                Ok(stored(ElementType::Bool, ByteOrder::NATIVE))
            }
            Kind::Enumeration { base, members } if base.size == self.size => {
                let codes = base.stored()?;
                let is = |at: usize, name: &str, value: u8| {
                    let known =
                        |(known, code): &(String, Vec<u8>)| known == name && code[..] == [value];
                    members.get(at).is_some_and(known)
                };
                if members.len() == 2 && is(0, "FALSE", 0) && is(1, "TRUE", 1) {
                    return Ok(stored(ElementType::Bool, ByteOrder::NATIVE));
                }
                match base.kind {
                    Kind::Integer { .. } => Ok(Stored {
                        is_enumeration: true,
                        ..codes
                    }),
                    _ => Err(refused()),
                }
            }
            Kind::Complex(part) => self.complex(part, part).ok_or_else(refused),
            Kind::Compound(members) => {
                let [real, imaginary] = members.as_slice() else {
                    return Err(refused());
                };
                let names = [real.name.as_str(), imaginary.name.as_str()];
                let known = [["r", "i"], ["real", "imag"], ["re", "im"]].contains(&names);
                let beside = real.offset == 0 && imaginary.offset == real.ty.size;
                let complex = self.complex(&real.ty, &imaginary.ty);
                complex.filter(|_| known && beside).ok_or_else(refused)
            }
            _ => Err(refused()),
        }
    }

    fn complex(&self, real: &Self, imaginary: &Self) -> Option<Stored> {
        let (part, other) = (real.stored().ok()?, imaginary.stored().ok()?);
        let element = match part.element {
            ElementType::F32 => ElementType::Complex32,
            ElementType::F64 => ElementType::Complex64,
            _ => return None,
        };
        (part == other && self.size == element.size()).then_some(Stored { element, ..part })
    }

    /// The names of an enumeration's codes, in the order of the file; empty where the type is none.
    pub(super) fn members(&self) -> Result<Vec<(String, i128)>, Refusal> {
        let Kind::Enumeration { base, members } = &self.kind else {
            return Ok(Vec::new());
        };
        let Kind::Integer { order, signed, .. } = base.kind else {
            return Err(Refusal::ElementType {
                given: self.named(),
            });
        };
        let code = |bytes: &[u8]| integer_of(bytes, order, signed).map_or(0, |code| code);
        let members = members.iter();
        Ok(members
            .map(|(name, value)| (name.clone(), code(value)))
            .collect())
    }

    /// What a type is that is not read, by name.
    pub(super) fn named(&self) -> String {
        let size = self.size;
        match &self.kind {
            Kind::Float(_) if size > 8 => {
                format!("long double (floating-point numbers of {size} bytes)")
            }
            Kind::Float(_) => format!("floating-point numbers of {size} bytes of another format"),
            Kind::Integer { .. } => format!("integers of {size} bytes of another format"),
            Kind::Bits { .. } => format!("bit fields of {size} bytes"),
            Kind::Text(_) => format!("texts of {size} bytes"),
            Kind::Opaque => format!("opaque, of {size} bytes"),
            Kind::Compound(members) => {
                let names: Vec<&str> = members.iter().take(20).map(|m| m.name.as_str()).collect();
                format!("records of {size} bytes ({})", names.join(", "))
            }
            Kind::Enumeration { .. } => format!("an enumeration with codes of {size} bytes"),
            Kind::Array(_) => format!("arrays of {size} bytes"),
            Kind::Complex(_) => format!("native complex numbers of {size} bytes"),
            Kind::AnyText => "texts of any length".to_owned(),
            Kind::Other(what) => (*what).to_owned(),
        }
    }

    /// Whether all that belongs to an element lies in it: no text or list of any length, no reference.
    fn is_plain(&self) -> bool {
        match &self.kind {
            Kind::AnyText | Kind::Other(_) => false,
            Kind::Compound(members) => members.iter().all(|member| member.ty.is_plain()),
            Kind::Array(base) => base.is_plain(),
            _ => true,
        }
    }
}

fn integer(signed: bool, size: usize) -> Option<ElementType> {
    Some(match (signed, size) {
        (true, 1) => ElementType::I8,
        (true, 2) => ElementType::I16,
        (true, 4) => ElementType::I32,
        (true, 8) => ElementType::I64,
        (false, 1) => ElementType::U8,
        (false, 2) => ElementType::U16,
        (false, 4) => ElementType::U32,
        (false, 8) => ElementType::U64,
        _ => return None,
    })
}

/// An integer of 1 to 8 bytes.
pub(super) fn integer_of(bytes: &[u8], order: ByteOrder, signed: bool) -> Option<i128> {
    let mut wide = [0; 16];
    let len = bytes.len();
    if len == 0 || len > 8 {
        return None;
    }
    wide[..len].copy_from_slice(bytes);
    if order == ByteOrder::Big {
        wide[..len].reverse();
    }
    if signed && wide[len - 1] > 127 {
        wide[len..].fill(0xff);
    }
    Some(i128::from_le_bytes(wide))
}

/// What the records of a type are.
pub(in crate::h5) fn record(ty: &super::dataset::Dataset) -> Result<Record, Refusal> {
    let ty = &ty.ty;
    let refused = || Refusal::ElementType { given: ty.named() };
    if !ty.is_plain() {
        return Err(refused());
    }
    match &ty.kind {
        Kind::Text(_) => Ok(Record::text(ty.size)),
        Kind::Compound(members) => {
            let fields = members.iter().map(|member| {
                let bytes = member.ty.size;
                Field {
                    name: member.name.clone(),
                    offset: member.offset,
                    ty: match (member.ty.stored(), &member.ty.kind) {
                        (Ok(stored), _) => FieldType::Element {
                            element: stored.element,
                            byte_order: stored.byte_order,
                        },
                        (Err(_), Kind::Text(_)) => FieldType::Text { bytes },
                        (Err(_), _) => FieldType::Other { bytes },
                    },
                }
            });
            Ok(Record {
                bytes: ty.size,
                fields: fields.collect(),
            })
        }
        _ => Err(refused()),
    }
}
