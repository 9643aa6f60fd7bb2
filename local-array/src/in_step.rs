//! What the ranks have to have in common before a collective call goes on, found in one small call.

use std::hash::{DefaultHasher, Hash, Hasher};

use dist_comm::Communicator;
use dist_comm::agree::agree;

use crate::ArrayError;

/// Checks that all ranks give the same arguments and that every rank can go on: one error everywhere where not. Collective.
///
/// `fits` is what each rank makes of the arguments alone. Ranks that give the same come to the same, so that its error is
/// returned as it is. `own` is what may fail on one rank: memory, elements that only it has. Such an error is that of all ranks,
/// as [`ArrayError::Agreed`].
pub(crate) fn in_step<F, T, C: Communicator>(
    comm: &C,
    what: &'static str,
    arguments: &impl Hash,
    fits: Result<F, ArrayError>,
    own: impl FnOnce(F) -> Result<T, ArrayError>,
) -> Result<T, ArrayError> {
    let own = |fits| Ok((own(fits)?, []));
    Ok(in_step_with::<_, _, _, 0>(comm, what, arguments, fits, own)?.0)
}

/// As [`in_step`]; each rank also tells some words, which come back by rank.
pub(crate) fn in_step_with<F, T, C: Communicator, const N: usize>(
    comm: &C,
    what: &'static str,
    arguments: &impl Hash,
    fits: Result<F, ArrayError>,
    own: impl FnOnce(F) -> Result<(T, [u64; N]), ArrayError>,
) -> Result<(T, Vec<[u64; N]>), ArrayError> {
    if comm.size() == 1 {
        let (value, words) = agree(comm, own(fits?))?;
        return Ok((value, vec![words]));
    }
    let mut hasher = DefaultHasher::new();
    (arguments, fits.is_ok()).hash(&mut hasher);
    let outcome = fits.map(own);
    let has_failed = matches!(outcome, Ok(Err(_)));
    let mut mine = vec![hasher.finish(), has_failed.into()];
    mine.extend(match &outcome {
        Ok(Ok((_, words))) => *words,
        _ => [0; N],
    });
    let mut all = vec![0_u64; mine.len() * comm.size()];
    comm.all_gather(
        bytemuck::cast_slice(&mine),
        bytemuck::cast_slice_mut(&mut all),
    )?;
    let by_rank = || all.chunks_exact(2 + N);
    if let Some(rank) = by_rank().position(|words| words[0] != all[0]) {
        let digest = |rank: usize| all[rank * (2 + N)];
        return Err(ArrayError::Argument {
            what,
            given: format!("of rank {rank} (digest {:#018x})", digest(rank)),
            allowed: format!("what rank 0 gives (digest {:#018x})", digest(0)),
        });
    }
    let outcome = outcome?;
    let (value, _) = if by_rank().any(|words| words[1] != 0) {
        agree(comm, outcome)?
    } else {
        outcome?
    };
    let told = by_rank().map(|words| std::array::from_fn(|at| words[2 + at]));
    Ok((value, told.collect()))
}

/// Tells the errors that a rank may have alone from those that follow from the arguments.
pub(crate) fn split<T>(
    outcome: Result<T, ArrayError>,
) -> Result<Result<T, ArrayError>, ArrayError> {
    match outcome {
        Err(
            error @ (ArrayError::Allocation { .. }
            | ArrayError::Memory { .. }
            | ArrayError::LocalShape { .. }
            | ArrayError::Comm(_)),
        ) => Ok(Err(error)),
        Err(error) => Err(error),
        Ok(value) => Ok(Ok(value)),
    }
}

#[cfg(test)]
mod tests {
    use dist_comm::ThreadComm;

    use super::*;

    fn argument(given: &str) -> ArrayError {
        ArrayError::Argument {
            what: "it",
            given: given.to_owned(),
            allowed: "another".to_owned(),
        }
    }

    #[test]
    fn all_ranks_have_one_outcome() {
        for ranks in 1..=4 {
            let outcomes = ThreadComm::run(ranks, |comm| {
                let (rank, last) = (comm.rank(), ranks - 1);
                let fine = in_step_with(comm, "it", &7, Ok(()), |()| Ok(("mine", [rank as u64])))?;
                let refused = in_step(comm, "it", &7, Err::<(), _>(argument("7")), Ok);
                let own = |()| {
                    if rank == last {
                        Err(argument("own"))
                    } else {
                        Ok(())
                    }
                };
                let failed = in_step(comm, "it", &7, Ok(()), own);
                let differs = in_step(comm, "it", &(rank == last), Ok(()), own);
                comm.barrier()?; // nobody went on alone
                Ok::<_, ArrayError>((fine, refused, failed, differs))
            })
            .expect("no rank fails");
            for (fine, refused, failed, differs) in &outcomes {
                let all: Vec<[u64; 1]> = (0..ranks as u64).map(|rank| [rank]).collect();
                assert_eq!(fine, &("mine", all));
                assert_eq!(refused, &Err(argument("7")));
                assert!(matches!(failed, Err(ArrayError::Agreed(_))), "{failed:?}");
                assert!(differs.is_err());
                assert_eq!((failed, differs), (&outcomes[0].2, &outcomes[0].3));
            }
        }
    }
}
