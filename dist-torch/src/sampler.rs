//! Torch's samplers, draw for draw: [`RandomSampler`], [`WeightedRandomSampler`], [`DistributedSampler`].

use crate::memory::{reserve, try_vec};
use crate::{DataError, TorchRng};

/// Where a sampler's numbers come from, as its argument `generator` says in torch.
#[derive(Debug)]
pub enum Draws<'a> {
    /// `generator=None`: this is torch's global generator, from which a seed is drawn.
    Global(&'a mut TorchRng),
    /// `generator=g`.
    Given(&'a mut TorchRng),
}

impl Draws<'_> {
    /// The generator itself, whichever it is.
    fn generator(&mut self) -> &mut TorchRng {
        match self {
            Self::Global(rng) | Self::Given(rng) => rng,
        }
    }
}

/// `torch.utils.data.RandomSampler`: rows in a random order, or drawn with replacement.
///
/// ```
/// use dist_torch::{Draws, RandomSampler, TorchRng};
///
/// let mut global = TorchRng::new(0); // torch.manual_seed(0)
/// let rows = RandomSampler::new(5).draw(Draws::Global(&mut global))?;
/// assert_eq!(rows.len(), 5);
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct RandomSampler {
    rows: u64,
    replacement: bool,
    num_samples: Option<u64>,
}

impl RandomSampler {
    /// All of `0..rows`, each once.
    pub fn new(rows: u64) -> Self {
        Self {
            rows,
            replacement: false,
            num_samples: None,
        }
    }

    /// Draws each sample from all rows.
    pub fn replacement(self, replacement: bool) -> Self {
        Self {
            replacement,
            ..self
        }
    }

    /// How many samples an epoch has; without replacement all rows come before one comes again.
    pub fn num_samples(self, num_samples: u64) -> Self {
        Self {
            num_samples: Some(num_samples),
            ..self
        }
    }

    /// Samples of an epoch.
    #[must_use]
    pub fn len(&self) -> u64 {
        let asked = self.num_samples.unwrap_or(self.rows);
        if self.rows == 0 { 0 } else { asked }
    }

    /// Whether an epoch has no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of one epoch: `list(sampler)`. Where torch refuses (no rows, no samples) the list is empty.
    ///
    /// # Errors
    /// [`DataError::Allocation`] when the memory cannot be had: 8 bytes a sample.
    pub fn draw(&self, draws: Draws<'_>) -> Result<Vec<u64>, DataError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let mut own;
        let rng = match draws {
            Draws::Given(rng) => rng,
            Draws::Global(rng) => {
                own = TorchRng::new(rng.random());
                &mut own
            }
        };
        let len = self.len();
        let mut samples = try_vec(len)?;
        if self.replacement {
            samples.extend((0..len).map(|_| rng.randint(self.rows)));
            return Ok(samples);
        }
        for _ in 0..len / self.rows {
            samples.extend(rng.randperm(self.rows)?);
        }
        // torch draws the last one even when nothing of it is needed
        let last = rng.randperm(self.rows)?;
        samples.extend(last.iter().take(to_len(len % self.rows)));
        Ok(samples)
    }
}

/// What an epoch of a `DataLoader` draws before and for its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderDraw {
    /// The base seed of its workers, drawn first, even when there are none.
    pub base_seed: u64,
    /// The order of the samples.
    pub rows: Vec<u64>,
}

impl LoaderDraw {
    /// What `iter(DataLoader(data, sampler=sampler, generator=…))` draws, in its order: the base seed, and then the sampler's
    /// numbers. The generator is left as torch leaves it, so what the program draws next is the same too.
    ///
    /// ```
    /// use dist_torch::{Draws, LoaderDraw, RandomSampler, TorchRng};
    ///
    /// let mut global = TorchRng::new(7);
    /// let epoch = LoaderDraw::new(&RandomSampler::new(4), Draws::Global(&mut global))?;
    /// assert_eq!(epoch.rows.len(), 4);
    /// # Ok::<(), dist_torch::DataError>(())
    /// ```
    ///
    /// # Errors
    /// As [`RandomSampler::draw`].
    pub fn new(sampler: &RandomSampler, mut draws: Draws<'_>) -> Result<Self, DataError> {
        let base_seed = draws.generator().random();
        let rows = sampler.draw(draws)?;
        Ok(Self { base_seed, rows })
    }
}

