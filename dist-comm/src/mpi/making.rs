//! Windows are made by all ranks or by none: what they tell each other after each has tried.

use super::meeting::{Met, Turn};
use super::raw::At;
use super::raw_window::Win;
use crate::CommError;
use crate::call::Call;

/// The functions of MPI that make a window, by number; an error is told as function and code.
const CALLS: [&str; 6] = [
    "MPI_Win_allocate_shared",
    "MPI_Win_allocate",
    "MPI_Win_set_errhandler",
    "MPI_Win_lock_all",
    "MPI_Win_shared_query",
    "MPI_Win_sync",
];
const MADE: u64 = 0;
const NO_MEMORY: u64 = 1;
const FIRST_CALL: u64 = 2;

/// What a rank has after it has tried: the window, if it came to that, and what else it needs, or why not.
pub(super) struct Attempt<T> {
    win: Option<Win>,
    outcome: Result<T, CommError>,
}

impl<T> Attempt<T> {
    /// Makes a window, and with it the rest.
    pub(super) fn new<W>(
        window: Result<(Win, W), CommError>,
        rest: impl FnOnce(Win, W) -> Result<T, CommError>,
    ) -> Self {
        match window {
            Ok((win, with)) => Self {
                win: Some(win),
                outcome: rest(win, with),
            },
            Err(error) => Self {
                win: None,
                outcome: Err(error),
            },
        }
    }

    /// The window and the rest if every rank has them; else the error of the lowest that has not, the same on all. Collective;
    /// `len` is what this rank wished for.
    pub(super) fn settle(self, turn: &mut Turn<'_>, len: usize) -> Result<(Win, T), CommError> {
        let (state, code) = match &self.outcome {
            Ok(_) => (MADE, 0),
            Err(CommError::Mpi { call, code, .. }) => {
                let number = CALLS.iter().position(|name| name == call);
                number.map_or((NO_MEMORY, 0), |number| {
                    (FIRST_CALL + number as u64, i64::from(*code))
                })
            }
            Err(_) => (NO_MEMORY, 0),
        };
        let note = [
            state,
            u64::from_ne_bytes(code.to_ne_bytes()),
            u64::from(self.win.is_some()),
        ];
        let size = turn.inner.size;
        let operation = turn.at.operation;
        let met = turn.meet(Call::new(operation).len(len), note, &[])?;
        let failed = (0..size).find(|&rank| met.note(rank)[0] != MADE);
        let failed = failed.map(|rank| told_error(&met, rank));
        let all_have_windows = (0..size).all(|rank| met.note(rank)[2] == 1);
        drop(met);
        match (failed, self.win, self.outcome) {
            (None, Some(win), Ok(rest)) => Ok((win, rest)),
            (error, win, outcome) => {
                // A window of some ranks only cannot be freed: that takes all.
                if let Some(win) = win.filter(|_| all_have_windows) {
                    win.free();
                }
                Err(error.or(outcome.err()).unwrap_or(CommError::Unavailable {
                    operation,
                    reason: "the window was not made",
                }))
            }
        }
    }
}

/// The error that rank `rank` told of.
fn told_error(met: &Met<'_>, rank: usize) -> CommError {
    let operation = met.turn.at.operation;
    let [state, code, _] = met.note(rank);
    let call = state
        .checked_sub(FIRST_CALL)
        .and_then(|number| CALLS.get(usize::try_from(number).ok()?).copied());
    let code = i32::try_from(i64::from_ne_bytes(code.to_ne_bytes())).unwrap_or(0);
    let error = call.and_then(|call| At { operation, rank }.check(call, code).err());
    error.unwrap_or(CommError::Allocation {
        operation,
        rank,
        bytes: met.len(rank) as u64,
    })
}
