//! [`Fragments`]: a handle piece by piece, each small enough for memory.

use std::fmt::Display;

use dap_protocol::{DistBuffer, Element, HostArray, HostBuffer, copy_bytes_to_elements};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::AxisDist;

use super::H5Array;
use super::handle::Handle;
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
    /// Cuts the longest dimension so that a piece takes no more than `budget` bytes on any rank, but for one index at least.
    pub(super) fn new(handle: &Handle<'_>, item: usize, budget: u64) -> Self {
        let shape = handle.shape();
        let longest = shape.iter().copied().max().unwrap_or(1);
        let axis = shape.iter().position(|&n| n == longest).unwrap_or(0);
        let mut beside = item as u64;
        for (other, dist) in handle.distribution.axes().iter().enumerate() {
            if other != axis {
                let most = (0..dist.ranks()).map(|c| dist.stored_len(c) as u64).max();
                beside = beside.saturating_mul(most.unwrap_or(0).max(1));
            }
        }
        let along = (budget / beside).max(1);
        let size = shape.get(axis).copied().unwrap_or(1);
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
    /// A piece takes no more than `budget` bytes on any rank, but has at least one index of that dimension; what a load exchanges comes
    /// beside it. Pieces end where the chunks of the file do, if the budget holds a chunk. Every rank gets the same pieces, distributed
    /// over the ranks as the array is: dealt axes stay dealt, others are cut into blocks, without padding. An array without elements has no
    /// pieces, a scalar is one.
    ///
    /// # Errors
    /// None of its own; each piece is a `Result` because it is a slice.
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
    ///     for fragment in n.fragments(160) { // 20 numbers a rank
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
    pub fn fragments(&self, budget: u64) -> Fragments<'c, T> {
        let cut = Cut::new(&self.handle, size_of::<T>(), budget);
        let count = match self.ndim() {
            0 => 1,
            _ if self.shape().contains(&0) => 0,
            _ => cut.count(),
        };
        Fragments {
            whole: self.clone(),
            cut,
            next: 0,
            count,
        }
    }

    /// Loads the [`fragments`](Self::fragments) one after the other and calls `f` with each part and the offsets of its fragment.
    /// Collective; equal handles and budgets.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`IoError::Agreed`], on every rank, when `f` fails on one: nothing more is loaded then.
    pub fn for_each_fragment<E: Display>(
        &self,
        budget: u64,
        mut f: impl FnMut(DistBuffer<HostArray<T>>, &[u64]) -> Result<(), E>,
    ) -> Result<(), IoError> {
        let comm = self.handle.comm;
        self.same_budget(budget)?;
        for fragment in self.fragments(budget) {
            let (fragment, offsets) = fragment?;
            let part = fragment.load()?;
            agree(comm, f(part, &offsets))?;
        }
        Ok(())
    }

    /// Maps every part of every fragment that has elements to a value, and folds the values: those of a rank in the order of its
    /// fragments, then those of the ranks in their order, so that the result does not depend on timing and is the same on every rank; `None`
    /// where there are no elements. Collective; equal handles and budgets.
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
        self.same_budget(budget)?;
        let mut own: Option<R> = None;
        for fragment in self.fragments(budget) {
            let part = fragment?.0.load()?;
            // of a scalar every rank has a copy
            let counts = self.ndim() > 0 || comm.rank() == 0;
            if counts && !part.buffer().data().is_empty() {
                let value = map(part.buffer());
                own = Some(match own.take() {
                    Some(before) => fold(before, value),
                    None => value,
                });
            }
        }
        folded(comm, own, fold)
    }

    /// Checks that all ranks cut alike. Collective.
    fn same_budget(&self, budget: u64) -> Result<(), IoError> {
        crate::h5::together::same(
            self.handle.comm,
            &[("budget", budget.to_string().as_bytes())],
        )
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
