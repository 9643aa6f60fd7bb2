//! Pairwise summation of a stream of elements, in a fixed order that does not depend on how the stream is cut.

use crate::Accumulator;

/// Elements per block; a power of two and a multiple of [`LANES`].
const BLOCK: usize = 128;
/// Partial sums inside a block, so that the additions are independent of each other.
const LANES: usize = 8;

/// Adds up blocks of [`BLOCK`] elements, and the blocks' sums two by two, as a binary counter carries.
pub(crate) struct Pairwise<A> {
    pending: [A; BLOCK],
    filled: usize,
    /// One sum for each binary digit 1 of `blocks`, the highest digit first.
    sums: Vec<A>,
    blocks: u64,
}

impl<A: Accumulator> Pairwise<A> {
    pub(crate) fn new() -> Self {
        Self {
            pending: [A::ZERO; BLOCK],
            filled: 0,
            sums: Vec::with_capacity(64),
            blocks: 0,
        }
    }

    /// Takes in the next elements of the stream.
    pub(crate) fn feed<T: Copy>(&mut self, mut elements: &[T], convert: impl Fn(T) -> A + Copy) {
        if self.filled > 0 {
            let (head, rest) = elements.split_at(elements.len().min(BLOCK - self.filled));
            self.keep(head, convert);
            elements = rest;
        }
        let mut blocks = elements.chunks_exact(BLOCK);
        for block in &mut blocks {
            self.push(block_sum(block, convert));
        }
        self.keep(blocks.remainder(), convert);
    }

    fn keep<T: Copy>(&mut self, elements: &[T], convert: impl Fn(T) -> A) {
        for (slot, &element) in self.pending[self.filled..].iter_mut().zip(elements) {
            *slot = convert(element);
        }
        self.filled += elements.len();
        if self.filled == BLOCK {
            self.filled = 0;
            self.push(block_sum(&self.pending, |a| a));
        }
    }

    fn push(&mut self, mut sum: A) {
        let mut carries = self.blocks;
        while carries & 1 == 1 {
            if let Some(left) = self.sums.pop() {
                sum = left.add(sum);
            }
            carries >>= 1;
        }
        self.sums.push(sum);
        self.blocks += 1;
    }

    /// The sum of all elements; zero when there were none.
    pub(crate) fn finish(self) -> A {
        let mut rest = self.sums;
        if self.filled > 0 {
            let tail = &self.pending[..self.filled];
            rest.push(tail.iter().skip(1).fold(tail[0], |sum, &a| sum.add(a)));
        }
        let last = rest.pop();
        last.map_or(A::ZERO, |last| {
            rest.into_iter().rev().fold(last, |sum, left| left.add(sum))
        })
    }
}

#[inline]
fn block_sum<T: Copy, A: Accumulator>(block: &[T], convert: impl Fn(T) -> A) -> A {
    let mut lanes = [A::ZERO; LANES];
    let mut rows = block.chunks_exact(LANES);
    if let Some(first) = rows.next() {
        for (lane, &element) in lanes.iter_mut().zip(first) {
            *lane = convert(element);
        }
    }
    for row in rows {
        for (lane, &element) in lanes.iter_mut().zip(row) {
            *lane = lane.add(convert(element));
        }
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    a.add(b).add(c.add(d)).add(e.add(f).add(g.add(h)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(pieces: &[&[f64]]) -> f64 {
        let mut pairwise = Pairwise::new();
        for piece in pieces {
            pairwise.feed(piece, |x| x);
        }
        pairwise.finish()
    }

    #[test]
    fn the_bits_do_not_depend_on_the_cuts() {
        let numbers: Vec<f64> = (0..10_000).map(|i| 1.0 / f64::from(i + 1)).collect();
        let whole = sum(&[&numbers]);
        for cut in [1, 7, 127, 128, 129, 4096, 9999] {
            assert_eq!(
                sum(&[&numbers[..cut], &numbers[cut..]]).to_bits(),
                whole.to_bits()
            );
        }
        let one_by_one: Vec<&[f64]> = numbers.chunks(1).collect();
        assert_eq!(sum(&one_by_one).to_bits(), whole.to_bits());
    }

    #[test]
    fn many_small_terms_are_not_lost() {
        // one after the other, each 1.0 would vanish beside 2^53
        let mut numbers = vec![1.0; 1 << 12];
        numbers[0] = 9_007_199_254_740_992.0;
        let exact = 9_007_199_254_740_992.0 + 4095.0;
        assert!((sum(&[&numbers]) - exact).abs() <= 64.0);
    }

    #[test]
    fn integers_come_out_exact_for_every_length() {
        for n in (0..300_u64).chain([1 << 10, (1 << 10) + 1, 12_345]) {
            let numbers: Vec<u64> = (0..n).collect();
            let mut pairwise = Pairwise::new();
            pairwise.feed(&numbers, |x| x);
            assert_eq!(pairwise.finish(), numbers.iter().sum::<u64>());
        }
    }
}
