//! One file that all ranks read and write: [`SharedFile`], opened through [`SharedFileOps`].
//!
//! Plain positioned reads and writes of the operating system, for every communicator: on a shared POSIX file system they
//! are what a message-passing library's own file layer comes down to, and ranks that write disjoint parts need no
//! coordination. The communicator adds what the operating system lacks: outcomes that are the same on all ranks.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::agree::told;
use crate::{CommError, CommExt, Communicator, Operation};

/// What a shared file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileMode {
    /// Reading a file that exists.
    Read,
    /// Reading and writing a file that exists.
    ReadWrite,
    /// Reading and writing a file that is made, or emptied.
    Create,
}

impl FileMode {
    const ALL: [Self; 3] = [Self::Read, Self::ReadWrite, Self::Create];
}

impl fmt::Display for FileMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "reading",
            Self::ReadWrite => "reading and writing",
            Self::Create => "creating",
        })
    }
}

/// A file opened by all ranks of a communicator. Offsets and lengths are in bytes.
///
/// `read_at` and `write_at` are local: any rank, any time, parts that do not overlap. The `_all` forms, `set_len` and `sync`
/// are collective and give every rank the same error; they fail as [`Communicator::barrier`] does when ranks do not meet, and
/// with [`CommError::Mismatch`] when ranks make different calls. A rank may have read or written its own part by then.
pub trait SharedFile: Send + Sync {
    /// Length of the file as it is now. Local.
    ///
    /// # Errors
    /// [`CommError::File`].
    fn len(&self) -> Result<u64, CommError>;

    /// Whether the file is empty as it is now. Local.
    ///
    /// # Errors
    /// [`CommError::File`].
    fn is_empty(&self) -> Result<bool, CommError> {
        Ok(self.len()? == 0)
    }

    /// Fills `buf` from byte `offset` on. Local.
    ///
    /// # Errors
    /// [`CommError::File`], also when the file ends before `buf` is full.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError>;

    /// Writes all of `buf` from byte `offset` on; the file grows as needed. Local.
    ///
    /// # Errors
    /// [`CommError::File`].
    fn write_at(&self, offset: u64, buf: &[u8]) -> Result<(), CommError>;

    /// As [`read_at`](Self::read_at) on every rank, each its own part, of any length. Collective.
    ///
    /// # Errors
    /// [`CommError::File`] of the lowest rank that failed, on all.
    fn read_at_all(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError>;

    /// As [`write_at`](Self::write_at) on every rank, each its own part, of any length. When it returns, every rank can read
    /// what was written. Collective.
    ///
    /// # Errors
    /// [`CommError::File`] of the lowest rank that failed, on all.
    fn write_at_all(&self, offset: u64, buf: &[u8]) -> Result<(), CommError>;

    /// Cuts the file to `len` bytes, or extends it with zeros. Collective; equal lengths.
    ///
    /// # Errors
    /// [`CommError::Length`] when lengths differ, before anything is done; [`CommError::File`]; on all ranks.
    fn set_len(&self, len: u64) -> Result<(), CommError>;

    /// Returns when what every rank wrote is on the device. Collective.
    ///
    /// # Errors
    /// [`CommError::File`] of the lowest rank that failed, on all.
    fn sync(&self) -> Result<(), CommError>;
}

/// Opening files together; for every [`Communicator`].
///
/// ```
/// use dist_comm::{CommError, Communicator, FileMode, SharedFileOps, ThreadComm};
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("numbers");
/// let lens = ThreadComm::run(3, |comm| {
///     let file = comm.open_shared(&path, FileMode::Create)?; // collective
///     file.write_at_all(2 * comm.rank() as u64, &[comm.rank() as u8; 2])?; // collective, disjoint parts
///     file.len()
/// })?;
/// assert_eq!(lens, [6, 6, 6]);
/// assert_eq!(std::fs::read(&path)?, [0, 0, 1, 1, 2, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SharedFileOps: Communicator {
    /// Opens one file on all ranks. Collective; equal modes, and equal paths, as written.
    ///
    /// [`FileMode::Create`] makes the file on rank 0 before the others open it.
    ///
    /// # Errors
    /// As [`Communicator::barrier`]; [`CommError::Files`] when paths or modes differ, and nothing is opened or made;
    /// [`CommError::File`] of the lowest rank that failed, on all.
    fn open_shared<'c>(
        &'c self,
        path: &Path,
        mode: FileMode,
    ) -> Result<Box<dyn SharedFile + 'c>, CommError> {
        same_file(self, path, mode)?;
        let rank = self.rank();
        let open = |create: bool| {
            let writes = mode != FileMode::Read;
            OpenOptions::new()
                .read(true)
                .write(writes)
                .create(create)
                .truncate(create)
                .open(path)
        };
        let creator = mode == FileMode::Create && rank == 0;
        let opened = if creator { Some(open(true)) } else { None };
        if mode == FileMode::Create {
            self.barrier()?;
        }
        let opened = opened.unwrap_or_else(|| open(false));
        let file = settle(self, Operation::FileOpen, path, opened)?;
        Ok(Box::new(PositionedFile {
            comm: self,
            file,
            path: path.to_owned(),
        }))
    }
}

impl<C: Communicator + ?Sized> SharedFileOps for C {}

