//! [`IoReport`]: what a read or a write really did.

use std::fmt;

use crate::Strategy;

/// What a read or a write did on this rank. Numbers are those of the calling rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IoReport {
    /// How the ranks shared the work; the same on all of them.
    pub strategy: Strategy,
    /// Bytes read from the file, or written to it.
    pub file_bytes: u64,
    /// Reads or writes that this took.
    pub requests: u64,
    /// Bytes exchanged with other ranks, sent and received.
    pub exchanged_bytes: u64,
    /// Byte of the file at which the elements begin; 0 where they lie in chunks.
    pub offset: u64,
    /// How the collective transfers of parallel HDF5 went; `None` where there were none.
    #[cfg(feature = "hdf5-mpio")]
    pub collective: Option<crate::CollectiveIo>,
}

impl IoReport {
    /// Nothing done yet.
    pub(crate) const fn begun(strategy: Strategy, offset: u64) -> Self {
        Self {
            strategy,
            file_bytes: 0,
            requests: 0,
            exchanged_bytes: 0,
            offset,
            #[cfg(feature = "hdf5-mpio")]
            collective: None,
        }
    }
}

impl fmt::Display for IoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} bytes in {} requests from byte {} on, {} bytes exchanged",
            self.strategy, self.file_bytes, self.requests, self.offset, self.exchanged_bytes
        )?;
        #[cfg(feature = "hdf5-mpio")]
        if let Some(collective) = &self.collective {
            write!(f, "; {collective}")?;
        }
        Ok(())
    }
}
