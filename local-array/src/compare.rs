//! Comparisons, element by element: arrays of `bool`, under `NumPy`'s names.

use dist_comm::Communicator;
use ndarray::{Data, Dimension};

use crate::{ArrayError, LocalArray, LocalArrayBase, Operand, Ordered};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator + Clone,
{
    /// Where the two are equal; `other` is an array or one value. Local. NaN equals nothing.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let counts = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([10]).block(0).build()?;
    ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&blocks, comm, |global| global[0] as i32 % 3)?;
    ///     a.equal(0)?.sum() // 0, 3, 6, 9
    /// })?;
    /// assert_eq!(counts, [4, 4]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::IncompatibleArray`], the same on every rank.
    pub fn equal(
        &self,
        other: impl Operand<S::Elem, D>,
    ) -> Result<LocalArray<bool, D, C>, ArrayError>
    where
        S::Elem: Copy + PartialEq,
    {
        self.zip_map(other, |a, b| a == b)
    }

    /// Where the two differ. Local. NaN differs from everything.
    ///
    /// # Errors
    /// As [`equal`](Self::equal).
    pub fn not_equal(
        &self,
        other: impl Operand<S::Elem, D>,
    ) -> Result<LocalArray<bool, D, C>, ArrayError>
    where
        S::Elem: Copy + PartialEq,
    {
        self.zip_map(other, |a, b| a != b)
    }

    /// Where this array's element is less. Local. False where one is NaN.
    ///
    /// # Errors
    /// As [`equal`](Self::equal).
    pub fn less(
        &self,
        other: impl Operand<S::Elem, D>,
    ) -> Result<LocalArray<bool, D, C>, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.zip_map(other, Ordered::is_less)
    }

    /// Where this array's element is less or equal. Local. False where one is NaN.
    ///
    /// # Errors
    /// As [`equal`](Self::equal).
    pub fn less_equal(
        &self,
        other: impl Operand<S::Elem, D>,
    ) -> Result<LocalArray<bool, D, C>, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.zip_map(other, Ordered::is_at_most)
    }

    /// Where this array's element is greater. Local. False where one is NaN.
    ///
    /// # Errors
    /// As [`equal`](Self::equal).
    pub fn greater(
        &self,
        other: impl Operand<S::Elem, D>,
    ) -> Result<LocalArray<bool, D, C>, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.zip_map(other, |a, b| b.is_less(a))
    }

    /// Where this array's element is greater or equal. Local. False where one is NaN.
    ///
    /// # Errors
    /// As [`equal`](Self::equal).
    pub fn greater_equal(
        &self,
        other: impl Operand<S::Elem, D>,
    ) -> Result<LocalArray<bool, D, C>, ArrayError>
    where
        S::Elem: Ordered,
    {
        self.zip_map(other, |a, b| b.is_at_most(a))
    }
}
