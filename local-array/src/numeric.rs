//! What elements can do: [`Arithmetic`], [`Bitwise`], [`Summable`], [`Ordered`]. Sealed, as the protocol's list of types is.
//!
//! No operation panics: integers wrap as in C and in `NumPy`, and an integer divided by zero is 0.

use bytemuck::Pod;
use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

/// Elements with `+ - * /` and a sign: all but `bool`.
///
/// Integers wrap; their division truncates, and is 0 where the divisor is.
pub trait Arithmetic: Element {
    /// One.
    const ONE: Self;
    /// `self + other`.
    #[must_use]
    fn plus(self, other: Self) -> Self;
    /// `self - other`.
    #[must_use]
    fn minus(self, other: Self) -> Self;
    /// `self * other`.
    #[must_use]
    fn times(self, other: Self) -> Self;
    /// `self / other`.
    #[must_use]
    fn over(self, other: Self) -> Self;
    /// The remainder of [`over`](Self::over), with the sign of `self`.
    #[must_use]
    fn modulo(self, other: Self) -> Self;
    /// `-self`; unsigned integers wrap.
    #[must_use]
    fn negated(self) -> Self;
}

/// Elements with `& | ^ !`: `bool` and the integers.
pub trait Bitwise: Element {
    /// `self & other`.
    #[must_use]
    fn and(self, other: Self) -> Self;
    /// `self | other`.
    #[must_use]
    fn or(self, other: Self) -> Self;
    /// `self ^ other`.
    #[must_use]
    fn xor(self, other: Self) -> Self;
    /// `!self`.
    #[must_use]
    fn inverted(self) -> Self;
}

/// Elements that can be summed and averaged over all ranks; the types follow `NumPy`'s rules.
///
/// | element | added up as | sum | mean |
/// |---|---|---|---|
/// | `bool`, unsigned | `u64`, wrapping | `u64` | `f64` (added up as `f64`) |
/// | signed | `i64`, wrapping | `i64` | `f64` (added up as `f64`) |
/// | `f16`, `bf16` | `f32` | the same, rounded once | the same, rounded once |
/// | `f32`, `f64`, complex | themselves | themselves | themselves |
pub trait Summable: Element {
    /// What partial sums are kept in.
    type Acc: Accumulator;
    /// What partial sums of a mean are kept in.
    type MeanAcc: Accumulator;
    /// The sum.
    type Sum: Element;
    /// The mean.
    type Mean: Element;
    /// The element as a partial sum.
    fn to_acc(self) -> Self::Acc;
    /// The element as a partial sum of a mean.
    fn to_mean_acc(self) -> Self::MeanAcc;
    /// The sum of all.
    fn sum_of(acc: Self::Acc) -> Self::Sum;
    /// The mean of all: the sum over their number.
    fn mean_of(acc: Self::MeanAcc, count: f64) -> Self::Mean;
}

/// A partial sum.
pub trait Accumulator: Pod + Send + Sync {
    /// The partial sum of no element.
    const ZERO: Self;
    /// `self + other`; integers wrap.
    #[must_use]
    fn add(self, other: Self) -> Self;
}

/// Elements that have a least and a greatest: all but the complex ones.
pub trait Ordered: Element {
    /// The lesser; NaN where one is NaN.
    #[must_use]
    fn lesser(self, other: Self) -> Self;
    /// The greater; NaN where one is NaN.
    #[must_use]
    fn greater(self, other: Self) -> Self;
    /// Whether `self < other`; false where one is NaN.
    fn is_less(self, other: Self) -> bool;
    /// Whether `self <= other`; false where one is NaN.
    fn is_at_most(self, other: Self) -> bool;
}

macro_rules! integer {
    ($($t:ty => $acc:ty),* $(,)?) => {$(
        impl Arithmetic for $t {
            const ONE: Self = 1;
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline]
            fn over(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            #[inline]
            fn modulo(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            #[inline]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
        }
        bitwise!($t);
        impl Summable for $t {
            type Acc = $acc;
            type MeanAcc = f64;
            type Sum = $acc;
            type Mean = f64;
            #[inline]
            fn to_acc(self) -> $acc {
                <$acc>::from(self)
            }
            #[inline]
            #[allow(clippy::cast_precision_loss, clippy::cast_lossless, reason = "the mean of integers is a float")]
            fn to_mean_acc(self) -> f64 {
                self as f64
            }
            fn sum_of(acc: $acc) -> $acc {
                acc
            }
            fn mean_of(acc: f64, count: f64) -> f64 {
                acc / count
            }
        }
        total_order!($t);
    )*};
}

macro_rules! bitwise {
    ($t:ty) => {
        impl Bitwise for $t {
            #[inline]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline]
            fn inverted(self) -> Self {
                !self
            }
        }
    };
}

macro_rules! total_order {
    ($t:ty) => {
        impl Ordered for $t {
            #[inline]
            fn lesser(self, other: Self) -> Self {
                self.min(other)
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                self.max(other)
            }
            #[inline]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
            #[inline]
            fn is_at_most(self, other: Self) -> bool {
                self <= other
            }
        }
    };
}

macro_rules! float_order {
    ($($t:ty),*) => {$(
        impl Ordered for $t {
            #[inline]
            fn lesser(self, other: Self) -> Self {
                if self < other || self.is_nan() { self } else { other }
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                if self > other || self.is_nan() { self } else { other }
            }
            #[inline]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
            #[inline]
            fn is_at_most(self, other: Self) -> bool {
                self <= other
            }
        }
    )*};
}

macro_rules! field {
    ($($t:ty => $one:expr),* $(,)?) => {$(
        impl Arithmetic for $t {
            const ONE: Self = $one;
            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline]
            fn over(self, other: Self) -> Self {
                self / other
            }
            #[inline]
            fn modulo(self, other: Self) -> Self {
                self % other
            }
            #[inline]
            fn negated(self) -> Self {
                -self
            }
        }
    )*};
}

