//! [`median`](LocalArrayBase::median), of the whole and over axes.

use std::cmp::Ordering;

use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution, choose_grid};
use ndarray::{ArrayViewD, Data, DataMut, Dimension, IxDyn};

use crate::over::{Over, Plan, counted, elements_by_output};
use crate::part::Part;
use crate::sort::order_statistics;
use crate::{
    Accumulate, Accumulator, ArrayError, Cast, LocalArray, LocalArrayBase, LocalArrayView, Ordered,
    Sortable, Summable,
};

/// Elements that have a [`median`](LocalArrayBase::median), which has an example: all types.
pub trait Middle: Sortable + Ordered + Summable {}

impl<T: Sortable + Ordered + Summable> Middle for T {}

/// What the two elements in the middle, and the last, come to.
fn middle<T: Middle>(low: T, high: T, last: T) -> T::Mean {
    let mean = |x: T| Cast::<T::Mean>::cast(x);
    if is_nan(last) {
        return mean(last);
    }
    T::Mean::mean_of(mean(low).widen().add(mean(high).widen()), 2.0)
}

fn is_nan<T: Ordered>(x: T) -> bool {
    !x.is_at_most(x)
}

fn of_nothing<T: Middle>() -> T::Mean {
    T::Mean::mean_of(<T::Mean as Accumulate>::Acc::ZERO, 0.0)
}

/// The median of elements that all lie here.
fn median_of<T: Middle>(row: &mut [T]) -> T::Mean {
    let n = row.len();
    if n == 0 {
        return of_nothing::<T>();
    }
    if let Some(&nan) = row.iter().find(|&&x| is_nan(x)) {
        return nan.cast();
    }
    let order = |a: &T, b: &T| match (a.precedes(b), b.precedes(a)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    };
    let (below, &mut high, _) = row.select_nth_unstable_by(n / 2, order);
    let low = if n % 2 == 1 {
        high
    } else {
        below.iter().copied().max_by(order).unwrap_or(high)
    };
    middle(low, high, high)
}

/// The median of the elements of all ranks, on each of them.
fn median_over<T: Middle>(
    comm: &dyn Communicator,
    run: &mut [T],
    count: u64,
) -> Result<T::Mean, ArrayError> {
    if count == 0 {
        return Ok(of_nothing::<T>());
    }
    if comm.size() == 1 {
        return Ok(median_of(run));
    }
    let targets = [(count - 1) / 2, count / 2, count - 1];
    match order_statistics(comm, run, &targets)?[..] {
        [low, high, last] => Ok(middle(low, high, last)),
        _ => Ok(of_nothing::<T>()), // as many as were asked for
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Middle>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The median of all elements: the one in the middle of their order, or the mean of the two there; NaN where there is one,
    /// and of no element. The type is that of a [`mean`](Self::mean). Collective.
    ///
    /// Found by bisection of what the ranks hold, each of which sorts its own part, with the weighted median of the ranks' own
    /// medians (E. L. G. Saukas and S. W. Song, "A note on parallel selection on coarse-grained multicomputers", 1999); no more
    /// than the last few thousand candidates are gathered.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let medians = ThreadComm::run(3, |comm| {
    ///     let rows = Distribution::over(3).shape([5, 2]).block(0).build()?;
    ///     let a = LocalArray::<i32, Ix2, _>::from_fn(&rows, comm, |g| (g[0] * g[0] + g[1]) as i32)?;
    ///     let mut medians = a.over(0).median()?; // 4 and 5
    ///     medians.fill(0.0);
    ///     a.over(0).median_into(&mut medians)?;
    ///     Ok::<_, ArrayError>((a.median()?, medians.sum()?))
    /// })?;
    /// assert_eq!(medians, [(4.5, 9.0); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn median(&self) -> Result<<S::Elem as Summable>::Mean, ArrayError> {
        let every = vec![true; self.ndim()];
        let stored = self.data.view().into_dyn();
        let (mut run, _) = elements_by_output(&self.part, &stored, &every);
        let count = u64::try_from(counted(self.distribution(), &every)).unwrap_or(u64::MAX);
        median_over(&self.comm, &mut run, count)
    }
}

