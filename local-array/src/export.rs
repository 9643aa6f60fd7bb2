//! Export by the protocol: an array shows its part, padding included, as a view.

use dap_protocol::{DimData, DistBuffer, DistributedArray, DistributedArrayMut, Element};
use dist_comm::Communicator;
use ndarray::{ArrayView, ArrayViewMut, Data, DataMut, Dimension};

use crate::{ArrayError, LocalArrayBase};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    /// The protocol's metadata of this rank's part. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([5]).block(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::zeros(&blocks, comm)?;
    ///     assert_eq!(a.dim_data()?, blocks.dim_data(comm.rank())?);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Map`], which a distribution that was made does not give.
    pub fn dim_data(&self) -> Result<DimData, ArrayError> {
        self.part.dim_data()
    }
}

/// What the constructors have ensured: the distribution has this rank, and the local array its shape.
const CHECKED: &str = "the array was made with the shape that its distribution gives this rank";

/// # Panics
/// `distarray` does not: the array was checked when it was made.
impl<S, D, C> DistributedArray for LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    type Buffer<'a>
        = ArrayView<'a, S::Elem, D>
    where
        Self: 'a;

    fn distarray(&self) -> DistBuffer<Self::Buffer<'_>> {
        let dim_data = self.part.dim_data().expect(CHECKED);
        DistBuffer::new(dim_data, self.data.view()).expect(CHECKED)
    }
}

impl<S, D, C> DistributedArrayMut for LocalArrayBase<S, D, C>
where
    S: DataMut<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    type BufferMut<'a>
        = ArrayViewMut<'a, S::Elem, D>
    where
        Self: 'a;

    fn distarray_mut(&mut self) -> DistBuffer<Self::BufferMut<'_>> {
        let dim_data = self.part.dim_data().expect(CHECKED);
        DistBuffer::new(dim_data, self.data.view_mut()).expect(CHECKED)
    }
}
