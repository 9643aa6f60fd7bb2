//! [`SeriesRefusal`]: what series refuse.

use serde::{Deserialize, Serialize};

/// What a [`Series`](crate::Series), whose datasets grow, or a series of files ([`file_series`](crate::file_series)) refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum SeriesRefusal {
    /// A pattern that is not the name of a series of files, or a step that there is not.
    #[error("this is no series of files: {message}")]
    Pattern {
        /// Why not.
        message: String,
    },
    /// A file or a dataset that cannot be appended to in place.
    #[error("it cannot be appended to: {message}")]
    NotGrowable {
        /// Why not.
        message: String,
    },
}
