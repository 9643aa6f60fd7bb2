//! [`survey`]: what all ranks together would ask of the file, and the strategy that follows.

use std::fmt;

use dist_maps::{AxisDist, Distribution, IndexMap};

use super::chunks::Along;
use super::{Direction, LONG_RUN, Strategy};
use crate::part::Extent;
use crate::{FileLayout, IoError};

/// What going to the file once costs, in bytes that are read in the same time. Chosen, not measured.
const REQUEST: u64 = 4 << 10;

/// As many runs a rank are few, however short.
const FEW_RUNS: u64 = 16;

/// Why a plan has its strategy. Run lengths are in bytes, the mean over all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    LongRuns {
        mean: u64,
    },
    FewRuns {
        runs: u64,
    },
    WholeChunks,
    ShortRuns {
        mean: u64,
    },
    SharedElements,
    SharedChunks,
    /// Of chunks that ranks share; bytes.
    LongParts {
        mean: u64,
    },
    /// Bytes or chunks, in per cent of all that there are.
    FewElements {
        percent: u64,
    },
    Asked(Strategy),
}

impl Why {
    pub(crate) fn strategy(self) -> Strategy {
        match self {
            Self::LongRuns { .. }
            | Self::LongParts { .. }
            | Self::FewRuns { .. }
            | Self::FewElements { .. }
            | Self::WholeChunks => Strategy::Direct,
            Self::ShortRuns { .. } | Self::SharedElements | Self::SharedChunks => {
                Strategy::TwoPhase
            }
            Self::Asked(strategy) => strategy,
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongRuns { mean } => write!(f, "runs are long, {mean} bytes on average"),
            Self::FewRuns { runs } => write!(f, "there are only {runs} runs"),
            Self::WholeChunks => f.write_str("every rank holds whole chunks"),
            Self::ShortRuns { mean } => write!(f, "runs are short, {mean} bytes on average"),
            Self::SharedElements => {
                f.write_str("ranks share elements, the first one's are written")
            }
            Self::SharedChunks => f.write_str("ranks share chunks"),
            Self::LongParts { mean } => write!(
                f,
                "ranks share chunks, their parts are long, {mean} bytes on average"
            ),
            Self::FewElements { percent } => {
                write!(f, "no more than {percent} per cent of the file are wanted")
            }
            Self::Asked(_) => f.write_str("as asked"),
        }
    }
}

/// Checks that every element has a place in the file, and a writer, and chooses.
pub(super) fn survey(
    distribution: &Distribution,
    item_size: usize,
    layout: &FileLayout,
    direction: Direction,
) -> Result<Why, IoError> {
    let mut shared = false;
    for (axis, dist) in distribution.axes().iter().enumerate() {
        if let AxisDist::Unstructured { size, indices, .. } = dist {
            shared |= check_lists(axis, *size, indices, direction)?;
        }
    }
    let writing = direction == Direction::Write;
    if writing && shared {
        return Ok(Why::SharedElements);
    }
    if let FileLayout::Chunked { chunk } = layout {
        let mut axes = distribution.axes().iter().zip(chunk);
        if axes.all(|(axis, &step)| is_aligned(axis, step)) {
            return Ok(Why::WholeChunks);
        }
        if !writing {
            let (touched, all) = chunks(distribution, chunk)?;
            if let Some(percent) = few(touched, all) {
                return Ok(Why::FewElements { percent });
            }
        }
        return Ok(Why::SharedChunks);
    }
    let mut axes = distribution.axes();
    let mut run_bytes = item_size as u128;
    while let Some((last, slower)) = axes.split_last()
        && last.is_whole()
    {
        // beside an extent of 0 the others may be of any size
        run_bytes = run_bytes.saturating_mul(u128::from(last.size()));
        axes = slower;
    }
    // all ranks together: the grid is a product, and so are its sums
    let sum = |of: &dyn Fn(usize) -> u64, axis: &AxisDist| -> u128 {
        (0..axis.ranks()).map(|c| u128::from(of(c))).sum()
    };
    let len = |axis: &AxisDist, c: usize| {
        let len = if writing {
            axis.owned_len(c)
        } else {
            axis.stored_len(c)
        };
        len as u64
    };
    let mut runs = 1_u128;
    if let Some((inner, outer)) = axes.split_last() {
        for axis in outer {
            runs = runs.saturating_mul(sum(&|c| len(axis, c), axis));
        }
        let of_row = sum(&|c| runs_along(inner, c), inner);
        run_bytes = run_bytes.saturating_mul(sum(&|c| len(inner, c), inner)) / of_row.max(1);
        runs = runs.saturating_mul(of_row);
    }
    let to_u64 = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
    let (mean, runs) = (to_u64(run_bytes), to_u64(runs));
    let few_runs = FEW_RUNS.saturating_mul(distribution.grid().len() as u64);
    if mean >= LONG_RUN {
        return Ok(Why::LongRuns { mean });
    }
    if runs <= few_runs {
        return Ok(Why::FewRuns { runs });
    }
    if !writing {
        // slabs are all of the file, whatever is wanted
        let product = |of: &dyn Fn(&AxisDist) -> u128| {
            let axes = distribution.axes().iter().map(of);
            axes.fold(item_size as u128, u128::saturating_mul)
        };
        let wanted = product(&|axis| sum(&|c| len(axis, c), axis));
        let cost = wanted.saturating_add(u128::from(runs) * u128::from(REQUEST));
        let all = product(&|axis| u128::from(axis.size()));
        if let Some(percent) = few(cost, all) {
            return Ok(Why::FewElements { percent });
        }
    }
    Ok(Why::ShortRuns { mean })
}

