//! The loops of one dimension: [`Line`], [`Axis`].
//!
//! Offsets and strides count elements; they are two's complement in `usize`, added with wrapping, and used only once
//! [`Nest::fit`](super::nest::Nest::fit) has seen that all of them lie inside the slices.

use super::span::Span;
use super::{CopyError, Piece};

/// A plain loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) src: usize,
    pub(super) dst: usize,
    /// At least 1.
    pub(super) len: usize,
    pub(super) src_stride: usize,
    pub(super) dst_stride: usize,
}

impl Line {
    /// `len` elements of it, the first being the one at `from`.
    pub(super) fn part(&self, from: usize, len: usize) -> Self {
        Self {
            src: self.src.wrapping_add(from.wrapping_mul(self.src_stride)),
            dst: self.dst.wrapping_add(from.wrapping_mul(self.dst_stride)),
            len,
            ..*self
        }
    }

    /// Parts of `by` elements, the last one of what is left.
    pub(super) fn parts(self, by: usize) -> impl Iterator<Item = Self> {
        let starts = (0..self.len).step_by(by);
        starts.map(move |from| self.part(from, by.min(self.len - from)))
    }

    /// The same line from other offsets on.
    #[inline]
    fn moved(&self, (src, dst): (usize, usize)) -> Self {
        Self {
            src: self.src.wrapping_add(src),
            dst: self.dst.wrapping_add(dst),
            ..*self
        }
    }

    pub(super) fn is_contiguous(&self) -> bool {
        self.src_stride == 1 && self.dst_stride == 1
    }

    /// A line that goes down on both sides, the other way round.
    fn upwards(self) -> Self {
        if self.src_stride.cast_signed() >= 0 || self.dst_stride.cast_signed() >= 0 {
            return self;
        }
        Self {
            src_stride: self.src_stride.wrapping_neg(),
            dst_stride: self.dst_stride.wrapping_neg(),
            ..self.part(self.len - 1, self.len)
        }
    }
}

/// Equal lines at equal distances.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    line: Line,
    /// At least 1.
    count: usize,
    src_stride: usize,
    dst_stride: usize,
}

impl Chunk {
    fn lines(&self) -> impl Iterator<Item = Line> {
        let at = |i: usize| {
            (
                i.wrapping_mul(self.src_stride),
                i.wrapping_mul(self.dst_stride),
            )
        };
        (0..self.count).map(move |i| self.line.moved(at(i)))
    }
}

/// One side of `count` runs of `len` elements, in elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The first element.
    pub(crate) offset: i128,
    /// From run to run; anything where there is one.
    pub(crate) run_stride: isize,
    /// From element to element of a run.
    pub(crate) stride: isize,
}

impl Side {
    /// Runs from position `at` on, `run_stride` positions apart where there are several, of positions that lie `stride`
    /// elements apart.
    ///
    /// # Errors
    /// [`CopyError::Overflow`] when the distance of the runs exceeds the address space.
    pub(super) fn new(
        at: usize,
        run_stride: isize,
        count: usize,
        stride: isize,
    ) -> Result<Self, CopyError> {
        let run_stride = if count > 1 { run_stride } else { 0 };
        Ok(Self {
            offset: at as i128 * stride as i128,
            run_stride: run_stride
                .checked_mul(stride)
                .ok_or(CopyError::Overflow { what: "position" })?,
            stride,
        })
    }
}

/// The loops of one dimension, one after another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Axis {
    chunks: Vec<Chunk>,
    pub(super) src: Span,
    pub(super) dst: Span,
}

impl Axis {
    /// Adds a piece whose neighbours are `src` and `dst` elements apart on the two sides.
    ///
    /// # Errors
    /// [`CopyError::Overflow`] when an offset exceeds the address space.
    pub(crate) fn push(&mut self, piece: &Piece, src: isize, dst: isize) -> Result<(), CopyError> {
        if piece.elements() == 0 {
            return Ok(());
        }
        let src = Side::new(piece.src, piece.src_stride, piece.count, src)?;
        let dst = Side::new(piece.dst, piece.dst_stride, piece.count, dst)?;
        self.push_runs(src, dst, piece.len, piece.count)
    }

