//! [`Cast`]: elements of one type as another, by `NumPy`'s rules of `astype`.

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex, Complex32, Complex64};

/// An element as another type, as `NumPy`'s `astype` gives it. Every pair of element types has it.
///
/// | from | to | value |
/// |---|---|---|
/// | any | `bool` | whether it is not zero; NaN is `true` |
/// | `bool` | a number | 0 or 1 |
/// | integer | integer | the low bits |
/// | float | integer | truncated; beyond the range the nearest end, NaN is 0 (`NumPy` leaves these open) |
/// | number | float | rounded to nearest, ties to even |
/// | real | complex | imaginary part 0 |
/// | complex | real | the real part |
///
/// Local. [`astype`](crate::LocalArrayBase::astype) casts an array.
///
/// ```
/// use local_array::Cast;
/// let byte: u8 = 300_i32.cast();
/// let whole: i8 = 300.7_f64.cast();
/// assert_eq!((byte, whole), (44, 127));
/// ```
pub trait Cast<U>: Element {
    /// The element as a `U`.
    #[must_use]
    fn cast(self) -> U;
}

macro_rules! cast {
    ($from:ty => $($to:ty: |$x:ident| $value:expr),* $(,)?) => {$(
        impl Cast<$to> for $from {
            #[inline]
            #[allow(
                clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_precision_loss,
                clippy::cast_sign_loss, clippy::cast_lossless, clippy::float_cmp, clippy::unnecessary_cast,
                reason = "a cast is what it is"
            )]
            fn cast(self) -> $to {
                let $x = self;
                $value
            }
        }
    )*};
}

macro_rules! from_primitive {
    ($($from:ty),*) => {$(
        cast! { $from =>
            bool: |x| x != (0 as $from),
            i8: |x| x as i8, i16: |x| x as i16, i32: |x| x as i32, i64: |x| x as i64,
            u8: |x| x as u8, u16: |x| x as u16, u32: |x| x as u32, u64: |x| x as u64,
            f16: |x| f16::from_f64(x as f64), bf16: |x| bf16::from_f64(x as f64),
            f32: |x| x as f32, f64: |x| x as f64,
            Complex32: |x| Complex::new(x as f32, 0.0), Complex64: |x| Complex::new(x as f64, 0.0),
        }
    )*};
}

/// From a type by way of a primitive one that has all its values.
macro_rules! from_by {
    ($($from:ty, $by:ty: |$x:ident| $value:expr, $is_true:expr;)*) => {$(
        from_by! { @ $from, $by, |$x| $value;
            i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex32, Complex64 }
        cast! { $from => bool: |$x| $is_true }
    )*};
    (@ $from:ty, $by:ty, |$x:ident| $value:expr; $($to:ty),*) => {$(
        impl Cast<$to> for $from {
            #[inline]
            fn cast(self) -> $to {
                let $x = self;
                let through: $by = $value;
                Cast::<$to>::cast(through)
            }
        }
    )*};
}

macro_rules! from_complex {
    ($($from:ty, $real:ty);* $(;)?) => {$(
        from_complex! { @ $from, $real; i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 }
        cast! { $from =>
            bool: |x| x != <$from>::new(0.0, 0.0),
            Complex32: |x| Complex::new(x.re as f32, x.im as f32),
            Complex64: |x| Complex::new(x.re as f64, x.im as f64),
        }
    )*};
    (@ $from:ty, $real:ty; $($to:ty),*) => {$(
        impl Cast<$to> for $from {
            #[inline]
            fn cast(self) -> $to {
                Cast::<$to>::cast(self.re)
            }
        }
    )*};
}

from_primitive!(i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);
from_by! {
    bool, u8: |x| u8::from(x), x;
    f16, f32: |x| x.to_f32(), x != f16::ZERO;
    bf16, f32: |x| x.to_f32(), x != bf16::ZERO;
}
from_complex! {
    Complex32, f32;
    Complex64, f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to<T: Cast<U>, U>(x: T) -> U {
        x.cast()
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "casts are exact")]
    fn values_follow_the_table() {
        assert!(to::<f64, bool>(f64::NAN) && to::<i8, bool>(-3) && !to::<f16, bool>(f16::NEG_ZERO));
        assert_eq!((to::<bool, f64>(true), to::<bool, i8>(false)), (1.0, 0));
        assert_eq!((to::<i32, u8>(-1), to::<u64, i8>(200)), (255, -56));
        assert_eq!(
            (
                to::<f64, i16>(-2.9),
                to::<f64, u8>(300.0),
                to::<f32, i64>(f32::NAN)
            ),
            (-2, 255, 0)
        );
        assert_eq!(to::<i64, f32>(16_777_217), 16_777_216.0);
        assert_eq!(to::<f64, f16>(65_520.0), f16::INFINITY);
        assert_eq!(to::<Complex64, i32>(Complex64::new(7.9, 3.0)), 7);
        assert_eq!(to::<u8, Complex32>(9), Complex32::new(9.0, 0.0));
        assert!(to::<Complex32, bool>(Complex32::new(0.0, 1.0)));
        assert_eq!(to::<bf16, f64>(bf16::from_f32(1.5)), 1.5);
    }
}
