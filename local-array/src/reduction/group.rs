//! Merging the states of the ranks.

use bytemuck::checked::{try_cast_slice, try_pod_read_unaligned};
use bytemuck::{CheckedBitPattern, NoUninit};
use dist_comm::Communicator;
use dist_maps::Distribution;

use super::local::{tile, whole};
use super::{Block, Reduction};
use crate::ArrayError;

/// The tag of the messages of a reduction.
const TAG: u32 = 0x5255;
/// What is in the messages.
const STATES: &str = "states of a reduction";
/// Bytes of states at once.
const TILE: usize = 1 << 20;

/// The ranks at the same coordinates as this one, but along some axes.
pub(crate) struct Group {
    pub(crate) members: Vec<usize>,
    /// Which of them this rank is.
    pub(crate) me: usize,
    /// Positions that each of them owns along the other axes: the outputs of a reduction.
    outputs: usize,
}

impl Group {
    /// In C order of their coordinates; `None` where the rank has no place in the grid.
    pub(crate) fn along(distribution: &Distribution, axes: &[bool], rank: usize) -> Option<Self> {
        let coords = distribution.coords(rank)?;
        let extents = distribution.grid().shape();
        let mut all = vec![coords.clone()];
        for (axis, _) in axes.iter().enumerate().filter(|(_, along)| **along) {
            let moved = |coords: &Vec<usize>, c| {
                let mut coords = coords.clone();
                coords[axis] = c;
                coords
            };
            let each = |coords| (0..extents[axis]).map(move |c| moved(coords, c));
            all = all.iter().flat_map(each).collect();
        }
        let members = all.iter().map(|coords| distribution.rank_at(coords));
        let members: Vec<usize> = members.collect::<Option<_>>()?;
        let me = members.iter().position(|&member| member == rank)?;
        let others = distribution.axes().iter().zip(&coords).zip(axes);
        let outputs = others
            .filter(|(_, along)| !**along)
            .map(|((axis, &coord), _)| axis.owned_len(coord))
            .product();
        Some(Self {
            members,
            me,
            outputs,
        })
    }

    /// In order of rank: those that share the outputs of this one, where `reduced` are the axes of a reduction.
    pub(crate) fn of(distribution: &Distribution, reduced: &[bool], rank: usize) -> Option<Self> {
        let mut group = Self::along(distribution, reduced, rank)?;
        group.members.sort_unstable();
        group.me = group.members.binary_search(&rank).ok()?;
        Some(group)
    }

    /// All ranks, `first` the first of them.
    pub(crate) fn towards(first: usize, comm: &dyn Communicator) -> Self {
        let ranks = comm.size();
        let members: Vec<usize> = (first..ranks).chain(0..first).collect();
        Self {
            me: (comm.rank() + ranks - first) % ranks,
            members,
            outputs: 0,
        }
    }

    /// Joins the states of `count` outputs over the members, as a binomial tree in their order; true on the first one, which has
    /// the result. `states` is empty where a rank has none. `message` is a buffer.
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub(crate) fn join<S: NoUninit + CheckedBitPattern>(
        &self,
        comm: &dyn Communicator,
        count: usize,
        states: &mut Vec<S>,
        message: &mut Vec<u64>,
        join: impl Fn(&mut S, &S),
    ) -> Result<bool, ArrayError> {
        let (me, ranks) = (self.me, self.members.len());
        if ranks == 1 {
            return Ok(true);
        }
        // One word that says whether the rank has anything, then the states.
        let bytes = count * size_of::<S>();
        message.clear();
        message.resize(1 + bytes.div_ceil(size_of::<u64>()), 0);
        let mut distance = 1;
        while distance < ranks {
            if me % (2 * distance) == distance {
                message[0] = u64::from(!states.is_empty());
                let own: &[u8] = bytemuck::cast_slice(states);
                bytemuck::cast_slice_mut::<u64, u8>(&mut message[1..])[..own.len()]
                    .copy_from_slice(own);
                let to = self.members[me - distance];
                comm.send(to, TAG, bytemuck::cast_slice(message))?;
                return Ok(false);
            }
            if me + distance < ranks {
                let from = self.members[me + distance];
                comm.recv(from, TAG, bytemuck::cast_slice_mut(message))?;
                if message[0] != 0 {
                    let theirs = &bytemuck::cast_slice::<u64, u8>(&message[1..])[..bytes];
                    // The bytes are those of states.
                    let theirs: &[S] = try_cast_slice(theirs).map_err(|_| ArrayError::Message {
                        what: STATES,
                        bytes,
                    })?;
                    if states.is_empty() {
                        states.extend_from_slice(theirs);
                    } else {
                        states.iter_mut().zip(theirs).for_each(|(a, b)| join(a, b));
                    }
                }
            }
            distance *= 2;
        }
        Ok(true)
    }
}

