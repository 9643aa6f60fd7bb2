//! The one copy kernel: loops are lowered, fused, ordered, checked, then run.

use super::stream::Stream;
use super::{CopyError, Piece, transpose};

/// Two nested loops along one dimension, in element offsets; strides and offsets are two's
/// complement, added with wrapping.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    src: usize,
    dst: usize,
    outer: usize,
    src_outer: usize,
    dst_outer: usize,
    inner: usize,
    src_inner: usize,
    dst_inner: usize,
}

/// The loops of one dimension, one after another; `low` and `high` bound their offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    chunks: Vec<Chunk>,
    src: Span,
    dst: Span,
}

/// Lowest and highest offset touched.
#[derive(Clone, Copy, Debug)]
struct Span {
    low: i128,
    high: i128,
}

impl Default for Span {
    fn default() -> Self {
        Self {
            low: i128::MAX,
            high: i128::MIN,
        }
    }
}

impl Span {
    fn cover(&mut self, offset: i128) {
        self.low = self.low.min(offset);
        self.high = self.high.max(offset);
    }

    /// Adds the offsets of a strided loop nest that starts at `start`.
    fn cover_loops(&mut self, start: i128, outer: (usize, i128), inner: (usize, i128)) {
        let reach = |(n, stride): (usize, i128)| (n as i128 - 1) * stride;
        let (a, b) = (reach(outer), reach(inner));
        self.cover(start + a.min(0) + b.min(0));
        self.cover(start + a.max(0) + b.max(0));
    }
}

impl Axis {
    /// Adds a piece whose neighbours are `src` and `dst` elements apart on the two sides.
    pub(crate) fn push(&mut self, piece: &Piece, src: isize, dst: isize) -> Result<(), CopyError> {
        self.push_offsets(
            (piece.src as i128 * src as i128, piece.src_stride, src),
            (piece.dst as i128 * dst as i128, piece.dst_stride, dst),
            piece.len,
            piece.count,
        )
    }

    /// Adds `count` runs of `len` elements. Per side: the offset of the first element, positions
    /// between runs, and elements between positions.
    pub(crate) fn push_offsets(
        &mut self,
        src: (i128, isize, isize),
        dst: (i128, isize, isize),
        len: usize,
        count: usize,
    ) -> Result<(), CopyError> {
        if len == 0 || count == 0 {
            return Ok(());
        }
        let overflow = CopyError::Overflow { what: "position" };
        // Keeps every sum of the bounds check inside 128 bits.
        let too_far = |offset: i128| offset.unsigned_abs() > 1 << 100;
        let mut loops = [(count, 0, 0), (len, src.2, dst.2)];
        let by = |stride: isize, scale: isize| stride.checked_mul(scale);
        if count > 1 {
            let (Some(s), Some(d)) = (by(src.1, src.2), by(dst.1, dst.2)) else {
                return Err(overflow);
            };
            loops[0] = (count, s, d);
        }
        if too_far(src.0) || too_far(dst.0) {
            return Err(overflow);
        }
        let outer = |side: fn(&(usize, isize, isize)) -> isize| (count, side(&loops[0]) as i128);
        let inner = |side: fn(&(usize, isize, isize)) -> isize| (len, side(&loops[1]) as i128);
        self.src.cover_loops(src.0, outer(|l| l.1), inner(|l| l.1));
        self.dst.cover_loops(dst.0, outer(|l| l.2), inner(|l| l.2));
        // One loop where two are not needed.
        if len == 1 {
            loops = [(1, 0, 0), loops[0]];
        } else if count > 1
            && loops[1].1.checked_mul(len.cast_signed()) == Some(loops[0].1)
            && loops[1].2.checked_mul(len.cast_signed()) == Some(loops[0].2)
        {
            let fused = len.checked_mul(count).ok_or(CopyError::Overflow {
                what: "number of elements",
            })?;
            loops = [(1, 0, 0), (fused, loops[1].1, loops[1].2)];
        }
        let [outer, inner] = loops;
        let mut chunk = Chunk {
            src: wrap(src.0),
            dst: wrap(dst.0),
            outer: outer.0,
            src_outer: outer.1.cast_unsigned(),
            dst_outer: outer.2.cast_unsigned(),
            inner: inner.0,
            src_inner: inner.1.cast_unsigned(),
            dst_inner: inner.2.cast_unsigned(),
        };
        chunk.turn();
        self.chunks.push(chunk);
        Ok(())
    }

    /// The single plain loop that this dimension is: offsets, count, strides.
    fn simple(&self) -> Option<Chunk> {
        match self.chunks[..] {
            [chunk] if chunk.outer == 1 => Some(chunk),
            _ => None,
        }
    }

