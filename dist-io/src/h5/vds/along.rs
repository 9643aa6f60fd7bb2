//! [`Along`]: indices along one dimension, and whether boxes of them make an array up.
//!
//! ```text
//! start 1, stride 4, count 2, block 2      index      . 1 2 . . 5 6 . .
//!                                          position     0 1     2 3
//! ```

use serde::{Deserialize, Serialize};

use super::block::{Block, product};
use crate::Refusal;
use crate::layout::shape_text;

/// Blocks of different strides are compared one by one, so many at most.
const COMPARED: u64 = 1 << 20;

/// Equal blocks at equal distances; there is at least one, and none reaches into the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Comb {
    start: u64,
    stride: u64,
    count: u64,
    block: u64,
}

impl Comb {
    /// `None` where there is no index, where blocks overlap, or where a number overflows.
    fn new(start: u64, stride: u64, count: u64, block: u64) -> Option<Self> {
        if count == 0 || block == 0 || (count > 1 && stride < block) {
            return None;
        }
        let last = (count - 1).checked_mul(stride)?.checked_add(start)?;
        last.checked_add(block)?;
        let one = count == 1 || stride == block;
        Some(Self {
            start,
            stride: if one { 1 } else { stride },
            count: if one { 1 } else { count },
            block: if one {
                count.checked_mul(block)?
            } else {
                block
            },
        })
    }

    /// Number of indices: fewer than the index behind the last.
    fn len(&self) -> u64 {
        self.count * self.block
    }

    fn end(&self) -> u64 {
        self.start + (self.count - 1) * self.stride + self.block
    }

    /// The number of the first block that ends behind an index; `count` where none does.
    fn first_behind(&self, index: u64) -> u64 {
        if index < self.start + self.block {
            return 0;
        }
        let number = (index - self.start - self.block) / self.stride + 1;
        number.min(self.count)
    }

    /// Whether an index from `from` up to below `to` is one of them.
    fn reaches(&self, from: u64, to: u64) -> bool {
        let number = self.first_behind(from);
        number < self.count && self.start + number * self.stride < to
    }

    /// Whether both have an index in common; `None` where that would take too long to find out.
    fn meets(&self, other: &Self) -> Option<bool> {
        if self.end() <= other.start || other.end() <= self.start {
            return Some(false);
        }
        let (few, many) = if self.count <= other.count {
            (self, other)
        } else {
            (other, self)
        };
        if few.count > 1 && few.stride == many.stride {
            return Some(few.meets_in_step(many));
        }
        if few.count > COMPARED {
            return None;
        }
        let mut starts = (0..few.count).map(|number| few.start + number * few.stride);
        Some(starts.any(|start| many.reaches(start, start + few.block)))
    }

    /// The same for equal strides: block `i` of one comes before block `i + k` of the other by `ahead`, whatever `i` is.
    fn meets_in_step(&self, other: &Self) -> bool {
        let wide = i128::from;
        let (stride, apart) = (wide(self.stride), wide(other.start) - wide(self.start));
        let ahead = apart.rem_euclid(stride);
        let both = |k: i128| {
            // a block number of this one, for which the other has block number + k
            let from = 0.max(-k);
            from < wide(self.count).min(wide(other.count) - k)
        };
        let k = -apart.div_euclid(stride);
        (ahead < wide(self.block) && both(k)) || (stride - ahead < wide(other.block) && both(k - 1))
    }
}

/// Ascending indices along a dimension, at least one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Along {
    /// One behind the other.
    combs: Vec<Comb>,
    /// How many of their indices are meant, from the first on.
    len: u64,
}

impl Along {
    fn of(combs: Vec<Comb>) -> Option<Self> {
        let len = combs
            .iter()
            .try_fold(0_u64, |n, c| n.checked_add(c.len()))?;
        (len > 0).then_some(Self { combs, len })
    }

    /// A run of indices.
    pub(super) fn run(start: u64, len: u64) -> Option<Self> {
        Self::regular(start, 1, 1, len)
    }

    /// Equal blocks at equal distances.
    pub(super) fn regular(start: u64, stride: u64, count: u64, block: u64) -> Option<Self> {
        Self::of(vec![Comb::new(start, stride, count, block)?])
    }

