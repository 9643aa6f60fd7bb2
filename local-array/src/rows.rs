//! The kernel of element-wise operations: it walks up to three arrays of one shape, broadcast ones among them, and hands their
//! elements over as slices. An operand that is not there is an array of `()`.
//!
//! Arrays that are dense in C order, or all in Fortran order, are handed over whole; others row by row, in pieces that fit
//! the cache where a row must be gathered or repeated first.

use std::ops::Range;

use multiversion::multiversion;
use ndarray::{ArrayD, ArrayView1, ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder, Slice};

use crate::ArrayError;

/// Elements per piece where a row is not a slice.
const PIECE: usize = 2048;

/// Adds a result for each element to the end of a list.
pub(crate) type Push<'f, A, B, C, R> = dyn FnMut(&[A], &[B], &[C], &mut Vec<R>) + 'f;
/// Changes the first by the others.
pub(crate) type Change<'f, R, A, B, C> = dyn FnMut(&mut [R], &[A], &[B], &[C]) + 'f;
/// Sees a piece, and where it begins and ends.
type See<'f, A, B, C> = dyn FnMut(Range<usize>, &[A], &[B], &[C]) + 'f;

/// A row of an operand.
enum Row<'a, T> {
    Slice(&'a [T]),
    Repeated(T),
    Strided(ArrayView1<'a, T>),
}

impl<'a, T: Copy> Row<'a, T> {
    fn of(row: &ArrayView1<'a, T>) -> Self {
        match row.to_slice() {
            Some(slice) => Row::Slice(slice),
            None if row.strides() == [0] => Row::Repeated(row[0]),
            None => Row::Strided(*row),
        }
    }

    /// All elements of an array in C order as one row, if they are dense or all the same.
    fn whole(view: &ArrayViewD<'a, T>) -> Option<Self> {
        view.to_slice().map(Row::Slice).or_else(|| {
            let repeated = view
                .strides()
                .iter()
                .zip(view.shape())
                .all(|(&stride, &n)| stride == 0 || n == 1);
            view.first()
                .filter(|_| repeated)
                .map(|&first| Row::Repeated(first))
        })
    }

    fn is_ready(&self) -> bool {
        size_of::<T>() == 0 || matches!(self, Row::Slice(_))
    }

    fn piece<'s>(&'s self, at: Range<usize>, buffer: &'s mut Vec<T>) -> &'s [T] {
        match self {
            Row::Slice(slice) => return &slice[at],
            Row::Repeated(value) => {
                if buffer.len() < at.len() {
                    buffer.resize(at.len(), *value);
                } else {
                    buffer.truncate(at.len());
                }
                buffer.fill(*value);
            }
            Row::Strided(row) => {
                buffer.clear();
                buffer.extend(row.slice_axis(Axis(0), Slice::from(at)).iter());
            }
        }
        buffer
    }
}

/// Three operands of one shape.
pub(crate) struct Operands<'a, A, B, C>(
    pub(crate) ArrayViewD<'a, A>,
    pub(crate) ArrayViewD<'a, B>,
    pub(crate) ArrayViewD<'a, C>,
);

impl<'a, A: Copy, B: Copy, C: Copy> Operands<'a, A, B, C> {
    fn reversed(self) -> Self {
        Operands(
            self.0.reversed_axes(),
            self.1.reversed_axes(),
            self.2.reversed_axes(),
        )
    }

    fn whole(&self) -> Option<(Row<'a, A>, Row<'a, B>, Row<'a, C>)> {
        Some((
            Row::whole(&self.0)?,
            Row::whole(&self.1)?,
            Row::whole(&self.2)?,
        ))
    }
}

/// Whether the last axis is the one along which memory is nearer.
fn last_is_nearer(strides: &[isize]) -> bool {
    match strides {
        [first, .., last] => *last != 0 && last.unsigned_abs() < first.unsigned_abs(),
        _ => false,
    }
}

/// Buffers for pieces.
struct Buffers<A, B, C>(Vec<A>, Vec<B>, Vec<C>);

