//! Communicators with a grid: [`init_comm`], and where a rank stands in an array's grid.

use std::fmt;

use dist_comm::agree::agree;
use dist_comm::{CommError, Communicator, ExchangeJob, Message, Reduction, SharedBytes, Workspace};
use dist_maps::ProcessGrid;
use ndarray::{Dimension, RawData};

use crate::{ArrayError, LocalArrayBase};

/// A communicator whose ranks stand in a grid, the last coordinate running fastest: what [`init_comm`] makes. Arrays are made
/// on it as on any other. Its own methods are local, those of [`Communicator`] as the trait says. Example: see [`init_comm`].
pub struct CartComm {
    comm: Box<dyn Communicator>,
    grid: ProcessGrid,
}

/// A communicator of its own for the first ranks of `base_comm`, one for each place of a grid of shape `grid_shape`
/// (`DistArray`'s `init_comm`). Collective; every rank gives the same shape.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use local_array::{ArrayError, LocalArray, init_comm};
/// use ndarray::Ix2;
///
/// let coords = ThreadComm::run(7, |world| {
///     let comm = match init_comm(world, &[2, 3]) {
///         Err(ArrayError::NullComm) => return Ok(None), // the seventh rank
///         comm => comm?,
///     };
///     assert_eq!((comm.rank_from_coords(&[1, 2])?, comm.coords_from_rank(5)?), (5, vec![1, 2]));
///     let a = LocalArray::<f64, Ix2, _>::eye(9, None, 0, ("bb", comm.grid_shape()), &comm)?;
///     assert_eq!(a.sum()?, 9.0);
///     Ok::<_, ArrayError>(Some(comm.cart_coords()))
/// })?;
/// assert_eq!((&coords[4], &coords[6]), (&Some(vec![1, 1]), &None));
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// The same on every rank: [`ArrayError::Argument`] when the ranks give different shapes, [`ArrayError::Protocol`] for an
/// extent of 0, [`ArrayError::InvalidBaseComm`] for a grid of more places than there are ranks, [`ArrayError::Comm`]. On ranks
/// that have no place in the grid [`ArrayError::NullComm`].
pub fn init_comm<C: Communicator>(
    base_comm: &C,
    grid_shape: &[usize],
) -> Result<CartComm, ArrayError> {
    let words: Vec<u64> = grid_shape.iter().map(|&n| n as u64).collect();
    let shapes = base_comm.all_gather_v(bytemuck::cast_slice(&words))?;
    let read = |bytes: &[u8]| -> Vec<u64> {
        bytes
            .chunks_exact(8)
            .map(bytemuck::pod_read_unaligned)
            .collect()
    };
    if let Some(rank) = shapes.iter().position(|shape| *shape != shapes[0]) {
        return Err(ArrayError::Argument {
            what: "grid_shape",
            given: format!("{:?} on rank {rank}", read(&shapes[rank])),
            allowed: format!("{:?}, as on rank 0", read(&shapes[0])),
        });
    }
    let grid = ProcessGrid::new(grid_shape.to_vec())?;
    if grid.len() > base_comm.size() {
        return Err(ArrayError::InvalidBaseComm {
            given: base_comm.size(),
            allowed: grid.len(),
        });
    }
    let has_place = base_comm.rank() < grid.len();
    let comm = base_comm.split(has_place.then_some(0), 0)?;
    let comm = comm.ok_or(ArrayError::NullComm)?;
    // Every rank of the grid is there.
    agree(&comm, Ok::<_, ArrayError>(()))?;
    Ok(CartComm { comm, grid })
}

impl CartComm {
    /// Extent of the grid per dimension, in ranks. Local. Example: see [`init_comm`].
    #[must_use]
    pub fn grid_shape(&self) -> &[usize] {
        self.grid.shape()
    }

    /// Where this rank stands, one coordinate per dimension of the grid. Local. Example: see [`init_comm`].
    #[must_use]
    pub fn cart_coords(&self) -> Vec<usize> {
        // The grid has as many places as the communicator ranks.
        self.grid.coords(self.comm.rank()).unwrap_or_default()
    }

