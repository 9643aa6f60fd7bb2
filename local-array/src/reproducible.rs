//! Reductions whose bits do not depend on the distribution or the number of ranks: [`Reproducible`].

use std::fmt;

use dap_protocol::{Element, ElementType};
use dist_comm::Communicator;
use half::{bf16, f16};
use ndarray::{Data, Dimension, IxDyn, RawData};
use num_complex::{Complex32, Complex64};

use crate::agreement::Bits;
use crate::exact::{ExactSum, covariance};
use crate::linalg::{Conjugate, alike, exact_sum_of_products};
use crate::over::counted;
use crate::reduction::{CHUNK, Exact};
use crate::{ArrayError, Cast, Floating, LocalArray, LocalArrayBase, Over, Real, Summable};

/// Floats and complex numbers, as the one or two `f64` numbers that they are: what
/// [`reproducible`](LocalArrayBase::reproducible) sums add up. Sealed, as elements are. Local. Example: see
/// [`reproducible`](LocalArrayBase::reproducible).
pub trait Parts: Floating {
    /// 1, or 2 for complex numbers.
    #[doc(hidden)]
    const COUNT: usize;
    /// How many leading bits a part has, and the place of the lowest bit there is.
    #[doc(hidden)]
    const PRECISION: (u32, i32);
    /// The number itself, or the real and the imaginary part.
    #[doc(hidden)]
    fn parts(self) -> [f64; 2];
    /// The nearest number.
    #[doc(hidden)]
    fn of_parts(parts: [f64; 2]) -> Self;
    /// Hands over the real, then the imaginary parts of at most [`CHUNK`] elements.
    #[doc(hidden)]
    fn each_part<T: Cast<Self>>(elements: &[T], mut see: impl FnMut(usize, &[f64])) {
        let is_same = [T::TYPE, Self::TYPE] == [ElementType::F64; 2];
        if let (true, Ok(numbers)) = (is_same, bytemuck::checked::try_cast_slice(elements)) {
            return see(0, numbers);
        }
        let mut numbers = [0.0; CHUNK];
        for part in 0..Self::COUNT {
            for (number, &element) in numbers.iter_mut().zip(elements) {
                *number = element.cast().parts()[part];
            }
            see(part, &numbers[..elements.len()]);
        }
    }
}

macro_rules! parts {
    ($($t:ty, $count:expr, $precision:expr, |$x:ident| $parts:expr, |$p:ident| $of:expr;)*) => {$(
        impl Parts for $t {
            const COUNT: usize = $count;
            const PRECISION: (u32, i32) = $precision;
            #[inline]
            fn parts(self) -> [f64; 2] {
                let $x = self;
                $parts
            }
            fn of_parts($p: [f64; 2]) -> Self {
                $of
            }
        }
    )*};
}

parts! {
    f16, 1, (11, -24), |x| [x.to_f64(), 0.0], |p| Self::from_f64(p[0]);
    bf16, 1, (8, -133), |x| [x.to_f64(), 0.0], |p| Self::from_f64(p[0]);
    f32, 1, (24, -149), |x| [x.into(), 0.0], |p| Real::from_f64(p[0]);
    f64, 1, (53, -1074), |x| [x, 0.0], |p| p[0];
    Complex32, 2, (24, -149), |x| [x.re.into(), x.im.into()], |p| Self::new(Real::from_f64(p[0]), Real::from_f64(p[1]));
    Complex64, 2, (53, -1074), |x| [x.re, x.im], |p| Self::new(p[0], p[1]);
}

