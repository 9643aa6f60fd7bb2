//! The operations on two elements.

use dap_protocol::Element;

use super::BinaryOperation;
use super::elementary::RealFloat;
use super::number::{Divisible, Number, Shift, Wide};
use super::promote::{Comparable, Promote, ToFloat};
use crate::{Arithmetic, Bitwise, Ordered};

/// What two elements have in common.
type Common<A, B> = <A as Promote<B>>::Common;
/// The same, wide enough to count in.
type CommonWide<A, B> = <Common<A, B> as Number>::Wide;
/// The common type of the floats of two elements.
type CommonFloat<A, B> = <<A as ToFloat>::Float as Promote<<B as ToFloat>::Float>>::Common;

/// One struct per operation on the common type: its meaning, the method of its name, what the common type must be, the result.
macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $method:ident<A, B> where $t:ty: $bound:path => $output:ty: |$a:ident, $b:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("Example: see [`", stringify!($method), "`](crate::LocalArrayBase::", stringify!($method), "). Local.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name;

        impl<A: Promote<B>, B: Element> BinaryOperation<A, B> for $name
        where
            $t: $bound,
        {
            type Output = $output;
            #[inline]
            fn apply(&self, a: A, b: B) -> Self::Output {
                let ($a, $b) = a.promote(b);
                $value
            }
        }
    )*};
}

binary! {
    /// `a + b`; "or" for `bool`.
    Add add<A, B> where A: Element => Common<A, B>: |a, b| a.added(b);
    /// `a · b`; "and" for `bool`.
    Multiply multiply<A, B> where A: Element => Common<A, B>: |a, b| a.multiplied(b);
    /// `a - b`.
    Subtract subtract<A, B> where Common<A, B>: Arithmetic => Common<A, B>: |a, b| a.minus(b);
    /// `a / b`, a float for integers too.
    Divide divide<A, B> where A: Element => <Common<A, B> as Number>::Quotient: |a, b| a.true_quotient(b);
    /// `a / b`, a float for integers too; the same as [`Divide`].
    TrueDivide true_divide<A, B> where A: Element => <Common<A, B> as Number>::Quotient: |a, b| a.true_quotient(b);
    /// `a / b` rounded down; 0 for an integer over 0.
    FloorDivide floor_divide<A, B> where CommonWide<A, B>: Divisible => CommonWide<A, B>: |a, b| a.widen().floored(b.widen());
    /// What [`FloorDivide`] leaves, with the sign of `b`; 0 for an integer over 0.
    Remainder remainder<A, B> where CommonWide<A, B>: Divisible => CommonWide<A, B>: |a, b| a.widen().floored_rest(b.widen());
    /// The same as [`Remainder`].
    Mod mod_<A, B> where CommonWide<A, B>: Divisible => CommonWide<A, B>: |a, b| a.widen().floored_rest(b.widen());
    /// What truncated division leaves, with the sign of `a`; 0 for an integer over 0.
    Fmod fmod<A, B> where CommonWide<A, B>: Divisible => CommonWide<A, B>: |a, b| a.widen().truncated_rest(b.widen());
    /// `a` to the power of `b`. An integer to a negative power is the truncated quotient: 0, 1 or -1.
    Power power<A, B> where A: Element => CommonWide<A, B>: |a, b| a.widen().to_power(b.widen());
    /// The bits that both have.
    BitwiseAnd bitwise_and<A, B> where Common<A, B>: Bitwise => Common<A, B>: |a, b| a.and(b);
    /// The bits that one has.
    BitwiseOr bitwise_or<A, B> where Common<A, B>: Bitwise => Common<A, B>: |a, b| a.or(b);
    /// The bits that only one has.
    BitwiseXor bitwise_xor<A, B> where Common<A, B>: Bitwise => Common<A, B>: |a, b| a.xor(b);
    /// `a` shifted left by `b` bits; 0 where `b` is negative or too large.
    LeftShift left_shift<A, B> where CommonWide<A, B>: Shift => CommonWide<A, B>: |a, b| a.widen().shifted_left(b.widen());
    /// `a` shifted right by `b` bits, with its sign; 0 or -1 where `b` is negative or too large.
    RightShift right_shift<A, B> where CommonWide<A, B>: Shift => CommonWide<A, B>: |a, b| a.widen().shifted_right(b.widen());
    /// The greater of the two; NaN where one is NaN.
    Maximum maximum<A, B> where A: Element => Common<A, B>: |a, b| Ordered::greater(a, b);
    /// The lesser of the two; NaN where one is NaN.
    Minimum minimum<A, B> where A: Element => Common<A, B>: |a, b| Ordered::lesser(a, b);
}

/// One struct per operation on two real floats.
macro_rules! of_floats {
    ($($(#[$doc:meta])* $name:ident $method:ident $f:ident;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("Example: see [`", stringify!($method), "`](crate::LocalArrayBase::", stringify!($method), "). Local.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name;

        impl<A: ToFloat, B: ToFloat> BinaryOperation<A, B> for $name
        where
            A::Float: Promote<B::Float>,
            CommonFloat<A, B>: RealFloat,
        {
            type Output = CommonFloat<A, B>;
            #[inline]
            fn apply(&self, a: A, b: B) -> Self::Output {
                let (a, b) = a.to_float().promote(b.to_float());
                a.$f(b)
            }
        }
    )*};
}

of_floats! {
    /// The angle, in radians, of a point `b` to the right and `a` up.
    Arctan2 arctan2 angle;
    /// `√(a² + b²)`, without overflow on the way.
    Hypot hypot hypotenuse;
}

/// One struct per comparison.
macro_rules! comparison {
    ($($(#[$doc:meta])* $name:ident $method:ident: |$a:ident, $b:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("Example: see [`", stringify!($method), "`](crate::LocalArrayBase::", stringify!($method), "). Local.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name;

        impl<A: Promote<B>, B> BinaryOperation<A, B> for $name {
            type Output = bool;
            #[inline]
            fn apply(&self, a: A, b: B) -> bool {
                let ($a, $b) = a.compared(b);
                $value
            }
        }
    )*};
}

comparison! {
    /// Whether `a < b`; false where one is NaN.
    Less less: |a, b| a.is_below(b);
    /// Whether `a <= b`; false where one is NaN.
    LessEqual less_equal: |a, b| a.is_below_or_same(b);
    /// Whether the two are equal; NaN equals nothing.
    Equal equal: |a, b| a.is_same(b);
    /// Whether the two differ; NaN differs from everything.
    NotEqual not_equal: |a, b| !a.is_same(b);
    /// Whether `a > b`; false where one is NaN.
    Greater greater: |a, b| b.is_below(a);
    /// Whether `a >= b`; false where one is NaN.
    GreaterEqual greater_equal: |a, b| b.is_below_or_same(a);
}

/// An operation with its operands exchanged: `a.binary(Reflected(Subtract), b)` is `b - a`. Example: see
/// [`ufunc`](crate::ufunc). Local.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reflected<O>(pub O);

impl<A, B, O: BinaryOperation<B, A>> BinaryOperation<A, B> for Reflected<O> {
    type Output = O::Output;
    #[inline]
    fn apply(&self, a: A, b: B) -> Self::Output {
        self.0.apply(b, a)
    }
}
