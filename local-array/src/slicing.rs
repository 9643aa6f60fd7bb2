//! Slices of the whole array: [`slice`](LocalArrayBase::slice), [`slice_mut`](LocalArrayBase::slice_mut),
//! [`set_slice`](LocalArrayBase::set_slice), [`fill_slice`](LocalArrayBase::fill_slice).

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::{Index, LocalPart, Slice, Sliced};
use ndarray::{
    ArrayView, ArrayViewMut, ArrayViewMutD, Axis, CowArray, Data, DataMut, Dimension, IxDyn,
};

use crate::agreement::same_everywhere;
use crate::cow::LocalArrayCow;
use crate::meet::{broadcasts, replicated};
use crate::part::Part;
use crate::redistribute::moved_to;
use crate::{ArrayError, LocalArray, LocalArrayBase, LocalArrayViewMut};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// What `items` take of the whole array, as `NumPy`'s `a[…]` does: an integer drops its dimension, a slice may have any
    /// step, an ellipsis stands for dimensions not named, missing ones are taken whole. Collective; every rank gives the same
    /// items. Local meaning: on [`part`](Self::part).
    ///
    /// No element moves: each rank keeps those that it owns, as [`Distribution::slice`](dist_maps::Distribution::slice) says;
    /// ranks without any have no place in the grid of the result. Nothing is copied either where what a rank keeps lies at
    /// equal distances, which is so for blocks and dealt elements. A dimension taken whole keeps its padding.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::{Distribution, Slice};
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&rows, comm, |g| g[0] * 3 + g[1])?;
    ///     let back = a.slice(&[Slice::new(None, None, -2).into(), 1.into()])?; // a[::-2, 1]
    ///     Ok::<_, ArrayError>((back.is_borrowed(), back.gather_to(0)?.map(|x| x.into_raw_vec_and_offset().0)))
    /// })?;
    /// assert_eq!(sums[0], (true, Some(vec![10, 4])));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Map`] when there are more items than dimensions, an integer is out of range, a
    /// step is 0, or too many indices would have to be listed; [`ArrayError::Argument`] when the ranks give different items.
    pub fn slice(
        &self,
        items: &[Index],
    ) -> Result<LocalArrayCow<'_, S::Elem, IxDyn, C>, ArrayError> {
        same_everywhere(&self.comm, "items", &items)?;
        self.sliced(items)
    }

    /// As [`slice`](Self::slice), without a look at what other ranks give. Local.
    pub(crate) fn sliced(
        &self,
        items: &[Index],
    ) -> Result<LocalArrayCow<'_, S::Elem, IxDyn, C>, ArrayError> {
        sliced_view(self.data.view(), &self.part, self.comm.clone(), items)
    }
}

/// What `items` take of an array.
pub(crate) fn sliced_view<'a, T: Element, D: Dimension, C: Communicator>(
    data: ArrayView<'a, T, D>,
    part: &Part,
    comm: C,
    items: &[Index],
) -> Result<LocalArrayCow<'a, T, IxDyn, C>, ArrayError> {
    let taken = part.distribution().slice(items)?;
    let parts = taken.local(comm.rank());
    LocalArrayCow::made(taken.into_distribution(), comm, |_| {
        let parts = parts.unwrap_or_default();
        let mut view = data.into_dyn();
        for (axis, part) in parts.iter().enumerate() {
            if let LocalPart::Range { start, len, step } = *part {
                view.slice_axis_inplace(Axis(axis), range(start, len, step));
            }
        }
        let mut found = CowArray::from(view);
        for (axis, part) in parts.iter().enumerate() {
            if let LocalPart::List(list) = part {
                found = found.select(Axis(axis), list).into();
            }
        }
        for (axis, part) in parts.iter().enumerate().rev() {
            if let LocalPart::At(at) = *part {
                found = found.index_axis_move(Axis(axis), at);
            }
        }
        Ok(found)
    })
}