impl<T: Middle, C: Communicator + Clone> Over<'_, T, C> {
    /// The medians, of the type of a mean; NaN of no element. Collective. Shape and distribution as [`Over`] says. Example: see
    /// [`median`](LocalArrayBase::median) of the whole.
    ///
    /// Where a reduced axis is distributed, elements move so that each output has its own on one rank; where there are fewer
    /// outputs than ranks, each is found by bisection of what the ranks hold.
    ///
    /// # Errors
    /// As [`sum`](Self::sum).
    pub fn median(&self) -> Result<LocalArray<T::Mean, IxDyn, C>, ArrayError> {
        let (plan, mut result) = self.planned("median", ())?;
        self.medians(&plan, &mut result)?;
        Ok(result)
    }

    /// The same, written to what `out` owns. Collective. Example: see [`median`](LocalArrayBase::median) of the whole.
    ///
    /// # Errors
    /// As [`sum_into`](Self::sum_into).
    pub fn median_into<S, D, C2>(
        &self,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = T::Mean>,
        D: Dimension,
        C2: Communicator,
    {
        let plan = self.plan_into("median", (), out)?;
        self.medians(&plan, out)
    }

    fn medians<S, D, C2>(
        &self,
        plan: &Plan,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = T::Mean>,
        D: Dimension,
        C2: Communicator,
    {
        let source = self.part.distribution();
        let reduced = || {
            source
                .axes()
                .iter()
                .zip(&plan.reduced)
                .filter(|(_, reduced)| **reduced)
        };
        let is_here = reduced().all(|(axis, _)| axis.ranks() == 1);
        if is_here {
            if self.part.is_active() {
                here(self.part, &self.stored, &plan.reduced, out);
            }
            return Ok(());
        }
        let kept = || {
            source
                .global_shape()
                .iter()
                .zip(&plan.reduced)
                .filter(|(_, reduced)| !**reduced)
        };
        let outputs = kept().fold(1_u64, |product, (&n, _)| product.saturating_mul(n));
        let lists = source.axes().iter().any(|axis| axis.kind() == "u");
        if outputs >= self.comm.size() as u64 && !lists {
            let array = LocalArrayView {
                data: self.stored.view(),
                part: self.part.clone(),
                comm: self.comm.clone(),
            };
            let turned = array.redistribute(&with_whole(source, &plan.reduced)?)?;
            let over = turned.over(self.axes.clone());
            let over = if self.keepdims { over.keepdims() } else { over };
            let medians = over.median()?.redistribute(&plan.result)?;
            if medians.part.is_active() {
                out.owned_mut()
                    .iter_mut()
                    .zip(medians.owned())
                    .for_each(|(slot, &x)| *slot = x);
            }
            return Ok(());
        }
        self.by_groups(plan, out)
    }

    /// One output after the other, by the ranks that share it.
    fn by_groups<S, D, C2>(
        &self,
        plan: &Plan,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = T::Mean>,
        D: Dimension,
        C2: Communicator,
    {
        let source = self.part.distribution();
        let color = self.part.coords().map(|coords| {
            let at = coords.iter().zip(source.grid().shape()).zip(&plan.reduced);
            at.filter(|(_, reduced)| !**reduced)
                .fold(0, |number, ((&c, &n), _)| number * n + c)
        });
        // Fewer groups than ranks, of which there are at most 2²⁴.
        let color = color.and_then(|color| u32::try_from(color).ok());
        let Some(group) = self.comm.split(color, 0)? else {
            return Ok(());
        };
        let (mut elements, each) = elements_by_output(self.part, &self.stored, &plan.reduced);
        let count = u64::try_from(counted(source, &plan.reduced)).unwrap_or(u64::MAX);
        let owned = self
            .part
            .owned()
            .iter()
            .zip(&plan.reduced)
            .filter(|(_, reduced)| !**reduced);
        let outputs: usize = owned.map(|(owned, _)| owned.len()).product();
        let mut slots = out.owned_mut();
        let mut slots = slots.iter_mut();
        for output in 0..outputs {
            let run = &mut elements[output * each..(output + 1) * each];
            let median = median_over(&*group, run, count)?;
            if group.rank() == 0
                && let Some(slot) = slots.next()
            {
                *slot = median;
            }
        }
        Ok(())
    }
}

/// The medians of outputs whose elements all lie here.
fn here<T: Middle, S, D, C>(
    part: &Part,
    stored: &ArrayViewD<'_, T>,
    reduced: &[bool],
    out: &mut LocalArrayBase<S, D, C>,
) where
    S: DataMut<Elem = T::Mean>,
    D: Dimension,
    C: Communicator,
{
    let (mut elements, each) = elements_by_output(part, stored, reduced);
    let mut slots = out.owned_mut();
    for (output, slot) in slots.iter_mut().enumerate() {
        *slot = median_of(&mut elements[output * each..(output + 1) * each]);
    }
}

/// Reduced axes whole, the others in blocks over all ranks.
fn with_whole(source: &Distribution, reduced: &[bool]) -> Result<Distribution, ArrayError> {
    let shape = source.global_shape();
    let spread: Vec<bool> = reduced.iter().map(|reduced| !reduced).collect();
    let grid = choose_grid(shape, &spread, source.ranks())?;
    let axes = shape
        .iter()
        .zip(&grid)
        .map(|(&n, &ranks)| AxisDist::block_balanced(n, ranks));
    let targets: Vec<usize> = (0..grid.iter().product()).collect();
    Ok(Distribution::from_axes(
        axes.collect::<Result<_, _>>()?,
        source.ranks(),
        targets,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::float_cmp, reason = "halves are exact")]
    fn medians_of_a_few() {
        assert_eq!(median_of(&mut [3, 1, 2]), 2.0);
        assert_eq!(median_of(&mut [4_u8, 1, 3, 2]), 2.5);
        assert_eq!(median_of(&mut [true, false]), 0.5);
        assert!(
            median_of(&mut [1.0, f64::NAN, 3.0]).is_nan() && median_of::<f32>(&mut []).is_nan()
        );
        assert_eq!(median_of(&mut [f64::INFINITY, 1.0, 2.0]), 2.0);
    }
}
