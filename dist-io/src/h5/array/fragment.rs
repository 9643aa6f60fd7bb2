//! [`Cut`] and [`Fragments`]: a handle piece by piece, each small enough for memory.

use std::fmt::Display;

use dap_protocol::{DistBuffer, Element, HostArray, HostBuffer, copy_bytes_to_elements};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::AxisDist;

use super::H5Array;
use super::handle::{Handle, once};
use super::pieces::{By, Pieces, Within};
use crate::IoError;

/// How a dimension is cut: the first piece ends where the chunks of the file do, as the others do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) axis: usize,
    size: u64,
    first: u64,
    step: u64,
}

impl Cut {
    /// Cuts the longest dimension so that a part takes no more than `budget` bytes on any rank, but for one index at least.
    fn new(handle: &Handle<'_>, budget: u64) -> Result<Self, IoError> {
        let axis = longest(handle);
        let mut beside = handle.dataset.element.size() as u64;
        for (other, dist) in once(&handle.distribution)?.iter().enumerate() {
            if other != axis {
                let most = (0..dist.ranks()).map(|c| dist.owned_len(c) as u64).max();
                beside = beside.saturating_mul(most.unwrap_or(0).max(1));
            }
        }
        Ok(Self::along(handle, (budget / beside).max(1)))
    }

    /// Cuts the longest dimension so that a rank has no more than so many indices of it, which are 1 or more.
    pub(super) fn along(handle: &Handle<'_>, along: u64) -> Self {
        let axis = longest(handle);
        let size = handle.shape().get(axis).copied().unwrap_or(1);
        let step = match handle.distribution.axes().get(axis) {
            Some(AxisDist::Cyclic {
                ranks, block_size, ..
            }) => match along / block_size {
                0 => along,
                rounds => rounds.saturating_mul(block_size.saturating_mul(*ranks as u64)),
            },
            Some(axis) => along.saturating_mul(axis.ranks() as u64),
            None => 1,
        };
        let (chunk, left_out) = handle.chunk_along(axis);
        let mut cut = Self {
            axis,
            size,
            first: step,
            step,
        };
        if step < size && step >= chunk {
            cut.step = step / chunk * chunk;
            cut.first = cut.step - left_out;
        }
        cut
    }

    /// Whether a piece holds a whole chunk, or everything.
    pub(super) fn holds_a_chunk(&self, handle: &Handle<'_>) -> bool {
        self.step >= self.size || self.step >= handle.chunk_along(self.axis).0
    }

    /// First index and extent of a piece; `None` where there are no more.
    pub(super) fn piece(&self, number: u64) -> Option<(u64, u64)> {
        if self.size == 0 {
            return None;
        }
        let start = match number {
            0 => 0,
            n => (n - 1).checked_mul(self.step)?.checked_add(self.first)?,
        };
        let len = if number == 0 { self.first } else { self.step };
        (start < self.size).then(|| (start, len.min(self.size - start)))
    }

    /// Number of pieces.
    pub(super) fn count(&self) -> u64 {
        match self.size {
            0 => 0,
            size => 1 + size.saturating_sub(self.first).div_ceil(self.step),
        }
    }
}

/// The first of the longest dimensions.
fn longest(handle: &Handle<'_>) -> usize {
    let shape = handle.shape();
    let longest = shape.iter().copied().max().unwrap_or(1);
    shape.iter().position(|&n| n == longest).unwrap_or(0)
}

/// The fragments of an [`H5Array`], see [`H5Array::fragments`].
#[derive(Clone, Debug)]
#[must_use]
pub struct Fragments<'c, T> {
    whole: H5Array<'c, T>,
    cut: Cut,
    next: u64,
    count: u64,
}

impl<'c, T: Element> Iterator for Fragments<'c, T> {
    type Item = Result<(H5Array<'c, T>, Vec<u64>), IoError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.count {
            return None;
        }
        let ndim = self.whole.ndim();
        let mut offsets = vec![0; ndim];
        let fragment = if ndim == 0 {
            Ok(self.whole.clone())
        } else {
            let (start, len) = self.cut.piece(self.next)?;
            offsets[self.cut.axis] = start;
            let fragment = self.whole.handle.fragment(self.cut.axis, start, len);
            fragment.map(H5Array::new)
        };
        self.next = if fragment.is_ok() {
            self.next + 1
        } else {
            self.count // an error is the last
        };
        Some(fragment.map(|fragment| (fragment, offsets)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = usize::try_from(self.count - self.next);
        (left.unwrap_or(usize::MAX), left.ok())
    }
}

impl<'c, T: Element> H5Array<'c, T> {
    /// The array in pieces along its longest dimension, each with the offsets at which it begins. Local; nothing is read.
    ///
    /// The part of a piece takes no more than `budget` bytes on any rank, but has at least one index of that dimension; what a load reads
    /// before it exchanges comes beside it. Pieces end where the chunks of the file do, if the budget holds a chunk. Every rank gets the
    /// same pieces, distributed over the ranks as the array is, but for this: each element is on one rank, without padding, and the
    /// dimension that is cut, and those that are lists, are in blocks unless they were dealt. An array without elements has no pieces, a
    /// scalar is one.
    ///
    /// # Errors
    /// [`IoError::Map`] when there is no such distribution.
    ///
    /// ```
    /// # use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    /// # use dist_comm::{SingleComm, ThreadComm};
    /// # use dist_io::{IoError, WriteMode, open_dset, save_hdf5};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// # let all = DistBuffer::new(DimData::new(vec![DimDict::whole(100)?]), HostArray::new(vec![100], (0..100).collect::<Vec<i64>>())?)?;
    /// # save_hdf5(&path, &all, "n", WriteMode::Replace, &SingleComm::new())?;
    /// ThreadComm::run(2, |comm| {
    ///     let n = open_dset::<i64>(&path, "n", comm)?; // 100 numbers
    ///     let mut starts = Vec::new();
    ///     for fragment in n.fragments(160)? { // 20 numbers a rank
    ///         let (fragment, offsets) = fragment?;
    ///         assert_eq!(fragment.load()?.buffer().data().len(), if offsets == [80] { 10 } else { 20 });
    ///         starts.push(offsets[0]);
    ///     }
    ///     assert_eq!(starts, [0, 40, 80]);
    ///     let largest = n.map_reduce(160, |part| part.data().iter().copied().max().unwrap_or(i64::MIN), i64::max)?;
    ///     assert_eq!(largest, Some(99));
    ///     Ok::<_, IoError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fragments(&self, budget: u64) -> Result<Fragments<'c, T>, IoError> {
        let cut = Cut::new(&self.handle, budget)?;
        let count = match self.ndim() {
            0 => 1,
            _ if self.shape().contains(&0) => 0,
            _ => cut.count(),
        };
        Ok(Fragments {
            whole: self.clone(),
            cut,
            next: 0,
            count,
        })
    }

