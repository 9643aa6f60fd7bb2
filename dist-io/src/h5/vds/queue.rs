//! [`FileQueue`]: saves that are asked for now and carried out later.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use dap_protocol::{DistBuffer, DistributedArray, Element, HostArray, HostBuffer};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};

use super::super::Wanted;
use super::from_file::from_file;
use super::to_file::{Job, ToFile};
use super::write::save;
use crate::{IoError, IoReport};

/// Saves that return at once, and are carried out together with all ranks at the next call that needs them.
///
/// - [`to_file_queued`](Self::to_file_queued) is local: it copies the rank's part and returns. The array may change afterwards.
/// - [`fence`](Self::fence) is collective: it carries out what is queued, in order, and returns when all of it is published. Call it
///   before another program opens a file, and before the queue goes.
/// - [`from_file`](Self::from_file) is collective, and sees what was queued before it without a fence: it carries that out first.
///
/// No thread works in the background: collective calls on one communicator must come from one thread at a time, and only the
/// program knows when it makes its own. So nothing is written between these calls, and **what is still queued when the queue is
/// dropped is not written**, which a line on the standard error says: dropping is not collective, a rank that fails may do it
/// alone. [`scope`](Self::scope) ends with a fence.
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::legate::FileQueue;
/// use dist_io::IoError;
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("steps.h5");
/// let rows = Distribution::over(2).shape([4]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let mut queue = FileQueue::new(comm);
///     for step in 0..3 {
///         let mine = HostArray::new(vec![2], vec![f64::from(step); 2])?;
///         let mine = DistBuffer::new(rows.dim_data(comm.rank())?, mine)?;
///         queue.to_file_queued(&mine, &path, &format!("/t{step}")); // at once
///     }
///     let last = queue.from_file::<f64>(&path, "/t2", &rows)?; // sees it
///     assert_eq!(last.buffer().data(), [2.0, 2.0]);
///     queue.fence()?; // now other programs see it too
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "what is queued is written by `fence`"]
pub struct FileQueue<'c, C: ?Sized> {
    comm: &'c C,
    jobs: VecDeque<Job<'static>>,
}

impl<'c, C: Communicator + ?Sized> FileQueue<'c, C> {
    /// An empty queue. Local.
    pub fn new(comm: &'c C) -> Self {
        Self {
            comm,
            jobs: VecDeque::new(),
        }
    }

    /// Calls `work` with an empty queue, and then carries out what is queued. Collective.
    ///
    /// ```
    /// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    /// use dist_comm::SingleComm;
    /// use dist_io::legate::{FileQueue, from_file};
    /// use dist_io::{IoError, Wanted};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// let comm = SingleComm::new();
    /// let numbers = DistBuffer::new(DimData::new(vec![DimDict::whole(2)?]), HostArray::new(vec![2], vec![7_i8, 1])?)?;
    /// FileQueue::scope(&comm, |queue| {
    ///     queue.to_file_queued(&numbers, &path, "n");
    ///     Ok(())
    /// })?;
    /// assert_eq!(from_file::<i8>(&path, "n", Wanted::AsSaved, &comm)?, numbers);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`IoError::Agreed`] when `work` fails on a rank, and nothing more is written then; those of [`fence`](Self::fence).
    pub fn scope<R>(
        comm: &'c C,
        work: impl FnOnce(&mut Self) -> Result<R, IoError>,
    ) -> Result<R, IoError> {
        let mut queue = Self::new(comm);
        let worked = work(&mut queue);
        let worked = agree(comm, worked);
        if worked.is_err() {
            queue.jobs.clear();
        }
        let worked = worked?;
        queue.fence()?;
        Ok(worked)
    }

    /// Queues what [`to_file`](crate::legate::to_file) does, with a copy of the rank's part. Local; every rank queues the same saves in
    /// the same order. Whatever is wrong, memory that cannot be had included, shows when it is carried out, on all ranks.
    pub fn to_file_queued<'a, A>(&mut self, array: &'a A, path: impl AsRef<Path>, key: &str)
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        self.queue(ToFile::new(path).key(key), array);
    }

    /// Queues what [`ToFile::save`] does, as [`to_file_queued`](Self::to_file_queued) does. Local.
    pub fn queue<'a, A>(&mut self, how: ToFile, array: &'a A)
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let job = Job::new(how, &array.distarray()).owned();
        self.jobs.push_back(job);
    }

    /// Number of saves that are queued. Local.
    #[must_use]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether nothing is queued. Local.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Carries out what is queued, in order; returns when all of it is published, with a report of each. Collective.
    ///
    /// # Errors
    /// The same on every rank. [`IoError::Differ`] when ranks have queued different numbers of saves, of which none is carried out
    /// then; otherwise that of the first save that failed, which is dropped. What came before it is published, what came after it
    /// is still queued.
    pub fn fence(&mut self) -> Result<Vec<IoReport>, IoError> {
        let all = self.comm.all_gather_value(self.jobs.len() as u64)?;
        if let Some(rank) = all.iter().position(|&queued| queued != all[0]) {
            return Err(IoError::Differ {
                what: "number of queued saves",
                rank,
                given: all[rank].to_string(),
                allowed: all[0].to_string(),
            });
        }
        let mut reports = Vec::with_capacity(self.jobs.len());
        while let Some(job) = self.jobs.pop_front() {
            reports.push(save(self.comm, &job)?);
        }
        Ok(reports)
    }

    /// Carries out what is queued, and then loads a dataset as [`from_file`](crate::legate::from_file) does. Collective.
    ///
    /// # Errors
    /// Those of [`fence`](Self::fence), then those of [`from_file`](crate::legate::from_file).
    pub fn from_file<'a, T: Element>(
        &mut self,
        path: impl AsRef<Path>,
        key: &str,
        wanted: impl Into<Wanted<'a>>,
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        self.fence()?;
        from_file(path, key, wanted, self.comm)
    }
}

impl<C: ?Sized> Drop for FileQueue<'_, C> {
    fn drop(&mut self) {
        if let Some(first) = self.jobs.front()
            && !std::thread::panicking()
        {
            let saves = self.jobs.len();
            let (path, name) = (
                first.how.path.display(),
                first.how.key.trim_start_matches('/'),
            );
            // nobody is left to tell when this fails
            let _ = writeln!(
                io::stderr(),
                "dist-io: no fence came after queued saves: {saves} not written, the first of them {path}:/{name}"
            );
        }
    }
}

impl<C: ?Sized> fmt::Debug for FileQueue<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let queued = self.jobs.iter().map(|job| (&job.how.path, &job.how.key));
        f.debug_list().entries(queued).finish()
    }
}
