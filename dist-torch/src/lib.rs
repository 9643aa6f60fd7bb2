//! Data sets in the memory of all ranks, read by any of them without the others; and torch's order of samples without torch.
//!
//! ```text
//!  Source ──► DistDataset ──► Batch                 schema and order    Schema, Order, Epoch, LoaderState    pure
//!  (a share     rows on all     fields stacked,     read plan           Placement, ReadPlan                  pure
//!   per rank)   ranks           memory used again   movement            windows of `dist-comm`
//! ```
//!
//! Each rank loads its share of any map-style source once; then every rank reads any rows, by one-sided reads in which the owner
//! takes no part, from any number of threads. Which rows come when is a function of seed, epoch and position alone, so a run
//! stops and goes on on any number of ranks.
//!
//! Nothing here needs torch or Python. The crate knows the protocol, maps and communicators, and no array library.

#![forbid(unsafe_code)]

mod batch;
mod dataset;
mod epoch;
mod error;
mod fill;
mod layout;
mod loader;
mod memory;
mod order;
mod permutation;
mod placement;
mod plan;
mod rng;
mod rows;
mod sample;
mod sampler;
mod schema;
mod source;
mod state;
mod windowed;

pub use batch::{Batch, BatchPool, Ragged, Texts, View};
pub use dap_protocol::{Element, ElementType};
pub use dataset::{Builder, DapFields, DistDataset};
pub use epoch::{Epoch, Uneven};
pub use error::DataError;
pub use loader::{Loaded, Loader, LoaderEpoch};
pub use order::{EpochOrder, Order};
pub use permutation::KeyedPermutation;
pub use placement::{Place, Placement, RowsOn, Share};
pub use plan::{Fetch, ReadPlan, Repeat};
pub use rng::{SampleRng, TorchRng};
pub use rows::Rows;
pub use sample::{Array, Sample};
pub use sampler::{DistributedSampler, Draws, LoaderDraw, RandomSampler, WeightedRandomSampler};
pub use schema::{Field, Kind, MAX_DEPTH, Schema, Structure};
pub use source::{
    ConcatSource, Encode, Fields, FromFn, FromVec, Source, SourceError, from_fn, from_vec,
};
pub use state::{LoaderState, Schedule};
pub use windowed::{Windowed, Windows};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
