//! `DistArray`'s generator: the Mersenne Twister of `NumPy`, its state labelled by rank.

use std::sync::Arc;

use bytemuck::Zeroable;
use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::Dimension;
use rand_mt::Mt;
use sha2::{Digest, Sha256};

use super::draw::check;
use crate::{ArrayError, LocalArray};

/// Words of the Mersenne Twister's state.
const WORDS: usize = 624;

/// What [`label_state`] changes in the state of rank `rank`: 78 SHA-256 digests of rank and number, both as big-endian 32-bit
/// words, read as eight big-endian words each. Local.
///
/// ```
/// use local_array::random::label_mask;
/// let mask = label_mask(0);
/// assert_eq!((mask[0], mask[623]), (0xaf55_70f5, 0x5032_3599));
/// ```
#[must_use]
pub fn label_mask(rank: u32) -> [u32; WORDS] {
    let mut mask = [0; WORDS];
    for (number, words) in (0_u32..).zip(mask.chunks_exact_mut(8)) {
        let mut hash = Sha256::new();
        hash.update(rank.to_be_bytes());
        hash.update(number.to_be_bytes());
        let digest = hash.finalize();
        for (word, bytes) in words.iter_mut().zip(digest.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
    }
    mask
}

/// Makes the state of a generator that was seeded alike on all ranks another one on each: exclusive or with the rank's
/// [`label_mask`], as `DistArray`'s `label_state` does. Local.
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, random::{RankRandom, label_state}};
///
/// let first = ThreadComm::run(2, |comm| {
///     let mut state = RankRandom::state_of(42); // 624 words, the same on both ranks
///     label_state(&mut state, comm);
///     let first = RankRandom::from_state(&state).random();
///     assert_eq!(first, RankRandom::seed(42, comm).random());
///     Ok::<_, ArrayError>(first)
/// })?;
/// assert_eq!(first, [0.636116227395968, 0.48088769032388734]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub fn label_state<C: Communicator>(state: &mut [u32; WORDS], comm: &C) {
    let rank = u32::try_from(comm.rank()).unwrap_or(u32::MAX);
    for (word, mask) in state.iter_mut().zip(label_mask(rank)) {
        *word ^= mask;
    }
}

/// The generator that `DistArray` has on each rank: `NumPy`'s `RandomState`, seeded alike on all ranks and then labelled. It
/// is the Mersenne Twister (M. Matsumoto and T. Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform
/// pseudo-random number generator", 1998).
///
/// What it gives depends on the rank, and so an array filled with it on number of ranks and layout; for new programs there is
/// [`Random`](super::Random). [`rand`](Self::rand), [`randn`](Self::randn), [`normal`](Self::normal), [`beta`](Self::beta) and
/// [`randint`](Self::randint) give `NumPy`'s numbers, in the order of calls, and [`array`](Self::array) makes arrays of them as
/// `DistArray` does. Numbers that take a logarithm or a power (all but `rand` and `randint`) have them from the system's
/// mathematical library, as `NumPy` has; between two such libraries the last bit may differ.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, random::RankRandom};
/// use ndarray::Ix1;
///
/// let first = ThreadComm::run(2, |comm| Ok::<_, ArrayError>(RankRandom::seed(42, comm).rand(1)[0]))?;
/// assert_eq!(first, [0.636116227395968, 0.48088769032388734]);
///
/// // DistArray's rand, then its randint(0, 100), of six elements on three ranks
/// let parts = ThreadComm::run(3, |comm| {
///     let blocks = Distribution::over(3).shape([6]).block(0).build()?;
///     let mut random = RankRandom::seed(0, comm);
///     let a: LocalArray<f64, Ix1, _> = random.array(|r, n| Ok(r.rand(n)), &blocks, comm)?;
///     let b: LocalArray<i64, Ix1, _> = random.array(|r, n| r.randint(0, Some(100), n), &blocks, comm)?;
///     assert!(b.local().iter().all(|x| (0..100).contains(x)));
///     Ok::<_, ArrayError>(a.local().to_vec())
/// })?;
/// assert_eq!(parts[2], [0.7710796004219624, 0.40972931028144033]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankRandom {
    pub(super) generator: Mt,
    /// The normal number that was drawn with the last one.
    pub(super) kept: Option<f64>,
}

impl RankRandom {
    /// The generator of this rank: `numpy.random.seed(seed)` on each, then [`label_state`]. Local. Example: see [`RankRandom`].
    #[must_use]
    pub fn seed<C: Communicator>(seed: u32, comm: &C) -> Self {
        let mut state = Self::state_of(seed);
        label_state(&mut state, comm);
        Self::from_state(&state)
    }

    /// The state that `numpy.random.seed` makes of a seed. Local. Example: see [`label_state`].
    #[must_use]
    pub fn state_of(seed: u32) -> [u32; WORDS] {
        let mut state = [seed; WORDS];
        for (i, number) in (1..WORDS).zip(1_u32..) {
            let last = state[i - 1];
            state[i] = (last ^ (last >> 30))
                .wrapping_mul(1_812_433_253)
                .wrapping_add(number);
        }
        state
    }

