//! Slices of distributions: what is left of each axis, and where it lies on every rank.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Distribution;
use crate::axis_dist::to_len;
use crate::canonical::check_listed;
use crate::{AxisDist, Index, MapError};

/// The local positions, along one dimension of a rank's buffer, that a slice takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalPart {
    /// One position; the dimension goes.
    At(usize),
    /// `len` positions from `start`, `step` apart, possibly backwards; `start` is 0 where `len` is.
    Range {
        /// First position.
        start: usize,
        /// Number of positions.
        len: usize,
        /// Distance, not 0.
        step: isize,
    },
    /// Positions in the order of the result.
    List(Arc<[usize]>),
}

impl LocalPart {
    /// A range where the positions are one, a list otherwise.
    fn of(positions: Vec<usize>) -> Self {
        let difference = |pair: &[usize]| pair[1].cast_signed().wrapping_sub(pair[0].cast_signed());
        let step = positions.get(..2).map_or(1, difference);
        if positions.windows(2).all(|pair| difference(pair) == step) {
            return Self::Range {
                start: positions.first().copied().unwrap_or(0),
                len: positions.len(),
                step,
            };
        }
        Self::List(positions.into())
    }

    /// Number of positions.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a number to compare, no container"
    )]
    pub fn len(&self) -> usize {
        match self {
            Self::At(_) => 1,
            Self::Range { len, .. } => *len,
            Self::List(list) => list.len(),
        }
    }

    /// The positions, in the order of the result.
    #[must_use]
    pub fn positions(&self) -> Vec<usize> {
        match self {
            Self::At(at) => vec![*at],
            Self::Range { start, len, step } => (0..*len)
                .scan(*start, |at, _| {
                    let here = *at;
                    *at = here.wrapping_add_signed(*step);
                    Some(here)
                })
                .collect(),
            Self::List(list) => list.to_vec(),
        }
    }
}

/// A slice of a distribution: see [`Distribution::slice`].
#[derive(Clone, Debug)]
pub struct Sliced {
    distribution: Distribution,
    taken: Vec<TakenAxis>,
    source: Distribution,
}

impl Sliced {
    /// The distribution of the result; no element moves.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The distribution of the result, by value.
    #[must_use]
    pub fn into_distribution(self) -> Distribution {
        self.distribution
    }

    /// What a rank takes of its buffer, one part per dimension of the *source*, positions counted
    /// with padding; `None` where the rank has no place in the result.
    #[must_use]
    pub fn local(&self, rank: usize) -> Option<Vec<LocalPart>> {
        self.distribution.grid_rank(rank)?;
        let coords = self.source.coords(rank)?;
        let pairs = self.taken.iter().zip(coords);
        let part = |(axis, coord): (&TakenAxis, usize)| axis.parts.get(&coord).cloned();
        pairs.map(part).collect()
    }
}

/// What a slice makes of one axis.
#[derive(Clone, Debug)]
struct TakenAxis {
    /// The axis of the result, over the coordinates kept; `None` where the dimension goes.
    axis: Option<AxisDist>,
    /// The coordinates kept, in the order of the result's.
    kept: Vec<usize>,
    /// What each of them takes.
    parts: BTreeMap<usize, LocalPart>,
}

impl TakenAxis {
    /// What each coordinate kept takes, in the order of the result.
    fn new(axis: Option<AxisDist>, taken: impl IntoIterator<Item = (usize, LocalPart)>) -> Self {
        let mut kept = Vec::new();
        let in_order = taken.into_iter().inspect(|(coord, _)| kept.push(*coord));
        let parts = in_order.collect();
        Self { axis, kept, parts }
    }
}

impl Distribution {
    /// What `items` take of the array, as `NumPy` does: an integer drops its dimension, a slice may have
    /// any step, an ellipsis stands for the dimensions not named, missing ones are taken whole.
    ///
    /// No element moves: each rank keeps those that it owns. Ranks without any become inactive, and
    /// where nothing is left at all, the first keeps an empty part. An axis taken whole keeps its
    /// padding, every other loses it. The result is in the shortest form there is: a block stays a
    /// block; every `k`-th of a cyclic axis over `P` ranks is cyclic over `P / gcd(k, P)` of them;
    /// dealt blocks stay dealt where the slice begins with a whole block and its step divides the
    /// block size or is a multiple of it. Otherwise the indices are listed. Explicit lists keep the
    /// order in which they are stored.
    ///
    /// # Errors
    /// When there are more items than dimensions, an integer is out of range or nobody's, a step is
    /// 0, or more than [`MAX_LISTED`](crate::MAX_LISTED) indices would have to be listed.
    ///
    /// ```
    /// use dist_maps::{AxisDist, Distribution, LocalPart, Slice};
    /// let d = Distribution::over(4).shape([20]).cyclic(0).build()?;
    /// let back = d.slice(&[Slice::new(None, None, -2).into()])?; // 19, 17, … 1
    /// assert_eq!(back.distribution().axes()[0], AxisDist::cyclic(10, 2, 1)?);
    /// assert_eq!(back.distribution().targets(), [3, 1]);
    /// assert_eq!(back.local(1), Some(vec![LocalPart::Range { start: 4, len: 5, step: -1 }]));
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    pub fn slice(&self, items: &[Index]) -> Result<Sliced, MapError> {
        let items = Index::expand(items, self.ndim())?;
        let taken = self
            .axes()
            .iter()
            .zip(items)
            .enumerate()
            .map(|(number, (axis, item))| take(axis, item).map_err(|e| e.on_axis(number)))
            .collect::<Result<Vec<_>, _>>()?;
        let kept: Vec<Vec<usize>> = taken.iter().map(|axis| axis.kept.clone()).collect();
        let axes = taken.iter().filter_map(|axis| axis.axis.clone()).collect();
        Ok(Sliced {
            distribution: Self::from_axes(axes, self.ranks(), self.targets_over(&kept))?,
            taken,
            source: self.clone(),
        })
    }
}

