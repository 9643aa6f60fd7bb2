//! Count, mean and sum of squared deviations, in one stable sweep.
//!
//! In a leaf the differences from a number `x` are added up, and their squares, where `x` is the mean of its first `k`
//! elements. With the mean `m` and the sum of squared deviations `S` of all `n` these squares add up to `S + n (x - m)²`, which is
//! at most `(1 + n / k) S`: so taking `n (x - m)²` away again costs few digits, whatever the elements. Leaves are merged by
//! the formulas of Chan, Golub and `LeVeque` (1979).

use std::marker::PhantomData;

use multiversion::multiversion;

use super::{Place, Reduction, sums};
use crate::summable::Center;
use crate::{Arithmetic, Cast, Floating};

/// Elements of a run whose mean the others are compared with.
const FEW: usize = 32;

/// The moments of elements cast to `A`.
pub(crate) struct Moments<A>(PhantomData<A>);

impl<A: Floating> Moments<A> {
    pub(crate) const fn new() -> Self {
        Self(PhantomData)
    }

    /// The variance, of `ddof` degrees of freedom less.
    pub(crate) fn variance(state: &<A::Center as Center>::State, ddof: f64) -> f64 {
        let (count, _, squares) = A::Center::parts(state);
        squares / (count - ddof).max(0.0)
    }
}

impl<T: Cast<A>, A: Floating> Reduction<T> for Moments<A> {
    type State = <A::Center as Center>::State;
    const BLOCK: usize = 1024;

    fn nothing(&self) -> Option<Self::State> {
        Some(A::Center::NOTHING.state(0.0, 0.0))
    }

    fn of_run(&self, run: &[T], _: Place<'_>) -> Self::State {
        of_run::<T, A>(run)
    }

    fn of_rows(&self, rows: &[&[T]], _: &[i64], states: &mut Vec<Self::State>) {
        of_rows::<T, A>(rows, states);
    }

    #[inline]
    fn merge(&self, left: &mut Self::State, right: &Self::State) {
        let (n, a, p) = A::Center::parts(left);
        let (m, b, q) = A::Center::parts(right);
        let count = n + m;
        if n == 0.0 {
            *left = *right;
        } else if m > 0.0 {
            let delta = b.minus(a);
            let mean = a.plus(delta.scaled(m / count));
            let squares = p + q + delta.square() * (n * (m / count));
            *left = mean.state(count, squares);
        }
    }
}

#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
#[expect(clippy::cast_precision_loss, reason = "a leaf is short")]
fn of_run<T: Cast<A>, A: Floating>(run: &[T]) -> <A::Center as Center>::State {
    const LANES: usize = sums::LANES;
    let few = &run[..run.len().min(FEW)];
    let share = (few.len() as f64).recip();
    // Each scaled before it is added, so that the sum is in range where they are.
    let scaled = |x: T| x.cast().center().scaled(share);
    let shift = sums::lanes(few, scaled, A::Center::NOTHING, A::Center::plus);
    let (mut sums, mut squares) = ([A::Center::NOTHING; LANES], [0.0; LANES]);
    let mut take = |lane: usize, x: T| {
        let away = x.cast().center().minus(shift);
        sums[lane] = sums[lane].plus(away);
        squares[lane] += away.square();
    };
    let rows = run.chunks_exact(LANES);
    let tail = rows.remainder();
    for row in rows {
        for (lane, &x) in row.iter().enumerate() {
            take(lane, x);
        }
    }
    for (lane, &x) in tail.iter().enumerate() {
        take(lane, x);
    }
    let (sum, squares) = joined(&sums, &squares);
    state(run.len(), shift, sum, squares)
}

/// The lanes of both added up. Not inlined: where it is, the compiler takes a sum and its square together as a vector, and so
/// one element at a time, in twice the time.
#[inline(never)]
fn joined<C: Center>(sums: &[C; sums::LANES], squares: &[f64; sums::LANES]) -> (C, f64) {
    (
        sums::lanes(sums, |x| x, C::NOTHING, C::plus),
        sums::lanes(squares, |x| x, 0.0, |a, b| a + b),
    )
}

/// The state of a leaf from what its elements differ by from `shift`: their sum, and that of their squares.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "a leaf is short")]
fn state<C: Center>(count: usize, shift: C, sum: C, squares: f64) -> C::State {
    let count = count as f64;
    let mean = sum.scaled(count.recip());
    let squares = squares - mean.square() * count;
    // Not `max`, which would make 0 of NaN.
    let squares = if squares < 0.0 { 0.0 } else { squares };
    shift.plus(mean).state(count, squares)
}

