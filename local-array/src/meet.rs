//! Where operands of several shapes and distributions meet: the distribution of the result of an element-wise operation.
//!
//! From metadata alone, so every rank comes to the same answer. A rank computes what it owns of the result; it must own, of
//! each operand, the elements that this takes: the same indices in the same order along an axis of the same extent, the one
//! index along an axis of extent 1.

use std::collections::HashSet;
use std::sync::Arc;

use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution, IndexMap, MapError};

use crate::ArrayError;
use crate::expand::with_axes;
use crate::part::Part;

/// One operand, and whether it may be moved.
#[derive(Clone, Copy)]
pub(crate) struct Guest<'a> {
    pub(crate) part: &'a Arc<Part>,
    pub(crate) moves: bool,
}

impl Guest<'_> {
    fn distribution(&self) -> &Distribution {
        self.part.distribution()
    }
}

/// The part of the result: an operand's own where one has the shape of the result.
pub(crate) fn meet<C: Communicator>(
    guests: &[Guest<'_>],
    comm: &C,
) -> Result<Arc<Part>, ArrayError> {
    let [first, rest @ ..] = guests else {
        return Err(ArrayError::NullComm); // not reached: an operation has an array
    };
    if rest
        .iter()
        .all(|guest| first.part.check_compatible(guest.part).is_ok())
    {
        return Ok(Arc::clone(first.part));
    }
    for guest in rest {
        if guest.distribution().ranks() != first.distribution().ranks() {
            first.part.check_compatible(guest.part)?;
        }
    }
    let shape = common_shape(guests)?;
    let make =
        |distribution| Ok::<_, ArrayError>(Arc::new(Part::new(Arc::new(distribution), comm)?));
    let mut candidates: Vec<Arc<Part>> = guests
        .iter()
        .filter(|guest| guest.distribution().global_shape() == shape)
        .map(|guest| Arc::clone(guest.part))
        .collect();
    if candidates.is_empty() {
        for base in guests {
            if let Some(mixed) = mixed(base.distribution(), guests, &shape, false)? {
                candidates.push(make(mixed)?);
            }
        }
    }
    let fits = |part: &Part, moving: bool| {
        guests.iter().all(|guest| {
            (moving && guest.moves) || serves(guest.distribution(), part.distribution())
        })
    };
    for moving in [false, true] {
        if let Some(part) = candidates.iter().find(|part| fits(part, moving)) {
            return Ok(Arc::clone(part));
        }
    }
    for base in guests
        .iter()
        .filter(|_| guests.iter().any(|guest| guest.moves))
    {
        if let Some(mixed) = mixed(base.distribution(), guests, &shape, true)? {
            let part = make(mixed)?;
            if fits(&part, true) {
                return Ok(part);
            }
        }
    }
    Err(apart(guests, first))
}

/// Checks that each operand broadcasts to `result` and is where its elements are needed.
pub(crate) fn check_served(guest: Guest<'_>, result: &Part) -> Result<(), ArrayError> {
    if result.check_compatible(guest.part).is_ok() {
        return Ok(());
    }
    let (given, allowed) = (guest.distribution(), result.distribution());
    if given.ranks() != allowed.ranks() || !broadcasts(given.global_shape(), allowed.global_shape())
    {
        return result.check_compatible(guest.part);
    }
    if guest.moves || serves(given, allowed) {
        return Ok(());
    }
    Err(incompatible(given, allowed))
}

/// The error for operands of which one lies elsewhere than the first.
fn apart(guests: &[Guest<'_>], first: &Guest<'_>) -> ArrayError {
    for guest in guests {
        if guest.distribution().global_shape() == first.distribution().global_shape()
            && let Err(error) = first.part.check_compatible(guest.part)
        {
            return error;
        }
    }
    let mut others = guests.iter().map(Guest::distribution);
    let other = others.find(|other| other.global_shape() != first.distribution().global_shape());
    incompatible(other.unwrap_or(first.distribution()), first.distribution())
}

fn incompatible(given: &Distribution, allowed: &Distribution) -> ArrayError {
    let text = |d: &Distribution| {
        let kinds: Vec<&str> = d
            .axes()
            .iter()
            .map(|axis| if axis.is_whole() { "n" } else { axis.kind() })
            .collect();
        format!(
            "{:?} ({}) over a grid of {:?}",
            d.global_shape(),
            kinds.join(", "),
            d.grid().shape()
        )
    };
    ArrayError::IncompatibleArray {
        what: "distribution",
        given: text(given),
        allowed: format!(
            "{}; `replicate_like` or `Equalised` brings what is broadcast to every rank",
            text(allowed)
        ),
    }
}

/// Whether `shape` can be stretched to `result`.
pub(crate) fn broadcasts(shape: &[u64], result: &[u64]) -> bool {
    shape.len() <= result.len()
        && shape
            .iter()
            .rev()
            .zip(result.iter().rev())
            .all(|(&n, &m)| n == m || n == 1)
}

/// The shape that all broadcast to.
fn common_shape(guests: &[Guest<'_>]) -> Result<Vec<u64>, ArrayError> {
    let ndim = guests
        .iter()
        .map(|guest| guest.distribution().ndim())
        .max()
        .unwrap_or(0);
    let mut shape = vec![1; ndim];
    for guest in guests {
        let given = guest.distribution().global_shape();
        for (n, &m) in shape.iter_mut().rev().zip(given.iter().rev()) {
            if *n != m && *n != 1 && m != 1 {
                return Err(ArrayError::IncompatibleArray {
                    what: "global shape",
                    given: format!("{given:?}"),
                    allowed: format!("{:?}", guests[0].distribution().global_shape()),
                });
            }
            if *n == 1 {
                *n = m;
            }
        }
    }
    Ok(shape)
}

/// Whether every rank owns, of `operand`, all that its part of `result` takes. The shapes broadcast.
pub(crate) fn serves(operand: &Distribution, result: &Distribution) -> bool {
    if operand.is_compatible(result) {
        return true;
    }
    let Some(lead) = result.ndim().checked_sub(operand.ndim()) else {
        return false;
    };
    let mut seen = HashSet::new();
    result.targets().iter().all(|&rank| {
        if result.is_empty_on(rank) {
            return true;
        }
        let (Some(theirs), Some(ours)) = (operand.coords(rank), result.coords(rank)) else {
            return false;
        };
        (0..operand.ndim()).all(|axis| {
            let (at, to) = (theirs[axis], ours[lead + axis]);
            !seen.insert((axis, at, to))
                || axis_serves(
                    (&operand.axes()[axis], at),
                    (&result.axes()[lead + axis], to),
                )
        })
    })
}

fn axis_serves((operand, at): (&AxisDist, usize), (result, to): (&AxisDist, usize)) -> bool {
    if operand.size() == 1 && result.size() != 1 {
        return operand.owned_len(at) == 1;
    }
    if operand.owned_len(at) != result.owned_len(to) {
        return false;
    }
    match (operand, result) {
        (AxisDist::Block { .. }, AxisDist::Block { .. }) => {
            operand.owned_range(at) == result.owned_range(to)
        }
        (AxisDist::Unstructured { indices: a, .. }, AxisDist::Unstructured { indices: b, .. }) => {
            a[at] == b[to]
        }
        _ if operand == result && at == to => true,
        _ => owned(operand, at) == owned(result, to),
    }
}

/// The indices that a coordinate owns, in local order.
fn owned(axis: &AxisDist, coord: usize) -> Option<Vec<i64>> {
    let map = axis.map(coord).ok()?;
    let range = axis.owned_local(coord);
    let all = map.global_iter().skip(range.start).take(range.len());
    Some(all.map(dist_maps::GlobalIndex::get).collect())
}

/// Without padding.
fn bare(axis: &AxisDist) -> Result<AxisDist, MapError> {
    match axis {
        AxisDist::Block { bounds, .. } => AxisDist::block_bounds(Arc::clone(bounds)),
        other => Ok(other.clone()),
    }
}

/// Where every rank of `result` has what it needs of an array of `shape`, which broadcasts to it, and no more.
pub(crate) fn replicated(shape: &[u64], result: &Distribution) -> Result<Distribution, MapError> {
    let lead = result.ndim() - shape.len();
    let place = |(axis, to): (usize, &AxisDist)| {
        let n = axis.checked_sub(lead).map_or(1, |axis| shape[axis]);
        if n == to.size() {
            bare(to)
        } else if to.ranks() == 1 {
            AxisDist::whole(n)
        } else {
            AxisDist::unstructured(n, vec![vec![0_i64]; to.ranks()])
        }
    };
    let axes = result
        .axes()
        .iter()
        .enumerate()
        .map(place)
        .collect::<Result<_, _>>()?;
    Distribution::from_axes(axes, result.ranks(), result.targets())
}

/// The distribution of `shape` over the grid of `base`: its axes where it has the extent, else those of the others. With
/// `dealt`, an axis that does not fit the grid is dealt out in blocks; without, there is no such distribution.
fn mixed(
    base: &Distribution,
    guests: &[Guest<'_>],
    shape: &[u64],
    dealt: bool,
) -> Result<Option<Distribution>, ArrayError> {
    let base = with_axes(base, &vec![0; shape.len() - base.ndim()])?;
    let mut axes = Vec::with_capacity(shape.len());
    for (axis, &n) in shape.iter().enumerate() {
        let own = &base.axes()[axis];
        if own.size() == n {
            axes.push(bare(own)?);
            continue;
        }
        let mut found = None;
        for guest in guests {
            let given = guest.distribution();
            let at = (axis + given.ndim()).checked_sub(shape.len());
            let Some(given) = at
                .map(|at| &given.axes()[at])
                .filter(|given| given.size() == n)
            else {
                continue;
            };
            found = if given.ranks() == own.ranks() {
                Some(bare(given)?)
            } else if own.ranks() == 1 {
                everywhere(given)?
            } else {
                None
            };
            if found.is_some() {
                break;
            }
        }
        match found {
            Some(found) => axes.push(found),
            None if dealt => axes.push(AxisDist::block(n, own.ranks())?),
            None => return Ok(None),
        }
    }
    Ok(Some(Distribution::from_axes(
        axes,
        base.ranks(),
        base.targets(),
    )?))
}

/// The axis over one coordinate, if all coordinates have the same list.
fn everywhere(axis: &AxisDist) -> Result<Option<AxisDist>, MapError> {
    let AxisDist::Unstructured { size, indices, .. } = axis else {
        return Ok(None);
    };
    let first = &indices[0];
    if indices.iter().any(|list| list != first) {
        return Ok(None);
    }
    let in_order = first.len() as u64 == *size && first.iter().zip(0..).all(|(&g, i)| g == i);
    if in_order {
        return AxisDist::whole(*size).map(Some);
    }
    AxisDist::unstructured(*size, vec![Arc::clone(first)]).map(Some)
}
