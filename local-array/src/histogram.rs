//! Histograms of one and two quantities: [`histogram`](LocalArrayBase::histogram), [`histogram2d`](LocalArrayBase::histogram2d).

mod bins;
mod two;

use std::sync::Arc;

use dist_comm::{CommExt, Communicator};
use ndarray::{Array1, ArrayViewD, Data, Dimension};

pub use bins::Bins;
pub use two::Histogram2d;

use crate::agreement::in_step_with;
use crate::output::room;
use crate::over::{counted_elements, with_block};
use crate::part::Part;
use crate::reduction::{Extremes, Order, whole};
use crate::{
    Accumulate, Accumulator, ArrayError, Cast, Floating, LocalArrayBase, Ordered, Summable,
};
use bins::Edges;

/// A histogram to be taken, made by [`histogram`](LocalArrayBase::histogram), whose example has all of these methods.
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
    /// A histogram of all elements, in bins of one width ([`Bins`] from a number, or from `None`: `NumPy`'s 10) or with given
    /// edges. Local; what follows is collective.
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
    ///     assert_eq!(a.histogram(None).count()?.0, array![1, 1, 1, 0, 1, 1, 0, 1, 1, 1]);
    ///     let uneven = a.histogram([0.0, 1.0, 6.0]);
    ///     assert_eq!(uneven.weighted_density(&a)?.0, array![0.0, 0.2]); // 21 of 21, over a width of 5
    ///     uneven.weighted(&a)
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
    /// edges are given. Local; every rank gives the same. Example: see [`histogram`](LocalArrayBase::histogram).
    pub fn range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }
}

impl<T: Ordered + Cast<f64>, C: Communicator> Histogram<'_, T, C> {
    /// How many elements are in each bin, of shape (bins,), and the edges, (bins + 1,). Collective. Example: see
    /// [`histogram`](LocalArrayBase::histogram).
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Argument`] for no bin, edges that fall, and a range that falls or is not finite
    /// (that of the elements too); [`ArrayError::IncompatibleArray`] for weights that lie elsewhere; [`ArrayError::Agreed`]
    /// when a rank cannot have the memory for the bins; [`ArrayError::Comm`].
    pub fn count(&self) -> Taken<i64> {
        let (edges, mut counts) = self.asked::<i64>("count", Ok(()))?;
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

    /// The probability density in each bin: counts over their sum and the widths (`NumPy`'s `density=True`, `DistArray`'s
    /// `normed`). Collective. Example: see [`histogram`](LocalArrayBase::histogram).
    ///
    /// # Errors
    /// As [`count`](Self::count).
    pub fn density(&self) -> Taken<f64> {
        let (counts, edges) = self.count()?;
        let counts: Vec<f64> = counts.iter().map(|&n| n.cast()).collect();
        Ok((density(&counts, &edges), edges))
    }

    /// The sum of the weights of the elements in each bin, of their type. Collective.
    /// Example: see [`histogram`](LocalArrayBase::histogram).
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
    /// Example: see [`histogram`](LocalArrayBase::histogram).
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
        let (edges, mut sums) = self.asked::<A::Acc>("weighted", fits)?;
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

    /// The edges, when all ranks ask for the same, and zeros, one a bin. Collective: one small call.
    fn asked<A: Accumulator>(
        &self,
        what: &'static str,
        fits: Result<(), ArrayError>,
    ) -> Result<(Edges, Vec<A>), ArrayError> {
        let fits = fits.and_then(|()| self.bins.check(self.range));
        let arguments = (what, self.bins.told(self.range));
        let rank = self.comm.rank();
        let own = |()| {
            let made = (room(self.bins.len(), rank)?, self.bins.room(rank)?);
            Ok((
                made,
                reach_of(&self.stored, self.part, &self.bins, self.range)?,
            ))
        };
        let ((mut values, room), reaches) =
            in_step_with(self.comm, "histogram", &arguments, fits, own)?;
        values.resize(self.bins.len(), A::ZERO);
        let edges = self.bins.edges(self.range, room, || joined(reaches))?;
        Ok((edges, values))
    }
}

/// The least and the greatest element of a rank as floats, by their bits, and whether it has any. Nothing where the edges do
/// not depend on it.
type Reach = [u64; 3];

fn reach_of<T: Ordered + Cast<f64>>(
    stored: &ArrayViewD<'_, T>,
    part: &Part,
    bins: &Bins,
    range: Option<(f64, f64)>,
) -> Result<Reach, ArrayError> {
    if !bins.ask_for_extremes(range) {
        return Ok([0; 3]);
    }
    let every = vec![true; stored.ndim()];
    let ends = with_block(part, stored, &every, None, Order::Chain, |block| {
        Ok(block.and_then(|block| whole(block, &Extremes)))
    })?;
    Ok(ends.map_or([0; 3], |ends| {
        let (least, greatest) = ends.pair::<T>();
        [least.cast().to_bits(), greatest.cast().to_bits(), 1]
    }))
}

/// The least and the greatest element of all ranks; 0 and 1 where there is none.
fn joined(reaches: impl IntoIterator<Item = Reach>) -> (f64, f64) {
    let known = reaches.into_iter().filter(|reach| reach[2] != 0);
    let ends = known.map(|[low, high, _]| (f64::from_bits(low), f64::from_bits(high)));
    let ends = ends.reduce(|(a, b), (c, d)| (a.lesser(c), b.greater(d)));
    ends.unwrap_or((0.0, 1.0))
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
