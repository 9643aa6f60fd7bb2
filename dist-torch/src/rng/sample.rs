//! [`SampleRng`]: random numbers that belong to a sample.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Sets this use of the generator apart from others with the same seed.
const PURPOSE: &[u8; 16] = b"dist-torch 1\0\0\0\0";

/// Random numbers for one sample in one epoch: for augmentation that is the same whichever rank or thread prepares the sample,
/// and however many there are.
///
/// `ChaCha8` (D. J. Bernstein, "`ChaCha`, a variant of Salsa20", 2008) with seed and epoch as its key, the row as its stream. The
/// numbers are part of what this crate promises: a later version gives the same ones.
///
/// ```
/// use dist_torch::SampleRng;
///
/// let mut rng = SampleRng::new(42, 3, 1_000_000); // seed, epoch, row
/// let (flip, shift) = (rng.below(2) == 1, rng.uniform() - 0.5);
/// assert_eq!((flip, shift < 0.5), (SampleRng::new(42, 3, 1_000_000).below(2) == 1, true));
/// ```
#[derive(Debug)]
pub struct SampleRng(ChaCha8Rng);

impl SampleRng {
    /// The numbers of row `row` in epoch `epoch` under `seed`.
    #[must_use]
    pub fn new(seed: u64, epoch: u64, row: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&epoch.to_le_bytes());
        key[16..].copy_from_slice(PURPOSE);
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(row);
        Self(rng)
    }

    /// The next 32 bits.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Fills `bytes`.
    pub fn fill_bytes(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }

    /// A number in `[0, 1)`, of 53 bits.
    pub fn uniform(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
        let bits = (self.next_u64() >> 11) as f64;
        bits * f64::EPSILON / 2.0
    }

    /// A number below `bound`, each equally likely; 0 where there is none.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // D. Lemire, "Fast random integer generation in an interval", 2019.
        let spill = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(bound);
            let low = u64::try_from(product & u128::from(u64::MAX)).unwrap_or(0);
            if low >= spill {
                return u64::try_from(product >> 64).unwrap_or(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_belong_to_seed_epoch_and_row() {
        let first = |seed, epoch, row| SampleRng::new(seed, epoch, row).next_u64();
        let all = [
            first(0, 0, 0),
            first(1, 0, 0),
            first(0, 1, 0),
            first(0, 0, 1),
            first(0, 0, u64::MAX),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(first(5, 6, 7), first(5, 6, 7));
    }

    #[test]
    fn the_bound_is_kept_and_each_number_is_as_likely() {
        let mut rng = SampleRng::new(1, 2, 3);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[usize::try_from(rng.below(7)).unwrap()] += 1;
        }
        // five standard deviations of a count around 10 000
        assert!(
            counts.iter().all(|count| count.abs_diff(10_000) < 470),
            "{counts:?}"
        );
        assert_eq!((rng.below(0), rng.below(1)), (0, 0));
        assert!((0..1000).all(|_| rng.below((1 << 63) + 1) <= 1 << 63));
    }
}
