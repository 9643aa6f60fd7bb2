//! [`Pieces`]: arrays of one shape, read together piece by piece within a budget of bytes, one piece ahead where it holds two.
//!
//! ```text
//! caller   works on piece 0      works on piece 1      …
//! thread   reads piece 1         reads piece 2         …
//! ```

use dap_protocol::Element;
use dist_maps::{AxisDist, Distribution};

use super::fragment::Cut;
use super::handle::{Handle, once, spread};
use super::read::{Loaded, Reading, load_as, need};
use crate::IoError;
use crate::h5::together::same;

/// As many pieces are looked at to find out what the largest takes: chunks and pieces do not begin together, but do so again and again.
const LOOKED_AT: u64 = 256;

/// How arrays are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Along the longest dimension, in the distribution of the first array.
    Longest,
    /// By rows, consecutive ones of the whole array on each rank: what ranks have of all pieces is in C order.
    Rows,
}

/// What is read at a time.
pub(super) struct Piece {
    select: Select,
    pub(super) distribution: Distribution,
}

enum Select {
    /// A scalar.
    All,
    Range {
        axis: usize,
        start: u64,
        count: u64,
    },
    Rows(Vec<i64>),
}

impl Piece {
    /// What it is of a handle of any of the arrays, distributed as the piece is.
    pub(super) fn of<'c>(&self, handle: &Handle<'c>) -> Result<Handle<'c>, IoError> {
        let part = match &self.select {
            Select::All => handle.clone(),
            Select::Range { axis, start, count } => handle.fragment(*axis, *start, *count)?,
            Select::Rows(rows) => handle.take(0, rows)?,
        };
        part.distribute(&self.distribution)
    }

    /// Where it begins, of an array of so many dimensions.
    pub(super) fn offsets(&self, ndim: usize) -> Vec<u64> {
        let mut offsets = vec![0; ndim];
        if let Select::Range { axis, start, .. } = self.select
            && let Some(offset) = offsets.get_mut(axis)
        {
            *offset = start;
        }
        offsets
    }
}

/// Where the pieces begin.
#[derive(Clone, Debug)]
enum Cutting {
    All,
    Along(Cut),
    /// The rows of the whole array over the ranks, and how many of them a piece has on each.
    Rows {
        rows: Distribution,
        step: u64,
    },
}

impl Cutting {
    /// No more than so many indices of the dimension that is cut on a rank.
    fn new(first: &Handle<'_>, by: By, along: u64) -> Result<Self, IoError> {
        Ok(match by {
            _ if first.shape().is_empty() => Self::All,
            By::Longest => Self::Along(Cut::along(first, along)),
            By::Rows => {
                let chunk = first.chunk_along(0).0;
                Self::Rows {
                    rows: spread(first.shape(), &[0], first.comm.size())?,
                    step: if along < chunk {
                        along
                    } else {
                        along / chunk * chunk
                    },
                }
            }
        })
    }

    fn count(&self) -> u64 {
        match self {
            Self::All => 1,
            Self::Along(cut) => cut.count(),
            Self::Rows { rows, step } => {
                let axis = &rows.axes()[0]; // of an array with dimensions
                let most = (0..axis.ranks()).map(|c| axis.owned_len(c) as u64).max();
                most.unwrap_or(0).div_ceil(*step)
            }
        }
    }

    fn piece(&self, first: &Handle<'_>, number: u64) -> Result<Piece, IoError> {
        match self {
            Self::All => Ok(Piece {
                select: Select::All,
                distribution: first.distribution.clone(),
            }),
            Self::Along(cut) => {
                let (start, count) = cut.piece(number).unwrap_or((0, 0));
                let fragment = first.fragment(cut.axis, start, count)?;
                Ok(Piece {
                    select: Select::Range {
                        axis: cut.axis,
                        start,
                        count,
                    },
                    distribution: fragment.distribution,
                })
            }
            Self::Rows { rows, step } => {
                let mut axes = once(rows)?;
                let (mut taken, mut bounds) = (Vec::new(), vec![0]);
                for coord in 0..axes[0].ranks() {
                    let own = axes[0].owned_range(coord).unwrap_or(0..0);
                    let start = own.start.saturating_add(number.saturating_mul(*step));
                    let end = start.saturating_add(*step).min(own.end);
                    taken.extend((start.min(end)..end).map(u64::cast_signed));
                    bounds.push(taken.len() as u64);
                }
                axes[0] = AxisDist::block_bounds(bounds)?;
                Ok(Piece {
                    select: Select::Rows(taken),
                    distribution: Distribution::from_axes(axes, rows.ranks(), rows.targets())?,
                })
            }
        }
    }
}

/// How arrays are cut, and within how many bytes a rank; whether they may be read ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) by: By,
    pub(super) budget: u64,
    pub(super) ahead: bool,
}

/// Bytes that a piece takes beside its parts, on any rank.
pub(super) type More<'a> = dyn Fn(&Piece) -> Result<u64, IoError> + 'a;