impl<A: Copy, B: Copy, C: Copy> Buffers<A, B, C> {
    const fn new() -> Self {
        Self(Vec::new(), Vec::new(), Vec::new())
    }

    /// Hands over the rows, of `n` elements, piece by piece, with where each piece begins and ends.
    fn hand_over(
        &mut self,
        (a, b, c): (&Row<'_, A>, &Row<'_, B>, &Row<'_, C>),
        n: usize,
        see: &mut See<'_, A, B, C>,
    ) {
        let ready = a.is_ready() && b.is_ready() && c.is_ready();
        let step = if ready { n.max(1) } else { PIECE };
        for start in (0..n).step_by(step) {
            let at = start..n.min(start + step);
            see(
                at.clone(),
                a.piece(at.clone(), &mut self.0),
                b.piece(at.clone(), &mut self.1),
                c.piece(at, &mut self.2),
            );
        }
    }
}

/// A new array of what `push` makes of the elements: it adds one for each to the end of the list. Dense, in C order or, where
/// the operands lie so, in Fortran order.
pub(crate) fn collect<A: Copy, B: Copy, C: Copy, R>(
    operands: Operands<'_, A, B, C>,
    rank: usize,
    push: &mut Push<'_, A, B, C, R>,
) -> Result<ArrayD<R>, ArrayError> {
    let shape = operands.0.shape().to_vec();
    let n = operands.0.len();
    let mut results: Vec<R> = Vec::new();
    let failed = || ArrayError::Allocation {
        rank,
        shape: shape.clone(),
        bytes: n.checked_mul(size_of::<R>()),
    };
    results.try_reserve_exact(n).map_err(|_| failed())?;
    large_pages::prefer_large_pages(results.spare_capacity_mut());
    let mut buffers = Buffers::new();
    let mut fortran = false;
    if n > 0 {
        let mut operands = operands;
        let mut whole = operands.whole();
        if whole.is_none() {
            operands = operands.reversed();
            whole = operands.whole();
            fortran = whole.is_some() || last_is_nearer(operands.0.strides());
            if !fortran {
                operands = operands.reversed();
            }
        }
        if let Some((a, b, c)) = &whole {
            buffers.hand_over((a, b, c), n, &mut |_, a, b, c| push(a, b, c, &mut results));
        } else {
            let Operands(a, b, c) = &operands;
            let rows = a.rows().into_iter().zip(b.rows()).zip(c.rows());
            for ((a, b), c) in rows {
                let n = a.len();
                let rows = (&Row::of(&a), &Row::of(&b), &Row::of(&c));
                buffers.hand_over(rows, n, &mut |_, a, b, c| push(a, b, c, &mut results));
            }
        }
    }
    let array = if fortran {
        ArrayD::from_shape_vec(IxDyn(&shape).f(), results)
    } else {
        ArrayD::from_shape_vec(IxDyn(&shape), results)
    };
    array.map_err(|_| failed())
}

/// Changes `out` by what `change` does with pieces of it and of the operands, all of one shape.
pub(crate) fn update<R, A: Copy, B: Copy, C: Copy>(
    out: ArrayViewMutD<'_, R>,
    operands: Operands<'_, A, B, C>,
    change: &mut Change<'_, R, A, B, C>,
) {
    if out.is_empty() {
        return;
    }
    let mut out = out;
    let mut operands = operands;
    let mut buffers = Buffers::new();
    for _ in 0..2 {
        if let (Some(out), Some((a, b, c))) = (out.as_slice_mut(), operands.whole()) {
            let n = out.len();
            buffers.hand_over((&a, &b, &c), n, &mut |at, a, b, c| {
                change(&mut out[at], a, b, c);
            });
            return;
        }
        // Once in Fortran order; the second time they are turned back.
        out = out.reversed_axes();
        operands = operands.reversed();
    }
    out = out.reversed_axes();
    if last_is_nearer(out.strides()) {
        operands = operands.reversed();
    } else {
        out = out.reversed_axes();
    }
    let Operands(a, b, c) = &operands;
    let rows = a.rows().into_iter().zip(b.rows()).zip(c.rows());
    for (mut row, ((a, b), c)) in out.rows_mut().into_iter().zip(rows) {
        let n = row.len();
        let rows = (&Row::of(&a), &Row::of(&b), &Row::of(&c));
        match row.as_slice_mut() {
            Some(row) => {
                buffers.hand_over(rows, n, &mut |at, a, b, c| change(&mut row[at], a, b, c));
            }
            None => buffers.hand_over(rows, n, &mut |at, a, b, c| {
                for (i, place) in at.enumerate() {
                    if let Some(slot) = row.get_mut(place) {
                        change(std::slice::from_mut(slot), &a[i..=i], &b[i..=i], &c[i..=i]);
                    }
                }
            }),
        }
    }
}

/// Sets each element to `f` of those of `a` and `b`. In wide registers where the processor has them.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
pub(crate) fn set_each<R, A: Copy, B: Copy, F: Fn(A, B) -> R>(
    out: &mut [R],
    a: &[A],
    b: &[B],
    f: F,
) {
    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
        *out = f(a, b);
    }
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "small numbers")]
mod tests {
    use ndarray::{Array, ArrayD, arr0};

