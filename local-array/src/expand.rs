//! Axes of one element, put between those that are there; nothing moves and nothing is copied.

use std::sync::Arc;

use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution, MapError};
use ndarray::{Axis, Dimension, IxDyn, Slice};

use crate::part::Part;
use crate::{ArrayError, LocalArrayView};

/// The distribution with an axis of extent 1 put at each place of `at`, one after the other.
pub(crate) fn with_axes(
    distribution: &Distribution,
    at: &[usize],
) -> Result<Distribution, MapError> {
    let mut axes = distribution.axes().to_vec();
    for &axis in at {
        axes.insert(axis, AxisDist::whole(1)?);
    }
    Distribution::from_axes(axes, distribution.ranks(), distribution.targets())
}

impl<'a, T, D: Dimension, C: Communicator> LocalArrayView<'a, T, D, C> {
    /// The array with an axis of extent 1 put at each place of `at`, one after the other. Local.
    pub(crate) fn with_axes(
        self,
        at: &[usize],
    ) -> Result<LocalArrayView<'a, T, IxDyn, C>, ArrayError> {
        let distribution = with_axes(self.distribution(), at)?;
        let part = Part::new(Arc::new(distribution), &self.comm)?;
        let mut data = self.data.into_dyn();
        for &axis in at {
            data.insert_axis_inplace(Axis(axis));
        }
        // A rank without a place stores nothing, but for the one element of a 0-d array.
        if !part.is_active() {
            for axis in 0..data.ndim() {
                data.slice_axis_inplace(Axis(axis), Slice::from(0..0));
            }
        }
        LocalArrayView::from_part(data, Arc::new(part), self.comm)
    }
}
