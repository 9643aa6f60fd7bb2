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
//! `f32` in `f64` where a function is not plain arithmetic. The inverse functions of complex numbers follow T. E. Hull, T. F.
//! Fairgrieve and P. T. P. Tang ("Implementing the complex arcsine and arccosine functions using exception handling", 1997).
//!
//! Operations of one's own fit in: implement the trait.
//!
//! ```
//! use dist_comm::ThreadComm;
//! use dist_maps::Distribution;
//! use local_array::ufunc::{self, UnaryOperation};
//! use local_array::{ArrayError, LocalArray};
//! use ndarray::Ix1;
//!
//! struct Logistic;
//! impl UnaryOperation<f64> for Logistic {
//!     type Output = f64;
//!     fn apply(&self, x: f64) -> f64 {
//!         1.0 / (1.0 + (-x).exp())
//!     }
//! }
//!
//! ThreadComm::run(2, |comm| {
//!     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
//!     let a = LocalArray::<i8, Ix1, _>::from_fn(&blocks, comm, |g| [0, 9, 4][g[0] as usize])?;
//!     assert_eq!(a.sqrt().max()?, half::f16::from_f64(3.0)); // 8 bits: f16
//!     assert_eq!(a.binary(ufunc::Add, 0.5_f32)?.max()?, 9.5_f32);
//!     assert_eq!(a.binary(ufunc::Reflected(ufunc::Power), 2_i8)?.max()?, 16); // 2^a: 1, 0 (it wraps), 16
//!     assert_eq!(a.astype::<f64>().unary(Logistic).min()?, 0.5);
//!     Ok::<_, ArrayError>(())
//! })?;
//! # Ok::<(), dist_comm::RunError<ArrayError>>(())
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

/// An operation on one element. Local. Example of one's own: see [the module](self).
pub trait UnaryOperation<T> {
    /// What comes out.
    type Output;
    /// The operation on `x`.
    fn apply(&self, x: T) -> Self::Output;
}

/// An operation on two elements. Local.
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::ufunc::BinaryOperation;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix1;
///
/// struct Distance;
/// impl BinaryOperation<f64> for Distance {
///     type Output = f64;
///     fn apply(&self, a: f64, b: f64) -> f64 {
///         (a - b).abs()
///     }
/// }
///
/// ThreadComm::run(2, |comm| {
///     let a = LocalArray::<f64, Ix1, _>::arange(0, 4, 1, "b", comm)?; // 0 1 2 3
///     assert_eq!(a.binary(Distance, 1.5)?.sum()?, 1.5 + 0.5 + 0.5 + 1.5);
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub trait BinaryOperation<A, B = A> {
    /// What comes out.
    type Output;
    /// The operation on `a` and `b`, in this order.
    fn apply(&self, a: A, b: B) -> Self::Output;
}
