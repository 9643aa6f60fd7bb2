//! [`Histogram2d`].

use std::sync::Arc;

use dist_comm::{CommExt, Communicator};
use ndarray::{Array1, Array2, ArrayViewD, Data, Dimension};

use super::bins::{Bins, Edges};
use super::{joined, reach_of};
use crate::agreement::in_step_with;
use crate::output::room;
use crate::over::counted_elements;
use crate::part::Part;
use crate::{ArrayError, Cast, LocalArrayBase, Ordered};

/// A histogram of pairs to be taken, made by [`histogram2d`](LocalArrayBase::histogram2d), whose example has all of these
/// methods.
///
/// The rules of bins are those of [`Histogram`](super::Histogram). Each method is collective and gives the values in `f64`, of
/// shape (bins of `x`, bins of `y`), and the edges of both: the same on every rank, which needs memory for all bins.
#[derive(Clone, Debug)]
#[must_use]
pub struct Histogram2d<'a, T, U, C> {
    x: ArrayViewD<'a, T>,
    y: ArrayViewD<'a, U>,
    parts: [&'a Arc<Part>; 2],
    comm: &'a C,
    bins: [Bins; 2],
    ranges: [Option<(f64, f64)>; 2],
}

/// Values of bins, and their edges along both.
type Taken = Result<(Array2<f64>, Array1<f64>, Array1<f64>), ArrayError>;

impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// A histogram of the pairs of an element of this array and the one of `y`. Local; what follows is collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let found = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([8]).block(0).build()?;
    ///     let x = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |g| g[0] as f64)?;
    ///     let y = x.map(|&x| (x as i32) % 2);
    ///     let bins = x.histogram2d(&y, 2, 2).range((0.0, 8.0), (0.0, 2.0)); // of 4 × 1
    ///     assert_eq!(bins.density()?.0, array![[0.0625, 0.0625], [0.0625, 0.0625]]); // 2 of 8, over 4
    ///     let halves = x.map(|_| 0.5_f32);
    ///     assert_eq!(bins.weighted(&halves)?.0, array![[1.0, 1.0], [1.0, 1.0]]);
    ///     assert_eq!(bins.weighted_density(&halves)?.0, bins.density()?.0);
    ///     x.histogram2d(&y, 2, [0.0, 1.0, 2.0]).count()
    /// })?;
    /// assert_eq!(found[1].0, array![[2.0, 2.0], [2.0, 2.0]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn histogram2d<'a, S2: Data, D2: Dimension, C2>(
        &'a self,
        y: &'a LocalArrayBase<S2, D2, C2>,
        x_bins: impl Into<Bins>,
        y_bins: impl Into<Bins>,
    ) -> Histogram2d<'a, S::Elem, S2::Elem, C> {
        Histogram2d {
            x: self.data.view().into_dyn(),
            y: y.data.view().into_dyn(),
            parts: [&self.part, &y.part],
            comm: &self.comm,
            bins: [x_bins.into(), y_bins.into()],
            ranges: [None, None],
        }
    }
}

impl<T, U, C> Histogram2d<'_, T, U, C> {
    /// Bins of one width between these, low and high of `x` and of `y`. Local; every rank gives the same.
    /// Example: see [`histogram2d`](LocalArrayBase::histogram2d).
    pub fn range(mut self, x: (f64, f64), y: (f64, f64)) -> Self {
        self.ranges = [Some(x), Some(y)];
        self
    }
}

