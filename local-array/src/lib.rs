//! A rank's part of a distributed n-dimensional array, on `ndarray`.

#![forbid(unsafe_code)]

mod base;
mod compare;
mod construct;
mod elementwise;
mod error;
mod export;
mod gather;
mod halo;
mod import;
mod index;
mod metadata;
mod numeric;
mod operators;
mod pairwise;
mod part;
mod redistribute;
mod reduce;
mod shared;
mod strided;
mod windows;

pub use base::{LocalArray, LocalArrayBase, LocalArrayView, LocalArrayViewMut};
pub use elementwise::{Operand, are_compatible};
#[doc(hidden)]
pub use elementwise::{PartRef, Side};
pub use error::ArrayError;
pub use halo::HaloExchanger;
pub use import::IntoLocal;
pub use numeric::{Accumulator, Arithmetic, Bitwise, Ordered, Summable};
pub use redistribute::Redistributor;
pub use shared::SharedArray;
pub use windows::Edge;

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
