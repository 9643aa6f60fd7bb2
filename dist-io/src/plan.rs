//! [`IoPlan`]: what every rank reads or writes, before any byte moves.
//!
//! ```text
//! direct      rank 0 ──► its runs                  long runs: each rank goes to the file by itself
//!             rank 1 ──► its runs      file
//! two-phase   rank 0 ─╲╱─► slab 0                  short runs: in memory first, to slabs that are
//!             rank 1 ─╱╲─► slab 1      file        contiguous in the file and made of whole chunks
//! ```

mod chunks;
mod explain;
mod slabs;
mod survey;
#[cfg(feature = "hdf5")]
pub(crate) mod window;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use dist_maps::{Distribution, MapError, RedistPlan, Redistribution};

use crate::part::{Extent, FilePart};
use crate::{FileLayout, IoError};

pub use chunks::{Chunk, Chunks};
pub use explain::{Explanation, RankVolume};

/// Runs of this many bytes are taken to be long: going to the file for each should cost no more than one more copy in memory.
/// The number is an estimate that no measurement stands behind yet.
pub(crate) const LONG_RUN: u64 = 16 << 10;

/// Whether elements go to the file or come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the file: all that a rank stores is read, communication padding too.
    Read,
    /// To the file: what a rank owns is written, padding never.
    Write,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

/// How the ranks share the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Each rank reads or writes its own runs.
    Direct,
    /// Elements are exchanged in memory, and each rank reads or writes one slab.
    TwoPhase,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Direct => "direct",
            Self::TwoPhase => "two-phase",
        })
    }
}

/// Which rank reads or writes which bytes of an array in a file: a pure function of the distribution, the size of an element
/// and the layout of the file. Nothing is opened, and no memory depends on the size of the array.
///
/// A plan is made once and used for every array of its distribution, every time step.
///
/// ```
/// use dist_io::{Direction, FileLayout, IoPlan, Strategy};
/// use dist_maps::Distribution;
///
/// // the columns of a 4 x 6 array, dealt by 2 to two ranks: short runs
/// let dealt = Distribution::over(2).shape([4, 6]).block_cyclic(1, 2).build()?;
/// let plan = IoPlan::new(&dealt, 8, FileLayout::Contiguous, Direction::Write)?;
/// let first = plan.part(1)?.runs().next().unwrap();
/// assert_eq!((first.offset, first.local, first.len), (16, 0, 2)); // bytes in the file, elements in memory
/// assert_eq!(plan.strategy(), Strategy::Direct); // few of them: a plan for a large array says `TwoPhase`
/// println!("{}", plan.explain()?);
/// # Ok::<(), dist_io::IoError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct IoPlan {
    distribution: Distribution,
    /// The distribution as a number, by which ranks compare plans.
    fingerprint: u64,
    slabs: Distribution,
    item_size: usize,
    layout: FileLayout,
    direction: Direction,
    strategy: Strategy,
    why: survey::Why,
    total_bytes: u64,
}

impl IoPlan {
    /// Plans reading or writing an array of this distribution, `item_size` bytes an element (1, 2, 4, 8 or 16). Local: nothing is
    /// asked of other ranks, here and below.
    ///
    /// # Errors
    /// [`IoError::ItemSize`], [`IoError::Dimensions`] and [`IoError::ChunkExtent`] for a chunk shape that does not fit,
    /// [`IoError::Index`] for an unstructured index outside the array, [`IoError::Uncovered`] for one that no rank holds
    /// (writing only), [`IoError::Overflow`] for an array of more than 2⁶³ - 1 bytes.
    pub fn new(
        distribution: &Distribution,
        item_size: usize,
        layout: FileLayout,
        direction: Direction,
    ) -> Result<Self, IoError> {
        if !matches!(item_size, 1 | 2 | 4 | 8 | 16) {
            return Err(IoError::ItemSize { given: item_size });
        }
        check_chunk(&layout, distribution.ndim())?;
        let total_bytes = distribution
            .global_size()
            .ok()
            .and_then(|n| n.checked_mul(item_size as u64))
            .filter(|&bytes| i64::try_from(bytes).is_ok())
            .ok_or(IoError::Overflow {
                what: "number of bytes of the array",
            })?;
        let why = survey::survey(distribution, item_size, &layout, direction)?;
        Ok(Self {
            slabs: slabs::slabs(distribution, &layout)?,
            fingerprint: fingerprint(distribution),
            distribution: distribution.clone(),
            item_size,
            layout,
            direction,
            strategy: why.strategy(),
            why,
            total_bytes,
        })
    }

