//! What can be asked of some axes.

use dap_protocol::Element;
use dist_comm::Communicator;
use ndarray::{DataMut, Dimension, IxDyn};

use super::Over;
use crate::reduction::{ArgExtreme, Extreme, Moments, Product, Sum, Truths};
use crate::{
    Accumulate, Arithmetic, ArrayError, Cast, Floating, LocalArray, LocalArrayBase, Ordered, Real,
    Summable,
};

/// The result of a reduction over some axes.
type Reduced<U, C> = Result<LocalArray<U, IxDyn, C>, ArrayError>;

/// Sums, products and means.
///
/// # Errors
/// All of them, the same on every rank: [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`] for one
/// named twice, and when the ranks ask for different reductions; [`ArrayError::Agreed`] when a rank cannot have the memory; [`ArrayError::Comm`]. Those in
/// `_into` also [`ArrayError::IncompatibleArray`] when `out` is not distributed as the result.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, Axes, LocalArray};
/// use ndarray::{Ix1, Ix2};
///
/// ThreadComm::run(2, |comm| {
///     let rows = Distribution::over(2).shape([3, 2]).block(0).build()?; // 2 rows, 1 row
///     let a = LocalArray::<u8, Ix2, _>::full(&rows, 100, comm)?;
///     let sums = a.over(1).sum()?; // u64, distributed as the rows are
///     assert!(sums.owned().iter().all(|&sum| sum == 200));
///     assert_eq!(a.over(1).sum_as::<u8>()?.max()?, 200);
///     let mut means = LocalArray::<f32, Ix1, _>::zeros(sums.distribution(), comm)?;
///     a.over(1).mean_into(&mut means)?;
///     assert_eq!(means.sum()?, 300.0);
///     assert_eq!(a.over(Axes::ALL).prod()?.sum()?, 100_u64.pow(6));
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[expect(clippy::missing_errors_doc, reason = "said once for all of a group")]
impl<T: Element, C: Communicator> Over<'_, T, C> {
    /// The sum, of [`Summable::Sum`] type. Collective.
    pub fn sum(&self) -> Reduced<T::Sum, C>
    where
        T: Summable,
        C: Clone,
    {
        self.sum_as::<T::Sum>()
    }

    /// The sum, added up in `A`. Collective.
    pub fn sum_as<A: Accumulate>(&self) -> Reduced<A, C>
    where
        T: Cast<A>,
        C: Clone,
    {
        self.reduced("sum", (), &Sum::<A>::new(), |&acc, _n| A::narrow(acc))
    }

    /// The sum, added up in the type of `out` and written to what it owns. Collective.
    pub fn sum_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        T: Cast<S::Elem>,
        S: DataMut<Elem: Accumulate>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into(
            "sum",
            (),
            &Sum::<S::Elem>::new(),
            |&acc, _n| S::Elem::narrow(acc),
            out,
        )
    }

    /// The product, of [`Summable::Sum`] type. Collective.
    pub fn prod(&self) -> Reduced<T::Sum, C>
    where
        T: Summable,
        C: Clone,
    {
        self.prod_as::<T::Sum>()
    }

    /// The product, added up in `A`. Collective.
    pub fn prod_as<A: Accumulate>(&self) -> Reduced<A, C>
    where
        T: Cast<A>,
        C: Clone,
    {
        self.reduced("prod", (), &Product::<A>::new(), |&acc, _n| A::narrow(acc))
    }

    /// The product, added up in the type of `out` and written to what it owns. Collective.
    pub fn prod_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        T: Cast<S::Elem>,
        S: DataMut<Elem: Accumulate>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into(
            "prod",
            (),
            &Product::<S::Elem>::new(),
            |&acc, _n| S::Elem::narrow(acc),
            out,
        )
    }

    /// The mean, of [`Summable::Mean`] type; NaN of no element. Collective.
    pub fn mean(&self) -> Reduced<T::Mean, C>
    where
        T: Summable,
        C: Clone,
    {
        self.mean_as::<T::Mean>()
    }

    /// The mean, added up in `A`. Collective.
    pub fn mean_as<A: Accumulate>(&self) -> Reduced<A, C>
    where
        T: Cast<A>,
        C: Clone,
    {
        self.reduced("mean", (), &Sum::<A>::new(), |&acc, n| A::mean_of(acc, n))
    }

    /// The mean, added up in the type of `out` and written to what it owns. Collective.
    pub fn mean_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        T: Cast<S::Elem>,
        S: DataMut<Elem: Accumulate>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into(
            "mean",
            (),
            &Sum::<S::Elem>::new(),
            |&acc, n| S::Elem::mean_of(acc, n),
            out,
        )
    }
}

