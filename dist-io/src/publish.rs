//! [`Claim`] and [`Pending`]: a file beside its target, which replaces it as a whole or not at all. Local: by one rank.
//!
//! ```text
//! claim      .run.h5.lock   held alone    other saves of this crate wait
//!            run.h5         held shared   programs that write it by the HDF5 library are refused, or refuse this save
//! pending    .run.h5.<random>.tmp         written, synced
//! publish    run.h5 as it was claimed?    renamed over it, the directory synced; then what only the old one needs goes
//! ```

mod readers;
mod retired;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use rustix::fs::{Access, FlockOperation, access, flock};
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::identity::Identity;

use self::readers::is_unused;
pub(crate) use retired::Retired;
#[cfg(feature = "hdf5")]
pub(crate) use retired::is_left;

/// How long a save waits for another one of the same file.
const PATIENCE: Duration = Duration::from_secs(600);

/// Why a file was not replaced.
#[derive(Debug)]
pub(crate) enum PublishError {
    /// A directory, a device or a pipe is in its place.
    NotAFile,
    /// A path without a last component.
    FileName,
    /// It is there, and must not be.
    Exists,
    /// Another program holds it.
    Locked(String),
    /// It is another one than was claimed.
    Changed,
    /// It is replaced, but the directory could not be synced.
    Unsynced(io::Error),
    /// The operating system refused.
    Os(&'static str, io::Error),
}

impl PublishError {
    fn os(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Os(operation, error)
    }
}

/// What becomes of a file that is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It is replaced, whatever it is by then.
    Replace,
    /// It is an error.
    Refuse,
    /// The new file begins as a copy of it, and replaces it if it is still the same then.
    Copy,
    /// The new file begins empty, and replaces it if it is still the same then.
    Succeed,
}

/// A place that is about to be written to, and that no other save writes to meanwhile.
#[derive(Debug)]
pub(crate) struct Claim {
    /// Symbolic links followed.
    target: PathBuf,
    found: Option<Found>,
    _lock: SaveLock,
}

/// A file that is there.
#[derive(Debug)]
struct Found {
    identity: Identity,
    permissions: fs::Permissions,
    /// Its owner and its group.
    owner: (u32, u32),
    /// Open and locked; `None` where it may not be read.
    file: Option<File>,
}

impl Claim {
    /// Claims a path. Waits for other saves of this crate; other programs are not waited for.
    pub(crate) fn new(path: &Path) -> Result<Self, PublishError> {
        let target = behind_links(path)?;
        if target.file_name().is_none() {
            return Err(PublishError::FileName);
        }
        // before a lock is made beside it
        look(&target)?;
        let lock = SaveLock::new(&target)?;
        let found = Found::new(&target)?;
        Ok(Self {
            target,
            found,
            _lock: lock,
        })
    }

    /// The file that is claimed, symbolic links followed.
    #[cfg(feature = "hdf5")]
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Whether there is a file that will be replaced.
    #[cfg(feature = "hdf5")]
    pub(crate) fn exists(&self) -> bool {
        self.found.is_some()
    }

    /// Begins the file that will be in its place.
    pub(crate) fn pending(self, existing: Existing) -> Result<Pending, PublishError> {
        if existing == Existing::Refuse && self.found.is_some() {
            return Err(PublishError::Exists);
        }
        if self.found.is_some() {
            // what may not be written to is not replaced either, though its folder allows it
            let may = access(&self.target, Access::WRITE_OK);
            may.map_err(|error| PublishError::Os("open to write", error.into()))?;
        }
        let mut prefix = OsString::from(".");
        prefix.push(self.target.file_name().unwrap_or_default());
        prefix.push(".");
        let file = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(".tmp")
            .permissions(fs::Permissions::from_mode(0o666)) // less the umask
            .tempfile_in(directory(&self.target))
            .map_err(PublishError::os("create a file beside it"))?;
        if let Some(found) = &self.found {
            take_over(file.as_file(), found).map_err(PublishError::os("set the permissions"))?;
        }
        let is_copy = existing == Existing::Copy && self.found.is_some();
        if let (true, Some(found)) = (is_copy, &self.found) {
            let mut old = match &found.file {
                Some(file) => file,
                // says why it may not be read
                None => &File::open(&self.target).map_err(PublishError::os("open"))?,
            };
            io::copy(&mut old, &mut file.as_file()).map_err(PublishError::os("copy"))?;
        }
        Ok(Pending {
            file,
            claim: self,
            existing,
            is_copy,
            retired: Vec::new(),
        })
    }
}

