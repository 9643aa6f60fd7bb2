//! Making arrays: zeros, ones, a value, a function of the global index.

mod convert;
mod diag;
mod eye;
mod range;

use std::sync::Arc;

use bytemuck::Zeroable;
use dap_protocol::{DimData, Element, ProtocolVersion};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Distribution;
use ndarray::{Data, Dimension};

pub use self::convert::Order;
pub use self::range::{Number, Spaced, Steps};

use crate::fill::fill_by_index;
use crate::part::Part;
use crate::{Arithmetic, ArrayError, LocalArray, LocalArrayBase};

/// Elements that have a one: every type; `true` for `bool`. Local.
///
/// ```
/// use local_array::One;
/// assert_eq!((u8::one(), f64::one(), bool::one()), (1, 1.0, true));
/// ```
pub trait One: Element {
    /// One.
    #[must_use]
    fn one() -> Self;
}

impl<T: Arithmetic> One for T {
    fn one() -> Self {
        T::ONE
    }
}

impl One for bool {
    fn one() -> Self {
        true
    }
}

impl<T, D: Dimension, C: Communicator> LocalArray<T, D, C> {
    /// Zeros (`false` for `bool`), in C order. Local; every rank gives the same distribution.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let shapes = ThreadComm::run(4, |comm| {
    ///     let blocks = Distribution::over(4).shape([5, 6]).block(0).block(1).padding(1).build()?; // grid 2 × 2
    ///     let a = LocalArray::<f64, Ix2, _>::zeros(&blocks, comm)?;
    ///     assert_eq!(LocalArray::<f64, Ix2, _>::empty(&blocks, comm)?.local(), a.local());
    ///     Ok::<_, ArrayError>((a.owned_shape(), a.local_shape().to_vec()))
    /// })?;
    /// assert_eq!(shapes[0], (vec![3, 3], vec![4, 4]));
    /// assert_eq!(shapes[3], (vec![2, 3], vec![3, 4]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::InvalidBaseComm`], [`ArrayError::InvalidDimension`], [`ArrayError::Allocation`].
    pub fn zeros(distribution: &Distribution, comm: C) -> Result<Self, ArrayError>
    where
        T: Zeroable,
    {
        Self::zeros_over(Arc::new(distribution.clone()), comm)
    }

    pub(crate) fn zeros_over(distribution: Arc<Distribution>, comm: C) -> Result<Self, ArrayError>
    where
        T: Zeroable,
    {
        let part = Part::new(distribution, &comm)?;
        Ok(Self {
            data: part.zeros()?,
            part: Arc::new(part),
            comm,
        })
    }

    /// An array to be filled (`DistArray`'s `empty`). Its elements are zero: memory that was never written has no place in safe
    /// Rust, and fresh zero pages cost no more. Local. Example: see [`zeros`](Self::zeros).
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn empty(distribution: &Distribution, comm: C) -> Result<Self, ArrayError>
    where
        T: Zeroable,
    {
        Self::zeros(distribution, comm)
    }

    /// One value everywhere, padding included. Local.
    ///
    /// As in all constructors of this group: where first (the distribution, then the communicator), then what. Those with the
    /// name of a function of `NumPy`'s and its arguments, as [`arange`](Self::arange), take these first.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([7]).block(0).build()?;
    ///     assert_eq!(LocalArray::<u8, Ix1, _>::ones(&blocks, comm)?.sum()?, 7);
    ///     LocalArray::<f64, Ix1, _>::full(&blocks, comm, 0.5)?.sum()
    /// })?;
    /// assert_eq!(sums, [3.5; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn full(distribution: &Distribution, comm: C, value: T) -> Result<Self, ArrayError>
    where
        T: Zeroable + Copy,
    {
        let mut array = Self::zeros(distribution, comm)?;
        array.data.fill(value);
        Ok(array)
    }

    /// Ones. Local. Example: see [`full`](Self::full).
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn ones(distribution: &Distribution, comm: C) -> Result<Self, ArrayError>
    where
        T: One,
    {
        Self::full(distribution, comm, T::one())
    }

