//! [`Builder`]: samples from sources into the memory of all ranks.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, OneSided, Window};

use super::{Decode, DistDataset, Part};
use crate::fill::{Writer, guarded, take, varying};
use crate::layout::{CANARY, Layout};
use crate::placement::group_of;
use crate::state::checksum;
use crate::{DataError, Placement, Sample, Schema, Share, Source, SourceError, Structure};

/// How a [`DistDataset`] is made.
#[must_use]
pub struct Builder {
    name: String,
    width: Option<usize>,
    share: Share,
    decode: Option<Arc<Decode>>,
}

impl Builder {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            width: None,
            share: Share::Nsplit,
            decode: None,
        }
    }

    /// Ranks of a group: each group of `width` ranks, by number, holds all rows, and reads only those of its own. The last group may
    /// have fewer ranks. Without it all ranks are one group.
    pub fn group_width(mut self, width: usize) -> Self {
        self.width = Some(width);
        self
    }

    /// How the rows are shared out in a group.
    pub fn share(mut self, share: Share) -> Self {
        self.share = share;
        self
    }

    /// What makes a sample of a stored one and its row, in [`DistDataset::sample`] and [`DistDataset::samples`]; batches hold
    /// what is stored. The counterpart of [`Source::encode`]. Runs in the thread that reads.
    pub fn decode<F>(mut self, decode: F) -> Self
    where
        F: Fn(Sample, u64) -> Result<Sample, SourceError> + Send + Sync + 'static,
    {
        self.decode = Some(Arc::new(decode));
        self
    }

    /// Loads this rank's share of `source` and makes the data set. Collective; every rank gives a source of the same length, and
    /// the same settings.
    ///
    /// The first sample of a share says what all must look like. Samples are asked for one by one and go to their place at
    /// once, so the share and one sample are in memory, and not the share twice; what a ragged or text field has is collected
    /// first and then moved. A source must not make collective calls on `comm`. Ranks that are done wait for the others as
    /// in any collective call (`DIST_COMM_TIMEOUT`).
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_torch::{DataError, DistDataset, Rows, Sample, Share, from_fn};
    ///
    /// // molecules: as many atoms as each has, and a name
    /// let source = from_fn(6, |row| {
    ///     let atoms = vec![6_u8; row as usize % 4];
    ///     Ok::<_, std::io::Error>(Sample::map([("atoms", Sample::ragged(atoms)), ("name", format!("m{row}").into())]))
    /// });
    /// ThreadComm::run(3, |comm| {
    ///     let data = DistDataset::builder("molecules").share(Share::Cyclic).build(comm, &source)?;
    ///     let mut batch = Default::default();
    ///     data.read(&[3, 0, 5], &mut batch)?;
    ///     let atoms = batch.ragged::<u8>("atoms")?;
    ///     assert_eq!((atoms.offsets(), atoms.row(0)), (&[0, 3, 3, 4][..], &[6, 6, 6][..]));
    ///     assert_eq!(batch.texts("name")?.iter().collect::<Vec<_>>(), ["m3", "m0", "m5"]);
    ///     Ok::<_, DataError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<DataError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank. [`DataError::OnRank`] when a rank's source fails, or panics (between threads), gives a sample that is not like the first one,
    /// or there is no room; [`DataError::Differs`] when lengths, settings or first samples are not the same on all ranks;
    /// [`DataError::Width`], [`DataError::Placement`], [`DataError::Schema`]; [`DataError::Comm`] when the ranks do not reach each other.
    pub fn build<C: OneSided + ?Sized>(
        self,
        comm: &C,
        source: &(impl Source + ?Sized),
    ) -> Result<DistDataset, DataError> {
        let (rank, size) = (comm.rank(), comm.size());
        let len = settle(comm, guarded("the length", || Ok(source.len())))?;
        let width = self.width.unwrap_or(size);
        same(comm, "a source of length", len)?;
        same(comm, "groups of width", width as u64)?;
        same(comm, "a share of code", code(&self.share))?;
        same(comm, "a name of code", code(&self.name))?;
        if width == 0 {
            return Err(DataError::Width { given: width });
        }
        // the groups are of two sizes at most: what fails for one fails on all ranks
        for some in [0, size - 1] {
            Placement::new(len, &self.share, group_of(some, width, size))?;
        }
        let group = group_of(rank, width, size);
        let placement = Placement::new(len, &self.share, group.clone())?;

        let mut rows = settle(comm, placement.rows_on(rank))?;
        let first = rows.next().map(|row| Ok((row, take(source, row)?)));
        let mut first = settle(comm, first.transpose())?;
        let own = first.as_ref().map(|(_, sample)| Schema::of(sample));
        let schema = Arc::new(common(comm, settle(comm, own.transpose())?)?);

        let lens = rows_by_rank(&placement, group.start, group.len());
        let layouts = lens.map(|rows| Layout::of_rows(&schema, rows)).collect();
        let layouts: Vec<Layout> = settle(comm, layouts)?;
        let own = &layouts[rank - group.start];
        let mut window = comm.window(own.len())?;
        let mut outcome = Ok(Vec::new());
        window.with_local(&mut |part| {
            outcome = guarded("filling", || {
                part[..CANARY].copy_from_slice(&canary(&schema, rank));
                let mut writer = Writer::new(&schema, own, part);
                let begun = first.take().map(Ok::<_, DataError>).into_iter();
                let rest = rows.by_ref().map(|row| Ok((row, take(source, row)?)));
                for (local, given) in begun.chain(rest).enumerate() {
                    let (row, sample) = given?;
                    writer.write(local, row, &sample)?;
                }
                Ok(writer.into_values())
            });
        })?;
        let values = settle(comm, outcome)?;
        let values = if values.is_empty() {
            None
        } else {
            Some(move_values(comm, &schema, group.start..group.end, values)?)
        };
        let data = DistDataset {
            name: self.name,
            schema,
            placement,
            rank,
            first: group.start,
            rows: Part { window, layouts },
            values,
            decode: self.decode,
        };
        data.probe(comm)?;
        Ok(data)
    }
}

