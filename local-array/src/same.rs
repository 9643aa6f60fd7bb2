//! Arguments that every rank must give alike.

use std::hash::{DefaultHasher, Hash, Hasher};

use dist_comm::{CommExt, Communicator};

use crate::ArrayError;

/// Checks, by a digest, that all ranks give an argument alike; the same error on every rank where they do not. Collective.
pub(crate) fn same_everywhere<C: Communicator>(
    comm: &C,
    what: &'static str,
    argument: &impl Hash,
) -> Result<(), ArrayError> {
    if comm.size() == 1 {
        return Ok(());
    }
    let mut hasher = DefaultHasher::new();
    argument.hash(&mut hasher);
    let digests = comm.all_gather_value(hasher.finish())?;
    match digests.iter().position(|&digest| digest != digests[0]) {
        None => Ok(()),
        Some(rank) => Err(ArrayError::Argument {
            what,
            given: format!("of rank {rank} (digest {:#018x})", digests[rank]),
            allowed: format!("what rank 0 gives (digest {:#018x})", digests[0]),
        }),
    }
}
