//! One MPI library per process: who starts and stops it, what is freed before, what a panic does.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::thread;

use rsmpi::ffi;

use super::raw::{self, At, Comm};
use super::raw_window::Win;
use crate::error::panic_text;
use crate::{CommError, Operation};

static SESSION: Mutex<Current> = Mutex::new(Current {
    session: Weak::new(),
    started_here: false,
});
/// Handles that nobody uses any more; freed together with the other ranks.
static GRAVES: Mutex<Vec<Grave>> = Mutex::new(Vec::new());
/// Windows whose memory is in use.
static LIVE_WINDOWS: AtomicUsize = AtomicUsize::new(0);
static NEXT_ID: AtomicU64 = AtomicU64::new(1);
static HOOKS: Once = Once::new();
static FINALISED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static DOING: Cell<Option<Operation>> = const { Cell::new(None) };
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Current {
    session: Weak<Session>,
    /// We started MPI, so the last user stops it.
    started_here: bool,
}

impl Current {
    /// Whether MPI is ours to stop, and nobody uses it: not even a session opened since the last user of another let go.
    fn is_over(&self) -> bool {
        self.started_here && self.session.strong_count() == 0
    }
}

/// The library, while somebody uses it.
pub(super) struct Session {
    /// Any thread may call MPI (`MPI_THREAD_MULTIPLE`); else only the one that initialised it.
    any_thread: bool,
}

impl Session {
    /// The session of this process; starts MPI if nobody has.
    pub(super) fn open(may_start: bool) -> Result<Arc<Self>, CommError> {
        let at = At {
            operation: Operation::Init,
            rank: 0,
        };
        let refuse = |reason| {
            Err(CommError::Unavailable {
                operation: Operation::Init,
                reason,
            })
        };
        let mut current = lock(&SESSION);
        if let Some(session) = current.session.upgrade() {
            return Ok(session);
        }
        if raw::is_finalised() {
            return refuse("MPI was finalised, and cannot be started a second time in one process");
        }
        if !raw::is_initialised() {
            if !may_start {
                return refuse("MPI is not initialised");
            }
            raw::initialise(at)?;
            current.started_here = true;
        }
        let (any_thread, main) = raw::may_call_from_here();
        if !any_thread && !main {
            return refuse(
                "this thread may not call MPI, which was initialised without MPI_THREAD_MULTIPLE",
            );
        }
        let mut hooked = Ok(());
        HOOKS.call_once(|| {
            hooked = raw::on_finalise(at, free_all);
            abort_on_panic();
        });
        hooked?;
        let session = Arc::new(Self { any_thread });
        current.session = Arc::downgrade(&session);
        Ok(session)
    }

    /// Whether MPI may be called now, from this thread.
    pub(super) fn check(&self, operation: Operation) -> Result<(), CommError> {
        if FINALISED.load(Ordering::Acquire) {
            return Err(CommError::Unavailable {
                operation,
                reason: "MPI was finalised",
            });
        }
        if !self.any_thread && !raw::may_call_from_here().1 {
            let reason = "only the thread that initialised MPI may call it: it gave less than MPI_THREAD_MULTIPLE";
            return Err(CommError::Unavailable { operation, reason });
        }
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let current = lock(&SESSION);
        if current.is_over() && !thread::panicking() && !raw::is_finalised() {
            raw::finalise();
        }
    }
}

/// Whether MPI has been, or is being, finalised.
pub(super) fn is_finalised() -> bool {
    FINALISED.load(Ordering::Acquire)
}

/// A number of this process, for what is made: ascending.
pub(super) fn next_id() -> u64 {
    NEXT_ID.fetch_add(1, Ordering::Relaxed)
}

/// Handles that this rank no longer uses. All ranks that share them must free them in the same order.
pub(super) struct Grave {
    /// Local number, ascending as things were made.
    pub(super) id: u64,
    /// The communicator on which it was made, by its local number.
    pub(super) yard: u64,
    /// The same number and group on every rank that shares it.
    pub(super) key: [u64; 2],
    /// How many ranks share it.
    pub(super) sharers: usize,
    pub(super) windows: Vec<Win>,
    pub(super) comms: Vec<Comm>,
}

impl Grave {
    fn free(self) {
        for window in self.windows {
            window.free();
        }
        for comm in self.comms {
            comm.free();
        }
    }
}

/// Records that this rank is done with something; nothing is called.
pub(super) fn bury(grave: Grave) {
    if !is_finalised() {
        lock(&GRAVES).push(grave);
    }
}

/// The keys of what was made on communicator `yard` and waits to be freed.
pub(super) fn buried(yard: u64) -> Vec<[u64; 2]> {
    lock(&GRAVES)
        .iter()
        .filter(|grave| grave.yard == yard)
        .map(|grave| grave.key)
        .collect()
}