impl DistDataset {
    /// Reads what the part of each rank of the group begins with: a transport that does not work fails here, and on all ranks.
    /// Collective.
    pub(super) fn probe(&self, comm: &(impl Communicator + ?Sized)) -> Result<(), DataError> {
        let read = |window: &dyn Window| {
            self.placement.ranks().iter().try_for_each(|&rank| {
                let mut seen = [0; CANARY];
                window.get(rank, 0, &mut seen)?;
                if seen != canary(&self.schema, rank) {
                    return Err(DataError::Corrupt {
                        rank,
                        what: "the first bytes of its part",
                    });
                }
                Ok(())
            })
        };
        let windows = [Some(&self.rows), self.values.as_ref()];
        let outcome = windows
            .into_iter()
            .flatten()
            .try_for_each(|part| read(&*part.window));
        settle(comm, outcome)
    }
}

/// One outcome on all ranks. Collective.
pub(super) fn settle<T>(
    comm: &(impl Communicator + ?Sized),
    outcome: Result<T, DataError>,
) -> Result<T, DataError> {
    agree(comm, outcome).map_err(DataError::OnRank)
}

/// Whether all ranks give the same number. Collective.
fn same(
    comm: &(impl Communicator + ?Sized),
    what: &'static str,
    mine: u64,
) -> Result<(), DataError> {
    let all = comm.all_gather_value(mine)?;
    match all.iter().position(|&other| other != all[0]) {
        None => Ok(()),
        Some(rank) => Err(DataError::Differs {
            what,
            rank,
            given: all[rank].to_string(),
            other: 0,
            allowed: all[0].to_string(),
        }),
    }
}

/// A number that stands for a setting, the same on all ranks of one program.
fn code(setting: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    setting.hash(&mut hasher);
    hasher.finish()
}

/// The schema of the ranks that have samples, which must be one; without samples there are no fields. Collective.
fn common(comm: &(impl Communicator + ?Sized), own: Option<Schema>) -> Result<Schema, DataError> {
    let text = own.map_or_else(String::new, |schema| schema.to_json());
    let texts = comm.all_gather_v(text.as_bytes())?;
    let Some(first) = texts.iter().position(|text| !text.is_empty()) else {
        return Schema::new(Structure::Tuple(Vec::new()));
    };
    let shown = |rank: usize| String::from_utf8_lossy(&texts[rank]).into_owned();
    let other =
        (0..texts.len()).find(|&rank| !texts[rank].is_empty() && texts[rank] != texts[first]);
    if let Some(rank) = other {
        return Err(DataError::Differs {
            what: "a first sample like",
            rank,
            given: shown(rank),
            other: first,
            allowed: shown(first),
        });
    }
    Schema::from_json(&shown(first))
}

/// How many rows each of `count` ranks from `first` on has.
pub(super) fn rows_by_rank(
    placement: &Placement,
    first: usize,
    count: usize,
) -> impl Iterator<Item = usize> + use<> {
    let mut lens = vec![0; count];
    for (coord, &rank) in placement.ranks().iter().enumerate() {
        lens[rank - first] = placement.axis().owned_len(coord);
    }
    lens.into_iter()
}

/// The items of fields whose length differs, in a window of their own. Collective; every rank has as many fields.
fn move_values<C: OneSided + ?Sized>(
    comm: &C,
    schema: &Schema,
    group: std::ops::Range<usize>,
    values: Vec<Vec<u8>>,
) -> Result<Part, DataError> {
    let own: Vec<u64> = values.iter().map(|field| field.len() as u64).collect();
    let mut all = vec![0_u64; own.len() * comm.size()];
    comm.all_gather(
        bytemuck::must_cast_slice(&own),
        bytemuck::must_cast_slice_mut(&mut all),
    )?;
    let of_group = &all[group.start * own.len()..group.end * own.len()];
    let layouts = of_group.chunks_exact(own.len()).map(|lens| {
        let lens = lens.iter().map(|&len| usize::try_from(len));
        let lens: Result<Vec<_>, _> = lens.collect();
        Layout::of_lens(lens.map_err(|_| DataError::TooLarge {
            what: "the rows of a rank",
        })?)
    });
    let layouts: Vec<Layout> = settle(comm, layouts.collect())?;
    let rank = comm.rank();
    let layout = &layouts[rank - group.start];
    let mut window = comm.window(layout.len())?;
    let mut values = values.into_iter();
    window.with_local(&mut |part| {
        part[..CANARY].copy_from_slice(&canary(schema, rank));
        // each is given back when it is copied
        for (column, field) in values.by_ref().enumerate() {
            layout.column(part, column).copy_from_slice(&field);
        }
    })?;
    debug_assert_eq!(own.len(), varying(schema).count());
    Ok(Part { window, layouts })
}

/// What the part of a rank begins with.
pub(super) fn canary(schema: &Schema, rank: usize) -> [u8; CANARY] {
    let mut bytes = [0; CANARY];
    let print = schema.fingerprint();
    bytes[..8].copy_from_slice(&print.to_ne_bytes());
    let sum = checksum(&[print.to_ne_bytes(), (rank as u64).to_ne_bytes()].concat());
    bytes[8..].copy_from_slice(&sum.to_ne_bytes());
    bytes
}
