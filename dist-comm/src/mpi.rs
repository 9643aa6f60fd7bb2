//! MPI processes as ranks: [`MpiComm`] (feature `mpi`; MPI 3.1 through rsmpi's raw functions).
#![expect(
    unsafe_code,
    reason = "MPI is a C library; each call of it is in this module"
)]

mod area;
mod collective;
mod frame;
mod mailbox;
mod making;
mod meeting;
mod message;
mod node_memory;
mod one_sided;
mod patience;
mod raw;
mod raw_window;
mod requests;
mod session;
mod shared;
mod words;

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use self::area::Area;
use self::mailbox::Mailbox;
use self::meeting::Turn;
use self::raw::{At, Comm};
use self::session::{Grave, Session};
use self::shared::Allocation;
pub(crate) use self::shared::SharedPart;
use crate::call;
use crate::{CommError, Operation};

/// One of the ranks that `mpirun` started, or a part of them; without `mpirun` one rank alone.
///
/// ```
/// use dist_comm::{CommExt, Communicator, MpiComm, ReduceOp};
///
/// let comm = MpiComm::world()?; // collective
/// let sum = comm.all_reduce_value(comm.rank() + 1, ReduceOp::Sum)?;
/// assert_eq!(sum, comm.size() * (comm.size() + 1) / 2); // 10 on each of 4 ranks
/// # Ok::<(), dist_comm::CommError>(())
/// ```
///
/// Works on its own duplicate of the communicator, on which errors are returned. Buffers may be of any length; the library
/// gets them in chunks that it can count. MPI is started with `MPI_THREAD_MULTIPLE` where the library has it; where it
/// has less, only the thread that started it may call, and others get [`CommError::Unavailable`].
///
/// On one node the ranks meet in shared memory: that is how short collective calls are fast, how different calls are
/// noticed, and how a rank that has left is noticed ([`CommError::Departed`]), by those who wait for its messages too. Across
/// nodes the same checks go by messages. A rank waits no longer than the seconds in the variable `DIST_COMM_TIMEOUT`, the
/// longest if it is not the same on all ranks, and then gets [`CommError::Timeout`]; where it is not set, an hour across nodes and without
/// limit on one node. Setting
/// `DIST_COMM_SHARED_MEMORY=0` has ranks of one node behave as if they were apart; so does a `/dev/shm` with less than about
/// a megabyte for each rank. What does not fit there cannot be lent (`alloc_shared`), or is [`CommError::Allocation`] (`window`).
///
/// A long message that was sent to a rank that has left cannot be taken back from every library. `exchange` then gives
/// its buffers away and returns the error; `send` says why and ends all ranks, as its buffer is the caller's.
///
/// From the first `MpiComm` on, a panic anywhere in the process prints rank, call and message and ends all ranks. If the
/// program replaces the panic hook, a panic within a call still does, without the message.
///
/// What is dropped is freed later: with the next window, shared memory or part made on the same communicator, with that
/// communicator (windows and shared memory), or when MPI is finalised. MPI is finalised when the last value that uses it
/// is dropped, if it was started here.
#[derive(Clone)]
pub struct MpiComm {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    session: Arc<Session>,
    /// For collective calls.
    comm: Comm,
    /// For frames of messages, so that tags are the caller's own.
    mail: Comm,
    /// For bytes that travel apart from their frame.
    apart: Comm,
    apart_tags: AtomicU32,
    rank: usize,
    size: usize,
    /// Local number, and that of the communicator this one is a part of.
    id: u64,
    parent: u64,
    /// The same on all ranks of this communicator, among those made by its parent.
    key: [u64; 2],
    /// Present when all ranks share a node.
    area: Option<Area>,
    mailbox: Option<Mailbox>,
    /// How long a rank waits for others, the same on all.
    limit: Option<Duration>,
    /// Why no collective call can be made any more.
    broken: OnceLock<CommError>,
    /// The collective call under way, to refuse a second one.
    current: AtomicU32,
    /// How many things were made here; equal on all ranks.
    made: AtomicU64,
    allocations: Mutex<Vec<Allocation>>,
}

impl MpiComm {
    /// All ranks that were started together. Starts MPI if nobody has. Collective.
    ///
    /// # Errors
    /// [`CommError::Unavailable`] when MPI was finalised before or this thread may not call it; [`CommError::Mpi`].
    pub fn world() -> Result<Self, CommError> {
        let session = Session::open(true)?;
        Self::duplicate(session, raw::world())
    }

    /// The ranks of an rsmpi communicator, on a duplicate of it. Collective over its ranks.
    ///
    /// Whoever started MPI stops it, after this communicator and what it made are dropped; memory and windows that are
    /// in use when MPI is stopped end the program.
    ///
    /// # Errors
    /// As [`world`](Self::world).
    pub fn duplicate_of(comm: &impl rsmpi::topology::Communicator) -> Result<Self, CommError> {
        let session = Session::open(false)?;
        Self::duplicate(session, Comm(rsmpi::raw::AsRaw::as_raw(comm)))
    }

    fn duplicate(session: Arc<Session>, comm: Comm) -> Result<Self, CommError> {
        let operation = Operation::Init;
        session.check(operation)?;
        let at = At {
            operation,
            rank: comm.rank(At { operation, rank: 0 })?,
        };
        let own = comm.duplicate(at)?;
        // Not a part of anything of ours: its key is never compared, it is freed when MPI is finalised.
        Self::build(session, own, at, 0, [0; 2])
    }

