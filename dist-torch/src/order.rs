//! [`Order`] and [`EpochOrder`]: which row comes at which position of an epoch.

use crate::permutation::key;
use crate::{DataError, KeyedPermutation, TorchRng};

/// How the rows of an epoch are ordered; all ranks share one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// As they are numbered.
    Sequential,
    /// A random order of seed and epoch that takes no memory: [`KeyedPermutation`].
    #[default]
    Keyed,
    /// The random order that torch's `DistributedSampler` makes of seed and epoch, `torch.randperm` with their sum as its
    /// seed. Takes 8 bytes a row on every rank.
    Torch,
}

impl Order {
    /// The order of `rows` rows in one epoch. Local, and the same on every rank.
    ///
    /// ```
    /// use dist_torch::Order;
    ///
    /// let order = Order::Torch.epoch(10, 0, 0)?;
    /// assert_eq!((0..10).filter_map(|at| order.get(at)).collect::<Vec<_>>(), [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
    /// let order = Order::Keyed.epoch(1_000_000_000_000, 7, 0)?; // no list
    /// assert!(order.get(999_999_999_999).is_some());
    /// # Ok::<(), dist_torch::DataError>(())
    /// ```
    ///
    /// # Errors
    /// [`DataError::Allocation`] when an order that is a list cannot be had.
    pub fn epoch(self, rows: u64, seed: u64, epoch: u64) -> Result<EpochOrder, DataError> {
        Ok(EpochOrder(match self {
            Self::Sequential => Form::Sequential(rows),
            Self::Keyed => Form::Keyed(KeyedPermutation::new(rows, key(seed, epoch))),
            Self::Torch => Form::List(TorchRng::new(seed.wrapping_add(epoch)).randperm(rows)?),
        }))
    }
}

/// The rows of one epoch by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochOrder(Form);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Sequential(u64),
    Keyed(KeyedPermutation),
    List(Vec<u64>),
}

impl EpochOrder {
    /// The order of a list: that of a sampler, say. Rows may come several times, or not at all.
    #[must_use]
    pub fn from_rows(rows: Vec<u64>) -> Self {
        Self(Form::List(rows))
    }

    /// How many positions there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        match &self.0 {
            Form::Sequential(len) => *len,
            Form::Keyed(order) => order.len(),
            Form::List(rows) => rows.len() as u64,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at a position; `None` from the length on.
    #[must_use]
    pub fn get(&self, position: u64) -> Option<u64> {
        match &self.0 {
            Form::Sequential(len) => (position < *len).then_some(position),
            Form::Keyed(order) => order.get(position),
            Form::List(rows) => rows.get(usize::try_from(position).ok()?).copied(),
        }
    }
}
