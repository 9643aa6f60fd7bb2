//! Where the ranks of one node meet: a page of shared memory for each, with what it says and how far it is.
//!
//! On one node this is faster than a collective call of the library, and it shows when a rank has left. Each rank has two
//! slots that it uses in turn: a slot is written again only after every rank has arrived at the meeting after, and so is
//! done reading it. Hence what was said can be read until the next meeting, and a meeting takes one wait.

use std::sync::atomic::{AtomicU64, Ordering};
use std::{slice, thread};

use super::mailbox::{COUNTERS, MAILBOX, Mailbox};
use super::node_memory;
use super::raw::{At, Comm};
use super::raw_window::{Base, Win};
use crate::CommError;
use crate::memory::ALIGNMENT;

/// What each rank says at a meeting: [`call`](crate::call), and three numbers.
pub(super) type Words = [u64; 8];

/// Bytes that fit beside the words.
pub(super) const INLINE: usize = 4096 - WORDS;
const WORDS: usize = size_of::<Words>();
const SLOT: usize = WORDS + INLINE;
const ARRIVED: usize = 0;
const LEFT: usize = 64;
const SLOTS: usize = 128;
const AREA: usize = SLOTS + 2 * SLOT;
/// Looks before giving way, when every rank can have a core of its own.
const SPINS: u32 = 400;
/// How many times to give way between two chances for the library to move messages on.
const PROGRESS: u32 = 64;

pub(super) struct Area {
    pub(super) win: Win,
    bases: Vec<Base>,
    rank: usize,
    pub(super) spins: u32,
    /// Meetings so far. Written only by the one thread that is in a meeting.
    meetings: AtomicU64,
}

impl Area {
    /// Whether there is memory for the areas of `size` ranks, and as much again.
    pub(super) fn fits(size: usize) -> bool {
        let needed = (2 * (AREA + MAILBOX + ALIGNMENT)).saturating_mul(size);
        size == 1 || node_memory::left().is_none_or(|left| needed as u64 <= left)
    }

    /// The area, and the mailbox in the same memory. Collective, on ranks of one node. They can be used after the next
    /// collective call, which all ranks make.
    pub(super) fn new(at: At, comm: Comm, size: usize) -> Result<(Self, Mailbox), CommError> {
        let (win, own) = Win::allocate_shared(at, comm, AREA + MAILBOX + ALIGNMENT)?;
        let bases = (0..size)
            .map(|rank| win.base(at, rank))
            .collect::<Result<Vec<_>, _>>()?;
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spins = if size <= cores { SPINS } else { 0 };
        // The halves of the mailbox stay untouched, and so without memory, until there are messages.
        let before = AREA + COUNTERS + ALIGNMENT;
        // SAFETY: the memory is at least so many bytes of this rank's, and nobody reads it before the next collective call.
        unsafe { own.start.write_bytes(0, before) };
        win.synchronise(at)?;
        let bases: Vec<Base> = bases
            .into_iter()
            .map(|base: Base| base.aligned(ALIGNMENT, AREA))
            .collect();
        let behind = |base: &Base| Base {
            start: base.start.wrapping_add(AREA),
            len: MAILBOX,
        };
        let mailbox = Mailbox::new(bases.iter().map(behind).collect(), at.rank);
        let area = Self {
            win,
            bases,
            rank: at.rank,
            spins,
            meetings: AtomicU64::new(0),
        };
        Ok((area, mailbox))
    }

