//! What can go wrong between ranks: [`CommError`].

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{FileMode, Reduction};

/// A call that involves other ranks, as named in errors and in panic messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum Operation {
    /// [`Communicator::barrier`](crate::Communicator::barrier)
    Barrier = 1,
    /// [`Communicator::broadcast`](crate::Communicator::broadcast)
    Broadcast,
    /// [`Communicator::gather_v`](crate::Communicator::gather_v)
    GatherV,
    /// [`Communicator::all_gather_v`](crate::Communicator::all_gather_v)
    AllGatherV,
    /// [`Communicator::all_gather`](crate::Communicator::all_gather)
    AllGather,
    /// [`Communicator::all_to_all_v`](crate::Communicator::all_to_all_v)
    AllToAllV,
    /// [`Communicator::all_reduce`](crate::Communicator::all_reduce)
    AllReduce,
    /// [`Communicator::split`](crate::Communicator::split)
    Split,
    /// [`Communicator::send`](crate::Communicator::send)
    Send,
    /// [`Communicator::recv`](crate::Communicator::recv)
    Recv,
    /// [`Communicator::exchange`](crate::Communicator::exchange)
    Exchange,
    /// [`Communicator::lend`](crate::Communicator::lend)
    Lend,
    /// [`Communicator::alloc_shared`](crate::Communicator::alloc_shared)
    AllocShared,
    /// [`OneSided::window`](crate::OneSided::window)
    Window,
    /// [`Window::with_local`](crate::Window::with_local)
    WithLocal,
    /// [`Window::fence`](crate::Window::fence)
    Fence,
    /// [`Window::get`](crate::Window::get) and [`Window::get_many`](crate::Window::get_many)
    Get,
    /// [`Window::put`](crate::Window::put) and [`Window::put_many`](crate::Window::put_many)
    Put,
    /// Opening a file that all ranks share.
    FileOpen,
    /// A positioned or collective read of a shared file.
    FileRead,
    /// A positioned or collective write of a shared file.
    FileWrite,
    /// Setting the length of a shared file.
    FileSetLen,
    /// Writing a shared file through to the device.
    FileSync,
    /// Starting the message-passing library.
    Init,
    /// Stopping the message-passing library, and what is freed on the way.
    Finalise,
}

impl Operation {
    const ALL: [Self; 25] = [
        Self::Barrier,
        Self::Broadcast,
        Self::GatherV,
        Self::AllGatherV,
        Self::AllGather,
        Self::AllToAllV,
        Self::AllReduce,
        Self::Split,
        Self::Send,
        Self::Recv,
        Self::Exchange,
        Self::Lend,
        Self::AllocShared,
        Self::Window,
        Self::WithLocal,
        Self::Fence,
        Self::Get,
        Self::Put,
        Self::FileOpen,
        Self::FileRead,
        Self::FileWrite,
        Self::FileSetLen,
        Self::FileSync,
        Self::Init,
        Self::Finalise,
    ];

    /// The number that stands for the operation between ranks; never 0.
    pub(crate) fn code(self) -> u32 {
        self as u32
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        // The list is in the order of the codes, which start at 1; a test holds it to that.
        usize::try_from(code)
            .ok()?
            .checked_sub(1)
            .and_then(|at| Self::ALL.get(at).copied())
    }

