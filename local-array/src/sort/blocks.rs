//! Sorted runs of all ranks, made into one sorted array in blocks.

use std::borrow::Cow;

use bytemuck::NoUninit;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;

use super::cuts::cuts;
use super::key::{Keyed, Sortable};
use super::merge::merge;
use crate::ArrayError;
use crate::strided::elements;

/// This rank's block of all elements in order, in the blocks of `distribution`; `run` is sorted. Collective.
pub(crate) fn dealt<T: Sortable, C: Communicator>(
    comm: &C,
    run: Vec<T>,
    distribution: &Distribution,
) -> Result<Vec<T>, ArrayError> {
    let how = How {
        key: |x: &T| T::words(x.key()),
        merge: T::merge,
        read: |bytes| elements(bytes),
    };
    dealt_by(comm, run, distribution, &how)
}

/// The same for keys with their places.
pub(crate) fn dealt_keyed<C: Communicator>(
    comm: &C,
    run: Vec<Keyed>,
    distribution: &Distribution,
) -> Result<Vec<Keyed>, ArrayError> {
    let how = How {
        key: |x: &Keyed| x.key,
        merge: |runs: &[&[Keyed]]| merge(runs, |a, b| a < b),
        read: |bytes| match bytemuck::try_cast_slice(bytes) {
            Ok(elements) => Cow::Borrowed(elements),
            Err(_) => Cow::Owned(
                bytes
                    .chunks_exact(size_of::<Keyed>())
                    .map(bytemuck::pod_read_unaligned)
                    .collect(),
            ),
        },
    };
    dealt_by(comm, run, distribution, &how)
}

/// What is done with elements.
struct How<T: Clone> {
    key: fn(&T) -> [u64; 2],
    merge: fn(&[&[T]]) -> Vec<T>,
    /// Elements from bytes, which may lie anywhere.
    read: fn(&[u8]) -> Cow<'_, [T]>,
}

fn dealt_by<T: NoUninit, C: Communicator>(
    comm: &C,
    run: Vec<T>,
    distribution: &Distribution,
    how: &How<T>,
) -> Result<Vec<T>, ArrayError> {
    let How { key, merge, read } = how;
    let ranks = comm.size();
    if ranks == 1 {
        return Ok(run);
    }
    let order = distribution.targets();
    let axis = &distribution.axes()[0];
    // Ranks without a block have nothing, and come last.
    let mut places: Vec<usize> = (0..ranks).map(|rank| order.len() + rank).collect();
    for (place, &rank) in order.iter().enumerate() {
        places[rank] = place;
    }
    let targets: Vec<u64> = (1..order.len())
        .filter_map(|coord| axis.owned_range(coord))
        .map(|owned| owned.start)
        .collect();
    let inner = cuts(comm, run.len(), &|at| key(&run[at]), &places, &targets)?;
    let mut bounds = vec![0];
    bounds.extend(inner);
    bounds.push(run.len());
    // By rank: where it cuts its run, so that each reads its piece where that can be read.
    let all: Vec<Vec<u64>> =
        comm.all_gather_slice(&bounds.iter().map(|&at| at as u64).collect::<Vec<_>>())?;
    let place = places[comm.rank()];
    let width = size_of::<T>();
    let piece = |rank: usize| {
        let bound = |at: usize| {
            let bound = all[rank].get(at).copied().unwrap_or(0);
            usize::try_from(bound).unwrap_or(usize::MAX)
        };
        bound(place)..bound(place + 1)
    };
    let is_here = place < order.len();
    let mut merged = Vec::new();
    let lent = comm.lend(bytemuck::cast_slice(&run), &mut |parts| {
        if !is_here {
            return;
        }
        let cut = |&rank: &usize| {
            let piece = piece(rank);
            let bytes = piece.start.saturating_mul(width)..piece.end.saturating_mul(width);
            read(
                parts
                    .get(rank)
                    .and_then(|part| part.get(bytes))
                    .unwrap_or(&[]),
            )
        };
        let pieces: Vec<Cow<'_, [T]>> = order.iter().map(cut).collect();
        let pieces: Vec<&[T]> = pieces.iter().map(|piece| &**piece).collect();
        merged = merge(&pieces);
    })?;
    if lent {
        return Ok(merged);
    }
    let mut sends: Vec<&[u8]> = vec![&[]; ranks];
    for (place, &rank) in order.iter().enumerate() {
        sends[rank] = bytemuck::cast_slice(&run[bounds[place]..bounds[place + 1]]);
    }
    let received = comm.all_to_all_v(&sends)?;
    drop(sends);
    drop(run);
    let pieces: Vec<Cow<'_, [T]>> = order.iter().map(|&rank| read(&received[rank])).collect();
    let pieces: Vec<&[T]> = pieces.iter().map(|piece| &**piece).collect();
    Ok(merge(&pieces))
}
