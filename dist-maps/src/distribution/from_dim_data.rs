//! Distributions from a shape and letters, from global dictionaries, and from those of all ranks.

use std::sync::Arc;

use dap_protocol::literal::Value;
use dap_protocol::{DimData, DimDict, Dist, Padding};

use super::Distribution;
use crate::axis_dist::{BOUNDARY, check_ranks};
use crate::{AxisDist, MapError};

/// One dimension of all ranks: what `DistArray` calls global dimension data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GlobalDim {
    /// Blocks.
    Block {
        /// Bounds, ascending from 0 to the size.
        bounds: Vec<u64>,
        /// Communication padding on each side of every block: the neighbours' elements are stored.
        comm_padding: Padding,
        /// Boundary padding at the outer edges.
        boundary_padding: Padding,
        /// Whether the dimension wraps around.
        periodic: bool,
    },
    /// Blocks dealt in turn.
    Cyclic {
        /// Global extent, in elements.
        size: u64,
        /// Ranks along the dimension.
        grid_size: usize,
        /// Elements per block.
        block_size: u64,
    },
    /// Explicit lists.
    Unstructured {
        /// Global indices per rank of the dimension; the size is the sum of their lengths.
        indices: Vec<Arc<[i64]>>,
    },
    /// Not distributed.
    Whole {
        /// Global extent, in elements.
        size: u64,
    },
}

impl GlobalDim {
    fn axis(&self) -> Result<AxisDist, MapError> {
        match self {
            Self::Block {
                bounds,
                comm_padding,
                boundary_padding,
                periodic,
            } => AxisDist::block_bounds(bounds.as_slice())?
                .with_padding(comm_padding.lower, comm_padding.upper)?
                .with_boundary(boundary_padding.lower, boundary_padding.upper)?
                .with_periodic(*periodic),
            Self::Cyclic {
                size,
                grid_size,
                block_size,
            } => AxisDist::cyclic(*size, *grid_size, *block_size),
            Self::Unstructured { indices } => {
                let size = indices.iter().map(|list| list.len() as u64).sum();
                AxisDist::unstructured(size, indices.iter().cloned())
            }
            Self::Whole { size } => AxisDist::whole(*size),
        }
    }
}

impl Distribution {
    /// A distribution of `shape` over `ranks` ranks, one letter per dimension: `b` block (ceil),
    /// `c` cyclic, `n` not distributed. Missing letters at the end mean `n`.
    ///
    /// # Errors
    /// When a letter is another one or one too many, and as [`super::DistributionBuilder::build`].
    ///
    /// ```
    /// use dist_maps::Distribution;
    /// let d = Distribution::from_shape(&[16, 16], "bn", None, 4)?;
    /// assert_eq!(d.local_shape(3), [4, 16]);
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    pub fn from_shape(
        shape: &[u64],
        dist: &str,
        grid: Option<&[usize]>,
        ranks: usize,
    ) -> Result<Self, MapError> {
        let mut builder = Self::over(ranks).shape(shape);
        for (axis, letter) in dist.chars().enumerate() {
            builder = match letter {
                'b' => builder.block(axis),
                'c' => builder.cyclic(axis),
                'n' => builder.whole(axis),
                'u' => return Err(MapError::NeedsIndices { axis }),
                given => return Err(MapError::Kind { axis, given }),
            };
        }
        if let Some(grid) = grid {
            builder = builder.grid(grid);
        }
        builder.build()
    }

    /// A distribution of these dimensions, over the first ranks of `ranks`.
    ///
    /// # Errors
    /// When a dimension is out of range, or their grid has more ranks than there are.
    pub fn from_global_dim_data(dims: &[GlobalDim], ranks: usize) -> Result<Self, MapError> {
        let axes = dims
            .iter()
            .enumerate()
            .map(|(axis, dim)| dim.axis().map_err(|error| error.on_axis(axis)))
            .collect::<Result<Vec<_>, _>>()?;
        let product = axes
            .iter()
            .try_fold(1_usize, |product, axis| product.checked_mul(axis.ranks()))
            .unwrap_or(usize::MAX);
        if product > ranks {
            return Err(MapError::GridTooLarge {
                given: product,
                allowed: ranks,
            });
        }
        Self::from_axes(axes, ranks, (0..product).collect::<Vec<_>>())
    }

