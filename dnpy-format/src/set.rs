//! Sets of files: one array, one `.dnpy` file a rank, read by any number of ranks, by one process
//! too.
//!
//! # Saving
//!
//! Nothing here communicates. In this order, with the caller's own communication between the
//! steps:
//!
//! 1. one rank makes a [`SaveId`] and tells it to all; all make a [`SetWriter`] of it;
//! 2. every rank calls [`SetWriter::save_part`], and gives its [`PartRecord`] to one rank
//!    (`to_bytes` and `from_bytes` are for that);
//! 3. when all have succeeded, that rank calls [`SetWriter::publish`].
//!
//! The parts carry the id of the save in their names. The manifest, `<prefix>.manifest.json`,
//! names them with size and SHA-256 and is renamed into place last; the parts of the save before
//! are removed after that. A save that is killed at any moment leaves the set that was there.
//!
//! ```
//! use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
//! use dnpy_format::SaveId;
//! use dnpy_format::set::{Set, SetWriter};
//! # let dir = tempfile::tempdir()?;
//! # let prefix = dir.path().join("run");
//! // two ranks save 0..10, in blocks
//! let writer = SetWriter::new(&prefix, SaveId::random());
//! let mut records = Vec::new();
//! for rank in 0..2_usize {
//!     let range = if rank == 0 { 0..5 } else { 5..10 };
//!     let data: Vec<i64> = (if rank == 0 { 0..5 } else { 5..10 }).collect();
//!     let dim_data = DimData::new(vec![DimDict::block(10, 2, rank, range)?]);
//!     let part = DistBuffer::new(dim_data, HostArray::new(vec![5], data)?)?;
//!     records.push(writer.save_part(rank, &part)?);
//! }
//! writer.publish(&records)?;
//!
//! // rank 1 of 3 reads its cyclic part, from the files alone
//! let target = DimData::new(vec![DimDict::cyclic(10, 3, 1, 1)?]);
//! let read = Set::open(&prefix)?.read::<i64>(&target)?;
//! assert_eq!(read.part.buffer().data(), [1, 4, 7]);
//! assert_eq!(read.bytes_read, 24);
//!
//! // one process alone reads the whole array: no dimension is distributed
//! let set = Set::open(&prefix)?;
//! let whole: Result<Vec<_>, _> = set.global_shape().into_iter().map(DimDict::whole).collect();
//! let read = set.read::<i64>(&DimData::new(whole?))?;
//! assert_eq!(read.part.buffer().data(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Plain names
//!
//! [`SetWriter::plain_names`] gives the parts `DistArray`'s names, `<prefix>_<rank>.dnpy`, for its
//! readers. New parts then replace old ones one by one, so a killed save leaves a mixture. The
//! manifest's hashes tell: [`Set::open`] refuses a mixture and names the files of the other save.
//! Where there is no manifest yet, a marker, `<prefix>.saving`, is there until the first one is
//! published, and makes [`Set::open`] refuse.
//! Sets without a manifest, as `DistArray` writes them, are read with a [`Note`] that says so.

mod error;
mod manifest;
mod names;
mod open;
mod part;
mod place;
mod read;
mod write;

pub use error::SetError;
pub use manifest::{Manifest, PartRecord};
pub use open::{Note, Set};
pub use write::SetWriter;

#[cfg(doc)]
use crate::SaveId;
