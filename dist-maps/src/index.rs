//! [`GlobalIndex`] and [`LocalIndex`], and C-order packing of index tuples.

use crate::MapError;

/// A position in the whole dimension, in elements.
///
/// Signed, because unstructured indices may be negative. There is no conversion from a bare
/// integer: a local position passed for a global one would be a number too, and a wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GlobalIndex(i64);

impl GlobalIndex {
    /// The global index `index`.
    #[must_use]
    pub const fn new(index: i64) -> Self {
        Self(index)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

/// A position in one rank's buffer along a dimension, padding included, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalIndex(usize);

impl LocalIndex {
    /// The local index `index`.
    #[must_use]
    pub const fn new(index: usize) -> Self {
        Self(index)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> usize {
        self.0
    }
}

/// The position of an index tuple in the C-order flattening of an array of `shape`; 0 for a scalar.
///
/// # Errors
/// When `index` has another length than `shape`, lies outside it, or the array has 2⁶⁴ elements or more.
///
/// ```
/// use dist_maps::{pack_index, unpack_index};
/// assert_eq!(pack_index(&[16, 16, 2], &[3, 4, 1])?, 105);
/// assert_eq!(unpack_index(&[16, 16, 2], 105)?, [3, 4, 1]);
/// # Ok::<(), dist_maps::MapError>(())
/// ```
pub fn pack_index(shape: &[u64], index: &[u64]) -> Result<u64, MapError> {
    if index.len() != shape.len() {
        return Err(MapError::Count {
            what: "indices",
            given: index.len(),
            expected: shape.len(),
        });
    }
    flat_size(shape)?;
    let mut packed = 0;
    for (axis, (&i, &n)) in index.iter().zip(shape).enumerate() {
        if i >= n {
            return Err(outside(Some(axis), i, n));
        }
        packed = packed * n + i;
    }
    Ok(packed)
}

/// The index tuple at a position of the C-order flattening: the inverse of [`pack_index`].
///
/// # Errors
/// When `packed` is not below the number of elements, or that is 2⁶⁴ or more.
pub fn unpack_index(shape: &[u64], packed: u64) -> Result<Vec<u64>, MapError> {
    let size = flat_size(shape)?;
    if packed >= size {
        return Err(outside(None, packed, size));
    }
    let mut rest = packed;
    let mut index = vec![0; shape.len()];
    for (i, &n) in index.iter_mut().zip(shape).rev() {
        *i = rest % n; // no extent is 0, or there would be no `packed` below the product
        rest /= n;
    }
    Ok(index)
}

fn outside(axis: Option<usize>, given: u64, size: u64) -> MapError {
    MapError::Index {
        axis,
        given: i64::try_from(given).unwrap_or(i64::MAX),
        size,
    }
}

/// Product of extents, 0 where one is 0.
pub(crate) fn flat_size(shape: &[u64]) -> Result<u64, MapError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let size = shape
        .iter()
        .try_fold(1_u64, |product, &n| product.checked_mul(n));
    Ok(size.ok_or(dap_protocol::ProtocolError::Overflow {
        what: "global size",
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_and_edges() {
        assert_eq!(pack_index(&[], &[]).unwrap(), 0);
        assert_eq!(unpack_index(&[], 0).unwrap(), [0_u64; 0]);
        assert!(unpack_index(&[], 1).is_err());
        assert!(unpack_index(&[3, 0], 0).is_err());
        assert!(pack_index(&[3, 2], &[1, 2]).is_err());
        assert!(pack_index(&[1 << 40, 1 << 40], &[0, 0]).is_err());
        let big = [1 << 40, 1 << 20];
        let last = [(1 << 40) - 1, (1 << 20) - 1];
        assert_eq!(
            unpack_index(&big, pack_index(&big, &last).unwrap()).unwrap(),
            last
        );
    }
}
