//! Products and running results that do not depend on the layout: a tree over global indices, whatever rank has them.
//!
//! Along an axis, elements are taken by blocks of [`BLOCK`] indices, each one after the other; blocks are joined two by two, as
//! a [binary counter](crate::binary_counter) carries. So what stands before block `b` is one node for each binary digit 1 of
//! `b`, and that is all that a rank hands on to the next one along the axis. All lanes along the axis go at once: a node has
//! a value for each.

use std::ops::Range;

use bytemuck::Pod;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution};

use crate::ArrayError;
use crate::binary_counter::BinaryCounter;
use crate::reduction::Group;
use crate::reshape::with_whole;

/// Elements of a block.
pub(crate) const BLOCK: u64 = 128;
/// The tag of the messages.
const TAG: u32 = 0x4654;

/// The ranks along one axis at this rank's other coordinates, and what this one has of it.
pub(crate) struct Line {
    group: Group,
    /// The blocks of this rank.
    pub(crate) blocks: Range<u64>,
}

/// Where elements go so that `axis` lies in whole blocks, in order; without padding. The same distribution otherwise, unless
/// there are too few blocks for the ranks: then the axis is whole, and the others are spread.
pub(crate) fn aligned(
    distribution: &Distribution,
    axis: usize,
) -> Result<Distribution, ArrayError> {
    let mut axes = distribution.axes().to_vec();
    let (n, ranks) = (axes[axis].size(), axes[axis].ranks() as u64);
    let blocks = n.div_ceil(BLOCK);
    let is_empty = distribution.global_shape().contains(&0);
    if blocks < ranks && distribution.ndim() > 1 && !is_empty {
        let whole = with_whole(distribution, axis)?;
        let with_blocks = distribution.targets().len() as u64 / ranks * blocks;
        if whole.targets().len() as u64 > with_blocks {
            return Ok(whole);
        }
    }
    for (number, dist) in axes.iter_mut().enumerate() {
        if number == axis {
            let bound = |coord: u64| {
                let before = u128::from(blocks) * u128::from(coord) / u128::from(ranks);
                u64::try_from(before * u128::from(BLOCK))
                    .unwrap_or(n)
                    .min(n)
            };
            *dist = AxisDist::block_bounds((0..=ranks).map(bound).collect::<Vec<_>>())?;
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
        let mut along = vec![false; distribution.ndim()];
        along[axis] = true;
        let group = Group::along(distribution, &along, rank)?;
        let range = distribution.axes()[axis].owned_range(group.me)?;
        Some(Self {
            group,
            blocks: range.start.div_ceil(BLOCK)..range.end.div_ceil(BLOCK),
        })
    }

    /// What stands before this rank's blocks: each node has a value for every one of `lanes`, as each of `values`, one for
    /// every block, has. Every rank of the line calls it.
    pub(crate) fn before<S: Pod>(
        &self,
        comm: &dyn Communicator,
        lanes: usize,
        values: &[Vec<S>],
        join: impl Fn(S, S) -> S + Copy,
    ) -> Result<BinaryCounter<Vec<S>>, ArrayError> {
        let before = self.received(comm, lanes)?;
        if let Some(&next) = self.group.members.get(self.group.me + 1) {
            let after = after(&before, values, join).nodes().concat();
            if !after.is_empty() {
                comm.send(next, TAG, bytemuck::cast_slice(&after))?;
            }
        }
        Ok(before)
    }

    /// What all blocks of each lane join to, on the lowest rank of the line; `None` on the others.
    pub(crate) fn total<S: Pod>(
        &self,
        comm: &dyn Communicator,
        lanes: usize,
        values: &[Vec<S>],
        neutral: S,
        join: impl Fn(S, S) -> S + Copy,
    ) -> Result<Option<Vec<S>>, ArrayError> {
        let before = self.before(comm, lanes, values, join)?;
        let members = &self.group.members;
        let (me, last) = (members[self.group.me], members[members.len() - 1]);
        let lowest = members.iter().copied().min().unwrap_or(me);
        let mut totals = vec![neutral; lanes];
        if me == last {
            let mut all = after(&before, values, join);
            if let Some(all) = all.finish(|left, right| joined(left, &right, join)) {
                totals = all;
            }
            if me != lowest && lanes > 0 {
                comm.send(lowest, TAG, bytemuck::cast_slice(&totals))?;
            }
        } else if me == lowest && lanes > 0 {
            comm.recv(last, TAG, bytemuck::cast_slice_mut(&mut totals))?;
        }
        Ok((me == lowest).then_some(totals))
    }

    fn received<S: Pod>(
        &self,
        comm: &dyn Communicator,
        lanes: usize,
    ) -> Result<BinaryCounter<Vec<S>>, ArrayError> {
        let nodes = self.blocks.start.count_ones() as usize;
        let mut states = vec![S::zeroed(); lanes * nodes];
        if let Some(previous) = self.group.me.checked_sub(1)
            && !states.is_empty()
        {
            let from = self.group.members[previous];
            comm.recv(from, TAG, bytemuck::cast_slice_mut(&mut states))?;
        }
        let node = |number: usize| states[number * lanes..(number + 1) * lanes].to_vec();
        let nodes = (0..nodes).map(node).collect();
        Ok(BinaryCounter::after(self.blocks.start, nodes))
    }
}

/// The values of two nodes, joined lane by lane.
pub(crate) fn joined<S: Copy>(mut left: Vec<S>, right: &[S], join: impl Fn(S, S) -> S) -> Vec<S> {
    for (left, &right) in left.iter_mut().zip(right) {
        *left = join(*left, right);
    }
    left
}

/// What stands after some blocks.
fn after<S: Copy>(
    before: &BinaryCounter<Vec<S>>,
    values: &[Vec<S>],
    join: impl Fn(S, S) -> S + Copy,
) -> BinaryCounter<Vec<S>> {
    let mut counter = before.clone();
    for value in values {
        counter.push(value.clone(), |left, right| joined(left, &right, join));
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn no_rank_gets_much_more_than_its_share() {
        // (shape, axis, blocks of the axis or its neighbours that a rank may have at most)
        let cases: [(&[u64], usize, u64); 4] = [
            (&[64, 1000], 0, 64 * 125),
            (&[1000, 100], 1, 125 * 100),
            (&[3 * 128, 1000], 0, 3 * 128 * 125),
            (&[9 * 128, 2], 0, 2 * 128 * 2),
        ];
        for (shape, axis, most) in cases {
            let d = Distribution::over(8).shape(shape).block(axis);
            let aligned = aligned(&d.build().unwrap(), axis).unwrap();
            let owned = |rank| {
                let coords = aligned.coords(rank)?;
                let counts = coords.iter().zip(aligned.axes());
                Some(
                    counts
                        .map(|(&c, axis)| axis.owned_range(c).map_or(0, |r| r.end - r.start))
                        .product::<u64>(),
                )
            };
            let all: Vec<u64> = (0..8).filter_map(owned).collect();
            assert_eq!(all.iter().sum::<u64>(), shape.iter().product::<u64>());
            assert!(all.iter().all(|&n| n <= most), "{shape:?}: {all:?}");
        }
        let empty = Distribution::over(4).shape([0, 7]).block(0).build();
        assert_eq!(aligned(&empty.unwrap(), 0).unwrap().global_shape(), [0, 7]);
    }
}