#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
#[expect(clippy::cast_precision_loss, reason = "a leaf is short")]
fn of_rows<T: Cast<A>, A: Floating>(rows: &[&[T]], states: &mut Vec<<A::Center as Center>::State>) {
    let width = rows[0].len();
    let few = rows.len().min(4);
    let share = (few as f64).recip();
    let (mut sums, mut squares) = (vec![A::Center::NOTHING; width], vec![0.0; width]);
    let mut shifts = sums.clone();
    for row in &rows[..few] {
        for (shift, x) in shifts.iter_mut().zip(*row) {
            *shift = shift.plus(x.cast().center().scaled(share));
        }
    }
    let groups = rows.chunks_exact(4);
    let tail = groups.remainder();
    for group in groups {
        let [a, b, c, d]: [&[T]; 4] = std::array::from_fn(|i| &group[i][..width]);
        let (sums, squares) = (&mut sums[..width], &mut squares[..width]);
        for j in 0..width {
            let away = |x: T| x.cast().center().minus(shifts[j]);
            let [a, b, c, d] = [a[j], b[j], c[j], d[j]].map(away);
            sums[j] = sums[j].plus((a.plus(b)).plus(c.plus(d)));
            squares[j] += (a.square() + b.square()) + (c.square() + d.square());
        }
    }
    for row in tail {
        let so_far = sums.iter_mut().zip(&mut squares).zip(&shifts);
        for (((sum, square), &shift), x) in so_far.zip(*row) {
            let away = x.cast().center().minus(shift);
            *sum = sum.plus(away);
            *square += away.square();
        }
    }
    let known = shifts.into_iter().zip(sums).zip(squares);
    states.extend(known.map(|((shift, sum), squares)| state(rows.len(), shift, sum, squares)));
}

#[cfg(test)]
mod tests {
    use super::super::Block;
    use super::super::local::whole;
    use super::super::places::Places;
    use super::*;

    #[test]
    fn a_far_mean_costs_no_digits() {
        // one sweep of squares would lose all of them
        let numbers: Vec<f64> = (0..100_000).map(|i| 1e9 + f64::from(i % 2)).collect();
        let block = Block::copied(&[100_000], numbers, &[true], vec![Places::Unasked]);
        let state = whole(&block, &Moments::<f64>::new()).unwrap_or_default();
        assert!((Moments::<f64>::variance(&state, 0.0) - 0.25).abs() < 1e-12);
        assert!((state[1] - (1e9 + 0.5)).abs() < 1e-6);
    }

    #[test]
    fn an_outlier_at_the_front_costs_few_digits() {
        let numbers: Vec<f64> = (0..640)
            .map(|i| if i == 0 { 1e9 } else { f64::from(i % 7) })
            .collect();
        let wanted = {
            let mut sum = crate::exact::ExactSum::ZERO;
            sum.add_all(&numbers);
            let mut squares = crate::exact::ExactSum::ZERO;
            squares.add_products(&numbers, &numbers);
            crate::exact::covariance(squares.pair(), sum.pair(), sum.pair(), 640.0, 640.0)
        };
        let close = |state: &[f64; 3]| {
            let found = Moments::<f64>::variance(state, 0.0);
            assert!((found / wanted - 1.0).abs() < 1e-13, "{found} {wanted}");
        };
        let run = Block::copied(&[640], numbers.clone(), &[true], vec![Places::Unasked]);
        close(&whole(&run, &Moments::<f64>::new()).unwrap_or_default());
        let pairs: Vec<f64> = numbers.iter().flat_map(|&x| [x, x]).collect();
        let kept = [true, false];
        let rows = Block::copied(&[640, 2], pairs, &kept, vec![Places::Unasked; 2]);
        let mut states = Vec::new();
        super::super::local::tile(&rows, &Moments::<f64>::new(), 0..2, &mut states);
        states.iter().for_each(close);
        assert_eq!(states.len(), 2);
    }

    #[test]
    fn one_element_that_is_no_number_gives_nan() {
        for x in [f64::NAN, f64::INFINITY] {
            let run = Block::copied(
                &[1, 2],
                vec![x, 1.0],
                &[true, false],
                vec![Places::Unasked; 2],
            );
            let mut states = Vec::new();
            super::super::local::tile(&run, &Moments::<f64>::new(), 0..2, &mut states);
            let found: Vec<f64> = states
                .iter()
                .map(|state| Moments::<f64>::variance(state, 0.0))
                .collect();
            assert!(found[0].is_nan() && found[1] == 0.0);
        }
    }

    #[test]
    fn infinite_means_give_nan() {
        let block = Block::copied(
            &[2],
            vec![f64::INFINITY, 1.0],
            &[true],
            vec![Places::Unasked],
        );
        let state = whole(&block, &Moments::<f64>::new()).unwrap_or_default();
        assert!(Moments::<f64>::variance(&state, 0.0).is_nan());
    }
}
