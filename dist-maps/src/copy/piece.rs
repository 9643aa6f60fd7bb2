//! [`StridedRun`] and [`Piece`]: positions in one dimension on one side, and on both.

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
    pub(super) fn signed_stride(&self) -> Result<isize, CopyError> {
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
