//! The Distributed Array Protocol as types.

#![forbid(unsafe_code)]

mod buffer;
pub mod check;
mod dim;
mod dim_data;
mod dist_buffer;
mod element;
mod error;
mod export;
mod grid;
mod host_array;
pub mod literal;
#[cfg(feature = "ndarray")]
mod ndarray_impl;
#[cfg(feature = "serde")]
mod serde_impl;
#[cfg(feature = "testkit")]
pub mod testkit;
mod version;

pub use buffer::{
    CopyError, HostBuffer, HostBufferMut, LocalBuffer, Order, copy_bytes_to_elements,
};
pub use dim::{DimDict, Dist, MAX_SIZE, Padding};
pub use dim_data::DimData;
pub use dist_buffer::DistBuffer;
pub use element::{Element, ElementType};
pub use error::{Code, ProtocolError, Violation};
pub use export::{DistributedArray, DistributedArrayMut};
pub use grid::ProcessGrid;
pub use host_array::HostArray;
pub use version::ProtocolVersion;
