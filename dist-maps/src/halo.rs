//! Halo plans: padding filled from the ranks that own its elements.
//!
//! A halo exchange is a redistribution from what each rank owns to what it stores. Along each axis a
//! stored cell is either *own*, and read from the rank itself, or *halo*, and read from whoever owns
//! its index; a message holds every box with a halo cell along at least one axis, corners included.
//! So any width works, over several neighbours and across ranks that own nothing.
//!
//! ```text
//! size 12 on 3 ranks, padding 1, periodic with boundary 1:      b: boundary  h: halo
//!   rank 0  b 1 2 3 h      rank 1  h 4 5 6 7 h      rank 2  h 8 9 10 b
//! ```
//!
//! On a periodic axis the boundary cells at the two outer edges are cells of the array (they count
//! in its size, as DAP 0.10 has it) that stand for the other end: they are filled as well, and what
//! lies between them is the period. Without periodicity the boundary belongs to the user and is never written.

use std::collections::BTreeMap;

use dap_protocol::Padding;

use crate::copy::{CopyError, Layout};
use crate::plan::sets::{self, AxisSets, Progression, Set};
use crate::plan::{self, Part, PlanError, Region, Section, Transfer};
use crate::{AxisDist, Distribution};

/// Which halo cells an exchange fills.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Corners {
    /// All of them.
    #[default]
    Filled,
    /// Those that lie in the padding of one axis only: enough for a stencil without diagonals.
    Skipped,
}

/// One rank's part of a halo exchange: what it sends, what it receives, what it copies within itself.
/// Both ends of a [`Transfer`] count positions in the stored array.
///
/// ```
/// use dist_maps::{Distribution, HaloPlan};
/// let d = Distribution::over(4).shape([8, 8]).block(0).block(1).padding(1).build()?;
/// // rank 0 owns the upper left 4 x 4 and stores 5 x 5: 4 + 4 elements and the corner
/// let plan = HaloPlan::new(&d, 0)?;
/// let received: Vec<_> = plan.recvs().iter().map(|t| (t.peer(), t.elements())).collect();
/// assert_eq!(received, [(1, 4), (2, 4), (3, 1)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct HaloPlan {
    rank: usize,
    sends: Vec<Transfer>,
    recvs: Vec<Transfer>,
    local: Option<Transfer>,
    shape: Vec<usize>,
    /// What is to be written here.
    writes: Region,
}

impl HaloPlan {
    /// The plan of `rank`, all corners filled.
    ///
    /// # Errors
    /// [`PlanError`] when there is no such rank, or a message exceeds the address space.
    pub fn new(dist: &Distribution, rank: usize) -> Result<Self, PlanError> {
        Self::with_corners(dist, rank, Corners::Filled)
    }

