//! The least and the greatest element, and where it stands.

use bytemuck::{Pod, Zeroable};

use super::{Order, Place, Reduction, sums};
use crate::Ordered;

/// The greatest element with `GREATEST`, else the least; NaN where there is one.
pub(crate) struct Extreme<const GREATEST: bool>;

#[inline]
fn better<T: Ordered, const GREATEST: bool>(a: T, b: T) -> T {
    if GREATEST { a.greater(b) } else { a.lesser(b) }
}

/// The greatest, or least, of a run; NaN where there is one.
#[inline]
fn best<T: Ordered, const GREATEST: bool>(run: &[T]) -> T {
    T::extreme_of::<GREATEST>(run)
        .unwrap_or_else(|| sums::lanes(run, |x| x, T::default(), better::<T, GREATEST>))
}

impl<T: Ordered, const GREATEST: bool> Reduction<T> for Extreme<GREATEST> {
    type State = T;
    const BLOCK: usize = 8192;
    const ORDER: Order = Order::Chain;

    fn nothing(&self) -> Option<T> {
        None
    }

    #[inline]
    fn of_run(&self, run: &[T], _: Place<'_>) -> T {
        best::<T, GREATEST>(run)
    }

    fn of_rows(&self, rows: &[&[T]], _: &[i64], states: &mut Vec<T>) {
        sums::columns(rows, states, |x| x, better::<T, GREATEST>);
    }

    #[inline]
    fn merge(&self, left: &mut T, right: &T) {
        *left = better::<T, GREATEST>(*left, *right);
    }
}

/// The least and the greatest element; both NaN where there is one.
pub(crate) struct Extremes;

/// Two elements, as bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Ends {
    least: Bytes,
    greatest: Bytes,
}

impl Ends {
    fn new<T: Ordered>((least, greatest): (T, T)) -> Self {
        let (least, greatest) = (Bytes::of(least), Bytes::of(greatest));
        Self { least, greatest }
    }

    /// The least and the greatest.
    pub(crate) fn pair<T: Ordered>(&self) -> (T, T) {
        (self.least.element(), self.greatest.element())
    }
}

impl<T: Ordered> Reduction<T> for Extremes {
    type State = Ends;
    const BLOCK: usize = 8192;
    const ORDER: Order = Order::Chain;

    fn nothing(&self) -> Option<Ends> {
        None
    }

    #[inline]
    fn of_run(&self, run: &[T], _: Place<'_>) -> Ends {
        Ends::new((best::<T, false>(run), best::<T, true>(run)))
    }

    fn of_rows(&self, rows: &[&[T]], _: &[i64], states: &mut Vec<Ends>) {
        let (mut least, mut greatest) = (Vec::new(), Vec::new());
        sums::columns(rows, &mut least, |x| x, better::<T, false>);
        sums::columns(rows, &mut greatest, |x| x, better::<T, true>);
        states.extend(least.into_iter().zip(greatest).map(Ends::new));
    }

    #[inline]
    fn merge(&self, left: &mut Ends, right: &Ends) {
        let ((a, b), (c, d)) = (left.pair::<T>(), right.pair::<T>());
        *left = Ends::new((better::<T, false>(a, c), better::<T, true>(b, d)));
    }
}

/// Where the greatest element stands with `GREATEST`, else the least; of several the one of least place, and the first NaN
/// where there is one.
pub(crate) struct ArgExtreme<const GREATEST: bool>;

/// An element, as bytes, and its place.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Placed {
    pub(crate) place: i64,
    value: Bytes,
}

impl Placed {
    fn new<T: Ordered>(value: T, place: i64) -> Self {
        let value = Bytes::of(value);
        Self { place, value }
    }

    fn value<T: Ordered>(&self) -> T {
        self.value.element()
    }
}

/// An element as bytes.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
struct Bytes([u64; 2]);

const _: () = assert!(size_of::<num_complex::Complex64>() == 16);

impl Bytes {
    fn of<T: Ordered>(value: T) -> Self {
        let mut words = [0; 2];
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
        bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        Self(words)
    }

    fn element<T: Ordered>(&self) -> T {
        let bytes: &[u8] = bytemuck::cast_slice(&self.0);
        // The bytes are those of a `T`.
        bytemuck::checked::try_pod_read_unaligned(&bytes[..size_of::<T>()]).unwrap_or_default()
    }
}

#[inline]
fn is_nan<T: Ordered>(x: T) -> bool {
    !x.is_at_most(x)
}

