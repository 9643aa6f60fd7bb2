//! Laws of indexing, rearranging and sorting.

use dist_comm::Communicator;
use dist_maps::{Index, Slice};
use local_array::{ArrayError, IndexMode, LocalArray, Order, SearchSide, SortKind, concatenate};
use ndarray::{Dimension, IxDyn};
use proptest::prelude::*;

use super::kind;
use crate::support::numpy::Whole;
use crate::support::plain::{self, Kind, draw};
use crate::support::{Outcome, ensure, same};

/// A shape, kinds with their padding, and a seed.
pub type Array = (Vec<u64>, Vec<Kind>, u64, u64);

fn of_dimensions(dims: std::ops::Range<usize>) -> impl Strategy<Value = Array> {
    dims.prop_flat_map(|ndim| {
        (
            prop::collection::vec(0..12_u64, ndim),
            prop::collection::vec(kind(), ndim),
            0..3_u64,
            any::<u64>(),
        )
    })
}

pub fn array() -> impl Strategy<Value = Array> {
    of_dimensions(1..4)
}

pub fn any_array() -> impl Strategy<Value = Array> {
    of_dimensions(0..4)
}

/// An array, and start, stop and step along each of its axes.
pub type Sliced = (Array, Vec<(i64, i64, i64)>);

pub fn sliced() -> impl Strategy<Value = Sliced> {
    let slice = (-13..13_i64, -13..13_i64, prop_oneof![-4..-1_i64, 1..5_i64]);
    (of_dimensions(1..3), prop::collection::vec(slice, 3))
}

/// Numbers that depend on the global index and a seed alone, some of them equal.
fn drawn<'a>(
    (shape, kinds, padding, seed): &Array,
    comm: &'a dyn Communicator,
) -> Result<Whole<'a, i64>, ArrayError> {
    let d = plain::distribution(shape, kinds, *padding, comm.size());
    LocalArray::<_, IxDyn, _>::from_fn(&d, comm, |g| {
        let mut seed = seed ^ (plain::flat(shape, g) as u64).wrapping_mul(0x9e37_79b9);
        (draw(&mut seed) % 9) as i64 - 4
    })
}

pub fn sorting_orders_and_keeps_all(input: &Array, comm: &dyn Communicator) -> Outcome {
    let (shape, .., seed) = input;
    let a = drawn(input, comm)?;
    let axis = (seed % shape.len() as u64) as i32;
    let sorted = a.sorted(axis, SortKind::Quick)?;
    let whole = sorted.gather_to(0)?;
    let rises = whole.is_none_or(|whole| {
        let mut rows = whole.lanes(ndarray::Axis(axis as usize)).into_iter();
        rows.all(|row| row.windows(2).into_iter().all(|pair| pair[0] <= pair[1]))
    });
    ensure(rises, || "not in order".into())?;
    same(sorted.sum()?, a.sum()?, "sum")?;
    let flat = a.sorted(None, SortKind::Merge)?;
    let order = a.argsort(None, SortKind::Stable)?;
    let taken = a.take_at(&order, IndexMode::Raise)?;
    same(flat.gather_to(0)?, taken.gather_to(0)?, "in order")?;
    // A sorted element stands between the places where it may be put.
    let left = flat.searchsorted(&flat, SearchSide::Left)?;
    let right = flat.searchsorted(&flat, SearchSide::Right)?;
    for ((index, &l), &r) in left.ndenumerate().zip(right.owned()) {
        ensure(l <= index[0] && index[0] < r, || {
            format!("{index:?} is not in {l}..{r}")
        })?;
    }
    Ok(())
}

