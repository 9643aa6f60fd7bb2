//! Messages between two ranks, and the neighbourhood exchange.

use super::raw::{At, CHUNK};
use super::requests::Requests;
use super::session::Doing;
use super::{Inner, MpiComm};
use crate::exchange::{check_peer, check_peers};
use crate::{CommError, ExchangeJob, Message, Operation, Workspace};

impl Inner {
    fn begin(&self, operation: Operation, tag: u32) -> Result<(At, Doing), CommError> {
        self.session.check(operation)?;
        let allowed = self.session.largest_tag;
        if tag > allowed {
            return Err(CommError::Tag {
                operation,
                given: tag,
                allowed,
            });
        }
        Ok((
            At {
                operation,
                rank: self.rank,
            },
            Doing::begin(operation),
        ))
    }
}

pub(super) fn send(comm: &MpiComm, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
    let inner = &comm.inner;
    check_peer(Operation::Send, to, inner.rank, inner.size)?;
    let (at, _doing) = inner.begin(Operation::Send, tag)?;
    inner.mail.send(at, to, tag, buf)
}

pub(super) fn recv(comm: &MpiComm, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
    let inner = &comm.inner;
    let operation = Operation::Recv;
    check_peer(operation, from, inner.rank, inner.size)?;
    let (at, _doing) = inner.begin(operation, tag)?;
    let mut rest = buf;
    loop {
        let (chunk, after) = rest.split_at_mut(rest.len().min(CHUNK));
        let given = inner.mail.recv(at, from, tag, chunk)?;
        if given != chunk.len() {
            return Err(CommError::Length {
                operation,
                rank: from,
                what: "a message length in bytes of",
                given: given as u64,
                allowed: chunk.len() as u64,
            });
        }
        if after.is_empty() {
            return Ok(());
        }
        rest = after;
    }
}

pub(super) fn exchange(
    comm: &MpiComm,
    tag: u32,
    (sends, recvs): (&[Message], &[Message]),
    job: &mut dyn ExchangeJob,
    workspace: &mut Workspace,
) -> Result<(), CommError> {
    let Inner {
        mail, rank, size, ..
    } = *comm.inner;
    check_peers(sends, rank, size)?;
    check_peers(recvs, rank, size)?;
    let (at, _doing) = comm.inner.begin(Operation::Exchange, tag)?;
    let Workspace {
        sends: send_buffers,
        recvs: recv_buffers,
    } = workspace;
    let send_buffers = send_buffers.cut(sends, rank)?;
    let recv_buffers = recv_buffers.cut(recvs, rank)?;
    let mut incoming = Requests::new(at, recvs.len());
    let mut outgoing = Requests::new(at, sends.len());
    for (message, buffer) in recvs.iter().zip(recv_buffers) {
        incoming.recv(mail, message.peer, tag, buffer)?;
    }
    for (i, (message, buffer)) in sends.iter().zip(send_buffers).enumerate() {
        job.pack(i, buffer);
        outgoing.send(mail, message.peer, tag, buffer)?;
    }
    job.local();
    let received = incoming.wait_all(|landed| job.unpack(landed.index, landed.bytes));
    let sent = outgoing.wait_all(|_| {});
    received.and(sent)
}