/// Whether the second beats the first.
#[inline]
fn beats<T: Ordered, const GREATEST: bool>((a, at): (T, i64), (b, then): (T, i64)) -> bool {
    let is_better = if GREATEST { a.is_less(b) } else { b.is_less(a) };
    let is_worse = if GREATEST { b.is_less(a) } else { a.is_less(b) };
    match (is_nan(a), is_nan(b)) {
        (false, true) => true,
        (true, false) => false,
        (true, true) => then < at,
        (false, false) => is_better || (!is_worse && then < at),
    }
}

/// The least place of what equals the best element of a run.
fn least_place<T: Ordered>(run: &[T], best: T, place: Place<'_>) -> i64 {
    let is_best: fn(T, T) -> bool = if is_nan(best) {
        |x, _| is_nan(x)
    } else {
        |x, best| x.is_at_most(best) && best.is_at_most(x)
    };
    let all = run.iter().enumerate();
    let mut all = all
        .filter(|&(_, &x)| is_best(x, best))
        .map(|(at, _)| place.of(at));
    let least = if place.along.ascend() {
        all.next()
    } else {
        all.min()
    };
    least.unwrap_or(0)
}

impl<T: Ordered, const GREATEST: bool> Reduction<T> for ArgExtreme<GREATEST> {
    type State = Placed;
    const BLOCK: usize = 8192;
    const ORDER: Order = Order::Places;

    fn nothing(&self) -> Option<Placed> {
        None
    }

    fn of_run(&self, run: &[T], place: Place<'_>) -> Placed {
        let best = best::<T, GREATEST>(run);
        Placed::new(best, least_place(run, best, place))
    }

    fn take_run(&self, state: &mut Placed, run: &[T], place: Place<'_>) {
        let best = best::<T, GREATEST>(run);
        let known = state.value::<T>();
        // Most runs have nothing better, and no search for its place.
        let is_worse = if GREATEST {
            best.is_less(known)
        } else {
            known.is_less(best)
        };
        let is_after = place.along.ascend() && place.of(0) > state.place;
        let is_same = known.is_at_most(best) && best.is_at_most(known);
        if is_worse || (is_nan(known) && !is_nan(best)) || (is_same && is_after) {
            return;
        }
        let found = Placed::new(best, least_place(run, best, place));
        Reduction::<T>::merge(self, state, &found);
    }

    fn of_rows(&self, rows: &[&[T]], places: &[i64], states: &mut Vec<Placed>) {
        let mut best = rows[0].to_vec();
        let mut at = vec![places[0]; best.len()];
        let ascending = places.is_sorted();
        for (row, &place) in rows.iter().zip(places).skip(1) {
            let so_far = best.iter_mut().zip(&mut at).zip(*row);
            if ascending {
                // Of equals the first one stays.
                for ((best, at), &x) in so_far {
                    let is_better = if GREATEST {
                        best.is_less(x)
                    } else {
                        x.is_less(*best)
                    };
                    let wins = is_better | (is_nan(x) & !is_nan(*best));
                    *best = if wins { x } else { *best };
                    *at = if wins { place } else { *at };
                }
                continue;
            }
            for ((best, at), &x) in so_far {
                if beats::<T, GREATEST>((*best, *at), (x, place)) {
                    (*best, *at) = (x, place);
                }
            }
        }
        states.extend(
            best.into_iter()
                .zip(at)
                .map(|(best, at)| Placed::new(best, at)),
        );
    }

    fn merge(&self, left: &mut Placed, right: &Placed) {
        let (a, b) = (
            (left.value::<T>(), left.place),
            (right.value::<T>(), right.place),
        );
        if beats::<T, GREATEST>(a, b) {
            *left = *right;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::Places;
    use super::*;

    fn least(run: &[f64], along: &[i64]) -> i64 {
        ArgExtreme::<false>
            .of_run(
                run,
                Place {
                    base: 100,
                    along: &Places::listed(along.iter().copied()),
                    from: 0,
                },
            )
            .place
    }

    #[test]
    fn of_equals_the_least_place_wins_and_nan_over_all() {
        assert_eq!(least(&[2.0, 1.0, 1.0], &[5, 9, 3]), 103);
        assert_eq!(least(&[0.0, -0.0], &[1, 0]), 100);
        assert_eq!(least(&[1.0, f64::NAN, f64::NAN, -9.0], &[0, 3, 2, 1]), 102);
        assert!(beats::<f64, true>((1.0, 0), (f64::NAN, 7)));
        assert!(!beats::<f64, true>((f64::NAN, 3), (9.0, 0)));
        assert!(beats::<f64, true>((2.0, 3), (2.0, 1)) && !beats::<f64, true>((2.0, 1), (2.0, 3)));
    }
}
