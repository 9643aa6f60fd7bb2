//! [`Limits`]: files of unknown origin, read within limits and without the HDF5 library.

use std::path::Path;

use dap_protocol::{DistBuffer, Element, HostArray};
use dist_comm::Communicator;

use super::array::{H5Array, open_within as array};
use super::together::{names, refused};
use super::tree::{H5Node, TreeFilter, open_within as node};
use super::types::{Record, load_within as records};
use super::vds::{Batches, batched};
use super::verify::{Verified, verify_watched};
use super::{DatasetInfo, FileSeries, Hdf5Reader, LoadHdf5, Refusal, Wanted, bare, file_series};
use crate::IoError;

/// The mode for files of unknown origin: what such a file may ask for, and every call that reads, under its name.
///
/// Files of strangers can say anything of themselves: that a few bytes are a chunk of 4 GiB, that groups lie in each other without
/// end, that a virtual dataset is made of any file that the reader may read. And releases of the HDF5 library have errors of their
/// own: damaged files make them hang, or write beyond their memory. So what is called here **never gives the file to the library**. The
/// structures of the file are read by this crate, in safe code, byte by byte and within the limits.
///
/// # What holds
/// Whatever bytes a file has, a call returns, with the elements or with an error: it does not panic, crash, or wait for ever, and asks for
/// no memory beyond the limits. It opens no file but the one it is given, and the parts of a virtual dataset. Two things are not
/// promised: that a file which somebody changes *while* it is read gives what it had before (ranks say [`Refusal::Changed`] where they
/// notice), and that the elements are those which were saved, for which there is [`verify`](Self::verify).
///
/// # What is read
/// All that [`load_hdf5`](crate::load_hdf5) reads by itself. Refused by name are what only the library reads, and forms of the format that are
/// seldom met: filters other than shuffle, deflate, fletcher32 and lzf; external files, and links into other files; filtered links, drivers of their
/// own, shared messages but named types, types more than 16 deep; virtual datasets but those of blocks that fill them up, of sources in one
/// piece. What writes into a file (appending to it, assigning to a handle, [`repack`](crate::legate::repack)) is by the library, and for files that are trusted.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::{Limits, SaveHdf5, Wanted};
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("zeros.h5");
/// let dims = DimData::new(vec![DimDict::whole(1 << 20)?]);
/// let zeros = DistBuffer::new(dims, HostArray::new(vec![1 << 20], vec![0_u8; 1 << 20])?)?;
/// let comm = SingleComm::new();
/// SaveHdf5::new(&path).key("zeros").deflate(9).save(&zeros, &comm)?; // 1 MiB in a file of some KB
/// let refused = Limits::untrusted().load::<u8>(&path, Wanted::AsSaved, "zeros", &comm).unwrap_err();
/// assert!(refused.to_string().contains("1048576 bytes of a chunk, allowed"));
/// let larger = Limits { times_file: None, ..Limits::untrusted() };
/// assert_eq!(larger.load::<u8>(&path, Wanted::AsSaved, "zeros", &comm)?, zeros);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Bytes of the elements of a dataset.
    pub bytes: u64,
    /// Bytes of a chunk, as it is in memory.
    pub chunk_bytes: u64,
    /// Elements and chunks have at most so many times the bytes of the file, a virtual dataset of all its files; `None` where they
    /// may have more.
    pub times_file: Option<u64>,
    /// Bytes of the file's structures that one call reads, those of the parts of a virtual dataset among them: groups, headers, attributes, and some 70 bytes for
    /// each chunk. What is read twice counts twice. Memory for what is made of them is a small multiple of it.
    pub metadata_bytes: u64,
    /// Attributes of a dataset.
    pub attributes: usize,
    /// Bytes of the attributes of a dataset, names and values together, and 32 for each text.
    pub attribute_bytes: u64,
    /// Groups in each other.
    pub depth: usize,
    /// Datasets and groups of the file, and parts of a virtual dataset.
    pub datasets: usize,
    /// Dimensions of a dataset.
    pub dimensions: usize,
    /// Whether a virtual dataset may have parts that are not in the file's folder or below it.
    pub parts_elsewhere: bool,
}

