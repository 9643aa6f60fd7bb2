//! Redistribution of 4096 × 4096 `f64` with the plan reused, against `memcpy` of the same bytes on the same ranks.
#![allow(missing_docs, unreachable_pub, reason = "a benchmark")]

mod ranks;

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{LocalArray, Redistributor, SharedArray};
use ndarray::Ix2;
use ranks::{Bench, Job, Measure};

const N: u64 = 4096;
const BYTES: u64 = N * N * 8;

struct Redist;

#[expect(clippy::cast_precision_loss, reason = "flat indices below 2^53")]
fn value(index: &[i64]) -> f64 {
    (index[0] * N.cast_signed() + index[1]) as f64
}

impl Job for Redist {
    fn run<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        let ranks = bench.comm.size();
        let grid = if ranks > 2 && ranks.is_multiple_of(2) {
            vec![2, ranks / 2]
        } else {
            vec![1, ranks]
        };
        let over = || Distribution::over(ranks).shape([N, N]);
        let built = |builder: dist_maps::DistributionBuilder| {
            builder.build().expect("a valid distribution")
        };
        let rows = built(over().block(0));
        let columns = built(over().block(1));
        let blocks = built(over().block(0).block(1).grid(grid.clone()));
        let cyclic = built(over().block_cyclic(0, 64).block_cyclic(1, 64).grid(grid));
        case(bench, "redist/identity/4096", &rows, &rows);
        case(bench, "redist/rows-to-columns/4096", &rows, &columns);
        case(bench, "redist/block-to-cyclic64/4096", &blocks, &cyclic);
    }
}

fn case<C: Communicator>(
    bench: &mut Bench<'_, C>,
    group: &str,
    from: &Distribution,
    to: &Distribution,
) {
    let comm = bench.comm;
    let plain = LocalArray::<f64, Ix2, _>::from_fn(from, comm, value).expect("memory");
    let wanted = LocalArray::<f64, Ix2, _>::from_fn(to, comm, value).expect("memory");
    let mut change = Redistributor::new(from, to, comm).expect("a plan");

    // In memory of the same kind.
    let mut copy = LocalArray::<f64, Ix2, _>::zeros(from, comm).expect("memory");
    let source = plain.local();
    let limit = source.as_slice().expect("C order");
    bench.run(
        &Measure {
            group,
            function: "memcpy",
            bytes: BYTES,
        },
        || {
            let mut copy = copy.local_mut();
            let copy = copy.as_slice_mut().expect("C order");
            copy.copy_from_slice(std::hint::black_box(limit));
        },
    );
    drop(copy);

    let mut src = SharedArray::<f64, Ix2, _>::zeros(from, comm).expect("memory");
    let mut dst = SharedArray::<f64, Ix2, _>::zeros(to, comm).expect("memory");
    src.view_mut()
        .expect("aligned")
        .local_mut()
        .assign(&plain.local());
    change
        .execute(
            &src.view().expect("aligned"),
            &mut dst.view_mut().expect("aligned"),
        )
        .expect("moved");
    assert_eq!(dst.view().expect("aligned").local(), wanted.local());
    bench.run(
        &Measure {
            group,
            function: "ours",
            bytes: BYTES,
        },
        || {
            let (src, mut dst) = (
                src.view().expect("aligned"),
                dst.view_mut().expect("aligned"),
            );
            change.execute(&src, &mut dst).expect("moved");
        },
    );
    drop((src, dst));

    // Between MPI ranks ordinary memory goes by messages.
    if bench.is_mpi() {
        let mut moved = LocalArray::<f64, Ix2, _>::zeros(to, comm).expect("memory");
        change.execute(&plain, &mut moved).expect("moved");
        assert_eq!(moved.local(), wanted.local());
        bench.run(
            &Measure {
                group,
                function: "ours-by-messages",
                bytes: BYTES,
            },
            || {
                change.execute(&plain, &mut moved).expect("moved");
            },
        );
    }
}

fn main() {
    ranks::main(&Redist, &[2, 4]);
}
