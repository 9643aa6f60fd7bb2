//! [`reserve`]: room on the disk before the library writes, which is not to be left in the middle of it.

use std::fs::File;

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::{Errno, retry_on_intr};

use crate::h5::Refusal;

/// Makes sure that the disk has room for so many bytes from one of the file on, which does not become longer: a rank that
/// finds none within a collective call may leave the others waiting there, and a file that cannot be closed leaves the library in
/// no good state. File systems that cannot promise room are left alone. Local.
pub(super) fn reserve(file: &File, from: u64, bytes: u64) -> Result<(), Refusal> {
    if bytes == 0 {
        return Ok(());
    }
    // a signal may interrupt it
    let reserved = retry_on_intr(|| fallocate(file, FallocateFlags::KEEP_SIZE, from, bytes));
    match reserved {
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(()),
        Err(error) => Err(Refusal::os("reserve room for the elements")(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_has_some_room_and_not_any() {
        let file = tempfile::tempfile().unwrap();
        reserve(&file, 0, 0).unwrap();
        reserve(&file, 100, 4096).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 0);
        let refused = reserve(&file, 0, 1 << 60);
        assert!(matches!(refused, Err(Refusal::Os { .. })), "{refused:?}");
    }
}
