//! Copies past the cache, for destinations that are larger than it.
//!
//! An ordinary store first reads the line that it writes to; of a destination that does not fit the cache that is a third of
//! all traffic. `memcpy` avoids it for one long run, and here it is avoided for many short ones. These are also too short for
//! the processor to guess where the next one is, so it is told a few runs ahead.
#![expect(
    unsafe_code,
    reason = "stores past the cache are instructions that no safe function has"
)]

use std::mem::MaybeUninit;

/// Bytes of a destination that no cache holds beside other data.
const LARGE: usize = 16 << 20;
/// A copy of fewer bytes is not worth it: what it writes may be wanted soon.
const WORTH: usize = 256 << 10;
/// Bytes of the shortest run that is copied so.
const RUN: usize = 256;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Runs between the announcement of a run and its copy.
const AHEAD: usize = 4;
/// Bytes of a run that are announced; further on the processor sees the pattern by itself.
const ANNOUNCED: usize = 1024;

/// A byte of an element, which may be padding.
type Byte = MaybeUninit<u8>;

/// A cache line of the destination.
#[repr(C, align(64))]
struct Line([Byte; LINE]);

/// A copy past the cache. Its end, by a panic too, makes what was written visible to others in the usual way, before any of
/// them can be told of it: until then the destination is borrowed exclusively.
pub(super) struct Stream {
    /// Runs that were announced: offsets and lengths.
    waiting: [((usize, usize), usize); AHEAD],
    next: usize,
}

impl Stream {
    fn new() -> Self {
        Self {
            waiting: [((0, 0), 0); AHEAD],
            next: 0,
        }
    }

    /// For a copy of `bytes` bytes in runs of at least `run` into a destination of `room`, where that pays and the processor
    /// has it.
    pub(super) fn if_it_pays(room: usize, bytes: usize, run: usize) -> Option<Self> {
        let pays = machine::STREAMS && room >= LARGE && bytes >= WORTH && run >= RUN;
        pays.then(Self::new)
    }

    /// Copies `n` elements at these offsets, now or at one of the next calls.
    #[inline]
    pub(super) fn run<T: Copy>(&mut self, src: &[T], dst: &mut [T], at: (usize, usize), n: usize) {
        announce(&src[at.0..at.0 + n]);
        let (at, n) = std::mem::replace(&mut self.waiting[self.next % AHEAD], (at, n));
        self.next = self.next.wrapping_add(1);
        self.copy(&src[at.0..at.0 + n], &mut dst[at.1..at.1 + n]);
    }

    /// Copies what is left.
    pub(super) fn finish<T: Copy>(mut self, src: &[T], dst: &mut [T]) {
        for _ in 0..AHEAD {
            self.run(src, dst, (0, 0), 0);
        }
    }

    #[inline]
    #[expect(
        clippy::unused_self,
        reason = "whoever has a `Stream` will drop it, which fences what is written here"
    )]
    fn copy<T: Copy>(&self, src: &[T], dst: &mut [T]) {
        let bytes = size_of_val(src);
        if src.len() != dst.len() || bytes < RUN {
            dst.copy_from_slice(src);
            return;
        }
        // SAFETY: the slice is `bytes` long, and any byte, even one that is not set, is a `Byte`.
        let from = unsafe { std::slice::from_raw_parts(src.as_ptr().cast::<Byte>(), bytes) };
        // SAFETY: as above, and `dst` is as long. What is written to it below are the bytes of elements, each in its place.
        let to = unsafe { std::slice::from_raw_parts_mut(dst.as_mut_ptr().cast::<Byte>(), bytes) };
        // SAFETY: a `Line` is so many bytes.
        let (head, lines, tail) = unsafe { to.align_to_mut::<Line>() };
        let (from_head, from) = from.split_at(head.len());
        let (from_lines, from_tail) = from.split_at(from.len() - tail.len());
        head.copy_from_slice(from_head);
        machine::copy_lines(from_lines.as_chunks().0, lines);
        tail.copy_from_slice(from_tail);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        machine::fence();
    }
}

/// Has the processor fetch the start of a run.
#[inline]
fn announce<T>(run: &[T]) {
    for line in (0..size_of_val(run).min(ANNOUNCED)).step_by(LINE) {
        machine::fetch(run.as_ptr().cast::<u8>().wrapping_add(line));
    }
}

#[cfg(all(target_arch = "x86_64", target_pointer_width = "64", not(miri)))]
mod machine {
    use std::arch::asm;
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    use super::{Byte, LINE, Line};

    pub(super) const STREAMS: bool = true;

    /// Asks for the line at an address; a wish, for any address.
    #[inline]
    pub(super) fn fetch(address: *const u8) {
        // SAFETY: SSE is part of x86-64, and the instruction faults at no address (Intel's manual, volume 2, PREFETCHh).
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }

