//! Products of matrices by BLAS, compared with sums written out: `cargo rustc -p local-array --features blas --example blas --
//! -l openblas`, then `target/debug/examples/blas`. A program names its BLAS by the crate `blas-src`.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

use dist_comm::{Communicator, ThreadComm};
use dist_maps::Distribution;
use local_array::{ArrayError, LocalArray, MatMul, dot};
use ndarray::Ix2;
use num_complex::{Complex32, Complex64};

/// The product of `m × k` with `k × n`, over all ranks of `comm`, where `number` makes elements of whole numbers: all are exact.
fn product<T: MatMul + PartialEq + std::fmt::Debug>(
    comm: &ThreadComm,
    [m, k, n]: [u64; 3],
    number: impl Fn(i64) -> T,
) -> Result<(), ArrayError> {
    let ranks = comm.size();
    let spread = |shape| Distribution::over(ranks).shape(shape);
    let left = spread([m, k]).block(0).build()?;
    let right = spread([k, n]).cyclic(1).build()?;
    let (a, b) = (|i, j| (i * 3 + j) % 7 - 3, |i, j| (i + 5 * j) % 11 - 5);
    let product = dot(
        &LocalArray::<T, Ix2, _>::from_fn(&left, comm, |g| number(a(g[0], g[1])))?,
        &LocalArray::<T, Ix2, _>::from_fn(&right, comm, |g| number(b(g[0], g[1])))?,
    )?;
    let Some(whole) = product.gather_to(0)? else {
        return Ok(());
    };
    for ((i, j), found) in whole.indexed_iter() {
        let (i, j) = (i as i64, j as i64);
        let wanted = (0..k as i64).map(|l| a(i, l) * b(l, j)).sum();
        assert_eq!(*found, number(wanted), "row {i}, column {j}");
    }
    Ok(())
}

fn main() -> Result<(), dist_comm::RunError<ArrayError>> {
    for ranks in 1..=4 {
        ThreadComm::run(ranks, |comm| {
            for shape in [[1, 1, 1], [13, 7, 5], [64, 33, 40]] {
                product(comm, shape, |x| x as f32)?;
                product(comm, shape, |x| x as f64)?;
                product(comm, shape, |x| Complex32::new(x as f32, 0.0))?;
                product(comm, shape, |x| Complex64::new(x as f64, 0.0))?;
            }
            Ok(())
        })?;
    }
    println!("blas: 48 passed, 0 failed, 0 skipped");
    Ok(())
}
