//! [`Doomed`]: ranks that fail at any call.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dist_comm::{
    CommError, Communicator, ExchangeJob, Message, Operation, Reduction, SharedBytes, Workspace,
};

/// A communicator whose ranks fail at the call of this number, and at every one after it, as if the job were killed there.
pub struct Doomed<'c> {
    comm: &'c dyn Communicator,
    left: AtomicUsize,
    is_dead: AtomicBool,
}

impl<'c> Doomed<'c> {
    pub fn new(comm: &'c dyn Communicator, calls: usize) -> Self {
        Self {
            comm,
            left: AtomicUsize::new(calls),
            is_dead: AtomicBool::new(false),
        }
    }

    fn call(&self) -> Result<&dyn Communicator, CommError> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
        match left {
            Ok(_) => Ok(self.comm),
            Err(_) => {
                if !self.is_dead.swap(true, Ordering::Relaxed) {
                    self.comm.barrier()?; // all ranks have come as far
                }
                Err(CommError::Departed {
                    operation: Operation::Barrier,
                    rank: 0,
                })
            }
        }
    }
}

impl Communicator for Doomed<'_> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }
    fn size(&self) -> usize {
        self.comm.size()
    }
    fn barrier(&self) -> Result<(), CommError> {
        self.call()?.barrier()
    }
    fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
        self.call()?.broadcast(root, buf)
    }
    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.call()?.gather_v(root, send)
    }
    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.call()?.all_gather_v(send)
    }
    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        self.call()?.all_gather(send, recv)
    }
    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
        self.call()?.all_to_all_v(send)
    }
    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError> {
        self.call()?.all_reduce(buf, reduction, fold)
    }
    fn split(
        &self,
        color: Option<u32>,
        key: i64,
    ) -> Result<Option<Box<dyn Communicator>>, CommError> {
        self.call()?.split(color, key)
    }
    fn send(&self, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
        self.call()?.send(to, tag, buf)
    }
    fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
        self.call()?.recv(from, tag, buf)
    }
    fn exchange(
        &self,
        tag: u32,
        sends: &[Message],
        recvs: &[Message],
        job: &mut dyn ExchangeJob,
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        self.call()?.exchange(tag, sends, recvs, job, workspace)
    }
    fn reserve(
        &self,
        sends: &[Message],
        recvs: &[Message],
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        self.comm.reserve(sends, recvs, workspace) // local
    }
    fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
        self.call()?.lend(mine, read)
    }
    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
        self.call()?.alloc_shared(len)
    }
    #[cfg(feature = "mpi")]
    fn as_mpi(&self) -> Option<&dist_comm::MpiComm> {
        self.comm.as_mpi()
    }
}
