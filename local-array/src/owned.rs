//! Owned elements as a slice, whatever lies around them in memory.

use std::borrow::Cow;
use std::sync::Arc;

use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::{Array, Axis, CowArray, Data, DataMut, Dimension, IxDyn};

use crate::part::Part;
use crate::strided::for_each_run;
use crate::{ArrayError, LocalArray, LocalArrayBase};

impl<S: Data<Elem: Copy>, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// What this rank owns, in C order: borrowed where it lies so. None on a rank without a place in the grid.
    pub(crate) fn owned_elements(&self) -> Cow<'_, [S::Elem]> {
        if !self.part.is_active() {
            return Cow::Owned(Vec::new());
        }
        let owned = self.owned();
        if let Some(elements) = owned.to_slice() {
            return Cow::Borrowed(elements);
        }
        let mut elements = Vec::with_capacity(owned.len());
        for_each_run(&owned, |run| elements.extend_from_slice(run));
        Cow::Owned(elements)
    }

    /// What of that this rank counts, in C order: an index that lies on several ranks once.
    pub(crate) fn counted_elements(&self) -> Cow<'_, [S::Elem]> {
        let Some(chosen) = self.part.chosen(&vec![true; self.ndim()]) else {
            return self.owned_elements();
        };
        let mut elements = CowArray::from(self.owned().into_dyn());
        for (axis, positions) in chosen.iter().enumerate() {
            elements = elements.select(Axis(axis), positions).into();
        }
        Cow::Owned(elements.iter().copied().collect())
    }
}

impl Part {
    /// The flat global indices of what this rank owns, in C order of its part. None on a rank without a place in the grid; lists
    /// of negative indices, which no whole array has, count as they wrap.
    pub(crate) fn owned_flat(&self) -> Vec<u64> {
        if !self.is_active() {
            return Vec::new();
        }
        let mut flat = vec![0_u64];
        for (axis, &extent) in self.distribution().global_shape().iter().enumerate() {
            let globals = self.owned_globals(axis, None);
            let mut next = Vec::with_capacity(flat.len() * globals.len());
            for &outer in &flat {
                let row = outer.wrapping_mul(extent);
                next.extend(globals.iter().map(|g| row.wrapping_add(g.cast_unsigned())));
            }
            flat = next;
        }
        flat
    }
}

impl<S: DataMut<Elem: Copy>, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// Hands over what this rank owns, in C order, to be changed.
    pub(crate) fn with_owned_elements<R>(&mut self, change: impl FnOnce(&mut [S::Elem]) -> R) -> R {
        if !self.part.is_active() {
            return change(&mut []);
        }
        let mut owned = self.owned_mut();
        if let Some(elements) = owned.as_slice_mut() {
            return change(elements);
        }
        let mut elements = Vec::with_capacity(owned.len());
        for_each_run(&owned.view(), |run| elements.extend_from_slice(run));
        let result = change(&mut elements);
        for (slot, element) in owned.iter_mut().zip(elements) {
            *slot = element;
        }
        result
    }
}

impl<T: bytemuck::Zeroable, D: Dimension, C: Communicator> LocalArray<T, D, C> {
    /// An array without padding from what this rank owns of it, in C order.
    pub(crate) fn from_owned(
        elements: Vec<T>,
        distribution: Distribution,
        comm: C,
    ) -> Result<Self, ArrayError> {
        let part = Part::new(Arc::new(distribution), &comm)?;
        let (dim, len) = part.dimension::<D>()?;
        if !part.is_active() {
            // A scalar's place is there, and counts for nothing.
            let data = part.zeros()?;
            return Self::from_part(data, Arc::new(part), comm);
        }
        let given = elements.len();
        let data = Array::from_shape_vec(dim, elements).map_err(|_| ArrayError::LocalShape {
            rank: comm.rank(),
            given: vec![given],
            allowed: vec![len],
        })?;
        Self::from_part(data, Arc::new(part), comm)
    }
}

impl<T, C: Communicator> LocalArray<T, IxDyn, C> {
    /// An array from what this rank stores of it.
    pub(crate) fn from_stored(
        data: Array<T, IxDyn>,
        distribution: Distribution,
        comm: C,
    ) -> Result<Self, ArrayError> {
        let part = Part::new(Arc::new(distribution), &comm)?;
        Self::from_part(data, Arc::new(part), comm)
    }
}
