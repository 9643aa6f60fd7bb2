//! The beginning of every collective call: all ranks say what they want, and check that it is the same.

use std::sync::atomic::Ordering;

use super::Inner;
use super::area::{Absent, Area, INLINE, Words};
use super::patience::Patience;
use super::raw::At;
use super::requests::Requests;
use super::session::{self, Doing};
use crate::call::{self, Call};
use crate::memory::{ASK_ABOVE, can_have};
use crate::{CommError, Operation};

/// Tag of the messages of collective calls, on a communicator that has no others.
pub(super) const TAG: u32 = 1;

/// A collective call of this rank; there is one at a time.
pub(super) struct Turn<'a> {
    pub(super) inner: &'a Inner,
    pub(super) at: At,
    _doing: Doing,
}

impl<'a> Turn<'a> {
    pub(super) fn begin(inner: &'a Inner, operation: Operation) -> Result<Self, CommError> {
        inner.session.check(operation)?;
        let free = inner.current.compare_exchange(
            0,
            operation.code(),
            Ordering::Acquire,
            Ordering::Relaxed,
        );
        if let Err(code) = free {
            let current = Operation::from_code(code).unwrap_or(operation);
            return Err(CommError::Busy {
                operation,
                rank: inner.rank,
                current,
            });
        }
        let at = At {
            operation,
            rank: inner.rank,
        };
        Ok(Self {
            inner,
            at,
            _doing: Doing::begin(operation),
        })
    }

    /// The most bytes that travel with what is said.
    pub(super) fn inline(&self) -> usize {
        if self.inner.area.is_some() { INLINE } else { 0 }
    }

    /// Meets all ranks: says `call`, `note` and, if it fits, `payload`; checks the calls of all. Ranks that once did not
    /// meet do not meet again: they are out of step, and some may still read what was said last.
    pub(super) fn meet(
        &mut self,
        call: Call,
        note: [u64; 3],
        payload: &[u8],
    ) -> Result<Met<'_>, CommError> {
        let Inner {
            comm,
            size,
            area,
            broken,
            limit,
            ..
        } = self.inner;
        if let Some(error) = broken.get() {
            return Err(error.clone());
        }
        let operation = call.operation;
        let code = u64::from(operation.code());
        let words = [
            code, call.root, call.len, call.extra, note[0], note[1], note[2], call.lacks,
        ];
        let said = if let Some(area) = area {
            let payload = if payload.len() > INLINE { &[] } else { payload };
            area.meet(*comm, &words, payload)
                .map(|meeting| Said::Near(area, meeting))
                .map_err(|absent| match absent {
                    Absent::Left(rank) => CommError::Departed { operation, rank },
                    Absent::Late(rank) => CommError::Timeout {
                        operation,
                        limit: limit.unwrap_or_default(),
                        missing: vec![rank],
                    },
                })
        } else {
            let mut patience = Patience::new(self.inner, operation);
            comm.all_gather_words(self.at, &words, *size, &mut || patience.pause(0..*size))
                .map(Said::Far)
        };
        let said = said.inspect_err(|error| {
            broken.get_or_init(|| error.clone());
        })?;
        let met = Met { turn: self, said };
        call::check(&(0..*size).map(|rank| met.call(rank)))?;
        Ok(met)
    }

    /// Meets, and brings `send` of every rank, by rank, to the ranks that want them: short ones as said there, longer ones in
    /// messages. Collective.
    pub(super) fn gather(
        &mut self,
        call: Call,
        send: &[u8],
        wants: impl Fn(usize) -> bool,
    ) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        let Inner {
            comm,
            size,
            rank: own,
            ..
        } = *self.inner;
        let (call, inline) = (call.len(send.len()), self.inline());
        let met = self.meet(call, [0; 3], send)?;
        let lens: Vec<usize> = (0..size).map(|rank| met.len(rank)).collect();
        let mut all: Vec<Vec<u8>> = Vec::new();
        if wants(own) {
            let said = |(rank, &len)| match len {
                len if rank == own || len > inline => Vec::new(),
                len => met.payload(rank, len).to_vec(),
            };
            all.extend(lens.iter().enumerate().map(said));
        }
        drop(met);
        let whole = lens.iter().copied().fold(0, usize::saturating_add);
        self.ask(call, whole, if wants(own) { whole } else { 0 })?;
        let mut requests = Requests::new(self.at, 2 * size);
        for (rank, bytes) in all.iter_mut().enumerate() {
            if rank == own {
                bytes.extend_from_slice(send);
            } else if lens[rank] > inline {
                *bytes = vec![0; lens[rank]];
                requests.recv(comm, rank, TAG, bytes)?;
            }
        }
        if send.len() > inline {
            for to in (0..size).filter(|&to| to != own && wants(to)) {
                requests.send(comm, to, TAG, send)?;
            }
        }
        requests.wait_all()?;
        drop(requests);
        Ok(wants(own).then_some(all))
    }

    /// Meets again if a rank gets more than a little, `most` bytes, the same number on all: whether each has the memory for
    /// the `mine` bytes that it gets. Collective.
    pub(super) fn ask(&mut self, call: Call, most: usize, mine: usize) -> Result<(), CommError> {
        if most > ASK_ABOVE {
            let call = call.with_memory(mine, can_have(mine).as_ref());
            self.meet(call, [0; 3], &[])?;
        }
        Ok(())
    }

    /// Meets to make something of `len` bytes: all ranks say how long and `note`; what all have dropped is freed.
    ///
    /// The number is drawn after the ranks have met, so one that was elsewhere draws none, and it stays equal on all.
    pub(super) fn meet_to_make(&mut self, len: usize, note: [u64; 2]) -> Result<Making, CommError> {
        let Inner { id, size, made, .. } = self.inner;
        let buried = session::buried(*id).len() as u64;
        // Given back at once: a library that finds no memory may leave other ranks waiting, so it is not even asked.
        let call = Call::new(self.at.operation)
            .len(len)
            .with_memory(len, can_have(len).as_ref());
        let met = self.meet(call, [note[0], note[1], buried], &[])?;
        let number = made.fetch_add(1, Ordering::Relaxed) + 1;
        let said = || (0..*size).map(|rank| met.note(rank));
        let buried = said().any(|[.., buried]| buried > 0);
        let making = Making {
            number,
            lens: (0..*size).map(|rank| met.len(rank)).collect(),
            notes: said().map(|[a, b, _]| [a, b]).collect(),
        };
        if buried {
            self.sweep()?;
        }
        Ok(making)
    }

    /// Frees what all ranks have dropped. Collective.
    fn sweep(&mut self) -> Result<(), CommError> {
        let mine = session::buried(self.inner.id);
        let bytes: &[u8] = bytemuck::cast_slice(&mine);
        let call = Call::new(self.at.operation).len(bytes.len());
        let all = self.gather(call, bytes, |_| true)?.unwrap_or_default();
        let mut keys: Vec<[u64; 2]> = Vec::new();
        for bytes in &all {
            keys.extend(
                bytes
                    .chunks_exact(size_of::<[u64; 2]>())
                    .map(bytemuck::pod_read_unaligned::<[u64; 2]>),
            );
        }
        session::sweep(self.inner.id, &keys);
        self.inner.forget(&keys);
        Ok(())
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.inner.current.store(0, Ordering::Release);
    }
}

