//! Threads as ranks: [`ThreadComm`].
//!
//! Ranks read each other's memory directly, so a collective call costs two passings of a gate and one copy. Calls are
//! compared when the ranks meet; a rank that panics, returns or stays away gives the others an error, never a hang.

mod bell;
mod group;
mod mail;
mod one_sided;
mod run;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use self::group::Group;
pub use self::run::{RankFailure, RunError, ThreadRun};
use self::window::Met;
use crate::call::{self, Call};
use crate::memory::{ASK_ABOVE, AlignedBytes};
use crate::reduce::{fold_ranks, piece};
use crate::{
    CommError, Communicator, ExchangeJob, Message, Operation, Reduction, SharedBytes, Workspace,
};

/// Reductions of more bytes than this are cut into a piece per rank.
const CUT_REDUCTIONS_ABOVE: usize = 4096;

/// One of the ranks that [`ThreadComm::run`] runs as threads of this process.
///
/// Nothing but threads is needed, and lending is always possible. If a rank panics, every other rank gets
/// [`CommError::Panicked`] from the call it waits in, or its next one. If a rank returns while others wait for it they get
/// [`CommError::Departed`]; if it stays away for longer than the time limit, [`CommError::Timeout`].
pub struct ThreadComm {
    group: Arc<Group>,
    rank: usize,
    /// The collective call under way, to refuse a second one.
    current: AtomicU32,
}

impl ThreadComm {
    /// Runs `f` on `size` ranks, each on a thread of its own, and returns their results by rank.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    ///
    /// let heard = ThreadComm::run(3, |comm| {
    ///     let mut word = if comm.rank() == 0 { *b"hello" } else { [0; 5] };
    ///     comm.broadcast(0, &mut word)?;
    ///     Ok::<_, dist_comm::CommError>(word)
    /// })?;
    /// assert_eq!(heard, [*b"hello"; 3]);
    /// # Ok::<(), dist_comm::RunError<dist_comm::CommError>>(())
    /// ```
    ///
    /// # Errors
    /// [`RunError::Rank`] when a rank fails or panics, with the one that did so first; [`RunError::Size`] for 0 ranks;
    /// [`RunError::Start`] when the operating system has no more threads.
    pub fn run<R, E, F>(size: usize, f: F) -> Result<Vec<R>, RunError<E>>
    where
        R: Send,
        E: Send,
        F: Fn(&Self) -> Result<R, E> + Sync,
    {
        Self::builder(size).run(f)
    }

    /// As [`run`](Self::run), with settings: `ThreadComm::builder(4).timeout(limit).run(f)`.
    pub fn builder(size: usize) -> ThreadRun {
        ThreadRun::new(size)
    }

    fn new(group: Arc<Group>, rank: usize) -> Self {
        Self {
            group,
            rank,
            current: AtomicU32::new(0),
        }
    }

