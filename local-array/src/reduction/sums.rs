//! Sums and products.

use std::marker::PhantomData;

use multiversion::multiversion;

use super::{Place, Reduction};
use crate::{Accumulate, Accumulator, Cast};

/// Partial results inside a leaf, so that the operations are independent of each other.
pub(super) const LANES: usize = 8;
/// Rows taken together, so that the states are loaded and stored once for all of them.
const GROUP: usize = 4;

/// The sum, kept as an `A`.
pub(crate) struct Sum<A>(PhantomData<A>);

/// The product, kept as an `A`.
pub(crate) struct Product<A>(PhantomData<A>);

impl<A> Sum<A> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<A> Product<A> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }
}

macro_rules! fold {
    ($($name:ident: $neutral:ident, $join:ident;)*) => {$(
        impl<T: Cast<A>, A: Accumulate> Reduction<T> for $name<A> {
            type State = A::Acc;
            const BLOCK: usize = 128;

            fn nothing(&self) -> Option<A::Acc> {
                Some(A::Acc::$neutral)
            }

            #[inline]
            fn of_run(&self, run: &[T], _: Place<'_>) -> A::Acc {
                lanes(run, |x| x.cast().widen(), A::Acc::$neutral, A::Acc::$join)
            }

            fn of_rows(&self, rows: &[&[T]], _: &[i64], states: &mut Vec<A::Acc>) {
                columns(rows, states, |x| x.cast().widen(), A::Acc::$join);
            }

            #[inline]
            fn merge(&self, left: &mut A::Acc, right: &A::Acc) {
                *left = left.$join(*right);
            }
        }
    )*};
}

fold! {
    Sum: ZERO, add;
    Product: ONE, mul;
}

/// The sums of the first and of the second of pairs, kept as an `A`.
pub(crate) struct PairSums<A>(PhantomData<A>);

impl<A: Accumulate> PairSums<A> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }

    /// Both sums.
    pub(crate) fn pair(state: &[A::Acc; 2]) -> (A, A) {
        let [first, second] = state.map(A::narrow);
        (first, second)
    }

    fn widen([a, b]: [A; 2]) -> [A::Acc; 2] {
        [a.widen(), b.widen()]
    }

    fn add([a, b]: [A::Acc; 2], [c, d]: [A::Acc; 2]) -> [A::Acc; 2] {
        [a.add(c), b.add(d)]
    }
}

impl<A: Accumulate> Reduction<[A; 2]> for PairSums<A> {
    type State = [A::Acc; 2];
    const BLOCK: usize = 128;

    fn nothing(&self) -> Option<Self::State> {
        Some([A::Acc::ZERO; 2])
    }

    fn of_run(&self, run: &[[A; 2]], _: Place<'_>) -> Self::State {
        lanes(run, Self::widen, [A::Acc::ZERO; 2], Self::add)
    }

    fn of_rows(&self, rows: &[&[[A; 2]]], _: &[i64], states: &mut Vec<Self::State>) {
        columns(rows, states, Self::widen, Self::add);
    }

    fn merge(&self, left: &mut Self::State, right: &Self::State) {
        *left = Self::add(*left, *right);
    }
}

/// A run: [`LANES`] partial results over rows of as many elements, joined two by two; then what is left, one by one.
#[inline]
pub(super) fn lanes<T: Copy, S: Copy>(
    run: &[T],
    convert: impl Fn(T) -> S,
    neutral: S,
    join: impl Fn(S, S) -> S + Copy,
) -> S {
    let rows = run.chunks_exact(LANES);
    let tail = rows.remainder().iter().map(|&x| convert(x));
    let Some(head) = lanes_of(rows, &convert, join) else {
        return tail.reduce(join).unwrap_or(neutral);
    };
    tail.fold(head, join)
}

#[inline]
fn lanes_of<T: Copy, S: Copy>(
    mut rows: std::slice::ChunksExact<'_, T>,
    convert: impl Fn(T) -> S,
    join: impl Fn(S, S) -> S,
) -> Option<S> {
    let first: &[T; LANES] = rows.next()?.try_into().ok()?;
    let mut lanes = first.map(&convert);
    for row in rows {
        for (lane, &x) in lanes.iter_mut().zip(row) {
            *lane = join(*lane, convert(x));
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let (low, high) = (join(join(a, b), join(c, d)), join(join(e, f), join(g, h)));
    Some(join(low, high))
}

/// Leaves of a run, joined two by two.
pub(crate) fn pairwise<S: Copy>(run: &[S], neutral: S, join: impl Fn(S, S) -> S + Copy) -> S {
    const LEAF: usize = 128;
    if run.len() <= LEAF {
        return lanes(run, |x| x, neutral, join);
    }
    let (left, right) = run.split_at(run.len().next_power_of_two() / 2);
    join(
        pairwise(left, neutral, join),
        pairwise(right, neutral, join),
    )
}

/// Rows: [`GROUP`] of them joined two by two, then to the states; then what is left, one by one. In wide registers where the
/// processor has them.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
pub(super) fn columns<T: Copy, S: Copy, F: Fn(T) -> S, J: Fn(S, S) -> S>(
    rows: &[&[T]],
    states: &mut Vec<S>,
    convert: F,
    join: J,
) {
    let width = rows[0].len();
    let groups = rows.chunks_exact(GROUP);
    let tail = groups.remainder();
    let four =
        |[a, b, c, d]: [T; GROUP]| join(join(convert(a), convert(b)), join(convert(c), convert(d)));
    for group in groups {
        let [a, b, c, d]: [&[T]; GROUP] = std::array::from_fn(|i| &group[i][..width]);
        if states.is_empty() {
            states.extend((0..width).map(|j| four([a[j], b[j], c[j], d[j]])));
        } else {
            let states = &mut states[..width];
            for j in 0..width {
                states[j] = join(states[j], four([a[j], b[j], c[j], d[j]]));
            }
        }
    }
    for row in tail {
        if states.is_empty() {
            states.extend(row.iter().map(|&x| convert(x)));
        } else {
            for (state, &x) in states.iter_mut().zip(*row) {
                *state = join(*state, convert(x));
            }
        }
    }
}
