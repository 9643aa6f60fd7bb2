//! Arrays one after the other: [`concatenate`]; elements several times: [`repeat`](LocalArrayBase::repeat).

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution};
use ndarray::{Array, ArrayView, Axis, Data, Dimension, IxDyn};

use crate::agreement::same_everywhere;
use crate::axis::axis_of;
use crate::cow::without_padding;
use crate::part::Part;
use crate::redistribute::moved_to;
use crate::reshape::reshaped;
use crate::{ArrayError, LocalArray, LocalArrayBase, LocalArrayView};

/// The arrays one after the other along `axis`, or one after the other as flat arrays where it is `None` (`NumPy`'s
/// `concatenate`). Collective; every rank gives the same arrays and axis. Local meaning: on their parts.
///
/// Where the arrays are distributed alike along the other dimensions no element moves: every rank keeps what it has, as
/// [`Distribution::concatenate`](dist_maps::Distribution::concatenate) says. Otherwise, or where that would need too long lists
/// of indices, the elements move to blocks along `axis` over the grid of the first array. Padding goes.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, concatenate};
/// use ndarray::Ix1;
///
/// let joined = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([4]).block(0).build()?;
///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |g| g[0])?;
///     let b = a.map(|x| x * 10).repeat(2, 0)?;
///     concatenate(&[&a.to_owned().into_dyn(), &b], 0)?.gather_to(0)
/// })?;
/// assert_eq!(joined[0].as_ref().map(|a| a.iter().copied().collect()), Some(vec![0, 1, 2, 3, 0, 0, 10, 10, 20, 20, 30, 30]));
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// The same on every rank: [`ArrayError::Argument`] for no array at all or arguments that differ between the ranks,
/// [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Shape`] when another extent than that of `axis`
/// differs, [`ArrayError::InvalidBaseComm`] for arrays over different numbers of ranks,
/// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
pub fn concatenate<S, D, C>(
    arrays: &[&LocalArrayBase<S, D, C>],
    axis: impl Into<Option<i32>>,
) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    let axis = axis.into();
    let Some(first) = arrays.first() else {
        return Err(ArrayError::Argument {
            what: "arrays",
            given: "none".to_owned(),
            allowed: "at least one".to_owned(),
        });
    };
    let laid: Vec<_> = arrays.iter().map(|array| array.part.laid()).collect();
    same_everywhere(first.comm(), "axis or arrays", &(axis, laid))?;
    if let Some(axis) = axis {
        let axis = axis_of(axis, first.ndim())?;
        let views: Vec<_> = arrays.iter().map(|array| array.view_of()).collect();
        return joined(&views, axis);
    }
    let flat = arrays
        .iter()
        .map(|array| reshaped(array.view_of(), &[array.size_u64()?]));
    let flat: Vec<_> = flat.collect::<Result<_, _>>()?;
    let views: Vec<_> = flat.iter().map(LocalArrayBase::view_of).collect();
    joined(&views, 0)
}

