//! The laws of the crate, on thread ranks.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    reason = "small numbers, compared exactly"
)]

#[path = "support/cases.rs"]
mod cases;
#[path = "it/epoch.rs"]
mod epoch;
#[path = "it/loader.rs"]
mod loader;
#[path = "it/plan.rs"]
mod plan;
#[path = "it/threads.rs"]
mod threads;
#[path = "it/torch.rs"]
mod torch;
