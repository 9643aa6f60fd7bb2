//! [`Factor`]: one axis of a plan, or one group of axes that a reshape merges; and their product.

use std::collections::BTreeMap;
use std::ops::Range;

use dap_protocol::Padding;

use super::reshape::Group;
use super::sets::{self, AxisSets, Progression, Set};
use super::{Part, PlanError, Section, Transfer};
use crate::halo::{stored_near, stored_set};
use crate::{AxisDist, Distribution};

/// Where part of one factor goes: coordinates of the peer along the factor's axes, and the positions.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) coords: Vec<usize>,
    pub(super) section: Section,
}

/// An independent factor of a plan.
pub(super) enum Factor<'a> {
    Axis(Pair<'a>),
    Group(Group<'a>),
}

/// One axis of the source and one of the destination.
pub(super) struct Pair<'a> {
    src_axis: usize,
    dst_axis: usize,
    src: AxisSets<'a>,
    dst: AxisSets<'a>,
    padding: bool,
}

impl<'a> Pair<'a> {
    pub(super) fn new(
        src: (usize, &'a AxisDist),
        dst: (usize, &'a AxisDist),
        padding: bool,
    ) -> Self {
        Self {
            src_axis: src.0,
            dst_axis: dst.0,
            src: AxisSets::sources(src.1),
            dst: AxisSets::owned(dst.1),
            padding,
        }
    }

    /// What is to be written on a coordinate of the destination.
    fn target(&self, coord: usize) -> Set {
        if self.padding {
            stored_set(self.dst.axis(), coord).unwrap_or_else(|| self.dst.get(coord).into_owned())
        } else {
            self.dst.get(coord).into_owned()
        }
    }

    fn entry(&self, coord: usize, src: &[Progression], dst: &[Progression]) -> Option<Entry> {
        let pieces = sets::meet(src, dst);
        (!pieces.is_empty()).then(|| Entry {
            coords: vec![coord],
            section: Section::Axis {
                src_axis: self.src_axis,
                dst_axis: self.dst_axis,
                pieces: pieces.into(),
            },
        })
    }

    /// The lowest index that the destination holds and the source does not.
    pub(super) fn missing(&self) -> Option<i64> {
        let size = self.dst.axis().size();
        match (self.src.covered(), self.dst.covered()) {
            (None, None) => None,
            (None, Some(wanted)) => wanted
                .into_iter()
                .find(|&g| u64::try_from(g).map_or(true, |g| g >= size)),
            (Some(given), None) => {
                let inside = given.iter().skip_while(|&&g| g < 0);
                let gap = inside.zip(0..).find(|&(&g, expected)| g != expected);
                let below = given.partition_point(|&g| g < 0);
                let end = i64::try_from(given.len() - below).unwrap_or(i64::MAX);
                gap.map(|(_, expected)| expected)
                    .or(Some(end))
                    .filter(|&g| g.cast_unsigned() < size)
            }
            (Some(given), Some(wanted)) => {
                wanted.into_iter().find(|g| given.binary_search(g).is_err())
            }
        }
    }
}

impl Factor<'_> {
    pub(super) fn src_axes(&self) -> Range<usize> {
        match self {
            Self::Axis(pair) => pair.src_axis..pair.src_axis + 1,
            Self::Group(group) => group.src_axes(),
        }
    }

    pub(super) fn dst_axes(&self) -> Range<usize> {
        match self {
            Self::Axis(pair) => pair.dst_axis..pair.dst_axis + 1,
            Self::Group(group) => group.dst_axes(),
        }
    }

    /// What the rank at these coordinates of the source sends, by coordinates of the destination.
    pub(super) fn sends(&self, coords: &[usize]) -> Vec<Entry> {
        match self {
            Self::Axis(pair) => {
                let src = pair.src.get(coords[pair.src_axis]);
                if src.is_empty() {
                    return Vec::new();
                }
                let peers = if pair.padding {
                    stored_near(&pair.dst, &src)
                } else {
                    pair.dst.near(&src, Padding::default())
                };
                peers
                    .into_iter()
                    .filter_map(|coord| pair.entry(coord, &src, &pair.target(coord)))
                    .collect()
            }
            Self::Group(group) => group.sends(&coords[group.src_axes()]),
        }
    }

    /// What the rank at these coordinates of the destination receives, by coordinates of the source.
    pub(super) fn recvs(&self, coords: &[usize]) -> Vec<Entry> {
        match self {
            Self::Axis(pair) => {
                let dst = pair.target(coords[pair.dst_axis]);
                if dst.is_empty() {
                    return Vec::new();
                }
                let peers = pair.src.near(&dst, Padding::default());
                peers
                    .into_iter()
                    .filter_map(|coord| pair.entry(coord, &pair.src.get(coord), &dst))
                    .collect()
            }
            Self::Group(group) => group.recvs(&coords[group.dst_axes()]),
        }
    }

    /// Elements to be written along these axes at these coordinates of the destination.
    pub(super) fn writes(&self, coords: &[usize]) -> u128 {
        match self {
            Self::Axis(pair) => sets::elements(&pair.target(coords[pair.dst_axis])).into(),
            Self::Group(group) => group.writes(&coords[group.dst_axes()]),
        }
    }
}

/// The factors of a plan that keeps its axes, in another order maybe.
pub(super) fn by_axis<'a>(
    src: &'a Distribution,
    dst: &'a Distribution,
    axes: &[usize],
    padding: bool,
) -> Result<Vec<Factor<'a>>, PlanError> {
    if src.ndim() != dst.ndim() {
        return Err(PlanError::Dimensions {
            src: src.ndim(),
            dst: dst.ndim(),
        });
    }
    let mut sorted = axes.to_vec();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..src.ndim()) {
        return Err(PlanError::Permutation {
            given: axes.to_vec(),
            ndim: src.ndim(),
        });
    }
    for (axis, &from) in axes.iter().enumerate() {
        let (src, dst) = (src.axes()[from].size(), dst.axes()[axis].size());
        if src != dst {
            return Err(PlanError::Extent { axis, src, dst });
        }
    }
    let empty = dst.global_shape().contains(&0);
    let mut factors = Vec::with_capacity(axes.len());
    for (axis, &from) in axes.iter().enumerate() {
        let pair = Pair::new(
            (from, &src.axes()[from]),
            (axis, &dst.axes()[axis]),
            padding,
        );
        if let Some(index) = pair.missing().filter(|_| !empty) {
            return Err(PlanError::Missing { axis, index });
        }
        factors.push(Factor::Axis(pair));
    }
    Ok(factors)
}