/// `torch.utils.data.WeightedRandomSampler` with replacement.
///
/// Torch draws a single sample (`num_samples=1`), and samples without replacement, by other numbers, which depend on how it was
/// built. A single one is drawn here like any other; drawing without replacement there is not.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedRandomSampler {
    /// Sums of the weights so far, over their sum; the last is 1.
    sums: Vec<f64>,
    num_samples: u64,
}

impl WeightedRandomSampler {
    /// Draws `num_samples` rows, row `i` with a probability in proportion to `weights[i]`.
    ///
    /// # Errors
    /// [`DataError::Weight`] when a weight is negative or not finite, or all are 0; [`DataError::Allocation`].
    pub fn new(weights: &[f64], num_samples: u64) -> Result<Self, DataError> {
        if let Some(row) = weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            return Err(DataError::Weight {
                row: row as u64,
                given: weights[row].to_string(),
            });
        }
        let mut sums = try_vec(weights.len() as u64)?;
        sums.extend(weights.iter().scan(0.0, |sum: &mut f64, weight| {
            *sum += weight;
            Some(*sum)
        }));
        if let Some(&sum) = sums.last() {
            if sum == 0.0 || !sum.is_finite() {
                return Err(DataError::Weight {
                    row: weights.len() as u64 - 1,
                    given: format!("a sum of {sum}"),
                });
            }
            for part in &mut sums {
                *part /= sum;
            }
        }
        if let Some(last) = sums.last_mut() {
            *last = 1.0;
        }
        Ok(Self { sums, num_samples })
    }

    /// The rows of one epoch: `list(sampler)` with `generator=rng` (or, without one, torch's global generator, from which
    /// this sampler draws no seed). No rows give no samples.
    ///
    /// # Errors
    /// [`DataError::Allocation`] when the memory cannot be had: 8 bytes a sample.
    pub fn draw(&self, rng: &mut TorchRng) -> Result<Vec<u64>, DataError> {
        if self.sums.is_empty() {
            return Ok(Vec::new());
        }
        let mut samples = try_vec(self.num_samples)?;
        for _ in 0..self.num_samples {
            let mass = rng.uniform();
            samples.push(self.sums.partition_point(|&sum| sum < mass) as u64);
        }
        Ok(samples)
    }
}

/// `torch.utils.data.DistributedSampler`: the rows of one rank, `rank`, `rank + replicas`, … of an order that all ranks share.
///
/// By its definition the order of an epoch is cut up by the number of ranks, and the ranks' shares are made equal by
/// repeating rows, or with `drop_last` by leaving some out. [`Epoch`](crate::Epoch) has neither fault.
///
/// ```
/// use dist_torch::DistributedSampler;
///
/// // three rows, eight ranks: torch repeats
/// let rows: Result<Vec<_>, _> = (0..8).map(|rank| DistributedSampler::new(3, 8, rank)?.shuffle(false).draw()).collect();
/// assert_eq!(rows?.concat(), [0, 1, 2, 0, 1, 2, 0, 1]);
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct DistributedSampler {
    rows: u64,
    replicas: usize,
    rank: usize,
    shuffle: bool,
    seed: u64,
    epoch: u64,
    drop_last: bool,
}

impl DistributedSampler {
    /// With torch's defaults: shuffled by seed 0, in epoch 0, rows repeated to make the shares equal.
    ///
    /// # Errors
    /// [`DataError::Rank`] when `rank` is not below `replicas`.
    pub fn new(rows: u64, replicas: usize, rank: usize) -> Result<Self, DataError> {
        if rank >= replicas {
            return Err(DataError::Rank {
                given: rank,
                ranks: replicas,
            });
        }
        Ok(Self {
            rows,
            replicas,
            rank,
            shuffle: true,
            seed: 0,
            epoch: 0,
            drop_last: false,
        })
    }

