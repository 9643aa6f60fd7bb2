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
    /// Parallel HDF5, by collective transfers among MPI processes; another communicator is
    /// [`IoError::NotMpi`](crate::IoError::NotMpi). For file systems on which MPI-IO is the way that is known to work.
    ///
    /// Every rank moves one contiguous slab, or its own block, in calls of at most 256 MiB; elements that lie otherwise are exchanged in memory
    /// first. The library filters chunks. Chunks are written together, and read by each rank by itself: collective reads of several
    /// pieces go wrong in Open MPI 4.1.
    ///
    /// A rank that cannot go on, for want of memory or descriptors, is an error on all ranks before the library is called, and so is a disk without
    /// room for elements that are not filtered. What fails within the library is an error on all ranks if it returns from the call: with
    /// ROMIO it does not where one rank alone cannot write.
    ///
    /// ```
    /// use dap_protocol::{DistBuffer, HostArray};
    /// use dist_comm::{Communicator, MpiComm};
    /// use dist_io::{IoMode, LoadHdf5, SaveHdf5, Wanted, Way};
    /// use dist_maps::Distribution;
    ///
    /// let comm = MpiComm::world()?; // started without `mpirun`: one rank
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("heat.h5");
    /// let rows = Distribution::over(comm.size()).shape([4, 3]).block(0).build()?;
    /// let shape = rows.local_shape(comm.rank());
    /// let part = HostArray::new(shape.clone(), vec![1.5; shape.iter().product()])?;
    /// let part = DistBuffer::new(rows.dim_data(comm.rank())?, part)?;
    /// let report = SaveHdf5::new(&path).key("heat").way(Way::Mpio).save(&part, &comm)?; // collective
    /// assert_eq!(report.collective.unwrap().mode, IoMode::Contiguous);
    /// let heat = LoadHdf5::new(&path).key("heat").way(Way::Mpio);
    /// assert_eq!(heat.load::<f64>(Wanted::AsSaved, &comm)?, part);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
