//! Work on one chunk after another, by some threads of a rank.

use std::num::NonZero;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::filter::Scratch;
use crate::h5::Refusal;

/// The threads of one rank of so many: the processors that it may use, shared among the ranks.
pub(in crate::h5) fn threads(ranks: usize) -> usize {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    (processors / ranks.max(1)).max(1)
}

/// Calls `work` for every number of the range, in any order and by so many threads, each with its own buffers. After an error
/// the rest is left undone; it is that of the lowest number that failed.
pub(super) fn in_threads(
    threads: usize,
    range: Range<u64>,
    work: &(dyn Fn(u64, &mut Scratch) -> Result<(), Refusal> + Sync),
) -> Result<(), Refusal> {
    let len = range.end.saturating_sub(range.start);
    let threads = u64::try_from(threads).unwrap_or(u64::MAX).min(len);
    let next = AtomicU64::new(range.start);
    let failed = Mutex::new(None::<(u64, Refusal)>);
    let worker = || {
        let mut scratch = Scratch::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= range.end || locked(&failed).is_some() {
                break;
            }
            if let Err(refusal) = work(number, &mut scratch) {
                let mut failed = locked(&failed);
                if failed.as_ref().is_none_or(|(first, _)| number < *first) {
                    *failed = Some((number, refusal));
                }
                break;
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // where there is no thread to be had, the others do its work
            if thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failed {
        None => Ok(()),
        Some((_, refusal)) => Err(refusal),
    }
}

/// What a mutex guards; a thread that panicked takes the others with it at the end of their scope.
pub(super) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once_and_an_error_of_a_failed_one() {
        for threads in [0, 1, 3, 20] {
            let seen = Mutex::new(Vec::new());
            in_threads(threads, 5..17, &|number, _| {
                locked(&seen).push(number);
                Ok(())
            })
            .unwrap();
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, (5..17).collect::<Vec<_>>());
            let refused = in_threads(threads, 0..9, &|number, _| match number {
                4 => Err(Refusal::Memory { bytes: number }),
                _ => Ok(()),
            });
            assert_eq!(refused, Err(Refusal::Memory { bytes: 4 }));
        }
        in_threads(2, 3..3, &|_, _| Err(Refusal::NotFound)).unwrap();
    }
}
