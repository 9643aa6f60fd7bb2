//! What can be asked of some axes.

use dap_protocol::Element;
use dist_comm::Communicator;
use ndarray::{DataMut, Dimension, IxDyn};

use super::Over;
use crate::agreement::Bits;
use crate::reduction::{ArgExtreme, Ends, Extreme, Extremes, Moments, Product, Sum, Truths};
use crate::{
    Accumulate, Arithmetic, ArrayError, Cast, Floating, LocalArray, LocalArrayBase, Ordered, Real,
    Summable,
};

/// The result of a reduction over some axes.
type Reduced<U, C> = Result<LocalArray<U, IxDyn, C>, ArrayError>;

/// The accumulator's value in the type that was asked for.
fn narrowed<A: Accumulate>(&acc: &A::Acc, _: f64) -> A {
    A::narrow(acc)
}

/// The greatest less the least.
fn range_of<T: Ordered + Arithmetic>(ends: &Ends) -> T {
    let (least, greatest) = ends.pair::<T>();
    greatest.minus(least)
}

/// The sum over the number of elements.
fn averaged<A: Accumulate>(&acc: &A::Acc, n: f64) -> A {
    A::mean_of(acc, n)
}

/// Reductions in three forms: in the type that is kept for them, in one that is chosen, and into an array that is there.
macro_rules! in_three_forms {
    ($($name:ident $as:ident $into:ident: $what:literal of $Type:ident by $Kernel:ident, $finish:ident;)*) => {$(
        #[doc = concat!("The ", $what, ", of [`Summable::", stringify!($Type), "`] type. Collective.")]
        pub fn $name(&self) -> Reduced<T::$Type, C>
        where
            T: Summable,
            C: Clone,
        {
            self.$as::<T::$Type>()
        }

        #[doc = concat!("The ", $what, ", added up in `A`. Collective.")]
        pub fn $as<A: Accumulate>(&self) -> Reduced<A, C>
        where
            T: Cast<A>,
            C: Clone,
        {
            self.reduced(stringify!($name), (), &$Kernel::<A>::new(), $finish)
        }

        #[doc = concat!("The ", $what, ", added up in the type of `out` and written to what it owns. Collective.")]
        pub fn $into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
        where
            T: Cast<S::Elem>,
            S: DataMut<Elem: Accumulate>,
            D: Dimension,
            C2: Communicator,
        {
            self.reduced_into(stringify!($name), (), &$Kernel::<S::Elem>::new(), $finish, out)
        }
    )*};
}

/// Second moments in three forms, each the variance or a function of it.
macro_rules! moments {
    ($($name:ident $as:ident $into:ident: $what:literal, $of:expr;)*) => {$(
        #[doc = concat!("The ", $what, ", of a float type for every element type; `ddof` degrees of freedom less. Collective.")]
        pub fn $name(&self, ddof: f64) -> Reduced<<T::Mean as Floating>::Real, C>
        where
            T: Summable,
            C: Clone,
        {
            self.$as::<T::Mean>(ddof)
        }

        #[doc = concat!("The ", $what, " of the elements as an `A`. Collective.")]
        pub fn $as<A: Floating>(&self, ddof: f64) -> Reduced<A::Real, C>
        where
            T: Cast<A>,
            C: Clone,
        {
            let finish = |state: &_, _| A::Real::from_f64($of(Moments::<A>::variance(state, ddof)));
            self.reduced(stringify!($name), Bits(ddof), &Moments::<A>::new(), finish)
        }

        #[doc = concat!("The ", $what, ", written to what `out` owns. Collective.")]
        pub fn $into<S, D, C2>(
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
            let moments = Moments::<T::Mean>::new();
            let variance = |state: &_| Moments::<T::Mean>::variance(state, ddof);
            let finish = |state: &_, _| S::Elem::from_f64($of(variance(state)));
            self.reduced_into(stringify!($name), Bits(ddof), &moments, finish, out)
        }
    )*};
}

/// Reductions of one result type, which every element type has, and the same into an array that is there.
macro_rules! in_two_forms {
    ($($name:ident $into:ident -> $Type:ty: $what:literal by $kernel:expr, $finish:expr;)*) => {$(
        #[doc = concat!($what, ". Collective.")]
        pub fn $name(&self) -> Reduced<$Type, C>
        where
            C: Clone,
        {
            self.reduced(stringify!($name), (), &$kernel, $finish)
        }

        #[doc = concat!($what, ", written to what `out` owns. Collective.")]
        pub fn $into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
        where
            S: DataMut<Elem = $Type>,
            D: Dimension,
            C2: Communicator,
        {
            self.reduced_into(stringify!($name), (), &$kernel, $finish, out)
        }
    )*};
}

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
///     let a = LocalArray::<u8, Ix2, _>::full(&rows, comm, 100)?;
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
    in_three_forms! {
        sum sum_as sum_into: "sum" of Sum by Sum, narrowed;
        prod prod_as prod_into: "product" of Sum by Product, narrowed;
        mean mean_as mean_into: "mean, NaN of no element" of Mean by Sum, averaged;
    }
}

/// Variance and standard deviation, in one stable sweep: parts are merged by the formulas of Chan, Golub and `LeVeque` (1979).
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
    moments! {
        var var_as var_into: "variance", std::convert::identity;
        std std_as std_into: "standard deviation", f64::sqrt;
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
    in_two_forms! {
        min min_into -> T: "The least element" by Extreme::<false>, |&best, _| best;
        max max_into -> T: "The greatest element" by Extreme::<true>, |&best, _| best;
        argmin argmin_into -> i64: "Where the least element stands: its index along the reduced axis; of several axes, in C order \
            of their global extents" by ArgExtreme::<false>, |best, _| best.place;
        argmax argmax_into -> i64: "Where the greatest element stands: its index along the reduced axis; of several axes, in C \
            order of their global extents" by ArgExtreme::<true>, |best, _| best.place;
    }

    /// The greatest element less the least; integers wrap. Collective.
    pub fn ptp(&self) -> Reduced<T, C>
    where
        T: Arithmetic,
        C: Clone,
    {
        self.reduced("ptp", (), &Extremes, |ends, _| range_of(ends))
    }

    /// The same, written to what `out` owns. Collective.
    pub fn ptp_into<S, D, C2>(&self, out: &mut LocalArrayBase<S, D, C2>) -> Result<(), ArrayError>
    where
        T: Arithmetic,
        S: DataMut<Elem = T>,
        D: Dimension,
        C2: Communicator,
    {
        self.reduced_into("ptp", (), &Extremes, |ends, _| range_of(ends), out)
    }
}

/// Truth: an element is true where it is not zero; NaN is.
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
///     let a = LocalArray::<i32, Ix2, _>::from_fn(&rows, comm, |g| g[0] as i32)?;
///     assert_eq!(a.over(1).any()?.sum()?, 3); // row 0 has zeros only
///     assert!(!a.over(0).all()?.any()?);
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[expect(clippy::missing_errors_doc, reason = "said once for all of a group")]
impl<T: Cast<bool>, C: Communicator> Over<'_, T, C> {
    in_two_forms! {
        any any_into -> bool: "Whether any element is true" by Truths::<false>, |&truth, _| truth != 0;
        all all_into -> bool: "Whether all elements are true" by Truths::<true>, |&truth, _| truth != 0;
    }
}
