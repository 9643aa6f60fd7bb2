//! Starting thread ranks, and what comes back from them.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use super::ThreadComm;
use super::group::{Fault, Group, MAX_RANKS, World, lock};
use crate::error::panic_text;
use crate::{Operation, limit};

const DEFAULT_LIMIT: Duration = Duration::from_secs(60);

/// How [`ThreadComm`] ranks are run: [`ThreadComm::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct ThreadRun {
    size: usize,
    limit: Duration,
}

impl ThreadRun {
    pub(super) fn new(size: usize) -> Self {
        let limit = limit::from_environment().unwrap_or(DEFAULT_LIMIT);
        Self { size, limit }
    }

    /// How long a rank waits for the others in one call before it gives up with
    /// [`CommError::Timeout`](crate::CommError::Timeout). 60 s, or the seconds in the variable `DIST_COMM_TIMEOUT`.
    pub fn timeout(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// As [`ThreadComm::run`].
    ///
    /// # Errors
    /// As [`ThreadComm::run`].
    pub fn run<R, E, F>(self, f: F) -> Result<Vec<R>, RunError<E>>
    where
        R: Send,
        E: Send,
        F: Fn(&ThreadComm) -> Result<R, E> + Sync,
    {
        let size = self.size;
        if size == 0 || size > MAX_RANKS {
            return Err(RunError::Size { given: size });
        }
        let world = Arc::new(World::new(size, self.limit));
        let group = Arc::new(Group::new(Arc::clone(&world), (0..size).collect()));
        let ended = AtomicUsize::new(0);
        let outcomes: Mutex<Vec<Outcome<R, E>>> = Mutex::default();
        let body = |rank: usize| {
            let comm = ThreadComm::new(Arc::clone(&group), rank);
            let result = match catch_unwind(AssertUnwindSafe(|| f(&comm))) {
                Ok(result) => result.map_err(RankFailure::Failed),
                Err(payload) => {
                    let (during, message) = (world.panicked_in(rank), panic_text(payload.as_ref()));
                    eprintln!("rank {rank} of {size} {}", PanicText(during, &message));
                    Err(RankFailure::Panicked { during, message })
                }
            };
            let order = ended.fetch_add(1, Ordering::Relaxed);
            if let Err(RankFailure::Panicked { during, message }) = &result {
                world.poison(Fault {
                    rank,
                    during: *during,
                    message: message.clone(),
                });
            }
            world.depart(rank);
            lock(&outcomes).push(Outcome {
                rank,
                order,
                result,
            });
        };
        let mut not_started = None;
        thread::scope(|scope| {
            let body = &body;
            for rank in 0..size {
                let started = thread::Builder::new()
                    .name(format!("rank {rank}"))
                    .spawn_scoped(scope, move || body(rank));
                if let Err(error) = started {
                    not_started = Some((rank, error.to_string()));
                    (rank..size).for_each(|rank| world.depart(rank));
                    break;
                }
            }
        });
        if let Some((rank, message)) = not_started {
            return Err(RunError::Start { rank, message });
        }
        collect(
            outcomes
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        )
    }
}

struct Outcome<R, E> {
    rank: usize,
    /// How many ranks ended before.
    order: usize,
    result: Result<R, RankFailure<E>>,
}

fn collect<R, E>(mut outcomes: Vec<Outcome<R, E>>) -> Result<Vec<R>, RunError<E>> {
    outcomes.sort_by_key(|outcome| outcome.rank);
    let (mut values, mut failures) = (Vec::with_capacity(outcomes.len()), Vec::new());
    for Outcome {
        rank,
        order,
        result,
    } in outcomes
    {
        match result {
            Ok(value) => values.push(value),
            Err(failure) => failures.push((order, rank, failure)),
        }
    }
    // A panic before an error, and else what came first: the others may be its consequences.
    let cause = (0..failures.len()).min_by_key(|&at| {
        (
            matches!(failures[at].2, RankFailure::Failed(_)),
            failures[at].0,
        )
    });
    let Some(cause) = cause else {
        return Ok(values);
    };
    let (_, rank, failure) = failures.remove(cause);
    let others = failures
        .into_iter()
        .map(|(_, rank, failure)| (rank, failure))
        .collect();
    Err(RunError::Rank {
        rank,
        failure,
        others,
    })
}

/// How a rank failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RankFailure<E> {
    /// It returned an error.
    Failed(E),
    /// It panicked.
    Panicked {
        /// The call on its communicator in which it panicked, if it was in one.
        during: Option<Operation>,
        /// Its panic message.
        message: String,
    },
}

impl<E: fmt::Display> fmt::Display for RankFailure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "failed: {error}"),
            Self::Panicked { during, message } => PanicText(*during, message).fmt(f),
        }
    }
}

struct PanicText<'a>(Option<Operation>, &'a str);

impl fmt::Display for PanicText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self(Some(operation), message) => write!(f, "panicked in {operation}: {message}"),
            Self(None, message) => write!(f, "panicked outside communication: {message}"),
        }
    }
}

/// Why [`ThreadComm::run`] has no results.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunError<E> {
    /// Ranks failed.
    Rank {
        /// The rank that panicked first or, without a panic, failed first.
        rank: usize,
        /// How.
        failure: RankFailure<E>,
        /// The other ranks that failed, ascending; often as a consequence.
        others: Vec<(usize, RankFailure<E>)>,
    },
    /// No ranks, or more than 65,535.
    Size {
        /// The number asked for.
        given: usize,
    },
    /// A thread could not be started.
    Start {
        /// Its rank.
        rank: usize,
        /// What the operating system said.
        message: String,
    },
}

impl<E: fmt::Display> fmt::Display for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rank {
                rank,
                failure,
                others,
            } => {
                write!(f, "rank {rank} {failure}")?;
                match others.len() {
                    0 => Ok(()),
                    1 => f.write_str(" (1 other rank failed too)"),
                    more => write!(f, " ({more} other ranks failed too)"),
                }
            }
            Self::Size { given } => write!(f, "{given} ranks, allowed are 1..={MAX_RANKS}"),
            Self::Start { rank, message } => {
                write!(f, "rank {rank} could not be started: {message}")
            }
        }
    }
}

// No `source`: the cause is part of the text, so that an `E` that is only displayed, a `Box<dyn Error>`, will do.
impl<E: fmt::Debug + fmt::Display> std::error::Error for RunError<E> {}
