//! The communicator that arrays are made on.

use dist_comm::Communicator;

use crate::ArrayError;

/// The communicator of a group that this process is part of: what [`Communicator::split`] gives, or an error where it gave
/// none. Local.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, init_base_comm};
/// use ndarray::Ix1;
///
/// let sums = ThreadComm::run(3, |world| {
///     // ranks 0 and 1 make a group of their own
///     let group = world.split((world.rank() < 2).then_some(0), 0)?;
///     let comm = match init_base_comm(group) {
///         Err(ArrayError::NullComm) => return Ok(None),
///         comm => comm?,
///     };
///     let blocks = Distribution::over(comm.size()).shape([10]).block(0).build()?;
///     Ok(Some(LocalArray::<f64, Ix1, _>::ones(&blocks, &comm)?.sum()?))
/// })?;
/// assert_eq!(sums, [Some(10.0), Some(10.0), None]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// [`ArrayError::NullComm`].
pub fn init_base_comm<C: Communicator>(comm: Option<C>) -> Result<C, ArrayError> {
    comm.ok_or(ArrayError::NullComm)
}
