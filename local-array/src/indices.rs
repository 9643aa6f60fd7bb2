//! [`Indices`]: lists of indices that every rank gives alike.

use std::borrow::Cow;

use ndarray::{ArrayBase, Data, Dimension};

mod sealed {
    #[expect(
        unnameable_types,
        reason = "that is the point: nobody else implements it"
    )]
    pub trait Sealed {}
}

/// Indices that every rank gives alike: one number, a list, or an `ndarray` of any dimension. Sealed. Example: see
/// [`take`](crate::LocalArrayBase::take).
///
/// For indices that are spread over the ranks themselves see [`take_at`](crate::LocalArrayBase::take_at),
/// [`take_at_along`](crate::LocalArrayBase::take_at_along) and [`put_at`](crate::LocalArrayBase::put_at).
pub trait Indices: sealed::Sealed {
    /// The indices.
    #[doc(hidden)]
    fn list(&self) -> IndexList<'_>;
}

/// What [`Indices`] are: numbers in C order, and their shape.
#[doc(hidden)]
#[derive(Debug)]
pub struct IndexList<'a> {
    pub(crate) values: Cow<'a, [i64]>,
    pub(crate) shape: Vec<u64>,
}

impl<'a> IndexList<'a> {
    fn flat(values: &'a [i64]) -> Self {
        Self {
            values: Cow::Borrowed(values),
            shape: vec![values.len() as u64],
        }
    }
}

impl sealed::Sealed for i64 {}
impl Indices for i64 {
    fn list(&self) -> IndexList<'_> {
        IndexList {
            values: Cow::Borrowed(std::slice::from_ref(self)),
            shape: Vec::new(),
        }
    }
}

impl sealed::Sealed for &[i64] {}
impl Indices for &[i64] {
    fn list(&self) -> IndexList<'_> {
        IndexList::flat(self)
    }
}

impl sealed::Sealed for &Vec<i64> {}
impl Indices for &Vec<i64> {
    fn list(&self) -> IndexList<'_> {
        IndexList::flat(self)
    }
}

impl<const N: usize> sealed::Sealed for [i64; N] {}
impl<const N: usize> Indices for [i64; N] {
    fn list(&self) -> IndexList<'_> {
        IndexList::flat(self)
    }
}

impl<const N: usize> sealed::Sealed for &[i64; N] {}
impl<const N: usize> Indices for &[i64; N] {
    fn list(&self) -> IndexList<'_> {
        IndexList::flat(*self)
    }
}

impl<S: Data<Elem = i64>, D: Dimension> sealed::Sealed for &ArrayBase<S, D> {}
impl<S: Data<Elem = i64>, D: Dimension> Indices for &ArrayBase<S, D> {
    fn list(&self) -> IndexList<'_> {
        let values = match self.as_slice() {
            Some(values) => Cow::Borrowed(values),
            None => Cow::Owned(self.iter().copied().collect()),
        };
        IndexList {
            values,
            shape: self.shape().iter().map(|&n| n as u64).collect(),
        }
    }
}
