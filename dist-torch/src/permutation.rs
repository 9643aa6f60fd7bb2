//! [`KeyedPermutation`]: the numbers below `n` in a random order, without a list of them.

use std::iter::FusedIterator;

/// Rounds of the network. Four make it look random to an adversary who may ask (M. Luby and C. Rackoff, 1988).
const ROUNDS: usize = 8;
/// Rounds where the halves have few bits: with 8, each of five numbers would be at some place too often, by two hundredths.
const MORE_ROUNDS: usize = 24;
/// Numbers of so many bits at most are of the latter kind.
const FEW_BITS: u32 = 16;

/// The numbers `0..n`, each once, in an order that a key chooses; any of them is computed by itself.
///
/// A Feistel network on the bits of a number, and again on what comes out until it is below `n` ("cycle walking", J. Black
/// and P. Rogaway, "Ciphers with arbitrary finite domains", 2002): twice at most on average, as there are fewer than `2 n` numbers
/// of so many bits. It is a permutation by construction, takes some 200 bytes whatever `n` is, and a seek is as good as a step.
/// The order is part of what this crate promises: a later version gives the same.
///
/// ```
/// use dist_torch::KeyedPermutation;
///
/// let order = KeyedPermutation::new(1_000_000_000_000, 42);
/// let row = order.get(123_456_789_012).expect("below the length");
/// assert_eq!(order.position(row), Some(123_456_789_012));
/// assert_eq!(order.get(1_000_000_000_000), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyedPermutation {
    len: u64,
    /// Bits of the lower part, of which the upper one has as many or one fewer.
    low_bits: u32,
    high_bits: u32,
    rounds: usize,
    keys: [u64; MORE_ROUNDS],
}

impl KeyedPermutation {
    /// The order of `0..len` that `key` chooses.
    #[must_use]
    pub fn new(len: u64, key: u64) -> Self {
        let bits = u64::BITS - len.saturating_sub(1).leading_zeros();
        let low_bits = bits.div_ceil(2);
        let mut state = key;
        let keys = std::array::from_fn(|_| {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        });
        Self {
            len,
            low_bits,
            high_bits: bits - low_bits,
            rounds: if bits > FEW_BITS { ROUNDS } else { MORE_ROUNDS },
            keys,
        }
    }

    /// How many numbers there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number at a position; `None` from the length on.
    #[must_use]
    pub fn get(&self, position: u64) -> Option<u64> {
        self.walk(position, |number| self.forward(number))
    }

    /// The position of a number; `None` from the length on.
    #[must_use]
    pub fn position(&self, number: u64) -> Option<u64> {
        self.walk(number, |position| self.backward(position))
    }

    /// The numbers from a position on.
    #[must_use]
    pub fn iter_from(&self, position: u64) -> impl FusedIterator<Item = u64> + '_ {
        (position.min(self.len)..self.len).filter_map(|at| self.get(at))
    }

    /// Steps from below the length until it is below the length again: the cycle through `from` leads back to it at last.
    fn walk(&self, from: u64, step: impl Fn(u64) -> u64) -> Option<u64> {
        if from >= self.len {
            return None;
        }
        let mut at = step(from);
        while at >= self.len {
            at = step(at);
        }
        Some(at)
    }

    fn split(&self, number: u64) -> (u64, u64) {
        let high = number.checked_shr(self.low_bits).unwrap_or(0);
        (number & mask(self.low_bits), high & mask(self.high_bits))
    }

    fn join(&self, low: u64, high: u64) -> u64 {
        low | high.checked_shl(self.low_bits).unwrap_or(0)
    }

    fn forward(&self, number: u64) -> u64 {
        let (mut low, mut high) = self.split(number);
        for keys in self.keys[..self.rounds].chunks_exact(2) {
            low ^= mix(high ^ keys[0]) & mask(self.low_bits);
            high ^= mix(low ^ keys[1]) & mask(self.high_bits);
        }
        self.join(low, high)
    }

    fn backward(&self, number: u64) -> u64 {
        let (mut low, mut high) = self.split(number);
        for keys in self.keys[..self.rounds].chunks_exact(2).rev() {
            high ^= mix(low ^ keys[1]) & mask(self.high_bits);
            low ^= mix(high ^ keys[0]) & mask(self.low_bits);
        }
        self.join(low, high)
    }
}

fn mask(bits: u32) -> u64 {
    // at most 32 bits: half of a number's
    (1 << bits) - 1
}

/// 2⁶⁴ over the golden ratio, odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of `SplitMix64` (G. Steele and others, "Fast splittable pseudorandom number generators", 2014).
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One key of two numbers.
pub(crate) fn key(seed: u64, epoch: u64) -> u64 {
    mix(mix(seed.wrapping_add(GOLDEN)).wrapping_add(epoch))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_once() {
        for len in (0..=130).chain([255, 256, 257, 1000]) {
            for key in 0..5 {
                let order = KeyedPermutation::new(len, key);
                let mut seen: Vec<_> = order.iter_from(0).collect();
                let positions = seen.iter().map(|&number| order.position(number));
                assert!(positions.eq((0..len).map(Some)), "{len} {key}");
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..len), "{len} {key}");
            }
        }
    }

    #[test]
    fn large_orders_are_there_at_once() {
        for len in [u64::MAX, 1 << 63, (1 << 63) + 1, 1_000_000_007] {
            let order = KeyedPermutation::new(len, 9);
            for at in [0, 1, len / 2, len - 1] {
                let number = order.get(at).unwrap();
                assert!(number < len);
                assert_eq!(order.position(number), Some(at));
            }
            assert_eq!((order.get(len), order.position(len)), (None, None));
        }
    }

    #[test]
    fn each_number_is_as_likely_at_each_place() {
        // chi² over 20 000 keys: 5.0 standard deviations above its mean of (len - 1)²
        for len in [2_u64, 3, 5, 8, 13] {
            let n = usize::try_from(len).unwrap();
            let mut counts = vec![0_u32; n * n];
            for key in 0..20_000 {
                for (at, number) in KeyedPermutation::new(len, key).iter_from(0).enumerate() {
                    counts[at * n + usize::try_from(number).unwrap()] += 1;
                }
            }
            let expected = 20_000.0 / f64::from(u32::try_from(len).unwrap());
            let chi2: f64 = counts
                .iter()
                .map(|&count| (f64::from(count) - expected).powi(2) / expected)
                .sum();
            let free = f64::from(u32::try_from((n - 1) * (n - 1)).unwrap());
            assert!(
                chi2 < free + 5.0 * (2.0 * free).sqrt() + 5.0,
                "{len}: {chi2}"
            );
        }
    }

    #[test]
    fn the_order_is_the_same_in_every_version() {
        let first: Vec<_> = KeyedPermutation::new(10, key(1, 2)).iter_from(0).collect();
        assert_eq!(first, PINNED);
        let order = KeyedPermutation::new(1_000_000_000_000, 42);
        assert_eq!(order.get(123_456_789_012), Some(PINNED_FAR));
    }

    const PINNED: [u64; 10] = [8, 6, 4, 1, 5, 9, 3, 7, 2, 0];
    const PINNED_FAR: u64 = 884_615_856_452;
}
