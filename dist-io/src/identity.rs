//! [`Identity`]: which file this is, and in which state.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Which file something was found in. Two that are equal are one file that nobody has written to in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "hdf5", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// Seconds and nanoseconds.
    modified: (i64, i64),
}

impl Identity {
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        }
    }

    /// Whether both are one file, whatever was written to it in between.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}