    /// Whether rows come in a random order.
    pub fn shuffle(self, shuffle: bool) -> Self {
        Self { shuffle, ..self }
    }

    /// The seed, the same on every rank.
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The epoch: `sampler.set_epoch(epoch)`.
    pub fn epoch(self, epoch: u64) -> Self {
        Self { epoch, ..self }
    }

    /// Leaves rows out where torch would repeat some.
    pub fn drop_last(self, drop_last: bool) -> Self {
        Self { drop_last, ..self }
    }

    /// Rows of this rank: `len(sampler)`.
    #[must_use]
    pub fn len(&self) -> u64 {
        let ranks = self.replicas as u64;
        if self.drop_last {
            self.rows / ranks
        } else {
            self.rows.div_ceil(ranks)
        }
    }

    /// Whether this rank has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows of this rank: `list(sampler)`.
    ///
    /// # Errors
    /// [`DataError::Allocation`] when the memory cannot be had: 8 bytes for each row of all ranks if it is shuffled.
    pub fn draw(&self) -> Result<Vec<u64>, DataError> {
        let (len, ranks, rank) = (self.len(), self.replicas as u64, self.rank as u64);
        let mut order = Vec::new();
        if self.shuffle {
            order = TorchRng::new(self.seed.wrapping_add(self.epoch)).randperm(self.rows)?;
        }
        let mut mine = Vec::new();
        reserve(&mut mine, len)?;
        mine.extend((0..len).map(|at| {
            let row = (rank + at * ranks) % self.rows;
            if self.shuffle {
                order[to_len(row)]
            } else {
                row
            }
        }));
        Ok(mine)
    }
}

/// A number below the length of a list.
fn to_len(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_gives_nothing() {
        let mut rng = TorchRng::new(0);
        for sampler in [
            RandomSampler::new(0),
            RandomSampler::new(0).num_samples(9).replacement(true),
            RandomSampler::new(5).num_samples(0),
        ] {
            assert!(sampler.is_empty());
            assert_eq!(sampler.draw(Draws::Given(&mut rng)).unwrap(), [0_u64; 0]);
        }
        assert_eq!(rng, TorchRng::new(0));
        for shuffle in [false, true] {
            let sampler = DistributedSampler::new(0, 3, 1).unwrap().shuffle(shuffle);
            assert_eq!(sampler.draw().unwrap(), [0_u64; 0]);
        }
        let weighted = WeightedRandomSampler::new(&[], 4).unwrap();
        assert_eq!(weighted.draw(&mut rng).unwrap(), [0_u64; 0]);
    }

    #[test]
    fn weights_are_checked() {
        let error = |weights: &[f64]| WeightedRandomSampler::new(weights, 1).unwrap_err();
        assert!(matches!(
            error(&[1.0, -1.0]),
            DataError::Weight { row: 1, .. }
        ));
        assert!(matches!(
            error(&[f64::NAN]),
            DataError::Weight { row: 0, .. }
        ));
        assert!(matches!(
            error(&[0.0, 0.0]),
            DataError::Weight { row: 1, .. }
        ));
        assert!(matches!(
            error(&[f64::MAX, f64::MAX]),
            DataError::Weight { row: 1, .. }
        ));
    }

    #[test]
    fn a_row_of_no_weight_never_comes() {
        let sampler = WeightedRandomSampler::new(&[0.0, 3.0, 0.0, 1.0, 0.0], 4000).unwrap();
        let rows = sampler.draw(&mut TorchRng::new(1)).unwrap();
        let ones = rows.iter().filter(|&&row| row == 1).count();
        assert!(rows.iter().all(|row| [1, 3].contains(row)));
        assert!(ones.abs_diff(3000) < 150, "{ones}");
    }

    #[test]
    fn a_rank_that_is_none_is_refused() {
        assert!(matches!(
            DistributedSampler::new(3, 2, 2),
            Err(DataError::Rank { given: 2, ranks: 2 })
        ));
        assert!(DistributedSampler::new(3, 0, 0).is_err());
    }
}
