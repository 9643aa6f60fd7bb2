//! Copies past the cache, for destinations that are larger than it.
//!
//! An ordinary store first reads the line that it writes to; of a destination that does not fit the cache that is a third of
//! all traffic. `memcpy` avoids it for one long run, and here it is avoided for many short ones. These are also too short for
//! the processor to guess where the next one is, so it is told a few runs ahead.
#![expect(
    unsafe_code,
    reason = "stores past the cache are instructions that no safe function has"
)]

use std::sync::atomic::{Ordering, compiler_fence};

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

/// A copy past the cache; the end of it makes what was written visible to other threads in the usual way.
pub(super) struct Stream {
    /// Runs that were announced: offsets and lengths.
    waiting: [((usize, usize), usize); AHEAD],
    next: usize,
}

impl Stream {
    /// For a copy of `bytes` bytes in runs of at least `run` into a destination of `room`, where that pays and the processor
    /// has it.
    pub(super) fn pays(room: usize, bytes: usize, run: usize) -> Option<Self> {
        let pays = cfg!(all(target_arch = "x86_64", not(miri)))
            && room >= LARGE
            && bytes >= WORTH
            && run >= RUN;
        pays.then_some(Self {
            waiting: [((0, 0), 0); AHEAD],
            next: 0,
        })
    }

    /// Copies `n` elements at these offsets, now or at one of the next calls.
    #[inline]
    pub(super) fn run<T: Copy>(&mut self, src: &[T], dst: &mut [T], at: (usize, usize), n: usize) {
        announce(&src[at.0..at.0 + n]);
        let (at, n) = std::mem::replace(&mut self.waiting[self.next % AHEAD], (at, n));
        self.next = self.next.wrapping_add(1);
        Self::copy(&src[at.0..at.0 + n], &mut dst[at.1..at.1 + n]);
    }

    /// Copies what is left.
    pub(super) fn finish<T: Copy>(mut self, src: &[T], dst: &mut [T]) {
        for _ in 0..AHEAD {
            self.run(src, dst, (0, 0), 0);
        }
    }

    #[inline]
    fn copy<T: Copy>(src: &[T], dst: &mut [T]) {
        let bytes = size_of_val(src);
        if src.len() != dst.len() || bytes < RUN {
            dst.copy_from_slice(src);
            return;
        }
        let (from, to) = (src.as_ptr().cast::<u8>(), dst.as_mut_ptr().cast::<u8>());
        let head = to.align_offset(LINE).min(bytes);
        let lines = (bytes - head) / LINE;
        let tail = head + lines * LINE;
        // SAFETY: `head` is at most the length of both slices, which do not overlap: one is borrowed exclusively.
        unsafe { to.copy_from_nonoverlapping(from, head) };
        copy_lines(from.wrapping_add(head), to.wrapping_add(head), lines);
        let (from, to) = (from.wrapping_add(tail), to.wrapping_add(tail));
        // SAFETY: as above, from `tail` to the end of both slices.
        unsafe { to.copy_from_nonoverlapping(from, bytes - tail) };
    }
}

/// Has the processor fetch the start of a run.
#[inline]
fn announce<T>(run: &[T]) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for line in (0..size_of_val(run).min(ANNOUNCED)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = run.as_ptr().cast::<i8>().wrapping_add(line);
        // SAFETY: SSE is part of x86-64, and the address lies in the run.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    let _ = run;
}

/// Copies whole cache lines; both sides hold so many bytes, and `to` is at the start of a line.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
fn copy_lines(from: *const u8, to: *mut u8, lines: usize) {
    if lines == 0 {
        return;
    }
    // SAFETY: the loop reads and writes 64 bytes `lines` times, which both slices of `Stream::copy` hold from here on; `movntps`
    // writes to multiples of 16 bytes, as it must. SSE is part of x86-64. `Stream`'s drop fences the stores.
    unsafe {
        std::arch::asm!(
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
            from = inout(reg) from => _,
            to = inout(reg) to => _,
            lines = inout(reg) lines => _,
            a = out(xmm_reg) _,
            b = out(xmm_reg) _,
            c = out(xmm_reg) _,
            d = out(xmm_reg) _,
            options(nostack),
        );
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn copy_lines(from: *const u8, to: *mut u8, lines: usize) {
    // SAFETY: as in `Stream::copy`, which calls with what lies in its two slices.
    unsafe { to.copy_from_nonoverlapping(from, lines * LINE) };
}

impl Drop for Stream {
    fn drop(&mut self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a fence touches nothing.
        unsafe {
            std::arch::asm!("sfence", options(nostack, preserves_flags));
        }
        compiler_fence(Ordering::SeqCst);
    }
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
                    Stream::copy(&src[from..from + len], &mut dst[to..to + len]);
                    assert_eq!(dst[to..to + len], src[from..from + len]);
                    assert!(dst[..to].iter().all(|&byte| byte == 0xff));
                    assert!(dst[to + len..].iter().all(|&byte| byte == 0xff));
                }
            }
        }
    }

    #[test]
    fn it_is_for_large_destinations_and_long_runs() {
        assert!(Stream::pays(LARGE - 1, LARGE - 1, RUN).is_none());
        assert!(Stream::pays(LARGE, WORTH - 1, RUN).is_none());
        assert!(Stream::pays(LARGE, WORTH, RUN - 1).is_none());
        let here = cfg!(all(target_arch = "x86_64", not(miri)));
        assert_eq!(Stream::pays(LARGE, WORTH, RUN).is_some(), here);
    }
}
