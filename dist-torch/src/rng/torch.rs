//! [`TorchRng`]: the numbers of a `torch.Generator` on the CPU, bit for bit.

use rand_mt::Mt;

use crate::DataError;
use crate::memory::try_vec;

/// Below this many rows `torch.randperm` draws 32 bits a row and swaps in place; from here on it draws 64 and builds the list
/// from the inside out.
const LONG: u64 = u32::MAX as u64 / 20;
/// Below this range `torch.randint` draws 32 bits, from here on 64. (So it is since torch 2.7; before, from 2³² on.)
const WIDE: u64 = 1 << 28;

/// A `torch.Generator` on the CPU: the Mersenne Twister MT19937, and torch's ways to use it.
///
/// The numbers are those of torch 2.11, compared in the tests; torch itself is not needed.
///
/// ```
/// let mut rng = dist_torch::TorchRng::new(0); // torch.manual_seed(0)
/// assert_eq!(rng.randperm(10)?, [4, 1, 7, 5, 3, 9, 0, 8, 6, 2]);
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TorchRng(Mt);

impl TorchRng {
    /// A generator after `manual_seed(seed)`. Torch uses the lower 32 bits of a seed and so do we; a negative seed of torch's
    /// is `seed.cast_unsigned()`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let [a, b, c, d, ..] = seed.to_le_bytes();
        Self(Mt::new(u32::from_le_bytes([a, b, c, d])))
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 bits: two draws, the first being the higher half.
    pub fn next_u64(&mut self) -> u64 {
        let high = u64::from(self.next_u32());
        high << 32 | u64::from(self.next_u32())
    }

    /// `torch.empty((), dtype=torch.int64).random_()`: a number from 0 to 2⁶³ - 1. Torch draws its seeds so.
    pub fn random(&mut self) -> u64 {
        self.next_u64() & (u64::MAX >> 1)
    }

    /// A number in `[0, 1)` as torch draws it for `float64`: 53 bits.
    pub fn uniform(&mut self) -> f64 {
        const BITS: u64 = (1 << 53) - 1;
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.next_u64() & BITS) as f64;
        bits * f64::EPSILON / 2.0
    }

    /// One element of `torch.randint(high, …)`: a number below `high`, and 0 where there is none.
    pub fn randint(&mut self, high: u64) -> u64 {
        let bits = if high >= WIDE {
            self.next_u64()
        } else {
            u64::from(self.next_u32())
        };
        bits.checked_rem(high).unwrap_or(0)
    }

    /// `torch.randperm(n)`: the numbers `0..n` in a random order. Takes 8 bytes a number.
    ///
    /// # Errors
    /// [`DataError::Allocation`] when the memory cannot be had.
    pub fn randperm(&mut self, n: u64) -> Result<Vec<u64>, DataError> {
        let mut order = try_vec(n)?;
        if n < LONG {
            order.extend(0..n);
            for at in 0..order.len().saturating_sub(1) {
                let left = order.len() - at;
                // a remainder by a length is one
                let step = usize::try_from(self.next_u32()).unwrap_or(0) % left;
                order.swap(at, at + step);
            }
        } else {
            for next in 0..n {
                let at = self.next_u64() % (next + 1);
                let at = usize::try_from(at).unwrap_or(0);
                order.push(next);
                let last = order.len() - 1;
                order.swap(at, last);
            }
        }
        Ok(order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_mersenne_twister() {
        // the 10000th number of the authors' generator with its own default seed, as C++ states it for std::mt19937
        let mut rng = TorchRng::new(5489);
        let last = (0..10_000).map(|_| rng.next_u32()).last();
        assert_eq!(last, Some(4_123_659_995));
        // 32 bits of a seed count
        assert_eq!(TorchRng::new(5489 + (7 << 32)), TorchRng::new(5489));
    }

    #[test]
    fn few_numbers_are_ordered_too() {
        let mut rng = TorchRng::new(1);
        assert_eq!(rng.randperm(0).unwrap(), [0_u64; 0]);
        assert_eq!(rng.randperm(1).unwrap(), [0]);
        assert_eq!(rng, TorchRng::new(1), "nothing is drawn for them");
        assert_eq!(rng.randint(0), 0);
        assert!(rng.randperm(u64::MAX).is_err());
    }

    #[test]
    fn uniform_numbers_stay_below_one() {
        let mut rng = TorchRng::new(3);
        assert!((0..1000).all(|_| (0.0..1.0).contains(&rng.uniform())));
    }
}
