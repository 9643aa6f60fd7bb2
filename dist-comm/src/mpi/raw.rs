//! The functions of MPI that we call, each one a `Result` (MPI 3.1; the section is named at each group).
//!
//! Counts are C ints: buffers above [`CHUNK`] bytes go in several calls.

use std::ffi::{c_int, c_void};
use std::{mem, ptr};

use rsmpi::ffi;

use super::area::Words;
use crate::{CommError, Operation};

/// The most bytes of one call.
pub(super) const CHUNK: usize = 1 << 30;

/// Where a call is made, for its error.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) operation: Operation,
    pub(super) rank: usize,
}

impl At {
    /// Turns a code into an error with its text (§8.3).
    pub(super) fn check(self, call: &'static str, code: c_int) -> Result<(), CommError> {
        if u32::try_from(code) == Ok(ffi::MPI_SUCCESS) {
            return Ok(());
        }
        let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize];
        let mut len = 0;
        // SAFETY: `text` has the `MPI_MAX_ERROR_STRING` characters that §8.3 asks for; `len` is an int of ours.
        let known = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &raw mut len) };
        let len = if known == 0 {
            usize::try_from(len).unwrap_or(0)
        } else {
            0
        };
        let text = String::from_utf8_lossy(text.get(..len).unwrap_or(&[])).into_owned();
        let Self { operation, rank } = self;
        Err(CommError::Mpi {
            operation,
            rank,
            call,
            code,
            text,
        })
    }
}

/// An `int` for a rank; ranks come from MPI as ints.
pub(super) fn int(number: usize) -> c_int {
    c_int::try_from(number).unwrap_or(c_int::MAX)
}

pub(super) fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the C shim, set before the program starts.
    unsafe { ffi::RSMPI_UINT8_T }
}

// Starting and stopping (§8.7, §12.4).

pub(super) fn is_initialised() -> bool {
    let mut flag = 0;
    // SAFETY: may be called at any time; `flag` is an int of ours.
    let code = unsafe { ffi::MPI_Initialized(&raw mut flag) };
    code == 0 && flag != 0
}

pub(super) fn is_finalised() -> bool {
    let mut flag = 0;
    // SAFETY: may be called at any time; `flag` is an int of ours.
    let code = unsafe { ffi::MPI_Finalized(&raw mut flag) };
    code == 0 && flag != 0
}

/// Starts MPI, for all threads where it can.
pub(super) fn initialise(at: At) -> Result<(), CommError> {
    // SAFETY: a constant of the C shim.
    let wanted = unsafe { ffi::RSMPI_THREAD_MULTIPLE };
    let mut provided = 0;
    // SAFETY: MPI is not initialised, which the caller has looked up under a lock; null for the arguments is allowed.
    let code = unsafe {
        ffi::MPI_Init_thread(ptr::null_mut(), ptr::null_mut(), wanted, &raw mut provided)
    };
    at.check("MPI_Init_thread", code)
}

/// Whether any thread may call MPI at any time, and if not, whether this is the one that may.
pub(super) fn may_call_from_here() -> (bool, bool) {
    let mut provided = 0;
    // SAFETY: MPI is initialised; `provided` is an int of ours.
    let code = unsafe { ffi::MPI_Query_thread(&raw mut provided) };
    // SAFETY: a constant of the C shim.
    let multiple = unsafe { ffi::RSMPI_THREAD_MULTIPLE };
    let any = code == 0 && provided >= multiple;
    let mut main = 0;
    // SAFETY: MPI is initialised; `main` is an int of ours.
    let code = unsafe { ffi::MPI_Is_thread_main(&raw mut main) };
    (any, code == 0 && main != 0)
}

pub(super) fn finalise() {
    // SAFETY: MPI is initialised and not finalised, which the caller has looked up under a lock.
    let _code = unsafe { ffi::MPI_Finalize() };
}

