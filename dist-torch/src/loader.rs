//! [`Loader`]: batches that threads read ahead.

mod queue;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use queue::Queue;

use crate::rows::chosen;
use crate::{Batch, BatchPool, DataError, Epoch, LoaderState, Rows, Schedule};

/// Reads the batches of a schedule ahead, in threads, and gives them out in order.
///
/// Each epoch has threads of its own, so epochs may overlap and be left at any time. At most `workers · prefetch` batches are read
/// ahead of the one that was taken last; their memory is used again once they are dropped.
///
/// ```
/// use std::sync::Arc;
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_torch::{DataError, DistDataset, Loader, Rows, Schedule, from_fn};
///
/// let seen = ThreadComm::run(2, |comm| {
///     let data = DistDataset::new("numbers", comm, &from_fn(10, Ok::<_, std::io::Error>))?;
///     let data = Arc::new(data);
///     let loader = Loader::new(&data, Schedule::new(10, 4)).rank(comm.rank(), comm.size())?.workers(2);
///     let mut seen = Vec::new();
///     for loaded in loader.epoch(0)? {
///         let loaded = loaded?;
///         assert_eq!(loaded.batch.field::<u64>("0")?.data(), loaded.rows);
///         seen.extend(loaded.rows);
///     }
///     Ok::<_, DataError>(seen)
/// })?;
/// let mut all = seen.concat();
/// all.sort();
/// assert_eq!(all, (0..10).collect::<Vec<_>>());
/// # Ok::<(), dist_comm::RunError<DataError>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Loader<R> {
    data: Arc<R>,
    schedule: Schedule,
    rank: usize,
    ranks: usize,
    workers: usize,
    prefetch: usize,
    fields: Vec<usize>,
    fingerprint: u64,
}

/// A batch, and which one it is.
#[derive(Debug)]
pub struct Loaded {
    /// The step, counted from where the epoch began or went on.
    pub step: u64,
    /// The rows of this rank.
    pub rows: Vec<u64>,
    /// How many of them, from the first on, are no repetition that fills up the last batch.
    pub real_rows: usize,
    /// What was read.
    pub batch: Batch,
}

impl<R: Rows + 'static> Loader<R> {
    /// A loader of all fields, by one thread that reads two batches ahead, on the only rank.
    pub fn new(data: &Arc<R>, schedule: Schedule) -> Self {
        Self {
            schedule,
            rank: 0,
            ranks: 1,
            workers: 1,
            prefetch: 2,
            fields: (0..data.schema().fields().len()).collect(),
            fingerprint: data.schema().fingerprint(),
            data: Arc::clone(data),
        }
    }

    /// Which of how many ranks this is: it reads its part of each batch.
    ///
    /// # Errors
    /// [`DataError::Rank`] when `rank` is not below `ranks`.
    pub fn rank(self, rank: usize, ranks: usize) -> Result<Self, DataError> {
        if rank >= ranks {
            return Err(DataError::Rank { given: rank, ranks });
        }
        Ok(Self {
            rank,
            ranks,
            ..self
        })
    }

    /// Threads; 0 means 1.
    pub fn workers(self, workers: usize) -> Self {
        let workers = workers.max(1);
        Self { workers, ..self }
    }

    /// Batches that are read ahead for each thread; 0 means 1.
    pub fn prefetch(self, prefetch: usize) -> Self {
        let prefetch = prefetch.max(1);
        Self { prefetch, ..self }
    }

    /// Only these fields.
    ///
    /// # Errors
    /// [`DataError::UnknownField`].
    pub fn fields(self, names: &[&str]) -> Result<Self, DataError> {
        let schema = self.data.schema();
        let fields: Result<_, _> = names.iter().map(|name| schema.index_of(name)).collect();
        Ok(Self {
            fields: fields?,
            ..self
        })
    }

    /// The batches of an epoch. Local.
    ///
    /// # Errors
    /// [`DataError::State`] when the schedule is not of so many rows as there are; as [`Schedule::epoch`]; [`DataError::Thread`] when a
    /// thread cannot be had.
    pub fn epoch(&self, epoch: u64) -> Result<LoaderEpoch, DataError> {
        self.resume(&self.schedule.state(epoch, 0, self.fingerprint))
    }

    /// The batches of an epoch after `f`, which runs in the threads: what is to be done to a batch before the step. Local.
    ///
    /// # Errors
    /// As [`epoch`](Self::epoch).
    pub fn epoch_with<T, F>(&self, epoch: u64, f: F) -> Result<LoaderEpoch<T>, DataError>
    where
        T: Send + 'static,
        F: Fn(Loaded) -> T + Send + Sync + 'static,
    {
        self.resume_with(&self.schedule.state(epoch, 0, self.fingerprint), f)
    }

    /// What is left of an epoch, from a saved state; the state's schedule counts. Local.
    ///
    /// # Errors
    /// As [`epoch`](Self::epoch), and [`DataError::State`] when the state is that of another data set.
    pub fn resume(&self, state: &LoaderState) -> Result<LoaderEpoch, DataError> {
        self.resume_with(state, |loaded| loaded)
    }

    /// As [`resume`](Self::resume), after `f`, as in [`epoch_with`](Self::epoch_with). Local.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub fn resume_with<T, F>(&self, state: &LoaderState, f: F) -> Result<LoaderEpoch<T>, DataError>
    where
        T: Send + 'static,
        F: Fn(Loaded) -> T + Send + Sync + 'static,
    {
        state.check(self.data.len(), self.fingerprint)?;
        let epoch = Arc::new(state.epoch()?);
        let depth = self.workers.saturating_mul(self.prefetch);
        let queue = Arc::new(Queue::new(epoch.steps(), depth as u64));
        let mut running = LoaderEpoch {
            state: *state,
            epoch: Arc::clone(&epoch),
            queue: Arc::clone(&queue),
            threads: Vec::new(),
        };
        let chosen = chosen(&self.fields, self.data.schema().fields().len())?;
        let worker = Arc::new(Worker {
            data: Arc::clone(&self.data),
            pool: BatchPool::empty(depth.saturating_add(1)),
            fields: (0..chosen.len()).filter(|&field| chosen[field]).collect(),
            rank: self.rank,
            ranks: self.ranks,
            epoch,
            f,
        });
        let threads = u64::try_from(self.workers).unwrap_or(u64::MAX);
        for number in 0..threads.min(worker.epoch.steps()) {
            let (worker, queue) = (Arc::clone(&worker), Arc::clone(&queue));
            let thread = thread::Builder::new().name(format!("loader {number}"));
            let thread = thread.spawn(move || worker.run(&queue));
            // those that run end when `running` is dropped
            running
                .threads
                .push(thread.map_err(|error| DataError::Thread {
                    message: error.to_string(),
                })?);
        }
        Ok(running)
    }
}