/// `len` positions from `start`, `step` apart, as `ndarray` writes them: a range first, backwards then.
fn range(start: usize, len: usize, step: isize) -> ndarray::Slice {
    let Some(last) = len.checked_sub(1) else {
        return ndarray::Slice::from(0..0);
    };
    let reach = last.cast_signed().saturating_mul(step);
    let end = start.saturating_add_signed(reach);
    let (low, high) = (start.min(end).cast_signed(), start.max(end).cast_signed());
    ndarray::Slice::new(low, Some(high + 1), step)
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// What `items` take of the whole array, to be changed in place. Collective, as [`slice`](Self::slice).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([10]).block(0).build()?;
    ///     let mut a = LocalArray::<f64, Ix1, _>::zeros(&blocks, comm)?;
    ///     a.slice_mut(&[(2..7).into()])?.fill(1.0);
    ///     a.fill_slice(&[(-1).into()], 7.0)?; // a[-1] = 7
    ///     let ramp = LocalArray::<f64, Ix1, _>::from_fn(&Distribution::over(3).shape([3]).cyclic(0).build()?, comm, |g| g[0] as f64)?;
    ///     a.set_slice(&[(0..3).into()], &ramp)?; // elements of another distribution move
    ///     a.sum()
    /// })?;
    /// assert_eq!(sums, [0.0 + 1.0 + 2.0 + 4.0 + 7.0; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`slice`](Self::slice); [`ArrayError::Argument`] when some rank keeps elements at unequal distances, or all
    /// dimensions are dropped: [`set_slice`](Self::set_slice), [`fill_slice`](Self::fill_slice) and
    /// [`set_item`](Self::set_item) set those too.
    pub fn slice_mut(
        &mut self,
        items: &[Index],
    ) -> Result<LocalArrayViewMut<'_, S::Elem, IxDyn, C>, ArrayError> {
        same_everywhere(&self.comm, "items", &items)?;
        let taken = self.distribution().slice(items)?;
        let distribution = taken.distribution();
        let has_list = |rank: usize| {
            let parts = taken.local(rank).unwrap_or_default();
            parts.iter().any(|part| matches!(part, LocalPart::List(_)))
        };
        if distribution.ndim() == 0 || distribution.targets().iter().any(|&rank| has_list(rank)) {
            return Err(ArrayError::Argument {
                what: "slice",
                given: format!("{items:?}"),
                allowed: "elements at equal distances on every rank, and at least one dimension"
                    .to_owned(),
            });
        }
        let comm = self.comm.clone();
        let part = Part::new(Arc::new(distribution.clone()), &comm)?;
        let data = if let Some(parts) = taken.local(comm.rank()) {
            taken_mut(self.data.view_mut().into_dyn(), &parts)
        } else {
            let nothing = IxDyn(&vec![0; distribution.ndim()]);
            ArrayViewMut::from_shape(nothing, &mut []).map_err(|_| ArrayError::LocalShape {
                rank: comm.rank(),
                given: vec![0],
                allowed: part.shape().to_vec(),
            })?
        };
        LocalArrayViewMut::from_part(data, Arc::new(part), comm)
    }

    /// Sets what `items` take of the whole array to the elements of `value`, whose shape broadcasts to that of the slice as in
    /// `NumPy`, in any distribution: where it lies otherwise its elements move. Collective, as [`slice`](Self::slice).
    /// Example: see [`slice_mut`](Self::slice_mut).
    ///
    /// Extents of 1 and missing leading dimensions of the value are repeated; leading ones of extent 1 that the slice does
    /// not have count for nothing. Every owner of an element is told; padding is not, until
    /// [`exchange_halo`](LocalArrayBase::exchange_halo).
    ///
    /// # Errors
    /// As [`slice`](Self::slice), [`ArrayError::Shape`] for a shape that does not broadcast,
    /// [`ArrayError::InvalidBaseComm`],
    /// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
    pub fn set_slice<S2, D2, C2>(
        &mut self,
        items: &[Index],
        value: &LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S2: Data<Elem = S::Elem>,
        D2: Dimension,
        C2: Communicator,
    {
        let laid = (self.part.laid(), value.part.laid());
        same_everywhere(&self.comm, "items", &(items, laid))?;
        let taken = self.distribution().slice(items)?;
        let shape = taken.distribution().global_shape();
        let given = value.global_shape();
        // Leading dimensions of one element that the slice does not have count for nothing.
        let extra = given.len().saturating_sub(shape.len());
        if given[..extra].iter().any(|&n| n != 1) || !broadcasts(&given[extra..], shape) {
            return Err(ArrayError::Shape {
                what: "value",
                given: given.to_vec(),
                allowed: format!("what broadcasts to {shape:?}"),
            });
        }
        let kept = self.kept(items)?;
        let mut stretched = vec![1; shape.len() - (given.len() - extra)];
        stretched.extend_from_slice(&given[extra..]);
        for axis in dropped(items, self.ndim()) {
            stretched.insert(axis, 1);
        }
        let wanted = replicated(&stretched, kept.distribution())?;
        let value = value.with_data(value.data.view(), self.comm.clone());
        let moved: LocalArray<S::Elem, IxDyn, C> = moved_to(&value, &wanted)?;
        if let Some(parts) = kept.local(self.comm.rank()) {
            let part = Part::new(Arc::new(kept.distribution().clone()), &self.comm)?;
            let parts = owned_parts(&parts, &part);
            let shape: Vec<usize> = parts.iter().map(LocalPart::len).collect();
            // Where the rank owns nothing there may be nothing to stretch.
            if let Some(value) = moved.owned().broadcast(shape) {
                assign_at(self.data.view_mut().into_dyn(), &parts, &value);
            }
        }
        Ok(())
    }

    /// Sets what `items` take of the whole array to one value, padding included. Collective, as [`slice`](Self::slice).
    /// Example: see [`slice_mut`](Self::slice_mut).
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    pub fn fill_slice(&mut self, items: &[Index], value: S::Elem) -> Result<(), ArrayError> {
        same_everywhere(&self.comm, "items", &items)?;
        self.distribution().slice(items)?;
        if let Some(parts) = self.kept(items)?.local(self.comm.rank()) {
            fill_at(self.data.view_mut().into_dyn(), &parts, value);
        }
        Ok(())
    }

    /// The slice with each dimension kept, so that every owner of an element has a part in it.
    fn kept(&self, items: &[Index]) -> Result<Sliced, ArrayError> {
        let keep = |&item: &Index| match item {
            Index::At(-1) => Index::Slice(Slice::new(Some(-1), None, 1)),
            Index::At(at) => Index::Slice(Slice::new(Some(at), Some(at.saturating_add(1)), 1)),
            other => other,
        };
        let items: Vec<Index> = items.iter().map(keep).collect();
        Ok(self.distribution().slice(&items)?)
    }
}

