//! One outcome on all ranks: [`agree`].

use std::fmt::Display;

use crate::{CommError, Communicator};

/// That some rank failed, and how: the same value on every rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("rank {rank}: {cause}{}", others(*.rank, .failed))]
pub struct Agreed {
    /// The lowest rank that failed.
    pub rank: usize,
    /// Its error, as text.
    pub cause: String,
    /// All ranks that failed, ascending.
    pub failed: Vec<usize>,
}

fn others(rank: usize, failed: &[usize]) -> String {
    let others: Vec<_> = failed
        .iter()
        .filter(|&&other| other != rank)
        .map(ToString::to_string)
        .collect();
    if others.is_empty() {
        String::new()
    } else {
        format!(" (also failed: rank {})", others.join(", "))
    }
}

/// Makes the outcome of one rank the outcome of all. Collective.
///
/// `Ok` with this rank's own value when every rank succeeded; otherwise the same [`Agreed`] on every rank. Without it, a rank
/// that returns an error early leaves the others waiting in the next collective call. Costs one small collective call when
/// all is well, two when not.
///
/// ```
/// use dist_comm::{agree::agree, CommExt, Communicator, ThreadComm};
///
/// let outcomes = ThreadComm::run(3, |comm| {
///     let mine = if comm.rank() == 1 { Err("disk full") } else { Ok(()) };
///     Ok::<_, std::convert::Infallible>(agree(comm, mine).unwrap_err().to_string())
/// })?;
/// assert_eq!(outcomes, ["rank 1: disk full"; 3]);
/// # Ok::<(), dist_comm::RunError<std::convert::Infallible>>(())
/// ```
///
/// # Errors
/// [`Agreed`] when a rank failed. When the ranks cannot even reach each other there is no agreement: this rank's `Agreed`
/// then names itself, and the cause is the [`CommError`].
pub fn agree<T, E: Display>(
    comm: &(impl Communicator + ?Sized),
    outcome: Result<T, E>,
) -> Result<T, Agreed> {
    let rank = comm.rank();
    match first_failure(comm, outcome.as_ref().err()) {
        Ok(None) => outcome.map_err(|own| Agreed {
            rank,
            cause: own.to_string(),
            failed: vec![rank],
        }),
        Ok(Some(agreed)) => Err(agreed),
        Err(error) => {
            let cause = match &outcome {
                Ok(_) => format!("no agreement: {error}"),
                Err(own) => format!("{own} (no agreement: {error})"),
            };
            Err(Agreed {
                rank,
                cause,
                failed: vec![rank],
            })
        }
    }
}

/// The failures of all ranks, if there is any, the same on every rank; `own` is that of this rank. Collective.
pub(crate) fn first_failure(
    comm: &(impl Communicator + ?Sized),
    own: Option<&impl Display>,
) -> Result<Option<Agreed>, CommError> {
    let mut flags = vec![0; comm.size()];
    comm.all_gather(&[u8::from(own.is_some())], &mut flags)?;
    let failed = (0..flags.len()).filter(|&rank| flags[rank] != 0);
    told(comm, failed.collect(), own)
}

/// What the lowest of the ranks that `failed`, which every rank knows, says of it; nothing, and no call, if there is none.
/// Collective.
pub(crate) fn told(
    comm: &(impl Communicator + ?Sized),
    failed: Vec<usize>,
    own: Option<&impl Display>,
) -> Result<Option<Agreed>, CommError> {
    let Some(&lowest) = failed.first() else {
        return Ok(None);
    };
    let cause = match own {
        Some(own) if comm.rank() == lowest => own.to_string().into_bytes(),
        _ => Vec::new(),
    };
    let causes = comm.all_gather_v(&cause)?;
    let cause = String::from_utf8_lossy(&causes[lowest]).into_owned();
    Ok(Some(Agreed {
        rank: lowest,
        cause,
        failed,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SingleComm;

    #[test]
    fn one_rank_agrees_with_itself() {
        assert_eq!(agree(&SingleComm::new(), Ok::<_, String>(5)), Ok(5));
        let error = agree(&SingleComm::new(), Err::<(), _>("no")).unwrap_err();
        assert_eq!(
            error,
            Agreed {
                rank: 0,
                cause: "no".into(),
                failed: vec![0]
            }
        );
    }

    #[test]
    fn text_lists_the_others() {
        let error = Agreed {
            rank: 1,
            cause: "no".into(),
            failed: vec![1, 2, 5],
        };
        assert_eq!(error.to_string(), "rank 1: no (also failed: rank 2, 5)");
    }
}
