//! What elements can do: [`Arithmetic`], [`Bitwise`], [`Ordered`]. Sealed, as the protocol's list of types is.
//!
//! No operation panics: integers wrap as in C and in `NumPy`, and an integer divided by zero is 0.

use std::ops::Div;

use dap_protocol::Element;
use half::{bf16, f16};
use multiversion::multiversion;
use num_complex::{Complex, Complex32, Complex64};

/// Elements with `+ - * /` and a sign: all but `bool`.
///
/// Integers wrap; their division truncates, and is 0 where the divisor is.
///
/// Local.
///
/// ```
/// use local_array::Arithmetic;
/// assert_eq!((250_u8.plus(10), 0_u8.minus(1), 1_u8.negated()), (4, 255, 255)); // wraps
/// assert_eq!((7_i32.times(2), 7_i32.over(2), 7_i32.over(0), (-7_i32).modulo(3)), (14, 3, 0, -1));
/// ```
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
    /// `self / other`; of complex numbers by R. L. Smith's method ("Algorithm 116: complex division", 1962).
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
///
/// Local.
///
/// ```
/// use local_array::Bitwise;
/// assert_eq!((6_u8.and(3), 6_u8.or(3), 6_u8.xor(3), 0_u8.inverted()), (2, 7, 5, 255));
/// assert_eq!((true.or(false), true.xor(true)), (true, false));
/// ```
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

/// Elements that have a least and a greatest. Complex ones are ordered by their real parts, then by the imaginary ones, and
/// are NaN where either part is.
///
/// Local.
///
/// ```
/// use local_array::Ordered;
/// assert_eq!((2_i32.lesser(3), 2_i32.is_less(2), 2_i32.is_at_most(2)), (2, false, true));
/// assert!(1.0_f64.greater(f64::NAN).is_nan() && !1.0_f64.is_less(f64::NAN));
/// ```
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
    /// The greatest of a run, or the least, where there is a fast way; `None` without one, and where an element may be NaN.
    #[doc(hidden)]
    fn extreme_of<const GREATEST: bool>(_run: &[Self]) -> Option<Self> {
        None
    }
}

