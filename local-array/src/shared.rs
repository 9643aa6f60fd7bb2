//! [`SharedArray`]: elements in memory that the ranks of a node can read from each other.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::AnyBitPattern;
use dap_protocol::Element;
use dist_comm::agree::agree;
use dist_comm::{Communicator, SharedBytes};
use dist_maps::Distribution;
use ndarray::{ArrayView, ArrayViewMut, Dimension};

use crate::agreement::same_on_all_ranks;
use crate::part::{Part, check_ndim};
use crate::{ArrayError, LocalArrayView, LocalArrayViewMut};

/// Memory for one rank's part, from [`Communicator::alloc_shared`]: a redistribution from such an array to any other copies
/// directly between ranks of one node, without messages.
///
/// On thread ranks every array has that property and this is an ordinary allocation. The elements are reached through
/// [`view`](Self::view) and [`view_mut`](Self::view_mut). Not for `bool`, whose memory cannot be taken as it comes.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, Redistributor, SharedArray};
/// use ndarray::Ix1;
///
/// let parts = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([4]).block(0).build()?;
///     let cyclic = Distribution::over(2).shape([4]).cyclic(0).build()?;
///     let mut a = SharedArray::<i64, Ix1, _>::zeros(&blocks, comm)?; // collective
///     let mut b = SharedArray::<i64, Ix1, _>::zeros(&cyclic, comm)?;
///     a.view_mut()?.local_mut()[0] = 7 + comm.rank() as i64; // elements 0 and 2
///     Redistributor::new(&blocks, &cyclic, comm)?.execute(&a.view()?, &mut b.view_mut()?)?;
///     Ok::<_, ArrayError>(b.view()?.local().to_vec())
/// })?;
/// assert_eq!(parts, [[7, 8], [0, 0]]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Debug)]
pub struct SharedArray<T, D, C> {
    bytes: SharedBytes,
    dim: D,
    part: Arc<Part>,
    comm: C,
    elements: PhantomData<T>,
}

impl<T, D, C> SharedArray<T, D, C>
where
    T: Element + AnyBitPattern,
    D: Dimension,
    C: Communicator,
{
    /// Zeros, in C order. Collective; every rank gives the same distribution. Example: see [`SharedArray`].
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::IncompatibleArray`] when the ranks give different distributions,
    /// [`ArrayError::InvalidBaseComm`], [`ArrayError::InvalidDimension`], [`ArrayError::Agreed`] when the part of a rank exceeds
    /// the address space, [`ArrayError::Comm`] when it cannot be had.
    pub fn zeros(distribution: &Distribution, comm: C) -> Result<Self, ArrayError> {
        same_on_all_ranks(&comm, &[("the distribution", Some(distribution))])?;
        check_ndim::<D>(distribution)?;
        let part = Part::new(Arc::new(distribution.clone()), &comm)?;
        let size = part.dimension::<D>().and_then(|(dim, len)| {
            let bytes = len
                .checked_mul(size_of::<T>())
                .filter(|&bytes| isize::try_from(bytes).is_ok());
            let failed = || ArrayError::Allocation {
                rank: comm.rank(),
                shape: part.shape().to_vec(),
                bytes: None,
            };
            Ok((dim, bytes.ok_or_else(failed)?))
        });
        let (dim, bytes) = agree(&comm, size)?;
        let bytes = comm.alloc_shared(bytes)?;
        Ok(Self {
            bytes,
            dim,
            part: Arc::new(part),
            comm,
            elements: PhantomData,
        })
    }

    /// The array, to be read, of the distribution that it was made with. Local. Example: see [`SharedArray`].
    ///
    /// # Errors
    /// [`ArrayError::Memory`] when the communicator gave memory that is not aligned, or of another length than asked for.
    pub fn view(&self) -> Result<LocalArrayView<'_, T, D, &C>, ArrayError> {
        // Bytes that are not there are not aligned either.
        let elements = if self.bytes.is_empty() {
            Ok(&[][..])
        } else {
            bytemuck::try_cast_slice(&self.bytes)
        };
        let elements = elements.map_err(|_| self.memory())?;
        let data = ArrayView::from_shape(self.dim.clone(), elements).map_err(|_| self.memory())?;
        Ok(LocalArrayView {
            data,
            part: Arc::clone(&self.part),
            comm: &self.comm,
        })
    }

    /// The array, to be written, of the distribution that it was made with. Local. Example: see [`SharedArray`].
    ///
    /// # Errors
    /// As [`view`](Self::view).
    pub fn view_mut(&mut self) -> Result<LocalArrayViewMut<'_, T, D, &C>, ArrayError> {
        let failed = self.memory();
        let bytes = &mut self.bytes;
        let elements = if bytes.is_empty() {
            Ok(&mut [][..])
        } else {
            bytemuck::try_cast_slice_mut(bytes)
        };
        let elements = elements.map_err(|_| failed.clone())?;
        let data = ArrayViewMut::from_shape(self.dim.clone(), elements).map_err(|_| failed)?;
        Ok(LocalArrayViewMut {
            data,
            part: Arc::clone(&self.part),
            comm: &self.comm,
        })
    }

    fn memory(&self) -> ArrayError {
        ArrayError::Memory {
            bytes: self.bytes.len(),
            allowed: self.dim.size().saturating_mul(size_of::<T>()),
        }
    }
}
