//! [`from_file`]: a dataset as a distributed array, under Legate's name.

use std::path::Path;

use dap_protocol::{DistBuffer, Element, HostArray};
use dist_comm::Communicator;

use super::super::{LoadHdf5, Wanted};
use crate::IoError;

/// Loads one dataset of an HDF5 file, each rank its part: [`load_hdf5`](crate::load_hdf5) under Legate's name. Collective; equal
/// paths, keys and element types.
///
/// `key` is the full path of one array, `"/data"` or `"/group/x"`, never that of a group.
///
/// # Errors
/// The same on every rank, those of [`load_hdf5`](crate::load_hdf5).
pub fn from_file<'a, T: Element>(
    path: impl AsRef<Path>,
    key: &str,
    wanted: impl Into<Wanted<'a>>,
    comm: &(impl Communicator + ?Sized),
) -> Result<DistBuffer<HostArray<T>>, IoError> {
    LoadHdf5::new(path).key(key).load(wanted, comm)
}
