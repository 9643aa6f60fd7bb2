//! Bytes and numbers of an HDF5 file, as its format has them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::h5::{Refusal, SeriesRefusal};

/// An address that is none.
pub(super) const NOWHERE: u64 = u64::MAX;

pub(super) fn unsuited(message: impl Into<String>) -> Refusal {
    let message = message.into();
    SeriesRefusal::NotGrowable { message }.into()
}

/// So many bytes of a file that ends at byte `end`.
pub(super) fn bytes(file: &File, at: u64, len: usize, end: u64) -> Result<Vec<u8>, Refusal> {
    let expected = at.saturating_add(len as u64);
    if expected > end {
        return Err(Refusal::Truncated {
            expected,
            found: end,
        });
    }
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, at)
        .map_err(Refusal::os("read"))?;
    Ok(bytes)
}

pub(super) fn write(file: &File, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
    file.write_all_at(bytes, at).map_err(Refusal::os("write"))
}

/// A number of so many bytes, lowest first.
pub(super) fn number(bytes: &[u8], at: usize, len: usize) -> Result<u64, Refusal> {
    let found = at.checked_add(len).and_then(|end| bytes.get(at..end));
    let found = found.ok_or_else(|| unsuited("a message of its header is cut off"))?;
    Ok(found
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// A number that counts bytes or messages in memory.
pub(super) fn count(bytes: &[u8], at: usize, len: usize) -> Result<usize, Refusal> {
    usize::try_from(number(bytes, at, len)?).map_err(|_| unsuited("a message is too long"))
}

/// Whether bytes lie in more than one page of memory: a process that is killed while it writes them may write those of the first
/// page alone.
pub(super) fn is_torn(at: u64, len: usize) -> bool {
    /// The least that any system has.
    const PAGE: u64 = 4096;
    let last = at.saturating_add(len as u64).saturating_sub(1);
    at / PAGE != last.max(at) / PAGE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_told_apart() {
        for (at, len, torn) in [
            (0, 4096, false),
            (1, 4096, true),
            (4090, 6, false),
            (4090, 7, true),
            (4096, 0, false),
            (8192, 1, false),
        ] {
            assert_eq!(is_torn(at, len), torn, "{len} bytes from {at} on");
        }
    }

    #[test]
    fn numbers_are_lowest_byte_first() {
        let bytes = [1, 2, 0, 0, 9];
        assert_eq!(number(&bytes, 0, 4).unwrap(), 513);
        assert_eq!(count(&bytes, 4, 1).unwrap(), 9);
        assert!(number(&bytes, 4, 2).is_err());
        assert!(number(&bytes, usize::MAX, 2).is_err());
    }
}
