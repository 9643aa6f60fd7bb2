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
    ($($(#[$doc:meta])* $name:ident $as:ident $into:ident: $what:literal, $done:literal of $Type:ident by $Kernel:ident, $finish:ident;)*) => {$(
        #[doc = concat!("The ", $what, ", of [`Summable::", stringify!($Type), "`] type; shape and distribution as [`Over`] says. Collective.")]
        $(#[$doc])*
        ///
        /// # Errors
        /// The same on every rank: [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`] for
        /// one named twice, and when the ranks ask for different reductions; [`ArrayError::Agreed`] when a rank cannot have the
        /// memory; [`ArrayError::Comm`].
        pub fn $name(&self) -> Reduced<T::$Type, C>
        where
            T: Summable,
            C: Clone,
        {
            self.$as::<T::$Type>()
        }

        #[doc = concat!("The ", $what, ", ", $done, " in `A`. Collective.")]
        /// Example: see [`sum`](Self::sum).
        ///
        /// # Errors
        /// As [`sum`](Self::sum).
        pub fn $as<A: Accumulate>(&self) -> Reduced<A, C>
        where
            T: Cast<A>,
            C: Clone,
        {
            self.reduced(stringify!($name), (), &$Kernel::<A>::new(), $finish)
        }

        #[doc = concat!("The ", $what, ", ", $done, " in the type of `out` and written to what it owns. Collective.")]
        /// Example: see [`sum`](Self::sum).
        ///
        /// # Errors
        /// As [`sum`](Self::sum), and [`ArrayError::IncompatibleArray`] when `out` is not distributed as the result.
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
    ($($(#[$doc:meta])* $name:ident $as:ident $into:ident: $what:literal, $of:expr;)*) => {$(
        #[doc = concat!("The ", $what, ", of a float type for every element type; `ddof` degrees of freedom less. Collective.")]
        /// Shape and distribution as [`Over`] says.
        $(#[$doc])*
        ///
        /// # Errors
        /// As [`sum`](Self::sum).
        pub fn $name(&self, ddof: f64) -> Reduced<<T::Mean as Floating>::Real, C>
        where
            T: Summable,
            C: Clone,
        {
            self.$as::<T::Mean>(ddof)
        }

        #[doc = concat!("The ", $what, " of the elements as an `A`. Collective.")]
        /// Example: see [`var`](Self::var).
        ///
        /// # Errors
        /// As [`sum`](Self::sum).
        pub fn $as<A: Floating>(&self, ddof: f64) -> Reduced<A::Real, C>
        where
            T: Cast<A>,
            C: Clone,
        {
            let finish = |state: &_, _| A::Real::from_f64($of(Moments::<A>::variance(state, ddof)));
            self.reduced(stringify!($name), Bits(ddof), &Moments::<A>::new(), finish)
        }

        #[doc = concat!("The ", $what, ", written to what `out` owns. Collective.")]
        /// Example: see [`var`](Self::var).
        ///
        /// # Errors
        /// As [`sum_into`](Self::sum_into).
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
    ($see:literal, $errors:literal;
    $($(#[$doc:meta])* $name:ident $into:ident -> $Type:ty: $what:literal by $kernel:expr, $finish:expr;)*) => {$(
        #[doc = concat!($what, ". Collective. Shape and distribution as [`Over`] says.")]
        $(#[$doc])*
        ///
        /// # Errors
        #[doc = concat!("As [`sum`](Self::sum)", $errors, ".")]
        pub fn $name(&self) -> Reduced<$Type, C>
        where
            C: Clone,
        {
            self.reduced(stringify!($name), (), &$kernel, $finish)
        }

        #[doc = concat!($what, ", written to what `out` owns. Collective. Example: see [`", $see, "`](Self::", $see, ").")]
        ///
        /// # Errors
        #[doc = concat!("As [`sum_into`](Self::sum_into)", $errors, ".")]
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
impl<T: Element, C: Communicator> Over<'_, T, C> {
    in_three_forms! {
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
        ///     let over = a.over(1);
        ///     let sums = over.sum()?; // u64, distributed as the rows are
        ///     assert!(sums.owned().iter().all(|&sum| sum == 200));
        ///     assert_eq!((over.prod()?.max()?, over.mean()?.max()?), (10_000, 100.0)); // u64, f64
        ///     let narrow = (over.sum_as::<i8>()?, over.prod_as::<f32>()?, over.mean_as::<i16>()?);
        ///     assert_eq!((narrow.0.max()?, narrow.1.max()?, narrow.2.max()?), (-56, 10_000.0, 100)); // of i8: 100 + 100 - 256
        ///     let mut out = LocalArray::<f32, Ix1, _>::zeros(sums.distribution(), comm)?;
        ///     over.sum_into(&mut out)?;
        ///     assert_eq!(out.max()?, 200.0);
        ///     over.prod_into(&mut out)?;
        ///     assert_eq!(out.max()?, 10_000.0);
        ///     over.mean_into(&mut out)?;
        ///     assert_eq!(out.max()?, 100.0);
        ///     assert_eq!(a.over(Axes::ALL).sum()?.ndim(), 0); // one number, on rank 0
        ///     Ok::<_, ArrayError>(())
        /// })?;
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        sum sum_as sum_into: "sum", "added up" of Sum by Sum, narrowed;
        /// Example: see [`sum`](Self::sum).
        prod prod_as prod_into: "product", "multiplied" of Sum by Product, narrowed;
        /// Example: see [`sum`](Self::sum).
        mean mean_as mean_into: "mean, NaN of no element", "added up" of Mean by Sum, averaged;
    }
}

/// Variance and standard deviation, in one stable sweep.
///
/// The sum of the squared distances from the mean is divided by the number of elements less `ddof`; where that is not above 0
/// the result is infinite, or NaN where the sum is 0 too. Of complex numbers the variance is real. Moments are kept in `f64`.
impl<T: Element, C: Communicator> Over<'_, T, C> {
    moments! {
        /// Parts are merged by the formulas of T. F. Chan, G. H. Golub and R. J. `LeVeque` ("Updating formulae and a pairwise
        /// algorithm for computing sample variances", 1979).
        ///
        /// ```
        /// use dist_comm::ThreadComm;
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix2;
        ///
        /// ThreadComm::run(2, |comm| {
        ///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
        ///     let a = LocalArray::<i16, Ix2, _>::from_fn(&rows, comm, |g| g[0] as i16)?; // columns of 0 1 2 3
        ///     let over = a.over(0);
        ///     let variances = over.var(0.0)?;
        ///     assert_eq!((variances.max()?, over.var_as::<f32>(1.0)?.max()?), (1.25, 5.0_f32 / 3.0));
        ///     assert_eq!((over.std(0.0)?.max()?, over.std_as::<f32>(0.0)?.max()?), (1.25_f64.sqrt(), 1.25_f32.sqrt()));
        ///     let mut out = variances.zeros_like::<f32>()?;
        ///     over.var_into(0.0, &mut out)?;
        ///     assert_eq!(out.max()?, 1.25);
        ///     over.std_into(0.0, &mut out)?;
        ///     assert_eq!(out.max()?, 1.25_f32.sqrt());
        ///     Ok::<_, ArrayError>(())
        /// })?;
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        var var_as var_into: "variance", std::convert::identity;
        /// The root of the [variance](Self::var), whose example has it.
        std std_as std_into: "standard deviation", f64::sqrt;
    }
}

/// Extremes and their places.
///
/// NaN wins over all numbers. Complex numbers are ordered by their real parts, then by the imaginary ones.
impl<T: Ordered, C: Communicator> Over<'_, T, C> {
    in_two_forms! {
        "min", ", and [`ArrayError::Empty`] where an output has no element";
        ///
        /// ```
        /// use dist_comm::ThreadComm;
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix2;
        ///
        /// ThreadComm::run(3, |comm| {
        ///     let dealt = Distribution::over(3).shape([7, 2]).cyclic(0).build()?;
        ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&dealt, comm, |g| (g[0] - 3) * (g[0] - 3))?; // 9 4 1 0 1 4 9, twice
        ///     let over = a.over(0);
        ///     let (least, place) = (over.min()?, over.argmin()?);
        ///     assert_eq!((least.sum()?, over.max()?.sum()?, over.ptp()?.sum()?), (0, 2 * 9, 2 * 9));
        ///     assert_eq!((place.sum()?, over.argmax()?.sum()?), (2 * 3, 0)); // of the two 9 the first
        ///     let mut out = least.zeros_like::<i64>()?;
        ///     over.min_into(&mut out)?;
        ///     assert_eq!(out.sum()?, 0);
        ///     over.max_into(&mut out)?;
        ///     assert_eq!(out.sum()?, 18);
        ///     over.argmin_into(&mut out)?;
        ///     assert_eq!(out.sum()?, 6);
        ///     over.argmax_into(&mut out)?;
        ///     assert_eq!(out.sum()?, 0);
        ///     over.ptp_into(&mut out)?;
        ///     assert_eq!(out.sum()?, 18);
        ///     Ok::<_, ArrayError>(())
        /// })?;
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        min min_into -> T: "The least element" by Extreme::<false>, |&best, _| best;
        /// Example: see [`min`](Self::min).
        max max_into -> T: "The greatest element" by Extreme::<true>, |&best, _| best;
        /// Example: see [`min`](Self::min).
        argmin argmin_into -> i64: "Where the least element stands: its index along the reduced axis; of several axes, in C order \
            of their global extents" by ArgExtreme::<false>, |best, _| best.place;
        /// Example: see [`min`](Self::min).
        argmax argmax_into -> i64: "Where the greatest element stands: its index along the reduced axis; of several axes, in C \
            order of their global extents" by ArgExtreme::<true>, |best, _| best.place;
    }

    /// The greatest element less the least; integers wrap. Collective. Shape and distribution as [`Over`] says. Example: see
    /// [`min`](Self::min).
    ///
    /// # Errors
    /// As [`min`](Self::min).
    pub fn ptp(&self) -> Reduced<T, C>
    where
        T: Arithmetic,
        C: Clone,
    {
        self.reduced("ptp", (), &Extremes, |ends, _| range_of(ends))
    }

    /// The same, written to what `out` owns. Collective. Example: see [`min`](Self::min).
    ///
    /// # Errors
    /// As [`min_into`](Self::min_into).
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
impl<T: Cast<bool>, C: Communicator> Over<'_, T, C> {
    in_two_forms! {
        "any", "";
        ///
        /// ```
        /// use dist_comm::ThreadComm;
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix2;
        ///
        /// ThreadComm::run(2, |comm| {
        ///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
        ///     let a = LocalArray::<i32, Ix2, _>::from_fn(&rows, comm, |g| g[0] as i32)?; // rows of 0, of 1, of 2, of 3
        ///     let over = a.over(1);
        ///     let some = over.any()?; // false true true true
        ///     assert_eq!((some.sum()?, over.all()?.sum()?, a.over(0).all()?.any()?), (3, 3, false));
        ///     let mut out = some.zeros_like::<bool>()?;
        ///     over.any_into(&mut out)?;
        ///     assert_eq!(out.sum()?, 3);
        ///     over.all_into(&mut out)?;
        ///     assert_eq!(out.sum()?, 3);
        ///     Ok::<_, ArrayError>(())
        /// })?;
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        any any_into -> bool: "Whether any element is true" by Truths::<false>, |&truth, _| truth != 0;
        /// Example: see [`any`](Self::any).
        all all_into -> bool: "Whether all elements are true" by Truths::<true>, |&truth, _| truth != 0;
    }
}
