//! Laws over random distributions as property tests, and the table of names. The cases are a binary of their own.
#![allow(
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::needless_pass_by_value,
    reason = "small numbers, compared exactly"
)]

#[path = "it/coverage.rs"]
mod coverage;
#[path = "it/properties.rs"]
mod properties;
#[path = "it/schedule.rs"]
mod schedule;
mod support;
