//! Distributed arrays in single files: a plan first, then bytes, moved by all ranks.
//!
//! ```text
//! distribution ─┐
//! element size ─┼─► IoPlan ─► read_elements, write_elements ─► one file     any file whose elements lie in one piece
//! file layout  ─┘                        ▲
//!                                        ├── save_hdf5, load_hdf5             HDF5 datasets (feature `hdf5`)
//!                                        └── to_file, from_file               the same, a file for each rank
//! ```
//!
//! - A plan is pure: it says for every rank which bytes of the file are its own, and whether it goes there by itself or by an
//!   exchange in memory. No memory of it depends on the size of the array.
//! - Written is what a rank *owns*, read is what it *stores*: padding never gets into a file, and is filled from it.
//! - A collective call gives every rank the same error.
//!
//! Files are read and written through a [`Communicator`](dist_comm::Communicator)'s
//! [`SharedFile`](dist_comm::SharedFile): thread ranks and MPI ranks do the same.
//!
//! # Features
//! - `hdf5`: `SaveHdf5`, `save_hdf5`, `load_hdf5`, `inspect_hdf5`, and Legate's `to_file`, `from_file`, `from_file_batched`, by any HDF5 library,
//!   a serial one too.
//! - `mpi`: the tests under `mpirun`.
//! - `cli`: the command `dap`; nothing of it is in the library.
#![cfg_attr(not(feature = "hdf5"), forbid(unsafe_code))]

mod error;
mod execute;
mod layout;
mod part;
mod plan;
mod report;

#[cfg(feature = "hdf5")]
mod h5;

pub use error::IoError;
pub use execute::{read_elements, write_elements};
#[cfg(feature = "hdf5")]
pub use h5::{
    AttributeValue, Batch, Batches, ByteOrder, ChunkProblem, DEFAULT_KEY, DatasetInfo, Expr,
    FileQueue, FileSeries, Fragments, H5Any, H5Array, H5Node, HostBytes, Number, Operand,
    ParseWriteModeError, Refusal, SaveHdf5, Storage, Tree, TreeFilter, Wanted, WriteMode, create,
    file_series, from_file, from_file_batched, inspect_hdf5, load_hdf5, load_hdf5_codes, open,
    open_dset, open_with, repack, save_hdf5, to_file,
};
pub use layout::FileLayout;
pub use part::{FilePart, FileRun, FileRuns};
pub use plan::{Chunk, Direction, Explanation, IoPlan, LONG_RUN, RankVolume, Strategy};
pub use report::IoReport;

/// The examples of `README.md`.
#[cfg(all(doctest, feature = "hdf5"))]
#[doc = include_str!("../README.md")]
struct Readme;
