//! [`convolve`] and [`correlate`]: sliding sums of products of two vectors.

use std::ops::Range;

use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use ndarray::{Data, Ix1};

use super::MatMul;
use crate::agreement::same_everywhere;
use crate::cow::LocalArrayCow;
use crate::redistribute::moved_to;
use crate::remote::send;
use crate::strided::elements;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// Elements of the shorter vector that a rank has at a time, at least.
const PANEL: u64 = 4096;

/// Which sums of a [`convolve`] or [`correlate`] are wanted, of vectors of `m` and `n` elements. Example: see [`convolve`].
/// Every rank gives the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SlidingMode {
    /// All of at least one product: `m + n - 1`.
    Full,
    /// As many as the longer vector has elements, from the middle.
    Same,
    /// Those of all elements of the shorter: `|m - n| + 1`.
    #[default]
    Valid,
}

/// What is slid along what.
#[derive(Clone, Copy)]
struct Sliding {
    mode: SlidingMode,
    /// Whether the shorter vector is taken backwards.
    backwards: bool,
    /// Whether the shorter vector, or the longer one, is conjugated.
    conjugated: Option<Conjugated>,
    /// Whether the result is turned around.
    turned: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Conjugated {
    Longer,
    Shorter,
}

/// The discrete convolution of two vectors: element `k` is the sum of `x[k - j] · y[j]`. Collective; on
/// [`part`](LocalArrayBase::part) local.
///
/// The result is in blocks over all ranks, of the elements' type (see [`MatMul`]). Each sum adds up in ascending order of `j`,
/// over the shorter vector, by the definition (no transform). Vectors in other layouts than blocks are redistributed first. A
/// rank needs memory for its block of the result and for as much of both vectors, or for 4096 elements of each; the work is the
/// product of the lengths, shared by the ranks. Where there are fewer sums than ranks ([`SlidingMode::Valid`] of vectors almost
/// as long as each other) the ranks share the shorter vector instead: each adds up its part of every sum, and these are added
/// in order of rank.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, SlidingMode, convolve};
/// use ndarray::{Ix1, array};
///
/// let sums = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
///     let x = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |g| g[0] + 1)?; // 1 2 3
///     assert_eq!(convolve(&x, &x, SlidingMode::Same)?.sum()?, 4 + 10 + 12);
///     assert_eq!(convolve(&x, &x, SlidingMode::Valid)?.sum()?, 10);
///     convolve(&x, &x, SlidingMode::Full)?.gather_to(0)
/// })?;
/// assert_eq!(sums[0], Some(array![1, 4, 10, 12, 9]));
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// The same on every rank: [`ArrayError::Empty`] when a vector has no element, [`ArrayError::Agreed`] when a rank cannot have
/// the memory, [`ArrayError::Comm`].
pub fn convolve<T, S1, S2, C>(
    x: &LocalArrayBase<S1, Ix1, C>,
    y: &LocalArrayBase<S2, Ix1, C>,
    mode: SlidingMode,
) -> Result<LocalArray<T, Ix1, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let sliding = Sliding {
        mode,
        backwards: false,
        conjugated: None,
        turned: false,
    };
    if y.global_size() > x.global_size() {
        slide("convolve", y, x, sliding)
    } else {
        slide("convolve", x, y, sliding)
    }
}

/// The cross-correlation of two vectors: element `k` is the sum of `x[j + k] · conj(y[j])`, `k` from the negative ones on.
/// Collective; on [`part`](LocalArrayBase::part) local. Result, memory and errors as those of [`convolve`].
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, LocalArray, SlidingMode, correlate};
/// use ndarray::{Ix1, array};
///
/// let sums = ThreadComm::run(2, |comm| {
///     let x = LocalArray::<i64, Ix1, _>::arange(0, 5, 1, "b", comm)?; // 0 1 2 3 4
///     let y = LocalArray::<i64, Ix1, _>::arange(1, 3, 1, "b", comm)?; // 1 2
///     correlate(&x, &y, SlidingMode::Valid)?.gather_to(0)
/// })?;
/// assert_eq!(sums[0], Some(array![2, 5, 8, 11])); // x[k] + 2 x[k + 1]
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// As [`convolve`].
pub fn correlate<T, S1, S2, C>(
    x: &LocalArrayBase<S1, Ix1, C>,
    y: &LocalArrayBase<S2, Ix1, C>,
    mode: SlidingMode,
) -> Result<LocalArray<T, Ix1, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let sliding = |conjugated, turned| Sliding {
        mode,
        backwards: true,
        conjugated: Some(conjugated),
        turned,
    };
    if y.global_size() > x.global_size() {
        slide("correlate", y, x, sliding(Conjugated::Longer, true))
    } else {
        slide("correlate", x, y, sliding(Conjugated::Shorter, false))
    }
}

