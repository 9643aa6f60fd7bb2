//! Typed forms of the collective calls: [`CommExt`].

use bytemuck::Pod;

use crate::memory::ASK_ABOVE;
use crate::reduce::{Fold, fold_bytes};
use crate::{CommError, Communicator, Operation, ReduceOp, Reducible, Reduction};

/// Collective calls on plain values instead of bytes; for every [`Communicator`], `dyn Communicator` included.
///
/// ```
/// use dist_comm::{CommExt, Communicator, ReduceOp, ThreadComm};
///
/// let sums = ThreadComm::run(4, |comm| {
///     let mine = comm.rank() as u64 + 1;
///     comm.all_reduce_value(mine, ReduceOp::Sum)
/// })?;
/// assert_eq!(sums, [10, 10, 10, 10]);
/// # Ok::<(), dist_comm::RunError<dist_comm::CommError>>(())
/// ```
pub trait CommExt: Communicator {
    /// Reduces one value of each rank; the result is the same on all, folded from the left in rank order. Collective; equal
    /// types, equal operations.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`]; [`CommError::Reductions`] when types or operations differ, and
    /// [`CommError::Reduction`] when the type does not have the operation.
    fn all_reduce_value<T: Reducible>(&self, value: T, op: ReduceOp) -> Result<T, CommError> {
        let mut wire = value.into_wire();
        reduce::<T>(self, std::slice::from_mut(&mut wire), op)?;
        Ok(T::from_wire(wire))
    }

    /// Reduces slices element by element; each rank's `values` becomes the result. Collective; equal lengths.
    ///
    /// # Errors
    /// As [`all_reduce_value`](Self::all_reduce_value), and when lengths differ.
    fn all_reduce_slice<T: Reducible<Wire = T> + Pod>(
        &self,
        values: &mut [T],
        op: ReduceOp,
    ) -> Result<(), CommError> {
        reduce::<T>(self, values, op)
    }

    /// As [`all_reduce_slice`](Self::all_reduce_slice) with the caller's own fold of `next` into `acc`. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_reduce`].
    fn all_reduce_with<T: Pod>(
        &self,
        values: &mut [T],
        fold: impl Fn(&mut T, &T) + Sync,
    ) -> Result<(), CommError> {
        self.all_reduce(
            bytemuck::cast_slice_mut(values),
            Reduction::own(size_of::<T>()),
            &|acc, next| fold_bytes(acc, next, &fold),
        )
    }

    /// The value of rank `root`, on every rank. Collective.
    ///
    /// # Errors
    /// As [`Communicator::broadcast`].
    fn broadcast_value<T: Pod>(&self, root: usize, value: T) -> Result<T, CommError> {
        let mut value = value;
        self.broadcast(root, bytemuck::bytes_of_mut(&mut value))?;
        Ok(value)
    }

    /// Copies `values` of rank `root` to those of every other rank. Collective; equal lengths.
    ///
    /// # Errors
    /// As [`Communicator::broadcast`].
    fn broadcast_slice<T: Pod>(&self, root: usize, values: &mut [T]) -> Result<(), CommError> {
        self.broadcast(root, bytemuck::cast_slice_mut(values))
    }

    /// The bytes of rank `root`, on every rank, which need not know their number. Collective; others give anything.
    ///
    /// # Errors
    /// As [`Communicator::broadcast`], and [`CommError::Allocation`], on all ranks, when one cannot have the memory.
    fn broadcast_vec(&self, root: usize, bytes: Vec<u8>) -> Result<Vec<u8>, CommError> {
        let wanted = self.broadcast_value(root, bytes.len() as u64)?;
        let len = usize::try_from(wanted).unwrap_or(usize::MAX);
        let mut bytes = bytes;
        let mut has_memory = true;
        if self.rank() != root {
            bytes.clear();
            has_memory = bytes.try_reserve_exact(len).is_ok();
        }
        if len > ASK_ABOVE {
            let all = self.all_gather_value(u8::from(has_memory))?;
            if let Some(rank) = all.iter().position(|&has_memory| has_memory == 0) {
                return Err(CommError::Allocation {
                    operation: Operation::Broadcast,
                    rank,
                    bytes: wanted,
                });
            }
        }
        bytes.resize(len, 0);
        self.broadcast(root, &mut bytes)?;
        Ok(bytes)
    }

