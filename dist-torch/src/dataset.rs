//! [`DistDataset`]: samples in the memory of all ranks, read by any of them.

mod build;
mod dap;
mod read;

use std::fmt;
use std::sync::Arc;

use dist_comm::{OneSided, Window};

pub use build::Builder;
pub use dap::DapFields;

use crate::layout::Layout;
use crate::rows::Sealed;
use crate::{Batch, DataError, Placement, Rows, Sample, Schema, Source, SourceError};

/// Rows of samples, each in the memory of one rank, that every rank reads without the others.
///
/// Making one is collective; reading, by any number of threads, and dropping are local. Under MPI it is dropped before MPI ends,
/// as any window.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_torch::{Batch, DataError, DistDataset, Rows, from_fn};
///
/// ThreadComm::run(4, |comm| {
///     // a picture of four numbers and its class; rank 0 loads rows 0..3, rank 1 3..6, rank 2 6..8, rank 3 8..10
///     let source = from_fn(10, |row| Ok::<_, std::io::Error>((vec![row as f32; 4], row as i64 % 3)));
///     let data = DistDataset::builder("digits").build(comm, &source)?; // collective
///     if comm.rank() == 2 {
///         let mut batch = Batch::default();
///         data.read(&[9, 0, 9], &mut batch)?; // by this rank alone
///         assert_eq!(batch.field::<f32>("0")?.shape(), [3, 4]);
///         assert_eq!(batch.field::<i64>("1")?.data(), [0, 0, 0]);
///     }
///     Ok::<_, DataError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<DataError>>(())
/// ```
pub struct DistDataset {
    name: String,
    schema: Arc<Schema>,
    /// Of this rank's group.
    placement: Placement,
    rank: usize,
    /// Ranks of the group are those from here on, by number.
    first: usize,
    rows: Part,
    /// The items of the fields whose length differs.
    values: Option<Part>,
    decode: Option<Arc<Decode>>,
}

/// What makes a sample of a stored one and its row.
pub(crate) type Decode = dyn Fn(Sample, u64) -> Result<Sample, SourceError> + Send + Sync;

/// A window, and where the columns lie in the parts of the group's ranks.
struct Part {
    window: Box<dyn Window>,
    layouts: Vec<Layout>,
}

impl DistDataset {
    /// Begins a data set; `name` is for messages, and the same on every rank.
    pub fn builder(name: impl Into<String>) -> Builder {
        Builder::new(name.into())
    }

    /// A data set shared out evenly. Collective. See [`Builder::build`].
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn new<C: OneSided + ?Sized>(
        name: impl Into<String>,
        comm: &C,
        source: &(impl Source + ?Sized),
    ) -> Result<Self, DataError> {
        Self::builder(name).build(comm, source)
    }

    /// The name it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which rank of this rank's group has which row.
    #[must_use]
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// How many rows this rank has.
    #[must_use]
    pub fn own_rows(&self) -> usize {
        self.placement.rows_of(self.rank)
    }

    /// One sample, of whichever rank, of the source's structure and [decoded](Builder::decode). One-sided.
    ///
    /// # Errors
    /// As [`Rows::read`], and [`DataError::Source`] when decoding fails.
    pub fn sample(&self, row: u64) -> Result<Sample, DataError> {
        let mut samples = self.samples(&[row])?;
        // one row gives one sample
        samples.pop().ok_or(DataError::IndexOutOfRange {
            index: row,
            len: self.len(),
        })
    }

    /// Some samples, read as one batch: as [`sample`](Self::sample). One-sided.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn samples(&self, rows: &[u64]) -> Result<Vec<Sample>, DataError> {
        let mut batch = Batch::default();
        self.read(rows, &mut batch)?;
        let samples = rows.iter().enumerate().map(|(at, &row)| {
            let stored = batch.sample(at)?;
            match &self.decode {
                Some(decode) => decode(stored, row).map_err(|cause| DataError::Source {
                    row,
                    cause: cause.to_string(),
                }),
                None => Ok(stored),
            }
        });
        samples.collect()
    }
}

impl Sealed for DistDataset {}

impl Rows for DistDataset {
    fn len(&self) -> u64 {
        self.placement.rows()
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn read_selected(
        &self,
        rows: &[u64],
        fields: &[usize],
        batch: &mut Batch,
    ) -> Result<(), DataError> {
        batch.clear();
        self.fetch(rows, fields, batch)
    }
}

impl fmt::Debug for DistDataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistDataset")
            .field("name", &self.name)
            .field("rows", &self.placement.rows())
            .field("own_rows", &self.own_rows())
            .finish_non_exhaustive()
    }
}
