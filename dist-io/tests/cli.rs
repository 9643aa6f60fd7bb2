//! The command `dap`, as a user runs it.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    reason = "small numbers, compared exactly"
)]

#[path = "cli/check.rs"]
mod check;
#[path = "cli/convert.rs"]
mod convert;
#[path = "cli/draw.rs"]
mod draw;
#[cfg(feature = "hdf5")]
#[path = "cli/hdf5.rs"]
mod hdf5;
#[path = "cli/plan.rs"]
mod plan;
#[path = "cli/readme.rs"]
mod readme;
#[path = "cli/show.rs"]
mod show;
#[path = "cli/support.rs"]
mod support;
#[path = "cli/usage.rs"]
mod usage;
