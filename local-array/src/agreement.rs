//! What all ranks have to have in common before a collective call goes on: its arguments, the distributions it works on, and
//! that each of them can go on.
//!
//! Digests are compared, in one small call when all is well. Where they differ each rank tells what it gives, so that the
//! error says in what, the same on every rank.

use std::fmt::{self, Debug, Write};
use std::hash::{DefaultHasher, Hash, Hasher};

use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;

use crate::ArrayError;
use crate::part::summary;

/// Checks that all ranks give an argument alike. Collective.
pub(crate) fn same_everywhere<C: Communicator>(
    comm: &C,
    what: &'static str,
    argument: &(impl Hash + Debug),
) -> Result<(), ArrayError> {
    in_step(comm, what, argument, Ok(()), Ok)
}

/// Checks that all ranks give the same arguments and that every rank can go on: one error everywhere where not. Collective: one
/// small call when all is well.
///
/// `fits` is what each rank makes of the arguments alone. Ranks that give the same come to the same, so that its error is
/// returned as it is. `own` is what may fail on one rank: memory, elements that only it has. Such an error is that of all ranks,
/// as [`ArrayError::Agreed`].
pub(crate) fn in_step<F, T, C: Communicator>(
    comm: &C,
    what: &'static str,
    arguments: &(impl Hash + Debug),
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
    arguments: &(impl Hash + Debug),
    fits: Result<F, ArrayError>,
    own: impl FnOnce(F) -> Result<(T, [u64; N]), ArrayError>,
) -> Result<(T, Vec<[u64; N]>), ArrayError> {
    if comm.size() == 1 {
        let (value, words) = agree(comm, own(fits?))?;
        return Ok((value, vec![words]));
    }
    let key = digest(&(arguments, fits.is_ok()));
    let outcome = fits.map(own);
    let mut mine = vec![key, matches!(outcome, Ok(Err(_))).into()];
    mine.extend(match &outcome {
        Ok(Ok((_, words))) => *words,
        _ => [0; N],
    });
    let said = Said::exchanged(comm, &mine)?;
    if let Some(rank) = said.first_other(0) {
        let refused = outcome.as_ref().err();
        let [allowed, given] = told(comm, &Asked { arguments, refused }, rank)?;
        return Err(ArrayError::Argument {
            what,
            given: format!("{given} on rank {rank}"),
            allowed: format!("{allowed}, as on rank 0"),
        });
    }
    let (value, _) = said.joined(comm, 1, outcome?)?;
    let told = said.by_rank();
    let told = told.map(|words| std::array::from_fn(|at| words[2 + at]));
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

/// What a rank asks for, and why that cannot be.
struct Asked<'a, A> {
    arguments: &'a A,
    refused: Option<&'a ArrayError>,
}

impl<A: Debug> Debug for Asked<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.arguments.fmt(f)?;
        match self.refused {
            Some(error) => write!(f, " (refused: {error})"),
            None => Ok(()),
        }
    }
}

/// A float among arguments: compared by its bits, told as it is.
#[derive(Clone, Copy)]
pub(crate) struct Bits(pub(crate) f64);

impl Hash for Bits {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

impl Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.0, f)
    }
}

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
    let mut mine: Vec<u64> = given
        .iter()
        .map(|(_, d)| d.map_or(REFUSED, |d| digest(&Laid::out(d)) | 1))
        .collect();
    mine.push(outcome.is_err().into());
    let said = Said::exchanged(comm, &mine)?;
    for (at, &(what, mine)) in given.iter().enumerate() {
        let Some(rank) = said.first_other(at) else {
            continue;
        };
        let [allowed, given] = match mine {
            Some(d) => told(comm, &Laid::out(d), rank)?,
            None => told(comm, &format_args!("none: it is refused"), rank)?,
        };
        return Err(ArrayError::IncompatibleArray {
            what,
            given: format!("{given} on rank {rank}"),
            allowed: format!("{allowed}, as on rank 0"),
        });
    }
    said.joined(comm, given.len(), outcome)
}

/// The digest of a distribution that could not be made; that of others is odd.
const REFUSED: u64 = 0;

/// A distribution among arguments: all of it is compared, and it is told in short, or in full (`{:#?}`).
#[derive(Clone, Copy)]
pub(crate) struct Laid<'a> {
    distribution: &'a Distribution,
    digest: Option<u64>,
}

impl<'a> Laid<'a> {
    pub(crate) fn out(distribution: &'a Distribution) -> Self {
        Self {
            distribution,
            digest: None,
        }
    }

    /// With its digest, where that is known.
    pub(crate) fn known(distribution: &'a Distribution, digest: u64) -> Self {
        Self {
            distribution,
            digest: Some(digest),
        }
    }
}

impl Hash for Laid<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let digest = self.digest;
        let digest = digest.unwrap_or_else(|| crate::part::digest(self.distribution));
        digest.hash(state);
    }
}

impl Debug for Laid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = self.distribution;
        if f.alternate() {
            let (axes, targets, ranks) = (d.axes(), d.targets(), d.ranks());
            return write!(f, "{axes:?} on ranks {targets:?} of {ranks}");
        }
        write!(f, "{:?} as {}", d.global_shape(), summary(d))
    }
}

/// The same for equal values on all ranks of a program.
fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// As many words of each rank.
struct Said {
    all: Vec<u64>,
    each: usize,
}