fn slide<T, S1, S2, C>(
    operation: &'static str,
    long: &LocalArrayBase<S1, Ix1, C>,
    short: &LocalArrayBase<S2, Ix1, C>,
    sliding: Sliding,
) -> Result<LocalArray<T, Ix1, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let laid = (long.part.laid(), short.part.laid());
    same_everywhere(long.comm(), "mode", &(operation, sliding.mode, laid))?;
    let (n, m) = (long.global_shape()[0], short.global_shape()[0]);
    if m == 0 {
        return Err(ArrayError::Empty {
            operation,
            shape: vec![m],
        });
    }
    // Sum `f` of the full convolution is that of `long[f - j] · weight[j]`.
    let (first, len) = match sliding.mode {
        SlidingMode::Full => (0, n.saturating_add(m - 1)),
        SlidingMode::Same => (m - 1 - m / 2, n),
        SlidingMode::Valid => (m - 1, n - m + 1),
    };
    let comm = long.comm();
    let blocks = Distribution::over(comm.size())
        .shape([len])
        .block(0)
        .build()?;
    let mut result = agree(comm, LocalArray::<T, Ix1, C>::zeros(&blocks, comm.clone()))?;
    // The sums of a rank, in ascending order.
    let sums_of = |rank: usize| {
        let coords = blocks.coords(rank);
        let range = coords.and_then(|coords| blocks.axes()[0].owned_range(coords[0]));
        let mut range = range.unwrap_or(0..0);
        if sliding.turned {
            range = len - range.end..len - range.start;
        }
        first + range.start..first + range.end
    };
    let sums = sums_of(comm.rank());
    let (long, short) = (in_blocks(long)?, in_blocks(short)?);
    let ranks = comm.size() as u64;
    if len < ranks && ranks <= m {
        let totals = few_sums(&long, &short, &(first..first + len), sliding)?;
        let mut own = totals[to_len(sums.start - first)..to_len(sums.end - first)].to_vec();
        if sliding.turned {
            own.reverse();
        }
        for (slot, total) in result.owned_mut().iter_mut().zip(own) {
            *slot = T::sum_of(total);
        }
        return Ok(result);
    }
    let mut totals: Vec<T::Acc> = vec![bytemuck::Zeroable::zeroed(); to_len(sums.end - sums.start)];
    let step = PANEL.max(len.div_ceil(ranks));
    let mut start = 0;
    while start < m {
        let panel = start..m.min(start.saturating_add(step));
        let mut weights = if sliding.backwards {
            fetch(&short, |_| m - panel.end..m - panel.start)?
        } else {
            fetch(&short, |_| panel.clone())?
        };
        if sliding.backwards {
            weights.reverse();
        }
        let reach = |rank: usize| reach(&sums_of(rank), &panel, n);
        let elements = fetch(&long, reach)?;
        let reach = reach(comm.rank());
        for (j, &weight) in panel.clone().zip(&weights) {
            add_products(
                &mut totals,
                &sums,
                &elements,
                &reach,
                j,
                weight,
                sliding.conjugated,
            );
        }
        start = panel.end;
    }
    if sliding.turned {
        totals.reverse();
    }
    for (slot, total) in result.owned_mut().iter_mut().zip(totals) {
        *slot = T::sum_of(total);
    }
    Ok(result)
}

/// All of a few sums, on every rank: each rank adds up what a share of the shorter vector gives. Collective.
fn few_sums<T: MatMul, C: Communicator + Clone>(
    long: &LocalArrayCow<'_, T, Ix1, C>,
    short: &LocalArrayCow<'_, T, Ix1, C>,
    sums: &Range<u64>,
    sliding: Sliding,
) -> Result<Vec<T::Acc>, ArrayError> {
    let (n, m) = (long.global_shape()[0], short.global_shape()[0]);
    let comm = long.comm();
    let ranks = comm.size() as u64;
    // The first `m % ranks` ranks have one more.
    let until = |rank: u64| rank * (m / ranks) + rank.min(m % ranks);
    let share = |rank: usize| until(rank as u64)..until(rank as u64 + 1);
    let mut weights = if sliding.backwards {
        fetch(short, |rank| m - share(rank).end..m - share(rank).start)?
    } else {
        fetch(short, share)?
    };
    if sliding.backwards {
        weights.reverse();
    }
    let reach = |rank: usize| reach(sums, &share(rank), n);
    let elements = fetch(long, reach)?;
    let mut totals: Vec<T::Acc> = vec![bytemuck::Zeroable::zeroed(); to_len(sums.end - sums.start)];
    for (j, &weight) in share(comm.rank()).zip(&weights) {
        add_products(
            &mut totals,
            sums,
            &elements,
            &reach(comm.rank()),
            j,
            weight,
            sliding.conjugated,
        );
    }
    comm.all_reduce_with(&mut totals, |total, &next| *total = T::add(*total, next))?;
    Ok(totals)
}

