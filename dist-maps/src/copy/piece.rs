//! [`StridedRun`] and [`Piece`]: positions in one dimension, and pairs of them.

use std::ops::Range;

use super::CopyError;

/// Equal runs at equal distances: local positions in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StridedRun {
    /// First position.
    pub start: usize,
    /// Contiguous positions per run.
    pub len: usize,
    /// Number of runs.
    pub count: usize,
    /// Positions from the start of one run to the start of the next.
    pub stride: usize,
}

impl StridedRun {
    /// One contiguous run.
    #[must_use]
    pub const fn range(range: Range<usize>) -> Self {
        let len = range.end.saturating_sub(range.start);
        Self {
            start: range.start,
            len,
            count: 1,
            stride: len,
        }
    }

    /// Number of positions; saturates, which every copy then refuses.
    #[must_use]
    pub const fn elements(&self) -> usize {
        self.len.saturating_mul(self.count)
    }

    /// The positions, in order. They wrap where they exceed the address space, which every copy
    /// refuses.
    pub fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.count).flat_map(move |i| {
            let start = self.start.wrapping_add(i.wrapping_mul(self.stride));
            (0..self.len).map(move |j| start.wrapping_add(j))
        })
    }

    /// The distance of the runs; nothing where there is one.
    fn signed_stride(&self) -> Result<isize, CopyError> {
        let stride = if self.count > 1 { self.stride } else { 0 };
        isize::try_from(stride).map_err(|_| CopyError::Overflow { what: "stride" })
    }

    /// This run on one side, packed positions from `at` on the other.
    pub(super) fn piece(&self, at: usize, run_is_source: bool) -> Result<Piece, CopyError> {
        let stride = self.signed_stride()?;
        let packed = self.len.cast_signed();
        let (src, dst, src_stride, dst_stride) = if run_is_source {
            (self.start, at, stride, packed)
        } else {
            (at, self.start, packed, stride)
        };
        Ok(Piece {
            src,
            dst,
            len: self.len,
            count: self.count,
            src_stride,
            dst_stride,
        })
    }
}

/// Equal runs of one dimension on two sides: where each element comes from and where it goes.
///
/// Element `j` of run `i` is at `src + i * src_stride + j` and at `dst + i * dst_stride + j`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// First position in the source.
    pub src: usize,
    /// First position in the destination.
    pub dst: usize,
    /// Contiguous positions per run, on both sides.
    pub len: usize,
    /// Number of runs.
    pub count: usize,
    /// Positions between run starts in the source; may be negative.
    pub src_stride: isize,
    /// Positions between run starts in the destination; may be negative.
    pub dst_stride: isize,
}

impl Piece {
    /// One run on both sides.
    #[must_use]
    pub const fn single(src: usize, dst: usize, len: usize) -> Self {
        let stride = len.cast_signed();
        Self {
            src,
            dst,
            len,
            count: 1,
            src_stride: stride,
            dst_stride: stride,
        }
    }

    /// Number of positions on either side.
    #[must_use]
    pub const fn elements(&self) -> usize {
        self.len.saturating_mul(self.count)
    }

    /// Pairs of (source, destination) positions, in packed order.
    pub fn positions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.count).flat_map(move |i| {
            let i = i.cast_signed();
            let src = self
                .src
                .wrapping_add_signed(i.wrapping_mul(self.src_stride));
            let dst = self
                .dst
                .wrapping_add_signed(i.wrapping_mul(self.dst_stride));
            (0..self.len).map(move |j| (src.wrapping_add(j), dst.wrapping_add(j)))
        })
    }
}

/// Elements of a list of runs.
pub(super) fn total(runs: &[StridedRun]) -> Result<usize, CopyError> {
    runs.iter()
        .try_fold(0_usize, |sum, run| {
            sum.checked_add(run.len.checked_mul(run.count)?)
        })
        .ok_or(CopyError::Overflow {
            what: "number of elements",
        })
}

