//! Sets of global indices with their local positions, and how two of them meet.

use std::borrow::Cow;
use std::sync::Arc;

use dap_protocol::Padding;

use crate::AxisDist;
use crate::axis_dist::to_len;
use crate::copy::Piece;

/// Equal runs of global indices at equal distances; each run is contiguous locally as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progression {
    /// First global index. (128 bits, here and in `stride`: indices may be any 64-bit integers.)
    pub(crate) global: i128,
    /// Its local position.
    pub(crate) local: usize,
    /// Indices per run, at least 1.
    pub(crate) len: u64,
    /// Runs, at least 1.
    pub(crate) count: u64,
    /// Global indices between run starts, at least `len`.
    pub(crate) stride: i128,
    /// Local positions between run starts.
    pub(crate) local_stride: isize,
}

impl Progression {
    pub(crate) fn run(global: i128, local: usize, len: u64) -> Self {
        Self {
            global,
            local,
            len,
            count: 1,
            stride: i128::from(len),
            local_stride: to_len(len).cast_signed(),
        }
    }

    /// One past the last global index.
    pub(crate) fn end(&self) -> i128 {
        self.global_at(self.count - 1) + i128::from(self.len)
    }

    pub(crate) fn elements(&self) -> u64 {
        self.len * self.count
    }

    /// Local position of the `i`th run's start.
    fn local_at(&self, i: u64) -> usize {
        let steps = to_len(i).cast_signed();
        self.local
            .wrapping_add_signed(steps.wrapping_mul(self.local_stride))
    }

    fn global_at(&self, i: u64) -> i128 {
        self.global + i128::from(i) * self.stride
    }

    /// The `i`th run alone.
    pub(crate) fn nth(&self, i: u64) -> Self {
        Self::run(self.global_at(i), self.local_at(i), self.len)
    }
}

/// What a coordinate holds of an axis: progressions one after another in global order, never
/// interleaved. (What it stores, padding included, may repeat indices.)
pub(crate) type Set = Vec<Progression>;

/// Elements of a set.
pub(crate) fn elements(set: &[Progression]) -> u64 {
    set.iter().map(Progression::elements).sum()
}

/// From the first to past the last local position of the runs of a set; each is one run.
pub(crate) fn span(set: &[Progression]) -> std::ops::Range<usize> {
    let start = set.iter().map(|run| run.local).min();
    let end = set
        .iter()
        .map(|run| run.local + to_len(run.elements()))
        .max();
    start.unwrap_or(0)..end.unwrap_or(0)
}

/// The sets of all coordinates along an axis.
pub(crate) struct AxisSets<'a> {
    axis: &'a AxisDist,
    lists: Vec<Set>,
}

impl<'a> AxisSets<'a> {
    /// What each coordinate owns; an index on several coordinates counts on all of them.
    pub(crate) fn owned(axis: &'a AxisDist) -> Self {
        let lists = match axis {
            AxisDist::Unstructured { indices, .. } => {
                indices.iter().map(|list| from_list(list)).collect()
            }
            _ => Vec::new(),
        };
        Self { axis, lists }
    }

    /// What each coordinate is read from; an index on several coordinates counts on the lowest.
    pub(crate) fn sources(axis: &'a AxisDist) -> Self {
        match axis {
            AxisDist::Unstructured {
                indices,
                one_to_one: false,
                ..
            } => Self {
                axis,
                lists: lowest_owners(indices),
            },
            _ => Self::owned(axis),
        }
    }

