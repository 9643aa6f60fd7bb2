//! What operations mean on one rank's part: `NumPy`'s answers, each rank with calls of its own, none waiting for another.

use dap_protocol::{DistributedArray, Element, ElementType};
use dist_comm::{Communicator, SingleComm};
use local_array::{LocalArray, LocalArrayBase, Order, are_compatible};
use ndarray::{ArrayD, Axis, CowRepr, Data, Dimension, IxDyn, ViewRepr};

use super::numpy::{Call, spread, whole_alike};
use super::plain::{flat, zoo};
use super::support::arrays::{numbered, numbers, plainly};
use super::support::place::Place;
use super::support::schedule::{LINALG, OVER, STATISTICS, Sample};
use super::{Outcome, ensure, same};
use super::{linalg, over, statistics};

cases! {
    parts_have_numpys_reductions,
    parts_have_numpys_statistics,
    parts_have_numpys_products,
    parts_reduce_into_what_is_there,
    parts_accumulate_into_what_is_there,
    parts_are_arrays_of_one_rank,
    parts_are_indexed_from_0,
    parts_change_alone,
}

/// The calls that these ranks look at, dealt out: each is made by one rank, on its part of an array over all.
fn each_call(
    sample: &Sample,
    check: impl Fn(&Call, usize, Place<'_>) -> Outcome,
    comm: &dyn Communicator,
) -> Outcome {
    let alone = SingleComm::new();
    let place = Place::Part {
        of: comm,
        alone: &alone,
    };
    let due = sample.due(comm.size())?;
    ensure(due.len() > comm.size(), || format!("{} calls", due.len()))?;
    for &(turn, call) in due.iter().skip(comm.rank()).step_by(comm.size()) {
        check(call, turn, place)?;
    }
    Ok(())
}

fn parts_have_numpys_reductions(comm: &dyn Communicator) -> Outcome {
    each_call(&OVER, over::check_call, comm)
}

fn parts_have_numpys_statistics(comm: &dyn Communicator) -> Outcome {
    each_call(&STATISTICS, statistics::check_call, comm)
}

fn parts_have_numpys_products(comm: &dyn Communicator) -> Outcome {
    each_call(&LINALG, linalg::check_call, comm)
}

/// An output for what a part gives, with other elements in it.
fn output<T: Element, S: Data, D: Dimension>(
    like: &LocalArrayBase<S, D, SingleComm>,
    element: T,
) -> Result<LocalArray<T, IxDyn, SingleComm>, local_array::ArrayError> {
    LocalArray::full(like.distribution(), SingleComm::new(), element)
}

fn parts_reduce_into_what_is_there(comm: &dyn Communicator) -> Outcome {
    let shape = [14, 9];
    for distribution in zoo(&shape, comm.size()) {
        let a = spread(&numbers(&shape, 8), &distribution, comm)?;
        let (part, own) = (a.part()?, a.owned().to_owned());
        if own.is_empty() {
            continue;
        }
        for axis in 0..2 {
            let over = || part.over(axis as i32);
            macro_rules! into {
                ($($t:ty, $odd:expr, $call:ident($($arg:expr),*): $plain:expr;)*) => {$({
                    let mut out = output::<$t, _, _>(&over().sum()?, $odd)?;
                    over().$call($($arg,)* &mut out)?;
                    whole_alike(&out, &plainly(&own, &[axis], $plain), 1e-6, stringify!($call))?;
                })*};
            }
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let squares = |x: &[f64]| x.iter().map(|y| (y - mean(x)).powi(2)).sum::<f64>();
            let least = |x: &[f64]| x.iter().copied().fold(f64::INFINITY, f64::min);
            let most = |x: &[f64]| x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let place =
                |x: &[f64], wanted: f64| x.iter().position(|&y| y == wanted).unwrap_or(0) as i64;
            into! {
                f32, 9.0, sum_into(): |x: &[f64]| x.iter().sum::<f64>() as f32;
                i16, 9, sum_into(): |x: &[f64]| x.iter().map(|&y| y as i16).sum::<i16>();
                f64, 9.0, prod_into(): |x: &[f64]| x.iter().product::<f64>();
                f32, 9.0, mean_into(): |x: &[f64]| mean(x) as f32;
                f64, 9.0, var_into(0.0): |x: &[f64]| squares(x) / x.len() as f64;
                f64, 9.0, std_into(0.0): |x: &[f64]| (squares(x) / x.len() as f64).sqrt();
                f64, 9.0, min_into(): least;
                f64, 9.0, max_into(): most;
                f64, 9.0, ptp_into(): |x: &[f64]| most(x) - least(x);
                i64, 9, argmin_into(): |x: &[f64]| place(x, least(x));
                i64, 9, argmax_into(): |x: &[f64]| place(x, most(x));
                bool, true, any_into(): |x: &[f64]| x.iter().any(|&y| y != 0.0);
                bool, true, all_into(): |x: &[f64]| x.iter().all(|&y| y != 0.0);
            }
        }
    }
    Ok(())
}

fn parts_accumulate_into_what_is_there(comm: &dyn Communicator) -> Outcome {
    let shape = [14, 9];
    for distribution in zoo(&shape, comm.size()) {
        let a = spread(&numbers(&shape, 8), &distribution, comm)?;
        let (part, own) = (a.part()?, a.owned().to_owned());
        for axis in 0..2 {
            let mut out = output(&part, 9_f32)?;
            let single = own.mapv(|x| x as f32);
            let running = |join: fn(f32, f32) -> f32| {
                let mut all: ArrayD<f32> = single.clone();
                all.accumulate_axis_inplace(Axis(axis), |&before, x| *x = join(before, *x));
                all
            };
            part.cumsum_into(axis as i32, &mut out)?;
            whole_alike(&out, &running(|x, y| x + y), 1e-6, "cumsum_into")?;
            part.cumprod_into(axis as i32, &mut out)?;
            whole_alike(&out, &running(|x, y| x * y), 1e-6, "cumprod_into")?;
        }
        let (rows, columns) = (own.shape()[0] as i64, own.shape()[1] as i64);
        for offset in [0, 1, -2] {
            let whole = (0..rows).filter(|i| (0..columns).contains(&(i + offset)));
            // Each element is cast first, as with NumPy's `dtype`.
            let wanted: i32 = whole
                .map(|i| own[[i as usize, (i + offset) as usize]] as i32)
                .sum();
            let mut out = output(&part.trace(offset, 0, 1)?, 9_i32)?;
            part.trace_into(offset, 0, 1, &mut out)?;
            same(out.local().first(), Some(&wanted), "trace_into")?;
        }
    }
    Ok(())
}

/// What a part says of itself, and how it is exported and imported.
fn parts_are_arrays_of_one_rank(comm: &dyn Communicator) -> Outcome {
    for d in zoo(&[9, 5], comm.size()) {
        let a = numbered(&d, comm)?;
        let (part, own) = (a.part()?, a.owned().to_owned());
        let shape: Vec<u64> = own.shape().iter().map(|&n| n as u64).collect();
        same(part.local(), own.view(), "get_localarray")?;
        same((part.ndim(), part.global_shape()), (2, &*shape), "shape")?;
        same(part.global_size(), own.len() as u128, "global_size")?;
        same(part.dist(), "nn".to_owned(), "dist")?;
        let types = (part.dtype(), part.itemsize(), part.nbytes());
        let bytes = 8 * own.len() as u128;
        same(types, (ElementType::I64, 8, bytes), "type")?;
        same(
            part.coords_from_rank(0),
            Some(vec![0, 0]),
            "coords_from_rank",
        )?;
        same(part.coords_from_rank(1), None, "no other rank")?;
        same(part.rank_from_coords(&[0, 0]), Some(0), "rank_from_coords")?;
        same(part.rank_from_coords(&[0, 1]), None, "no other place")?;
        let whole = dist_maps::Distribution::over(1).shape(shape).build()?;
        let alone = LocalArray::<u8, IxDyn, _>::zeros(&whole, SingleComm::new())?;
        same(
            part.compatibility_hash(),
            alone.compatibility_hash(),
            "hash",
        )?;
        ensure(are_compatible(&part, &alone), || "are_compatible".into())?;
        let longer = [own.shape()[0] as u64, own.shape()[1] as u64 + 1];
        let longer = dist_maps::Distribution::over(1).shape(longer).build()?;
        let longer = LocalArray::<u8, IxDyn, _>::zeros(&longer, SingleComm::new())?;
        ensure(!are_compatible(&part, &longer), || "another shape".into())?;
        let shown = part.distarray();
        same(shown.buffer().view(), own.view(), "__distarray__")?;
        same(shown.dim_data(), &whole.dim_data(0)?, "its dictionaries")?;
        let zeros =
            LocalArray::<f32, IxDyn, _>::from_dim_data(shown.dim_data(), SingleComm::new())?;
        same(
            zeros.local(),
            ArrayD::<f32>::zeros(own.raw_dim()).view(),
            "from_dim_data",
        )?;
        let taken: LocalArrayBase<ViewRepr<&i64>, IxDyn, _> =
            LocalArrayBase::from_distarray(part.distarray(), SingleComm::new())?;
        same(taken.local(), own.view(), "from_distarray")?;
        for order in [Order::C, Order::F, Order::A, Order::K] {
            let ours: LocalArrayBase<CowRepr<'_, i64>, IxDyn, _> =
                LocalArrayBase::aslocalarray(&part, order, SingleComm::new())?;
            same(ours.local(), own.view(), "aslocalarray")?;
            let lies = match order {
                Order::C => ours.local().is_standard_layout(),
                Order::F => ours.local().t().is_standard_layout(),
                Order::A | Order::K => true,
            };
            ensure(lies, || format!("not in order {order:?}"))?;
            let floats: LocalArray<f64, IxDyn, _> =
                LocalArray::aslocalarray_as(&part, order, SingleComm::new())?;
            same(floats.local(), own.mapv(|x| x as f64).view(), "as f64")?;
        }
        let other = own.mapv(|x| x as f32 / 2.0);
        let other = LocalArray::fromlocalarray_like(other, &part)?;
        same(
            other.distribution(),
            part.distribution(),
            "fromlocalarray_like",
        )?;
        let zeros = (part.zeros_like::<f32>()?, part.empty_like::<u8>()?);
        same(zeros.0.sum()?, 0.0, "zeros_like")?;
        same(zeros.1.local_shape(), own.shape(), "empty_like")?;
    }
    Ok(())
}

/// Global indices of a part are its local ones.
fn parts_are_indexed_from_0(comm: &dyn Communicator) -> Outcome {
    for d in zoo(&[9, 5], comm.size()) {
        let a = numbered(&d, comm)?;
        let (part, own) = (a.part()?, a.owned().to_owned());
        let shape = part.global_shape().to_vec();
        let mut copy = part.to_owned();
        for ((index, found), (at, &element)) in part.ndenumerate().zip(own.indexed_iter()) {
            let local = [at[0], at[1]];
            let global = local.map(|i| i as i64);
            same((&*index, *found), (&global[..], element), "ndenumerate")?;
            same(
                part.checked_getitem(&global),
                Some(element),
                "checked_getitem",
            )?;
            same(
                part.global_from_local(&local),
                Some(global.to_vec()),
                "global",
            )?;
            same(
                part.local_from_global(&global),
                Some(local.to_vec()),
                "local",
            )?;
            let packed = part.pack_index(&global)?;
            same(packed as i64, flat(&shape, &global), "pack_index")?;
            same(part.unpack_index(packed)?, global.to_vec(), "unpack_index")?;
            let by_name = part.global_index();
            same(
                by_name.checked_getitem(&global),
                Some(element),
                "GlobalIndex",
            )?;
            same(
                by_name.global_to_local(&global),
                Some(local.to_vec()),
                "to_local",
            )?;
            same(
                by_name.local_to_global(&local),
                Some(global.to_vec()),
                "to_global",
            )?;
            ensure(copy.checked_setitem(&global, -element), || "not set".into())?;
            same(
                copy.checked_getitem(&global),
                Some(-element),
                "checked_setitem",
            )?;
            let is_set = copy.global_index_mut().checked_setitem(&global, element);
            ensure(is_set, || "not set by name".into())?;
        }
        same(part.ndenumerate().len(), own.len(), "ndenumerate")?;
        same(copy.local(), own.view(), "set twice")?;
        let beyond = [shape[0] as i64, 0];
        same(part.checked_getitem(&beyond), None, "beyond the part")?;
        ensure(!copy.checked_setitem(&beyond, 1), || "set beyond".into())?;
        for (axis, n) in shape.iter().enumerate() {
            let limits = n.checked_sub(1).map(|last| (0, last as i64));
            same(part.global_limits(axis)?, limits, "global_limits")?;
        }
    }
    Ok(())
}

/// What changes a copy of a part leaves the array as it was, and needs no other rank.
fn parts_change_alone(comm: &dyn Communicator) -> Outcome {
    for d in zoo(&[9, 5], comm.size()) {
        let a = numbered(&d, comm)?;
        let own = a.owned().to_owned();
        let mut copy = a.part()?.copy();
        // Rank 0 goes on alone.
        if comm.rank() == 0 {
            copy.sync()?;
        }
        same(copy.local(), own.view(), "copy and sync")?;
        same(
            copy.local_view::<u64>()?,
            own.mapv(|x| x as u64).view(),
            "local_view",
        )?;
        let halves = copy.view_as::<u32>()?;
        same(halves.global_size(), 2 * own.len() as u128, "view")?;
        copy.set_localarray(own.mapv(|x| x + 1))?;
        same(copy.local(), own.mapv(|x| x + 1).view(), "set_localarray")?;
        copy.fill(7);
        same(copy.sum()?, 7 * own.len() as i64, "fill")?;
        same(a.owned(), own.view(), "the array")?;
    }
    Ok(())
}
