//! Carrying out a plan: [`write_elements`] and [`read_elements`], on any file whose elements lie in one piece.
//!
//! Elements are moved as bytes, so one copy of this code serves all element types.

pub(crate) mod exchange;

use dist_comm::agree::agree;
use dist_comm::{CommError, Communicator, SharedFile};
use large_pages::prefer_large_pages;

use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, Strategy};

/// Writes what every rank owns to a file, from byte `start` on. Collective; equal plans, and one file.
///
/// `elements` is the rank's buffer in C order, padding included; padding is not written. Nothing is synced.
///
/// ```
/// use dist_comm::{Communicator, FileMode, SharedFileOps, ThreadComm};
/// use dist_io::{Direction, FileLayout, IoPlan, read_elements, write_elements};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers");
/// let cyclic = Distribution::over(2).shape([5]).cyclic(0).build()?;
/// let plan = IoPlan::new(&cyclic, 1, FileLayout::Contiguous, Direction::Write)?;
/// ThreadComm::run(2, |comm| {
///     let file = comm.open_shared(&path, FileMode::Create)?;
///     let mine: &[u8] = [&[10, 12, 14][..], &[11, 13]][comm.rank()];
///     write_elements(comm, &*file, 2, &plan, mine)?; // two bytes are left to a header
///     Ok::<_, dist_io::IoError>(())
/// })?;
/// assert_eq!(std::fs::read(&path)?, [0, 0, 10, 11, 12, 13, 14]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The same on every rank: [`IoError::Differ`] for plans of different distribution, direction or strategy, [`IoError::Ranks`],
/// [`IoError::Direction`] for a plan to read or for a chunked file, [`IoError::Overflow`] for a start near 2⁶⁴,
/// [`IoError::Agreed`] when a buffer has another length or a rank has no memory or cannot write, [`IoError::Comm`].
pub fn write_elements(
    comm: &(impl Communicator + ?Sized),
    file: &dyn SharedFile,
    start: u64,
    plan: &IoPlan,
    elements: &[u8],
) -> Result<IoReport, IoError> {
    let rank = check(comm, start, plan, Direction::Write, elements.len())?;
    let mut report = IoReport::begun(plan.strategy(), start);
    let requests = agree(comm, plan.requests(rank))?;
    let item = plan.item_size();
    let mut write = |from: &[u8]| -> Result<(), CommError> {
        for run in requests.runs() {
            let bytes = &from[run.local * item..(run.local + run.len) * item];
            file.write_at(start + run.offset, bytes)?;
            report.file_bytes += bytes.len() as u64;
            report.requests += 1;
        }
        Ok(())
    };
    match plan.strategy() {
        Strategy::Direct => agree(comm, write(elements))?,
        Strategy::TwoPhase => {
            let redist = agree(comm, plan.exchange(rank))?.ok_or(NO_EXCHANGE)?;
            let mut slab = agree(comm, room(requests.elements(), item))?;
            let exchanged = exchange::exchange(comm, &redist, item, elements, &mut slab)?;
            agree(comm, write(&slab))?;
            report.exchanged_bytes = exchanged;
        }
    }
    Ok(report)
}

/// Reads what every rank stores from a file, from byte `start` on: communication padding too. Collective; equal plans, and one
/// file.
///
/// `elements` is the rank's buffer in C order, padding included.
///
/// ```
/// use dist_comm::{Communicator, FileMode, SharedFileOps, ThreadComm};
/// use dist_io::{Direction, FileLayout, IoPlan, read_elements};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers");
/// std::fs::write(&path, [0, 0, 10, 11, 12, 13, 14])?; // two bytes of a header, then five elements
/// let halves = Distribution::over(2).shape([5]).block(0).padding(1).build()?; // 3 and 2, and one of the neighbour's
/// let plan = IoPlan::new(&halves, 1, FileLayout::Contiguous, Direction::Read)?;
/// let parts = ThreadComm::run(2, |comm| {
///     let file = comm.open_shared(&path, FileMode::Read)?;
///     let mut mine = vec![0; plan.part(comm.rank())?.elements()];
///     read_elements(comm, &*file, 2, &plan, &mut mine)?; // collective
///     Ok::<_, dist_io::IoError>(mine)
/// })?;
/// assert_eq!(parts, [vec![10, 11, 12, 13], vec![12, 13, 14]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`write_elements`]; [`IoError::Agreed`] also when the file ends too early.
pub fn read_elements(
    comm: &(impl Communicator + ?Sized),
    file: &dyn SharedFile,
    start: u64,
    plan: &IoPlan,
    elements: &mut [u8],
) -> Result<IoReport, IoError> {
    let rank = check(comm, start, plan, Direction::Read, elements.len())?;
    let mut report = IoReport::begun(plan.strategy(), start);
    let requests = agree(comm, plan.requests(rank))?;
    let item = plan.item_size();
    let mut read = |to: &mut [u8]| -> Result<(), CommError> {
        for run in requests.runs() {
            let bytes = &mut to[run.local * item..(run.local + run.len) * item];
            file.read_at(start + run.offset, bytes)?;
            report.file_bytes += bytes.len() as u64;
            report.requests += 1;
        }
        Ok(())
    };
    match plan.strategy() {
        Strategy::Direct => agree(comm, read(elements))?,
        Strategy::TwoPhase => {
            let redist = agree(comm, plan.exchange(rank))?.ok_or(NO_EXCHANGE)?;
            let mut slab = agree(comm, room(requests.elements(), item))?;
            agree(comm, read(&mut slab))?;
            report.exchanged_bytes = exchange::exchange(comm, &redist, item, &slab, elements)?;
        }
    }
    Ok(report)
}

