//! Strategies for distributions, each with a brute-force reading of what every rank owns.
//!
//! A [`Spec`] says what an axis is in the words of its definition. [`Spec::build`] makes the
//! [`AxisDist`]; [`Spec::owned`] walks over the elements one by one and shares nothing with it.
//!
//! ```
//! use dist_maps::testkit::{Block, Spec};
//! let spec = Spec::Block { size: 10, ranks: 4, rule: Block::Ceil };
//! assert_eq!(spec.owned(3), [9]);
//! assert_eq!(spec.build()?.owned_len(3), 1);
//! # Ok::<(), dist_maps::MapError>(())
//! ```

use std::sync::Arc;

use proptest::prelude::*;

use crate::{AxisDist, Distribution, MapError};

/// A rule for the lengths of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Equal ones, the last short or empty.
    Ceil,
    /// Lengths that differ by at most one, the longer ones first.
    Balanced,
    /// Bounds at `floor(size * c / ranks)`.
    Floor,
}

/// One axis, as its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spec {
    /// Blocks by a rule.
    Block {
        /// Elements.
        size: u64,
        /// Coordinates.
        ranks: usize,
        /// The rule.
        rule: Block,
    },
    /// Blocks of given lengths.
    Lengths(Vec<u64>),
    /// Blocks dealt in turn.
    Cyclic {
        /// Elements.
        size: u64,
        /// Coordinates.
        ranks: usize,
        /// Elements per block.
        block_size: u64,
    },
    /// Explicit lists.
    Lists {
        /// Elements.
        size: u64,
        /// Indices per coordinate.
        lists: Vec<Vec<i64>>,
    },
}

impl Spec {
    /// Global extent, in elements.
    #[must_use]
    pub fn size(&self) -> u64 {
        match self {
            Self::Block { size, .. } | Self::Cyclic { size, .. } | Self::Lists { size, .. } => {
                *size
            }
            Self::Lengths(lengths) => lengths.iter().sum(),
        }
    }

    /// Coordinates.
    #[must_use]
    pub fn ranks(&self) -> usize {
        match self {
            Self::Block { ranks, .. } | Self::Cyclic { ranks, .. } => *ranks,
            Self::Lengths(lengths) => lengths.len(),
            Self::Lists { lists, .. } => lists.len(),
        }
    }

    /// The axis.
    ///
    /// # Errors
    /// When the specification breaks a rule; those of [`axis`] do not.
    pub fn build(&self) -> Result<AxisDist, MapError> {
        match self {
            Self::Block { size, ranks, rule } => match rule {
                Block::Ceil => AxisDist::block(*size, *ranks),
                Block::Balanced => AxisDist::block_balanced(*size, *ranks),
                Block::Floor => AxisDist::block_floor(*size, *ranks),
            },
            Self::Lengths(lengths) => {
                let mut bounds = vec![0];
                for length in lengths {
                    bounds.push(bounds[bounds.len() - 1] + length);
                }
                AxisDist::block_bounds(bounds)
            }
            Self::Cyclic {
                size,
                ranks,
                block_size,
            } => AxisDist::cyclic(*size, *ranks, *block_size),
            Self::Lists { size, lists } => AxisDist::unstructured(*size, lists.iter().cloned()),
        }
    }

    /// The global indices that a coordinate owns, in local order, found element by element.
    #[must_use]
    pub fn owned(&self, coord: usize) -> Vec<i64> {
        let size = self.size();
        let ranks = self.ranks() as u64;
        let all = 0..size;
        let mine: Vec<u64> = match self {
            Self::Block { rule, .. } => {
                // Lengths dealt out one by one.
                let mut lengths = vec![0_u64; self.ranks()];
                match rule {
                    Block::Ceil => {
                        let mut each = 0;
                        while each * ranks < size {
                            each += 1;
                        }
                        let mut left = size;
                        for length in &mut lengths {
                            *length = each.min(left);
                            left -= *length;
                        }
                    }
                    Block::Balanced => {
                        for g in all.clone() {
                            if let Ok(c) = usize::try_from(g % ranks) {
                                lengths[c] += 1;
                            }
                        }
                    }
                    Block::Floor => {
                        // element g lies in c where size * c < (g + 1) * ranks <= size * (c + 1)
                        for g in all.clone() {
                            let mut c = 0;
                            while (g + 1) * ranks > size * (c + 1) {
                                c += 1;
                            }
                            if let Ok(c) = usize::try_from(c) {
                                lengths[c] += 1;
                            }
                        }
                    }
                }
                nth_stretch(&lengths, coord)
            }
            Self::Lengths(lengths) => nth_stretch(lengths, coord),
            Self::Cyclic { block_size, .. } => {
                // Deal block after block to the next coordinate.
                let (mut mine, mut turn, mut dealt) = (Vec::new(), 0, 0);
                for g in all {
                    if dealt == *block_size {
                        turn = (turn + 1) % self.ranks();
                        dealt = 0;
                    }
                    if turn == coord {
                        mine.push(g);
                    }
                    dealt += 1;
                }
                mine
            }
            Self::Lists { lists, .. } => return lists[coord].clone(),
        };
        mine.into_iter().map(u64::cast_signed).collect()
    }
}

