//! Products of matrices that keep few numbers: the dimension that is summed over is dealt to all ranks.
//!
//! ```text
//! 1 × k times k × 1 on 3 ranks      rank 0      rank 1      rank 2
//! indices of k                      0 .. k/3    k/3 .. 2k/3 2k/3 .. k
//! a partial product each            1 × 1       1 × 1       1 × 1
//! added up in order of rank         rank 0, who has the result
//! ```
//!
//! By panels the ranks that have a part of the result would be sent all that it is made of: of few numbers few ranks all of
//! both matrices. Here each rank is sent its share of both, and each owner of results as many partial sums as there are ranks.

use std::sync::Arc;

use bytemuck::Pod;
use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution, IndexMap};
use ndarray::{Array2, CowArray, Data, Ix2};

use crate::cow::unpadded;
use crate::redistribute::moved_to;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// What a way to multiply takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    /// Bytes of an element, and of a sum.
    pub(super) element: usize,
    pub(super) sum: usize,
    /// Rows and columns of the result that are made at a time where not all are; sums kept are then those of one such tile.
    pub(super) tile: Option<usize>,
}

/// How the factors of a product are dealt to all ranks.
pub(super) struct Dealt {
    a: Distribution,
    b: Distribution,
}

impl Dealt {
    /// Where dealing pays: where it sends a rank less than panels do, and the sums of the whole product take no more memory
    /// than a quarter of the rank's share of the factors, or than a tile. The same on every rank.
    ///
    /// Panels send a rank that has `h × w` of the result `h · k` elements of `a` and `w · k` of `b`, again for each tile; of a
    /// factor that has its rows, or columns, where the result has them nothing. Dealing sends it `m` and `n` for each of its
    /// indices of `k`, nothing of a factor that is dealt already, and `h · w` sums from every rank.
    pub(super) fn where_it_pays(
        a: &Distribution,
        b: &Distribution,
        target: &Distribution,
        weights: Weights,
    ) -> Result<Option<Self>, ArrayError> {
        let (ranks, k) = (a.ranks(), a.global_shape()[1]);
        let [m, n] = [target.global_shape()[0], target.global_shape()[1]].map(u128::from);
        // A result that lacks rows, or has some outside, is not a part of the whole product.
        let is_part = target.axes().iter().all(has_each_once);
        if ranks == 1 || m == 0 || n == 0 || k == 0 || !is_part {
            return Ok(None);
        }
        let dealt = Self::of(a, b)?;
        let part = longest(&dealt.a.axes()[1]);
        let (element, sum) = (weights.element as u128, weights.sum as u128);
        let times = |x: u128, y: u128| x.saturating_mul(y);
        let of_factors = |rows: u128, columns: u128, depth: u128| {
            times(times(rows.saturating_add(columns), depth), element)
        };
        let kept = times(times(m, n), sum);
        let fits = match weights.tile {
            Some(tile) => times(m, n) <= (tile as u128).pow(2),
            None => times(4, kept) <= of_factors(m, n, part),
        };
        if !fits {
            return Ok(None);
        }
        let unless = |stays: bool, count: u128| if stays { 0 } else { count };
        let [high, wide] = [longest(&target.axes()[0]), longest(&target.axes()[1])];
        let tiles = |len: u128| weights.tile.map_or(1, |tile| len.div_ceil(tile as u128));
        let by_panels = of_factors(
            unless(lies(a, target, 0)?, times(high, tiles(wide))),
            unless(lies(b, target, 1)?, times(wide, tiles(high))),
            u128::from(k),
        );
        let by_dealing = of_factors(
            unless(a.is_compatible(&dealt.a), m),
            unless(b.is_compatible(&dealt.b), n),
            part,
        )
        .saturating_add(times(times(high, wide), times(ranks as u128, sum)));
        Ok((by_dealing < by_panels).then_some(dealt))
    }

    /// Along the summed dimension as the first factor is, or the second, where that is over all ranks alone; else in blocks.
    fn of(a: &Distribution, b: &Distribution) -> Result<Self, ArrayError> {
        let ranks = a.ranks();
        let is_dealt = |axis: &AxisDist, across: &AxisDist| {
            // a list may lack an index
            !matches!(axis, AxisDist::Unstructured { .. })
                && across.is_whole()
                && axis.ranks() == ranks
                && is_even(longest(axis), axis.size().into(), ranks)
        };
        let (axis, targets) = if is_dealt(&a.axes()[1], &a.axes()[0]) {
            (unpadded(&a.axes()[1])?, Arc::from(a.targets()))
        } else if is_dealt(&b.axes()[0], &b.axes()[1]) {
            (unpadded(&b.axes()[0])?, Arc::from(b.targets()))
        } else {
            let blocks = AxisDist::block_balanced(a.global_shape()[1], ranks)?;
            (blocks, (0..ranks).collect::<Arc<[usize]>>())
        };
        let rows = AxisDist::whole(a.global_shape()[0])?;
        let columns = AxisDist::whole(b.global_shape()[1])?;
        let place =
            |axes: [AxisDist; 2]| Distribution::from_axes(axes.to_vec(), ranks, targets.clone());
        Ok(Self {
            a: place([rows, axis.clone()])?,
            b: place([axis, columns])?,
        })
    }

