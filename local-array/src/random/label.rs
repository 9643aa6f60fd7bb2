//! `DistArray`'s generator: the Mersenne Twister of `NumPy`, its state labelled by rank.

use dist_comm::Communicator;
use rand_mt::Mt;
use sha2::{Digest, Sha256};

/// Words of the Mersenne Twister's state.
const WORDS: usize = 624;

/// What [`label_state`] changes in the state of rank `rank`: 78 SHA-256 digests of rank and number, both as big-endian 32-bit
/// words, read as eight big-endian words each.
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
pub fn label_state<C: Communicator>(state: &mut [u32; WORDS], comm: &C) {
    let rank = u32::try_from(comm.rank()).unwrap_or(u32::MAX);
    for (word, mask) in state.iter_mut().zip(label_mask(rank)) {
        *word ^= mask;
    }
}

/// The generator that `DistArray` has on each rank: `NumPy`'s, seeded alike on all ranks and then labelled.
///
/// What it gives depends on the rank, and so an array filled with it on number of ranks and layout; for new programs there is
/// [`Random`](super::Random).
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, random::RankRandom};
///
/// let first = ThreadComm::run(2, |comm| Ok::<_, ArrayError>(RankRandom::seed(42, comm).rand(1)[0]))?;
/// assert_eq!(first, [0.636116227395968, 0.48088769032388734]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankRandom {
    generator: Mt,
}

impl RankRandom {
    /// The generator of this rank: `numpy.random.seed(seed)` on each, then [`label_state`]. Local.
    #[must_use]
    pub fn seed<C: Communicator>(seed: u32, comm: &C) -> Self {
        let mut state = Self::state_of(seed);
        label_state(&mut state, comm);
        Self::from_state(&state)
    }

    /// The state that `numpy.random.seed` makes of a seed. Local.
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

    /// A generator that goes on from a state of which no number was used. Local.
    #[must_use]
    pub fn from_state(state: &[u32; WORDS]) -> Self {
        // The generator takes a state as the numbers it would have given last.
        let generator = Mt::recover(state.iter().map(|&word| tempered(word)));
        Self {
            generator: generator.unwrap_or_default(), // 624 words are neither too many nor too few
        }
    }

    /// The next number of `[0, 1)`, of 53 bits. Local.
    pub fn random(&mut self) -> f64 {
        let high = f64::from(self.generator.next_u32() >> 5);
        let low = f64::from(self.generator.next_u32() >> 6);
        (high * 67_108_864.0 + low) / 9_007_199_254_740_992.0
    }

    /// The next `n` numbers of `[0, 1)`: what `DistArray`'s `rand` fills this rank's part with. Local.
    pub fn rand(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.random()).collect()
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