macro_rules! own_sum {
    ($($t:ty, $zero:expr, $real:ty);* $(;)?) => {$(
        impl Accumulator for $t {
            const ZERO: Self = $zero;
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
        }
        impl Summable for $t {
            type Acc = Self;
            type MeanAcc = Self;
            type Sum = Self;
            type Mean = Self;
            #[inline]
            fn to_acc(self) -> Self {
                self
            }
            #[inline]
            fn to_mean_acc(self) -> Self {
                self
            }
            fn sum_of(acc: Self) -> Self {
                acc
            }
            #[allow(clippy::cast_possible_truncation, reason = "a count becomes the element's precision")]
            fn mean_of(acc: Self, count: f64) -> Self {
                acc / count as $real
            }
        }
    )*};
}

macro_rules! half_sum {
    ($($t:ty),*) => {$(
        impl Summable for $t {
            type Acc = f32;
            type MeanAcc = f32;
            type Sum = Self;
            type Mean = Self;
            #[inline]
            fn to_acc(self) -> f32 {
                self.to_f32()
            }
            #[inline]
            fn to_mean_acc(self) -> f32 {
                self.to_f32()
            }
            fn sum_of(acc: f32) -> Self {
                Self::from_f32(acc)
            }
            fn mean_of(acc: f32, count: f64) -> Self {
                Self::from_f64(f64::from(acc) / count)
            }
        }
    )*};
}

integer! {
    i8 => i64, i16 => i64, i32 => i64, i64 => i64,
    u8 => u64, u16 => u64, u32 => u64, u64 => u64,
}
field! {
    f16 => f16::ONE, bf16 => bf16::ONE, f32 => 1.0, f64 => 1.0,
    Complex32 => Complex32::new(1.0, 0.0), Complex64 => Complex64::new(1.0, 0.0),
}
float_order!(f16, bf16, f32, f64);
bitwise!(bool);
total_order!(bool);
own_sum! {
    f32, 0.0, f32;
    f64, 0.0, f64;
    Complex32, Complex32::new(0.0, 0.0), f32;
    Complex64, Complex64::new(0.0, 0.0), f64;
}
half_sum!(f16, bf16);

impl Accumulator for i64 {
    const ZERO: Self = 0;
    #[inline]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Accumulator for u64 {
    const ZERO: Self = 0;
    #[inline]
    fn add(self, other: Self) -> Self {
        self.wrapping_add(other)
    }
}

impl Summable for bool {
    type Acc = u64;
    type MeanAcc = f64;
    type Sum = u64;
    type Mean = f64;
    #[inline]
    fn to_acc(self) -> u64 {
        u64::from(self)
    }
    #[inline]
    fn to_mean_acc(self) -> f64 {
        f64::from(u8::from(self))
    }
    fn sum_of(acc: u64) -> u64 {
        acc
    }
    fn mean_of(acc: f64, count: f64) -> f64 {
        acc / count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_never_panic() {
        assert_eq!(i8::MAX.plus(1), i8::MIN);
        assert_eq!(i32::MIN.over(-1), i32::MIN);
        assert_eq!(i32::MIN.modulo(-1), 0);
        assert_eq!((7_u8.over(0), 7_u8.modulo(0)), (0, 0));
        assert_eq!(1_u8.negated(), 255);
        assert_eq!(i16::MIN.negated(), i16::MIN);
    }

    #[test]
    fn nan_wins_from_either_side() {
        for (a, b) in [(1.0, f64::NAN), (f64::NAN, 1.0)] {
            assert!(a.lesser(b).is_nan() && a.greater(b).is_nan());
        }
        assert!(f16::NAN.lesser(f16::ONE).is_nan() && f16::ONE.greater(f16::NAN).is_nan());
        assert_eq!((1.0.lesser(2.0), 1.0.greater(2.0)), (1.0, 2.0));
    }
}
