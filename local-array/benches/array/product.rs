//! The product of two matrices; the limit is the kernel on each rank's share of the work, without any movement.

use std::hint::black_box;

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{LocalArray, dot};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, Ix2};

use crate::ranks::Bench;

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, n: u64) {
    let comm = bench.comm;
    let ranks = comm.size();
    let grid = if ranks.is_multiple_of(2) {
        [2, ranks / 2]
    } else {
        [ranks, 1]
    };
    let blocks = Distribution::over(ranks)
        .shape([n, n])
        .block(0)
        .block(1)
        .grid(grid);
    let blocks = blocks.build().expect("a valid distribution");
    let matrix = || LocalArray::<f64, Ix2, _>::from_fn(&blocks, comm, crate::value);
    let (a, b) = (matrix().expect("memory"), matrix().expect("memory"));
    let side = usize::try_from(n).expect("a size in memory");
    let (height, width) = a.local().dim();
    let left = Array2::from_elem((height, side), 1.5);
    let right = Array2::from_elem((side, width), 0.5);
    let mut product = Array2::zeros((height, width));
    // Numbers, so that criterion's elements a second are multiplications with an addition.
    let group = format!("array/dot/{n}");
    let limit = &mut || general_mat_mul(1.0, &left, &right, 0.0, &mut product);
    let limit: (&str, &mut dyn FnMut()) = ("limit: kernel", limit);
    crate::pair(bench, (&group, 2 * n * n * n), limit, &mut || {
        drop(black_box(dot(&a, &b).expect("memory")));
    });
}
