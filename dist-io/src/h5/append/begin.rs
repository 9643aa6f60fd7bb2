//! [`SaveHdf5::begin_series`]: a dataset without rows.

use dap_protocol::{DistBuffer, Element, HostArray};
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Distribution;

use crate::IoError;
use crate::h5::SaveHdf5;

impl SaveHdf5 {
    /// Makes a dataset without rows, to which a [`Series`](crate::Series) appends steps of this shape: elements per dimension, `[]` for
    /// numbers. Collective; every rank says the same. All that was said of the dataset holds; its first dimension has no limit
    /// unless [`max_shape`](Self::max_shape) gives one, and its chunks are of one row, of at most 1 MiB, unless
    /// [`chunk`](Self::chunk) says otherwise (the row comes first).
    ///
    /// As every save, it replaces the file by a copy with the dataset in it: begin all series of a file before one is open.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    pub fn begin_series<T: Element>(
        &self,
        step: &[u64],
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(), IoError> {
        let shape: Vec<u64> = std::iter::once(0).chain(step.iter().copied()).collect();
        let save = if self.has_max_shape() {
            self.clone()
        } else {
            let steps = step.iter().map(|&size| Some(size));
            let max: Vec<Option<u64>> = std::iter::once(None).chain(steps).collect();
            self.clone().max_shape(max)
        };
        let part = || {
            let nothing = Distribution::over(comm.size())
                .shape(shape)
                .block(0)
                .build()?;
            let extents = nothing.local_shape(comm.rank());
            let buffer = HostArray::<T>::new(extents, Vec::new())?;
            Ok::<_, IoError>(DistBuffer::new(nothing.dim_data(comm.rank())?, buffer)?)
        };
        save.save(&agree(comm, part())?, comm)?;
        Ok(())
    }
}