    /// One value of each rank, by rank. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_gather`].
    fn all_gather_value<T: Pod>(&self, value: T) -> Result<Vec<T>, CommError> {
        let mut all = vec![T::zeroed(); self.size()];
        self.all_gather(
            bytemuck::bytes_of(&value),
            bytemuck::cast_slice_mut(&mut all),
        )?;
        Ok(all)
    }

    /// The slices of all ranks, of any lengths, by rank. Collective.
    ///
    /// # Errors
    /// As [`Communicator::all_gather_v`], and [`CommError::Length`] when a rank gave a part of an element.
    fn all_gather_slice<T: Pod>(&self, values: &[T]) -> Result<Vec<Vec<T>>, CommError> {
        let parts = self.all_gather_v(bytemuck::cast_slice(values))?;
        elements_of_ranks(&parts, Operation::AllGatherV)
    }

    /// The slices of all ranks, of any lengths, by rank, on rank `root`; `None` elsewhere. Collective.
    ///
    /// # Errors
    /// As [`Communicator::gather_v`], and [`CommError::Length`], on `root` alone, when a rank gave a part of an element.
    fn gather_slice<T: Pod>(
        &self,
        root: usize,
        values: &[T],
    ) -> Result<Option<Vec<Vec<T>>>, CommError> {
        let parts = self.gather_v(root, bytemuck::cast_slice(values))?;
        parts
            .map(|parts| elements_of_ranks(&parts, Operation::GatherV))
            .transpose()
    }

    /// Sends `values[r]` to each rank `r`; the result is by sender. Collective; one entry per rank.
    ///
    /// # Errors
    /// As [`Communicator::all_to_all_v`], and [`CommError::Length`], on the receiver alone, when a rank gave a part of an
    /// element.
    fn all_to_all_slice<T: Pod>(&self, values: &[&[T]]) -> Result<Vec<Vec<T>>, CommError> {
        let bytes: Vec<&[u8]> = values
            .iter()
            .map(|part| bytemuck::cast_slice(part))
            .collect();
        elements_of_ranks(&self.all_to_all_v(&bytes)?, Operation::AllToAllV)
    }
}

impl<C: Communicator + ?Sized> CommExt for C {}

/// A rank whose type does not have the operation meets the others all the same, so that they do not wait for it.
fn reduce<T: Reducible>(
    comm: &(impl Communicator + ?Sized),
    values: &mut [T::Wire],
    op: ReduceOp,
) -> Result<(), CommError> {
    let (fold, lacks): (Fold<T::Wire>, _) = match T::folder(op) {
        Ok(fold) => (fold, Ok(())),
        Err(error) => (|_, _| (), Err(error)),
    };
    let reduction = Reduction::of::<T>(op);
    let fold = |acc: &mut [u8], next: &[u8]| fold_bytes(acc, next, &fold);
    if lacks.is_ok() {
        return comm.all_reduce(bytemuck::cast_slice_mut(values), reduction, &fold);
    }
    // The values stay as they are.
    comm.all_reduce(&mut bytemuck::cast_slice(values).to_vec(), reduction, &fold)?;
    lacks
}

fn elements_of_ranks<T: Pod>(
    parts: &[Vec<u8>],
    operation: Operation,
) -> Result<Vec<Vec<T>>, CommError> {
    let width = size_of::<T>();
    let elements = |(rank, bytes): (usize, &Vec<u8>)| {
        if bytes.len().checked_rem(width).unwrap_or(0) != 0 {
            return Err(CommError::Length {
                operation,
                rank,
                what: "a length in bytes of",
                given: bytes.len() as u64,
                allowed: (bytes.len() / width * width) as u64,
            });
        }
        let mut elements = vec![T::zeroed(); bytes.len().checked_div(width).unwrap_or(0)];
        bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
        Ok(elements)
    };
    parts.iter().enumerate().map(elements).collect()
}
