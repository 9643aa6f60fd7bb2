//! Halo exchange, corners included, of 2048 × 2048 `f64` a rank on a periodic grid, against the same strips copied inside
//! each rank.
#![allow(missing_docs, unreachable_pub, reason = "a benchmark")]

mod ranks;

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{HaloExchanger, LocalArray};
use ndarray::{Ix2, s};
use ranks::{Bench, Job, Measure};

const N: usize = 2048;

struct Halo;

impl Job for Halo {
    fn run<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        for width in [1, 4] {
            case(bench, width);
        }
    }
}

fn case<C: Communicator>(bench: &mut Bench<'_, C>, width: usize) {
    let comm = bench.comm;
    let ranks = comm.size();
    let grid = if ranks > 2 && ranks.is_multiple_of(2) {
        [2, ranks / 2]
    } else {
        [1, ranks]
    };
    // Each rank has N × N cells of its own; the boundary cells at the outer edges stand for the other end.
    let bounds = |p: usize| -> Vec<u64> {
        let inner = (1..p).map(|i| i * N + width);
        [0].into_iter()
            .chain(inner)
            .chain([p * N + 2 * width])
            .map(|bound| bound as u64)
            .collect()
    };
    let shape = grid.map(|p| (p * N + 2 * width) as u64);
    let w = width as u64;
    let distribution = Distribution::over(ranks)
        .shape(shape)
        .block_bounds(0, bounds(grid[0]))
        .block_bounds(1, bounds(grid[1]))
        .padding(w)
        .periodic(0)
        .periodic(1)
        .build()
        .expect("a valid distribution");
    let period = grid.map(|p| ((p * N) as u64).cast_signed());
    #[expect(clippy::cast_precision_loss, reason = "flat indices below 2^53")]
    let value = |index: &[i64]| {
        let at = |axis: usize| (index[axis] - w.cast_signed()).rem_euclid(period[axis]);
        (at(0) * period[1] + at(1)) as f64
    };
    let wanted = LocalArray::<f64, Ix2, _>::from_fn(&distribution, comm, value).expect("memory");
    let (rows, columns) = wanted.local().dim();
    assert_eq!((rows, columns), (N + 2 * width, N + 2 * width));
    let mut array = LocalArray::<f64, Ix2, _>::zeros(&distribution, comm).expect("memory");
    let inner = s![width..rows - width, width..columns - width];
    array.fill(-1.0);
    array
        .local_mut()
        .slice_mut(inner)
        .assign(&wanted.local().slice(inner));
    let mut halo = HaloExchanger::new(&distribution, comm).expect("a plan");
    halo.exchange(&mut array).expect("exchanged");
    assert_eq!(array.local(), wanted.local());

    let group = format!("halo/width-{width}/2048");
    let bytes = (ranks * 8 * 2 * width * (N + N + 2 * width)) as u64;
    let source = wanted.local();
    let mut copy = LocalArray::<f64, Ix2, _>::zeros(&distribution, comm).expect("memory");
    bench.run(
        &Measure {
            group: &group,
            function: "copy",
            bytes,
        },
        || {
            let mut copy = copy.local_mut();
            copy.slice_mut(s![..width, ..])
                .assign(&source.slice(s![width..2 * width, ..]));
            copy.slice_mut(s![rows - width.., ..])
                .assign(&source.slice(s![rows - 2 * width..rows - width, ..]));
            copy.slice_mut(s![.., ..width])
                .assign(&source.slice(s![.., width..2 * width]));
            copy.slice_mut(s![.., columns - width..])
                .assign(&source.slice(s![.., columns - 2 * width..columns - width]));
            std::hint::black_box(&mut copy);
        },
    );
    bench.run(
        &Measure {
            group: &group,
            function: "ours",
            bytes,
        },
        || {
            halo.exchange(&mut array).expect("exchanged");
        },
    );
}

fn main() {
    ranks::main(&Halo, &[4]);
}
