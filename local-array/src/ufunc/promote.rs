//! Which type two elements have in common, and which float an element becomes.

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::elementary::Elementary;
use super::number::Number;
use crate::{Cast, Ordered};

/// Two elements brought to the type that holds both: `NumPy`'s `result_type`. Every pair of element types has one.
///
/// | with | `bool` | signed | unsigned | `f16` | `bf16` | `f32` | `f64` | complex |
/// |---|---|---|---|---|---|---|---|---|
/// | `bool` | `bool` | it | it | it | it | it | it | it |
/// | signed | | the wider | the next wider signed than the unsigned one, `f64` for `u64` | see below | see below | see below | `f64` | see below |
/// | unsigned | | | the wider | see below | see below | see below | `f64` | see below |
/// | `f16` | | | | `f16` | `f32` | `f32` | `f64` | it |
/// | `bf16` | | | | | `bf16` | `f32` | `f64` | it |
///
/// An integer of 8 bits fits in `f16` and `bf16`, one of 16 bits in `f32` and `Complex32`, a wider one in `f64` and
/// `Complex64`. (`NumPy` has no `bf16`.)
/// Local.
///
/// ```
/// use local_array::ufunc::Promote;
/// assert_eq!(Promote::promote(1_u8, -1_i8), (1_i16, -1_i16));
/// assert_eq!(Promote::promote(1_u64, -1_i8), (1.0, -1.0)); // in f64, which not every u64 fits in
/// assert_eq!(Promote::compared(u64::MAX, -1_i8), (u64::MAX.into(), -1_i128));
/// ```
pub trait Promote<B>: Element {
    /// The type that holds both.
    type Common: Number;
    /// The type in which the two are compared: [`Common`](Self::Common), but exact for `u64` and signed integers.
    type Compared: Comparable;
    /// Both as the common type.
    #[must_use]
    fn promote(self, other: B) -> (Self::Common, Self::Common);
    /// Both as they are compared.
    #[must_use]
    fn compared(self, other: B) -> (Self::Compared, Self::Compared);
}

/// Values that can be compared; NaN equals nothing and is in no order.
/// Local.
///
/// ```
/// use local_array::ufunc::Comparable;
/// assert!(1.is_below(2) && !2.is_below(2) && 2.is_below_or_same(2) && !f64::NAN.is_same(f64::NAN));
/// ```
pub trait Comparable: Copy {
    /// Whether `self < other`.
    fn is_below(self, other: Self) -> bool;
    /// Whether `self <= other`.
    fn is_below_or_same(self, other: Self) -> bool;
    /// Whether the two are equal.
    fn is_same(self, other: Self) -> bool;
}

impl<T: Ordered + PartialEq> Comparable for T {
    #[inline]
    fn is_below(self, other: Self) -> bool {
        self.is_less(other)
    }
    #[inline]
    fn is_below_or_same(self, other: Self) -> bool {
        self.is_at_most(other)
    }
    #[inline]
    fn is_same(self, other: Self) -> bool {
        self == other
    }
}

impl Comparable for i128 {
    #[inline]
    fn is_below(self, other: Self) -> bool {
        self < other
    }
    #[inline]
    fn is_below_or_same(self, other: Self) -> bool {
        self <= other
    }
    #[inline]
    fn is_same(self, other: Self) -> bool {
        self == other
    }
}

/// An element as the float that `sin` and the like compute with: `bool` and 8 bits `f16`, 16 bits `f32`, wider integers `f64`,
/// floats and complex numbers themselves.
/// Local.
///
/// ```
/// use local_array::ufunc::ToFloat;
/// assert_eq!((7_u16.to_float(), 7_i64.to_float()), (7.0_f32, 7.0_f64));
/// ```
pub trait ToFloat: Element {
    /// The float.
    type Float: Elementary;
    /// The element as that float.
    #[must_use]
    fn to_float(self) -> Self::Float;
}

/// A cast, and nothing where the types are the same.
macro_rules! convert {
    (bool bool $x:expr) => {
        $x
    };
    (i8 i8 $x:expr) => {
        $x
    };
    (i16 i16 $x:expr) => {
        $x
    };
    (i32 i32 $x:expr) => {
        $x
    };
    (i64 i64 $x:expr) => {
        $x
    };
    (u8 u8 $x:expr) => {
        $x
    };
    (u16 u16 $x:expr) => {
        $x
    };
    (u32 u32 $x:expr) => {
        $x
    };
    (u64 u64 $x:expr) => {
        $x
    };
    (f16 f16 $x:expr) => {
        $x
    };
    (bf16 bf16 $x:expr) => {
        $x
    };
    (f32 f32 $x:expr) => {
        $x
    };
    (f64 f64 $x:expr) => {
        $x
    };
    (Complex32 Complex32 $x:expr) => {
        $x
    };
    (Complex64 Complex64 $x:expr) => {
        $x
    };
    ($from:ident $to:ident $x:expr) => {
        Cast::<$to>::cast($x)
    };
}

