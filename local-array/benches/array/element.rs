//! Element-wise operations; the limit is a plain loop over the same slices, into an array that is there or a fresh one.

use std::hint::black_box;

use dist_comm::Communicator;
use large_pages::prefer_large_pages;
use local_array::ufunc;

use crate::ranks::Bench;

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, n: u64) {
    let (a, b) = (crate::rows(n, bench.comm), crate::rows(n, bench.comm));
    let (mut ours, mut plain) = (crate::rows(n, bench.comm), crate::rows(n, bench.comm));
    let (local_a, local_b) = (a.local(), b.local());
    let x = local_a.as_slice().expect("C order");
    let y = local_b.as_slice().expect("C order");
    let bytes = n * n * 8;
    let name = |what: &str| format!("array/{what}/{n}");

    let mut local = plain.local_mut();
    let out = local.as_slice_mut().expect("C order");
    let limit = &mut || {
        for ((out, x), y) in out.iter_mut().zip(black_box(x)).zip(black_box(y)) {
            *out = x + y;
        }
    };
    let limit: (&str, &mut dyn FnMut()) = ("limit: plain loop", limit);
    crate::pair(bench, (&name("add"), 3 * bytes), limit, &mut || {
        a.binary_into(ufunc::Add, &b, &mut ours).expect("alike");
    });
    assert_eq!(ours.local(), local);

    let out = local.as_slice_mut().expect("C order");
    let limit = &mut || {
        for (out, x) in out.iter_mut().zip(black_box(x)) {
            *out = x.sqrt();
        }
    };
    let limit: (&str, &mut dyn FnMut()) = ("limit: plain loop", limit);
    crate::pair(bench, (&name("sqrt"), 2 * bytes), limit, &mut || {
        a.unary_into(ufunc::Sqrt, &mut ours).expect("alike");
    });
    assert_eq!(ours.local(), local);

    // By 1, so that the numbers stay what they are however often it is done.
    let (mut factor, mut same) = (black_box(1.0), black_box(1.0));
    let out = local.as_slice_mut().expect("C order");
    let limit = &mut || {
        let factor = *black_box(&mut factor);
        for out in &mut *out {
            *out *= factor;
        }
    };
    let limit: (&str, &mut dyn FnMut()) = ("limit: plain loop", limit);
    crate::pair(bench, (&name("scale"), 2 * bytes), limit, &mut || {
        ours *= *black_box(&mut same);
    });
    assert_eq!(ours.local(), local);

    let mut fresh = |what: &str, moved: u64, limit: &mut dyn FnMut(), ours: &mut dyn FnMut()| {
        let limit: (&str, &mut dyn FnMut()) = ("limit: plain loop", limit);
        crate::pair(bench, (&name(what), moved * bytes), limit, ours);
    };
    fresh(
        "add-fresh",
        3,
        &mut || {
            let pairs = black_box(x).iter().zip(black_box(y));
            collected(pairs.map(|(x, y)| x + y));
        },
        &mut || drop(black_box((&a + &b).expect("alike"))),
    );
    fresh(
        "sqrt-fresh",
        2,
        &mut || collected(black_box(x).iter().map(|x| x.sqrt())),
        &mut || drop(black_box(a.sqrt())),
    );
    fresh(
        "scale-fresh",
        2,
        &mut || {
            let factor = black_box(2.0);
            collected(black_box(x).iter().map(|x| x * factor));
        },
        &mut || drop(black_box(&a * black_box(2.0))),
    );
}

/// Numbers written to fresh memory, in large pages, as an array's is.
fn collected(numbers: impl ExactSizeIterator<Item = f64>) {
    let mut fresh = Vec::with_capacity(numbers.len());
    prefer_large_pages(fresh.spare_capacity_mut());
    fresh.extend(numbers);
    drop(black_box(fresh));
}
