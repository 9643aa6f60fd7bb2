//! Feature `testkit`: metadata to test with, and suites that take anybody's implementation.
//!
//! Strategies ([`dim_data_set`], [`broken_dim_data`], [`broken_set`]) are proptest's. Suites
//! return what is wrong as text, so they fit any test runner; none of them communicates.

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