/// Ends all ranks; does not come back under any library we know.
pub(super) fn abort(code: c_int) {
    // SAFETY: `MPI_COMM_WORLD` is there from initialisation on, which the caller has looked up.
    let _code = unsafe { ffi::MPI_Abort(world().0, code) };
}

/// Has `callback` called at the beginning of `MPI_Finalize` (§8.7.1: attributes of `MPI_COMM_SELF` are deleted first).
pub(super) fn on_finalise(
    at: At,
    callback: unsafe extern "C" fn(ffi::MPI_Comm, c_int, *mut c_void, *mut c_void) -> c_int,
) -> Result<(), CommError> {
    let mut key = 0;
    // SAFETY: both functions have the C types, and the key goes to an int of ours.
    let code = unsafe {
        ffi::MPI_Comm_create_keyval(
            Some(copy_nothing),
            Some(callback),
            &raw mut key,
            ptr::null_mut(),
        )
    };
    at.check("MPI_Comm_create_keyval", code)?;
    // SAFETY: a constant of the C shim.
    let own = unsafe { ffi::RSMPI_COMM_SELF };
    // SAFETY: the key was made above; the attribute value is not used.
    let code = unsafe { ffi::MPI_Comm_set_attr(own, key, ptr::null_mut()) };
    at.check("MPI_Comm_set_attr", code)
}

/// Attributes are not copied to duplicates.
unsafe extern "C" fn copy_nothing(
    _: ffi::MPI_Comm,
    _: c_int,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: §6.7.2: MPI passes the address of an int that says whether the attribute was copied.
    unsafe { flag.write(0) };
    0
}

// Communicators (§6.4).

/// A communicator of MPI.
#[derive(Clone, Copy)]
pub(super) struct Comm(pub(super) ffi::MPI_Comm);

// SAFETY: a handle is a number or an address that only MPI follows; MPI may be called from the threads that the session allows.
unsafe impl Send for Comm {}
// SAFETY: as above; shared use is what `MPI_THREAD_MULTIPLE` allows, and without it the session keeps to one thread.
unsafe impl Sync for Comm {}

pub(super) fn world() -> Comm {
    // SAFETY: a constant of the C shim.
    Comm(unsafe { ffi::RSMPI_COMM_WORLD })
}

impl Comm {
    pub(super) fn rank(self, at: At) -> Result<usize, CommError> {
        let mut rank = 0;
        // SAFETY: the handle is valid: it comes from MPI and is freed by its owner only.
        let code = unsafe { ffi::MPI_Comm_rank(self.0, &raw mut rank) };
        at.check("MPI_Comm_rank", code)?;
        Ok(usize::try_from(rank).unwrap_or(0))
    }

    pub(super) fn size(self, at: At) -> Result<usize, CommError> {
        let mut size = 0;
        // SAFETY: as in `rank`.
        let code = unsafe { ffi::MPI_Comm_size(self.0, &raw mut size) };
        at.check("MPI_Comm_size", code)?;
        Ok(usize::try_from(size).unwrap_or(1))
    }

    /// Collective. The duplicate returns errors instead of ending the program.
    pub(super) fn duplicate(self, at: At) -> Result<Self, CommError> {
        let mut comm = self.0;
        // SAFETY: as in `rank`; the new handle goes to `comm`.
        let code = unsafe { ffi::MPI_Comm_dup(self.0, &raw mut comm) };
        at.check("MPI_Comm_dup", code)?;
        Self(comm).return_errors(at)
    }

    fn return_errors(self, at: At) -> Result<Self, CommError> {
        // SAFETY: a constant of the C shim.
        let handler = unsafe { ffi::RSMPI_ERRORS_RETURN };
        // SAFETY: as in `rank`; the handler is predefined.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(self.0, handler) };
        at.check("MPI_Comm_set_errhandler", code)?;
        Ok(self)
    }

