//! [`Retired`]: a folder of files that only a file needs which is being replaced. It goes after that one, or with its last reader.
//!
//! ```text
//! run.h5.<save>.parts/  replaced    before the rename: another name of the old run.h5
//!                                   while it has a third one, or somebody has it open, the folder stays
//! ```

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The name of the old file in the folder.
const REPLACED: &str = "replaced";

/// A folder, and the files in it that nobody else put there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retired {
    folder: PathBuf,
    files: Vec<OsString>,
}

impl Retired {
    #[cfg(feature = "hdf5")]
    pub(crate) fn new(folder: PathBuf, files: Vec<OsString>) -> Self {
        Self { folder, files }
    }

    /// Keeps the file that is about to be replaced, so that a later save can tell whether it is still read: this one may be killed.
    /// Whether that was done now: a file system without further names, and a folder that has a mark, keep what they have.
    pub(super) fn mark(&self, target: &Path) -> bool {
        fs::hard_link(target, self.folder.join(REPLACED)).is_ok()
    }

    /// The file was not replaced.
    pub(super) fn unmark(&self) {
        let _ = fs::remove_file(self.folder.join(REPLACED));
    }

    /// Removes it, but for what somebody else put there. What cannot be removed is left.
    pub(super) fn remove(&self) {
        for file in &self.files {
            let _ = fs::remove_file(self.folder.join(file));
        }
        let _ = fs::remove_file(self.folder.join(REPLACED));
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Whether a folder was left by an earlier save, and nobody has the file any more that needed it.
#[cfg(feature = "hdf5")]
pub(crate) fn is_left(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    use super::readers::is_unused;

    let Ok(file) = fs::File::open(folder.join(REPLACED)) else {
        return false;
    };
    let only_here = file
        .metadata()
        .is_ok_and(|meta| meta.is_file() && meta.nlink() == 1);
    only_here && is_unused(&file)
}
