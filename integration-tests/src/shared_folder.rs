//! [`SharedFolder`]: one temporary folder for all ranks.

use std::path::{Path, PathBuf};

use dist_comm::Communicator;
use dist_comm::agree::agree;
use tempfile::TempDir;

use crate::Error;

/// A folder that rank 0 made and removes.
#[derive(Debug)]
pub struct SharedFolder {
    path: PathBuf,
    made: Option<TempDir>,
}

impl SharedFolder {
    /// A new one, its path told to all ranks. Collective.
    ///
    /// # Errors
    /// When rank 0 cannot make it; the same on all ranks.
    pub fn new(comm: &impl Communicator) -> Result<Self, Error> {
        let made = if comm.rank() == 0 {
            Some(tempfile::tempdir())
        } else {
            None
        };
        let made = agree(comm, made.transpose())?;
        let text = made.as_ref().map_or(Vec::new(), |folder| {
            folder.path().as_os_str().as_encoded_bytes().to_vec()
        });
        let path = String::from_utf8(comm.all_gather_v(&text)?.swap_remove(0))?.into();
        Ok(Self { path, made })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it. Collective: no rank may still be using it.
    ///
    /// # Errors
    /// When rank 0 cannot; the same on all ranks.
    pub fn close(self, comm: &impl Communicator) -> Result<(), Error> {
        comm.barrier()?;
        agree(comm, self.made.map_or(Ok(()), TempDir::close))?;
        Ok(())
    }
}
