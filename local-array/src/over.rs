//! [`Over`]: reductions over some axes, whose result is a distributed array again.

mod plan;
mod terminals;

use std::sync::Arc;

use dist_comm::Communicator;
use ndarray::{ArrayViewD, Data, Dimension};

use crate::part::Part;
use crate::{LocalArrayBase, axis};

pub(crate) use plan::{
    Plan, all_places, counted, counted_elements, elements_by_output, with_block,
};

/// The axes of a reduction: one, several, or all of them. Negative ones count from the end. In use in the examples of
/// [`over`](LocalArrayBase::over) and [`Over::sum`]. Every rank gives the same.
///
/// ```
/// use local_array::Axes;
///
/// assert_eq!(Axes::from(-1), Axes::from([-1]));
/// assert_ne!(Axes::from([0, 1]), Axes::ALL);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axes(Option<Vec<i32>>);

impl Axes {
    /// All axes, however many there are.
    pub const ALL: Self = Self(None);

    /// The axes in the order given; all of them, ascending, for [`ALL`](Self::ALL).
    pub(crate) fn listed(&self, ndim: usize) -> Result<Vec<usize>, crate::ArrayError> {
        match &self.0 {
            None => Ok((0..ndim).collect()),
            Some(axes) => axis::axes_of(axes, ndim),
        }
    }
}

impl From<i32> for Axes {
    fn from(axis: i32) -> Self {
        Self(Some(vec![axis]))
    }
}

impl From<Vec<i32>> for Axes {
    fn from(axes: Vec<i32>) -> Self {
        Self(Some(axes))
    }
}

impl From<&[i32]> for Axes {
    fn from(axes: &[i32]) -> Self {
        Self(Some(axes.to_vec()))
    }
}

impl<const N: usize> From<[i32; N]> for Axes {
    fn from(axes: [i32; N]) -> Self {
        Self(Some(axes.to_vec()))
    }
}

/// A reduction over some axes of an array, made by [`over`](LocalArrayBase::over), which has an example: what is reduced is said,
/// how is to be chosen.
///
/// Every rank calls the same reduction (each is *collective*, on a [`part`](LocalArrayBase::part) local), with the same axes
/// and arguments. The result has the kept axes, distributed as they were (bounds, block sizes, indices and padding stay); each
/// group of ranks that shared an output leaves it on the lowest of them, the others own nothing. Nothing is gathered: a rank
/// needs memory for its own part of the result and for a tile of partial results.
///
/// | method | of no element | result type |
/// |---|---|---|
/// | `sum`, `prod` | 0, 1 | [`Summable::Sum`](crate::Summable) |
/// | `mean`, `average`, `median` | NaN | [`Summable::Mean`](crate::Summable) |
/// | `var`, `std` | NaN | its [`Floating::Real`](crate::Floating) |
/// | `min`, `max`, `ptp` | [`ArrayError::Empty`](crate::ArrayError) | the element's |
/// | `argmin`, `argmax` | [`ArrayError::Empty`](crate::ArrayError) | `i64` |
/// | `any`, `all` | `false`, `true` | `bool` |
///
/// NaN propagates; `argmin` and `argmax` give the place of the first NaN, and of the first of equal elements. The forms that
/// end in `_as` choose the type that is added up in (`NumPy`'s `dtype=`), those in `_into` write to an array that is there
/// (`out=`), whose type they take for that.
///
/// # Order
/// Two runs give the same bits, in any memory order. On a rank, the elements of an output stand in C order of the reduced
/// axes. Where the last axis is reduced, sums take leaves of 128 of them with eight partial sums each; where it is kept,
/// leaves of 128, four at a time; the last leaf has what is left. Leaves are added two by two, as a binary counter carries: this
/// is pairwise summation, whose error grows with the logarithm of the number of elements (N. J. Higham, "The accuracy of floating
/// point summation", 1993). Then come the ranks of a group, as a binomial tree by rank.
#[derive(Clone, Debug)]
#[must_use]
pub struct Over<'a, T, C> {
    pub(crate) stored: ArrayViewD<'a, T>,
    pub(crate) part: &'a Arc<Part>,
    pub(crate) comm: &'a C,
    pub(crate) axes: Axes,
    pub(crate) keepdims: bool,
}

impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// Reductions over some axes: `a.over(0).sum()`, `a.over([0, -1]).keepdims().max()`, `a.over(Axes::ALL).mean()`. Local;
    /// what follows is collective.
    ///
    /// No axis at all (`[]`) reduces each element by itself.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let sums = ThreadComm::run(4, |comm| {
    ///     let blocks = Distribution::over(4).shape([4, 6]).block(0).block(1).build()?; // grid 2 × 2
    ///     let a = LocalArray::<i32, Ix2, _>::from_fn(&blocks, comm, |g| (10 * g[0] + g[1]) as i32)?;
    ///     let columns = a.over(0).sum()?; // 6 elements, 3 on rank 0 and 3 on rank 1
    ///     assert_eq!(a.over(-1).keepdims().max()?.global_shape(), [4, 1]);
    ///     assert_eq!(a.over(0).argmax()?.owned().first(), (comm.rank() < 2).then_some(&3));
    ///     Ok::<_, ArrayError>(columns.owned().iter().copied().collect::<Vec<i64>>())
    /// })?;
    /// assert_eq!(sums, [vec![60, 64, 68], vec![72, 76, 80], vec![], vec![]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn over(&self, axes: impl Into<Axes>) -> Over<'_, S::Elem, C> {
        Over {
            stored: self.data.view().into_dyn(),
            part: &self.part,
            comm: &self.comm,
            axes: axes.into(),
            keepdims: false,
        }
    }
}

impl<T, C> Over<'_, T, C> {
    /// Keeps the reduced axes, with one element each. Local; every rank calls it or none.
    /// Example: see [`over`](LocalArrayBase::over).
    pub fn keepdims(mut self) -> Self {
        self.keepdims = true;
        self
    }
}
