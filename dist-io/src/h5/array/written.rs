//! [`State`]: a file as it was at a moment, so that what was read of it before can be used, or is known to be old.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::identity::Identity;

/// How often this process has assigned to a file, by device and inode: the clock of a file system may be too coarse to tell.
static WRITES: Mutex<BTreeMap<(u64, u64), u64>> = Mutex::new(BTreeMap::new());

/// A file as it was. Two that are equal are one file that nobody has written to in between: of the assignments of this process none is
/// missed, of those of others none that the file's time of change tells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::h5) struct State {
    identity: Identity,
    writes: u64,
}

impl State {
    /// That of the file of this name now; `None` where there is none.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let meta = fs::metadata(path).ok()?;
        let writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Self {
            identity: Identity::of(&meta),
            writes: writes.get(&(meta.dev(), meta.ino())).copied().unwrap_or(0),
        })
    }

    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        self.identity.is_same_file(&other.identity)
    }
}

/// Notes that the file of this name is written to.
pub(super) fn note(path: &Path) {
    if let Ok(meta) = fs::metadata(path) {
        let mut writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
        *writes.entry((meta.dev(), meta.ino())).or_insert(0) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_write_is_missed_by_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a"), folder.path().join("b"));
        assert_eq!(State::of(&path), None);
        fs::write(&path, "1").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let before = State::of(&path);
        assert_eq!(before, State::of(&link));
        note(&link);
        assert_ne!(before, State::of(&path)); // at whatever time
        let before = State::of(&path);
        fs::write(&path, "12").unwrap();
        assert_ne!(before, State::of(&path));
    }
}
