//! [`Hdf5Reader`]: a dataset that is read piece by piece, by one process.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use dap_protocol::{DimData, DistBuffer, Element, HostArray};
use dist_comm::SingleComm;

use super::source::{Opened, Source};
use super::together::refused;
use super::{DatasetInfo, Limits, Refusal, Wanted, Way};
use crate::IoError;

/// A dataset of an HDF5 file that stays open, and is read piece by piece. Local: one rank, or a program without ranks.
///
/// Whatever becomes of the file's name meanwhile, all pieces are of the file that was opened. Of a virtual dataset the parts are
/// opened when they are read.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::{Hdf5Reader, WriteMode, save_hdf5};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers.h5");
/// let whole = DistBuffer::new(DimData::new(vec![DimDict::whole(6)?]), HostArray::new(vec![6], vec![0_i32, 1, 2, 3, 4, 5])?)?;
/// save_hdf5(&path, &whole, "n", WriteMode::Replace, &SingleComm::new())?;
/// let reader = Hdf5Reader::open(&path, "n")?;
/// save_hdf5(&path, &whole, "another", WriteMode::Replace, &SingleComm::new())?; // the reader has the old file
/// let middle = DimData::new(vec![DimDict::block(6, 3, 1, 2..4)?]);
/// assert_eq!(reader.read::<i32>(&middle)?.buffer().data(), [2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hdf5Reader {
    path: PathBuf,
    key: String,
    /// As the library has it open; `None` where its elements were found without it.
    opened: Option<Opened>,
    info: DatasetInfo,
    threads: Option<NonZero<usize>>,
    /// Where its elements are, once somebody asks.
    source: OnceLock<Source>,
}

impl Hdf5Reader {
    /// Looks a dataset up, and keeps its file open.
    ///
    /// # Errors
    /// [`IoError::Hdf5`] with what is wrong with the file or the key.
    pub fn open(path: impl AsRef<Path>, key: &str) -> Result<Self, IoError> {
        let path = path.as_ref();
        let opened = Opened::new(path, key).and_then(|opened| {
            let info = opened.info()?;
            Ok((opened, info))
        });
        let (opened, info) = opened.map_err(|refusal| refused(path, key, refusal))?;
        Ok(Self {
            path: path.to_owned(),
            key: key.to_owned(),
            opened: Some(opened),
            info,
            threads: None,
            source: OnceLock::new(),
        })
    }

    /// As [`open`](Self::open), of a file of unknown origin: within these limits, and without the library. Its elements are
    /// located at once.
    pub(super) fn within(path: &Path, key: &str, limits: &Limits) -> Result<Self, IoError> {
        let source = Source::alone(path, key, Some(limits))?;
        let info = limits.inspect(path, key)?;
        Ok(Self {
            path: path.to_owned(),
            key: key.to_owned(),
            opened: None,
            info,
            threads: None,
            source: OnceLock::from(source),
        })
    }

    /// Decodes chunks in so many threads; otherwise in as many as there are processors. Each has a chunk in memory, as it is in
    /// the file and decoded.
    #[must_use]
    pub fn threads(mut self, threads: NonZero<usize>) -> Self {
        self.threads = Some(threads);
        if let Some(source) = self.source.get_mut() {
            source.threads = Some(threads);
        }
        self
    }

    /// What there is to know of the dataset.
    #[must_use]
    pub fn info(&self) -> &DatasetInfo {
        &self.info
    }

    /// Makes sure that its elements can be found: of a virtual dataset every part is looked at, as [`read`](Self::read) does
    /// before anything else.
    ///
    /// # Errors
    /// [`IoError::Hdf5`] with what is wrong with a part, or with how the elements are stored.
    pub fn locate(&self) -> Result<(), IoError> {
        self.source().map(drop)
    }

    fn source(&self) -> Result<&Source, IoError> {
        if let Some(source) = self.source.get() {
            return Ok(source);
        }
        let opened = self.opened.as_ref().ok_or(Refusal::NotFound);
        let located = || {
            let opened = opened?;
            Ok((opened.try_clone()?, opened.contents()?))
        };
        let located = located().map_err(|refusal| refused(&self.path, &self.key, refusal));
        let (opened, contents) = located?;
        let mut source = Source::of(&self.path, &self.key, opened, contents)?;
        source.threads = self.threads;
        Ok(self.source.get_or_init(|| source))
    }

    /// Reads what the dictionaries describe, padding included; of an enumeration its codes.
    ///
    /// # Errors
    /// Those of [`locate`](Self::locate) and [`load_hdf5`](crate::load_hdf5); [`Refusal::Changed`](crate::Refusal::Changed) where a part of a virtual dataset
    /// was replaced since.
    pub fn read<T: Element>(
        &self,
        dim_data: &DimData,
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        let wanted = Wanted::DimData(dim_data);
        let source = self.source()?;
        let (part, _) = source.load(&SingleComm::new(), wanted, true, Way::default())?;
        Ok(part)
    }
}