    /// Collective.
    pub(super) fn split(
        self,
        at: At,
        color: Option<usize>,
        key: usize,
    ) -> Result<Option<Self>, CommError> {
        // SAFETY: a constant of the C shim.
        let none = unsafe { ffi::RSMPI_UNDEFINED };
        let mut comm = self.0;
        // SAFETY: as in `rank`; the colour is not negative or `MPI_UNDEFINED`, as §6.4.2 asks.
        let code = unsafe {
            ffi::MPI_Comm_split(self.0, color.map_or(none, int), int(key), &raw mut comm)
        };
        at.check("MPI_Comm_split", code)?;
        color.map(|_| Self(comm).return_errors(at)).transpose()
    }

    /// How many of the ranks share memory with this one. Collective.
    pub(super) fn ranks_on_node(self, at: At) -> Result<usize, CommError> {
        // SAFETY: a constant of the C shim.
        let shared = unsafe { ffi::RSMPI_COMM_TYPE_SHARED };
        // SAFETY: a constant of the C shim.
        let no_info = unsafe { ffi::RSMPI_INFO_NULL };
        let mut comm = self.0;
        // SAFETY: as in `rank`.
        let code = unsafe { ffi::MPI_Comm_split_type(self.0, shared, 0, no_info, &raw mut comm) };
        at.check("MPI_Comm_split_type", code)?;
        let size = Self(comm).size(at);
        Self(comm).free();
        size
    }

    /// Collective.
    pub(super) fn free(self) {
        let mut comm = self.0;
        // SAFETY: the caller owns the handle and gives it up.
        let _code = unsafe { ffi::MPI_Comm_free(&raw mut comm) };
    }

    // Collective communication (§5).

    pub(super) fn broadcast(self, at: At, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
        for chunk in buf.chunks_mut(CHUNK) {
            // SAFETY: the chunk is ours and holds as many bytes as are named, at most `CHUNK`, which is an int.
            let code = unsafe {
                ffi::MPI_Bcast(
                    chunk.as_mut_ptr().cast(),
                    int(chunk.len()),
                    byte(),
                    int(root),
                    self.0,
                )
            };
            at.check("MPI_Bcast", code)?;
        }
        Ok(())
    }

    /// Equal lengths, `recv` as long as all together, both at most `CHUNK`.
    pub(super) fn all_gather(self, at: At, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        // SAFETY: `send` holds as many bytes as are named; the caller checked that `recv` holds that for each rank.
        let code = unsafe {
            ffi::MPI_Allgather(
                send.as_ptr().cast(),
                int(send.len()),
                byte(),
                recv.as_mut_ptr().cast(),
                int(send.len()),
                byte(),
                self.0,
            )
        };
        at.check("MPI_Allgather", code)
    }

    /// What all ranks say, by rank. Collective, non-blocking (§5.12): `pause` is called between two looks in vain. After an
    /// error, also one of `pause`, nothing collective can be done on this communicator.
    pub(super) fn all_gather_words(
        self,
        at: At,
        words: &Words,
        size: usize,
        pause: &mut dyn FnMut() -> Result<(), CommError>,
    ) -> Result<Vec<Words>, CommError> {
        // On the heap, for MPI to keep if this rank gives up.
        let said = vec![*words];
        let mut all = vec![Words::default(); size];
        let bytes = int(size_of::<Words>());
        // SAFETY: a constant of the C shim.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: `said` holds the bytes named and `all` as many for each rank. Both are left alone until the request is
        // over, and kept for good if it is not.
        let code = unsafe {
            ffi::MPI_Iallgather(
                said.as_ptr().cast(),
                bytes,
                byte(),
                all.as_mut_ptr().cast(),
                bytes,
                byte(),
                self.0,
                &raw mut request,
            )
        };
        at.check("MPI_Iallgather", code)?;
        // SAFETY: a constant of the C shim, which says that no status is wanted.
        let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
        loop {
            let mut flag = 0;
            // SAFETY: the request is active and ours; `flag` is an int of ours.
            let code = unsafe { ffi::MPI_Test(&raw mut request, &raw mut flag, ignore) };
            let looked = at.check("MPI_Test", code);
            if looked.is_ok() && flag != 0 {
                return Ok(all);
            }
            if let Err(error) = looked.and_then(|()| pause()) {
                mem::forget((said, all));
                return Err(error);
            }
        }
    }