    /// The distribution that the parts of all ranks describe, part `r` being that of rank `r`.
    /// Ranks may stand anywhere in the grid. A part without elements that has no place of its own
    /// there is that of an inactive rank; on 0-d arrays every part but the first is. Padding at a
    /// periodic edge is owned, as version 0.10 of the protocol says. Keys that the protocol does not
    /// know are left out, but for the one that [`AxisDist::dim_dict`] writes.
    ///
    /// # Errors
    /// [`MapError::Parts`] when the parts do not describe one distribution: other sizes or kinds,
    /// two ranks at one place, a place without a rank, other dictionaries at one coordinate (other
    /// padding too), blocks that do not tile the axis.
    pub fn from_dim_data_per_rank(parts: &[DimData]) -> Result<Self, MapError> {
        let ranks = parts.len();
        check_ranks(ranks)?;
        let grid = parts[0].grid()?;
        if grid.len() > ranks {
            return Err(MapError::GridTooLarge {
                given: grid.len(),
                allowed: ranks,
            });
        }
        let mut targets: Vec<Option<usize>> = vec![None; grid.len()];
        for (rank, part) in parts.iter().enumerate() {
            same_array(rank, part, &parts[0])?;
        }
        // Parts with elements take their places first, those that may be inactive ranks' last.
        for turn in 0..3 {
            for (rank, part) in parts
                .iter()
                .enumerate()
                .filter(|(_, p)| precedence(p) == turn)
            {
                let place = &mut targets[part.rank()?];
                if place.is_none() {
                    *place = Some(rank);
                } else if turn == 0 && part.ndim() > 0 {
                    let what = "its place in the grid is that of another rank too";
                    return Err(MapError::Parts {
                        rank,
                        axis: None,
                        what,
                    });
                }
            }
        }
        let targets =
            targets
                .into_iter()
                .collect::<Option<Vec<usize>>>()
                .ok_or(MapError::Parts {
                    rank: 0,
                    axis: None,
                    what: "a place of its grid is that of no rank",
                })?;
        let axes = (0..grid.shape().len())
            .map(|axis| axis_of_parts(parts, &targets, axis).map_err(|error| error.on_axis(axis)))
            .collect::<Result<Vec<_>, _>>()?;
        Self::from_axes(axes, ranks, targets)
    }
}

/// 0 for parts with elements, 1 for empty ones, 2 for what an inactive rank's part looks like.
fn precedence(part: &DimData) -> u8 {
    let is_end = |dim: &DimDict| {
        matches!(dim.dist(), Dist::Block { start, stop, .. } if start == stop && *stop == dim.size())
            && dim.grid_rank() + 1 == dim.grid_size()
    };
    if !part.local_shape().contains(&0) {
        0
    } else if part.dims().iter().all(is_end) {
        2
    } else {
        1
    }
}

/// Whether two parts can belong to one array.
fn same_array(rank: usize, part: &DimData, first: &DimData) -> Result<(), MapError> {
    let wrong = |axis, what| MapError::Parts { rank, axis, what };
    if part.ndim() != first.ndim() {
        return Err(wrong(
            None,
            "it has another number of dimensions than rank 0's",
        ));
    }
    for (axis, (a, b)) in part.into_iter().zip(first).enumerate() {
        if a.size() != b.size() {
            return Err(wrong(Some(axis), "size is not that of rank 0"));
        }
        if a.grid_size() != b.grid_size() {
            return Err(wrong(Some(axis), "proc_grid_size is not that of rank 0"));
        }
    }
    Ok(())
}

