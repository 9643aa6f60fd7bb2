//! [`ProcessGrid`]: ranks as coordinates, last coordinate fastest (protocol, "process grid").

use crate::ProtocolError;

/// A Cartesian grid of ranks in C order.
///
/// ```
/// use dap_protocol::ProcessGrid;
/// let grid = ProcessGrid::new(vec![2, 3])?;
/// assert_eq!(grid.coords(4)?, [1, 1]);
/// assert_eq!(grid.rank(&[1, 1])?, 4);
/// # Ok::<(), dap_protocol::ProtocolError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessGrid {
    shape: Vec<usize>,
    len: usize,
}

impl ProcessGrid {
    /// A grid of this shape; the empty shape is the grid of one rank for a 0-d array.
    ///
    /// # Errors
    /// When an extent is 0, or the product overflows.
    pub fn new(shape: Vec<usize>) -> Result<Self, ProtocolError> {
        if let Some(axis) = shape.iter().position(|&n| n == 0) {
            let v = crate::Violation::new(crate::Code::C4, "0", "at least 1")
                .key("proc_grid_size")
                .axis(axis);
            return Err(v.into());
        }
        let len = shape
            .iter()
            .try_fold(1_usize, |product, &n| product.checked_mul(n));
        let len = len.ok_or(ProtocolError::Overflow {
            what: "number of ranks",
        })?;
        Ok(Self { shape, len })
    }

    /// Extent per dimension, in ranks.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of ranks, at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a grid is never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Coordinates of a rank.
    ///
    /// # Errors
    /// [`ProtocolError::OutsideGrid`] when `rank` is not below [`ProcessGrid::len`].
    pub fn coords(&self, rank: usize) -> Result<Vec<usize>, ProtocolError> {
        if rank >= self.len {
            return Err(ProtocolError::OutsideGrid {
                what: "rank",
                given: rank,
                len: self.len,
            });
        }
        let mut rest = rank;
        let mut coords = vec![0; self.shape.len()];
        for (coord, &n) in coords.iter_mut().zip(&self.shape).rev() {
            *coord = rest % n;
            rest /= n;
        }
        Ok(coords)
    }

    /// Rank at the given coordinates.
    ///
    /// # Errors
    /// [`ProtocolError::CoordinateCount`] when their number is not that of the dimensions,
    /// [`ProtocolError::OutsideGrid`] when a coordinate is out of range.
    pub fn rank(&self, coords: &[usize]) -> Result<usize, ProtocolError> {
        if coords.len() != self.shape.len() {
            return Err(ProtocolError::CoordinateCount {
                given: coords.len(),
                expected: self.shape.len(),
            });
        }
        let mut rank = 0;
        for (&coord, &n) in coords.iter().zip(&self.shape) {
            if coord >= n {
                return Err(ProtocolError::OutsideGrid {
                    what: "coordinate",
                    given: coord,
                    len: n,
                });
            }
            rank = rank * n + coord;
        }
        Ok(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_of_coordinates_names_the_right_one() {
        let grid = ProcessGrid::new(vec![2, 3]).unwrap();
        for coords in [&[1][..], &[1, 1, 0]] {
            let e = grid.rank(coords).unwrap_err();
            let given = coords.len();
            assert_eq!(e, ProtocolError::CoordinateCount { given, expected: 2 });
        }
        let e = grid.rank(&[1]).unwrap_err();
        assert_eq!(
            e.to_string(),
            "1 coordinate(s) were given, the process grid has 2 dimension(s)"
        );
    }
}