    #[expect(
        clippy::cast_ptr_alignment,
        reason = "areas and their parts start at multiples of 64 bytes"
    )]
    fn counter(&self, rank: usize, offset: usize) -> &AtomicU64 {
        let address = self.bases[rank].start.wrapping_add(offset).cast::<u64>();
        // SAFETY: the address lies in the area of `rank`, at a multiple of 64 bytes, and is only ever used as an atomic; the
        // memory is there until the window is freed, after this area is gone on every rank.
        unsafe { AtomicU64::from_ptr(address) }
    }

    fn slot(&self, rank: usize, meeting: u64) -> *mut u8 {
        let offset = if meeting.is_multiple_of(2) {
            SLOTS
        } else {
            SLOTS + SLOT
        };
        self.bases[rank].start.wrapping_add(offset)
    }

    /// Says `words` and `payload` (at most [`INLINE`] bytes), and waits until all have said theirs: the number of the
    /// meeting, or the rank that has left.
    ///
    /// The caller sees to it that one thread at a time is here, that it no longer reads what was said before, and that none
    /// comes here again once a rank has left: the others are then not waited for, and may still read.
    pub(super) fn meet(&self, comm: Comm, words: &Words, payload: &[u8]) -> Result<u64, usize> {
        let meeting = self.meetings.load(Ordering::Relaxed);
        let slot = self.slot(self.rank, meeting);
        let len = payload.len().min(INLINE);
        // SAFETY: the slot holds `WORDS` bytes first, is this rank's, and was last read at the meeting before the
        // previous one, which every rank has left: it has arrived at the previous one.
        unsafe { slot.copy_from_nonoverlapping(words.as_ptr().cast(), WORDS) };
        // SAFETY: the slot has `INLINE` bytes behind the words.
        let behind = unsafe { slot.add(WORDS) };
        // SAFETY: `len` is at most `INLINE`, and `payload` is private memory of this process.
        unsafe { behind.copy_from_nonoverlapping(payload.as_ptr(), len) };
        self.arrive(meeting);
        for rank in 0..self.bases.len() {
            if !self.wait_for(comm, rank, meeting) {
                return Err(rank);
            }
        }
        Ok(meeting)
    }

    /// Waits until all ranks are here too, or have left.
    pub(super) fn finish(&self, comm: Comm) {
        let meeting = self.meetings.load(Ordering::Relaxed);
        self.arrive(meeting);
        for rank in 0..self.bases.len() {
            let _left = !self.wait_for(comm, rank, meeting);
        }
    }

    fn arrive(&self, meeting: u64) {
        self.meetings.store(meeting + 1, Ordering::Relaxed);
        self.counter(self.rank, ARRIVED)
            .store(meeting + 1, Ordering::Release);
    }

    /// False when the rank has left before arriving.
    fn wait_for(&self, comm: Comm, rank: usize, meeting: u64) -> bool {
        let arrived = || self.counter(rank, ARRIVED).load(Ordering::Acquire) > meeting;
        for _ in 0..self.spins {
            if arrived() {
                return true;
            }
            std::hint::spin_loop();
        }
        let mut looks = 0u32;
        while !arrived() {
            if self.has_left(rank) {
                // What it did before it left still counts.
                return arrived();
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(PROGRESS) {
                comm.progress();
            }
            thread::yield_now();
        }
        true
    }

    /// This rank will not meet here any more.
    pub(super) fn leave(&self) {
        self.counter(self.rank, LEFT).store(1, Ordering::Release);
    }

    /// Whether rank `rank` has dropped its communicator.
    pub(super) fn has_left(&self, rank: usize) -> bool {
        self.counter(rank, LEFT).load(Ordering::Acquire) != 0
    }

    /// What rank `rank` said at `meeting`, the last one.
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "slots start at multiples of 64 bytes"
    )]
    pub(super) fn words(&self, rank: usize, meeting: u64) -> Words {
        let address = self.slot(rank, meeting).cast::<Words>();
        // SAFETY: the slot starts at a multiple of 64 bytes with the words; they were written before the rank arrived, and
        // are not written again before this rank arrives at the meeting after the next.
        unsafe { address.read() }
    }

    /// The first `len` bytes beside the words.
    pub(super) fn payload(&self, rank: usize, meeting: u64, len: usize) -> &[u8] {
        let start = self.slot(rank, meeting).wrapping_add(WORDS);
        // SAFETY: as in `words`; the slice is no longer than what lies behind the words. The caller keeps it only until
        // its next meeting, which `Met` enforces by its borrow.
        unsafe { slice::from_raw_parts(start, len.min(INLINE)) }
    }
}
