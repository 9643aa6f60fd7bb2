//! Whether any, or all, elements are true.

use super::{Order, Place, Reduction, sums};
use crate::Cast;

/// Whether all elements are true with `ALL`, else whether any is; 0 or 1.
pub(crate) struct Truths<const ALL: bool>;

impl<const ALL: bool> Truths<ALL> {
    #[inline]
    fn join(a: u8, b: u8) -> u8 {
        if ALL { a & b } else { a | b }
    }
}

impl<T: Cast<bool>, const ALL: bool> Reduction<T> for Truths<ALL> {
    type State = u8;
    const ORDER: Order = Order::Any;

    fn nothing(&self) -> Option<u8> {
        Some(u8::from(ALL))
    }

    #[inline]
    fn of_run(&self, run: &[T], _: Place<'_>) -> u8 {
        let truths = run.iter().map(|&x| u8::from(x.cast()));
        truths.fold(u8::from(ALL), Self::join)
    }

    fn of_rows(&self, rows: &[&[T]], _: &[i64], states: &mut Vec<u8>) {
        sums::columns(rows, states, |x: T| u8::from(x.cast()), Self::join);
    }

    #[inline]
    fn merge(&self, left: &mut u8, right: &u8) {
        *left = Self::join(*left, *right);
    }
}