/// Gives a new file the permissions of the one that it will replace, and its owner and group as far as that is allowed.
fn take_over(file: &File, found: &Found) -> io::Result<()> {
    let own = file.metadata()?;
    let (owner, group) = found.owner;
    if own.gid() != group {
        let _ = fchown(file, None, Some(group));
    }
    if own.uid() != owner {
        let _ = fchown(file, Some(owner), None);
    }
    // last, since another owner takes some of them away
    file.set_permissions(found.permissions.clone())
}

impl Found {
    /// Whether another program has it open.
    fn is_read(&self) -> bool {
        self.file.as_ref().is_none_or(|file| !is_unused(file))
    }

    fn new(target: &Path) -> Result<Option<Self>, PublishError> {
        let Some(meta) = look(target)? else {
            return Ok(None);
        };
        let found = |meta: &fs::Metadata, file| Self {
            identity: Identity::of(meta),
            permissions: meta.permissions(),
            owner: (meta.uid(), meta.gid()),
            file,
        };
        let file = match File::open(target) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Ok(Some(found(&meta, None)));
            }
            Err(error) => return Err(PublishError::Os("open", error)),
        };
        if !locked(&file, FlockOperation::NonBlockingLockShared)? {
            let message = "it is open to be written".to_owned();
            return Err(PublishError::Locked(message));
        }
        let meta = file.metadata();
        let meta = meta.map_err(PublishError::os("look at the file"))?;
        Ok(Some(found(&meta, Some(file))))
    }
}

/// A file that is being written, named `.<target>.<random>.tmp`. Dropped before [`publish`](Self::publish), it is removed.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Before the claim, so that it is gone when another save begins.
    file: NamedTempFile,
    claim: Claim,
    existing: Existing,
    is_copy: bool,
    retired: Vec<Retired>,
}

impl Pending {
    /// Its name until it is published.
    #[cfg(feature = "hdf5")]
    pub(crate) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    /// Whether it began as a copy of the target.
    #[cfg(feature = "hdf5")]
    pub(crate) fn is_copy(&self) -> bool {
        self.is_copy
    }

    /// What goes when the file is published: nobody needs it but the file that is replaced.
    #[cfg(feature = "hdf5")]
    pub(crate) fn retire(&mut self, retired: impl IntoIterator<Item = Retired>) {
        self.retired.extend(retired);
    }

    /// Gives the file its name, durably. The target is as it was after an error, unless that is [`PublishError::Unsynced`].
    pub(crate) fn publish(self) -> Result<(), PublishError> {
        let Self {
            file,
            claim,
            existing,
            retired,
            ..
        } = self;
        let target = &claim.target;
        file.as_file()
            .sync_all()
            .map_err(PublishError::os("sync"))?;
        let claimed = claim.found.as_ref().map(|found| found.identity);
        if matches!(existing, Existing::Copy | Existing::Succeed) {
            let now = look(target)?.as_ref().map(Identity::of);
            if now != claimed {
                return Err(PublishError::Changed);
            }
        }
        let marked: Vec<&Retired> = retired
            .iter()
            .filter(|retired| retired.mark(target))
            .collect();
        let renamed = if existing == Existing::Replace || claimed.is_some() {
            file.persist(target)
        } else {
            file.persist_noclobber(target)
        };
        if let Err(e) = renamed {
            marked.into_iter().for_each(Retired::unmark);
            return Err(match (e.error.kind(), existing) {
                (ErrorKind::AlreadyExists, Existing::Refuse) => PublishError::Exists,
                (ErrorKind::AlreadyExists, _) => PublishError::Changed,
                _ => PublishError::Os("rename to it", e.error),
            });
        }
        sync_directory(target).map_err(PublishError::Unsynced)?;
        if !retired.is_empty() && !claim.found.is_some_and(|found| found.is_read()) {
            retired.iter().for_each(Retired::remove);
        }
        Ok(())
    }
}

