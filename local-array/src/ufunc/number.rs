//! What the universal functions ask of numbers, in groups: [`Number`], [`Wide`], [`Divisible`], [`Shift`].

mod complex;
mod float;
mod integer;

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use crate::numeric::complex_quotient;
use crate::{Arithmetic, Bitwise, Ordered};

/// All elements, `bool` among them: what works for each of them.
/// Local.
///
/// ```
/// use local_array::ufunc::Number;
/// assert_eq!((true.widen(), (-7_i16).magnitude(), 1_u8.true_quotient(4)), (1_i8, 7, 0.25));
/// assert_eq!((true.added(true), 200_u8.added(100), true.multiplied(false)), (true, 44, false));
/// ```
pub trait Number: Element + Ordered + PartialEq {
    /// What `power`, `square`, `floor_divide` and the like compute with: `i8` for `bool`, else the element itself.
    type Wide: Wide;
    /// The absolute value: a real number for complex ones, else the element itself.
    type Magnitude: Element;
    /// The true quotient: `f64` for integers and `bool`, else the element itself.
    type Quotient: Element;
    /// The element, `bool` as 0 or 1.
    #[must_use]
    fn widen(self) -> Self::Wide;
    /// The sum; for `bool` whether one is true.
    #[must_use]
    fn added(self, other: Self) -> Self;
    /// The product; for `bool` whether both are true.
    #[must_use]
    fn multiplied(self, other: Self) -> Self;
    /// The true quotient.
    #[must_use]
    fn true_quotient(self, other: Self) -> Self::Quotient;
    /// The absolute value; that of the least signed integer wraps to itself.
    #[must_use]
    fn magnitude(self) -> Self::Magnitude;
}

/// Numbers proper: all elements but `bool`.
/// Local.
///
/// ```
/// use local_array::ufunc::Wide;
/// assert_eq!(((-3_i32).signum_of(), 0.5_f64.reciprocal_of(), 2_i64.to_power(10)), (-1, 2.0, 1024));
/// assert_eq!(num_complex::Complex64::new(1.0, 2.0).conjugate_of().im, -2.0);
/// ```
pub trait Wide: Arithmetic {
    /// -1, 0 or 1; NaN for NaN; for complex numbers `z / |z|`.
    #[must_use]
    fn signum_of(self) -> Self;
    /// One over it; truncated for integers, and 0 for the integer 0.
    #[must_use]
    fn reciprocal_of(self) -> Self;
    /// `self` to the power of `exponent`. Integers wrap; an integer to a negative power is the truncated quotient.
    #[must_use]
    fn to_power(self, exponent: Self) -> Self;
    /// The complex conjugate.
    #[must_use]
    fn conjugate_of(self) -> Self;
}

/// Numbers with a remainder: integers and real floats.
/// Local.
///
/// ```
/// use local_array::ufunc::Divisible;
/// assert_eq!(((-7_i32).floored(2), (-7_i32).floored_rest(2), (-7_i32).truncated_rest(2)), (-4, 1, -1));
/// ```
pub trait Divisible: Arithmetic {
    /// The quotient rounded down; the integer 0 where the divisor is 0.
    #[must_use]
    fn floored(self, other: Self) -> Self;
    /// What [`floored`](Self::floored) leaves: the sign of the divisor.
    #[must_use]
    fn floored_rest(self, other: Self) -> Self;
    /// What truncated division leaves: the sign of the dividend.
    #[must_use]
    fn truncated_rest(self, other: Self) -> Self;
}

/// The integers.
/// Local.
///
/// ```
/// use local_array::ufunc::Shift;
/// assert_eq!((1_u8.shifted_left(7), (-8_i32).shifted_right(1)), (128, -4));
/// ```
pub trait Shift: Bitwise {
    /// Shifted left; 0 where the count is negative or as large as the number of bits.
    #[must_use]
    fn shifted_left(self, count: Self) -> Self;
    /// Shifted right, with the sign; 0 or -1 where the count is negative or as large as the number of bits.
    #[must_use]
    fn shifted_right(self, count: Self) -> Self;
}

macro_rules! number {
    ($($t:ty, $magnitude:ty, $quotient:ty, |$x:ident, $y:ident| $true_quotient:expr, $absolute:expr;)*) => {$(
        impl Number for $t {
            type Wide = Self;
            type Magnitude = $magnitude;
            type Quotient = $quotient;
            #[inline]
            fn widen(self) -> Self {
                self
            }
            #[inline]
            fn added(self, other: Self) -> Self {
                self.plus(other)
            }
            #[inline]
            fn multiplied(self, other: Self) -> Self {
                self.times(other)
            }
            #[inline]
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "the quotient of integers is a float")]
            fn true_quotient(self, other: Self) -> $quotient {
                let ($x, $y) = (self, other);
                $true_quotient
            }
            #[inline]
            fn magnitude(self) -> $magnitude {
                let $x = self;
                $absolute
            }
        }
    )*};
}

number! {
    i8, i8, f64, |x, y| x as f64 / y as f64, x.wrapping_abs();
    i16, i16, f64, |x, y| x as f64 / y as f64, x.wrapping_abs();
    i32, i32, f64, |x, y| x as f64 / y as f64, x.wrapping_abs();
    i64, i64, f64, |x, y| x as f64 / y as f64, x.wrapping_abs();
    u8, u8, f64, |x, y| x as f64 / y as f64, x;
    u16, u16, f64, |x, y| x as f64 / y as f64, x;
    u32, u32, f64, |x, y| x as f64 / y as f64, x;
    u64, u64, f64, |x, y| x as f64 / y as f64, x;
    f16, f16, f16, |x, y| x / y, f16::from_bits(x.to_bits() & 0x7fff);
    bf16, bf16, bf16, |x, y| x / y, bf16::from_bits(x.to_bits() & 0x7fff);
    f32, f32, f32, |x, y| x / y, x.abs();
    f64, f64, f64, |x, y| x / y, x.abs();
    Complex32, f32, Complex32, |x, y| complex_quotient(x, y), x.re.hypot(x.im);
    Complex64, f64, Complex64, |x, y| complex_quotient(x, y), x.re.hypot(x.im);
}

impl Number for bool {
    type Wide = i8;
    type Magnitude = Self;
    type Quotient = f64;
    #[inline]
    fn widen(self) -> i8 {
        i8::from(self)
    }
    #[inline]
    fn added(self, other: Self) -> Self {
        self | other
    }
    #[inline]
    fn multiplied(self, other: Self) -> Self {
        self & other
    }
    #[inline]
    fn true_quotient(self, other: Self) -> f64 {
        f64::from(u8::from(self)) / f64::from(u8::from(other))
    }
    #[inline]
    fn magnitude(self) -> Self {
        self
    }
}
