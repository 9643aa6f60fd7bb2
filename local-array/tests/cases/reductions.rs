//! Reductions over all ranks.

use std::collections::BTreeSet;

use dist_comm::Communicator;
use dist_maps::Distribution;
use half::{bf16, f16};
use local_array::{ArrayError, LocalArray};
use ndarray::{Ix1, IxDyn};
use num_complex::{Complex32, Complex64};

use super::plain::{self, Kind, SHAPES, cells, draw, flat, zoo};
use super::support::arrays::numbered;
use super::{Outcome, ensure, same};

cases! {
    reductions_equal_plain_ones,
    sums_have_the_documented_order,
    nan_propagates,
    types_have_their_sums,
    empty_arrays_have_no_extremes,
    repeated_indices_count_once,
}

fn reductions_equal_plain_ones(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for distribution in zoo(shape, comm.size()) {
            let mut a = numbered(&distribution, comm)?;
            a.map_inplace(|x| *x = (*x * 37 + 11) % 101 - 40);
            // What is not owned must not count.
            for (x, (_, owned)) in a
                .local_mut()
                .iter_mut()
                .zip(cells(&distribution, comm.rank()))
            {
                if !owned {
                    *x = 1_000_000;
                }
            }
            let all: Vec<i64> = (0..plain::size(shape) as i64)
                .map(|x| (x * 37 + 11) % 101 - 40)
                .collect();
            same(a.sum()?, all.iter().sum::<i64>(), "sum")?;
            let mean = a.mean()?;
            if all.is_empty() {
                ensure(mean.is_nan(), || format!("the mean of nothing is {mean}"))?;
                ensure(
                    matches!(
                        a.min(),
                        Err(ArrayError::Empty {
                            operation: "min",
                            ..
                        })
                    ),
                    || "min".into(),
                )?;
                ensure(
                    matches!(
                        a.max(),
                        Err(ArrayError::Empty {
                            operation: "max",
                            ..
                        })
                    ),
                    || "max".into(),
                )?;
            } else {
                same(
                    mean,
                    all.iter().sum::<i64>() as f64 / all.len() as f64,
                    "mean",
                )?;
                same(a.min()?, *all.iter().min().unwrap_or(&0), "min")?;
                same(a.max()?, *all.iter().max().unwrap_or(&0), "max")?;
            }
        }
    }
    Ok(())
}

/// The documented order, written out: leaves of 128 with 8 partial sums, leaves two by two as a binary counter carries.
fn documented(numbers: &[f64]) -> f64 {
    fn tree(sums: &[f64]) -> f64 {
        match sums {
            [] => 0.0,
            [one] => *one,
            _ => {
                let half = sums.len().next_power_of_two() / 2;
                tree(&sums[..half]) + tree(&sums[half..])
            }
        }
    }
    fn leaf(numbers: &[f64]) -> f64 {
        let mut rows = numbers.chunks_exact(8);
        let tail = rows.remainder();
        let Some(first) = rows.next() else {
            return tail.iter().copied().reduce(|sum, x| sum + x).unwrap_or(0.0);
        };
        let mut lanes = first.to_vec();
        for row in rows {
            for (lane, x) in lanes.iter_mut().zip(row) {
                *lane += x;
            }
        }
        tail.iter().fold(tree(&lanes), |sum, x| sum + x)
    }
    // The binary digits of the number of leaves, highest first, each a full tree; folded from the end.
    let leaves: Vec<f64> = numbers.chunks(128).map(leaf).collect();
    let mut parts = Vec::new();
    let mut rest = &leaves[..];
    while !rest.is_empty() {
        let take = 1 << rest.len().ilog2();
        parts.push(tree(&rest[..take]));
        rest = &rest[take..];
    }
    let Some(last) = parts.pop() else { return 0.0 };
    parts.into_iter().rev().fold(last, |sum, left| left + sum)
}

fn sums_have_the_documented_order(comm: &dyn Communicator) -> Outcome {
    let value = |index: i64| {
        let mut seed = index as u64;
        draw(&mut seed);
        (draw(&mut seed) as f64 - 1e9) * 1e-3
    };
    for shape in [&[3][..], &[9000], &[61, 67], &[130, 129]] {
        for distribution in zoo(shape, comm.size()) {
            let a = numbered(&distribution, comm)?.map(|&x| value(x));
            let sum = a.sum()?;
            let of_rank = |rank: usize| {
                let owned: Vec<f64> = cells(&distribution, rank)
                    .into_iter()
                    .filter(|cell| cell.1)
                    .map(|cell| value(flat(shape, &cell.0)))
                    .collect();
                documented(&owned)
            };
            let wanted = (1..comm.size()).fold(of_rank(0), |sum, rank| sum + of_rank(rank));
            same(sum.to_bits(), wanted.to_bits(), "bits of the sum")?;
            same(a.sum()?.to_bits(), sum.to_bits(), "bits of the second run")?;
        }
    }
    Ok(())
}

fn nan_propagates(comm: &dyn Communicator) -> Outcome {
    for at in 0..17 {
        let blocks = plain::distribution(&[17], &[Kind::Block], 1, comm.size());
        let value = |index: &[i64]| {
            if index[0] == at {
                f64::NAN
            } else {
                index[0] as f64
            }
        };
        let a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, value)?;
        ensure(
            a.sum()?.is_nan() && a.mean()?.is_nan() && a.min()?.is_nan() && a.max()?.is_nan(),
            || format!("NaN at {at} is lost"),
        )?;
        let b = a.map(|&x| f16::from_f64(x));
        ensure(
            b.min()?.is_nan() && b.max()?.is_nan() && b.sum()?.is_nan(),
            || format!("half NaN at {at} is lost"),
        )?;
    }
    Ok(())
}

