//! Reductions over all ranks: sum, mean, min, max. Owned elements only, each global index once.
//!
//! The order is fixed, so two runs give the same bits: each rank takes its owned elements in C order by pairwise summation
//! (blocks of 128 elements, eight partial sums each, blocks two by two), then the ranks' sums are added in order of rank.

use bytemuck::{NoUninit, Pod};
use dist_comm::{CommExt, Communicator};
use ndarray::{Data, Dimension};

use crate::pairwise::Pairwise;
use crate::{Accumulator, ArrayError, LocalArrayBase, Ordered, Summable};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator,
{
    /// The sum of all elements of the array, the same bits on every rank. Collective.
    ///
    /// `bool` counts in `u64`, integers add up in 64 bits and wrap, halves in `f32` (see [`Summable`]). NaN propagates. The
    /// sum of no element is zero. Padding does not count, and an index that lies on several ranks counts once.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let sums = ThreadComm::run(4, |comm| {
    ///     let blocks = Distribution::over(4).shape([30, 40]).block(0).block(1).padding(2).build()?;
    ///     LocalArray::<i16, Ix2, _>::full(&blocks, 30_000, comm)?.sum()
    /// })?;
    /// assert_eq!(sums, [36_000_000_i64; 4]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn sum(&self) -> Result<<S::Elem as Summable>::Sum, ArrayError>
    where
        S::Elem: Summable,
    {
        Ok(S::Elem::sum_of(self.sum_all(S::Elem::to_acc)?))
    }

    /// The mean of all elements; `f64` for integers and `bool`. Collective. NaN for an array without elements.
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn mean(&self) -> Result<<S::Elem as Summable>::Mean, ArrayError>
    where
        S::Elem: Summable,
    {
        let sum = self.sum_all(S::Elem::to_mean_acc)?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a mean is no more exact than its count as a float"
        )]
        let count = self.counted_size()? as f64;
        Ok(S::Elem::mean_of(sum, count))
    }

    /// The least element; NaN where there is one. Collective.
    ///
    /// # Errors
    /// [`ArrayError::Empty`] where no rank owns an element, the same on every rank; [`ArrayError::Comm`].
    pub fn min(&self) -> Result<S::Elem, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.extreme("min", Ordered::lesser)
    }

    /// The greatest element; NaN where there is one. Collective.
    ///
    /// # Errors
    /// As [`min`](Self::min).
    pub fn max(&self) -> Result<S::Elem, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.extreme("max", Ordered::greater)
    }

    fn sum_all<A: Accumulator>(
        &self,
        convert: impl Fn(S::Elem) -> A + Copy,
    ) -> Result<A, ArrayError>
    where
        S::Elem: Copy,
    {
        let mut pairwise = Pairwise::new();
        self.part
            .counted(self.data.view(), |run| pairwise.feed(run, convert));
        let mut sum = [pairwise.finish()];
        self.comm
            .all_reduce_with(&mut sum, |acc, next: &A| *acc = acc.add(*next))?;
        Ok(sum[0])
    }

    /// How many elements count: the global size, unless unstructured lists leave some out. Collective in that case only,
    /// which every rank sees in the same metadata.
    fn counted_size(&self) -> Result<u128, ArrayError> {
        if !self
            .distribution()
            .axes()
            .iter()
            .any(|axis| axis.kind() == "u")
        {
            return Ok(self.global_size());
        }
        let all = self.comm.all_gather_value(self.part.count())?;
        Ok(all.into_iter().map(u128::from).sum())
    }

    fn extreme(
        &self,
        operation: &'static str,
        better: impl Fn(S::Elem, S::Elem) -> S::Elem + Copy,
    ) -> Result<S::Elem, ArrayError>
    where
        S::Elem: Ordered,
    {
        let mut found: Option<S::Elem> = None;
        self.part.counted(self.data.view(), |run| {
            if let Some(best) = best_of(run, better) {
                found = Some(found.map_or(best, |found| better(found, best)));
            }
        });
        let mut all = vec![Candidate::NONE; self.comm.size()];
        self.comm.all_gather(
            bytemuck::bytes_of(&found.map_or(Candidate::NONE, Candidate::of)),
            bytemuck::cast_slice_mut(&mut all),
        )?;
        let best = all.iter().filter_map(Candidate::get).reduce(better);
        best.ok_or_else(|| ArrayError::Empty {
            operation,
            shape: self.global_shape().to_vec(),
        })
    }
}

/// One rank's least or greatest element on its way to the others: its bytes, behind a flag.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Candidate {
    there: [u8; 8],
    bytes: [u8; 16],
}

impl Candidate {
    const NONE: Self = Self {
        there: [0; 8],
        bytes: [0; 16],
    };

    fn of<T: NoUninit>(value: T) -> Self {
        let mut candidate = Self {
            there: [1; 8],
            bytes: [0; 16],
        };
        candidate.bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
        candidate
    }

    fn get<T: bytemuck::CheckedBitPattern>(&self) -> Option<T> {
        (self.there[0] != 0)
            .then(|| bytemuck::checked::try_pod_read_unaligned(&self.bytes[..size_of::<T>()]).ok())
            .flatten()
    }
}

/// The best of a run, by independent comparisons.
fn best_of<T: Copy>(run: &[T], better: impl Fn(T, T) -> T) -> Option<T> {
    const LANES: usize = 8;
    let rows = run.chunks_exact(LANES);
    let tail = rows.remainder().iter().copied();
    let mut lanes: Option<[T; LANES]> = None;
    for row in rows {
        match &mut lanes {
            Some(lanes) => {
                for (lane, &element) in lanes.iter_mut().zip(row) {
                    *lane = better(*lane, element);
                }
            }
            None => lanes = row.try_into().ok(),
        }
    }
    lanes.into_iter().flatten().chain(tail).reduce(better)
}

const _: () = {
    // A candidate travels as bytes and holds any element.
    const fn is_pod<T: Pod>() {}
    is_pod::<Candidate>();
    assert!(size_of::<num_complex::Complex64>() <= 16);
};