    /// The plan of `rank`; all ranks must choose the same corners.
    ///
    /// # Errors
    /// As [`HaloPlan::new`].
    pub fn with_corners(
        dist: &Distribution,
        rank: usize,
        corners: Corners,
    ) -> Result<Self, PlanError> {
        if rank >= dist.ranks() {
            return Err(PlanError::Rank {
                given: rank,
                ranks: dist.ranks(),
            });
        }
        let mut plan = Self {
            rank,
            sends: Vec::new(),
            recvs: Vec::new(),
            local: None,
            shape: dist.local_shape(rank),
            writes: Region::default(),
        };
        let Some(coords) = dist.coords(rank) else {
            return Ok(plan);
        };
        let axes: Vec<HaloAxis> = dist.axes().iter().map(HaloAxis::new).collect();
        let each = || axes.iter().zip(&coords).enumerate();
        let sends: Vec<_> = each().map(|(i, (axis, &c))| axis.sends(i, c)).collect();
        let recvs: Vec<_> = each().map(|(i, (axis, &c))| axis.recvs(i, c)).collect();
        plan.sends = transfers(&sends, dist, corners)?;
        plan.recvs = transfers(&recvs, dist, corners)?;
        plan.local = plan::take_local(&mut plan.sends, rank);
        let kept = plan::take_local(&mut plan.recvs, rank);
        debug_assert_eq!(kept, plan.local, "both ends are this rank");
        let zones: Vec<_> = each().map(|(_, (axis, &c))| axis.zones(c)).collect();
        let counts = zones
            .iter()
            .map(|(own, halo)| (sets::elements(own).into(), sets::elements(halo).into()));
        let elements = cells(&counts.collect::<Vec<_>>(), corners).ok_or(PlanError::Overflow {
            what: "number of halo cells",
        })?;
        let own = |(i, (own, _)): (usize, &(Set, Set))| match dist.axes()[i] {
            AxisDist::Block { .. } => sets::span(own),
            _ => dist.axes()[i].owned_local(coords[i]),
        };
        let own: Vec<_> = zones.iter().enumerate().map(own).collect();
        let stored = zones.iter().zip(&own).map(|((_, halo), own)| {
            let halo = sets::span(halo);
            match (own.is_empty(), halo.is_empty()) {
                (_, true) => own.clone(),
                (true, false) => halo,
                (false, false) => own.start.min(halo.start)..own.end.max(halo.end),
            }
        });
        plan.writes = Region {
            cells: stored.collect(),
            within: Some((own.clone(), corners)),
            elements,
        };
        Ok(plan)
    }

    /// The rank whose plan this is.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Messages to other ranks, one each, by rank; none is empty.
    #[must_use]
    pub fn sends(&self) -> &[Transfer] {
        &self.sends
    }

    /// Messages from other ranks, one each, by rank; none is empty.
    #[must_use]
    pub fn recvs(&self) -> &[Transfer] {
        &self.recvs
    }

    /// Halo cells that the rank itself owns elsewhere: see [`Transfer::copy_within`].
    #[must_use]
    pub fn local(&self) -> Option<&Transfer> {
        self.local.as_ref()
    }

    /// Whether this rank has nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.recvs.is_empty() && self.local.is_none()
    }

    /// Extent of the rank's stored array per dimension, in elements.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The rank's stored array in C order.
    ///
    /// # Errors
    /// When it exceeds the address space.
    pub fn layout(&self) -> Result<Layout, CopyError> {
        Layout::c_order(&self.shape)
    }

    /// Checks that this rank's halo cells are written exactly once each.
    ///
    /// # Errors
    /// [`PlanError::Outside`], [`PlanError::WrittenTwice`] or [`PlanError::Inexact`].
    pub fn verify(&self) -> Result<(), PlanError> {
        let transfers = self.recvs.iter().chain(&self.local);
        plan::written_once(self.rank, transfers, &self.writes)
    }

    /// Makes the plans of all ranks and checks them, both ends of every message included.
    ///
    /// # Errors
    /// As [`HaloPlan::new`]; the first fault found, by rank.
    pub fn verify_all(dist: &Distribution, corners: Corners) -> Result<(), PlanError> {
        let plans = (0..dist.ranks())
            .map(|rank| Self::with_corners(dist, rank, corners))
            .collect::<Result<Vec<_>, _>>()?;
        plans.iter().try_for_each(Self::verify)?;
        let ends = plans.iter().map(|p| (p.rank(), p.sends(), p.recvs()));
        plan::matched(&ends.collect::<Vec<_>>())
    }
}

/// One axis of the exchange.
struct HaloAxis<'a> {
    axis: &'a AxisDist,
    owned: AxisSets<'a>,
}

/// Part of one axis: the peer's coordinate, own or halo cells, and the positions.
struct Entry {
    coord: usize,
    halo: bool,
    section: Section,
}

impl<'a> HaloAxis<'a> {
    fn new(axis: &'a AxisDist) -> Self {
        Self {
            axis,
            owned: AxisSets::owned(axis),
        }
    }

