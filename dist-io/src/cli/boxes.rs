//! [`Boxes`]: an array in boxes of whole chunks, as large as a budget lets them be.

use dap_protocol::{DimData, DimDict};

use super::error::CliError;

/// An array in boxes, in C order of their first elements. An axis is whole in all of them, or the axes before it go one chunk at a
/// time.
#[derive(Debug)]
pub(super) struct Boxes {
    shape: Vec<u64>,
    /// Extent of a box per axis: that of the array, or a multiple of a chunk's.
    step: Vec<u64>,
    /// The first element of the next one; `None` when all is done.
    at: Option<Vec<u64>>,
}

impl Boxes {
    /// `item` is what an element takes in memory while it is moved, in bytes. The error is what one chunk takes, which is more than
    /// the budget.
    pub(super) fn new(shape: &[u64], chunk: &[u64], item: u64, budget: u64) -> Result<Self, u64> {
        let extents = shape.iter().zip(chunk);
        let mut step: Vec<u64> = extents.map(|(&n, &c)| c.clamp(1, n.max(1))).collect();
        let bytes = |step: &[u64]| step.iter().fold(item.max(1), |n, &c| n.saturating_mul(c));
        if bytes(&step) > budget {
            return Err(bytes(&step));
        }
        for axis in (0..shape.len()).rev() {
            let times = (budget / bytes(&step)).max(1);
            step[axis] = step[axis].saturating_mul(times).min(shape[axis].max(1));
            if step[axis] < shape[axis] {
                break;
            }
        }
        Ok(Self {
            at: (!shape.contains(&0)).then(|| vec![0; shape.len()]),
            shape: shape.to_vec(),
            step,
        })
    }
}

impl Iterator for Boxes {
    type Item = Result<DimData, CliError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut at = self.at.take()?;
        let end =
            |axis: usize, first: u64| first.saturating_add(self.step[axis]).min(self.shape[axis]);
        // the grid is made up: it only has to let a block begin and end anywhere
        let dims = at.iter().zip(&self.shape).enumerate();
        let dims =
            dims.map(|(axis, (&first, &size))| DimDict::block(size, 3, 1, first..end(axis, first)));
        let piece = dims.collect::<Result<Vec<DimDict>, _>>();
        for axis in (0..at.len()).rev() {
            at[axis] = end(axis, at[axis]);
            if at[axis] < self.shape[axis] {
                self.at = Some(at);
                break;
            }
            at[axis] = 0;
        }
        Some(piece.map(DimData::new).map_err(CliError::from))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ranges(boxes: Boxes) -> Vec<Vec<(u64, u64)>> {
        let range = |dim: &DimDict| {
            let range = dim.owned_range().unwrap();
            (range.start, range.end)
        };
        boxes
            .map(|piece| piece.unwrap().iter().map(range).collect())
            .collect()
    }

    #[test]
    fn boxes_are_whole_chunks_that_fit_and_cover_the_array() {
        for (shape, chunk) in [
            (vec![7, 10], vec![2, 3]),
            (vec![7, 10], vec![1, 1]),
            (vec![7, 10], vec![100, 4]),
            (vec![5, 4, 6], vec![2, 3, 4]),
            (vec![], vec![]),
        ] {
            for budget in [96, 100, 500, 1000, 1 << 20] {
                let one: u64 = chunk.iter().zip(&shape).map(|(c, n)| c.min(n)).product();
                let boxes = match Boxes::new(&shape, &chunk, 8, budget) {
                    Ok(boxes) => boxes,
                    Err(needed) => {
                        assert_eq!(needed, one * 8, "{shape:?} {chunk:?} {budget}");
                        assert!(needed > budget);
                        continue;
                    }
                };
                let mut seen = BTreeSet::new();
                for piece in ranges(boxes) {
                    let elements: u64 = piece.iter().map(|(from, to)| to - from).product();
                    assert!(elements * 8 <= budget, "{piece:?} in {budget}");
                    for (&(from, to), (&c, &n)) in piece.iter().zip(chunk.iter().zip(&shape)) {
                        assert!(from % c == 0 && (to % c == 0 || to == n), "{piece:?}");
                    }
                    let mut all = vec![Vec::new()];
                    for &(from, to) in &piece {
                        let longer = |at: &Vec<u64>| -> Vec<Vec<u64>> {
                            (from..to).map(|i| [&at[..], &[i]].concat()).collect()
                        };
                        all = all.iter().flat_map(longer).collect();
                    }
                    for at in all {
                        assert!(seen.insert(at), "twice");
                    }
                }
                assert_eq!(seen.len() as u64, shape.iter().product::<u64>());
            }
        }
    }

    #[test]
    fn rows_are_whole_where_they_fit() {
        let all = ranges(Boxes::new(&[4, 10], &[1, 1], 8, 160).unwrap());
        assert_eq!(all, [[(0, 2), (0, 10)], [(2, 4), (0, 10)]]);
        let none = ranges(Boxes::new(&[4, 0], &[1, 1], 8, 160).unwrap());
        assert!(none.is_empty());
    }
}
