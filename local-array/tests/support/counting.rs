//! [`Counting`]: a communicator that counts the bytes that a rank receives from others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dist_comm::{
    CommError, Communicator, ExchangeJob, Message, Operation, Reduction, SharedBytes, Workspace,
};

/// Another communicator, and how many bytes its rank was sent. Memory is never lent, so that all that is moved is counted.
#[derive(Clone)]
pub struct Counting<C> {
    comm: C,
    received: Arc<AtomicUsize>,
    is_poor: Arc<AtomicBool>,
}

impl<C: Communicator> Counting<C> {
    pub fn new(comm: C) -> Self {
        Self {
            comm,
            received: Arc::default(),
            is_poor: Arc::default(),
        }
    }

    /// Whether this rank lacks the memory for its messages from now on.
    pub fn set_poor(&self, is_poor: bool) {
        self.is_poor.store(is_poor, Ordering::Relaxed);
    }

    /// Bytes received since the last call, by groups that were split off too.
    pub fn take(&self) -> usize {
        self.received.swap(0, Ordering::Relaxed)
    }

    fn count(&self, bytes: usize) {
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts what came from others.
    fn count_all(&self, parts: &[Vec<u8>]) {
        let others = parts
            .iter()
            .enumerate()
            .filter(|(rank, _)| *rank != self.rank());
        self.count(others.map(|(_, part)| part.len()).sum());
    }
}

impl<C: Communicator> Communicator for Counting<C> {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.comm.barrier()
    }

    fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
        if self.rank() != root {
            self.count(buf.len());
        }
        self.comm.broadcast(root, buf)
    }

    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        let all = self.comm.gather_v(root, send)?;
        self.count_all(all.as_deref().unwrap_or_default());
        Ok(all)
    }

    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let all = self.comm.all_gather_v(send)?;
        self.count_all(&all);
        Ok(all)
    }

    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        self.count(recv.len().saturating_sub(send.len()));
        self.comm.all_gather(send, recv)
    }

    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
        let all = self.comm.all_to_all_v(send)?;
        self.count_all(&all);
        Ok(all)
    }

    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError> {
        if self.size() > 1 {
            self.count(buf.len());
        }
        self.comm.all_reduce(buf, reduction, fold)
    }

    fn split(
        &self,
        color: Option<u32>,
        key: i64,
    ) -> Result<Option<Box<dyn Communicator>>, CommError> {
        let group = self.comm.split(color, key)?;
        let counted = group.map(|comm| Counting {
            comm,
            received: self.received.clone(),
            is_poor: self.is_poor.clone(),
        });
        Ok(counted.map(|comm| Box::new(comm) as Box<dyn Communicator>))
    }

    fn send(&self, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
        self.comm.send(to, tag, buf)
    }

    fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
        self.count(buf.len());
        self.comm.recv(from, tag, buf)
    }

    fn exchange(
        &self,
        tag: u32,
        sends: &[Message],
        recvs: &[Message],
        job: &mut dyn ExchangeJob,
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        self.count(recvs.iter().map(|message| message.len).sum());
        self.comm.exchange(tag, sends, recvs, job, workspace)
    }

    fn reserve(
        &self,
        sends: &[Message],
        recvs: &[Message],
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        if self.is_poor.load(Ordering::Relaxed) {
            return Err(CommError::Allocation {
                operation: Operation::Exchange,
                rank: self.rank(),
                bytes: sends.iter().chain(recvs).map(|one| one.len as u64).sum(),
            });
        }
        self.comm.reserve(sends, recvs, workspace)
    }

    fn lend(&self, _mine: &[u8], _read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
        self.comm.barrier()?;
        Ok(false)
    }

    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
        self.comm.alloc_shared(len)
    }
}
