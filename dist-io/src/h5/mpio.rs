//! Parallel HDF5: all ranks open the file together, and move their elements by collective transfers.
//!
//! ```text
//! rank 0     makes file and dataset, or looks it up, as for the other ways
//! all ranks  exchange in memory to slabs, unless their parts are boxes with long runs
//!            open the file ─► agree ─► transfer ─► agree ─► … ─► close        agree: every rank is ready, or none calls
//! ```
//!
//! A rank that is not ready keeps the others from entering a collective call, where they would wait for it for ever. One with
//! nothing to move calls as well, with nothing selected. Elements are moved in the file's own type, so that nothing is converted.

mod ffi;
mod part;
mod report;

use std::fs;
use std::mem;
use std::path::Path;

use dap_protocol::DimData;
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, ReduceOp};
use dist_maps::{AxisDist, Distribution};
use hdf5_metno as hdf5;
use hdf5_metno::{Dataset, Datatype};

use self::ffi::{Buffer, Prepared, Transfers};
use self::part::BoxPart;
use super::Refusal;
use super::chunk::count;
use super::dataset::walk;
use super::open::not_opened;
use super::together::{names, settle};
use crate::execute::{NO_EXCHANGE, exchange, room};
use crate::identity::Identity;
use crate::part::Extent;
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, Strategy};

pub use report::{Causes, CollectiveIo, IoMode};

/// Bytes that a rank moves in one call of the library, which counts them in 32 bits where a transfer turns out independent.
const CALL: u64 = 1 << 28;

/// Refuses a communicator whose ranks are not MPI processes. Collective.
pub(super) fn check(comm: &(impl Communicator + ?Sized)) -> Result<(), IoError> {
    let all = comm.all_gather_value(u8::from(comm.as_mpi().is_some()))?;
    match all.iter().position(|&is_mpi| is_mpi == 0) {
        None => Ok(()),
        Some(rank) => Err(IoError::NotMpi { rank }),
    }
}

/// A dataset of a file: what the file is known as, and what it is called now.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) path: &'a Path,
    pub(super) key: &'a str,
    pub(super) file: &'a Path,
    /// The file that was looked up, where it may have been replaced meanwhile.
    pub(super) held: Option<&'a fs::File>,
}

impl<'a> Named<'a> {
    /// A file that nobody else knows of.
    pub(super) fn new(path: &'a Path, key: &'a str, file: &'a Path) -> Self {
        Self {
            path,
            key,
            file,
            held: None,
        }
    }
}

/// Makes sure of room for the elements of a dataset that was just made, where it is known how much they take. By rank 0.
pub(super) fn reserve(file: &fs::File, plan: &IoPlan, is_filtered: bool) -> Result<(), Refusal> {
    let len = file.metadata().map_err(Refusal::os("look at the file"))?;
    let len = len.len();
    let (from, bytes) = match plan.layout() {
        // the file is as long as it will be
        FileLayout::Contiguous => (0, len),
        FileLayout::Chunked { chunk } if !is_filtered => {
            let chunks = count(plan.distribution().global_shape(), chunk);
            let item = plan.item_size() as u64;
            let of_chunk = chunk.iter().fold(item, |n, &k| n.saturating_mul(k));
            (len, chunks.saturating_mul(of_chunk))
        }
        FileLayout::Chunked { .. } => return Ok(()),
    };
    super::reserve::reserve(file, from, bytes)
}

/// Writes what every rank owns to a dataset that is there. Collective over MPI processes; equal plans.
pub(super) fn write(
    comm: &(impl Communicator + ?Sized),
    named: Named<'_>,
    plan: &IoPlan,
    elements: &[u8],
) -> Result<IoReport, IoError> {
    let (rank, item) = (comm.rank(), plan.item_size());
    let plan = by_boxes(plan);
    let mut report = IoReport::begun(plan.strategy(), 0);
    let mut slab = Vec::new();
    let (part, elements) = match plan.strategy() {
        Strategy::Direct => (box_of(plan.distribution(), rank, Extent::Owned), elements),
        Strategy::TwoPhase => {
            let redist = agree(comm, plan.exchange(rank))?.ok_or(NO_EXCHANGE)?;
            let requests = agree(comm, plan.requests(rank))?;
            slab = agree(comm, room(requests.elements(), item))?;
            report.exchanged_bytes = exchange::exchange(comm, &redist, item, elements, &mut slab)?;
            (box_of(plan.slabs(), rank, Extent::Owned), &slab[..])
        }
    };
    let part = agree(comm, part)?;
    let shape = plan.distribution().global_shape();
    let open = Open::new(comm, named, shape, item, Direction::Write)?;
    let bytes = Bytes::Write(elements);
    let how = (plan.layout(), true);
    let outcome = open.transfer(comm, part.as_ref(), how, bytes, &mut report);
    open.close(comm, outcome)?;
    drop(slab);
    Ok(report)
}