    use super::*;

    fn sums(a: ArrayViewD<'_, i64>, b: ArrayViewD<'_, i64>) -> ArrayD<i64> {
        let shape = a.raw_dim();
        let none = arr0(()).into_dyn();
        let operands = Operands(a, b, none.broadcast(shape).unwrap());
        collect(operands, 0, &mut |a, b, _, out| {
            out.extend(a.iter().zip(b).map(|(a, b)| a + b));
        })
        .unwrap()
    }

    #[test]
    fn any_layout_gives_the_same_sums() {
        let whole =
            Array::from_shape_fn((5, 70, 3), |(i, j, k)| (100 * i + 10 * j + k) as i64).into_dyn();
        let row = Array::from_shape_fn(3, |k| k as i64).into_dyn();
        let turned = Array::from_shape_fn((3, 70, 5), |(k, j, i)| (100 * i + 10 * j + k) as i64);
        let wide = Array::from_shape_fn((10, 70, 6), |(i, j, k)| {
            (50 * i + 10 * j) as i64 + k as i64 / 2
        });
        let mut gaps = wide.view().into_dyn();
        gaps.slice_axis_inplace(Axis(0), Slice::new(0, None, 2));
        gaps.slice_axis_inplace(Axis(2), Slice::new(0, None, 2));
        let layouts = [whole.view(), turned.t().into_dyn(), gaps];
        for a in &layouts {
            for b in &layouts {
                assert_eq!(sums(a.view(), b.view()), &whole + &whole);
                let mut out = turned.t().to_owned().into_dyn();
                let none = arr0(()).into_dyn();
                let operands = Operands(a.view(), b.view(), none.broadcast(a.raw_dim()).unwrap());
                update(out.view_mut(), operands, &mut |out, a, b, _| {
                    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                        *out += a + b;
                    }
                });
                assert_eq!(out, &(&whole + &whole) + &whole);
            }
            let repeated = row.broadcast(whole.raw_dim()).unwrap();
            assert_eq!(sums(a.view(), repeated), &whole + &row);
            let one = arr0(7).into_dyn();
            assert_eq!(
                sums(a.view(), one.broadcast(whole.raw_dim()).unwrap()),
                &whole + 7
            );
        }
    }

    #[test]
    fn long_rows_come_in_pieces() {
        let n = 3 * PIECE + 5;
        let a = Array::from_shape_fn((2, n), |(i, j)| (i + j) as i64).into_dyn();
        let b = Array::from_shape_fn((2, 1), |(i, _)| 1000 * i as i64).into_dyn();
        assert_eq!(sums(a.view(), b.broadcast(a.raw_dim()).unwrap()), &a + &b);
    }
}
