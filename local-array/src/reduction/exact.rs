//! Sums that do not depend on any order: states are [`ExactSum`]s.

use super::{Order, Place, Reduction};
use crate::exact::ExactSum;

/// Elements handed over at once.
pub(crate) const CHUNK: usize = 1024;

/// `N` exact sums of what a function makes of chunks of elements.
pub(crate) struct Exact<F, const N: usize>(pub(crate) F);

impl<T: Copy, F: Fn(&[T], &mut [ExactSum; N]), const N: usize> Reduction<T> for Exact<F, N> {
    type State = [ExactSum; N];
    const BLOCK: usize = 64 * CHUNK;
    const ROWS: usize = CHUNK;
    const COLUMNS: usize = 64;
    const ORDER: Order = Order::Any;

    fn nothing(&self) -> Option<Self::State> {
        Some([ExactSum::ZERO; N])
    }

    fn of_run(&self, run: &[T], _: Place<'_>) -> Self::State {
        let mut sums = [ExactSum::ZERO; N];
        run.chunks(CHUNK).for_each(|chunk| self.0(chunk, &mut sums));
        sums
    }

    fn of_rows(&self, rows: &[&[T]], _: &[i64], states: &mut Vec<Self::State>) {
        let mut column = Vec::with_capacity(rows.len());
        for at in 0..rows[0].len() {
            column.clear();
            column.extend(rows.iter().map(|row| row[at]));
            states.push(self.of_run(&column, Place::UNASKED));
        }
    }

    fn merge(&self, left: &mut Self::State, right: &Self::State) {
        for (left, right) in left.iter_mut().zip(right) {
            left.merge(right);
        }
    }
}