    /// The same plan with a strategy of the caller's choice.
    ///
    /// Directly written chunks that ranks share, or elements that several ranks own, are what the last writer makes of them.
    pub fn with_strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self.why = survey::Why::Asked(strategy);
        self
    }

    /// The same plan for chunks that have their places in the file and go through no filter: ranks that share one may each move their
    /// own elements of it. They do where these are contiguous in long runs.
    ///
    /// ```
    /// use dist_io::{Direction, FileLayout, IoPlan, Strategy};
    /// use dist_maps::Distribution;
    ///
    /// // rows of 32 KiB, dealt to two ranks, in chunks of 4 rows
    /// let dealt = Distribution::over(2).shape([8, 4096]).cyclic(0).build()?;
    /// let plan = IoPlan::new(&dealt, 8, FileLayout::Chunked { chunk: vec![4, 4096] }, Direction::Write)?;
    /// assert_eq!(plan.strategy(), Strategy::TwoPhase);
    /// assert_eq!(plan.with_plain_chunks()?.strategy(), Strategy::Direct);
    /// # Ok::<(), dist_io::IoError>(())
    /// ```
    ///
    /// # Errors
    /// [`IoError::Map`].
    pub fn with_plain_chunks(mut self) -> Result<Self, IoError> {
        if let (survey::Why::SharedChunks, FileLayout::Chunked { chunk }) = (self.why, &self.layout)
        {
            let extent = self.extent();
            let mean = survey::run_in_chunks(&self.distribution, self.item_size, chunk, extent)?;
            if mean >= LONG_RUN {
                self.why = survey::Why::LongParts { mean };
                self.strategy = self.why.strategy();
            }
        }
        Ok(self)
    }

    /// Whether ranks move parts of chunks that others have elements of too.
    #[cfg(feature = "hdf5")]
    pub(crate) fn shares_chunks(&self) -> bool {
        matches!(self.why, survey::Why::LongParts { .. })
    }

    /// How the ranks share the work; the same on all of them.
    #[must_use]
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Whether this is a plan to read or to write.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The distribution of the array.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// The slabs of the second phase: contiguous in the file, made of whole chunks, one for each rank, empty ones included.
    #[must_use]
    pub fn slabs(&self) -> &Distribution {
        &self.slabs
    }

    /// The layout of the file.
    #[must_use]
    pub fn layout(&self) -> &FileLayout {
        &self.layout
    }

    /// Bytes an element.
    #[must_use]
    pub fn item_size(&self) -> usize {
        self.item_size
    }

    /// Whether the strategy is the caller's choice.
    #[cfg(feature = "hdf5")]
    pub(crate) fn is_asked(&self) -> bool {
        matches!(self.why, survey::Why::Asked(_))
    }

    /// A number that plans of one distribution share.
    pub(crate) fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    /// Bytes of all elements of the array.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// A rank's own elements: which bytes of the dataset they are, and where they lie in its buffer (C order, padding
    /// included). When writing, those that it owns; when reading, all that it stores.
    ///
    /// # Errors
    /// When there is no such rank.
    pub fn part(&self, rank: usize) -> Result<FilePart, IoError> {
        self.part_of(&self.distribution, rank, self.extent())
    }

    /// What is meant of a rank's own elements.
    fn extent(&self) -> Extent {
        match self.direction {
            Direction::Read => Extent::Stored,
            Direction::Write => Extent::Owned,
        }
    }

    /// What a rank reads from the file or writes to it: its own elements, or its slab (positions count from the start of the
    /// slab then).
    ///
    /// # Errors
    /// When there is no such rank.
    pub fn requests(&self, rank: usize) -> Result<FilePart, IoError> {
        match self.strategy {
            Strategy::Direct => self.part(rank),
            Strategy::TwoPhase => self.part_of(&self.slabs, rank, Extent::Owned),
        }
    }

    fn part_of(
        &self,
        distribution: &Distribution,
        rank: usize,
        extent: Extent,
    ) -> Result<FilePart, IoError> {
        let dim_data = distribution.dim_data(rank)?;
        if distribution.grid_rank(rank).is_none() {
            return Ok(FilePart::nothing());
        }
        FilePart::new(&dim_data, self.item_size, extent)
    }

    /// What a rank exchanges with the others: to its slab before writing, from it after reading; `None` where the strategy is
    /// [`Strategy::Direct`].
    ///
    /// # Errors
    /// [`IoError::Plan`]; when there is no such rank.
    pub fn exchange(&self, rank: usize) -> Result<Option<RedistPlan>, IoError> {
        if self.strategy == Strategy::Direct {
            return Ok(None);
        }
        Ok(Some(match self.direction {
            Direction::Write => {
                Redistribution::between(&self.distribution, &self.slabs).plan(rank)?
            }
            Direction::Read => {
                // in a file no axis wraps around
                let straight = straight(&self.distribution)?;
                Redistribution::between(&self.slabs, &straight)
                    .filling_padding()
                    .plan(rank)?
            }
        }))
    }

    /// The chunks that a rank reads or writes, in C order of the grid of chunks; none for a contiguous file. They are counted, and
    /// walked, without being listed.
    ///
    /// # Errors
    /// When there is no such rank.
    pub fn chunks(&self, rank: usize) -> Result<Chunks, IoError> {
        let FileLayout::Chunked { chunk } = &self.layout else {
            return Ok(Chunks::none());
        };
        match self.strategy {
            Strategy::TwoPhase => Chunks::of(&self.slabs, rank, chunk, Extent::Owned),
            // communication padding lies in the chunks of other ranks
            Strategy::Direct => Chunks::of(&self.distribution, rank, chunk, self.extent()),
        }
    }

    /// What the plan will do, in words and numbers.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    pub fn explain(&self) -> Result<Explanation, IoError> {
        explain::explain(self)
    }
}

