//! Memory that other ranks read and write without its owner taking part: [`OneSided`], [`Window`].

use std::sync::Arc;

use crate::{CommError, Communicator, Operation};

/// Part of a [`Window`] to be read: `into.len()` bytes of rank `rank`, from byte `offset` on.
#[derive(Debug)]
pub struct Get<'a> {
    /// Whose part of the window.
    pub rank: usize,
    /// First byte.
    pub offset: usize,
    /// Where the bytes go.
    pub into: &'a mut [u8],
}

/// Part of a [`Window`] to be written: `from.len()` bytes of rank `rank`, from byte `offset` on.
#[derive(Debug)]
pub struct Put<'a> {
    /// Whose part of the window.
    pub rank: usize,
    /// First byte.
    pub offset: usize,
    /// The bytes.
    pub from: &'a [u8],
}

/// One-sided communication; a trait of its own because not every transport has it. Outsiders may implement it.
pub trait OneSided: Communicator {
    /// Opens a window to which this rank contributes `len` bytes, zeroed. Collective; lengths may differ.
    ///
    /// # Errors
    /// As [`Communicator::barrier`], and when a rank cannot have the memory.
    fn window(&self, len: usize) -> Result<Box<dyn Window>, CommError>;
}

macro_rules! one_sided_by_reference {
    ($($pointer:ty),*) => {$(
        impl<C: OneSided + ?Sized> OneSided for $pointer {
            fn window(&self, len: usize) -> Result<Box<dyn Window>, CommError> {
                (**self).window(len)
            }
        }
    )*};
}

one_sided_by_reference!(&C, Box<C>, Arc<C>);

/// Memory of all ranks, each part owned by one, that any rank reads and writes.
///
/// Access to other ranks is one-sided: the owner does not take part. Getting and putting borrow the window, setting it up
/// ([`with_local`](Self::with_local), [`fence`](Self::fence)) borrows it mutably and is collective, so the compiler keeps the two
/// phases apart. Several threads of a rank may get and put at once. What a `get` sees of a `put` that overlaps it in time is
/// not specified, byte by byte; after a `fence` every rank sees every earlier `put`. Dropping a window is local.
///
/// ```
/// use dist_comm::{Communicator, OneSided, ThreadComm};
///
/// let seen = ThreadComm::run(3, |comm| {
///     let mut window = comm.window(4)?;
///     window.with_local(&mut |bytes| bytes.fill(comm.rank() as u8))?; // collective
///     let mut byte = [0];
///     window.get(2, 3, &mut byte)?; // one-sided
///     Ok::<_, dist_comm::CommError>(byte[0])
/// })?;
/// assert_eq!(seen, [2, 2, 2]);
/// # Ok::<(), dist_comm::RunError<dist_comm::CommError>>(())
/// ```
pub trait Window: Send + Sync {
    /// Bytes that each rank contributed, by rank. Local.
    fn lens(&self) -> &[usize];

    /// Gives `f` this rank's own part, to read and write; no other rank has access meanwhile. Collective.
    ///
    /// # Errors
    /// As [`Communicator::barrier`].
    fn with_local(&mut self, f: &mut dyn FnMut(&mut [u8])) -> Result<(), CommError>;

    /// Completes every `put` of every rank. Collective.
    ///
    /// # Errors
    /// As [`Communicator::barrier`].
    fn fence(&mut self) -> Result<(), CommError>;

    /// Reads all of `gets`, with one completion for the whole batch. One-sided.
    ///
    /// # Errors
    /// [`CommError::RankOutOfRange`] or [`CommError::OutOfWindow`] before anything is read; or an error of the transport.
    fn get_many(&self, gets: &mut [Get<'_>]) -> Result<(), CommError>;

    /// Writes all of `puts`, with one completion for the whole batch. One-sided; overlapping writes land in any order.
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many), before anything is written.
    fn put_many(&self, puts: &[Put<'_>]) -> Result<(), CommError>;

    /// Fills `into` from byte `offset` on of rank `rank`. One-sided.
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many).
    fn get(&self, rank: usize, offset: usize, into: &mut [u8]) -> Result<(), CommError> {
        self.get_many(&mut [Get { rank, offset, into }])
    }

    /// Writes `from` to byte `offset` on of rank `rank`. One-sided.
    ///
    /// # Errors
    /// As [`get_many`](Self::get_many).
    fn put(&self, rank: usize, offset: usize, from: &[u8]) -> Result<(), CommError> {
        self.put_many(&[Put { rank, offset, from }])
    }
}

/// Checks that a part lies within a window.
pub(crate) fn check_part(
    operation: Operation,
    lens: &[usize],
    rank: usize,
    offset: usize,
    len: usize,
) -> Result<(), CommError> {
    let &allowed = lens.get(rank).ok_or(CommError::RankOutOfRange {
        operation,
        given: rank,
        size: lens.len(),
    })?;
    if offset.checked_add(len).is_none_or(|end| end > allowed) {
        return Err(CommError::OutOfWindow {
            operation,
            rank,
            offset: offset as u64,
            len: len as u64,
            allowed: allowed as u64,
        });
    }
    Ok(())
}
