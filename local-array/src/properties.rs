//! What an array says of its elements and their distribution, and [`sync`](LocalArrayBase::sync).

use dap_protocol::{Element, ElementType};
use dist_comm::Communicator;
use ndarray::{Array, DataMut, Dimension, RawData};

use crate::{ArrayError, LocalArray, LocalArrayBase};

impl<S: RawData, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// One letter per dimension, as `DistArray` has them: `b` block, `c` cyclic, `u` unstructured, `n` not distributed (one
    /// rank has all of it, in order). Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let columns = Distribution::over(2).shape([4, 6]).cyclic(1).build()?;
    ///     let a = LocalArray::<f32, Ix2, _>::zeros(&columns, comm)?;
    ///     assert_eq!(a.dist(), "nc");
    ///     assert_eq!((a.dtype().to_string(), a.itemsize(), a.nbytes()), ("f32".to_owned(), 4, 96)); // 4 · 6 · 4
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[must_use]
    pub fn dist(&self) -> String {
        let letter = |axis: &dist_maps::AxisDist| if axis.is_whole() { "n" } else { axis.kind() };
        self.distribution().axes().iter().map(letter).collect()
    }

    /// A hash of which elements lie on which rank in which order; the same for compatible arrays, on every rank, platform and
    /// run. Padding does not count. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = |padding| Distribution::over(2).shape([9]).block(0).padding(padding).build();
    ///     let a = LocalArray::<u8, Ix1, _>::zeros(&blocks(0)?, comm)?;
    ///     let b = LocalArray::<f64, Ix1, _>::zeros(&blocks(1)?, comm)?;
    ///     let c = LocalArray::<u8, Ix1, _>::arange(0, 9, 1, "c", comm)?;
    ///     assert_eq!(a.compatibility_hash(), b.compatibility_hash());
    ///     assert_ne!(a.compatibility_hash(), c.compatibility_hash());
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[must_use]
    pub fn compatibility_hash(&self) -> u64 {
        self.distribution().compatibility_hash()
    }

    /// Type of the elements. Local. Example: see [`dist`](Self::dist).
    #[must_use]
    pub fn dtype(&self) -> ElementType
    where
        S::Elem: Element,
    {
        S::Elem::TYPE
    }

    /// Size of one element, in bytes. Local. Example: see [`dist`](Self::dist).
    #[must_use]
    pub fn itemsize(&self) -> usize {
        size_of::<S::Elem>()
    }

    /// Bytes of all elements of the whole array, without padding. Local. Example: see [`dist`](Self::dist).
    #[must_use]
    pub fn nbytes(&self) -> u128 {
        self.global_size().saturating_mul(self.itemsize() as u128)
    }
}

impl<T, D: Dimension, C: Communicator> LocalArray<T, D, C> {
    /// Replaces what this rank stores, padding included; nothing is copied. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let mut a = LocalArray::<i64, Ix1, _>::arange(0, 4, 1, "b", comm)?;
    ///     a.set_localarray(array![5, 6])?;
    ///     assert!(a.set_localarray(array![5, 6, 7]).is_err());
    ///     a.sum()
    /// })?;
    /// assert_eq!(sums, [22; 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::LocalShape`] when it is not of shape [`local_shape`](LocalArrayBase::local_shape); the array is left as
    /// it was.
    pub fn set_localarray(&mut self, data: Array<T, D>) -> Result<(), ArrayError> {
        self.part.check_data(&data)?;
        self.data = data;
        Ok(())
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    /// Waits for all ranks, and brings the padding up to date with its owners. Collective.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).padding(1).build()?;
    ///     let mut a = LocalArray::<i64, Ix1, _>::zeros(&blocks, comm)?;
    ///     a.owned_mut().fill(1 + comm.rank() as i64);
    ///     a.sync()?;
    ///     Ok::<_, ArrayError>(a.into_local().to_vec())
    /// })?;
    /// assert_eq!(parts, [vec![1, 1, 2], vec![1, 2, 2]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`exchange_halo`](Self::exchange_halo), and [`ArrayError::Comm`].
    pub fn sync(&mut self) -> Result<(), ArrayError> {
        self.exchange_halo()?;
        Ok(self.comm.barrier()?)
    }
}