pub fn shapes_there_and_back(input: &Array, comm: &dyn Communicator) -> Outcome {
    let a = drawn(input, comm)?;
    let whole = a.gather_to(0)?;
    let shape: Vec<i64> = input.0.iter().map(|&n| n as i64).collect();
    let turned: Vec<i64> = shape.iter().rev().copied().collect();
    let there = a.reshape(&turned)?;
    let back = there.reshape(&shape)?;
    same(back.gather_to(0)?, whole.clone(), "reshape")?;
    let by_columns = a.flatten(Order::F)?;
    let there = by_columns.reshape(&turned)?;
    let back = there.transpose(None)?;
    same(back.gather_to(0)?, whole.clone(), "Fortran order")?;
    let twice = a.transpose(None)?.transpose(None)?.gather_to(0)?;
    same(twice, whole, "transpose")
}

pub fn slices_and_what_is_put_there((input, steps): &Sliced, comm: &dyn Communicator) -> Outcome {
    let shape = &input.0;
    let items: Vec<Index> = steps[..shape.len()]
        .iter()
        .map(|&(a, b, step)| Slice::new(Some(a), Some(b), step).into())
        .collect();
    let mut a = drawn(input, comm)?;
    let slice = a.slice(&items)?.into_owned();
    let kinds = vec![Kind::Cyclic(2); shape.len()];
    let elsewhere = plain::distribution(slice.global_shape(), &kinds, 0, comm.size());
    let more = slice.redistribute(&elsewhere)?.map(|&x| x + 100);
    a.set_slice(&items, &more)?;
    same(
        a.slice(&items)?.gather_to(0)?,
        more.gather_to(0)?,
        "what was put",
    )?;
    let before = drawn(input, comm)?.sum()?;
    let count = slice.global_size() as i64;
    same(a.sum()?, before + 100 * count, "the rest is as it was")
}

pub fn pieces_joined_are_the_whole(input: &Array, comm: &dyn Communicator) -> Outcome {
    let (shape, .., seed) = input;
    let a = drawn(input, comm)?;
    let axis = (seed % shape.len() as u64) as usize;
    let cut = (seed >> 8).checked_rem(shape[axis]).unwrap_or(0) as i64;
    let along = |slice: Slice| {
        let mut items = vec![Index::from(..); shape.len()];
        items[axis] = slice.into();
        items
    };
    let front = a.slice(&along(Slice::new(None, Some(cut), 1)))?;
    let back = a.slice(&along(Slice::new(Some(cut), None, 1)))?;
    let joined = concatenate(&[&front, &back], axis as i32)?;
    same(joined.gather_to(0)?, a.gather_to(0)?, "joined")?;
    let twice = a.repeat(2, axis as i32)?;
    let second = twice.slice(&along(Slice::new(Some(1), None, 2)))?;
    same(
        second.gather_to(0)?,
        a.gather_to(0)?,
        "every second of twice",
    )?;
    let picked: Vec<i64> = (0..shape[axis] as i64).rev().collect();
    let taken = a.take(&picked, axis as i32, IndexMode::Raise)?;
    let turned = a.slice(&along(Slice::new(None, None, -1)))?;
    same(taken.gather_to(0)?, turned.gather_to(0)?, "backwards")
}

pub fn what_is_not_zero_is_found(input: &Array, comm: &dyn Communicator) -> Outcome {
    let a = drawn(input, comm)?;
    let mut found = Vec::new();
    for column in &a.nonzero()? {
        found.push(column.gather_to(0)?);
    }
    let chosen = a.compress_where(&a)?.gather_to(0)?;
    let whole = a.gather_to(0)?;
    if let (Some(whole), Some(chosen)) = (whole, chosen) {
        let hits = whole.indexed_iter().filter(|(_, x)| **x != 0);
        let wanted: Vec<Vec<i64>> = hits
            .map(|(at, _)| at.slice().iter().map(|&i| i as i64).collect())
            .collect();
        let rows: Vec<Vec<i64>> = (0..wanted.len())
            .map(|i| found.iter().flatten().map(|column| column[i]).collect())
            .collect();
        same(rows, wanted, "nonzero")?;
        let wanted: Vec<i64> = whole.iter().copied().filter(|&x| x != 0).collect();
        same(chosen.to_vec(), wanted, "compress_where")?;
    }
    Ok(())
}