    /// Strides of the innermost loop, taken from the longest chunk.
    fn inner_strides(&self) -> (usize, usize) {
        self.chunks
            .iter()
            .max_by_key(|c| c.inner)
            .map_or((0, 0), |c| (distance(c.src_inner), distance(c.dst_inner)))
    }

    /// Calls `f` with the offsets of every element.
    #[inline]
    fn each(&self, at: (usize, usize), f: &mut impl FnMut((usize, usize))) {
        for c in &self.chunks {
            let (mut src, mut dst) = (at.0.wrapping_add(c.src), at.1.wrapping_add(c.dst));
            for _ in 0..c.outer {
                let (mut s, mut d) = (src, dst);
                for _ in 0..c.inner {
                    f((s, d));
                    s = s.wrapping_add(c.src_inner);
                    d = d.wrapping_add(c.dst_inner);
                }
                src = src.wrapping_add(c.src_outer);
                dst = dst.wrapping_add(c.dst_outer);
            }
        }
    }

    /// Calls `f` with the offsets and the length of every inner loop.
    #[inline]
    fn each_run(&self, at: (usize, usize), f: &mut impl FnMut((usize, usize), &Chunk)) {
        for c in &self.chunks {
            let mut at = (at.0.wrapping_add(c.src), at.1.wrapping_add(c.dst));
            for _ in 0..c.outer {
                f(at, c);
                at.0 = at.0.wrapping_add(c.src_outer);
                at.1 = at.1.wrapping_add(c.dst_outer);
            }
        }
    }

    fn elements(&self) -> usize {
        let elements = self.chunks.iter().map(|c| c.outer.saturating_mul(c.inner));
        elements.fold(0, usize::saturating_add)
    }

    /// Offsets and lengths of the first contiguous runs: all where there are one or two.
    fn runs(&self) -> Vec<((usize, usize), usize)> {
        let of = |c: &Chunk| {
            let c = *c;
            let (singles, len) = if c.inner == 1 || c.is_contiguous() {
                (1, c.inner)
            } else {
                (c.inner.min(3), 1)
            };
            (0..c.outer.min(3)).flat_map(move |i| {
                (0..singles).map(move |j| {
                    let offset = |start: usize, outer: usize, inner: usize| {
                        start
                            .wrapping_add(i.wrapping_mul(outer))
                            .wrapping_add(j.wrapping_mul(inner))
                    };
                    let src = offset(c.src, c.src_outer, c.src_inner);
                    ((src, offset(c.dst, c.dst_outer, c.dst_inner)), len)
                })
            })
        };
        self.chunks.iter().flat_map(of).take(3).collect()
    }

    /// Fuses a plain loop of another dimension into the inner loops here; false when it does not fit.
    fn absorb(&mut self, plain: &Chunk) -> bool {
        let n = plain.inner;
        let (src_step, dst_step) = (
            n.wrapping_mul(plain.src_inner),
            n.wrapping_mul(plain.dst_inner),
        );
        let fits = |c: &Chunk| c.inner == 1 || (c.src_inner == src_step && c.dst_inner == dst_step);
        if !self.chunks.iter().all(fits)
            || self.chunks.iter().any(|c| c.inner.checked_mul(n).is_none())
        {
            return false;
        }
        for c in &mut self.chunks {
            c.inner *= n;
            (c.src_inner, c.dst_inner) = (plain.src_inner, plain.dst_inner);
            c.src = c.src.wrapping_add(plain.src);
            c.dst = c.dst.wrapping_add(plain.dst);
        }
        true
    }
}

impl Chunk {
    fn is_contiguous(&self) -> bool {
        self.src_inner == 1 && self.dst_inner == 1
    }

    /// Runs a loop that goes down on both sides the other way round.
    fn turn(&mut self) {
        if self.src_inner.cast_signed() < 0 && self.dst_inner.cast_signed() < 0 {
            let last = self.inner - 1;
            self.src = self.src.wrapping_add(last.wrapping_mul(self.src_inner));
            self.dst = self.dst.wrapping_add(last.wrapping_mul(self.dst_inner));
            self.src_inner = self.src_inner.wrapping_neg();
            self.dst_inner = self.dst_inner.wrapping_neg();
        }
    }
}

#[expect(
    clippy::cast_sign_loss,
    reason = "offsets are checked against the slices before use; here they only need to wrap"
)]
fn wrap(offset: i128) -> usize {
    offset as usize
}

fn distance(stride: usize) -> usize {
    stride.cast_signed().unsigned_abs()
}

/// A loop nest: the product of its dimensions, in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    axes: Vec<Axis>,
}

impl Program {
    pub(crate) fn push(&mut self, axis: Axis) {
        self.axes.push(axis);
    }

