//! Where a rank packs messages for ranks of its node, which unpack them from there: one copy out and one copy in.
//!
//! A mailbox has two halves that its rank uses in turn. What lies where goes to the receiver in the message's
//! [frame](super::frame); it counts what it has read, and a half is packed again only when everything in it has been read.
//! Nobody waits for that: what finds no room here goes through the library. A half of which something is never read, as its
//! receiver has left, is not used any more.

use std::slice;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Mutex, MutexGuard};

use super::frame::Flaw;
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

    /// A half, for one batch of messages: the one whose turn it is, or the other. None while both are being read or another
    /// thread packs.
    pub(super) fn begin(&self) -> Option<Packing<'_>> {
        let mut own = self.own.try_lock().ok()?;
        let is_read = |&half: &usize| {
            let read = self.read_count(self.rank, half).load(Ordering::Acquire);
            read == own.packed[half]
        };
        own.half = [own.half, own.half ^ 1].into_iter().find(is_read)?;
        Some(Packing {
            mailbox: self,
            own,
            used: 0,
        })
    }

    /// Hands the message of `len` bytes at `place` of rank `from` to `read`, and counts it as read; unless there is no such
    /// place.
    pub(super) fn read(
        &self,
        from: usize,
        place: Place,
        len: usize,
        read: impl FnOnce(&[u8]),
    ) -> Result<(), Flaw> {
        let half = place.half;
        Flaw::check("a mailbox half of", half as u64, 1, half <= 1)?;
        let (end, most) = (place.at.saturating_add(len), HALF);
        Flaw::check(
            "a mailbox place that ends at byte",
            end as u64,
            most as u64,
            end <= most,
        )?;
        fence(Ordering::Acquire);
        let start = self.address(from, place);
        // SAFETY: the `len` bytes lie in the half. The sender wrote them before the frame that named them was sent, and does
        // not write again before they are counted as read, below.
        read(unsafe { slice::from_raw_parts(start, len) });
        self.read_count(from, place.half)
            .fetch_add(1, Ordering::Release);
        Ok(())
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::memory::AlignedBytes;

    /// The mailboxes of `size` ranks, as each of them sees them, and their memory.
    fn mailboxes(size: usize) -> (AlignedBytes, Vec<Mailbox>) {
        let mut memory = AlignedBytes::try_zeroed(size * MAILBOX).unwrap();
        let start = memory.as_mut_ptr();
        let bases: Vec<Base> = (0..size)
            .map(|rank| Base {
                start: start.wrapping_add(rank * MAILBOX),
                len: MAILBOX,
            })
            .collect();
        let of = |rank| Mailbox::new(bases.clone(), rank);
        (memory, (0..size).map(of).collect())
    }

    /// Packs one message of `len` bytes `byte`, as a batch.
    fn pack(mailbox: &Mailbox, len: usize, byte: u8) -> Option<Place> {
        let mut packing = mailbox.begin()?;
        let place = packing.reserve(len)?;
        packing.write(place, len, |bytes| bytes.fill(byte));
        Some(place)
    }

    fn read(mailbox: &Mailbox, from: usize, place: Place, len: usize) -> Vec<u8> {
        let mut read = Vec::new();
        mailbox
            .read(from, place, len, |bytes| read.extend_from_slice(bytes))
            .unwrap();
        read
    }

    #[test]
    fn a_half_is_packed_again_only_when_all_of_it_was_read() {
        let (_memory, ranks) = mailboxes(3);
        let mut packing = ranks[0].begin().unwrap();
        let places = [10, 100, 0].map(|len| packing.reserve(len).unwrap());
        for (place, (len, byte)) in places.into_iter().zip([(10, 1), (100, 2), (0, 3)]) {
            packing.write(place, len, |bytes| bytes.fill(byte));
        }
        drop(packing);
        let other = pack(&ranks[0], 5, 4).unwrap();
        assert_ne!(other.half, places[0].half);
        assert_eq!(pack(&ranks[0], 5, 5), None);
        // By two ranks, the last one too late for the first half.
        assert_eq!(read(&ranks[1], 0, places[1], 100), [2; 100]);
        assert_eq!(read(&ranks[2], 0, places[0], 10), [1; 10]);
        assert_eq!(pack(&ranks[0], 5, 5), None);
        assert!(read(&ranks[2], 0, places[2], 0).is_empty());
        let again = pack(&ranks[0], 5, 5).unwrap();
        assert_eq!(again, places[0]);
        assert_eq!(read(&ranks[1], 0, other, 5), [4; 5]);
        assert_eq!(read(&ranks[1], 0, again, 5), [5; 5]);
    }

    #[test]
    fn what_is_never_read_takes_one_half_away() {
        let (_memory, ranks) = mailboxes(2);
        let lost = pack(&ranks[0], 1, 1).unwrap();
        for byte in 0..4 {
            let place = pack(&ranks[0], 1, byte).unwrap();
            assert_ne!(place.half, lost.half);
            assert_eq!(read(&ranks[1], 0, place, 1), [byte]);
        }
    }

    #[test]
    fn places_do_not_overlap_and_end_with_the_half() {
        let (_memory, ranks) = mailboxes(1);
        let mut packing = ranks[0].begin().unwrap();
        let first = packing.reserve(65).unwrap();
        let second = packing.reserve(HALF - 128).unwrap();
        assert_eq!((first.at, second.at), (0, 128));
        assert_eq!(packing.reserve(1), None);
        assert_eq!(packing.reserve(usize::MAX), None);
        assert!(ranks[0].begin().is_none(), "somebody packs");
        drop(packing);
        assert_eq!(pack(&ranks[0], HALF + 1, 0), None);
        assert_eq!(pack(&ranks[0], HALF, 0).map(|place| place.at), Some(0));
    }

    #[test]
    fn impossible_places_are_refused_and_not_counted() {
        let (_memory, ranks) = mailboxes(2);
        let place = pack(&ranks[0], 8, 1).unwrap();
        let refused = |half, at, len| {
            let place = Place { half, at };
            ranks[1]
                .read(0, place, len, |_| panic!("nothing is there"))
                .unwrap_err()
        };
        let flaw = refused(2, 0, 8);
        assert_eq!((flaw.what, flaw.given), ("a mailbox half of", 2));
        let flaw = refused(0, HALF - 7, 8);
        assert_eq!((flaw.given, flaw.allowed), (524_289, 524_288));
        assert_eq!(refused(1, usize::MAX, 8).given, u64::MAX);
        // One half is still unread, so the third batch finds no room.
        assert_ne!(
            pack(&ranks[0], 8, 2).map(|other| other.half),
            Some(place.half)
        );
        assert_eq!(pack(&ranks[0], 8, 3), None);
    }

    #[test]
    fn two_readers_see_what_was_packed_for_them() {
        const LEN: usize = 3_000;
        let (_memory, ranks) = mailboxes(3);
        let [sender, first, second] = &ranks[..] else {
            unreachable!("three ranks")
        };
        thread::scope(|scope| {
            let frames = [first, second].map(|mailbox| {
                let (frames, received) = mpsc::channel::<(Place, u8)>();
                scope.spawn(move || {
                    for (place, byte) in received {
                        assert_eq!(read(mailbox, 0, place, LEN), vec![byte; LEN]);
                    }
                });
                frames
            });
            let mut sent = 0;
            while sent < 2_000 {
                let Some(mut packing) = sender.begin() else {
                    thread::yield_now();
                    continue;
                };
                for frames in &frames {
                    let byte = u8::try_from(sent % 251).unwrap();
                    let place = packing.reserve(LEN).unwrap();
                    packing.write(place, LEN, |bytes| bytes.fill(byte));
                    frames.send((place, byte)).unwrap();
                    sent += 1;
                }
            }
        });
    }
}