    /// The name of the call, as written in code.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::GatherV => "gather_v",
            Self::AllGatherV => "all_gather_v",
            Self::AllGather => "all_gather",
            Self::AllToAllV => "all_to_all_v",
            Self::AllReduce => "all_reduce",
            Self::Split => "split",
            Self::Send => "send",
            Self::Recv => "recv",
            Self::Exchange => "exchange",
            Self::Lend => "lend",
            Self::AllocShared => "alloc_shared",
            Self::Window => "window",
            Self::WithLocal => "with_local",
            Self::Fence => "fence",
            Self::Get => "get",
            Self::Put => "put",
            Self::FileOpen => "open_shared",
            Self::FileRead => "file read",
            Self::FileWrite => "file write",
            Self::FileSetLen => "file set_len",
            Self::FileSync => "file sync",
            Self::Init => "initialise",
            Self::Finalise => "finalise",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a call that involves other ranks failed.
///
/// Mistakes in the arguments of a collective call are found after the ranks have met, so every rank gets the same value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommError {
    /// A rank that is not part of the communicator.
    #[error("{operation}: rank {given} is out of range, allowed are 0..{size}")]
    RankOutOfRange {
        /// The call.
        operation: Operation,
        /// The rank asked for.
        given: usize,
        /// How many ranks there are.
        size: usize,
    },
    /// A message from a rank to itself.
    #[error("{operation}: rank {rank} names itself as its peer, allowed are the other ranks")]
    SelfMessage {
        /// The call.
        operation: Operation,
        /// The rank that called.
        rank: usize,
    },
    /// A tag above [`MAX_TAG`](crate::MAX_TAG).
    #[error("{operation}: tag {given} is too large, allowed are 0..={allowed}")]
    Tag {
        /// The call.
        operation: Operation,
        /// The tag given.
        given: u32,
        /// The largest one.
        allowed: u32,
    },
    /// A length, in bytes or in parts, that does not fit the one expected.
    #[error("{operation}: rank {rank} gives {what} {given}, allowed is {allowed}")]
    Length {
        /// The call.
        operation: Operation,
        /// The rank whose argument does not fit.
        rank: usize,
        /// What is counted.
        what: &'static str,
        /// The length it gave.
        given: u64,
        /// The length that would have fitted.
        allowed: u64,
    },
    /// A message that no rank of this program sends: the ranks run different versions of it, or memory was overwritten.
    #[error("{operation}: rank {rank} sent a message with {what} {given}, allowed is {allowed}")]
    Malformed {
        /// The call that received it.
        operation: Operation,
        /// The rank that sent it.
        rank: usize,
        /// What cannot be so.
        what: &'static str,
        /// What the message says.
        given: u64,
        /// What it could say, or the most of it.
        allowed: u64,
    },
    /// A buffer that is no whole number of elements.
    #[error(
        "{operation}: an element size of {element} bytes does not divide a length of {len} bytes"
    )]
    Element {
        /// The call.
        operation: Operation,
        /// The element size in bytes, the same on all ranks.
        element: u64,
        /// The length in bytes, the same on all ranks.
        len: u64,
    },
    /// Ranks asked for different reductions in one call.
    #[error("all_reduce: rank {rank} reduces by {given}, rank 0 by {allowed}")]
    Reductions {
        /// The lowest rank that differs from rank 0.
        rank: usize,
        /// Its reduction.
        given: Reduction,
        /// That of rank 0.
        allowed: Reduction,
    },
    /// Ranks named different roots in one collective call.
    #[error("{operation}: rank {rank} names root {given}, rank 0 names root {allowed}")]
    Root {
        /// The call.
        operation: Operation,
        /// The lowest rank that differs from rank 0.
        rank: usize,
        /// The root it named.
        given: u64,
        /// The root that rank 0 named.
        allowed: u64,
    },
    /// Ranks met in different collective calls.
    #[error("collective calls differ: rank 0 is in {first}, rank {rank} is in {other}")]
    Mismatch {
        /// The call of rank 0.
        first: Operation,
        /// The lowest rank that is elsewhere.
        rank: usize,
        /// The call it is in.
        other: Operation,
    },
    /// A rank panicked, so no call that needs it can end: the communicator can no longer be used.
    #[error("{operation}: rank {rank} panicked{}: {message}", within(*during))]
    Panicked {
        /// The call that cannot end.
        operation: Operation,
        /// The rank that panicked.
        rank: usize,
        /// The call in which it panicked, if it was in one.
        during: Option<Operation>,
        /// Its panic message.
        message: String,
    },
    /// A rank has ended or dropped its communicator while others wait for it.
    ///
    /// Collective calls on this communicator are over: later ones fail too, with this same value. Messages to and from other
    /// ranks still go.
    #[error("{operation}: rank {rank} has left and will not take part")]
    Departed {
        /// The call that cannot end.
        operation: Operation,
        /// The rank that left.
        rank: usize,
    },
    /// Ranks did not come within the time limit: that of the communicator, which the environment variable `DIST_COMM_TIMEOUT`
    /// sets in seconds where the program does not.
    ///
    /// After a collective call that gave up the ranks are no longer in step, and the communicator can no longer be used: on
    /// thread ranks later collective calls, also those of the ranks that were late, fail with this same value.
    #[error(
        "{operation}: gave up after {limit:?} of waiting for ranks {missing:?} (DIST_COMM_TIMEOUT sets the limit, in seconds)"
    )]
    Timeout {
        /// The call that waited.
        operation: Operation,
        /// The limit.
        limit: Duration,
        /// Who did not come; all ranks, where it does not show who.
        missing: Vec<usize>,
    },
    /// A second collective call on the same communicator of the same rank while one is under way.
    #[error("{operation}: rank {rank} is already in {current} on this communicator")]
    Busy {
        /// The call refused.
        operation: Operation,
        /// The rank that called.
        rank: usize,
        /// The call under way.
        current: Operation,
    },
    /// A part of a window that does not exist.
    #[error(
        "{operation}: bytes {offset}..{offset}+{len} are not within the {allowed} bytes of rank {rank}"
    )]
    OutOfWindow {
        /// The call.
        operation: Operation,
        /// Whose part of the window.
        rank: usize,
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        len: u64,
        /// Bytes there are.
        allowed: u64,
    },
    /// Memory that could not be had.
    #[error("{operation}: rank {rank} could not allocate {bytes} bytes")]
    Allocation {
        /// The call.
        operation: Operation,
        /// The lowest rank that failed.
        rank: usize,
        /// Bytes asked for.
        bytes: u64,
    },
    /// A reduction that its element type does not have.
    #[error("all_reduce: {op} is not defined for {element}")]
    Reduction {
        /// The reduction asked for.
        op: &'static str,
        /// The element type.
        element: &'static str,
    },
    /// Ranks opened different files, or one file for different things, in one call.
    #[error(
        "open_shared: rank {rank} opens {} for {given_mode}, rank 0 opens {} for {allowed_mode}",
        excerpt(given),
        excerpt(allowed)
    )]
    Files {
        /// The lowest rank that differs from rank 0.
        rank: usize,
        /// Its path.
        given: PathBuf,
        /// What it opens it for.
        given_mode: FileMode,
        /// The path of rank 0.
        allowed: PathBuf,
        /// What rank 0 opens it for.
        allowed_mode: FileMode,
    },
    /// An error of the file system.
    #[error("{operation}: rank {rank}: {}: {message}", excerpt(path))]
    File {
        /// The call.
        operation: Operation,
        /// The lowest rank that failed.
        rank: usize,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        message: String,
    },
    /// An error of the message-passing library, with its own text.
    #[error("{operation}: rank {rank}: {call} gave code {code}: {text}")]
    Mpi {
        /// The call of ours.
        operation: Operation,
        /// The rank on which it failed.
        rank: usize,
        /// The function of the library.
        call: &'static str,
        /// Its code.
        code: i32,
        /// Its text for the code.
        text: String,
    },
    /// The message-passing library is not in a state in which it may be called.
    #[error("{operation}: {reason}")]
    Unavailable {
        /// The call.
        operation: Operation,
        /// Why not.
        reason: &'static str,
    },
}