/// What a thread needs.
struct Worker<R, F> {
    data: Arc<R>,
    pool: BatchPool,
    fields: Vec<usize>,
    rank: usize,
    ranks: usize,
    epoch: Arc<Epoch>,
    f: F,
}

/// What a step came to: an item, an error, or a panic.
type Outcome<T> = Result<Result<T, DataError>, Box<dyn Any + Send>>;

impl<R: Rows, F> Worker<R, F> {
    fn run<T>(&self, queue: &Queue<Outcome<T>>)
    where
        F: Fn(Loaded) -> T,
    {
        while let Some(step) = queue.claim() {
            // a step that never came would be waited for for ever
            queue.deliver(step, catch_unwind(AssertUnwindSafe(|| self.load(step))));
        }
    }

    fn load<T>(&self, step: u64) -> Result<T, DataError>
    where
        F: Fn(Loaded) -> T,
    {
        let rows = self.epoch.rows(step, self.rank, self.ranks);
        let mut batch = self.pool.take_or_new();
        self.data.read_selected(&rows, &self.fields, &mut batch)?;
        Ok((self.f)(Loaded {
            step,
            real_rows: self.epoch.real_rows(step, self.rank, self.ranks),
            rows,
            batch,
        }))
    }
}

/// The batches of an epoch, in order, as threads read them: [`Loader::epoch`].
///
/// A step that fails is an item that is an error; the next ones come all the same. A panic of a thread is one of
/// [`next`](Iterator::next). Dropping it ends the threads, which finish the batch that they are reading.
#[derive(Debug)]
pub struct LoaderEpoch<T = Loaded> {
    state: LoaderState,
    epoch: Arc<Epoch>,
    queue: Arc<Queue<Outcome<T>>>,
    threads: Vec<JoinHandle<()>>,
}

impl<T> LoaderEpoch<T> {
    /// Where to go on after the item that was taken last, on any number of ranks. Every rank has the same state after the same
    /// number of items.
    #[must_use]
    pub fn state(&self) -> LoaderState {
        let position = match self.queue.taken().checked_sub(1) {
            None => self.state.position(),
            Some(last) => self.epoch.position_after(last),
        };
        self.state.at(position)
    }

    /// How many batches were read and not taken yet.
    #[must_use]
    pub fn ready(&self) -> usize {
        self.queue.ready()
    }
}

impl<T> Iterator for LoaderEpoch<T> {
    type Item = Result<T, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.queue.take()? {
            Ok(item) => Some(item),
            Err(panic) => resume_unwind(panic),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.epoch.steps() - self.queue.taken();
        let len = usize::try_from(left).ok();
        (len.unwrap_or(usize::MAX), len)
    }
}

impl<T> Drop for LoaderEpoch<T> {
    fn drop(&mut self) {
        self.queue.stop();
        for thread in self.threads.drain(..) {
            // it catches its panics
            let _ = thread.join();
        }
    }
}
