//! Heat spreading on a torus: a periodic stencil on thread ranks, compared at the end with one rank's plain loop.
//!
//! ```text
//! cargo run --release -p local-array --example heat [RANKS] [STEPS]
//! ```

use dist_comm::{Communicator, ThreadComm};
use dist_maps::Distribution;
use local_array::{ArrayError, HaloExchanger, LocalArray};
use ndarray::{Array2, ArrayView2, Ix2};

/// Cells per side. One more at each edge stands for the other end of the torus.
const N: usize = 200;
/// How fast heat spreads, in cells² per step; the scheme is stable up to 1/4.
const K: f64 = 0.2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let ranks: usize = args.next().map_or(Ok(4), |arg| arg.parse())?;
    let steps: usize = args.next().map_or(Ok(200), |arg| arg.parse())?;
    let parts = ThreadComm::run(ranks, |comm| spread(comm, steps))?;
    let (heat, hottest) = parts[0].clone();
    let Some(heat) = heat else {
        return Err("rank 0 has no result".into());
    };
    let plain = spread_plainly(steps);
    let difference = heat
        .iter()
        .zip(&plain)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f64::max);
    println!(
        "{N} x {N} cells, {steps} steps on {ranks} ranks: hottest {hottest:.6}, heat {:.6}",
        heat.sum()
    );
    println!("largest difference from one rank's plain loop: {difference:e}");
    if difference == 0.0 {
        Ok(())
    } else {
        Err("the results differ".into())
    }
}

/// The cells at the end, on rank 0, and the hottest one, on every rank.
fn spread<C: Communicator>(
    comm: &C,
    steps: usize,
) -> Result<(Option<Array2<f64>>, f64), ArrayError> {
    let n = N as u64 + 2;
    let torus = Distribution::over(comm.size())
        .shape([n, n])
        .block(0)
        .block(1)
        .padding(1)
        .periodic(0)
        .periodic(1)
        .build()?;
    let mut halo = HaloExchanger::new(&torus, comm)?;
    let mut heat = LocalArray::<f64, Ix2, _>::from_fn(&torus, comm, |index| {
        start(index[0] - 1, index[1] - 1)
    })?;
    halo.exchange(&mut heat)?;
    for _ in 0..steps {
        heat = heat.map_windows(1, |cells| step(&cells))?;
        halo.exchange(&mut heat)?;
    }
    let hottest = heat.max()?;
    let whole = heat.gather_to(0)?;
    let inner = whole.map(|whole| whole.slice(ndarray::s![1..=N, 1..=N]).to_owned());
    Ok((inner, hottest))
}

/// A hot square off the middle.
fn start(row: i64, column: i64) -> f64 {
    if (20..60).contains(&row) && (150..190).contains(&column) {
        100.0
    } else {
        0.0
    }
}

fn step(cells: &ArrayView2<'_, f64>) -> f64 {
    let around = cells[[0, 1]] + cells[[2, 1]] + cells[[1, 0]] + cells[[1, 2]];
    cells[[1, 1]] + K * (around - 4.0 * cells[[1, 1]])
}

fn spread_plainly(steps: usize) -> Array2<f64> {
    let signed = |i: usize| i64::try_from(i).unwrap_or(i64::MAX);
    let mut heat =
        Array2::from_shape_fn((N, N), |(row, column)| start(signed(row), signed(column)));
    for _ in 0..steps {
        heat = Array2::from_shape_fn((N, N), |(row, column)| {
            let (up, down) = ((row + N - 1) % N, (row + 1) % N);
            let (left, right) = ((column + N - 1) % N, (column + 1) % N);
            let around =
                heat[[up, column]] + heat[[down, column]] + heat[[row, left]] + heat[[row, right]];
            heat[[row, column]] + K * (around - 4.0 * heat[[row, column]])
        });
    }
    heat
}