/// Reduces the blocks of the ranks of each group; on the lowest rank of each, `see` gets the states of the outputs in C order.
/// Every rank with a place in the grid calls it.
///
/// # Errors
/// [`ArrayError::Comm`].
pub(crate) fn reduce_groups<T: Copy, R: Reduction<T>>(
    comm: &dyn Communicator,
    group: &Group,
    block: &Block<'_, T>,
    reduction: &R,
    mut see: impl FnMut(&R::State),
) -> Result<(), ArrayError> {
    let step = (TILE / size_of::<R::State>().max(1)).max(1);
    let mut states = Vec::with_capacity(step.min(group.outputs));
    let mut message = Vec::new();
    let mut first = 0;
    while first < group.outputs {
        let next = first.saturating_add(step).min(group.outputs);
        tile(block, reduction, first..next, &mut states);
        let count = next - first;
        let merge = |left: &mut R::State, right: &R::State| reduction.merge(left, right);
        if group.join(comm, count, &mut states, &mut message, merge)? {
            if states.is_empty() {
                let nothing = reduction.nothing();
                states.extend(nothing.into_iter().cycle().take(count));
            }
            states.iter().for_each(&mut see);
        }
        first = next;
    }
    Ok(())
}

/// The state of all elements of all ranks, merged in order of rank, the same on every rank; `None` where there is nothing to
/// say. Collective; `block` is `None` on a rank that has none.
///
/// # Errors
/// [`ArrayError::Comm`].
pub(crate) fn fold_over_ranks<T: Copy, R: Reduction<T>>(
    comm: &dyn Communicator,
    block: Option<&Block<'_, T>>,
    reduction: &R,
) -> Result<Option<R::State>, ArrayError> {
    let own = block.and_then(|block| whole(block, reduction));
    if comm.size() == 1 {
        return Ok(own.or_else(|| reduction.nothing()));
    }
    let bytes = size_of::<R::State>();
    let words = 1 + bytes.div_ceil(size_of::<u64>());
    let mut message = vec![0_u64; words];
    if let Some(own) = &own {
        message[0] = 1;
        bytemuck::cast_slice_mut::<u64, u8>(&mut message[1..])[..bytes]
            .copy_from_slice(bytemuck::bytes_of(own));
    }
    let mut all = vec![0_u64; words * comm.size()];
    comm.all_gather(
        bytemuck::cast_slice(&message),
        bytemuck::cast_slice_mut(&mut all),
    )?;
    let mut found: Option<R::State> = None;
    for message in all.chunks_exact(words).filter(|message| message[0] != 0) {
        let theirs = &bytemuck::cast_slice::<u64, u8>(&message[1..])[..bytes];
        // The bytes are those of a state.
        let theirs: R::State = try_pod_read_unaligned(theirs).map_err(|_| ArrayError::Message {
            what: STATES,
            bytes,
        })?;
        match &mut found {
            None => found = Some(theirs),
            Some(found) => reduction.merge(found, &theirs),
        }
    }
    Ok(found.or_else(|| reduction.nothing()))
}
