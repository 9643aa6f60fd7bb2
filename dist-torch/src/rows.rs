//! [`Rows`]: what batches are read from.

use std::sync::Arc;

use crate::{Batch, DataError, Schema};

mod sealed {
    #[expect(unnameable_types, reason = "that is what seals a trait")]
    pub trait Sealed {}
}

pub(crate) use sealed::Sealed;

/// Rows that batches are read from: a [`DistDataset`](crate::DistDataset), or [`Windowed`](crate::Windowed) rows of one. Sealed:
/// nobody else can fill a batch.
///
/// Reading is never collective: no other rank takes part, and any number of threads may read at once.
pub trait Rows: Sealed + Send + Sync {
    /// How many rows there are, on all ranks together.
    fn len(&self) -> u64;

    /// What they look like.
    fn schema(&self) -> &Arc<Schema>;

    /// Reads the fields of these numbers of these rows; see [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`DataError::IndexOutOfRange`] when there is no field of a number.
    fn read_selected(
        &self,
        rows: &[u64],
        fields: &[usize],
        batch: &mut Batch,
    ) -> Result<(), DataError>;

    /// Whether there are no rows.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads these rows, of any ranks, in any order and with repetitions, into a batch. One-sided.
    ///
    /// What comes several times is fetched once, and what lies side by side by one copy.
    ///
    /// # Errors
    /// [`DataError::IndexOutOfRange`] before anything is read; [`DataError::Allocation`] and [`DataError::TooLarge`] when there is no room;
    /// [`DataError::Comm`] and [`DataError::Corrupt`] when the transport fails. The batch is then empty.
    fn read(&self, rows: &[u64], batch: &mut Batch) -> Result<(), DataError> {
        let fields: Vec<_> = (0..self.schema().fields().len()).collect();
        self.read_selected(rows, &fields, batch)
    }

    /// Reads these fields of these rows; see [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`DataError::UnknownField`].
    fn read_fields(
        &self,
        rows: &[u64],
        names: &[&str],
        batch: &mut Batch,
    ) -> Result<(), DataError> {
        batch.clear();
        let fields: Result<Vec<_>, _> = names
            .iter()
            .map(|name| self.schema().index_of(name))
            .collect();
        self.read_selected(rows, &fields?, batch)
    }
}

macro_rules! rows_by_reference {
    ($($pointer:ty),*) => {$(
        impl<R: Rows + ?Sized> Sealed for $pointer {}
        impl<R: Rows + ?Sized> Rows for $pointer {
            fn len(&self) -> u64 {
                (**self).len()
            }
            fn schema(&self) -> &Arc<Schema> {
                (**self).schema()
            }
            fn read_selected(
                &self,
                rows: &[u64],
                fields: &[usize],
                batch: &mut Batch,
            ) -> Result<(), DataError> {
                (**self).read_selected(rows, fields, batch)
            }
        }
    )*};
}

rows_by_reference!(&R, Box<R>, Arc<R>);

/// For each of `count` fields whether it is chosen.
pub(crate) fn chosen(fields: &[usize], count: usize) -> Result<Vec<bool>, DataError> {
    let mut chosen = vec![false; count];
    for &field in fields {
        *chosen.get_mut(field).ok_or(DataError::IndexOutOfRange {
            index: field as u64,
            len: count as u64,
        })? = true;
    }
    Ok(chosen)
}
