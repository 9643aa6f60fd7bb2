//! Files opened: those of others, and one that nobody else knows of yet.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use hdf5_metno as hdf5;
use hdf5_metno::file::FileBuilder;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{Refusal, ffi};

/// How often a lock that somebody has is tried again, and after how long.
const LOCK_TURNS: usize = 20;
const LOCK_TURN: Duration = Duration::from_millis(5);

/// Opens a file to read it. Where the file system has no locks, it is opened without one. Processes that are started meanwhile do not
/// inherit it, and do not go on holding the library's lock.
pub(super) fn to_read(path: &Path) -> Result<hdf5::File, Refusal> {
    let opened = hdf5::File::open(path).or_else(|error| {
        if lock_refusal(&error.to_string()) == Some(LockRefusal::NoLocks) {
            unlocked().open(path)
        } else {
            Err(error)
        }
    });
    let file = opened.map_err(|error| not_opened(path, error))?;
    ffi::close_on_exec(&file);
    Ok(file)
}

/// Keeps other programs from a file that is changed in place, as long as it lives; `None` where the file system has no locks, or where
/// the library takes its own, which it cannot be kept from. A process that is started meanwhile does not inherit it.
pub(super) fn alone(path: &Path) -> Result<Option<File>, Refusal> {
    let file = File::options().read(true).write(true).open(path);
    let file = file.map_err(Refusal::os("open"))?;
    if !cfg!(hdf5_file_locking) {
        return Ok(None);
    }
    let locked = lock_alone(&file, "another program has it open")?;
    Ok(locked.then_some(file))
}

/// Locks a file that nobody else has locked; whether the file system has locks. A process that is being started has what this one
/// has open for a moment, until it is another program: a lock that somebody has is tried again.
pub(super) fn lock_alone(file: &File, message: &str) -> Result<bool, Refusal> {
    for turn in 1.. {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK) if turn < LOCK_TURNS => std::thread::sleep(LOCK_TURN),
            Err(Errno::WOULDBLOCK) => {
                return Err(Refusal::Locked {
                    message: message.to_owned(),
                });
            }
            Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => return Ok(false),
            Err(error) => return Err(Refusal::os("lock")(error.into())),
        }
    }
    Ok(true)
}

/// Locks a file that is read without the library, as the library would: others may read it too. The lock goes with the file.
pub(super) fn share(file: &File) -> Result<(), Refusal> {
    match flock(file, FlockOperation::NonBlockingLockShared) {
        Err(Errno::WOULDBLOCK) => Err(Refusal::Locked {
            message: "another program has it open to write".to_owned(),
        }),
        // a file system without locks
        Ok(()) | Err(Errno::NOLCK | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
        Err(error) => Err(Refusal::os("lock")(error.into())),
    }
}

/// What is as long as this begins at a whole page, in files that this crate writes: pages are then moved as a whole, by way of the page
/// cache or past it.
const LONG: u64 = 64 << 10;
const PAGE: u64 = 4096;

/// Opens a file that only this process knows of, or has locked, to add to it.
pub(super) fn private(path: &Path) -> Result<hdf5::File, Refusal> {
    let mut options = unlocked();
    let file = options.with_fapl(|access| access.alignment(LONG, PAGE));
    let file = file.open_rw(path);
    file.map_err(|error| not_opened(path, error))
}

/// Makes a file that only this process knows of, in place of an empty one.
pub(super) fn new_private(path: &Path) -> Result<hdf5::File, Refusal> {
    let mut options = unlocked();
    let file = options.with_fapl(|access| access.alignment(LONG, PAGE));
    file.create(path).map_err(Refusal::library("create"))
}

/// Without a lock, which a process that is started meanwhile would go on holding under the file's later name.
pub(super) fn unlocked() -> FileBuilder {
    #[cfg_attr(
        not(hdf5_file_locking),
        expect(unused_mut, reason = "this library has no call for it")
    )]
    let mut builder = hdf5::File::with_options();
    #[cfg(hdf5_file_locking)]
    builder.with_fapl(|access| access.file_locking(false));
    builder
}

/// Why the library did not open a file.
pub(super) fn not_opened(path: &Path, error: hdf5::Error) -> Refusal {
    let message = error.to_string();
    if lock_refusal(&message) == Some(LockRefusal::Held) {
        return Refusal::Locked { message };
    }
    match has_signature(path) {
        Ok(true) => Refusal::library("open")(error),
        Ok(false) => Refusal::NotHdf5,
        Err(error) => Refusal::os("open")(error),
    }
}

/// Why a lock was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LockRefusal {
    /// Another program has it.
    Held,
    /// The file system has none.
    NoLocks,
}

/// What the library says of a lock, if it speaks of one: its answer has the number of the operating system's.
fn lock_refusal(message: &str) -> Option<LockRefusal> {
    let (_, rest) = message.split_once("unable to lock file")?;
    let number = rest.split_once("errno = ").and_then(|(_, rest)| {
        let end = rest.find(|c: char| !c.is_ascii_digit());
        rest[..end.unwrap_or(rest.len())].parse::<i32>().ok()
    });
    Some(match number {
        // ENOLCK, ENOSYS, EOPNOTSUPP, ENOTSUPP of some network file systems
        Some(37 | 38 | 95 | 524) => LockRefusal::NoLocks,
        _ => LockRefusal::Held,
    })
}

/// Whether the format's signature stands where it may: at byte 0, 512, 1024, 2048, ...
fn has_signature(path: &Path) -> std::io::Result<bool> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    let mut at = 0_u64;
    while at.saturating_add(8) <= len {
        let mut found = [0; 8];
        file.read_exact_at(&mut found, at)?;
        if found == *b"\x89HDF\r\n\x1a\n" {
            return Ok(true);
        }
        at = if at == 0 { 512 } else { at.saturating_mul(2) };
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_is_no_other_program() {
        let said = |number: u32| {
            format!(
                "H5Fopen(): unable to lock file: unable to lock file, errno = {number}, error message = 'x'"
            )
        };
        for (number, means) in [
            (11, LockRefusal::Held),
            (13, LockRefusal::Held),
            (37, LockRefusal::NoLocks),
            (38, LockRefusal::NoLocks),
            (524, LockRefusal::NoLocks),
        ] {
            assert_eq!(lock_refusal(&said(number)), Some(means), "{number}");
        }
        assert_eq!(lock_refusal("unable to lock file"), Some(LockRefusal::Held));
        assert_eq!(lock_refusal("file signature not found"), None);
    }

    #[test]
    fn a_process_started_while_a_file_is_read_does_not_hold_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("read.h5");
        hdf5::File::create(&path).unwrap().close().unwrap();
        let read = to_read(&path).unwrap();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        drop(read);
        let locked = alone(&path);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(locked.is_ok(), "{locked:?}");
    }
}