    /// Runs, each with its first index and the one behind its last, in any order; `None` where two overlap.
    pub(super) fn runs(mut runs: Vec<(u64, u64)>) -> Option<Self> {
        runs.sort_unstable();
        let mut combs: Vec<Comb> = Vec::new();
        for (start, end) in runs {
            let len = end.checked_sub(start)?;
            match combs.last_mut() {
                Some(last) if last.end() > start => return None,
                Some(last) if last.end() == start => last.block += len,
                _ => combs.push(Comb::new(start, 1, 1, len)?),
            }
        }
        Self::of(combs)
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// The first so many of them.
    pub(super) fn truncated(mut self, len: u64) -> Self {
        self.len = self.len.min(len);
        self
    }

    /// The first index.
    pub(super) fn first(&self) -> u64 {
        self.combs[0].start
    }

    /// The index behind the last, at least: where the array ends before a block does, that is known to the index.
    pub(super) fn end(&self) -> u64 {
        if self.is_run() {
            return self.first() + self.len;
        }
        let all = self.combs.iter().map(Comb::len).sum::<u64>();
        let last = self.combs[self.combs.len() - 1];
        last.end() - (all - self.len).min(last.block - 1)
    }

    /// Whether they are neighbours.
    pub(super) fn is_run(&self) -> bool {
        self.combs[0].block >= self.len
    }

    /// Calls `f` with the runs of those from index `from` up to below `to`: position, index and length.
    pub(super) fn within(&self, from: u64, to: u64, f: &mut dyn FnMut(u64, u64, u64)) {
        let mut before = 0;
        for comb in &self.combs {
            for number in comb.first_behind(from)..comb.count {
                let start = comb.start + number * comb.stride;
                let at = before + number * comb.block;
                if start >= to || at >= self.len {
                    break;
                }
                let end = start + comb.block.min(self.len - at);
                let (first, end) = (start.max(from), end.min(to));
                if first < end {
                    f(at + (first - start), first, end - first);
                }
            }
            before += comb.len();
        }
    }

    /// Calls `f` with the runs of `len` of them from a position on: index and length.
    pub(super) fn from(&self, position: u64, len: u64, f: &mut dyn FnMut(u64, u64)) {
        let (mut at, mut left) = (position, len.min(self.len.saturating_sub(position)));
        let mut before = 0;
        for comb in &self.combs {
            while left > 0 && at < before + comb.len() {
                let (number, inside) = ((at - before) / comb.block, (at - before) % comb.block);
                let run = (comb.block - inside).min(left);
                f(comb.start + number * comb.stride + inside, run);
                at += run;
                left -= run;
            }
            before += comb.len();
        }
    }

    fn meets(&self, other: &Self) -> Option<bool> {
        let mut met = false;
        for one in &self.combs {
            for another in &other.combs {
                met = met || one.meets(another)?;
            }
        }
        Some(met)
    }
}

/// The box that a product of indices lies in.
pub(super) fn bounds(axes: &[Along]) -> Block {
    Block::new(
        axes.iter().map(Along::first).collect(),
        axes.iter()
            .map(|along| along.end() - along.first())
            .collect(),
    )
}

/// The block that a product of indices is; `None` where it has gaps.
pub(super) fn block_of(axes: &[Along]) -> Option<Block> {
    axes.iter().all(Along::is_run).then(|| bounds(axes))
}

/// How many elements of an array of this shape lie in products of indices, none in two of them; all are within the array.
pub(super) fn covered(shape: &[u64], all: &[&[Along]]) -> Result<u64, Refusal> {
    let wrong = |message: String| Refusal::NotBlocks { message };
    product(shape).ok_or_else(|| wrong("too many elements".to_owned()))?;
    let mut boxes = Vec::with_capacity(all.len());
    for axes in all {
        let bounds = bounds(axes);
        if !bounds.fits(shape) {
            return Err(wrong(format!(
                "{} does not lie in an array of {}",
                bounds.text(),
                shape_text(shape)
            )));
        }
        boxes.push((bounds, *axes));
    }
    // products are compared with those that begin below their end along the dimension with the most beginnings
    let beginnings = |axis: usize| {
        let mut starts: Vec<u64> = boxes.iter().map(|(bounds, _)| bounds.start[axis]).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.len()
    };
    if let Some(axis) = (0..shape.len()).max_by_key(|&axis| beginnings(axis)) {
        boxes.sort_by_key(|(bounds, _)| bounds.start[axis]);
        for (i, (one, own)) in boxes.iter().enumerate() {
            let end = one.start[axis] + one.shape[axis];
            let near = boxes[i + 1..].iter();
            for (other, others) in near.take_while(|(other, _)| other.start[axis] < end) {
                let mut met = one.meets(other);
                for (own, others) in own.iter().zip(others.iter()) {
                    met = met
                        && own.meets(others).ok_or_else(|| {
                            wrong("too many blocks at different distances".to_owned())
                        })?;
                }
                if met {
                    let (one, other) = (one.text(), other.text());
                    return Err(wrong(format!("{one} and {other} overlap")));
                }
            }
        }
    } else if boxes.len() > 1 {
        return Err(wrong("two scalars overlap".to_owned()));
    }
    // disjoint and inside: no more than there are
    let elements = all
        .iter()
        .map(|axes| axes.iter().map(Along::len).product::<u64>());
    Ok(elements.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(along: &Along) -> Vec<u64> {
        let mut all = Vec::new();
        along.from(0, u64::MAX, &mut |first, len| {
            all.extend(first..first + len);
        });
        all
    }

    #[test]
    fn indices_and_their_positions() {
        let comb = Along::regular(1, 4, 3, 2).unwrap();
        assert_eq!(listed(&comb), [1, 2, 5, 6, 9, 10]);
        let some = comb.clone().truncated(5);
        assert_eq!(listed(&some), [1, 2, 5, 6, 9]);
        assert_eq!((some.len(), some.first(), some.end()), (5, 1, 10));
        let lists = Along::runs(vec![(9, 11), (1, 3), (5, 6), (6, 7)]).unwrap();
        assert_eq!(listed(&lists), listed(&comb));
        for along in [&comb, &some, &lists] {
            let all = listed(along);
            for from in 0..13 {
                for to in from..13 {
                    let mut seen = Vec::new();
                    along.within(from, to, &mut |at, first, len| {
                        seen.extend((0..len).map(|i| (at + i, first + i)));
                    });
                    let wanted = all.iter().enumerate().map(|(at, &g)| (at as u64, g));
                    let wanted = wanted.filter(|(_, g)| (from..to).contains(g));
                    assert_eq!(seen, wanted.collect::<Vec<_>>(), "{from}..{to}");
                }
            }
            let mut middle = Vec::new();
            along.from(1, 3, &mut |first, len| middle.extend(first..first + len));
            assert_eq!(middle, all[1..4]);
        }
        assert!(Along::regular(0, 2, 3, 2).unwrap().is_run());
        assert!(!comb.is_run() && comb.truncated(2).is_run());
        assert_eq!(Along::runs(vec![(0, 2), (1, 3)]), None);
        assert_eq!(Along::regular(0, 1, 2, 2), None);
        assert_eq!(Along::regular(u64::MAX, 1, 1, 1), None);
        assert_eq!(Along::run(3, 0), None);
    }

    #[test]
    fn combs_meet_where_their_indices_do() {
        let mut combs = Vec::new();
        for (start, stride, count, block) in (0..4).flat_map(|start| {
            [
                (1, 1, 1),
                (1, 1, 5),
                (2, 4, 1),
                (3, 3, 2),
                (4, 2, 2),
                (4, 3, 1),
                (5, 2, 3),
            ]
            .map(|(stride, count, block)| (3 * start, stride, count, block))
        }) {
            combs.push(Along::regular(start, stride, count, block).unwrap());
        }
        for one in &combs {
            for other in &combs {
                let both = listed(one);
                let expected = listed(other).iter().any(|index| both.contains(index));
                assert_eq!(one.meets(other), Some(expected), "{one:?} {other:?}");
            }
        }
        // as many as nobody could list
        let even = Along::regular(0, 2, 1 << 40, 1).unwrap();
        let odd = Along::regular(1, 2, 1 << 40, 1).unwrap();
        assert_eq!(even.meets(&odd), Some(false));
        assert_eq!(even.meets(&even), Some(true));
        let thirds = Along::regular(0, 3, 1 << 40, 1).unwrap();
        assert_eq!(even.meets(&thirds), None);
    }

    #[test]
    fn products_cover_or_do_not() {
        let tile = |start: [u64; 2], shape: [u64; 2]| {
            [0, 1].map(|axis| Along::run(start[axis], shape[axis]).unwrap())
        };
        let cover = |shape: &[u64], tiles: &[[Along; 2]]| {
            covered(
                shape,
                &tiles.iter().map(<[Along; 2]>::as_slice).collect::<Vec<_>>(),
            )
        };
        let tiles = [
            tile([0, 0], [2, 3]),
            tile([0, 3], [2, 1]),
            tile([2, 0], [1, 4]),
        ];
        assert_eq!(cover(&[3, 4], &tiles), Ok(12));
        assert_eq!(cover(&[3, 4], &tiles[..2]), Ok(8));
        let error = cover(&[3, 4], &[tile([0, 0], [2, 3]), tile([1, 2], [2, 2])]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("[[0, 2], [0, 3]] and [[1, 3], [2, 4]] overlap"),
            "{text}"
        );
        assert!(cover(&[3, 4], &[tile([2, 0], [2, 4])]).is_err());
        assert_eq!(covered(&[], &[&[]]), Ok(1));
        assert_eq!(covered(&[0, 3], &[]), Ok(0));
        let rows = |start| {
            [
                Along::regular(start, 2, 3, 1).unwrap(),
                Along::run(0, 4).unwrap(),
            ]
        };
        assert_eq!(cover(&[6, 4], &[rows(0), rows(1)]), Ok(24));
        assert!(cover(&[6, 4], &[rows(0), tile([2, 1], [1, 1])]).is_err());
        assert_eq!(cover(&[6, 4], &[rows(0), tile([3, 1], [1, 1])]), Ok(13));
    }
}
