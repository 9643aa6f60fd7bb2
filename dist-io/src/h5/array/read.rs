//! Reading through a window: from the file in its order, then to where the elements belong.
//!
//! ```text
//! direct      each rank reads the indices of its part               neighbours in the file are read with the gap between them
//! two-phase   each rank reads a slab of the window, then exchange   where parts interleave, or share chunks
//!
//! begun by all ranks together      the dataset is looked up, and the read planned
//! carried out by each alone        on a thread, if it is read ahead
//! finished by all together         errors are told, and slabs exchanged
//! ```

use std::num::NonZero;

use dap_protocol::{DimData, DistBuffer, Element, ElementType, HostArray};
use dist_comm::CommExt;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution, RedistPlan, Redistribution};

use super::any::HostBytes;
use super::handle::Handle;
use super::job::{Buffer, Job, Thread};
use super::written::State;
use crate::execute::{exchange, room};
use crate::h5::Refusal;
use crate::h5::chunk::threads_of_rank;
use crate::h5::load::check_values;
use crate::h5::source::{Source, TURNS, is_changed};
use crate::h5::together::settle;
use crate::part::Extent;
use crate::plan::straight;
use crate::{IoError, IoReport, Strategy};

/// A part that was read.
pub(super) struct Loaded<T> {
    pub(super) dim_data: DimData,
    pub(super) shape: Vec<usize>,
    pub(super) elements: Vec<T>,
    pub(super) report: IoReport,
}

impl<T: Element> Loaded<T> {
    pub(super) fn into_part(self) -> Result<DistBuffer<HostArray<T>>, IoError> {
        let buffer = HostArray::new(self.shape, self.elements)?;
        Ok(DistBuffer::new(self.dim_data, buffer)?)
    }
}

impl Loaded<u8> {
    /// As a buffer of elements of a type that is known when the program runs.
    pub(super) fn into_bytes(self, element: ElementType) -> Result<DistBuffer<HostBytes>, IoError> {
        let buffer = HostBytes::new(self.shape, element, self.elements);
        Ok(DistBuffer::new(self.dim_data, buffer)?)
    }
}

/// Bytes that reading a part takes on any rank, at most: those of the part, those that are read before they are exchanged and put in
/// order, and those that the last step takes beside the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) part: u64,
    pub(super) read: u64,
    pub(super) beside: u64,
}

/// What reading a handle's part in a distribution of it takes. Messages of an exchange between processes come beside it, and the
/// chunks that are decoded, one for each thread. Local; the same on every rank.
pub(super) fn need(handle: &Handle<'_>, distribution: &Distribution) -> Result<Need, IoError> {
    let item = handle.dataset.element.size();
    let part = most(distribution).saturating_mul(item as u64);
    let layout = handle.layout();
    let (read, sorted) = match handle.window.strategy(distribution, &layout, item) {
        Strategy::Direct => (part, part),
        Strategy::TwoPhase => {
            let slabs = handle.window.slabs(&layout, handle.comm.size())?;
            let slab = most(&slabs).saturating_mul(item as u64);
            (slab, slab)
        }
    };
    let sorted = if handle.window.ascends() { 0 } else { sorted };
    let read = read.saturating_add(sorted);
    // the bytes of `bool` are looked at before they are elements
    let beside = if handle.dataset.element == ElementType::Bool {
        read.saturating_add(part)
    } else {
        read
    };
    Ok(Need { part, read, beside })
}

/// Elements that a rank stores, at most.
fn most(distribution: &Distribution) -> u64 {
    let along = |axis: &AxisDist| (0..axis.ranks()).map(|c| axis.stored_len(c) as u64).max();
    let axes = distribution.axes().iter();
    axes.fold(1, |n: u64, axis| n.saturating_mul(along(axis).unwrap_or(0)))
}

/// Extents of a part in memory, and the number of its elements.
fn extents(dim_data: &DimData) -> Result<(Vec<usize>, usize), IoError> {
    let too_large = || IoError::Overflow {
        what: "number of elements of a part",
    };
    let shape = dim_data.local_shape().into_iter().map(usize::try_from);
    let shape: Vec<usize> = shape.collect::<Result<_, _>>().map_err(|_| too_large())?;
    if shape.contains(&0) {
        return Ok((shape, 0));
    }
    let elements = shape.iter().try_fold(1_usize, |n, &len| n.checked_mul(len));
    Ok((shape, elements.ok_or_else(too_large)?))
}