    pub(crate) fn axis(&self) -> &'a AxisDist {
        self.axis
    }

    pub(crate) fn get(&self, coord: usize) -> Cow<'_, [Progression]> {
        match self.axis {
            AxisDist::Block { bounds, .. } => {
                let (start, end) = (bounds[coord], bounds[coord + 1]);
                let local = self.axis.owned_local(coord).start;
                Cow::Owned(block(start.into(), local, end - start))
            }
            AxisDist::Cyclic {
                size,
                ranks,
                block_size,
            } => Cow::Owned(cyclic(*size, *ranks as u64, *block_size, coord as u64)),
            AxisDist::Unstructured { .. } => Cow::Borrowed(&self.lists[coord]),
        }
    }

    /// The coordinates that may hold an index of `set`, ascending, so that the others need not be
    /// looked at: all that do, and of blocks and dealt blocks few others. `reach` is how far a block
    /// counts beyond its own ends.
    pub(crate) fn near(&self, set: &[Progression], reach: Padding) -> Vec<usize> {
        let mut coords = match self.axis {
            AxisDist::Block { bounds, .. } => near_blocks(bounds, set, reach),
            AxisDist::Cyclic {
                ranks, block_size, ..
            } => near_dealt(*ranks, *block_size, set),
            AxisDist::Unstructured { indices, .. } => (0..indices.len()).collect(),
        };
        coords.sort_unstable();
        coords.dedup();
        coords
    }

    /// All indices that some coordinate holds, sorted; `None` where that is the whole axis.
    pub(crate) fn covered(&self) -> Option<Vec<i64>> {
        let AxisDist::Unstructured { size, indices, .. } = self.axis else {
            return None;
        };
        let mut all: Vec<i64> = indices
            .iter()
            .flat_map(|list| list.iter().copied())
            .collect();
        all.sort_unstable();
        all.dedup();
        let inside = |&&g: &&i64| u64::try_from(g).is_ok_and(|g| g < *size);
        if all.iter().filter(inside).count() as u64 == *size && all.len() as u64 == *size {
            None
        } else {
            Some(all)
        }
    }
}

pub(crate) fn block(start: i128, local: usize, len: u64) -> Set {
    if len == 0 {
        Set::new()
    } else {
        vec![Progression::run(start, local, len)]
    }
}

fn cyclic(size: u64, ranks: u64, block: u64, coord: u64) -> Set {
    let mut set = Set::new();
    let Some(start) = coord.checked_mul(block).filter(|&start| start < size) else {
        return set;
    };
    // A period beyond the axis never comes round.
    let period = ranks.saturating_mul(block);
    let full = if size - start < block {
        0
    } else {
        (size - start - block) / period + 1
    };
    if full > 0 {
        set.push(Progression {
            global: start.into(),
            local: 0,
            len: block,
            count: full,
            stride: period.into(),
            local_stride: to_len(block).cast_signed(),
        });
    }
    // `full` periods fit: the last block starts below `size`, if it is there at all.
    if let Some(tail) = full
        .checked_mul(period)
        .and_then(|past| past.checked_add(start))
        .filter(|&tail| tail < size)
    {
        set.push(Progression::run(
            tail.into(),
            to_len(full * block),
            size - tail,
        ));
    }
    set
}

fn near_blocks(bounds: &[u64], set: &[Progression], reach: Padding) -> Vec<usize> {
    let (lower, upper) = (i128::from(reach.lower), i128::from(reach.upper));
    let (starts, ends) = (&bounds[..bounds.len() - 1], &bounds[1..]);
    let range = |low: i128, high: i128| {
        let from = ends.partition_point(|&end| i128::from(end) + upper <= low);
        from..starts.partition_point(|&start| i128::from(start) - lower < high)
    };
    let mut coords = Vec::new();
    for p in set {
        let all = range(p.global, p.end());
        if p.count >= all.len() as u64 {
            coords.extend(all);
        } else {
            let runs = (0..p.count).map(|i| p.nth(i));
            coords.extend(runs.flat_map(|run| range(run.global, run.end())));
        }
    }
    coords
}

fn near_dealt(ranks: usize, block: u64, set: &[Progression]) -> Vec<usize> {
    let (all, block) = (ranks as i128, i128::from(block));
    let mut coords = Vec::new();
    for p in set {
        // runs whole periods apart lie on the same coordinates
        let (common, _) = gcd_inverse(p.stride, all * block);
        let runs = (all * block / common).min(p.count.into());
        for run in (0..p.count).map(|i| p.nth(i)).take(small(runs)) {
            let first = run.global.div_euclid(block);
            let past = (run.end() - 1).div_euclid(block) + 1;
            if past - first >= all || coords.len() >= ranks {
                return (0..ranks).collect();
            }
            coords.extend((first..past).map(|number| small(number.rem_euclid(all))));
        }
    }
    coords
}

