//! Element-wise operations, reductions, products and sorting, against plain loops and kernels over the same local bytes.
//!
//! `ARRAY_N` (8192): rows and columns; `DOT_N` (2048): of the matrices; `SORT_N` (10⁸): elements to sort.
//! `ARRAY_PARTS` (`reduce element dot sort`): what is measured; `ARRAY_RANKS` (`1 2 4`): on how many threads.
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
    parts: String,
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
        bench.samples = 10;
        for part in self.parts.split_whitespace() {
            match part {
                "reduce" => reduce::run(bench, self.n),
                "element" => element::run(bench, self.n),
                "dot" => product::run(bench, self.dot),
                "sort" => sort::run(bench, self.sort),
                other => panic!("no part {other}: reduce, element, dot, sort"),
            }
        }
    }
}

fn main() {
    let text =
        |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let number = |name: &str, otherwise| text(name, "").parse().unwrap_or(otherwise);
    let job = Arrays {
        parts: text("ARRAY_PARTS", "reduce element dot sort"),
        n: number("ARRAY_N", 8192),
        dot: number("DOT_N", 2048),
        sort: number("SORT_N", 100_000_000),
    };
    let ranks = text("ARRAY_RANKS", "1 2 4");
    let ranks = ranks.split_whitespace().map(|n| n.parse().expect("ranks"));
    ranks::main(&job, &ranks.collect::<Vec<usize>>());
}
