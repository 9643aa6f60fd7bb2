//! [`Layout`]: where the elements of a local array lie in a slice.

use super::CopyError;

/// Origin and strides of a local array in a slice, both in elements.
///
/// Element `(i, j, …)` is `slice[origin + i * strides[0] + j * strides[1] + …]`. Strides may be
/// negative, in any order, or leave gaps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    origin: usize,
    strides: Vec<isize>,
}

impl Layout {
    /// These strides, element `(0, 0, …)` at `origin`.
    ///
    /// ```
    /// use dist_maps::copy::Layout;
    /// // four elements, last one first
    /// let reversed = Layout::new(3, &[-1]);
    /// assert_eq!(reversed.strides(), [-1]);
    /// ```
    #[must_use]
    pub fn new(origin: usize, strides: &[isize]) -> Self {
        Self {
            origin,
            strides: strides.to_vec(),
        }
    }

    /// A dense array of this shape, last dimension contiguous.
    ///
    /// # Errors
    /// [`CopyError::Overflow`] when a stride exceeds the address space.
    pub fn c_order(shape: &[usize]) -> Result<Self, CopyError> {
        let mut strides = vec![0; shape.len()];
        dense(shape.iter().rev(), strides.iter_mut().rev())?;
        Ok(Self { origin: 0, strides })
    }

    /// A dense array of this shape, first dimension contiguous.
    ///
    /// # Errors
    /// [`CopyError::Overflow`] when a stride exceeds the address space.
    pub fn f_order(shape: &[usize]) -> Result<Self, CopyError> {
        let mut strides = vec![0; shape.len()];
        dense(shape.iter(), strides.iter_mut())?;
        Ok(Self { origin: 0, strides })
    }

    /// These strides in a slice that begins at the array's lowest address, as `ndarray`'s
    /// `as_slice_memory_order` gives it: the origin is the start, moved up for every negative stride.
    ///
    /// # Errors
    /// [`CopyError`] when the lengths differ or the origin overflows.
    ///
    /// ```
    /// use dist_maps::copy::Layout;
    /// assert_eq!(Layout::in_memory_order(&[4], &[-1])?, Layout::new(3, &[-1]));
    /// # Ok::<(), dist_maps::copy::CopyError>(())
    /// ```
    pub fn in_memory_order(shape: &[usize], strides: &[isize]) -> Result<Self, CopyError> {
        if shape.len() != strides.len() {
            return Err(CopyError::Dimensions {
                what: "the strides",
                given: strides.len(),
                allowed: shape.len(),
            });
        }
        let mut origin = 0_usize;
        for (&n, &stride) in shape.iter().zip(strides) {
            if stride < 0 && n > 1 {
                origin = (n - 1)
                    .checked_mul(stride.unsigned_abs())
                    .and_then(|back| origin.checked_add(back))
                    .ok_or(CopyError::Overflow { what: "origin" })?;
            }
        }
        Ok(Self::new(origin, strides))
    }

    /// Position of element `(0, 0, …)` in the slice.
    #[must_use]
    pub fn origin(&self) -> usize {
        self.origin
    }

    /// Elements between neighbours, per dimension.
    #[must_use]
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.strides.len()
    }

    pub(crate) fn stride(&self, axis: usize) -> isize {
        self.strides[axis]
    }

    pub(crate) fn check_ndim(&self, what: &'static str, allowed: usize) -> Result<(), CopyError> {
        if self.ndim() == allowed {
            Ok(())
        } else {
            Err(CopyError::Dimensions {
                what,
                given: self.ndim(),
                allowed,
            })
        }
    }
}

fn dense<'a>(
    shape: impl Iterator<Item = &'a usize>,
    strides: impl Iterator<Item = &'a mut isize>,
) -> Result<(), CopyError> {
    let mut next = 1_isize;
    for (&n, stride) in shape.zip(strides) {
        *stride = next;
        next = isize::try_from(n.max(1))
            .ok()
            .and_then(|n| next.checked_mul(n))
            .ok_or(CopyError::Overflow { what: "stride" })?;
    }
    Ok(())
}

/// Product of extents; an extent of 0 makes it 0.
pub(crate) fn product(shape: &[usize]) -> Result<usize, CopyError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1_usize, |product, &n| product.checked_mul(n))
        .ok_or(CopyError::Overflow {
            what: "number of elements",
        })
}
