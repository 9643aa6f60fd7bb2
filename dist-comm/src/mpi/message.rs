//! Messages between two ranks, and the neighbourhood exchange.

use std::iter::once;
use std::sync::atomic::Ordering;
use std::{mem, slice};

use super::frame::{Flaw, Frame, HEAD, Head, INLINE, Where};
use super::mailbox::Mailbox;
use super::patience::Patience;
use super::raw::{At, CHUNK, Comm};
use super::requests::Requests;
use super::session::{Doing, say};
use super::{Inner, MpiComm};
use crate::exchange::{check_peer, check_peers, check_tag};
use crate::{CommError, ExchangeJob, MAX_TAG, Message, Operation, Workspace};

impl Inner {
    fn begin(&self, operation: Operation, tag: u32) -> Result<(At, Doing), CommError> {
        self.session.check(operation)?;
        check_tag(operation, tag)?;
        Ok((
            At {
                operation,
                rank: self.rank,
            },
            Doing::begin(operation),
        ))
    }

    /// A tag for bytes that travel apart from their frame: taken in turn, so that two threads do not take each other's.
    fn next_tag(&self) -> u32 {
        self.apart_tags.fetch_add(1, Ordering::Relaxed) % (MAX_TAG + 1)
    }

    /// Waits for a message of at most [`CHUNK`] bytes: its length.
    fn await_message(
        &self,
        comm: Comm,
        at: At,
        (from, tag): (usize, u32),
        buf: &mut [u8],
    ) -> Result<usize, CommError> {
        let mut patience = Patience::new(self, at.operation);
        loop {
            if let Some(given) = comm.try_recv(at, from, tag, buf)? {
                return Ok(given);
            }
            patience.pause(once(from))?;
        }
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
        let (operation, rank, len) = (at.operation, from, buf.len());
        let malformed = |flaw| {
            let Flaw {
                what,
                given,
                allowed,
            } = flaw;
            CommError::Malformed {
                operation,
                rank,
                what,
                given,
                allowed,
            }
        };
        let head = frame.head(given).map_err(malformed)?;
        let right = head.len == len as u64;
        match head.at {
            Where::Inline if right => unpack(buf, Some(frame.inline(len))),
            Where::Inline => {}
            Where::Mailbox(place) => {
                let read = |bytes: &[u8]| {
                    if right {
                        unpack(buf, Some(bytes));
                    }
                };
                let none = Flaw {
                    what: "a number of mailboxes of",
                    given: 1,
                    allowed: 0,
                };
                let mailbox = self.mailbox.as_ref().ok_or(none).map_err(malformed)?;
                // Counted as read too, so that its sender can pack again.
                let len = if right { len } else { 0 };
                mailbox.read(from, place, len, read).map_err(malformed)?;
            }
            Where::Apart(tag) if right => {
                for chunk in buf.chunks_mut(CHUNK) {
                    let given = self.await_message(self.apart, at, (from, tag), chunk)?;
                    let (given, whole) = (given as u64, chunk.len() as u64);
                    let what = "a piece length in bytes of";
                    Flaw::check(what, given, whole, given == whole).map_err(malformed)?;
                }
                unpack(buf, None);
            }
            Where::Apart(tag) => {
                // Received too, so that the sender comes to an end.
                for _ in 0..head.len.div_ceil(CHUNK as u64) {
                    self.await_message(self.apart, at, (from, tag), &mut [])?;
                }
            }
        }
        if right {
            return Ok(());
        }
        Err(CommError::Length {
            operation,
            rank,
            what: "a message length in bytes of",
            given: head.len,
            allowed: len as u64,
        })
    }
}

pub(super) fn send(comm: &MpiComm, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
    let inner = &comm.inner;
    let operation = Operation::Send;
    check_peer(operation, to, inner.rank, inner.size)?;
    let (at, _doing) = inner.begin(operation, tag)?;
    if inner.area.as_ref().is_some_and(|area| area.has_left(to)) {
        return Err(CommError::Departed {
            operation,
            rank: to,
        });
    }
    let mut frame = Frame::empty();
    let len = buf.len() as u64;
    let mut outgoing;
    if let Some(inline) = frame.0[HEAD..].get_mut(..buf.len()) {
        inline.copy_from_slice(buf);
        let head = Head {
            len,
            at: Where::Inline,
        };
        head.write(&mut frame.0);
        outgoing = Requests::new(at, 1);
        outgoing.send(inner.mail, to, tag, &frame.0[..HEAD + buf.len()])?;
    } else {
        let apart = inner.next_tag();
        let head = Head {
            len,
            at: Where::Apart(apart),
        };
        head.write(&mut frame.0);
        outgoing = Requests::new(at, 2);
        outgoing.send(inner.mail, to, tag, &frame.0[..HEAD])?;
        outgoing.send(inner.apart, to, apart, buf)?;
    }
    let sent = outgoing.wait_patiently(&mut Patience::new(inner, operation));
    if let (Err(error), false) = (&sent, outgoing.is_over()) {
        // The buffer is the caller's: MPI lets go of it, or the program ends here.
        say(&format!("rank {}: {error}", inner.rank));
        outgoing.give_up();
    }
    sent
}