fn take(axis: &AxisDist, item: Index) -> Result<TakenAxis, MapError> {
    let size = axis.size();
    match item {
        Index::At(at) => {
            let wrong = MapError::Index {
                axis: None,
                given: at,
                size,
            };
            let from_end = at.checked_add(size.cast_signed());
            let g = if at < 0 { from_end } else { Some(at) };
            let g = g.filter(|&g| g >= 0).ok_or(wrong.clone())?;
            let (coord, local) = find(axis, g).ok_or(wrong)?;
            Ok(TakenAxis::new(None, [(coord, LocalPart::At(local))]))
        }
        Index::Slice(slice) => {
            let (start, step, count) = slice.resolve(size)?;
            if step == 1 && count == size {
                return Ok(whole(axis));
            }
            take_slice(axis, start, step, count)
        }
        Index::Ellipsis => Ok(whole(axis)),
    }
}

/// The lowest owner of an index, and its position in that buffer.
fn find(axis: &AxisDist, g: i64) -> Option<(usize, usize)> {
    if u64::try_from(g).map_or(true, |g| g >= axis.size()) {
        return None;
    }
    let (coord, local) = match axis {
        AxisDist::Unstructured { indices, .. } => indices
            .iter()
            .enumerate()
            .find_map(|(c, list)| Some((c, list.iter().position(|&i| i == g)?)))?,
        _ => axis.locator().locate(g)?,
    };
    Some((coord, local + axis.owned_local(coord).start))
}

fn whole(axis: &AxisDist) -> TakenAxis {
    let all = |coord: usize| LocalPart::Range {
        start: 0,
        len: axis.stored_len(coord),
        step: 1,
    };
    let parts = (0..axis.ranks()).map(|coord| (coord, all(coord)));
    TakenAxis::new(Some(axis.clone()), parts)
}

/// What each coordinate takes, in the order of the result: coordinate, position of its first element
/// in the buffer, number of elements, distance of positions.
type Share = (usize, u64, u64, i64);

fn take_slice(axis: &AxisDist, start: i64, step: i64, count: u64) -> Result<TakenAxis, MapError> {
    if count == 0 {
        let nothing = [(0, LocalPart::of(Vec::new()))];
        return Ok(TakenAxis::new(Some(AxisDist::whole(0)?), nothing));
    }
    // Dealt in one round is blocks, at the same local positions.
    let axis = &match axis {
        AxisDist::Cyclic { .. } => axis.canonical(),
        other => other.clone(),
    };
    match axis {
        AxisDist::Block { bounds, .. } => {
            let shares = block_shares(bounds, start, step, count);
            let mut reached = 0;
            let ends = shares.iter().map(|share| {
                reached += share.2;
                reached
            });
            let bounds: Vec<u64> = std::iter::once(0).chain(ends).collect();
            let padded = shares.iter().map(|&(c, first, len, step)| {
                (c, first + axis.owned_local(c).start as u64, len, step)
            });
            Ok(taken(AxisDist::from_bounds(bounds.into()), padded))
        }
        AxisDist::Cyclic {
            ranks, block_size, ..
        } => match dealt_shares(*ranks, *block_size, start, step, count) {
            Some((new_block, shares)) => {
                let new = AxisDist::cyclic(count, shares.len(), new_block)?;
                Ok(taken(new.canonical(), shares.into_iter()))
            }
            None => list_shares(axis, start, step, count),
        },
        AxisDist::Unstructured { .. } => list_shares(axis, start, step, count),
    }
}

fn taken(axis: AxisDist, shares: impl Iterator<Item = Share>) -> TakenAxis {
    let part = |(coord, first, len, step): Share| {
        let part = LocalPart::Range {
            start: to_len(first),
            len: to_len(len),
            // A step that does not fit memory is never taken: there is one element then.
            step: if len == 1 {
                1
            } else {
                isize::try_from(step).unwrap_or(1)
            },
        };
        (coord, part)
    };
    TakenAxis::new(Some(axis), shares.map(part))
}

