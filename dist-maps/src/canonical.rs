//! Canonical forms: one description per way of owning, so that equality and hash are structural.

use std::sync::Arc;

use dap_protocol::Padding;

use crate::axis_dist::{cyclic_count, to_len};
use crate::runs::Runs;
use crate::{AxisDist, Distribution, MapError};

/// The longest list of indices that an operation makes where no shorter form exists, 2²⁸.
pub const MAX_LISTED: u64 = 1 << 28;

pub(crate) fn check_listed(given: u64) -> Result<(), MapError> {
    if given > MAX_LISTED {
        return Err(MapError::TooManyToList {
            given,
            allowed: MAX_LISTED,
        });
    }
    Ok(())
}

impl AxisDist {
    /// The same indices on the same coordinates in the shortest form: cyclic over one coordinate or
    /// of one round only is a block, lists that describe blocks or dealt blocks become those.
    ///
    /// ```
    /// use dist_maps::AxisDist;
    /// assert_eq!(AxisDist::cyclic(9, 1, 2)?.canonical(), AxisDist::whole(9)?);
    /// let listed = AxisDist::unstructured(5, [vec![0, 2, 4], vec![1, 3]])?;
    /// assert_eq!(listed.canonical(), AxisDist::cyclic(5, 2, 1)?);
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    #[must_use]
    pub fn canonical(&self) -> Self {
        match self {
            Self::Block { .. } => self.clone(),
            Self::Cyclic {
                size,
                ranks,
                block_size,
            } => {
                let round = block_size.saturating_mul(*ranks as u64);
                if *ranks > 1 && *size > round {
                    return self.clone();
                }
                let block = if *ranks == 1 { *size } else { *block_size };
                let bounds = (0..=*ranks as u64).map(|c| c.saturating_mul(block).min(*size));
                Self::from_bounds(bounds.collect())
            }
            Self::Unstructured { size, indices, .. } => blocks(*size, indices)
                .or_else(|| dealt(*size, indices))
                .unwrap_or_else(|| self.clone()),
        }
    }

    /// The owned global indices of a coordinate, in local order.
    pub(crate) fn owned_runs(&self, coord: usize) -> Runs<'_> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        match self {
            Self::Block { bounds, .. } => Runs::one(signed(bounds[coord]), self.owned_len(coord)),
            Self::Cyclic {
                ranks, block_size, ..
            } => {
                let len = self.owned_len(coord);
                let stride = block_size.saturating_mul(*ranks as u64);
                let start = block_size.saturating_mul(coord as u64);
                if *ranks == 1 {
                    Runs::one(0, len)
                } else {
                    Runs::regular(signed(start), signed(stride), to_len(*block_size), len)
                }
            }
            Self::Unstructured { indices, .. } => Runs::list(&indices[coord]),
        }
    }

    /// The same without padding, boundary and periodicity.
    pub(crate) fn bare(&self) -> Self {
        match self {
            Self::Block { bounds, .. } => Self::from_bounds(Arc::clone(bounds)),
            other => other.clone(),
        }
    }

    /// The axis over some of its coordinates, in the given order, canonical and without padding.
    /// Coordinates left out own nothing.
    pub(crate) fn reordered(&self, order: &[usize]) -> Self {
        let in_order = order.windows(2).all(|pair| pair[0] < pair[1]);
        match self {
            Self::Block { bounds, .. } if in_order => {
                let mut kept = Vec::with_capacity(order.len() + 1);
                kept.push(0);
                kept.extend(order.iter().map(|&c| bounds[c + 1]));
                Self::from_bounds(kept.into())
            }
            Self::Cyclic {
                size,
                ranks,
                block_size,
            } if in_order => Self::Cyclic {
                size: *size,
                ranks: order.len(),
                block_size: *block_size,
            }
            .canonical(),
            Self::Unstructured {
                size,
                indices,
                one_to_one,
            } => Self::Unstructured {
                size: *size,
                indices: order.iter().map(|&c| Arc::clone(&indices[c])).collect(),
                one_to_one: *one_to_one,
            }
            .canonical(),
            // Blocks and dealt blocks are in ascending order already, and kept so by the callers.
            _ => self.bare(),
        }
    }

    /// Coordinates that own something, ascending by what they own.
    fn owning_order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.ranks())
            .filter(|&c| self.owned_len(c) > 0)
            .collect();
        if let Self::Unstructured { indices, .. } = self {
            order.sort_by(|&a, &b| indices[a].cmp(&indices[b]));
        }
        order
    }
}

