//! What elements can do in an expression: [`Number`], [`Divisible`], [`Bits`], [`Shift`].
//!
//! No operation panics: integers wrap, and an integer divided by zero is 0, as in `NumPy`.

use std::convert::identity;
use std::ops::Div;

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex, Complex32, Complex64};

mod sealed {
    #[expect(unnameable_types, reason = "sealed: nobody else is to name it")]
    pub trait Sealed {}
}

/// The element types that there is arithmetic for: all but `bool`. Sealed.
pub trait Number: Element + sealed::Sealed {
    /// What sums are kept in: of integers 64 bits, of halves `f32`, else the element itself.
    type Wide: Number;
    /// What a sum is: of integers `i64` or `u64`, else the element itself.
    type Sum: Element;
    /// What the distance from 0 is: a real number for complex ones, else the element itself.
    type Distance: Element;
    /// What a true quotient is: `f64` for integers, else the element itself.
    type Quotient: Element;
    #[doc(hidden)]
    #[must_use]
    fn plus(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn minus(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn times(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn over(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn negative(self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn distance(self) -> Self::Distance;
    #[doc(hidden)]
    #[must_use]
    fn quotient(self, other: Self) -> Self::Quotient;
    #[doc(hidden)]
    #[must_use]
    fn widened(self) -> Self::Wide;
    #[doc(hidden)]
    #[must_use]
    fn summed(wide: Self::Wide) -> Self::Sum;
}

/// Numbers with a remainder: all but complex ones. Sealed.
pub trait Divisible: Number + PartialOrd {
    #[doc(hidden)]
    #[must_use]
    fn modulo(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn floored(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn floored_rest(self, other: Self) -> Self;
}

/// Numbers with a square root: all but integers. Sealed.
pub trait Root: Number {
    #[doc(hidden)]
    #[must_use]
    fn root(self) -> Self;
}

/// Elements of bits: integers and `bool`. Sealed.
pub trait Bits: Element + sealed::Sealed {
    #[doc(hidden)]
    #[must_use]
    fn and(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn or(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn xor(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn inverted(self) -> Self;
}

/// The integers. Sealed.
pub trait Shift: Bits {
    #[doc(hidden)]
    #[must_use]
    fn shifted_left(self, count: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn shifted_right(self, count: Self) -> Self;
}

macro_rules! bits {
    ($($t:ty),*) => {$(
        impl Bits for $t {
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            fn inverted(self) -> Self {
                !self
            }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty, $wide:ty, $distance:expr, $is_negative:expr);* $(;)?) => {$(
        impl sealed::Sealed for $t {}
        impl Number for $t {
            type Wide = $wide;
            type Sum = $wide;
            type Distance = Self;
            type Quotient = f64;
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn over(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
            fn distance(self) -> Self {
                $distance(self)
            }
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "the quotient of integers is a float")]
            fn quotient(self, other: Self) -> f64 {
                self as f64 / other as f64
            }
            #[allow(clippy::useless_conversion, reason = "some are as wide")]
            fn widened(self) -> $wide {
                self.into()
            }
            fn summed(wide: $wide) -> $wide {
                wide
            }
        }
        impl Divisible for $t {
            fn modulo(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            fn floored(self, other: Self) -> Self {
                let rest = self.modulo(other);
                let is_above = rest != 0 && $is_negative(rest) != $is_negative(other);
                if is_above { self.over(other).minus(1) } else { self.over(other) }
            }
            fn floored_rest(self, other: Self) -> Self {
                let rest = self.modulo(other);
                let is_other = rest != 0 && $is_negative(rest) != $is_negative(other);
                if is_other { rest.plus(other) } else { rest }
            }
        }
        impl Shift for $t {
            fn shifted_left(self, count: Self) -> Self {
                let count = u32::try_from(count).ok();
                count.and_then(|count| self.checked_shl(count)).unwrap_or(0)
            }
            fn shifted_right(self, count: Self) -> Self {
                let count = u32::try_from(count).ok();
                let shifted = count.and_then(|count| self.checked_shr(count));
                shifted.unwrap_or(if $is_negative(self) { !0 } else { 0 })
            }
        }
        bits!($t);
    )*};
}

/// No unsigned number is below 0.
fn never<T>(_: T) -> bool {
    false
}

integers! {
    i8, i64, i8::wrapping_abs, i8::is_negative;
    i16, i64, i16::wrapping_abs, i16::is_negative;
    i32, i64, i32::wrapping_abs, i32::is_negative;
    i64, i64, i64::wrapping_abs, i64::is_negative;
    u8, u64, identity, never;
    u16, u64, identity, never;
    u32, u64, identity, never;
    u64, u64, identity, never;
}
impl sealed::Sealed for bool {}
bits!(bool);

macro_rules! numbers {
    ($($t:ty, $wide:ty, $distance:ty, $over:expr, $norm:expr, $widened:expr, $summed:expr);* $(;)?) => {$(
        impl sealed::Sealed for $t {}
        impl Number for $t {
            type Wide = $wide;
            type Sum = Self;
            type Distance = $distance;
            type Quotient = Self;
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn over(self, other: Self) -> Self {
                $over(self, other)
            }
            fn negative(self) -> Self {
                -self
            }
            fn distance(self) -> $distance {
                $norm(self)
            }
            fn quotient(self, other: Self) -> Self {
                self.over(other)
            }
            fn widened(self) -> $wide {
                $widened(self)
            }
            fn summed(wide: $wide) -> Self {
                $summed(wide)
            }
        }
    )*};
}

numbers! {
    f16, f32, f16, Div::div, |x: f16| f16::from_bits(x.to_bits() & 0x7fff), f16::to_f32, f16::from_f32;
    bf16, f32, bf16, Div::div, |x: bf16| bf16::from_bits(x.to_bits() & 0x7fff), bf16::to_f32, bf16::from_f32;
    f32, f32, f32, Div::div, f32::abs, identity, identity;
    f64, f64, f64, Div::div, f64::abs, identity, identity;
    Complex32, Complex32, f32, complex_quotient, Complex32::norm, identity, identity;
    Complex64, Complex64, f64, complex_quotient, Complex64::norm, identity, identity;
}

/// The quotient, scaled by the larger part of the divisor, so that nothing overflows on the way (R. L. Smith, "Algorithm 116: complex
/// division", 1962).
fn complex_quotient<F>(x: Complex<F>, y: Complex<F>) -> Complex<F>
where
    F: num_complex::ComplexFloat<Real = F> + PartialOrd,
{
    if y.re.abs() >= y.im.abs() {
        if y.re == F::zero() && y.im == F::zero() {
            return Complex::new(x.re / y.re.abs(), x.im / y.re.abs());
        }
        let ratio = y.im / y.re;
        let scale = F::one() / (y.re + y.im * ratio);
        Complex::new((x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale)
    } else {
        let ratio = y.re / y.im;
        let scale = F::one() / (y.im + y.re * ratio);
        Complex::new((x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale)
    }
}

/// Quotients rounded down, and what they leave, as Python has them: the remainder has the sign of the divisor.
macro_rules! floored {
    ($($t:ty),*) => {$(
        impl Divisible for $t {
            fn modulo(self, other: Self) -> Self {
                self % other
            }
            fn floored(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                let rest = self % other;
                let mut quotient = (self - rest) / other;
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as $t).copysign(self / other);
                }
                // it is whole but for rounding
                let whole = quotient.floor();
                if quotient - whole > 0.5 { whole + 1.0 } else { whole }
            }
            fn floored_rest(self, other: Self) -> Self {
                let rest = self % other;
                if other == 0.0 || rest.is_nan() {
                    rest
                } else if rest == 0.0 {
                    rest.copysign(other)
                } else if (rest < 0.0) != (other < 0.0) {
                    rest + other
                } else {
                    rest
                }
            }
        }
    )*};
}

floored!(f32, f64);

/// In `f32`, and rounded.
macro_rules! halves {
    ($($t:ty),*) => {$(
        impl Divisible for $t {
            fn modulo(self, other: Self) -> Self {
                self % other
            }
            fn floored(self, other: Self) -> Self {
                Self::from_f32(self.to_f32().floored(other.to_f32()))
            }
            fn floored_rest(self, other: Self) -> Self {
                Self::from_f32(self.to_f32().floored_rest(other.to_f32()))
            }
        }
        impl Root for $t {
            fn root(self) -> Self {
                Self::from_f32(self.to_f32().sqrt())
            }
        }
    )*};
}

halves!(f16, bf16);

macro_rules! roots {
    ($($t:ty),*) => {$(
        impl Root for $t {
            fn root(self) -> Self {
                self.sqrt()
            }
        }
    )*};
}

roots!(f32, f64, Complex32, Complex64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_never_panic() {
        assert_eq!((i8::MAX.plus(1), i8::MIN.minus(1)), (i8::MIN, i8::MAX));
        assert_eq!((100_u8.times(3), 0_u8.negative()), (44, 0));
        assert_eq!((i8::MIN.over(-1), i8::MIN.modulo(-1)), (i8::MIN, 0));
        assert_eq!(
            (i64::MIN.floored(-1), i64::MIN.floored_rest(-1)),
            (i64::MIN, 0)
        );
        assert_eq!(
            (i16::MIN.distance(), i16::MIN.negative()),
            (i16::MIN, i16::MIN)
        );
        assert_eq!((7_u8.over(0), 7_i32.modulo(0)), (0, 0));
        assert_eq!((7_i32.floored(0), 7_u64.floored_rest(0)), (0, 0));
        assert_eq!(
            (1_i8.quotient(0), (-7_i8).quotient(2)),
            (f64::INFINITY, -3.5)
        );
    }

    #[test]
    fn quotients_are_rounded_down() {
        for a in -7..=7_i8 {
            for b in -7..=7_i8 {
                let (q, r) = (a.floored(b), a.floored_rest(b));
                if b == 0 {
                    assert_eq!((q, r), (0, 0));
                    continue;
                }
                let exact = (f64::from(a) / f64::from(b)).floor();
                assert_eq!((f64::from(q), q * b + r), (exact, a), "{a} {b}");
                let (a, b) = (f64::from(a), f64::from(b));
                assert_eq!((a.floored(b), a.floored_rest(b)), (exact, f64::from(r)));
            }
        }
        assert_eq!((255_u8.floored(2), 255_u8.floored_rest(2)), (127, 1));
        // NumPy's answers
        let inf = f64::INFINITY;
        assert_eq!(((-5.0).floored(inf), (-5.0).floored_rest(inf)), (-1.0, inf));
        assert_eq!((5.0.floored(inf), 5.0.floored_rest(inf)), (0.0, 5.0));
        assert_eq!((1.0.floored(0.0), (-1.0).floored(0.0)), (inf, -inf));
        assert!(0_f64.floored(0.0).is_nan() && 1_f64.floored_rest(0.0).is_nan());
        assert!(f64::NAN.floored(1.0).is_nan() && 1.0.floored_rest(f64::NAN).is_nan());
        assert_eq!((1.0.floored(0.1), (6.0_f64).floored(0.1)), (9.0, 59.0));
        assert!(
            (-0_f64).floored(1.0).is_sign_negative() && 4_f64.floored_rest(-2.0).is_sign_negative()
        );
        let half = |x: f32| f16::from_f32(x);
        assert_eq!(
            (
                half(-7.0).floored(half(2.0)),
                half(-7.0).floored_rest(half(2.0))
            ),
            (half(-4.0), half(1.0))
        );
    }

    #[test]
    fn shifts_beyond_the_bits_leave_nothing() {
        assert_eq!((1_u8.shifted_left(7), 1_u8.shifted_left(8)), (128, 0));
        assert_eq!((1_i8.shifted_left(-1), 64_i8.shifted_left(1)), (0, -128));
        assert_eq!(
            ((-8_i32).shifted_right(1), (-8_i32).shifted_right(32)),
            (-4, -1)
        );
        assert_eq!(
            ((-1_i64).shifted_right(-1), 8_i64.shifted_right(64)),
            (-1, 0)
        );
        assert_eq!(u64::MAX.shifted_right(u64::MAX), 0);
    }

    #[test]
    fn sums_are_kept_wide() {
        let sum = |all: &[i8]| all.iter().fold(0, |sum: i64, x| sum.plus(x.widened()));
        assert_eq!(i8::summed(sum(&[127; 100])), 12_700);
        let one = f16::from_f32(1.0);
        let sum = (0..3000).fold(0.0_f32, |sum, _| sum.plus(one.widened()));
        assert_eq!(f16::summed(sum), f16::from_f32(3000.0)); // 2048 halves more would stay 2048
    }

    #[test]
    fn complex_quotients_do_not_overflow_on_the_way() {
        let size = 2_f64.powi(1000);
        let far = Complex64::new(size, -size);
        assert_eq!(far.over(far), Complex64::new(1.0, 0.0));
        let by_zero = far.over(Complex64::new(0.0, 0.0));
        assert_eq!((by_zero.re, by_zero.im), (f64::INFINITY, -f64::INFINITY));
        assert_eq!(
            Complex32::new(3.0, -4.0).distance().to_bits(),
            5_f32.to_bits()
        );
        let minus_one = Complex32::new(-1.0, 0.0).root();
        assert!(minus_one.re.abs() < 1e-6 && (minus_one.im - 1.0).abs() < 1e-6);
    }
}