    /// Runs the copy.
    pub(crate) fn run<T: Copy>(
        mut self,
        src: &[T],
        src_origin: usize,
        dst: &mut [T],
        dst_origin: usize,
    ) -> Result<(), CopyError> {
        self.check((src_origin, src.len()), (dst_origin, dst.len()))?;
        if self.is_empty() {
            return Ok(());
        }
        let at = self.fuse((src_origin, dst_origin));
        self.order();
        match &self.axes[..] {
            [] => dst[at.1] = src[at.0],
            [outer @ .., inner] => {
                if let Some((x, outer)) = transposed(outer, inner) {
                    walk(outer, at, &mut |at| {
                        transpose::run(src, dst, at, &flat(x), &flat(inner));
                    });
                } else {
                    rows(src, dst, at, outer, inner);
                }
            }
        }
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.axes.iter().any(|axis| axis.chunks.is_empty())
    }

    /// Checks that all of it lies inside the two slices: origin and length of each.
    pub(crate) fn check(&self, src: (usize, usize), dst: (usize, usize)) -> Result<(), CopyError> {
        if self.is_empty() {
            return Ok(());
        }
        self.check_side("source", |axis| axis.src, src)?;
        self.check_side("destination", |axis| axis.dst, dst)
    }

    fn check_side(
        &self,
        side: &'static str,
        of: impl Fn(&Axis) -> Span,
        (origin, len): (usize, usize),
    ) -> Result<(), CopyError> {
        let (mut lowest, mut highest) = (origin as i128, origin as i128);
        for span in self.axes.iter().map(of) {
            lowest += span.low;
            highest += span.high;
        }
        if lowest < 0 || highest >= len as i128 {
            return Err(CopyError::OutOfBounds {
                side,
                lowest,
                highest,
                len,
            });
        }
        Ok(())
    }

    /// Drops loops of one element, and fuses plain loops into the dimensions that they continue.
    fn fuse(&mut self, (mut src, mut dst): (usize, usize)) -> (usize, usize) {
        self.axes.retain(|axis| match axis.simple() {
            Some(one) if one.inner == 1 => {
                src = src.wrapping_add(one.src);
                dst = dst.wrapping_add(one.dst);
                false
            }
            _ => true,
        });
        let mut again = true;
        while again {
            again = false;
            for plain in (0..self.axes.len()).rev() {
                let Some(chunk) = self.axes[plain].simple() else {
                    continue;
                };
                let host = (0..self.axes.len())
                    .find(|&host| host != plain && self.axes[host].absorb(&chunk));
                if host.is_some() {
                    self.axes.remove(plain);
                    again = true;
                    break;
                }
            }
        }
        (src, dst)
    }

    /// Outermost first: far apart in the destination; innermost: nearest in the destination, and in
    /// the source where that is a tie.
    fn order(&mut self) {
        self.axes.sort_by_key(|axis| {
            let (src, dst) = axis.inner_strides();
            std::cmp::Reverse((dst, src))
        });
    }
}

/// The dimension that is nearest in the source, where it is not the innermost one: then rows of one
/// side are columns of the other.
fn transposed<'a>(outer: &'a [Axis], inner: &Axis) -> Option<(&'a Axis, Vec<&'a Axis>)> {
    let (near, _) = inner.inner_strides();
    let (x, axis) = outer
        .iter()
        .enumerate()
        .min_by_key(|(_, axis)| axis.inner_strides().0)?;
    if axis.inner_strides().0 >= near {
        return None;
    }
    let rest = outer.iter().enumerate();
    Some((
        axis,
        rest.filter(|&(i, _)| i != x).map(|(_, a)| a).collect(),
    ))
}

/// The loops of a dimension without their repetitions.
fn flat(axis: &Axis) -> Vec<transpose::Line> {
    let mut lines = Vec::new();
    for c in &axis.chunks {
        for i in 0..c.outer {
            lines.push(transpose::Line {
                src: c.src.wrapping_add(i.wrapping_mul(c.src_outer)),
                dst: c.dst.wrapping_add(i.wrapping_mul(c.dst_outer)),
                len: c.inner,
                src_stride: c.src_inner,
                dst_stride: c.dst_inner,
            });
        }
    }
    lines
}

/// Calls `f` with the offsets of every element of the product of `axes`.
fn walk<'a, F: FnMut((usize, usize))>(
    axes: impl IntoIterator<Item = &'a Axis> + Clone,
    at: (usize, usize),
    f: &mut F,
) {
    let axes: Vec<&Axis> = axes.into_iter().collect();
    walk_all(&axes, at, f);
}

fn walk_all<F: FnMut((usize, usize))>(axes: &[&Axis], at: (usize, usize), f: &mut F) {
    match axes {
        [] => f(at),
        [axis] => axis.each(at, f),
        [axis, rest @ ..] => axis.each(at, &mut |at| walk_all(rest, at, f)),
    }
}