/// All of a longer vector of `n` elements that meets a panel of the shorter in one of the sums.
fn reach(sums: &Range<u64>, panel: &Range<u64>, n: u64) -> Range<u64> {
    if sums.is_empty() {
        return 0..0;
    }
    let low = (sums.start + 1).saturating_sub(panel.end);
    low..n.min(sums.end.saturating_sub(panel.start)).max(low)
}

/// Adds `elements[f - j] · weight` to each sum `f` where there is such an element.
fn add_products<T: MatMul>(
    totals: &mut [T::Acc],
    sums: &Range<u64>,
    elements: &[T],
    reach: &Range<u64>,
    j: u64,
    weight: T,
    conjugated: Option<Conjugated>,
) {
    let low = sums.start.max(reach.start.saturating_add(j));
    let high = sums.end.min(reach.end.saturating_add(j));
    if low >= high {
        return;
    }
    let totals = &mut totals[to_len(low - sums.start)..to_len(high - sums.start)];
    let from = to_len(low - j - reach.start);
    let elements = &elements[from..from + totals.len()];
    match conjugated {
        Some(Conjugated::Longer) => {
            for (total, &x) in totals.iter_mut().zip(elements) {
                *total = T::add(*total, x.product(weight, true));
            }
        }
        other => {
            let conjugated = other.is_some();
            for (total, &x) in totals.iter_mut().zip(elements) {
                *total = T::add(*total, weight.product(x, conjugated));
            }
        }
    }
}

/// A vector in blocks, in order of rank; it moves where it lies otherwise. Collective.
fn in_blocks<T, S, C>(
    vector: &LocalArrayBase<S, Ix1, C>,
) -> Result<LocalArrayCow<'_, T, Ix1, C>, ArrayError>
where
    T: MatMul,
    S: Data<Elem = T>,
    C: Communicator + Clone,
{
    let distribution = vector.distribution();
    let is_block = matches!(distribution.axes()[0], AxisDist::Block { .. });
    if is_block && distribution.targets().is_sorted() {
        let view = vector.view_of();
        return Ok(LocalArrayBase {
            data: view.data.into(),
            part: view.part,
            comm: view.comm,
        });
    }
    let blocks = Distribution::over(distribution.ranks())
        .shape(distribution.global_shape())
        .block(0)
        .build()?;
    let moved: LocalArray<T, Ix1, C> = moved_to(vector, &blocks)?;
    Ok(LocalArrayBase {
        data: moved.data.into(),
        part: moved.part,
        comm: moved.comm,
    })
}

/// The elements in this rank's range of a vector that is [`in_blocks`]; `wanted` is the range of each rank. Collective.
fn fetch<T: MatMul, C: Communicator>(
    vector: &LocalArrayCow<'_, T, Ix1, C>,
    wanted: impl Fn(usize) -> Range<u64>,
) -> Result<Vec<T>, ArrayError> {
    let axis = &vector.distribution().axes()[0];
    let coords = vector.cart_coords();
    let mine = coords.and_then(|coords| axis.owned_range(coords[0]));
    let mine = mine.unwrap_or(0..0);
    let owned = vector.owned_elements();
    let sent = |rank: usize| {
        let wanted = wanted(rank);
        let (low, high) = (wanted.start.max(mine.start), wanted.end.min(mine.end));
        if low < high {
            owned[to_len(low - mine.start)..to_len(high - mine.start)].to_vec()
        } else {
            Vec::new()
        }
    };
    let lists: Vec<Vec<T>> = (0..vector.comm_size()).map(sent).collect();
    let received = send(vector.comm(), &lists)?;
    Ok(received
        .iter()
        .flat_map(|bytes| elements::<T>(bytes).into_owned())
        .collect())
}

/// A length of what a rank has in memory.
fn to_len(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
