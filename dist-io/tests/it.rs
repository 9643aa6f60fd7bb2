//! The laws of dist-io, on thread ranks.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    dead_code,
    reason = "small numbers, compared exactly"
)]

#[path = "it/execute.rs"]
mod execute;
#[path = "it/laws.rs"]
mod laws;
#[path = "it/plan.rs"]
mod plan;
mod support;

#[cfg(feature = "hdf5")]
#[path = "it/array.rs"]
mod array;
#[cfg(feature = "hdf5")]
#[path = "support/arrays.rs"]
mod arrays;
#[cfg(feature = "hdf5")]
#[path = "it/beside.rs"]
mod beside;
#[cfg(feature = "hdf5")]
#[path = "support/cases.rs"]
#[warn(dead_code, reason = "a case that is in no list is never run")]
mod cases;
#[cfg(feature = "hdf5")]
#[path = "it/chunk.rs"]
mod chunk;
#[cfg(feature = "hdf5")]
#[path = "it/damaged.rs"]
mod damaged;
#[cfg(feature = "hdf5")]
#[path = "support/doomed.rs"]
mod doomed;
#[cfg(feature = "hdf5")]
#[path = "it/examples.rs"]
mod examples;
#[cfg(feature = "hdf5")]
#[path = "it/h5.rs"]
mod h5;
#[cfg(feature = "hdf5")]
#[path = "it/interrupted.rs"]
mod interrupted;
#[cfg(feature = "hdf5")]
#[path = "support/large.rs"]
mod large;
#[cfg(feature = "hdf5")]
#[path = "it/limits.rs"]
mod limits;
#[cfg(feature = "hdf5")]
#[path = "support/model.rs"]
mod model;
#[cfg(feature = "hdf5")]
#[path = "it/others.rs"]
mod others;
#[cfg(feature = "hdf5")]
#[path = "support/parts.rs"]
#[warn(dead_code, reason = "as above")]
mod parts;
#[cfg(feature = "hdf5")]
#[path = "support/pieces.rs"]
mod pieces;
#[cfg(feature = "hdf5")]
#[path = "it/python.rs"]
mod python;
#[cfg(feature = "hdf5")]
#[path = "it/python_handles.rs"]
mod python_handles;
#[cfg(feature = "hdf5")]
#[path = "it/python_parts.rs"]
mod python_parts;
#[cfg(feature = "hdf5")]
#[path = "it/records.rs"]
mod records;
#[cfg(feature = "hdf5")]
#[path = "it/series.rs"]
mod series;
#[cfg(feature = "hdf5")]
#[path = "it/types.rs"]
mod types;
#[cfg(feature = "hdf5")]
#[path = "it/untrusted.rs"]
mod untrusted;
#[cfg(feature = "hdf5")]
#[path = "it/vds.rs"]
mod vds;
#[cfg(feature = "hdf5")]
#[path = "it/wrong.rs"]
mod wrong;