fn types_have_their_sums(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[300], &[Kind::Cyclic(7)], 0, comm.size());
    let a = numbered(&d, comm)?;
    let even = a.map(|&x| x % 2 == 0);
    same(even.sum()?, 150_u64, "bool counts in u64")?;
    same(even.mean()?, 0.5, "mean of bool")?;
    same((even.min()?, even.max()?), (false, true), "bool")?;
    same(a.map(|_| i8::MAX).sum()?, 38_100_i64, "i8 sums in i64")?;
    same(a.map(|_| u8::MAX).sum()?, 76_500_u64, "u8 sums in u64")?;
    same(a.map(|_| i16::MIN).mean()?, -32_768.0, "mean of i16")?;
    same(
        a.map(|_| u64::MAX).sum()?,
        u64::MAX.wrapping_mul(300),
        "u64 wraps",
    )?;
    same(
        a.map(|_| i64::MAX).mean()?,
        i64::MAX as f64,
        "a mean does not wrap",
    )?;
    same(a.map(|&x| x as f32).sum()?, 44_850_f32, "f32")?;
    same(
        a.map(|_| f16::from_f32(0.25)).sum()?,
        f16::from_f32(75.0),
        "f16",
    )?;
    same(
        a.map(|_| f16::from_f32(3.0)).mean()?,
        f16::from_f32(3.0),
        "mean of f16",
    )?;
    same(
        a.map(|_| bf16::from_f32(2.0)).sum()?,
        bf16::from_f32(600.0),
        "bf16",
    )?;
    same(
        a.map(|&x| Complex64::new(x as f64, 1.0)).sum()?,
        Complex64::new(44_850.0, 300.0),
        "complex",
    )?;
    same(
        a.map(|_| Complex32::new(1.0, -2.0)).mean()?,
        Complex32::new(1.0, -2.0),
        "mean of complex",
    )
}

fn empty_arrays_have_no_extremes(comm: &dyn Communicator) -> Outcome {
    for shape in [&[0][..], &[0, 5], &[3, 0, 2]] {
        let d = Distribution::over(comm.size())
            .shape(shape)
            .block(0)
            .build()?;
        let a = LocalArray::<f64, IxDyn, _>::zeros(&d, comm)?;
        same(a.sum()?, 0.0, "the sum of nothing")?;
        ensure(a.mean()?.is_nan(), || "the mean of nothing".into())?;
        same(
            a.min().err(),
            Some(ArrayError::Empty {
                operation: "min",
                shape: shape.to_vec(),
            }),
            "min",
        )?;
    }
    Ok(())
}

fn repeated_indices_count_once(comm: &dyn Communicator) -> Outcome {
    // every rank of the axis holds 0 and 1, and its own share besides
    let ranks = comm.size() as i64;
    let lists: Vec<Vec<i64>> = (0..ranks).map(|r| vec![1, 2 + r, 0]).collect();
    let d = Distribution::over(comm.size())
        .shape([2 + ranks as u64, 3])
        .unstructured(0, lists)
        .build()?;
    let a = numbered(&d, comm)?;
    let n = 3 * (2 + ranks);
    same(a.sum()?, n * (n - 1) / 2, "sum")?;
    same(a.mean()?, (n - 1) as f64 / 2.0, "mean")?;
    same((a.min()?, a.max()?), (0, n - 1), "extremes")?;
    // two such axes, of a padded array in another memory order, beside one that is whole
    let grid = plain::grid(
        &[Kind::List(0), Kind::Block, Kind::List(0), Kind::Whole],
        comm.size(),
    );
    let list = |r: i64| BTreeSet::from([3, r % 3, 4, 5 - r % 2]).into_iter().rev();
    let lists = |axis: usize| -> Vec<Vec<i64>> {
        (0..grid[axis] as i64).map(|r| list(r).collect()).collect()
    };
    let d = Distribution::over(comm.size())
        .shape([6, 8, 6, 2])
        .grid(grid.clone());
    let d = d
        .unstructured(0, lists(0))
        .block(1)
        .padding_of(1, 1, 1)
        .unstructured(2, lists(2));
    let d = d.build()?;
    let held = |axis| lists(axis).concat().into_iter().collect::<BTreeSet<i64>>();
    let mut all = Vec::new();
    for i in held(0) {
        for j in 0..8 {
            for &k in &held(2) {
                all.extend((0..2).map(|l| flat(&[6, 8, 6, 2], &[i, j, k, l])));
            }
        }
    }
    let reversed = numbered(&d, comm)?.into_local().reversed_axes();
    let mut fortran = ndarray::Array::zeros(reversed.raw_dim());
    fortran.assign(&reversed);
    let b = LocalArray::from_array(fortran.reversed_axes(), &d, comm)?;
    same(b.sum()?, all.iter().sum::<i64>(), "sum of four dimensions")?;
    same(
        b.mean()?,
        b.sum()? as f64 / all.len() as f64,
        "mean of four dimensions",
    )?;
    same(
        b.min().ok(),
        all.iter().min().copied(),
        "min of four dimensions",
    )
}
