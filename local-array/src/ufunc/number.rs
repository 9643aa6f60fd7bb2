//! What the universal functions ask of numbers, in groups: [`Number`], [`Wide`], [`Divisible`], [`Shift`].

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use crate::numeric::complex_quotient;
use crate::{Arithmetic, Bitwise, Ordered};

/// All elements, `bool` among them: what works for each of them.
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

macro_rules! integer {
    ($($t:ty: |$x:ident| $signum:expr, $is_unit:expr;)*) => {$(
        impl Wide for $t {
            #[inline]
            fn signum_of(self) -> Self {
                let $x = self;
                $signum
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                let $x = self;
                if $is_unit { self } else { 0 }
            }
            #[inline]
            fn to_power(self, exponent: Self) -> Self {
                let (mut base, mut left, mut power) = (self, exponent, 1 as $t);
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                if left < 0 {
                    base = self.reciprocal_of();
                    // Only whether it is odd counts: the base is -1, 0 or 1.
                    left &= 1;
                    if base == 0 || left == 0 {
                        return if base == 0 { 0 } else { 1 };
                    }
                }
                while left > 0 {
                    if left & 1 == 1 {
                        power = power.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                power
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self
            }
        }
        impl Divisible for $t {
            #[inline]
            fn floored(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let (quotient, rest) = (self.wrapping_div(other), self.wrapping_rem(other));
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                if rest != 0 && (rest < 0) != (other < 0) { quotient - 1 } else { quotient }
            }
            #[inline]
            fn floored_rest(self, other: Self) -> Self {
                let rest = self.truncated_rest(other);
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                if rest != 0 && (rest < 0) != (other < 0) { rest + other } else { rest }
            }
            #[inline]
            fn truncated_rest(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
        }
        impl Shift for $t {
            #[inline]
            fn shifted_left(self, count: Self) -> Self {
                u32::try_from(count).ok().and_then(|count| self.checked_shl(count)).unwrap_or(0)
            }
            #[inline]
            fn shifted_right(self, count: Self) -> Self {
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                let beyond = if self < 0 { !0 } else { 0 };
                u32::try_from(count).ok().and_then(|count| self.checked_shr(count)).unwrap_or(beyond)
            }
        }
    )*};
}

integer! {
    i8: |x| x.signum(), x == 1 || x == -1;
    i16: |x| x.signum(), x == 1 || x == -1;
    i32: |x| x.signum(), x == 1 || x == -1;
    i64: |x| x.signum(), x == 1 || x == -1;
    u8: |x| x.min(1), x == 1;
    u16: |x| x.min(1), x == 1;
    u32: |x| x.min(1), x == 1;
    u64: |x| x.min(1), x == 1;
}

macro_rules! float {
    ($($t:ty),*) => {$(
        impl Wide for $t {
            #[inline]
            fn signum_of(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    self.abs()
                }
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                1.0 / self
            }
            #[inline]
            fn to_power(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self
            }
        }
        impl Divisible for $t {
            #[inline]
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
                // The quotient is an integer but for rounding.
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            #[inline]
            fn floored_rest(self, other: Self) -> Self {
                let rest = self % other;
                if rest == 0.0 {
                    rest.copysign(other)
                } else if (rest < 0.0) != (other < 0.0) {
                    rest + other
                } else {
                    rest
                }
            }
            #[inline]
            fn truncated_rest(self, other: Self) -> Self {
                self % other
            }
        }
    )*};
}

float!(f32, f64);

macro_rules! half {
    ($($t:ident),*) => {$(
        impl Wide for $t {
            #[inline]
            fn signum_of(self) -> Self {
                Self::from_f32(self.to_f32().signum_of())
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                Self::from_f32(1.0 / self.to_f32())
            }
            #[inline]
            fn to_power(self, exponent: Self) -> Self {
                Self::from_f32(self.to_f32().powf(exponent.to_f32()))
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self
            }
        }
        impl Divisible for $t {
            #[inline]
            fn floored(self, other: Self) -> Self {
                Self::from_f32(self.to_f32().floored(other.to_f32()))
            }
            #[inline]
            fn floored_rest(self, other: Self) -> Self {
                Self::from_f32(self.to_f32().floored_rest(other.to_f32()))
            }
            #[inline]
            fn truncated_rest(self, other: Self) -> Self {
                Self::from_f32(self.to_f32() % other.to_f32())
            }
        }
    )*};
}

half!(f16, bf16);

macro_rules! complex {
    ($($t:ty, $real:ty, $power:path;)*) => {$(
        impl Wide for $t {
            fn signum_of(self) -> Self {
                let size = self.re.hypot(self.im);
                if size == 0.0 {
                    return Self::new(0.0, 0.0);
                }
                if size.is_infinite() {
                    // Where one part alone is infinite the other is nothing beside it.
                    return match (self.re.is_infinite(), self.im.is_infinite()) {
                        (true, false) => Self::new(self.re.signum(), 0.0),
                        (false, true) => Self::new(0.0, self.im.signum()),
                        (false, false) => Self::new(self.re / size, self.im / size),
                        (true, true) => Self::new(<$real>::NAN, <$real>::NAN),
                    };
                }
                Self::new(self.re / size, self.im / size)
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                if self.im.abs() <= self.re.abs() {
                    let ratio = self.im / self.re;
                    let scale = self.re + self.im * ratio;
                    Self::new(1.0 / scale, -ratio / scale)
                } else {
                    let ratio = self.re / self.im;
                    let scale = self.re * ratio + self.im;
                    Self::new(ratio / scale, -1.0 / scale)
                }
            }
            fn to_power(self, exponent: Self) -> Self {
                $power(self, exponent)
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self.conj()
            }
        }
    )*};
}

complex! {
    Complex32, f32, power32;
    Complex64, f64, power64;
}

fn power32(base: Complex32, exponent: Complex32) -> Complex32 {
    let wide = |z: Complex32| Complex64::new(f64::from(z.re), f64::from(z.im));
    super::complex::narrow(power64(wide(base), wide(exponent)))
}

/// Small whole powers by products, the rest by `exp(exponent · ln(base))`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number below 100 is what it is"
)]
fn power64(base: Complex64, exponent: Complex64) -> Complex64 {
    let zero = Complex64::new(0.0, 0.0);
    if exponent == zero {
        return Complex64::new(1.0, 0.0);
    }
    if base == zero {
        return if exponent.re > 0.0 {
            zero
        } else {
            Complex64::new(f64::NAN, f64::NAN)
        };
    }
    if exponent.im == 0.0 && exponent.re.abs() < 100.0 && exponent.re.fract() == 0.0 {
        let mut left = exponent.re.abs() as u32;
        let (mut square, mut power) = (base, None);
        while left > 0 {
            if left & 1 == 1 {
                power = Some(power.map_or(square, |power: Complex64| power * square));
            }
            square *= square;
            left >>= 1;
        }
        let power = power.unwrap_or(Complex64::new(1.0, 0.0));
        return if exponent.re < 0.0 {
            complex_quotient(Complex64::new(1.0, 0.0), power)
        } else {
            power
        };
    }
    super::complex::exp(exponent * super::complex::log(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_powers_quotients_and_shifts() {
        assert_eq!([3_i8.to_power(4), 3_i8.to_power(5)], [81, -13]);
        assert_eq!(
            [
                2_i32.to_power(-1),
                1_i32.to_power(-3),
                (-1_i32).to_power(-3)
            ],
            [0, 1, -1]
        );
        assert_eq!(
            [(-1_i64).to_power(-2), 0_i64.to_power(0), 0_i64.to_power(-1)],
            [1, 1, 0]
        );
        assert_eq!(
            [(-7_i32).floored(2), 7_i32.floored(-2), 7_i32.floored(0)],
            [-4, -4, 0]
        );
        assert_eq!(
            [
                (-7_i32).floored_rest(2),
                7_i32.floored_rest(-2),
                i32::MIN.floored_rest(-1)
            ],
            [1, -1, 0]
        );
        assert_eq!(i32::MIN.floored(-1), i32::MIN);
        assert_eq!(
            [
                1_u8.shifted_left(7),
                1_u8.shifted_left(8),
                200_u8.shifted_right(9)
            ],
            [128, 0, 0]
        );
        assert_eq!(
            [
                1_i8.shifted_left(-1),
                (-1_i8).shifted_right(100),
                (-8_i8).shifted_right(1)
            ],
            [0, -1, -4]
        );
    }

    #[test]
    fn quotients_do_not_overflow_on_the_way() {
        let z = Complex64::new(3e200, 4e200);
        assert_eq!(complex_quotient(z, z), Complex64::new(1.0, 0.0));
    }
}
