//! Stencils: a function of each element's neighbourhood.

use bytemuck::Zeroable;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution};
use ndarray::{Array, ArrayView, ArrayViewMutD, Axis, Data, Dimension, Zip};

use crate::part::Part;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// What stands for the elements beyond the edge of the whole array, in [`map_windows`](LocalArrayBase::map_windows). Example: see
/// [`map_windows_with`](LocalArrayBase::map_windows_with). Local.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Edge<T> {
    /// The nearest element of the array, as in `numpy.pad(mode="edge")`.
    Nearest,
    /// One value.
    Constant(T),
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Copy>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// A new array of `f` of the window around each owned element, `2 * width + 1` elements along every axis. Local: the
    /// padding must be filled before, by [`exchange_halo`](LocalArrayBase::exchange_halo).
    ///
    /// Beyond the edge of the whole array the nearest element stands in ([`Edge::Nearest`]). The outer elements of a periodic
    /// axis are what a halo exchange fills; their own windows see the edge too, and a halo exchange of the result puts it
    /// right. The result is distributed as this array is; its padding is zero until it is exchanged.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let smoothed = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([6]).block(0).padding(1).build()?;
    ///     let mut a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |global| (global[0] * 3) as f64)?;
    ///     a.exchange_halo()?;
    ///     Ok::<_, ArrayError>(a.map_windows(1, |w| w.sum() / 3.0)?.owned().to_vec())
    /// })?;
    /// assert_eq!(smoothed, [[1.0, 3.0, 6.0], [9.0, 12.0, 14.0]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// From the distribution alone, so the same on every rank: [`ArrayError::Padding`] when the ranks store less than `width`
    /// elements of a neighbour; [`ArrayError::NotBlocks`] for a cyclic or unstructured axis, whose neighbouring elements lie
    /// elsewhere ([`redistribute`](Self::redistribute) the array into blocks first); [`ArrayError::Allocation`] when the
    /// windows of a rank reach over more than an address space holds. Also [`ArrayError::Allocation`] when this rank cannot
    /// have the memory.
    pub fn map_windows<R: Zeroable>(
        &self,
        width: usize,
        f: impl FnMut(ArrayView<'_, S::Elem, D>) -> R,
    ) -> Result<LocalArray<R, D, C>, ArrayError> {
        self.map_windows_with(width, Edge::Nearest, f)
    }

    /// As [`map_windows`](Self::map_windows), with another rule at the edge of the whole array. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, Edge, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).padding(1).build()?;
    ///     let mut a = LocalArray::<i64, Ix1, _>::ones(&blocks, comm)?;
    ///     a.exchange_halo()?;
    ///     assert_eq!(a.map_windows_with(1, Edge::Constant(5), |w| w.sum())?.sum()?, 7 + 3 + 3 + 7);
    ///     assert_eq!(a.map_windows_with(1, Edge::Nearest, |w| w.sum())?.sum()?, 3 + 3 + 3 + 3);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`map_windows`](Self::map_windows).
    pub fn map_windows_with<R: Zeroable>(
        &self,
        width: usize,
        edge: Edge<S::Elem>,
        mut f: impl FnMut(ArrayView<'_, S::Elem, D>) -> R,
    ) -> Result<LocalArray<R, D, C>, ArrayError> {
        for (axis, dist) in self.distribution().axes().iter().enumerate() {
            check_padding(axis, dist, width)?;
        }
        check_reach(self.distribution(), width, size_of::<S::Elem>())?;
        let mut data = self.part.zeros::<R, D>()?;
        let mut result = self.part.owned_of_mut(data.view_mut());
        if self.part.is_active() && !result.is_empty() {
            let around = Surroundings::of(&self.part, width);
            let mut size = self.data.raw_dim();
            for axis in 0..size.ndim() {
                size[axis] = around.window;
            }
            let covered = around.cut(self.data.view());
            let extended;
            let stored = if around.is_complete() {
                covered
            } else {
                extended = around.extend(&covered, edge, self.comm.rank())?;
                extended.view()
            };
            Zip::from(&mut result)
                .and(stored.windows(size))
                .for_each(|r, window| *r = f(window));
        }
        Ok(self.with_data(data, self.comm.clone()))
    }
}

/// What the windows of a rank's owned elements cover.
struct Surroundings {
    window: usize,
    /// Per axis the stored elements covered.
    covered: Vec<std::ops::Range<usize>>,
    /// Per axis the elements that lie beyond the whole array, below and above.
    missing: Vec<(usize, usize)>,
}

impl Surroundings {
    fn of(part: &Part, width: usize) -> Self {
        let per_axis = part
            .owned()
            .iter()
            .zip(part.shape())
            .map(|(owned, &stored)| {
                let (below, above) = (owned.start.min(width), (stored - owned.end).min(width));
                (
                    owned.start - below..owned.end + above,
                    (width - below, width - above),
                )
            });
        let (covered, missing) = per_axis.unzip();
        Self {
            window: width.saturating_mul(2).saturating_add(1),
            covered,
            missing,
        }
    }

    fn cut<'a, T, D: Dimension>(&self, mut stored: ArrayView<'a, T, D>) -> ArrayView<'a, T, D> {
        for (axis, covered) in self.covered.iter().enumerate() {
            stored.slice_axis_inplace(Axis(axis), covered.clone().into());
        }
        stored
    }

    /// Whether all that is covered is stored.
    fn is_complete(&self) -> bool {
        self.missing.iter().all(|&missing| missing == (0, 0))
    }

    /// The covered elements, at least one, with what is missing around them; [`check_reach`] has seen that it can be counted.
    fn extend<T: Copy, D: Dimension>(
        &self,
        covered: &ArrayView<'_, T, D>,
        edge: Edge<T>,
        rank: usize,
    ) -> Result<Array<T, D>, ArrayError> {
        let mut dim = covered.raw_dim();
        for (axis, &(lower, upper)) in self.missing.iter().enumerate() {
            dim[axis] += lower + upper;
        }
        let len = dim.size();
        let shape = dim.as_array_view().to_vec();
        let failed = || ArrayError::Allocation {
            rank,
            shape: shape.clone(),
            bytes: len.checked_mul(size_of::<T>()),
        };
        let beyond = match edge {
            Edge::Constant(value) => Some(value),
            Edge::Nearest => covered.first().copied(),
        };
        let mut elements = Vec::new();
        elements.try_reserve_exact(len).map_err(|_| failed())?;
        elements.extend(beyond.into_iter().cycle().take(len));
        let mut extended = Array::from_shape_vec(dim, elements).map_err(|_| failed())?;
        let mut middle = extended.view_mut();
        for (axis, &(lower, _)) in self.missing.iter().enumerate() {
            let n = covered.len_of(Axis(axis));
            middle.slice_axis_inplace(Axis(axis), (lower..lower + n).into());
        }
        middle.assign(covered);
        if matches!(edge, Edge::Nearest) {
            for (axis, &(lower, upper)) in self.missing.iter().enumerate() {
                repeat_outermost(extended.view_mut().into_dyn(), Axis(axis), lower, upper);
            }
        }
        Ok(extended)
    }
}

