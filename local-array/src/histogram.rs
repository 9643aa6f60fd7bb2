//! Histograms of one and two quantities: [`histogram`](LocalArrayBase::histogram), [`histogram2d`](LocalArrayBase::histogram2d).

mod bins;
mod two;

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use ndarray::{Array1, ArrayViewD, Data, Dimension};

pub use bins::Bins;
pub use two::Histogram2d;

use crate::agreement::same_everywhere;
use crate::over::counted_elements;
use crate::part::Part;
use crate::{
    Accumulate, Accumulator, ArrayError, Cast, Floating, LocalArrayBase, Ordered, Summable,
};
use bins::Edges;

/// A histogram to be taken, made by [`histogram`](LocalArrayBase::histogram).
///
/// Bins are half open, `[edge, next edge)`, but for the last one, which has both its edges. Elements outside, and NaN, are not
/// counted. Each method is collective and gives the values, one a bin, and the edges, one more, in `f64`: the same on every
/// rank. A rank needs memory for its own bins; sums of weights are added in order of rank.
#[derive(Clone, Debug)]
#[must_use]
pub struct Histogram<'a, T, C> {
    stored: ArrayViewD<'a, T>,
    part: &'a Arc<Part>,
    comm: &'a C,
    bins: Bins,
    range: Option<(f64, f64)>,
}

/// Values of bins, and their edges.
type Taken<U> = Result<(Array1<U>, Array1<f64>), ArrayError>;

impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// A histogram of all elements, in bins of one width ([`Bins`] from a number, 10 in `NumPy`) or with given edges. Local; what
    /// follows is collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([8]).cyclic(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&dealt, comm, |g| g[0] as f64)?;
    ///     let (counts, edges) = a.histogram(2).count()?;
    ///     assert_eq!((counts, edges), (array![4, 4], array![0.0, 3.5, 7.0]));
    ///     assert_eq!(a.histogram(2).range(0.0, 4.0).density()?.0, array![0.2, 0.3]);
    ///     a.histogram([0.0, 1.0, 6.0]).weighted(&a)
    /// })?;
    /// assert_eq!(found[0].0, array![0.0, 21.0]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn histogram(&self, bins: impl Into<Bins>) -> Histogram<'_, S::Elem, C> {
        Histogram {
            stored: self.data.view().into_dyn(),
            part: &self.part,
            comm: &self.comm,
            bins: bins.into(),
            range: None,
        }
    }
}

impl<T, C> Histogram<'_, T, C> {
    /// Bins of one width between these two, instead of between the least and the greatest element. Not looked at where the
    /// edges are given. Local; every rank gives the same.
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

