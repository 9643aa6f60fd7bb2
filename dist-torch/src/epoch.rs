//! [`Epoch`]: the batches of an epoch, and the rows that each rank reads of them.

use std::ops::Range;

use crate::{DataError, EpochOrder};

/// What becomes of the last batch, when the rows do not fill it.
///
/// 23 rows on 4 ranks in batches of 20, 5 a rank:
///
/// | | steps | rows of the last step, by rank | in all |
/// |---|---|---|---|
/// | `Exact` | 2 | 1, 1, 1, 0 | each row once |
/// | `Pad` | 2 | 5, 5, 5, 5 | 17 rows of the beginning a second time |
/// | `Drop` | 1 | 5, 5, 5, 5 | 3 rows are left out |
///
/// (Torch's `DistributedSampler` would have 6 rows a rank, the first row twice.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Uneven {
    /// It is short: each row comes once. Every rank makes the same number of steps, and may have no rows in the last one. For
    /// evaluation this is the only right one.
    #[default]
    Exact,
    /// It is filled from the beginning of the order.
    Pad,
    /// It is left out.
    Drop,
}

/// The batches of one epoch: a pure function of the order, the size of a batch and the number of ranks.
///
/// A batch is *global*: that of all ranks together. Step `s` has positions `s · batch .. (s + 1) · batch` of the order, and rank
/// `r` of `P` reads every `P`-th of them from the `r`-th on, so the ranks' parts differ by one row at most, the larger ones
/// first. Which rows make a batch does not depend on the number of ranks, and an epoch that stops after any step goes on,
/// on any other number of ranks, [from](Self::starting_at) the position where it stopped.
///
/// ```
/// use dist_torch::{Epoch, EpochOrder, Order, Uneven};
///
/// let epoch = Epoch::new(Order::Sequential.epoch(23, 0, 0)?, 20)?.uneven(Uneven::Exact);
/// assert_eq!(epoch.steps(), 2);
/// assert_eq!(epoch.rows(0, 1, 4), [1, 5, 9, 13, 17]);
/// assert_eq!(epoch.rows(1, 1, 4), [21]);
/// assert_eq!(epoch.rows(1, 3, 4), [0; 0]);
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    order: EpochOrder,
    batch: u64,
    uneven: Uneven,
    start: u64,
}

impl Epoch {
    /// Batches of `batch` rows, of all ranks together, in an order; the last one may be short.
    ///
    /// # Errors
    /// [`DataError::Batch`] when `batch` is 0.
    pub fn new(order: EpochOrder, batch: u64) -> Result<Self, DataError> {
        if batch == 0 {
            return Err(DataError::Batch { given: batch });
        }
        Ok(Self {
            order,
            batch,
            uneven: Uneven::Exact,
            start: 0,
        })
    }

    /// What becomes of the last batch.
    #[must_use]
    pub fn uneven(self, uneven: Uneven) -> Self {
        Self { uneven, ..self }
    }

    /// Begins at a position of the order; beyond its end no step is left.
    #[must_use]
    pub fn starting_at(self, position: u64) -> Self {
        let start = position.min(self.order.len());
        Self { start, ..self }
    }

    /// The order.
    #[must_use]
    pub fn order(&self) -> &EpochOrder {
        &self.order
    }

    /// Rows of a batch, of all ranks together.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// Steps from the start to the end, the same on every rank.
    #[must_use]
    pub fn steps(&self) -> u64 {
        let left = self.order.len() - self.start;
        match self.uneven {
            Uneven::Drop => left / self.batch,
            Uneven::Exact | Uneven::Pad => left.div_ceil(self.batch),
        }
    }

    /// The positions of a step, which `Pad` counts on beyond the end of the order; none from the last step on.
    fn positions(&self, step: u64) -> Range<u64> {
        if step >= self.steps() {
            return 0..0;
        }
        // below the length of the order, as the step is one of its
        let first = self.start + step * self.batch;
        let full = first.saturating_add(self.batch);
        match self.uneven {
            Uneven::Pad => first..full,
            Uneven::Exact | Uneven::Drop => first..full.min(self.order.len()),
        }
    }

    /// How many rows of a step all ranks have together, repeated ones included.
    #[must_use]
    pub fn step_len(&self, step: u64) -> u64 {
        let positions = self.positions(step);
        positions.end - positions.start
    }

    /// The position from which to go on when `step` is done.
    #[must_use]
    pub fn position_after(&self, step: u64) -> u64 {
        let steps = self.steps();
        if step.saturating_add(1) >= steps {
            return match self.uneven {
                Uneven::Drop => self.start + steps * self.batch,
                Uneven::Exact | Uneven::Pad => self.order.len(),
            };
        }
        self.start + (step + 1) * self.batch
    }

