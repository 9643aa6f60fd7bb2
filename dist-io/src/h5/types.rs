//! Types beyond plain numbers: enumerations with the names of their codes, the other byte order, complex numbers of others.

pub(super) mod ffi;
mod record;

use std::ffi::{CStr, CString};

use dap_protocol::ElementType;
use hdf5_metno::Datatype;
use hdf5_metno::types::TypeDescriptor;

use self::ffi::Class;
pub(super) use self::record::load_within;
pub use self::record::{Field, FieldType, Record, load_hdf5_records};
use super::attribute::decoded;
use super::{ByteOrder, Refusal, element};

/// How deep a type may lie in others, and how many members it may have in all.
pub(super) const DEPTH: usize = 16;
const MEMBERS: u32 = 1 << 16;

/// The safe crate's description of a number or a text; `None` for types made of others: of these it reads names that are no UTF-8
/// unseen, codes into eight bytes whatever their length, classes that came later as one of its own, and lists in lists to any depth.
pub(super) fn descriptor(ty: &Datatype) -> Option<TypeDescriptor> {
    match ffi::class(ty) {
        Class::Integer | Class::Float | Class::Text => ty.to_descriptor().ok(),
        _ => None,
    }
}

/// The codes of an enumeration as integers of this size and sign; `None` where the type is none, or has more names than are read.
pub(super) fn codes(ty: &Datatype) -> Option<TypeDescriptor> {
    if ffi::class(ty) != Class::Enumeration || ffi::count(ty) > MEMBERS {
        return None;
    }
    let base = ffi::base(ty).ok()?;
    (ffi::class(&base) == Class::Integer).then(|| descriptor(&base))?
}

/// Whether an enumeration is h5py's `bool`: codes of one byte, of which 0 is named `FALSE` and 1 `TRUE`.
pub(super) fn is_bool(ty: &Datatype) -> bool {
    if codes(ty).is_none() || ty.size() != 1 || ffi::count(ty) != 2 {
        return false;
    }
    let member = |at| Some((ffi::name(ty, at).ok()?, ffi::value(ty, at).ok()?));
    let mut members = [member(0), member(1)];
    members.sort_unstable();
    let expected = [("FALSE", 0), ("TRUE", 1)];
    members == expected.map(|(name, value)| Some((name.as_bytes().to_vec(), vec![value])))
}

/// The complex numbers that a type stands for: two floating-point numbers beside each other, by h5py's names, those of MATLAB and
/// of others, or the class that the library has for them from version 2.0 on. `None` where it is none.
pub(super) fn complex(ty: &Datatype) -> Option<ElementType> {
    let float = match ffi::class(ty) {
        Class::Complex => ffi::base(ty).ok()?,
        Class::Compound if ffi::count(ty) == 2 => {
            let name = |at| ffi::name(ty, at).ok();
            let names = [name(0)?, name(1)?];
            let known = [["r", "i"], ["real", "imag"], ["re", "im"]];
            let is =
                |pair: &[&str; 2]| pair[0].as_bytes() == names[0] && pair[1].as_bytes() == names[1];
            known.iter().find(|pair| is(pair))?;
            let ((real, first), (imaginary, second)) =
                (ffi::member(ty, 0).ok()?, ffi::member(ty, 1).ok()?);
            let size = real.size();
            let beside = first == 0 && second == size && imaginary.size() == size;
            if !beside || ffi::class(&imaginary) != Class::Float {
                return None;
            }
            real
        }
        _ => return None,
    };
    if ffi::class(&float) != Class::Float || ty.size() != 2 * float.size() {
        return None;
    }
    match float.size() {
        4 => Some(ElementType::Complex32),
        8 => Some(ElementType::Complex64),
        _ => None,
    }
}

/// What a type is that is not read, by name.
pub(super) fn named(ty: &Datatype) -> String {
    let size = ty.size();
    match ffi::class(ty) {
        Class::Float if size > 8 => {
            format!("long double (floating-point numbers of {size} bytes)")
        }
        Class::Complex => format!("native complex numbers of {size} bytes"),
        Class::Enumeration => format!("an enumeration with codes of {size} bytes"),
        Class::Compound => {
            let names = (0..ffi::count(ty).min(20)).filter_map(|at| ffi::name(ty, at).ok());
            let names: Vec<String> = names.map(|name| decoded(&name)).collect();
            format!("records of {size} bytes ({})", names.join(", "))
        }
        Class::Array => format!("arrays of {size} bytes"),
        Class::Bytes => format!("{size} bytes without a meaning"),
        Class::Reference => "references".to_owned(),
        Class::List => "lists of any length".to_owned(),
        _ => match descriptor(ty) {
            Some(known) => known.to_string(),
            None => format!("of a type of {size} bytes"),
        },
    }
}

