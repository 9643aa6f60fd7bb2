//! Where a rank packs messages for ranks of its node, which unpack them from there: one copy out and one copy in.
//!
//! A mailbox has two halves that its rank uses in turn. What lies where goes to the receiver in the message's
//! [frame](super::frame); it counts what it has read, and a half is packed again only when everything in it has been read.
//! Nobody waits for that: what finds no room here goes through the library.

use std::slice;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard};

use super::raw_window::Base;
use crate::memory::ALIGNMENT;

/// Bytes of a mailbox: two counters and two halves.
pub(super) const MAILBOX: usize = HALVES + 2 * HALF;
const HALF: usize = 512 << 10;
const HALVES: usize = 2 * COUNTER;
const COUNTER: usize = 64;
/// What must be zero before the first message.
pub(super) const COUNTERS: usize = HALVES;

pub(super) struct Mailbox {
    /// Of all ranks, at multiples of 64 bytes.
    bases: Vec<Base>,
    rank: usize,
    own: Mutex<Own>,
}

/// What only the packing rank knows.
#[derive(Default)]
struct Own {
    half: usize,
    /// Messages packed into each half so far.
    packed: [u64; 2],
}

/// Where a message lies in the mailbox of its sender.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) half: usize,
    pub(super) at: usize,
}

impl Mailbox {
    /// On the memory of all ranks, [`MAILBOX`] bytes each, of which the first [`COUNTERS`] are zero.
    pub(super) fn new(bases: Vec<Base>, rank: usize) -> Self {
        Self {
            bases,
            rank,
            own: Mutex::default(),
        }
    }

    /// The half whose turn it is, for one batch of messages. None while it is being read or another thread packs.
    pub(super) fn begin(&self) -> Option<Packing<'_>> {
        let own = self.own.try_lock().ok()?;
        let read = self.read_count(self.rank, own.half).load(Ordering::Acquire);
        (read == own.packed[own.half]).then_some(Packing {
            mailbox: self,
            own,
            used: 0,
        })
    }

    /// Hands the message of `len` bytes at `place` of rank `from` to `read`, and counts it as read. False when there is no
    /// such place.
    pub(super) fn read(
        &self,
        from: usize,
        place: Place,
        len: usize,
        read: impl FnOnce(&[u8]),
    ) -> bool {
        if place.half > 1 || place.at.checked_add(len).is_none_or(|end| end > HALF) {
            return false;
        }
        fence(Ordering::Acquire);
        let start = self.address(from, place);
        // SAFETY: the `len` bytes lie in the half. The sender wrote them before the frame that named them was sent, and does
        // not write again before they are counted as read, below.
        read(unsafe { slice::from_raw_parts(start, len) });
        self.read_count(from, place.half)
            .fetch_add(1, Ordering::Release);
        true
    }

    fn address(&self, rank: usize, place: Place) -> *mut u8 {
        let offset = HALVES + place.half * HALF + place.at;
        self.bases[rank].start.wrapping_add(offset)
    }

    fn read_count(&self, rank: usize, half: usize) -> &AtomicU64 {
        let address = self.bases[rank].start.wrapping_add(half * COUNTER);
        // SAFETY: the counter lies in the mailbox of `rank`, at a multiple of 64 bytes, and is only ever used as an atomic;
        // the memory is there until the window is freed, after this mailbox is gone on every rank.
        unsafe { AtomicU64::from_ptr(address.cast()) }
    }
}

/// A half that is being packed.
pub(super) struct Packing<'a> {
    mailbox: &'a Mailbox,
    own: MutexGuard<'a, Own>,
    used: usize,
}

impl Packing<'_> {
    /// Room for a message of `len` bytes, the first at a multiple of 64; nothing when the half is full.
    pub(super) fn reserve(&mut self, len: usize) -> Option<Place> {
        let end = self.used.checked_add(len).filter(|&end| end <= HALF)?;
        let place = Place {
            half: self.own.half,
            at: self.used,
        };
        self.used = end.next_multiple_of(ALIGNMENT);
        Some(place)
    }

    /// Has `pack` write a message of `len` bytes to the place reserved for it. A frame that names the place must be sent.
    pub(super) fn write(&mut self, place: Place, len: usize, pack: impl FnOnce(&mut [u8])) {
        assert!(
            place.half == self.own.half && place.at + len <= self.used,
            "a place that this batch has reserved"
        );
        let start = self.mailbox.address(self.mailbox.rank, place);
        // SAFETY: the bytes lie in the half, which is this rank's and of which everything packed before was read; this thread
        // alone packs it, and nobody reads these bytes before a frame names them.
        pack(unsafe { slice::from_raw_parts_mut(start, len) });
        fence(Ordering::Release);
        self.own.packed[place.half] += 1;
    }
}

impl Drop for Packing<'_> {
    fn drop(&mut self) {
        if self.used > 0 {
            self.own.half ^= 1;
        }
    }
}