    /// (own cells, halo cells with their sources) of a coordinate.
    fn zones(&self, coord: usize) -> (Set, Set) {
        zones(self.axis, coord).unwrap_or_else(|| (self.owned.get(coord).into_owned(), Set::new()))
    }

    fn push(
        axis: usize,
        entries: &mut Vec<Entry>,
        (coord, halo): (usize, bool),
        src: &[Progression],
        dst: &[Progression],
    ) {
        let pieces = sets::meet(src, dst);
        if !pieces.is_empty() {
            entries.push(Entry {
                coord,
                halo,
                section: Section::Axis {
                    src_axis: axis,
                    dst_axis: axis,
                    pieces: pieces.into(),
                },
            });
        }
    }

    /// What a coordinate gives to others and to itself.
    fn sends(&self, axis: usize, coord: usize) -> Vec<Entry> {
        let src = self.owned.get(coord);
        let mut entries = Vec::new();
        Self::push(
            axis,
            &mut entries,
            (coord, false),
            &src,
            &self.zones(coord).0,
        );
        for peer in stored_near(&self.owned, &src) {
            if let Some((_, halo)) = zones(self.axis, peer) {
                Self::push(axis, &mut entries, (peer, true), &src, &halo);
            }
        }
        entries
    }

    /// What a coordinate gets.
    fn recvs(&self, axis: usize, coord: usize) -> Vec<Entry> {
        let (own, halo) = self.zones(coord);
        let mut entries = Vec::new();
        Self::push(
            axis,
            &mut entries,
            (coord, false),
            &self.owned.get(coord),
            &own,
        );
        for peer in self.owned.near(&halo, Padding::default()) {
            Self::push(
                axis,
                &mut entries,
                (peer, true),
                &self.owned.get(peer),
                &halo,
            );
        }
        entries
    }
}

/// The product of the axes without its all-own box, one message per peer.
fn transfers(
    tables: &[Vec<Entry>],
    dist: &Distribution,
    corners: Corners,
) -> Result<Vec<Transfer>, PlanError> {
    let mut parts: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
    plan::for_each(tables, &mut |entries| {
        let halos = entries.iter().filter(|entry| entry.halo).count();
        let wanted = match corners {
            Corners::Filled => halos > 0,
            Corners::Skipped => halos == 1,
        };
        let coords: Vec<usize> = entries.iter().map(|entry| entry.coord).collect();
        if let Some(rank) = dist.rank_at(&coords).filter(|_| wanted) {
            let sections = entries.iter().map(|entry| entry.section.clone()).collect();
            parts.entry(rank).or_default().push(Part::new(sections)?);
        }
        Ok(())
    })?;
    parts
        .into_iter()
        .map(|(rank, parts)| Transfer::new(rank, parts))
        .collect()
}

/// Halo cells of a box with (own, halo) cells per axis; `None` where their number has no 128 bits.
fn cells(counts: &[(u128, u128)], corners: Corners) -> Option<u128> {
    let product = |skip: Option<usize>, f: fn(&(u128, u128)) -> u128| {
        let each = counts.iter().enumerate();
        let factors = each.map(|(i, c)| if Some(i) == skip { c.1 } else { f(c) });
        plan::checked_product(&factors.collect::<Vec<_>>())
    };
    match corners {
        Corners::Filled => product(None, |c| c.0 + c.1)?.checked_sub(product(None, |c| c.0)?),
        Corners::Skipped => {
            (0..counts.len()).try_fold(0_u128, |sum, i| sum.checked_add(product(Some(i), |c| c.0)?))
        }
    }
}

/// Stored cells of a block's coordinate: those read from itself, and those read from the owner of the
/// index they stand for. `None` for other kinds of axis.
fn zones(axis: &AxisDist, coord: usize) -> Option<(Set, Set)> {
    let AxisDist::Block {
        bounds,
        boundary,
        periodic,
        ..
    } = axis
    else {
        return None;
    };
    let (start, end) = (i128::from(bounds[coord]), i128::from(bounds[coord + 1]));
    let period = period(axis.size(), (boundary.lower, boundary.upper), *periodic);
    let own = if *periodic {
        let own_start = start.max(period.0).min(end);
        own_start..end.min(period.1).max(own_start)
    } else {
        start..end
    };
    Some(around(axis, coord, own, period))
}

