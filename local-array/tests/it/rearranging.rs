//! Laws of indexing, rearranging and sorting, over random shapes, distributions and numbers of ranks.

use dist_comm::ThreadComm;
use dist_maps::{Distribution, Index, Slice};
use local_array::{IndexMode, LocalArray, Order, SearchSide, SortKind, concatenate};
use ndarray::{Dimension, IxDyn};
use proptest::prelude::*;

use crate::properties::{config, kind, on_threads};
use crate::support::plain::{self, Kind, draw};
use crate::support::{Outcome, same};

/// A number of ranks, a shape without emptiness, kinds with their padding, and a seed.
type Array = (usize, Vec<u64>, Vec<Kind>, u64, u64);

fn array(dims: std::ops::Range<usize>) -> impl Strategy<Value = Array> {
    (1..8_usize, dims).prop_flat_map(|(ranks, ndim)| {
        (
            Just(ranks),
            prop::collection::vec(0..12_u64, ndim),
            prop::collection::vec(kind(), ndim),
            0..3_u64,
            any::<u64>(),
        )
    })
}

/// Numbers that depend on the global index and a seed alone, some of them equal.
fn drawn<'a>(
    d: &Distribution,
    seed: u64,
    comm: &'a ThreadComm,
) -> Result<LocalArray<i64, IxDyn, &'a ThreadComm>, local_array::ArrayError> {
    let shape = d.global_shape().to_vec();
    LocalArray::from_fn(d, comm, |g| {
        let mut seed = seed ^ (plain::flat(&shape, g) as u64).wrapping_mul(0x9e37_79b9);
        (draw(&mut seed) % 9) as i64 - 4
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sorting_orders_and_keeps_all((ranks, shape, kinds, padding, seed) in array(1..4)) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        on_threads(ranks, |comm| {
            let a = drawn(&d, seed, comm)?;
            let axis = (seed % shape.len() as u64) as i32;
            let sorted = a.sorted(axis, SortKind::Quick)?;
            if let Some(whole) = sorted.gather_to(0)? {
                for row in whole.lanes(ndarray::Axis(axis as usize)) {
                    assert!(row.windows(2).into_iter().all(|pair| pair[0] <= pair[1]));
                }
            }
            same(sorted.sum()?, a.sum()?, "sum")?;
            let flat = a.sorted(None, SortKind::Merge)?;
            let order = a.argsort(None, SortKind::Stable)?;
            same(flat.gather_to(0)?, a.take_at(&order, IndexMode::Raise)?.gather_to(0)?, "in order")?;
            // A sorted element stands between the places where it may be put.
            let (left, right) = (flat.searchsorted(&flat, SearchSide::Left)?, flat.searchsorted(&flat, SearchSide::Right)?);
            for ((index, &l), &r) in left.ndenumerate().zip(right.owned()) {
                assert!(l <= index[0] && index[0] < r);
            }
            Ok(())
        })?;
    }

    #[test]
    fn shapes_there_and_back((ranks, shape, kinds, padding, seed) in array(0..4)) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        on_threads(ranks, |comm| {
            let a = drawn(&d, seed, comm)?;
            let whole = a.gather_to(0)?;
            let shape: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
            let turned: Vec<i64> = shape.iter().rev().copied().collect();
            let there = a.reshape(&turned)?;
            same(there.reshape(&shape)?.gather_to(0)?, whole.clone(), "reshape")?;
            let by_columns = a.flatten(Order::F)?;
            same(by_columns.reshape(&turned)?.transpose(None)?.gather_to(0)?, whole.clone(), "Fortran order")?;
            same(a.transpose(None)?.transpose(None)?.gather_to(0)?, whole, "transpose")
        })?;
    }

    #[test]
    fn slices_and_what_is_put_there((ranks, shape, kinds, padding, seed) in array(1..3), steps in prop::collection::vec((-13..13_i64, -13..13_i64, prop_oneof![-4..-1_i64, 1..5_i64]), 3)) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        let items: Vec<Index> = steps[..shape.len()].iter().map(|&(a, b, step)| Slice::new(Some(a), Some(b), step).into()).collect();
        on_threads(ranks, |comm| {
            let mut a = drawn(&d, seed, comm)?;
            let slice = a.slice(&items)?.into_owned();
            let moved = slice.redistribute(&plain::distribution(slice.global_shape(), &vec![Kind::Cyclic(2); shape.len()], 0, ranks))?;
            let more = moved.map(|&x| x + 100);
            a.set_slice(&items, &more)?;
            same(a.slice(&items)?.gather_to(0)?, more.gather_to(0)?, "what was put")?;
            let before = drawn(&d, seed, comm)?.sum()?;
            let count = slice.global_size() as i64;
            same(a.sum()?, before + 100 * count, "the rest is as it was")
        })?;
    }

    #[test]
    fn pieces_joined_are_the_whole((ranks, shape, kinds, padding, seed) in array(1..4)) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        on_threads(ranks, |comm| {
            let a = drawn(&d, seed, comm)?;
            let axis = (seed % shape.len() as u64) as usize;
            let cut = if shape[axis] == 0 { 0 } else { (seed >> 8) % shape[axis] } as i64;
            let piece = |slice: Slice| {
                let mut items = vec![Index::from(..); shape.len()];
                items[axis] = slice.into();
                a.slice(&items)
            };
            let (front, back) = (piece(Slice::new(None, Some(cut), 1))?, piece(Slice::new(Some(cut), None, 1))?);
            let joined = concatenate(&[&front, &back], axis as i32)?;
            same(joined.gather_to(0)?, a.gather_to(0)?, "joined")?;
            let twice = a.repeat(2, axis as i32)?;
            let mut items = vec![Index::from(..); shape.len()];
            items[axis] = Slice::new(Some(1), None, 2).into();
            same(twice.slice(&items)?.gather_to(0)?, a.gather_to(0)?, "every second of twice")?;
            let picked: Vec<i64> = (0..shape[axis] as i64).rev().collect();
            items[axis] = Slice::new(None, None, -1).into();
            same(a.take(&picked, axis as i32, IndexMode::Raise)?.gather_to(0)?, a.slice(&items)?.gather_to(0)?, "backwards")
        })?;
    }

    #[test]
    fn what_is_not_zero_is_found((ranks, shape, kinds, padding, seed) in array(1..4)) {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        on_threads(ranks, |comm| -> Outcome {
            let a = drawn(&d, seed, comm)?;
            let hits = a.nonzero()?;
            let mut found = Vec::new();
            for column in &hits {
                found.push(column.gather_to(0)?);
            }
            let chosen = a.compress_where(&a)?.gather_to(0)?;
            let whole = a.gather_to(0)?;
            if let (Some(whole), Some(chosen)) = (whole, chosen) {
                let wanted: Vec<Vec<i64>> = whole.indexed_iter().filter(|(_, x)| **x != 0).map(|(at, _)| at.slice().iter().map(|&i| i as i64).collect()).collect();
                let rows: Vec<Vec<i64>> = (0..wanted.len()).map(|i| found.iter().flatten().map(|column| column[i]).collect()).collect();
                same(rows, wanted, "nonzero")?;
                same(chosen.to_vec(), whole.iter().copied().filter(|&x| x != 0).collect::<Vec<_>>(), "compress_where")?;
            }
            Ok(())
        })?;
    }
}