macro_rules! integer {
    ($($t:ty),* $(,)?) => {$(
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
    ($($t:ty $({ $more:item })?),* $(,)?) => {$(
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
            $($more)?
        }
    )*};
}

/// The greatest, or least, of floats, by one comparison each. They are also added up: that is NaN where one of them is (and
/// where there are infinities of both signs), and costs less than to ask each.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
fn extreme<T: Arithmetic + Ordered, const GREATEST: bool>(run: &[T]) -> Option<T> {
    const LANES: usize = 16;
    let pick = |best: T, x: T| {
        let is_better = if GREATEST {
            best.is_less(x)
        } else {
            x.is_less(best)
        };
        if is_better { x } else { best }
    };
    let (mut best, mut sums) = ([*run.first()?; LANES], [T::default(); LANES]);
    let rows = run.chunks_exact(LANES);
    let tail = rows.remainder();
    let mut take = |lane: usize, x: T| {
        best[lane] = pick(best[lane], x);
        sums[lane] = sums[lane].plus(x);
    };
    for row in rows {
        for (lane, &x) in row.iter().enumerate() {
            take(lane, x);
        }
    }
    for (lane, &x) in tail.iter().enumerate() {
        take(lane, x);
    }
    let is_number = sums.iter().all(|sum| sum.is_at_most(*sum));
    is_number.then(|| best.into_iter().fold(best[0], pick))
}

macro_rules! field {
    ($($t:ty => $one:expr, $over:expr);* $(;)?) => {$(
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
                $over(self, other)
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

macro_rules! complex_order {
    ($($t:ty),*) => {$(
        impl Ordered for $t {
            #[inline]
            fn lesser(self, other: Self) -> Self {
                if self.is_less(other) || self.re.is_nan() || self.im.is_nan() { self } else { other }
            }
            #[inline]
            fn greater(self, other: Self) -> Self {
                if other.is_less(self) || self.re.is_nan() || self.im.is_nan() { self } else { other }
            }
            #[inline]
            #[allow(clippy::float_cmp, reason = "the order asks for equal real parts")]
            fn is_less(self, other: Self) -> bool {
                (self.re < other.re && !self.im.is_nan() && !other.im.is_nan())
                    || (self.re == other.re && self.im < other.im)
            }
            #[inline]
            #[allow(clippy::float_cmp, reason = "the order asks for equal real parts")]
            fn is_at_most(self, other: Self) -> bool {
                (self.re < other.re && !self.im.is_nan() && !other.im.is_nan())
                    || (self.re == other.re && self.im <= other.im)
            }
        }
    )*};
}

integer! {
    i8, i16, i32, i64, u8, u16, u32, u64,
}
field! {
    f16 => f16::ONE, Div::div;
    bf16 => bf16::ONE, Div::div;
    f32 => 1.0, Div::div;
    f64 => 1.0, Div::div;
    Complex32 => Complex32::new(1.0, 0.0), complex_quotient;
    Complex64 => Complex64::new(1.0, 0.0), complex_quotient;
}
float_order! {
    f16, bf16,
    f32 { fn extreme_of<const GREATEST: bool>(run: &[Self]) -> Option<Self> { extreme::<Self, GREATEST>(run) } },
    f64 { fn extreme_of<const GREATEST: bool>(run: &[Self]) -> Option<Self> { extreme::<Self, GREATEST>(run) } },
}
bitwise!(bool);
total_order!(bool);
complex_order!(Complex32, Complex64);

/// The quotient, scaled by the larger part of the divisor so that nothing overflows on the way (Smith's method).
#[inline]
pub(crate) fn complex_quotient<F>(x: Complex<F>, y: Complex<F>) -> Complex<F>
where
    F: num_complex::ComplexFloat<Real = F> + PartialOrd,
{
    if y.re.abs() >= y.im.abs() {
        if y.re == F::zero() && y.im == F::zero() {
            let zero = y.re.abs();
            return Complex::new(x.re / zero, x.im / zero);
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

    #[test]
    fn complex_quotients_do_not_overflow_on_the_way() {
        for size in [2_f32.powi(66), 2_f32.powi(-83)] {
            let z = Complex32::new(size, -size);
            assert_eq!(z.over(z), <Complex32 as Arithmetic>::ONE);
        }
        let size = 2_f64.powi(1000);
        let far = Complex64::new(size, size);
        assert_eq!(far.over(far), <Complex64 as Arithmetic>::ONE);
        let half = Complex64::new(size / 2.0, -size / 2.0);
        assert_eq!(far.over(Complex64::new(0.0, 2.0)), half);
        let by_zero = far.over(Complex64::new(0.0, 0.0));
        assert!(by_zero.re.is_infinite() && by_zero.im.is_infinite());
    }

    #[test]
    fn complex_numbers_are_ordered_by_their_parts() {
        let z = Complex64::new;
        assert!(z(1.0, 9.0).is_less(z(2.0, 0.0)) && z(1.0, 1.0).is_less(z(1.0, 2.0)));
        assert!(
            z(1.0, 2.0).is_at_most(z(1.0, 2.0)) && !z(1.0, f64::NAN).is_at_most(z(1.0, f64::NAN))
        );
        for nan in [z(f64::NAN, 0.0), z(0.0, f64::NAN)] {
            for least in [z(1.0, 1.0).lesser(nan), nan.lesser(z(1.0, 1.0))] {
                assert!(least.re.is_nan() || least.im.is_nan());
            }
            for most in [z(1.0, 1.0).greater(nan), nan.greater(z(1.0, 1.0))] {
                assert!(most.re.is_nan() || most.im.is_nan());
            }
        }
    }
}
