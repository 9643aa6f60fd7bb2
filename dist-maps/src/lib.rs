//! Who owns which index of a distributed array, where it lies, and in which runs.

#![forbid(unsafe_code)]

mod axis_dist;
mod distribution;
mod error;
mod grid_choice;

pub use axis_dist::{AxisDist, MAX_RANKS};
pub use dap_protocol::{Padding, ProcessGrid};
pub use distribution::{Distribution, DistributionBuilder, GlobalDim};
pub use error::MapError;
pub use grid_choice::choose_grid;
