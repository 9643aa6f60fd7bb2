//! [`Plan`]: what a reduction over some axes is, as every rank sees it, and carrying it out.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use bytemuck::Zeroable;
use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution};
use ndarray::{ArrayViewD, Axis, CowArray, DataMut, Dimension, IxDyn};

use super::Over;
use crate::agreement::in_step;
use crate::part::Part;
use crate::reduction::{Block, Group, Order, Reduction, reduce_groups};
use crate::strided::for_each_run;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// The axes of a reduction and the distribution of its result.
pub(crate) struct Plan {
    pub(crate) reduced: Vec<bool>,
    pub(crate) result: Distribution,
}

impl Plan {
    pub(crate) fn new<T, C>(over: &Over<'_, T, C>) -> Result<Self, ArrayError> {
        let distribution = over.part.distribution();
        let axes = over.axes.listed(distribution.ndim())?;
        let mut reduced = vec![false; distribution.ndim()];
        for &axis in &axes {
            reduced[axis] = true;
        }
        let result = distribution.reduce(Some(&axes), over.keepdims)?;
        Ok(Self { reduced, result })
    }

    /// Reduces elements stored as those of `over` are; `see` gets the states of this rank's part of the result, in C order.
    /// Collective.
    pub(crate) fn reduce<T, C, U, R>(
        &self,
        over: &Over<'_, T, C>,
        stored: &ArrayViewD<'_, U>,
        reduction: &R,
        see: impl FnMut(&R::State),
    ) -> Result<(), ArrayError>
    where
        C: Communicator,
        U: Copy,
        R: Reduction<U>,
    {
        let (part, comm) = (over.part, over.comm);
        let strides = if R::ORDER == Order::Places {
            Some(strides(part.distribution().global_shape(), &self.reduced)?)
        } else {
            None
        };
        let strides = strides.as_deref();
        let group = Group::of(part.distribution(), &self.reduced, comm.rank());
        with_block(
            part,
            stored,
            &self.reduced,
            strides,
            R::ORDER,
            |block| match group.as_ref().zip(block) {
                Some((group, block)) => reduce_groups(comm, group, block, reduction, see),
                None => Ok(()),
            },
        )
    }
}

/// How many elements of `distribution` one output over the axes `reduced` has: their extents, but for what unstructured lists
/// leave out.
pub(crate) fn counted(distribution: &Distribution, reduced: &[bool]) -> u128 {
    let axes = distribution.axes().iter().zip(reduced);
    let counts = axes
        .filter(|(_, reduced)| **reduced)
        .map(|(axis, _)| match axis {
            AxisDist::Unstructured {
                indices,
                one_to_one: true,
                ..
            } => indices.iter().map(|list| list.len() as u128).sum(),
            AxisDist::Unstructured { indices, .. } => {
                let all: HashSet<i64> = indices
                    .iter()
                    .flat_map(|list| list.iter().copied())
                    .collect();
                all.len() as u128
            }
            AxisDist::Block { .. } | AxisDist::Cyclic { .. } => u128::from(axis.size()),
        });
    counts.fold(1, u128::saturating_mul)
}

/// The distance of the places along each reduced axis, in C order of these.
pub(crate) fn strides(shape: &[u64], reduced: &[bool]) -> Result<Vec<i64>, ArrayError> {
    let mut strides = vec![0; shape.len()];
    let mut size = 1_u64;
    for axis in (0..shape.len()).rev().filter(|&axis| reduced[axis]) {
        strides[axis] = size.cast_signed();
        let next = size.checked_mul(shape[axis].max(1));
        size = next
            .filter(|&n| i64::try_from(n).is_ok())
            .ok_or_else(|| ArrayError::Shape {
                what: "the array whose places are asked for",
                given: shape.to_vec(),
                allowed: "fewer than 2^63 elements".to_owned(),
            })?;
    }
    Ok(strides)
}

/// The same for all axes.
pub(crate) fn all_places(shape: &[u64]) -> Result<Vec<i64>, ArrayError> {
    strides(shape, &vec![true; shape.len()])
}

/// Hands `f` the counted elements of a rank: nothing where it has no place in the grid.
pub(crate) fn with_block<T: Copy, R>(
    part: &Part,
    stored: &ArrayViewD<'_, T>,
    reduced: &[bool],
    strides: Option<&[i64]>,
    order: Order,
    f: impl FnOnce(Option<&Block<'_, T>>) -> Result<R, ArrayError>,
) -> Result<R, ArrayError> {
    let stored = stored.view();
    let owned = part.owned_of(stored.view());
    let block = Block::of_part(part, &stored, &owned, reduced, strides, order)?;
    f(block.as_ref())
}

/// The counted elements of a rank, those of one output after those of another, and how many an output has here.
pub(crate) fn elements_by_output<T: Copy>(
    part: &Part,
    stored: &ArrayViewD<'_, T>,
    reduced: &[bool],
) -> (Vec<T>, usize) {
    let Some(counted) = counted_elements(part, stored, reduced) else {
        return (Vec::new(), 0);
    };
    let axes = || reduced.iter().enumerate();
    let kept = axes().filter(|(_, reduced)| !**reduced);
    let order: Vec<usize> = kept
        .chain(axes().filter(|(_, reduced)| **reduced))
        .map(|(axis, _)| axis)
        .collect();
    let extents = axes().filter(|(_, reduced)| **reduced);
    let each = extents.map(|(axis, _)| counted.shape()[axis]).product();
    let turned = counted.view().permuted_axes(IxDyn(&order));
    let mut elements = Vec::with_capacity(turned.len());
    for_each_run(&turned, |run| elements.extend_from_slice(run));
    (elements, each)
}

/// The counted elements of a rank; `None` where it has no place in the grid.
pub(crate) fn counted_elements<'a, T: Copy>(
    part: &Part,
    stored: &'a ArrayViewD<'_, T>,
    reduced: &[bool],
) -> Option<CowArray<'a, T, IxDyn>> {
    if !part.is_active() {
        return None;
    }
    let owned = part.owned_of(stored.view());
    let Some(positions) = part.chosen(reduced) else {
        return Some(owned.into());
    };
    let mut picked = owned.to_owned();
    for (axis, positions) in positions.iter().enumerate() {
        if reduced[axis] {
            picked = picked.select(Axis(axis), positions);
        }
    }
    Some(picked.into())
}