/// Reductions of the whole array whose bits are the same for any distribution of the elements over any number of ranks.
///
/// Made by [`reproducible`](LocalArrayBase::reproducible), which has an example. Sums and products are added up exactly, in a
/// number that is wide enough for every `f64`, and rounded once at the end: 0.5 KiB a sum. Each call is collective, on a
/// [`part`](LocalArrayBase::part) local; types are those of the plain reductions.
///
/// | method | bits follow from |
/// |---|---|
/// | `sum` | the exact sum, rounded once; integers wrap |
/// | `mean` | that sum over the number of elements |
/// | `var`, `std` | exact sums of elements and of squares; beyond 1e150 the squares leave the range |
/// | [`dot`](crate::Dot), `vdot` | exact sums of exact products, rounded once: of vectors, matrices, arrays of any dimensions |
/// | `average` | exact sums of products, each rounded, and of weights |
/// | `prod`, `cumsum`, `cumprod` | a fixed tree over global indices, joined two by two |
///
/// The product of two matrices is distributed as that of [`Dot`](crate::Dot); its sums are kept for 128 rows and 128 columns of a
/// rank at a time, 18 MiB, and up to three copies of them where each rank multiplies its share of the summed dimension. A product
/// of two `f64` takes many times as long as in the kernel of the plain one.
///
/// Rows and columns in lists that name indices outside the matrix are refused ([`ArrayError::OutOfBounds`]).
///
/// `dot` and `vdot` are for floats and complex numbers. Sums of integers wrap and those of `bool` are *or*, in any order, so
/// that the plain [`dot`](crate::Dot) and [`vdot`](crate::vdot) of these have the same bits for any layout already.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, Dot, LocalArray};
/// use ndarray::Ix2;
///
/// let product = |ranks: usize, block: u64| {
///     ThreadComm::run(ranks, |comm| {
///         let cells = Distribution::over(ranks).shape([3, 500]).block_cyclic(1, block).build()?;
///         let m = LocalArray::<f64, Ix2, _>::from_fn(&cells, comm, |g| 1.0 / (g[0] + g[1] + 1) as f64)?;
///         let product = m.reproducible().dot(&m.transpose(None)?)?; // 3 × 3
///         Ok::<_, ArrayError>(product.gather_to(0)?.map(|all| all.mapv(f64::to_bits)))
///     })
///     .map(|products| products[0].clone())
/// };
/// assert_eq!(product(1, 500)?, product(3, 7)?);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Sources
/// The long accumulator: U. W. Kulisch and W. L. Miranker, "Computer arithmetic in theory and practice", 1981; its digits,
/// which have room for carries: R. M. Neal, "Fast exact summation using small and large superaccumulators", 2015. Elements
/// that come in by blocks, split into multiples of two units: the binning of J. Demmel and H. D. Nguyen, "Parallel
/// reproducible summation", 2015. A product as two floats: T. J. Dekker, "A floating-point technique for extending the
/// available precision", 1971.
#[must_use]
pub struct Reproducible<'a, S: RawData, D, C> {
    pub(crate) array: &'a LocalArrayBase<S, D, C>,
}

impl<S: RawData, D, C> fmt::Debug for Reproducible<'_, S, D, C>
where
    LocalArrayBase<S, D, C>: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reproducible").field(self.array).finish()
    }
}

impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// Reductions whose bits do not depend on the layout. Local; what follows is collective.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sum = |ranks: usize, block: u64| {
    ///     ThreadComm::run(ranks, |comm| {
    ///         let dealt = Distribution::over(ranks).shape([10_000]).block_cyclic(0, block).build()?;
    ///         let a = LocalArray::<f64, Ix1, _>::from_fn(&dealt, comm, |g| 1.0 / (g[0] as f64 + 0.7))?;
    ///         a.reproducible().sum()
    ///     })
    ///     .map(|sums| sums[0].to_bits())
    /// };
    /// assert_eq!(sum(1, 10_000)?, sum(3, 7)?);
    /// assert_eq!(sum(1, 10_000)?, sum(4, 1)?);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn reproducible(&self) -> Reproducible<'_, S, D, C> {
        Reproducible { array: self }
    }
}

