//! Feature `testkit`: metadata to test with, and suites that take anybody's implementation.
//!
//! Strategies ([`dim_data_set`], [`broken_dim_data`], [`broken_set`]) are proptest's. Suites
//! return what is wrong as text, so they fit any test runner; none of them communicates.
//!
//! Your exporter in a test of yours, with the parts of all ranks made one after the other:
//!
//! ```
//! use dap_protocol::{DimData, DimDict, DistBuffer, HostArray, testkit};
//!
//! // what `distarray` gives on rank 0 and on rank 1; the second forgets an element
//! let part = |rank, range: std::ops::Range<u64>, data: Vec<f64>| {
//!     let dim_data = DimData::new(vec![DimDict::block(6, 2, rank, range)?]);
//!     DistBuffer::new(dim_data, HostArray::new(vec![data.len()], data)?)
//! };
//! let good = [part(0, 0..3, vec![0.0; 3])?, part(1, 3..6, vec![0.0; 3])?];
//! assert_eq!(testkit::check_exporter(&good), Ok(()));
//! let bad = [part(0, 0..3, vec![0.0; 3])?, part(1, 4..6, vec![0.0; 2])?];
//! let wrong = "S4 axis 0 rank 1: start is 4, allowed: 3 (stop of rank 0 less the padding of 0)";
//! assert_eq!(testkit::check_exporter(&bad), Err(wrong.to_owned()));
//! # Ok::<(), dap_protocol::ProtocolError>(())
//! ```

mod broken;
mod cases;
mod fuzz;
mod strategies;
mod suites;

pub use broken::{Broken, BrokenSet, broken_dim_data, broken_set, mutations, set_mutations};
pub use cases::{Case, cases};
pub use fuzz::{fuzz_dim_data_json, fuzz_literal};
pub use strategies::{dim_data_set, dims_along};
pub use suites::{
    ImportReport, check_exporter, check_host_buffer, check_host_buffer_mut, check_importer,
};
