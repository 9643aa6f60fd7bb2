//! Results that borrow where nothing moves: [`LocalArrayCow`].

use std::sync::Arc;

use bytemuck::Zeroable;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution};
use ndarray::{ArrayBase, CowRepr, Dimension};

use crate::part::Part;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// A part that borrows its elements from another array, or owns them where they had to be moved or copied: what
/// [`slice`](LocalArrayBase::slice) gives. Example: see [`is_borrowed`](LocalArrayBase::is_borrowed).
pub type LocalArrayCow<'a, T, D, C> = LocalArrayBase<CowRepr<'a, T>, D, C>;

/// What became of the elements. All of it is local.
impl<T: Clone, D: Dimension, C: Communicator> LocalArrayCow<'_, T, D, C> {
    /// Whether the elements of this rank are those of the array it was made from, without a copy. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray, Order};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i32, Ix2, _>::eye(4, None, 0, "b", comm)?;
    ///     let flat = a.ravel(Order::C)?; // rows in blocks, one after another: nothing moves
    ///     assert!(flat.is_borrowed());
    ///     let kept = flat.into_owned();
    ///     assert_ne!(kept.local().as_ptr(), a.local().as_ptr());
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[must_use]
    pub fn is_borrowed(&self) -> bool {
        self.data.is_view()
    }

    /// The part with elements of its own: copied where they are borrowed. Local.
    /// Example: see [`is_borrowed`](Self::is_borrowed).
    pub fn into_owned(self) -> LocalArray<T, D, C> {
        LocalArrayBase {
            data: self.data.into_owned(),
            part: self.part,
            comm: self.comm,
        }
    }
}

impl<'a, T: Zeroable + Clone, D: Dimension, C: Communicator> LocalArrayCow<'a, T, D, C> {
    /// An array of this distribution from what this rank stores of it; zeros, whatever is stored, on a rank without a place.
    pub(crate) fn made(
        distribution: Distribution,
        comm: C,
        stored: impl FnOnce(&Part) -> Result<ArrayBase<CowRepr<'a, T>, D>, ArrayError>,
    ) -> Result<Self, ArrayError> {
        let part = Part::new(Arc::new(distribution), &comm)?;
        let data = if part.is_active() {
            stored(&part)?
        } else {
            part.zeros()?.into()
        };
        Self::from_part(data, Arc::new(part), comm)
    }
}

/// The axis without what is stored of neighbours.
pub(crate) fn unpadded(axis: &AxisDist) -> Result<AxisDist, ArrayError> {
    match axis {
        AxisDist::Block { bounds, .. } => Ok(AxisDist::block_bounds(Arc::clone(bounds))?),
        other => Ok(other.clone()),
    }
}

/// The distribution without what is stored of neighbours.
pub(crate) fn without_padding(distribution: &Distribution) -> Result<Distribution, ArrayError> {
    let axes = distribution.axes().iter().map(unpadded);
    let targets = Arc::<[usize]>::from(distribution.targets());
    Ok(Distribution::from_axes(
        axes.collect::<Result<_, _>>()?,
        distribution.ranks(),
        targets,
    )?)
}