/// A [`SharedFile`] by positioned reads and writes.
struct PositionedFile<'c, C: ?Sized> {
    comm: &'c C,
    file: File,
    path: PathBuf,
}

impl<C: Communicator + ?Sized> PositionedFile<'_, C> {
    fn local<T>(&self, operation: Operation, outcome: io::Result<T>) -> Result<T, CommError> {
        outcome.map_err(|error| failure(operation, self.comm.rank(), &self.path, error.to_string()))
    }

    fn all<T>(&self, operation: Operation, outcome: io::Result<T>) -> Result<T, CommError> {
        settle(self.comm, operation, &self.path, outcome)
    }
}

fn failure(operation: Operation, rank: usize, path: &Path, message: String) -> CommError {
    CommError::File {
        operation,
        rank,
        path: path.to_owned(),
        message,
    }
}

fn settle<T>(
    comm: &(impl Communicator + ?Sized),
    operation: Operation,
    path: &Path,
    outcome: io::Result<T>,
) -> Result<T, CommError> {
    let failed = meet(comm, operation, 0, outcome.is_err())?;
    match (told(comm, failed, outcome.as_ref().err())?, outcome) {
        (None, Ok(value)) => Ok(value),
        (None, Err(own)) => Err(failure(operation, comm.rank(), path, own.to_string())),
        (Some(agreed), _) => Err(failure(operation, agreed.rank, path, agreed.cause)),
    }
}

/// Meets the other ranks in a call on a file: all have to be in the same one and give the same number. The ranks that failed,
/// ascending. Collective.
///
/// The call is made of other collective calls, which cannot tell it from those; what is said here can.
fn meet(
    comm: &(impl Communicator + ?Sized),
    operation: Operation,
    number: u64,
    failed: bool,
) -> Result<Vec<usize>, CommError> {
    let all = comm.all_gather_value([
        FILE_CALL | u64::from(operation.code()),
        number,
        u64::from(failed),
    ])?;
    let call_of = |rank: usize| {
        let code = u32::try_from(all[rank][0] ^ FILE_CALL).ok();
        // Who says something else calls `all_gather` itself.
        code.and_then(Operation::from_code)
            .unwrap_or(Operation::AllGather)
    };
    let first = call_of(0);
    for rank in 1..all.len() {
        let other = call_of(rank);
        if other != first {
            return Err(CommError::Mismatch { first, rank, other });
        }
    }
    if let Some(rank) = all.iter().position(|said| said[1] != all[0][1]) {
        return Err(CommError::Length {
            operation,
            rank,
            what: "a length in bytes of",
            given: all[rank][1],
            allowed: all[0][1],
        });
    }
    Ok((0..all.len()).filter(|&rank| all[rank][2] != 0).collect())
}

/// Marks the words of a call on a file.
const FILE_CALL: u64 = 0x6669_6c65 << 32;

/// Checks that all ranks mean the same file and want the same of it. Collective.
fn same_file(
    comm: &(impl Communicator + ?Sized),
    path: &Path,
    mode: FileMode,
) -> Result<(), CommError> {
    meet(comm, Operation::FileOpen, 0, false)?;
    let wish = [&[mode as u8], path.as_os_str().as_bytes()].concat();
    let wishes = comm.all_gather_v(&wish)?;
    let Some(rank) = wishes.iter().position(|wish| *wish != wishes[0]) else {
        return Ok(());
    };
    let read = |rank: usize| {
        let (mode, path) = wishes[rank].split_first().unwrap_or((&0, &[]));
        let mode = FileMode::ALL.get(usize::from(*mode)).copied();
        (
            PathBuf::from(OsStr::from_bytes(path)),
            mode.unwrap_or(FileMode::Read),
        )
    };
    let ((given, given_mode), (allowed, allowed_mode)) = (read(rank), read(0));
    Err(CommError::Files {
        rank,
        given,
        given_mode,
        allowed,
        allowed_mode,
    })
}

impl<C: Communicator + ?Sized> SharedFile for PositionedFile<'_, C> {
    fn len(&self) -> Result<u64, CommError> {
        self.local(
            Operation::FileRead,
            self.file.metadata().map(|data| data.len()),
        )
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError> {
        self.local(Operation::FileRead, self.file.read_exact_at(buf, offset))
    }

    fn write_at(&self, offset: u64, buf: &[u8]) -> Result<(), CommError> {
        self.local(Operation::FileWrite, self.file.write_all_at(buf, offset))
    }

    fn read_at_all(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError> {
        self.all(Operation::FileRead, self.file.read_exact_at(buf, offset))
    }

    fn write_at_all(&self, offset: u64, buf: &[u8]) -> Result<(), CommError> {
        self.all(Operation::FileWrite, self.file.write_all_at(buf, offset))
    }

    fn set_len(&self, len: u64) -> Result<(), CommError> {
        meet(self.comm, Operation::FileSetLen, len, false)?;
        let outcome = if self.comm.rank() == 0 {
            self.file.set_len(len)
        } else {
            Ok(())
        };
        self.all(Operation::FileSetLen, outcome)
    }

    fn sync(&self) -> Result<(), CommError> {
        self.all(Operation::FileSync, self.file.sync_data())
    }
}