enum Work<T> {
    Here(Box<Job<T>>),
    Ahead(Thread<T>),
}

/// A read that all ranks have begun.
struct Begun<T> {
    /// The file before it was looked up.
    before: Option<State>,
    dim_data: DimData,
    shape: Vec<usize>,
    elements: usize,
    /// From the slabs that are read to the parts, in two phases.
    redist: Option<RedistPlan>,
    work: Work<T>,
}

/// How a rank's own work went, as it tells the others; the worst first.
const STALE: u8 = 4;
const CHANGED: u8 = 3;
const REFUSED: u8 = 2;
const FAILED: u8 = 1;
const GOOD: u8 = 0;

/// The part of a handle in a distribution of it, which is read ahead: [`ahead`](Self::ahead), and then [`finish`](Self::finish).
pub(super) struct Reading<'c, T> {
    handle: Handle<'c>,
    distribution: Distribution,
    /// `None` where it is read when it is asked for.
    begun: Option<Begun<T>>,
}

impl<'c, T: Element> Reading<'c, T> {
    /// Begins to read on a thread, without any lock on the file. What is wrong is told by [`finish`](Self::finish); chunks that the
    /// library has to find are read there, too. Collective.
    pub(super) fn ahead(handle: Handle<'c>, distribution: Distribution) -> Self {
        let begun = begin::<T>(&handle, &distribution).ok();
        let begun = begun.and_then(|begun| {
            let Work::Here(mut job) = begun.work else {
                return None;
            };
            job.source = job.source.without_library();
            if job.source.has_library() {
                return None;
            }
            Some(Begun {
                // without a thread there is nothing, and all ranks read when it is asked for
                work: Work::Ahead(Thread::begin(*job)),
                ..begun
            })
        });
        Self {
            handle,
            distribution,
            begun,
        }
    }

    /// Waits for the thread of every rank, and reads again where somebody has written to the file since. Collective.
    pub(super) fn finish(self) -> Result<Loaded<T>, IoError> {
        match self.begun {
            None => load_as(&self.handle, &self.distribution),
            Some(begun) => finish(&self.handle, &self.distribution, begun),
        }
    }
}

/// Looks the dataset up, which has to be as it was when the handle was opened, plans, and makes room. Collective.
fn begin<T: Element>(
    handle: &Handle<'_>,
    distribution: &Distribution,
) -> Result<Begun<T>, IoError> {
    let (comm, window) = (handle.comm, &handle.window);
    let (rank, element) = (comm.rank(), handle.dataset.element);
    handle.same()?;
    let before = handle.state();
    let dataset = &handle.dataset;
    let limits = dataset.limits.as_ref();
    let mut source = Source::open(comm, &dataset.path, &dataset.key, limits)?;
    handle.unchanged(&source.found)?;
    source.threads = NonZero::new(threads_of_rank(comm.size()));
    let (layout, item) = (handle.layout(), element.size());
    let dim_data = agree(comm, distribution.dim_data(rank))?;
    let (shape, elements) = agree(comm, extents(&dim_data))?;
    let strategy = window.strategy(distribution, &layout, item);
    let (selection, redist, buffer) = match strategy {
        Strategy::Direct => {
            let part = agree(comm, window.part(distribution, rank, Extent::Stored))?;
            (part, None, agree(comm, Buffer::new(elements, item))?)
        }
        Strategy::TwoPhase => {
            let slabs = window.slabs(&layout, comm.size())?;
            let straight = straight(distribution)?;
            let redist = Redistribution::between(&slabs, &straight).filling_padding();
            let redist = agree(comm, redist.plan(rank))?;
            let part = agree(comm, window.part(&slabs, rank, Extent::Owned))?;
            let slab = agree(comm, room(owned(&slabs, rank), item))?;
            (part, Some(redist), Buffer::Bytes(slab))
        }
    };
    let sorted = match selection.elements() {
        _ if selection.is_in_order() => Ok(Vec::new()),
        Some(elements) => room(elements, item),
        None => Err(IoError::Overflow {
            what: "number of elements of a part",
        }),
    };
    let job = Job {
        source,
        selection,
        element,
        buffer,
        sorted: agree(comm, sorted)?,
        report: IoReport::begun(strategy, 0),
    };
    Ok(Begun {
        before,
        dim_data,
        shape,
        elements,
        redist,
        work: Work::Here(Box::new(job)),
    })
}