    /// Each element by its global index, padding included: `f` gets one index per dimension. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     let cyclic = Distribution::over(2).shape([5]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&cyclic, comm, |global| global[0] as i32 * 10)?;
    ///     Ok::<_, ArrayError>(a.local().to_vec())
    /// })?;
    /// assert_eq!(parts, [vec![0, 20, 40], vec![10, 30]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn from_fn(
        distribution: &Distribution,
        comm: C,
        f: impl FnMut(&[i64]) -> T,
    ) -> Result<Self, ArrayError>
    where
        T: Zeroable,
    {
        let mut array = Self::zeros(distribution, comm)?;
        fill_by_index(&mut array.data, &array.part, f);
        Ok(array)
    }

    /// `DistArray`'s `fromfunction`: [`from_fn`](Self::from_fn) with the function first and the array spread as `spread` says.
    /// Local; every rank gives the same shape and spread.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let traces = ThreadComm::run(3, |comm| {
    ///     let a = LocalArray::<i64, Ix2, _>::fromfunction(|g| 10 * g[0] + g[1], &[3, 3], "b", comm)?;
    ///     a.diag(0)?.sum() // 0 + 11 + 22
    /// })?;
    /// assert_eq!(traces, [33; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros); as [`Spread::distribution`](crate::Spread::distribution).
    pub fn fromfunction(
        function: impl FnMut(&[i64]) -> T,
        shape: &[u64],
        spread: impl crate::Spread,
        comm: C,
    ) -> Result<Self, ArrayError>
    where
        T: Zeroable,
    {
        let distribution = spread.distribution(shape, comm.size())?;
        Self::from_fn(&distribution, comm, function)
    }

    /// Zeros of the part that `dim_data` describes; the parts of all ranks must fit together. Collective.
    ///
    /// ```
    /// use dap_protocol::{DimData, DimDict};
    /// use dist_comm::{Communicator, ThreadComm};
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     // 5 elements over 2 ranks, rank 0 has 3 of them
    ///     let range = [0..3, 3..5][comm.rank()].clone();
    ///     let dim_data = DimData::new(vec![DimDict::block(5, 2, comm.rank(), range)?]);
    ///     let a = LocalArray::<f64, Ix1, _>::from_dim_data(&dim_data, comm)?;
    ///     assert_eq!((a.global_size(), a.local_size()), (5, [3, 2][comm.rank()]));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_distarray`](LocalArrayBase::from_distarray), the same on every rank.
    pub fn from_dim_data(dim_data: &DimData, comm: C) -> Result<Self, ArrayError>
    where
        T: Element,
    {
        let part = crate::import::part_of_all::<D, C>(dim_data, ProtocolVersion::CURRENT, &comm)?;
        let data = agree(&comm, part.zeros())?;
        Ok(Self {
            data,
            part: Arc::new(part),
            comm,
        })
    }
}

/// New arrays with the distribution of this one, of any element type.
impl<S: Data, D: Dimension, C: Communicator + Clone> LocalArrayBase<S, D, C> {
    /// Zeros with the distribution of this array, of any element type. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let cyclic = Distribution::over(2).shape([5]).cyclic(0).build()?;
    ///     let a = LocalArray::<f32, Ix1, _>::zeros(&cyclic, comm)?;
    ///     assert!(!a.zeros_like::<bool>()?.any()? && !a.empty_like::<bool>()?.any()?);
    ///     Ok::<_, ArrayError>((a.ones_like::<i16>()?.sum()?, a.full_like(2.5)?.sum()?))
    /// })?;
    /// assert_eq!(sums, [(5, 12.5); 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Allocation`].
    pub fn zeros_like<T: Zeroable>(&self) -> Result<LocalArray<T, D, C>, ArrayError> {
        Ok(self.with_data(self.part.zeros()?, self.comm.clone()))
    }

    /// An array to be filled, zero for now as [`empty`](LocalArray::empty) says, with the distribution of this one. Local.
    /// Example: see [`zeros_like`](Self::zeros_like).
    ///
    /// # Errors
    /// [`ArrayError::Allocation`].
    pub fn empty_like<T: Zeroable>(&self) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.zeros_like()
    }

    /// Ones with the distribution of this array. Local. Example: see [`zeros_like`](Self::zeros_like).
    ///
    /// # Errors
    /// [`ArrayError::Allocation`].
    pub fn ones_like<T: One>(&self) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.full_like(T::one())
    }

    /// One value everywhere, padding included, with the distribution of this array. Local.
    /// Example: see [`zeros_like`](Self::zeros_like).
    ///
    /// # Errors
    /// [`ArrayError::Allocation`].
    pub fn full_like<T: Zeroable + Copy>(
        &self,
        value: T,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        let mut array = self.zeros_like()?;
        array.data.fill(value);
        Ok(array)
    }
}
