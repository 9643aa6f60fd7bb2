//! Messages under way (MPI 3.1 §3.7): requests that cannot outlive the buffers they use.

use std::ffi::c_int;
use std::iter::once;
use std::marker::PhantomData;
use std::thread;
use std::time::{Duration, Instant};

use rsmpi::ffi;

use super::patience::Patience;
use super::raw::{self, At, CHUNK, Comm, byte, bytes_received, chunks, empty_status, int};
use super::session;
use crate::CommError;

/// How long MPI may take to let go of a buffer after it was told to.
const LET_GO: Duration = Duration::from_secs(1);

/// Messages that are being sent or received, to and from buffers borrowed for `'a`. Receives are of lengths that the ranks
/// have agreed on: some libraries write beyond the buffer when a message is longer.
///
/// Kept in a local variable and never forgotten: its `Drop` waits for all of them, which is what makes it sound.
pub(super) struct Requests<'a> {
    at: At,
    open: Vec<ffi::MPI_Request>,
    /// Message of each request, and the bytes that it should carry.
    parts: Vec<(usize, usize)>,
    messages: Vec<Pending>,
    buffers: PhantomData<&'a mut [u8]>,
}

/// `MPI_Waitsome` and `MPI_Testsome`.
type Completes = unsafe extern "C" fn(
    c_int,
    *mut ffi::MPI_Request,
    *mut c_int,
    *mut c_int,
    *mut ffi::MPI_Status,
) -> c_int;

/// A message, in as many requests as it has chunks.
struct Pending {
    peer: usize,
    is_receive: bool,
}

impl<'a> Requests<'a> {
    pub(super) fn new(at: At, room: usize) -> Self {
        Self {
            at,
            open: Vec::with_capacity(room),
            parts: Vec::with_capacity(room),
            messages: Vec::with_capacity(room),
            buffers: PhantomData,
        }
    }

    fn add(&mut self, request: ffi::MPI_Request, bytes: usize) {
        let message = self.messages.len() - 1;
        self.open.push(request);
        self.parts.push((message, bytes));
    }

    pub(super) fn send(
        &mut self,
        comm: Comm,
        to: usize,
        tag: u32,
        buf: &'a [u8],
    ) -> Result<(), CommError> {
        self.messages.push(Pending {
            peer: to,
            is_receive: false,
        });
        for chunk in chunks(buf) {
            // SAFETY: a constant of the C shim.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: the chunk holds the bytes named and is borrowed, unchanged, for `'a`, before whose end `Drop` has
            // waited for the request.
            let code = unsafe {
                ffi::MPI_Isend(
                    chunk.as_ptr().cast(),
                    int(chunk.len()),
                    byte(),
                    int(to),
                    int(tag as usize),
                    comm.0,
                    &raw mut request,
                )
            };
            self.at.check("MPI_Isend", code)?;
            self.add(request, chunk.len());
        }
        Ok(())
    }

    pub(super) fn recv(
        &mut self,
        comm: Comm,
        from: usize,
        tag: u32,
        buf: &'a mut [u8],
    ) -> Result<(), CommError> {
        let len = buf.len();
        let start = buf.as_mut_ptr();
        self.messages.push(Pending {
            peer: from,
            is_receive: true,
        });
        let mut offset = 0;
        loop {
            let bytes = (len - offset).min(CHUNK);
            // SAFETY: `offset` is at most `len`, so the address is within the buffer or just behind it.
            let into = unsafe { start.add(offset) };
            // SAFETY: a constant of the C shim.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: `bytes` bytes from `into` on lie in the buffer, which is borrowed for `'a` and which nobody touches
            // until the message is complete; before the end of `'a`, `Drop` has waited for the request.
            let code = unsafe {
                ffi::MPI_Irecv(
                    into.cast(),
                    int(bytes),
                    byte(),
                    int(from),
                    int(tag as usize),
                    comm.0,
                    &raw mut request,
                )
            };
            self.at.check("MPI_Irecv", code)?;
            self.add(request, bytes);
            offset += bytes;
            if offset == len {
                return Ok(());
            }
        }
    }

