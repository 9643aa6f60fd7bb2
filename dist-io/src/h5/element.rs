//! Element types as HDF5 types: those that h5py writes for `NumPy`'s.

use dap_protocol::ElementType;
use hdf5_metno::Datatype;
use hdf5_metno::datatype::ByteOrder as Order;
use hdf5_metno::types::{FloatSize, H5Type, IntSize, TypeDescriptor};
use num_complex::Complex;

use super::ffi::{self, FloatFormat};
use super::{ByteOrder, Refusal, types};

/// Whether elements have a type in a file.
pub(super) fn has_type(element: ElementType) -> bool {
    element == ElementType::Bf16 || descriptor(element).is_some()
}

/// The type of elements in a file, in this machine's byte order.
pub(super) fn in_file(element: ElementType) -> Result<Datatype, Refusal> {
    match descriptor(element) {
        Some(descriptor) => {
            Datatype::from_descriptor(&descriptor).map_err(Refusal::library("make a type"))
        }
        None if element == ElementType::Bf16 => ffi::bfloat16(),
        None => Err(Refusal::ElementType {
            given: element.to_string(),
        }),
    }
}

/// The safe crate's description of the type; it has none for bfloat16.
pub(super) fn descriptor(element: ElementType) -> Option<TypeDescriptor> {
    use TypeDescriptor::{Boolean, Float, Integer, Unsigned};
    Some(match element {
        ElementType::Bool => Boolean,
        ElementType::I8 => Integer(IntSize::U1),
        ElementType::I16 => Integer(IntSize::U2),
        ElementType::I32 => Integer(IntSize::U4),
        ElementType::I64 => Integer(IntSize::U8),
        ElementType::U8 => Unsigned(IntSize::U1),
        ElementType::U16 => Unsigned(IntSize::U2),
        ElementType::U32 => Unsigned(IntSize::U4),
        ElementType::U64 => Unsigned(IntSize::U8),
        ElementType::F16 => Float(FloatSize::U2),
        ElementType::F32 => Float(FloatSize::U4),
        ElementType::F64 => Float(FloatSize::U8),
        ElementType::Complex32 => Complex::<f32>::type_descriptor(),
        ElementType::Complex64 => Complex::<f64>::type_descriptor(),
        _ => return None,
    })
}

/// A type in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) element: ElementType,
    /// This machine's for single bytes.
    pub(super) byte_order: ByteOrder,
    /// Whether the elements are an enumeration's codes.
    pub(super) is_enumeration: bool,
}

/// The element type of a type in a file.
pub(super) fn stored(ty: &Datatype) -> Result<Stored, Refusal> {
    let refused = || Refusal::ElementType {
        given: types::named(ty),
    };
    let order = |element: ElementType| match ty.byte_order() {
        _ if element.size() == 1 => Ok(ByteOrder::NATIVE),
        Order::LittleEndian => Ok(ByteOrder::Little),
        Order::BigEndian => Ok(ByteOrder::Big),
        _ => Err(refused()),
    };
    // two that the safe crate cannot describe: a float of its own kind, and a bool as PyTables writes it
    let undescribed = if ty.size() == 2 && ffi::float_format(ty) == Some(BFLOAT16) {
        Some(ElementType::Bf16)
    } else {
        ffi::is_bit_field(ty).then_some(ElementType::Bool)
    };
    if let Some(element) = types::complex(ty) {
        let native = types::ffi::class(ty) == types::ffi::Class::Complex;
        let parts = if native {
            Some(types::ffi::base(ty)?)
        } else {
            None
        };
        let ordinary = match &parts {
            Some(part) => ffi::float_format(part) == ieee(element.word_size()),
            None => is_ordinary(ty, element),
        };
        let byte_order = match parts.as_ref().unwrap_or(ty).byte_order() {
            Order::LittleEndian => ByteOrder::Little,
            Order::BigEndian => ByteOrder::Big,
            _ => return Err(refused()),
        };
        if !ordinary {
            return Err(refused());
        }
        return Ok(Stored {
            element,
            byte_order,
            is_enumeration: false,
        });
    }
    if let Some(element) = undescribed {
        return Ok(Stored {
            element,
            byte_order: order(element)?,
            is_enumeration: false,
        });
    }
    let (described, is_enumeration) = if types::is_bool(ty) {
        (TypeDescriptor::Boolean, false)
    } else if let Some(codes) = types::codes(ty) {
        (codes, true)
    } else {
        (types::descriptor(ty).ok_or_else(refused)?, false)
    };
    let element = ElementType::ALL
        .into_iter()
        .find(|&element| descriptor(element).as_ref() == Some(&described))
        .filter(|&element| is_ordinary(ty, element))
        .ok_or_else(refused)?;
    Ok(Stored {
        element,
        byte_order: order(element)?,
        is_enumeration,
    })
}

/// The element type of floating-point numbers of so many bytes in this format.
pub(super) fn float(size: usize, format: FloatFormat) -> Option<ElementType> {
    if size == 2 && format == BFLOAT16 {
        return Some(ElementType::Bf16);
    }
    let known = [ElementType::F16, ElementType::F32, ElementType::F64];
    let element = known.into_iter().find(|element| element.size() == size);
    element.filter(|_| ieee(size) == Some(format))
}

/// Whether every bit of the type means what it means in memory here.
fn is_ordinary(ty: &Datatype, element: ElementType) -> bool {
    match element {
        ElementType::Bool => true,
        ElementType::F16 | ElementType::F32 | ElementType::F64 => {
            ffi::float_format(ty) == ieee(element.size())
        }
        ElementType::Complex32 | ElementType::Complex64 => {
            (0..2).all(|member| ffi::member_float_format(ty, member) == ieee(element.word_size()))
        }
        _ => ffi::precision(ty) == 8 * element.size(),
    }
}

/// The upper half of an IEEE number of four bytes.
const BFLOAT16: FloatFormat = FloatFormat {
    sign: 15,
    exponent: 7,
    exponent_bits: 8,
    mantissa: 0,
    mantissa_bits: 7,
    bias: 127,
};

/// The IEEE format of so many bytes.
fn ieee(size: usize) -> Option<FloatFormat> {
    let (exponent_bits, mantissa_bits) = match size {
        2 => (5, 10),
        4 => (8, 23),
        8 => (11, 52),
        _ => return None,
    };
    Some(FloatFormat {
        sign: exponent_bits + mantissa_bits,
        exponent: mantissa_bits,
        exponent_bits,
        mantissa: 0,
        mantissa_bits,
        bias: (1 << (exponent_bits - 1)) - 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_come_back() {
        for element in ElementType::ALL {
            let ty = in_file(element).unwrap();
            let expected = Stored {
                element,
                byte_order: ByteOrder::NATIVE,
                is_enumeration: false,
            };
            assert_eq!(stored(&ty).unwrap(), expected);
        }
        let text = Datatype::from_descriptor(&TypeDescriptor::VarLenUnicode).unwrap();
        assert!(matches!(stored(&text), Err(Refusal::ElementType { .. })));
    }
}
