//! The pass over a rank's block.

use std::ops::Range;

use super::block::Leading;
use super::{Block, Order, Place, Reduction};
use crate::binary_counter::BinaryCounter;

/// The state of all elements of a block, whose axes are all reduced; `None` where it has none.
pub(crate) fn whole<T: Copy, R: Reduction<T>>(
    block: &Block<'_, T>,
    reduction: &R,
) -> Option<R::State> {
    let mut states = Vec::with_capacity(1);
    tile(block, reduction, 0..1, &mut states);
    states.pop()
}

/// Fills `states` with those of a range of outputs, which are numbered in C order of the kept axes; with none where there is
/// nothing to reduce.
pub(crate) fn tile<T: Copy, R: Reduction<T>>(
    block: &Block<'_, T>,
    reduction: &R,
    outputs: Range<usize>,
    states: &mut Vec<R::State>,
) {
    states.clear();
    if block.reduced == 0 || outputs.is_empty() {
        return;
    }
    let mut kept = Walk::over(&block.leading, false);
    let mut reduced = Walk::over(&block.leading, true);
    if block.last_reduced {
        let mut stream = Stream::new(reduction);
        kept.seek(outputs.start);
        for _ in outputs {
            if reduced.count == 1 && block.len <= R::BLOCK {
                let row = block.row(block.origin + kept.offset);
                states.push(reduction.of_run(row, block.place(0)));
            } else {
                reduced.seek(0);
                for _ in 0..reduced.count {
                    let row = block.row(block.origin + kept.offset + reduced.offset);
                    stream.feed(row, block.place(reduced.place));
                    reduced.step();
                }
                states.extend(stream.finish());
            }
            kept.step();
        }
        return;
    }
    let mut rows = Vec::with_capacity(R::ROWS);
    let mut places = Vec::new();
    let mut next = outputs.start;
    while next < outputs.end {
        let first = next % block.len;
        let width = (block.len - first).min(outputs.end - next).min(R::COLUMNS);
        kept.seek(next / block.len);
        let merge = |mut left: Vec<R::State>, right: Vec<R::State>| {
            merge_all(reduction, &mut left, &right);
            left
        };
        let mut tree: BinaryCounter<Vec<R::State>> = BinaryCounter::new();
        reduced.seek(0);
        let mut left = reduced.count;
        while left > 0 {
            let take = left.min(R::ROWS);
            rows.clear();
            places.clear();
            for _ in 0..take {
                let row = block.row(block.origin + kept.offset + reduced.offset);
                rows.push(&row[first..first + width]);
                if R::ORDER == Order::Places {
                    places.push(block.base + reduced.place);
                }
                reduced.step();
            }
            let mut leaf = Vec::with_capacity(width);
            reduction.of_rows(&rows, &places, &mut leaf);
            match tree.last_mut() {
                Some(all) if R::ORDER != Order::Tree => merge_all(reduction, all, &leaf),
                _ => tree.push(leaf, merge),
            }
            left -= take;
        }
        if let Some(found) = tree.finish(merge) {
            states.extend(found);
        }
        next += width;
    }
}

/// The state of what both know.
#[inline]
fn merged<T: Copy, R: Reduction<T>>(
    reduction: &R,
    mut left: R::State,
    right: R::State,
) -> R::State {
    reduction.merge(&mut left, &right);
    left
}

/// Merges the states of the same outputs.
fn merge_all<T: Copy, R: Reduction<T>>(reduction: &R, left: &mut [R::State], right: &[R::State]) {
    for (left, right) in left.iter_mut().zip(right) {
        reduction.merge(left, right);
    }
}

impl<T: Copy> Block<'_, T> {
    fn place(&self, of_row: i64) -> Place<'_> {
        Place {
            base: self.base + of_row,
            along: &self.along,
            from: 0,
        }
    }
}

/// The positions of some leading axes, in C order.
struct Walk<'a> {
    axes: Vec<&'a Leading>,
    at: Vec<usize>,
    count: usize,
    offset: isize,
    place: i64,
}

impl<'a> Walk<'a> {
    fn over(leading: &'a [Leading], reduced: bool) -> Self {
        let axes: Vec<&Leading> = leading
            .iter()
            .filter(|axis| axis.reduced == reduced)
            .collect();
        Self {
            at: vec![0; axes.len()],
            count: axes.iter().map(|axis| axis.len).product(),
            axes,
            offset: 0,
            place: 0,
        }
    }

    fn seek(&mut self, mut number: usize) {
        (self.offset, self.place) = (0, 0);
        for (axis, at) in self.axes.iter().zip(&mut self.at).rev() {
            *at = number % axis.len;
            number /= axis.len;
            self.offset += axis.stride * at.cast_signed();
            self.place += axis.places.at(*at);
        }
    }

    /// On to the next position; from the last to the first.
    fn step(&mut self) {
        for (axis, at) in self.axes.iter().zip(&mut self.at).rev() {
            let before = axis.places.at(*at);
            *at += 1;
            self.offset += axis.stride;
            if *at < axis.len {
                self.place += axis.places.at(*at) - before;
                return;
            }
            self.offset -= axis.stride * axis.len.cast_signed();
            *at = 0;
            self.place += axis.places.at(0) - before;
        }
    }
}