/// Blocks: each takes a range of the result. Positions count what is owned.
fn block_shares(bounds: &[u64], start: i64, step: i64, count: u64) -> Vec<Share> {
    let stride = step.unsigned_abs();
    let first = start.unsigned_abs();
    // Number of result elements whose index is below `limit`, or above where the step is negative.
    let before = |limit: u64| -> u64 {
        let distance = if step > 0 {
            limit.saturating_sub(first)
        } else {
            (first + 1).saturating_sub(limit)
        };
        distance.div_ceil(stride).min(count)
    };
    let mut shares = Vec::new();
    let mut add = |coord: usize, from: u64, to: u64, low: u64| {
        if to > from {
            let offset = from * stride;
            let g = if step > 0 {
                first + offset
            } else {
                first - offset
            };
            shares.push((coord, g - low, to - from, step));
        }
    };
    if step > 0 {
        for (coord, owned) in bounds.windows(2).enumerate() {
            add(coord, before(owned[0]), before(owned[1]), owned[0]);
        }
    } else {
        for (coord, owned) in bounds.windows(2).enumerate().rev() {
            add(coord, before(owned[1]), before(owned[0]), owned[0]);
        }
    }
    shares
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Dealt blocks, where the result is dealt too: its block size, and the shares in its order.
fn dealt_shares(
    ranks: usize,
    block: u64,
    start: i64,
    step: i64,
    count: u64,
) -> Option<(u64, Vec<Share>)> {
    let (stride, first) = (step.unsigned_abs(), start.unsigned_abs());
    let p = ranks as u64;
    let (number, inside) = (first / block, first % block);
    // How far into its block, in the direction of the slice, the first element lies.
    let lead = if step > 0 { inside } else { block - 1 - inside };
    let (per_block, blocks_apart) = if block.is_multiple_of(stride) && lead < stride {
        (block / stride, 1) // every block gives as many
    } else if stride.is_multiple_of(block) {
        (1, stride / block) // every so many-th block gives one
    } else {
        return None;
    };
    let period = p / gcd(blocks_apart % p, p).max(1);
    let coords = period.min(count.div_ceil(per_block));
    let mut shares = Vec::with_capacity(to_len(coords));
    for j in 0..coords {
        let distance = j.checked_mul(blocks_apart)?;
        let block_number = if step > 0 {
            number.checked_add(distance)?
        } else {
            number.checked_sub(distance)?
        };
        let len = crate::axis_dist::cyclic_count(count, to_len(coords), to_len(j), per_block);
        let local = block_number / p * block + inside;
        let apart = if per_block > 1 {
            step
        } else {
            // Whole rounds lie between two elements of one coordinate.
            let rounds = period.checked_mul(blocks_apart)? / p;
            let apart = i64::try_from(rounds.checked_mul(block)?).unwrap_or(i64::MAX);
            if step > 0 { apart } else { -apart }
        };
        shares.push((to_len(block_number % p), local, len, apart));
    }
    Some((per_block, shares))
}

/// Element by element, in the order stored.
fn list_shares(axis: &AxisDist, start: i64, step: i64, count: u64) -> Result<TakenAxis, MapError> {
    let listed = match axis {
        AxisDist::Unstructured { .. } => 0,
        _ => count,
    };
    check_listed(listed)?;
    let mut shares: Vec<(usize, Vec<i64>, Vec<usize>)> = Vec::new();
    if let AxisDist::Unstructured { indices, .. } = axis {
        for (coord, list) in indices.iter().enumerate() {
            let (mut new, mut local) = (Vec::new(), Vec::new());
            for (at, &g) in list.iter().enumerate() {
                let distance = i128::from(g) - i128::from(start);
                let k = distance / i128::from(step);
                if distance % i128::from(step) == 0 && (0..i128::from(count)).contains(&k) {
                    new.push(i64::try_from(k).unwrap_or(0));
                    local.push(at);
                }
            }
            shares.push((coord, new, local));
        }
    } else {
        let locator = axis.locator();
        shares.extend((0..axis.ranks()).map(|c| (c, Vec::new(), Vec::new())));
        let mut g = start;
        for k in 0..count.cast_signed() {
            if let Some((coord, local)) = locator.locate(g) {
                shares[coord].1.push(k);
                shares[coord].2.push(local);
            }
            g = g.saturating_add(step); // may leave the dimension only after the last
        }
    }
    shares.retain(|share| !share.1.is_empty());
    if !matches!(axis, AxisDist::Unstructured { .. }) {
        shares.sort_by_key(|share| share.1[0]);
    }
    if shares.is_empty() {
        shares.push((0, Vec::new(), Vec::new()));
    }
    let lists = shares.iter().map(|share| share.1.as_slice());
    let axis = AxisDist::unstructured(count, lists)?.canonical();
    let parts = shares.into_iter();
    Ok(TakenAxis::new(
        Some(axis),
        parts.map(|(coord, _, positions)| (coord, LocalPart::of(positions))),
    ))
}
