//! Lookup by table: blocks of any lengths, and explicit lists.

use std::sync::Arc;

use multiversion::multiversion;

use super::NOWHERE;
use super::kernels::{Kernel, Position, each_index};
use crate::axis_dist::to_len;
use crate::runs::Runs;
use crate::unstructured::dense_len;

/// Bounds, and for every bucket of `2^shift` indices the coordinate that owns its first one.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    bounds: Arc<[u64]>,
    first: Vec<u32>,
    shift: u32,
    /// No bucket holds more than one bound: then there is one comparison and no loop.
    single: bool,
}

impl Buckets {
    /// Two to four buckets per rank, so that a bucket rarely holds more than one bound.
    pub(super) fn new(bounds: &Arc<[u64]>) -> Self {
        let ranks = bounds.len() - 1;
        let last = bounds[ranks].saturating_sub(1);
        let mut shift = 0;
        while last >> shift >= 4 * ranks as u64 {
            shift += 1;
        }
        let inner = &bounds[1..ranks];
        let single = inner
            .windows(2)
            .all(|pair| pair[0] >> shift != pair[1] >> shift);
        let mut coord = 0;
        let first = (0..=last >> shift)
            .map(|bucket| {
                while bounds[coord + 1] <= bucket << shift {
                    coord += 1;
                }
                u32::try_from(coord).unwrap_or(NOWHERE)
            })
            .collect();
        Self {
            bounds: Arc::clone(bounds),
            first,
            shift,
            single,
        }
    }

    /// Owner and local position of an index below the size.
    #[inline]
    pub(super) fn find(&self, g: u64) -> (u64, u64) {
        let bucket = to_len(g >> self.shift).min(self.first.len() - 1);
        let mut coord = self.first[bucket] as usize;
        if self.single {
            // The last coordinate has no bound after its own end, which no index below the size reaches.
            let next = self.bounds.get(coord + 1).copied().unwrap_or(u64::MAX);
            coord += usize::from(g >= next);
            let start = self.bounds.get(coord).copied().unwrap_or(0);
            return (coord as u64, g.wrapping_sub(start));
        }
        let mut start = self.bounds[coord];
        while let Some(&end) = self.bounds.get(coord + 1) {
            if g < end {
                break;
            }
            start = end;
            coord += 1;
        }
        (coord as u64, g.wrapping_sub(start))
    }
}

impl Kernel for &Buckets {
    const BITS: u32 = 63;

    #[inline]
    fn place(self, g: u64) -> (u64, u64) {
        self.find(g)
    }
}

/// Owner and local position of explicit indices.
#[derive(Clone, Debug)]
pub(super) enum Table {
    /// One entry per index from `base` on: owner in the upper bits, local position in the lower
    /// `bits`; all ones where nobody owns it.
    Dense32 {
        base: i64,
        bits: u32,
        table: Vec<u32>,
    },
    /// The same in 32 + 32 bits.
    Dense64 { base: i64, table: Vec<u64> },
    /// First index, length, owner and first local position of runs, ascending by index.
    Runs(Vec<(i64, usize, usize, usize)>),
}

const NONE32: u32 = u32::MAX;
const NONE64: u64 = u64::MAX;

impl Table {
    pub(super) fn new(lists: &[Arc<[i64]>]) -> Self {
        let count: usize = lists.iter().map(|list| list.len()).sum();
        let low = lists.iter().flat_map(|l| l.iter()).min().copied();
        let high = lists.iter().flat_map(|l| l.iter()).max().copied();
        let range = low
            .zip(high)
            .and_then(|(low, high)| dense_len(low, high, count));
        let longest = lists.iter().map(|list| list.len()).max().unwrap_or(0);
        let short = u32::try_from(longest).is_ok_and(|longest| longest < u32::MAX);
        if let (Some(base), Some(len), true) = (low, range, short) {
            // Enough bits that no entry, the largest owner's largest position included, is all ones.
            let bits = usize::BITS - longest.leading_zeros();
            let owner_bits = usize::BITS - lists.len().leading_zeros();
            return if bits + owner_bits <= 32 {
                let table = dense(lists, base, len, NONE32, |owner, local| {
                    u32::try_from(owner << bits | local).unwrap_or(NONE32)
                });
                Self::Dense32 { base, bits, table }
            } else {
                let table = dense(lists, base, len, NONE64, |owner, local| {
                    (owner as u64) << 32 | local as u64
                });
                Self::Dense64 { base, table }
            };
        }
        let mut runs = Vec::new();
        for (coord, list) in lists.iter().enumerate() {
            runs.extend(Runs::list(list).map(|run| (run.global, run.len, coord, run.local)));
        }
        runs.sort_unstable();
        Self::Runs(disjoint(runs))
    }

