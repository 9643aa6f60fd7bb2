//! The communicator: [`Communicator`], and what stands for one by reference.

use std::sync::Arc;

use crate::{CommError, ExchangeJob, Message, Reduction, SharedBytes, Workspace};

/// The largest tag of a message: what every message-passing library carries.
pub const MAX_TAG: u32 = 32_767;

/// A group of ranks that can talk to each other, seen from one of them.
///
/// Object-safe; all data are bytes. [`CommExt`](crate::CommExt) adds typed forms. *Collective* calls are made by all ranks in the
/// same order, by at most one thread of a rank at a time; they check their arguments after the ranks have met, so a mistake
/// on one rank is the same error on all. Lengths of 0 are ordinary. Outsiders may implement the trait;
/// `testkit::check_communicator` tells whether they did so rightly.
pub trait Communicator: Send + Sync {
    /// The number of this rank, `0..size`. Local.
    fn rank(&self) -> usize;

    /// How many ranks there are, at least 1. Local.
    fn size(&self) -> usize;

    /// Returns when every rank has called it. Collective.
    ///
    /// # Errors
    /// When a rank is in another call, has left, has panicked, or does not come in time.
    fn barrier(&self) -> Result<(), CommError>;

    /// Copies `buf` of rank `root` to `buf` of every other rank. Collective; equal lengths, equal roots.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier), and when lengths or roots differ or the root is out of range.
    fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError>;

    /// Brings `send` of every rank, whatever its length, to rank `root`: `Some`, by rank, there and `None` elsewhere. Collective.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier), and when roots differ, the root is out of range, or it cannot have the memory.
    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError>;

    /// Brings `send` of every rank, whatever its length, to every rank: the result is by rank. Collective.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier), and when a rank cannot have the memory.
    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError>;

    /// As [`all_gather_v`](Self::all_gather_v) for equal lengths: fills `recv`, of `size · send.len()` bytes, by rank. Collective.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier), and when lengths differ or `recv` has another length.
    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError>;

    /// Sends `send[r]` to each rank `r`, itself included; the result is by sender. Collective; `send` has one entry per rank.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier), and when a rank gives another number of entries or cannot have the memory.
    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError>;

    /// Folds the `buf` of all ranks into one value and leaves it in the `buf` of each: `fold(acc, next)` folds `next` into
    /// `acc`, from the left in rank order, `((b₀ ∘ b₁) ∘ b₂) ∘ …`, so the bits are the same on every rank and in every run.
    /// Collective; equal lengths, equal `reduction`.
    ///
    /// The element size of `reduction` is that of what `fold` treats as a unit. It divides the length, and the buffer may be
    /// cut between elements: `fold` then sees corresponding pieces of equal length, each as aligned as an array of elements
    /// is if every `buf` is. Give `Reduction::own(buf.len())` when `fold` needs the whole.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier), and when lengths or reductions differ, the length is no multiple of the element size,
    /// or a rank cannot have the memory.
    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError>;

