//! [`PartialDim`]: dimension dictionaries with something left to fill in, as `DistArray` makes them.

use dap_protocol::{DimDict, Dist, Padding};

use crate::axis_dist::check_ranks;
use crate::{AxisDist, MapError};

/// The kinds that can be filled in from a size alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PartialKind {
    /// `b`: blocks of `ceil(size / ranks)`.
    Block,
    /// `c`: single elements dealt in turn.
    Cyclic,
    /// `n`: not distributed.
    Whole,
}

/// A dimension dictionary with keys still missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PartialDim {
    /// `dist_type`.
    pub kind: PartialKind,
    /// Global extent, in elements.
    pub size: u64,
    /// `proc_grid_size`; 1 for [`PartialKind::Whole`].
    pub grid_size: Option<usize>,
    /// `proc_grid_rank`; 0 for [`PartialKind::Whole`].
    pub grid_rank: Option<usize>,
    /// `start`.
    pub start: Option<u64>,
    /// `stop`, of blocks.
    pub stop: Option<u64>,
}

/// Dictionaries that say size and kind, and the grid where it is given. One letter per dimension:
/// `b`, `c` or `n`; missing ones at the end mean `n`.
///
/// # Errors
/// When a letter is another one, or there are too many letters or grid extents.
///
/// ```
/// use dist_maps::{distribute_indices, make_partial_dim_data};
/// let mut dims = make_partial_dim_data(&[10, 4], "b", Some(&[4, 1]))?;
/// dims[0].grid_rank = Some(3);
/// distribute_indices(&mut dims)?;
/// assert_eq!((dims[0].start, dims[0].stop), (Some(9), Some(10)));
/// assert_eq!(dims[0].complete()?, dap_protocol::DimDict::block(10, 4, 3, 9..10)?);
/// # Ok::<(), dist_maps::MapError>(())
/// ```
pub fn make_partial_dim_data(
    shape: &[u64],
    dist: &str,
    grid_shape: Option<&[usize]>,
) -> Result<Vec<PartialDim>, MapError> {
    let ndim = shape.len();
    if let Some(grid) = grid_shape
        && grid.len() != ndim
    {
        return Err(MapError::Count {
            what: "grid extents",
            given: grid.len(),
            expected: ndim,
        });
    }
    let mut kinds = vec![PartialKind::Whole; ndim];
    for (axis, letter) in dist.chars().enumerate() {
        let slot = kinds
            .get_mut(axis)
            .ok_or(MapError::Axis { given: axis, ndim })?;
        *slot = match letter {
            'b' => PartialKind::Block,
            'c' => PartialKind::Cyclic,
            'n' => PartialKind::Whole,
            'u' => return Err(MapError::NeedsIndices { axis }),
            given => return Err(MapError::Kind { axis, given }),
        };
    }
    let partial = |(axis, (&size, kind))| {
        let is_whole = kind == PartialKind::Whole;
        let given = grid_shape.map(|grid: &[usize]| grid[axis]);
        PartialDim {
            kind,
            size,
            grid_size: if is_whole { Some(1) } else { given },
            grid_rank: is_whole.then_some(0),
            start: None,
            stop: None,
        }
    };
    Ok(shape.iter().zip(kinds).enumerate().map(partial).collect())
}

/// Fills in `start` and `stop` of a block, or of a dimension that is not distributed.
///
/// # Errors
/// When the grid's extent or the rank in it is missing or out of range.
pub fn distribute_block_indices(dim: &mut PartialDim) -> Result<(), MapError> {
    let (ranks, rank) = dim.place()?;
    let range = AxisDist::block(dim.size, ranks)?.owned_range(rank);
    let range = range.unwrap_or(dim.size..dim.size);
    (dim.start, dim.stop) = (Some(range.start), Some(range.end));
    Ok(())
}

/// Fills in `start` of a cyclic dimension.
///
/// # Errors
/// When the grid's extent or the rank in it is missing or out of range.
pub fn distribute_cyclic_indices(dim: &mut PartialDim) -> Result<(), MapError> {
    let (_, rank) = dim.place()?;
    dim.start = Some(rank as u64);
    Ok(())
}

/// Fills in what is missing of every dimension.
///
/// # Errors
/// When a grid's extent or the rank in it is missing or out of range.
pub fn distribute_indices(dims: &mut [PartialDim]) -> Result<(), MapError> {
    for dim in dims {
        match dim.kind {
            PartialKind::Block | PartialKind::Whole => distribute_block_indices(dim)?,
            PartialKind::Cyclic => distribute_cyclic_indices(dim)?,
        }
    }
    Ok(())
}

impl PartialDim {
    fn place(&self) -> Result<(usize, usize), MapError> {
        let missing = |what| MapError::Missing { what };
        let ranks = self.grid_size.ok_or(missing("proc_grid_size"))?;
        let rank = self.grid_rank.ok_or(missing("proc_grid_rank"))?;
        check_ranks(ranks)?;
        if rank >= ranks {
            return Err(MapError::Target { given: rank, ranks });
        }
        Ok((ranks, rank))
    }

    /// The dictionary, what is missing filled in.
    ///
    /// # Errors
    /// When the grid's extent or the rank in it is missing, or the protocol refuses the values.
    pub fn complete(mut self) -> Result<DimDict, MapError> {
        let given = (self.start, self.stop);
        distribute_indices(std::slice::from_mut(&mut self))?;
        let (ranks, rank) = self.place()?;
        let start = given.0.or(self.start).unwrap_or(0);
        let dist = match self.kind {
            PartialKind::Block | PartialKind::Whole => Dist::Block {
                start,
                stop: given.1.or(self.stop).unwrap_or(self.size),
                padding: Padding::default(),
                periodic: false,
            },
            PartialKind::Cyclic => Dist::Cyclic {
                start,
                block_size: 1,
            },
        };
        Ok(DimDict::new(self.size, ranks, rank, dist)?)
    }
}
