//! The state that the ranks of one communicator share, and the gate at which they meet.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::bell::Bell;
use super::mail::Mailbox;
use super::window::Slots;
use crate::{CommError, Operation};

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A rank that panicked.
pub(super) struct Fault {
    pub(super) rank: usize,
    pub(super) during: Option<Operation>,
    pub(super) message: String,
}

/// What all ranks of one run share, whatever communicators they make.
pub(super) struct World {
    pub(super) limit: Duration,
    pub(super) bell: Bell,
    /// Counts what may keep a wait from ending, so that the usual wait need not look closer.
    alarms: AtomicUsize,
    departed: Vec<AtomicBool>,
    fault: OnceLock<Fault>,
    /// The call in which a rank panicked, by rank.
    panicked_in: Vec<AtomicU32>,
}

impl World {
    pub(super) fn new(size: usize, limit: Duration) -> Self {
        Self {
            limit,
            bell: Bell::new(size),
            alarms: AtomicUsize::new(0),
            departed: (0..size).map(|_| AtomicBool::new(false)).collect(),
            fault: OnceLock::new(),
            panicked_in: (0..size).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    fn alarm(&self) {
        self.alarms.fetch_add(1, Ordering::Release);
        self.bell.ring();
    }

    pub(super) fn depart(&self, rank: usize) {
        self.departed[rank].store(true, Ordering::Release);
        self.alarm();
    }

    pub(super) fn panicked_in(&self, rank: usize) -> Option<Operation> {
        Operation::from_code(self.panicked_in[rank].load(Ordering::Relaxed))
    }

    pub(super) fn set_panicked_in(&self, rank: usize, operation: Operation) {
        // The innermost call comes first, and stands.
        let _first = self.panicked_in[rank].compare_exchange(
            0,
            operation.code(),
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
    }

    /// Records a panic; the first one stands.
    pub(super) fn poison(&self, fault: Fault) {
        // A later panic is a consequence of the first, or as good as: nothing to do with it.
        drop(self.fault.set(fault));
        self.alarm();
    }
}

const BROKEN: u64 = 1;
const ONE_RANK: u64 = 2;
const COUNT: u64 = 0xffff << 1;
const GENERATION_SHIFT: u32 = 17;

/// The most ranks that the counter of the gate holds.
pub(super) const MAX_RANKS: usize = 0xffff;

/// The ranks of one communicator.
///
/// The gate's `state` holds, in one word so that it changes in one step, how often all ranks have met, how many have
/// arrived for the next time, and whether the gate is broken. Once broken nobody passes it any more.
pub(super) struct Group {
    pub(super) world: Arc<World>,
    /// Ranks of the world, by rank here.
    members: Vec<usize>,
    state: AtomicU64,
    /// One more than the meeting that a rank last arrived for; only for the text of errors.
    arrived: Vec<AtomicU64>,
    why_broken: Mutex<Option<CommError>>,
    left: Vec<AtomicBool>,
    /// By receiver.
    mail: Vec<Mailbox>,
    nursery: Mutex<HashMap<(u64, u32), Newborn>>,
    pub(super) slots: Slots,
}

/// Something that several ranks take, made by the first to come.
struct Newborn {
    takers: usize,
    thing: Arc<dyn Any + Send + Sync>,
}

impl Group {
    pub(super) fn new(world: Arc<World>, members: Vec<usize>) -> Self {
        let size = members.len();
        Self {
            world,
            members,
            state: AtomicU64::new(0),
            arrived: (0..size).map(|_| AtomicU64::new(0)).collect(),
            why_broken: Mutex::new(None),
            left: (0..size).map(|_| AtomicBool::new(false)).collect(),
            mail: (0..size).map(|_| Mailbox::default()).collect(),
            nursery: Mutex::default(),
            slots: Slots::new(size),
        }
    }

    pub(super) fn size(&self) -> usize {
        self.members.len()
    }

    pub(super) fn member(&self, rank: usize) -> usize {
        self.members[rank]
    }

    pub(super) fn mail(&self, to: usize) -> &Mailbox {
        &self.mail[to]
    }

    /// This rank drops its communicator. Not where that is because it panics: then the others are to learn of the panic, which is
    /// known once everything is dropped.
    pub(super) fn leave(&self, rank: usize) {
        if std::thread::panicking() {
            return;
        }
        self.left[rank].store(true, Ordering::Release);
        self.world.alarm();
    }

    /// Why a wait for any of `ranks` cannot end, if so.
    pub(super) fn trouble(
        &self,
        operation: Operation,
        mut ranks: impl Iterator<Item = usize>,
    ) -> Option<CommError> {
        if self.world.alarms.load(Ordering::Acquire) == 0 {
            return None;
        }
        // Before the panic is looked for: a rank that has left because of one has left it to be found.
        let gone = ranks.find(|&rank| {
            self.left[rank].load(Ordering::Acquire)
                || self.world.departed[self.members[rank]].load(Ordering::Acquire)
        });
        if let Some(fault) = self.world.fault.get() {
            let Fault {
                rank,
                during,
                message,
            } = fault;
            return Some(CommError::Panicked {
                operation,
                rank: *rank,
                during: *during,
                message: message.clone(),
            });
        }
        gone.map(|rank| CommError::Departed { operation, rank })
    }

    /// Waits for `ready`, as long as `ranks` can still bring it about and the time limit allows.
    pub(super) fn wait(
        &self,
        operation: Operation,
        ranks: impl Iterator<Item = usize> + Clone,
        mut ready: impl FnMut() -> bool,
    ) -> Result<(), CommError> {
        let mut trouble = None;
        let limit = self.world.limit;
        let came = self.world.bell.wait(Some(limit), || {
            // Trouble first: what a rank did before it left still counts.
            let seen = self.trouble(operation, ranks.clone());
            if ready() {
                return true;
            }
            trouble = seen;
            trouble.is_some()
        });
        match trouble {
            Some(trouble) => Err(trouble),
            None if came => Ok(()),
            None => Err(CommError::Timeout {
                operation,
                limit,
                missing: ranks.collect(),
            }),
        }
    }

    /// Arrives at the gate and waits for all ranks: the number of the meeting, counted from 0.
    ///
    /// An error means that nobody passes this meeting, nor any later one.
    pub(super) fn enter(&self, rank: usize, operation: Operation) -> Result<u64, CommError> {
        let size = self.size() as u64;
        let mut state = self.state.load(Ordering::Acquire);
        self.arrived[rank].store((state >> GENERATION_SHIFT) + 1, Ordering::Relaxed);
        let meeting = loop {
            if state & BROKEN != 0 {
                return Err(self.broken_for(operation));
            }
            let meeting = state >> GENERATION_SHIFT;
            let last = (state & COUNT) / ONE_RANK + 1 == size;
            let next = if last {
                (meeting + 1) << GENERATION_SHIFT
            } else {
                state + ONE_RANK
            };
            match self
                .state
                .compare_exchange_weak(state, next, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) if last => {
                    self.world.bell.ring();
                    return Ok(meeting);
                }
                Ok(_) => break meeting,
                Err(now) => state = now,
            }
        };
        let passed = |state: u64| state >> GENERATION_SHIFT != meeting;
        let waited = self.wait(operation, 0..self.size(), || {
            let state = self.state.load(Ordering::Acquire);
            passed(state) || state & BROKEN != 0
        });
        match waited {
            Ok(()) if passed(self.state.load(Ordering::Acquire)) => Ok(meeting),
            Ok(()) => Err(self.broken_for(operation)),
            Err(trouble) => self.break_gate(meeting, trouble, operation),
        }
    }

    /// Breaks the gate, unless the meeting took place after all.
    fn break_gate(
        &self,
        meeting: u64,
        trouble: CommError,
        operation: Operation,
    ) -> Result<u64, CommError> {
        let mut why = lock(&self.why_broken);
        let mut state = self.state.load(Ordering::Acquire);
        loop {
            if state >> GENERATION_SHIFT != meeting {
                return Ok(meeting);
            }
            if state & BROKEN != 0 {
                drop(why);
                return Err(self.broken_for(operation));
            }
            match self.state.compare_exchange_weak(
                state,
                state | BROKEN,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => break,
                Err(now) => state = now,
            }
        }
        let trouble = match trouble {
            CommError::Timeout {
                operation, limit, ..
            } => {
                let missing = (0..self.size())
                    .filter(|&rank| self.arrived[rank].load(Ordering::Relaxed) != meeting + 1)
                    .collect();
                CommError::Timeout {
                    operation,
                    limit,
                    missing,
                }
            }
            other => other,
        };
        *why = Some(trouble.clone());
        drop(why);
        self.world.bell.ring();
        Err(trouble)
    }

    fn broken_for(&self, operation: Operation) -> CommError {
        // Broken is set while the lock is held, so whoever sees it finds the reason.
        lock(&self.why_broken)
            .clone()
            .unwrap_or(CommError::Unavailable {
                operation,
                reason: "an earlier call failed on this communicator",
            })
    }

    /// Gives `takers` ranks the same thing: whoever comes first makes it. Call within a meeting; `key` is its number and
    /// a number within it.
    pub(super) fn share<T: Any + Send + Sync>(
        &self,
        key: (u64, u32),
        takers: usize,
        make: impl FnOnce() -> T,
    ) -> Option<Arc<T>> {
        let mut nursery = lock(&self.nursery);
        let newborn = nursery.entry(key).or_insert_with(|| Newborn {
            takers,
            thing: Arc::new(make()),
        });
        newborn.takers -= 1;
        let thing = Arc::clone(&newborn.thing);
        if newborn.takers == 0 {
            nursery.remove(&key);
        }
        drop(nursery);
        thing.downcast().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranks_take_room_for_each_and_not_for_each_pair() {
        let size = MAX_RANKS;
        let world = Arc::new(World::new(size, Duration::from_secs(1)));
        let group = Group::new(world, (0..size).collect());
        assert_eq!(group.size(), size);
        assert_eq!(group.mail.len(), size);
    }
}
