//! Windows under MPI: plain loads and stores on one node, `MPI_Get` and `MPI_Put` with one flush per batch elsewhere.

use std::slice;
use std::sync::Arc;

use super::meeting::{Making, Turn};
use super::raw::At;
use super::raw_window::{Base, Win, check_room};
use super::session::{self, Doing, Grave, InUse};
use super::{Inner, MpiComm};
use crate::call::Call;
use crate::window::check_part;
use crate::{CommError, Get, OneSided, Operation, Put, Window};

struct MpiWindow {
    /// First, so that it ends before `inner`, with which MPI may end.
    _in_use: InUse,
    inner: Arc<Inner>,
    /// Local number, ascending as things were made.
    id: u64,
    number: u64,
    lens: Vec<usize>,
    win: Win,
    own: Base,
    /// The memory of all ranks, where it can be addressed.
    bases: Option<Vec<Base>>,
}

impl OneSided for MpiComm {
    fn window(&self, len: usize) -> Result<Box<dyn Window>, CommError> {
        let operation = Operation::Window;
        let inner = &self.inner;
        let mut turn = Turn::begin(inner, operation)?;
        let Making { number, lens, .. } = turn.meet_to_make(len, [0; 2])?;
        check_room(operation, &lens)?;
        let made = allocate(&turn, len);
        let met = turn.meet(
            Call::new(operation).len(len),
            [u64::from(made.is_ok()), 0, 0],
            &[],
        )?;
        if let Some(rank) = (0..inner.size).find(|&rank| met.note(rank)[0] == 0) {
            return Err(CommError::Allocation {
                operation,
                rank,
                bytes: lens[rank] as u64,
            });
        }
        let (win, own, bases) = made?;
        let inner = Arc::clone(inner);
        Ok(Box::new(MpiWindow {
            inner,
            id: session::next_id(),
            number,
            lens,
            win,
            own,
            bases,
            _in_use: InUse::new(),
        }))
    }
}

fn allocate(turn: &Turn<'_>, len: usize) -> Result<(Win, Base, Option<Vec<Base>>), CommError> {
    let (
        at,
        Inner {
            comm, size, area, ..
        },
    ) = (turn.at, turn.inner);
    // A few bytes more: some libraries do not take empty parts well.
    let bytes = len.max(1).next_multiple_of(64);
    let (win, own) = match area {
        Some(_) => Win::allocate_shared(at, *comm, bytes)?,
        None => Win::allocate(at, *comm, bytes)?,
    };
    let bases = match area {
        Some(_) => Some(
            (0..*size)
                .map(|rank| win.base(at, rank))
                .collect::<Result<_, _>>()?,
        ),
        None => None,
    };
    // SAFETY: this rank's part has `bytes` bytes, at least `len`, and no other rank has the window yet.
    unsafe { own.start.write_bytes(0, len) };
    win.synchronise(at)?;
    Ok((
        win,
        Base {
            start: own.start,
            len,
        },
        bases,
    ))
}

impl MpiWindow {
    /// A collective call on this window and no other.
    fn call(&self, operation: Operation) -> Call {
        Call {
            extra: self.number,
            ..Call::new(operation)
        }
    }

    fn at(&self, operation: Operation) -> At {
        At {
            operation,
            rank: self.inner.rank,
        }
    }
}

impl Window for MpiWindow {
    fn lens(&self) -> &[usize] {
        &self.lens
    }

    fn with_local(&mut self, f: &mut dyn FnMut(&mut [u8])) -> Result<(), CommError> {
        let call = self.call(Operation::WithLocal);
        let mut turn = Turn::begin(&self.inner, Operation::WithLocal)?;
        self.win.flush(turn.at)?;
        turn.meet(call, [0; 3], &[])?;
        self.win.synchronise(turn.at)?;
        {
            // SAFETY: this rank's part. Between the two meetings every rank is in this method and has its window borrowed
            // mutably, so none can get or put, and what was put before is complete: each rank flushed.
            let own = unsafe { slice::from_raw_parts_mut(self.own.start, self.own.len) };
            f(own);
        }
        self.win.synchronise(turn.at)?;
        turn.meet(call, [0; 3], &[])?;
        Ok(())
    }

    fn fence(&mut self) -> Result<(), CommError> {
        let mut turn = Turn::begin(&self.inner, Operation::Fence)?;
        self.win.flush(turn.at)?;
        turn.meet(self.call(Operation::Fence), [0; 3], &[])?;
        self.win.synchronise(turn.at)
    }

    fn get_many(&self, gets: &mut [Get<'_>]) -> Result<(), CommError> {
        let operation = Operation::Get;
        gets.iter().try_for_each(|get| {
            check_part(operation, &self.lens, get.rank, get.offset, get.into.len())
        })?;
        if let Some(bases) = &self.bases {
            for Get { rank, offset, into } in gets {
                let from = bases[*rank].start.wrapping_add(*offset);
                // SAFETY: the part was checked to lie in the window of `rank`; `into` is memory of this process alone. No
                // reference to the window exists meanwhile, as `with_local` is collective and exclusive; a `put` of
                // another process at the same time leaves bytes of either, as documented.
                unsafe { into.as_mut_ptr().copy_from_nonoverlapping(from, into.len()) };
            }
            return Ok(());
        }
        self.inner.session.check(operation)?;
        let _doing = Doing::begin(operation);
        // Every started read is over before the buffers are the caller's again, also after an error.
        let started = gets
            .iter_mut()
            .try_for_each(|get| self.win.get(get.rank, get.offset, get.into));
        let flushed = self.win.flush(self.at(operation));
        started.and(flushed)
    }

    fn put_many(&self, puts: &[Put<'_>]) -> Result<(), CommError> {
        let operation = Operation::Put;
        puts.iter().try_for_each(|put| {
            check_part(operation, &self.lens, put.rank, put.offset, put.from.len())
        })?;
        if let Some(bases) = &self.bases {
            for &Put { rank, offset, from } in puts {
                let to = bases[rank].start.wrapping_add(offset);
                // SAFETY: as in `get_many`, with the directions exchanged.
                unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
            }
            return Ok(());
        }
        self.inner.session.check(operation)?;
        let _doing = Doing::begin(operation);
        let started = puts
            .iter()
            .try_for_each(|put| self.win.put(put.rank, put.offset, put.from));
        let flushed = self.win.flush(self.at(operation));
        started.and(flushed)
    }
}

impl Drop for MpiWindow {
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
