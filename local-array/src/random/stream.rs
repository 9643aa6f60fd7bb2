//! [`Stream`]: the random words of one array, by element.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use dist_maps::Run;

use super::Draw;

/// Words made at once.
const CHUNK: usize = 512;
/// Words of other ranks' elements that cost less to make than to skip: one fill of the generator's buffer.
const GAP: u64 = 32;
/// Sets this use of the generator apart from others with the same seed.
const PURPOSE: &[u8; 16] = b"local-array 1\0\0\0";

/// An endless number of 64-bit words for each element of an array: attempt `k` at an element of `w` words an attempt has the
/// words from `w · element` on of stream `k`.
pub(super) struct Stream {
    generator: ChaCha8Rng,
    attempt: u64,
    words: Vec<u64>,
}

impl Stream {
    pub(super) fn new(seed: u64, array: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&array.to_le_bytes());
        key[16..].copy_from_slice(PURPOSE);
        Self {
            generator: ChaCha8Rng::from_seed(key),
            attempt: 0,
            words: Vec::new(),
        }
    }

    /// `count` words from word `first` on.
    pub(super) fn words(&mut self, attempt: u64, first: u128, count: usize) -> &[u64] {
        if attempt != self.attempt {
            self.generator.set_stream(attempt);
            self.attempt = attempt;
        }
        self.generator.set_word_pos(2 * first); // of 32 bits
        self.words.resize(count, 0);
        self.generator
            .fill_bytes(bytemuck::cast_slice_mut(&mut self.words));
        for word in &mut self.words {
            *word = u64::from_le(*word);
        }
        &self.words
    }

    /// Draws the elements of `runs` of a row whose element 0 is element `before` of the array.
    pub(super) fn fill<T>(
        &mut self,
        draw: &impl Draw<T>,
        before: u64,
        runs: &mut dyn Iterator<Item = Run>,
        row: &mut [T],
    ) {
        let per_element = draw.words().max(1);
        let (gap, most) = (
            GAP / per_element as u64,
            (CHUNK / per_element).max(1) as u64,
        );
        // Runs near to one another are drawn together.
        let mut together: Vec<Run> = Vec::new();
        for run in runs {
            if let (Some(first), Some(last)) = (together.first(), together.last()) {
                let (start, end) = (
                    first.global,
                    last.global.saturating_add_unsigned(last.len as u64),
                );
                let near = run.global >= end && run.global.abs_diff(end) <= gap;
                let reach = run.global.abs_diff(start).saturating_add(run.len as u64);
                if !near || reach > most {
                    self.fill_together(draw, before, &together, row);
                    together.clear();
                }
            }
            together.push(run);
        }
        self.fill_together(draw, before, &together, row);
    }

    fn fill_together<T>(&mut self, draw: &impl Draw<T>, before: u64, runs: &[Run], row: &mut [T]) {
        let (Some(first), Some(last)) = (runs.first(), runs.last()) else {
            return;
        };
        let per_element = draw.words();
        let flat = |global: i64| before.wrapping_add(global.cast_unsigned());
        if runs.len() == 1 {
            let slots = &mut row[first.local..first.local + first.len];
            let most = (CHUNK / per_element.max(1)).max(1);
            let mut at = flat(first.global);
            for slots in slots.chunks_mut(most) {
                let len = slots.len();
                self.draw_span(draw, at, len, std::iter::once((0, slots)));
                at = at.wrapping_add(len as u64);
            }
            return;
        }
        let distance = |run: &Run| usize::try_from(run.global.abs_diff(first.global)).unwrap_or(0);
        let span = distance(last) + last.len;
        let mut rest = row;
        let mut done = 0;
        // Positions ascend within a row.
        let slots = runs.iter().map(|run| {
            let (_, from) = std::mem::take(&mut rest).split_at_mut(run.local - done);
            let (slots, after) = from.split_at_mut(run.len);
            (rest, done) = (after, run.local + run.len);
            (distance(run), slots)
        });
        let slots: Vec<_> = slots.collect();
        self.draw_span(draw, flat(first.global), span, slots.into_iter());
    }

    /// Draws elements among the `span` ones from `flat` on; each slice of slots with its distance from there.
    fn draw_span<'a, T: 'a>(
        &mut self,
        draw: &impl Draw<T>,
        flat: u64,
        span: usize,
        slots: impl Iterator<Item = (usize, &'a mut [T])>,
    ) {
        let per_element = draw.words();
        let first_word = |flat: u64| u128::from(flat) * per_element as u128;
        let words = self.words(0, first_word(flat), span * per_element);
        let mut again = Vec::new();
        for (distance, slots) in slots {
            let words = &words[distance * per_element..];
            for (i, slot) in slots.iter_mut().enumerate() {
                match draw.draw(&words[i * per_element..(i + 1) * per_element]) {
                    Some(value) => *slot = value,
                    None => again.push((flat.wrapping_add((distance + i) as u64), slot)),
                }
            }
        }
        let mut attempt = 0;
        while !again.is_empty() {
            attempt += 1;
            again.retain_mut(|(flat, slot)| {
                let words = self.words(attempt, first_word(*flat), per_element);
                let drawn = draw.draw(words);
                let is_rejected = drawn.is_none();
                if let Some(value) = drawn {
                    **slot = value;
                }
                is_rejected
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_word_can_be_had_alone() {
        let mut stream = Stream::new(5, 9);
        let all = stream.words(0, 0, 100).to_vec();
        let again = stream.words(3, 1 << 60, 7).to_vec();
        for (i, word) in all.iter().enumerate() {
            assert_eq!(stream.words(0, i as u128, 1), [*word]);
        }
        assert_eq!(stream.words(3, (1 << 60) + 2, 5), &again[2..]);
        assert_ne!(Stream::new(5, 10).words(0, 0, 1), &all[..1]);
        assert_ne!(Stream::new(6, 9).words(0, 0, 1), &all[..1]);
    }

    #[test]
    fn words_are_chacha8s() {
        // The published key stream for an all-zero key, to see that bytes are read in order.
        let mut generator = ChaCha8Rng::from_seed([0; 32]);
        let mut bytes = [0; 8];
        generator.fill_bytes(&mut bytes);
        assert_eq!(bytes, [0x3e, 0x00, 0xef, 0x2f, 0x89, 0x5f, 0x40, 0xd6]);
    }
}
