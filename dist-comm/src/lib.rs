//! Ranks and the messages between them: one communicator trait, with threads or MPI processes behind it.
//!
//! ```text
//!                 Communicator ── CommExt (typed)      who implements it:
//!   collective    barrier broadcast gather_v …         SingleComm   one rank
//!   two-sided     send recv exchange                   ThreadComm   threads of this process
//!   on one node   lend alloc_shared                    MpiComm      processes under mpirun (feature `mpi`)
//!   one-sided     OneSided → Window
//!   files         SharedFileOps → SharedFile           agree::agree  one outcome on all ranks
//! ```
//!
//! Vocabulary. A *rank* is a plain integer, `0..size`. A *collective* call is made by all ranks of a communicator in the same
//! order; a *one-sided* call by one rank while the other goes on; a *local* call involves nobody else. Lengths and
//! offsets are in bytes unless a type is named.
//!
//! ```
//! use dist_comm::{CommError, CommExt, Communicator, ReduceOp, ThreadComm};
//!
//! // Four ranks pass a number around the ring and add up what they got.
//! let sums = ThreadComm::run(4, |comm| {
//!     let (next, previous) = ((comm.rank() + 1) % 4, (comm.rank() + 3) % 4);
//!     let mut got = [0];
//!     comm.send(next, 0, &[comm.rank() as u8])?;
//!     comm.recv(previous, 0, &mut got)?;
//!     assert_eq!(usize::from(got[0]), previous);
//!     comm.all_reduce_value(u32::from(got[0]), ReduceOp::Sum)
//! })?;
//! assert_eq!(sums, [6; 4]);
//! # Ok::<(), dist_comm::RunError<CommError>>(())
//! ```
//!
//! # Questions
//!
//! **Why bytes?** So that the trait is object-safe and outsiders can implement it; `bytemuck` makes the typed forms free.
//!
//! **Why do reductions fix the order of ranks?** Floating sums depend on it. Here it is fixed, on every
//! transport, so that the same ranks give the same bits.
//!
//! **Why may `lend` refuse?** Only memory that peers can address is lent without a copy. Callers keep a second way,
//! [`exchange`](Communicator::exchange), and take it when `lend` says `false`, which it does on all ranks alike.

pub mod agree;
mod call;
mod communicator;
mod error;
mod exchange;
mod ext;
mod file;
mod limit;
mod memory;
#[cfg(feature = "mpi")]
mod mpi;
mod reduce;
mod single;
#[cfg(feature = "testkit")]
pub mod testkit;
mod threads;
mod window;

pub use self::communicator::{Communicator, MAX_TAG};
pub use self::error::{CommError, Operation};
pub use self::exchange::{ExchangeJob, Message, Workspace};
pub use self::ext::CommExt;
pub use self::file::{FileMode, SharedFile, SharedFileOps};
pub use self::memory::SharedBytes;
#[cfg(feature = "mpi")]
pub use self::mpi::MpiComm;
pub use self::reduce::{Fold, ReduceOp, Reducible, Reduction};
pub use self::single::SingleComm;
pub use self::threads::{RankFailure, RunError, ThreadComm, ThreadRun};
pub use self::window::{Get, OneSided, Put, Window};

/// The examples of `README.md`.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
