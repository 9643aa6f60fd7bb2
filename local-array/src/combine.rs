//! Operands brought to one shape on this rank, and a new array made of them.

use std::sync::Arc;

use bytemuck::Zeroable;
use dist_comm::Communicator;
use ndarray::{ArrayD, ArrayViewD, Axis, CowArray, Dimension, IxDyn, Slice};

use crate::meet::{Guest, meet};
use crate::operand::{Lent, Side};
use crate::part::Part;
use crate::rows::{Operands, Push, collect};
use crate::{ArrayError, LocalArray};

/// No operand.
pub(crate) const NOTHING: Side<'static, ()> = Side::Scalar(());

impl<'a, T> Side<'a, T> {
    pub(crate) fn guest(&self) -> Option<Guest<'a>> {
        match self {
            Side::Scalar(_) => None,
            Side::Array(lent) => Some(Guest {
                part: lent.part,
                moves: lent.carry.is_some(),
            }),
        }
    }

    /// The elements that this rank's part of `result` takes; collective where the array must be moved.
    pub(crate) fn placed(
        self,
        result: &Arc<Part>,
        stored: bool,
    ) -> Result<CowArray<'a, T, IxDyn>, ArrayError> {
        let lent = match self {
            Side::Scalar(value) => return Ok(ndarray::arr0(value).into_dyn().into()),
            Side::Array(lent) => lent,
        };
        if stored {
            return Ok(lent.stored.into());
        }
        let Lent {
            stored,
            part,
            carry,
        } = lent;
        if let Some(carry) = carry
            && !crate::meet::serves(part.distribution(), result.distribution())
        {
            let mut moved = carry(result.distribution())?;
            if part.distribution().global_shape() == result.distribution().global_shape() {
                // It has the padding of the result.
                for (axis, range) in result.owned().iter().enumerate() {
                    moved.slice_axis_inplace(Axis(axis), Slice::from(range.clone()));
                }
            }
            return Ok(moved.into());
        }
        Ok(part.owned_of(stored).into())
    }
}

/// Whether all arrays have the elements of `result`, and the same padding.
pub(crate) fn all_store(guests: &[Option<Guest<'_>>], result: &Part) -> bool {
    guests
        .iter()
        .flatten()
        .all(|guest| result.same_storage(guest.part) && result.check_compatible(guest.part).is_ok())
}

/// A view of `elements` stretched to `shape`.
pub(crate) fn stretched<'v, T>(
    elements: &'v CowArray<'_, T, IxDyn>,
    shape: &IxDyn,
    rank: usize,
) -> Result<ArrayViewD<'v, T>, ArrayError> {
    let found = elements.broadcast(shape.clone());
    found.ok_or_else(|| ArrayError::LocalShape {
        rank,
        given: elements.shape().to_vec(),
        allowed: shape.slice().to_vec(),
    })
}

/// A new array from up to three operands, of which one at least is an array: what `push` makes of slices of them.
pub(crate) fn combine<T, U, V, R, D, C>(
    (t, u, v): (Side<'_, T>, Side<'_, U>, Side<'_, V>),
    comm: &C,
    push: &mut Push<'_, T, U, V, R>,
) -> Result<LocalArray<R, D, C>, ArrayError>
where
    T: Copy,
    U: Copy,
    V: Copy,
    R: Zeroable,
    D: Dimension,
    C: Communicator + Clone,
{
    let guests = [t.guest(), u.guest(), v.guest()];
    let arrays: Vec<Guest<'_>> = guests.iter().flatten().copied().collect();
    let rank = comm.rank();
    let part = meet(&arrays, comm)?;
    crate::part::check_ndim::<D>(part.distribution())?;
    let stored = all_store(&guests, &part);
    let t = t.placed(&part, stored)?;
    let u = u.placed(&part, stored)?;
    let v = v.placed(&part, stored)?;
    let extents = if stored {
        part.shape().to_vec()
    } else {
        part.owned().iter().map(ExactSizeIterator::len).collect()
    };
    let shape = IxDyn(&extents);
    // Where this rank has no element of the result the extents of the operands may be others.
    let found: ArrayD<R> = if extents.contains(&0) {
        part.zeros::<R, IxDyn>()?
    } else {
        let operands = Operands(
            stretched(&t, &shape, rank)?,
            stretched(&u, &shape, rank)?,
            stretched(&v, &shape, rank)?,
        );
        let found = collect(operands, rank, push)?;
        if stored || part.is_unpadded() {
            found
        } else {
            let mut padded = part.zeros::<R, IxDyn>()?;
            let owned = part.owned_of_mut(padded.view_mut());
            for (slot, value) in owned.into_iter().zip(found) {
                *slot = value;
            }
            padded
        }
    };
    let data = found
        .into_dimensionality()
        .map_err(|_| ArrayError::InvalidDimension {
            what: "number of dimensions",
            given: D::NDIM.unwrap_or(extents.len()).cast_signed(),
            ndim: extents.len(),
        })?;
    Ok(LocalArray {
        data,
        part,
        comm: comm.clone(),
    })
}

/// A new array from an array and an operand.
pub(crate) fn zip_two<A, B, R, D, C>(
    mine: Lent<'_, A>,
    other: Side<'_, B>,
    comm: &C,
    f: impl Fn(A, B) -> R,
) -> Result<LocalArray<R, D, C>, ArrayError>
where
    A: Copy,
    B: Copy,
    R: Zeroable,
    D: Dimension,
    C: Communicator + Clone,
{
    let mine = Side::Array(mine);
    match other {
        Side::Scalar(b) => combine((mine, NOTHING, NOTHING), comm, &mut |a, _, _, out| {
            out.extend(a.iter().map(|&a| f(a, b)));
        }),
        other @ Side::Array(_) => combine((mine, other, NOTHING), comm, &mut |a, b, _, out| {
            out.extend(a.iter().zip(b).map(|(&a, &b)| f(a, b)));
        }),
    }
}
