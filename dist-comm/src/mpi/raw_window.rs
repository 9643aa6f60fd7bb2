//! Windows of MPI (3.1 §11): shared memory of a node, and memory reached by messages.

use std::ffi::c_void;
use std::ptr;

use rsmpi::ffi;

use super::raw::{At, CHUNK, Comm, byte, int};
use crate::{CommError, Operation};

/// A window of MPI, under a lock of all ranks from when it is made to when it is freed.
#[derive(Clone, Copy)]
pub(super) struct Win(ffi::MPI_Win);

// SAFETY: a handle is a number or an address that only MPI follows; MPI may be called from the threads that the session allows.
unsafe impl Send for Win {}
// SAFETY: as above.
unsafe impl Sync for Win {}

/// The memory of one rank in a window.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) start: *mut u8,
    pub(super) len: usize,
}

impl Base {
    /// The memory from the first multiple of `alignment` on, and `len` bytes of it. Shared memory is at the same place of a
    /// page in every process, so the same bytes are meant everywhere.
    pub(super) fn aligned(self, alignment: usize, len: usize) -> Self {
        let skip = self.start.align_offset(alignment);
        Self {
            start: self.start.wrapping_add(skip),
            len,
        }
    }
}

// SAFETY: only an address here; who follows it says why it may.
unsafe impl Send for Base {}
// SAFETY: as above.
unsafe impl Sync for Base {}

fn no_info() -> ffi::MPI_Info {
    // SAFETY: a constant of the C shim.
    unsafe { ffi::RSMPI_INFO_NULL }
}

fn null() -> ffi::MPI_Win {
    // SAFETY: a constant of the C shim.
    unsafe { ffi::RSMPI_WIN_NULL }
}

/// What parts of shared memory are rounded up to, at least.
pub(super) const PAGE: usize = 4096;

/// Checks that `lens` together, with two pages more for each, are not more than `room` bytes, nor than the library can
/// count. Every rank checks the same numbers before anything is made, so none goes on alone.
pub(super) fn check_room(operation: Operation, lens: &[usize], room: u64) -> Result<(), CommError> {
    let mut whole = 0usize;
    for (rank, &len) in lens.iter().enumerate() {
        whole = len
            .checked_add(2 * PAGE)
            .and_then(|len| whole.checked_add(len))
            .filter(|&whole| ffi::MPI_Aint::try_from(whole).is_ok() && whole as u64 <= room)
            .ok_or(CommError::Allocation {
                operation,
                rank,
                bytes: len as u64,
            })?;
    }
    Ok(())
}

fn address_int(at: At, len: usize) -> Result<ffi::MPI_Aint, CommError> {
    let At { operation, rank } = at;
    ffi::MPI_Aint::try_from(len).map_err(|_| CommError::Allocation {
        operation,
        rank,
        bytes: len as u64,
    })
}

impl Win {
    /// Memory that all ranks of the node can address; `len` bytes of this rank. Collective.
    pub(super) fn allocate_shared(
        at: At,
        comm: Comm,
        len: usize,
    ) -> Result<(Self, Base), CommError> {
        let bytes = address_int(at, len)?;
        let mut win = null();
        let mut start: *mut u8 = ptr::null_mut();
        // SAFETY: the address of the memory goes to `start`, that of the window to `win` (§11.2.3).
        let code = unsafe {
            ffi::MPI_Win_allocate_shared(
                bytes,
                1,
                no_info(),
                comm.0,
                (&raw mut start).cast::<c_void>(),
                &raw mut win,
            )
        };
        at.check("MPI_Win_allocate_shared", code)?;
        Self(win).begin(at)?;
        Ok((Self(win), Base { start, len }))
    }

    /// Memory that other ranks reach by `get` and `put`; `len` bytes of this rank. Collective.
    pub(super) fn allocate(at: At, comm: Comm, len: usize) -> Result<(Self, Base), CommError> {
        let bytes = address_int(at, len)?;
        let mut win = null();
        let mut start: *mut u8 = ptr::null_mut();
        // SAFETY: the address of the memory goes to `start`, that of the window to `win` (§11.2.2).
        let code = unsafe {
            ffi::MPI_Win_allocate(
                bytes,
                1,
                no_info(),
                comm.0,
                (&raw mut start).cast::<c_void>(),
                &raw mut win,
            )
        };
        at.check("MPI_Win_allocate", code)?;
        Self(win).begin(at)?;
        Ok((Self(win), Base { start, len }))
    }

