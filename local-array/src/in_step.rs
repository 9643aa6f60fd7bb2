//! [`in_step_with`] for arguments that cannot be told.

use std::fmt::{self, Debug};
use std::hash::{Hash, Hasher};

use dist_comm::Communicator;

pub(crate) use crate::agreement::split;
use crate::{ArrayError, agreement};

/// As [`agreement::in_step_with`].
pub(crate) fn in_step_with<F, T, C: Communicator, const N: usize>(
    comm: &C,
    what: &'static str,
    arguments: &impl Hash,
    fits: Result<F, ArrayError>,
    own: impl FnOnce(F) -> Result<(T, [u64; N]), ArrayError>,
) -> Result<(T, Vec<[u64; N]>), ArrayError> {
    agreement::in_step_with(comm, what, &Untold(arguments), fits, own)
}

struct Untold<'a, A>(&'a A);

impl<A: Hash> Hash for Untold<'_, A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

impl<A> Debug for Untold<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments of its own")
    }
}
