//! [`Part`]: one file of a set, and whether it still is that file.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::SystemTime;

use super::SetError;
use super::write::hash_file;
use crate::{DnpyError, PartFile, PartInfo};

/// One part of a set, as it was when its headers were read.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) info: PartInfo,
    stamp: Stamp,
}

impl Part {
    pub(super) fn new(path: PathBuf) -> Result<Self, DnpyError> {
        let file = PartFile::open(&path)?;
        let stamp = Stamp::of(file.file()).map_err(DnpyError::io("measure", &path))?;
        let info = file.info().clone();
        Ok(Self { path, info, stamp })
    }

    /// Opens the file again, which must still be the one that was looked at.
    pub(super) fn open(&self) -> Result<PartFile, DnpyError> {
        let replaced = || {
            let path = self.path.clone();
            Err(SetError::Replaced { path }.into())
        };
        let file = match PartFile::open(&self.path) {
            // a later save has removed it
            Err(e) if is_not_found(&e) => return replaced(),
            file => file?,
        };
        let stamp = Stamp::of(file.file()).map_err(DnpyError::io("measure", &self.path))?;
        if stamp == self.stamp && *file.info() == self.info {
            return Ok(file);
        }
        replaced()
    }

    /// SHA-256 of the file, which must still be the one that was looked at.
    pub(super) fn sha256(&self) -> Result<String, DnpyError> {
        let open = self.open()?;
        let mut file = open.file();
        let hash = file
            .seek(SeekFrom::Start(0))
            .map_err(DnpyError::stream("read"))
            .and_then(|_| hash_file(file));
        hash.map_err(|e| e.in_file(&self.path))
    }
}

/// Whether a file is not there.
pub(super) fn is_not_found(error: &DnpyError) -> bool {
    matches!(error, DnpyError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}

/// What changes when a file is replaced, or written to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    /// Device and number.
    identity: (u64, u64),
}

impl Stamp {
    fn of(file: &File) -> io::Result<Self> {
        let meta = file.metadata()?;
        #[cfg(unix)]
        let identity = {
            use std::os::unix::fs::MetadataExt;
            (meta.dev(), meta.ino())
        };
        #[cfg(not(unix))]
        let identity = (0, 0); // the standard library tells none
        Ok(Self {
            len: meta.len(),
            modified: meta.modified().ok(),
            identity,
        })
    }
}