fn from_list(list: &[i64]) -> Set {
    let mut pairs: Vec<(i64, usize)> = list.iter().copied().zip(0..).collect();
    pairs.sort_unstable();
    from_pairs(&pairs)
}

/// Sorted (global, local) pairs as progressions.
fn from_pairs(pairs: &[(i64, usize)]) -> Set {
    let mut set = Set::new();
    let mut rest = pairs;
    while let Some(&(global, local)) = rest.first() {
        let mut len = 1;
        while rest.get(len).is_some_and(|&(g, l)| {
            l == local + len && i128::from(g) - i128::from(global) == len as i128
        }) {
            len += 1;
        }
        rest = &rest[len..];
        append(&mut set, Progression::run(global.into(), local, len as u64));
    }
    set
}

/// Adds a later run, as one more of the last progression where it continues it.
fn append(set: &mut Set, run: Progression) {
    if let Some(last) = set.last_mut().filter(|last| last.len == run.len) {
        let from = last.count - 1;
        let stride = run.global - last.global_at(from);
        let local_stride = run
            .local
            .cast_signed()
            .wrapping_sub(last.local_at(from).cast_signed());
        let continues =
            last.count == 1 || (stride == last.stride && local_stride == last.local_stride);
        if continues {
            last.stride = stride;
            last.local_stride = local_stride;
            last.count += 1;
            return;
        }
    }
    set.push(run);
}

fn lowest_owners(indices: &[Arc<[i64]>]) -> Vec<Set> {
    let mut all: Vec<(i64, usize, usize)> = Vec::new();
    for (coord, list) in indices.iter().enumerate() {
        all.extend(list.iter().zip(0..).map(|(&g, local)| (g, coord, local)));
    }
    all.sort_unstable();
    all.dedup_by_key(|&mut (g, ..)| g);
    let mut pairs = vec![Vec::new(); indices.len()];
    for (g, coord, local) in all {
        pairs[coord].push((g, local));
    }
    pairs.iter().map(|list| from_pairs(list)).collect()
}

/// Where the indices of `src` go in `dst`: the pairs of their positions, the same list on whichever
/// rank asks. `src` holds no index twice; `dst` may.
pub(crate) fn meet(src: &[Progression], dst: &[Progression]) -> Vec<Piece> {
    let mut pieces = Pieces::default();
    for b in dst {
        let first = src.partition_point(|a| a.end() <= b.global);
        for a in src[first..].iter().take_while(|a| a.global < b.end()) {
            meet_two(a, b, &mut pieces);
        }
    }
    pieces.list
}

fn meet_two(a: &Progression, b: &Progression, out: &mut Pieces) {
    match (a.count, b.count) {
        (1, _) => meet_run(a, b, false, out),
        (_, 1) => meet_run(b, a, true, out),
        _ => meet_repeating(a, b, out),
    }
}

