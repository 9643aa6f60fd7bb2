//! Messages between two ranks: a mailbox for each receiver, with a queue for each sender that has written.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::group::{Group, lock};
use super::window::{Lent, Letter};
use crate::exchange::{check_peer, check_peers, check_tag};
use crate::{CommError, ExchangeJob, Message, Operation, Workspace};

/// Messages up to this many bytes are copied and let the sender go on; longer ones are read from where they lie.
const EAGER: usize = 4096;

/// The letters to one rank, by sender, in the order sent. It takes room only for ranks that write.
#[derive(Default)]
pub(super) struct Mailbox {
    waiting: AtomicUsize,
    letters: Mutex<HashMap<usize, VecDeque<Arc<Letter>>>>,
}

impl Mailbox {
    fn post(&self, from: usize, letter: Arc<Letter>) {
        let mut letters = lock(&self.letters);
        letters.entry(from).or_default().push_back(letter);
        self.waiting.fetch_add(1, Ordering::Release);
    }

    /// The first letter from rank `from` with this tag.
    fn take(&self, from: usize, tag: u32) -> Option<Arc<Letter>> {
        if self.waiting.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut letters = lock(&self.letters);
        let queue = letters.get_mut(&from)?;
        let before = queue.len();
        queue.retain(|letter| !letter.is_withdrawn());
        let at = queue.iter().position(|letter| letter.tag == tag);
        let letter = at.and_then(|at| queue.remove(at));
        self.waiting
            .fetch_sub(before - queue.len(), Ordering::Release);
        letter
    }
}

fn length(operation: Operation, rank: usize, given: u64, allowed: u64) -> CommError {
    CommError::Length {
        operation,
        rank,
        what: "a message length in bytes of",
        given,
        allowed,
    }
}

pub(super) fn send(
    group: &Group,
    rank: usize,
    to: usize,
    tag: u32,
    buf: &[u8],
) -> Result<(), CommError> {
    let operation = Operation::Send;
    check_tag(operation, tag)?;
    check_peer(operation, to, rank, group.size())?;
    if let Some(trouble) = group.trouble(operation, std::iter::once(to)) {
        return Err(trouble);
    }
    if buf.len() <= EAGER {
        group
            .mail(to)
            .post(rank, Arc::new(Letter::own(tag, buf.to_vec())));
        group.world.bell.ring();
        return Ok(());
    }
    let mut lent = Lent::new(&group.world, 1);
    group.mail(to).post(rank, lent.letter(to, tag, buf));
    group.world.bell.ring();
    finish(group, rank, operation, &lent)
}

/// Waits until all letters are read.
fn finish(
    group: &Group,
    rank: usize,
    operation: Operation,
    lent: &Lent<'_>,
) -> Result<(), CommError> {
    group.wait(operation, lent.unread(), || lent.unread().next().is_none())?;
    match lent.refused() {
        Some((_, given, allowed)) => Err(length(operation, rank, given, allowed)),
        None => Ok(()),
    }
}

pub(super) fn recv(
    group: &Group,
    rank: usize,
    from: usize,
    tag: u32,
    buf: &mut [u8],
) -> Result<(), CommError> {
    let operation = Operation::Recv;
    check_tag(operation, tag)?;
    check_peer(operation, from, rank, group.size())?;
    let expected = buf.len();
    let mut copy = |bytes: &[u8]| {
        if bytes.len() != buf.len() {
            return Err(bytes.len() as u64);
        }
        buf.copy_from_slice(bytes);
        Ok(())
    };
    let mut outcome = None;
    group.wait(operation, std::iter::once(from), || {
        outcome = open(group, from, rank, tag, expected, &mut copy);
        outcome.is_some()
    })?;
    outcome
        .unwrap_or(Ok(()))
        .map_err(|given| length(operation, from, given, expected as u64))
}

/// Opens the next letter, if there is one: `Err` with the length it has, when that is not the length expected.
fn open(
    group: &Group,
    from: usize,
    rank: usize,
    tag: u32,
    expected: usize,
    read: &mut dyn FnMut(&[u8]) -> Result<(), u64>,
) -> Option<Result<(), u64>> {
    let letter = group.mail(rank).take(from, tag)?;
    let mut given = None;
    let outcome = letter.read(&group.world, |bytes| {
        read(bytes).map_err(|len| {
            given = Some(len);
            expected as u64
        })
    })?;
    Some(outcome.map_err(|expected| given.unwrap_or(expected)))
}

pub(super) fn exchange(
    group: &Group,
    rank: usize,
    tag: u32,
    (sends, recvs): (&[Message], &[Message]),
    job: &mut dyn ExchangeJob,
    workspace: &mut Workspace,
) -> Result<(), CommError> {
    let operation = Operation::Exchange;
    let size = group.size();
    check_tag(operation, tag)?;
    check_peers(sends, rank, size)?;
    check_peers(recvs, rank, size)?;
    let buffers = workspace.sends.cut(sends, rank)?;
    let mut lent = Lent::new(&group.world, sends.len());
    for (i, (message, buffer)) in sends.iter().zip(buffers).enumerate() {
        job.pack(i, buffer);
        group
            .mail(message.peer)
            .post(rank, lent.letter(message.peer, tag, buffer));
        group.world.bell.ring();
    }
    job.local();
    // By peer, in the order listed: the next letter of a peer belongs to the first receive still open.
    let mut open_recvs: Vec<usize> = (0..recvs.len()).collect();
    open_recvs.sort_by_key(|&i| recvs[i].peer);
    let mut wrong = None;
    while !open_recvs.is_empty() {
        let mut rest = Vec::with_capacity(open_recvs.len());
        let peers: Vec<usize> = open_recvs.iter().map(|&i| recvs[i].peer).collect();
        group.wait(operation, peers.iter().copied(), || {
            rest.clear();
            let mut silent = None;
            for &i in &open_recvs {
                let Message { peer, len } = recvs[i];
                let mut read = |bytes: &[u8]| {
                    if bytes.len() != len {
                        return Err(bytes.len() as u64);
                    }
                    job.unpack(i, bytes);
                    Ok(())
                };
                let opened = if silent == Some(peer) {
                    None
                } else {
                    open(group, peer, rank, tag, len, &mut read)
                };
                match opened {
                    None => {
                        silent = Some(peer);
                        rest.push(i);
                    }
                    Some(Ok(())) => {}
                    Some(Err(given)) => {
                        wrong.get_or_insert(length(operation, peer, given, len as u64));
                    }
                }
            }
            rest.len() < open_recvs.len()
        })?;
        open_recvs = rest;
    }
    finish(group, rank, operation, &lent)?;
    wrong.map_or(Ok(()), Err)
}