/// How two are compared: as the common type `$r`, and `u64` with signed integers in 128 bits.
macro_rules! compared {
    (i8 u64 $r:ident) => {
        compared! { @exact i8 u64 }
    };
    (i16 u64 $r:ident) => {
        compared! { @exact i16 u64 }
    };
    (i32 u64 $r:ident) => {
        compared! { @exact i32 u64 }
    };
    (i64 u64 $r:ident) => {
        compared! { @exact i64 u64 }
    };
    (u64 i8 $r:ident) => {
        compared! { @exact u64 i8 }
    };
    (u64 i16 $r:ident) => {
        compared! { @exact u64 i16 }
    };
    (u64 i32 $r:ident) => {
        compared! { @exact u64 i32 }
    };
    (u64 i64 $r:ident) => {
        compared! { @exact u64 i64 }
    };
    (@exact $a:ident $b:ident) => {
        type Compared = i128;
        #[inline]
        fn compared(self, other: $b) -> (i128, i128) {
            (i128::from(self), i128::from(other))
        }
    };
    ($a:ident $b:ident $r:ident) => {
        type Compared = $r;
        #[inline]
        fn compared(self, other: $b) -> ($r, $r) {
            self.promote(other)
        }
    };
}

/// The table: a row for each type, its columns in the order of the rows.
macro_rules! promote {
    ($($a:ident: $($r:ident)*;)*) => {$(
        promote! { @row $a [bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex32 Complex64] [$($r)*] }
    )*};
    (@row $a:ident [$b:ident $($bs:ident)*] [$r:ident $($rs:ident)*]) => {
        impl Promote<$b> for $a {
            type Common = $r;
            #[inline]
            fn promote(self, other: $b) -> ($r, $r) {
                (convert!($a $r self), convert!($b $r other))
            }
            compared! { $a $b $r }
        }
        promote! { @row $a [$($bs)*] [$($rs)*] }
    };
    (@row $a:ident [] []) => {};
}

promote! {
    bool: bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex32 Complex64;
    i8: i8 i8 i16 i32 i64 i16 i32 i64 f64 f16 bf16 f32 f64 Complex32 Complex64;
    i16: i16 i16 i16 i32 i64 i16 i32 i64 f64 f32 f32 f32 f64 Complex32 Complex64;
    i32: i32 i32 i32 i32 i64 i32 i32 i64 f64 f64 f64 f64 f64 Complex64 Complex64;
    i64: i64 i64 i64 i64 i64 i64 i64 i64 f64 f64 f64 f64 f64 Complex64 Complex64;
    u8: u8 i16 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 Complex32 Complex64;
    u16: u16 i32 i32 i32 i64 u16 u16 u32 u64 f32 f32 f32 f64 Complex32 Complex64;
    u32: u32 i64 i64 i64 i64 u32 u32 u32 u64 f64 f64 f64 f64 Complex64 Complex64;
    u64: u64 f64 f64 f64 f64 u64 u64 u64 u64 f64 f64 f64 f64 Complex64 Complex64;
    f16: f16 f16 f32 f64 f64 f16 f32 f64 f64 f16 f32 f32 f64 Complex32 Complex64;
    bf16: bf16 bf16 f32 f64 f64 bf16 f32 f64 f64 f32 bf16 f32 f64 Complex32 Complex64;
    f32: f32 f32 f32 f64 f64 f32 f32 f64 f64 f32 f32 f32 f64 Complex32 Complex64;
    f64: f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 f64 Complex64 Complex64;
    Complex32: Complex32 Complex32 Complex32 Complex64 Complex64 Complex32 Complex32 Complex64 Complex64
        Complex32 Complex32 Complex32 Complex64 Complex32 Complex64;
    Complex64: Complex64 Complex64 Complex64 Complex64 Complex64 Complex64 Complex64 Complex64 Complex64
        Complex64 Complex64 Complex64 Complex64 Complex64 Complex64;
}

macro_rules! to_float {
    ($($from:ident $to:ident;)*) => {$(
        impl ToFloat for $from {
            type Float = $to;
            #[inline]
            fn to_float(self) -> $to {
                convert!($from $to self)
            }
        }
    )*};
}

to_float! {
    bool f16; i8 f16; u8 f16; i16 f32; u16 f32; i32 f64; u32 f64; i64 f64; u64 f64;
    f16 f16; bf16 bf16; f32 f32; f64 f64; Complex32 Complex32; Complex64 Complex64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signed_and_unsigned_are_compared_exactly() {
        let (a, b) = (-1_i64).compared(u64::MAX);
        assert!(a.is_below(b) && !b.is_below_or_same(a) && !a.is_same(b));
        let (a, b) = (u64::MAX - 1).compared(i64::MAX);
        assert!(b.is_below(a));
        assert_eq!(3_u64.promote(4_i8), (3.0, 4.0));
    }
}
