#![expect(unsafe_code, reason = "mapping a file into memory is an unsafe call")]
//! [`MappedFile`]: the bytes of a file in memory, without a copy.

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// A file mapped for reading.
#[derive(Debug)]
pub(crate) struct MappedFile(Mmap);

impl MappedFile {
    /// Maps the whole file.
    pub(crate) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: memmap2 asks that nobody changes or truncates the file while it is mapped. The
        // map is read-only and private to this type. This crate puts a file in place by renaming
        // one that is complete, which leaves a mapped file as it is; its one writer into a file
        // that others have opened, `npy::PartsWriter`, writes under the temporary name alone and
        // refuses to once the file has its final one. What this cannot exclude (a rank that still
        // writes while another publishes, files written by others, a caller who maps a temporary
        // file) every public function that maps asks of its caller in its documentation, see
        // "Files that are changed in place" on `PartFile` and `MappedPart`.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