    /// The rows that rank `rank` of `ranks` reads in a step; none from the last step on, and for a rank that there is not.
    ///
    /// # Panics
    /// When a batch has more rows than there is memory.
    #[must_use]
    pub fn rows(&self, step: u64, rank: usize, ranks: usize) -> Vec<u64> {
        self.mine(step, rank, ranks)
            .filter_map(|at| self.order.get(at % self.order.len()))
            .collect()
    }

    /// How many of the rows that [`rows`](Self::rows) gives are no repetition that fills up the last batch: the first so many
    /// of them. For means over what was really there.
    #[must_use]
    pub fn real_rows(&self, step: u64, rank: usize, ranks: usize) -> usize {
        self.mine(step, rank, ranks)
            .take_while(|&at| at < self.order.len())
            .count()
    }

    fn mine(&self, step: u64, rank: usize, ranks: usize) -> impl Iterator<Item = u64> + use<> {
        let all = self.positions(step);
        let end = if rank < ranks { all.end } else { all.start };
        let first = all.start.saturating_add(rank as u64);
        (first..end).step_by(ranks.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Order;

    fn epoch(n: u64, batch: u64, uneven: Uneven) -> Epoch {
        Epoch::new(Order::Sequential.epoch(n, 0, 0).unwrap(), batch)
            .unwrap()
            .uneven(uneven)
    }

    #[test]
    fn the_example_of_the_documentation() {
        let by_rank = |epoch: &Epoch, step| {
            (0..4)
                .map(|rank| epoch.rows(step, rank, 4).len())
                .collect::<Vec<_>>()
        };
        let exact = epoch(23, 20, Uneven::Exact);
        assert_eq!((exact.steps(), by_rank(&exact, 1)), (2, vec![1, 1, 1, 0]));
        let pad = epoch(23, 20, Uneven::Pad);
        assert_eq!((pad.steps(), by_rank(&pad, 1)), (2, vec![5; 4]));
        assert_eq!(pad.rows(1, 0, 4), [20, 1, 5, 9, 13]);
        let real: Vec<_> = (0..4).map(|rank| pad.real_rows(1, rank, 4)).collect();
        assert_eq!(real, [1, 1, 1, 0]);
        let drop = epoch(23, 20, Uneven::Drop);
        assert_eq!(
            (drop.steps(), by_rank(&drop, 0), by_rank(&drop, 1)),
            (1, vec![5; 4], vec![0; 4])
        );
        assert_eq!(drop.position_after(0), 20);
    }

    #[test]
    fn fewer_rows_than_ranks() {
        let exact = epoch(3, 8, Uneven::Exact);
        let by_rank: Vec<_> = (0..8).map(|rank| exact.rows(0, rank, 8)).collect();
        assert_eq!(by_rank.concat(), [0, 1, 2]);
        assert_eq!(exact.steps(), 1);
        // more than once around
        assert_eq!(
            epoch(3, 8, Uneven::Pad).rows(0, 0, 1),
            [0, 1, 2, 0, 1, 2, 0, 1]
        );
        for uneven in [Uneven::Exact, Uneven::Pad, Uneven::Drop] {
            assert_eq!(epoch(0, 8, uneven).steps(), 0);
            assert_eq!(epoch(0, 8, uneven).rows(0, 0, 1), [0; 0]);
        }
    }

    #[test]
    fn what_there_is_not() {
        assert!(matches!(
            Epoch::new(EpochOrder::from_rows(vec![1]), 0),
            Err(DataError::Batch { given: 0 })
        ));
        let epoch = epoch(5, 2, Uneven::Exact);
        assert_eq!(epoch.rows(3, 0, 1), [0; 0]);
        assert_eq!(epoch.rows(u64::MAX, 0, 1), [0; 0]);
        assert_eq!(epoch.rows(0, 2, 2), [0; 0]);
        assert_eq!(epoch.rows(0, 0, 0), [0; 0]);
        assert_eq!(epoch.clone().starting_at(9).steps(), 0);
        assert_eq!(epoch.position_after(u64::MAX), 5);
    }

    #[test]
    fn large_numbers_do_not_overflow() {
        let order = Order::Keyed.epoch(u64::MAX, 1, 2).unwrap();
        let epoch = Epoch::new(order, u64::MAX / 2).unwrap().uneven(Uneven::Pad);
        assert_eq!(epoch.steps(), 3);
        assert_eq!(epoch.step_len(2), 1, "as far as positions can be counted");
        let ranks = usize::MAX;
        assert!(epoch.rows(0, ranks - 1, ranks).is_empty());
    }
}
