//! Waiting: look a little, give way a little, then sleep until somebody rings.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Looks before giving way, when every rank can have a core of its own.
const SPINS: u32 = 400;
/// Times to give way before sleeping.
const YIELDS: u32 = 100;

/// One bell for all ranks: whoever changes what others wait for rings it.
///
/// Rings are counted, and a sleeper sleeps only while the count stays as it was before it last looked. So it looks
/// without holding the lock, and looking may itself ring.
pub(super) struct Bell {
    spins: u32,
    rings: AtomicU64,
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    rung: Condvar,
}

impl Bell {
    pub(super) fn new(ranks: usize) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let spins = if ranks <= cores { SPINS } else { 0 };
        Self {
            spins,
            rings: AtomicU64::new(0),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            rung: Condvar::new(),
        }
    }

    /// Wakes the sleepers. Call it after the change they wait for.
    pub(super) fn ring(&self) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        // If this sees no sleeper, one that comes later reads the new count, and then sees the change.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.rung.notify_all();
        }
    }

    /// Waits for `ready`; false when it did not become so within `limit` (`None`: however long it takes).
    pub(super) fn wait(&self, limit: Option<Duration>, mut ready: impl FnMut() -> bool) -> bool {
        for _ in 0..self.spins {
            if ready() {
                return true;
            }
            std::hint::spin_loop();
        }
        let began = Instant::now();
        for _ in 0..YIELDS {
            if ready() {
                return true;
            }
            if limit.is_some_and(|limit| began.elapsed() >= limit) {
                return false;
            }
            thread::yield_now();
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let came = loop {
            let rings = self.rings.load(Ordering::SeqCst);
            if ready() {
                break true;
            }
            if !self.sleep(
                rings,
                limit.map(|limit| limit.saturating_sub(began.elapsed())),
            ) {
                break false;
            }
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        came
    }

    /// Sleeps until the bell has rung since `rings`; false when that takes longer than `limit`.
    fn sleep(&self, rings: u64, limit: Option<Duration>) -> bool {
        let guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = |(): &mut ()| self.rings.load(Ordering::SeqCst) == rings;
        match limit {
            None => {
                drop(
                    self.rung
                        .wait_while(guard, silent)
                        .unwrap_or_else(PoisonError::into_inner),
                );
                true
            }
            Some(limit) => {
                let woken = self
                    .rung
                    .wait_timeout_while(guard, limit, silent)
                    .unwrap_or_else(PoisonError::into_inner);
                !woken.1.timed_out()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_may_ring_and_sleepers_wake() {
        let bell = Bell::new(100);
        let (asked, answered) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=50 {
                    thread::sleep(Duration::from_micros(300));
                    asked.store(round, Ordering::Release);
                    bell.ring();
                    assert!(bell.wait(None, || answered.load(Ordering::Acquire) == round));
                }
            });
            scope.spawn(|| {
                for round in 1..=50 {
                    let ready = || {
                        let is_asked = asked.load(Ordering::Acquire) == round;
                        if is_asked {
                            answered.store(round, Ordering::Release);
                            bell.ring();
                        }
                        is_asked
                    };
                    assert!(bell.wait(Some(Duration::from_secs(60)), ready));
                }
            });
        });
    }

    #[test]
    fn a_wait_has_a_limit() {
        let began = Instant::now();
        assert!(!Bell::new(1).wait(Some(Duration::from_millis(20)), || false));
        assert!(began.elapsed() >= Duration::from_millis(20));
    }
}