    /// Looks which requests are complete, and `waits` until at least one is.
    /// False when no request is left. After an error the others are still under way.
    fn complete_some(&mut self, waits: bool) -> Result<bool, CommError> {
        if self.open.is_empty() {
            return Ok(false);
        }
        let count = self.open.len();
        let mut done: c_int = 0;
        let mut indices: Vec<c_int> = vec![-1; count];
        let mut statuses = vec![empty_status(); count];
        let (call, function) = if waits {
            ("MPI_Waitsome", ffi::MPI_Waitsome as Completes)
        } else {
            ("MPI_Testsome", ffi::MPI_Testsome as Completes)
        };
        // SAFETY: the three lists have `count` entries each, as §3.7.5 asks.
        let code = unsafe {
            function(
                int(count),
                self.open.as_mut_ptr(),
                &raw mut done,
                indices.as_mut_ptr(),
                statuses.as_mut_ptr(),
            )
        };
        let whole = self.at.check(call, code);
        // After an error libraries differ in what they report and in which code, but a request that is over is null.
        let done = usize::try_from(done).unwrap_or(0).min(count);
        let mut reports: Vec<Option<ffi::MPI_Status>> = vec![None; count];
        for (&index, status) in indices[..done].iter().zip(&statuses) {
            if let Some(report) = usize::try_from(index)
                .ok()
                .and_then(|index| reports.get_mut(index))
            {
                *report = Some(*status);
            }
        }
        let over: Vec<usize> = (0..count).filter(|&at| is_null(self.open[at])).collect();
        let mut outcome = Ok(true);
        for &index in &over {
            let (message, bytes) = self.parts[index];
            let pending = &self.messages[message];
            let checked = match (&whole, &reports[index]) {
                (Ok(()), Some(status)) => pending.check_length(self.at, bytes, status),
                (Ok(()), None) => Ok(()),
                (Err(_), Some(status)) if status.MPI_ERROR != 0 => {
                    self.at.check(call, status.MPI_ERROR)
                }
                (Err(error), _) => Err(error.clone()),
            };
            if outcome.is_ok() {
                outcome = checked.map(|()| true);
            }
        }
        for &index in over.iter().rev() {
            self.open.swap_remove(index);
            self.parts.swap_remove(index);
        }
        outcome.and_then(|more| whole.map(|()| more))
    }

    /// Waits for all requests; the first error, once none is under way.
    pub(super) fn wait_all(&mut self) -> Result<(), CommError> {
        let mut outcome = Ok(());
        loop {
            let before = self.open.len();
            match self.complete_some(true) {
                Ok(false) => return outcome,
                Ok(true) => {}
                Err(error) => {
                    if outcome.is_ok() {
                        outcome = Err(error);
                    }
                    // An error of the call itself completes nothing: trying again would not end.
                    if self.open.len() == before {
                        self.give_up();
                        return outcome;
                    }
                }
            }
        }
    }

    /// As [`wait_all`](Self::wait_all) for sends, as long as the peers may still come; after an error see
    /// [`is_over`](Self::is_over).
    pub(super) fn wait_patiently(&mut self, patience: &mut Patience<'_>) -> Result<(), CommError> {
        let mut outcome = self.complete_all();
        loop {
            let before = self.open.len();
            match self.complete_some(false) {
                Ok(false) => return outcome,
                Ok(true) => {}
                Err(error) if self.open.len() == before => return Err(error),
                Err(error) => outcome = outcome.and(Err(error)),
            }
            if self.open.len() < before {
                patience.renew();
            } else {
                let peers = self
                    .parts
                    .iter()
                    .map(|&(message, _)| self.messages[message].peer);
                patience.pause(peers)?;
            }
        }
    }

