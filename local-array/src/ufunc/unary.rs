//! The operations on one element.

use super::UnaryOperation;
use super::elementary::Elementary;
use super::number::{Number, Wide};
use super::promote::ToFloat;
use crate::{Arithmetic, Bitwise};

/// One struct per operation: its meaning, the method of its name, the bound on the element, the result.
macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident $method:ident<T: $bound:path> -> $output:ty: |$x:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("Example: see [`", stringify!($method), "`](crate::LocalArrayBase::", stringify!($method), "). Local.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name;

        impl<T: $bound> UnaryOperation<T> for $name {
            type Output = $output;
            #[inline]
            fn apply(&self, $x: T) -> Self::Output {
                $value
            }
        }
    )*};
}

macro_rules! elementary {
    ($($(#[$doc:meta])* $name:ident $f:ident;)*) => {
        unary! {
            $($(#[$doc])* $name $f<T: ToFloat> -> T::Float: |x| x.to_float().$f();)*
        }
    };
}

unary! {
    /// `|x|`; the least signed integer wraps to itself.
    Absolute absolute<T: Number> -> T::Magnitude: |x| x.magnitude();
    /// The complex conjugate.
    Conjugate conjugate<T: Number> -> T::Wide: |x| x.widen().conjugate_of();
    /// All bits flipped; "not" for `bool`.
    Invert invert<T: Bitwise> -> T: |x| x.inverted();
    /// `-x`; unsigned integers wrap.
    Negative negative<T: Arithmetic> -> T: |x| x.negated();
    /// `1 / x`; truncated for integers, 0 for the integer 0.
    Reciprocal reciprocal<T: Number> -> T::Wide: |x| x.widen().reciprocal_of();
    /// -1, 0 or 1; NaN for NaN; `x / |x|` for complex numbers.
    Sign sign<T: Wide> -> T: |x| x.signum_of();
    /// `x · x`.
    Square square<T: Number> -> T::Wide: |x| { let x = x.widen(); x.times(x) };
}

elementary! {
    /// The inverse of the cosine.
    Arccos arccos;
    /// The inverse of the hyperbolic cosine.
    Arccosh arccosh;
    /// The inverse of the sine.
    Arcsin arcsin;
    /// The inverse of the hyperbolic sine.
    Arcsinh arcsinh;
    /// The inverse of the tangent.
    Arctan arctan;
    /// The inverse of the hyperbolic tangent.
    Arctanh arctanh;
    /// The cosine.
    Cos cos;
    /// The hyperbolic cosine.
    Cosh cosh;
    /// `e` to the power of `x`.
    Exp exp;
    /// `e^x - 1`, exact for small `x`.
    Expm1 expm1;
    /// The natural logarithm.
    Log log;
    /// The logarithm to base 10.
    Log10 log10;
    /// `ln(1 + x)`, exact for small `x`.
    Log1p log1p;
    /// The nearest whole number, the even one of two.
    Rint rint;
    /// The sine.
    Sin sin;
    /// The hyperbolic sine.
    Sinh sinh;
    /// The square root; NaN for negative real numbers.
    Sqrt sqrt;
    /// The tangent.
    Tan tan;
    /// The hyperbolic tangent.
    Tanh tanh;
}