/// The names of an enumeration's codes, in the order of the file; empty where the type is none.
pub(super) fn members(ty: &Datatype) -> Result<Vec<(String, i128)>, Refusal> {
    if ffi::class(ty) != Class::Enumeration {
        return Ok(Vec::new());
    }
    let refused = || Refusal::ElementType { given: named(ty) };
    let size = ty.size();
    if size > 8 || ffi::count(ty) > MEMBERS {
        return Err(refused());
    }
    let codes = element::stored(&ffi::base(ty)?)?;
    let is_signed = matches!(
        codes.element,
        ElementType::I8 | ElementType::I16 | ElementType::I32 | ElementType::I64
    );
    let member = |at| {
        let mut bytes = ffi::value(ty, at)?;
        if codes.byte_order == ByteOrder::Big && size > 1 {
            bytes.reverse();
        }
        let sign = bytes.last().is_some_and(|&byte| is_signed && byte > 127);
        let mut wide = [if sign { 0xff } else { 0 }; 16];
        wide[..size].copy_from_slice(&bytes);
        Ok((decoded(&ffi::name(ty, at)?), i128::from_le_bytes(wide)))
    };
    (0..ffi::count(ty)).map(member).collect()
}

/// The type of elements in a file: in this byte order, and as codes of these names where there are some.
pub(super) fn to_write(
    element: ElementType,
    order: ByteOrder,
    members: &[(String, i128)],
) -> Result<Datatype, Refusal> {
    let ty = ordered(element, order)?;
    if members.is_empty() {
        return Ok(ty);
    }
    let mut named = Vec::with_capacity(members.len());
    for (name, value) in members {
        let code = code(element, *value).ok_or_else(|| Refusal::Member {
            name: name.clone(),
            message: format!("the code {value} is no {element}"),
        })?;
        let code = if order == ByteOrder::Big {
            code.into_iter().rev().collect()
        } else {
            code
        };
        let wrong = named
            .iter()
            .any(|(known, _): &(CString, Vec<u8>)| known.to_bytes() == name.as_bytes());
        let text = CString::new(name.as_str())
            .ok()
            .filter(|text| !text.is_empty() && !wrong);
        let text = text.ok_or_else(|| Refusal::Member {
            name: name.clone(),
            message: "names are texts without a zero byte, each another one".to_owned(),
        })?;
        if named.iter().any(|(_, known)| *known == code) {
            return Err(Refusal::Member {
                name: name.clone(),
                message: format!("the code {value} has a name already"),
            });
        }
        named.push((text, code));
    }
    ffi::enumeration(&ty, &named)
}

/// The type of elements in a file, in this byte order.
pub(super) fn ordered(element: ElementType, order: ByteOrder) -> Result<Datatype, Refusal> {
    let part = match element {
        ElementType::Complex32 => ElementType::F32,
        ElementType::Complex64 => ElementType::F64,
        _ => {
            let ty = element::in_file(element)?;
            if element.size() > 1 && order != ByteOrder::NATIVE {
                ffi::set_order(&ty, order)?;
            }
            return Ok(ty);
        }
    };
    if order == ByteOrder::NATIVE {
        return element::in_file(element);
    }
    let member = |name: &CStr, at| {
        let ty = ordered(part, order)?;
        Ok::<_, Refusal>((name.to_owned(), at, ty))
    };
    ffi::compound(
        element.size(),
        &[member(c"r", 0)?, member(c"i", part.size())?],
    )
}

/// A code as bytes, lowest first; `None` where the type has no such value.
fn code(element: ElementType, value: i128) -> Option<Vec<u8>> {
    Some(match element {
        ElementType::I8 => i8::try_from(value).ok()?.to_le_bytes().to_vec(),
        ElementType::I16 => i16::try_from(value).ok()?.to_le_bytes().to_vec(),
        ElementType::I32 => i32::try_from(value).ok()?.to_le_bytes().to_vec(),
        ElementType::I64 => i64::try_from(value).ok()?.to_le_bytes().to_vec(),
        ElementType::U8 => u8::try_from(value).ok()?.to_le_bytes().to_vec(),
        ElementType::U16 => u16::try_from(value).ok()?.to_le_bytes().to_vec(),
        ElementType::U32 => u32::try_from(value).ok()?.to_le_bytes().to_vec(),
        ElementType::U64 => u64::try_from(value).ok()?.to_le_bytes().to_vec(),
        _ => return None,
    })
}
