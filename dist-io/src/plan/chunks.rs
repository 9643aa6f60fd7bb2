//! [`Chunk`]: the chunks of a chunked file that a rank reads or writes.

use dist_maps::{Distribution, IndexMap};

use crate::IoError;
use crate::part::Extent;

/// One chunk of a chunked file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// Its place in the grid of chunks.
    pub coords: Vec<u64>,
    /// The global index of its first element per dimension.
    pub origin: Vec<u64>,
    /// Its extent inside the array per dimension, in elements: less than the shape of the chunks at an upper edge.
    pub shape: Vec<u64>,
}

/// The chunks in which a rank owns or stores elements, in C order of the grid of chunks.
pub(super) fn chunks_of(
    distribution: &Distribution,
    rank: usize,
    chunk: &[u64],
    extent: Extent,
) -> Result<Vec<Chunk>, IoError> {
    distribution.dim_data(rank)?; // there is such a rank
    let Some(coords) = distribution.coords(rank) else {
        return Ok(Vec::new());
    };
    let mut chunks = vec![Chunk {
        coords: Vec::new(),
        origin: Vec::new(),
        shape: Vec::new(),
    }];
    let axes = distribution.axes().iter().zip(coords).zip(chunk);
    for ((axis, coord), &step) in axes {
        let size = axis.size();
        let owned = match extent {
            Extent::Owned => axis.owned_range(coord),
            Extent::Stored => None,
        };
        let touched = touched(axis.map(coord)?.runs(), owned.as_ref(), step);
        let longer = |chunk: &Chunk, at: u64| {
            let mut chunk = chunk.clone();
            let origin = at * step; // below the size
            chunk.coords.push(at);
            chunk.origin.push(origin);
            chunk.shape.push(step.min(size - origin));
            chunk
        };
        chunks = chunks
            .iter()
            .flat_map(|chunk| touched.iter().map(move |&at| longer(chunk, at)))
            .collect();
    }
    Ok(chunks)
}

/// The places along an axis of the chunks in which one of the runs lies, ascending.
fn touched(runs: dist_maps::Runs<'_>, owned: Option<&std::ops::Range<u64>>, step: u64) -> Vec<u64> {
    let mut places = Vec::new();
    for run in runs {
        let start = u64::try_from(run.global).unwrap_or(0);
        let end = start + run.len as u64;
        let (start, end) = match owned {
            Some(owned) => (start.max(owned.start), end.min(owned.end)),
            None => (start, end),
        };
        if start < end {
            let first = start / step;
            let last = (end - 1) / step;
            let known = places.last().copied();
            places.extend((first..=last).filter(|&place| Some(place) != known));
        }
    }
    places.sort_unstable();
    places.dedup();
    places
}