/// Blocks, where each list is a run and they follow one another.
fn blocks(size: u64, indices: &[Arc<[i64]>]) -> Option<AxisDist> {
    let mut bounds = vec![0_u64];
    let mut reached = 0_i64;
    for list in indices {
        let mut runs = Runs::list(list);
        if let Some(run) = runs.next() {
            if run.global != reached || runs.next().is_some() {
                return None;
            }
            reached = reached.checked_add(i64::try_from(run.len).ok()?)?;
        }
        bounds.push(u64::try_from(reached).ok()?);
    }
    (bounds.last() == Some(&size)).then(|| AxisDist::from_bounds(bounds.into()))
}

/// Dealt blocks, where the lists are those.
fn dealt(size: u64, indices: &[Arc<[i64]>]) -> Option<AxisDist> {
    let first = Runs::list(indices.first()?).next()?;
    let block_size = first.len as u64;
    let axis = AxisDist::cyclic(size, indices.len(), block_size).ok()?;
    if first.global != 0 || indices.len() < 2 {
        return None;
    }
    let matches = (0_usize..).zip(indices).all(|(coord, list)| {
        list.len() as u64 == cyclic_count(size, indices.len(), coord, block_size)
            && Runs::list(list).eq(axis.owned_runs(coord))
    });
    matches.then(|| axis.canonical())
}

/// What two distributions that own the same have in common: the shape, the ranks, and axes over
/// those coordinates alone that own something, ascending by what they own.
#[derive(PartialEq)]
struct Normal {
    shape: Vec<u64>,
    ranks: usize,
    axes: Vec<AxisDist>,
    targets: Vec<usize>,
}

impl Normal {
    fn of(d: &Distribution) -> Self {
        let orders: Vec<Vec<usize>> = d.axes().iter().map(AxisDist::owning_order).collect();
        let mut normal = Self {
            shape: d.global_shape().to_vec(),
            ranks: d.ranks(),
            axes: Vec::new(),
            targets: Vec::new(),
        };
        if orders.iter().any(Vec::is_empty) {
            return normal; // nobody owns anything
        }
        normal.targets = d.targets_over(&orders);
        let pairs = d.axes().iter().zip(&orders);
        normal.axes = pairs.map(|(axis, order)| axis.reordered(order)).collect();
        normal
    }
}

/// The 64-bit FNV-1a hash: xor with each byte, multiply by 0x100000001b3.
struct Fnv(u64);

impl Fnv {
    fn number(&mut self, n: u64) {
        for byte in n.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn axis(&mut self, axis: &AxisDist) {
        match axis {
            AxisDist::Block { bounds, .. } => {
                self.number(0);
                self.number(bounds.len() as u64);
                bounds.iter().for_each(|&bound| self.number(bound));
            }
            AxisDist::Cyclic {
                ranks, block_size, ..
            } => {
                self.number(1);
                self.number(*ranks as u64);
                self.number(*block_size);
            }
            AxisDist::Unstructured { indices, .. } => {
                self.number(2);
                self.number(indices.len() as u64);
                for list in indices.iter() {
                    self.number(list.len() as u64);
                    list.iter().for_each(|&g| self.number(g.cast_unsigned()));
                }
            }
        }
    }
}

impl Distribution {
    /// Whether both give every rank the same elements in the same local order, however they say it:
    /// then element-wise operations need no communication. Padding does not count.
    ///
    /// ```
    /// use dist_maps::Distribution;
    /// let block = Distribution::over(2).shape([6]).block(0).build()?;
    /// let cyclic = Distribution::over(2).shape([6]).block_cyclic(0, 3).build()?;
    /// assert!(block.is_compatible(&cyclic)); // one round: 0..3 and 3..6
    /// assert_eq!(block.compatibility_hash(), cyclic.compatibility_hash());
    /// let other = Distribution::over(2).shape([6]).block_bounds(0, [0, 1, 6]).build()?;
    /// assert!(!block.is_compatible(&other));
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    #[must_use]
    pub fn is_compatible(&self, other: &Self) -> bool {
        self.global_shape() == other.global_shape()
            && self.ranks() == other.ranks()
            && (self == other || Normal::of(self) == Normal::of(other))
    }

