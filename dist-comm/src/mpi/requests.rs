//! Messages under way (MPI 3.1 §3.7): requests that cannot outlive the buffers they use.

use std::ffi::c_int;
use std::marker::PhantomData;

use rsmpi::ffi;

use super::raw::{At, CHUNK, Comm, byte, bytes_received, chunks, empty_status, int};
use crate::CommError;

/// Messages that are being sent or received, to and from buffers borrowed for `'a`.
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

/// A message, in as many requests as it has chunks.
struct Pending {
    open: usize,
    peer: usize,
    buf: *mut u8,
    len: usize,
    is_receive: bool,
}

/// A receive that is complete.
pub(super) struct Landed<'a> {
    /// Its number, in the order in which receives and sends were started here.
    pub(super) index: usize,
    pub(super) bytes: &'a [u8],
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
        self.messages[message].open += 1;
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
        let unused = std::ptr::null_mut();
        self.messages.push(Pending {
            open: 0,
            peer: to,
            buf: unused,
            len: 0,
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
            open: 0,
            peer: from,
            buf: start,
            len,
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

    /// Waits until at least one request is complete, and tells `landed` of the receives that are complete with it.
    /// False when no request is left. After an error the others are still under way.
    pub(super) fn wait_some(
        &mut self,
        mut landed: impl FnMut(Landed<'a>),
    ) -> Result<bool, CommError> {
        if self.open.is_empty() {
            return Ok(false);
        }
        let count = self.open.len();
        let mut done: c_int = 0;
        let mut indices: Vec<c_int> = vec![0; count];
        let mut statuses = vec![empty_status(); count];
        // SAFETY: the three lists have `count` entries each, as §3.7.5 asks.
        let code = unsafe {
            ffi::MPI_Waitsome(
                int(count),
                self.open.as_mut_ptr(),
                &raw mut done,
                indices.as_mut_ptr(),
                statuses.as_mut_ptr(),
            )
        };
        let in_status = u32::try_from(code) == Ok(ffi::MPI_ERR_IN_STATUS);
        if !in_status {
            self.at.check("MPI_Waitsome", code)?;
        }
        let Ok(done) = usize::try_from(done) else {
            self.open.clear();
            return Ok(false);
        };
        let mut outcome = Ok(true);
        let mut complete: Vec<usize> = indices[..done]
            .iter()
            .filter_map(|&index| usize::try_from(index).ok())
            .collect();
        for (&index, status) in complete.iter().zip(&statuses) {
            let (message, bytes) = self.parts[index];
            let pending = &mut self.messages[message];
            pending.open -= 1;
            let checked = if in_status {
                self.at.check("MPI_Waitsome", status.MPI_ERROR)
            } else if pending.is_receive && bytes_received(status) != bytes {
                Err(CommError::Length {
                    operation: self.at.operation,
                    rank: pending.peer,
                    what: "a message length in bytes of",
                    given: bytes_received(status) as u64,
                    allowed: bytes as u64,
                })
            } else {
                Ok(())
            };
            let sound = checked.is_ok();
            if outcome.is_ok() {
                outcome = checked.map(|()| true);
            }
            if pending.is_receive && pending.open == 0 && sound {
                // SAFETY: all requests for this buffer are complete, so MPI does not write it any more; it was given up
                // for `'a` and is handed back as a shared slice once: `open` does not come to 0 again.
                let bytes = unsafe { std::slice::from_raw_parts(pending.buf, pending.len) };
                landed(Landed {
                    index: message,
                    bytes,
                });
            }
        }
        complete.sort_unstable_by(|a, b| b.cmp(a));
        for index in complete {
            self.open.swap_remove(index);
            self.parts.swap_remove(index);
        }
        outcome
    }

    /// Waits for all requests; the first error, once none is under way.
    pub(super) fn wait_all(&mut self, mut landed: impl FnMut(Landed<'a>)) -> Result<(), CommError> {
        let mut outcome = Ok(());
        loop {
            let before = self.open.len();
            match self.wait_some(&mut landed) {
                Ok(false) => return outcome,
                Ok(true) => {}
                Err(error) => {
                    if outcome.is_ok() {
                        outcome = Err(error);
                    }
                    // An error of the call itself completes nothing: trying again would not end.
                    if self.open.len() == before {
                        return outcome;
                    }
                }
            }
        }
    }
}

impl Drop for Requests<'_> {
    fn drop(&mut self) {
        // Errors were reported, or the caller is on its way out with an earlier one.
        let _outcome = self.wait_all(|_| {});
    }
}
