//! Universal functions: operations on elements, as values that `unary`, `binary` and their forms take.
//!
//! Each is a unit struct under `NumPy`'s name and implements [`UnaryOperation`] or [`BinaryOperation`] for the element types
//! that `NumPy` lets it have, with `NumPy`'s type of result:
//!
//! | operation | elements | result |
//! |---|---|---|
//! | [`Arccos`] [`Arccosh`] [`Arcsin`] [`Arcsinh`] [`Arctan`] [`Arctanh`] [`Cos`] [`Cosh`] [`Exp`] [`Expm1`] [`Log`] [`Log10`] [`Log1p`] [`Rint`] [`Sin`] [`Sinh`] [`Sqrt`] [`Tan`] [`Tanh`] | all | `f16` for `bool` and 8 bits, `f32` for 16 bits, `f64` for wider integers; else the same |
//! | [`Absolute`] | all | real for complex, else the same |
//! | [`Conjugate`] [`Reciprocal`] [`Square`] | all | `i8` for `bool`, else the same |
//! | [`Negative`] [`Sign`] | all but `bool` | the same |
//! | [`Invert`] | `bool`, integers | the same |
//! | [`Add`] [`Multiply`] [`Maximum`] [`Minimum`] | all | the common type; `bool` is added by "or", multiplied by "and" |
//! | [`Subtract`] | all but `bool` | the common type |
//! | [`Divide`] [`TrueDivide`] | all | `f64` for integers and `bool`, else the common type |
//! | [`FloorDivide`] [`Fmod`] [`Mod`] [`Remainder`] | all but complex | the common type, `i8` for `bool` |
//! | [`Power`] | all | the common type, `i8` for `bool` |
//! | [`Arctan2`] [`Hypot`] | all but complex | the common type of the floats |
//! | [`BitwiseAnd`] [`BitwiseOr`] [`BitwiseXor`] | `bool`, integers | the common type |
//! | [`LeftShift`] [`RightShift`] | `bool`, integers | the common type, `i8` for `bool` |
//! | [`Equal`] [`NotEqual`] [`Less`] [`LessEqual`] [`Greater`] [`GreaterEqual`] | all | `bool`; complex numbers by real, then imaginary part |
//!
//! The common type of two is that of [`Promote`]. Integers wrap, and divided by zero give 0. Where `NumPy` raises an error for
//! an integer to a negative power, the result here is the truncated quotient. Halves compute in `f32`, complex numbers of
//! `f32` in `f64` where a function is not plain arithmetic.
//!
//! Operations of one's own fit in: implement the trait.
//!
//! ```
//! use dist_comm::SingleComm;
//! use dist_maps::Distribution;
//! use local_array::ufunc::{self, UnaryOperation};
//! use local_array::LocalArray;
//! use ndarray::{Ix1, array};
//!
//! struct Logistic;
//! impl UnaryOperation<f64> for Logistic {
//!     type Output = f64;
//!     fn apply(&self, x: f64) -> f64 {
//!         1.0 / (1.0 + (-x).exp())
//!     }
//! }
//!
//! let d = Distribution::over(1).shape([3]).build()?;
//! let a = LocalArray::from_array(array![0_i8, 9, 4], &d, SingleComm::new())?;
//! assert_eq!(a.sqrt().into_local(), array![0.0, 3.0, 2.0].mapv(half::f16::from_f64)); // 8 bits: f16
//! assert_eq!(a.binary(ufunc::Add, 0.5_f32)?.into_local(), array![0.5_f32, 9.5, 4.5]);
//! assert_eq!(a.binary(ufunc::Reflected(ufunc::Power), 2_i8)?.into_local(), array![1, 0, 16]); // 2^a, wrapping
//! assert_eq!(a.astype::<f64>().unary(Logistic).get(&[0]), Some(0.5));
//! # Ok::<(), local_array::ArrayError>(())
//! ```

mod binary;
mod complex;
mod elementary;
mod methods;
mod number;
mod promote;
mod unary;

pub use binary::{
    Add, Arctan2, BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Equal, FloorDivide, Fmod, Greater,
    GreaterEqual, Hypot, LeftShift, Less, LessEqual, Maximum, Minimum, Mod, Multiply, NotEqual,
    Power, Reflected, Remainder, RightShift, Subtract, TrueDivide,
};
pub use elementary::{Elementary, RealFloat};
pub use number::{Divisible, Number, Shift, Wide};
pub use promote::{Comparable, Promote, ToFloat};
pub use unary::{
    Absolute, Arccos, Arccosh, Arcsin, Arcsinh, Arctan, Arctanh, Conjugate, Cos, Cosh, Exp, Expm1,
    Invert, Log, Log1p, Log10, Negative, Reciprocal, Rint, Sign, Sin, Sinh, Sqrt, Square, Tan,
    Tanh,
};

/// An operation on one element; [the module](self) shows one of one's own. Local.
pub trait UnaryOperation<T> {
    /// What comes out.
    type Output;
    /// The operation on `x`.
    fn apply(&self, x: T) -> Self::Output;
}

/// An operation on two elements; [the module](self) shows how such ones are used. Local.
pub trait BinaryOperation<A, B = A> {
    /// What comes out.
    type Output;
    /// The operation on `a` and `b`, in this order.
    fn apply(&self, a: A, b: B) -> Self::Output;
}