/// A single run against a progression: at most a clipped first run, whole ones, a clipped last one.
fn meet_run(run: &Progression, many: &Progression, run_is_dst: bool, out: &mut Pieces) {
    let (low, high) = (run.global, run.end());
    let len = i128::from(many.len);
    // runs that end after `low`, and those that start before `high`
    let first = (low - many.global - len).div_euclid(many.stride) + 1;
    let past = (high - many.global - 1).div_euclid(many.stride) + 1;
    let first = u64::try_from(first).unwrap_or(0);
    let past = u64::try_from(past).unwrap_or(0).min(many.count);
    if first >= past {
        return;
    }
    let mut emit = |i: u64, count: u64| {
        let start = many.global_at(i);
        let (from, to) = (start.max(low), (start + len).min(high));
        if from >= to {
            return;
        }
        let here = run.local + small(from - low);
        let there = many.local_at(i) + small(from - start);
        let here_stride = small(many.stride).cast_signed();
        let mut piece = Piece {
            src: here,
            dst: there,
            len: small(to - from),
            count: to_len(count),
            src_stride: here_stride,
            dst_stride: many.local_stride,
        };
        if run_is_dst {
            (piece.src, piece.dst) = (there, here);
            (piece.src_stride, piece.dst_stride) = (many.local_stride, here_stride);
        }
        out.push(piece);
    };
    let clipped_first = many.global_at(first) < low;
    let clipped_last = many.global_at(past - 1) + len > high;
    let (mut whole, mut whole_past) = (first, past);
    if clipped_first {
        emit(first, 1);
        whole += 1;
    }
    if clipped_last && whole < past {
        whole_past -= 1;
    }
    if whole < whole_past {
        emit(whole, whole_past - whole);
    }
    if whole_past < past {
        emit(whole_past, 1);
    }
}

/// Two progressions. Runs `i` and `j` meet when their starts differ by some `d` inside a window as
/// wide as the two runs; every such `d` of the right residue is one pattern that repeats with the
/// least common multiple of the strides.
fn meet_repeating(a: &Progression, b: &Progression, out: &mut Pieces) {
    let (m, n) = (a.stride, b.stride);
    let (len_a, len_b) = (i128::from(a.len), i128::from(b.len));
    let (g, inverse) = gcd_inverse(n, m);
    let (m_g, n_g) = (m / g, n / g);
    let apart = b.global - a.global;
    if (len_a + len_b) / g > i128::from(a.count.min(b.count)) || a.count.min(b.count) < 5 {
        // fewer runs than patterns
        if a.count <= b.count {
            (0..a.count).for_each(|i| meet_run(&a.nth(i), b, false, out));
        } else {
            (0..b.count).for_each(|j| meet_run(&b.nth(j), a, true, out));
        }
        return;
    }
    // the least d > -len_b that is congruent to `apart`
    let mut d = -len_b + 1 + (apart + len_b - 1).rem_euclid(g);
    while d < len_a {
        // j * n - i * m = d - apart
        let e = (d - apart) / g;
        let j0 = (e.rem_euclid(m_g) * inverse).rem_euclid(m_g);
        let i0 = (j0 * n_g - e) / m_g;
        let skip = if i0 < 0 { (-i0 + n_g - 1) / n_g } else { 0 };
        let (i, j) = (i0 + skip * n_g, j0 + skip * m_g);
        let left = |first: i128, step: i128, count: u64| {
            let room = i128::from(count) - first;
            if room > 0 { (room - 1) / step + 1 } else { 0 }
        };
        let count = left(i, n_g, a.count).min(left(j, m_g, b.count));
        if let (Ok(i), Ok(j), Ok(count @ 1..)) =
            (u64::try_from(i), u64::try_from(j), u64::try_from(count))
        {
            let (in_a, in_b) = (d.max(0), (-d).max(0));
            let len = (len_a - in_a).min(len_b - in_b);
            let step = |stride: isize, by: i128| stride.wrapping_mul(small(by).cast_signed());
            out.push(Piece {
                src: a.local_at(i) + small(in_a),
                dst: b.local_at(j) + small(in_b),
                len: small(len),
                count: to_len(count),
                src_stride: step(a.local_stride, n_g),
                dst_stride: step(b.local_stride, m_g),
            });
        }
        d += g;
    }
}

/// A distance inside one part, which fits the address space.
fn small(n: i128) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// Greatest common divisor `g` of two positive numbers, and the inverse of `a / g` modulo `m / g`.
fn gcd_inverse(a: i128, m: i128) -> (i128, i128) {
    let (mut r, mut next_r) = (a, m);
    let (mut x, mut next_x) = (1, 0);
    while next_r != 0 {
        let q = r / next_r;
        (r, next_r) = (next_r, r - q * next_r);
        (x, next_x) = (next_x, x - q * next_x);
    }
    (r, x.rem_euclid(m / r))
}

