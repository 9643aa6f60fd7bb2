//! [`Pending`]: a file beside its target, which replaces it as a whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::error::CliError;

/// A file that is being written, named `.<target>.<random>.tmp`. Dropped before [`publish`](Self::publish), it is removed.
pub(super) struct Pending {
    file: NamedTempFile,
    target: PathBuf,
    /// Whether there is a file that it will replace.
    #[cfg(feature = "hdf5")]
    replaces: bool,
}

impl Pending {
    /// An empty file beside `path`; behind it, where it is a symbolic link.
    pub(super) fn new(path: &Path) -> Result<Self, CliError> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let existing = fs::metadata(&target).ok();
        if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
            let source = std::io::Error::other("no regular file, it is not replaced");
            return Err(CliError::os("replace", path)(source));
        }
        let name = target.file_name().unwrap_or_default();
        let mut prefix = OsString::from(".");
        prefix.push(name);
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".tmp");
        #[cfg(unix)]
        let ordinary = std::os::unix::fs::PermissionsExt::from_mode(0o666); // less the umask
        #[cfg(unix)]
        builder.permissions(ordinary);
        let file = builder
            .tempfile_in(directory(&target))
            .map_err(CliError::os("create a file beside", path))?;
        if let Some(existing) = &existing {
            let same = file.as_file().set_permissions(existing.permissions());
            same.map_err(CliError::os("set the permissions of", path))?;
        }
        Ok(Self {
            file,
            target,
            #[cfg(feature = "hdf5")]
            replaces: existing.is_some(),
        })
    }

    /// Its name until it is published.
    #[cfg(feature = "hdf5")]
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    /// The file that it will replace.
    #[cfg(feature = "hdf5")]
    pub(super) fn replaced(&self) -> Option<&Path> {
        self.replaces.then_some(self.target.as_path())
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Gives the file its name, durably.
    pub(super) fn publish(self) -> Result<(), CliError> {
        let target = &self.target;
        self.file
            .as_file()
            .sync_all()
            .map_err(CliError::os("sync", target))?;
        self.file
            .persist(target)
            .map_err(|e| CliError::os("rename to", target)(e.error))?;
        #[cfg(unix)]
        File::open(directory(target))
            .and_then(|directory| directory.sync_all())
            .map_err(CliError::os("sync the directory of", target))?;
        Ok(())
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// Writes a file as a whole or not at all.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let mut pending = Pending::new(path)?;
    pending
        .file()
        .write_all(bytes)
        .map_err(CliError::os("write", path))?;
    pending.publish()
}