/// Elements that a rank owns of slabs.
pub(super) fn owned(slabs: &Distribution, rank: usize) -> usize {
    if slabs.is_empty_on(rank) {
        return 0;
    }
    let shape = slabs.owned_shape(rank).into_iter();
    shape.fold(1, usize::saturating_mul)
}

/// Carries a read out, or waits for it; tells errors, and exchanges. Collective.
fn finish<T: Element>(
    handle: &Handle<'_>,
    distribution: &Distribution,
    begun: Begun<T>,
) -> Result<Loaded<T>, IoError> {
    let (comm, item) = (handle.comm, handle.dataset.element.size());
    let (done, is_old) = match begun.work {
        Work::Here(job) => (Some(job.run()), false),
        Work::Ahead(thread) => {
            let done = thread.wait();
            (
                done,
                begun.before.is_none() || begun.before != handle.state(),
            )
        }
    };
    let own = match done.as_ref().map(|done| &done.outcome) {
        None => STALE,
        Some(_) if is_old => STALE,
        Some(Ok(_)) => GOOD,
        Some(Err(error)) if is_changed(error) => CHANGED,
        Some(Err(IoError::Hdf5 { .. })) => REFUSED,
        Some(Err(_)) => FAILED,
    };
    let all = comm.all_gather_value(own)?;
    let done = match done {
        Some(done) if !all.contains(&STALE) => done,
        other => {
            drop(other);
            return load_as(handle, distribution);
        }
    };
    if all.contains(&CHANGED) {
        return Err(handle.refused(Refusal::Changed));
    }
    if all.contains(&REFUSED) {
        let own = match &done.outcome {
            Err(IoError::Hdf5 { refusal, .. }) => Err((**refusal).clone()),
            _ => Ok(()),
        };
        settle(comm, &handle.dataset.path, &handle.dataset.key, own)?;
    }
    let buffer = if all.iter().all(|&own| own == GOOD) {
        done.outcome?
    } else {
        agree(comm, done.outcome.map_err(|error| cause(&error)))?
    };
    drop(done.source);
    let mut report = done.report;
    let mut part = match &begun.redist {
        None => buffer,
        Some(redist) => {
            let mut slab = buffer;
            let mut part = agree(comm, Buffer::new(begun.elements, item))?;
            let moved = exchange::exchange(comm, redist, item, slab.bytes(), part.bytes());
            report.exchanged_bytes = moved?;
            part
        }
    };
    check_values(comm, part.bytes(), handle.dataset.element)?;
    let elements = match part {
        Buffer::Elements(all) => all,
        bytes @ Buffer::Bytes(_) => agree(comm, bytes.into_elements())?,
    };
    Ok(Loaded {
        dim_data: begun.dim_data,
        shape: begun.shape,
        elements,
        report,
    })
}

/// What went wrong on one rank alone, which is rank 0 to itself.
fn cause(error: &IoError) -> String {
    match error {
        IoError::Agreed(agreed) => agreed.cause.clone(),
        other => other.to_string(),
    }
}

/// Reads a handle's part in a distribution of it, again where the file is replaced meanwhile. `T` is the element type, or that of single
/// bytes. Collective.
pub(super) fn load_as<T: Element>(
    handle: &Handle<'_>,
    distribution: &Distribution,
) -> Result<Loaded<T>, IoError> {
    let mut turn = 1;
    loop {
        let begun = begin(handle, distribution);
        match begun.and_then(|begun| finish(handle, distribution, begun)) {
            Err(error) if is_changed(&error) && turn < TURNS => turn += 1,
            outcome => return outcome,
        }
    }
}

/// Loads a handle's part, its elements as bytes of this machine's order. Collective.
pub(in crate::h5) fn load_bytes(handle: &Handle<'_>) -> Result<DistBuffer<HostBytes>, IoError> {
    let loaded = load_as(handle, &handle.distribution)?;
    Ok(agree(
        handle.comm,
        loaded.into_bytes(handle.dataset.element),
    )?)
}

/// Loads a handle's part in a distribution of it. Collective.
pub(in crate::h5) fn load<T: Element>(
    handle: &Handle<'_>,
    distribution: &Distribution,
) -> Result<(DistBuffer<HostArray<T>>, IoReport), IoError> {
    let loaded = load_as::<T>(handle, distribution)?;
    let report = loaded.report;
    Ok((agree(handle.comm, loaded.into_part())?, report))
}