/// A cursor over a list of runs: what is left of the current one.
struct Cursor<'a> {
    runs: std::slice::Iter<'a, StridedRun>,
    run: StridedRun,
    done: usize,
}

impl<'a> Cursor<'a> {
    fn new(runs: &'a [StridedRun]) -> Self {
        let mut cursor = Self {
            runs: runs.iter(),
            run: StridedRun::range(0..0),
            done: 0,
        };
        cursor.settle();
        cursor
    }

    fn settle(&mut self) {
        while self.run.len == 0 || self.run.count == 0 {
            self.done = 0;
            match self.runs.next() {
                Some(&run) => self.run = run,
                None => return,
            }
        }
        if self.done == 0 && self.run.stride == self.run.len {
            self.run.len *= self.run.count;
            self.run.count = 1;
            self.run.stride = self.run.len;
        }
    }

    fn ended(&self) -> bool {
        self.run.len == 0 || self.run.count == 0
    }

    fn at(&self) -> usize {
        self.run.start.wrapping_add(self.done)
    }

    fn left(&self) -> usize {
        self.run.len - self.done
    }

    /// Whole runs left, 0 when within one.
    fn whole(&self) -> usize {
        if self.done == 0 { self.run.count } else { 0 }
    }

    /// Skips `n` elements, at most what is left of this run.
    fn skip(&mut self, n: usize) {
        self.done += n;
        if self.done == self.run.len {
            self.skip_runs(1);
        }
    }

    fn skip_runs(&mut self, n: usize) {
        self.done = 0;
        self.run.count -= n;
        self.run.start = self.run.start.wrapping_add(n.wrapping_mul(self.run.stride));
        self.settle();
    }
}

/// Pairs two lists of runs in order; cost by runs, and by repetitions only where the two lists
/// repeat at different lengths.
pub(super) fn pair(
    axis: usize,
    from: &[StridedRun],
    to: &[StridedRun],
) -> Result<Vec<Piece>, CopyError> {
    let (src, dst) = (total(from)?, total(to)?);
    if src != dst {
        return Err(CopyError::Extents { axis, src, dst });
    }
    for run in from.iter().chain(to) {
        run.signed_stride()?;
    }
    let (mut a, mut b) = (Cursor::new(from), Cursor::new(to));
    let mut pieces = Vec::new();
    while !a.ended() && !b.ended() {
        let (src, dst) = (a.at(), b.at());
        if a.run.len == b.run.len && a.whole() > 0 && b.whole() > 0 {
            let count = a.whole().min(b.whole());
            pieces.push(Piece {
                src,
                dst,
                len: a.run.len,
                count,
                src_stride: a.run.stride.cast_signed(),
                dst_stride: b.run.stride.cast_signed(),
            });
            a.skip_runs(count);
            b.skip_runs(count);
        } else if a.whole() > 0 && b.left() / a.run.len > 1 {
            // several runs of the source into one of the destination
            let count = a.whole().min(b.left() / a.run.len);
            let len = a.run.len;
            pieces.push(Piece {
                src,
                dst,
                len,
                count,
                src_stride: a.run.stride.cast_signed(),
                dst_stride: len.cast_signed(),
            });
            a.skip_runs(count);
            b.skip(count * len);
        } else if b.whole() > 0 && a.left() / b.run.len > 1 {
            let count = b.whole().min(a.left() / b.run.len);
            let len = b.run.len;
            pieces.push(Piece {
                src,
                dst,
                len,
                count,
                src_stride: len.cast_signed(),
                dst_stride: b.run.stride.cast_signed(),
            });
            b.skip_runs(count);
            a.skip(count * len);
        } else {
            let len = a.left().min(b.left());
            pieces.push(Piece::single(src, dst, len));
            a.skip(len);
            b.skip(len);
        }
    }
    Ok(pieces)
}
