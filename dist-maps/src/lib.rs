//! Who owns which index of a distributed array, where it lies, and in which runs.
//!
//! An array is spread over ranks dimension by dimension. Each step from an index to a place in
//! memory is pure arithmetic, and has its type:
//!
//! ```text
//! partition   0 1 2 | 3 4 5 | 6 7 8 | 9     AxisDist      one dimension, all ranks along it
//!               ×  0 . 2 . 4 | . 1 . 3       Distribution  all dimensions, all ranks
//! mapping     global 7 <-> local 1          DimMap, MdMap one rank's part
//! layout      Run { global: 6, local: 0, len: 3 }         contiguous on both sides
//! ```
//!
//! - *Global* indices count the whole dimension, *local* ones what a rank stores of it.
//! - A rank *owns* elements, each element has one owner (unless lists overlap), and it may *store*
//!   communication padding besides: copies of its neighbours' elements.
//! - The ranks form a grid in C order. Ranks beyond it are *inactive* and hold nothing.
//! - Empty parts, dimensions of no elements, scalars, more ranks than elements: ordinary values.
//!
//! From two distributions follows a [`RedistPlan`], from padding a [`HaloPlan`]; [`copy`] moves the
//! elements that they name. Nothing here communicates.
//!
//! All sizes are `u64` up to 2⁶³ - 1, global indices `i64`, local ones `usize`; no memory depends on
//! a size, only on numbers of ranks (at most [`MAX_RANKS`]) and of explicit indices.
//!
//! # Features
//! - `draw`: `draw_text`, `draw_svg` and `draw_rgb`, who owns what.
//! - `testkit`: strategies for distributions with a brute-force reading of them.

mod axis_dist;
mod block;
mod canonical;
mod compact;
pub mod copy;
mod cyclic;
mod dim_map;
mod distribution;
#[cfg(feature = "draw")]
mod draw;
mod error;
mod grid_choice;
mod halo;
mod index;
mod locator;
mod map;
mod md_map;
mod partial;
mod plan;
mod reciprocal;
mod runs;
mod slice;
#[cfg(feature = "testkit")]
pub mod testkit;
mod unstructured;

pub use axis_dist::{AxisDist, MAX_RANKS};
pub use block::BlockMap;
pub use canonical::MAX_LISTED;
pub use compact::{CompactIndex, compact_indices};
pub use cyclic::{BlockCyclicMap, CyclicMap};
pub use dap_protocol::{Padding, ProcessGrid};
pub use dim_map::{DimMap, map_from_dim_dict};
pub use distribution::{Distribution, DistributionBuilder, GlobalDim, LocalPart, Sliced};
#[cfg(feature = "draw")]
pub use draw::{Raster, draw_rgb, draw_svg, draw_text};
pub use error::MapError;
pub use grid_choice::choose_grid;
pub use halo::{Corners, HaloPlan};
pub use index::{GlobalIndex, LocalIndex, pack_index, unpack_index};
pub use locator::{AxisLocator, NOWHERE};
pub use map::{IndexMap, NOT_HERE};
pub use md_map::{MDMap, MdMap};
pub use partial::{
    PartialDim, PartialKind, distribute_block_indices, distribute_cyclic_indices,
    distribute_indices, make_partial_dim_data,
};
pub use plan::{
    Explanation, PairVolume, Part, PlanError, RedistPlan, Redistribution, Section, Transfer,
};
pub use runs::{GlobalIter, Run, Runs};
pub use slice::{Index, Slice};
pub use unstructured::UnstructuredMap;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
