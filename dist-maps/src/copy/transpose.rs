//! Copies whose rows are contiguous along different dimensions on the two sides: tiles that fit the
//! first-level cache, within them squares of [`SQUARE`] that are turned in registers.

use super::axis::Line;

/// Side of the squares that are turned at once.
const SQUARE: usize = 8;
/// Side of the tiles.
const TILE: usize = 32;

/// Copies the product of `x`, nearest in the source, and `y`, nearest in the destination.
pub(super) fn run<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), x: &[Line], y: &[Line]) {
    for x in x {
        for y in y {
            for x in x.parts(TILE) {
                for y in y.parts(TILE) {
                    tile(src, dst, at, &x, &y);
                }
            }
        }
    }
}

fn tile<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), x: &Line, y: &Line) {
    let unit = x.src_stride == 1 && y.dst_stride == 1;
    if !unit {
        return plain(src, dst, at, x, y);
    }
    let (whole_x, whole_y) = (x.len / SQUARE * SQUARE, y.len / SQUARE * SQUARE);
    for i in (0..whole_x).step_by(SQUARE) {
        let x = x.part(i, SQUARE);
        for j in (0..whole_y).step_by(SQUARE) {
            square(src, dst, at, &x, &y.part(j, SQUARE));
        }
        plain(src, dst, at, &x, &y.part(whole_y, y.len - whole_y));
    }
    plain(src, dst, at, &x.part(whole_x, x.len - whole_x), y);
}

/// One square, rows of the source read whole and rows of the destination written whole.
#[inline]
fn square<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), x: &Line, y: &Line) {
    let from = at.0.wrapping_add(x.src).wrapping_add(y.src);
    let to = at.1.wrapping_add(x.dst).wrapping_add(y.dst);
    let row = |j: usize| {
        let start = from.wrapping_add(j.wrapping_mul(y.src_stride));
        src[start..].first_chunk::<SQUARE>()
    };
    let rows: [_; SQUARE] = std::array::from_fn(row);
    let Some(rows) = all(rows) else { return };
    for i in 0..SQUARE {
        let start = to.wrapping_add(i.wrapping_mul(x.dst_stride));
        if let Some(out) = dst[start..].first_chunk_mut::<SQUARE>() {
            *out = rows.map(|row| row[i]);
        }
    }
}

fn all<T: Copy, const N: usize>(rows: [Option<&[T; N]>; N]) -> Option<[&[T; N]; N]> {
    let first = rows[0]?;
    let mut whole = [first; N];
    for (to, row) in whole.iter_mut().zip(rows) {
        *to = row?;
    }
    Some(whole)
}

fn plain<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), x: &Line, y: &Line) {
    let from = at.0.wrapping_add(x.src).wrapping_add(y.src);
    let to = at.1.wrapping_add(x.dst).wrapping_add(y.dst);
    for i in 0..x.len {
        let mut s = from.wrapping_add(i.wrapping_mul(x.src_stride));
        let mut d = to.wrapping_add(i.wrapping_mul(x.dst_stride));
        for _ in 0..y.len {
            dst[d] = src[s];
            s = s.wrapping_add(y.src_stride);
            d = d.wrapping_add(y.dst_stride);
        }
    }
}
