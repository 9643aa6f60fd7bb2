//! The laws of the crate, one module each.

#[path = "it/common.rs"]
mod common;
#[path = "it/file.rs"]
mod file;
#[cfg(feature = "set")]
#[path = "it/hostile.rs"]
mod hostile;
#[path = "it/interop.rs"]
mod interop;
#[path = "it/kill.rs"]
mod kill;
#[path = "it/malformed.rs"]
mod malformed;
#[path = "it/oracle.rs"]
mod oracle;
#[cfg(feature = "set")]
#[path = "it/parts.rs"]
mod parts;
#[path = "it/round_trip.rs"]
mod round_trip;
#[cfg(feature = "set")]
#[path = "it/set.rs"]
mod set;
