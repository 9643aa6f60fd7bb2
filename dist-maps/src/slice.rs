//! [`Slice`] and [`Index`]: what is taken of each dimension, by Python's rules.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

use crate::MapError;

/// `start:stop:step` as in Python: negative positions count from the end, positions beyond the ends
/// are clipped, a negative step runs backwards.
///
/// ```
/// use dist_maps::Slice;
/// assert_eq!(Slice::new(None, None, -1).resolve(5)?, (4, -1, 5)); // 4, 3, 2, 1, 0
/// assert_eq!(Slice::new(Some(-3), Some(99), 2).resolve(10)?, (7, 2, 2)); // 7, 9
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    start: Option<i64>,
    stop: Option<i64>,
    step: i64,
}

impl Slice {
    /// `start:stop:step`.
    #[must_use]
    pub const fn new(start: Option<i64>, stop: Option<i64>, step: i64) -> Self {
        Self { start, stop, step }
    }

    /// Everything.
    #[must_use]
    pub const fn full() -> Self {
        Self::new(None, None, 1)
    }

    /// First index, step and number of indices for a dimension of `size`.
    ///
    /// # Errors
    /// When the step is 0, or `size` exceeds 2⁶³ - 1.
    pub fn resolve(&self, size: u64) -> Result<(i64, i64, u64), MapError> {
        if self.step == 0 {
            return Err(MapError::Step);
        }
        crate::axis_dist::check_size(size)?;
        let n = i128::from(size);
        let forward = self.step > 0;
        let (low, high) = if forward { (0, n) } else { (-1, n - 1) };
        let place = |position: Option<i64>, default: i128| match position {
            None => default,
            Some(p) if p < 0 => (i128::from(p) + n).clamp(low, high),
            Some(p) => i128::from(p).clamp(low, high),
        };
        let start = place(self.start, if forward { low } else { high });
        let stop = place(self.stop, if forward { high } else { low });
        let step = i128::from(self.step);
        let distance = if forward { stop - start } else { start - stop };
        let count = if distance > 0 {
            (distance + step.abs() - 1) / step.abs()
        } else {
            0
        };
        // All within the size, which fits. A step longer than the dimension takes one index at
        // most, and any step does.
        let fit = |x: i128| i64::try_from(x).unwrap_or(0);
        Ok((fit(start), self.step, u64::try_from(count).unwrap_or(0)))
    }
}

/// One item of a selection: what is taken of a dimension.
///
/// Made from an integer (`3.into()`, takes one index and drops the dimension), from a range
/// (`(1..5).into()`), or from a [`Slice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// One index, negative ones from the end; the dimension goes.
    At(i64),
    /// A slice.
    Slice(Slice),
    /// As many full slices as dimensions are left over; the second and later ones mean one.
    Ellipsis,
}

impl From<i64> for Index {
    fn from(at: i64) -> Self {
        Self::At(at)
    }
}

impl From<Slice> for Index {
    fn from(slice: Slice) -> Self {
        Self::Slice(slice)
    }
}

impl From<Range<i64>> for Index {
    fn from(range: Range<i64>) -> Self {
        Self::Slice(Slice::new(Some(range.start), Some(range.end), 1))
    }
}

impl From<RangeFrom<i64>> for Index {
    fn from(range: RangeFrom<i64>) -> Self {
        Self::Slice(Slice::new(Some(range.start), None, 1))
    }
}

impl From<RangeTo<i64>> for Index {
    fn from(range: RangeTo<i64>) -> Self {
        Self::Slice(Slice::new(None, Some(range.end), 1))
    }
}

impl From<RangeFull> for Index {
    fn from(_: RangeFull) -> Self {
        Self::Slice(Slice::full())
    }
}

impl Index {
    /// One item for each of `ndim` dimensions: the ellipsis spelled out, missing ones full. Local.
    ///
    /// ```
    /// use dist_maps::{Index, MapError, Slice};
    ///
    /// let full = Index::from(..);
    /// let last = Index::from(Slice::new(Some(2), None, 1));
    /// assert_eq!(Index::expand(&[Index::Ellipsis, last], 3)?, [full, full, last]);
    /// assert_eq!(Index::expand(&[last], 2)?, [last, full]);
    /// # Ok::<(), MapError>(())
    /// ```
    ///
    /// # Errors
    /// [`MapError::Count`] for more items than dimensions.
    pub fn expand(items: &[Self], ndim: usize) -> Result<Vec<Self>, MapError> {
        let full = Self::Slice(Slice::full());
        let first = items.iter().position(|item| *item == Self::Ellipsis);
        let named = items.len() - usize::from(first.is_some());
        if named > ndim {
            return Err(MapError::Count {
                what: "indices",
                given: named,
                expected: ndim,
            });
        }
        let mut all = Vec::with_capacity(ndim);
        for (at, &item) in items.iter().enumerate() {
            match item {
                Self::Ellipsis if first == Some(at) => {
                    all.extend(std::iter::repeat_n(full, ndim - named));
                }
                Self::Ellipsis => all.push(full),
                item => all.push(item),
            }
        }
        all.resize(ndim, full);
        Ok(all)
    }
}