/// Rows: the innermost dimension as plainly as its strides allow.
fn rows<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), outer: &[Axis], inner: &Axis) {
    // One or two short runs a row are strips, as in a halo: a tight loop down the rows keeps many cache misses under
    // way, and the end of a row shares lines with the start of the next.
    match inner.runs()[..] {
        [(a, 1)] => strips::<T, 1, 1>(src, dst, at, outer, [a]),
        [(a, 2)] => strips::<T, 1, 2>(src, dst, at, outer, [a]),
        [(a, 3)] => strips::<T, 1, 3>(src, dst, at, outer, [a]),
        [(a, 4)] => strips::<T, 1, 4>(src, dst, at, outer, [a]),
        [(a, 8)] => strips::<T, 1, 8>(src, dst, at, outer, [a]),
        [(a, 1), (b, 1)] => strips::<T, 2, 1>(src, dst, at, outer, [a, b]),
        [(a, 2), (b, 2)] => strips::<T, 2, 2>(src, dst, at, outer, [a, b]),
        [(a, 3), (b, 3)] => strips::<T, 2, 3>(src, dst, at, outer, [a, b]),
        [(a, 4), (b, 4)] => strips::<T, 2, 4>(src, dst, at, outer, [a, b]),
        [(a, 8), (b, 8)] => strips::<T, 2, 8>(src, dst, at, outer, [a, b]),
        _ if inner.chunks.iter().all(Chunk::is_contiguous) => runs(src, dst, at, outer, inner),
        _ => walk(outer, at, &mut |at| {
            inner.each_run(at, &mut |at, run| strided(src, dst, at, run));
        }),
    }
}

/// Contiguous runs.
fn runs<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), outer: &[Axis], inner: &Axis) {
    let shortest = inner.chunks.iter().map(|c| c.inner).min().unwrap_or(0);
    let all = outer.iter().map(Axis::elements);
    let elements = all.fold(inner.elements(), usize::saturating_mul);
    let bytes = |elements: usize| elements.saturating_mul(size_of::<T>());
    if let Some(mut stream) = Stream::pays(bytes(dst.len()), bytes(elements), bytes(shortest)) {
        walk(outer, at, &mut |at| {
            inner.each_run(at, &mut |at, run| stream.run(src, dst, at, run.inner));
        });
        stream.finish(src, dst);
    } else {
        walk(outer, at, &mut |at| {
            inner.each_run(at, &mut |at, run| contiguous(src, dst, at, run.inner));
        });
    }
}

/// `RUNS` runs of `N` elements a row, at these offsets.
fn strips<T: Copy, const RUNS: usize, const N: usize>(
    src: &[T],
    dst: &mut [T],
    at: (usize, usize),
    outer: &[Axis],
    runs: [(usize, usize); RUNS],
) {
    walk(outer, at, &mut |at| {
        for run in runs {
            let at = (at.0.wrapping_add(run.0), at.1.wrapping_add(run.1));
            small::<T, N>(src, dst, at);
        }
    });
}

#[inline]
fn small<T: Copy, const N: usize>(src: &[T], dst: &mut [T], (s, d): (usize, usize)) {
    if let (Some(from), Some(to)) = (src[s..].first_chunk::<N>(), dst[d..].first_chunk_mut::<N>()) {
        *to = *from;
    }
}

/// A run; a short one without the call of `memcpy`, which costs more than the copy.
#[inline]
fn contiguous<T: Copy>(src: &[T], dst: &mut [T], at: (usize, usize), n: usize) {
    match n {
        1 => dst[at.1] = src[at.0],
        2 => small::<T, 2>(src, dst, at),
        4 => small::<T, 4>(src, dst, at),
        n => dst[at.1..at.1 + n].copy_from_slice(&src[at.0..at.0 + n]),
    }
}

#[inline]
fn strided<T: Copy>(src: &[T], dst: &mut [T], (mut s, mut d): (usize, usize), c: &Chunk) {
    if c.is_contiguous() {
        contiguous(src, dst, (s, d), c.inner);
    } else if c.dst_inner == 1 {
        for to in &mut dst[d..d + c.inner] {
            *to = src[s];
            s = s.wrapping_add(c.src_inner);
        }
    } else if c.src_inner == 1 {
        for from in &src[s..s + c.inner] {
            dst[d] = *from;
            d = d.wrapping_add(c.dst_inner);
        }
    } else {
        for _ in 0..c.inner {
            dst[d] = src[s];
            s = s.wrapping_add(c.src_inner);
            d = d.wrapping_add(c.dst_inner);
        }
    }
}