/// The dimensions that integers among `items` drop, ascending.
fn dropped(items: &[Index], ndim: usize) -> Vec<usize> {
    let mut spare = Some((ndim + 1).saturating_sub(items.len()));
    let mut axis = 0;
    let mut found = Vec::new();
    for item in items {
        if matches!(item, Index::At(_)) {
            found.push(axis);
        }
        // The first ellipsis stands for all dimensions that are left over.
        axis += match item {
            Index::Ellipsis => spare.take().unwrap_or(1),
            Index::At(_) | Index::Slice(_) => 1,
        };
    }
    found
}

/// What ranges and positions take of a view; there is no list.
fn taken_mut<'a, T>(mut view: ArrayViewMutD<'a, T>, parts: &[LocalPart]) -> ArrayViewMutD<'a, T> {
    for (axis, part) in parts.iter().enumerate() {
        if let LocalPart::Range { start, len, step } = *part {
            view.slice_axis_inplace(Axis(axis), range(start, len, step));
        }
    }
    for (axis, part) in parts.iter().enumerate().rev() {
        if let LocalPart::At(at) = *part {
            view = view.index_axis_move(Axis(axis), at);
        }
    }
    view
}

/// The parts without the padding that whole dimensions keep.
fn owned_parts(parts: &[LocalPart], part: &Part) -> Vec<LocalPart> {
    let cut = |(taken, owned): (&LocalPart, &std::ops::Range<usize>)| match *taken {
        LocalPart::Range { start, len, step } if owned.len() != len => {
            let shift = owned.start.cast_signed().saturating_mul(step);
            LocalPart::Range {
                start: start.saturating_add_signed(shift),
                len: owned.len(),
                step,
            }
        }
        ref other => other.clone(),
    };
    parts.iter().zip(part.owned()).map(cut).collect()
}

/// Hands over the pieces of a view that the parts take and that lie at equal distances, with the index of each along the
/// dimensions that are listed.
fn each_piece<T>(
    view: ArrayViewMutD<'_, T>,
    parts: &[LocalPart],
    see: &mut impl FnMut(&[(usize, usize)], ArrayViewMutD<'_, T>),
) {
    fn go<T>(
        mut view: ArrayViewMutD<'_, T>,
        parts: &mut Vec<LocalPart>,
        at: &mut Vec<(usize, usize)>,
        see: &mut impl FnMut(&[(usize, usize)], ArrayViewMutD<'_, T>),
    ) {
        let first = parts
            .iter()
            .position(|part| matches!(part, LocalPart::List(_)));
        let Some(axis) = first else {
            see(at, taken_mut(view, parts));
            return;
        };
        let listed = parts[axis].clone();
        for (number, position) in listed.positions().into_iter().enumerate() {
            // The dimension stays, with one element: axes keep their numbers.
            parts[axis] = LocalPart::Range {
                start: position,
                len: 1,
                step: 1,
            };
            at.push((axis, number));
            go(view.view_mut(), parts, at, see);
            at.pop();
        }
        parts[axis] = listed;
    }
    go(view, &mut parts.to_vec(), &mut Vec::new(), see);
}

fn assign_at<T: Copy>(
    view: ArrayViewMutD<'_, T>,
    parts: &[LocalPart],
    value: &ArrayView<'_, T, IxDyn>,
) {
    each_piece(view, parts, &mut |at, mut piece| {
        let mut from = value.view();
        for &(axis, number) in at {
            from.slice_axis_inplace(Axis(axis), (number..number + 1).into());
        }
        // Of equal shape, as both follow from the same slice; where a rank owns nothing extents may differ.
        if piece.shape() == from.shape() {
            piece.assign(&from);
        }
    });
}

fn fill_at<T: Copy>(view: ArrayViewMutD<'_, T>, parts: &[LocalPart], value: T) {
    each_piece(view, parts, &mut |_, mut piece| piece.fill(value));
}
