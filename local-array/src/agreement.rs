//! What all ranks have to say alike before a collective call goes on: its arguments, and the distributions it works on.
//!
//! Digests are compared, in one small call when all is well. Where they differ each rank tells what it gives, so that the
//! error says in what, the same on every rank.

use std::fmt::{self, Debug, Display, Write};
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
    if comm.size() == 1 {
        return Ok(());
    }
    let digests = comm.all_gather_value(digest(argument))?;
    let Some(rank) = digests.iter().position(|&digest| digest != digests[0]) else {
        return Ok(());
    };
    let [allowed, given] = told(comm, &format_args!("{argument:?}"), rank)?;
    Err(ArrayError::Argument {
        what,
        given: format!("{given} on rank {rank}"),
        allowed: format!("{allowed}, as on rank 0"),
    })
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
    let words = given.len() + 1;
    let mut mine: Vec<u64> = given
        .iter()
        .map(|(_, d)| d.map_or(REFUSED, |d| digest(&Compared(d)) | 1))
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

/// The error that the distributions of `rank` and rank 0 differ. Collective.
fn difference<C: Communicator>(
    comm: &C,
    (what, mine): Given<'_>,
    rank: usize,
) -> Result<ArrayError, ArrayError> {
    let short = mine.map_or_else(
        || "none: it is refused".to_owned(),
        |d| format!("{:?} as {}", d.global_shape(), summary(d)),
    );
    let [mut allowed, mut given] = told(comm, &short, rank)?;
    if allowed == given {
        let all = mine.map(Compared);
        [allowed, given] = told(comm, &format_args!("{all:?}"), rank)?;
    }
    Ok(ArrayError::IncompatibleArray {
        what,
        given: format!("{given} on rank {rank}"),
        allowed: format!("{allowed}, as on rank 0"),
    })
}

/// The digest of a distribution that could not be made; that of others is odd.
const REFUSED: u64 = 0;

/// What of a distribution is compared.
struct Compared<'a>(&'a Distribution);

impl Hash for Compared<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let d = self.0;
        (d.axes(), d.grid(), d.targets(), d.ranks()).hash(state);
    }
}

impl Debug for Compared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = self.0;
        write!(
            f,
            "{:?} on ranks {:?} of {}",
            d.axes(),
            d.targets(),
            d.ranks()
        )
    }
}

/// The same for equal values on all ranks of a program.
fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
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
    text: &dyn Display,
    rank: usize,
) -> Result<[String; 2], ArrayError> {
    let mut head = Head(String::new());
    // Fails where the text is longer than what is told of it.
    let is_cut = write!(head, "{text}").is_err();
    let texts = comm.all_gather_v(head.0.as_bytes())?;
    let cut = comm.all_gather_value(u8::from(is_cut))?;
    let both = [0, rank].map(|rank| String::from_utf8_lossy(&texts[rank]).into_owned());
    if both[0] == both[1] {
        return Ok(both.map(|text| format!("{} (differs later on)", excerpt(&text, 0, true))));
    }
    let alike = both[0].chars().zip(both[1].chars());
    let parting = alike.take_while(|(a, b)| a == b).count();
    Ok([
        excerpt(&both[0], parting, cut[0] != 0),
        excerpt(&both[1], parting, cut[rank] != 0),
    ])
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
}
