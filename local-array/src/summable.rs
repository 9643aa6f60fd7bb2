//! What elements are added up in: [`Summable`], [`Accumulate`], [`Floating`].

use bytemuck::{Pod, Zeroable};
use dap_protocol::Element;
use half::{bf16, f16};
use ndarray::LinalgScalar;
use num_complex::{Complex32, Complex64};

use crate::{Arithmetic, Cast, Parts};

/// Elements in which sums and products are kept: every element type.
///
/// Integers wrap; `bool` adds up as *or* and multiplies as *and*, as in `NumPy`. Local.
///
/// ```
/// use local_array::{Accumulate, Accumulator};
///
/// fn sum<A: Accumulate>(elements: &[A]) -> A {
///     let widened = elements.iter().map(|x| x.widen());
///     A::narrow(widened.fold(A::Acc::ZERO, A::Acc::add))
/// }
///
/// assert_eq!((sum(&[100_i8, 100]), sum(&[true, true])), (-56, true));
/// let halves = vec![half::f16::ONE; 3000]; // added up in f32: a half ends at 2048 in steps of 1
/// assert_eq!(sum(&halves).to_f64(), 3000.0);
/// assert_eq!(i32::mean_of(7_i32.widen(), 2.0), 3);
/// ```
pub trait Accumulate: Element + Cast<Self> {
    /// What a partial sum or product is kept in.
    type Acc: Accumulator;
    /// The element as a partial result.
    fn widen(self) -> Self::Acc;
    /// The result as an element.
    fn narrow(acc: Self::Acc) -> Self;
    /// A sum over the number of its terms; truncated for integers.
    fn mean_of(sum: Self::Acc, count: f64) -> Self;
}

/// A partial sum or product, which [`Accumulate`] elements widen to. Local.
///
/// ```
/// use local_array::Accumulator;
///
/// assert_eq!(2_i64.add(i64::ZERO), 2_i64.mul(i64::ONE));
/// assert_eq!(i64::MAX.add(1), i64::MIN); // wraps
/// ```
pub trait Accumulator: Pod + Send + Sync {
    /// The sum of no element.
    const ZERO: Self;
    /// The product of no element.
    const ONE: Self;
    /// `self + other`; integers wrap.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// `self * other`; integers wrap.
    #[must_use]
    fn mul(self, other: Self) -> Self;
}

/// Elements with a default type for their sums and their means: every element type. The types are `NumPy`'s, but for the
/// sums of `bool`, which count in `u64`:
///
/// | element | sum, prod, cumsum, cumprod, trace | mean, average, median | var, std | cov, corrcoef |
/// |---|---|---|---|---|
/// | `bool`, unsigned | `u64` | `f64` | `f64` | `f64` |
/// | signed | `i64` | `f64` | `f64` | `f64` |
/// | `f16`, `bf16`, `f32` | the same | the same | the same | `f64` |
/// | `f64` | `f64` | `f64` | `f64` | `f64` |
/// | complex | the same | the same | its real type | [`Complex64`] |
///
/// `min`, `max` and `ptp` have the type of the elements, `argmin` and `argmax` are `i64`, `any` and `all` `bool`. Integers
/// wrap.
///
/// Another type, `NumPy`'s `dtype=`, is the type parameter of the forms that end in `_as`: elements are cast to it first
/// ([`Cast`]), then added up in it. Halves are always added up in `f32` and rounded once, the moments of `var` and `std`
/// always kept in `f64` and rounded once.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix1;
///
/// ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([2]).block(0).build()?;
///     let a = LocalArray::<u8, Ix1, _>::full(&blocks, comm, 200)?;
///     let (sum, mean, narrow): (u64, f64, u8) = (a.sum()?, a.mean()?, a.sum_as()?);
///     assert_eq!((sum, mean, narrow), (400, 200.0, 144));
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub trait Summable:
    Element + Cast<<Self as Summable>::Sum> + Cast<<Self as Summable>::Mean>
{
    /// The type of sums and products.
    type Sum: Accumulate;
    /// The type of means.
    type Mean: Floating;
}

/// Elements that have a variance: the floats and the complex numbers. Local.
///
/// ```
/// use local_array::{Floating, Real};
/// use num_complex::Complex32;
///
/// assert_eq!(Complex32::near(0.5), Complex32::new(0.5, 0.0));
/// let variance: <Complex32 as Floating>::Real = Real::from_f64(0.25); // an f32
/// assert_eq!(variance, 0.25_f32);
/// ```
pub trait Floating: Accumulate + Arithmetic {
    /// The type of a variance: the same, or that of a complex number's parts.
    type Real: Real;
    /// The nearest to a number.
    fn near(x: f64) -> Self;
    /// What means are kept in.
    #[doc(hidden)]
    type Center: Center;
    /// The element in that.
    #[doc(hidden)]
    fn center(self) -> Self::Center;
}