    fn begin(self, at: At) -> Result<(), CommError> {
        // SAFETY: a constant of the C shim.
        let handler = unsafe { ffi::RSMPI_ERRORS_RETURN };
        // SAFETY: the window was just made; the handler is predefined.
        let code = unsafe { ffi::MPI_Win_set_errhandler(self.0, handler) };
        at.check("MPI_Win_set_errhandler", code)?;
        // SAFETY: no other lock is or will be taken on this window, which is what `MPI_MODE_NOCHECK` states (§11.5.3).
        let code = unsafe { ffi::MPI_Win_lock_all(int(ffi::MPI_MODE_NOCHECK as usize), self.0) };
        at.check("MPI_Win_lock_all", code)
    }

    /// The memory of rank `rank` in a shared window.
    pub(super) fn base(self, at: At, rank: usize) -> Result<Base, CommError> {
        let (mut bytes, mut unit) = (0, 0);
        let mut start: *mut u8 = ptr::null_mut();
        // SAFETY: the window is one of `allocate_shared`; the results go to variables of ours (§11.2.3).
        let code = unsafe {
            ffi::MPI_Win_shared_query(
                self.0,
                int(rank),
                &raw mut bytes,
                &raw mut unit,
                (&raw mut start).cast::<c_void>(),
            )
        };
        at.check("MPI_Win_shared_query", code)?;
        Ok(Base {
            start,
            len: usize::try_from(bytes).unwrap_or(0),
        })
    }

    /// Makes what was loaded and stored agree with what others see (§11.5.4).
    pub(super) fn synchronise(self, at: At) -> Result<(), CommError> {
        // SAFETY: the window is open.
        let code = unsafe { ffi::MPI_Win_sync(self.0) };
        at.check("MPI_Win_sync", code)
    }

    /// Completes everything this rank started on the window.
    pub(super) fn flush(self, at: At) -> Result<(), CommError> {
        // SAFETY: the window is under the lock of `begin`.
        let code = unsafe { ffi::MPI_Win_flush_all(self.0) };
        at.check("MPI_Win_flush_all", code)
    }

    /// Starts reading; `into` may not be touched before the next `flush`, which the caller sees to.
    pub(super) fn get(self, rank: usize, offset: usize, into: &mut [u8]) -> Result<(), CommError> {
        let at = At {
            operation: Operation::Get,
            rank,
        };
        let mut offset = offset;
        for chunk in into.chunks_mut(CHUNK) {
            let (count, from) = (int(chunk.len()), address_int(at, offset)?);
            // SAFETY: the chunk is as long as is named; the caller checked that the part lies in the window, and keeps
            // the buffer borrowed until the flush.
            let code = unsafe {
                ffi::MPI_Get(
                    chunk.as_mut_ptr().cast(),
                    count,
                    byte(),
                    int(rank),
                    from,
                    count,
                    byte(),
                    self.0,
                )
            };
            at.check("MPI_Get", code)?;
            offset += chunk.len();
        }
        Ok(())
    }

    /// Starts writing; `from` may not be changed before the next `flush`, which the caller sees to.
    pub(super) fn put(self, rank: usize, offset: usize, from: &[u8]) -> Result<(), CommError> {
        let at = At {
            operation: Operation::Put,
            rank,
        };
        let mut offset = offset;
        for chunk in from.chunks(CHUNK) {
            let (count, to) = (int(chunk.len()), address_int(at, offset)?);
            // SAFETY: as in `get`.
            let code = unsafe {
                ffi::MPI_Put(
                    chunk.as_ptr().cast(),
                    count,
                    byte(),
                    int(rank),
                    to,
                    count,
                    byte(),
                    self.0,
                )
            };
            at.check("MPI_Put", code)?;
            offset += chunk.len();
        }
        Ok(())
    }

    /// Collective.
    pub(super) fn free(self) {
        // SAFETY: the window is under the lock of `begin`, and nothing is under way: every batch was flushed.
        let _code = unsafe { ffi::MPI_Win_unlock_all(self.0) };
        let mut win = self.0;
        // SAFETY: the caller owns the handle and gives it up, and nobody uses the memory any more.
        let _code = unsafe { ffi::MPI_Win_free(&raw mut win) };
    }
}
