//! [`Limits`]: what a file of unknown origin may ask for, checked before anything is done for it.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use dap_protocol::{DistBuffer, Element, HostArray};
use dist_comm::Communicator;
use hdf5_metno as hdf5;

use super::dataset::{how, opened, unread};
use super::together::{by_rank_0, is_regular, same};
use super::vds::sources_of;
use super::{DatasetInfo, Refusal, Storage, Wanted, inspect_hdf5, load_hdf5, open};
use crate::IoError;

/// What a file may ask for. Files of strangers can say anything of themselves: that a few bytes are a chunk of 4 GiB, that
/// groups lie in each other without end, that a virtual dataset is made of any file that the reader may read.
///
/// [`check`](Self::check) looks at a file as a whole and decodes nothing; [`inspect`](Self::inspect) and [`load`](Self::load) look
/// at one dataset first. The HDF5 library itself reads the file's metadata: what is wrong there is left to it, and old releases
/// of it are no guard against files made to break them.
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
/// let trusted = Limits { times_file: None, ..Limits::untrusted() };
/// assert_eq!(trusted.load::<u8>(&path, Wanted::AsSaved, "zeros", &comm)?, zeros);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the elements of a dataset.
    pub bytes: u64,
    /// Bytes of a chunk, as it is in memory.
    pub chunk_bytes: u64,
    /// Elements and chunks have at most so many times the bytes of the file, a virtual dataset of all its files; `None` where they
    /// may have more.
    pub times_file: Option<u64>,
    /// Groups in each other.
    pub depth: usize,
    /// Datasets and groups of the file.
    pub datasets: usize,
    /// Dimensions of a dataset.
    pub dimensions: usize,
    /// Whether a virtual dataset may have parts that are not in the file's folder or below it.
    pub parts_elsewhere: bool,
}

impl Limits {
    /// For files of strangers: no memory is asked for that is more than the file is long, nor more than 16 GiB (64 MiB for a
    /// chunk), parts of virtual datasets lie in the file's folder or below it, at most 10,000 datasets and groups, 32 of them in
    /// each other, and 32 dimensions.
    #[must_use]
    pub const fn untrusted() -> Self {
        Self {
            bytes: 16 << 30,
            chunk_bytes: 64 << 20,
            times_file: Some(1),
            depth: 32,
            datasets: 10_000,
            dimensions: 32,
            parts_elsewhere: false,
        }
    }

    /// Checks a file and all datasets in it. Local.
    ///
    /// # Errors
    /// [`IoError::Hdf5`] with [`Refusal::Limit`] and the key of what is beyond a limit, or with what is wrong with the file.
    pub fn check(&self, path: impl AsRef<Path>) -> Result<(), IoError> {
        let path = path.as_ref();
        let mut key = String::new();
        self.all(path, &mut key).map_err(|refusal| IoError::Hdf5 {
            path: path.to_owned(),
            key,
            refusal: Box::new(refusal),
        })
    }

    /// [`inspect_hdf5`] of a dataset that is within the limits. Local.
    ///
    /// # Errors
    /// As [`inspect_hdf5`]; [`Refusal::Limit`].
    pub fn inspect(&self, path: impl AsRef<Path>, key: &str) -> Result<DatasetInfo, IoError> {
        let path = path.as_ref();
        self.named(path, key).map_err(|refusal| IoError::Hdf5 {
            path: path.to_owned(),
            key: key.to_owned(),
            refusal: Box::new(refusal),
        })?;
        inspect_hdf5(path, key)
    }