/// What a coordinate stores, as a redistribution fills it: all it owns, and padding. `None` for other
/// kinds of axis.
pub(crate) fn stored_set(axis: &AxisDist, coord: usize) -> Option<Set> {
    let AxisDist::Block {
        bounds,
        boundary,
        periodic,
        ..
    } = axis
    else {
        return None;
    };
    let owned = i128::from(bounds[coord])..i128::from(bounds[coord + 1]);
    let period = period(axis.size(), (boundary.lower, boundary.upper), *periodic);
    let (mut own, halo) = around(axis, coord, owned, period);
    own.extend(halo);
    Some(own)
}

/// The coordinates whose stored cells may stand for an index of `set`, ascending: those that reach
/// it with the widest padding there is, and on a periodic axis those at the edges, whose cells stand
/// for indices elsewhere.
pub(crate) fn stored_near(sets: &AxisSets<'_>, set: &[Progression]) -> Vec<usize> {
    let AxisDist::Block {
        padding,
        boundary,
        periodic,
        ..
    } = sets.axis()
    else {
        return sets.near(set, Padding::default());
    };
    let widest = padding.iter().fold(Padding::default(), |widest, p| {
        Padding::new(widest.lower.max(p.lower), widest.upper.max(p.upper))
    });
    let mut wanted = set.to_vec();
    if *periodic {
        let upper = sets.axis().size() - boundary.upper;
        wanted.extend(sets::block(0, 0, boundary.lower));
        wanted.extend(sets::block(upper.into(), 0, boundary.upper));
    }
    sets.near(&wanted, widest)
}

/// First and past-the-last index of what repeats; `(0, size, false)` without periodicity.
fn period(size: u64, boundary: (u64, u64), periodic: bool) -> (i128, i128, bool) {
    let size = i128::from(size);
    if periodic {
        (boundary.0.into(), size - i128::from(boundary.1), true)
    } else {
        (0, size, false)
    }
}

/// The stored cells of a coordinate, split into `own` and the others with the index that each stands
/// for. Cells that stand for none are left out.
fn around(
    axis: &AxisDist,
    coord: usize,
    own: std::ops::Range<i128>,
    (low, high, periodic): (i128, i128, bool),
) -> (Set, Set) {
    let owned = axis.owned_local(coord);
    let AxisDist::Block { bounds, .. } = axis else {
        return (Set::new(), Set::new());
    };
    // the global index of stored cell 0; below 0 where padding lies beyond the edge
    let first = i128::from(bounds[coord]) - owned.start as i128;
    let past = first + axis.stored_len(coord) as i128;
    let local = |global: i128| usize::try_from(global - first).unwrap_or(usize::MAX);
    let len = |n: i128| u64::try_from(n).unwrap_or(0);
    let mut halo = Set::new();
    let mut add = |from: i128, to: i128| {
        if !periodic {
            let (from, to) = (from.max(low), to.min(high));
            if from < to {
                halo.push(Progression::run(from, local(from), len(to - from)));
            }
            return;
        }
        let size = high - low;
        let mut at = from;
        while size > 0 && at < to {
            let source = low + (at - low).rem_euclid(size);
            let n = (high - source).min(to - at);
            halo.push(Progression::run(source, local(at), len(n)));
            at += n;
        }
    };
    add(first, own.start.min(past));
    add(own.end.max(first), past);
    let own = if own.is_empty() {
        Set::new()
    } else {
        sets::block(own.start, local(own.start), len(own.end - own.start))
    };
    (own, halo)
}

#[cfg(test)]
mod tests;
