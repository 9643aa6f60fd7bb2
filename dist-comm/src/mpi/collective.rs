//! [`Communicator`] for [`MpiComm`].

use super::meeting::{TAG, Turn};
use super::raw::CHUNK;
use super::requests::Requests;
use super::{MpiComm, message, shared};
use crate::call::Call;
use crate::memory::AlignedBytes;
use crate::reduce::{fold_ranks, piece};
use crate::{
    CommError, Communicator, ExchangeJob, Message, Operation, Reduction, SharedBytes, Workspace,
};

/// Reductions up to this many bytes are gathered whole where there is no shared memory.
const GATHER_REDUCTIONS_UP_TO: usize = 4096;

impl Communicator for MpiComm {
    fn rank(&self) -> usize {
        self.inner.rank
    }

    fn size(&self) -> usize {
        self.inner.size
    }

    fn barrier(&self) -> Result<(), CommError> {
        let operation = Operation::Barrier;
        Turn::begin(&self.inner, operation)?.meet(Call::new(operation), [0; 3], &[])?;
        Ok(())
    }

    fn broadcast(&self, root: usize, buf: &mut [u8]) -> Result<(), CommError> {
        let operation = Operation::Broadcast;
        let mut turn = Turn::begin(&self.inner, operation)?;
        let is_root = self.inner.rank == root;
        let inline = buf.len() <= turn.inline();
        let call = Call::new(operation).root(root).len(buf.len());
        let met = turn.meet(call, [0; 3], if is_root && inline { &*buf } else { &[] })?;
        if !inline {
            drop(met);
            return self.inner.comm.broadcast(turn.at, root, buf);
        }
        if !is_root {
            buf.copy_from_slice(met.payload(root, buf.len()));
        }
        Ok(())
    }

    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        let mut turn = Turn::begin(&self.inner, Operation::GatherV)?;
        let call = Call::new(Operation::GatherV).root(root);
        turn.gather(call, send, |rank| rank == root)
    }

    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let mut turn = Turn::begin(&self.inner, Operation::AllGatherV)?;
        let call = Call::new(Operation::AllGatherV);
        Ok(turn.gather(call, send, |_| true)?.unwrap_or_default())
    }

    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        let operation = Operation::AllGather;
        let mut turn = Turn::begin(&self.inner, operation)?;
        let call = Call::new(operation).len(send.len()).extra(recv.len());
        let inline = send.len() <= turn.inline();
        let met = turn.meet(call, [0; 3], send)?;
        if send.is_empty() {
            return Ok(());
        }
        let whole = recv.len();
        let parts = recv.chunks_exact_mut(send.len()).enumerate();
        if inline {
            parts.for_each(|(rank, part)| part.copy_from_slice(met.payload(rank, send.len())));
            return Ok(());
        }
        drop(met);
        let comm = self.inner.comm;
        if whole <= CHUNK {
            return comm.all_gather(turn.at, send, recv);
        }
        let own = self.inner.rank;
        let mut requests = Requests::new(turn.at, 2 * self.inner.size);
        for (rank, part) in parts {
            if rank == own {
                part.copy_from_slice(send);
            } else {
                requests.recv(comm, rank, TAG, part)?;
            }
        }
        for to in (0..self.inner.size).filter(|&to| to != own) {
            requests.send(comm, to, TAG, send)?;
        }
        requests.wait_all()
    }

    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
        let operation = Operation::AllToAllV;
        let (comm, own, size) = (self.inner.comm, self.inner.rank, self.inner.size);
        let mut turn = Turn::begin(&self.inner, operation)?;
        let table: Vec<u64> = send.iter().map(|part| part.len() as u64).collect();
        let mut bytes: Vec<u8> = bytemuck::cast_slice(&table).to_vec();
        // The table goes along where it fits, and everything else with it where that fits too.
        let with_table = 8 * size <= turn.inline();
        let whole = send
            .iter()
            .map(|part| part.len())
            .fold(bytes.len(), usize::saturating_add);
        let with_parts = with_table && whole <= turn.inline();
        if with_parts {
            for part in send {
                bytes.extend_from_slice(part);
            }
        }
        let call = Call::new(operation).len(send.len());
        let met = turn.meet(
            call,
            [u64::from(with_parts), 0, 0],
            if with_table { &bytes } else { &[] },
        )?;
        let mut tables = vec![0u64; size * size];
        if with_table {
            for (rank, row) in tables.chunks_exact_mut(size).enumerate() {
                bytemuck::cast_slice_mut(row).copy_from_slice(met.payload(rank, 8 * size));
            }
        } else {
            comm.all_gather(
                met.turn.at,
                bytemuck::cast_slice(&table),
                bytemuck::cast_slice_mut(&mut tables),
            )?;
        }
        let len = |from: usize, to: usize| {
            usize::try_from(tables[from * size + to]).unwrap_or(usize::MAX)
        };
        let here: Vec<bool> = (0..size).map(|rank| met.note(rank)[0] == 1).collect();
        let said = (0..size).map(|rank| {
            if rank == own || !here[rank] {
                return Vec::new();
            }
            let before = 8 * size + (0..own).map(|to| len(rank, to)).sum::<usize>();
            met.payload(rank, before + len(rank, own))[before..].to_vec()
        });
        let mut all: Vec<Vec<u8>> = said.collect();
        drop(met);
        let gets = |to| {
            (0..size)
                .map(|from| len(from, to))
                .fold(0, usize::saturating_add)
        };
        turn.ask(call, (0..size).map(gets).max().unwrap_or(0), gets(own))?;
        let mut requests = Requests::new(turn.at, 2 * size);
        for (rank, part) in all.iter_mut().enumerate() {
            if rank == own {
                part.extend_from_slice(send[own]);
            } else if !here[rank] {
                *part = vec![0; len(rank, own)];
                requests.recv(comm, rank, TAG, part)?;
            }
        }
        if !with_parts {
            for (to, part) in send.iter().enumerate().filter(|&(to, _)| to != own) {
                requests.send(comm, to, TAG, part)?;
            }
        }
        requests.wait_all()?;
        drop(requests);
        Ok(all)
    }

    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError> {
        let operation = Operation::AllReduce;
        let (comm, own, size, len) = (self.inner.comm, self.inner.rank, self.inner.size, buf.len());
        let mut turn = Turn::begin(&self.inner, operation)?;
        let inline = len <= turn.inline();
        let is_gathered = len <= GATHER_REDUCTIONS_UP_TO;
        let element = reduction.element();
        let mine = piece(len, element, own, size);
        let stride = mine.len().next_multiple_of(64).max(64);
        // Memory is asked for before the ranks meet, so that the lack of it on one is the error of all.
        let room = match (inline || size == 1, is_gathered) {
            (true, _) => 0,
            (false, true) => len.saturating_mul(size),
            (false, false) => stride.saturating_mul(size + 1),
        };
        let memory = AlignedBytes::try_zeroed(room);
        let call = Call::new(operation)
            .reduction(reduction)
            .len(len)
            .with_memory(room, memory.as_ref());
        let met = turn.meet(call, [0; 3], buf)?;
        let mut memory = memory.unwrap_or_default();
        if inline {
            fold_ranks(buf, (0..size).map(|rank| met.payload(rank, len)), fold);
            return Ok(());
        }
        drop(met);
        if size == 1 || len == 0 {
            return Ok(());
        }
        if is_gathered {
            comm.all_gather(turn.at, buf, &mut memory)?;
            fold_ranks(buf, memory.chunks_exact(len), fold);
            return Ok(());
        }
        // Each rank folds a piece of its own, and then all get all pieces.
        let (pieces, folded) = memory.split_at_mut(stride * size);
        let folded = &mut folded[..mine.len()];
        let mut requests = Requests::new(turn.at, 2 * size);
        for (rank, into) in pieces.chunks_exact_mut(stride).enumerate() {
            let into = &mut into[..mine.len()];
            if rank == own {
                into.copy_from_slice(&buf[mine.clone()]);
            } else {
                requests.recv(comm, rank, TAG, into)?;
            }
        }
        for to in (0..size).filter(|&to| to != own) {
            requests.send(comm, to, TAG, &buf[piece(len, element, to, size)])?;
        }
        requests.wait_all()?;
        drop(requests);
        fold_ranks(
            folded,
            pieces
                .chunks_exact(stride)
                .map(|piece| &piece[..mine.len()]),
            fold,
        );
        let mut requests = Requests::new(turn.at, 2 * size);
        let mut rest = buf;
        for rank in 0..size {
            let (part, after) = rest.split_at_mut(piece(len, element, rank, size).len());
            rest = after;
            if rank == own {
                part.copy_from_slice(folded);
            } else {
                requests.recv(comm, rank, TAG, part)?;
            }
        }
        for to in (0..size).filter(|&to| to != own) {
            requests.send(comm, to, TAG, folded)?;
        }
        requests.wait_all()
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
        message::send(self, to, tag, buf)
    }

    fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
        message::recv(self, from, tag, buf)
    }

    fn exchange(
        &self,
        tag: u32,
        sends: &[Message],
        recvs: &[Message],
        job: &mut dyn ExchangeJob,
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        message::exchange(self, tag, (sends, recvs), job, workspace)
    }

    fn reserve(
        &self,
        sends: &[Message],
        recvs: &[Message],
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        message::reserve(self, (sends, recvs), workspace)
    }

    fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
        shared::lend(&self.inner, mine, read)
    }

    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
        shared::alloc(self, len)
    }

    fn as_mpi(&self) -> Option<&Self> {
        Some(self)
    }
}
