//! [`Block`]: elements of an array without gaps, and whether blocks make an array up.

use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::layout::shape_text;

/// A block of an array: where it begins, and its extent, per dimension, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::h5) struct Block {
    pub(in crate::h5) start: Vec<u64>,
    pub(in crate::h5) shape: Vec<u64>,
}

impl Block {
    pub(in crate::h5) fn new(start: Vec<u64>, shape: Vec<u64>) -> Self {
        Self { start, shape }
    }

    /// All of an array.
    pub(in crate::h5) fn whole(shape: &[u64]) -> Self {
        Self::new(vec![0; shape.len()], shape.to_vec())
    }

    /// Number of elements; `None` where it overflows.
    pub(in crate::h5) fn elements(&self) -> Option<u64> {
        product(&self.shape)
    }

    pub(in crate::h5) fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Whether it lies in an array of this shape.
    pub(in crate::h5) fn fits(&self, shape: &[u64]) -> bool {
        let axes = self.start.iter().zip(&self.shape).zip(shape);
        self.start.len() == shape.len()
            && axes.into_iter().all(|((&start, &extent), &size)| {
                start.checked_add(extent).is_some_and(|end| end <= size)
            })
    }

    /// Whether an element lies in it.
    pub(in crate::h5) fn contains(&self, index: &[u64]) -> bool {
        let axes = index.iter().zip(self.start.iter().zip(&self.shape));
        axes.into_iter()
            .all(|(&at, (&start, &extent))| at >= start && at - start < extent)
    }

    /// Whether two blocks of one array have an element in common; both fit the array.
    fn meets(&self, other: &Self) -> bool {
        (0..self.start.len()).all(|axis| {
            self.start[axis] < other.start[axis] + other.shape[axis]
                && other.start[axis] < self.start[axis] + self.shape[axis]
        })
    }

    /// The block as the text of an attribute: a list of the first index and the one past the last, per dimension.
    pub(in crate::h5) fn text(&self) -> String {
        let axes = self.start.iter().zip(&self.shape);
        let axes: Vec<String> = axes
            .map(|(&start, &extent)| format!("[{start}, {}]", start.saturating_add(extent)))
            .collect();
        format!("[{}]", axes.join(", "))
    }
}

/// The number of elements of a shape; `None` where it overflows.
pub(in crate::h5) fn product(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1_u64, |n, &extent| n.checked_mul(extent))
}

/// Elements between neighbours along each dimension, in C order; the shape's product does not overflow.
pub(in crate::h5) fn strides(shape: &[u64]) -> Vec<u64> {
    let mut strides = vec![1_u64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
    }
    strides
}

/// Checks that every element of an array lies in exactly one of the blocks, none of which is empty.
pub(in crate::h5) fn check_cover(shape: &[u64], blocks: &[&Block]) -> Result<(), Refusal> {
    if let Some(outside) = blocks.iter().find(|block| !block.fits(shape)) {
        return Err(Refusal::NotBlocks {
            message: format!(
                "{} does not lie in an array of {}",
                outside.text(),
                shape_text(shape)
            ),
        });
    }
    let size = product(shape).ok_or_else(|| Refusal::NotBlocks {
        message: "too many elements".to_owned(),
    })?;
    if let Some((one, other)) = pair_that_meets(shape.len(), blocks) {
        return Err(Refusal::NotBlocks {
            message: format!("{} and {} overlap", one.text(), other.text()),
        });
    }
    // disjoint and inside: the sum is at most the size
    let covered: u64 = blocks.iter().filter_map(|block| block.elements()).sum();
    if covered < size {
        return Err(Refusal::Uncovered { covered, size });
    }
    Ok(())
}

/// Two blocks that have an element in common. Blocks are compared with those that begin below their end along the dimension with
/// the most beginnings.
fn pair_that_meets<'a>(ndim: usize, blocks: &[&'a Block]) -> Option<(&'a Block, &'a Block)> {
    let beginnings = |axis: usize| {
        let mut starts: Vec<u64> = blocks.iter().map(|block| block.start[axis]).collect();
        starts.sort_unstable();
        starts.dedup();
        starts.len()
    };
    let Some(axis) = (0..ndim).max_by_key(|&axis| beginnings(axis)) else {
        // scalars: any two meet
        return Some((blocks.first()?, blocks.get(1)?));
    };
    let mut sorted = blocks.to_vec();
    sorted.sort_unstable_by_key(|block| block.start[axis]);
    for (i, block) in sorted.iter().enumerate() {
        let end = block.start[axis] + block.shape[axis];
        let near = sorted[i + 1..]
            .iter()
            .take_while(|other| other.start[axis] < end);
        if let Some(other) = near.into_iter().find(|other| block.meets(other)) {
            return Some((block, other));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: &[u64], shape: &[u64]) -> Block {
        Block::new(start.to_vec(), shape.to_vec())
    }

    fn cover(shape: &[u64], blocks: &[Block]) -> Result<(), Refusal> {
        check_cover(shape, &blocks.iter().collect::<Vec<_>>())
    }

    #[test]
    fn blocks_cover_or_do_not() {
        let tiles = [
            block(&[0, 0], &[2, 3]),
            block(&[0, 3], &[2, 1]),
            block(&[2, 0], &[1, 4]),
        ];
        assert_eq!(cover(&[3, 4], &tiles), Ok(()));
        assert_eq!(
            cover(&[3, 4], &tiles[..2]),
            Err(Refusal::Uncovered {
                covered: 8,
                size: 12
            })
        );
        let twice = [block(&[0, 0], &[2, 3]), block(&[1, 2], &[2, 2])];
        let error = cover(&[3, 4], &twice).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("[[0, 2], [0, 3]] and [[1, 3], [2, 4]] overlap"),
            "{error}"
        );
        assert!(matches!(
            cover(&[3, 4], &[block(&[2, 0], &[2, 4])]),
            Err(Refusal::NotBlocks { .. })
        ));
        assert!(matches!(
            cover(&[3, 4], &[block(&[u64::MAX, 0], &[2, 4])]),
            Err(Refusal::NotBlocks { .. })
        ));
        assert_eq!(cover(&[], &[block(&[], &[])]), Ok(()));
        assert_eq!(cover(&[0, 3], &[]), Ok(()));
    }

    #[test]
    fn strides_are_those_of_c_order() {
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(strides(&[]), Vec::<u64>::new());
        assert_eq!(product(&[u64::MAX, 0]), Some(0));
        assert_eq!(product(&[u64::MAX, 2]), None);
    }
}