/// Fills the first `lower` and the last `upper` places along an axis from the nearest place between.
fn repeat_outermost<T: Copy>(array: ArrayViewMutD<'_, T>, axis: Axis, lower: usize, upper: usize) {
    let n = array.len_of(axis);
    let (mut below, rest) = array.split_at(axis, lower);
    let (middle, mut above) = rest.split_at(axis, n - lower - upper);
    let last = middle.len_of(axis) - 1;
    for mut place in below.axis_iter_mut(axis) {
        place.assign(&middle.index_axis(axis, 0));
    }
    for mut place in above.axis_iter_mut(axis) {
        place.assign(&middle.index_axis(axis, last));
    }
}

/// Refuses windows that together reach over more than an address space holds, on the rank that owns most.
fn check_reach(
    distribution: &Distribution,
    width: usize,
    element: usize,
) -> Result<(), ArrayError> {
    let axes = distribution.axes();
    let most = |axis: &AxisDist| (0..axis.ranks()).max_by_key(|&coord| axis.owned_len(coord));
    let coords: Vec<usize> = axes.iter().map(|axis| most(axis).unwrap_or(0)).collect();
    let mut shape: Vec<usize> = axes
        .iter()
        .zip(&coords)
        .map(|(axis, &coord)| axis.owned_len(coord))
        .collect();
    if shape.contains(&0) {
        return Ok(());
    }
    for n in &mut shape {
        *n = n.saturating_add(width.saturating_mul(2));
    }
    let bytes = shape
        .iter()
        .try_fold(element.max(1), |bytes, &n| bytes.checked_mul(n));
    if bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok()) {
        return Ok(());
    }
    let place = distribution.grid().rank(&coords).ok();
    let rank = place.and_then(|place| distribution.targets().get(place).copied());
    Err(ArrayError::Allocation {
        rank: rank.unwrap_or(0),
        shape,
        bytes: None,
    })
}

/// Whether every coordinate stores `width` elements of its neighbours, as far as the array reaches.
fn check_padding(axis: usize, dist: &AxisDist, width: usize) -> Result<(), ArrayError> {
    if width == 0 || dist.ranks() == 1 && !matches!(dist, AxisDist::Unstructured { .. }) {
        return Ok(());
    }
    let width_elements = width as u64;
    let lacking = |allowed: u64| ArrayError::Padding {
        axis,
        given: width,
        allowed: usize::try_from(allowed).unwrap_or(usize::MAX),
    };
    let mut least = u64::MAX;
    for coord in 0..dist.ranks() {
        let (Some(owned), Some(stored)) = (dist.owned_range(coord), dist.stored_range(coord))
        else {
            let given = match dist {
                AxisDist::Unstructured { .. } => "unstructured",
                _ => "cyclic",
            };
            return Err(ArrayError::NotBlocks { axis, given });
        };
        if owned.is_empty() {
            continue;
        }
        for (has, needs) in [
            (owned.start - stored.start, owned.start.min(width_elements)),
            (
                stored.end - owned.end,
                (dist.size() - owned.end).min(width_elements),
            ),
        ] {
            if has < needs {
                least = least.min(has);
            }
        }
    }
    if least == u64::MAX {
        Ok(())
    } else {
        Err(lacking(least))
    }
}