    /// Meets the other ranks, unless this rank is in a meeting already.
    fn meet<R>(
        &self,
        call: Call,
        parts: &[&[u8]],
        read: impl FnOnce(&Met<'_>) -> R,
    ) -> Result<R, CommError> {
        let _doing = Doing::begin(self, call.operation)?;
        window::meet(&self.group, self.rank, call, parts, read)
    }

    /// Meets again if a rank gets more than a little, `most` bytes, the same number on all: `got`, if every rank has what it
    /// gets; this one gets `mine` bytes.
    fn ask<T>(&self, call: Call, most: usize, mine: usize, got: Option<T>) -> Result<T, CommError> {
        let asks = call.with_memory(mine, got.as_ref());
        if most > ASK_ABOVE {
            self.meet(asks, &[], |_| ())?;
        }
        got.ok_or(CommError::Allocation {
            operation: call.operation,
            rank: self.rank,
            bytes: mine as u64,
        })
    }

    /// As [`Communicator::split`], with the type kept, so that the parts can have windows too. Collective.
    ///
    /// # Errors
    /// As [`Communicator::split`].
    pub fn subgroup(&self, color: Option<u32>, key: i64) -> Result<Option<Self>, CommError> {
        let mut wish = [0; 13];
        wish[0] = u8::from(color.is_some());
        wish[1..5].copy_from_slice(&color.unwrap_or(0).to_ne_bytes());
        wish[5..].copy_from_slice(&key.to_ne_bytes());
        self.meet(Call::new(Operation::Split), &[&wish], |met| {
            let wishes: Vec<_> = met.all().map(decode_wish).collect();
            let (color, ranks) = call::groups(&wishes)
                .into_iter()
                .find(|(_, ranks)| ranks.contains(&self.rank))?;
            let members = ranks.iter().map(|&rank| self.group.member(rank)).collect();
            let world = Arc::clone(&self.group.world);
            let group = self.group.share((met.meeting, color), ranks.len(), || {
                Group::new(world, members)
            })?;
            let rank = ranks.iter().position(|&rank| rank == self.rank)?;
            Some(Self::new(group, rank))
        })
    }

    fn duplicate(&self, operation: Operation) -> Result<Self, CommError> {
        let size = self.group.size();
        let group = self.meet(Call::new(operation), &[], |met| {
            let members = (0..size).map(|rank| self.group.member(rank)).collect();
            let world = Arc::clone(&self.group.world);
            self.group
                .share((met.meeting, 0), size, || Group::new(world, members))
        })?;
        let group = group.ok_or(CommError::Unavailable {
            operation,
            reason: "the group was not made",
        })?;
        Ok(Self::new(group, self.rank))
    }
}

fn decode_wish(wish: &[u8]) -> (Option<u32>, i64) {
    let color = wish[1..5]
        .try_into()
        .map(u32::from_ne_bytes)
        .ok()
        .filter(|_| wish[0] == 1);
    (color, wish[5..].try_into().map_or(0, i64::from_ne_bytes))
}

impl Drop for ThreadComm {
    fn drop(&mut self) {
        self.group.leave(self.rank);
    }
}

impl std::fmt::Debug for ThreadComm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ThreadComm")
            .field("rank", &self.rank)
            .field("size", &self.group.size())
            .finish_non_exhaustive()
    }
}

/// Copies of `parts`, if there is memory for them.
fn copies<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Option<Vec<Vec<u8>>> {
    let copy = |part: &[u8]| {
        let mut copy = Vec::new();
        copy.try_reserve_exact(part.len()).ok()?;
        copy.extend_from_slice(part);
        Some(copy)
    };
    parts.map(copy).collect()
}

fn bytes_of<'a>(parts: impl Iterator<Item = &'a [u8]>) -> usize {
    parts.map(<[u8]>::len).fold(0, usize::saturating_add)
}

/// Marks the collective call under way.
struct Doing<'a> {
    comm: &'a ThreadComm,
    _within: Within<'a>,
}

impl<'a> Doing<'a> {
    fn begin(comm: &'a ThreadComm, operation: Operation) -> Result<Self, CommError> {
        match comm.current.compare_exchange(
            0,
            operation.code(),
            Ordering::Acquire,
            Ordering::Relaxed,
        ) {
            Ok(_) => Ok(Self {
                comm,
                _within: Within { comm, operation },
            }),
            Err(code) => {
                let current = Operation::from_code(code).unwrap_or(operation);
                Err(CommError::Busy {
                    operation,
                    rank: comm.rank,
                    current,
                })
            }
        }
    }
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        self.comm.current.store(0, Ordering::Release);
    }
}

/// Records the call in which a panic happens.
struct Within<'a> {
    comm: &'a ThreadComm,
    operation: Operation,
}

impl Drop for Within<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Group { world, .. } = &*self.comm.group;
            world.set_panicked_in(self.comm.group.member(self.comm.rank), self.operation);
        }
    }
}

