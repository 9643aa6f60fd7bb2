//! Element-wise operations, reductions, products and sorting, against plain loops and kernels over the same local bytes.
//!
//! `ARRAY_N` (8192): rows and columns; `DOT_N` (2048): of the matrices; `SORT_N` (10⁸): elements to sort.
#![allow(missing_docs, unreachable_pub, reason = "a benchmark")]

mod element;
mod product;
#[path = "../ranks/mod.rs"]
mod ranks;
mod reduce;
mod sort;

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::LocalArray;
use ndarray::Ix2;
use ranks::{Bench, Job, Measure};

struct Arrays {
    n: u64,
    dot: u64,
    sort: u64,
}

/// An N × N array in blocks of rows.
type Rows<'a, C> = LocalArray<f64, Ix2, &'a C>;

/// Halves, so that sums of a row or a column are exact.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn value(index: &[i64]) -> f64 {
    ((index[0] * 7 + index[1] * 3) % 17) as f64 / 2.0
}

fn rows<C: Communicator>(n: u64, comm: &C) -> Rows<'_, C> {
    let rows = Distribution::over(comm.size()).shape([n, n]).block(0);
    let rows = rows.build().expect("a valid distribution");
    LocalArray::from_fn(&rows, comm, value).expect("memory")
}

/// A limit and what stands beside it, measured one after the other.
fn pair<C: Communicator>(
    bench: &mut Bench<'_, C>,
    (group, bytes): (&str, u64),
    limit: (&str, &mut dyn FnMut()),
    ours: &mut dyn FnMut(),
) {
    let measure = |function| Measure {
        group,
        function,
        bytes,
    };
    bench.run(&measure(limit.0), limit.1);
    bench.run(&measure("ours"), ours);
}

impl Job for Arrays {
    fn run<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        reduce::run(bench, self.n);
        element::run(bench, self.n);
        product::run(bench, self.dot);
        bench.samples = 10;
        sort::run(bench, self.sort);
    }
}

fn main() {
    let number = |name: &str, otherwise| {
        let given = std::env::var(name).ok().and_then(|n| n.parse().ok());
        given.unwrap_or(otherwise)
    };
    let job = Arrays {
        n: number("ARRAY_N", 8192),
        dot: number("DOT_N", 2048),
        sort: number("SORT_N", 100_000_000),
    };
    ranks::main(&job, &[1, 2, 4]);
}