pub(super) fn recv(comm: &MpiComm, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
    let inner = &comm.inner;
    let operation = Operation::Recv;
    check_peer(operation, from, inner.rank, inner.size)?;
    let (at, _doing) = inner.begin(operation, tag)?;
    let mut frame = Frame::empty();
    let mut incoming = Requests::new(at, 1);
    incoming.recv(inner.mail, from, tag, &mut frame.0)?;
    let given = incoming.wait_for_one(from, &mut Patience::new(inner, operation))?;
    inner.take(at, from, (&frame, given), buf, |buf, bytes| {
        if let Some(bytes) = bytes {
            buf.copy_from_slice(bytes);
        }
    })
}

/// Makes room for all that [`exchange`] cuts: every long message may have to travel apart.
pub(super) fn reserve(
    comm: &MpiComm,
    (sends, recvs): (&[Message], &[Message]),
    workspace: &mut Workspace,
) -> Result<(), CommError> {
    let rank = comm.inner.rank;
    workspace.recvs.cut(longest(recvs), rank)?;
    let buffers = sends.iter().flat_map(|&message| {
        let apart = if message.len <= INLINE {
            0
        } else {
            message.len
        };
        frame_and_apart(message, message.len - apart, apart)
    });
    let buffers: Vec<Message> = buffers.collect();
    workspace.sends.cut(&buffers, rank).map(drop)
}

/// The longest message, if there is one; one buffer serves all.
fn longest(messages: &[Message]) -> &[Message] {
    let longest = messages.iter().max_by_key(|message| message.len);
    longest.map_or(&[], slice::from_ref)
}

/// The buffers of one message to send: its frame, and its bytes where they travel apart.
fn frame_and_apart(message: Message, inline: usize, apart: usize) -> [Message; 2] {
    [HEAD + inline, apart].map(|len| Message { len, ..message })
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
    let operation = Operation::Exchange;
    let (at, _doing) = inner.begin(operation, tag)?;
    let mut recv_buffers = workspace.recvs.cut(longest(recvs), inner.rank)?;
    let buf = recv_buffers.first_mut().map_or(&mut [][..], |buf| buf);
    // Not the workspace's for the time being: if a receiver has left, MPI keeps them.
    let mut send_memory = mem::take(&mut workspace.sends);

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
    let buffers = sends.iter().zip(&places).flat_map(|(&message, place)| {
        let (inline, apart) = match place {
            Where::Inline => (message.len, 0),
            Where::Mailbox(_) => (0, 0),
            Where::Apart(_) => (0, message.len),
        };
        frame_and_apart(message, inline, apart)
    });
    let buffers: Vec<Message> = buffers.collect();
    let mut send_buffers = send_memory.cut(&buffers, inner.rank)?.into_iter();
    let mut outgoing = Requests::new(at, buffers.len());
    for (i, (&Message { peer, len }, &place)) in sends.iter().zip(&places).enumerate() {
        let (Some(frame), Some(apart)) = (send_buffers.next(), send_buffers.next()) else {
            break;
        };
        let head = Head {
            len: len as u64,
            at: place,
        };
        head.write(frame);
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
    let received = receive(inner, (at, tag), recvs, buf, job);
    let sent = outgoing.wait_patiently(&mut Patience::new(inner, operation));
    if outgoing.is_over() {
        drop(outgoing);
        workspace.sends = send_memory;
    } else {
        // SAFETY: the buffers are in `send_memory`, which is forgotten here.
        unsafe { outgoing.abandon() };
        mem::forget(send_memory);
    }
    received.and(sent)
}

/// Receives all messages and unpacks those of the right length as they land. `buf` is as long as the longest.
fn receive(
    inner: &Inner,
    (at, tag): (At, u32),
    recvs: &[Message],
    buf: &mut [u8],
    job: &mut dyn ExchangeJob,
) -> Result<(), CommError> {
    // By peer, in the order listed: the next message of a peer belongs to the first receive still open.
    let mut open: Vec<usize> = (0..recvs.len()).collect();
    open.sort_by_key(|&i| recvs[i].peer);
    let mut rest = Vec::with_capacity(open.len());
    let mut frame = Frame::empty();
    let mut received = Ok(());
    let mut patience = Patience::new(inner, at.operation);
    while !open.is_empty() {
        let before = open.len();
        let mut silent = None;
        rest.clear();
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
            let buf = &mut buf[..len];
            let taken = inner.take(at, peer, (&frame, given), buf, |buf, bytes| {
                job.unpack(i, bytes.unwrap_or(buf));
            });
            received = received.and(taken);
        }
        mem::swap(&mut open, &mut rest);
        if open.len() < before {
            patience.renew();
        } else {
            patience.pause(open.iter().map(|&i| recvs[i].peer))?;
        }
    }
    received
}
