//! What all ranks have to say alike before a collective call goes on: the distributions it works on.

use std::hash::{DefaultHasher, Hash, Hasher};

use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Distribution;

use crate::ArrayError;
use crate::part::summary;

/// A distribution that all ranks should give alike: what it is, and what this rank gives; `None` where it is refused.
pub(crate) type Given<'a> = (&'static str, Option<&'a Distribution>);

/// Checks that all ranks give the same distributions. Collective.
///
/// Compared is all that decides what a rank does next, padding included, which `compatibility_hash` leaves out.
pub(crate) fn same_on_all_ranks<C: Communicator>(
    comm: &C,
    given: &[Given<'_>],
) -> Result<(), ArrayError> {
    agreed(comm, given, Ok(()))
}

/// As [`same_on_all_ranks`], and the outcome of each rank that of all. Collective: one small call when all is well.
pub(crate) fn agreed<T, C: Communicator>(
    comm: &C,
    given: &[Given<'_>],
    outcome: Result<T, ArrayError>,
) -> Result<T, ArrayError> {
    let words = given.len() + 1;
    let mut mine: Vec<u64> = given
        .iter()
        .map(|(_, d)| d.map_or(REFUSED, digest))
        .collect();
    mine.push(outcome.is_err().into());
    let mut all = vec![0_u64; words * comm.size()];
    comm.all_gather(
        bytemuck::cast_slice(&mine),
        bytemuck::cast_slice_mut(&mut all),
    )?;
    for (at, given) in given.iter().enumerate() {
        let mut digests = all.chunks_exact(words).map(|word| word[at]);
        if let Some(rank) = digests.position(|digest| digest != all[at]) {
            return Err(difference(comm, *given, rank)?);
        }
    }
    if all.chunks_exact(words).all(|word| word[words - 1] == 0) {
        return outcome;
    }
    Ok(agree(comm, outcome)?)
}

/// The error that `rank` and rank 0 differ. Collective: each tells what it gives.
fn difference<C: Communicator>(
    comm: &C,
    (what, mine): Given<'_>,
    rank: usize,
) -> Result<ArrayError, ArrayError> {
    let text = mine.map_or_else(
        || "none: it is refused".to_owned(),
        |d| {
            let (shape, digest) = (d.global_shape(), digest(d));
            format!("{shape:?} as {}, digest {digest:#018x}", summary(d))
        },
    );
    let texts = comm.all_gather_v(text.as_bytes())?;
    let of = |rank: usize| String::from_utf8_lossy(&texts[rank]);
    Ok(ArrayError::IncompatibleArray {
        what,
        given: format!("{} on rank {rank}", of(rank)),
        allowed: format!("{}, as on rank 0", of(0)),
    })
}

/// The digest of a distribution that could not be made.
const REFUSED: u64 = 0;

/// The same for equal distributions on all ranks of a program, never [`REFUSED`].
fn digest(distribution: &Distribution) -> u64 {
    let mut hasher = DefaultHasher::new();
    distribution.axes().hash(&mut hasher);
    distribution.grid().hash(&mut hasher);
    distribution.targets().hash(&mut hasher);
    distribution.ranks().hash(&mut hasher);
    hasher.finish() | 1
}
