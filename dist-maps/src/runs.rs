//! [`Run`]: indices that are contiguous on both sides, and the iterators that yield them.

use crate::GlobalIndex;

/// `len` elements, contiguous from `global` in the dimension and from `local` in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// First global index.
    pub global: i64,
    /// First local position.
    pub local: usize,
    /// Number of elements.
    pub len: usize,
}

/// The runs of one rank's part of a dimension, in local order, none empty and none mergeable with
/// the next.
#[derive(Clone, Debug)]
pub struct Runs<'a>(Source<'a>);

#[derive(Clone, Debug)]
enum Source<'a> {
    /// Runs of `block` at a distance of `stride`, the last one cut off at `len` elements in all.
    Regular {
        global: i64,
        stride: i64,
        block: usize,
        local: usize,
        len: usize,
    },
    List {
        indices: &'a [i64],
        local: usize,
    },
}

impl<'a> Runs<'a> {
    /// `len` elements from `global` on.
    pub(crate) fn one(global: i64, len: usize) -> Self {
        Self::regular(global, 0, len, len)
    }

    /// Blocks of `block` elements, their starts `stride` apart, `len` elements in all.
    pub(crate) fn regular(global: i64, stride: i64, block: usize, len: usize) -> Self {
        Self(Source::Regular {
            global,
            stride,
            block,
            local: 0,
            len,
        })
    }

    /// Explicit indices, in local order.
    pub(crate) fn list(indices: &'a [i64]) -> Self {
        Self(Source::List { indices, local: 0 })
    }
}

impl Iterator for Runs<'_> {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        match &mut self.0 {
            Source::Regular {
                global,
                stride,
                block,
                local,
                len,
            } => {
                let left = *len - *local;
                if left == 0 {
                    return None;
                }
                let run = Run {
                    global: *global,
                    local: *local,
                    len: left.min(*block),
                };
                *local += run.len;
                // beyond the last run this may leave the range of the dimension, but is not used
                *global = global.saturating_add(*stride);
                Some(run)
            }
            Source::List { indices, local } => {
                let rest = &indices[*local..];
                let &global = rest.first()?;
                let breaks = rest
                    .windows(2)
                    .position(|pair| pair[0].checked_add(1) != Some(pair[1]));
                let run = Run {
                    global,
                    local: *local,
                    len: breaks.map_or(rest.len(), |at| at + 1),
                };
                *local += run.len;
                Some(run)
            }
        }
    }
}

impl std::iter::FusedIterator for Runs<'_> {}

/// The global indices of one rank's part of a dimension, in local order.
#[derive(Clone, Debug)]
pub struct GlobalIter<'a> {
    runs: Runs<'a>,
    next: i64,
    left: usize,
    total: usize,
}

impl<'a> GlobalIter<'a> {
    pub(crate) fn new(runs: Runs<'a>, total: usize) -> Self {
        Self {
            runs,
            next: 0,
            left: 0,
            total,
        }
    }
}

impl Iterator for GlobalIter<'_> {
    type Item = GlobalIndex;

    fn next(&mut self) -> Option<GlobalIndex> {
        if self.left == 0 {
            let run = self.runs.next()?;
            self.next = run.global;
            self.left = run.len;
        }
        let index = self.next;
        self.next = self.next.wrapping_add(1); // wraps only after the last index of a run
        self.left -= 1;
        self.total -= 1;
        Some(GlobalIndex::new(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.total, Some(self.total))
    }
}

impl ExactSizeIterator for GlobalIter<'_> {}
impl std::iter::FusedIterator for GlobalIter<'_> {}