    /// What this rank has of the two factors: all rows of some columns, and all columns of those rows. Collective.
    pub(super) fn factors<'a, T, S1, S2, C>(
        &self,
        a: &'a LocalArrayBase<S1, Ix2, C>,
        b: &'a LocalArrayBase<S2, Ix2, C>,
    ) -> Result<[CowArray<'a, T, Ix2>; 2], ArrayError>
    where
        T: Element,
        S1: Data<Elem = T>,
        S2: Data<Elem = T>,
        C: Communicator + Clone,
    {
        Ok([own(a, &self.a)?, own(b, &self.b)?])
    }
}

fn own<'a, T, S, C>(
    factor: &'a LocalArrayBase<S, Ix2, C>,
    dealt: &Distribution,
) -> Result<CowArray<'a, T, Ix2>, ArrayError>
where
    T: Element,
    S: Data<Elem = T>,
    C: Communicator + Clone,
{
    if factor.distribution().is_compatible(dealt) {
        let (owned, shape) = (factor.owned(), dealt.local_shape(factor.comm().rank()));
        if owned.shape() == shape {
            return Ok(owned.into());
        }
        // Without an element here, as in another grid: nothing of as many rows, or columns, as the others have.
        let nothing = Array2::from_elem((shape[0], shape[1]), T::default());
        return Ok(nothing.into());
    }
    let moved: LocalArray<T, Ix2, C> = moved_to(factor, dealt)?;
    Ok(moved.into_local().into())
}

/// The sums of the result that lie here, in C order: from those of the whole result that each rank has made, joined in order of
/// rank. Collective.
pub(super) fn joined<A: Pod, C: Communicator>(
    sums: &[A],
    target: &Distribution,
    comm: &C,
    mut join: impl FnMut(&mut A, &A),
) -> Result<Vec<A>, ArrayError> {
    let width = usize::try_from(target.global_shape()[1]).unwrap_or(usize::MAX);
    let sends = (0..comm.size()).map(|rank| {
        let [rows, columns] = [indices(target, rank, 0)?, indices(target, rank, 1)?];
        let cells = rows
            .iter()
            .flat_map(|row| columns.iter().map(move |column| row * width + column));
        Ok(cells.map(|cell| sums[cell]).collect())
    });
    let sends = sends.collect::<Result<Vec<Vec<A>>, ArrayError>>()?;
    let sends: Vec<&[A]> = sends.iter().map(Vec::as_slice).collect();
    let mut received = comm.all_to_all_slice(&sends)?.into_iter();
    let mut all = received.next().unwrap_or_default();
    for part in received {
        for (sum, more) in all.iter_mut().zip(&part) {
            join(sum, more);
        }
    }
    Ok(all)
}

/// The global indices that a rank owns along an axis.
fn indices(target: &Distribution, rank: usize, axis: usize) -> Result<Vec<usize>, ArrayError> {
    let Some(coords) = target.coords(rank) else {
        return Ok(Vec::new());
    };
    let map = target.axes()[axis].map(coords[axis])?;
    Ok(map
        .global_iter()
        .filter_map(|index| usize::try_from(index.get()).ok())
        .collect())
}

/// Whether every index of an axis is on one coordinate, and nothing else is on any.
fn has_each_once(axis: &AxisDist) -> bool {
    let AxisDist::Unstructured { size, indices, .. } = axis else {
        return true;
    };
    let all = || indices.iter().flat_map(|list| list.iter().copied());
    axis.is_one_to_one()
        && all().count() as u64 == *size
        && all().all(|index| u64::try_from(index).is_ok_and(|index| index < *size))
}

/// The most indices that a coordinate owns.
fn longest(axis: &AxisDist) -> u128 {
    let longest = (0..axis.ranks()).map(|coord| axis.owned_len(coord)).max();
    longest.unwrap_or(0) as u128
}

/// Whether a factor has its rows (axis 0), or its columns (1), whole where the result has them.
fn lies(factor: &Distribution, target: &Distribution, axis: usize) -> Result<bool, ArrayError> {
    let summed = &factor.axes()[1 - axis];
    Ok(summed.is_whole()
        && unpadded(&factor.axes()[axis])? == target.axes()[axis]
        && factor.targets() == target.targets())
}

/// Whether no rank has more than twice its share.
fn is_even(most: u128, all: u128, ranks: usize) -> bool {
    most <= 2 * all.div_ceil(ranks as u128)
}

/// Whether rows and columns over a grid of all ranks leave none with more than twice its share of the product.
pub(super) fn spreads(rows: &AxisDist, columns: &AxisDist, ranks: usize) -> bool {
    let all = u128::from(rows.size()).saturating_mul(columns.size().into());
    rows.ranks() * columns.ranks() == ranks && is_even(longest(rows) * longest(columns), all, ranks)
}