/// Reads what every rank stores of a dataset. Collective over MPI processes; equal plans.
///
/// Only one run of the file a rank is read by a collective transfer, and chunks, which are several, by each rank by itself. Of
/// several pieces the collective reads of Open MPI 4.1 (OMPIO, by `dynamic`, `dynamic_gen2` or `vulcan`) leave some out, and the library
/// puts zeros there. Before 1.14 the library also undoes filters that a chunk was not put through.
pub(super) fn read(
    comm: &(impl Communicator + ?Sized),
    named: Named<'_>,
    plan: &IoPlan,
    elements: &mut [u8],
) -> Result<IoReport, IoError> {
    let (rank, item) = (comm.rank(), plan.item_size());
    let collective = *plan.layout() == FileLayout::Contiguous;
    let plan = if collective {
        by_runs(plan)
    } else {
        by_boxes(plan)
    };
    let mut report = IoReport::begun(plan.strategy(), 0);
    let redist = agree(comm, plan.exchange(rank))?;
    let (part, mut slab) = if redist.is_some() {
        let requests = agree(comm, plan.requests(rank))?;
        let slab = agree(comm, room(requests.elements(), item))?;
        (box_of(plan.slabs(), rank, Extent::Owned), slab)
    } else {
        let part = box_of(plan.distribution(), rank, Extent::Stored);
        (part, Vec::new())
    };
    let part = agree(comm, part)?;
    let shape = plan.distribution().global_shape();
    let open = Open::new(comm, named, shape, item, Direction::Read)?;
    let bytes = Bytes::Read(if redist.is_some() {
        &mut slab
    } else {
        &mut *elements
    });
    let how = (plan.layout(), collective);
    let outcome = open.transfer(comm, part.as_ref(), how, bytes, &mut report);
    open.close(comm, outcome)?;
    if let Some(redist) = &redist {
        report.exchanged_bytes = exchange::exchange(comm, redist, item, &slab, elements)?;
    }
    Ok(report)
}

/// Reads a scalar, by every rank. Collective over MPI processes.
pub(super) fn read_scalar(
    comm: &(impl Communicator + ?Sized),
    named: Named<'_>,
    elements: &mut [u8],
) -> Result<IoReport, IoError> {
    let mut report = IoReport::begun(Strategy::Direct, 0);
    let part = BoxPart::new(&DimData::new(Vec::new()), Extent::Stored);
    let open = Open::new(comm, named, &[], elements.len(), Direction::Read)?;
    let bytes = Bytes::Read(elements);
    let how = (&FileLayout::Contiguous, true);
    let outcome = open.transfer(comm, part.as_ref(), how, bytes, &mut report);
    open.close(comm, outcome)?;
    Ok(report)
}

/// The plan, in two phases where some rank's elements are no box: the library gets no selection of many pieces.
fn by_boxes(plan: &IoPlan) -> IoPlan {
    let axes = plan.distribution().axes();
    if axes
        .iter()
        .all(|axis| matches!(axis, AxisDist::Block { .. }))
    {
        return plan.clone();
    }
    plan.clone().with_strategy(Strategy::TwoPhase)
}

/// The plan, in two phases where some rank's elements are no single run of a contiguous dataset.
fn by_runs(plan: &IoPlan) -> IoPlan {
    let axes = plan.distribution().axes();
    let mut axes = axes.iter().enumerate();
    let is_block = |axis: &AxisDist| matches!(axis, AxisDist::Block { .. });
    if axes.all(|(at, axis)| is_block(axis) && (at == 0 || axis.is_whole())) {
        return plan.clone();
    }
    plan.clone().with_strategy(Strategy::TwoPhase)
}

/// A rank's box; `None` where it has no place in the grid.
fn box_of(
    distribution: &Distribution,
    rank: usize,
    extent: Extent,
) -> Result<Option<BoxPart>, IoError> {
    if distribution.grid_rank(rank).is_none() {
        return Ok(None);
    }
    let part = BoxPart::new(&distribution.dim_data(rank)?, extent);
    part.map(Some).ok_or(IoError::Overflow {
        what: "number of elements of a part",
    })
}

/// A rank's buffer.
enum Bytes<'a> {
    Read(&'a mut [u8]),
    Write(&'a [u8]),
}

/// A dataset of a file that all ranks have opened together.
struct Open<'a> {
    named: Named<'a>,
    file: hdf5::File,
    dataset: Dataset,
    ty: Datatype,
}

impl<'a> Open<'a> {
    /// Opens a dataset, which has this shape and elements of so many bytes. Collective over MPI processes.
    fn new(
        comm: &(impl Communicator + ?Sized),
        named: Named<'a>,
        shape: &[u64],
        item: usize,
        direction: Direction,
    ) -> Result<Self, IoError> {
        let writing = direction == Direction::Write;
        let Named {
            path, key, file, ..
        } = named;
        // whoever may not open the file, or has no descriptor left, finds out before the ranks do it together
        let mut options = fs::OpenOptions::new();
        let plain = options.read(true).write(writing).open(file);
        let plain = settle(comm, path, key, plain.map_err(Refusal::os("open")))?;
        drop(plain);
        let opened = open(comm, file, writing);
        let verdict = match &opened {
            Ok(_) => Ok(()),
            Err(refusal) => Err(refusal.clone()),
        };
        if let Err(error) = settle(comm, path, key, verdict) {
            // closing is collective, and some rank may have nothing to close
            mem::forget(opened);
            return Err(error);
        }
        let file = opened.map_err(|refusal| IoError::Hdf5 {
            path: path.to_owned(),
            key: key.to_owned(),
            refusal: Box::new(refusal),
        })?;
        let found = same_file(named).and_then(|()| dataset_in(&file, key, shape, item));
        match settle(comm, path, key, found) {
            Ok((dataset, ty)) => Ok(Self {
                named,
                file,
                dataset,
                ty,
            }),
            Err(error) => {
                drop(file); // every rank has it
                Err(error)
            }
        }
    }