    /// Copies lines, as many as there are on both sides. To be fenced before the destination is lent to anyone else.
    ///
    /// In assembly, because bytes of padding need not be set, and a load of a value must find set ones.
    #[inline]
    pub(super) fn copy_lines(from: &[[Byte; LINE]], to: &mut [Line]) {
        let lines = from.len().min(to.len());
        if lines == 0 {
            return;
        }
        // SAFETY: the loop reads and writes 64 bytes `lines` times, which both slices have, and they do not overlap: one is
        // borrowed exclusively. `movntps` writes to multiples of 16 bytes, as it must: a `Line` is at a multiple of 64. SSE is
        // part of x86-64. What is clobbered, flags included, is declared.
        unsafe {
            asm!(
                "2:",
                "movups {a}, [{from}]",
                "movups {b}, [{from} + 16]",
                "movups {c}, [{from} + 32]",
                "movups {d}, [{from} + 48]",
                "movntps [{to}], {a}",
                "movntps [{to} + 16], {b}",
                "movntps [{to} + 32], {c}",
                "movntps [{to} + 48], {d}",
                "add {from}, 64",
                "add {to}, 64",
                "dec {lines}",
                "jnz 2b",
                from = inout(reg) from.as_ptr() => _,
                to = inout(reg) to.as_mut_ptr() => _,
                lines = inout(reg) lines => _,
                a = out(xmm_reg) _,
                b = out(xmm_reg) _,
                c = out(xmm_reg) _,
                d = out(xmm_reg) _,
                options(nostack),
            );
        }
    }

    /// Puts the stores of [`copy_lines`] before all later ones, which Rust's memory model would else have them be: an unlock, a
    /// flag, the message that lets another process look.
    #[inline]
    pub(super) fn fence() {
        // SAFETY: a fence touches no memory and no flag. As the block may touch memory, for all that the compiler is told,
        // no access is moved across it either.
        unsafe { asm!("sfence", options(nostack, preserves_flags)) };
    }
}

/// Without such stores; [`Stream::if_it_pays`] makes none.
#[cfg(not(all(target_arch = "x86_64", target_pointer_width = "64", not(miri))))]
mod machine {
    use super::{Byte, LINE, Line};

    pub(super) const STREAMS: bool = false;

    pub(super) fn fetch(_: *const u8) {}

    pub(super) fn copy_lines(from: &[[Byte; LINE]], to: &mut [Line]) {
        for (from, to) in from.iter().zip(to) {
            to.0 = *from;
        }
    }

    pub(super) fn fence() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alignment_and_length_is_copied_whole_and_nothing_else() {
        let src: Vec<u8> = (0..2000_u32).map(|i| (i % 251) as u8).collect();
        for from in [0, 1, 8, 63, 64] {
            for to in [0, 1, 16, 63, 64] {
                for len in [0, 1, 255, 256, 257, 319, 320, 1000, 1024, 1871] {
                    let mut dst = vec![0xff; 2000];
                    Stream::new().copy(&src[from..from + len], &mut dst[to..to + len]);
                    assert_eq!(dst[to..to + len], src[from..from + len]);
                    assert!(dst[..to].iter().all(|&byte| byte == 0xff));
                    assert!(dst[to + len..].iter().all(|&byte| byte == 0xff));
                }
            }
        }
    }

    #[test]
    fn elements_with_padding_keep_their_values() {
        let src: Vec<(u8, u64)> = (0..100_u8).map(|i| (i, u64::from(i) * 3)).collect();
        let mut dst = vec![(0, 0); 101];
        Stream::new().copy(&src, &mut dst[1..]);
        assert_eq!(dst[1..], src);
    }

    #[test]
    fn the_end_copies_what_waits() {
        let src: Vec<u32> = (0..1000).collect();
        for runs in 0..=2 * AHEAD {
            let mut dst = vec![0; 1000];
            let mut stream = Stream::new();
            for i in 0..runs {
                stream.run(&src, &mut dst, (i * 100, i * 90), 80);
            }
            stream.finish(&src, &mut dst);
            let mut wanted = vec![0; 1000];
            for i in 0..runs {
                wanted[i * 90..][..80].copy_from_slice(&src[i * 100..][..80]);
            }
            assert_eq!(dst, wanted);
        }
    }

    #[test]
    fn it_is_for_large_destinations_and_long_runs() {
        assert!(Stream::if_it_pays(LARGE - 1, LARGE - 1, RUN).is_none());
        assert!(Stream::if_it_pays(LARGE, WORTH - 1, RUN).is_none());
        assert!(Stream::if_it_pays(LARGE, WORTH, RUN - 1).is_none());
        assert_eq!(
            Stream::if_it_pays(LARGE, WORTH, RUN).is_some(),
            machine::STREAMS
        );
    }
}
