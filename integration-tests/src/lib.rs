//! Every crate of the workspace together: whatever exports an array, into whatever imports one.
//!
//! [`cases`] lists the pairs, for any communicator: `tests/compose.rs` runs them on thread ranks, `tests/mpi.rs` under
//! `mpirun`. [`oracle`] says what a part must hold, from the protocol alone. [`stranger`] is an array type that none of the
//! crates knows. A new exporter or importer is one more line in [`exporters`] or [`importers`].

#![forbid(unsafe_code)]

mod cases;
mod exporters;
mod importers;
pub mod oracle;
mod shared_folder;
pub mod stranger;

pub use cases::{Case, cases, distributions};
pub use exporters::{Exporter, exporters};
pub use importers::{Importer, Received, importers};
pub use shared_folder::SharedFolder;

/// Why a case failed, as text.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The example of the README at the root.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