    /// [`load_hdf5`] of a dataset that is within the limits. Collective; equal paths, keys, limits and element types. Nobody may
    /// change the file meanwhile.
    ///
    /// # Errors
    /// As [`load_hdf5`]; [`Refusal::Limit`].
    pub fn load<'a, T: Element>(
        &self,
        path: impl AsRef<Path>,
        wanted: impl Into<Wanted<'a>>,
        key: &str,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        let path = path.as_ref();
        same(
            comm,
            &[
                ("path", path.as_os_str().as_bytes()),
                ("key", key.as_bytes()),
                ("limits", format!("{self:?}").as_bytes()),
            ],
        )?;
        by_rank_0(comm, path, key, || self.named(path, key))?;
        load_hdf5(path, wanted, key, comm)
    }

    /// Checks one dataset, by name.
    fn named(&self, path: &Path, key: &str) -> Result<(), Refusal> {
        let depth = key.split('/').filter(|name| !name.is_empty()).count();
        within("depth of groups", depth as u64, self.depth as u64)?;
        let (_file, dataset) = opened(path, key)?;
        self.dataset(path, &dataset, &mut 0)
    }

    /// Checks a dataset, and the sources that it has if it is virtual, which are counted.
    fn dataset(
        &self,
        path: &Path,
        dataset: &hdf5::Dataset,
        sources: &mut u64,
    ) -> Result<(), Refusal> {
        let file = is_regular(path)?.ok_or(Refusal::NotFound)?.len();
        let ty = dataset.dtype();
        let item = ty
            .map_err(Refusal::library("ask for the element type"))?
            .size();
        let found = match unread(dataset, file, item) {
            Err(Refusal::NullDataspace) => return Ok(()),
            found => found?,
        };
        let bytes_of = |extents: &[u64]| {
            let bytes = extents.iter();
            bytes.fold(item as u64, |bytes, &extent| bytes.saturating_mul(extent))
        };
        let by_file = |limit: u64| match self.times_file {
            Some(times) => limit.min(file.saturating_mul(times)),
            None => limit,
        };
        let dimensions = found.shape.len() as u64;
        within("dimensions", dimensions, self.dimensions as u64)?;
        if let Storage::Chunked { chunk } = &found.storage {
            let limit = self.chunk_bytes;
            within("bytes of a chunk", bytes_of(chunk), by_file(limit))?;
        }
        if found.storage != Storage::Virtual {
            return within(
                "bytes of the elements",
                bytes_of(&found.shape),
                by_file(self.bytes),
            );
        }
        let mut files: HashSet<Vec<u8>> = HashSet::new();
        let mut bytes = file;
        for source in sources_of(path, &how(dataset)?, &found.shape)? {
            if !self.parts_elsewhere && !is_below(path, &source.file) {
                return Err(Refusal::Limit {
                    what: "parts in other folders".to_owned(),
                    given: 1,
                    allowed: 0,
                });
            }
            if files.insert(source.file)
                && let Ok(meta) = std::fs::metadata(&source.path)
            {
                bytes = bytes.saturating_add(meta.len());
            }
            *sources += 1;
            within(
                "sources of virtual datasets",
                *sources,
                self.datasets as u64,
            )?;
            // what cannot be opened is not read either
            if let Ok((_file, dataset)) = opened(&source.path, &source.key) {
                self.dataset(&source.path, &dataset, sources)?;
            }
        }
        let limit = match self.times_file {
            Some(times) => self.bytes.min(bytes.saturating_mul(times)),
            None => self.bytes,
        };
        within("bytes of the elements", bytes_of(&found.shape), limit)
    }

    /// Checks all datasets; `at` is the one that is looked at.
    fn all(&self, path: &Path, at: &mut String) -> Result<(), Refusal> {
        is_regular(path)?.ok_or(Refusal::NotFound)?;
        let file = open::to_read(path)?;
        let own = file
            .loc_info()
            .map_err(Refusal::library("look at the file"))?;
        let mut seen = HashSet::new();
        let mut count = 0;
        let mut waiting = vec![(String::new(), 0)];
        while let Some((group, depth)) = waiting.pop() {
            at.clone_from(&group);
            within("depth of groups", depth, self.depth as u64)?;
            let here = if group.is_empty() {
                file.as_group()
            } else {
                file.group(&group)
            };
            let names = here.and_then(|group| group.member_names());
            for name in names.map_err(Refusal::library("list a group"))? {
                let name = format!("{group}/{name}");
                at.clone_from(&name);
                // a link that leads nowhere, and one into another file, is never followed
                let Ok(info) = file.loc_info_by_name(&name) else {
                    continue;
                };
                if info.fileno != own.fileno || !seen.insert(format!("{:?}", info.token)) {
                    continue;
                }
                count += 1;
                within("datasets and groups", count, self.datasets as u64)?;
                if info.loc_type == hdf5::LocationType::Group {
                    waiting.push((name, depth + 1));
                } else if info.loc_type == hdf5::LocationType::Dataset {
                    let dataset = file.dataset(&name);
                    let dataset = dataset.map_err(Refusal::library("open the dataset"))?;
                    self.dataset(path, &dataset, &mut 0)?;
                }
            }
        }
        Ok(())
    }
}

fn within(what: &str, given: u64, allowed: u64) -> Result<(), Refusal> {
    if given <= allowed {
        return Ok(());
    }
    Err(Refusal::Limit {
        what: what.to_owned(),
        given,
        allowed,
    })
}

/// Where a part lies that a file names so.
fn beside(path: &Path, part: &[u8]) -> PathBuf {
    let folder = path.parent().unwrap_or(Path::new(""));
    folder.join(std::ffi::OsStr::from_bytes(part))
}

/// Whether a part lies in the folder of the file that names it, or below it, links followed.
fn is_below(path: &Path, part: &[u8]) -> bool {
    let name = Path::new(std::ffi::OsStr::from_bytes(part));
    if name == Path::new(".") {
        return true; // the file itself
    }
    let plain =
        |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    if !name.components().all(plain) {
        return false;
    }
    let here = Path::new(".");
    let folder = path.parent().unwrap_or(Path::new(""));
    let Ok(folder) = here.join(folder).canonicalize() else {
        return false;
    };
    // one that is not there is not read either
    match here.join(beside(path, part)).canonicalize() {
        Ok(part) => part.starts_with(folder),
        Err(_) => true,
    }
}
