//! The suites of the test kit on one rank and on threads, and what threads do when ranks fail.

#[path = "it/faults.rs"]
mod faults;
#[path = "it/meeting.rs"]
mod meeting;
#[path = "it/suites.rs"]
mod suites;
