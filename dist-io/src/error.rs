//! [`IoError`]: everything that planning, reading and writing can refuse.

use dap_protocol::{ElementType, ProtocolError};
use dist_comm::CommError;
use dist_comm::agree::Agreed;
use dist_maps::copy::CopyError;
use dist_maps::{MapError, PlanError};

use crate::layout::shape_text;

/// Why there is no plan, or why an array was not read or written.
///
/// From a collective call every rank gets the same value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// Elements of a size that none has.
    #[error("elements of {given} bytes, allowed: 1, 2, 4, 8, 16")]
    ItemSize {
        /// Bytes an element.
        given: usize,
    },
    /// A chunk shape that does not fit the array.
    #[error("axis {axis}: chunks of {given} elements, allowed: 1 or more")]
    ChunkExtent {
        /// The dimension.
        axis: usize,
        /// Elements along it.
        given: u64,
    },
    /// A dataset that would be larger than it may ever be.
    #[cfg(feature = "hdf5")]
    #[error("axis {axis}: {given} elements, the dataset may have {allowed} at most")]
    MaxExtent {
        /// The dimension.
        axis: usize,
        /// Elements along it.
        given: u64,
        /// Its limit.
        allowed: u64,
    },
    /// Chunks of more bytes than HDF5 allows.
    #[cfg(feature = "hdf5")]
    #[error("chunks of {given} bytes, allowed: {allowed}")]
    ChunkBytes {
        /// Bytes of one.
        given: u64,
        /// HDF5's limit.
        allowed: u64,
    },
    /// A level of compression that there is not.
    #[cfg(feature = "hdf5")]
    #[error("level {given} of compression, allowed: 0 to 9")]
    DeflateLevel {
        /// The level.
        given: u8,
    },
    /// Two descriptions of an array with different numbers of dimensions.
    #[error("{what} has {given} dimensions, the array {allowed}")]
    Dimensions {
        /// What was given.
        what: &'static str,
        /// Its dimensions.
        given: usize,
        /// The array's.
        allowed: usize,
    },
    /// A global index that no place in a file belongs to.
    #[error("axis {axis}: index {index} has no place in the file, allowed: 0..{size}")]
    Index {
        /// The dimension.
        axis: usize,
        /// The global index.
        index: i64,
        /// The array's extent.
        size: u64,
    },
    /// An index that no rank holds: there is nothing to write in its place.
    #[error("axis {axis}: index {index} is on no rank, so it cannot be written")]
    Uncovered {
        /// The dimension.
        axis: usize,
        /// The lowest such index.
        index: u64,
    },
    /// A number that is too large.
    #[error("the {what} overflows")]
    Overflow {
        /// What was counted.
        what: &'static str,
    },
    /// The communicator and what was given have different numbers of ranks.
    #[error("{what} is for {given} ranks, the communicator has {allowed}")]
    Ranks {
        /// What was given.
        what: &'static str,
        /// Its ranks.
        given: usize,
        /// The communicator's ranks.
        allowed: usize,
    },
    /// Parallel HDF5 was asked for, and a rank is no MPI process.
    #[cfg(feature = "hdf5-mpio")]
    #[error("rank {rank} is no MPI process, allowed: a communicator of MPI processes (MpiComm)")]
    NotMpi {
        /// The lowest such rank.
        rank: usize,
    },
    /// Parallel HDF5 was asked for parts that make no array together.
    #[cfg(feature = "hdf5-mpio")]
    #[error("the parts of the ranks are no distribution of an array, which parallel HDF5 needs")]
    NoArray,
    /// A plan that was made for the other direction, or for elements that do not lie in one piece.
    #[error("a plan to {given} cannot be used to {asked}")]
    Direction {
        /// What the plan does.
        given: String,
        /// What was asked.
        asked: &'static str,
    },
    /// A plan that was made for another save.
    #[cfg(feature = "hdf5")]
    #[error("the plan is to {given}, and this is to {asked}")]
    OtherPlan {
        /// What the plan does.
        given: String,
        /// What was asked.
        asked: String,
    },
    /// A plan that has another part for a rank than this one gave.
    #[cfg(feature = "hdf5")]
    #[error("rank {rank} gives another part than the plan has for it")]
    OtherPart {
        /// The lowest such rank.
        rank: usize,
    },
    /// A buffer that is not as long as the rank's part.
    #[error("a buffer of {given} bytes for a part of {allowed}")]
    BufferLength {
        /// Bytes of the buffer.
        given: usize,
        /// Bytes of the part, padding included.
        allowed: usize,
    },
    /// A chunk that is larger than what may be in memory.
    #[error("a chunk of {given} bytes, allowed: {allowed}")]
    Budget {
        /// Bytes of a chunk.
        given: u64,
        /// Bytes that may be in memory.
        allowed: u64,
    },
    /// An expression of more operations in each other than are carried out.
    #[cfg(feature = "hdf5")]
    #[error(
        "an expression of more than {allowed} operations in each other: save a part of it, and go on from there"
    )]
    Depth {
        /// Operations in each other.
        allowed: usize,
    },
    /// What is assigned follows from the same dataset in another order, so that all of it has to be read before anything is written.
    #[cfg(feature = "hdf5")]
    #[error(
        "what is assigned follows from the same dataset, seen otherwise, and does not fit into {budget} bytes a rank"
    )]
    Overlap {
        /// Bytes that may be in memory on a rank.
        budget: u64,
    },
    /// A value that an element type does not have.
    #[cfg(feature = "hdf5")]
    #[error("{given} is no {element}")]
    Value {
        /// The value.
        given: String,
        /// The element type.
        element: ElementType,
    },
    /// Names that are not those of the members of a tree.
    #[cfg(feature = "hdf5")]
    #[error("members without parts: {missing:?}; parts of no member: {unknown:?}")]
    Members {
        /// Members for which there are no parts.
        missing: Vec<String>,
        /// Parts for which there is no member.
        unknown: Vec<String>,
    },
    /// What is wrong with one member of a tree.
    #[cfg(feature = "hdf5")]
    #[error("member {name:?}: {error}")]
    Member {
        /// Its name in the tree.
        name: String,
        /// What is wrong.
        error: Box<IoError>,
    },
    /// Memory that could not be had.
    #[error("no memory for {bytes} bytes")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// Ranks gave different things in one call.
    #[error("rank {rank} gives another {what} than rank 0: {given}, not {allowed}")]
    Differ {
        /// What has to be the same.
        what: &'static str,
        /// The lowest rank that differs.
        rank: usize,
        /// What it gave, as text.
        given: String,
        /// What rank 0 gave, as text.
        allowed: String,
    },
    /// The file holds another element type than was asked for.
    #[error("the file holds {given}, asked for: {allowed}")]
    ElementType {
        /// What the file holds.
        given: ElementType,
        /// What was asked for.
        allowed: ElementType,
    },
    /// An element type that is not written or read yet.
    #[error("{element} has no HDF5 type here yet")]
    NoHdf5Type {
        /// The element type.
        element: ElementType,
    },
    /// A field of a record that is not there, or not of this kind; or bytes that are no records.
    #[cfg(feature = "hdf5")]
    #[error("the field {field:?}: {message}")]
    Record {
        /// Its name; empty where records as a whole are meant.
        field: String,
        /// What is wrong.
        message: String,
    },
    /// The dataset has another shape than the metadata describe.
    #[error(
        "the file holds {}, the metadata describe {}",
        shape_text(given),
        shape_text(allowed)
    )]
    Shape {
        /// Extents in the file.
        given: Vec<u64>,
        /// Extents by the metadata.
        allowed: Vec<u64>,
    },
    /// A bit pattern that is no value of the element type (a `bool` that is neither 0 nor 1).
    #[error("rank {rank}: local position {position} is no {element}")]
    Element {
        /// The lowest rank that read one.
        rank: usize,
        /// Its position in that rank's buffer, in elements.
        position: u64,
        /// The element type.
        element: ElementType,
    },
    /// A part whose version of the protocol counts periodic edges otherwise: convert it first.
    #[error(
        "axis {axis}: version 0.9 does not own the padding of its periodic edges, which a file cannot leave out; \
         allowed: a part of version 0.10, or one without that padding"
    )]
    PeriodicEdge {
        /// The dimension.
        axis: usize,
    },
    /// The parts of the ranks are no array.
    #[error(transparent)]
    Map(#[from] MapError),
    /// Two distributions between which there is no way.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A copy that does not fit.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Metadata that break the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// Some rank failed in a way of its own.
    #[error(transparent)]
    Agreed(#[from] Agreed),
    /// The ranks could not reach each other, or a shared file not be opened, read or written.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// A file, or a name in it, that cannot be read or written.
    #[cfg(feature = "hdf5")]
    #[error("{}{}: {refusal}", path.display(), key_text(key))]
    Hdf5 {
        /// The file.
        path: std::path::PathBuf,
        /// The dataset; empty where the whole file is meant.
        key: String,
        /// What is wrong with it.
        refusal: Box<crate::Refusal>,
    },
}

#[cfg(feature = "hdf5")]
fn key_text(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!(":/{}", key.trim_start_matches('/'))
    }
}
