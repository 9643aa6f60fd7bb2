//! [`Operand`], and the operators of handles and expressions: with each other, and with values on either side.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::number::{Bits, Divisible, Number, Shift};
use super::{Expr, H5Array};

/// The other side of an operator: an array, or a value for all its elements.
#[derive(Debug)]
#[non_exhaustive]
pub enum Operand<'c, T> {
    /// An array, element by element.
    Array(Box<Expr<'c, T>>),
    /// A value.
    Value(T),
}

impl<'c, T: Element> From<&H5Array<'c, T>> for Expr<'c, T> {
    fn from(array: &H5Array<'c, T>) -> Self {
        array.clone().into()
    }
}

impl<T> From<&Self> for Expr<'_, T> {
    fn from(expr: &Self) -> Self {
        expr.clone()
    }
}

impl<'c, T> From<Expr<'c, T>> for Operand<'c, T> {
    fn from(expr: Expr<'c, T>) -> Self {
        Self::Array(Box::new(expr))
    }
}

impl<'c, T> From<&Expr<'c, T>> for Operand<'c, T> {
    fn from(expr: &Expr<'c, T>) -> Self {
        Self::Array(Box::new(expr.clone()))
    }
}

impl<'c, T: Element> From<H5Array<'c, T>> for Operand<'c, T> {
    fn from(array: H5Array<'c, T>) -> Self {
        Self::Array(Box::new(array.into()))
    }
}

impl<'c, T: Element> From<&H5Array<'c, T>> for Operand<'c, T> {
    fn from(array: &H5Array<'c, T>) -> Self {
        Self::Array(Box::new(array.into()))
    }
}

/// An operator of arrays whose elements are of a kind.
macro_rules! operators {
    ($($kind:ident: $trait:ident, $method:ident, $of:ident);* $(;)?) => {$(
        operators!(@one $kind, $trait, $method, $of, H5Array<'c, T>);
        operators!(@one $kind, $trait, $method, $of, &H5Array<'c, T>);
        operators!(@one $kind, $trait, $method, $of, Expr<'c, T>);
        operators!(@one $kind, $trait, $method, $of, &Expr<'c, T>);
    )*};
    (@one $kind:ident, $trait:ident, $method:ident, $of:ident, $left:ty) => {
        impl<'c, T: $kind, R: Into<Operand<'c, T>>> $trait<R> for $left {
            type Output = Expr<'c, T>;

            fn $method(self, other: R) -> Expr<'c, T> {
                Expr::<'c, T>::from(self).with(other, T::$of)
            }
        }
    };
}

operators! {
    Number: Add, add, plus;
    Number: Sub, sub, minus;
    Number: Mul, mul, times;
    Number: Div, div, over;
    Divisible: Rem, rem, modulo;
    Bits: BitAnd, bitand, and;
    Bits: BitOr, bitor, or;
    Bits: BitXor, bitxor, xor;
    Shift: Shl, shl, shifted_left;
    Shift: Shr, shr, shifted_right;
}

/// An operator of one array.
macro_rules! unary {
    ($($kind:ident: $trait:ident, $method:ident, $of:ident, $array:ty);* $(;)?) => {$(
        impl<'c, T: $kind> $trait for $array {
            type Output = Expr<'c, T>;

            fn $method(self) -> Expr<'c, T> {
                Expr::<'c, T>::from(self).map(T::$of)
            }
        }
    )*};
}

unary! {
    Number: Neg, neg, negative, H5Array<'c, T>;
    Number: Neg, neg, negative, &H5Array<'c, T>;
    Number: Neg, neg, negative, Expr<'c, T>;
    Number: Neg, neg, negative, &Expr<'c, T>;
    Bits: Not, not, inverted, H5Array<'c, T>;
    Bits: Not, not, inverted, &H5Array<'c, T>;
    Bits: Not, not, inverted, Expr<'c, T>;
    Bits: Not, not, inverted, &Expr<'c, T>;
}

/// A value on the left of an operator.
macro_rules! from_the_left {
    ($trait:ident, $method:ident, $of:ident: $($t:ty),*) => {$(
        from_the_left!(@one $trait, $method, $of, $t, H5Array<'c, $t>);
        from_the_left!(@one $trait, $method, $of, $t, &H5Array<'c, $t>);
        from_the_left!(@one $trait, $method, $of, $t, Expr<'c, $t>);
        from_the_left!(@one $trait, $method, $of, $t, &Expr<'c, $t>);
    )*};
    (@one $trait:ident, $method:ident, $of:ident, $t:ty, $right:ty) => {
        impl<'c> $trait<$right> for $t {
            type Output = Expr<'c, $t>;

            fn $method(self, array: $right) -> Expr<'c, $t> {
                Expr::<'c, $t>::from(array).map(move |element| self.$of(element))
            }
        }
    };
}

macro_rules! values {
    ($($t:ty),*) => {$(
        impl From<$t> for Operand<'_, $t> {
            fn from(value: $t) -> Self {
                Self::Value(value)
            }
        }
    )*};
}

macro_rules! numbers {
    ($($t:ty),*) => {
        values!($($t),*);
        from_the_left!(Add, add, plus: $($t),*);
        from_the_left!(Sub, sub, minus: $($t),*);
        from_the_left!(Mul, mul, times: $($t),*);
        from_the_left!(Div, div, over: $($t),*);
    };
}

numbers!(
    i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex32, Complex64
);
values!(bool);
from_the_left!(Rem, rem, modulo: i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64);
from_the_left!(BitAnd, bitand, and: bool, i8, i16, i32, i64, u8, u16, u32, u64);
from_the_left!(BitOr, bitor, or: bool, i8, i16, i32, i64, u8, u16, u32, u64);
from_the_left!(BitXor, bitxor, xor: bool, i8, i16, i32, i64, u8, u16, u32, u64);
from_the_left!(Shl, shl, shifted_left: i8, i16, i32, i64, u8, u16, u32, u64);
from_the_left!(Shr, shr, shifted_right: i8, i16, i32, i64, u8, u16, u32, u64);
