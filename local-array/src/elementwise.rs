//! Element by element: functions of one array, of two, in place and out of place.
//!
//! Arrays are combined on the rank where their elements lie, without communication; where they lie differently, that is an
//! error, found from the distributions alone and so the same on every rank.

use bytemuck::Zeroable;
use dist_comm::Communicator;
use ndarray::{ArrayView, Data, DataMut, Dimension, Zip};

use crate::part::Part;
use crate::{ArrayError, LocalArray, LocalArrayBase};

mod sealed {
    #[expect(
        unnameable_types,
        reason = "that is the point: nobody else implements it"
    )]
    pub trait Sealed {}
}

/// The right side of an operation, with elements of type `T`: an array by reference, or one value for all. Sealed.
pub trait Operand<T, D>: sealed::Sealed {
    /// Where the elements come from.
    #[doc(hidden)]
    fn side<'a>(self) -> Side<'a, T, D>
    where
        Self: 'a;
}

/// What an [`Operand`] is.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "not for users")]
pub enum Side<'a, T, D> {
    /// One value.
    Scalar(T),
    /// The stored elements of an array, and how they are distributed.
    Array(ArrayView<'a, T, D>, PartRef<'a>),
}

/// The distribution of an operand.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct PartRef<'a>(&'a Part);

impl<S: ndarray::RawData, D, C> sealed::Sealed for &LocalArrayBase<S, D, C> {}

impl<S, D, C> Operand<S::Elem, D> for &LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator,
{
    fn side<'a>(self) -> Side<'a, S::Elem, D>
    where
        Self: 'a,
    {
        Side::Array(self.data.view(), PartRef(&self.part))
    }
}

macro_rules! scalar_operand {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl<D: Dimension> Operand<$t, D> for $t {
            fn side<'a>(self) -> Side<'a, $t, D> {
                Side::Scalar(self)
            }
        }
    )*};
}

scalar_operand!(
    bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    half::f16,
    half::bf16,
    f32,
    f64,
    num_complex::Complex32,
    num_complex::Complex64
);

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator,
{
    /// A new array of `f` of each element, padding included. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let lengths = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([100]).block(0).build()?;
    ///     let x = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |global| global[0] as f64)?;
    ///     x.map(|&x| x.sqrt()).max()
    /// })?;
    /// assert_eq!(lengths, [99_f64.sqrt(); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn map<R>(&self, f: impl FnMut(&S::Elem) -> R) -> LocalArray<R, D, C>
    where
        C: Clone,
    {
        self.with_data(self.data.map(f), self.comm.clone())
    }

    /// A new array of `f` of each element of this array and of `other`. Local.
    ///
    /// The result is distributed as this array is. Padding is computed too where both have the same; otherwise the padding
    /// of the result is zero until [`exchange_halo`](LocalArrayBase::exchange_halo).
    ///
    /// # Errors
    /// [`ArrayError::IncompatibleArray`], the same on every rank; [`ArrayError::Allocation`].
    pub fn zip_map<T, R>(
        &self,
        other: impl Operand<T, D>,
        f: impl Fn(S::Elem, T) -> R,
    ) -> Result<LocalArray<R, D, C>, ArrayError>
    where
        T: Copy,
        S::Elem: Copy,
        R: Zeroable,
        C: Clone,
    {
        let data = match other.side() {
            Side::Scalar(b) => self.data.map(|&a| f(a, b)),
            Side::Array(b, PartRef(part)) => {
                self.part.check_compatible(part)?;
                if self.part.same_storage(part) {
                    Zip::from(&self.data).and(&b).map_collect(|&a, &b| f(a, b))
                } else {
                    let mut data = self.part.zeros::<R, D>()?;
                    let result = self.part.owned_of_mut(data.view_mut());
                    // Where a rank owns nothing the extents may differ.
                    if !result.is_empty() {
                        let operands = Zip::from(result).and(self.owned()).and(part.owned_of(b));
                        operands.for_each(|r, &a, &b| *r = f(a, b));
                    }
                    data
                }
            }
        };
        Ok(self.with_data(data, self.comm.clone()))
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut,
    D: Dimension,
    C: Communicator,
{
    /// Replaces each element by `f` of it, padding included. Local.
    pub fn map_inplace(&mut self, f: impl FnMut(&mut S::Elem)) {
        self.data.map_inplace(f);
    }

    /// Changes each element by `f` of it and of the one of `other`. Local.
    ///
    /// Padding is changed too where both have the same, and left alone otherwise.
    ///
    /// # Errors
    /// [`ArrayError::IncompatibleArray`], the same on every rank; nothing is changed then.
    pub fn zip_map_inplace<T: Copy>(
        &mut self,
        other: impl Operand<T, D>,
        f: impl Fn(&mut S::Elem, T),
    ) -> Result<(), ArrayError> {
        match other.side() {
            Side::Scalar(b) => self.data.map_inplace(|a| f(a, b)),
            Side::Array(b, PartRef(part)) => {
                self.part.check_compatible(part)?;
                if self.part.same_storage(part) {
                    Zip::from(&mut self.data).and(&b).for_each(|a, &b| f(a, b));
                } else {
                    let own = self.part.owned_of_mut(self.data.view_mut());
                    if !own.is_empty() {
                        Zip::from(own)
                            .and(part.owned_of(b))
                            .for_each(|a, &b| f(a, b));
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies the elements of `other`, or one value, into this array. Local.
    ///
    /// # Errors
    /// As [`zip_map_inplace`](Self::zip_map_inplace).
    pub fn assign(&mut self, other: impl Operand<S::Elem, D>) -> Result<(), ArrayError>
    where
        S::Elem: Copy,
    {
        self.zip_map_inplace(other, |a, b| *a = b)
    }
}

/// Whether the elements of the two arrays lie on the same ranks in the same order (the seed's `arecompatible`). Local, the
/// same answer on every rank.
pub fn are_compatible<S1, D1, C1, S2, D2, C2>(
    a: &LocalArrayBase<S1, D1, C1>,
    b: &LocalArrayBase<S2, D2, C2>,
) -> bool
where
    S1: ndarray::RawData,
    S2: ndarray::RawData,
{
    a.part.check_compatible(&b.part).is_ok()
}