impl Limits {
    /// For files of strangers: no memory is asked for that is more than the file is long, nor more than 16 GiB (64 MiB for a
    /// chunk); 64 MiB of structures are read, for which there is memory beside; parts of virtual datasets lie in the file's folder or below it; at most 10,000 datasets and groups, 32 of
    /// them in each other, 32 dimensions, and 4096 attributes of together 16 MiB.
    #[must_use]
    pub const fn untrusted() -> Self {
        Self {
            bytes: 16 << 30,
            chunk_bytes: 64 << 20,
            times_file: Some(1),
            metadata_bytes: 64 << 20,
            attributes: 4096,
            attribute_bytes: 16 << 20,
            depth: 32,
            datasets: 10_000,
            dimensions: 32,
            parts_elsewhere: false,
        }
    }

    /// Checks a file and all datasets in it; decodes nothing. Local.
    ///
    /// # Errors
    /// [`IoError::Hdf5`] with [`Refusal::Limit`] and the key of what is beyond a limit, [`Refusal::Format`] and the byte where the file is damaged, or
    /// with what else is wrong with the file.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), IoError> {
        let path = path.as_ref();
        let mut key = String::new();
        let checked = bare::opened(path, self, |bare| {
            let each = bare.each(&mut |at, address| match bare.dataset_at(address) {
                // there is nothing to read
                Ok(_) | Err(Refusal::NullDataspace) => Ok(()),
                Err(refusal) => Err((at.to_owned(), refusal)),
            });
            each.map_err(|(at, refusal)| {
                key = at;
                refusal
            })
        });
        checked
            .map(drop)
            .map_err(|refusal| refused(path, &key, refusal))
    }

    /// [`inspect_hdf5`](crate::inspect_hdf5). Local.
    ///
    /// # Errors
    /// As [`inspect_hdf5`](crate::inspect_hdf5); [`Refusal::Limit`], [`Refusal::Format`], [`Refusal::Untrusted`].
    pub fn inspect(&self, path: impl AsRef<Path>, key: &str) -> Result<DatasetInfo, IoError> {
        let path = path.as_ref();
        let inspect = || {
            let names = names(key)?;
            let (_, _, info) = bare::opened(path, self, |bare| bare.dataset(&names)?.info())?;
            Ok(info)
        };
        inspect().map_err(|refusal| refused(path, key, refusal))
    }

    /// [`datasets_hdf5`](crate::datasets_hdf5), all of which are within the limits. Local.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn datasets(&self, path: impl AsRef<Path>) -> Result<Vec<String>, IoError> {
        let path = path.as_ref();
        let mut key = String::new();
        let listed = bare::opened(path, self, |bare| {
            let mut keys = Vec::new();
            let each = bare.each(&mut |at, _| {
                keys.push(at.to_owned());
                Ok(())
            });
            each.map_err(|(at, refusal)| {
                key = at;
                refusal
            })?;
            keys.sort_unstable();
            Ok(keys)
        });
        let (_, _, keys) = listed.map_err(|refusal| refused(path, &key, refusal))?;
        Ok(keys)
    }

    /// [`load_hdf5`](crate::load_hdf5); [`LoadHdf5::limits`] is this with other options. Collective; equal paths, keys, limits and element types.
    ///
    /// # Errors
    /// As [`load_hdf5`](crate::load_hdf5); [`Refusal::Limit`], [`Refusal::Format`], [`Refusal::Untrusted`].
    pub fn load<'a, T: Element>(
        &self,
        path: impl AsRef<Path>,
        wanted: impl Into<Wanted<'a>>,
        key: &str,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        LoadHdf5::new(path)
            .key(key)
            .limits(*self)
            .load(wanted, comm)
    }

    /// [`from_file`](crate::legate::from_file). Collective; equal paths, keys, limits and element types.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn from_file<'a, T: Element>(
        &self,
        path: impl AsRef<Path>,
        key: &str,
        wanted: impl Into<Wanted<'a>>,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        self.load(path, wanted, key, comm)
    }

    /// [`from_file_batched`](crate::legate::from_file_batched). Local.
    ///
    /// # Errors
    /// As [`from_file_batched`](crate::legate::from_file_batched) and [`load`](Self::load).
    pub fn from_file_batched<T: Element>(
        &self,
        path: impl AsRef<Path>,
        key: &str,
        chunk_size: &[u64],
    ) -> Result<Batches<T>, IoError> {
        batched(path.as_ref(), key, chunk_size, Some(self))
    }

    /// [`load_hdf5_records`](crate::load_hdf5_records). Collective; equal paths, keys and limits.
    ///
    /// # Errors
    /// As [`load_hdf5_records`](crate::load_hdf5_records) and [`load`](Self::load).
    pub fn load_records<'a>(
        &self,
        path: impl AsRef<Path>,
        wanted: impl Into<Wanted<'a>>,
        key: &str,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(Record, DistBuffer<HostArray<u8>>), IoError> {
        records(path.as_ref(), wanted.into(), key, Some(self), comm)
    }

    /// [`open_dset`](crate::open_dset); whenever the handle reads, it is within the limits. Collective; equal paths, keys, limits and element types.
    ///
    /// # Errors
    /// As [`open_dset`](crate::open_dset) and [`load`](Self::load). Assigning to the handle is [`Refusal::Untrusted`].
    pub fn open_dset<'c, T: Element>(
        &self,
        path: impl AsRef<Path>,
        key: &str,
        comm: &'c dyn Communicator,
    ) -> Result<H5Array<'c, T>, IoError> {
        array(path.as_ref(), key, Some(*self), comm)
    }

    /// [`open_with`](crate::open_with); whenever a handle reads, it is within the limits. Collective; equal paths, keys, limits and filters.
    ///
    /// # Errors
    /// As [`open_with`](crate::open_with) and [`open_dset`](Self::open_dset).
    pub fn open<'c>(
        &self,
        path: impl AsRef<Path>,
        key: &str,
        filter: TreeFilter,
        comm: &'c dyn Communicator,
    ) -> Result<H5Node<'c>, IoError> {
        node(path.as_ref(), key, (filter, Some(*self)), comm)
    }

    /// [`Hdf5Reader::open`]. Local.
    ///
    /// # Errors
    /// As [`Hdf5Reader::open`], [`Hdf5Reader::locate`] and [`load`](Self::load).
    pub fn reader(&self, path: impl AsRef<Path>, key: &str) -> Result<Hdf5Reader, IoError> {
        Hdf5Reader::within(path.as_ref(), key, self)
    }

    /// [`verify`](crate::verify). Collective; equal paths, keys and limits.
    ///
    /// # Errors
    /// As [`verify`](crate::verify) and [`load`](Self::load).
    pub fn verify(
        &self,
        path: impl AsRef<Path>,
        key: &str,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<Verified, IoError> {
        verify_watched(path.as_ref(), key, Some(self), comm, &mut |_| Ok(()))
    }

    /// [`file_series`](crate::file_series), every file of which is read within the limits. Collective; equal patterns, keys and limits.
    ///
    /// # Errors
    /// As [`file_series`](crate::file_series); of its files as [`open_dset`](Self::open_dset).
    pub fn file_series<'c>(
        &self,
        pattern: impl AsRef<Path>,
        key: &str,
        comm: &'c dyn Communicator,
    ) -> Result<FileSeries<'c>, IoError> {
        Ok(file_series(pattern, key, comm)?.within(*self))
    }
}
