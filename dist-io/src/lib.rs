//! Distributed arrays in single files: a plan first, then bytes, moved by all ranks.
//!
//! ```text
//! distribution ─┐
//! element size ─┼─► IoPlan ─► read_elements, write_elements ─► one file     any file whose elements lie in one piece
//! file layout  ─┘                        ▲
//!                                        ├── save_hdf5, load_hdf5             HDF5 datasets (feature `hdf5`)
//!                                        ├── to_file, from_file               the same, a file for each rank
//!                                        └── open_dset                        the same, lazily: slices, fragments, arithmetic
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
//! # HDF5 datasets
//! - bool (`PyTables`' too), `i8` to `i64`, `u8` to `u64`, `f16`, bfloat16, `f32`, `f64`, complex numbers as h5py writes them, codes of
//!   enumerations; both byte orders are read. Nothing is converted. What was never written is the fill value.
//! - The library makes a dataset and says where its elements lie; every rank writes and reads there by itself. Chunks are filtered
//!   in threads, outside the library's lock: shuffle, deflate (h5py's `gzip`), fletcher32; lzf is read too, and other filters go
//!   through the library, if it has them.
//! - A chunk that does not decode, has another length or another checksum is an error that names the chunk and its byte.
//! - A file that is replaced while it is read is read as it was, or looked at again; one that another program has open to write it
//!   is not replaced. Saves of one file wait for each other.
//!
//! # Features
//! - `hdf5`: `SaveHdf5`, `LoadHdf5`, `inspect_hdf5` and so on, lazy handles (`open_dset`, `H5Array`), and Legate's calls in `legate`, by any HDF5
//!   library, a serial one too.
//! - `hdf5-mpio`: `Way::Mpio`, parallel HDF5 with collective transfers among MPI processes.
//! - `mpi`: the tests under `mpirun`.
//! - `cli`: the command `dap`; nothing of it is in the library.
#![cfg_attr(not(feature = "hdf5"), forbid(unsafe_code))]

mod error;
mod execute;
#[cfg(any(feature = "cli", feature = "hdf5"))]
#[cfg_attr(not(feature = "hdf5"), allow(dead_code, reason = "of datasets"))]
mod identity;
mod layout;
mod part;
mod plan;
#[cfg(any(feature = "cli", feature = "hdf5"))]
#[cfg_attr(not(feature = "hdf5"), allow(dead_code, reason = "of datasets"))]
mod publish;
mod report;

#[cfg(feature = "hdf5")]
mod h5;

pub use error::IoError;
pub use execute::{read_elements, write_elements};
#[cfg(feature = "hdf5")]
pub use h5::{
    AttributeNumbers, AttributeValue, Bits, ByteOrder, ChunkProblem, DEFAULT_KEY, DatasetInfo,
    Divisible, Expr, Field, FieldType, FileSeries, Fragments, H5Any, H5Array, H5Node,
    HandleRefusal, Hdf5Reader, Hdf5Writer, HostBytes, Limits, LoadHdf5, Number, Operand,
    ParseWriteModeError, Record, Refusal, Root, SaveHdf5, Series, SeriesRefusal, Shift, Storage,
    Tree, TreeFilter, Verified, Wanted, Way, WriteMode, datasets_hdf5, file_series, inspect_hdf5,
    load_hdf5, load_hdf5_records, open_dset, open_with, save_hdf5, verify,
};
#[cfg(feature = "hdf5-mpio")]
pub use h5::{Causes, CollectiveIo, IoMode};
#[cfg(feature = "hdf5")]
pub use h5::{array::create, tree::open};
pub use layout::FileLayout;
pub use part::{FilePart, FileRun, FileRuns};
pub use plan::{Chunk, Chunks, Direction, Explanation, IoPlan, RankVolume, Strategy};
pub use report::IoReport;

/// Writes a file as a whole or not at all: for `dap`, which is a crate of its own.
///
/// # Errors
/// What the operating system says.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub fn replace_file(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    publish::replace(path, bytes)
}

/// Calls whose progress is watched, and which can be ended: for `dap`, which is a crate of its own.
#[cfg(all(feature = "cli", feature = "hdf5"))]
#[doc(hidden)]
pub mod watched {
    use std::path::Path;

    use crate::h5::{repack_watched, verify_watched};
    use crate::{IoError, Refusal, Verified};

    /// As [`verify`](crate::verify()), by one process; `watch` is told of bytes that were read.
    ///
    /// # Errors
    /// As `verify`, and what `watch` says.
    pub fn verify(
        path: &Path,
        key: &str,
        watch: &mut dyn FnMut(u64) -> Result<(), Refusal>,
    ) -> Result<Verified, IoError> {
        verify_watched(path, key, None, &dist_comm::SingleComm::new(), watch)
    }

    /// As [`repack`](crate::legate::repack); `watch` is told of bytes that were copied, and of how many there are.
    ///
    /// # Errors
    /// As `repack`, and what `watch` says.
    pub fn repack(
        path: &Path,
        out: &Path,
        watch: &mut dyn FnMut(u64, u64) -> Result<(), Refusal>,
    ) -> Result<(), IoError> {
        repack_watched(path, out, watch)
    }
}

/// Legate's calls, under its names: a file for each rank, and one virtual dataset that presents them as one.
///
/// ```text
/// to_file, ToFile    every rank writes its part; the file that names them all is published last
/// from_file          any dataset, each rank what it wants of it; of a virtual one every part is checked
/// from_file_batched  a dataset in chunks, one read ahead
/// FileQueue          saves that return at once, and the fence that waits for them
/// repack             one plain file of a file with parts
/// ```
#[cfg(feature = "hdf5")]
pub mod legate {
    pub use crate::h5::{
        Batch, Batches, FileQueue, ToFile, from_file, from_file_batched, repack, to_file,
    };
}

/// The examples of `README.md`.
#[cfg(all(doctest, feature = "hdf5"))]
#[doc = include_str!("../README.md")]
#[doc = include_str!("../docs/handles.md")]
#[doc = include_str!("../docs/series.md")]
#[doc = include_str!("../docs/parts.md")]
#[doc = include_str!("../docs/untrusted.md")]
struct Readme;
