//! Messages between two ranks, and the neighbourhood exchange.

use std::slice;
use std::sync::atomic::Ordering;

use super::frame::{Frame, HEAD, INLINE, Where, write_head};
use super::mailbox::Mailbox;
use super::raw::{At, CHUNK};
use super::requests::Requests;
use super::session::Doing;
use super::{Inner, MpiComm};
use crate::exchange::{check_peer, check_peers};
use crate::{CommError, ExchangeJob, Message, Operation, Workspace};

/// Tags of bytes that travel apart from their frame: taken in turn, so that two threads do not take each other's.
const TAGS: u32 = 0x7fff;

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

    fn next_tag(&self) -> u32 {
        self.apart_tags.fetch_add(1, Ordering::Relaxed) & TAGS
    }

    /// Takes the message of rank `from` whose frame of `given` bytes has come. `unpack` gets its bytes, or nothing when they
    /// are in `buf`. One that is not as long as `buf` is dropped.
    fn take(
        &self,
        at: At,
        from: usize,
        (frame, given): (&Frame, usize),
        buf: &mut [u8],
        unpack: impl FnOnce(&mut [u8], Option<&[u8]>),
    ) -> Result<(), CommError> {
        let len = buf.len();
        let wrong = |given: u64| CommError::Length {
            operation: at.operation,
            rank: from,
            what: "a message length in bytes of",
            given,
            allowed: len as u64,
        };
        let (said, place) = frame.said(given).ok_or_else(|| wrong(given as u64))?;
        let right = said == len as u64;
        match place {
            Where::Inline if right => unpack(buf, Some(frame.inline(len))),
            Where::Inline => {}
            Where::Mailbox(place) => {
                let read = |bytes: &[u8]| {
                    if right {
                        unpack(buf, Some(bytes));
                    }
                };
                let mailbox = self.mailbox.as_ref();
                let len = if right { len } else { 0 };
                if !mailbox.is_some_and(|mailbox| mailbox.read(from, place, len, read)) {
                    return Err(wrong(said));
                }
            }
            Where::Apart(tag) if right => {
                for chunk in buf.chunks_mut(CHUNK) {
                    let given = self.apart.recv(at, from, tag, chunk)?;
                    if given != chunk.len() {
                        return Err(wrong(given as u64));
                    }
                }
                unpack(buf, None);
            }
            Where::Apart(tag) => {
                // Received too, so that the sender comes to an end.
                for _ in 0..said.div_ceil(CHUNK as u64) {
                    self.apart.recv(at, from, tag, &mut [])?;
                }
            }
        }
        if right { Ok(()) } else { Err(wrong(said)) }
    }
}

pub(super) fn send(comm: &MpiComm, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
    let inner = &comm.inner;
    check_peer(Operation::Send, to, inner.rank, inner.size)?;
    let (at, _doing) = inner.begin(Operation::Send, tag)?;
    let mut frame = Frame::empty();
    let len = buf.len() as u64;
    if let Some(inline) = frame.0[HEAD..].get_mut(..buf.len()) {
        inline.copy_from_slice(buf);
        write_head(&mut frame.0, (len, Where::Inline));
        return inner.mail.send(at, to, tag, &frame.0[..HEAD + buf.len()]);
    }
    let apart = inner.next_tag();
    write_head(&mut frame.0, (len, Where::Apart(apart)));
    inner.mail.send(at, to, tag, &frame.0[..HEAD])?;
    inner.apart.send(at, to, apart, buf)
}

pub(super) fn recv(comm: &MpiComm, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
    let inner = &comm.inner;
    let operation = Operation::Recv;
    check_peer(operation, from, inner.rank, inner.size)?;
    let (at, _doing) = inner.begin(operation, tag)?;
    let mut frame = Frame::empty();
    let given = inner.mail.recv(at, from, tag, &mut frame.0)?;
    inner.take(at, from, (&frame, given), buf, |buf, bytes| {
        if let Some(bytes) = bytes {
            buf.copy_from_slice(bytes);
        }
    })
}

