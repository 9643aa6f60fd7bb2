//! [`DataError`]: everything that can go wrong with a data set.

use dap_protocol::{ElementType, ProtocolError};
use dist_comm::CommError;
use dist_comm::agree::Agreed;
use dist_maps::MapError;

/// Why a data set was not made or not read, or an order not drawn.
///
/// From a collective call (making a data set) every rank gets the same value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// A row, or a part, that there is not. Nothing was read.
    #[error("index {index} is out of range, allowed are 0..{len}")]
    IndexOutOfRange {
        /// What was asked for.
        index: u64,
        /// How many there are.
        len: u64,
    },
    /// A field that there is not.
    #[error("there is no field {name:?}, only {known:?}")]
    UnknownField {
        /// What was asked for.
        name: String,
        /// The fields there are.
        known: Vec<String>,
    },
    /// A field that the last read into this batch left out.
    #[error("field {name:?} was not read into this batch")]
    NotRead {
        /// The field.
        name: String,
    },
    /// Elements of another type than the field's.
    #[error("field {name:?} is of {held}, and was asked for as {asked}")]
    DtypeMismatch {
        /// The field.
        name: String,
        /// The type asked for.
        asked: ElementType,
        /// The field's type.
        held: ElementType,
    },
    /// A field of another kind than was asked for.
    #[error("field {name:?} is {held}, and was asked for as {asked}")]
    KindMismatch {
        /// The field.
        name: String,
        /// The kind asked for.
        asked: &'static str,
        /// The field's kind.
        held: &'static str,
    },
    /// A sample that is not what the schema says.
    #[error("row {row}: {field} is {given}, in the first sample it is {allowed}")]
    Sample {
        /// Its row.
        row: u64,
        /// The part of it.
        field: String,
        /// What it is.
        given: String,
        /// What it would have to be.
        allowed: String,
    },
    /// A source that failed.
    #[error("row {row}: {cause}")]
    Source {
        /// The row asked for.
        row: u64,
        /// Its error.
        cause: String,
    },
    /// A source that panicked.
    #[error("{what}: the source panicked: {message}")]
    SourcePanicked {
        /// What was asked of it.
        what: String,
        /// Its panic message.
        message: String,
    },
    /// Some rank failed; the same value on every rank.
    #[error(transparent)]
    OnRank(Agreed),
    /// Ranks gave different arguments to one collective call.
    #[error("rank {rank} gives {what} {given}, rank {other} gives {allowed}")]
    Differs {
        /// What is not the same.
        what: &'static str,
        /// The lowest rank that differs.
        rank: usize,
        /// What it gave.
        given: String,
        /// The rank that it differs from.
        other: usize,
        /// What that one gave.
        allowed: String,
    },
    /// A distribution that is none of this data set's rows.
    #[error("a placement of {given} {what} allowed are {allowed}")]
    Placement {
        /// What is counted.
        what: &'static str,
        /// How many there are.
        given: u64,
        /// How many there would have to be.
        allowed: u64,
    },
    /// Groups of no ranks.
    #[error("groups of {given} ranks, allowed: 1 or more")]
    Width {
        /// Ranks of a group.
        given: usize,
    },
    /// A structure that no data set has, or a text that is no schema.
    #[error("schema: {reason}")]
    Schema {
        /// What is wrong.
        reason: String,
    },
    /// Another number of elements than a shape has.
    #[error("a shape of {shape:?} was given {given} elements")]
    ElementCount {
        /// The shape.
        shape: Vec<usize>,
        /// Elements given.
        given: usize,
    },
    /// A rank that there is not.
    #[error("rank {given} is out of range, allowed are 0..{ranks}")]
    Rank {
        /// The rank.
        given: usize,
        /// How many there are.
        ranks: usize,
    },
    /// A batch without rows.
    #[error("batches of {given} rows, allowed: 1 or more")]
    Batch {
        /// Rows of a batch.
        given: u64,
    },
    /// A weight that no row can have.
    #[error(
        "row {row} has weight {given}, allowed are finite numbers from 0 on that are not all 0"
    )]
    Weight {
        /// The row.
        row: u64,
        /// Its weight.
        given: String,
    },
    /// A window that does not fit.
    #[error("a window of {what} {given}, allowed: {allowed}")]
    Window {
        /// What does not fit.
        what: &'static str,
        /// What was given.
        given: String,
        /// What could be given.
        allowed: String,
    },
    /// Saved bytes that are no state, or one of another data set.
    #[error("a saved state with {what} {given}, allowed is {allowed}")]
    State {
        /// What is wrong.
        what: &'static str,
        /// What it is.
        given: u64,
        /// What it would have to be.
        allowed: u64,
    },
    /// A part of a distributed array that cannot be a field.
    #[error("field {name:?}: {reason}")]
    Import {
        /// The field.
        name: String,
        /// Why not.
        reason: String,
    },
    /// More than can be addressed.
    #[error("{what}: more bytes than can be addressed")]
    TooLarge {
        /// What would be so large.
        what: &'static str,
    },
    /// Memory that could not be had.
    #[error("{bytes} bytes could not be allocated")]
    Allocation {
        /// Bytes asked for.
        bytes: u64,
    },
    /// What was read is not what its owner wrote: the transport is at fault, or memory was overwritten.
    #[error("what was read of rank {rank} is not what it wrote ({what})")]
    Corrupt {
        /// The owner.
        rank: usize,
        /// How it shows.
        what: &'static str,
    },
    /// Bytes that are no elements of their type, or no text: memory was overwritten.
    #[error("field {name:?} holds bytes that are no value of its type")]
    Value {
        /// The field.
        name: String,
    },
    /// A thread that could not be had.
    #[error("no thread: {message}")]
    Thread {
        /// What the operating system said.
        message: String,
    },
    /// An error of the communicator.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// An error of a distribution.
    #[error(transparent)]
    Map(#[from] MapError),
    /// An error of the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}
