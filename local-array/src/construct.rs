//! Making arrays: zeros, ones, a value, a function of the global index.

use std::sync::Arc;

use bytemuck::Zeroable;
use dap_protocol::{DimData, Element, ProtocolVersion};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Distribution;
use ndarray::{Array, Data, Dimension};

use crate::part::Part;
use crate::{Arithmetic, ArrayError, LocalArray, LocalArrayBase};

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
        let part = Part::new(Arc::new(distribution.clone()), &comm)?;
        Ok(Self {
            data: part.zeros()?,
            part: Arc::new(part),
            comm,
        })
    }

    /// One value everywhere, padding included. Local.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn full(distribution: &Distribution, value: T, comm: C) -> Result<Self, ArrayError>
    where
        T: Zeroable + Copy,
    {
        let mut array = Self::zeros(distribution, comm)?;
        array.data.fill(value);
        Ok(array)
    }

    /// Ones. Local.
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros).
    pub fn ones(distribution: &Distribution, comm: C) -> Result<Self, ArrayError>
    where
        T: Arithmetic,
    {
        Self::full(distribution, T::ONE, comm)
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
        let globals = array.part.globals();
        fill_by_index(&mut array.data, &globals, f);
        Ok(array)
    }

    /// Zeros of the part that `dim_data` describes; the parts of all ranks must fit together. Collective.
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

impl<S: Data, D: Dimension, C: Communicator + Clone> LocalArrayBase<S, D, C> {
    /// Zeros with the distribution of this array, of any element type. Local.
    ///
    /// # Errors
    /// [`ArrayError::Allocation`].
    pub fn zeros_like<T: Zeroable>(&self) -> Result<LocalArray<T, D, C>, ArrayError> {
        Ok(self.with_data(self.part.zeros()?, self.comm.clone()))
    }
}

/// Fills `data` in C order by the indices in `globals`, one list per axis.
fn fill_by_index<T, D: Dimension>(
    data: &mut Array<T, D>,
    globals: &[Vec<i64>],
    mut f: impl FnMut(&[i64]) -> T,
) {
    let mut at = vec![0; globals.len()];
    let mut global: Vec<i64> = globals
        .iter()
        .map(|list| list.first().copied().unwrap_or(0))
        .collect();
    for slot in data.iter_mut() {
        *slot = f(&global);
        for axis in (0..globals.len()).rev() {
            at[axis] += 1;
            if at[axis] == globals[axis].len() {
                at[axis] = 0;
            }
            global[axis] = globals[axis][at[axis]];
            if at[axis] != 0 {
                break;
            }
        }
    }
}
