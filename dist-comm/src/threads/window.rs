//! Memory lent between threads: the only place of the thread ranks where pointers cross, and so the only `unsafe` one.
//!
//! Two forms. In a *meeting* every rank publishes a list of slices, passes the gate, reads the slices of the others, and
//! leaves only when all are done reading. A *letter* lends one slice to one rank, which reads it once.
#![expect(
    unsafe_code,
    reason = "borrowed slices are read by other threads while their owner waits"
)]

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::group::{Group, World};
use crate::call::{self, Call};
use crate::{CommError, Operation};

/// What the ranks of a group have published for the meeting under way.
pub(super) struct Slots {
    slots: Vec<RwLock<Published>>,
    /// How many times a rank has finished reading, over all meetings.
    finished: AtomicU64,
}

#[derive(Clone, Copy)]
struct Published {
    call: Call,
    /// The first of a list of slices, and how many there are.
    parts: *const &'static [u8],
    count: usize,
}

// SAFETY: the pointer is only an address here; `Met::parts` alone follows it and says why it may, from whichever thread.
unsafe impl Send for Published {}
// SAFETY: as above; a shared `Published` gives out nothing but copies of itself.
unsafe impl Sync for Published {}

impl Slots {
    pub(super) fn new(size: usize) -> Self {
        let nothing = Published {
            call: Call::new(Operation::Barrier),
            parts: std::ptr::NonNull::dangling().as_ptr(),
            count: 0,
        };
        Self {
            slots: (0..size).map(|_| RwLock::new(nothing)).collect(),
            finished: AtomicU64::new(0),
        }
    }

    fn published(&self, rank: usize) -> Published {
        *self.slots[rank]
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A meeting, while it lasts.
pub(super) struct Met<'a> {
    slots: &'a Slots,
    pub(super) meeting: u64,
}

impl Met<'_> {
    /// What rank `rank` published.
    pub(super) fn parts(&self, rank: usize) -> &[&[u8]] {
        let published = self.slots.published(rank);
        // SAFETY: a `Met` exists only between the passing of the gate, before which every rank published the slices that
        // its `meet` borrows, and this rank's `Finish`, for which the `meet` of every rank waits before it returns. So
        // the list and its slices are borrowed, shared and unchanged, for longer than `self` lives.
        unsafe { std::slice::from_raw_parts(published.parts, published.count) }
    }

    /// The one slice that rank `rank` published.
    pub(super) fn part(&self, rank: usize) -> &[u8] {
        self.parts(rank).first().copied().unwrap_or(&[])
    }

    /// The one slice of every rank, by rank.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.slots.slots.len()).map(|rank| self.part(rank))
    }
}

/// Ends the reading of one rank, also when it panics, and waits for that of the others.
struct Finish<'a> {
    group: &'a Group,
    meeting: u64,
}

impl Drop for Finish<'_> {
    fn drop(&mut self) {
        let slots = &self.group.slots;
        let all = (self.meeting + 1) * self.group.size() as u64;
        if slots.finished.fetch_add(1, Ordering::AcqRel) + 1 == all {
            self.group.world.bell.ring();
        } else {
            // No time limit: peers read memory that this rank must keep until they are done.
            self.group
                .world
                .bell
                .wait(None, || slots.finished.load(Ordering::Acquire) >= all);
        }
    }
}