    /// Adds `count` runs of `len` elements.
    ///
    /// # Errors
    /// [`CopyError::Overflow`] when an offset exceeds the address space.
    pub(crate) fn push_runs(
        &mut self,
        src: Side,
        dst: Side,
        len: usize,
        count: usize,
    ) -> Result<(), CopyError> {
        if len == 0 || count == 0 {
            return Ok(());
        }
        self.src.cover(&src, len, count)?;
        self.dst.cover(&dst, len, count)?;
        let continues = |side: &Side| {
            let length = isize::try_from(len).ok();
            length.and_then(|len| side.stride.checked_mul(len)) == Some(side.run_stride)
        };
        let line = |len, src_stride: isize, dst_stride: isize| {
            let line = Line {
                src: wrap(src.offset),
                dst: wrap(dst.offset),
                len,
                src_stride: src_stride.cast_unsigned(),
                dst_stride: dst_stride.cast_unsigned(),
            };
            line.upwards()
        };
        // One loop where two are not needed.
        let (line, count) = if len == 1 {
            (line(count, src.run_stride, dst.run_stride), 1)
        } else if count > 1 && continues(&src) && continues(&dst) {
            let fused = len.checked_mul(count).ok_or(CopyError::Overflow {
                what: "number of elements",
            })?;
            (line(fused, src.stride, dst.stride), 1)
        } else {
            (line(len, src.stride, dst.stride), count)
        };
        self.chunks.push(Chunk {
            line,
            count,
            src_stride: src.run_stride.cast_unsigned(),
            dst_stride: dst.run_stride.cast_unsigned(),
        });
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The one line that this dimension is.
    pub(super) fn as_line(&self) -> Option<Line> {
        match self.chunks[..] {
            [chunk] if chunk.count == 1 => Some(chunk.line),
            _ => None,
        }
    }

    /// Whether every line is a run on both sides.
    pub(super) fn is_contiguous(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.line.is_contiguous())
    }

    /// How far apart neighbours are on the two sides, in the longest line.
    pub(super) fn distances(&self) -> (usize, usize) {
        let longest = self.chunks.iter().max_by_key(|chunk| chunk.line.len);
        let distance = |stride: usize| stride.cast_signed().unsigned_abs();
        longest.map_or((0, 0), |chunk| {
            (
                distance(chunk.line.src_stride),
                distance(chunk.line.dst_stride),
            )
        })
    }

    /// Elements of the shortest line.
    pub(super) fn shortest(&self) -> usize {
        let lens = self.chunks.iter().map(|chunk| chunk.line.len);
        lens.min().unwrap_or(0)
    }

    /// Number of elements; saturates.
    pub(super) fn elements(&self) -> usize {
        let lens = self.chunks.iter();
        lens.map(|chunk| chunk.count.saturating_mul(chunk.line.len))
            .fold(0, usize::saturating_add)
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Line> {
        self.chunks.iter().flat_map(Chunk::lines)
    }

    /// The first contiguous runs, three at most; single elements where a line has a stride.
    pub(super) fn first_runs(&self) -> Vec<Line> {
        let runs = |line: Line| line.parts(if line.is_contiguous() { line.len } else { 1 });
        self.lines().flat_map(runs).take(3).collect()
    }

    /// Calls `f` with every line, moved by `at`.
    #[inline]
    pub(super) fn each_line(&self, at: (usize, usize), f: &mut impl FnMut(&Line)) {
        for chunk in &self.chunks {
            let mut line = chunk.line.moved(at);
            for _ in 0..chunk.count {
                f(&line);
                line = line.moved((chunk.src_stride, chunk.dst_stride));
            }
        }
    }

    /// Calls `f` with the offsets of every element, moved by `at`.
    #[inline]
    pub(super) fn each(&self, at: (usize, usize), f: &mut impl FnMut((usize, usize))) {
        self.each_line(at, &mut |line| {
            let mut at = (line.src, line.dst);
            for _ in 0..line.len {
                f(at);
                at.0 = at.0.wrapping_add(line.src_stride);
                at.1 = at.1.wrapping_add(line.dst_stride);
            }
        });
    }

    /// Fuses a line of another dimension into the lines here, where these continue it; else changes nothing and says so.
    pub(super) fn absorb(&mut self, other: &Line) -> bool {
        let (src_step, dst_step) = (
            other.len.wrapping_mul(other.src_stride),
            other.len.wrapping_mul(other.dst_stride),
        );
        let fits = |line: &Line| {
            let continues = line.src_stride == src_step && line.dst_stride == dst_step;
            (line.len == 1 || continues) && line.len.checked_mul(other.len).is_some()
        };
        if !self.chunks.iter().all(|chunk| fits(&chunk.line)) {
            return false;
        }
        for Chunk { line, .. } in &mut self.chunks {
            *line = Line {
                len: line.len * other.len,
                ..other.moved((line.src, line.dst))
            };
        }
        true
    }
}

#[expect(
    clippy::cast_sign_loss,
    reason = "offsets are checked against the slices before use; here they only need to wrap"
)]
fn wrap(offset: i128) -> usize {
    offset as usize
}