    fn build(
        session: Arc<Session>,
        comm: Comm,
        at: At,
        parent: u64,
        key: [u64; 2],
    ) -> Result<Self, CommError> {
        let (rank, size) = (comm.rank(at)?, comm.size(at)?);
        let at = At { rank, ..at };
        let (mail, apart) = (comm.duplicate(at)?, comm.duplicate(at)?);
        let wanted = std::env::var_os("DIST_COMM_SHARED_MEMORY").is_none_or(|value| value != "0");
        // Collective, so every rank asks, whatever it wants.
        let on_node = comm.ranks_on_node(at)?;
        let near = wanted && on_node == size && Area::fits(size);
        let mut wishes = vec![[0; 2]; size];
        comm.all_gather(
            at,
            bytemuck::bytes_of(&[u64::from(near), patience::wished_limit()]),
            bytemuck::cast_slice_mut(&mut wishes),
        )?;
        let near = wishes.iter().all(|&[near, _]| near == 1);
        let limit = patience::limit(near, wishes.iter().map(|&[_, limit]| limit));
        let (area, mailbox) = near
            .then(|| Area::new(at, comm, size, limit).ok())
            .flatten()
            .unzip();
        // One rank without an area, and all do as if they were apart. The call also has all wait until every area is ready.
        let mut all = vec![0; size];
        comm.all_gather(at, &[u8::from(area.is_some())], &mut all)?;
        let all_have_areas = all.iter().all(|&has_area| has_area == 1);
        let area = area.filter(|_| all_have_areas);
        let mailbox = mailbox.filter(|_| all_have_areas);
        let inner = Inner {
            session,
            comm,
            mail,
            apart,
            apart_tags: AtomicU32::new(0),
            rank,
            size,
            id: session::next_id(),
            parent,
            key,
            limit,
            broken: OnceLock::new(),
            area,
            mailbox,
            current: AtomicU32::new(0),
            made: AtomicU64::new(0),
            allocations: Mutex::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// As [`Communicator::split`](crate::Communicator::split), with the type kept, so that the parts can have windows too. Collective.
    ///
    /// # Errors
    /// As [`Communicator::split`](crate::Communicator::split).
    pub fn subgroup(&self, color: Option<u32>, key: i64) -> Result<Option<Self>, CommError> {
        let operation = Operation::Split;
        let inner = &self.inner;
        let mut turn = Turn::begin(inner, operation)?;
        let wish = color.map_or(0, |color| u64::from(color) + 1);
        let note = [wish, u64::from_ne_bytes(key.to_ne_bytes())];
        let making = turn.meet_to_make(0, note)?;
        let wishes: Vec<_> = making
            .notes
            .iter()
            .map(|&[wish, key]| {
                let color = wish
                    .checked_sub(1)
                    .and_then(|color| u32::try_from(color).ok());
                (color, i64::from_ne_bytes(key.to_ne_bytes()))
            })
            .collect();
        let groups = call::groups(&wishes);
        let place = groups.iter().enumerate().find_map(|(group, (_, ranks))| {
            ranks
                .iter()
                .position(|&rank| rank == inner.rank)
                .map(|place| (group, place))
        });
        let part = inner.comm.split(
            turn.at,
            place.map(|(group, _)| group),
            place.map_or(0, |(_, place)| place),
        )?;
        let (Some(part), Some((group, _))) = (part, place) else {
            return Ok(None);
        };
        let session = Arc::clone(&inner.session);
        let key = [making.number, group as u64];
        Self::build(session, part, turn.at, inner.id, key).map(Some)
    }

    /// Whether all ranks share a node, so that memory from
    /// [`alloc_shared`](crate::Communicator::alloc_shared) can be lent. The same on all ranks. Local.
    #[must_use]
    pub fn is_one_node(&self) -> bool {
        self.inner.area.is_some()
    }

    /// The duplicate that this communicator works on, for libraries that need an MPI communicator themselves (parallel
    /// HDF5). It stays ours: do not free it, and do not use it after the last clone is dropped. Local.
    #[must_use]
    pub fn as_raw(&self) -> rsmpi::ffi::MPI_Comm {
        self.inner.comm.0
    }
}

impl Inner {
    /// Bytes that the ranks can still share, as this rank sees it; no limit where they share none.
    fn memory_left(&self) -> u64 {
        let shares = self.area.is_some() && self.size > 1;
        let left = if shares { node_memory::left() } else { None };
        // The library needs a little more than what it is asked for.
        left.map_or(u64::MAX, |left| left - left / 8)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if session::is_finalised() {
            return;
        }
        if let Some(area) = &self.area {
            area.leave();
        }
        let mut comms = vec![self.mail, self.apart];
        // Between nodes, a collective call that was given up is still under way on it.
        if self.area.is_some() || self.broken.get().is_none() {
            comms.push(self.comm);
        }
        session::bury(Grave {
            id: self.id,
            yard: self.parent,
            key: self.key,
            sharers: self.size,
            windows: self.area.iter().map(|area| area.win).collect(),
            comms,
        });
    }
}

impl fmt::Debug for MpiComm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { rank, size, .. } = &*self.inner;
        f.debug_struct("MpiComm")
            .field("rank", rank)
            .field("size", size)
            .finish_non_exhaustive()
    }
}
