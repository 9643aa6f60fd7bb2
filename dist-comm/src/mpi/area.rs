//! Where the ranks of one node meet: a page of shared memory for each, with what it says and how far it is.
//!
//! On one node this is faster than a collective call of the library, and it shows when a rank has left. Each rank has two
//! slots that it uses in turn: a slot is written again only after every rank has arrived at the meeting after, and so is
//! done reading it. Hence what was said can be read until the next meeting, and a meeting takes one wait.
//!
//! Where a wait has a limit, one rank may give up just when the last one arrives. So that either all have met or none has, what
//! became of a meeting is then decided in one place, a word of the first rank's.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
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
const DECIDED: usize = 128;
const SLOTS: usize = 192;
const AREA: usize = SLOTS + 2 * SLOT;
/// Looks before giving way, when every rank can have a core of its own.
const SPINS: u32 = 400;
/// How many times to give way between two chances for the library to move messages on.
const PROGRESS: u32 = 64;
/// What is decided of a meeting that a rank gave up: this, the rank that it waited for, and the meeting.
const GIVEN_UP: u64 = 1 << 63;
/// Bits of the number of the meeting there.
const MEETING: u32 = 43;

/// Why ranks did not meet.
#[derive(Clone, Copy)]
pub(super) enum Absent {
    /// The rank has left.
    Left(usize),
    /// The rank did not come within the limit.
    Late(usize),
}

pub(super) struct Area {
    pub(super) win: Win,
    bases: Vec<Base>,
    rank: usize,
    pub(super) spins: u32,
    /// How long a rank waits for the others, the same on all.
    limit: Option<Duration>,
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
    pub(super) fn new(
        at: At,
        comm: Comm,
        size: usize,
        limit: Option<Duration>,
    ) -> Result<(Self, Mailbox), CommError> {
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
            limit,
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

    /// Says `words` and `payload` (at most [`INLINE`] bytes), and waits until all have said theirs, within the limit: the number of
    /// the meeting, or who was absent.
    ///
    /// The caller sees to it that one thread at a time is here, that it no longer reads what was said before, and that none
    /// comes here again once a rank was absent: the others are then not waited for, and may still read.
    pub(super) fn meet(&self, comm: Comm, words: &Words, payload: &[u8]) -> Result<u64, Absent> {
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
        let until = self
            .limit
            .and_then(|limit| Instant::now().checked_add(limit));
        let came = |rank| self.wait_for(comm, rank, meeting, until);
        match (0..self.bases.len()).try_for_each(came) {
            Ok(()) => self.decide(meeting, meeting + 1)?,
            Err(Absent::Late(rank)) => {
                self.decide(meeting, GIVEN_UP | (rank as u64) << MEETING | meeting)?;
            }
            // Another may have given up before that rank left.
            Err(left) => self.decide(meeting, meeting).and(Err(left))?,
        }
        Ok(meeting)
    }

    /// Has `wish` be what became of `meeting`, unless another rank was faster: whether the ranks have met.
    fn decide(&self, meeting: u64, wish: u64) -> Result<(), Absent> {
        if self.limit.is_none() {
            return Ok(());
        }
        let decided = self
            .counter(0, DECIDED)
            .compare_exchange(meeting, wish, Ordering::AcqRel, Ordering::Acquire)
            .map_or_else(|decided| decided, |_| wish);
        let (is_given_up, which) = (decided & GIVEN_UP != 0, decided % (1 << MEETING));
        if is_given_up && which == meeting {
            let rank = (decided & !GIVEN_UP) >> MEETING;
            return Err(Absent::Late(usize::try_from(rank).unwrap_or(usize::MAX)));
        }
        Ok(())
    }

    /// Waits until all ranks are here too, or have left; without limit, as they may be reading this rank's memory.
    pub(super) fn finish(&self, comm: Comm) {
        let meeting = self.meetings.load(Ordering::Relaxed);
        self.arrive(meeting);
        for rank in 0..self.bases.len() {
            let _left = self.wait_for(comm, rank, meeting, None).is_err();
        }
        // No rank gives this meeting up, so whoever comes first says that it was one.
        let _met = self.decide(meeting, meeting + 1);
    }

    fn arrive(&self, meeting: u64) {
        self.meetings.store(meeting + 1, Ordering::Relaxed);
        self.counter(self.rank, ARRIVED)
            .store(meeting + 1, Ordering::Release);
    }

    fn wait_for(
        &self,
        comm: Comm,
        rank: usize,
        meeting: u64,
        until: Option<Instant>,
    ) -> Result<(), Absent> {
        let arrived = || self.counter(rank, ARRIVED).load(Ordering::Acquire) > meeting;
        for _ in 0..self.spins {
            if arrived() {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        let mut looks = 0u32;
        while !arrived() {
            if self.has_left(rank) {
                // What it did before it left still counts.
                return if arrived() {
                    Ok(())
                } else {
                    Err(Absent::Left(rank))
                };
            }
            looks = looks.wrapping_add(1);
            if looks.is_multiple_of(PROGRESS) {
                comm.progress();
                if until.is_some_and(|until| Instant::now() >= until) {
                    return Err(Absent::Late(rank));
                }
            }
            thread::yield_now();
        }
        Ok(())
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