impl Said {
    /// Collective: one call.
    fn exchanged<C: Communicator>(comm: &C, mine: &[u64]) -> Result<Self, ArrayError> {
        let each = mine.len();
        let mut all = vec![0_u64; each * comm.size()];
        let (from, to) = (bytemuck::cast_slice(mine), &mut all);
        comm.all_gather(from, bytemuck::cast_slice_mut(to))?;
        Ok(Self { all, each })
    }

    fn by_rank(&self) -> impl Iterator<Item = &[u64]> {
        self.all.chunks_exact(self.each)
    }

    /// The first rank whose word at a place is not that of rank 0.
    fn first_other(&self, at: usize) -> Option<usize> {
        self.by_rank().position(|words| words[at] != self.all[at])
    }

    /// The outcome of each rank that of all, where the word at a place is 0 on ranks that did not fail. Collective: a call
    /// where one did.
    fn joined<T, C: Communicator>(
        &self,
        comm: &C,
        at: usize,
        outcome: Result<T, ArrayError>,
    ) -> Result<T, ArrayError> {
        if self.by_rank().all(|words| words[at] == 0) {
            return outcome;
        }
        Ok(agree(comm, outcome)?)
    }
}

/// Bytes that a rank tells at most.
const TOLD: usize = 4096;
/// Characters of a text in an error.
const SHOWN: usize = 160;
/// Of these, before the first one that differs.
const BEFORE: usize = 40;

/// What rank 0 and what `rank` say, short enough for an error: of long texts what is around their first difference.
/// Collective.
fn told<C: Communicator>(
    comm: &C,
    value: &dyn Debug,
    rank: usize,
) -> Result<[String; 2], ArrayError> {
    let mut texts = heads(comm, &format_args!("{value:?}"), rank)?;
    if texts[0] == texts[1] {
        texts = heads(comm, &format_args!("{value:#?}"), rank)?;
    }
    let [(here, cut), (there, cut_there)] = texts;
    if here == there {
        let text = format!("{} (differs later on)", excerpt(&here, 0, true));
        return Ok([text.clone(), text]);
    }
    let alike = here.chars().zip(there.chars());
    let parting = alike.take_while(|(a, b)| a == b).count();
    Ok([
        excerpt(&here, parting, cut),
        excerpt(&there, parting, cut_there),
    ])
}

/// What rank 0 and what `rank` say, in one line, and whether more follows. Collective.
fn heads<C: Communicator>(
    comm: &C,
    text: &fmt::Arguments<'_>,
    rank: usize,
) -> Result<[(String, bool); 2], ArrayError> {
    let mut head = Head(String::new());
    // Fails where the text is longer than what is told of it.
    let is_cut = write!(head, "{text}").is_err();
    let texts = comm.all_gather_v(head.0.as_bytes())?;
    let cut = comm.all_gather_value(u8::from(is_cut))?;
    Ok([0, rank].map(|rank| {
        let text = String::from_utf8_lossy(&texts[rank]);
        let words: Vec<&str> = text.split_whitespace().collect();
        (words.join(" "), cut[rank] != 0)
    }))
}

/// What is around character `at` of a text, all of it where it is short; more follows where it is `cut`.
fn excerpt(text: &str, at: usize, cut: bool) -> String {
    let count = text.chars().count();
    let start = if count <= SHOWN {
        0
    } else {
        at.saturating_sub(BEFORE)
    };
    let shown: String = text.chars().skip(start).take(SHOWN).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if cut || count > start + SHOWN {
        "…"
    } else {
        ""
    };
    format!("{before}{shown}{after}")
}

/// The first [`TOLD`] bytes of what is written to it.
struct Head(String);

impl Write for Head {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut room = (TOLD - self.0.len()).min(text.len());
        while !text.is_char_boundary(room) {
            room -= 1;
        }
        self.0.push_str(&text[..room]);
        if room < text.len() {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dist_comm::ThreadComm;

    fn error(list: impl Fn(usize) -> Vec<u32> + Sync) -> ArrayError {
        let errors = ThreadComm::run(3, |comm| {
            let outcome = same_everywhere(comm, "list", &list(comm.rank()));
            Ok::<_, ArrayError>(outcome.unwrap_err())
        })
        .unwrap();
        assert!(errors.iter().all(|error| *error == errors[0]));
        errors[0].clone()
    }

    #[test]
    fn the_error_says_in_what_arguments_differ() {
        let short = error(|rank| vec![7, u32::from(rank == 2)]);
        assert_eq!(
            short.to_string(),
            "list [7, 1] on rank 2 is not valid, allowed: [7, 0], as on rank 0"
        );
        let long = error(|rank| {
            let mut list = vec![0; 1000];
            list[500] = u32::from(rank > 0);
            list
        });
        let ArrayError::Argument { given, allowed, .. } = &long else {
            panic!("{long:?}");
        };
        assert!(given.contains("0, 1, 0") && given.ends_with("… on rank 1"));
        assert!(!allowed.contains('1') && allowed.starts_with("…"));
        let late = error(|rank| {
            let mut list = vec![0; 1_000_000];
            list[999_999] = u32::from(rank > 0);
            list
        });
        assert!(late.to_string().contains("differs later on") && late.to_string().len() < 1000);
    }

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
