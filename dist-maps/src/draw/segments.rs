//! An axis in pieces: whose each one is.

use crate::AxisDist;

/// Whose a piece of an axis is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Coord {
    /// One coordinate's.
    One(usize),
    /// Several coordinates', or some's in part.
    Several,
    /// Nobody's.
    Nobody,
}

/// The indices `from..to`.
#[derive(Clone, Copy)]
pub(super) struct Segment {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) owner: Coord,
}

impl Segment {
    /// The one piece of an axis that is not there.
    pub(super) fn single() -> Self {
        Self {
            from: 0,
            to: 1,
            owner: Coord::One(0),
        }
    }
}

/// The most elements that are looked at one by one.
const LOOKED_AT: u64 = 1 << 16;

/// Equal pieces, at most `most` of them, the last one short.
pub(super) fn cells(axis: &AxisDist, most: u64) -> Vec<Segment> {
    pieces_of(axis, axis.size().div_ceil(most).max(1))
}

/// Pieces of `width` elements, the last one short.
pub(super) fn pieces_of(axis: &AxisDist, width: u64) -> Vec<Segment> {
    let size = axis.size();
    let owner = owners(axis);
    (0..size.div_ceil(width))
        .map(|number| {
            let from = number * width;
            let to = from + width.min(size - from);
            Segment {
                from,
                to,
                owner: owner(from, to),
            }
        })
        .collect()
}

/// The pieces between changes of owner, where there are at most `most`.
pub(super) fn exact(axis: &AxisDist, most: usize) -> Option<Vec<Segment>> {
    let size = axis.size();
    match axis {
        AxisDist::Block { bounds, .. } => {
            let pieces = bounds.windows(2).enumerate();
            let pieces = pieces.filter(|(_, owned)| owned[0] < owned[1]);
            let pieces: Vec<Segment> = pieces
                .take(most + 1)
                .map(|(coord, owned)| Segment {
                    from: owned[0],
                    to: owned[1],
                    owner: Coord::One(coord),
                })
                .collect();
            (pieces.len() <= most).then_some(pieces)
        }
        AxisDist::Cyclic { block_size, .. } => {
            let width = (*block_size).min(size.max(1));
            let count = size.div_ceil(width);
            (count <= most as u64).then(|| pieces_of(axis, width))
        }
        AxisDist::Unstructured { .. } if size <= LOOKED_AT => {
            let mut pieces: Vec<Segment> = Vec::new();
            let owner = owners(axis);
            for g in 0..size {
                let owner = owner(g, g + 1);
                match pieces.last_mut() {
                    Some(last) if last.owner == owner => last.to = g + 1,
                    _ => pieces.push(Segment {
                        from: g,
                        to: g + 1,
                        owner,
                    }),
                }
            }
            (pieces.len() <= most).then_some(pieces)
        }
        AxisDist::Unstructured { .. } => None,
    }
}

/// The indices that lie on several coordinates, sorted.
fn shared(axis: &AxisDist) -> Vec<i64> {
    let AxisDist::Unstructured {
        indices,
        one_to_one: false,
        ..
    } = axis
    else {
        return Vec::new();
    };
    let mut all: Vec<i64> = indices
        .iter()
        .flat_map(|list| list.iter().copied())
        .collect();
    all.sort_unstable();
    let twice = all.windows(2).filter(|pair| pair[0] == pair[1]);
    twice.map(|pair| pair[0]).collect()
}

/// Tells whose a range of indices is.
fn owners(axis: &AxisDist) -> impl Fn(u64, u64) -> Coord + '_ {
    let locator = axis.locator();
    let shared = shared(axis);
    let coord = move |g: u64| locator.locate(g.cast_signed()).map(|place| place.0);
    move |from, to| match axis {
        // Between two elements of one coordinate there is no other's.
        AxisDist::Block { .. } => one_or_several(coord(from), coord(to - 1)),
        AxisDist::Cyclic {
            ranks, block_size, ..
        } => {
            if *ranks == 1 || from / block_size == (to - 1) / block_size {
                coord(from).map_or(Coord::Nobody, Coord::One)
            } else {
                Coord::Several
            }
        }
        AxisDist::Unstructured { .. } => {
            if to - from > LOOKED_AT {
                return Coord::Several;
            }
            let next = shared.partition_point(|&g| g < from.cast_signed());
            if shared.get(next).is_some_and(|&g| g < to.cast_signed()) {
                return Coord::Several;
            }
            let first = coord(from);
            if (from + 1..to).all(|g| coord(g) == first) {
                first.map_or(Coord::Nobody, Coord::One)
            } else {
                Coord::Several
            }
        }
    }
}

fn one_or_several(first: Option<usize>, last: Option<usize>) -> Coord {
    match (first, last) {
        (Some(a), Some(b)) if a == b => Coord::One(a),
        (None, None) => Coord::Nobody,
        _ => Coord::Several,
    }
}