/// A number that tells distributions apart, padding included: ranks compare it where the distributions are far from each other. Equal
/// in all processes of one program.
pub(crate) fn fingerprint(distribution: &Distribution) -> u64 {
    let mut hasher = DefaultHasher::new();
    distribution.axes().hash(&mut hasher);
    distribution.targets().hash(&mut hasher);
    distribution.ranks().hash(&mut hasher);
    hasher.finish()
}

fn check_chunk(layout: &FileLayout, ndim: usize) -> Result<(), IoError> {
    let FileLayout::Chunked { chunk } = layout else {
        return Ok(());
    };
    if chunk.len() != ndim {
        return Err(IoError::Dimensions {
            what: "the shape of the chunks",
            given: chunk.len(),
            allowed: ndim,
        });
    }
    match chunk.iter().position(|&extent| extent == 0) {
        Some(axis) => Err(IoError::ChunkExtent { axis, given: 0 }),
        None => Ok(()),
    }
}

/// The same distribution with axes that do not wrap around.
pub(crate) fn straight(distribution: &Distribution) -> Result<Distribution, MapError> {
    let axes = distribution.axes().iter().cloned();
    let axes = axes.map(|axis| {
        if axis.is_periodic() {
            axis.with_periodic(false)
        } else {
            Ok(axis)
        }
    });
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    Distribution::from_axes(axes, distribution.ranks(), distribution.targets())
}
