//! A rank's part of a distributed n-dimensional array, on `ndarray`.
//!
//! A [`LocalArray`] is three things: the rank's elements (an `ndarray` of any storage and memory order), the
//! [`Distribution`](dist_maps::Distribution) of the whole, and a [`Communicator`](dist_comm::Communicator). It never computes
//! who owns what and never owns a connection; those are the crates `dist-maps` and `dist-comm`.
//!
//! ```text
//! dist-maps: who owns which index   ->  plan    -+
//! ndarray:   this rank's elements   ->  slices  -+->  local-array  ->  dist-comm: bytes between ranks
//! ```
//!
//! # Local and collective
//!
//! Every item says which it is. *Local* calls concern this rank alone and may differ from rank to rank. *Collective* ones are
//! made by all ranks in the same order; they return the same error on all ranks, so that none is left waiting.
//!
//! | local | collective |
//! |---|---|
//! | `zeros`, `full`, `from_fn`, `from_array` | `from_distarray`, `from_dim_data`, [`SharedArray::zeros`] |
//! | `get`, `checked_getitem`, `global_limits`, … | `sum`, `mean`, `min`, `max` |
//! | operators, universal functions ([`ufunc`]), `map`, `zip_map`, `map_windows` | `redistribute`, `asdist`, [`Redistributor::execute`] |
//! | planning: [`Redistributor::new`], [`HaloExchanger::new`] | `exchange_halo`, [`HaloExchanger::exchange`], `gather_to` |
//!
//! Arrays combine element by element where their elements lie on the same ranks in the same order; the distributions tell,
//! without communication; shapes broadcast where each rank has what is repeated. Otherwise that is
//! [`ArrayError::IncompatibleArray`] on every rank, and `asdist_like` is the cure, or [`Equalised`] on the spot:
//!
//! ```
//! use dist_comm::{Communicator, ThreadComm};
//! use dist_maps::Distribution;
//! use local_array::{ArrayError, Equalised, LocalArray};
//! use ndarray::Ix1;
//!
//! ThreadComm::run(2, |comm| {
//!     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
//!     let cyclic = Distribution::over(2).shape([6]).cyclic(0).build()?;
//!     let a = LocalArray::<f64, Ix1, _>::ones(&blocks, comm)?;
//!     let b = LocalArray::<f64, Ix1, _>::ones(&cyclic, comm)?;
//!     assert!(matches!(&a + &b, Err(ArrayError::IncompatibleArray { .. })));
//!     let sum = (&a + &b.asdist_like(&a)?)?; // collective
//!     assert_eq!(sum.sum()?, 12.0);
//!     assert_eq!((&a + Equalised(&b))?.sum()?, 12.0);
//!     Ok::<_, ArrayError>(())
//! })?;
//! # Ok::<(), dist_comm::RunError<ArrayError>>(())
//! ```

#![forbid(unsafe_code)]

mod agreement;
mod average;
mod axis;
mod base;
mod binary_counter;
mod cart;
mod cast;
mod choose;
mod close;
mod combine;
mod comm;
mod concatenate;
mod construct;
mod covariance;
mod cow;
mod cumulate;
mod deliver;
mod diagonal;
mod elementwise;
mod equalise;
mod error;
mod exact;
mod expand;
mod export;
mod fill;
mod fixed_tree;
mod gather;
mod halo;
mod histogram;
mod import;
mod index;
mod index_mode;
mod indices;
mod iterate;
mod linalg;
mod median;
mod meet;
mod metadata;
mod nonzero;
mod numeric;
mod operand;
mod operators;
mod output;
mod over;
mod owned;
mod part;
mod print;
mod properties;
mod put;
pub mod random;
mod redistribute;
mod reduce;
mod reduction;
mod reinterpret;
mod remote;
mod reproducible;
mod reproducible_scan;
mod reshape;
mod rounding;
mod rows;
mod search;
mod shared;
mod slicing;
mod sort;
mod spread;
mod strided;
mod summable;
mod take;
mod this_rank;
mod transpose;
pub mod ufunc;
mod windows;

pub use average::{Unweighted, Weights};
pub use base::{LocalArray, LocalArrayBase, LocalArrayView, LocalArrayViewMut};
pub use cart::{CartComm, init_comm};
pub use cast::Cast;
pub use choose::where_;
pub use close::Tolerance;
pub use comm::init_base_comm;
pub use concatenate::{Repeats, concatenate};
pub use construct::{Number, One, Order, Spaced, Steps};
pub use covariance::Covariance;
pub use cow::LocalArrayCow;
pub use elementwise::are_compatible;
pub use equalise::equalise;
pub use error::ArrayError;
pub use halo::HaloExchanger;
pub use histogram::{Bins, Histogram, Histogram2d};
pub use import::IntoLocal;
pub use index_mode::IndexMode;
#[doc(hidden)]
pub use indices::IndexList;
pub use indices::Indices;
pub use iterate::{GlobalIndex, GlobalIterator};
pub use linalg::{
    CrossAxes, Dot, MatMul, SlidingMode, TensorAxes, convolve, correlate, cross, dot, inner, outer,
    tensordot, vdot,
};
pub use median::Middle;
pub use numeric::{Arithmetic, Bitwise, Ordered};
pub use operand::{Equalised, Operand};
#[doc(hidden)]
pub use operand::{Lent, Side};
pub use over::{Axes, Over};
pub use print::{PrintOptions, Printed, get_printoptions, set_printoptions};
pub use redistribute::Redistributor;
pub use remote::RemoteElements;
pub use reproducible::{ExactlySummable, Parts, Reproducible, ReproducibleOver};
pub use rounding::Rounding;
pub use search::SearchSide;
pub use shared::SharedArray;
pub use sort::{SortKind, Sortable};
pub use spread::Spread;
pub use summable::{Accumulate, Accumulator, Floating, Real, Summable};
pub use windows::Edge;

/// Every name of `DistArray`'s package `distarray.local`, with each argument and the values that it takes: where it is here, and
/// the tests of its two meanings, on a rank's [`part`](LocalArrayBase::part) and over all ranks.
#[doc = include_str!("../docs/coverage.md")]
pub mod coverage {}

/// The README's example is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
