//! A file beside its target, which replaces it as a whole or not at all. By rank 0 alone.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::together::is_regular;
use super::{Refusal, WriteMode};

/// A file that is being written, named `.<target>.<random>.tmp`. Dropped before [`publish`](Self::publish), it is removed.
pub(super) struct Pending {
    file: NamedTempFile,
    target: PathBuf,
    mode: WriteMode,
    /// Whether it began as a copy of the target.
    is_copy: bool,
}

impl Pending {
    /// Begins a file that will be known as `path`: an empty one, or for [`WriteMode::Append`] a copy of what is there.
    pub(super) fn new(path: &Path, mode: WriteMode) -> Result<Self, Refusal> {
        let target = behind_links(path)?;
        let name = target.file_name().ok_or(Refusal::FileName)?;
        let existing = is_regular(&target)?;
        if existing.is_some() && mode == WriteMode::CreateNew {
            return Err(Refusal::Exists);
        }
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".tmp")
            .permissions(fs::Permissions::from_mode(0o666)) // less the umask
            .tempfile_in(directory(&target))
            .map_err(Refusal::os("create a file beside it"))?;
        let is_copy = existing.is_some() && mode == WriteMode::Append;
        if let Some(existing) = existing {
            let same = file.as_file().set_permissions(existing.permissions());
            same.map_err(Refusal::os("set the permissions"))?;
        }
        if is_copy {
            let mut old = File::open(&target).map_err(Refusal::os("open"))?;
            std::io::copy(&mut old, &mut file.as_file()).map_err(Refusal::os("copy"))?;
        }
        Ok(Self {
            file,
            target,
            mode,
            is_copy,
        })
    }

    /// Its name until it is published.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// Whether it began as a copy of the target.
    pub(super) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// Gives the file its name, durably.
    pub(super) fn publish(self) -> Result<(), Refusal> {
        let file = self.file;
        file.as_file().sync_all().map_err(Refusal::os("sync"))?;
        if self.mode == WriteMode::CreateNew {
            let renamed = file.persist_noclobber(&self.target);
            renamed.map_err(|e| match e.error.kind() {
                std::io::ErrorKind::AlreadyExists => Refusal::Exists,
                _ => Refusal::os("rename to it")(e.error),
            })?;
        } else {
            let renamed = file.persist(&self.target);
            renamed.map_err(|e| Refusal::os("rename to it")(e.error))?;
        }
        File::open(directory(&self.target))
            .and_then(|directory| directory.sync_all())
            .map_err(Refusal::os("sync the directory"))
    }
}

pub(super) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// The file that a name stands for, symbolic links followed; it need not exist.
pub(super) fn behind_links(path: &Path) -> Result<PathBuf, Refusal> {
    let mut target = path.to_path_buf();
    // the limit of Linux: more links than that are a loop
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(link) => {
                // a relative link counts from the directory that the link lies in
                let base = target.parent().unwrap_or(Path::new("")).to_path_buf();
                target = base.join(link);
            }
            Err(_) => return Ok(target),
        }
    }
    Err(Refusal::Os {
        operation: "resolve".to_owned(),
        message: "too many symbolic links".to_owned(),
    })
}