/// Pieces under construction: each is joined to the last where it continues it on both sides.
#[derive(Default)]
struct Pieces {
    list: Vec<Piece>,
}

impl Pieces {
    fn push(&mut self, mut piece: Piece) {
        if piece.count == 1 {
            let stride = piece.len.cast_signed();
            (piece.src_stride, piece.dst_stride) = (stride, stride);
        }
        let dense = piece.len.cast_signed();
        if piece.src_stride == dense && piece.dst_stride == dense {
            piece = Piece::single(piece.src, piece.dst, piece.len * piece.count);
        }
        if piece.count == 1 && self.join(&piece) {
            return;
        }
        self.list.push(piece);
    }

    fn join(&mut self, piece: &Piece) -> bool {
        let Some(last) = self.list.last_mut() else {
            return false;
        };
        if last.count == 1 && piece.src == last.src + last.len && piece.dst == last.dst + last.len {
            *last = Piece::single(last.src, last.dst, last.len + piece.len);
            return true;
        }
        if last.len != piece.len {
            return false;
        }
        let back = last.count.cast_signed() - 1;
        let from = |start: usize, stride: isize| start.cast_signed() + back * stride;
        let src_stride = piece.src.cast_signed() - from(last.src, last.src_stride);
        let dst_stride = piece.dst.cast_signed() - from(last.dst, last.dst_stride);
        if last.count > 1 && (src_stride, dst_stride) != (last.src_stride, last.dst_stride) {
            return false;
        }
        (last.src_stride, last.dst_stride) = (src_stride, dst_stride);
        last.count += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(axis: &AxisDist, set: &[Progression], lower: u64, upper: u64) -> Vec<usize> {
        AxisSets::owned(axis).near(set, Padding::new(lower, upper))
    }

    #[test]
    fn only_coordinates_that_may_hold_something_are_looked_at() {
        let many = 1 << 20;
        let blocks = AxisDist::block(1 << 30, many).unwrap(); // of 1,024
        assert_eq!(near(&blocks, &block(5 * 1024 - 1, 0, 2), 0, 0), [4, 5]);
        assert_eq!(near(&blocks, &block(5 * 1024, 0, 1024), 0, 0), [5]);
        assert_eq!(near(&blocks, &block(5 * 1024, 0, 1024), 1, 0), [5, 6]);
        assert_eq!(near(&blocks, &block(5 * 1024, 0, 1024), 0, 1025), [3, 4, 5]);
        // dealt far apart: every 2^18-th block
        let sparse = AxisDist::cyclic(1 << 30, 1 << 18, 1024).unwrap();
        let set = AxisSets::owned(&sparse).get(7).into_owned();
        let apart = 1 << 18;
        let hit = [7, apart + 7, 2 * apart + 7, 3 * apart + 7];
        assert_eq!(near(&blocks, &set, 0, 0), hit);
        // the same dealing is met by its own coordinate alone, however long the axis is
        assert_eq!(near(&sparse, &set, 0, 0), [7]);
        let long = AxisDist::cyclic(1 << 62, 1 << 18, 3).unwrap();
        let set = AxisSets::owned(&long).get(9).into_owned();
        assert_eq!(near(&long, &set, 0, 0), [9]);
        // a block meets as many coordinates as it has dealt blocks, one of several turns all
        let dealt = AxisDist::cyclic(1 << 30, many, 16).unwrap();
        assert_eq!(near(&dealt, &block(31, 0, 18), 0, 0), [1, 2, 3]);
        let wraps = block(16 * ((1 << 20) - 1), 0, 17);
        assert_eq!(near(&dealt, &wraps, 0, 0), [0, many - 1]);
        assert_eq!(near(&dealt, &block(0, 0, 1 << 25), 0, 0).len(), many);
        assert!(near(&dealt, &[], 0, 0).is_empty());
    }
}
