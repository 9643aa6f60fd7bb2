//! Who owns which index of a distributed array, where it lies, and in which runs.

#![forbid(unsafe_code)]

mod axis_dist;
mod block;
mod canonical;
pub mod copy;
mod cyclic;
mod dim_map;
mod distribution;
mod error;
mod grid_choice;
mod halo;
mod index;
mod locator;
mod map;
mod md_map;
mod plan;
mod reciprocal;
mod runs;
mod slice;
mod unstructured;

pub use axis_dist::{AxisDist, MAX_RANKS};
pub use block::BlockMap;
pub use canonical::MAX_LISTED;
pub use cyclic::{BlockCyclicMap, CyclicMap};
pub use dap_protocol::{Padding, ProcessGrid};
pub use dim_map::{DimMap, map_from_dim_dict};
pub use distribution::{Distribution, DistributionBuilder, GlobalDim, LocalPart, Sliced};
pub use error::MapError;
pub use grid_choice::choose_grid;
pub use halo::{Corners, HaloPlan};
pub use index::{GlobalIndex, LocalIndex, pack_index, unpack_index};
pub use locator::{AxisLocator, NOWHERE};
pub use map::{IndexMap, NOT_HERE};
pub use md_map::{MDMap, MdMap};
pub use plan::{
    Explanation, PairVolume, Part, PlanError, RedistPlan, Redistribution, Section, Transfer,
};
pub use runs::{GlobalIter, Run, Runs};
pub use slice::{Index, Slice};
pub use unstructured::UnstructuredMap;
