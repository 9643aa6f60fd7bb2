//! Laws of reductions over random shapes, distributions and axes.

use dist_comm::Communicator;
use local_array::LocalArray;
use ndarray::{ArrayD, Axis, IxDyn};
use proptest::prelude::*;

use crate::properties::{config, kind, on_threads};
use crate::support::arrays::{numbers, plainly};
use crate::support::numpy::{gathered, spread, whole_alike};
use crate::support::plain::{self, Kind};
use crate::support::{ensure, same};

/// Ranks, a shape with kinds per axis, padding, which axes are reduced, a seed.
type Reduced = (usize, Vec<u64>, Vec<Kind>, u64, Vec<bool>, u64);

fn reduced() -> impl Strategy<Value = Reduced> {
    (1..8_usize, 1..4_usize).prop_flat_map(|(ranks, ndim)| {
        (
            Just(ranks),
            prop::collection::vec(1..12_u64, ndim),
            prop::collection::vec(kind(), ndim),
            0..3_u64,
            prop::collection::vec(any::<bool>(), ndim),
            any::<u64>(),
        )
    })
}

fn listed(reduced: &[bool]) -> Vec<usize> {
    (0..reduced.len()).filter(|&axis| reduced[axis]).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn axes_reduce_as_plain_loops((ranks, shape, kinds, padding, axes, seed) in reduced()) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        let whole = numbers(&shape, seed).mapv(|x| (x * 4.0) as i64);
        let axes = listed(&axes);
        let named: Vec<i32> = axes.iter().map(|&axis| axis as i32).collect();
        on_threads(ranks, |comm| {
            let comm: &dyn Communicator = comm;
            let a = spread(&whole, &d, comm)?;
            let over = a.over(named.clone());
            whole_alike(&over.sum()?, &plainly(&whole, &axes, |x| x.iter().sum::<i64>()), 0.0, "sum")?;
            let least = plainly(&whole, &axes, |x| x.iter().copied().min().unwrap_or(0));
            whole_alike(&over.min()?, &least, 0.0, "min")?;
            let place = |x: &[i64]| (0..x.len()).min_by_key(|&at| (x[at], at)).unwrap_or(0) as i64;
            whole_alike(&over.argmin()?, &plainly(&whole, &axes, place), 0.0, "argmin")?;
            let median = |x: &[i64]| {
                let mut x = x.to_vec();
                x.sort_unstable();
                (x[(x.len() - 1) / 2] + x[x.len() / 2]) as f64 / 2.0
            };
            whole_alike(&over.median()?, &plainly(&whole, &axes, median), 0.0, "median")?;
            // in two steps as in one
            same(over.sum()?.sum()?, a.sum()?, "sum of sums")?;
            same(over.max()?.max()?, a.max()?, "max of max")
        })?;
    }

    #[test]
    fn moments_keep_their_laws((ranks, shape, kinds, padding, axes, seed) in reduced(), shift in -1e6..1e6_f64) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        let whole = numbers(&shape, seed);
        let named: Vec<i32> = listed(&axes).iter().map(|&axis| axis as i32).collect();
        on_threads(ranks, |comm| {
            let comm: &dyn Communicator = comm;
            let a = spread(&whole, &d, comm)?;
            let moved = a.map(|&x| x + shift);
            let (before, after) = (gathered(&a.over(named.clone()).var(0.0)?)?, gathered(&moved.over(named.clone()).var(0.0)?)?);
            let is_near = before.iter().zip(&after).all(|(x, y)| (x - y).abs() < 1e-6);
            ensure(is_near, || format!("{before:?} moved by {shift}: {after:?}"))?;
            let mean = a.over(named.clone()).mean()?;
            let (low, high) = (a.over(named.clone()).min()?, a.over(named.clone()).max()?);
            let (mean, low, high) = (gathered(&mean)?, gathered(&low)?, gathered(&high)?);
            for ((mean, low), high) in mean.iter().zip(&low).zip(&high) {
                ensure(low - 1e-9 <= *mean && *mean <= high + 1e-9, || format!("{low} {mean} {high}"))?;
            }
            Ok(())
        })?;
    }

    #[test]
    fn running_sums_end_in_the_sum((ranks, shape, kinds, padding, axes, seed) in reduced()) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        let whole: ArrayD<i64> = numbers(&shape, seed).mapv(|x| (x * 4.0) as i64);
        let axis = axes.iter().filter(|axis| **axis).count() % shape.len();
        on_threads(ranks, |comm| {
            let comm: &dyn Communicator = comm;
            let a = spread(&whole, &d, comm)?;
            let running = gathered(&a.cumsum(axis as i32)?)?;
            let last = running.index_axis(Axis(axis), running.len_of(Axis(axis)) - 1).to_owned();
            whole_alike(&a.over(axis as i32).sum()?, &last, 0.0, "the last of the running sums")?;
            let flat = gathered(&a.cumsum(None)?)?;
            same(flat.last().copied(), Some(a.sum()?), "the last of all")?;
            let (counts, _) = a.histogram(5).count()?;
            same(counts.sum(), whole.len() as i64, "all are counted")
        })?;
    }

    #[test]
    fn correlations_are_symmetric_and_bounded(ranks in 1..6_usize, v in 1..7_u64, n in 2..9_u64, (rows, columns) in (kind(), kind()), seed in any::<u64>()) {
        let d = plain::distribution(&[v, n], &[rows, columns], 0, ranks);
        let whole = numbers(&[v, n], seed);
        on_threads(ranks, |comm| {
            let comm: &dyn Communicator = comm;
            let a: LocalArray<f64, IxDyn, _> = spread(&whole, &d, comm)?;
            let (cov, corr) = (gathered(&a.covariance().cov()?)?, gathered(&a.covariance().corrcoef()?)?);
            if v == 1 {
                return same(cov.ndim(), 0, "one variable");
            }
            for i in 0..v as usize {
                for j in 0..v as usize {
                    ensure((cov[[i, j]] - cov[[j, i]]).abs() < 1e-12, || format!("{cov:?}"))?;
                    ensure(corr[[i, j]].is_nan() || corr[[i, j]].abs() <= 1.0, || format!("{corr:?}"))?;
                }
                let var = a.over(1).var(1.0)?;
                let var = gathered(&var)?;
                ensure((cov[[i, i]] - var[[i]]).abs() < 1e-12, || format!("{cov:?} {var:?}"))?;
            }
            Ok(())
        })?;
    }
}