fn within(during: Option<Operation>) -> String {
    during.map_or_else(String::new, |operation| format!(" in {operation}"))
}

/// A path as far as a message shows it: what is no path but some other call's bytes may be of any length.
fn excerpt(path: &Path) -> String {
    const SHOWN: usize = 256;
    let text = path.display().to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], path.as_os_str().len()),
        None => text,
    }
}

/// The text of a panic.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_come_back() {
        for operation in Operation::ALL {
            assert_eq!(Operation::from_code(operation.code()), Some(operation));
        }
        assert_eq!(Operation::from_code(0), None);
        assert_eq!(Operation::from_code(26), None);
    }

    #[test]
    fn texts_say_what_was_given_and_allowed() {
        let error = CommError::RankOutOfRange {
            operation: Operation::Broadcast,
            given: 9,
            size: 4,
        };
        assert_eq!(
            error.to_string(),
            "broadcast: rank 9 is out of range, allowed are 0..4"
        );
        let error = CommError::Timeout {
            operation: Operation::Barrier,
            limit: Duration::from_secs(60),
            missing: vec![3],
        };
        assert_eq!(
            error.to_string(),
            "barrier: gave up after 60s of waiting for ranks [3] (DIST_COMM_TIMEOUT sets the limit, in seconds)"
        );
        let error = CommError::Panicked {
            operation: Operation::Barrier,
            rank: 2,
            during: Some(Operation::Lend),
            message: "no".into(),
        };
        assert_eq!(error.to_string(), "barrier: rank 2 panicked in lend: no");
        let error = CommError::Malformed {
            operation: Operation::Recv,
            rank: 1,
            what: "a tag of",
            given: 40_000,
            allowed: 32_767,
        };
        assert_eq!(
            error.to_string(),
            "recv: rank 1 sent a message with a tag of 40000, allowed is 32767"
        );
    }

    #[test]
    fn long_paths_are_cut() {
        let error = |given: &str| {
            let error = CommError::Files {
                rank: 3,
                given: given.into(),
                given_mode: FileMode::Read,
                allowed: "a".into(),
                allowed_mode: FileMode::Create,
            };
            error.to_string()
        };
        let whole = "ä".repeat(256);
        assert_eq!(
            error(&whole),
            format!("open_shared: rank 3 opens {whole} for reading, rank 0 opens a for creating")
        );
        assert_eq!(
            error(&"ä".repeat(1 << 20)),
            format!(
                "open_shared: rank 3 opens {whole}… (2097152 bytes) for reading, rank 0 opens a for creating"
            )
        );
    }
}