/// Variance and standard deviation, in one stable sweep.
///
/// The sum of the squared distances from the mean is divided by the number of elements less `ddof`; where that is not above 0
/// the result is infinite, or NaN where the sum is 0 too. Of complex numbers the variance is real. Moments are kept in `f64`.
///
/// # Errors
/// As for [`sum`](Self::sum).
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix2;
///
/// ThreadComm::run(2, |comm| {
///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
///     let a = LocalArray::<i16, Ix2, _>::from_fn(&rows, comm, |g| g[0] as i16)?;
///     assert!(a.over(0).var(0.0)?.owned().iter().all(|&var| var == 1.25));
///     assert!(a.over(0).var_as::<f32>(1.0)?.owned().iter().all(|&var| var == 5.0 / 3.0));
///     assert!(a.over(1).std(0.0)?.owned().iter().all(|&std| std == 0.0));
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[expect(clippy::missing_errors_doc, reason = "said once for all of a group")]
impl<T: Element, C: Communicator> Over<'_, T, C> {
    /// The variance over the axes, `ddof` degrees of freedom less: of a float type for every element type. Collective.
    pub fn var(&self, ddof: f64) -> Reduced<<T::Mean as Floating>::Real, C>
    where
        T: Summable,
        C: Clone,
    {
        self.var_as::<T::Mean>(ddof)
    }

    /// The variance of the elements as an `A`. Collective.
    pub fn var_as<A: Floating>(&self, ddof: f64) -> Reduced<A::Real, C>
    where
        T: Cast<A>,
        C: Clone,
    {
        let finish = |state: &_, _| A::Real::from_f64(Moments::<A>::variance(state, ddof));
        self.reduced("var", ddof.to_bits(), &Moments::<A>::new(), finish)
    }

    /// The variance, written to what `out` owns. Collective.
    pub fn var_into<S, D, C2>(
        &self,
        ddof: f64,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        T: Summable,
        S: DataMut<Elem: Real>,
        D: Dimension,
        C2: Communicator,
    {
        let variance = |state: &_| Moments::<T::Mean>::variance(state, ddof);
        let finish = |state: &_, _| S::Elem::from_f64(variance(state));
        self.reduced_into(
            "var",
            ddof.to_bits(),
            &Moments::<T::Mean>::new(),
            finish,
            out,
        )
    }

    /// The standard deviation over the axes, `ddof` degrees of freedom less: of a float type for every element type. Collective.
    pub fn std(&self, ddof: f64) -> Reduced<<T::Mean as Floating>::Real, C>
    where
        T: Summable,
        C: Clone,
    {
        self.std_as::<T::Mean>(ddof)
    }

    /// The standard deviation of the elements as an `A`. Collective.
    pub fn std_as<A: Floating>(&self, ddof: f64) -> Reduced<A::Real, C>
    where
        T: Cast<A>,
        C: Clone,
    {
        let finish = |state: &_, _| A::Real::from_f64(Moments::<A>::variance(state, ddof).sqrt());
        self.reduced("std", ddof.to_bits(), &Moments::<A>::new(), finish)
    }

    /// The standard deviation, written to what `out` owns. Collective.
    pub fn std_into<S, D, C2>(
        &self,
        ddof: f64,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        T: Summable,
        S: DataMut<Elem: Real>,
        D: Dimension,
        C2: Communicator,
    {
        let variance = |state: &_| Moments::<T::Mean>::variance(state, ddof);
        let finish = |state: &_, _| S::Elem::from_f64(variance(state).sqrt());
        self.reduced_into(
            "std",
            ddof.to_bits(),
            &Moments::<T::Mean>::new(),
            finish,
            out,
        )
    }
}

/// Extremes and their places.
///
/// NaN wins over all numbers. Complex numbers are ordered by their real parts, then by the imaginary ones.
///
/// # Errors
/// As for [`sum`](Self::sum), and [`ArrayError::Empty`] where an output has no element.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix2;
///
/// ThreadComm::run(3, |comm| {
///     let dealt = Distribution::over(3).shape([7, 2]).cyclic(0).build()?;
///     let a = LocalArray::<f64, Ix2, _>::from_fn(&dealt, comm, |g| ((g[0] - 3) * (g[0] - 3) - g[1]) as f64)?;
///     assert_eq!(a.over(0).argmin()?.gather_to(0)?.map(|places| places[[1]]), (comm.rank() == 0).then_some(3));
///     assert_eq!(a.over(0).min()?.min()?, -1.0);
///     assert_eq!(a.over(0).ptp()?.max()?, 9.0);
///     Ok::<_, ArrayError>(())
/// })?;
/// # use dist_comm::Communicator;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[expect(clippy::missing_errors_doc, reason = "said once for all of a group")]
impl<T: Ordered, C: Communicator> Over<'_, T, C> {
    /// The least element. Collective.
    pub fn min(&self) -> Reduced<T, C>
    where
        C: Clone,
    {
        self.reduced("min", (), &Extreme::<false>, |&best, _| best)
    }

    /// The same, written to what `out` owns. Collective.
    pub fn min_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = T>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into("min", (), &Extreme::<false>, |&best, _| best, out)
    }

    /// The greatest element. Collective.
    pub fn max(&self) -> Reduced<T, C>
    where
        C: Clone,
    {
        self.reduced("max", (), &Extreme::<true>, |&best, _| best)
    }

    /// The same, written to what `out` owns. Collective.
    pub fn max_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = T>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into("max", (), &Extreme::<true>, |&best, _| best, out)
    }

    /// Where the least element stands: its index along the reduced axis; of several axes, in C order of their global
    /// extents. Collective.
    pub fn argmin(&self) -> Reduced<i64, C>
    where
        C: Clone,
    {
        self.reduced("argmin", (), &ArgExtreme::<false>, |best, _| best.place)
    }

    /// The same, written to what `out` owns. Collective.
    pub fn argmin_into<S, D, C2>(
        &self,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = i64>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into(
            "argmin",
            (),
            &ArgExtreme::<false>,
            |best, _| best.place,
            out,
        )
    }

    /// Where the greatest element stands: its index along the reduced axis; of several axes, in C order of their global
    /// extents. Collective.
    pub fn argmax(&self) -> Reduced<i64, C>
    where
        C: Clone,
    {
        self.reduced("argmax", (), &ArgExtreme::<true>, |best, _| best.place)
    }

    /// The same, written to what `out` owns. Collective.
    pub fn argmax_into<S, D, C2>(
        &self,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = i64>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into("argmax", (), &ArgExtreme::<true>, |best, _| best.place, out)
    }

    /// The greatest element less the least; integers wrap. Collective.
    pub fn ptp(&self) -> Reduced<T, C>
    where
        T: Arithmetic,
        C: Clone,
    {
        let mut range = self.max()?;
        range.zip_map_inplace(&self.min()?, |most, least| *most = most.minus(least))?;
        Ok(range)
    }

    /// The same, written to what `out` owns. Collective.
    pub fn ptp_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        T: Arithmetic,
        S: DataMut<Elem = T>,
        D: Dimension,
        C: Clone,
        C2: Communicator,
    {
        self.max_into(out)?;
        let least = self.min()?;
        for (most, &least) in out.owned_mut().iter_mut().zip(least.owned()) {
            *most = most.minus(least);
        }
        Ok(())
    }
}

/// Truth: an element is true where it is not zero; NaN is.
///
/// # Errors
/// As for [`sum`](Self::sum).
#[expect(clippy::missing_errors_doc, reason = "said once for all of a group")]
impl<T: Cast<bool>, C: Communicator> Over<'_, T, C> {
    /// Whether any element is true. Collective.
    pub fn any(&self) -> Reduced<bool, C>
    where
        C: Clone,
    {
        self.reduced("any", (), &Truths::<false>, |&truth, _| truth != 0)
    }

    /// The same, written to what `out` owns. Collective.
    pub fn any_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = bool>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into("any", (), &Truths::<false>, |&truth, _| truth != 0, out)
    }

    /// Whether all elements are true. Collective.
    pub fn all(&self) -> Reduced<bool, C>
    where
        C: Clone,
    {
        self.reduced("all", (), &Truths::<true>, |&truth, _| truth != 0)
    }

    /// The same, written to what `out` owns. Collective.
    pub fn all_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        S: DataMut<Elem = bool>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into("all", (), &Truths::<true>, |&truth, _| truth != 0, out)
    }
}
