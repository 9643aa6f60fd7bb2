//! [`Source`]: one axis of what is read from, and the positions that it shares with a part.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use dap_protocol::{DimDict, Dist, ProtocolVersion};
use dist_maps::copy::Piece;
use dist_maps::{
    AxisDist, DimMap, Distribution, GlobalIndex, IndexMap, LocalIndex, Part, PlanError,
    Redistribution, Section, map_from_dim_dict,
};

use crate::DnpyError;

/// Which elements of a part are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Those that it owns: communication padding left out, periodic edges by a version's rule.
    Owned(ProtocolVersion),
    /// All that it stores.
    Stored,
}

/// The positions that each coordinate of a source shares with a part; coordinates that share none
/// are left out.
pub(crate) type Shared = BTreeMap<usize, Vec<Piece>>;

/// One axis of a source, all its coordinates.
pub(crate) enum Source {
    /// Blocks, or blocks dealt in turn: each index is on one coordinate.
    Regular {
        /// What each coordinate owns.
        axis: AxisDist,
        /// Elements of padding that each coordinate stores before them.
        skip: Vec<usize>,
    },
    /// Explicit lists: index, coordinate and position, by rising index, each index once.
    Listed(Vec<(i64, usize, usize)>),
}

impl Source {
    /// All `size` elements on one coordinate.
    pub(crate) fn whole(size: u64) -> Result<Self, DnpyError> {
        Ok(Self::Regular {
            axis: AxisDist::whole(size)?,
            skip: vec![0],
        })
    }

    /// What the coordinates of `dims` own, at least one, in order; periodic edges by the rule of
    /// `version`. An index on several coordinates is left to the first.
    pub(crate) fn of_coords(
        dims: &[&DimDict],
        version: ProtocolVersion,
    ) -> Result<Self, DnpyError> {
        let (size, ranks) = (dims[0].size(), dims.len());
        match dims[0].dist() {
            Dist::Block { .. } => {
                let mut bounds = vec![0];
                let mut skip = Vec::with_capacity(ranks);
                let mut reached = 0;
                for dim in dims {
                    let stored = start(dim).unwrap_or(0);
                    let owned = dim.owned_range_in(version).unwrap_or(reached..reached);
                    // a block without elements may stand anywhere
                    if owned.start < owned.end {
                        skip.push(len(owned.start.saturating_sub(stored)));
                        reached = owned.end;
                    } else {
                        skip.push(0);
                    }
                    bounds.push(reached);
                }
                let axis = AxisDist::block_bounds(bounds)?;
                Ok(Self::Regular { axis, skip })
            }
            Dist::Cyclic { block_size, .. } => Ok(Self::Regular {
                axis: AxisDist::cyclic(size, ranks, *block_size)?,
                skip: vec![0; ranks],
            }),
            Dist::Unstructured { .. } => {
                let mut all = Vec::new();
                for (coord, dim) in dims.iter().enumerate() {
                    if let Dist::Unstructured { indices, .. } = dim.dist() {
                        all.extend(indices.iter().zip(0..).map(|(&g, at)| (g, coord, at)));
                    }
                }
                all.sort_unstable();
                all.dedup_by_key(|&mut (g, ..)| g);
                Ok(Self::Listed(all))
            }
        }
    }

    /// Where each element of a part comes from. `axis` is for the error.
    pub(crate) fn shared(
        &self,
        axis: usize,
        dim: &DimDict,
        extent: Extent,
    ) -> Result<Shared, DnpyError> {
        let map = map_from_dim_dict(dim)?;
        let wanted = wanted(dim, &map, extent);
        let shared = match self {
            Self::Regular { axis: source, skip } => {
                match planned(source, skip, dim, wanted.clone()) {
                    Err(DnpyError::Plan(PlanError::Missing { index, .. })) => {
                        let size = dim.size();
                        return Err(DnpyError::Index { axis, index, size });
                    }
                    other => other?,
                }
            }
            Self::Listed(all) => listed(all, &map, &wanted),
        };
        let found: usize = shared.values().flatten().map(Piece::elements).sum();
        if found < wanted.len() {
            return Err(DnpyError::Index {
                axis,
                index: first_missing(&shared, &map, wanted),
                size: dim.size(),
            });
        }
        Ok(shared)
    }
}