    /// A number that is the same for compatible distributions, on every rank, run and platform:
    /// compare it across ranks where the distributions themselves are far apart.
    ///
    /// 64-bit FNV-1a over little-endian 64-bit numbers: number of ranks, number of dimensions,
    /// shape; then, unless nobody owns anything, for each dimension over the coordinates that own
    /// something, ascending by what they own: 0, number of bounds, bounds for blocks; 1, ranks,
    /// block size for dealt blocks; 2, number of lists, and length and indices of each for lists;
    /// then the ranks of the grid in C order.
    #[must_use]
    pub fn compatibility_hash(&self) -> u64 {
        let normal = Normal::of(self);
        let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
        hash.number(normal.ranks as u64);
        hash.number(normal.shape.len() as u64);
        normal.shape.iter().for_each(|&n| hash.number(n));
        normal.axes.iter().for_each(|axis| hash.axis(axis));
        normal.targets.iter().for_each(|&t| hash.number(t as u64));
        hash.0
    }

    /// The ranks at the places of a sub-grid: `coords[axis]` lists the coordinates taken, in order.
    pub(crate) fn targets_over(&self, coords: &[Vec<usize>]) -> Vec<usize> {
        let extents = self.grid().shape();
        let mut places = vec![0_usize];
        for (list, &extent) in coords.iter().zip(extents) {
            places = places
                .iter()
                .flat_map(|&place| list.iter().map(move |&c| place * extent + c))
                .collect();
        }
        places.into_iter().map(|p| self.targets()[p]).collect()
    }

    /// The same without the coordinates that own nothing, which is what `DistArray` does to every
    /// global distribution: 9 in blocks over 4 ranks becomes a grid of 3, and rank 3 inactive. One
    /// coordinate stays where none owns anything.
    ///
    /// ```
    /// use dist_maps::Distribution;
    /// let d = Distribution::over(4).shape([9]).block(0).build()?.drop_empty();
    /// assert_eq!((d.grid().shape(), d.targets()), ([3].as_slice(), [0, 1, 2].as_slice()));
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    #[must_use]
    pub fn drop_empty(&self) -> Self {
        let kept: Vec<Vec<usize>> = self
            .axes()
            .iter()
            .map(|axis| {
                let mut kept: Vec<usize> = (0..axis.ranks())
                    .filter(|&c| axis.owned_len(c) > 0)
                    .collect();
                if kept.is_empty() {
                    kept.push(0);
                }
                kept
            })
            .collect();
        let axes = self.axes().iter().zip(&kept);
        let axes = axes.map(|(axis, kept)| axis.keeping(kept)).collect();
        // A sub-grid of a grid with distinct targets has distinct targets, and is no larger.
        Self::from_axes(axes, self.ranks(), self.targets_over(&kept))
            .unwrap_or_else(|_| self.clone())
    }
}

impl AxisDist {
    /// The same over some of its coordinates, padding and kind kept; those left out own nothing.
    fn keeping(&self, kept: &[usize]) -> Self {
        if kept.len() == self.ranks() {
            return self.clone();
        }
        match self {
            Self::Block {
                bounds,
                padding,
                boundary,
                periodic,
            } => {
                let mut new_bounds = vec![0];
                new_bounds.extend(kept.iter().map(|&c| bounds[c + 1]));
                let padding: Arc<[Padding]> = kept.iter().map(|&c| padding[c]).collect();
                Self::Block {
                    bounds: new_bounds.into(),
                    padding,
                    boundary: *boundary,
                    periodic: *periodic,
                }
            }
            // Only the last coordinates of a single round own nothing.
            Self::Cyclic {
                size, block_size, ..
            } => Self::Cyclic {
                size: *size,
                ranks: kept.len(),
                block_size: *block_size,
            },
            Self::Unstructured {
                size,
                indices,
                one_to_one,
            } => Self::Unstructured {
                size: *size,
                indices: kept.iter().map(|&c| Arc::clone(&indices[c])).collect(),
                one_to_one: *one_to_one,
            },
        }
    }
}