impl Communicator for ThreadComm {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.group.size()
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.meet(Call::new(Operation::Barrier), &[], |_| ())
    }

    fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
        let call = Call::new(Operation::Broadcast).root(root).len(buf.len());
        if self.rank == root {
            return self.meet(call, &[buf], |_| ());
        }
        self.meet(call, &[], |met| buf.copy_from_slice(met.part(root)))
    }

    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        let wants = self.rank == root;
        let call = Call::new(Operation::GatherV).root(root);
        let (all, whole) = self.meet(call, &[send], |met| {
            let all = if wants {
                copies(met.all())
            } else {
                Some(Vec::new())
            };
            (all, bytes_of(met.all()))
        })?;
        Ok(Some(self.ask(call, whole, whole, all)?).filter(|_| wants))
    }

    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let call = Call::new(Operation::AllGatherV);
        let (all, whole) = self.meet(call, &[send], |met| {
            (copies(met.all()), bytes_of(met.all()))
        })?;
        self.ask(call, whole, whole, all)
    }

    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        let call = Call::new(Operation::AllGather)
            .len(send.len())
            .extra(recv.len());
        self.meet(call, &[send], |met| {
            if !send.is_empty() {
                recv.chunks_exact_mut(send.len())
                    .zip(met.all())
                    .for_each(|(to, from)| to.copy_from_slice(from));
            }
        })
    }

    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
        let (own, size) = (self.rank, self.size());
        let call = Call::new(Operation::AllToAllV).len(send.len());
        let (all, most, mine) = self.meet(call, send, |met| {
            let to = |to| (0..size).map(move |from| met.parts(from)[to]);
            let most = (0..size).map(|rank| bytes_of(to(rank))).max();
            (copies(to(own)), most.unwrap_or(0), bytes_of(to(own)))
        })?;
        self.ask(call, most, mine, all)
    }

    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError> {
        let (len, size) = (buf.len(), self.size());
        let call = Call::new(Operation::AllReduce)
            .reduction(reduction)
            .len(len);
        let is_cut = len > CUT_REDUCTIONS_ABOVE;
        let element = reduction.element();
        let own = if is_cut {
            piece(len, element, self.rank, size)
        } else {
            0..len
        };
        let part = AlignedBytes::try_zeroed(own.len());
        let asks = call.with_memory(own.len(), part.as_ref());
        let mut part = part.unwrap_or_default();
        self.meet(asks, &[buf], |met| {
            fold_ranks(&mut part, met.all().map(|bytes| &bytes[own.clone()]), fold);
        })?;
        if !is_cut {
            buf.copy_from_slice(&part);
            return Ok(());
        }
        self.meet(call, &[&part], |met| {
            for (rank, bytes) in met.all().enumerate() {
                buf[piece(len, element, rank, size)].copy_from_slice(bytes);
            }
        })
    }

    fn split(
        &self,
        color: Option<u32>,
        key: i64,
    ) -> Result<Option<Box<dyn Communicator>>, CommError> {
        Ok(self
            .subgroup(color, key)?
            .map(|comm| Box::new(comm) as Box<dyn Communicator>))
    }

    fn send(&self, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
        let _within = Within {
            comm: self,
            operation: Operation::Send,
        };
        mail::send(&self.group, self.rank, to, tag, buf)
    }

    fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
        let _within = Within {
            comm: self,
            operation: Operation::Recv,
        };
        mail::recv(&self.group, self.rank, from, tag, buf)
    }

    fn exchange(
        &self,
        tag: u32,
        sends: &[Message],
        recvs: &[Message],
        job: &mut dyn ExchangeJob,
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        let _within = Within {
            comm: self,
            operation: Operation::Exchange,
        };
        mail::exchange(&self.group, self.rank, tag, (sends, recvs), job, workspace)
    }

    fn reserve(
        &self,
        sends: &[Message],
        _recvs: &[Message],
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        // What is received is read from the memory of its sender.
        workspace.sends.cut(sends, self.rank).map(drop)
    }

    fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
        self.meet(Call::new(Operation::Lend), &[mine], |met| {
            read(&met.all().collect::<Vec<_>>());
        })?;
        Ok(true)
    }

    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
        let mine = SharedBytes::on_heap(len, self.rank);
        let call = Call::new(Operation::AllocShared).with_memory(len, mine.as_ref().ok());
        self.meet(call, &[], |_| ())?;
        mine
    }
}