    pub(super) fn find(&self, g: i64) -> Option<(usize, usize)> {
        match self {
            Self::Dense32 { base, bits, table } => {
                let entry = *table.get(position(*base, g))?;
                (entry != NONE32).then(|| {
                    (
                        (entry >> bits) as usize,
                        (entry & ((1 << bits) - 1)) as usize,
                    )
                })
            }
            Self::Dense64 { base, table } => {
                let entry = *table.get(position(*base, g))?;
                (entry != NONE64).then(|| (to_len(entry >> 32), to_len(entry & 0xffff_ffff)))
            }
            Self::Runs(runs) => {
                let at = runs.partition_point(|run| run.0 <= g).checked_sub(1)?;
                let (start, len, coord, local) = runs[at];
                let offset = position(start, g);
                (offset < len).then(|| (coord, local + offset))
            }
        }
    }

    pub(super) fn fill<L: Position>(&self, global: &[i64], owner: &mut [u32], local: &mut [L]) {
        match self {
            Self::Dense32 { base, bits, table } => {
                let (bits, mask) = (*bits, (1_u32 << *bits) - 1);
                each_entry(*base, table, NONE32, global, owner, local, |entry| {
                    let none = entry == NONE32;
                    (
                        if none { NOWHERE } else { entry >> bits },
                        if none {
                            L::NOWHERE
                        } else {
                            L::of(u64::from(entry & mask))
                        },
                    )
                });
            }
            Self::Dense64 { base, table } => {
                each_entry(*base, table, NONE64, global, owner, local, |entry| {
                    let position = entry & u64::from(u32::MAX);
                    (
                        (entry >> 32) as u32, // all ones where there is none
                        if entry == NONE64 {
                            L::NOWHERE
                        } else {
                            L::of(position)
                        },
                    )
                });
            }
            Self::Runs(_) => each_index(global, owner, local, |g| self.find(g)),
        }
    }
}

/// Looks entries up a chunk at a time, and takes them apart afterwards: the less stands between two
/// loads, the more of them the processor has under way at once.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
fn each_entry<E: Copy, L: Position, F: Fn(E) -> (u32, L)>(
    base: i64,
    table: &[E],
    none: E,
    global: &[i64],
    owner: &mut [u32],
    local: &mut [L],
    parts: F,
) {
    const CHUNK: usize = 256;
    let mut entries = [none; CHUNK];
    let results = owner.chunks_mut(CHUNK).zip(local.chunks_mut(CHUNK));
    for (global, (owner, local)) in global.chunks(CHUNK).zip(results) {
        for (entry, &g) in entries.iter_mut().zip(global) {
            *entry = table.get(position(base, g)).copied().unwrap_or(none);
        }
        for ((&entry, o), l) in entries.iter().zip(owner).zip(local) {
            (*o, *l) = parts(entry);
        }
    }
}

/// Distance of an index from the first of a table; beyond every table where it lies below.
#[inline]
fn position(base: i64, g: i64) -> usize {
    usize::try_from(g.wrapping_sub(base).cast_unsigned()).unwrap_or(usize::MAX)
}

/// A table of `len` entries from `base` on; the lowest owner of an index stays.
fn dense<E: Copy + PartialEq>(
    lists: &[Arc<[i64]>],
    base: i64,
    len: usize,
    none: E,
    entry: impl Fn(usize, usize) -> E,
) -> Vec<E> {
    // Lookups go to random places of it.
    let mut table = Vec::with_capacity(len);
    large_pages::prefer_large_pages(table.spare_capacity_mut());
    table.resize(len, none);
    for (coord, list) in lists.iter().enumerate() {
        for (local, &g) in list.iter().enumerate() {
            let slot = &mut table[position(base, g)];
            if *slot == none {
                *slot = entry(coord, local);
            }
        }
    }
    table
}

/// Cuts sorted runs so that none overlap, the lowest owner keeping what several have.
fn disjoint(runs: Vec<(i64, usize, usize, usize)>) -> Vec<(i64, usize, usize, usize)> {
    let overlap = |pair: &[(i64, usize, usize, usize)]| position(pair[0].0, pair[1].0) < pair[0].1;
    if !runs.windows(2).any(overlap) {
        return runs;
    }
    // Element by element: indices on several ranks are rare, and sparse ones rarer.
    let mut each: Vec<(i64, usize, usize)> = Vec::new();
    for (start, len, coord, local) in runs {
        each.extend((0..len).map(|offset| {
            let g = start.wrapping_add_unsigned(offset as u64); // an index of the list: it does not wrap
            (g, coord, local + offset)
        }));
    }
    each.sort_unstable();
    each.dedup_by_key(|item| item.0);
    each.into_iter()
        .map(|(g, coord, local)| (g, 1, coord, local))
        .collect()
}
