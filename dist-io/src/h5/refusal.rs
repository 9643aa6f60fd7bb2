//! [`Refusal`]: what can be wrong with a file, and with a name in it.

mod handle;
mod series;

use serde::{Deserialize, Serialize};

use super::ChunkProblem;
use crate::publish::PublishError;

pub use handle::HandleRefusal;
pub use series::SeriesRefusal;

/// What is wrong with an HDF5 file, or with a name in it. One rank finds out, every rank gets the same value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Refusal {
    /// There is no such file.
    #[error("there is no such file")]
    NotFound,
    /// A directory, a device or a pipe.
    #[error("this is no regular file")]
    NotAFile,
    /// A path without a last component.
    #[error("this is no file name")]
    FileName,
    /// A file that is not to be replaced is there.
    #[error("the file exists, and mode \"w-\" makes a new one")]
    Exists,
    /// The operating system refused.
    #[error("{operation}: {message}")]
    Os {
        /// What was tried.
        operation: String,
        /// The operating system's answer.
        message: String,
    },
    /// A file of another format, or one cut off within its first bytes.
    #[error("this is no HDF5 file")]
    NotHdf5,
    /// The file ends before the elements do.
    #[error("the elements should end at byte {expected}, the file ends at byte {found}")]
    Truncated {
        /// Where they should end.
        expected: u64,
        /// Where the file ends.
        found: u64,
    },
    /// Another program has the file open to write it, or another save of it is under way.
    #[error("the file is locked: {message}")]
    Locked {
        /// Who has locked it, or the library's answer.
        message: String,
    },
    /// The file, or a part of it, was replaced or written to by another program, again and again while it was read, or between
    /// the beginning of a save and its end.
    #[error("the file was changed by another program meanwhile")]
    Changed,
    /// Ranks find different files under one name: they have different file systems, or a relative path leads elsewhere.
    #[error(
        "rank {rank} finds another file than rank 0 under this name, or none: all ranks need one file system"
    )]
    Unshared {
        /// The lowest such rank.
        rank: usize,
    },
    /// The save is done, and the file is the new one; a crash of the machine may still undo that.
    #[error("the file is replaced, but its directory could not be synced: {message}")]
    Unsynced {
        /// The operating system's answer.
        message: String,
    },
    /// Memory that could not be had.
    #[error("no memory for {bytes} bytes")]
    Memory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// The HDF5 library refused, with its own words.
    #[error("{operation}: {message}")]
    Library {
        /// What was tried.
        operation: String,
        /// The library's answer.
        message: String,
    },
    /// A key that names nothing that could be there.
    #[error("{given:?} is no key, allowed: names joined by \"/\", none of them empty or \".\"")]
    Key {
        /// What was given.
        given: String,
    },
    /// There is no such dataset.
    #[error("there is no {missing:?} in this file")]
    MissingKey {
        /// The part of the key, from the front, that is not there.
        missing: String,
    },
    /// The key is that of something else.
    #[error("this is a {kind}, not a dataset")]
    NotADataset {
        /// What it is.
        kind: String,
    },
    /// A part of the key that is not the last one is no group.
    #[error("{at:?} is no group, so nothing can be in it")]
    NotAGroup {
        /// The part of the key, from the front.
        at: String,
    },
    /// The key is taken; nothing is overwritten.
    #[error("the key exists already")]
    KeyExists,
    /// A dataset of a null dataspace has no elements and no shape.
    #[error("the dataset has a null dataspace: there is nothing to read")]
    NullDataspace,
    /// Elements that do not lie in this file, or not as elements of this dataset.
    #[error("the elements are stored {storage}; allowed here: {allowed}")]
    Storage {
        /// How they are stored.
        storage: String,
        /// How they may be.
        allowed: String,
    },
    /// What a lazy handle or a tree of them refuses.
    #[error(transparent)]
    Handle(#[from] HandleRefusal),
    /// What a series refuses: of steps in one dataset, or of files.
    #[error(transparent)]
    Series(#[from] SeriesRefusal),
    /// Chunks went through a filter that neither this crate nor the library can undo.
    #[error(
        "the chunks went through the filter {name} (number {number}), which is not there; undone are shuffle, deflate, \
         fletcher32, lzf, and what the HDF5 library has"
    )]
    Filter {
        /// The name under which it is registered.
        name: String,
        /// Its number.
        number: i32,
    },
    /// A chunk whose bytes are not those of its elements.
    #[error("the chunk at {origin:?}{}: {problem}", offset_text(*offset))]
    Chunk {
        /// The global index of its first element per dimension.
        origin: Vec<u64>,
        /// Its first byte in the file, where that is known.
        offset: Option<u64>,
        /// What is wrong with it.
        problem: ChunkProblem,
    },
    /// Chunks of a shape that cannot be in memory, or is not that of the dataset.
    #[error(
        "chunks of {given:?} elements, allowed: 1 or more along each dimension, and less than 4 GiB"
    )]
    ChunkShape {
        /// Elements per dimension.
        given: Vec<u64>,
    },
    /// Elements of a type that is not read yet.
    #[error(
        "the elements are {given}; read are bool, integers, f16, bfloat16, f32, f64 and complex numbers"
    )]
    ElementType {
        /// The library's name for the type.
        given: String,
    },
    /// A name that leads into another file.
    #[error("/{at} leads into another file (an external link): name that file itself")]
    AnotherFile {
        /// The names so far.
        at: String,
    },
    /// An attribute that cannot be attached.
    #[error("the attribute {name:?}: {message}")]
    Attribute {
        /// Its name.
        name: String,
        /// Why not.
        message: String,
    },
    /// A name of a code, or a code, that cannot be in an enumeration.
    #[error("the member {name:?}: {message}")]
    Member {
        /// The name.
        name: String,
        /// Why not.
        message: String,
    },
    /// The elements are the codes of an enumeration, which are read where [`LoadHdf5::codes`](crate::LoadHdf5::codes) asks for them.
    #[error(
        "the elements are the codes of an enumeration, which have to be asked for (LoadHdf5::codes)"
    )]
    Enumeration,
    /// A part of a virtual dataset that cannot be used.
    #[error("the part {part:?}: {refusal}")]
    Part {
        /// The file that holds the part, as the dataset names it.
        part: String,
        /// What is wrong with it.
        refusal: Box<Refusal>,
    },
    /// A part that is not the one which the dataset was saved with.
    #[error("{what} is {given}, the dataset was made for {allowed}")]
    Stamp {
        /// What is compared.
        what: String,
        /// What the part says.
        given: String,
        /// What the dataset says.
        allowed: String,
    },
    /// A virtual dataset that is not made of blocks, or of rows and columns.
    #[error("the virtual dataset is not made of blocks: {message}")]
    NotBlocks {
        /// Why not.
        message: String,
    },
    /// A virtual dataset with elements that no part holds.
    #[error("parts hold {covered} of the {size} elements")]
    Uncovered {
        /// Elements that some part holds.
        covered: u64,
        /// Elements of the dataset.
        size: u64,
    },
    /// Bytes that are not what the file format has there.
    #[error("byte {at} of the file: {message}")]
    Format {
        /// The byte.
        at: u64,
        /// What is wrong.
        message: String,
    },
    /// What is not done with files of unknown origin ([`Limits`](crate::Limits)).
    #[error("not with files of unknown origin: {what}")]
    Untrusted {
        /// What the file has, or what was asked for.
        what: String,
    },
    /// More than the reader allows a file to ask for.
    #[error("{given} {what}, allowed: {allowed}")]
    Limit {
        /// What is counted.
        what: String,
        /// What the file asks for.
        given: u64,
        /// The reader's limit.
        allowed: u64,
    },
    /// Bytes of a dataset that are not those that were saved.
    #[error("bytes {from} to {to} of the file are not those that were saved: {message}")]
    Damaged {
        /// The first byte of the piece, or of the chunks, that is wrong.
        from: u64,
        /// The byte behind it.
        to: u64,
        /// What is known of it.
        message: String,
    },
    /// The dataset was saved without checksums.
    #[error("the dataset has no checksums")]
    NoChecksums,
    /// The dataset does not say how it was distributed.
    #[error("the dataset has no attribute \"dim_data\": give a distribution")]
    NoDimData,
    /// The attribute that says how the dataset was distributed cannot be used.
    #[error("the attribute \"dim_data\": {message}")]
    DimData {
        /// Why not.
        message: String,
    },
}

impl From<PublishError> for Refusal {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::NotAFile => Self::NotAFile,
            PublishError::FileName => Self::FileName,
            PublishError::Exists => Self::Exists,
            PublishError::Locked(message) => Self::Locked { message },
            PublishError::Changed => Self::Changed,
            PublishError::Unsynced(error) => Self::Unsynced {
                message: error.to_string(),
            },
            PublishError::Os(operation, error) => Self::os(operation)(error),
        }
    }
}

impl Refusal {
    pub(super) fn os(operation: &str) -> impl FnOnce(std::io::Error) -> Self {
        move |error| Self::Os {
            operation: operation.to_owned(),
            message: error.to_string(),
        }
    }

    pub(super) fn library(operation: &str) -> impl FnOnce(hdf5_metno::Error) -> Self {
        move |error| Self::Library {
            operation: operation.to_owned(),
            message: error.to_string(),
        }
    }
}

fn offset_text(offset: Option<u64>) -> String {
    offset.map_or(String::new(), |offset| {
        format!(", from byte {offset} of the file on")
    })
}
