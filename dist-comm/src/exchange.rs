//! The parts of a neighbourhood exchange: messages, the job that packs and unpacks them, reusable buffers.

use std::fmt;

use crate::memory::{ALIGNMENT, AlignedBytes};
use crate::{CommError, MAX_TAG, Operation};

/// One message of an [`exchange`](crate::Communicator::exchange): with whom, and how many bytes.
///
/// Messages between the same two ranks are matched in the order in which they are listed; both ends state the same length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The other rank.
    pub peer: usize,
    /// Length in bytes; 0 is allowed, and is a message too.
    pub len: usize,
}

/// What an [`exchange`](crate::Communicator::exchange) does with its buffers.
pub trait ExchangeJob {
    /// Writes all of send `i` to `buf`, which has that message's length. What `buf` holds before is not specified.
    fn pack(&mut self, i: usize, buf: &mut [u8]);

    /// Does what needs no message; called once, while messages travel.
    fn local(&mut self);

    /// Reads all of receive `i` from `buf`, which has that message's length. Called once for each, in any order.
    fn unpack(&mut self, i: usize, buf: &[u8]);
}

/// Buffers of [`exchange`](crate::Communicator::exchange), kept by the caller so that repeated exchanges allocate nothing.
///
/// Each message starts at a multiple of 64 bytes.
#[derive(Default)]
pub struct Workspace {
    pub(crate) sends: Buffers,
    /// Only for communicators that cannot unpack from the memory of the sender.
    pub(crate) recvs: Buffers,
}

impl Workspace {
    /// An empty workspace; it grows to what the largest exchange needs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes held.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.sends.bytes.len() + self.recvs.bytes.len()
    }

    /// A buffer for each of the messages to send and to receive, for who implements
    /// [`Communicator::exchange`](crate::Communicator::exchange). Each has its message's length and starts at a multiple of
    /// 64 bytes; what they hold is not specified. `rank` is that of the caller, for errors. Local.
    ///
    /// ```
    /// use dist_comm::{Message, Workspace};
    ///
    /// let mut workspace = Workspace::new();
    /// let message = |len| Message { peer: 1, len };
    /// let (sends, recvs) = workspace.buffers(0, &[message(3), message(100)], &[message(7)])?;
    /// assert_eq!((sends[1].len(), recvs[0].len()), (100, 7));
    /// # Ok::<(), dist_comm::CommError>(())
    /// ```
    ///
    /// # Errors
    /// [`CommError::Allocation`] when the memory cannot be had.
    #[expect(clippy::type_complexity, reason = "two lists of buffers, and an error")]
    pub fn buffers(
        &mut self,
        rank: usize,
        sends: &[Message],
        recvs: &[Message],
    ) -> Result<(Vec<&mut [u8]>, Vec<&mut [u8]>), CommError> {
        Ok((self.sends.cut(sends, rank)?, self.recvs.cut(recvs, rank)?))
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workspace")
            .field("capacity", &self.capacity())
            .finish_non_exhaustive()
    }
}

/// One allocation, cut into a buffer per message.
#[derive(Default)]
pub(crate) struct Buffers {
    bytes: AlignedBytes,
}

impl Buffers {
    /// The buffers for `messages`, in their order.
    pub(crate) fn cut(
        &mut self,
        messages: &[Message],
        rank: usize,
    ) -> Result<Vec<&mut [u8]>, CommError> {
        let operation = Operation::Exchange;
        let mut total = 0usize;
        for message in messages {
            total = message
                .len
                .checked_next_multiple_of(ALIGNMENT)
                .and_then(|len| total.checked_add(len))
                .ok_or(CommError::Allocation {
                    operation,
                    rank,
                    bytes: u64::MAX,
                })?;
        }
        self.bytes.grow(total, operation, rank)?;
        let mut rest: &mut [u8] = &mut self.bytes;
        let mut cut = Vec::with_capacity(messages.len());
        for message in messages {
            let (buffer, after) = rest.split_at_mut(message.len.next_multiple_of(ALIGNMENT));
            cut.push(&mut buffer[..message.len]);
            rest = after;
        }
        Ok(cut)
    }
}

/// Checks the tag of a message.
pub(crate) fn check_tag(operation: Operation, tag: u32) -> Result<(), CommError> {
    if tag > MAX_TAG {
        return Err(CommError::Tag {
            operation,
            given: tag,
            allowed: MAX_TAG,
        });
    }
    Ok(())
}

/// Checks the peers of an exchange.
pub(crate) fn check_peers(messages: &[Message], rank: usize, size: usize) -> Result<(), CommError> {
    messages
        .iter()
        .try_for_each(|message| check_peer(Operation::Exchange, message.peer, rank, size))
}

/// Checks the peer of a message.
pub(crate) fn check_peer(
    operation: Operation,
    peer: usize,
    rank: usize,
    size: usize,
) -> Result<(), CommError> {
    if peer >= size {
        return Err(CommError::RankOutOfRange {
            operation,
            given: peer,
            size,
        });
    }
    if peer == rank {
        return Err(CommError::SelfMessage { operation, rank });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_kept() {
        let messages = [3, 0, 64, 65].map(|len| Message { peer: 0, len });
        let mut buffers = Buffers::default();
        let cut = buffers.cut(&messages, 0).unwrap();
        assert_eq!(
            cut.iter().map(|buffer| buffer.len()).collect::<Vec<_>>(),
            [3, 0, 64, 65]
        );
        assert!(
            cut.iter()
                .all(|buffer| buffer.as_ptr().align_offset(64) == 0)
        );
        let first = buffers.bytes.as_ptr();
        buffers.cut(&messages[..2], 0).unwrap();
        assert_eq!(buffers.bytes.as_ptr(), first);
        let impossible = [usize::MAX - 3, 8].map(|len| Message { peer: 0, len });
        assert!(buffers.cut(&impossible, 0).is_err());
    }
}
