//! Copies row by row: the innermost dimension as plainly as its strides allow.

use super::axis::{Axis, Line};
use super::nest::walk;
use super::stream::Stream;

/// Copies the product of `outer` and `inner`.
pub(super) fn run<T: Copy>(
    src: &[T],
    dst: &mut [T],
    at: (usize, usize),
    outer: &[&Axis],
    inner: &Axis,
) {
    // One or two short runs a row are strips, as in a halo: a tight loop down the rows keeps many cache misses under
    // way, and the end of a row shares lines with the start of the next.
    let done = match inner.first_runs()[..] {
        [a] => strips(src, dst, at, outer, [a]),
        [a, b] if a.len == b.len => strips(src, dst, at, outer, [a, b]),
        _ => false,
    };
    if done {
        return;
    }
    if inner.is_contiguous() {
        contiguous(src, dst, at, outer, inner);
    } else {
        walk(outer, at, &mut |at| {
            inner.each_line(at, &mut |line| strided(src, dst, line));
        });
    }
}

/// Copies runs of one length; false where it has no loop of its own.
fn strips<T: Copy, const RUNS: usize>(
    src: &[T],
    dst: &mut [T],
    at: (usize, usize),
    outer: &[&Axis],
    runs: [Line; RUNS],
) -> bool {
    let starts = runs.map(|run| (run.src, run.dst));
    match runs[0].len {
        1 => strips_of::<T, RUNS, 1>(src, dst, at, outer, starts),
        2 => strips_of::<T, RUNS, 2>(src, dst, at, outer, starts),
        3 => strips_of::<T, RUNS, 3>(src, dst, at, outer, starts),
        4 => strips_of::<T, RUNS, 4>(src, dst, at, outer, starts),
        8 => strips_of::<T, RUNS, 8>(src, dst, at, outer, starts),
        _ => return false,
    }
    true
}

fn strips_of<T: Copy, const RUNS: usize, const N: usize>(
    src: &[T],
    dst: &mut [T],
    at: (usize, usize),
    outer: &[&Axis],
    starts: [(usize, usize); RUNS],
) {
    walk(outer, at, &mut |at| {
        for (s, d) in starts {
            let at = (at.0.wrapping_add(s), at.1.wrapping_add(d));
            short_run::<T, N>(src, dst, at);
        }
    });
}

/// Copies contiguous runs, past the cache where that pays.
fn contiguous<T: Copy>(
    src: &[T],
    dst: &mut [T],
    at: (usize, usize),
    outer: &[&Axis],
    inner: &Axis,
) {
    let all = outer.iter().map(|axis| axis.elements());
    let elements = all.fold(inner.elements(), usize::saturating_mul);
    let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
    if let Some(mut stream) =
        Stream::if_it_pays(bytes(dst.len()), bytes(elements), bytes(inner.shortest()))
    {
        walk(outer, at, &mut |at| {
            inner.each_line(at, &mut |line| {
                stream.run(src, dst, (line.src, line.dst), line.len);
            });
        });
        stream.finish(src, dst);
    } else {
        walk(outer, at, &mut |at| {
            inner.each_line(at, &mut |line| {
                any_run(src, dst, (line.src, line.dst), line.len);
            });
        });
    }
}

#[inline]
fn short_run<T: Copy, const N: usize>(src: &[T], dst: &mut [T], (s, d): (usize, usize)) {
    if let (Some(from), Some(to)) = (src[s..].first_chunk::<N>(), dst[d..].first_chunk_mut::<N>()) {
        *to = *from;
    }
}

/// A short one without the call of `memcpy`, which costs more than the copy.
#[inline]
fn any_run<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), n: usize) {
    match n {
        1 => dst[at.1] = src[at.0],
        2 => short_run::<T, 2>(src, dst, at),
        4 => short_run::<T, 4>(src, dst, at),
        n => dst[at.1..at.1 + n].copy_from_slice(&src[at.0..at.0 + n]),
    }
}

#[inline]
fn strided<T: Copy>(src: &[T], dst: &mut [T], line: &Line) {
    let (mut s, mut d) = (line.src, line.dst);
    if line.is_contiguous() {
        any_run(src, dst, (s, d), line.len);
    } else if line.dst_stride == 1 {
        for to in &mut dst[d..d + line.len] {
            *to = src[s];
            s = s.wrapping_add(line.src_stride);
        }
    } else if line.src_stride == 1 {
        for from in &src[s..s + line.len] {
            dst[d] = *from;
            d = d.wrapping_add(line.dst_stride);
        }
    } else {
        for _ in 0..line.len {
            dst[d] = src[s];
            s = s.wrapping_add(line.src_stride);
            d = d.wrapping_add(line.dst_stride);
        }
    }
}