    /// Makes one communicator for each `color`, its ranks ordered by `key` and then by rank here; `None` takes part in no
    /// group and gets `None`. Collective.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    fn split(
        &self,
        color: Option<u32>,
        key: i64,
    ) -> Result<Option<Box<dyn Communicator>>, CommError>;

    /// Sends `buf` to rank `to`, which calls [`recv`](Self::recv) with the same `tag`, at most [`MAX_TAG`], and length. May
    /// wait for it.
    ///
    /// # Errors
    /// When `to` is out of range or this rank, the tag is too large, or `to` has left, has panicked or does not come in time.
    /// Whether the sender learns that the receiver expects another length is up to the communicator.
    fn send(&self, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError>;

    /// Receives the next message from rank `from` with this `tag`; it fills `buf` exactly.
    ///
    /// # Errors
    /// When `from` is out of range or this rank, the tag is too large, or `from` has left, has panicked, does not send in
    /// time, or sent another length. What a rank sent before it left arrives.
    fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError>;

    /// Exchanges messages with neighbours: each send is packed and started in turn; then
    /// [`local`](ExchangeJob::local) runs; then messages are unpacked as they land, in any order.
    ///
    /// Not a barrier: only the ranks named take part. It returns when the sends and receives listed are done, and may wait
    /// for the peers' matching calls (`exchange`, or `send` and `recv`, with the same tag).
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Self::recv). Peers of a rank that fails and stays may learn of it only by waiting
    /// in vain; that it lacks memory can be agreed on before, see [`reserve`](Self::reserve).
    fn exchange(
        &self,
        tag: u32,
        sends: &[Message],
        recvs: &[Message],
        job: &mut dyn ExchangeJob,
        workspace: &mut Workspace,
    ) -> Result<(), CommError>;

    /// Makes `workspace` large enough for an [`exchange`](Self::exchange) of these messages, which then takes no memory that
    /// grows with their lengths. Local.
    ///
    /// What fails here fails before any message is sent, so the ranks can [`agree`](crate::agree::agree) on it. A communicator
    /// that hands `exchange` to another one does so with this too.
    ///
    /// ```
    /// use dist_comm::agree::{Agreed, agree};
    /// use dist_comm::{Communicator, Message, ThreadComm, Workspace};
    ///
    /// let outcomes = ThreadComm::run(2, |comm| {
    ///     // More than there is, on one rank.
    ///     let len = if comm.rank() == 1 { usize::MAX / 2 } else { 8 };
    ///     let messages = [Message { peer: 1 - comm.rank(), len }];
    ///     let reserved = comm.reserve(&messages, &messages, &mut Workspace::new());
    ///     Ok::<Agreed, Agreed>(agree(comm, reserved).expect_err("rank 1 has no such memory"))
    /// })?;
    /// assert_eq!((outcomes[0].rank, &outcomes[0]), (1, &outcomes[1]));
    /// # Ok::<(), dist_comm::RunError<Agreed>>(())
    /// ```
    ///
    /// # Errors
    /// [`CommError::Allocation`].
    fn reserve(
        &self,
        sends: &[Message],
        recvs: &[Message],
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        workspace.buffers(self.rank(), sends, recvs).map(drop)
    }

    /// Lends `mine` to every rank for the time of `read`, which gets the slices of all ranks, by rank, without a copy.
    /// Returns only after every rank has finished reading. Collective; lengths may differ.
    ///
    /// `Ok(false)`, the same on all ranks and without calling `read`, when some rank's memory cannot be read by its peers.
    /// On threads it always can; under MPI when all ranks share a node and each `mine` is empty or lies inside
    /// memory from [`alloc_shared`](Self::alloc_shared) of this communicator.
    ///
    /// `read` must not make a collective call on this communicator: its peers may be done reading.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError>;

    /// `len` zeros, the first at a multiple of 64 bytes, that peers on this node can read through [`lend`](Self::lend).
    /// Collective; lengths may differ.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier), and when a rank cannot have the memory.
    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError>;

    /// The MPI communicator that this is, for libraries that need one themselves; `None` where ranks are no MPI processes. Local.
    #[cfg(feature = "mpi")]
    fn as_mpi(&self) -> Option<&crate::MpiComm> {
        None
    }
}

macro_rules! communicator_by_reference {
    ($($pointer:ty),*) => {$(
        impl<C: Communicator + ?Sized> Communicator for $pointer {
            fn rank(&self) -> usize {
                (**self).rank()
            }
            fn size(&self) -> usize {
                (**self).size()
            }
            fn barrier(&self) -> Result<(), CommError> {
                (**self).barrier()
            }
            fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
                (**self).broadcast(root, buf)
            }
            fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
                (**self).gather_v(root, send)
            }
            fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
                (**self).all_gather_v(send)
            }
            fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
                (**self).all_gather(send, recv)
            }
            fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
                (**self).all_to_all_v(send)
            }
            fn all_reduce(
                &self,
                buf: &mut [u8],
                reduction: Reduction,
                fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
            ) -> Result<(), CommError> {
                (**self).all_reduce(buf, reduction, fold)
            }
            fn split(&self, color: Option<u32>, key: i64) -> Result<Option<Box<dyn Communicator>>, CommError> {
                (**self).split(color, key)
            }
            fn send(&self, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
                (**self).send(to, tag, buf)
            }
            fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
                (**self).recv(from, tag, buf)
            }
            fn exchange(
                &self,
                tag: u32,
                sends: &[Message],
                recvs: &[Message],
                job: &mut dyn ExchangeJob,
                workspace: &mut Workspace,
            ) -> Result<(), CommError> {
                (**self).exchange(tag, sends, recvs, job, workspace)
            }
            fn reserve(
                &self,
                sends: &[Message],
                recvs: &[Message],
                workspace: &mut Workspace,
            ) -> Result<(), CommError> {
                (**self).reserve(sends, recvs, workspace)
            }
            fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
                (**self).lend(mine, read)
            }
            fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
                (**self).alloc_shared(len)
            }
            #[cfg(feature = "mpi")]
            fn as_mpi(&self) -> Option<&crate::MpiComm> {
                (**self).as_mpi()
            }
        }
    )*};
}

communicator_by_reference!(&C, Box<C>, Arc<C>);