/// Real floats. Local.
///
/// ```
/// use local_array::Real;
///
/// assert_eq!(f32::from_f64(0.1).to_f64(), 0.100_000_001_490_116_12);
/// ```
pub trait Real: Floating<Real = Self> {
    /// The nearest one.
    fn from_f64(x: f64) -> Self;
    /// The same number, exactly.
    fn to_f64(self) -> f64;
}

/// A mean, `f64` or complex, and the state of a variance that has it.
#[doc(hidden)]
#[expect(unnameable_types, reason = "not for users")]
pub trait Center: Parts + Pod + LinalgScalar {
    /// Count, mean, and sum of squared deviations.
    type State: Pod;
    /// Zero.
    const NOTHING: Self;
    /// `self * factor`.
    #[must_use]
    fn scaled(self, factor: f64) -> Self;
    /// `self / divisor`.
    #[must_use]
    fn divided(self, divisor: f64) -> Self;
    /// The square of the absolute value.
    fn square(self) -> f64;
    /// The state of `count` elements with this mean and `squares`.
    fn state(self, count: f64, squares: f64) -> Self::State;
    /// Count, mean, squares.
    fn parts(state: &Self::State) -> (f64, Self, f64);
    /// The conjugate.
    #[must_use]
    fn conjugate(self) -> Self;
    /// The real part.
    fn real(self) -> f64;
    /// Each part cut off at -1 and 1.
    #[must_use]
    fn clipped(self) -> Self;
}

impl Center for f64 {
    type State = [f64; 3];
    const NOTHING: Self = 0.0;
    #[inline]
    fn scaled(self, factor: f64) -> Self {
        self * factor
    }
    fn divided(self, divisor: f64) -> Self {
        self / divisor
    }
    #[inline]
    fn square(self) -> f64 {
        self * self
    }
    #[inline]
    fn state(self, count: f64, squares: f64) -> [f64; 3] {
        [count, self, squares]
    }
    #[inline]
    fn parts(&[count, mean, squares]: &[f64; 3]) -> (f64, Self, f64) {
        (count, mean, squares)
    }
    fn conjugate(self) -> Self {
        self
    }
    fn real(self) -> f64 {
        self
    }
    fn clipped(self) -> Self {
        self.clamp(-1.0, 1.0)
    }
}

impl Center for Complex64 {
    type State = [f64; 4];
    const NOTHING: Self = Self::new(0.0, 0.0);
    #[inline]
    fn scaled(self, factor: f64) -> Self {
        self * factor
    }
    fn divided(self, divisor: f64) -> Self {
        self / divisor
    }
    #[inline]
    fn square(self) -> f64 {
        self.norm_sqr()
    }
    #[inline]
    fn state(self, count: f64, squares: f64) -> [f64; 4] {
        [count, self.re, self.im, squares]
    }
    #[inline]
    fn parts(&[count, re, im, squares]: &[f64; 4]) -> (f64, Self, f64) {
        (count, Self::new(re, im), squares)
    }
    fn conjugate(self) -> Self {
        self.conj()
    }
    fn real(self) -> f64 {
        self.re
    }
    fn clipped(self) -> Self {
        Self::new(self.re.clamp(-1.0, 1.0), self.im.clamp(-1.0, 1.0))
    }
}

/// A `bool` on its way: 0 or 1.
#[doc(hidden)]
#[expect(unnameable_types, reason = "not for users")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Truth(u8);

