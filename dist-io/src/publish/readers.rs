//! [`is_unused`]: whether a program has a file open, as far as locks tell.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Whether no program has a file open that is open here; where there are no locks, it seems so.
pub(super) fn is_unused(file: &File) -> bool {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => !is_read(file).unwrap_or(true),
        _ => true,
    }
}

/// Whether it is a reader who has the lock of a file: a process that was started by this one while it had the file open has the
/// lock too, and does not know of it.
fn is_read(file: &File) -> io::Result<bool> {
    let meta = file.metadata()?;
    let inode = meta.ino().to_string();
    let own = std::process::id().to_string();
    // "7: FLOCK  ADVISORY  READ 1234 00:1b:56789 0 EOF": who took it, and the file's device and inode
    for line in fs::read_to_string("/proc/locks")?.lines() {
        let mut words = line.split_whitespace().skip_while(|word| *word != "FLOCK");
        let (taker, place) = (words.nth(3), words.next());
        let is_here = place.and_then(|place| place.rsplit(':').next()) == Some(&*inode);
        if is_here && taker != Some(&*own) {
            return Ok(true);
        }
    }
    // beside `file` itself
    let mut open = 0;
    for entry in fs::read_dir("/proc/self/fd")? {
        // one of another thread may be closed meanwhile
        let other = fs::metadata(entry?.path());
        let same = other.is_ok_and(|other| (other.dev(), other.ino()) == (meta.dev(), meta.ino()));
        open += usize::from(same);
    }
    Ok(open > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_inherited_a_lock_is_no_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let file = File::create(&path).unwrap();
        assert!(is_unused(&file));
        let reader = File::open(&path).unwrap();
        flock(&file, FlockOperation::LockShared).unwrap();
        flock(&reader, FlockOperation::LockShared).unwrap();
        assert!(!is_unused(&file));
        // as if it had been open when another program was started
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .stdin(reader)
            .spawn()
            .unwrap();
        let unused = is_unused(&file);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(unused);
        assert!(is_unused(&file));
    }
}
