//! [`PlanError`]: why there is no plan.

use crate::MapError;

/// What is wrong with a pair of distributions, or with a plan made of them.
///
/// All of it follows from the distributions alone: every rank gets the same answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The distributions have different numbers of dimensions.
    #[error("{src} dimensions in the source, {dst} in the destination")]
    Dimensions {
        /// Dimensions of the source.
        src: usize,
        /// Dimensions of the destination.
        dst: usize,
    },
    /// The distributions differ in extent along an axis of the destination.
    #[error("axis {axis}: {src} elements in the source, {dst} in the destination")]
    Extent {
        /// The axis of the destination.
        axis: usize,
        /// Its extent in the source.
        src: u64,
        /// Its extent in the destination.
        dst: u64,
    },
    /// A reshape between different numbers of elements.
    #[error("a reshape of {src} elements into {dst}")]
    Size {
        /// Elements of the source.
        src: u128,
        /// Elements of the destination.
        dst: u128,
    },
    /// A reshape that is to fill padding.
    #[error("a reshape fills no padding: exchange halos after it")]
    ReshapePadding,
    /// The axes given are no permutation.
    #[error("{given:?} is no permutation of the {ndim} axes")]
    Permutation {
        /// What was given.
        given: Vec<usize>,
        /// Dimensions of the source.
        ndim: usize,
    },
    /// A rank that neither distribution has.
    #[error("rank {given} of {ranks}")]
    Rank {
        /// The rank.
        given: usize,
        /// Ranks of the larger distribution.
        ranks: usize,
    },
    /// The destination holds an index that no rank of the source holds.
    #[error("axis {axis}: index {index} is on no rank of the source")]
    Missing {
        /// The axis of the destination.
        axis: usize,
        /// The lowest such index.
        index: i64,
    },
    /// A number of elements exceeds the address space.
    #[error("the {what} overflows")]
    Overflow {
        /// What overflows.
        what: &'static str,
    },
    /// A self-check found elements of the destination that are not written exactly once.
    #[error("rank {rank}: {written} elements are written where {allowed} should be, each once")]
    Inexact {
        /// The rank of the destination.
        rank: usize,
        /// Elements written, repetitions counted.
        written: u128,
        /// Elements to write.
        allowed: u128,
    },
    /// A self-check found an element that is written and is not to be.
    #[error("rank {rank} axis {axis}: position {position} is written and is not to be")]
    Outside {
        /// The rank of the destination.
        rank: usize,
        /// The axis of the destination.
        axis: usize,
        /// The local position.
        position: usize,
    },
    /// A self-check found elements of the destination that are written twice.
    #[error("rank {rank} axis {axis}: position {position} is written more than once")]
    WrittenTwice {
        /// The rank of the destination.
        rank: usize,
        /// The axis of the destination, the first of several for a reshape.
        axis: usize,
        /// The local position.
        position: usize,
    },
    /// A self-check found a message that its two ends describe differently.
    #[error("rank {from} to rank {to}: the two ends differ")]
    Unmatched {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
    },
    /// A distribution cannot answer.
    #[error(transparent)]
    Map(#[from] MapError),
}
