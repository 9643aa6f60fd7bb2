//! The engine of all reductions: a pass over this rank's block, then a merge over the ranks that share an output.
//!
//! ```text
//! axes     kept | reduced           outputs in tiles, so that states stay bounded
//! block  ->  leaves  ->  a tree of leaves  ->  one state an output   (this rank)
//!        ->  binomial tree over the ranks of a group, by rank        (the lowest has the result)
//! ```
//!
//! The order is fixed. For an output the elements stand in C order of the reduced axes. Where the last axis is reduced, leaves
//! are [`Reduction::BLOCK`] elements one after the other, over row ends; where it is kept, [`Reduction::ROWS`] elements.
//! Leaves are merged two by two as a binary counter carries or one after the other ([`Order`]).

mod block;
mod exact;
mod extremes;
mod group;
mod local;
mod moments;
mod places;
mod sums;
mod truth;

use bytemuck::{CheckedBitPattern, NoUninit};

pub(crate) use block::Block;
pub(crate) use exact::{CHUNK, Exact};
pub(crate) use extremes::{ArgExtreme, Ends, Extreme, Extremes};
pub(crate) use group::{Group, fold_over_ranks, reduce_groups};
pub(crate) use local::whole;
pub(crate) use moments::Moments;
use places::Places;
pub(crate) use sums::{PairSums, Product, Sum, pairwise};
pub(crate) use truth::Truths;

/// In which order the elements of an output come to one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// In C order, leaves two by two, for the sake of rounding.
    Tree,
    /// In C order, one leaf after the other.
    Chain,
    /// As they lie in memory, one leaf after the other.
    Any,
    /// One leaf after the other, and the elements' places among the reduced ones are asked for.
    Places,
}

/// What is done with the elements of an output.
pub(crate) trait Reduction<T: Copy> {
    /// What is known of some elements of an output. Travels as bytes.
    type State: Copy + NoUninit + CheckedBitPattern;

    /// Elements of a leaf, where the last axis is reduced.
    const BLOCK: usize = 1024;
    /// Elements of a leaf, where the last axis is kept: rows handed over at once.
    const ROWS: usize = 128;
    /// Outputs handed over at once, where the last axis is kept.
    const COLUMNS: usize = 4096;
    /// How leaves come to one state.
    const ORDER: Order = Order::Tree;

    /// The state of no element; `None` where nothing can be said.
    fn nothing(&self) -> Option<Self::State>;

    /// The state of a leaf: at least one element, at most [`BLOCK`](Self::BLOCK).
    fn of_run(&self, run: &[T], place: Place<'_>) -> Self::State;

    /// Takes a leaf into a state that is there, where leaves are merged one after the other.
    #[inline]
    fn take_run(&self, state: &mut Self::State, run: &[T], place: Place<'_>) {
        self.merge(state, &self.of_run(run, place));
    }

    /// The states of as many outputs as a row has elements, of at least one row and at most [`ROWS`](Self::ROWS), all of the
    /// same length; `places` has one entry a row, where asked for. `states` is empty and is filled.
    fn of_rows(&self, rows: &[&[T]], places: &[i64], states: &mut Vec<Self::State>);

    /// The state of what `left` and `right` know, into `left`.
    fn merge(&self, left: &mut Self::State, right: &Self::State);
}

/// Where the elements of a run stand among the reduced elements of their output, in global C order of the reduced axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    base: i64,
    along: &'a Places,
    /// The position along the axis of the first element.
    from: usize,
}

impl Place<'_> {
    /// Where places are not asked for.
    pub(crate) const UNASKED: Self = Self {
        base: 0,
        along: &Places::Unasked,
        from: 0,
    };

    /// The place of an element of the run.
    pub(crate) fn of(&self, element: usize) -> i64 {
        self.base + self.along.at(self.from + element)
    }
}
