//! The communicator of one rank: [`SingleComm`].

use std::sync::atomic::{AtomicU32, Ordering};

use crate::call::{self, Call};
use crate::exchange::{check_peer, check_peers, check_tag};
use crate::memory::AlignedBytes;
use crate::window::check_part;
use crate::{
    CommError, Communicator, ExchangeJob, Get, Message, OneSided, Operation, Put, Reduction,
    SharedBytes, Window, Workspace,
};

/// Size 1, no threads, no library: what a serial program hands to code that wants a communicator.
///
/// ```
/// use dist_comm::{CommExt, ReduceOp, SingleComm};
///
/// let comm = SingleComm::new();
/// assert_eq!(comm.all_reduce_value(7, ReduceOp::Sum)?, 7);
/// # Ok::<(), dist_comm::CommError>(())
/// ```
#[derive(Debug, Default)]
pub struct SingleComm {
    lending: AtomicU32,
}

/// A communicator of its own, as every `SingleComm` is.
impl Clone for SingleComm {
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl SingleComm {
    /// The communicator of one rank.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn check(&self, call: Call) -> Result<(), CommError> {
        if let Some(current) = Operation::from_code(self.lending.load(Ordering::Relaxed)) {
            return Err(CommError::Busy {
                operation: call.operation,
                rank: 0,
                current,
            });
        }
        call::check(&[call].into_iter())
    }
}

impl Communicator for SingleComm {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.check(Call::new(Operation::Barrier))
    }

    fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
        self.check(Call::new(Operation::Broadcast).root(root).len(buf.len()))
    }

    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.check(Call::new(Operation::GatherV).root(root))?;
        Ok(Some(vec![send.to_vec()]))
    }

    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.check(Call::new(Operation::AllGatherV))?;
        Ok(vec![send.to_vec()])
    }

    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        self.check(
            Call::new(Operation::AllGather)
                .len(send.len())
                .extra(recv.len()),
        )?;
        recv.copy_from_slice(send);
        Ok(())
    }

    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
        self.check(Call::new(Operation::AllToAllV).len(send.len()))?;
        Ok(send.iter().map(|part| part.to_vec()).collect())
    }

    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        _fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError> {
        self.check(
            Call::new(Operation::AllReduce)
                .reduction(reduction)
                .len(buf.len()),
        )
    }

    fn split(
        &self,
        color: Option<u32>,
        _key: i64,
    ) -> Result<Option<Box<dyn Communicator>>, CommError> {
        self.check(Call::new(Operation::Split))?;
        Ok(color.map(|_| Box::new(Self::new()) as Box<dyn Communicator>))
    }

    fn send(&self, to: usize, tag: u32, _buf: &[u8]) -> Result<(), CommError> {
        check_tag(Operation::Send, tag)?;
        check_peer(Operation::Send, to, 0, 1)
    }

    fn recv(&self, from: usize, tag: u32, _buf: &mut [u8]) -> Result<(), CommError> {
        check_tag(Operation::Recv, tag)?;
        check_peer(Operation::Recv, from, 0, 1)
    }

    fn exchange(
        &self,
        tag: u32,
        sends: &[Message],
        recvs: &[Message],
        job: &mut dyn ExchangeJob,
        _workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        check_tag(Operation::Exchange, tag)?;
        check_peers(sends, 0, 1)?;
        check_peers(recvs, 0, 1)?;
        job.local();
        Ok(())
    }

    fn reserve(
        &self,
        _sends: &[Message],
        _recvs: &[Message],
        _workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        Ok(()) // no rank to write to
    }

    fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
        self.check(Call::new(Operation::Lend))?;
        let _lending = Lending::begin(&self.lending);
        read(&[mine]);
        Ok(true)
    }

    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
        self.check(Call::new(Operation::AllocShared))?;
        SharedBytes::on_heap(len, 0)
    }
}

/// Marks a lending, also when `read` panics.
struct Lending<'a>(&'a AtomicU32);

impl<'a> Lending<'a> {
    fn begin(mark: &'a AtomicU32) -> Self {
        mark.store(Operation::Lend.code(), Ordering::Relaxed);
        Self(mark)
    }
}

impl Drop for Lending<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl OneSided for SingleComm {
    fn window(&self, len: usize) -> Result<Box<dyn Window>, CommError> {
        self.check(Call::new(Operation::Window))?;
        let bytes = AlignedBytes::zeroed(len, Operation::Window, 0)?;
        Ok(Box::new(SingleWindow {
            lens: [len],
            bytes: bytes.into(),
        }))
    }
}

struct SingleWindow {
    lens: [usize; 1],
    bytes: std::sync::RwLock<AlignedBytes>,
}

impl Window for SingleWindow {
    fn lens(&self) -> &[usize] {
        &self.lens
    }

    fn with_local(&mut self, f: &mut dyn FnMut(&mut [u8])) -> Result<(), CommError> {
        f(self
            .bytes
            .get_mut()
            .unwrap_or_else(std::sync::PoisonError::into_inner));
        Ok(())
    }

    fn fence(&mut self) -> Result<(), CommError> {
        Ok(())
    }

    fn get_many(&self, gets: &mut [Get<'_>]) -> Result<(), CommError> {
        gets.iter().try_for_each(|get| {
            check_part(
                Operation::Get,
                &self.lens,
                get.rank,
                get.offset,
                get.into.len(),
            )
        })?;
        let bytes = self
            .bytes
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for get in gets {
            get.into
                .copy_from_slice(&bytes[get.offset..get.offset + get.into.len()]);
        }
        Ok(())
    }

    fn put_many(&self, puts: &[Put<'_>]) -> Result<(), CommError> {
        puts.iter().try_for_each(|put| {
            check_part(
                Operation::Put,
                &self.lens,
                put.rank,
                put.offset,
                put.from.len(),
            )
        })?;
        let mut bytes = self
            .bytes
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for put in puts {
            bytes[put.offset..put.offset + put.from.len()].copy_from_slice(put.from);
        }
        Ok(())
    }
}