/// The product of the tables of all factors: one message per rank of `peers` that has an entry in
/// every table, by rank. `axes` are the axes of `peers` that a factor covers.
pub(super) fn product(
    tables: &[Vec<Entry>],
    peers: &Distribution,
    axes: impl Fn(usize) -> Range<usize>,
) -> Result<Vec<Transfer>, PlanError> {
    let mut transfers = BTreeMap::new();
    let mut coords = vec![0; peers.ndim()];
    for_each(tables, &mut |entries| {
        for (factor, entry) in entries.iter().enumerate() {
            coords[axes(factor)].copy_from_slice(&entry.coords);
        }
        if let Some(rank) = peers.rank_at(&coords) {
            let sections = entries.iter().map(|entry| entry.section.clone()).collect();
            let transfer = Transfer::new(rank, vec![Part::new(sections)?])?;
            transfers.insert(rank, transfer);
        }
        Ok(())
    })?;
    Ok(transfers.into_values().collect())
}

/// Calls `f` with every combination of one item per table, the last table fastest.
pub(crate) fn for_each<T>(
    tables: &[Vec<T>],
    f: &mut impl FnMut(&[&T]) -> Result<(), PlanError>,
) -> Result<(), PlanError> {
    if tables.iter().any(Vec::is_empty) {
        return Ok(());
    }
    let mut at = vec![0; tables.len()];
    loop {
        let items: Vec<&T> = at.iter().zip(tables).map(|(&i, table)| &table[i]).collect();
        f(&items)?;
        let Some(axis) = (0..at.len())
            .rev()
            .find(|&axis| at[axis] + 1 < tables[axis].len())
        else {
            return Ok(());
        };
        at[axis] += 1;
        at[axis + 1..].fill(0);
    }
}