/// What all ranks said of the thing that they make.
pub(super) struct Making {
    /// The number of the thing on this communicator, from 1; the same on every rank.
    pub(super) number: u64,
    pub(super) lens: Vec<usize>,
    pub(super) notes: Vec<[u64; 2]>,
}

impl Making {
    /// The least memory that a rank saw [left](Inner::memory_left), where that is what the first note says.
    pub(super) fn memory_left(&self) -> u64 {
        let left = self.notes.iter().map(|&[left, _]| left);
        left.min().unwrap_or(u64::MAX)
    }
}

/// What all ranks said, until this rank meets them again.
pub(super) struct Met<'a> {
    pub(super) turn: &'a Turn<'a>,
    said: Said<'a>,
}

enum Said<'a> {
    /// In the area, at this meeting.
    Near(&'a Area, u64),
    /// In messages.
    Far(Vec<Words>),
}

impl Met<'_> {
    fn words(&self, rank: usize) -> Words {
        match &self.said {
            Said::Near(area, meeting) => area.words(rank, *meeting),
            Said::Far(words) => words[rank],
        }
    }

    fn call(&self, rank: usize) -> Call {
        let [code, root, len, extra, .., lacks] = self.words(rank);
        let operation = u32::try_from(code)
            .ok()
            .and_then(Operation::from_code)
            .unwrap_or(Operation::Init);
        Call {
            operation,
            root,
            len,
            extra,
            lacks,
        }
    }

    pub(super) fn note(&self, rank: usize) -> [u64; 3] {
        let [.., a, b, c, _] = self.words(rank);
        [a, b, c]
    }

    /// The length that rank `rank` named.
    pub(super) fn len(&self, rank: usize) -> usize {
        usize::try_from(self.words(rank)[2]).unwrap_or(usize::MAX)
    }

    /// The first `len` bytes that rank `rank` sent along; nothing where nothing can be.
    pub(super) fn payload(&self, rank: usize, len: usize) -> &[u8] {
        match &self.said {
            Said::Near(area, meeting) => area.payload(rank, *meeting, len),
            Said::Far(_) => &[],
        }
    }
}