impl<S: Data<Elem: Element>, D: Dimension, C: Communicator> Reproducible<'_, S, D, C> {
    /// The sum of all elements, the same bits for any layout. Collective.
    ///
    /// Integers add up as those of [`sum`](LocalArrayBase::sum) do, which is the same for any layout anyway. Example: see
    /// [`mean`](Self::mean).
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn sum(&self) -> Result<<S::Elem as Summable>::Sum, ArrayError>
    where
        S::Elem: Summable<Sum: ExactlySummable>,
    {
        <S::Elem as Summable>::Sum::exact_sum(self.array)
    }

    /// The mean of all elements; NaN of none. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([4]).cyclic(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&dealt, comm, |g| [1e100, 3.0, -1e100, 1.0][g[0] as usize])?;
    ///     assert_eq!((a.reproducible().sum()?, a.reproducible().mean()?), (4.0, 1.0));
    ///     let b = LocalArray::<i32, Ix1, _>::arange(0, 4, 1, &dealt, comm)?; // 0 1 2 3
    ///     assert_eq!((b.reproducible().var(0.0)?, b.reproducible().std(0.0)?), (1.25, 1.25_f64.sqrt()));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn mean(&self) -> Result<<S::Elem as Summable>::Mean, ArrayError>
    where
        S::Elem: Summable<Mean: Parts>,
    {
        let sums = self
            .array
            .whole("mean", &sums::<S::Elem, <S::Elem as Summable>::Mean>())?;
        Ok(mean_of(&sums, self.count()))
    }

    /// The variance of all elements, over their number less `ddof`. Collective. Example: see [`mean`](Self::mean).
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn var(
        &self,
        ddof: f64,
    ) -> Result<<<S::Elem as Summable>::Mean as Floating>::Real, ArrayError>
    where
        S::Elem: Summable<Mean: Parts>,
    {
        let moments = self
            .array
            .whole("var", &moments::<S::Elem, <S::Elem as Summable>::Mean>())?;
        Ok(Real::from_f64(variance(&moments, self.count(), ddof)))
    }

    /// The standard deviation of all elements: the root of the [variance](Self::var). Collective.
    /// Example: see [`mean`](Self::mean).
    ///
    /// # Errors
    /// [`ArrayError::Comm`].
    pub fn std(
        &self,
        ddof: f64,
    ) -> Result<<<S::Elem as Summable>::Mean as Floating>::Real, ArrayError>
    where
        S::Elem: Summable<Mean: Parts>,
    {
        let moments = self
            .array
            .whole("std", &moments::<S::Elem, <S::Elem as Summable>::Mean>())?;
        Ok(Real::from_f64(
            variance(&moments, self.count(), ddof).sqrt(),
        ))
    }

    /// The sum of the products of all elements, both arrays taken flat, this one conjugated; exact, and rounded once.
    /// Collective.
    ///
    /// `other` is redistributed first where it lies otherwise. Products of vectors and matrices are those of the trait
    /// [`Dot`](crate::Dot), which this type has too.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let cyclic = Distribution::over(2).shape([3]).cyclic(0).build()?;
    ///     let large = LocalArray::<f64, Ix1, _>::from_fn(&cyclic, comm, |g| [1e16, 1.0, -1e16][g[0] as usize])?;
    ///     let ones = LocalArray::<f64, Ix1, _>::ones(&cyclic, comm)?;
    ///     assert_eq!(large.reproducible().vdot(&ones)?, 1.0); // added from left to right: 0
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Shape`] when the numbers of elements differ; as [`redistribute`](LocalArrayBase::redistribute).
    pub fn vdot<S2, D2>(&self, other: &LocalArrayBase<S2, D2, C>) -> Result<S::Elem, ArrayError>
    where
        S::Elem: Parts,
        S2: Data<Elem = S::Elem>,
        D2: Dimension,
        C: Clone,
    {
        alike(self.array, other)?;
        exact_sum_of_products(self.array, other, Conjugate::First)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean is no more exact than its count as a float"
    )]
    fn count(&self) -> f64 {
        counted(self.array.distribution(), &vec![true; self.array.ndim()]) as f64
    }
}

/// Reductions over some axes whose bits do not depend on the layout: see [`Reproducible`]. Made by [`Over::reproducible`]. Each
/// is collective, on a [`part`](LocalArrayBase::part) local.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::{Ix1, Ix2, array};
///
/// let averages = ThreadComm::run(2, |comm| {
///     let rows = Distribution::over(2).shape([4, 2]).block(0).build()?;
///     let a = LocalArray::<f64, Ix2, _>::from_fn(&rows, comm, |g| (g[0] + 10 * g[1]) as f64)?;
///     let of_rows = Distribution::over(2).shape([4, 1]).block(0).build()?;
///     let weights = LocalArray::<f64, Ix2, _>::from_fn(&of_rows, comm, |g| g[0] as f64)?;
///     let all = weights.reproducible().sum()?;
///     let average = &(&a * &weights)?.over(0).reproducible().sum()? / all;
///     assert_eq!(a.over(0).reproducible().prod()?.gather_to(0)?.is_some(), comm.rank() == 0);
///     average.into_dimensionality::<Ix1>()?.gather_to(0)
/// })?;
/// assert_eq!(averages[0], Some(array![14.0 / 6.0, 74.0 / 6.0]));
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ReproducibleOver<'a, T, C>(pub(crate) Over<'a, T, C>);

impl<'a, T, C> Over<'a, T, C> {
    /// The same reductions, with bits that do not depend on the layout. Local; what follows is collective. Example: see
    /// [`ReproducibleOver`].
    ///
    /// A rank has 1 MiB of sums at a time, for about 900 outputs.
    pub fn reproducible(self) -> ReproducibleOver<'a, T, C> {
        ReproducibleOver(self)
    }
}

/// The result of a reduction over some axes.
pub(crate) type Reduced<U, C> = Result<LocalArray<U, IxDyn, C>, ArrayError>;

impl<T: Summable, C: Communicator + Clone> ReproducibleOver<'_, T, C> {
    /// The sums. Collective. Example: see [`ReproducibleOver`].
    ///
    /// # Errors
    /// As [`Over::sum`].
    pub fn sum(&self) -> Reduced<T::Sum, C>
    where
        T::Sum: ExactlySummable,
    {
        T::Sum::exact_sums(&self.0)
    }

    /// The means. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let columns = Distribution::over(2).shape([2, 4]).block(1).build()?;
    ///     let a = LocalArray::<i32, Ix2, _>::from_fn(&columns, comm, |g| g[1] as i32)?; // rows of 0 1 2 3
    ///     let over = a.over(1).reproducible();
    ///     assert_eq!((over.mean()?.max()?, over.var(0.0)?.max()?), (1.5, 1.25));
    ///     assert_eq!(over.std(0.0)?.max()?, 1.25_f64.sqrt());
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Over::mean`].
    pub fn mean(&self) -> Reduced<T::Mean, C>
    where
        T::Mean: Parts,
    {
        self.0
            .reduced("mean", "reproducible", &sums::<T, T::Mean>(), |sums, n| {
                mean_of(sums, n)
            })
    }

    /// The variances. Collective. Example: see [`mean`](Self::mean).
    ///
    /// # Errors
    /// As [`Over::var`].
    pub fn var(&self, ddof: f64) -> Reduced<<T::Mean as Floating>::Real, C>
    where
        T::Mean: Parts,
    {
        let finish = |sums: &_, n| Real::from_f64(variance(sums, n, ddof));
        self.0.reduced(
            "var",
            ("reproducible", Bits(ddof)),
            &moments::<T, T::Mean>(),
            finish,
        )
    }

    /// The standard deviations. Collective. Example: see [`mean`](Self::mean).
    ///
    /// # Errors
    /// As [`Over::std`].
    pub fn std(&self, ddof: f64) -> Reduced<<T::Mean as Floating>::Real, C>
    where
        T::Mean: Parts,
    {
        let finish = |sums: &_, n| Real::from_f64(variance(sums, n, ddof).sqrt());
        self.0.reduced(
            "std",
            ("reproducible", Bits(ddof)),
            &moments::<T, T::Mean>(),
            finish,
        )
    }
}

