//! [`Queue`]: steps that are claimed by threads, done in any order, and taken in theirs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Steps `0..steps`, of which at most `depth` are claimed or done ahead of the one that is taken next.
pub(super) struct Queue<T> {
    steps: u64,
    depth: u64,
    inside: Mutex<Inside<T>>,
    /// A step may be claimed, or nothing is left to do.
    room: Condvar,
    /// A step is done.
    done: Condvar,
}

struct Inside<T> {
    claimed: u64,
    taken: u64,
    done: BTreeMap<u64, T>,
    stopped: bool,
}

impl<T> Queue<T> {
    pub(super) fn new(steps: u64, depth: u64) -> Self {
        Self {
            steps,
            depth: depth.max(1),
            inside: Mutex::new(Inside {
                claimed: 0,
                taken: 0,
                done: BTreeMap::new(),
                stopped: false,
            }),
            room: Condvar::new(),
            done: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inside<T>> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step to do, as soon as there is room for it; `None` when nothing is left. Who claims a step delivers it.
    pub(super) fn claim(&self) -> Option<u64> {
        let mut inside = self.lock();
        loop {
            if inside.stopped || inside.claimed >= self.steps {
                return None;
            }
            if inside.claimed - inside.taken < self.depth {
                inside.claimed += 1;
                return Some(inside.claimed - 1);
            }
            inside = self
                .room
                .wait(inside)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// What came of a step.
    pub(super) fn deliver(&self, step: u64, outcome: T) {
        let mut inside = self.lock();
        if !inside.stopped {
            inside.done.insert(step, outcome);
            self.done.notify_one();
        }
    }

    /// What came of the next step, as soon as it is done; `None` after the last one. By one thread.
    pub(super) fn take(&self) -> Option<T> {
        let mut inside = self.lock();
        loop {
            if inside.stopped || inside.taken >= self.steps {
                return None;
            }
            let next = inside.taken;
            if let Some(outcome) = inside.done.remove(&next) {
                inside.taken += 1;
                self.room.notify_one();
                if inside.taken == self.steps {
                    self.room.notify_all();
                }
                return Some(outcome);
            }
            inside = self
                .done
                .wait(inside)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How many steps were taken.
    pub(super) fn taken(&self) -> u64 {
        self.lock().taken
    }

    /// How many steps are done and not taken.
    pub(super) fn ready(&self) -> usize {
        self.lock().done.len()
    }

    /// No step is claimed any more, and what is done is dropped.
    pub(super) fn stop(&self) {
        let done = {
            let mut inside = self.lock();
            inside.stopped = true;
            self.room.notify_all();
            self.done.notify_all();
            std::mem::take(&mut inside.done)
        };
        // outside the lock: it is the caller's code
        drop(done);
    }
}

impl<T> fmt::Debug for Queue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("steps", &self.steps)
            .field("depth", &self.depth)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_in_any_order_is_taken_in_that_of_the_steps() {
        let queue = Queue::new(3, 2);
        assert_eq!((queue.claim(), queue.claim()), (Some(0), Some(1)));
        queue.deliver(1, 'b');
        queue.deliver(0, 'a');
        assert_eq!((queue.take(), queue.ready()), (Some('a'), 1));
        assert_eq!((queue.claim(), queue.claim()), (Some(2), None));
        queue.deliver(2, 'c');
        assert_eq!(
            (queue.take(), queue.take(), queue.take()),
            (Some('b'), Some('c'), None)
        );
        assert_eq!(queue.taken(), 3);
    }

    #[test]
    fn nothing_is_claimed_beyond_the_depth() {
        let queue = Queue::new(9, 2);
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut claimed = 0;
                while let Some(step) = queue.claim() {
                    assert!(step < queue.taken() + 2);
                    queue.deliver(step, step);
                    claimed += 1;
                }
                claimed
            });
            for step in 0..9 {
                assert_eq!(queue.take(), Some(step));
            }
            assert_eq!(worker.join().unwrap(), 9);
        });
    }

    #[test]
    fn stopping_ends_all_waiting() {
        let queue = Queue::new(9, 1);
        assert_eq!(queue.claim(), Some(0));
        std::thread::scope(|scope| {
            let claim = scope.spawn(|| queue.claim());
            let take = scope.spawn(|| queue.take());
            queue.stop();
            queue.deliver(0, 'a');
            assert_eq!((claim.join().unwrap(), take.join().unwrap()), (None, None));
        });
        assert_eq!(queue.ready(), 0);
    }
}
