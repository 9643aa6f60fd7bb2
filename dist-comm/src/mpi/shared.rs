//! Memory that the ranks of a node can address: what `alloc_shared` makes and `lend` lends.

use std::slice;
use std::sync::Arc;

use super::making::Attempt;
use super::meeting::{Making, Turn};
use super::raw_window::{Base, PAGE, Win, check_room};
use super::session::{self, Grave, InUse, lock};
use super::{Inner, MpiComm};
use crate::call::Call;
use crate::{CommError, Operation, SharedBytes};

const ALIGNMENT: usize = 64;
/// Said in place of a number: nothing is lent, or nothing that others can address.
const EMPTY: u64 = 0;
const PRIVATE: u64 = u64::MAX;

/// An allocation of all ranks, as this rank addresses it.
pub(super) struct Allocation {
    /// The same on every rank, from 1.
    number: u64,
    bases: Vec<Base>,
}

/// This rank's part of an allocation.
pub(crate) struct SharedPart {
    /// First, so that it ends before `inner`, with which MPI may end.
    _in_use: InUse,
    inner: Arc<Inner>,
    /// Local number, ascending as things were made.
    id: u64,
    number: u64,
    win: Win,
    start: Base,
}

impl SharedPart {
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: `start` is this rank's memory, zeroed when made. Only this value gives access to it, shared here; peers read
        // it only while the owner has lent, so borrowed, it. The window is freed only after this value is dropped.
        unsafe { slice::from_raw_parts(self.start.start, self.start.len) }
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and exclusive: `self` is, and nothing is lent while it is.
        unsafe { slice::from_raw_parts_mut(self.start.start, self.start.len) }
    }
}

impl Drop for SharedPart {
    fn drop(&mut self) {
        session::bury(Grave {
            id: self.id,
            yard: self.inner.id,
            key: [self.number, 0],
            sharers: self.inner.size,
            windows: vec![self.win],
            comms: Vec::new(),
        });
    }
}

impl Inner {
    /// Drops the addresses of allocations that are freed.
    pub(super) fn forget(&self, keys: &[[u64; 2]]) {
        let freed = |number| keys.iter().filter(|key| key[0] == number).count() == self.size;
        lock(&self.allocations).retain(|allocation| !freed(allocation.number));
    }
}

pub(super) fn alloc(comm: &MpiComm, len: usize) -> Result<SharedBytes, CommError> {
    let inner = &comm.inner;
    let operation = Operation::AllocShared;
    let mut turn = Turn::begin(inner, operation)?;
    let making = turn.meet_to_make(len, [inner.memory_left(), 0])?;
    let room = making.memory_left();
    let Making { number, lens, .. } = making;
    check_room(operation, &lens, u64::MAX)?;
    let any = lens.iter().any(|&len| len > 0);
    if inner.area.is_some()
        && any
        && check_room(operation, &lens, room).is_ok()
        && let Ok((win, (bases, start))) = allocate(&turn, len).settle(&mut turn, len)
    {
        lock(&inner.allocations).push(Allocation { number, bases });
        return Ok(SharedBytes::on_node(SharedPart {
            inner: Arc::clone(inner),
            id: session::next_id(),
            number,
            win,
            start,
            _in_use: InUse::new(),
        }));
    }
    // Without shared memory, or where there is not enough of it, the heap will do: it cannot be lent.
    let heap = SharedBytes::on_heap(len, inner.rank);
    let call = Call::new(operation)
        .len(len)
        .with_memory(len, heap.as_ref().ok());
    turn.meet(call, [0; 3], &[])?;
    heap
}

fn allocate(turn: &Turn<'_>, len: usize) -> Attempt<(Vec<Base>, Base)> {
    let (at, Inner { comm, size, .. }) = (turn.at, turn.inner);
    // Parts start on pages of their own; `check_room` saw to it that this does not wrap.
    let room = (len + ALIGNMENT).next_multiple_of(PAGE);
    Attempt::new(Win::allocate_shared(at, *comm, room), |win, own| {
        let bases = (0..*size)
            .map(|rank| win.base(at, rank))
            .collect::<Result<Vec<_>, _>>()?;
        let own = own.aligned(ALIGNMENT, len);
        // SAFETY: the part has `room` bytes, at least `len + ALIGNMENT`, and nobody else knows of it yet.
        unsafe { own.start.write_bytes(0, len) };
        Ok((bases, own))
    })
}

pub(super) fn lend(
    inner: &Inner,
    mine: &[u8],
    read: &mut dyn FnMut(&[&[u8]]),
) -> Result<bool, CommError> {
    let operation = Operation::Lend;
    let mut turn = Turn::begin(inner, operation)?;
    let place = find(inner, mine).unwrap_or((PRIVATE, 0));
    let met = turn.meet(
        Call::new(operation).len(mine.len()),
        [place.0, place.1, 0],
        &[],
    )?;
    let Some(area) = &inner.area else {
        return Ok(false);
    };
    if (0..inner.size).any(|rank| met.note(rank)[0] == PRIVATE) {
        return Ok(false);
    }
    let slices = {
        let allocations = lock(&inner.allocations);
        let slice = |rank| {
            let [number, offset, _] = met.note(rank);
            let len = met.len(rank);
            if number == EMPTY {
                return Ok(&[][..]);
            }
            let known = allocations
                .iter()
                .find(|allocation| allocation.number == number);
            let base = known.map(|known| known.bases[rank]);
            let allowed = base.map_or(0, |base| base.len);
            let begin = usize::try_from(offset).ok();
            let end = begin.and_then(|begin| begin.checked_add(len));
            let (Some(base), Some(begin), true) =
                (base, begin, end.is_some_and(|end| end <= allowed))
            else {
                return Err(CommError::OutOfWindow {
                    operation,
                    rank,
                    offset,
                    len: len as u64,
                    allowed: allowed as u64,
                });
            };
            // SAFETY: the slice was found to lie in the part of `rank`, whose memory starts at `base` here. The lender borrows
            // it until it has passed `finish` below, where it waits for this rank to be done reading; so the
            // window is not freed and the bytes do not change.
            Ok(unsafe { slice::from_raw_parts(base.start.wrapping_add(begin), len) })
        };
        (0..inner.size).map(slice).collect::<Result<Vec<_>, _>>()
    };
    // Every rank passes `finish`, also one that has nothing to read.
    let outcome = slices.map(|slices| read(&slices));
    area.finish(inner.comm);
    outcome.map(|()| true)
}

/// The allocation in which `mine` lies, and where in this rank's part.
fn find(inner: &Inner, mine: &[u8]) -> Option<(u64, u64)> {
    if mine.is_empty() {
        return Some((EMPTY, 0));
    }
    let start = mine.as_ptr().addr();
    lock(&inner.allocations).iter().find_map(|allocation| {
        let base = allocation.bases[inner.rank];
        let offset = start.checked_sub(base.start.addr())?;
        (offset.checked_add(mine.len())? <= base.len).then_some((allocation.number, offset as u64))
    })
}
