//! What can go wrong with arrays: [`ArrayError`].

use dap_protocol::{ElementType, ProtocolError, Violation};
use dist_comm::CommError;
use dist_comm::agree::Agreed;
use dist_maps::copy::CopyError;
use dist_maps::{MapError, PlanError};

/// Why an operation on a distributed array failed.
///
/// `DistArray`'s names are variants. In a collective call the error is the same on every rank: it follows from metadata that
/// every rank has, or the ranks agree on it ([`ArrayError::Agreed`]).
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix1;
///
/// let error = ThreadComm::run(2, |comm| {
///     let three = Distribution::over(3).shape([6]).block(0).build()?;
///     LocalArray::<f64, Ix1, _>::zeros(&three, comm).map(|_| ()) // two ranks, and a distribution over three
/// });
/// let text = error.unwrap_err().to_string();
/// assert!(text.contains("the communicator has 2 rank(s), the distribution is over 3"), "{text}");
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// Two arrays whose elements do not lie where an operation needs them. Redistribute one of them first (`asdist_like`,
    /// `replicate_like`, `equalise`), or let the operation do it (`Equalised`).
    #[error("arrays are not compatible: {what} is {given}, the other array has {allowed}")]
    IncompatibleArray {
        /// What differs: `"global shape"`, `"distribution"`, ….
        what: &'static str,
        /// What the second array, or the caller, has.
        given: String,
        /// What the first has.
        allowed: String,
    },
    /// An argument whose value the operation does not take.
    #[error("{what} {given} is not valid, allowed: {allowed}")]
    Argument {
        /// The argument's name.
        what: &'static str,
        /// Its value.
        given: String,
        /// The values there are.
        allowed: String,
    },
    /// Two shapes that do not go together.
    #[error("{what} has shape {given:?}, allowed: {allowed}")]
    Shape {
        /// What has the shape.
        what: &'static str,
        /// The shape.
        given: Vec<u64>,
        /// What the operation takes.
        allowed: String,
    },
    /// A communicator of another size than the distribution is made for.
    #[error("the communicator has {given} rank(s), the distribution is over {allowed}")]
    InvalidBaseComm {
        /// Ranks of the communicator.
        given: usize,
        /// Ranks of the distribution.
        allowed: usize,
    },
    /// A dimension that the array does not have, or another number of dimensions.
    #[error("{what} {given} is not valid for an array of {ndim} dimension(s)")]
    InvalidDimension {
        /// `"axis"`, `"number of dimensions"` or `"number of indices"`.
        what: &'static str,
        /// What was given; a negative axis counts from the end.
        given: isize,
        /// Dimensions of the array.
        ndim: usize,
    },
    /// A letter that names no distribution.
    #[error("axis {axis}: distribution code {given:?} is not known, allowed: {allowed}")]
    InvalidMapCode {
        /// The dimension.
        axis: usize,
        /// The letter given.
        given: char,
        /// The letters there are.
        allowed: &'static str,
    },
    /// No communicator: this process is not part of the group that was asked for.
    #[error("this process has no communicator, allowed: a member of the group")]
    NullComm,
    /// A rank that the communicator does not have.
    #[error("{what} {given} is out of range, allowed: 0..{allowed}")]
    InvalidRank {
        /// What the rank was meant for: `"root"`.
        what: &'static str,
        /// The rank given.
        given: usize,
        /// Ranks of the communicator.
        allowed: usize,
    },
    /// The ranks name different roots for one call.
    #[error("the ranks name the roots {given:?}, allowed: one and the same")]
    Roots {
        /// What each rank named, by rank.
        given: Vec<u64>,
    },
    /// A local array of another extent than the distribution gives this rank.
    #[error(
        "rank {rank}: the local array has shape {given:?}, the distribution gives it {allowed:?}"
    )]
    LocalShape {
        /// This rank.
        rank: usize,
        /// Shape of the local array.
        given: Vec<usize>,
        /// Stored shape by the distribution.
        allowed: Vec<usize>,
    },
    /// A buffer whose elements are of another type.
    #[error("the elements are {given}, allowed: {allowed}")]
    ElementType {
        /// Type of the buffer.
        given: ElementType,
        /// Type of the array.
        allowed: ElementType,
    },
    /// Windows that reach beyond what the ranks store of their neighbours.
    #[error(
        "axis {axis}: windows of width {given} need {given} element(s) of padding, the distribution has {allowed}; \
         `.padding({given})` makes it with more"
    )]
    Padding {
        /// The dimension.
        axis: usize,
        /// Elements needed on each side.
        given: usize,
        /// The least that a rank has towards a neighbour.
        allowed: usize,
    },
    /// Windows over an axis whose neighbouring elements do not lie side by side.
    #[error(
        "axis {axis} is {given}: windows need block axes, whose ranks store their neighbours' elements as padding"
    )]
    NotBlocks {
        /// The dimension.
        axis: usize,
        /// How it is distributed: `"cyclic"` or `"unstructured"`.
        given: &'static str,
    },
    /// A flat index, or a global index, outside the array.
    #[error("{}{what} {given} is outside the array, allowed: 0..{allowed}", place(*axis))]
    OutOfBounds {
        /// `"flat index"` or `"index"`.
        what: &'static str,
        /// The dimension, for an index along one.
        axis: Option<usize>,
        /// What was given.
        given: i128,
        /// One past the last.
        allowed: u64,
    },
    /// An operation that has no answer for an array without elements: its least or greatest one, or a place of these; a vector
    /// to slide.
    #[error(
        "{operation} of an array without elements (global shape {shape:?}), allowed: at least one"
    )]
    Empty {
        /// `"min"`, `"max"`, `"argmin"`, `"convolve"`, ….
        operation: &'static str,
        /// The global shape.
        shape: Vec<u64>,
    },
    /// Memory that cannot be had.
    #[error("rank {rank}: {bytes:?} byte(s) for shape {shape:?} cannot be allocated")]
    Allocation {
        /// The rank: this one, unless the error follows from the distribution and is the same everywhere.
        rank: usize,
        /// The local shape, with what windows need around it.
        shape: Vec<usize>,
        /// Bytes asked for; `None` where even their number overflows.
        bytes: Option<usize>,
    },
    /// Shared memory that cannot hold the elements: not aligned, or of another length than asked for.
    #[error(
        "{bytes} byte(s) of shared memory do not hold the elements of this rank, allowed: {allowed} byte(s), aligned as they are"
    )]
    Memory {
        /// Bytes that the communicator gave.
        bytes: usize,
        /// Bytes that the elements take.
        allowed: usize,
    },
    /// A message of another rank that is not what it should be.
    #[error("the {bytes} byte(s) that another rank sent are not {what}")]
    Message {
        /// What they should be.
        what: &'static str,
        /// Their number.
        bytes: usize,
    },
    /// The parts of the ranks do not make one array.
    #[error("the parts do not fit together: {}", join(.0))]
    Parts(Vec<Violation>),
    /// A rank failed; the others have the same error.
    #[error(transparent)]
    Agreed(#[from] Agreed),
    /// The communicator failed.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// A distribution could not be made, or a map not asked.
    #[error(transparent)]
    Map(MapError),
    /// A movement could not be planned or carried out.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A copy was refused.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// Metadata break the protocol.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
}

impl From<MapError> for ArrayError {
    fn from(error: MapError) -> Self {
        match error {
            MapError::Kind { axis, given } => Self::InvalidMapCode {
                axis,
                given,
                allowed: "b, c or n",
            },
            MapError::Index { axis, given, size } => Self::OutOfBounds {
                what: "index",
                axis,
                given: given.into(),
                allowed: size,
            },
            other => Self::Map(other),
        }
    }
}

impl ArrayError {
    /// The same of an index along a dimension.
    pub(crate) fn of_axis(mut self, number: usize) -> Self {
        if let Self::OutOfBounds { axis, .. } = &mut self {
            axis.get_or_insert(number);
        }
        self
    }
}

fn place(axis: Option<usize>) -> String {
    axis.map_or_else(String::new, |axis| format!("axis {axis}: "))
}

fn join(violations: &[Violation]) -> String {
    violations
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}
