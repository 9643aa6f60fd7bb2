//! Products and running results that do not depend on the layout: a tree over global indices, whatever rank has them.
//!
//! Along an axis, elements are taken by blocks of [`BLOCK`] indices, each one after the other; blocks are joined two by two, as
//! a binary counter carries. So what stands before block `b` is one node for each binary digit 1 of `b`, and that is all that
//! a rank hands on to the next one along the axis.

use std::ops::Range;

use bytemuck::Pod;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution};

use crate::ArrayError;

/// Elements of a block.
pub(crate) const BLOCK: u64 = 128;
/// The tag of the messages.
const TAG: u32 = 0x4654;

/// The ranks along one axis at this rank's other coordinates, and what this one has of it.
pub(crate) struct Line {
    members: Vec<usize>,
    at: usize,
    /// The blocks of this rank.
    pub(crate) blocks: Range<u64>,
}

/// The same distribution with `axis` in whole blocks, in order, over as many ranks; without padding.
pub(crate) fn aligned(
    distribution: &Distribution,
    axis: usize,
) -> Result<Distribution, ArrayError> {
    let mut axes = distribution.axes().to_vec();
    for (number, dist) in axes.iter_mut().enumerate() {
        if number == axis {
            let (n, ranks) = (dist.size(), dist.ranks());
            let step = n
                .div_ceil(BLOCK)
                .div_ceil(ranks as u64)
                .saturating_mul(BLOCK);
            let bounds: Vec<u64> = (0..=ranks as u64)
                .map(|c| n.min(c.saturating_mul(step)))
                .collect();
            *dist = AxisDist::block_bounds(bounds)?;
        } else if let AxisDist::Block { bounds, .. } = dist {
            *dist = AxisDist::block_bounds(bounds.clone())?;
        }
    }
    Ok(Distribution::from_axes(
        axes,
        distribution.ranks(),
        distribution.targets().to_vec(),
    )?)
}

impl Line {
    /// `None` where the rank has no place in the grid. `distribution` is an [`aligned`] one.
    pub(crate) fn of(distribution: &Distribution, axis: usize, rank: usize) -> Option<Self> {
        let mut coords = distribution.coords(rank)?;
        let at = coords[axis];
        let range = distribution.axes()[axis].owned_range(at)?;
        let member = |c: usize| {
            coords[axis] = c;
            distribution.rank_at(&coords)
        };
        let members = (0..distribution.grid().shape()[axis])
            .map(member)
            .collect::<Option<_>>()?;
        Some(Self {
            members,
            at,
            blocks: range.start.div_ceil(BLOCK)..range.end.div_ceil(BLOCK),
        })
    }

    /// What stands before this rank's blocks, for each of `lanes`, given its blocks' values: `values` has those of a lane one
    /// after the other. Every rank of the line calls it.
    pub(crate) fn before<S: Pod>(
        &self,
        comm: &dyn Communicator,
        lanes: usize,
        values: &[S],
        join: impl Fn(S, S) -> S + Copy,
    ) -> Result<Vec<Counter<S>>, ArrayError> {
        let before = self.received(comm, lanes)?;
        if let Some(&next) = self.members.get(self.at + 1) {
            let after: Vec<S> = self
                .after(&before, values, join)
                .flat_map(|counter| counter.nodes)
                .collect();
            if !after.is_empty() {
                comm.send(next, TAG, bytemuck::cast_slice(&after))?;
            }
        }
        Ok(before)
    }

