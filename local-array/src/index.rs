//! Local and global indexing.
//!
//! In local calls no index wraps around: a negative or too large one is no element, here as in the maps. In collective ones
//! negative indices count from the end, as in `NumPy`.

use bytemuck::checked::try_pod_read_unaligned;
use dap_protocol::Element;
use dist_comm::Communicator;
use ndarray::{Data, DataMut, Dimension, IxDyn, RawData};

use crate::agreement::in_step_with;
use crate::{ArrayError, IndexMode, LocalArrayBase};

/// Local positions and global indices. All of it is local.
impl<S: RawData, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// The local position of a global index, one number per dimension; `None` where this rank does not store it. Local.
    ///
    /// Padding is stored, so its positions are found too.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let cyclic = Distribution::over(2).shape([5]).cyclic(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::zeros(&cyclic, comm)?;
    ///     assert_eq!(a.local_from_global(&[3]), [None, Some(vec![1])][comm.rank()]);
    ///     assert_eq!(a.global_from_local(&[1]), Some(vec![2 + comm.rank() as i64]));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[must_use]
    pub fn local_from_global(&self, global: &[i64]) -> Option<Vec<usize>> {
        self.part.local_from_global(global)
    }

    /// The global index of a local position, one number per dimension, padding included; `None` beyond what is stored. Local.
    /// Example: see [`local_from_global`](Self::local_from_global).
    #[must_use]
    pub fn global_from_local(&self, local: &[usize]) -> Option<Vec<i64>> {
        self.part.global_from_local(local)
    }

    /// The least and greatest global index of axis `axis` that this rank stores, padding included; `None` where it stores
    /// none. For cyclic and unstructured axes: of the first and the last element in local order. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let limits = ThreadComm::run(4, |comm| {
    ///     let blocks = Distribution::over(4).shape([9]).block(0).build()?; // 3, 3, 3, 0
    ///     LocalArray::<u8, Ix1, _>::zeros(&blocks, comm)?.global_limits(0)
    /// })?;
    /// assert_eq!(limits, [Some((0, 2)), Some((3, 5)), Some((6, 8)), None]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::InvalidDimension`] when there is no such axis.
    pub fn global_limits(&self, axis: usize) -> Result<Option<(i64, i64)>, ArrayError> {
        let Some(&len) = self.data.shape().get(axis) else {
            return Err(ArrayError::InvalidDimension {
                what: "axis",
                given: axis.cast_signed(),
                ndim: self.ndim(),
            });
        };
        if len == 0 {
            return Ok(None);
        }
        Ok(self
            .part
            .global_of(axis, 0)
            .zip(self.part.global_of(axis, len - 1)))
    }

    /// The flat index of a global one, in C order over the global shape; back by [`unpack_index`](Self::unpack_index), whose
    /// example has both. Local.
    ///
    /// # Errors
    /// [`ArrayError::InvalidDimension`] when there is not one number per dimension, [`ArrayError::OutOfBounds`] when one lies
    /// outside; none counts from the end.
    pub fn pack_index(&self, global: &[i64]) -> Result<u64, ArrayError> {
        let shape = self.global_shape();
        if global.len() != shape.len() {
            return Err(ArrayError::InvalidDimension {
                what: "number of indices",
                given: global.len().cast_signed(),
                ndim: self.ndim(),
            });
        }
        let inside = |(axis, (&index, &size)): (usize, (&i64, &u64))| {
            let inside = u64::try_from(index).ok().filter(|&index| index < size);
            inside.ok_or(ArrayError::OutOfBounds {
                what: "index",
                axis: Some(axis),
                given: index.into(),
                allowed: size,
            })
        };
        let index = global.iter().zip(shape).enumerate().map(inside);
        let index: Vec<u64> = index.collect::<Result<_, _>>()?;
        Ok(dist_maps::pack_index(shape, &index)?)
    }

    /// The global index of a flat one: the inverse of [`pack_index`](Self::pack_index). Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix3;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([16, 16, 2]).block(0).build()?;
    ///     let a = LocalArray::<u8, Ix3, _>::zeros(&blocks, comm)?;
    ///     assert_eq!(a.pack_index(&[3, 4, 1])?, 3 * 32 + 4 * 2 + 1);
    ///     assert_eq!(a.unpack_index(105)?, [3, 4, 1]);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::OutOfBounds`] when it lies outside the array.
    pub fn unpack_index(&self, flat: u64) -> Result<Vec<i64>, ArrayError> {
        let size = self.distribution().global_size()?;
        if flat >= size {
            return Err(ArrayError::OutOfBounds {
                what: "flat index",
                axis: None,
                given: flat.into(),
                allowed: size,
            });
        }
        let global = dist_maps::unpack_index(self.global_shape(), flat)?;
        // Every extent is at most i64::MAX.
        Ok(global.into_iter().map(u64::cast_signed).collect())
    }
}

impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// The element at a local position; `None` beyond what is stored. By global index it is
    /// [`checked_getitem`](Self::checked_getitem). Local. Example: see [`set`](Self::set).
    #[must_use]
    pub fn get(&self, local: &[usize]) -> Option<S::Elem>
    where
        S::Elem: Copy,
    {
        self.data.view().into_dyn().get(IxDyn(local)).copied()
    }

    /// The element at a global index; `None` where this rank does not store it. Local.
    ///
    /// Padding is stored: it answers with the value it was given last, by [`exchange_halo`](Self::exchange_halo) or otherwise.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let seen = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |global| global[0] * 7)?;
    ///     Ok::<_, ArrayError>(a.checked_getitem(&[4]))
    /// })?;
    /// assert_eq!(seen, [None, Some(28)]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[must_use]
    pub fn checked_getitem(&self, global: &[i64]) -> Option<S::Elem>
    where
        S::Elem: Copy,
    {
        self.get(&self.local_from_global(global)?)
    }
}

/// Setting elements that this rank stores. Local.
impl<S: DataMut, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// Sets the element at a local position; false beyond what is stored. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).build()?;
    ///     let mut a = LocalArray::<i32, Ix1, _>::zeros(&blocks, comm)?;
    ///     assert!(a.set(&[0], 5)); // of each rank the first
    ///     assert_eq!(a.checked_setitem(&[3], 9), comm.rank() == 1);
    ///     assert_eq!((a.get(&[0]), a.get(&[2])), (Some(5), None));
    ///     assert_eq!(a.local().to_vec(), [[5, 0], [5, 9]][comm.rank()]);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn set(&mut self, local: &[usize], value: S::Elem) -> bool {
        match self.data.view_mut().into_dyn().get_mut(IxDyn(local)) {
            Some(slot) => {
                *slot = value;
                true
            }
            None => false,
        }
    }

    /// Sets the element at a global index; false where this rank does not store it. Local: when every rank calls it, each
    /// copy of the element is set, in padding too. Example: see [`set`](Self::set).
    pub fn checked_setitem(&mut self, global: &[i64], value: S::Elem) -> bool {
        match self.local_from_global(global) {
            Some(local) => self.set(&local, value),
            None => false,
        }
    }
}

impl<S: RawData, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// The index that a collective call means, negative numbers counted from the end.
    fn inside(&self, index: &[i64]) -> Result<Vec<i64>, ArrayError> {
        if index.len() != self.ndim() {
            return Err(ArrayError::InvalidDimension {
                what: "number of indices",
                given: index.len().cast_signed(),
                ndim: self.ndim(),
            });
        }
        let pairs = index.iter().zip(self.global_shape());
        pairs
            .enumerate()
            .map(|(axis, (&i, &n))| {
                let inside = IndexMode::Raise.resolve(i, n);
                Ok(inside.map_err(|error| error.of_axis(axis))?.cast_signed())
            })
            .collect()
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    /// The element at a global index, on every rank (`NumPy`'s `a[i, j, …]`). Collective; every rank gives the same index, in
    /// which negative numbers count from the end. Local meaning: [`get`](Self::get).
    ///
    /// One small exchange: for many elements see [`take`](Self::take) and
    /// [`RemoteElements`](crate::RemoteElements).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let seen = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
    ///     let mut a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |global| global[0] * 7)?;
    ///     a.set_item(&[1], -5)?;
    ///     Ok::<_, ArrayError>((a.get_item(&[-1])?, a.get_item(&[1])?))
    /// })?;
    /// assert_eq!(seen, [(35, -5); 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] when there is not one number per dimension,
    /// [`ArrayError::OutOfBounds`], [`ArrayError::Argument`] for an index that explicit lists leave out or that differs
    /// between the ranks, [`ArrayError::Comm`].
    pub fn get_item(&self, index: &[i64]) -> Result<S::Elem, ArrayError> {
        let found = self.inside(index).and_then(|global| {
            let owner = self.distribution().owner(&global);
            let root = owner.ok_or_else(|| ArrayError::Argument {
                what: "index",
                given: format!("{index:?}"),
                allowed: "an index that some rank owns".to_owned(),
            })?;
            Ok((global, root))
        });
        let (root, told) = in_step_with(
            &self.comm,
            "index",
            &(index, self.part.laid(), S::Elem::TYPE),
            found,
            |(global, root)| {
                let mine = self.checked_getitem(&global).unwrap_or_default();
                let mut words = [0_u64; 2]; // no element is larger
                let bytes = bytemuck::bytes_of(&mine);
                bytemuck::bytes_of_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
                Ok((root, words))
            },
        )?;
        let bytes = &bytemuck::bytes_of(&told[root])[..size_of::<S::Elem>()];
        try_pod_read_unaligned(bytes).map_err(|_| ArrayError::Message {
            what: "an element",
            bytes: bytes.len(),
        })
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut,
    D: Dimension,
    C: Communicator,
{
    /// Sets the element at a global index (`NumPy`'s `a[i, j, …] = value`), in every copy that is stored, padding included.
    /// Collective: every rank calls it with the same arguments, though nothing is sent. Negative numbers count from the end.
    /// Local meaning: [`set`](Self::set). Example: see [`get_item`](Self::get_item).
    ///
    /// # Errors
    /// As [`get_item`](Self::get_item), the same on every rank.
    pub fn set_item(&mut self, index: &[i64], value: S::Elem) -> Result<(), ArrayError> {
        let global = self.inside(index)?;
        self.checked_setitem(&global, value);
        Ok(())
    }
}
