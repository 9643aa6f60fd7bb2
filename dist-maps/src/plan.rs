//! Redistribution plans: who sends which elements to whom, when an array changes its distribution.
//!
//! A plan is arithmetic on two [`Distribution`]s. It communicates nothing, owns no element, costs by
//! runs and peers rather than by elements, and is made once and executed many times. Every rank
//! makes its own part; the two ends of a message agree on its elements and their order because both
//! compute the same intersection.
//!
//! Per axis, what a coordinate of the source holds is intersected with what each coordinate of the
//! destination holds: bounds are merged, and cyclic patterns repeat with the least common multiple of
//! their periods, so that one strided piece stands for all repetitions. A message is a product of
//! such sections, for the peers only that have one on every axis. Only coordinates that can meet are
//! looked at: what a plan costs follows what its own rank sends and receives.

mod error;
mod explain;
mod factor;
mod region;
mod reshape;
pub(crate) mod sets;
mod transfer;
pub(crate) mod verify;

pub use error::PlanError;
pub use explain::{Explanation, PairVolume};
pub use transfer::{Part, Section, Transfer};

use std::ops::Range;

use crate::copy::{CopyError, Layout};
use crate::halo::stored_set;
use crate::{AxisDist, Distribution};
use factor::{Entry, Factor};

pub(crate) use factor::for_each;
pub(crate) use region::Region;
pub(crate) use verify::{matched, written_once};

/// A change of distribution, seen by all ranks: from it come the plan of each rank, an account of
/// all messages, and a self-check.
///
/// ```
/// use dist_maps::{Distribution, Redistribution};
/// // the rows of a 4 x 6 array on two ranks, to the columns of its transpose
/// let rows = Distribution::over(2).shape([4, 6]).block(0).build()?;
/// let turned = Distribution::over(2).shape([6, 4]).block(1).build()?;
/// let change = Redistribution::between(&rows, &turned).permuted(&[1, 0]);
/// assert!(change.plan(0)?.sends().is_empty()); // rank 0 keeps rows 0 and 1, now columns
/// change.verify()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Redistribution<'a> {
    src: &'a Distribution,
    dst: &'a Distribution,
    kind: Kind,
    padding: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Same,
    Permuted(Vec<usize>),
    Reshaped,
}

impl<'a> Redistribution<'a> {
    /// The same array in another distribution. The two may be over different numbers of ranks of
    /// one communicator.
    pub fn between(src: &'a Distribution, dst: &'a Distribution) -> Self {
        Self {
            src,
            dst,
            kind: Kind::Same,
            padding: false,
        }
    }

    /// Axis `i` of the destination is axis `axes[i]` of the source, as `numpy.transpose` has it.
    pub fn permuted(mut self, axes: &[usize]) -> Self {
        self.kind = Kind::Permuted(axes.to_vec());
        self
    }

    /// The destination has another shape of as many elements; they keep their global C order. Where
    /// dimensions are merged or split, the plan lists the rows that stay whole on both sides.
    pub fn reshaped(mut self) -> Self {
        self.kind = Kind::Reshaped;
        self
    }

    /// Fills the communication padding of the destination too, as far as the array reaches or wraps
    /// around. A plan for a reshape is refused then: exchange halos after it.
    pub fn filling_padding(mut self) -> Self {
        self.padding = true;
        self
    }

    /// One rank's part: local, the same answer however often it is asked.
    ///
    /// # Errors
    /// [`PlanError`] when the shapes do not fit, the source lacks an index that the destination
    /// holds, a reshape could take a rank more than [`MAX_LISTED`](crate::MAX_LISTED) rows
    /// ([`MapError::TooManyToList`](crate::MapError::TooManyToList)), or `rank` does not exist; but
    /// for the last the same on every rank.
    pub fn plan(&self, rank: usize) -> Result<RedistPlan, PlanError> {
        let ranks = self.ranks();
        if rank >= ranks {
            return Err(PlanError::Rank { given: rank, ranks });
        }
        let factors = self.factors()?;
        self.plan_of(&factors, rank)
    }

    /// Ranks of the larger of the two distributions.
    fn ranks(&self) -> usize {
        self.src.ranks().max(self.dst.ranks())
    }

    fn factors(&self) -> Result<Vec<Factor<'a>>, PlanError> {
        match &self.kind {
            Kind::Same => {
                let axes: Vec<usize> = (0..self.src.ndim()).collect();
                factor::by_axis(self.src, self.dst, &axes, self.padding)
            }
            Kind::Permuted(axes) => factor::by_axis(self.src, self.dst, axes, self.padding),
            Kind::Reshaped if self.padding => Err(PlanError::ReshapePadding),
            Kind::Reshaped => reshape::factors(self.src, self.dst),
        }
    }

    fn is_identity(&self) -> bool {
        let straight = match &self.kind {
            Kind::Same | Kind::Reshaped => true,
            Kind::Permuted(axes) => axes.iter().copied().eq(0..self.src.ndim()),
        };
        // what is identical in all that is owned may still have padding to be filled
        let has_padding = |axis: &AxisDist| (0..axis.ranks()).any(|c| !axis.padding(c).is_none());
        let padded = self.padding && self.dst.axes().iter().any(has_padding);
        straight && self.src == self.dst && !padded
    }

    fn plan_of(&self, factors: &[Factor<'_>], rank: usize) -> Result<RedistPlan, PlanError> {
        let mut plan = RedistPlan {
            rank,
            sends: Vec::new(),
            recvs: Vec::new(),
            local: None,
            identity: self.is_identity(),
            src_shape: shape_of(self.src, rank),
            dst_shape: shape_of(self.dst, rank),
            writes: Region::default(),
        };
        if let Some(coords) = self.src.coords(rank) {
            let tables: Vec<Vec<Entry>> = factors.iter().map(|f| f.sends(&coords)).collect();
            plan.sends = factor::product(&tables, self.dst, |f| factors[f].dst_axes())?;
            plan.local = take_local(&mut plan.sends, rank);
        }
        if let Some(coords) = self.dst.coords(rank) {
            let tables: Vec<Vec<Entry>> = factors.iter().map(|f| f.recvs(&coords)).collect();
            plan.recvs = factor::product(&tables, self.src, |f| factors[f].src_axes())?;
            let local = take_local(&mut plan.recvs, rank);
            debug_assert_eq!(local, plan.local, "both ends are this rank");
            let writes: Vec<u128> = factors.iter().map(|f| f.writes(&coords)).collect();
            plan.writes = Region {
                cells: self.cells(&coords),
                within: None,
                elements: checked_product(&writes).ok_or(PlanError::Overflow {
                    what: "number of elements of a rank",
                })?,
            };
        }
        Ok(plan)
    }

    /// The stored positions that are to be written per axis, at these coordinates of the destination.
    fn cells(&self, coords: &[usize]) -> Vec<Range<usize>> {
        let axes = self.dst.axes().iter().zip(coords);
        axes.map(|(axis, &coord)| match stored_set(axis, coord) {
            Some(set) if self.padding => sets::span(&set),
            _ => axis.owned_local(coord),
        })
        .collect()
    }
}

