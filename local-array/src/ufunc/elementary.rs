//! [`Elementary`] functions of floats and complex numbers, and [`RealFloat`] for those of two real numbers.
//!
//! Real functions are those of the C library; halves compute in `f32` and complex numbers of `f32` in `f64`, rounded once.

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::complex;
use super::number::Number;
use super::promote::Promote;

macro_rules! elementary {
    ($($name:ident: $real:expr;)*) => {
        /// Floats and complex numbers, with the elementary functions under `NumPy`'s names. Local.
        ///
        /// ```
        /// use local_array::ufunc::Elementary;
        ///
        /// type Function = fn(f64) -> f64;
        /// let at_0_is_0: [Function; 10] = [
        ///     Elementary::sin, Elementary::tan, Elementary::arcsin, Elementary::arctan,
        ///     Elementary::sinh, Elementary::tanh, Elementary::arcsinh, Elementary::arctanh,
        ///     Elementary::expm1, Elementary::log1p,
        /// ];
        /// let at_0_is_1: [Function; 3] = [Elementary::cos, Elementary::cosh, Elementary::exp];
        /// let at_1_is_0: [Function; 4] = [Elementary::arccos, Elementary::arccosh, Elementary::log, Elementary::log10];
        /// assert!(at_0_is_0.iter().all(|f| f(0.0) == 0.0));
        /// assert!(at_0_is_1.iter().all(|f| f(0.0) == 1.0));
        /// assert!(at_1_is_0.iter().all(|f| f(1.0) == 0.0));
        /// assert_eq!((Elementary::sqrt(9.0_f64), Elementary::rint(2.5_f32)), (3.0, 2.0));
        /// ```
        pub trait Elementary: Element + Number + Promote<Self> {
            $(
                #[doc = concat!("`", stringify!($name), "`, as `NumPy` has it.")]
                #[must_use]
                fn $name(self) -> Self;
            )*
        }
        impl Elementary for f64 {
            $(#[inline]
            fn $name(self) -> Self {
                let f: fn(f64) -> f64 = $real;
                f(self)
            })*
        }
        impl Elementary for f16 {
            $(#[inline]
            fn $name(self) -> Self {
                Self::from_f32(Elementary::$name(self.to_f32()))
            })*
        }
        impl Elementary for bf16 {
            $(#[inline]
            fn $name(self) -> Self {
                Self::from_f32(Elementary::$name(self.to_f32()))
            })*
        }
        impl Elementary for Complex32 {
            $(#[inline]
            fn $name(self) -> Self {
                complex::narrow(Elementary::$name(Complex64::new(f64::from(self.re), f64::from(self.im))))
            })*
        }
    };
}

elementary! {
    arccos: f64::acos;
    arccosh: acosh;
    arcsin: f64::asin;
    arcsinh: asinh;
    arctan: f64::atan;
    arctanh: atanh;
    cos: f64::cos;
    cosh: f64::cosh;
    exp: f64::exp;
    expm1: f64::exp_m1;
    log: f64::ln;
    log10: f64::log10;
    log1p: f64::ln_1p;
    rint: f64::round_ties_even;
    sin: f64::sin;
    sinh: f64::sinh;
    sqrt: f64::sqrt;
    tan: f64::tan;
    tanh: f64::tanh;
}

macro_rules! elementary_of {
    ($t:ty: $($name:ident $f:expr;)*) => {
        impl Elementary for $t {
            $(#[inline]
            #[allow(clippy::cast_possible_truncation, reason = "the result is rounded to the element")]
            fn $name(self) -> Self {
                $f(self)
            })*
        }
    };
}

elementary_of! { f32:
    arccos f32::acos;
    arccosh |x| acosh(f64::from(x)) as f32;
    arcsin f32::asin;
    arcsinh |x| asinh(f64::from(x)) as f32;
    arctan f32::atan;
    arctanh |x| atanh(f64::from(x)) as f32;
    cos f32::cos;
    cosh f32::cosh;
    exp f32::exp;
    expm1 f32::exp_m1;
    log f32::ln;
    log10 f32::log10;
    log1p f32::ln_1p;
    rint f32::round_ties_even;
    sin f32::sin;
    sinh f32::sinh;
    sqrt f32::sqrt;
    tan f32::tan;
    tanh f32::tanh;
}

