//! Axes in another order, or without those of one element; nothing moves.

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Index;
use ndarray::{Data, Dimension, IxDyn};

use crate::axis::{axes_of, axis_of};
use crate::cow::LocalArrayCow;
use crate::part::Part;
use crate::{ArrayError, LocalArrayBase, LocalArrayView};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator + Clone,
{
    /// Dimension `i` of the result is dimension `axes[i]`; without `axes`, all in reverse order (`NumPy`'s `transpose`). Local,
    /// and nothing is copied: each rank keeps its elements, padding included. Every rank gives the same axes; negative ones
    /// count from the end.
    ///
    /// For the same array in the distribution it had, see [`Redistributor::permuted`](crate::Redistributor::permuted).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix3, array};
    ///
    /// let shapes = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([2, 3, 1]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix3, _>::from_fn(&blocks, comm, |g| g[0] * 3 + g[1])?;
    ///     assert_eq!(a.transpose(Some(&[1, 2, 0]))?.global_shape(), [3, 1, 2]);
    ///     assert_eq!(a.swapaxes(0, -1)?.global_shape(), [1, 3, 2]);
    ///     a.transpose(None)?.squeeze(None)?.gather_to(0)
    /// })?;
    /// assert_eq!(shapes[0], Some(array![[0, 3], [1, 4], [2, 5]].into_dyn()));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::InvalidDimension`], [`ArrayError::Argument`] or [`ArrayError::Map`] when `axes` does not name each
    /// dimension once, the same on every rank.
    pub fn transpose(
        &self,
        axes: Option<&[i32]>,
    ) -> Result<LocalArrayView<'_, S::Elem, D, C>, ArrayError> {
        let order = match axes {
            Some(axes) => axes_of(axes, self.ndim())?,
            None => (0..self.ndim()).rev().collect(),
        };
        self.permuted(&order)
    }

    /// The array with two of its dimensions exchanged (`NumPy`'s `swapaxes`). Local, as [`transpose`](Self::transpose), whose
    /// example has it.
    ///
    /// # Errors
    /// [`ArrayError::InvalidDimension`] for an axis that is not there, the same on every rank.
    pub fn swapaxes(
        &self,
        axis1: i32,
        axis2: i32,
    ) -> Result<LocalArrayView<'_, S::Elem, D, C>, ArrayError> {
        let (first, second) = (axis_of(axis1, self.ndim())?, axis_of(axis2, self.ndim())?);
        let mut order: Vec<usize> = (0..self.ndim()).collect();
        order.swap(first, second);
        self.permuted(&order)
    }

    pub(crate) fn permuted(
        &self,
        order: &[usize],
    ) -> Result<LocalArrayView<'_, S::Elem, D, C>, ArrayError> {
        let distribution = self.distribution().transpose(Some(order))?;
        let mut axes = D::zeros(order.len());
        for (axis, &from) in order.iter().enumerate() {
            axes[axis] = from;
        }
        let part = Arc::new(Part::new(Arc::new(distribution), &self.comm)?);
        LocalArrayView::from_part(
            self.data.view().permuted_axes(axes),
            part,
            self.comm.clone(),
        )
    }

    /// The array without its dimensions of one element, or without those that `axes` names (`NumPy`'s `squeeze`). Local, and
    /// nothing is copied. Every rank gives the same axes.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let row = LocalArray::<u8, Ix2, _>::eye(1, Some(6), 0, "nb", comm)?;
    ///     assert_eq!(row.squeeze(None)?.global_shape(), [6]);
    ///     assert!(row.squeeze(Some(&[1])).is_err());
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`] for
    /// one named twice; [`ArrayError::Shape`] when an axis named has another extent; [`ArrayError::Map`] when explicit lists
    /// leave its only index out.
    pub fn squeeze(
        &self,
        axes: Option<&[i32]>,
    ) -> Result<LocalArrayCow<'_, S::Elem, IxDyn, C>, ArrayError>
    where
        S::Elem: Element,
    {
        let shape = self.global_shape();
        let gone = match axes {
            Some(axes) => axes_of(axes, self.ndim())?,
            None => (0..self.ndim()).filter(|&axis| shape[axis] == 1).collect(),
        };
        if let Some(&axis) = gone.iter().find(|&&axis| shape[axis] != 1) {
            return Err(ArrayError::Shape {
                what: "array to squeeze",
                given: shape.to_vec(),
                allowed: format!("1 element along axis {axis}"),
            });
        }
        let items: Vec<Index> = (0..self.ndim())
            .map(|axis| {
                if gone.contains(&axis) {
                    0.into()
                } else {
                    (..).into()
                }
            })
            .collect();
        self.sliced(&items)
    }
}