/// Meets all ranks of `group`: publishes `call` and `parts`, checks the calls of all, and lets `read` see the parts of all.
/// Returns when every rank has finished its `read`.
///
/// The caller sees to it that a rank is in one meeting of a group at a time.
pub(super) fn meet<R>(
    group: &Group,
    rank: usize,
    call: Call,
    parts: &[&[u8]],
    read: impl FnOnce(&Met<'_>) -> R,
) -> Result<R, CommError> {
    let slots = &group.slots;
    *slots.slots[rank]
        .write()
        .unwrap_or_else(PoisonError::into_inner) = Published {
        call,
        parts: parts.as_ptr().cast(),
        count: parts.len(),
    };
    let meeting = group.enter(rank, call.operation)?;
    let finish = Finish { group, meeting };
    let calls = (0..group.size()).map(|rank| slots.published(rank).call);
    let outcome = call::check(&calls).map(|()| read(&Met { slots, meeting }));
    drop(finish);
    outcome
}

const POSTED: u8 = 0;
const READING: u8 = 1;
const READ: u8 = 2;
const WITHDRAWN: u8 = 3;

/// No objection to the length of a letter.
const FITS: u64 = u64::MAX;

/// A message on its way: its own bytes, or bytes that the sender lends until they are read.
pub(super) struct Letter {
    pub(super) tag: u32,
    bytes: Bytes,
    state: AtomicU8,
    /// The length that the receiver expected, when it was another.
    expected: AtomicU64,
}

enum Bytes {
    Own(Vec<u8>),
    Lent(*const [u8]),
}

// SAFETY: the pointer is followed only by `Letter::read`, which says why it may, from whichever thread.
unsafe impl Send for Bytes {}
// SAFETY: as above.
unsafe impl Sync for Bytes {}

impl Letter {
    /// A letter that carries its own bytes.
    pub(super) fn own(tag: u32, bytes: Vec<u8>) -> Self {
        Self {
            tag,
            bytes: Bytes::Own(bytes),
            state: AtomicU8::new(POSTED),
            expected: AtomicU64::new(FITS),
        }
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.state.load(Ordering::Acquire) == WITHDRAWN
    }

    /// Reads the letter, once: `None` when the sender has withdrawn it. `read` gives the length it expected if it refuses.
    pub(super) fn read<R>(
        &self,
        world: &World,
        read: impl FnOnce(&[u8]) -> Result<R, u64>,
    ) -> Option<Result<R, u64>> {
        self.state
            .compare_exchange(POSTED, READING, Ordering::AcqRel, Ordering::Acquire)
            .ok()?;
        let done = Done {
            letter: self,
            world,
        };
        let bytes = match &self.bytes {
            Bytes::Own(bytes) => bytes.as_slice(),
            // SAFETY: the letter went from posted to reading, here and nowhere else. The `Lent` that lends the slice
            // is dropped only after the letter was withdrawn, which now it cannot be, or read, which `done` says
            // after the last use of `bytes`. Until then the slice is borrowed and unchanged.
            Bytes::Lent(bytes) => unsafe { &**bytes },
        };
        let outcome = read(bytes);
        if let Err(expected) = outcome {
            self.expected.store(expected, Ordering::Release);
        }
        drop(done);
        Some(outcome)
    }
}

/// Ends the reading of a letter, also when the reader panics.
struct Done<'a> {
    letter: &'a Letter,
    world: &'a World,
}

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.letter.state.store(READ, Ordering::Release);
        self.world.bell.ring();
    }
}

/// The sender's end of letters that lend slices: they are lent for as long as it lives, and it cannot end while one is read.
///
/// Kept in a local variable and never forgotten: its `Drop` is what makes lending sound.
pub(super) struct Lent<'a> {
    world: &'a World,
    letters: Vec<(usize, Arc<Letter>)>,
    slices: std::marker::PhantomData<&'a [u8]>,
}

impl<'a> Lent<'a> {
    pub(super) fn new(world: &'a World, room: usize) -> Self {
        Self {
            world,
            letters: Vec::with_capacity(room),
            slices: std::marker::PhantomData,
        }
    }

    /// A letter to rank `to` that lends `bytes`.
    pub(super) fn letter(&mut self, to: usize, tag: u32, bytes: &'a [u8]) -> Arc<Letter> {
        let letter = Arc::new(Letter {
            tag,
            bytes: Bytes::Lent(bytes),
            state: AtomicU8::new(POSTED),
            expected: AtomicU64::new(FITS),
        });
        self.letters.push((to, Arc::clone(&letter)));
        letter
    }

    /// The receivers of letters not yet read.
    pub(super) fn unread(&self) -> impl Iterator<Item = usize> + Clone {
        let unread =
            |(_, letter): &&(usize, Arc<Letter>)| letter.state.load(Ordering::Acquire) != READ;
        self.letters.iter().filter(unread).map(|&(to, _)| to)
    }

    /// The first receiver that expected another length, the length sent and the length it expected.
    pub(super) fn refused(&self) -> Option<(usize, u64, u64)> {
        self.letters.iter().find_map(|(to, letter)| {
            let expected = letter.expected.load(Ordering::Acquire);
            let len = match &letter.bytes {
                Bytes::Own(bytes) => bytes.len(),
                Bytes::Lent(bytes) => bytes.len(),
            };
            (expected != FITS).then_some((*to, len as u64, expected))
        })
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        for (_, letter) in &self.letters {
            let withdrawn = letter
                .state
                .compare_exchange(POSTED, WITHDRAWN, Ordering::AcqRel, Ordering::Acquire)
                .is_ok();
            if !withdrawn {
                // No time limit: the receiver is reading.
                self.world
                    .bell
                    .wait(None, || letter.state.load(Ordering::Acquire) != READING);
            }
        }
    }
}