/// One axis, from the parts that have a place in the grid.
fn axis_of_parts(parts: &[DimData], targets: &[usize], axis: usize) -> Result<AxisDist, MapError> {
    let ranks = parts[0][axis].grid_size();
    let mut by_coord: Vec<Option<(usize, &DimDict)>> = vec![None; ranks];
    for &rank in targets {
        let dim = &parts[rank][axis];
        match by_coord[dim.grid_rank()] {
            None => by_coord[dim.grid_rank()] = Some((rank, dim)),
            Some((_, other)) if same_at_one_coord(dim, other) => {}
            Some(_) => {
                let what = "its dictionary differs from another rank's at the same coordinate";
                return Err(MapError::Parts {
                    rank,
                    axis: Some(axis),
                    what,
                });
            }
        }
    }
    // Every place has a rank, so every coordinate has a dictionary.
    let dims: Vec<(usize, &DimDict)> = by_coord.into_iter().flatten().collect();
    match dims[0].1.dist() {
        Dist::Block { .. } => block_axis(&dims, axis),
        Dist::Cyclic { block_size, .. } => {
            for &(rank, dim) in &dims {
                let same =
                    matches!(dim.dist(), Dist::Cyclic { block_size: b, .. } if b == block_size);
                if !same {
                    let what = "dist_type or block_size is not that of the other ranks";
                    return Err(MapError::Parts {
                        rank,
                        axis: Some(axis),
                        what,
                    });
                }
            }
            AxisDist::cyclic(dims[0].1.size(), ranks, *block_size)
        }
        Dist::Unstructured { .. } => {
            let mut lists = Vec::with_capacity(ranks);
            for &(rank, dim) in &dims {
                let Dist::Unstructured { indices, .. } = dim.dist() else {
                    let what = "dist_type is not that of the other ranks";
                    return Err(MapError::Parts {
                        rank,
                        axis: Some(axis),
                        what,
                    });
                };
                lists.push(Arc::clone(indices));
            }
            AxisDist::unstructured_free(dims[0].1.size(), lists)
        }
    }
}

fn same_at_one_coord(a: &DimDict, b: &DimDict) -> bool {
    // The protocol lets padding differ here; an axis has one padding per coordinate.
    let named = named_boundary(a).zip(named_boundary(b));
    a.dist() == b.dist() && named.is_none_or(|(a, b)| a == b)
}

/// The boundary that a dictionary names because the edge coordinates are too short for it.
fn named_boundary(dim: &DimDict) -> Option<Padding> {
    let [lower, upper] = dim.extra().get(BOUNDARY)?.as_sequence()? else {
        return None;
    };
    let count = |value: &Value| u64::try_from(value.as_int()?).ok();
    let boundary = Padding::new(count(lower)?, count(upper)?);
    let sum = boundary.lower.checked_add(boundary.upper)?;
    (sum <= dim.size()).then_some(boundary)
}

fn block_axis(dims: &[(usize, &DimDict)], axis: usize) -> Result<AxisDist, MapError> {
    let size = dims[0].1.size();
    let mut bounds = vec![0];
    let mut comm = Vec::with_capacity(dims.len());
    let mut boundary = Padding::default();
    let named = dims.iter().find_map(|(_, dim)| named_boundary(dim));
    let is_periodic = dims[0].1.is_periodic();
    for (coord, &(rank, dim)) in dims.iter().enumerate() {
        let wrong = |what| MapError::Parts {
            rank,
            axis: Some(axis),
            what,
        };
        let Dist::Block {
            start,
            stop,
            mut padding,
            periodic,
        } = *dim.dist()
        else {
            return Err(wrong("dist_type is not that of the other ranks"));
        };
        if periodic != is_periodic {
            return Err(wrong("periodic is not that of the other ranks"));
        }
        if named_boundary(dim).is_some_and(|boundary| Some(boundary) != named) {
            return Err(wrong("boundary_padding is not that of the other ranks"));
        }
        if coord == 0 {
            boundary.lower = std::mem::take(&mut padding.lower);
        }
        if coord + 1 == dims.len() {
            boundary.upper = std::mem::take(&mut padding.upper);
        }
        let owned = start + padding.lower..stop - padding.upper;
        let reached = bounds[coord];
        // A block that stores nothing may stand anywhere; it is taken to lie where the tiling is.
        if start == stop {
            comm.push(Padding::default());
            bounds.push(reached);
            continue;
        }
        if owned.start != reached {
            return Err(wrong("its block does not begin where the one before ends"));
        }
        comm.push(padding);
        bounds.push(owned.end);
    }
    if bounds[dims.len()] != size {
        return Err(MapError::Parts {
            rank: dims[dims.len() - 1].0,
            axis: Some(axis),
            what: "the blocks end before the size",
        });
    }
    let boundary = named.unwrap_or(boundary);
    AxisDist::block_bounds(bounds)?.with_padding_per_coord(comm, boundary, is_periodic)
}
