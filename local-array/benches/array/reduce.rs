//! Sums, variances and extremes over any axis; the limit is one read of the same bytes.

use std::hint::black_box;

use dist_comm::Communicator;
use local_array::Axes;

use crate::ranks::Bench;

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

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, n: u64) {
    let a = crate::rows(n, bench.comm);
    let local = a.local();
    let elements = local.as_slice().expect("C order");
    assert_eq!(
        a.over(Axes::ALL).sum().expect("sum").sum().ok(),
        a.sum().ok()
    );
    assert_eq!(a.reproducible().sum().ok(), a.sum().ok());
    let mut measure = |what: &str, ours: &mut dyn FnMut()| {
        let group = format!("array/{what}/{n}");
        let mut limit = || _ = black_box(plain_sum(black_box(elements)));
        let limit: (&str, &mut dyn FnMut()) = ("limit: plain sum", &mut limit);
        crate::pair(bench, (&group, n * n * 8), limit, ours);
    };
    measure("sum-all", &mut || _ = black_box(a.sum().expect("sum")));
    measure("sum-axis0", &mut || {
        drop(black_box(a.over(0).sum().expect("sum")));
    });
    measure("sum-axis1", &mut || {
        drop(black_box(a.over(1).sum().expect("sum")));
    });
    measure("max-all", &mut || _ = black_box(a.max().expect("max")));
    measure("max-axis0", &mut || {
        drop(black_box(a.over(0).max().expect("max")));
    });
    measure("argmax-all", &mut || {
        _ = black_box(a.argmax().expect("argmax"));
    });
    measure("var-all", &mut || _ = black_box(a.var(0.0).expect("var")));
    measure("var-axis0", &mut || {
        drop(black_box(a.over(0).var(0.0).expect("var")));
    });
    measure("var-axis1", &mut || {
        drop(black_box(a.over(1).var(0.0).expect("var")));
    });

    // The limit of the reproducible sum is ours that is not.
    let limit = &mut || _ = black_box(a.sum().expect("sum"));
    let limit: (&str, &mut dyn FnMut()) = ("limit: sum", limit);
    let group = format!("array/reproducible-sum/{n}");
    crate::pair(bench, (&group, n * n * 8), limit, &mut || {
        _ = black_box(a.reproducible().sum().expect("sum"));
    });
}
