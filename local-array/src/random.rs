//! Random arrays that do not depend on how they are spread, and `DistArray`'s per-rank generator.
//!
//! Every element is drawn from numbers that belong to its global index: word `w` of element `i` of array `n` under seed `s`
//! is a place in the key stream of `ChaCha8` (D. J. Bernstein, "`ChaCha`, a variant of Salsa20", 2008; key: `s` and `n`,
//! position: `i` and `w`), which can be computed without those before it: a counter-based generator in the sense of J. K.
//! Salmon and others ("Parallel random numbers: as easy as 1, 2, 3", 2011). So one rank or seven, in blocks or cyclic, give
//! the same array, no rank talks to another, and padding holds what its owner has.
//!
//! ```
//! use dist_comm::ThreadComm;
//! use dist_maps::Distribution;
//! use local_array::{ArrayError, LocalArray, random::Random};
//! use ndarray::Ix1;
//!
//! let draw = |ranks: usize, letter: &'static str| {
//!     ThreadComm::run(ranks, |comm| {
//!         let d = Distribution::from_shape(&[9], letter, None, ranks)?;
//!         let a: LocalArray<f64, Ix1, _> = Random::new(42).normal(0.0, 1.0, &d, comm)?;
//!         a.gather_to(0)
//!     })
//! };
//! assert_eq!(draw(1, "b")?[0], draw(4, "c")?[0]);
//! # Ok::<(), dist_comm::RunError<ArrayError>>(())
//! ```

mod beta;
mod draw;
mod label;
mod legacy;
mod permutation;
mod stream;

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::{DataMut, Dimension, RawData};

pub use self::beta::Beta;
pub use self::draw::{
    Draw, Exponential, Normal, Randint, RandomFloat, RandomInteger, StandardNormal,
    StandardUniform, Uniform,
};
pub use self::label::{RankRandom, label_mask, label_state};