elementary_of! { Complex64:
    arccos complex::acos;
    arccosh complex::acosh;
    arcsin complex::asin;
    arcsinh complex::asinh;
    arctan complex::atan;
    arctanh complex::atanh;
    cos complex::cos;
    cosh complex::cosh;
    exp complex::exp;
    expm1 complex::expm1;
    log complex::log;
    log10 complex::log10;
    log1p complex::log1p;
    rint complex::rint;
    sin complex::sin;
    sinh complex::sinh;
    sqrt complex::sqrt;
    tan complex::tan;
    tanh complex::tanh;
}

/// The inverse of the hyperbolic cosine, exact near 1 and for large numbers, where the standard library's is not.
fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        return f64::NAN;
    }
    if x > 1e8 {
        return x.ln() + std::f64::consts::LN_2;
    }
    let above = x - 1.0;
    (above + (2.0 * above + above * above).sqrt()).ln_1p()
}

/// The inverse of the hyperbolic sine, which the standard library's loses to overflow for the largest numbers.
fn asinh(x: f64) -> f64 {
    if x.abs() > 1e8 {
        return (x.abs().ln() + std::f64::consts::LN_2).copysign(x);
    }
    x.asinh()
}

/// The inverse of the hyperbolic tangent, as exact near -1 as near 1.
pub(crate) fn atanh(x: f64) -> f64 {
    let size = x.abs();
    (0.5 * (2.0 * size / (1.0 - size)).ln_1p()).copysign(x)
}

/// Real floats, with the functions of two of them.
/// Local.
///
/// ```
/// use local_array::ufunc::RealFloat;
/// assert_eq!((3.0_f64.hypotenuse(4.0), 0.0_f32.angle(1.0)), (5.0, 0.0));
/// ```
pub trait RealFloat: Elementary {
    /// The hypotenuse.
    #[must_use]
    fn hypotenuse(self, other: Self) -> Self;
    /// The angle whose opposite leg is `self` and whose adjacent one is `other`.
    #[must_use]
    fn angle(self, other: Self) -> Self;
}

macro_rules! real {
    ($($t:ty: |$x:ident, $y:ident| $hypot:expr, $angle:expr;)*) => {$(
        impl RealFloat for $t {
            #[inline]
            fn hypotenuse(self, other: Self) -> Self {
                let ($x, $y) = (self, other);
                $hypot
            }
            #[inline]
            fn angle(self, other: Self) -> Self {
                let ($x, $y) = (self, other);
                $angle
            }
        }
    )*};
}

real! {
    f16: |x, y| Self::from_f32(x.to_f32().hypot(y.to_f32())), Self::from_f32(x.to_f32().atan2(y.to_f32()));
    bf16: |x, y| Self::from_f32(x.to_f32().hypot(y.to_f32())), Self::from_f32(x.to_f32().atan2(y.to_f32()));
    f32: |x, y| x.hypot(y), x.atan2(y);
    f64: |x, y| x.hypot(y), x.atan2(y);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_hyperbolic_functions_keep_their_digits() {
        let near = |found: f64, wanted: f64| {
            assert!(
                (found - wanted).abs() <= 4e-16 * wanted.abs(),
                "{found} {wanted}"
            );
        };
        near(acosh(1.0 + 2_f64.powi(-40)), 1.348_699_152_348_506_8e-6);
        near(asinh(-1e300), -acosh(1e300));
        near(
            acosh(1e300),
            300.0 * std::f64::consts::LN_10 + std::f64::consts::LN_2,
        );
        near(atanh(-1.0 + 2_f64.powi(-40)), -14.209_517_201_478_65);
        assert!(
            acosh(0.5).is_nan()
                && acosh(-1e300).is_nan()
                && atanh(1.5).is_nan()
                && atanh(-0.0).is_sign_negative()
        );
    }
}