impl<T: Element, C: Communicator> Over<'_, T, C> {
    /// How many elements an output has, as a float.
    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean is no more exact than its count as a float"
    )]
    pub(crate) fn count(&self, plan: &Plan) -> f64 {
        counted(self.part.distribution(), &plan.reduced) as f64
    }

    /// The plan, when all ranks ask for the same reduction, and an array for the result. Collective: one small call.
    pub(crate) fn planned<U: Zeroable>(
        &self,
        what: &'static str,
        arguments: impl Hash + Debug,
    ) -> Result<(Plan, LocalArray<U, IxDyn, C>), ArrayError>
    where
        C: Clone,
    {
        self.in_step(what, arguments, Plan::new(self), |plan| {
            let result = LocalArray::zeros(&plan.result, self.comm.clone())?;
            Ok((plan, result))
        })
    }

    /// The plan, when all ranks ask for the same reduction into an array distributed as its result. Collective: one small call.
    pub(crate) fn plan_into<S, D, C2>(
        &self,
        what: &'static str,
        arguments: impl Hash + Debug,
        out: &LocalArrayBase<S, D, C2>,
    ) -> Result<Plan, ArrayError>
    where
        S: DataMut,
        D: Dimension,
        C2: Communicator,
    {
        let fits = Plan::new(self).and_then(|plan| {
            Part::new(Arc::new(plan.result.clone()), self.comm)?.check_compatible(&out.part)?;
            Ok(plan)
        });
        self.in_step(what, arguments, fits, Ok)
    }

    /// What `own` makes of the plan, when all ranks ask for the same reduction. Collective: one small call.
    pub(crate) fn in_step<R>(
        &self,
        what: &'static str,
        arguments: impl Hash + Debug,
        fits: Result<Plan, ArrayError>,
        own: impl FnOnce(Plan) -> Result<R, ArrayError>,
    ) -> Result<R, ArrayError> {
        let mut axes = self.axes.listed(self.part.distribution().ndim()).ok();
        if let Some(axes) = &mut axes {
            axes.sort_unstable();
        }
        let asked = (what, axes, self.keepdims, T::TYPE, arguments);
        in_step(self.comm, what, &asked, fits, own)
    }

    /// Reduces; `see` gets the states of this rank's part of the result, in C order. Collective.
    pub(crate) fn carry_out<R: Reduction<T>>(
        &self,
        what: &'static str,
        plan: &Plan,
        reduction: &R,
        see: impl FnMut(&R::State),
    ) -> Result<(), ArrayError> {
        let distribution = self.part.distribution();
        if reduction.nothing().is_none() && counted(distribution, &plan.reduced) == 0 {
            return Err(ArrayError::Empty {
                operation: what,
                shape: distribution.global_shape().to_vec(),
            });
        }
        plan.reduce(self, &self.stored, reduction, see)
    }

    /// The whole of a reduction into a new array.
    pub(crate) fn reduced<R: Reduction<T>, U: Element>(
        &self,
        what: &'static str,
        arguments: impl Hash + Debug,
        reduction: &R,
        finish: impl Fn(&R::State, f64) -> U,
    ) -> Result<LocalArray<U, IxDyn, C>, ArrayError>
    where
        C: Clone,
    {
        let (plan, mut result) = self.planned(what, (arguments, U::TYPE))?;
        self.write(what, &plan, reduction, finish, &mut result)?;
        Ok(result)
    }

    /// The whole of a reduction into an array that is there.
    pub(crate) fn reduced_into<R: Reduction<T>, S, D, C2>(
        &self,
        what: &'static str,
        arguments: impl Hash + Debug,
        reduction: &R,
        finish: impl Fn(&R::State, f64) -> S::Elem,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem: Element>,
        D: Dimension,
        C2: Communicator,
    {
        let plan = self.plan_into(what, (arguments, S::Elem::TYPE), out)?;
        self.write(what, &plan, reduction, finish, out)
    }

    fn write<R: Reduction<T>, S, D, C2>(
        &self,
        what: &'static str,
        plan: &Plan,
        reduction: &R,
        finish: impl Fn(&R::State, f64) -> S::Elem,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut,
        D: Dimension,
        C2: Communicator,
    {
        let count = self.count(plan);
        let mut slots = out.owned_mut();
        let mut slots = slots.iter_mut();
        self.carry_out(what, plan, reduction, |state| {
            if let Some(slot) = slots.next() {
                *slot = finish(state, count);
            }
        })
    }
}