    // Messages (§3).

    /// Receives a message of at most `CHUNK` bytes if one is here: its length. A shorter one fills the start of `buf`, a
    /// longer one is received and dropped. Without the memory for that it stays with the library, unreceived for good.
    pub(super) fn try_recv(
        self,
        at: At,
        from: usize,
        tag: u32,
        buf: &mut [u8],
    ) -> Result<Option<usize>, CommError> {
        // SAFETY: a constant of the C shim.
        let mut message = unsafe { ffi::RSMPI_MESSAGE_NULL };
        let mut status = empty_status();
        let mut found = 0;
        // SAFETY: message, status and flag are ours.
        let code = unsafe {
            ffi::MPI_Improbe(
                int(from),
                int(tag as usize),
                self.0,
                &raw mut found,
                &raw mut message,
                &raw mut status,
            )
        };
        at.check("MPI_Improbe", code)?;
        if found == 0 {
            return Ok(None);
        }
        Self::recv_matched(at, message, status, buf).map(Some)
    }

    fn recv_matched(
        at: At,
        message: ffi::MPI_Message,
        status: ffi::MPI_Status,
        buf: &mut [u8],
    ) -> Result<usize, CommError> {
        let (mut message, mut status) = (message, status);
        let len = bytes_received(&status);
        let mut dropped = Vec::new();
        let into = if let Some(start) = buf.get_mut(..len) {
            start
        } else {
            let At { operation, rank } = at;
            let lacks = |_| CommError::Allocation {
                operation,
                rank,
                bytes: len as u64,
            };
            dropped.try_reserve_exact(len).map_err(lacks)?;
            dropped.resize(len, 0);
            &mut dropped
        };
        // SAFETY: the buffer holds the `len` bytes that the matched message has (§3.8.3).
        let code = unsafe {
            ffi::MPI_Mrecv(
                into.as_mut_ptr().cast(),
                int(len),
                byte(),
                &raw mut message,
                &raw mut status,
            )
        };
        at.check("MPI_Mrecv", code)?;
        Ok(len)
    }

    /// Gives the library time to move messages on.
    pub(super) fn progress(self) {
        let mut flag = 0;
        // SAFETY: a constant of the C shim.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        // SAFETY: a constant of the C shim.
        let any_tag = unsafe { ffi::RSMPI_ANY_TAG };
        // SAFETY: a constant of the C shim, which says that no status is wanted.
        let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
        // SAFETY: a probe takes nothing; `flag` is an int of ours.
        let _code = unsafe { ffi::MPI_Iprobe(any, any_tag, self.0, &raw mut flag, ignore) };
    }
}

/// The pieces of a message: an empty message is one empty piece.
pub(super) fn chunks(buf: &[u8]) -> impl Iterator<Item = &[u8]> {
    buf.chunks(CHUNK).chain(buf.is_empty().then_some(buf))
}

pub(super) fn empty_status() -> ffi::MPI_Status {
    // SAFETY: the status is a plain structure of ints and sizes, for which zeros are a value.
    unsafe { mem::zeroed() }
}

pub(super) fn bytes_received(status: &ffi::MPI_Status) -> usize {
    let mut count = 0;
    // SAFETY: the status comes from a completed call; `count` is an int of ours.
    let code = unsafe { ffi::MPI_Get_count(status, byte(), &raw mut count) };
    if code == 0 {
        usize::try_from(count).unwrap_or(0)
    } else {
        0
    }
}