pub(super) fn exchange(
    comm: &MpiComm,
    tag: u32,
    (sends, recvs): (&[Message], &[Message]),
    job: &mut dyn ExchangeJob,
    workspace: &mut Workspace,
) -> Result<(), CommError> {
    let inner = &*comm.inner;
    check_peers(sends, inner.rank, inner.size)?;
    check_peers(recvs, inner.rank, inner.size)?;
    let (at, _doing) = inner.begin(Operation::Exchange, tag)?;
    let Workspace {
        sends: send_buffers,
        recvs: recv_buffers,
    } = workspace;
    let longest = recvs.iter().max_by_key(|message| message.len);
    let mut recv_buffers = recv_buffers.cut(longest.map_or(&[], slice::from_ref), inner.rank)?;

    let mut packing = inner.mailbox.as_ref().and_then(Mailbox::begin);
    let places: Vec<Where> = sends
        .iter()
        .map(|&Message { len, .. }| {
            if len <= INLINE {
                return Where::Inline;
            }
            let place = packing.as_mut().and_then(|packing| packing.reserve(len));
            place.map_or_else(|| Where::Apart(inner.next_tag()), Where::Mailbox)
        })
        .collect();
    // For each message its frame, and its bytes where they travel apart.
    let buffers = sends.iter().zip(&places).flat_map(|(&message, place)| {
        let (inline, apart) = match place {
            Where::Inline => (message.len, 0),
            Where::Mailbox(_) => (0, 0),
            Where::Apart(_) => (0, message.len),
        };
        [HEAD + inline, apart].map(|len| Message { len, ..message })
    });
    let buffers: Vec<Message> = buffers.collect();
    let mut send_buffers = send_buffers.cut(&buffers, inner.rank)?.into_iter();
    let mut outgoing = Requests::new(at, buffers.len());
    for (i, (&Message { peer, len }, &place)) in sends.iter().zip(&places).enumerate() {
        let (Some(frame), Some(apart)) = (send_buffers.next(), send_buffers.next()) else {
            break;
        };
        write_head(frame, (len as u64, place));
        match place {
            Where::Inline => job.pack(i, &mut frame[HEAD..]),
            Where::Mailbox(place) => {
                if let Some(packing) = &mut packing {
                    packing.write(place, len, |bytes| job.pack(i, bytes));
                }
            }
            Where::Apart(_) => job.pack(i, apart),
        }
        outgoing.send(inner.mail, peer, tag, frame)?;
        if let Where::Apart(tag) = place {
            outgoing.send(inner.apart, peer, tag, apart)?;
        }
    }
    drop(packing);
    job.local();

    // By peer, in the order listed: the next message of a peer belongs to the first receive still open.
    let mut open: Vec<usize> = (0..recvs.len()).collect();
    open.sort_by_key(|&i| recvs[i].peer);
    let mut frame = Frame::empty();
    let mut received = Ok(());
    while !open.is_empty() {
        let before = open.len();
        let mut rest = Vec::with_capacity(before);
        let mut silent = None;
        for &i in &open {
            let Message { peer, len } = recvs[i];
            let came = if silent == Some(peer) {
                None
            } else {
                inner.mail.try_recv(at, peer, tag, &mut frame.0)?
            };
            let Some(given) = came else {
                silent = Some(peer);
                rest.push(i);
                continue;
            };
            let buf = recv_buffers
                .first_mut()
                .map_or(&mut [][..], |buffer| &mut buffer[..len]);
            let taken = inner.take(at, peer, (&frame, given), buf, |buf, bytes| {
                job.unpack(i, bytes.unwrap_or(buf));
            });
            received = received.and(taken);
        }
        open = rest;
        if open.len() == before {
            std::thread::yield_now();
        }
    }
    let sent = outgoing.wait_all();
    received.and(sent)
}