/// Cuts a stream of runs into leaves that do not depend on how it came in, unless places are asked for: then leaves end
/// with the runs.
struct Stream<'r, T: Copy, R: Reduction<T>> {
    reduction: &'r R,
    pending: Vec<T>,
    tree: BinaryCounter<R::State>,
}

impl<'r, T: Copy, R: Reduction<T>> Stream<'r, T, R> {
    fn new(reduction: &'r R) -> Self {
        Self {
            reduction,
            pending: Vec::new(),
            tree: BinaryCounter::new(),
        }
    }

    fn feed(&mut self, mut run: &[T], place: Place<'_>) {
        if R::ORDER == Order::Places {
            for (at, leaf) in run.chunks(R::BLOCK).enumerate() {
                let from = at * R::BLOCK;
                self.leaf(leaf, Place { from, ..place });
            }
            return;
        }
        if !self.pending.is_empty() {
            let (head, rest) = run.split_at(run.len().min(R::BLOCK - self.pending.len()));
            self.pending.extend_from_slice(head);
            if self.pending.len() < R::BLOCK {
                return;
            }
            let leaf = std::mem::take(&mut self.pending);
            self.leaf(&leaf, place);
            self.pending = leaf;
            self.pending.clear();
            run = rest;
        }
        let leaves = run.chunks_exact(R::BLOCK);
        self.pending.extend_from_slice(leaves.remainder());
        for leaf in leaves {
            self.leaf(leaf, place);
        }
    }

    fn leaf(&mut self, elements: &[T], place: Place<'_>) {
        if R::ORDER != Order::Tree
            && let Some(state) = self.tree.last_mut()
        {
            self.reduction.take_run(state, elements, place);
            return;
        }
        let state = self.reduction.of_run(elements, place);
        let reduction = self.reduction;
        self.tree
            .push(state, |left, right| merged(reduction, left, right));
    }

    /// The state of all that came in. Begins anew.
    fn finish(&mut self) -> Option<R::State> {
        if !self.pending.is_empty() {
            let leaf = std::mem::take(&mut self.pending);
            self.leaf(&leaf, Place::UNASKED);
            self.pending = leaf;
            self.pending.clear();
        }
        let reduction = self.reduction;
        self.tree
            .finish(|left, right| merged(reduction, left, right))
    }
}

#[cfg(test)]
mod tests {
    use super::super::places::Places;
    use super::super::{Sum, sums};
    use super::*;

    fn sum(pieces: &[&[f64]]) -> f64 {
        let sum = Sum::<f64>::new();
        let mut stream = Stream::new(&sum);
        for piece in pieces {
            stream.feed(piece, Place::UNASKED);
        }
        stream.finish().unwrap_or(0.0)
    }

    #[test]
    fn the_bits_do_not_depend_on_the_cuts() {
        let numbers: Vec<f64> = (0..10_000).map(|i| 1.0 / f64::from(i + 1)).collect();
        let whole = sum(&[&numbers]);
        for cut in [1, 7, 127, 128, 129, 4096, 9999] {
            let cut = [&numbers[..cut], &numbers[cut..]];
            assert_eq!(sum(&cut).to_bits(), whole.to_bits());
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
    fn integers_come_out_exact_for_every_length_and_grouping() {
        for n in (1..300_usize).chain([1 << 10, (1 << 10) + 1, 12_345]) {
            let numbers: Vec<u64> = (0..n as u64).collect();
            let total: u64 = numbers.iter().sum();
            let reduction = Sum::<u64>::new();
            let block = Block::copied(&[n], numbers.clone(), &[true], vec![Places::Unasked]);
            assert_eq!(whole(&block, &reduction), Some(total));
            let rows = Block::copied(
                &[n, 3],
                numbers.repeat(3),
                &[true, false],
                vec![Places::Unasked; 2],
            );
            let mut states = Vec::new();
            tile(&rows, &reduction, 0..3, &mut states);
            assert_eq!(states.iter().sum::<u64>(), 3 * total);
            tile(&rows, &reduction, 1..2, &mut states);
            assert_eq!(states.len(), 1);
        }
        assert_eq!(sums::LANES, 8);
    }

    #[test]
    fn walks_are_in_c_order() {
        let axis = |len, stride, places: &[i64]| Leading {
            len,
            stride,
            reduced: true,
            places: Places::listed(places.iter().copied()),
        };
        let leading = [axis(2, 100, &[7, 8]), axis(3, -1, &[20, 0, 10])];
        let mut walk = Walk::over(&leading, true);
        walk.seek(0);
        let mut seen = Vec::new();
        for number in 0..walk.count {
            seen.push((walk.offset, walk.place));
            let mut other = Walk::over(&leading, true);
            other.seek(number);
            assert_eq!((other.offset, other.place), seen[number]);
            walk.step();
        }
        let wanted = [(0, 27), (-1, 7), (-2, 17), (100, 28), (99, 8), (98, 18)];
        assert_eq!(seen, wanted);
    }
}
