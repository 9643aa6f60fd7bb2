//! Waiting: look a little, give way a little, then sleep until somebody rings.

use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Looks before giving way, when every rank can have a core of its own.
const SPINS: u32 = 400;
/// Times to give way before sleeping.
const YIELDS: u32 = 100;

/// One bell for all ranks: whoever changes what others wait for rings it.
pub(super) struct Bell {
    spins: u32,
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
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            rung: Condvar::new(),
        }
    }

    /// Wakes the sleepers. Call it after the change they wait for.
    pub(super) fn ring(&self) {
        // Pairs with the fence in `wait`: either this sees the sleeper, or the sleeper sees the change.
        fence(Ordering::SeqCst);
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
        for _ in 0..YIELDS {
            if ready() {
                return true;
            }
            thread::yield_now();
        }
        let began = Instant::now();
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let came = loop {
            if ready() {
                break true;
            }
            guard = match limit {
                None => self
                    .rung
                    .wait(guard)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(limit) => {
                    let Some(left) = limit
                        .checked_sub(began.elapsed())
                        .filter(|left| !left.is_zero())
                    else {
                        break false;
                    };
                    self.rung
                        .wait_timeout(guard, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        };
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
        came
    }
}