    /// Moves a rank's box between dataset and buffer. Collective.
    fn transfer(
        &self,
        comm: &(impl Communicator + ?Sized),
        part: Option<&BoxPart>,
        (layout, collective): (&FileLayout, bool),
        mut bytes: Bytes<'_>,
        report: &mut IoReport,
    ) -> Result<(), IoError> {
        let Named { path, key, .. } = self.named;
        let how = settle(comm, path, key, Transfers::new(collective))?;
        let most = CALL / self.ty.size().max(1) as u64;
        let pieces = part.map_or(Vec::new(), |part| part.pieces(most, layout));
        let calls = comm.all_reduce_value(pieces.len() as u64, ReduceOp::Max)?;
        let mut left = pieces.iter();
        for _ in 0..calls {
            let piece = left.next().map(|(file, memory)| (file, memory));
            let buffer = match &mut bytes {
                Bytes::Read(bytes) => Buffer::Read(bytes),
                Bytes::Write(bytes) => Buffer::Write(bytes),
            };
            let prepared = Prepared::new((&self.dataset, &self.ty), piece, buffer);
            let prepared = settle(comm, path, key, prepared)?;
            let moved = prepared.bytes();
            let went = prepared.run(&how).and_then(|()| how.went());
            let (mode, _, causes) = settle(comm, path, key, went)?;
            report.collective = Some(CollectiveIo::with(
                report.collective,
                IoMode::of(mode),
                causes,
            ));
            report.requests += u64::from(piece.is_some());
            report.file_bytes += moved;
        }
        Ok(())
    }

    /// Closes dataset and file, whatever came of the transfers; an error of theirs comes first. Collective.
    fn close(
        self,
        comm: &(impl Communicator + ?Sized),
        outcome: Result<(), IoError>,
    ) -> Result<(), IoError> {
        let Named { path, key, .. } = self.named;
        drop((self.dataset, self.ty));
        let flushed = self.file.flush();
        let closed = self.file.close();
        let closed = flushed
            .and(closed)
            .map_err(Refusal::library("close the file"));
        let closed = settle(comm, path, key, closed);
        outcome.and(closed)
    }
}

/// Opens a file by all ranks together. Collective over MPI processes.
fn open(
    comm: &(impl Communicator + ?Sized),
    file: &Path,
    writing: bool,
) -> Result<hdf5::File, Refusal> {
    let Some(mpi) = comm.as_mpi() else {
        // `check` has seen to that
        return Err(Refusal::Library {
            operation: "open".to_owned(),
            message: "no MPI communicator".to_owned(),
        });
    };
    // reading metadata together went wrong before 1.10.9
    let together = hdf5::library_version() >= (1, 10, 9);
    let mut builder = hdf5::File::with_options();
    builder.with_fapl(|access| {
        let access = access.mpio(mpi.as_raw(), None).coll_metadata_write(true);
        if together {
            access.all_coll_metadata_ops(true)
        } else {
            access
        }
    });
    let opened = if writing {
        builder.open_rw(file)
    } else {
        builder.open(file)
    };
    opened.map_err(|error| not_opened(file, error))
}

/// Checks that a name still is that of the file that was looked up.
fn same_file(named: Named<'_>) -> Result<(), Refusal> {
    let Some(held) = named.held else {
        return Ok(());
    };
    let look = |meta: std::io::Result<fs::Metadata>| {
        let meta = meta.map_err(Refusal::os("look at the file"))?;
        Ok::<_, Refusal>(Identity::of(&meta))
    };
    if look(fs::metadata(named.file))?.is_same_file(&look(held.metadata())?) {
        Ok(())
    } else {
        Err(Refusal::Changed)
    }
}

/// The dataset and its type, once it is known to be what rank 0 found or made.
fn dataset_in(
    file: &hdf5::File,
    key: &str,
    shape: &[u64],
    item: usize,
) -> Result<(Dataset, Datatype), Refusal> {
    let dataset = walk(file, &names(key)?)?;
    let ty = dataset
        .dtype()
        .map_err(Refusal::library("ask for the element type"))?;
    let found: Vec<u64> = dataset.shape().into_iter().map(|n| n as u64).collect();
    if found != shape || ty.size() != item {
        return Err(Refusal::Library {
            operation: "open the dataset".to_owned(),
            message: "it is another one than it was".to_owned(),
        });
    }
    Ok((dataset, ty))
}