/// How much of all is wanted, in per cent, rounded up, where it is at most half.
fn few(wanted: u128, all: u128) -> Option<u64> {
    let is_few = wanted.saturating_mul(2) <= all && all > 0;
    let percent = wanted.saturating_mul(100).div_ceil(all.max(1));
    is_few.then(|| u64::try_from(percent).unwrap_or(100))
}

/// Chunks that all ranks together would read, each by itself, and chunks of the file.
fn chunks(distribution: &Distribution, chunk: &[u64]) -> Result<(u128, u128), IoError> {
    let (mut touched, mut all) = (1_u128, 1_u128);
    for (axis, &step) in distribution.axes().iter().zip(chunk) {
        let mut of_axis = 0_u128;
        for coord in 0..axis.ranks() {
            let along = Along::new(axis, coord, step, Extent::Stored)?;
            of_axis += u128::from(along.count());
        }
        touched = touched.saturating_mul(of_axis);
        all = all.saturating_mul(u128::from(axis.size().div_ceil(step)));
    }
    Ok((touched, all))
}

/// Bytes that are contiguous in a chunk and in a rank's buffer, at least, on average.
pub(super) fn run_in_chunks(
    distribution: &Distribution,
    item_size: usize,
    chunk: &[u64],
    extent: Extent,
) -> Result<u64, IoError> {
    let mut bytes = item_size as u128;
    for (axis, &step) in distribution.axes().iter().zip(chunk).rev() {
        let (mut elements, mut pieces) = (0_u128, 0_u128);
        for coord in 0..axis.ranks() {
            let along = Along::new(axis, coord, step, extent)?;
            elements += match extent {
                Extent::Owned => axis.owned_len(coord) as u128,
                Extent::Stored => axis.stored_len(coord) as u128,
            };
            pieces += u128::from(along.pieces(runs_along(axis, coord)));
        }
        bytes = bytes.saturating_mul(elements) / pieces.max(1);
        if !axis.is_whole() || axis.size() > step {
            break;
        }
    }
    Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// Runs of a coordinate along its axis.
fn runs_along(axis: &AxisDist, coord: usize) -> u64 {
    match axis {
        AxisDist::Block { .. } => 1,
        AxisDist::Cyclic { block_size, .. } => (axis.owned_len(coord) as u64).div_ceil(*block_size),
        AxisDist::Unstructured { .. } => axis.map(coord).map_or(0, |map| map.runs().count() as u64),
    }
}

/// Whether every coordinate holds whole chunks of `step` elements, in order.
fn is_aligned(axis: &AxisDist, step: u64) -> bool {
    let size = axis.size();
    let at_edge = |bound: u64| bound.is_multiple_of(step) || bound == size;
    match axis {
        AxisDist::Block { bounds, .. } => bounds.iter().all(|&bound| at_edge(bound)),
        AxisDist::Cyclic {
            ranks, block_size, ..
        } => *ranks == 1 || block_size.is_multiple_of(step),
        AxisDist::Unstructured { indices, .. } => (0..indices.len()).all(|coord| {
            axis.map(coord).is_ok_and(|map| {
                map.runs().all(|run| {
                    let start = u64::try_from(run.global).unwrap_or(1);
                    start.is_multiple_of(step) && at_edge(start + run.len as u64)
                })
            })
        }),
    }
}

/// Checks the lists of an axis; whether two of them share an index.
fn check_lists(
    axis: usize,
    size: u64,
    lists: &[std::sync::Arc<[i64]>],
    direction: Direction,
) -> Result<bool, IoError> {
    let mut all: Vec<i64> = lists.iter().flat_map(|list| list.iter().copied()).collect();
    all.sort_unstable();
    let outside = |index: &i64| u64::try_from(*index).map_or(true, |index| index >= size);
    if let Some(&index) = [all.first(), all.last()]
        .into_iter()
        .flatten()
        .find(|g| outside(g))
    {
        return Err(IoError::Index { axis, index, size });
    }
    let held = all.len();
    all.dedup();
    if direction == Direction::Write && (all.len() as u64) < size {
        let index = all
            .iter()
            .zip(0_u64..)
            .find(|(g, at)| u64::try_from(**g) != Ok(*at));
        return Err(IoError::Uncovered {
            axis,
            index: index.map_or(all.len() as u64, |(_, at)| at),
        });
    }
    Ok(all.len() < held)
}
