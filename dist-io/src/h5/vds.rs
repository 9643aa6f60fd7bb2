//! Legate's calls: one file for each rank, and a virtual dataset that presents them as one.
//!
//! ```text
//! to_file          every rank ──► its part ──► synced ──► the file with the virtual dataset, renamed last
//! from_file        the file ──► its parts, each checked ──► what a rank wants, read from the parts themselves
//! ```
//!
//! Virtual datasets of others are read too, whatever their sources are: those in one piece as the parts above, all others tile by tile.
//!
//! For other programs the file is an ordinary HDF5 file. The library fills what it does not find; here a part that is missing, cut,
//! replaced or of another save is an error.

mod along;
mod batched;
mod block;
mod blockwise;
mod ffi;
mod from_file;
mod look_up;
mod mosaic;
mod part_file;
mod pattern;
mod place;
mod queue;
mod repack;
mod select;
mod tiles;
mod to_file;
mod write;
mod writer;

pub(super) use batched::batched;
pub(super) use block::Block;
pub(super) use ffi::{Blocks, Mapping, Selected};
pub(super) use look_up::{
    Nesting, Seen, is_below, part_file, part_files, parts_of, save_in, seen_parts,
};
pub(super) use mosaic::{Mosaic, MosaicFile, Piece};
pub(super) use place::retired_with;
pub(super) use tiles::Tiles;
pub(super) use writer::PartsWriter;

pub use batched::{Batch, Batches, from_file_batched};
pub use from_file::from_file;
pub use queue::FileQueue;
pub use repack::repack;
#[cfg(feature = "cli")]
pub(crate) use repack::repack_watched;
pub use to_file::{ToFile, to_file};

/// The attribute that names the save, of a virtual dataset and of its parts.
pub(super) const SAVE_ATTRIBUTE: &str = "dist_io_save";
/// The attribute of a part that says which block of the whole it is.
pub(super) const BOUNDS_ATTRIBUTE: &str = "dist_io_block";
/// How the name of a folder of parts ends.
const FOLDER_SUFFIX: &str = ".parts";