/// Types of sums that come out the same in any order. Sealed, as elements are. Local. Example: see
/// [`reproducible`](LocalArrayBase::reproducible).
pub trait ExactlySummable: crate::Accumulate {
    /// The sum of an array.
    #[doc(hidden)]
    fn exact_sum<S, D, C>(array: &LocalArrayBase<S, D, C>) -> Result<Self, ArrayError>
    where
        S: Data<Elem: Cast<Self>>,
        D: Dimension,
        C: Communicator;
    /// The sums over some axes.
    #[doc(hidden)]
    fn exact_sums<T, C>(over: &Over<'_, T, C>) -> Reduced<Self, C>
    where
        T: Cast<Self>,
        C: Communicator + Clone;
}

macro_rules! exactly_summable {
    ($(float $t:ty;)* $(integer $i:ty;)*) => {
        $(impl ExactlySummable for $t {
            fn exact_sum<S, D, C>(array: &LocalArrayBase<S, D, C>) -> Result<Self, ArrayError>
            where
                S: Data<Elem: Cast<Self>>,
                D: Dimension,
                C: Communicator,
            {
                Ok(sum_of(&array.whole("sum", &sums::<S::Elem, Self>())?))
            }
            fn exact_sums<T, C>(over: &Over<'_, T, C>) -> Reduced<Self, C>
            where
                T: Cast<Self>,
                C: Communicator + Clone,
            {
                over.reduced("sum", "reproducible", &sums::<T, Self>(), |sums, _n| sum_of(sums))
            }
        })*
        $(impl ExactlySummable for $i {
            fn exact_sum<S, D, C>(array: &LocalArrayBase<S, D, C>) -> Result<Self, ArrayError>
            where
                S: Data<Elem: Cast<Self>>,
                D: Dimension,
                C: Communicator,
            {
                array.sum_as()
            }
            fn exact_sums<T, C>(over: &Over<'_, T, C>) -> Reduced<Self, C>
            where
                T: Cast<Self>,
                C: Communicator + Clone,
            {
                over.sum_as()
            }
        })*
    };
}

exactly_summable! {
    float f16; float bf16; float f32; float f64; float Complex32; float Complex64;
    integer i64; integer u64;
}

/// The sums of the parts of elements as an `A`.
fn sums<T: Cast<A>, A: Parts>() -> Exact<impl Fn(&[T], &mut [ExactSum; 2]), 2> {
    Exact(|elements: &[T], sums: &mut [ExactSum; 2]| {
        A::each_part(elements, |part, numbers| sums[part].add_all(numbers));
    })
}

/// The sums of the parts of elements as an `A`, and of the squares of their absolute values.
fn moments<T: Cast<A>, A: Parts>() -> Exact<impl Fn(&[T], &mut [ExactSum; 3]), 3> {
    Exact(|elements: &[T], sums: &mut [ExactSum; 3]| {
        A::each_part(elements, |part, numbers| {
            sums[part].add_all(numbers);
            sums[2].add_products(numbers, numbers);
        });
    })
}

/// The nearest element to exact sums of parts.
pub(crate) fn sum_of<A: Parts>(sums: &[ExactSum; 2]) -> A {
    let (bits, lowest) = A::PRECISION;
    A::of_parts(sums.each_ref().map(|sum| sum.round_to(bits, lowest)))
}

fn mean_of<A: Parts>(sums: &[ExactSum; 2], count: f64) -> A {
    A::of_parts(sums.each_ref().map(|sum| sum.round() / count))
}

fn variance([re, im, squares]: &[ExactSum; 3], count: f64, ddof: f64) -> f64 {
    let divisor = (count - ddof).max(0.0);
    let (re, im) = (re.pair(), im.pair());
    // The squares of both parts, less what their means make up.
    let of_re = covariance(squares.pair(), re, re, count, 1.0);
    let of_both = covariance([of_re, 0.0], im, im, count, 1.0);
    if of_both < 0.0 {
        0.0
    } else {
        of_both / divisor
    }
}
