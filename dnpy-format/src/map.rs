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
        // SAFETY: memmap2 asks that nobody changes or truncates the file while it is mapped. Of
        // what this process does, nothing can: the map is read-only and private to this type, and
        // this crate never writes into an existing file but renames a new one into its place
        // (`save`), which leaves the mapped file as it is. Of other writers it is asked in the
        // documentation of each public function that maps. Whatever bytes are there, they are
        // handed out as `u8` only.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self(map))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