/// Writes a file as a whole or not at all.
#[cfg(feature = "cli")]
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let write = || {
        let pending = Claim::new(path)?.pending(Existing::Replace)?;
        let written = io::Write::write_all(&mut pending.file(), bytes);
        written.map_err(PublishError::os("write"))?;
        pending.publish()
    };
    write().map_err(|error| match error {
        PublishError::Os(_, error) | PublishError::Unsynced(error) => error,
        PublishError::NotAFile => io::Error::other("no regular file, it is not replaced"),
        PublishError::FileName => io::Error::other("this is no file name"),
        PublishError::Exists => ErrorKind::AlreadyExists.into(),
        PublishError::Locked(message) => io::Error::other(message),
        PublishError::Changed => io::Error::other("it was changed meanwhile"),
    })
}

/// The lock of a target among the saves of this crate: `.<target>.lock` beside it, which is removed with the lock.
#[derive(Debug)]
struct SaveLock {
    path: PathBuf,
    file: File,
    /// What it is held as.
    own: (PathBuf, ThreadId),
}

/// The targets that this process has locked, and by which thread: one that waits for itself waits for ever.
static HELD: Mutex<Vec<(PathBuf, ThreadId)>> = Mutex::new(Vec::new());

impl SaveLock {
    /// Waits for it.
    fn new(target: &Path) -> Result<Self, PublishError> {
        let mut name = OsString::from(".");
        name.push(target.file_name().unwrap_or_default());
        name.push(".lock");
        let path = directory(target).join(name);
        let own = (target.to_owned(), thread::current().id());
        if held().contains(&own) {
            let message = "this thread has begun another save of it".to_owned();
            return Err(PublishError::Locked(message));
        }
        let began = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&path);
            let file = file.or_else(|error| match error.kind() {
                // what a killed save of another user left can be locked too
                ErrorKind::PermissionDenied => File::open(&path).map_err(|_| error),
                _ => Err(error),
            });
            let file = file.map_err(PublishError::os("make a lock beside it"))?;
            match locked(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(true) if is_at(&file, &path) => {
                    held().push(own.clone());
                    return Ok(Self { path, file, own });
                }
                // the one who had it has removed it
                Ok(true) => continue,
                Ok(false) if began.elapsed() < PATIENCE => {}
                Ok(false) => {
                    let message = "another save of it is under way".to_owned();
                    return Err(PublishError::Locked(message));
                }
                Err(error) => return Err(error),
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Drop for SaveLock {
    fn drop(&mut self) {
        // while it is held: whoever waits sees that it is gone, and makes a new one
        if is_at(&self.file, &self.path) {
            let _ = fs::remove_file(&self.path);
        }
        let mut held = held();
        // the next one may have it already
        if let Some(at) = held.iter().position(|held| *held == self.own) {
            held.swap_remove(at);
        }
    }
}

fn held() -> std::sync::MutexGuard<'static, Vec<(PathBuf, ThreadId)>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a file is still the one of this name.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(own), Ok(there)) => Identity::of(&own).is_same_file(&Identity::of(&there)),
        _ => false,
    }
}

/// Locks a file; whether it was to be had. A file system without locks has none to refuse.
fn locked(file: &File, how: FlockOperation) -> Result<bool, PublishError> {
    match flock(file, how) {
        Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(PublishError::Os("lock", error.into())),
    }
}

/// What is there, which is a regular file if anything.
fn look(path: &Path) -> Result<Option<fs::Metadata>, PublishError> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_file() => Ok(Some(meta)),
        Ok(_) => Err(PublishError::NotAFile),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(PublishError::Os("look at the file", error)),
    }
}

/// Writes the entries of a file's directory through to the device.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

/// The directory that a file lies in.
pub(crate) fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(directory) if directory != Path::new("") => directory,
        _ => Path::new("."),
    }
}