    /// A generator that goes on from a state of which no number was used. Local. Example: see [`label_state`].
    #[must_use]
    pub fn from_state(state: &[u32; WORDS]) -> Self {
        // The generator takes a state as the numbers it would have given last.
        let generator = Mt::recover(state.iter().map(|&word| tempered(word)));
        Self {
            generator: generator.unwrap_or_default(), // 624 words are neither too many nor too few
            kept: None,
        }
    }

    /// The next number of `[0, 1)`, of 53 bits. Local. Example: see [`label_state`].
    pub fn random(&mut self) -> f64 {
        let high = f64::from(self.generator.next_u32() >> 5);
        let low = f64::from(self.generator.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// The next `n` numbers of `[0, 1)`. Local. Example: see [`RankRandom`].
    pub fn rand(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.random()).collect()
    }

    /// The next `n` normal numbers with mean 0 and deviation 1, by the polar method (G. Marsaglia and T. A. Bray, "A
    /// convenient method for generating normal variables", 1964). Local. Example: see [`normal`](Self::normal).
    pub fn randn(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.gauss()).collect()
    }

    /// The next `n` normal numbers with mean `loc` and standard deviation `scale`, from those of [`randn`](Self::randn). Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, random::RankRandom};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let mut random = RankRandom::seed(5, comm);
    ///     let heights = random.normal(170.0, 8.0, 100)?; // others on each rank
    ///     let mut again = RankRandom::seed(5, comm);
    ///     assert_eq!(again.randn(100).iter().map(|x| 170.0 + 8.0 * x).collect::<Vec<_>>(), heights);
    ///     let shares = random.beta(2.0, 3.0, 100)?;
    ///     assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Argument`] for a negative `scale` or one that is no number.
    pub fn normal(&mut self, loc: f64, scale: f64, n: usize) -> Result<Vec<f64>, ArrayError> {
        check("scale", scale, "at least 0", scale >= 0.0)?;
        Ok((0..n).map(|_| loc + scale * self.gauss()).collect())
    }

    /// The next `n` numbers of the beta distribution with parameters `a` and `b`: by the method of M. D. Jöhnk (Metrika 8, 1964)
    /// where no parameter is above 1, else of two gamma numbers (J. H. Ahrens and U. Dieter, Computing 12, 1974; G. Marsaglia and
    /// W. W. Tsang, ACM Transactions on Mathematical Software 26, 2000). Local. Example: see [`normal`](Self::normal).
    ///
    /// # Errors
    /// [`ArrayError::Argument`] unless both are finite and above 0.
    pub fn beta(&mut self, a: f64, b: f64, n: usize) -> Result<Vec<f64>, ArrayError> {
        check("a", a, "finite, above 0", a > 0.0 && a.is_finite())?;
        check("b", b, "finite, above 0", b > 0.0 && b.is_finite())?;
        Ok((0..n).map(|_| self.one_beta(a, b)).collect())
    }

    /// The next `n` integers of `low..high`, of `0..low` where `high` is `None`. Local. Example: see [`RankRandom`].
    ///
    /// # Errors
    /// [`ArrayError::Argument`] where there is no such integer.
    pub fn randint(
        &mut self,
        low: i64,
        high: Option<i64>,
        n: usize,
    ) -> Result<Vec<i64>, ArrayError> {
        let (low, high) = match high {
            None => (0, low),
            Some(high) => (low, high),
        };
        if low >= high {
            return Err(ArrayError::Argument {
                what: "low..high",
                given: format!("{low}..{high}"),
                allowed: "at least one integer".to_owned(),
            });
        }
        // Of two's complement, so that no difference overflows.
        let most = high.wrapping_sub(1).wrapping_sub(low).cast_unsigned();
        let mut one = || low.wrapping_add(self.at_most(most).cast_signed());
        Ok((0..n).map(|_| one()).collect())
    }

    /// An array as `DistArray` 0.2 fills it: `draw(self, 1)` first, to learn the type, which is dropped; then `draw(self, n)`
    /// for the `n` elements that this rank stores, padding included, in C order. Local; every rank gives the same draw and
    /// distribution. Example: see [`RankRandom`].
    ///
    /// # Errors
    /// As [`LocalArray::zeros`], and those of `draw`; [`ArrayError::Argument`] when it gives another number of elements.
    pub fn array<T: Zeroable, D: Dimension, C: Communicator>(
        &mut self,
        mut draw: impl FnMut(&mut Self, usize) -> Result<Vec<T>, ArrayError>,
        distribution: &Distribution,
        comm: C,
    ) -> Result<LocalArray<T, D, C>, ArrayError> {
        let mut array = LocalArray::<T, D, C>::zeros_over(Arc::new(distribution.clone()), comm)?;
        draw(self, 1)?;
        let n = array.data.len();
        let drawn = draw(self, n)?;
        if drawn.len() != n {
            return Err(ArrayError::Argument {
                what: "the draw",
                given: format!("of {} elements", drawn.len()),
                allowed: format!("{n}, as asked for"),
            });
        }
        for (slot, x) in array.data.iter_mut().zip(drawn) {
            *slot = x;
        }
        Ok(array)
    }
}

/// What the generator gives for a word of its state.
fn tempered(word: u32) -> u32 {
    let mut word = word;
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c_5680;
    word ^= (word << 15) & 0xefc6_0000;
    word ^ (word >> 18)
}