    /// Looks whether all sends are complete, as they mostly are at once, without a list for each.
    fn complete_all(&mut self) -> Result<(), CommError> {
        let mut flag = 0;
        // SAFETY: a constant of the C shim, which says that no statuses are wanted.
        let ignore = unsafe { ffi::RSMPI_STATUSES_IGNORE };
        // SAFETY: the requests are ours; `flag` is an int of ours.
        let code = unsafe {
            ffi::MPI_Testall(
                int(self.open.len()),
                self.open.as_mut_ptr(),
                &raw mut flag,
                ignore,
            )
        };
        self.at.check("MPI_Testall", code)?;
        if flag != 0 {
            self.open.clear();
            self.parts.clear();
        }
        Ok(())
    }

    /// Waits for the one receive under way, as long as its sender may still come: its length, at most what was agreed on.
    pub(super) fn wait_for_one(
        mut self,
        from: usize,
        patience: &mut Patience<'_>,
    ) -> Result<usize, CommError> {
        loop {
            let mut status = empty_status();
            let mut flag = 0;
            let Some(request) = self.open.first_mut() else {
                return Ok(0);
            };
            // SAFETY: the request is ours, as are status and flag.
            let code = unsafe { ffi::MPI_Test(request, &raw mut flag, &raw mut status) };
            let looked = self.at.check("MPI_Test", code);
            if flag != 0 {
                self.open.clear();
                self.parts.clear();
                return looked.map(|()| bytes_received(&status));
            }
            if let Err(error) = looked.and_then(|()| patience.pause(once(from))) {
                self.give_up();
                return Err(error);
            }
        }
    }

    /// Whether nothing is under way.
    pub(super) fn is_over(&self) -> bool {
        self.open.is_empty()
    }

    /// Leaves what is under way to MPI.
    ///
    /// # Safety
    /// The buffers are never used or freed again.
    pub(super) unsafe fn abandon(mut self) {
        self.open.clear();
        self.parts.clear();
    }

    /// Ends what is under way one by one; if MPI does not let go of a buffer, the job ends, as its memory is not ours.
    pub(super) fn give_up(&mut self) {
        for mut request in self.open.drain(..) {
            // SAFETY: the request is active and ours.
            let _code = unsafe { ffi::MPI_Cancel(&raw mut request) };
            // SAFETY: a constant of the C shim, which says that no status is wanted.
            let ignore = unsafe { ffi::RSMPI_STATUS_IGNORE };
            let began = Instant::now();
            while !is_null(request) && began.elapsed() < LET_GO {
                let mut flag = 0;
                // SAFETY: the request is active and ours; `flag` is an int of ours.
                let _code = unsafe { ffi::MPI_Test(&raw mut request, &raw mut flag, ignore) };
                thread::yield_now();
            }
            if !is_null(request) {
                session::say(&format!(
                    "rank {}: {}: MPI keeps a buffer after an error, so the program ends",
                    self.at.rank, self.at.operation
                ));
                raw::abort(1);
                std::process::abort();
            }
        }
        self.parts.clear();
    }
}

impl Pending {
    /// Whether as many bytes came as should.
    fn check_length(
        &self,
        at: At,
        bytes: usize,
        status: &ffi::MPI_Status,
    ) -> Result<(), CommError> {
        let given = bytes_received(status);
        if !self.is_receive || given == bytes {
            return Ok(());
        }
        Err(CommError::Length {
            operation: at.operation,
            rank: self.peer,
            what: "a message length in bytes of",
            given: given as u64,
            allowed: bytes as u64,
        })
    }
}

impl Drop for Requests<'_> {
    fn drop(&mut self) {
        // In a panic the peers may wait for more than these messages: waiting for them might not end.
        session::abort_if_panicking();
        // Errors were reported, or the caller is on its way out with an earlier one. No request is live afterwards.
        let _outcome = self.wait_all();
    }
}

fn is_null(request: ffi::MPI_Request) -> bool {
    // SAFETY: a constant of the C shim.
    request == unsafe { ffi::RSMPI_REQUEST_NULL }
}
