//! [`Held`]: a file that every rank has opened by itself; and elements read from there, or from memory.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dap_protocol::DimData;
use dist_comm::agree::agree;
use dist_comm::{CommError, Communicator, Operation, SharedFile};

use crate::IoError;
use crate::part::{Extent, FilePart};

/// Reads a part by itself, run by run: so many bytes from an offset of the array on. Local.
pub(in crate::h5) fn read_part<E>(
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    dim_data: &DimData,
    item: usize,
    bytes: &mut [u8],
) -> Result<(), IoError>
where
    IoError: From<E>,
{
    let part = FilePart::new(dim_data, item, Extent::Stored)?;
    for run in part.runs() {
        let target = &mut bytes[run.local * item..(run.local + run.len) * item];
        read(run.offset, target)?;
    }
    Ok(())
}

/// Copies from all elements of an array.
pub(in crate::h5) fn copy_from(all: &[u8], offset: u64, to: &mut [u8]) -> Result<(), IoError> {
    let short = || IoError::BufferLength {
        given: all.len(),
        allowed: usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .saturating_add(to.len()),
    };
    let from = usize::try_from(offset)
        .ok()
        .and_then(|start| all.get(start..));
    let from = from
        .and_then(|from| from.get(..to.len()))
        .ok_or_else(short)?;
    to.copy_from_slice(from);
    Ok(())
}

/// A file that every rank has opened by itself, to read it, as one that they share.
pub(super) struct Held<'a, C: ?Sized> {
    pub(super) comm: &'a C,
    pub(super) file: &'a File,
    pub(super) path: &'a Path,
}

impl<C: Communicator + ?Sized> Held<'_, C> {
    fn failure(&self, operation: Operation, rank: usize, message: String) -> CommError {
        CommError::File {
            operation,
            rank,
            path: self.path.to_owned(),
            message,
        }
    }

    fn read_only(&self, operation: Operation) -> Result<(), CommError> {
        // the same on every rank
        Err(self.failure(operation, 0, "it is open to be read".to_owned()))
    }
}

impl<C: Communicator + ?Sized> SharedFile for Held<'_, C> {
    fn len(&self) -> Result<u64, CommError> {
        let failed = |error: std::io::Error| {
            self.failure(Operation::FileOpen, self.comm.rank(), error.to_string())
        };
        Ok(self.file.metadata().map_err(failed)?.len())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError> {
        let read = self.file.read_exact_at(buf, offset);
        read.map_err(|error| {
            let message = match error.kind() {
                ErrorKind::UnexpectedEof => format!(
                    "the file ends before byte {}",
                    offset.saturating_add(buf.len() as u64)
                ),
                _ => error.to_string(),
            };
            self.failure(Operation::FileRead, self.comm.rank(), message)
        })
    }

    fn write_at(&self, _: u64, _: &[u8]) -> Result<(), CommError> {
        self.read_only(Operation::FileWrite)
    }

    fn read_at_all(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError> {
        let agreed = agree(self.comm, self.read_at(offset, buf));
        agreed.map_err(|agreed| self.failure(Operation::FileRead, agreed.rank, agreed.cause))
    }

    fn write_at_all(&self, _: u64, _: &[u8]) -> Result<(), CommError> {
        self.read_only(Operation::FileWrite)
    }

    fn set_len(&self, _: u64) -> Result<(), CommError> {
        self.read_only(Operation::FileSetLen)
    }

    fn sync(&self) -> Result<(), CommError> {
        Ok(())
    }
}
