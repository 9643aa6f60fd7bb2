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
    let first = buf.len().min(CHUNK);
    let given = inner.mail.recv(at, from, tag, &mut buf[..first])?;
    finish_recv(inner, at, (from, tag), buf, given)
}

/// The rest of a message whose first chunk has come, with a length of `given`.
fn finish_recv(
    inner: &Inner,
    at: At,
    (from, tag): (usize, u32),
    buf: &mut [u8],
    given: usize,
) -> Result<(), CommError> {
    let fits = |given: usize, allowed: usize| {
        if given == allowed {
            return Ok(());
        }
        Err(CommError::Length {
            operation: at.operation,
            rank: from,
            what: "a message length in bytes of",
            given: given as u64,
            allowed: allowed as u64,
        })
    };
    let first = buf.len().min(CHUNK);
    fits(given, first)?;
    for chunk in buf[first..].chunks_mut(CHUNK) {
        fits(inner.mail.recv(at, from, tag, chunk)?, chunk.len())?;
    }
    Ok(())
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
    let mut recv_buffers = recv_buffers.cut(recvs, rank)?;
    let mut outgoing = Requests::new(at, sends.len());
    for (i, (message, buffer)) in sends.iter().zip(send_buffers).enumerate() {
        job.pack(i, buffer);
        outgoing.send(mail, message.peer, tag, buffer)?;
    }
    job.local();
    // By peer, in the order listed: the next message of a peer belongs to the first receive still open. A message is
    // looked at before it is received, as a longer one would be written beyond the buffer by some libraries.
    let mut open: Vec<usize> = (0..recvs.len()).collect();
    open.sort_by_key(|&i| recvs[i].peer);
    let mut received = Ok(());
    while !open.is_empty() {
        let before = open.len();
        let mut rest = Vec::with_capacity(before);
        let mut silent = None;
        for &i in &open {
            let Message { peer, len } = recvs[i];
            let buffer = &mut *recv_buffers[i];
            let came = if silent == Some(peer) {
                None
            } else {
                mail.try_recv(at, peer, tag, &mut buffer[..len.min(CHUNK)])?
            };
            let Some(given) = came else {
                silent = Some(peer);
                rest.push(i);
                continue;
            };
            match finish_recv(&comm.inner, at, (peer, tag), buffer, given) {
                Ok(()) => job.unpack(i, buffer),
                Err(error) => received = received.and(Err(error)),
            }
        }
        open = rest;
        if open.len() == before {
            std::thread::yield_now();
        }
    }
    let sent = outgoing.wait_all();
    received.and(sent)
}
