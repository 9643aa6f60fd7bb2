//! Element types as HDF5 types: those that h5py writes for `NumPy`'s.

use dap_protocol::ElementType;
use hdf5_metno::Datatype;
use hdf5_metno::datatype::ByteOrder as Order;
use hdf5_metno::types::{FloatSize, H5Type, IntSize, TypeDescriptor};
use num_complex::Complex;

use super::ffi::{self, FloatFormat};
use super::{ByteOrder, Refusal};

/// The type of elements in a file, in this machine's byte order; `None` where there is none yet.
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

/// The element type of a type in a file, and its byte order; this machine's for single bytes.
pub(super) fn stored(ty: &Datatype) -> Result<(ElementType, ByteOrder), Refusal> {
    let refused = || Refusal::ElementType {
        given: ty.to_string(),
    };
    let described = ty.to_descriptor().map_err(|_| refused())?;
    let element = ElementType::ALL
        .into_iter()
        .find(|&element| descriptor(element).as_ref() == Some(&described))
        .filter(|&element| is_ordinary(ty, element))
        .ok_or_else(refused)?;
    let order = match ty.byte_order() {
        _ if element.size() == 1 => ByteOrder::NATIVE,
        Order::LittleEndian => ByteOrder::Little,
        Order::BigEndian => ByteOrder::Big,
        _ => return Err(refused()),
    };
    Ok((element, order))
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
            let Some(descriptor) = descriptor(element) else {
                assert_eq!(element, ElementType::Bf16);
                continue;
            };
            let ty = Datatype::from_descriptor(&descriptor).unwrap();
            assert_eq!(stored(&ty).unwrap(), (element, ByteOrder::NATIVE));
        }
        let text = Datatype::from_descriptor(&TypeDescriptor::VarLenUnicode).unwrap();
        assert!(matches!(stored(&text), Err(Refusal::ElementType { .. })));
    }
}
