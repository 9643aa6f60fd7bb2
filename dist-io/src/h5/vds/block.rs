//! [`Block`]: elements of an array without gaps.

use serde::{Deserialize, Serialize};

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
    pub(super) fn meets(&self, other: &Self) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_those_of_c_order() {
        assert_eq!(strides(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(strides(&[]), Vec::<u64>::new());
        assert_eq!(product(&[u64::MAX, 0]), Some(0));
        assert_eq!(product(&[u64::MAX, 2]), None);
    }
}