/// The indices of the `n`-th of stretches of these lengths.
fn nth_stretch(lengths: &[u64], n: usize) -> Vec<u64> {
    let start: u64 = lengths[..n].iter().sum();
    (start..).zip(0..lengths[n]).map(|(g, _)| g).collect()
}

/// An axis of at most `max_size` elements over at most `max_ranks` coordinates, of any kind: size 0,
/// empty coordinates and prime numbers of ranks included. Each index has one owner.
pub fn axis(max_size: u64, max_ranks: usize) -> impl Strategy<Value = Spec> {
    axis_over(max_size, 1..=max_ranks)
}

fn axis_over(max_size: u64, ranks: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Spec> {
    let rule = prop_oneof![Just(Block::Ceil), Just(Block::Balanced), Just(Block::Floor)];
    (0..=max_size, ranks).prop_flat_map(move |(size, ranks)| {
        prop_oneof![
            rule.clone()
                .prop_map(move |rule| Spec::Block { size, ranks, rule }),
            lengths(size, ranks).prop_map(Spec::Lengths),
            (1..=max_size / 2 + 2).prop_map(move |block_size| Spec::Cyclic {
                size,
                ranks,
                block_size
            }),
            lists(size, ranks).prop_map(move |lists| Spec::Lists { size, lists }),
        ]
    })
}

/// Lengths that sum to `size`, some of them 0.
fn lengths(size: u64, ranks: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..=size, ranks - 1).prop_map(move |mut cuts| {
        cuts.sort_unstable();
        cuts.push(size);
        let mut from = 0;
        cuts.into_iter()
            .map(|cut| {
                let length = cut - from;
                from = cut;
                length
            })
            .collect()
    })
}

/// All indices below `size`, shuffled and dealt out at random.
fn lists(size: u64, ranks: usize) -> impl Strategy<Value = Vec<Vec<i64>>> {
    let all: Vec<i64> = (0..size.cast_signed()).collect();
    let len = all.len();
    let shuffled = Just(all).prop_shuffle();
    (shuffled, prop::collection::vec(0..ranks, len)).prop_map(move |(all, owners)| {
        let mut lists = vec![Vec::new(); ranks];
        for (g, owner) in all.into_iter().zip(owners) {
            lists[owner].push(g);
        }
        lists
    })
}

/// A distribution, as its definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistSpec {
    /// One specification per dimension.
    pub axes: Vec<Spec>,
    /// Ranks, inactive ones included.
    pub ranks: usize,
    /// The rank at each place of the grid, in C order.
    pub targets: Vec<usize>,
}

impl DistSpec {
    /// The distribution.
    ///
    /// # Errors
    /// When the specification breaks a rule; those of [`distribution`] do not.
    pub fn build(&self) -> Result<Distribution, MapError> {
        let axes = self
            .axes
            .iter()
            .map(Spec::build)
            .collect::<Result<_, _>>()?;
        Distribution::from_axes(axes, self.ranks, Arc::from(self.targets.as_slice()))
    }

    /// Global extent per dimension, in elements.
    #[must_use]
    pub fn shape(&self) -> Vec<u64> {
        self.axes.iter().map(Spec::size).collect()
    }

    /// The global indices that a rank owns per dimension; `None` for an inactive one.
    #[must_use]
    pub fn owned(&self, rank: usize) -> Option<Vec<Vec<i64>>> {
        let mut place = self.targets.iter().position(|&target| target == rank)?;
        let mut owned: Vec<Vec<i64>> = Vec::new();
        for axis in self.axes.iter().rev() {
            owned.push(axis.owned(place % axis.ranks()));
            place /= axis.ranks();
        }
        owned.reverse();
        Some(owned)
    }
}

/// A distribution of at most `max_ndim` dimensions (0 included) of at most `max_size` elements, each
/// over at most 3 coordinates, on ranks in any order, some of them inactive.
pub fn distribution(max_ndim: usize, max_size: u64) -> impl Strategy<Value = DistSpec> {
    prop::collection::vec(axis_over(max_size, 1..=3), 0..=max_ndim).prop_flat_map(|axes| {
        let places: usize = axes.iter().map(Spec::ranks).product();
        (Just(axes), places..=places + 2).prop_flat_map(move |(axes, ranks)| {
            let order: Vec<usize> = (0..ranks).collect();
            Just(order).prop_shuffle().prop_map(move |order| DistSpec {
                axes: axes.clone(),
                ranks,
                targets: order[..places].to_vec(),
            })
        })
    })
}