/// What a plan whose strategy is two-phase does not answer.
pub(crate) const NO_EXCHANGE: IoError = IoError::Overflow {
    what: "exchange of a direct plan",
};

/// Zeros for this many elements.
pub(crate) fn room(elements: usize, item: usize) -> Result<Vec<u8>, IoError> {
    zeroed(elements.saturating_mul(item))
}

/// So many zeros, or what stands for them, which the system makes when they are first touched, in large pages where it has them: in small
/// ones that takes it three times as long as reading them.
pub(crate) fn zeroed<T: Clone + Default>(elements: usize) -> Result<Vec<T>, IoError> {
    // asked for first where an answer is possible
    let there_is = Vec::<T>::new().try_reserve_exact(elements);
    there_is.map_err(|_| IoError::Memory {
        bytes: elements.saturating_mul(size_of::<T>()),
    })?;
    let mut zeros = vec![T::default(); elements];
    prefer_large_pages(&mut zeros);
    Ok(zeros)
}

/// Checks what every rank gave, and that it is the same; its rank. Collective.
fn check(
    comm: &(impl Communicator + ?Sized),
    start: u64,
    plan: &IoPlan,
    asked: Direction,
    given: usize,
) -> Result<usize, IoError> {
    let rank = comm.rank();
    let ranks = plan.distribution().ranks();
    let outcome = if ranks == comm.size() {
        fits(plan, rank, given)
    } else {
        Ok(()) // every rank says so below
    };
    let said = format!(
        "{} {} by {}, {} bytes for {} ranks, distribution {:016x}, from byte {start} on",
        plan.direction(),
        plan.layout(),
        plan.strategy(),
        plan.total_bytes(),
        ranks,
        plan.fingerprint()
    );
    let mut own = vec![u8::from(outcome.is_err())];
    own.extend_from_slice(said.as_bytes());
    let all = comm.all_gather_v(&own)?;
    let text = |rank: usize| all[rank].get(1..).unwrap_or_default();
    if let Some(rank) = (1..all.len()).find(|&rank| text(rank) != text(0)) {
        let words = |rank| String::from_utf8_lossy(text(rank)).into_owned();
        return Err(IoError::Differ {
            what: "plan",
            rank,
            given: words(rank),
            allowed: words(0),
        });
    }
    if ranks != comm.size() {
        return Err(IoError::Ranks {
            what: "the plan",
            given: ranks,
            allowed: comm.size(),
        });
    }
    if plan.direction() != asked || *plan.layout() != FileLayout::Contiguous {
        return Err(IoError::Direction {
            given: format!("{}, {}", plan.direction(), plan.layout()),
            asked: match asked {
                Direction::Read => "read a contiguous file",
                Direction::Write => "write a contiguous file",
            },
        });
    }
    if start.checked_add(plan.total_bytes()).is_none() {
        return Err(IoError::Overflow {
            what: "end of the array in the file",
        });
    }
    if all.iter().any(|said| said.first() != Some(&0)) {
        agree(comm, outcome)?;
    }
    Ok(rank)
}

/// Whether a buffer is as long as a rank's part.
fn fits(plan: &IoPlan, rank: usize, given: usize) -> Result<(), IoError> {
    // the buffer of an inactive rank of a scalar holds one element, which nobody looks at
    if plan.distribution().grid_rank(rank).is_none() {
        return Ok(());
    }
    let stored = plan.distribution().local_shape(rank);
    let bytes = stored
        .iter()
        .try_fold(plan.item_size(), |bytes, &n| bytes.checked_mul(n));
    let allowed = bytes.unwrap_or(usize::MAX);
    if given == allowed {
        Ok(())
    } else {
        Err(IoError::BufferLength { given, allowed })
    }
}