impl Accumulator for Truth {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1);
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[inline]
    fn mul(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Accumulate for bool {
    type Acc = Truth;
    #[inline]
    fn widen(self) -> Truth {
        Truth(u8::from(self))
    }
    #[inline]
    fn narrow(acc: Truth) -> bool {
        acc.0 != 0
    }
    fn mean_of(sum: Truth, count: f64) -> bool {
        // 0 / 0 is NaN, which is true
        sum.0 != 0 || count == 0.0
    }
}

macro_rules! integers {
    ($($t:ty => $sum:ty),* $(,)?) => {$(
        impl Accumulator for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
        impl Accumulate for $t {
            type Acc = Self;
            #[inline]
            fn widen(self) -> Self {
                self
            }
            #[inline]
            fn narrow(acc: Self) -> Self {
                acc
            }
            fn mean_of(sum: Self, count: f64) -> Self {
                let sum: f64 = sum.cast();
                (sum / count).cast()
            }
        }
        impl Summable for $t {
            type Sum = $sum;
            type Mean = f64;
        }
    )*};
}

macro_rules! floats {
    ($($t:ty, $real:ty, $zero:expr, $one:expr, $center:ty, |$x:ident| $wide:expr;)*) => {$(
        impl Accumulator for $t {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            #[inline]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline]
            fn mul(self, other: Self) -> Self {
                self * other
            }
        }
        impl Accumulate for $t {
            type Acc = Self;
            #[inline]
            fn widen(self) -> Self {
                self
            }
            #[inline]
            fn narrow(acc: Self) -> Self {
                acc
            }
            #[allow(clippy::cast_possible_truncation, reason = "a count becomes the element's precision")]
            fn mean_of(sum: Self, count: f64) -> Self {
                sum / count as $real
            }
        }
        impl Summable for $t {
            type Sum = Self;
            type Mean = Self;
        }
        impl Floating for $t {
            type Real = $real;
            type Center = $center;
            #[inline]
            fn near(x: f64) -> Self {
                x.cast()
            }
            #[inline]
            fn center(self) -> $center {
                let $x = self;
                $wide
            }
        }
    )*};
}

macro_rules! halves {
    ($($t:ty),*) => {$(
        impl Accumulate for $t {
            type Acc = f32;
            #[inline]
            fn widen(self) -> f32 {
                self.to_f32()
            }
            #[inline]
            fn narrow(acc: f32) -> Self {
                Self::from_f32(acc)
            }
            fn mean_of(sum: f32, count: f64) -> Self {
                Self::from_f64(f64::from(sum) / count)
            }
        }
        impl Summable for $t {
            type Sum = Self;
            type Mean = Self;
        }
        impl Floating for $t {
            type Real = Self;
            type Center = f64;
            #[inline]
            fn near(x: f64) -> Self {
                x.cast()
            }
            #[inline]
            fn center(self) -> f64 {
                self.to_f64()
            }
        }
    )*};
}

macro_rules! reals {
    ($($t:ty: |$x:ident| $narrow:expr;)*) => {$(
        impl Real for $t {
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "rounded to the nearest")]
            fn from_f64($x: f64) -> Self {
                $narrow
            }
            #[inline]
            fn to_f64(self) -> f64 {
                self.center()
            }
        }
    )*};
}

integers! {
    i8 => i64, i16 => i64, i32 => i64, i64 => i64,
    u8 => u64, u16 => u64, u32 => u64, u64 => u64,
}
floats! {
    f32, f32, 0.0, 1.0, f64, |x| f64::from(x);
    f64, f64, 0.0, 1.0, f64, |x| x;
    Complex32, f32, Self::new(0.0, 0.0), Self::new(1.0, 0.0), Complex64,
        |x| Complex64::new(x.re.into(), x.im.into());
    Complex64, f64, Self::new(0.0, 0.0), Self::new(1.0, 0.0), Complex64, |x| x;
}
halves!(f16, bf16);
reals! {
    f16: |x| Self::from_f64(x);
    bf16: |x| Self::from_f64(x);
    f32: |x| x as Self;
    f64: |x| x;
}

impl Summable for bool {
    type Sum = u64;
    type Mean = f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bool_adds_as_or_and_multiplies_as_and() {
        let (yes, no) = (true.widen(), false.widen());
        assert!(
            bool::narrow(yes.add(no)) && bool::narrow(yes.add(yes)) && !bool::narrow(no.add(no))
        );
        assert!(bool::narrow(yes.mul(yes)) && !bool::narrow(yes.mul(no)));
        assert!(bool::narrow(Truth::ONE) && !bool::narrow(Truth::ZERO));
    }

    #[test]
    fn means_of_integers_truncate() {
        assert_eq!(
            (
                i64::mean_of(-3, 2.0),
                u8::mean_of(7, 2.0),
                i8::mean_of(0, 0.0)
            ),
            (-1, 3, 0)
        );
        assert_eq!(f16::mean_of(3.0, 2.0), f16::from_f32(1.5));
    }

    #[test]
    fn a_state_gives_back_its_parts() {
        assert_eq!(
            <f64 as Center>::parts(&2.5_f64.state(4.0, 9.0)),
            (4.0, 2.5, 9.0)
        );
        let z = Complex64::new(1.0, -2.0);
        assert_eq!(
            <Complex64 as Center>::parts(&z.state(4.0, 9.0)),
            (4.0, z, 9.0)
        );
        assert!((Center::square(z) - 5.0).abs() < 1e-15);
    }
}