/// The file that a name stands for, symbolic links followed; it need not exist.
pub(crate) fn behind_links(path: &Path) -> Result<PathBuf, PublishError> {
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
    let error = io::Error::other("too many symbolic links");
    Err(PublishError::Os("resolve", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(path: &Path, existing: Existing) -> Result<Pending, PublishError> {
        Claim::new(path)?.pending(existing)
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_changed_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for existing in [Existing::Copy, Existing::Succeed] {
            fs::write(&path, "old").unwrap();
            let file = pending(&path, existing).unwrap();
            assert_eq!(names(folder.path()).len(), 3, "lock, new file, old file");
            fs::write(&path, "longer").unwrap();
            assert!(matches!(file.publish(), Err(PublishError::Changed)));
            assert_eq!(fs::read(&path).unwrap(), b"longer");
            fs::remove_file(&path).unwrap();
            let file = pending(&path, existing).unwrap();
            fs::write(&path, "there").unwrap();
            assert!(matches!(file.publish(), Err(PublishError::Changed)));
            assert_eq!(fs::read(&path).unwrap(), b"there");
        }
        let file = pending(&path, Existing::Replace).unwrap();
        fs::write(&path, "anything").unwrap();
        file.publish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert!(matches!(
            pending(&path, Existing::Refuse),
            Err(PublishError::Exists)
        ));
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn saves_wait_for_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..25 {
                        let file = pending(&path, Existing::Copy).unwrap();
                        let len = file.file().metadata().unwrap().len();
                        file.file().set_len(len + 1).unwrap();
                        file.publish().unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::metadata(&path).unwrap().len(), 100);
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_lock_of_another_program_and_one_of_this_thread_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "old").unwrap();
        let writer = File::open(&path).unwrap();
        flock(&writer, FlockOperation::LockExclusive).unwrap();
        assert!(matches!(Claim::new(&path), Err(PublishError::Locked(_))));
        flock(&writer, FlockOperation::LockShared).unwrap();
        let first = Claim::new(&path).unwrap();
        assert!(matches!(Claim::new(&path), Err(PublishError::Locked(_))));
        drop(first);
        Claim::new(&path).unwrap();
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_new_file_takes_over_what_may_be_done_with_the_old_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        pending(&path, Existing::Replace)
            .unwrap()
            .publish()
            .unwrap();
        let plain = folder.path().join("b");
        fs::write(&plain, "").unwrap();
        let plain = fs::metadata(&plain).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(), plain, "as the umask has it");
        for bits in [0o600, 0o640, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).unwrap();
            let file = pending(&path, Existing::Copy).unwrap();
            file.publish().unwrap();
            assert_eq!(mode(), bits);
        }
        // who may not write to a file does not replace it; the superuser always may
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        let may = access(&path, Access::WRITE_OK).is_ok();
        let replaced = pending(&path, Existing::Replace);
        assert_eq!(replaced.is_ok(), may);
        let error = replaced.err();
        assert!(error.is_none_or(|error| matches!(error, PublishError::Os("open to write", _))));
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[test]
    fn a_lock_that_was_left_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let lock = folder.path().join(".a.lock");
        fs::write(&lock, "").unwrap();
        // as another user left it
        fs::set_permissions(&lock, fs::Permissions::from_mode(0o444)).unwrap();
        pending(&path, Existing::Copy).unwrap().publish().unwrap();
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[cfg(feature = "hdf5")]
    #[test]
    fn what_only_the_old_file_needs_goes_with_its_last_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let parts = folder.path().join("parts");
        let retired = || Retired::new(parts.clone(), vec!["0".into(), "1".into()]);
        for with_others in [false, true] {
            fs::write(&path, "old").unwrap();
            fs::create_dir(&parts).unwrap();
            for name in ["0", "1"] {
                fs::write(parts.join(name), "").unwrap();
            }
            if with_others {
                fs::write(parts.join("theirs"), "").unwrap();
            }
            // not published, and not renamed
            let mut file = pending(&path, Existing::Copy).unwrap();
            file.retire([retired()]);
            drop(file);
            let mut file = pending(&path, Existing::Copy).unwrap();
            file.retire([retired()]);
            fs::write(&path, "changed").unwrap();
            assert!(matches!(file.publish(), Err(PublishError::Changed)));
            assert_eq!(names(&parts).len(), if with_others { 3 } else { 2 });
            assert!(!is_left(&parts));
            // published, and read by somebody
            let reader = File::open(&path).unwrap();
            flock(&reader, FlockOperation::LockShared).unwrap();
            let mut file = pending(&path, Existing::Copy).unwrap();
            file.retire([retired()]);
            file.publish().unwrap();
            assert!(parts.join("1").exists() && !is_left(&parts));
            drop(reader);
            assert!(is_left(&parts));
            // by a later save
            let mut file = pending(&path, Existing::Copy).unwrap();
            file.retire([retired()]);
            file.publish().unwrap();
            if with_others {
                assert_eq!(names(&parts), ["theirs"]);
            } else {
                assert!(!parts.exists());
            }
        }
    }

    #[test]
    fn the_file_behind_a_dangling_link_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("behind", &link).unwrap();
        pending(&link, Existing::Replace)
            .unwrap()
            .publish()
            .unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(folder.path()), ["behind", "link"]);
    }
}
