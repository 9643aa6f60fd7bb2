//! Reductions of the whole array to one value, the same on every rank. Owned elements only, each global index once.
//!
//! The order is fixed, so two runs give the same bits: each rank takes its owned elements in C order by pairwise summation
//! (leaves of 128 elements, eight partial sums each, leaves two by two), then the ranks' results are merged in order of rank.

use dap_protocol::Element;
use dist_comm::Communicator;
use ndarray::{Data, Dimension};

use crate::over::{all_places, counted, with_block};
use crate::reduction::{
    ArgExtreme, Extreme, Extremes, Moments, Order, Product, Reduction, Sum, Truths, fold_over_ranks,
};
use crate::{
    Accumulate, Arithmetic, ArrayError, Cast, Floating, LocalArrayBase, Ordered, Real, Summable,
};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator,
{
    /// The sum of all elements of the array, the same bits on every rank. Collective.
    ///
    /// `bool` counts in `u64`, integers add up in 64 bits and wrap, halves in `f32` (see [`Summable`]). NaN propagates. The
    /// sum of no element is zero. Padding does not count, and an index that lies on several ranks counts once. Over some axes:
    /// [`over`](Self::over). Each rank adds up pairwise, then the ranks' sums are added, in the order that [`Over`](crate::Over)
    /// says.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let sums = ThreadComm::run(4, |comm| {
    ///     let blocks = Distribution::over(4).shape([30, 40]).block(0).block(1).padding(2).build()?;
    ///     LocalArray::<i16, Ix2, _>::full(&blocks, comm, 30_000)?.sum()
    /// })?;
    /// assert_eq!(sums, [36_000_000_i64; 4]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn sum(&self) -> Result<<S::Elem as Summable>::Sum, ArrayError>
    where
        S::Elem: Summable,
    {
        self.sum_as()
    }

    /// The sum of all elements, cast to `A` and added up in it (`NumPy`'s `dtype=`). Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
    ///     let a = LocalArray::<i8, Ix1, _>::full(&blocks, comm, 100)?;
    ///     assert_eq!((a.sum()?, a.sum_as::<i8>()?, a.sum_as::<f32>()?), (300, 44, 300.0)); // 300 - 256
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn sum_as<A: Accumulate>(&self) -> Result<A, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        Ok(A::narrow(self.whole("sum", &Sum::<A>::new())?))
    }

    /// The product of all elements, of the type of a [`sum`](Self::sum); 1 of no element. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i8, Ix1, _>::from_fn(&dealt, comm, |g| g[0] as i8 + 3)?; // 3, 4, 5, 6
    ///     a.prod()
    /// })?;
    /// assert_eq!(found, [3 * 4 * 5 * 6_i64; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn prod(&self) -> Result<<S::Elem as Summable>::Sum, ArrayError>
    where
        S::Elem: Summable,
    {
        self.prod_as()
    }

    /// The product of all elements, cast to `A` and multiplied in it. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i8, Ix1, _>::from_fn(&dealt, comm, |g| g[0] as i8 + 3)?; // 3, 4, 5, 6, whose product is 360
    ///     a.prod_as::<u8>()
    /// })?;
    /// assert_eq!(found, [104; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn prod_as<A: Accumulate>(&self) -> Result<A, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        Ok(A::narrow(self.whole("prod", &Product::<A>::new())?))
    }

    /// The mean of all elements; `f64` for integers and `bool`. Collective. NaN for an array without elements.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| g[0] as i32)?; // 0, 1, 2, 3
    ///     a.mean()
    /// })?;
    /// assert_eq!(found, [1.5; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn mean(&self) -> Result<<S::Elem as Summable>::Mean, ArrayError>
    where
        S::Elem: Summable,
    {
        self.mean_as()
    }

    /// The mean of all elements, cast to `A` and added up in it; truncated where that is an integer. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| g[0] as i32)?; // 0, 1, 2, 3
    ///     Ok::<_, ArrayError>((a.mean_as::<f32>()?, a.mean_as::<i64>()?))
    /// })?;
    /// assert_eq!(found, [(1.5, 1); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn mean_as<A: Accumulate>(&self) -> Result<A, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a mean is no more exact than its count as a float"
        )]
        let count = counted(self.distribution(), &self.every_axis()) as f64;
        Ok(A::mean_of(self.whole("mean", &Sum::<A>::new())?, count))
    }

    /// The variance of all elements, with `ddof` degrees of freedom less; along axes it is `over(axes).var(ddof)`. Collective.
    ///
    /// The sum of squared distances from the mean, over the number of elements less `ddof`. A float for every element type, real
    /// for complex ones. `ddof` is a float, as in `ndarray`, so that it is not taken for an axis.
    ///
    /// In one stable sweep: parts are merged by the formulas of T. F. Chan, G. H. Golub and R. J. `LeVeque` ("Updating
    /// formulae and a pairwise algorithm for computing sample variances", 1979).
    ///
    /// Where `ddof` leaves nothing to divide by it is infinite, or NaN where the sum is 0 too.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| g[0] as i32)?; // 0, 1, 2, 3
    ///     Ok::<_, ArrayError>((a.var(0.0)?, a.var(1.0)?))
    /// })?;
    /// assert_eq!(found, [(1.25, 5.0 / 3.0); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn var(
        &self,
        ddof: f64,
    ) -> Result<<<S::Elem as Summable>::Mean as Floating>::Real, ArrayError>
    where
        S::Elem: Summable,
    {
        self.var_as::<<S::Elem as Summable>::Mean>(ddof)
    }

    /// The variance of all elements as an `A`. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| g[0] as i32)?; // 0, 1, 2, 3
    ///     a.var_as::<f32>(0.0)
    /// })?;
    /// assert_eq!(found, [1.25_f32; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn var_as<A: Floating>(&self, ddof: f64) -> Result<A::Real, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        let moments = self.whole("var", &Moments::<A>::new())?;
        Ok(A::Real::from_f64(Moments::<A>::variance(&moments, ddof)))
    }

    /// The standard deviation of all elements, with `ddof` degrees of freedom less: the root of the [variance](Self::var);
    /// along axes it is `over(axes).std(ddof)`. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<u8, Ix1, _>::from_fn(&dealt, comm, |g| 2 * g[0] as u8)?; // 0, 2, 4, 6
    ///     a.std(0.0)
    /// })?;
    /// assert_eq!(found, [5_f64.sqrt(); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn std(
        &self,
        ddof: f64,
    ) -> Result<<<S::Elem as Summable>::Mean as Floating>::Real, ArrayError>
    where
        S::Elem: Summable,
    {
        self.std_as::<<S::Elem as Summable>::Mean>(ddof)
    }

    /// The standard deviation of all elements as an `A`. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<u8, Ix1, _>::from_fn(&dealt, comm, |g| 2 * g[0] as u8)?; // 0, 2, 4, 6
    ///     a.std_as::<f32>(0.0)
    /// })?;
    /// assert_eq!(found, [5_f32.sqrt(); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn std_as<A: Floating>(&self, ddof: f64) -> Result<A::Real, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        let moments = self.whole("std", &Moments::<A>::new())?;
        Ok(A::Real::from_f64(
            Moments::<A>::variance(&moments, ddof).sqrt(),
        ))
    }

    /// The least element; NaN where there is one. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| (g[0] - 2).pow(2) as i32)?; // 4, 1, 0, 1
    ///     Ok::<_, ArrayError>((a.min()?, a.max()?))
    /// })?;
    /// assert_eq!(found, [(0, 4); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Empty`] where no rank owns an element, the same on every rank; [`ArrayError::Comm`].
    pub fn min(&self) -> Result<S::Elem, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.whole("min", &Extreme::<false>)
    }

    /// The greatest element; NaN where there is one. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&dealt, comm, |g| (g[0] as f64 - 2.0).sqrt())?; // NaN, NaN, 0, 1
    ///     Ok::<_, ArrayError>(a.max()?.is_nan())
    /// })?;
    /// assert_eq!(found, [true; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`min`](Self::min).
    pub fn max(&self) -> Result<S::Elem, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.whole("max", &Extreme::<true>)
    }

    /// The greatest element less the least; integers wrap. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| (g[0] - 2).pow(2) as i32 + 7)?; // 11, 8, 7, 8
    ///     a.ptp()
    /// })?;
    /// assert_eq!(found, [4; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`min`](Self::min).
    pub fn ptp(&self) -> Result<S::Elem, ArrayError>
    where
        S::Elem: Ordered + Arithmetic,
    {
        let (least, greatest) = self.whole("ptp", &Extremes)?.pair::<S::Elem>();
        Ok(greatest.minus(least))
    }

    /// The flat index, in C order over the global shape, of the least element; of equal ones and of NaN, the first. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| (g[0] - 2).pow(2) as i32)?; // 4, 1, 0, 1
    ///     a.argmin()
    /// })?;
    /// assert_eq!(found, [2; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`min`](Self::min), and [`ArrayError::Shape`] beyond 2⁶³ elements.
    pub fn argmin(&self) -> Result<i64, ArrayError>
    where
        S::Elem: Ordered,
    {
        Ok(self.whole("argmin", &ArgExtreme::<false>)?.place)
    }

    /// The flat index of the greatest element; of equal ones and of NaN, the first. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| g[0].min(2) as i32)?; // 0, 1, 2, 2
    ///     a.argmax()
    /// })?;
    /// assert_eq!(found, [2; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`argmin`](Self::argmin).
    pub fn argmax(&self) -> Result<i64, ArrayError>
    where
        S::Elem: Ordered,
    {
        Ok(self.whole("argmax", &ArgExtreme::<true>)?.place)
    }

    /// Whether any element is true, that is, not zero; NaN is. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| (g[0] == 3) as i32)?; // 0, 0, 0, 1
    ///     a.any()
    /// })?;
    /// assert_eq!(found, [true; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn any(&self) -> Result<bool, ArrayError>
    where
        S::Elem: Cast<bool>,
    {
        Ok(self.whole("any", &Truths::<false>)? != 0)
    }

    /// Whether all elements are true, that is, not zero. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&dealt, comm, |g| (g[0] != 3) as i32)?; // 1, 1, 1, 0
    ///     a.all()
    /// })?;
    /// assert_eq!(found, [false; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn all(&self) -> Result<bool, ArrayError>
    where
        S::Elem: Cast<bool>,
    {
        Ok(self.whole("all", &Truths::<true>)? != 0)
    }

    fn every_axis(&self) -> Vec<bool> {
        vec![true; self.ndim()]
    }

    /// The state of all elements.
    pub(crate) fn whole<R: Reduction<S::Elem>>(
        &self,
        operation: &'static str,
        reduction: &R,
    ) -> Result<R::State, ArrayError>
    where
        S::Elem: Element,
    {
        let every = self.every_axis();
        let empty = || ArrayError::Empty {
            operation,
            shape: self.global_shape().to_vec(),
        };
        if reduction.nothing().is_none() && counted(self.distribution(), &every) == 0 {
            return Err(empty());
        }
        let strides = if R::ORDER == Order::Places {
            Some(all_places(self.global_shape())?)
        } else {
            None
        };
        let stored = self.data.view().into_dyn();
        let strides = strides.as_deref();
        let found = with_block(&self.part, &stored, &every, strides, R::ORDER, |block| {
            fold_over_ranks(&self.comm, block, reduction)
        })?;
        found.ok_or_else(empty)
    }
}
