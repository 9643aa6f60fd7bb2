//! Element-wise operations; the limit is a plain loop over the same slices.

use std::hint::black_box;

use dist_comm::Communicator;
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
}
