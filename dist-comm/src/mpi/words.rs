//! Memory that other processes, and other threads, may read and write at the same time, in relaxed atomic words.
//!
//! So two that touch the same bytes leave bytes of either, and nobody reads what was never written. All access is by
//! whole words, also where a part of one is wanted: accesses of different sizes to one place would be a race again.

use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const WORD: usize = size_of::<u64>();

/// Fills `into` from byte `offset` on.
pub(super) fn load(words: &[AtomicU64], offset: usize, into: &mut [u8]) {
    let word = |at: usize| words[at].load(Ordering::Relaxed).to_ne_bytes();
    let (mut at, skip) = (offset / WORD, offset % WORD);
    let mut rest = into;
    if skip > 0 {
        let (head, after) = rest.split_at_mut(rest.len().min(WORD - skip));
        head.copy_from_slice(&word(at)[skip..skip + head.len()]);
        rest = after;
        at += 1;
    }
    let (whole, tail) = rest.as_chunks_mut::<WORD>();
    for (into, word) in whole.iter_mut().zip(&words[at.min(words.len())..]) {
        *into = word.load(Ordering::Relaxed).to_ne_bytes();
    }
    if !tail.is_empty() {
        tail.copy_from_slice(&word(at + whole.len())[..tail.len()]);
    }
}

/// Writes `from` to byte `offset` on.
pub(super) fn store(words: &[AtomicU64], offset: usize, from: &[u8]) {
    let (mut at, skip) = (offset / WORD, offset % WORD);
    let mut rest = from;
    if skip > 0 {
        let (head, after) = rest.split_at(rest.len().min(WORD - skip));
        store_part(&words[at], skip, head);
        rest = after;
        at += 1;
    }
    let (whole, tail) = rest.as_chunks::<WORD>();
    for (from, word) in whole.iter().zip(&words[at.min(words.len())..]) {
        word.store(u64::from_ne_bytes(*from), Ordering::Relaxed);
    }
    if !tail.is_empty() {
        store_part(&words[at + whole.len()], 0, tail);
    }
}

/// Changes some bytes of a word and leaves the others as they are, whoever changes those.
fn store_part(word: &AtomicU64, skip: usize, from: &[u8]) {
    if from.is_empty() {
        return;
    }
    let mut old = word.load(Ordering::Relaxed);
    loop {
        let mut bytes = old.to_ne_bytes();
        bytes[skip..skip + from.len()].copy_from_slice(from);
        let new = u64::from_ne_bytes(bytes);
        match word.compare_exchange_weak(old, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => old = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<AtomicU64> {
        let (words, rest) = bytes.as_chunks::<WORD>();
        assert!(rest.is_empty());
        words
            .iter()
            .map(|word| AtomicU64::new(u64::from_ne_bytes(*word)))
            .collect()
    }

    #[test]
    fn every_part_is_loaded_and_stored_alone() {
        let bytes: Vec<u8> = (0..40).collect();
        for offset in 0..=40 {
            for len in 0..=40 - offset {
                let mut part = vec![0xff; len];
                load(&words(&bytes), offset, &mut part);
                assert_eq!(part, bytes[offset..offset + len]);
                let memory = words(&bytes);
                store(&memory, offset, &vec![0xee; len]);
                let mut expected = bytes.clone();
                expected[offset..offset + len].fill(0xee);
                let mut whole = vec![0; 40];
                load(&memory, 0, &mut whole);
                assert_eq!(whole, expected);
            }
        }
    }

    #[test]
    fn neighbours_in_one_word_do_not_lose_bytes() {
        let memory = words(&[0; 16]);
        std::thread::scope(|scope| {
            for at in 0..4u8 {
                let memory = &memory;
                scope.spawn(move || {
                    for round in 0..10_000u32 {
                        let bytes = [at, round.to_le_bytes()[0], at];
                        store(memory, 3 * usize::from(at), &bytes);
                        let mut seen = [0; 3];
                        load(memory, 3 * usize::from(at), &mut seen);
                        assert_eq!(seen, bytes);
                    }
                });
            }
        });
    }
}