/// The product of all; 0 where one is, whatever the others are.
pub(crate) fn checked_product(factors: &[u128]) -> Option<u128> {
    if factors.contains(&0) {
        return Some(0);
    }
    factors.iter().copied().try_fold(1, u128::checked_mul)
}

/// Takes the transfer of a rank to itself out of a list.
pub(crate) fn take_local(transfers: &mut Vec<Transfer>, rank: usize) -> Option<Transfer> {
    let at = transfers.iter().position(|t| t.peer() == rank)?;
    Some(transfers.remove(at))
}

/// Stored extents of a rank; all 0 where it holds nothing.
fn shape_of(dist: &Distribution, rank: usize) -> Vec<usize> {
    dist.local_shape(rank)
}

/// One rank's part of a redistribution: what it sends, what it receives, what it keeps.
///
/// ```
/// use dist_maps::{Distribution, RedistPlan};
/// let rows = Distribution::over(2).shape([4, 6]).block(0).build()?;
/// let columns = Distribution::over(2).shape([4, 6]).block(1).build()?;
/// // rank 0 has rows 0 and 1; it keeps columns 0 to 2 of them and sends the others to rank 1
/// let plan = RedistPlan::new(&rows, &columns, 0)?;
/// let [send] = plan.sends() else { unreachable!() };
/// assert_eq!((send.peer(), send.elements()), (1, 6));
/// let local: Vec<u8> = (0..12).collect(); // 2 x 6
/// let mut message = vec![0; send.elements()];
/// send.pack(&local, &plan.src_layout()?, &mut message)?;
/// assert_eq!(message, [3, 4, 5, 9, 10, 11]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct RedistPlan {
    rank: usize,
    sends: Vec<Transfer>,
    recvs: Vec<Transfer>,
    local: Option<Transfer>,
    identity: bool,
    src_shape: Vec<usize>,
    dst_shape: Vec<usize>,
    /// What is to be written here.
    writes: Region,
}

impl RedistPlan {
    /// The plan of `rank` for the same array in another distribution: what is owned moves; padding
    /// of the destination is left as it is. For other changes see [`Redistribution`].
    ///
    /// # Errors
    /// As [`Redistribution::plan`].
    pub fn new(src: &Distribution, dst: &Distribution, rank: usize) -> Result<Self, PlanError> {
        Redistribution::between(src, dst).plan(rank)
    }

    /// The rank whose plan this is.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Messages to other ranks, by rank; none is empty.
    #[must_use]
    pub fn sends(&self) -> &[Transfer] {
        &self.sends
    }

    /// Messages from other ranks, by rank; none is empty.
    #[must_use]
    pub fn recvs(&self) -> &[Transfer] {
        &self.recvs
    }

    /// What the rank keeps.
    #[must_use]
    pub fn local(&self) -> Option<&Transfer> {
        self.local.as_ref()
    }

    /// Whether nothing moves on any rank, not even locally: source and destination lay out the same
    /// elements in the same places, so that a view or a clone does. The same on every rank.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// Whether this rank sends and receives nothing.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.sends.is_empty() && self.recvs.is_empty()
    }

    /// Extent of the rank's source buffer per dimension, padding included, in elements.
    #[must_use]
    pub fn src_shape(&self) -> &[usize] {
        &self.src_shape
    }

    /// Extent of the rank's destination buffer per dimension, padding included, in elements.
    #[must_use]
    pub fn dst_shape(&self) -> &[usize] {
        &self.dst_shape
    }

    /// The rank's source buffer in C order.
    ///
    /// # Errors
    /// When it exceeds the address space.
    pub fn src_layout(&self) -> Result<Layout, CopyError> {
        Layout::c_order(&self.src_shape)
    }

    /// The rank's destination buffer in C order.
    ///
    /// # Errors
    /// When it exceeds the address space.
    pub fn dst_layout(&self) -> Result<Layout, CopyError> {
        Layout::c_order(&self.dst_shape)
    }

    /// Elements that this rank sends to others.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.sends.iter().map(Transfer::elements).sum()
    }

    /// Elements that this rank receives from others.
    #[must_use]
    pub fn received(&self) -> usize {
        self.recvs.iter().map(Transfer::elements).sum()
    }
}
