//! [`ReadPlan`]: what is fetched from whom for a batch of rows.

use crate::memory::try_vec;
use crate::{DataError, Placement};

/// Rows that lie side by side on one rank, and do so in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fetch {
    /// The rank that has them.
    pub rank: usize,
    /// The first of them, among the rows of that rank.
    pub local: usize,
    /// Where the first of them goes in the batch.
    pub at: usize,
    /// How many there are, at least 1.
    pub len: usize,
}

/// A row of a batch that came before in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Repeat {
    /// Where it goes in the batch.
    pub at: usize,
    /// Where it is in the batch already.
    pub first: usize,
}

/// What is fetched from whom for a batch of rows: pure arithmetic.
///
/// Every index is checked first. Each row is fetched once, however often it is asked for, and rows that are neighbours on
/// both sides are one fetch.
///
/// ```
/// use dist_torch::{Fetch, Placement, ReadPlan, Repeat, Share};
///
/// let placement = Placement::new(10, &Share::Nsplit, 0..2)?; // 0..5 and 5..10
/// let plan = ReadPlan::new(&placement, &[8, 9, 1, 8])?;
/// assert_eq!(plan.fetches(), [
///     Fetch { rank: 1, local: 3, at: 0, len: 2 },
///     Fetch { rank: 0, local: 1, at: 2, len: 1 },
/// ]);
/// assert_eq!(plan.repeats(), [Repeat { at: 3, first: 0 }]);
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPlan {
    rows: usize,
    fetches: Vec<Fetch>,
    repeats: Vec<Repeat>,
}

impl ReadPlan {
    /// The plan of these rows, in any order and with repetitions. Local; takes time `n log n` at most.
    ///
    /// # Errors
    /// [`DataError::IndexOutOfRange`] for the first row that there is not; [`DataError::Allocation`].
    pub fn new(placement: &Placement, rows: &[u64]) -> Result<Self, DataError> {
        let len = placement.rows();
        if let Some(&index) = rows.iter().find(|&&row| row >= len) {
            return Err(DataError::IndexOutOfRange { index, len });
        }
        let repeats = repeats(rows)?;
        let mut fetches: Vec<Fetch> = try_vec((rows.len() - repeats.len()) as u64)?;
        let mut known = repeats.iter().map(|repeat| repeat.at).peekable();
        for (at, &row) in rows.iter().enumerate() {
            if known.next_if_eq(&at).is_some() {
                continue;
            }
            let place = placement.locate(row)?;
            match fetches.last_mut() {
                Some(last)
                    if last.rank == place.rank
                        && last.local + last.len == place.local
                        && last.at + last.len == at =>
                {
                    last.len += 1;
                }
                _ => fetches.push(Fetch {
                    rank: place.rank,
                    local: place.local,
                    at,
                    len: 1,
                }),
            }
        }
        Ok(Self {
            rows: rows.len(),
            fetches,
            repeats,
        })
    }

    /// Rows of the batch.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// What is fetched, in the order of the batch.
    #[must_use]
    pub fn fetches(&self) -> &[Fetch] {
        &self.fetches
    }

    /// What is copied inside the batch after that, in its order.
    #[must_use]
    pub fn repeats(&self) -> &[Repeat] {
        &self.repeats
    }
}

/// The positions at which a row comes again, ascending, and where it came first.
fn repeats(rows: &[u64]) -> Result<Vec<Repeat>, DataError> {
    // most orders that are no shuffle ascend, and have no repetition
    if rows.windows(2).all(|pair| pair[0] < pair[1]) {
        return Ok(Vec::new());
    }
    let mut places: Vec<(u64, usize)> = try_vec(rows.len() as u64)?;
    places.extend(rows.iter().enumerate().map(|(at, &row)| (row, at)));
    places.sort_unstable();
    let mut repeats = Vec::new();
    for same in places
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|same| same.len() > 1)
    {
        let first = same[0].1;
        repeats.extend(same[1..].iter().map(|&(_, at)| Repeat { at, first }));
    }
    repeats.sort_unstable_by_key(|repeat| repeat.at);
    Ok(repeats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Share;

    #[test]
    fn indices_are_checked_before_all_else() {
        let placement = Placement::new(5, &Share::Cyclic, 0..3).unwrap();
        for index in [5, 6, 1 << 63, u64::MAX] {
            let error = ReadPlan::new(&placement, &[0, 4, index, 9]).unwrap_err();
            assert_eq!(error, DataError::IndexOutOfRange { index, len: 5 });
        }
        let none = ReadPlan::new(&placement, &[]).unwrap();
        assert_eq!(
            (none.rows(), none.fetches(), none.repeats()),
            (0, &[][..], &[][..])
        );
    }

    #[test]
    fn a_whole_share_is_one_fetch() {
        let placement = Placement::new(9, &Share::Nsplit, 0..3).unwrap();
        let rows: Vec<_> = (0..9).collect();
        let plan = ReadPlan::new(&placement, &rows).unwrap();
        let fetch = |rank, at| Fetch {
            rank,
            local: 0,
            at,
            len: 3,
        };
        assert_eq!(plan.fetches(), [fetch(0, 0), fetch(1, 3), fetch(2, 6)]);
        // neighbours on one side alone are not
        let backwards = ReadPlan::new(&placement, &[2, 1, 0]).unwrap();
        assert_eq!(backwards.fetches().len(), 3);
    }
}