use self::permutation::Permutation;
use self::stream::Stream;
use crate::fill::fill_rows;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// A source of random arrays, keyed by global index: see [the module](self).
///
/// It counts the arrays drawn from it, so that each is another one. Every rank makes it with the same seed and draws the same
/// arrays in the same order. Drawing is local; [`shuffle`](Self::shuffle) and [`permuted`](Self::permuted), which move
/// elements, are collective.
///
/// The numbers are part of what this crate promises: a later version gives the same ones. They are the same on all machines but
/// for `f64`'s `exp` and `ln`, which come from one portable library.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, random::Random};
/// use ndarray::Ix1;
///
/// ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([8]).block(0).build()?;
///     let mut random = Random::new(7);
///     let first: LocalArray<f64, Ix1, _> = random.rand(&blocks, comm)?;
///     let second: LocalArray<f64, Ix1, _> = random.rand(&blocks, comm)?;
///     assert_ne!(first.local(), second.local());
///     random.seed(7);
///     assert_eq!(first.local(), random.rand::<f64, Ix1, _>(&blocks, comm)?.local());
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    /// A source with a seed. Local. Example: see [`Random`].
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, drawn: 0 }
    }

    /// Begins anew with a seed (`DistArray`'s `seed`). Local. Example: see [`Random`].
    pub fn seed(&mut self, seed: u64) {
        *self = Self::new(seed);
    }

    /// The numbers of the next array.
    fn stream(&mut self) -> Stream {
        let stream = Stream::new(self.seed, self.drawn);
        self.drawn = self.drawn.wrapping_add(1);
        stream
    }

    /// An array of independent draws, padding included. Local; every rank gives the same draw and distribution. The named
    /// methods below are this one with a draw.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, random::{Draw, Random}};
    /// use ndarray::Ix1;
    ///
    /// /// A coin that shows heads once in eight throws.
    /// struct Coin;
    /// impl Draw<bool> for Coin {
    ///     fn draw(&self, words: &[u64]) -> Option<bool> {
    ///         Some(words[0] % 8 == 0)
    ///     }
    /// }
    ///
    /// let heads = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([8000]).block(0).build()?;
    ///     let throws: LocalArray<bool, Ix1, _> = Random::new(2).array(&Coin, &blocks, comm)?;
    ///     throws.sum_as::<u32>() // collective
    /// })?;
    /// assert!((900..1100).contains(&heads[0]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LocalArray::zeros`]; [`ArrayError::Map`] when the elements are more than 64 bits count.
    pub fn array<T: Element, D: Dimension, C: Communicator>(
        &mut self,
        draw: &impl Draw<T>,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        let mut stream = self.stream();
        distribution.global_size()?;
        let mut array = LocalArray::<T, D, C>::zeros_over(Arc::new(distribution.clone()), comm)?;
        let shape = distribution.global_shape();
        fill_rows(&mut array.data, &array.part, |outer, runs, row| {
            // Of the first element of the row; lists of a free axis may name indices outside, so nothing may overflow.
            let before = outer.iter().zip(shape).fold(0_u64, |flat, (&index, &n)| {
                flat.wrapping_mul(n).wrapping_add(index.cast_unsigned())
            });
            let last = shape.last().copied().unwrap_or(1);
            stream.fill(draw, before.wrapping_mul(last), runs, row);
        });
        Ok(array)
    }

    /// One draw, the same on every rank: `DistArray`'s functions without `size`. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, random::{Normal, Random}};
    ///
    /// let heights = ThreadComm::run(2, |_comm| {
    ///     let height: f64 = Random::new(7).value(&Normal::new(170.0, 8.0)?);
    ///     Ok::<_, ArrayError>(height)
    /// })?;
    /// assert!((130.0..210.0).contains(&heights[0]) && heights[0] == heights[1]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn value<T: Element>(&mut self, draw: &impl Draw<T>) -> T {
        let mut value = [T::default()];
        let one = dist_maps::Run {
            global: 0,
            local: 0,
            len: 1,
        };
        self.stream()
            .fill(draw, 0, &mut std::iter::once(one), &mut value);
        value[0]
    }

    /// Uniform in `[0, 1)`. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, random::Random};
    /// use ndarray::Ix2;
    ///
    /// let means = ThreadComm::run(3, |comm| {
    ///     let d = Distribution::over(3).shape([100, 100]).block(0).build()?;
    ///     let mut random = Random::new(1);
    ///     let uniform: LocalArray<f64, Ix2, _> = random.rand(&d, comm)?;
    ///     let normal: LocalArray<f32, Ix2, _> = random.randn(&d, comm)?;
    ///     let dice: LocalArray<u8, Ix2, _> = random.randint(1, Some(7), &d, comm)?;
    ///     let waits: LocalArray<f64, Ix2, _> = random.exponential(2.0, &d, comm)?;
    ///     let shares: LocalArray<f64, Ix2, _> = random.beta(2.0, 6.0, &d, comm)?;
    ///     let range: LocalArray<f64, Ix2, _> = random.uniform(-1.0, 3.0, &d, comm)?;
    ///     let sizes: LocalArray<f64, Ix2, _> = random.normal(10.0, 2.0, &d, comm)?;
    ///     let first = [uniform.mean()?, normal.mean()?.into(), dice.mean()?, waits.mean()?];
    ///     Ok::<_, ArrayError>([&first[..], &[shares.mean()?, range.mean()?, sizes.mean()?]].concat())
    /// })?;
    /// for (mean, wanted) in means[0].iter().zip([0.5, 0.0, 3.5, 2.0, 0.25, 1.0, 10.0]) {
    ///     assert!((mean - wanted).abs() < 0.1, "{mean} {wanted}");
    /// }
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`array`](Self::array).
    pub fn rand<T: RandomFloat, D: Dimension, C: Communicator>(
        &mut self,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.array(&StandardUniform, distribution, comm)
    }

    /// Normal with mean 0 and deviation 1, as [`StandardNormal`]. Local. Example: see [`rand`](Self::rand).
    ///
    /// # Errors
    /// As [`array`](Self::array).
    pub fn randn<T: RandomFloat, D: Dimension, C: Communicator>(
        &mut self,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.array(&StandardNormal, distribution, comm)
    }

    /// Normal with mean `loc` and standard deviation `scale`, as [`Normal`]. Local. Example: see [`rand`](Self::rand).
    ///
    /// # Errors
    /// As [`Normal::new`] and [`array`](Self::array).
    pub fn normal<T: RandomFloat, D: Dimension, C: Communicator>(
        &mut self,
        loc: f64,
        scale: f64,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.array(&Normal::new(loc, scale)?, distribution, comm)
    }

    /// Uniform in `[low, high)`, as [`Uniform`]. Local. Example: see [`rand`](Self::rand).
    ///
    /// # Errors
    /// As [`Uniform::new`] and [`array`](Self::array).
    pub fn uniform<T: RandomFloat, D: Dimension, C: Communicator>(
        &mut self,
        low: f64,
        high: f64,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.array(&Uniform::new(low, high)?, distribution, comm)
    }

    /// Exponential with mean `scale`, as [`Exponential`]. Local. Example: see [`rand`](Self::rand).
    ///
    /// # Errors
    /// As [`Exponential::new`] and [`array`](Self::array).
    pub fn exponential<T: RandomFloat, D: Dimension, C: Communicator>(
        &mut self,
        scale: f64,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.array(&Exponential::new(scale)?, distribution, comm)
    }

    /// Beta with parameters `a` and `b`: density `x^(a-1) (1-x)^(b-1)`, in `[0, 1]`, as [`Beta`]. Local. Example: see
    /// [`rand`](Self::rand).
    ///
    /// # Errors
    /// As [`Beta::new`] and [`array`](Self::array).
    pub fn beta<T: RandomFloat, D: Dimension, C: Communicator>(
        &mut self,
        a: f64,
        b: f64,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        self.array(&Beta::new(a, b)?, distribution, comm)
    }

    /// Integers of `low..high`, each as likely; of `0..low` where `high` is `None`, as in `DistArray`. `T` may be `bool` with 2.
    /// As [`Randint`]. Local. Example: see [`rand`](Self::rand).
    ///
    /// # Errors
    /// As [`Randint::new`] and [`array`](Self::array).
    pub fn randint<T: RandomInteger, D: Dimension, C: Communicator>(
        &mut self,
        low: i128,
        high: Option<i128>,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        let (low, high) = match high {
            None => (0, low),
            Some(high) => (low, high),
        };
        self.array(&Randint::new::<T>(low, high)?, distribution, comm)
    }

    /// The numbers `0..n` in random order, spread as the one-dimensional `distribution` of extent `n` says. Local: each rank
    /// computes the elements at its own indices, in O(log n) each, and no rank holds them all: by the swap-or-not network of
    /// V. T. Hoang, B. Morris and P. Rogaway ("An enciphering scheme based on a card shuffle", 2012).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, random::Random};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(2, |comm| {
    ///     let d = Distribution::over(2).shape([10]).block(0).build()?;
    ///     let order: LocalArray<i64, Ix1, _> = Random::new(3).permutation(&d, comm)?;
    ///     let mut numbers = LocalArray::<i64, Ix1, _>::arange(0, 10, 1, &d, comm)?;
    ///     assert_eq!(Random::new(3).permuted(&numbers)?.local(), order.local());
    ///     Random::new(3).shuffle(&mut numbers)?;
    ///     assert_eq!(numbers.local(), order.local());
    ///     let mut all = order.gather_to(0)?.map_or(vec![], |all| all.to_vec());
    ///     all.sort_unstable();
    ///     Ok::<_, ArrayError>(all)
    /// })?;
    /// assert_eq!(found[0], (0..10).collect::<Vec<_>>());
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`array`](Self::array); [`ArrayError::InvalidDimension`] for a distribution of another number of dimensions.
    pub fn permutation<D: Dimension, C: Communicator>(
        &mut self,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<i64, D, C>, ArrayError> {
        let mut stream = self.stream();
        let &[n] = distribution.global_shape() else {
            return Err(ArrayError::InvalidDimension {
                what: "number of dimensions",
                given: distribution.ndim().cast_signed(),
                ndim: 1,
            });
        };
        let mut array = LocalArray::<i64, D, C>::zeros_over(Arc::new(distribution.clone()), comm)?;
        let order = Permutation::new(&mut stream, n);
        fill_rows(&mut array.data, &array.part, |_, runs, row| {
            for run in runs {
                let slots = &mut row[run.local..run.local + run.len];
                for (i, slot) in (0..).zip(&mut *slots) {
                    *slot = run.global.wrapping_add(i); // never beyond the last index of a run
                }
                order.apply(slots);
            }
        });
        Ok(array)
    }

    /// Puts what the array holds along axis 0 into random order, rows staying whole: element `i` of
    /// [`permutation`](Self::permutation) says which row comes to place `i`. Padding is left as it is; see
    /// [`exchange_halo`](LocalArrayBase::exchange_halo). Collective. Example: see [`permutation`](Self::permutation).
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] for an array without a dimension, [`ArrayError::Argument`] where
    /// the ranks have another seed or have drawn another number of arrays, [`ArrayError::Comm`].
    pub fn shuffle<S, D, C>(
        &mut self,
        array: &mut LocalArrayBase<S, D, C>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem: Element>,
        D: Dimension,
        C: Communicator,
    {
        let of = (self.seed, self.drawn);
        permutation::shuffle(&mut self.stream(), of, array)
    }

    /// A shuffled copy: `NumPy`'s `permutation` of an array. Collective. Example: see [`permutation`](Self::permutation).
    ///
    /// # Errors
    /// As [`shuffle`](Self::shuffle).
    pub fn permuted<S, D, C>(
        &mut self,
        array: &LocalArrayBase<S, D, C>,
    ) -> Result<LocalArray<<S as RawData>::Elem, D, C>, ArrayError>
    where
        S: ndarray::Data<Elem: Element>,
        D: Dimension,
        C: Communicator + Clone,
    {
        let mut copy = array.to_owned();
        self.shuffle(&mut copy)?;
        Ok(copy)
    }
}
