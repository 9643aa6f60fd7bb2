//! [`BatchPool`]: batches that are used again.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use super::{Batch, Content};
use crate::{DataError, Rows};

/// A fixed number of batches, whose memory is used again and again: a batch comes back when it is dropped.
///
/// Clones share the batches; any number of threads may take them.
///
/// ```
/// use dist_comm::SingleComm;
/// use dist_torch::{BatchPool, DistDataset, Rows, from_vec};
///
/// let data = DistDataset::builder("bytes").build(&SingleComm::new(), &from_vec(vec![1_u8, 2, 3]))?;
/// let pool = BatchPool::new(&data, 2, 1)?; // one batch of two rows
/// let mut batch = pool.take();
/// data.read(&[2, 1], &mut batch)?;
/// assert_eq!(batch.field::<u8>("0")?.data(), [3, 2]);
/// assert!(pool.try_take().is_none());
/// drop(batch);
/// assert!(pool.try_take().is_some());
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BatchPool(Arc<Shelf>);

/// What is not taken, and whom to wake when something comes back.
#[derive(Debug)]
pub(super) struct Shelf {
    free: Mutex<Vec<Content>>,
    /// How many are kept.
    slots: usize,
    back: Condvar,
}

impl Shelf {
    pub(super) fn put(&self, content: Content) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.len() < self.slots {
            free.push(content);
            self.back.notify_one();
        }
    }
}

impl BatchPool {
    /// `slots` batches with memory for `rows` rows of all fields of fixed shape; they grow when more is read into them.
    ///
    /// # Errors
    /// [`DataError::Allocation`] and [`DataError::TooLarge`] when the memory cannot be had.
    pub fn new(data: &impl Rows, rows: usize, slots: usize) -> Result<Self, DataError> {
        let chosen = vec![true; data.schema().fields().len()];
        let mut free = Vec::new();
        for _ in 0..slots {
            let mut batch = Batch::default();
            batch.prepare(data.schema(), rows, &chosen)?;
            free.push(std::mem::take(&mut batch.content));
        }
        Ok(Self::of(free, slots))
    }

    /// No batches, and room for `slots` that come back.
    pub(crate) fn empty(slots: usize) -> Self {
        Self::of(Vec::new(), slots)
    }

    fn of(free: Vec<Content>, slots: usize) -> Self {
        Self(Arc::new(Shelf {
            free: Mutex::new(free),
            slots,
            back: Condvar::new(),
        }))
    }

    /// A batch, as soon as there is one: with every batch in the hands of the calling thread this waits for ever.
    #[must_use]
    pub fn take(&self) -> Batch {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(content) = free.pop() {
                return self.batch(content);
            }
            free = self
                .0
                .back
                .wait(free)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A batch, if there is one now.
    #[must_use]
    pub fn try_take(&self) -> Option<Batch> {
        let mut free = self.0.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.pop().map(|content| self.batch(content))
    }

    /// A batch: one that is free, or a new one that goes back here if there is room.
    pub(crate) fn take_or_new(&self) -> Batch {
        self.try_take()
            .unwrap_or_else(|| self.batch(Content::default()))
    }

    fn batch(&self, content: Content) -> Batch {
        Batch {
            content,
            shelf: Some(Arc::clone(&self.0)),
        }
    }
}
