//! Reductions and element-wise addition of N × N `f64` (`ARRAY_N`, 8192), against plain loops over the same local bytes.
#![allow(missing_docs, unreachable_pub, reason = "a benchmark")]

mod ranks;

use std::hint::black_box;

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{Axes, LocalArray, ufunc};
use ndarray::Ix2;
use ranks::{Bench, Job, Measure};

struct Arrays {
    n: u64,
}

/// Halves, so that sums of a row or a column are exact.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn value(index: &[i64]) -> f64 {
    ((index[0] * 7 + index[1] * 3) % 17) as f64 / 2.0
}

/// The sum as a loop with eight partial sums: memory speed.
fn plain_sum(elements: &[f64]) -> f64 {
    let mut lanes = [0.0; 8];
    let rows = elements.chunks_exact(8);
    let tail: f64 = rows.remainder().iter().sum();
    for row in rows {
        for (lane, x) in lanes.iter_mut().zip(row) {
            *lane += x;
        }
    }
    lanes.iter().sum::<f64>() + tail
}

impl Job for Arrays {
    fn run<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        let (n, comm) = (self.n, bench.comm);
        let rows = Distribution::over(comm.size())
            .shape([n, n])
            .block(0)
            .build();
        let rows = rows.expect("a valid distribution");
        let a = LocalArray::<f64, Ix2, _>::from_fn(&rows, comm, value).expect("memory");
        let local = a.local();
        let elements = local.as_slice().expect("C order");
        let bytes = n * n * 8;
        let name = |what: &str| format!("array/{what}/{n}");

        // What every reduction must come near: each rank reads what it has.
        let all = name("sum-all");
        assert_eq!(
            a.over(Axes::ALL).sum().expect("sum").sum().ok(),
            a.sum().ok()
        );
        let mut measure = |group: &str, function, work: &mut dyn FnMut()| {
            bench.run(
                &Measure {
                    group,
                    function,
                    bytes,
                },
                work,
            );
        };
        for (group, work) in [
            (
                all,
                &mut (|| _ = black_box(a.sum().expect("sum"))) as &mut dyn FnMut(),
            ),
            (name("sum-axis0"), &mut || {
                drop(black_box(a.over(0).sum().expect("sum")));
            }),
            (name("sum-axis1"), &mut || {
                drop(black_box(a.over(1).sum().expect("sum")));
            }),
            (name("max-axis0"), &mut || {
                drop(black_box(a.over(0).max().expect("max")));
            }),
            (name("var-all"), &mut || {
                _ = black_box(a.var(0.0).expect("var"));
            }),
            (name("var-axis0"), &mut || {
                drop(black_box(a.over(0).var(0.0).expect("var")));
            }),
            (name("var-axis1"), &mut || {
                drop(black_box(a.over(1).var(0.0).expect("var")));
            }),
        ] {
            measure(&group, "plain-sum", &mut || {
                _ = black_box(plain_sum(black_box(elements)));
            });
            measure(&group, "ours", work);
        }

        // Two arrays to a third.
        let b = LocalArray::<f64, Ix2, _>::from_fn(&rows, comm, value).expect("memory");
        let mut out = LocalArray::<f64, Ix2, _>::zeros(&rows, comm).expect("memory");
        let theirs = b.local();
        let others = theirs.as_slice().expect("C order");
        let add = name("add");
        let bytes = 3 * bytes;
        let mut sum = LocalArray::<f64, Ix2, _>::zeros(&rows, comm).expect("memory");
        let plain = Measure {
            group: &add,
            function: "plain-loop",
            bytes,
        };
        bench.run(&plain, || {
            let mut out = out.local_mut();
            let out = out.as_slice_mut().expect("C order");
            for ((out, a), b) in out
                .iter_mut()
                .zip(black_box(elements))
                .zip(black_box(others))
            {
                *out = a + b;
            }
        });
        let ours = Measure {
            group: &add,
            function: "ours",
            bytes,
        };
        bench.run(&ours, || {
            a.binary_into(ufunc::Add, &b, &mut sum).expect("alike");
        });
        assert_eq!(sum.local(), out.local());
    }
}

fn main() {
    let n = std::env::var("ARRAY_N").ok().and_then(|n| n.parse().ok());
    ranks::main(
        &Arrays {
            n: n.unwrap_or(8192),
        },
        &[1, 2, 4],
    );
}
