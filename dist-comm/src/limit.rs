//! How long ranks wait for each other.

use std::time::Duration;

/// The seconds in the variable `DIST_COMM_TIMEOUT`, if it holds a number.
pub(crate) fn from_environment() -> Option<Duration> {
    let text = std::env::var("DIST_COMM_TIMEOUT").ok()?;
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}