    /// Loads the array in pieces, as [`fragments`](Self::fragments) are, and calls `f` with each part and the offsets of its piece.
    /// Collective; equal handles and budgets.
    ///
    /// While `f` works on a part, a thread of each rank reads the next one. What is in memory of both, with the slabs that are read
    /// before they are exchanged, is no more than `budget` bytes on any rank, but one index of the dimension at least; messages of
    /// an exchange between processes come beside it, and a chunk for each thread that decodes. Where the budget does not hold two pieces
    /// of a chunk each, and where the library has to find the chunks (more than 1024), a piece is read when it is asked for. What
    /// `f` assigns to the file is seen by the pieces that follow.
    ///
    /// # Errors
    /// As [`load`](Self::load), when the piece is asked for that they belong to; [`IoError::Agreed`], on every rank, when `f` fails on
    /// one: nothing more is loaded then.
    pub fn for_each_fragment<E: Display>(
        &self,
        budget: u64,
        mut f: impl FnMut(DistBuffer<HostArray<T>>, &[u64]) -> Result<(), E>,
    ) -> Result<(), IoError> {
        let comm = self.handle.comm;
        let leaves = std::slice::from_ref(&self.handle);
        let within = Within {
            by: By::Longest,
            budget,
            ahead: true,
        };
        let pieces = Pieces::new(&self.handle, leaves, within, &|_| Ok(0))?;
        pieces.each::<T>(&mut |piece, parts| {
            for part in parts {
                let part = agree(comm, part.into_part())?;
                agree(comm, f(part, &piece.offsets(self.ndim())))?;
            }
            Ok(())
        })
    }

    /// Maps every part of every piece that has elements to a value, and folds the values: those of a rank in the order of its
    /// pieces, then those of the ranks in their order. So `fold` need not be commutative for the result to be the same on every rank
    /// and at any time; but it is given the elements in that order, not in C order, and another budget cuts them otherwise. Each element
    /// is in one part. `None` where there are no elements. Pieces are read ahead as by
    /// [`for_each_fragment`](Self::for_each_fragment). Collective; equal handles and budgets.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn map_reduce<R: Element>(
        &self,
        budget: u64,
        mut map: impl FnMut(&HostArray<T>) -> R,
        mut fold: impl FnMut(R, R) -> R,
    ) -> Result<Option<R>, IoError> {
        let comm = self.handle.comm;
        // of a scalar every rank has a copy
        let counts = self.ndim() > 0 || comm.rank() == 0;
        let mut own: Option<R> = None;
        self.for_each_fragment(budget, |part, _| {
            if counts && !part.buffer().data().is_empty() {
                let value = map(part.buffer());
                own = Some(match own.take() {
                    Some(before) => fold(before, value),
                    None => value,
                });
            }
            Ok::<_, IoError>(())
        })?;
        folded(comm, own, fold)
    }
}

/// The values of all ranks, folded in their order. Collective.
pub(super) fn folded<R: Element>(
    comm: &dyn Communicator,
    own: Option<R>,
    fold: impl FnMut(R, R) -> R,
) -> Result<Option<R>, IoError> {
    let one: Vec<R> = own.into_iter().collect();
    let one = HostArray::new(vec![one.len()], one)?;
    let bytes = one.contiguous_bytes().map_or(&[][..], |(bytes, _)| bytes);
    let all = comm.all_gather_v(bytes)?;
    let mut values = Vec::with_capacity(all.len());
    for bytes in all.iter().filter(|bytes| !bytes.is_empty()) {
        let mut value = [R::default()];
        // a rank of this program sent a value of the type
        copy_bytes_to_elements(bytes, &mut value).map_err(|_| IoError::BufferLength {
            given: bytes.len(),
            allowed: size_of::<R>(),
        })?;
        values.extend(value);
    }
    Ok(values.into_iter().reduce(fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_chunks_do() {
        let cut = Cut {
            axis: 0,
            size: 30,
            first: 5,
            step: 8,
        };
        let pieces: Vec<_> = (0..).map_while(|n| cut.piece(n)).collect();
        assert_eq!(pieces, [(0, 5), (5, 8), (13, 8), (21, 8), (29, 1)]);
        assert_eq!(cut.count(), 5);
        let all = Cut {
            first: 40,
            step: 40,
            ..cut
        };
        assert_eq!(
            (all.count(), all.piece(0), all.piece(1)),
            (1, Some((0, 30)), None)
        );
    }
}
