//! Laws of reductions.

use dist_comm::Communicator;
use ndarray::{ArrayD, Axis};
use proptest::prelude::*;

use super::kind;
use crate::support::arrays::{numbers, plainly};
use crate::support::numpy::{Whole, gathered, spread, whole_alike};
use crate::support::plain::{self, Kind};
use crate::support::{Failure, Outcome, ensure, same};

/// A shape with kinds per axis, padding, which axes are reduced, a seed.
pub type Reduced = (Vec<u64>, Vec<Kind>, u64, Vec<bool>, u64);

pub fn reduced() -> impl Strategy<Value = Reduced> {
    (1..4_usize).prop_flat_map(|ndim| {
        (
            prop::collection::vec(1..12_u64, ndim),
            prop::collection::vec(kind(), ndim),
            0..3_u64,
            prop::collection::vec(any::<bool>(), ndim),
            any::<u64>(),
        )
    })
}

/// The same, and what is added to all elements.
pub fn shifted() -> impl Strategy<Value = (Reduced, f64)> {
    (reduced(), -1e6..1e6_f64)
}

/// Variables and observations, how they are spread, and a seed.
pub type Variables = (u64, u64, (Kind, Kind), u64);

pub fn variables() -> impl Strategy<Value = Variables> {
    (1..7_u64, 2..9_u64, (kind(), kind()), any::<u64>())
}

fn listed(reduced: &[bool]) -> Vec<usize> {
    (0..reduced.len()).filter(|&axis| reduced[axis]).collect()
}

fn named(reduced: &[bool]) -> Vec<i32> {
    listed(reduced).iter().map(|&axis| axis as i32).collect()
}

/// Whole numbers, and the array of them over the ranks.
fn integers<'a>(
    (shape, kinds, padding, _, seed): &Reduced,
    comm: &'a dyn Communicator,
) -> Result<(ArrayD<i64>, Whole<'a, i64>), Failure> {
    let d = plain::distribution(shape, kinds, *padding, comm.size());
    let whole = numbers(shape, *seed).mapv(|x| (x * 4.0) as i64);
    let array = spread(&whole, &d, comm)?;
    Ok((whole, array))
}

pub fn axes_reduce_as_plain_loops(input: &Reduced, comm: &dyn Communicator) -> Outcome {
    let (whole, a) = integers(input, comm)?;
    let axes = listed(&input.3);
    let over = a.over(named(&input.3));
    let sums = plainly(&whole, &axes, |x| x.iter().sum::<i64>());
    whole_alike(&over.sum()?, &sums, 0.0, "sum")?;
    let least = plainly(&whole, &axes, |x| x.iter().copied().min().unwrap_or(0));
    whole_alike(&over.min()?, &least, 0.0, "min")?;
    let place = |x: &[i64]| (0..x.len()).min_by_key(|&at| (x[at], at)).unwrap_or(0) as i64;
    let places = plainly(&whole, &axes, place);
    whole_alike(&over.argmin()?, &places, 0.0, "argmin")?;
    let median = |x: &[i64]| {
        let mut x = x.to_vec();
        x.sort_unstable();
        (x[(x.len() - 1) / 2] + x[x.len() / 2]) as f64 / 2.0
    };
    let medians = plainly(&whole, &axes, median);
    whole_alike(&over.median()?, &medians, 0.0, "median")?;
    // in two steps as in one
    same(over.sum()?.sum()?, a.sum()?, "sum of sums")?;
    same(over.max()?.max()?, a.max()?, "max of max")
}

pub fn moments_keep_their_laws(
    (input, shift): &(Reduced, f64),
    comm: &dyn Communicator,
) -> Outcome {
    let (shape, kinds, padding, axes, seed) = input;
    let d = plain::distribution(shape, kinds, *padding, comm.size());
    let axes = named(axes);
    let a = spread(&numbers(shape, *seed), &d, comm)?;
    let moved = a.map(|&x| x + shift);
    let before = gathered(&a.over(axes.clone()).var(0.0)?)?;
    let after = gathered(&moved.over(axes.clone()).var(0.0)?)?;
    let is_near = before.iter().zip(&after).all(|(x, y)| (x - y).abs() < 1e-6);
    ensure(is_near, || {
        format!("{before:?} moved by {shift}: {after:?}")
    })?;
    let over = a.over(axes);
    let mean = gathered(&over.mean()?)?;
    let (low, high) = (gathered(&over.min()?)?, gathered(&over.max()?)?);
    for ((mean, low), high) in mean.iter().zip(&low).zip(&high) {
        ensure(low - 1e-9 <= *mean && *mean <= high + 1e-9, || {
            format!("{low} {mean} {high}")
        })?;
    }
    Ok(())
}

pub fn running_sums_end_in_the_sum(input: &Reduced, comm: &dyn Communicator) -> Outcome {
    let (whole, a) = integers(input, comm)?;
    let axis = input.3.iter().filter(|axis| **axis).count() % input.0.len();
    let running = gathered(&a.cumsum(axis as i32)?)?;
    let last = running.len_of(Axis(axis)) - 1;
    let last = running.index_axis(Axis(axis), last).to_owned();
    let sums = a.over(axis as i32).sum()?;
    whole_alike(&sums, &last, 0.0, "the last of the running sums")?;
    let flat = gathered(&a.cumsum(None)?)?;
    same(flat.last().copied(), Some(a.sum()?), "the last of all")?;
    let (counts, _) = a.histogram(5).count()?;
    same(counts.sum(), whole.len() as i64, "all are counted")
}

pub fn correlations_are_symmetric_and_bounded(
    (v, n, (rows, columns), seed): &Variables,
    comm: &dyn Communicator,
) -> Outcome {
    let d = plain::distribution(&[*v, *n], &[*rows, *columns], 0, comm.size());
    let a = spread(&numbers(&[*v, *n], *seed), &d, comm)?;
    let cov = gathered(&a.covariance().cov()?)?;
    let corr = gathered(&a.covariance().corrcoef()?)?;
    let var = gathered(&a.over(1).var(1.0)?)?;
    if *v == 1 {
        return same(cov.ndim(), 0, "one variable");
    }
    for i in 0..*v as usize {
        for j in 0..*v as usize {
            ensure((cov[[i, j]] - cov[[j, i]]).abs() < 1e-12, || {
                format!("{cov:?}")
            })?;
            ensure(corr[[i, j]].is_nan() || corr[[i, j]].abs() <= 1.0, || {
                format!("{corr:?}")
            })?;
        }
        ensure((cov[[i, i]] - var[[i]]).abs() < 1e-12, || {
            format!("{cov:?} {var:?}")
        })?;
    }
    Ok(())
}
