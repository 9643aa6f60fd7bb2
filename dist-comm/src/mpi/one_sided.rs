//! Windows under MPI: plain loads and stores on one node, `MPI_Get` and `MPI_Put` with one flush per batch elsewhere.

use std::slice;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::making::Attempt;
use super::meeting::{Making, Turn};
use super::raw::At;
use super::raw_window::{Base, Win, check_room};
use super::session::{self, Doing, Grave, InUse};
use super::words::{self, WORD};
use super::{Inner, MpiComm};
use crate::call::Call;
use crate::window::check_part;
use crate::{CommError, Get, OneSided, Operation, Put, Window};

/// Where parts begin.
const ALIGNMENT: usize = 64;

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
        let making = turn.meet_to_make(len, [inner.memory_left(), 0])?;
        let room = making.memory_left();
        let Making { number, lens, .. } = making;
        check_room(operation, &lens, room)?;
        let (win, (own, bases)) = allocate(&turn, &lens).settle(&mut turn, len)?;
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

/// Own memory, and that of all ranks where it can be addressed.
type Memory = (Base, Option<Vec<Base>>);

fn allocate(turn: &Turn<'_>, lens: &[usize]) -> Attempt<Memory> {
    let Inner {
        comm, size, area, ..
    } = turn.inner;
    let (at, own) = (turn.at, turn.at.rank);
    // Whole words, and room to begin at a multiple of 64 bytes. Some libraries do not take empty parts well.
    let room = |len: usize| len.max(1).next_multiple_of(ALIGNMENT);
    let bytes = room(lens[own]) + ALIGNMENT;
    let window = match area {
        Some(_) => Win::allocate_shared(at, *comm, bytes),
        None => Win::allocate(at, *comm, bytes),
    };
    Attempt::new(window, |win, base| {
        let bases = match area {
            Some(_) => {
                let bases = (0..*size).map(|rank| {
                    win.base(at, rank)
                        .map(|base| base.aligned(ALIGNMENT, room(lens[rank])))
                });
                Some(bases.collect::<Result<Vec<_>, _>>()?)
            }
            None => None,
        };
        let base = match &bases {
            Some(bases) => bases[own],
            None => base,
        };
        // SAFETY: this rank's part has `bytes` bytes, `len` of them from the base on, and no other rank has the window yet.
        unsafe { base.start.write_bytes(0, base.len.min(room(lens[own]))) };
        win.synchronise(at)?;
        let own = Base {
            len: lens[own],
            ..base
        };
        Ok((own, bases))
    })
}

impl MpiWindow {
    /// A collective call on this window and no other.
    fn call(&self, operation: Operation) -> Call {
        Call {
            extra: self.number,
            ..Call::new(operation)
        }
    }

    /// The words of rank `rank`, if they can be addressed.
    fn words(&self, rank: usize) -> Option<&[AtomicU64]> {
        let Base { start, len } = *self.bases.as_ref()?.get(rank)?;
        // SAFETY: the memory of `rank` starts at a multiple of 64 bytes, holds `len` bytes, whole words, and is there until
        // the window is freed, after it is dropped. Whoever else touches it meanwhile, in this process and in others, does so
        // by atomic words too: `with_local`, which does not, is collective, and no rank that is in it has its window borrowed
        // by anybody else.
        Some(unsafe { slice::from_raw_parts(start.cast(), len / WORD) })
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
        if self.bases.is_some() {
            for Get { rank, offset, into } in gets {
                words::load(self.words(*rank).unwrap_or_default(), *offset, into);
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
        if self.bases.is_some() {
            for &Put { rank, offset, from } in puts {
                words::store(self.words(rank).unwrap_or_default(), offset, from);
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