    /// Where a rank stands, one coordinate per dimension of the grid. Local. Example: see [`init_comm`].
    ///
    /// # Errors
    /// [`ArrayError::Protocol`] when there is no such rank.
    pub fn coords_from_rank(&self, rank: usize) -> Result<Vec<usize>, ArrayError> {
        Ok(self.grid.coords(rank)?)
    }

    /// The rank that stands at `coords`. Local. Example: see [`init_comm`].
    ///
    /// # Errors
    /// [`ArrayError::Protocol`] when there is no such place.
    pub fn rank_from_coords(&self, coords: &[usize]) -> Result<usize, ArrayError> {
        Ok(self.grid.rank(coords)?)
    }
}

impl<S: RawData, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// Where a rank stands in the array's process grid, one coordinate per dimension; `None` where it has no place there, or
    /// there is no such rank. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(5, |comm| {
    ///     let a = LocalArray::<u8, Ix2, _>::eye(6, None, 0, ("bc", [2, 2]), comm)?;
    ///     assert_eq!(a.coords_from_rank(2), Some(vec![1, 0]));
    ///     assert_eq!(a.rank_from_coords(&[1, 0]), Some(2));
    ///     assert_eq!((a.coords_from_rank(4), a.rank_from_coords(&[2, 0])), (None, None));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[must_use]
    pub fn coords_from_rank(&self, rank: usize) -> Option<Vec<usize>> {
        self.distribution().coords(rank)
    }

    /// The rank that stands at `coords` of the array's process grid; `None` where there is no such place. The inverse of
    /// [`coords_from_rank`](Self::coords_from_rank), which has an example. Local.
    #[must_use]
    pub fn rank_from_coords(&self, coords: &[usize]) -> Option<usize> {
        self.distribution().rank_at(coords)
    }
}

impl fmt::Debug for CartComm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CartComm")
            .field("rank", &self.comm.rank())
            .field("grid", &self.grid)
            .finish()
    }
}

/// As the communicator underneath.
impl Communicator for CartComm {
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
        self.comm.broadcast(root, buf)
    }
    fn gather_v(&self, root: usize, send: &[u8]) -> Result<Option<Vec<Vec<u8>>>, CommError> {
        self.comm.gather_v(root, send)
    }
    fn all_gather_v(&self, send: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        self.comm.all_gather_v(send)
    }
    fn all_gather(&self, send: &[u8], recv: &mut [u8]) -> Result<(), CommError> {
        self.comm.all_gather(send, recv)
    }
    fn all_to_all_v(&self, send: &[&[u8]]) -> Result<Vec<Vec<u8>>, CommError> {
        self.comm.all_to_all_v(send)
    }
    fn all_reduce(
        &self,
        buf: &mut [u8],
        reduction: Reduction,
        fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
    ) -> Result<(), CommError> {
        self.comm.all_reduce(buf, reduction, fold)
    }
    fn split(
        &self,
        color: Option<u32>,
        key: i64,
    ) -> Result<Option<Box<dyn Communicator>>, CommError> {
        self.comm.split(color, key)
    }
    fn send(&self, to: usize, tag: u32, buf: &[u8]) -> Result<(), CommError> {
        self.comm.send(to, tag, buf)
    }
    fn recv(&self, from: usize, tag: u32, buf: &mut [u8]) -> Result<(), CommError> {
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
        self.comm.exchange(tag, sends, recvs, job, workspace)
    }
    fn reserve(
        &self,
        sends: &[Message],
        recvs: &[Message],
        workspace: &mut Workspace,
    ) -> Result<(), CommError> {
        self.comm.reserve(sends, recvs, workspace)
    }
    fn lend(&self, mine: &[u8], read: &mut dyn FnMut(&[&[u8]])) -> Result<bool, CommError> {
        self.comm.lend(mine, read)
    }
    fn alloc_shared(&self, len: usize) -> Result<SharedBytes, CommError> {
        self.comm.alloc_shared(len)
    }
}
