//! The loops of bulk lookup: arithmetic without branches, in chunks, on 64-bit lanes.

use multiversion::multiversion;

use super::NOWHERE;
use crate::reciprocal::Divide;

/// A local position in the result: `u32` or `u64`.
pub(crate) trait Position: Copy {
    const NOWHERE: Self;
    fn of(position: u64) -> Self;
}

impl Position for u32 {
    const NOWHERE: Self = NOWHERE;

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "checked against the longest part before the loop"
    )]
    fn of(position: u64) -> Self {
        position as Self
    }
}

impl Position for u64 {
    const NOWHERE: Self = Self::MAX;

    #[inline]
    fn of(position: u64) -> Self {
        position
    }
}

/// Indices per chunk: small enough for the first cache, large enough to hide the check.
const CHUNK: usize = 256;

/// Owner and local position of an index in range.
pub(super) trait Kernel: Copy {
    /// The size is at most `2^BITS`: 31 or 63.
    const BITS: u32;

    /// For `g` below the size. Any result will do for another `g` below `2^BITS`.
    fn place(self, g: u64) -> (u64, u64);
}

/// Fills the results. Chunks with an index out of range are done again by `slow`. In wide registers where the processor has
/// them.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
#[expect(
    clippy::cast_possible_truncation,
    reason = "owners are below the largest number of ranks"
)]
pub(super) fn fill<K: Kernel, L: Position, F: Fn(i64) -> Option<(usize, usize)> + Copy>(
    kernel: K,
    size: u64,
    global: &[i64],
    owner: &mut [u32],
    local: &mut [L],
    slow: F,
) {
    let last = size.cast_signed() - 1;
    let chunks = global.chunks(CHUNK);
    let results = owner.chunks_mut(CHUNK).zip(local.chunks_mut(CHUNK));
    for (global, (owner, local)) in chunks.zip(results) {
        // Negative as soon as one index is below 0 or above the last.
        let mut outside = 0_i64;
        for ((&g, o), l) in global.iter().zip(&mut *owner).zip(&mut *local) {
            outside |= g | last.wrapping_sub(g);
            let (coord, position) = kernel.place(g.cast_unsigned() & ((1 << K::BITS) - 1));
            *o = coord as u32;
            *l = L::of(position);
        }
        if outside < 0 {
            each_index(global, owner, local, slow);
        }
    }
}

/// Fills the results one index at a time.
pub(super) fn each_index<L: Position>(
    global: &[i64],
    owner: &mut [u32],
    local: &mut [L],
    find: impl Fn(i64) -> Option<(usize, usize)>,
) {
    for ((&g, o), l) in global.iter().zip(owner).zip(local) {
        if let Some((coord, position)) = find(g) {
            *o = u32::try_from(coord).unwrap_or(NOWHERE);
            *l = L::of(position as u64);
        } else {
            *o = NOWHERE;
            *l = L::NOWHERE;
        }
    }
}

/// Blocks of one length.
#[derive(Clone, Copy)]
pub(super) struct Ceil<D>(pub(super) D);

impl<D: Divide> Kernel for Ceil<D> {
    const BITS: u32 = D::BITS;

    #[inline]
    fn place(self, g: u64) -> (u64, u64) {
        self.0.divide(g)
    }
}

/// Blocks of two lengths: division by the longer, by the shorter, number of longer ones, shorter length.
///
/// The owner is the larger of `g / long` and `(g - longer) / short`: below the first short block the
/// second cannot exceed the first, from there on the first cannot exceed the second.
#[derive(Clone, Copy)]
pub(super) struct Balanced<L, S>(pub(super) L, pub(super) S, pub(super) u64, pub(super) u64);

impl<L: Divide, S: Divide> Kernel for Balanced<L, S> {
    const BITS: u32 = S::BITS;

    #[inline]
    fn place(self, g: u64) -> (u64, u64) {
        let Self(long, short, longer, length) = self;
        let less = min(longer, g);
        let a = long.divide(g).0;
        let b = short.divide(g - less).0;
        let owner = a + b - min(a, b);
        let start = S::multiply(owner, length).wrapping_add(min(owner, longer));
        (owner, g.wrapping_sub(start))
    }
}

/// The smaller of two numbers below 2⁶³, without a 64-bit comparison: old vector units have none.
#[inline]
fn min(a: u64, b: u64) -> u64 {
    let difference = a.wrapping_sub(b);
    let negative = 0_u64.wrapping_sub(difference >> 63); // all ones where a < b
    b.wrapping_add(difference & negative)
}

/// Blocks dealt in turn: division by the block size, by the number of ranks, and the block size.
#[derive(Clone, Copy)]
pub(super) struct Dealt<B, P>(pub(super) B, pub(super) P, pub(super) u64);

impl<B: Divide, P: Divide> Kernel for Dealt<B, P> {
    const BITS: u32 = B::BITS;

    #[inline]
    fn place(self, g: u64) -> (u64, u64) {
        let (number, inside) = self.0.divide(g);
        let (round, owner) = self.1.divide(number);
        (owner, B::multiply(round, self.2).wrapping_add(inside))
    }
}