/// A length or position inside a part, which fits the address space.
fn len(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Where a block's stored elements begin.
fn start(dim: &DimDict) -> Option<u64> {
    match dim.dist() {
        Dist::Block { start, .. } => Some(*start),
        _ => None,
    }
}

/// The local positions that are meant.
fn wanted(dim: &DimDict, map: &DimMap, extent: Extent) -> Range<usize> {
    let owned = match extent {
        Extent::Owned(version) => dim.owned_range_in(version),
        Extent::Stored => None,
    };
    match start(dim).zip(owned) {
        Some((start, owned)) => {
            len(owned.start.saturating_sub(start))..len(owned.end.saturating_sub(start))
        }
        None => 0..map.size(),
    }
}

/// The axis that has the meant elements of `dim` on one coordinate, and that coordinate.
fn target(dim: &DimDict, skip: usize, count: usize) -> Result<(AxisDist, usize), DnpyError> {
    let block = |first: u64| {
        let bounds = vec![0, first, first + count as u64, dim.size()];
        Ok((AxisDist::block_bounds(bounds)?, 1))
    };
    Ok(match dim.dist() {
        Dist::Block { start, .. } => return block(start + skip as u64),
        // dealt no more than once around: a block, however many ranks there are
        Dist::Cyclic { start, block_size } if count as u64 <= *block_size => return block(*start),
        Dist::Cyclic { block_size, .. } => {
            let axis = AxisDist::cyclic(dim.size(), dim.grid_size(), *block_size)?;
            (axis, dim.grid_rank())
        }
        Dist::Unstructured { indices, .. } => {
            let lists = vec![Arc::clone(indices)];
            (AxisDist::unstructured_free(dim.size(), lists)?, 0)
        }
    })
}

/// From blocks, whole or dealt: what a redistribution along this axis alone receives.
fn planned(
    source: &AxisDist,
    skip: &[usize],
    dim: &DimDict,
    range: Range<usize>,
) -> Result<Shared, DnpyError> {
    let (target, coord) = target(dim, range.start, range.len())?;
    let (from, to) = (source.ranks(), target.ranks());
    let source =
        Distribution::from_axes(vec![source.clone()], from, (0..from).collect::<Vec<_>>())?;
    // on ranks of their own, so that there is nothing to send
    let ranks: Vec<usize> = (from..from + to).collect();
    let target = Distribution::from_axes(vec![target], from + to, ranks)?;
    let plan = Redistribution::between(&source, &target).plan(from + coord)?;
    let mut shared = Shared::new();
    for transfer in plan.recvs() {
        let mut all = Vec::new();
        for section in transfer.parts().iter().flat_map(Part::sections) {
            if let Section::Axis { pieces, .. } = section {
                all.extend(pieces.iter().map(|&piece| Piece {
                    src: piece.src + skip[transfer.peer()],
                    dst: piece.dst + range.start,
                    ..piece
                }));
            }
        }
        shared.insert(transfer.peer(), all);
    }
    Ok(shared)
}

/// From lists: each of their indices is looked up in the part.
fn listed(all: &[(i64, usize, usize)], map: &DimMap, wanted: &Range<usize>) -> Shared {
    let mut shared = Shared::new();
    for &(global, coord, src) in all {
        let Some(dst) = map.local_from_global(GlobalIndex::new(global)) else {
            continue;
        };
        let dst = dst.get();
        if !wanted.contains(&dst) {
            continue;
        }
        let pieces = shared.entry(coord).or_default();
        match pieces.last_mut() {
            Some(last) if (last.src + last.len, last.dst + last.len) == (src, dst) => {
                *last = Piece::single(last.src, last.dst, last.len + 1);
            }
            _ => pieces.push(Piece::single(src, dst, 1)),
        }
    }
    shared
}

/// The global index of the first position that no piece fills.
fn first_missing(shared: &Shared, map: &DimMap, wanted: Range<usize>) -> i64 {
    let pieces = shared.values().flatten();
    let mut filled: Vec<usize> = pieces
        .flat_map(|piece| piece.positions().map(|(_, dst)| dst))
        .collect();
    filled.sort_unstable();
    let gap = filled.into_iter().zip(wanted.clone()).find(|(a, b)| a != b);
    let covered = shared
        .values()
        .flatten()
        .map(Piece::elements)
        .sum::<usize>();
    let at = gap.map_or(wanted.start + covered, |(_, at)| at);
    map.global_from_local(LocalIndex::new(at))
        .map_or(0, GlobalIndex::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNED: Extent = Extent::Owned(ProtocolVersion::CURRENT);

    fn positions(shared: &Shared) -> Vec<(usize, usize, usize)> {
        let each = |(&coord, pieces): (&usize, &Vec<Piece>)| {
            let pairs = pieces.iter().flat_map(Piece::positions);
            pairs
                .map(move |(src, dst)| (coord, src, dst))
                .collect::<Vec<_>>()
        };
        shared.iter().flat_map(each).collect()
    }

    #[test]
    fn padding_is_skipped_on_both_sides() {
        // 10 elements on two ranks, two of the neighbour's stored beside each
        let dims = [
            DimDict::block(10, 2, 0, 0..7)
                .unwrap()
                .with_padding(0, 2)
                .unwrap(),
            DimDict::block(10, 2, 1, 3..10)
                .unwrap()
                .with_padding(2, 0)
                .unwrap(),
        ];
        let dims: Vec<&DimDict> = dims.iter().collect();
        let source = Source::of_coords(&dims, ProtocolVersion::CURRENT).unwrap();
        let target = DimDict::block(10, 3, 1, 3..7)
            .unwrap()
            .with_padding(1, 1)
            .unwrap();
        let stored = source.shared(0, &target, Extent::Stored).unwrap();
        assert_eq!(
            positions(&stored),
            [(0, 3, 0), (0, 4, 1), (1, 2, 2), (1, 3, 3)]
        );
        let owned = source.shared(0, &target, OWNED).unwrap();
        assert_eq!(positions(&owned), [(0, 4, 1), (1, 2, 2)]);
    }

    #[test]
    fn an_index_on_two_coordinates_stays_with_the_first() {
        let dims = [
            DimDict::unstructured(6, 2, 0, vec![5, 0, 1], false).unwrap(),
            DimDict::unstructured(6, 2, 1, vec![1, 2, 3], false).unwrap(),
        ];
        let dims: Vec<&DimDict> = dims.iter().collect();
        let source = Source::of_coords(&dims, ProtocolVersion::CURRENT).unwrap();
        let target = DimDict::block(6, 2, 0, 0..4).unwrap();
        let shared = source.shared(0, &target, OWNED).unwrap();
        assert_eq!(
            positions(&shared),
            [(0, 1, 0), (0, 2, 1), (1, 1, 2), (1, 2, 3)]
        );
        let target = DimDict::block(6, 2, 1, 2..6).unwrap();
        let e = source.shared(3, &target, OWNED).unwrap_err();
        assert!(
            matches!(
                e,
                DnpyError::Index {
                    axis: 3,
                    index: 4,
                    size: 6
                }
            ),
            "{e}"
        );
    }

    #[test]
    fn dealt_axes_cost_a_few_pieces_whatever_their_length() {
        let n = 1 << 61;
        let target = DimDict::cyclic(n, 2, 1, 1).unwrap();
        let whole = Source::whole(n)
            .unwrap()
            .shared(0, &target, Extent::Stored)
            .unwrap();
        assert_eq!(whole[&0].len(), 1);
        let dims: Vec<DimDict> = (0..4)
            .map(|r| DimDict::cyclic(n, 4, r, 3).unwrap())
            .collect();
        let dims: Vec<&DimDict> = dims.iter().collect();
        let source = Source::of_coords(&dims, ProtocolVersion::CURRENT).unwrap();
        let shared = source.shared(0, &target, Extent::Stored).unwrap();
        let count: usize = shared.values().flatten().map(Piece::elements).sum();
        assert_eq!(count, 1 << 60);
        assert!(shared.values().map(Vec::len).sum::<usize>() < 40);
    }
}
