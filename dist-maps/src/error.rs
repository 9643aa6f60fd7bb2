//! [`MapError`]: everything that this crate can refuse when a map is made or asked.

use dap_protocol::ProtocolError;

/// What is wrong with a map, a distribution, or a question put to one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The protocol refuses the metadata.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A size does not fit signed 64-bit indices, or this machine's addresses.
    #[error("{}size {given} is too large, allowed: 0 to {allowed}", place(*axis))]
    Size {
        /// The axis, where one is known.
        axis: Option<usize>,
        /// The size, in elements.
        given: u64,
        /// The largest one, in elements.
        allowed: u64,
    },
    /// A number of ranks is not in `1..=MAX_RANKS`.
    #[error("{given} ranks, allowed: {} to {allowed}", 1)]
    Ranks {
        /// What was given.
        given: usize,
        /// The largest number.
        allowed: usize,
    },
    /// An axis does not exist.
    #[error("axis {given} of an array of {ndim} dimension(s)")]
    Axis {
        /// The axis.
        given: usize,
        /// Number of dimensions.
        ndim: usize,
    },
    /// An axis is named, and the shape that it would be of is missing.
    #[error("axis {axis} is named, but no shape is given: call `.shape([…])` on the builder")]
    NoShape {
        /// The first axis named.
        axis: usize,
    },
    /// An axis is named twice where each may be named once.
    #[error("axis {axis} is given twice")]
    RepeatedAxis {
        /// The axis.
        axis: usize,
    },
    /// Two things that must agree in length do not.
    #[error("{what}: {given} given, {expected} expected")]
    Count {
        /// What is counted.
        what: &'static str,
        /// How many were given.
        given: usize,
        /// How many are expected.
        expected: usize,
    },
    /// Block bounds do not ascend from 0 to the size.
    #[error("{}bounds[{position}] is {given}, allowed: {low} to {high}", place(*axis))]
    Bounds {
        /// The axis, where one is known.
        axis: Option<usize>,
        /// Position in the list of bounds.
        position: usize,
        /// The bound.
        given: u64,
        /// The least one allowed there.
        low: u64,
        /// The largest one allowed there.
        high: u64,
    },
    /// A block size of 0.
    #[error("{}block size 0, allowed: at least 1", place(*axis))]
    BlockSize {
        /// The axis, where one is known.
        axis: Option<usize>,
    },
    /// More boundary padding than the axis has elements.
    #[error("{}boundary padding of {given} elements, allowed: 0 to {size}", place(*axis))]
    Boundary {
        /// The axis, where one is known.
        axis: Option<usize>,
        /// Elements of it at both ends together.
        given: u64,
        /// Size of the axis, in elements.
        size: u64,
    },
    /// Something that only a block has is asked of another kind of axis.
    #[error("{}{what} on an axis of kind {kind:?}, allowed: blocks only", place(*axis))]
    NotABlock {
        /// The axis, where one is known.
        axis: Option<usize>,
        /// What was asked.
        what: &'static str,
        /// `"c"` or `"u"`.
        kind: &'static str,
    },
    /// A cyclic map is asked of another kind of dictionary.
    #[error("a cyclic map of a dimension of kind {kind:?}")]
    NotCyclic {
        /// `"b"` or `"u"`.
        kind: &'static str,
    },
    /// An unstructured map is asked of another kind of dictionary.
    #[error("an unstructured map of a dimension of kind {kind:?}")]
    NotUnstructured {
        /// `"b"` or `"c"`.
        kind: &'static str,
    },
    /// A local position beyond the end of the buffer.
    #[error("local position {given} of {len}")]
    Local {
        /// The position.
        given: usize,
        /// Elements stored.
        len: usize,
    },
    /// A slice with a step of 0.
    #[error("a slice with step 0, allowed: any other")]
    Step,
    /// An operation would have to list too many indices.
    #[error("{given} indices would have to be listed, allowed: {allowed}")]
    TooManyToList {
        /// How many.
        given: u64,
        /// The most that are listed.
        allowed: u64,
    },
    /// Arrays that cannot be joined in place.
    #[error("array {array} has, on axis {axis}, {what}")]
    NotAligned {
        /// Its position; the first array is 0.
        array: usize,
        /// The axis.
        axis: usize,
        /// What differs from the arrays before.
        what: &'static str,
    },
    /// A reshape to another number of elements.
    #[error("a shape of {given} elements for an array of {expected}")]
    ReshapeSize {
        /// Elements of the new shape.
        given: u64,
        /// Elements of the array.
        expected: u64,
    },
    /// A part that is no box of index sets in the new shape.
    #[error("the part at coordinate {coord} is no box in {rows} x {columns}: elements would move")]
    NotABox {
        /// The grid coordinate of the flattened group.
        coord: usize,
        /// Rows of the new shape.
        rows: u64,
        /// Columns of the new shape, the later dimensions taken together.
        columns: u64,
    },
    /// A key that has to be given before the rest can be filled in.
    #[error("{what} is missing")]
    Missing {
        /// The dictionary key.
        what: &'static str,
    },
    /// A letter that names no kind of distribution.
    #[error("axis {axis}: distribution {given:?}, allowed: b, c or n")]
    Kind {
        /// The axis.
        axis: usize,
        /// The letter.
        given: char,
    },
    /// An unstructured axis cannot be made from its size alone.
    #[error("axis {axis}: an unstructured axis needs its lists of indices")]
    NeedsIndices {
        /// The axis.
        axis: usize,
    },
    /// A global index outside the axis.
    #[error("{}index {given} of an axis of size {size}", place(*axis))]
    Index {
        /// The axis, where one is known.
        axis: Option<usize>,
        /// The index.
        given: i64,
        /// Size of the axis, in elements.
        size: u64,
    },
    /// A global index twice on one rank.
    #[error("{}coordinate {coord}: index {given} is listed twice", place(*axis))]
    RepeatedIndex {
        /// The axis, where one is known.
        axis: Option<usize>,
        /// The grid coordinate.
        coord: usize,
        /// The index.
        given: i64,
    },
    /// A grid with an extent that the axis cannot use.
    #[error("axis {axis}: grid extent {given}, allowed: {allowed}")]
    GridExtent {
        /// The axis.
        axis: usize,
        /// The extent, in ranks.
        given: usize,
        /// The extent that the axis has.
        allowed: usize,
    },
    /// A grid of more ranks than there are.
    #[error("a grid of {given} ranks, allowed: at most {allowed}")]
    GridTooLarge {
        /// Ranks of the grid.
        given: usize,
        /// Ranks there are.
        allowed: usize,
    },
    /// A rank that does not exist, or stands twice in a list of ranks.
    #[error("rank {given}: not below {ranks}, or named twice")]
    Target {
        /// The rank.
        given: usize,
        /// Number of ranks.
        ranks: usize,
    },
    /// The parts of the ranks do not describe one distribution.
    #[error("rank {rank}{}: {what}", axis.map(|a| format!(" axis {a}")).unwrap_or_default())]
    Parts {
        /// The rank whose part does not fit.
        rank: usize,
        /// The axis, where one is meant.
        axis: Option<usize>,
        /// What does not fit.
        what: &'static str,
    },
}

fn place(axis: Option<usize>) -> String {
    axis.map_or_else(String::new, |axis| format!("axis {axis}: "))
}

impl MapError {
    /// The same of an axis, where it is of one and none is named yet.
    pub(crate) fn on_axis(mut self, number: usize) -> Self {
        if let Self::Size { axis, .. }
        | Self::Bounds { axis, .. }
        | Self::BlockSize { axis }
        | Self::Boundary { axis, .. }
        | Self::NotABlock { axis, .. }
        | Self::Index { axis, .. }
        | Self::RepeatedIndex { axis, .. } = &mut self
        {
            axis.get_or_insert(number);
        }
        self
    }
}
