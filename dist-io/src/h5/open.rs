//! Files opened: those of others, and one that nobody else knows of yet.

use std::path::Path;

use hdf5_metno as hdf5;
use hdf5_metno::file::FileBuilder;

use super::Refusal;
use super::dataset::not_opened;

/// Opens a file to read it.
pub(super) fn to_read(path: &Path) -> Result<hdf5::File, Refusal> {
    hdf5::File::open(path).map_err(|error| not_opened(path, error))
}

/// Opens a file that only this process knows of, to add to it.
pub(super) fn private(path: &Path) -> Result<hdf5::File, Refusal> {
    let file = unlocked().open_rw(path);
    file.map_err(|error| not_opened(path, error))
}

/// Makes a file that only this process knows of, in place of an empty one.
pub(super) fn new_private(path: &Path) -> Result<hdf5::File, Refusal> {
    unlocked().create(path).map_err(Refusal::library("create"))
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