impl<T: Ordered + Cast<f64>, U: Ordered + Cast<f64>, C: Communicator> Histogram2d<'_, T, U, C> {
    /// How many pairs are in each bin. Collective. Example: see [`histogram2d`](LocalArrayBase::histogram2d).
    ///
    /// # Errors
    /// As [`Histogram::count`](super::Histogram::count), and [`ArrayError::IncompatibleArray`] when `y` lies elsewhere.
    pub fn count(&self) -> Taken {
        self.take(None)
    }

    /// The probability density in each bin: counts over their sum and the areas (`NumPy`'s `density=True`, `DistArray`'s
    /// `normed`). Collective. Example: see [`histogram2d`](LocalArrayBase::histogram2d).
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn density(&self) -> Taken {
        Ok(density(self.count()?))
    }

    /// The sum of the weights of the pairs in each bin. Collective. Example: see [`histogram2d`](LocalArrayBase::histogram2d).
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn weighted<S, D, C2>(&self, weights: &LocalArrayBase<S, D, C2>) -> Taken
    where
        S: Data<Elem: Cast<f64>>,
        D: Dimension,
        C2: Communicator,
    {
        let elements = weights.data.map(|&w| Cast::<f64>::cast(w)).into_dyn();
        self.take(Some(&(elements.view(), &weights.part)))
    }

    /// The density of the weights in each bin. Collective. Example: see [`histogram2d`](LocalArrayBase::histogram2d).
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn weighted_density<S, D, C2>(&self, weights: &LocalArrayBase<S, D, C2>) -> Taken
    where
        S: Data<Elem: Cast<f64>>,
        D: Dimension,
        C2: Communicator,
    {
        Ok(density(self.weighted(weights)?))
    }

    fn take(&self, weights: Option<&(ArrayViewD<'_, f64>, &Arc<Part>)>) -> Taken {
        let [part, other] = self.parts;
        let fits = part.check_compatible(other).and_then(|()| {
            weights
                .as_ref()
                .map_or(Ok(()), |(_, theirs)| part.check_compatible(theirs))
        });
        let asked = (0..2).try_for_each(|at| self.bins[at].check(self.ranges[at]));
        let fits = fits.and(asked);
        let ([x_bins, y_bins], ranges) = (&self.bins, self.ranges);
        let told = (x_bins.told(ranges[0]), y_bins.told(ranges[1]));
        let arguments = (weights.is_some(), told);
        let (shape, rank) = ((x_bins.len(), y_bins.len()), self.comm.rank());
        let all = shape.0.saturating_mul(shape.1);
        let own = |()| {
            let made = (room(all, rank)?, x_bins.room(rank)?, y_bins.room(rank)?);
            let [a, b, c] = reach_of(&self.x, part, x_bins, ranges[0])?;
            let [d, e, f] = reach_of(&self.y, other, y_bins, ranges[1])?;
            Ok((made, [a, b, c, d, e, f]))
        };
        let ((mut sums, x_room, y_room), reaches) =
            in_step_with(self.comm, "histogram2d", &arguments, fits, own)?;
        sums.resize(all, 0.0);
        let reaches = || reaches.iter().copied();
        let x_edges = x_bins.edges(ranges[0], x_room, || {
            joined(reaches().map(|[a, b, c, ..]| [a, b, c]))
        })?;
        let y_edges = y_bins.edges(ranges[1], y_room, || {
            joined(reaches().map(|[.., d, e, f]| [d, e, f]))
        })?;
        let every = vec![true; self.x.ndim()];
        let weights = weights.map(|(elements, part)| (elements, *part));
        let pairs =
            counted_elements(part, &self.x, &every).zip(counted_elements(other, &self.y, &every));
        if let Some((x, y)) = pairs {
            let weights =
                weights.and_then(|(elements, part)| counted_elements(part, elements, &every));
            let weights = weights
                .iter()
                .flatten()
                .copied()
                .chain(std::iter::repeat(1.0));
            for ((x, y), w) in x.iter().zip(&y).zip(weights) {
                if let Some((i, j)) = find(&x_edges, &y_edges, x.cast(), y.cast()) {
                    sums[i * shape.1 + j] += w;
                }
            }
        }
        self.comm.all_reduce_with(&mut sums, |a, &b| *a += b)?;
        let sums = Array2::from_shape_vec(shape, sums).map_err(|_| ArrayError::Allocation {
            rank: self.comm.rank(),
            shape: vec![shape.0, shape.1],
            bytes: None,
        })?;
        Ok((sums, x_edges.into_array(), y_edges.into_array()))
    }
}

fn find(x_edges: &Edges, y_edges: &Edges, x: f64, y: f64) -> Option<(usize, usize)> {
    x_edges.find(x).zip(y_edges.find(y))
}

/// Sums over their sum and the areas of their bins.
fn density(
    (mut sums, x, y): (Array2<f64>, Array1<f64>, Array1<f64>),
) -> (Array2<f64>, Array1<f64>, Array1<f64>) {
    let all: f64 = sums.iter().sum();
    for ((i, j), sum) in sums.indexed_iter_mut() {
        *sum = *sum / (x[i + 1] - x[i]) / (y[j + 1] - y[j]) / all;
    }
    (sums, x, y)
}
