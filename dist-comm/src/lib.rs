//! Ranks and the messages between them.
#![deny(unsafe_code)]

pub mod agree;
mod call;
mod communicator;
mod error;
mod exchange;
mod ext;
mod file;
mod memory;
#[cfg(feature = "mpi")]
mod mpi;
mod reduce;
mod single;
#[cfg(feature = "testkit")]
pub mod testkit;
mod threads;
mod window;

pub use self::communicator::Communicator;
pub use self::error::{CommError, Operation};
pub use self::exchange::{ExchangeJob, Message, Workspace};
pub use self::ext::CommExt;
pub use self::file::{FileMode, SharedFile, SharedFileOps};
pub use self::memory::SharedBytes;
#[cfg(feature = "mpi")]
pub use self::mpi::MpiComm;
pub use self::reduce::{Fold, ReduceOp, Reducible};
pub use self::single::SingleComm;
pub use self::threads::{RankFailure, RunError, ThreadComm, ThreadRun};
pub use self::window::{Get, OneSided, Put, Window};