/// Frees what was made on communicator `yard` and all sharers have buried, as `all` (their keys together) shows.
pub(super) fn sweep(yard: u64, all: &[[u64; 2]]) {
    let count = |key| all.iter().filter(|&&other| other == key).count();
    for grave in exhume(|grave| grave.yard == yard && count(grave.key) == grave.sharers) {
        // A window keeps its communicator, so who has dropped a communicator has dropped its windows before.
        exhume(|window| window.yard == grave.id && window.comms.is_empty())
            .into_iter()
            .for_each(Grave::free);
        grave.free();
    }
}

/// Takes out what is to be freed, in an order that is the same on all ranks.
fn exhume(is_ready: impl Fn(&Grave) -> bool) -> Vec<Grave> {
    let mut ready: Vec<Grave> = lock(&GRAVES)
        .extract_if(.., |grave| is_ready(grave))
        .collect();
    ready.sort_by_key(|grave| grave.key);
    ready
}

/// A window's memory is in use from here to the drop.
pub(super) struct InUse;

impl InUse {
    pub(super) fn new() -> Self {
        LIVE_WINDOWS.fetch_add(1, Ordering::AcqRel);
        Self
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        LIVE_WINDOWS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Called by `MPI_Finalize`, whoever calls that: frees what is left, in the order in which it was made.
unsafe extern "C" fn free_all(_: ffi::MPI_Comm, _: c_int, _: *mut c_void, _: *mut c_void) -> c_int {
    FINALISED.store(true, Ordering::Release);
    let live = LIVE_WINDOWS.load(Ordering::Acquire);
    if live > 0 {
        // Their memory goes with MPI, and somebody may still read it.
        say(&format!(
            "MPI_Finalize was called while {live} windows or shared buffers are in use; drop them first"
        ));
        raw::abort(1);
    }
    let mut graves = std::mem::take(&mut *lock(&GRAVES));
    graves.sort_by_key(|grave| grave.id);
    graves.into_iter().for_each(Grave::free);
    0
}

/// Writes a line to standard error in one piece, so that the lines of several ranks do not mix.
pub(super) fn say(line: &str) {
    // Nobody is left to be told if this fails.
    let _outcome = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// What this thread is doing, for the text of a panic.
pub(super) struct Doing(Option<Operation>);

impl Doing {
    pub(super) fn begin(operation: Operation) -> Self {
        Self(DOING.replace(Some(operation)))
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        abort_if_panicking();
        DOING.set(self.0);
    }
}

/// Ends all ranks if this one is in a panic that [`abort_on_panic`] has not seen, because somebody replaced the hook.
pub(super) fn abort_if_panicking() {
    if thread::panicking() {
        abort_after_panic("");
    }
}

/// Says who panicked and in which call, and ends all ranks: after a panic no collective call can end.
fn abort_after_panic(message: &str) {
    if is_finalised() || raw::is_finalised() {
        return;
    }
    let at = At {
        operation: Operation::Finalise,
        rank: 0,
    };
    let rank = raw::world().rank(at).unwrap_or(0);
    let size = raw::world().size(at).unwrap_or(1);
    let during = DOING.get().map_or_else(
        || "outside communication".into(),
        |operation| format!("in {operation}"),
    );
    say(&format!("rank {rank} of {size} panicked {during}{message}"));
    raw::abort(101);
}

fn abort_on_panic() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        previous(info);
        abort_after_panic(&format!(": {}", panic_text(info.payload())));
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_session_alone_stops_what_was_started_here() {
        let current = |session: &Arc<Session>, started_here| Current {
            session: Arc::downgrade(session),
            started_here,
        };
        let session = Arc::new(Session { any_thread: true });
        let (ours, theirs) = (current(&session, true), current(&session, false));
        assert!(!ours.is_over());
        drop(session);
        assert!(ours.is_over());
        assert!(!theirs.is_over());
    }

    #[test]
    fn windows_are_freed_with_their_communicator() {
        let [yard, part, window, other] = [(); 4].map(|()| next_id());
        let grave = |id, yard, number| Grave {
            id,
            yard,
            key: [number, 0],
            sharers: 2,
            windows: Vec::new(),
            comms: Vec::new(),
        };
        bury(grave(window, part, 1));
        bury(grave(part, yard, 1));
        bury(grave(other, yard, 2));
        // The other rank has not dropped the part yet.
        sweep(yard, &[[1, 0], [2, 0]]);
        assert_eq!(buried(part), [[1, 0]]);
        sweep(yard, &[[1, 0], [2, 0], [1, 0]]);
        assert!(buried(part).is_empty());
        assert_eq!(buried(yard), [[2, 0]]);
    }
}
