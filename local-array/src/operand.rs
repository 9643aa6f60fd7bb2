//! [`Operand`]: what may stand on the right of an operation.

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::{ArrayD, ArrayViewD, Data, DimMax, Dimension};

use crate::part::Part;
use crate::{ArrayError, LocalArrayBase};

mod sealed {
    #[expect(
        unnameable_types,
        reason = "that is the point: nobody else implements it"
    )]
    pub trait Sealed {}
}

/// An operand of an array of dimension `D`, with elements of type `T`: an array by reference, one value for all, or
/// [`Equalised`], which has an example. Sealed. Local.
pub trait Operand<T, D: Dimension>: sealed::Sealed {
    /// Dimension of the result: the larger of the two.
    type Dim: Dimension;
    /// Where the elements come from.
    #[doc(hidden)]
    fn side<'a>(self) -> Side<'a, T>
    where
        Self: 'a;
}

/// What an [`Operand`] is.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "not for users")]
pub enum Side<'a, T> {
    /// One value.
    Scalar(T),
    /// An array.
    Array(Lent<'a, T>),
}

/// How an array is brought to another distribution.
pub(crate) type Carry<'a, T> = Box<dyn Fn(&Distribution) -> Result<ArrayD<T>, ArrayError> + 'a>;

/// An array as an operand.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "not for users")]
pub struct Lent<'a, T> {
    /// What is stored.
    pub(crate) stored: ArrayViewD<'a, T>,
    /// How it is distributed.
    pub(crate) part: &'a Arc<Part>,
    /// Where it may be brought to another distribution; collective.
    pub(crate) carry: Option<Carry<'a, T>>,
}

impl<T> Side<'_, T> {
    /// Whether the operation may move elements between ranks.
    pub(crate) fn moves(&self) -> bool {
        matches!(self, Self::Array(Lent { carry: Some(_), .. }))
    }
}

impl<S: ndarray::RawData, D, C> sealed::Sealed for &LocalArrayBase<S, D, C> {}

impl<S, D, D2, C> Operand<S::Elem, D> for &LocalArrayBase<S, D2, C>
where
    S: Data,
    D: Dimension + DimMax<D2>,
    D2: Dimension,
    C: Communicator,
{
    type Dim = <D as DimMax<D2>>::Output;

    fn side<'a>(self) -> Side<'a, S::Elem>
    where
        Self: 'a,
    {
        Side::Array(self.lent())
    }
}

/// An array as an operand that is first brought to where the other operand's elements lie, if it is not there.
///
/// Operations with it are collective: which of the arrays moves follows from the distributions, so that all ranks agree. The
/// result is distributed as the left operand, or, where broadcasting makes it larger than that, as the right one; where
/// neither has the shape of the result, over the left operand's grid.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, Equalised, LocalArray};
/// use ndarray::{Ix1, Ix2};
///
/// let sums = ThreadComm::run(2, |comm| {
///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
///     let cyclic = Distribution::over(2).shape([3]).cyclic(0).build()?;
///     let a = LocalArray::<f64, Ix2, _>::ones(&rows, comm)?;
///     let b = LocalArray::<f64, Ix1, _>::from_fn(&cyclic, comm, |global| global[0] as f64)?;
///     assert!(matches!(&a * &b, Err(ArrayError::IncompatibleArray { .. })));
///     (&a * Equalised(&b))?.sum() // four rows of 0, 1, 2
/// })?;
/// assert_eq!(sums, [12.0; 2]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Equalised<A>(pub A);

impl<A> sealed::Sealed for Equalised<A> {}

impl<S, D, D2, C> Operand<S::Elem, D> for Equalised<&LocalArrayBase<S, D2, C>>
where
    S: Data<Elem: Element>,
    D: Dimension + DimMax<D2>,
    D2: Dimension,
    C: Communicator + Clone,
{
    type Dim = <D as DimMax<D2>>::Output;

    fn side<'a>(self) -> Side<'a, S::Elem>
    where
        Self: 'a,
    {
        Side::Array(self.0.lent_to_move())
    }
}

impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// The array as an operand that stays where it is.
    pub(crate) fn lent(&self) -> Lent<'_, S::Elem> {
        Lent {
            stored: self.data.view().into_dyn(),
            part: &self.part,
            carry: None,
        }
    }

    /// The array as an operand that may be moved.
    pub(crate) fn lent_to_move(&self) -> Lent<'_, S::Elem>
    where
        S::Elem: Element,
        C: Clone,
    {
        Lent {
            carry: Some(Box::new(|target| Ok(self.carried_to(target)?.data))),
            ..self.lent()
        }
    }
}

macro_rules! scalar_operand {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl<D: Dimension> Operand<$t, D> for $t {
            type Dim = D;

            fn side<'a>(self) -> Side<'a, $t> {
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
