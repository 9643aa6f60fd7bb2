//! Linear algebra over all ranks: products of vectors, matrices and arrays of any number of dimensions.

mod cross;
mod dot;
mod exact_dot;
mod few_sums;
mod kernel;
mod matrix_vector;
mod signal;
mod summa;
mod tensordot;
mod vector;

pub use cross::{CrossAxes, cross};
pub use dot::{Dot, dot};
pub(crate) use exact_dot::{Conjugate, exact_sum_of_products};
pub use kernel::MatMul;
pub use signal::{SlidingMode, convolve, correlate};
pub use tensordot::{TensorAxes, inner, tensordot};
pub(crate) use vector::alike;
pub use vector::{outer, vdot};