/// What is done with a piece and its parts, one of each array.
type Visit<'a, T> = dyn FnMut(&Piece, Vec<Loaded<T>>) -> Result<(), IoError> + 'a;

/// Arrays and how they are cut; the same on every rank.
#[derive(Clone)]
pub(super) struct Pieces<'a, 'c> {
    first: &'a Handle<'c>,
    leaves: &'a [Handle<'c>],
    cutting: Cutting,
    is_ahead: bool,
}

impl<'a, 'c> Pieces<'a, 'c> {
    /// Cuts arrays of the shape of the first so that a piece of all of them takes no more than the budget on any rank, with what
    /// is read ahead and with `more`, but has one index at least. Collective; equal arrays and budgets.
    pub(super) fn new(
        first: &'a Handle<'c>,
        leaves: &'a [Handle<'c>],
        within: Within,
        more: &More<'_>,
    ) -> Result<Self, IoError> {
        let budget = within.budget.to_string();
        same(first.comm, &[("budget", budget.as_bytes())])?;
        let mut alone = Self {
            first,
            leaves,
            cutting: Cutting::All,
            is_ahead: false,
        };
        alone.fit(within, more)?;
        if alone.count() <= 1 || !within.ahead {
            return Ok(alone);
        }
        let mut both = alone.clone();
        both.is_ahead = true;
        let fits = both.fit(within, more)?;
        // smaller pieces than chunks would decode each several times
        let holds = |pieces: &Self| match &pieces.cutting {
            Cutting::Along(cut) => cut.holds_a_chunk(first),
            _ => true,
        };
        let is_worth_it = fits && (holds(&both) || !holds(&alone));
        Ok(if is_worth_it { both } else { alone })
    }

    /// Makes pieces as large as fit; whether they do.
    fn fit(&mut self, within: Within, more: &More<'_>) -> Result<bool, IoError> {
        let Within { by, budget, .. } = within;
        // all in one piece, whatever the blocks are
        let longest = self.first.shape().iter().copied().max().unwrap_or(1);
        let mut along = longest.saturating_mul(2).max(1);
        loop {
            self.cutting = Cutting::new(self.first, by, along)?;
            let taken = self.largest(more)?;
            if taken <= budget || along == 1 {
                return Ok(taken <= budget);
            }
            let fitting = u128::from(along) * u128::from(budget) / u128::from(taken);
            let fitting = u64::try_from(fitting).unwrap_or(along);
            along = fitting.min(along - along.div_ceil(8)).max(1);
        }
    }

    /// Bytes that pieces take on any rank, at most.
    fn largest(&self, more: &More<'_>) -> Result<u64, IoError> {
        let count = self.count();
        let last = count.saturating_sub(1).max(LOOKED_AT.min(count));
        let (mut parts, mut ahead, mut beside, mut besides) = (0, 0, 0, 0);
        for number in (0..count.min(LOOKED_AT)).chain(last..count) {
            let piece = self.cutting.piece(self.first, number)?;
            let (mut own, mut read) = (0_u64, 0_u64);
            for leaf in self.leaves {
                let need = need(&piece.of(leaf)?, &piece.distribution)?;
                own = own.saturating_add(need.part);
                read = read.saturating_add(need.read);
                beside = need.beside.max(beside);
            }
            parts = own.max(parts);
            ahead = read.max(ahead);
            besides = more(&piece)?.max(besides);
        }
        let working = if self.is_ahead {
            besides.saturating_add(ahead)
        } else {
            besides
        };
        // when the next piece is finished, the caller's is gone
        Ok(parts.saturating_add(working.max(beside)))
    }

    /// Number of pieces.
    pub(super) fn count(&self) -> u64 {
        if self.first.shape().contains(&0) {
            return 0;
        }
        self.cutting.count()
    }

    /// Reads the pieces one after the other, and calls `f` with the parts of all arrays of each. `T` is their element type, or that of
    /// single bytes. Collective; what `f` returns is the same on every rank.
    pub(super) fn each<T: Element>(&self, f: &mut Visit<'_, T>) -> Result<(), IoError> {
        let count = self.count();
        let mut ahead: Option<Vec<Reading<'c, T>>> = None;
        for number in 0..count {
            let piece = self.cutting.piece(self.first, number)?;
            let parts: Vec<Loaded<T>> = if let Some(readings) = ahead.take() {
                let parts = readings.into_iter().map(Reading::finish);
                parts.collect::<Result<_, _>>()?
            } else {
                let load = |leaf| load_as(&piece.of(leaf)?, &piece.distribution);
                let parts = self.leaves.iter().map(load);
                parts.collect::<Result<_, IoError>>()?
            };
            if self.is_ahead && number + 1 < count {
                let next = self.cutting.piece(self.first, number + 1)?;
                let begin = |leaf| Ok(Reading::ahead(next.of(leaf)?, next.distribution.clone()));
                let readings = self.leaves.iter().map(begin);
                ahead = Some(readings.collect::<Result<_, IoError>>()?);
            }
            f(&piece, parts)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dap_protocol::{DistBuffer, HostArray};
    use dist_comm::{CommExt, SingleComm, ThreadComm};
    use dist_maps::Slice;

    use super::*;
    use crate::part::Extent;
    use crate::{SaveHdf5, Strategy, open_dset};

    /// Bytes that this rank holds of an array while a piece of it is read, and afterwards: counted, rank by rank, from what is planned.
    fn held(piece: &Piece, leaf: &Handle<'_>) -> (u64, u64) {
        let handle = piece.of(leaf).unwrap();
        let (rank, item) = (leaf.comm.rank(), handle.dataset.element.size());
        let layout = handle.layout();
        let local = piece.distribution.local_shape(rank);
        let part = local.iter().product::<usize>() * item;
        let (read, selection) = match handle.window.strategy(&piece.distribution, &layout, item) {
            Strategy::Direct => {
                let selection = handle
                    .window
                    .part(&piece.distribution, rank, Extent::Stored);
                (part, selection.unwrap())
            }
            Strategy::TwoPhase => {
                let slabs = handle.window.slabs(&layout, leaf.comm.size()).unwrap();
                let selection = handle.window.part(&slabs, rank, Extent::Owned).unwrap();
                let slab = slabs.owned_shape(rank).iter().product::<usize>();
                let slab = if slabs.is_empty_on(rank) { 0 } else { slab };
                (slab * item, selection)
            }
        };
        let sorted = if selection.is_in_order() {
            0
        } else {
            selection.elements().unwrap() * item
        };
        ((read + sorted) as u64, part as u64)
    }

    #[test]
    fn what_is_held_is_within_the_budget() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.h5");
        let whole = Distribution::over(1).shape([40, 60]).build().unwrap();
        let all = HostArray::new(vec![40, 60], (0..2400).collect::<Vec<i32>>()).unwrap();
        let all = DistBuffer::new(whole.dim_data(0).unwrap(), all).unwrap();
        for save in [
            SaveHdf5::new(&path).key("plain"),
            SaveHdf5::new(&path).key("chunks").chunk([7, 11]),
        ] {
            save.save(&all, &SingleComm::new()).unwrap();
        }
        for ranks in 1..=4 {
            ThreadComm::run(ranks, |comm| {
                let plain = open_dset::<i32>(&path, "plain", comm)?;
                let chunks = open_dset::<i32>(&path, "chunks", comm)?;
                let back = chunks.slice(&[Slice::new(None, None, -1).into()])?;
                let rows: Vec<i64> = (0..40).map(|row| row * 7 % 40).collect();
                let mixed = plain.take(0, &rows)?;
                let dealt = Distribution::over(ranks)
                    .shape([40, 60])
                    .cyclic(1)
                    .build()?;
                let dealt = chunks.distribute(&dealt)?;
                let sets = [
                    vec![&plain],
                    vec![&chunks],
                    vec![&back, &plain],
                    vec![&dealt, &back, &mixed],
                ];
                let mut several = 0;
                for (set, by) in sets.iter().flat_map(|s| [(s, By::Longest), (s, By::Rows)]) {
                    let leaves: Vec<_> = set.iter().map(|a| a.handle.clone()).collect();
                    for budget in [1, 300, 1000, 3000, 7000, 20_000, 1 << 20] {
                        let within = Within {
                            by,
                            budget,
                            ahead: true,
                        };
                        let more = 100;
                        let pieces = Pieces::new(&leaves[0], &leaves, within, &|_| Ok(more))?;
                        let least = Cutting::new(&leaves[0], by, 1)?;
                        let count = pieces.count();
                        let at = |number| pieces.cutting.piece(&leaves[0], number).unwrap();
                        let sum = |number: u64, what: fn((u64, u64)) -> u64| -> u64 {
                            let piece = at(number);
                            leaves.iter().map(|leaf| what(held(&piece, leaf))).sum()
                        };
                        let mut most = 0;
                        for number in 0..count {
                            let parts = sum(number, |(_, part)| part);
                            let ahead = if pieces.is_ahead && number + 1 < count {
                                sum(number + 1, |(read, _)| read)
                            } else {
                                0
                            };
                            most = most.max(parts + ahead + more);
                        }
                        let most = comm.all_gather_value(most)?.into_iter().max().unwrap_or(0);
                        let is_least = count == least.count();
                        assert!(
                            most <= budget || is_least,
                            "{most} of {budget} bytes, {ranks} ranks, {by:?}, {count} pieces"
                        );
                        assert!(!pieces.is_ahead || count > 1);
                        several += u64::from(pieces.is_ahead);
                        if budget == 1 << 20 {
                            assert_eq!(count, 1);
                        }
                    }
                }
                assert!(several > 10, "{several} are read ahead");
                Ok::<_, IoError>(())
            })
            .unwrap();
        }
    }
}
