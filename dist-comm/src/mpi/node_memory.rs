//! How much memory the ranks of a node can still share.
//!
//! Libraries keep it in files of `/dev/shm`, which may be small: 64 MiB in many a container. When such a file does not fit,
//! Open MPI notices on one rank, and the others wait for that one for good. So the ranks look before they ask.

/// Bytes that are left, where it is known.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(super) fn left() -> Option<u64> {
    // SAFETY: the structure is plain numbers, for which zeros are a value.
    let mut room: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: statvfs(3): the path ends with a zero byte, and what is said goes to a structure of ours.
    let code = unsafe { libc::statvfs(c"/dev/shm".as_ptr(), &raw mut room) };
    (code == 0).then(|| room.f_bavail.saturating_mul(room.f_frsize))
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(super) fn left() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    /// Others may use it meanwhile, but not half as much as this.
    const LEN: usize = 32 << 20;

    #[test]
    fn a_file_takes_some_of_it() {
        let file = tempfile::tempfile_in("/dev/shm").ok();
        let (Some(before), Some(mut file)) = (super::left(), file) else {
            println!("skipped: no file in /dev/shm");
            return;
        };
        if before < 2 * LEN as u64 {
            println!("skipped: only {before} bytes in /dev/shm");
            return;
        }
        file.write_all(&vec![1; LEN]).unwrap();
        let after = super::left().unwrap();
        assert!(after <= before - LEN as u64 / 2, "{before}, then {after}");
    }
}
