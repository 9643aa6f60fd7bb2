//! Sorted runs of all ranks, made into one sorted array in blocks.

use std::borrow::Cow;

use bytemuck::Pod;
use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;

use super::cuts::cuts;
use super::merge::merge;
use crate::ArrayError;
use crate::strided::elements;

/// This rank's block of all elements in order, in the blocks of `distribution`; `run` is sorted. Collective.
pub(crate) fn dealt<T: Element, C: Communicator>(
    comm: &C,
    run: Vec<T>,
    distribution: &Distribution,
    key: impl Fn(&T) -> [u64; 2],
    precedes: impl Fn(&T, &T) -> bool + Copy,
) -> Result<Vec<T>, ArrayError> {
    dealt_by(comm, run, distribution, key, precedes, |bytes| {
        elements::<T>(bytes)
    })
}

/// The same for what is no element of an array.
pub(crate) fn dealt_plain<T: Pod, C: Communicator>(
    comm: &C,
    run: Vec<T>,
    distribution: &Distribution,
    key: impl Fn(&T) -> [u64; 2],
    precedes: impl Fn(&T, &T) -> bool + Copy,
) -> Result<Vec<T>, ArrayError> {
    dealt_by(
        comm,
        run,
        distribution,
        key,
        precedes,
        |bytes| match bytemuck::try_cast_slice(bytes) {
            Ok(elements) => Cow::Borrowed(elements),
            Err(_) => Cow::Owned(
                bytes
                    .chunks_exact(size_of::<T>())
                    .map(bytemuck::pod_read_unaligned)
                    .collect(),
            ),
        },
    )
}

fn dealt_by<T: bytemuck::NoUninit, C: Communicator>(
    comm: &C,
    run: Vec<T>,
    distribution: &Distribution,
    key: impl Fn(&T) -> [u64; 2],
    precedes: impl Fn(&T, &T) -> bool + Copy,
    read: impl for<'a> Fn(&'a [u8]) -> Cow<'a, [T]>,
) -> Result<Vec<T>, ArrayError> {
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
        merged = merge(&pieces, precedes);
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
    Ok(merge(&pieces, precedes))
}
