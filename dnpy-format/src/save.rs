//! Saving to a file that is replaced as a whole or not at all.
//!
//! Written is a temporary file in the target's directory. It is synced, renamed onto the target,
//! and the directory is synced: whoever opens the target, at any time and after any crash, finds
//! the old file or the new one. A killed save leaves its temporary file, named
//! `.<target>.<random>.tmp`, which nobody reads.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use dap_protocol::{DistributedArray, HostBuffer};
use tempfile::NamedTempFile;

use crate::DnpyError;
use crate::write::{WriteOptions, write_localarray_with};

/// Saves one rank's part to a file, which is replaced as a whole or not at all. Local.
///
/// Any exporter of the protocol is taken. Where the target is a symbolic link, the file behind it
/// is replaced. An existing file keeps its permissions; a new one gets the usual ones. A target
/// that is no regular file (a device, a pipe, a directory) is refused.
///
/// The name is free. Named `<prefix>_<rank>.dnpy`, with one prefix for all ranks, the files are
/// also a set, which any number of ranks, and one process, read as one array: feature `set`,
/// `set::Set::open(prefix)`.
///
/// # Errors
/// [`DnpyError`], naming the file; the old file is then whole.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// # let dir = tempfile::tempdir()?;
/// let dim_data = DimData::new(vec![DimDict::block(10, 2, 0, 0..5)?]);
/// let part = DistBuffer::new(dim_data, HostArray::new(vec![5], vec![0_i32, 1, 2, 3, 4])?)?;
/// dnpy_format::save(dir.path().join("part_0.dnpy"), &part)?;
/// assert_eq!(dnpy_format::load::<i32>(dir.path().join("part_0.dnpy"))?, part);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<'a, A>(path: impl AsRef<Path>, array: &'a A) -> Result<(), DnpyError>
where
    A: DistributedArray,
    A::Buffer<'a>: HostBuffer,
{
    save_with(path, array, WriteOptions::default())
}

/// [`save`] with options.
///
/// # Errors
/// As [`save`].
pub fn save_with<'a, A>(
    path: impl AsRef<Path>,
    array: &'a A,
    options: WriteOptions,
) -> Result<(), DnpyError>
where
    A: DistributedArray,
    A::Buffer<'a>: HostBuffer,
{
    let part = array.distarray();
    publish(path.as_ref(), |file| {
        write_localarray_with(file, &part, options)
    })
}

/// Writes a file beside `path` and renames it there.
pub(crate) fn publish(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), DnpyError>,
) -> Result<(), DnpyError> {
    let target = behind_links(path)?;
    let mut file = temporary(&target)?;
    write(file.as_file_mut()).map_err(|e| e.in_file(path))?;
    commit(file, &target)
}

/// The file that a name stands for, symbolic links followed; it need not exist.
pub(crate) fn behind_links(path: &Path) -> Result<PathBuf, DnpyError> {
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
    let source = io::Error::other("too many symbolic links");
    Err(DnpyError::io("resolve", path)(source))
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    }
}

/// What is known of an existing file; refuses devices, pipes and directories, which a renamed file
/// would replace.
pub(crate) fn regular(target: &Path) -> Result<Option<fs::Metadata>, DnpyError> {
    match fs::metadata(target) {
        Ok(meta) if meta.is_file() => Ok(Some(meta)),
        Ok(_) => Err(DnpyError::NotAFile {
            path: target.to_path_buf(),
        }),
        Err(_) => Ok(None), // whatever it is, creating the file beside it will tell
    }
}

/// A new file beside `target`, with the permissions that the target has or will have.
pub(crate) fn temporary(target: &Path) -> Result<NamedTempFile, DnpyError> {
    let Some(name) = target.file_name() else {
        return Err(DnpyError::FileName {
            path: target.to_path_buf(),
        });
    };
    let existing = regular(target)?;
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    let ordinary = std::os::unix::fs::PermissionsExt::from_mode(0o666); // less the umask
    #[cfg(unix)]
    builder.permissions(ordinary);
    let file = builder
        .tempfile_in(directory(target))
        .map_err(DnpyError::io("create a file beside", target))?;
    if let Some(existing) = existing {
        file.as_file()
            .set_permissions(existing.permissions())
            .map_err(DnpyError::io("set the permissions of", target))?;
    }
    Ok(file)
}

/// Makes a temporary file durable under its final name.
pub(crate) fn commit(file: NamedTempFile, target: &Path) -> Result<(), DnpyError> {
    file.as_file()
        .sync_all()
        .map_err(DnpyError::io("sync", target))?;
    file.persist(target)
        .map_err(|e| DnpyError::io("rename to", target)(e.error))?;
    sync_directory(target)
}

/// Makes the entries of the directory that `path` lies in durable.
pub(crate) fn sync_directory(path: &Path) -> Result<(), DnpyError> {
    #[cfg(unix)]
    {
        let dir = directory(path);
        File::open(dir)
            .and_then(|dir| dir.sync_all())
            .map_err(DnpyError::io("sync the directory", dir))?;
    }
    #[cfg(not(unix))]
    let _ = path; // no such call elsewhere
    Ok(())
}
