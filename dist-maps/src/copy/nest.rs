//! [`Nest`]: the loops of all dimensions, checked, fused and in order.

use super::axis::{Axis, Line};
use super::span::Span;
use super::{CopyError, rows, transpose};

/// A product of loops, one per dimension, that fits two slices; the outermost first.
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    axes: Vec<Axis>,
    /// The origins.
    at: (usize, usize),
}

impl Nest {
    /// Checks that the product of `axes` lies inside two slices, of which `src` and `dst` are the origin and the length, and
    /// arranges it for a fast copy.
    ///
    /// # Errors
    /// [`CopyError::OutOfBounds`].
    pub(crate) fn fit(
        axes: Vec<Axis>,
        src: (usize, usize),
        dst: (usize, usize),
    ) -> Result<Self, CopyError> {
        Span::check("source", axes.iter().map(|axis| axis.src), src)?;
        Span::check("destination", axes.iter().map(|axis| axis.dst), dst)?;
        let at = (src.0, dst.0);
        let mut nest = Self { axes, at };
        nest.fuse();
        nest.order();
        Ok(nest)
    }

    fn is_empty(&self) -> bool {
        self.axes.iter().any(Axis::is_empty)
    }

    /// Drops loops of one element, and fuses plain loops into the dimensions that they continue.
    fn fuse(&mut self) {
        let (src, dst) = &mut self.at;
        self.axes.retain(|axis| match axis.as_line() {
            Some(one) if one.len == 1 => {
                *src = src.wrapping_add(one.src);
                *dst = dst.wrapping_add(one.dst);
                false
            }
            _ => true,
        });
        while self.fuse_one() {}
    }

    /// Fuses one plain loop, if there is one that fits.
    fn fuse_one(&mut self) -> bool {
        let fused = (0..self.axes.len()).rev().find(|&plain| {
            let Some(line) = self.axes[plain].as_line() else {
                return false;
            };
            let mut hosts = self.axes.iter_mut().enumerate();
            hosts.any(|(host, axis)| host != plain && axis.absorb(&line))
        });
        fused.map(|plain| self.axes.remove(plain)).is_some()
    }

    /// Outermost first: far apart in the destination; innermost: nearest in the destination, and in
    /// the source where that is a tie.
    fn order(&mut self) {
        self.axes.sort_by_key(|axis| {
            let (src, dst) = axis.distances();
            std::cmp::Reverse((dst, src))
        });
    }

    /// Copies, between the slices that were checked.
    pub(crate) fn run<T: Copy>(&self, src: &[T], dst: &mut [T]) {
        if self.is_empty() {
            return;
        }
        let Some((inner, outer)) = self.axes.split_last() else {
            dst[self.at.1] = src[self.at.0];
            return;
        };
        let mut outer: Vec<&Axis> = outer.iter().collect();
        match nearer_in_source(&outer, inner) {
            None => rows::run(src, dst, self.at, &outer, inner),
            Some(x) => {
                let x: Vec<Line> = outer.remove(x).lines().collect();
                let y: Vec<Line> = inner.lines().collect();
                walk(&outer, self.at, &mut |at| {
                    transpose::run(src, dst, at, &x, &y);
                });
            }
        }
    }
}

/// The dimension that is nearest in the source, where it is not the innermost one: then rows of one
/// side are columns of the other.
fn nearer_in_source(outer: &[&Axis], inner: &Axis) -> Option<usize> {
    let distance = |axis: &Axis| axis.distances().0;
    let (x, axis) = outer
        .iter()
        .enumerate()
        .min_by_key(|(_, axis)| distance(axis))?;
    (distance(axis) < distance(inner)).then_some(x)
}

/// Calls `f` with the offsets of every element of the product of `axes`.
pub(super) fn walk<F: FnMut((usize, usize))>(axes: &[&Axis], at: (usize, usize), f: &mut F) {
    match axes {
        [] => f(at),
        [axis] => axis.each(at, f),
        [axis, rest @ ..] => axis.each(at, &mut |at| walk(rest, at, f)),
    }
}
