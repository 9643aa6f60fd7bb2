//! Count, mean and sum of squared deviations, in one stable sweep.
//!
//! A leaf is small enough to stay in cache: its mean is found first, then the squares about that mean. Leaves are merged by
//! the formulas of Chan, Golub and `LeVeque` (1979).

use std::marker::PhantomData;

use super::{Place, Reduction, sums};
use crate::summable::Center;
use crate::{Arithmetic, Cast, Floating};

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
    const ROWS: usize = 32;
    const COLUMNS: usize = 512;

    fn nothing(&self) -> Option<Self::State> {
        Some(A::Center::NOTHING.state(0.0, 0.0))
    }

    #[expect(clippy::cast_precision_loss, reason = "a leaf is short")]
    fn of_run(&self, run: &[T], _: Place<'_>) -> Self::State {
        let count = run.len() as f64;
        let center = |x: T| x.cast().center();
        let sum = sums::lanes(run, center, A::Center::NOTHING, A::Center::plus);
        let mean = sum.scaled(count.recip());
        let square = |x: T| center(x).minus(mean).square();
        mean.state(count, sums::lanes(run, square, 0.0, |a, b| a + b))
    }

    #[expect(clippy::cast_precision_loss, reason = "a leaf is short")]
    fn of_rows(&self, rows: &[&[T]], _: &[i64], states: &mut Vec<Self::State>) {
        let center = |x: T| x.cast().center();
        let mut means = Vec::with_capacity(rows[0].len());
        sums::columns(rows, &mut means, center, A::Center::plus);
        let count = rows.len() as f64;
        let factor = count.recip();
        for mean in &mut means {
            *mean = mean.scaled(factor);
        }
        let mut squares = vec![0.0; means.len()];
        for row in rows {
            for ((square, mean), &x) in squares.iter_mut().zip(&means).zip(*row) {
                *square += center(x).minus(*mean).square();
            }
        }
        states.extend(
            means
                .into_iter()
                .zip(squares)
                .map(|(mean, squares)| mean.state(count, squares)),
        );
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

#[cfg(test)]
mod tests {
    use super::super::Block;
    use super::super::local::whole;
    use super::*;

    #[test]
    fn a_far_mean_costs_no_digits() {
        // one sweep of squares would lose all of them
        let numbers: Vec<f64> = (0..100_000).map(|i| 1e9 + f64::from(i % 2)).collect();
        let block = Block::copied(&[100_000], numbers, &[true], vec![Vec::new()]);
        let state = whole(&block, &Moments::<f64>::new()).unwrap_or_default();
        assert!((Moments::<f64>::variance(&state, 0.0) - 0.25).abs() < 1e-12);
        assert!((state[1] - (1e9 + 0.5)).abs() < 1e-6);
    }

    #[test]
    fn infinite_means_give_nan() {
        let block = Block::copied(&[2], vec![f64::INFINITY, 1.0], &[true], vec![Vec::new()]);
        let state = whole(&block, &Moments::<f64>::new()).unwrap_or_default();
        assert!(Moments::<f64>::variance(&state, 0.0).is_nan());
    }
}
