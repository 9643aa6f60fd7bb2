//! Element types: what one element of a buffer is, and its `NumPy` type code.

use std::fmt;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed integer of 8 bits.
    I8,
    /// Signed integer of 16 bits.
    I16,
    /// Signed integer of 32 bits.
    I32,
    /// Signed integer of 64 bits.
    I64,
    /// Unsigned integer of 8 bits.
    U8,
    /// Unsigned integer of 16 bits.
    U16,
    /// Unsigned integer of 32 bits.
    U32,
    /// Unsigned integer of 64 bits.
    U64,
    /// IEEE half precision.
    F16,
    /// bfloat16; `NumPy` has no code for it.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// Two `f32`: real, imaginary.
    Complex32,
    /// Two `f64`: real, imaginary.
    Complex64,
}

impl ElementType {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
        Self::Complex32,
        Self::Complex64,
    ];

    /// Size of one element, in bytes.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::Complex32 => 8,
            Self::Complex64 => 16,
        }
    }

    /// Size of what a byte-order swap reverses: half an element for complex numbers, in bytes.
    #[must_use]
    pub const fn word_size(self) -> usize {
        match self {
            Self::Complex32 | Self::Complex64 => self.size() / 2,
            _ => self.size(),
        }
    }

    /// `NumPy`'s kind and size without a byte order, for instance `"f8"`; `None` for bfloat16.
    #[must_use]
    pub const fn numpy_code(self) -> Option<&'static str> {
        Some(match self {
            Self::Bool => "b1",
            Self::I8 => "i1",
            Self::I16 => "i2",
            Self::I32 => "i4",
            Self::I64 => "i8",
            Self::U8 => "u1",
            Self::U16 => "u2",
            Self::U32 => "u4",
            Self::U64 => "u8",
            Self::F16 => "f2",
            Self::Bf16 => return None,
            Self::F32 => "f4",
            Self::F64 => "f8",
            Self::Complex32 => "c8",
            Self::Complex64 => "c16",
        })
    }

    /// The type of a `NumPy` kind-and-size code without its byte order, `"f8"` for instance.
    #[must_use]
    pub fn from_numpy_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.numpy_code() == Some(code))
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Complex32 => "complex of f32",
            Self::Complex64 => "complex of f64",
        })
    }
}

mod sealed {
    #[expect(unnameable_types, reason = "sealed: nobody else is to name it")]
    pub trait Sealed {}
}

/// A Rust type that is an [`ElementType`]. Sealed: the protocol's list of types is closed.
///
/// `NoUninit` and `CheckedBitPattern` make conversions to and from bytes safe; zero bytes are the
/// value zero (`false` for `bool`).
pub trait Element:
    sealed::Sealed
    + bytemuck::NoUninit
    + bytemuck::CheckedBitPattern
    + bytemuck::Zeroable
    + Default
    + PartialEq
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
    + 'static
{
    /// The protocol's name for `Self`.
    const TYPE: ElementType;

    /// The bytes of `elements`, to be overwritten in native order; `None` where not every byte
    /// pattern is a value of the type (`bool`).
    fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]>;
}

macro_rules! element {
    ($($t:ty => $name:ident),* $(,)?) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const TYPE: ElementType = ElementType::$name;

            fn bytes_mut(elements: &mut [Self]) -> Option<&mut [u8]> {
                Some(bytemuck::must_cast_slice_mut(elements))
            }
        }
    )*};
}

element! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => Bf16, f32 => F32, f64 => F64,
    Complex32 => Complex32, Complex64 => Complex64,
}

impl sealed::Sealed for bool {}
impl Element for bool {
    const TYPE: ElementType = ElementType::Bool;

    fn bytes_mut(_: &mut [Self]) -> Option<&mut [u8]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rusts() {
        fn check<T: Element>() {
            assert_eq!(T::TYPE.size(), size_of::<T>());
            if let Some(code) = T::TYPE.numpy_code() {
                assert_eq!(ElementType::from_numpy_code(code), Some(T::TYPE));
            }
        }
        check::<bool>();
        check::<i8>();
        check::<i16>();
        check::<i32>();
        check::<i64>();
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
        check::<f16>();
        check::<bf16>();
        check::<f32>();
        check::<f64>();
        check::<Complex32>();
        check::<Complex64>();
    }
}
