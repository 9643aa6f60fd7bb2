//! Two lists of runs side by side: which element of one goes where in the other.

use super::CopyError;
use super::piece::{Piece, StridedRun, total};

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