/// The arrays, at least one, one after the other. Collective, in the same way on every rank.
pub(crate) fn joined<T: Element, D: Dimension, C: Communicator + Clone>(
    arrays: &[LocalArrayView<'_, T, D, C>],
    axis: usize,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError> {
    let (first, rest) = (&arrays[0], &arrays[1..]);
    for other in rest {
        crate::take::check_ranks(first.distribution(), other.distribution())?;
        let shape = other.global_shape();
        let differs = |(at, (a, b)): (usize, (&u64, &u64))| at != axis && a != b;
        let extents = first.global_shape().iter().zip(shape);
        if shape.len() != first.ndim() || extents.enumerate().any(differs) {
            return Err(ArrayError::Shape {
                what: "array to join",
                given: shape.to_vec(),
                allowed: format!("{:?} but for axis {axis}", first.global_shape()),
            });
        }
    }
    let others: Vec<&Distribution> = rest.iter().map(LocalArrayBase::distribution).collect();
    let comm = first.comm.clone();
    if let Ok(distribution) = first.distribution().concatenate(&others, axis) {
        let distribution = without_padding(&distribution)?;
        let parts = arrays
            .iter()
            .map(|array| array.part.owned_of(array.data.view()));
        let parts = parts.map(ArrayView::into_dyn).collect::<Vec<_>>();
        return stacked(&parts, arrays, axis, distribution, comm);
    }
    // Blocks over the grid of the first, cut at the same places for every piece.
    let total = arrays
        .iter()
        .try_fold(0_u64, |sum, array| {
            sum.checked_add(array.global_shape()[axis])
        })
        .unwrap_or(u64::MAX);
    let along = AxisDist::block_balanced(total, first.grid_shape()[axis])?;
    let AxisDist::Block { bounds, .. } = &along else {
        return Err(ArrayError::InvalidDimension {
            what: "axis",
            given: axis.cast_signed(),
            ndim: first.ndim(),
        });
    };
    let over_grid = |along: AxisDist| {
        let mut axes = without_padding(first.distribution())?.axes().to_vec();
        axes[axis] = along;
        let targets = Arc::<[usize]>::from(first.distribution().targets());
        Ok::<_, ArrayError>(Distribution::from_axes(axes, comm.size(), targets)?)
    };
    let mut offset = 0;
    let mut moved = Vec::with_capacity(arrays.len());
    for array in arrays {
        let n = array.global_shape()[axis];
        let here = bounds
            .iter()
            .map(|bound| bound.saturating_sub(offset).min(n));
        let piece = over_grid(AxisDist::block_bounds(here.collect::<Vec<_>>())?)?;
        moved.push(moved_to::<T, _, _, IxDyn, _>(array, &piece)?);
        offset += n;
    }
    let parts: Vec<_> = moved.iter().map(|array| array.data.view()).collect();
    let pieces: Vec<_> = moved.iter().map(LocalArrayBase::view_of).collect();
    stacked(&parts, &pieces, axis, over_grid(along.clone())?, comm)
}

/// What this rank has of each, one after the other.
fn stacked<T: Element, D: Dimension, C: Communicator + Clone>(
    parts: &[ArrayView<'_, T, IxDyn>],
    arrays: &[LocalArrayView<'_, T, D, C>],
    axis: usize,
    distribution: Distribution,
    comm: C,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError> {
    let part = Part::new(Arc::new(distribution), &comm)?;
    let mut data: Array<T, IxDyn> = agree(&comm, part.zeros())?;
    let mut rest = data.view_mut();
    for (elements, array) in parts.iter().zip(arrays) {
        let n = elements.len_of(Axis(axis));
        if !array.part.is_active() || elements.is_empty() {
            continue;
        }
        if n > rest.len_of(Axis(axis)) {
            // The distribution of the whole has place for every piece.
            return Err(ArrayError::LocalShape {
                rank: array.comm.rank(),
                given: elements.shape().to_vec(),
                allowed: rest.shape().to_vec(),
            });
        }
        let (mut here, after) = rest.split_at(Axis(axis), n);
        here.assign(elements);
        rest = after;
    }
    LocalArray::from_part(data, Arc::new(part), comm)
}

/// How often [`repeat`](LocalArrayBase::repeat) repeats elements: made of one number for all, or of one for each.
/// Every rank gives the same.
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix1;
///
/// let found = ThreadComm::run(2, |comm| {
///     let a = LocalArray::<u8, Ix1, _>::arange(0, 3, 1, "b", comm)?;
///     Ok::<_, ArrayError>((a.repeat(2, 0)?.gather_to(0)?, a.repeat(vec![2, 0, 1], 0)?.gather_to(0)?))
/// })?;
/// let lists = |(a, b): &(Option<ndarray::ArrayD<u8>>, Option<ndarray::ArrayD<u8>>)| [a, b].map(|x| x.iter().flatten().copied().collect::<Vec<_>>());
/// assert_eq!(lists(&found[0]), [vec![0, 0, 1, 1, 2, 2], vec![0, 0, 2]]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repeats {
    /// Each element so many times.
    All(usize),
    /// Each element its own number of times.
    Each(Vec<usize>),
}

impl From<usize> for Repeats {
    fn from(all: usize) -> Self {
        Self::All(all)
    }
}

impl From<&[usize]> for Repeats {
    fn from(each: &[usize]) -> Self {
        Self::Each(each.to_vec())
    }
}

impl From<Vec<usize>> for Repeats {
    fn from(each: Vec<usize>) -> Self {
        Self::Each(each)
    }
}

impl<const N: usize> From<[usize; N]> for Repeats {
    fn from(each: [usize; N]) -> Self {
        Self::Each(each.to_vec())
    }
}

impl Repeats {
    /// How often an index of an axis of `n` is repeated; one outside, which lists may name, not at all.
    fn of(&self, global: i64, n: u64) -> u64 {
        match self {
            _ if u64::try_from(global).map_or(true, |at| at >= n) => 0,
            Self::All(all) => *all as u64,
            Self::Each(each) => usize::try_from(global)
                .ok()
                .and_then(|at| each.get(at))
                .map_or(0, |&n| n as u64),
        }
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// Each element several times in a row, along `axis` or, where it is `None`, in the flattened array (`NumPy`'s `repeat`):
    /// all as often, or each its own number of times. Collective; every rank gives the same arguments. Local meaning: on
    /// [`part`](Self::part).
    ///
    /// No element moves to another rank: blocks stay blocks and dealt ones dealt where all are repeated as often; otherwise the
    /// indices are listed where blocks cannot say it. Padding goes. For an example see [`concatenate`].
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`] for
    /// arguments that differ between the ranks, [`ArrayError::Shape`] when there is not one number per index (a list of one
    /// counts for all), [`ArrayError::Map`] for a size that is none or more indices than can be listed,
    /// [`ArrayError::Agreed`] when a rank cannot have the memory.
    pub fn repeat(
        &self,
        repeats: impl Into<Repeats>,
        axis: impl Into<Option<i32>>,
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        let (repeats, axis) = (repeats.into(), axis.into());
        same_everywhere(&self.comm, "repeats or axis", &(&repeats, axis))?;
        if let Some(axis) = axis {
            return repeated(&self.view_of(), &repeats, axis_of(axis, self.ndim())?);
        }
        let flat = reshaped(self.view_of(), &[self.size_u64()?])?;
        repeated(&flat.view_of(), &repeats, 0)
    }
}

fn repeated<T: Element, D: Dimension, C: Communicator + Clone>(
    array: &LocalArrayView<'_, T, D, C>,
    repeats: &Repeats,
    axis: usize,
) -> Result<LocalArray<T, IxDyn, C>, ArrayError> {
    let n = array.global_shape()[axis];
    let repeats = match repeats {
        Repeats::Each(each) if each.len() == 1 => &Repeats::All(each[0]),
        other => other,
    };
    if let Repeats::Each(each) = repeats
        && each.len() as u64 != n
    {
        return Err(ArrayError::Shape {
            what: "repeats",
            given: vec![each.len() as u64],
            allowed: format!("[{n}] or [1]"),
        });
    }
    let distribution = without_padding(array.distribution())?;
    let mut axes = distribution.axes().to_vec();
    axes[axis] = repeated_axis(&axes[axis], repeats)?;
    let targets = Arc::<[usize]>::from(distribution.targets());
    let distribution = Distribution::from_axes(axes, distribution.ranks(), targets)?;
    let comm = array.comm.clone();
    let part = Part::new(Arc::new(distribution), &comm)?;
    let mut data: Array<T, IxDyn> = agree(&comm, part.zeros())?;
    if part.is_active() {
        let globals = array.part.owned_globals(axis, None);
        let times = globals.iter().map(|&global| repeats.of(global, n));
        let times: Vec<usize> = times
            .map(|times| usize::try_from(times).unwrap_or(usize::MAX))
            .collect();
        let inner: usize = data.shape()[axis + 1..].iter().product();
        if let Some(copies) = data.as_slice_mut().filter(|copies| !copies.is_empty()) {
            repeat_lanes(&array.owned_elements(), &times, inner, copies);
        }
    }
    LocalArray::from_part(data, Arc::new(part), comm)
}

/// Repeats each lane of `inner` elements as often as `times` says, which begins anew after its last. In C order; `copies` is
/// as long as that is.
fn repeat_lanes<T: Copy>(elements: &[T], times: &[usize], inner: usize, copies: &mut [T]) {
    let mut rest = copies;
    for (lane, &times) in elements.chunks_exact(inner).zip(times.iter().cycle()) {
        let (here, after) = rest.split_at_mut(times * inner);
        match lane {
            [one] => here.fill(*one),
            _ => here
                .chunks_exact_mut(inner)
                .for_each(|copy| copy.copy_from_slice(lane)),
        }
        rest = after;
    }
}

/// The axis with its indices repeated, each on the coordinate that has it.
fn repeated_axis(axis: &AxisDist, repeats: &Repeats) -> Result<AxisDist, ArrayError> {
    let too_large = || {
        ArrayError::Map(dist_maps::MapError::Size {
            axis: None,
            given: u64::MAX,
            allowed: i64::MAX.cast_unsigned(),
        })
    };
    match (axis, repeats) {
        (AxisDist::Block { bounds, .. }, _) => {
            // Where each index begins; bounds ascend, so one pass does.
            let (mut at, mut sum) = (0, 0_u64);
            let mut moved = Vec::with_capacity(bounds.len());
            for &bound in bounds.iter() {
                sum = match repeats {
                    Repeats::All(all) => bound.checked_mul(*all as u64).ok_or_else(too_large)?,
                    Repeats::Each(each) => {
                        let bound = usize::try_from(bound).map_err(|_| too_large())?;
                        let more = each[at..bound].iter().try_fold(sum, |sum, &n| {
                            sum.checked_add(n as u64).ok_or_else(too_large)
                        })?;
                        at = bound;
                        more
                    }
                };
                moved.push(sum);
            }
            Ok(AxisDist::block_bounds(moved)?)
        }
        (
            AxisDist::Cyclic {
                size,
                ranks,
                block_size,
                ..
            },
            Repeats::All(all),
        ) if *all > 0 => {
            let all = *all as u64;
            let size = size.checked_mul(all).ok_or_else(too_large)?;
            // A block longer than the dimension is one as long.
            let block = block_size.saturating_mul(all).min(size.max(1));
            Ok(AxisDist::cyclic(size, *ranks, block)?)
        }
        _ => {
            let n = axis.size();
            let starts = starts(n, repeats)?;
            let total = starts.last().copied().unwrap_or(0);
            let mut lists = Vec::with_capacity(axis.ranks());
            for coord in 0..axis.ranks() {
                let map = axis.map(coord)?;
                let owned = dist_maps::IndexMap::global_iter(&map);
                let list = owned.flat_map(|global| {
                    let at = usize::try_from(global.get()).unwrap_or(usize::MAX);
                    let ends = starts.get(at).zip(starts.get(at.saturating_add(1)));
                    let (from, to) = ends.map_or((0, 0), |(&from, &to)| (from, to));
                    from.cast_signed()..to.cast_signed()
                });
                lists.push(list.collect::<Vec<i64>>());
            }
            Ok(AxisDist::unstructured(total, lists)?.canonical())
        }
    }
}

/// Where the copies of each index begin, and behind the last where they end.
fn starts(n: u64, repeats: &Repeats) -> Result<Vec<u64>, ArrayError> {
    let listed = |given: u64| {
        ArrayError::Map(dist_maps::MapError::TooManyToList {
            given,
            allowed: dist_maps::MAX_LISTED,
        })
    };
    if n > dist_maps::MAX_LISTED {
        return Err(listed(n));
    }
    let mut starts = vec![0];
    let mut sum = 0_u64;
    for global in 0..n.cast_signed() {
        sum = sum.saturating_add(repeats.of(global, n));
        starts.push(sum);
    }
    if sum > dist_maps::MAX_LISTED {
        return Err(listed(sum));
    }
    Ok(starts)
}