    /// What all blocks of a lane join to, on the lowest rank of the line; `None` on the others.
    pub(crate) fn total<S: Pod>(
        &self,
        comm: &dyn Communicator,
        lanes: usize,
        values: &[S],
        neutral: S,
        join: impl Fn(S, S) -> S + Copy,
    ) -> Result<Option<Vec<S>>, ArrayError> {
        let before = self.before(comm, lanes, values, join)?;
        let (me, last) = (self.members[self.at], self.members[self.members.len() - 1]);
        let lowest = self.members.iter().copied().min().unwrap_or(me);
        let mut totals = Vec::new();
        if me == last {
            let after = self.after(&before, values, join);
            totals.extend(after.map(|counter| counter.join(join).unwrap_or(neutral)));
            if me != lowest && lanes > 0 {
                comm.send(lowest, TAG, bytemuck::cast_slice(&totals))?;
            }
        } else if me == lowest {
            totals.resize(lanes, neutral);
            if lanes > 0 {
                comm.recv(last, TAG, bytemuck::cast_slice_mut(&mut totals))?;
            }
        }
        Ok((me == lowest).then_some(totals))
    }

    fn received<S: Pod>(
        &self,
        comm: &dyn Communicator,
        lanes: usize,
    ) -> Result<Vec<Counter<S>>, ArrayError> {
        let nodes = self.blocks.start.count_ones() as usize;
        let mut states = vec![S::zeroed(); lanes * nodes];
        if let Some(previous) = self.at.checked_sub(1)
            && !states.is_empty()
        {
            comm.recv(
                self.members[previous],
                TAG,
                bytemuck::cast_slice_mut(&mut states),
            )?;
        }
        let counter = |lane: usize| Counter {
            blocks: self.blocks.start,
            nodes: states[lane * nodes..(lane + 1) * nodes].to_vec(),
        };
        Ok((0..lanes).map(counter).collect())
    }

    fn after<'a, S: Pod>(
        &self,
        before: &'a [Counter<S>],
        values: &'a [S],
        join: impl Fn(S, S) -> S + Copy + 'a,
    ) -> impl Iterator<Item = Counter<S>> + 'a {
        let count = usize::try_from(self.blocks.end - self.blocks.start).unwrap_or(usize::MAX);
        before.iter().enumerate().map(move |(lane, counter)| {
            let mut counter = counter.clone();
            values[lane * count..(lane + 1) * count]
                .iter()
                .for_each(|&value| counter.push(value, join));
            counter
        })
    }
}

/// The blocks so far: one node for each binary digit 1 of their number, the highest first.
#[derive(Clone, Debug)]
pub(crate) struct Counter<S> {
    blocks: u64,
    nodes: Vec<S>,
}

impl<S: Copy> Counter<S> {
    pub(crate) fn push(&mut self, value: S, join: impl Fn(S, S) -> S) {
        let mut node = value;
        for _ in 0..self.blocks.trailing_ones() {
            if let Some(left) = self.nodes.pop() {
                node = join(left, node);
            }
        }
        self.nodes.push(node);
        self.blocks += 1;
    }

    /// All blocks so far.
    pub(crate) fn join(&self, join: impl Fn(S, S) -> S) -> Option<S> {
        self.nodes
            .iter()
            .rev()
            .copied()
            .reduce(|right, left| join(left, right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_has_a_node_for_each_digit() {
        let mut counter = Counter {
            blocks: 0,
            nodes: Vec::new(),
        };
        for b in 0..21 {
            assert_eq!(
                counter.nodes.len(),
                usize::try_from(counter.blocks.count_ones()).unwrap()
            );
            counter.push((b, b + 1), |left: (u64, u64), right: (u64, u64)| {
                assert_eq!(left.1, right.0);
                (left.0, right.1)
            });
        }
        assert_eq!(counter.nodes, [(0, 16), (16, 20), (20, 21)]);
    }

    #[test]
    fn aligned_bounds_are_whole_blocks() {
        let d = Distribution::over(4)
            .shape([1000])
            .cyclic(0)
            .build()
            .unwrap();
        let aligned = aligned(&d, 0).unwrap();
        let ranges: Vec<_> = (0..4)
            .map(|c| aligned.axes()[0].owned_range(c).unwrap())
            .collect();
        assert_eq!(ranges, [0..256, 256..512, 512..768, 768..1000]);
        assert_eq!(Line::of(&aligned, 0, 3).unwrap().blocks, 6..8);
    }
}
