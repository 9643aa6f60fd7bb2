//! [`Way`]: who moves the elements of a dataset.

use std::fmt;

/// Who moves the elements of a dataset; the files are the same to whoever reads them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Way {
    /// The ranks, without the library: each goes to the place in the file that the library names, or codes its chunks in threads. Any ranks
    /// and any HDF5 library. The default.
    #[default]
    Offsets,
    /// Parallel HDF5, by collective transfers among MPI processes: another communicator is
    /// [`IoError::NotMpi`](crate::IoError::NotMpi). Every rank moves contiguous slabs or boxes in calls of at most 1 GiB; chunks are filtered by the library.
    /// For file systems on which MPI-IO is the way that is known to work.
    #[cfg(feature = "hdf5-mpio")]
    Mpio,
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Offsets => "offsets",
            #[cfg(feature = "hdf5-mpio")]
            Self::Mpio => "mpio",
        })
    }
}