impl<T: Ordered + Cast<f64>, C: Communicator> Histogram<'_, T, C> {
    /// How many elements are in each bin. Collective.
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Argument`] for no bin, edges that fall, and a range that falls or is not finite
    /// (that of the elements too); [`ArrayError::IncompatibleArray`] for weights that lie elsewhere; [`ArrayError::Agreed`] when a
    /// rank cannot have the memory for the bins; [`ArrayError::Comm`].
    pub fn count(&self) -> Taken<i64> {
        let edges = self.edges("count")?;
        let mut counts = bins_of::<i64, _>(self.comm, edges.bins())?;
        if let Some(elements) = counted_elements(self.part, &self.stored, &self.all()) {
            for x in &elements {
                if let Some(bin) = edges.find(x.cast()) {
                    counts[bin] += 1;
                }
            }
        }
        self.comm
            .all_reduce_with(&mut counts, |a, &b| *a = a.wrapping_add(b))?;
        Ok((counts.into(), edges.into_array()))
    }

    /// The probability density in each bin: counts over their sum and the widths (`NumPy`'s `density=True`, `DistArray`'s `normed`).
    /// Collective.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn density(&self) -> Taken<f64> {
        let (counts, edges) = self.count()?;
        let counts: Vec<f64> = counts.iter().map(|&n| n.cast()).collect();
        Ok((density(&counts, &edges), edges))
    }

    /// The sum of the weights of the elements in each bin, of their type. Collective.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn weighted<S, D, C2>(&self, weights: &LocalArrayBase<S, D, C2>) -> Taken<S::Elem>
    where
        S: Data<Elem: Accumulate>,
        D: Dimension,
        C2: Communicator,
    {
        self.weighted_as::<S::Elem, _, _, _>(weights)
    }

    /// The density of the weights in each bin, of the type of their mean. Collective.
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn weighted_density<S, D, C2>(
        &self,
        weights: &LocalArrayBase<S, D, C2>,
    ) -> Taken<<S::Elem as Summable>::Mean>
    where
        S: Data<Elem: Summable>,
        D: Dimension,
        C2: Communicator,
    {
        let (sums, edges) = self.weighted_as::<<S::Elem as Summable>::Mean, _, _, _>(weights)?;
        let sums = sums.to_vec();
        Ok((weight_density(&sums, &edges), edges))
    }

    fn weighted_as<A, S, D, C2>(&self, weights: &LocalArrayBase<S, D, C2>) -> Taken<A>
    where
        A: Accumulate,
        S: Data<Elem: Cast<A>>,
        D: Dimension,
        C2: Communicator,
    {
        let fits = self.part.check_compatible(&weights.part);
        let edges = self.edges(("weighted", fits.is_ok()))?;
        fits?;
        let mut sums = bins_of::<A::Acc, _>(self.comm, edges.bins())?;
        let theirs = weights.data.view().into_dyn();
        let weights = counted_elements(&weights.part, &theirs, &self.all());
        let elements = counted_elements(self.part, &self.stored, &self.all());
        if let Some((elements, weights)) = elements.zip(weights) {
            for (x, w) in elements.iter().zip(&weights) {
                if let Some(bin) = edges.find(x.cast()) {
                    sums[bin] = sums[bin].add(w.cast().widen());
                }
            }
        }
        self.comm
            .all_reduce_with(&mut sums, |a, &b| *a = a.add(b))?;
        let sums = sums.into_iter().map(A::narrow).collect();
        Ok((sums, edges.into_array()))
    }

    fn all(&self) -> Vec<bool> {
        vec![true; self.stored.ndim()]
    }

    /// The edges, when all ranks ask for the same. Collective.
    fn edges(&self, arguments: impl Hash + Debug) -> Result<Edges, ArrayError> {
        let asked = self.bins.check(self.range);
        same_everywhere(
            self.comm,
            "histogram",
            &(arguments, asked.is_ok(), self.bins.digest(self.range)),
        )?;
        asked?;
        edges_of((&self.stored, self.part, self.comm), &self.bins, self.range)
    }
}

/// The edges of bins that were checked, with the extremes of the elements where they are asked for. Collective.
fn edges_of<T: Ordered + Cast<f64>, C: Communicator>(
    (stored, part, comm): (&ArrayViewD<'_, T>, &Arc<Part>, &C),
    bins: &Bins,
    range: Option<(f64, f64)>,
) -> Result<Edges, ArrayError> {
    let extremes = || {
        let array = LocalArrayBase {
            data: stored.view(),
            part: Arc::clone(part),
            comm,
        };
        match (array.min(), array.max()) {
            (Ok(low), Ok(high)) => Ok((low.cast(), high.cast())),
            (Err(ArrayError::Empty { .. }), _) => Ok((0.0, 1.0)),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    };
    agree_on(comm, bins.edges(range, extremes))
}

/// Errors of memory are a rank's own: all others come to the same answer.
fn agree_on<T, C: Communicator>(comm: &C, made: Result<T, ArrayError>) -> Result<T, ArrayError> {
    match made {
        Err(error) if !matches!(error, ArrayError::Allocation { .. }) => Err(error),
        made => Ok(agree(comm, made)?),
    }
}

/// Zeros, one a bin. Collective.
fn bins_of<A: Accumulator, C: Communicator>(comm: &C, bins: usize) -> Result<Vec<A>, ArrayError> {
    let mut all = Vec::new();
    let made = all
        .try_reserve_exact(bins)
        .map_err(|_| ArrayError::Allocation {
            rank: comm.rank(),
            shape: vec![bins],
            bytes: bins.checked_mul(size_of::<A>()),
        });
    agree(comm, made)?;
    all.resize(bins, A::ZERO);
    Ok(all)
}

fn density(counts: &[f64], edges: &Array1<f64>) -> Array1<f64> {
    weight_density(counts, edges)
}

/// Sums over their sum and the widths of their bins.
fn weight_density<A: Floating>(sums: &[A], edges: &Array1<f64>) -> Array1<A> {
    let all = sums
        .iter()
        .fold(A::Acc::ZERO, |all, &sum| all.add(sum.widen()));
    let all = A::narrow(all);
    let widths = edges.windows(2).into_iter().map(|pair| pair[1] - pair[0]);
    let values = sums
        .iter()
        .zip(widths)
        .map(|(&sum, width)| sum.over(A::near(width)).over(all));
    values.collect()
}
