//! Stencils: a function of each element's neighbourhood.

use bytemuck::Zeroable;
use dist_comm::Communicator;
use dist_maps::AxisDist;
use ndarray::{Array, ArrayView, Axis, Data, Dimension, Zip};

use crate::part::Part;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// What stands for the elements beyond the edge of the whole array.
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
    /// [`ArrayError::Padding`] when the ranks store less than `width` elements of a neighbour, or an axis is dealt out such
    /// that neighbours lie elsewhere; from the distribution alone, so the same on every rank. [`ArrayError::Allocation`].
    pub fn map_windows<R: Zeroable>(
        &self,
        width: usize,
        f: impl FnMut(ArrayView<'_, S::Elem, D>) -> R,
    ) -> Result<LocalArray<R, D, C>, ArrayError> {
        self.map_windows_with(width, Edge::Nearest, f)
    }

    /// As [`map_windows`](Self::map_windows), with another rule at the edge of the whole array. Local.
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
        let mut data = self.part.zeros::<R, D>()?;
        let mut result = self.part.owned_of_mut(data.view_mut());
        if self.part.is_active() && !result.is_empty() {
            let around = Surroundings::of(&self.part, width);
            let mut size = self.data.raw_dim();
            for axis in 0..size.ndim() {
                size[axis] = around.window;
            }
            let extended;
            let stored = if around
                .missing
                .iter()
                .all(|&(lower, upper)| lower == 0 && upper == 0)
            {
                around.cut(self.data.view())
            } else {
                extended = around.extend(&around.cut(self.data.view()), edge)?;
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

    /// The covered elements with what is missing around them.
    fn extend<T: Copy, D: Dimension>(
        &self,
        covered: &ArrayView<'_, T, D>,
        edge: Edge<T>,
    ) -> Result<Array<T, D>, ArrayError> {
        let mut extended = covered.view().into_dyn().to_owned();
        for (axis, &(lower, upper)) in self.missing.iter().enumerate() {
            if lower == 0 && upper == 0 {
                continue;
            }
            let n = extended.len_of(Axis(axis));
            let positions: Vec<usize> = (0..lower + n + upper)
                .map(|i| i.saturating_sub(lower).min(n - 1))
                .collect();
            let mut wider = extended.select(Axis(axis), &positions);
            if let Edge::Constant(value) = edge {
                wider
                    .slice_axis_mut(Axis(axis), (0..lower).into())
                    .fill(value);
                wider
                    .slice_axis_mut(Axis(axis), (lower + n..).into())
                    .fill(value);
            }
            extended = wider;
        }
        let given = extended.ndim();
        extended
            .into_dimensionality()
            .map_err(|_| ArrayError::InvalidDimension {
                what: "number of dimensions",
                given,
                ndim: covered.ndim(),
            })
    }
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
            return Err(lacking(0));
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
