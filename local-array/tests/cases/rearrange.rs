//! Other shapes, axes, copies: what `NumPy` answers.

use dap_protocol::Element;
use dist_comm::{Communicator, SingleComm};
use dist_maps::{Distribution, Index, Slice};
use local_array::{
    Arithmetic, ArrayError, Cast, IndexMode, LocalArray, LocalArrayBase, Order, concatenate,
};
use ndarray::{ArrayD, Data, Dimension, IxDyn};
use num_complex::Complex64;
use serde_json::Value;

use super::numpy::{Call, Close, Memory, alike, shape_of, spread, spread_as, whole_alike};
use super::plain::{Kind, axes as axes_of, distribution, zoo};
use super::support::schedule::{REARRANGE, one_of};
use super::{Failure, Outcome, ensure, refused_everywhere, same};

cases! {
    rearrange_take_put_compress,
    rearrange_nonzero_and_masks,
    rearrange_shapes,
    rearrange_parts_in_both_orders,
    rearrange_axes,
    rearrange_copies,
    rearrange_slices,
    rearrange_values_stretch_to_the_slice,
    rearrange_outputs,
    rearrange_lists_on_several_ranks,
    rearrange_views_borrow,
    rearrange_errors_are_the_same_everywhere,
    rearrange_arguments_differ_between_the_ranks,
    rearrange_repeats_of_free_lists,
}

type Whole<'a, T> = LocalArray<T, IxDyn, &'a dyn Communicator>;

/// The calls of some operations that these ranks look at, each with its turn.
fn some(ops: &[&str], comm: &dyn Communicator) -> Result<Vec<(usize, &'static Call)>, Failure> {
    REARRANGE.due_of(|call| ops.contains(&&*call.op), 20, comm.size())
}

/// Two distributions of a shape, chosen by a turn.
fn two(shape: &[u64], turn: usize, ranks: usize) -> [Distribution; 2] {
    [0, 1].map(|array| one_of(shape, ranks, turn, array))
}

fn text<'a>(call: &'a Call, name: &str) -> &'a str {
    call.args.get(name).and_then(Value::as_str).unwrap_or("")
}

fn number(call: &Call, name: &str) -> Option<i64> {
    call.args.get(name).and_then(Value::as_i64)
}

fn axis(call: &Call, name: &str) -> Option<i32> {
    number(call, name).map(|axis| axis as i32)
}

fn numbers(call: &Call, name: &str) -> Option<Vec<i64>> {
    let list = call.args.get(name)?.as_array()?;
    list.iter().map(Value::as_i64).collect()
}

fn axes(call: &Call) -> Option<Vec<i32>> {
    numbers(call, "axes").map(|axes| axes.into_iter().map(|axis| axis as i32).collect())
}

fn mode(call: &Call) -> IndexMode {
    match text(call, "mode") {
        "wrap" => IndexMode::Wrap,
        "clip" => IndexMode::Clip,
        _ => IndexMode::Raise,
    }
}

fn order(call: &Call) -> Order {
    match text(call, "order") {
        "F" => Order::F,
        "A" => Order::A,
        "K" => Order::K,
        _ => Order::C,
    }
}

fn items(call: &Call) -> Vec<Index> {
    let item = |value: &Value| match value {
        Value::Null => Index::Ellipsis,
        Value::Array(slice) => Slice::new(
            slice[0].as_i64(),
            slice[1].as_i64(),
            slice[2].as_i64().unwrap_or(1),
        )
        .into(),
        other => Index::At(other.as_i64().unwrap_or(0)),
    };
    let list = call.args.get("items").and_then(Value::as_array);
    list.map_or(Vec::new(), |list| list.iter().map(item).collect())
}

/// Runs `test` with the element type of a call.
macro_rules! by_type {
    ($call:expr, $test:ident($($arg:expr),*)) => {
        match &*$call.inputs[0].dtype {
            "<i8" => $test::<i64>($($arg),*),
            "|b1" => $test::<bool>($($arg),*),
            "<c16" => $test::<Complex64>($($arg),*),
            other => Err(format!("a type that the test does not know: {other}").into()),
        }
    };
}

/// What is done with an array: one result for each output.
type Results<'a, T> = Result<Vec<LocalArray<T, IxDyn, &'a dyn Communicator>>, Failure>;

/// The input of a call: where the order in memory counts, in the order that it had in `NumPy`, by rows.
fn placed<'a, T: Close>(
    call: &Call,
    distribution: &Distribution,
    comm: &'a dyn Communicator,
) -> Result<Whole<'a, T>, Failure> {
    let input = call.inputs[0].array::<T>()?;
    if matches!(order(call), Order::A | Order::K) {
        spread_as(&input, distribution, comm, Memory::Rows)
    } else {
        spread(&input, distribution, comm)
    }
}

/// Compares what `operation` gives with a call: over distributions of the whole, and on the part of one rank.
fn check<T: Close>(
    call: &Call,
    at: usize,
    comm: &dyn Communicator,
    operation: &dyn for<'a> Fn(&Whole<'a, T>) -> Results<'a, T>,
) -> Outcome {
    let input = call.inputs[0].array::<T>()?;
    let compare = |found: Vec<Whole<'_, T>>, what: &str| {
        same(found.len(), call.outputs.len(), what)?;
        for (found, wanted) in found.iter().zip(&call.outputs) {
            whole_alike(found, &wanted.array::<T>()?, 0.0, what)?;
        }
        Ok::<_, Failure>(())
    };
    for distribution in two(&shape_of(&input), at, comm.size()) {
        let what = format!("{call:?} over {distribution:?}");
        let a = placed(call, &distribution, comm)?;
        compare(
            operation(&a).map_err(|error| format!("{what}: {error}"))?,
            &what,
        )?;
    }
    // Local: the part of this rank, here all of the array.
    let single = SingleComm::new();
    let single: &dyn Communicator = &single;
    let kinds = vec![Kind::Block; input.ndim()];
    let a = placed(call, &distribution(&shape_of(&input), &kinds, 1, 1), single)?;
    let part = a.part()?;
    let part = LocalArray::from_array(part.local().to_owned(), part.distribution(), single)?;
    compare(operation(&part)?, &format!("{call:?} on a part"))
}

fn owned<'a, T: Element, S: Data<Elem = T>, D: Dimension>(
    array: &LocalArrayBase<S, D, &'a dyn Communicator>,
) -> Whole<'a, T> {
    array.to_owned().into_dyn()
}

fn take_put_compress<T: Close>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    match &*call.op {
        "take" => {
            let indices = call.inputs[1].array::<i64>()?;
            check::<T>(call, at, comm, &|a| {
                let mut all = vec![a.take(&indices, axis(call, "axis"), mode(call))?];
                if call.args["axis"].is_null() {
                    // Indices that are spread over the ranks give the same.
                    let layouts = two(&shape_of(&indices), at + 1, a.comm_size());
                    let spread = spread(&indices, &layouts[0], *a.comm())?;
                    let found = a.take_at(&spread, mode(call))?;
                    same(found.distribution(), spread.distribution(), "take_at")?;
                    whole_alike(&found, &call.outputs[0].array::<T>()?, 0.0, "take_at")?;
                    if indices.ndim() == 0 && all[0].ndim() == 0 {
                        all = vec![a.take(indices[[]], None, mode(call))?];
                    }
                } else if indices.ndim() == 1 {
                    let layouts = two(&shape_of(&indices), at + 1, a.comm_size());
                    let spread = spread(&indices, &layouts[0], *a.comm())?;
                    let along = axis(call, "axis").ok_or("no axis")?;
                    let found = a.take_at_along(&spread, along, mode(call))?;
                    let at = found.distribution().axes()
                        [along.rem_euclid(a.ndim() as i32) as usize]
                        .clone();
                    same(&at, &spread.distribution().axes()[0], "take_at_along")?;
                    whole_alike(&found, &call.outputs[0].array::<T>()?, 0.0, "take_at_along")?;
                }
                Ok(all)
            })
        }
        "compress" => {
            let condition = call.inputs[1].array::<bool>()?.into_raw_vec_and_offset().0;
            check::<T>(call, at, comm, &|a| {
                Ok(vec![a.compress(&condition, axis(call, "axis"))?])
            })
        }
        _ => {
            let indices = call.inputs[1].array::<i64>()?;
            let values = call.inputs[2].array::<T>()?;
            check::<T>(call, at, comm, &|a| {
                let mut a = owned(a);
                a.put(&indices, values.as_slice().unwrap_or(&[]), mode(call))?;
                for (index, element, _) in a.ndenumerate_stored() {
                    // Padding is set as well.
                    same(a.checked_getitem(&index), Some(*element), "put")?;
                }
                if values.len() == indices.len() {
                    let layouts = two(&shape_of(&indices), at + 1, a.comm_size());
                    let at = spread(&indices, &layouts[1], *a.comm())?;
                    let values = spread(&values, &layouts[1], *a.comm())?;
                    let mut b = spread(&call.inputs[0].array::<T>()?, a.distribution(), *a.comm())?;
                    b.put_at(&at, &values, mode(call))?;
                    whole_alike(&b, &call.outputs[0].array::<T>()?, 0.0, "put_at")?;
                }
                Ok(vec![a])
            })
        }
    }
}

fn rearrange_take_put_compress(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some(&["take", "compress", "put"], comm)? {
        by_type!(call, take_put_compress(call, *at, comm))?;
    }
    Ok(())
}

fn nonzero<T: Close + Cast<bool>>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let input = call.inputs[0].array::<T>()?;
    if call.op == "mask" {
        let mask = call.inputs[1].array::<bool>()?;
        return check::<T>(call, at, comm, &|a| {
            let mask = spread(&mask, a.distribution(), *a.comm())?;
            Ok(vec![a.compress_where(&mask)?.into_dyn()])
        });
    }
    for distribution in two(&shape_of(&input), at, comm.size()) {
        let found = spread(&input, &distribution, comm)?.nonzero()?;
        same(found.len(), call.outputs.len(), "dimensions")?;
        for (found, wanted) in found.iter().zip(&call.outputs) {
            whole_alike(
                found,
                &wanted.array::<i64>()?,
                0.0,
                &format!("{call:?} over {distribution:?}"),
            )?;
        }
    }
    let single = SingleComm::new();
    let single: &dyn Communicator = &single;
    let whole = distribution(&shape_of(&input), &vec![Kind::Whole; input.ndim()], 0, 1);
    let a = spread(&input, &whole, single)?;
    for (found, wanted) in a.part()?.nonzero()?.iter().zip(&call.outputs) {
        alike(
            &found.local().to_owned().into_dyn(),
            &wanted.array::<i64>()?,
            0.0,
            "nonzero of a part",
        )?;
    }
    Ok(())
}

fn rearrange_nonzero_and_masks(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some(&["nonzero", "mask"], comm)? {
        by_type!(call, nonzero(call, *at, comm))?;
    }
    let scalar = LocalArray::<i64, IxDyn, _>::zeros(&zoo(&[], comm.size())[0], comm)?;
    ensure(scalar.nonzero().is_err(), || "nonzero of a scalar".into())
}

/// Whether a rank's part is stored either by rows or by columns, not both at once.
fn tells_its_order(distribution: &Distribution, rank: usize) -> bool {
    if distribution.coords(rank).is_none() {
        return false;
    }
    let axes = axes_of(distribution, rank);
    axes.iter().all(|axis| !axis.is_empty())
        && axes.iter().filter(|axis| axis.len() > 1).count() > 1
}

/// An array that every rank stores by columns, where that can be told, and then one that the first such rank stores by
/// rows.
fn stored_by_columns<T: Close>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let input = call.inputs[0].array::<T>()?;
    let by_rows = ArrayD::from_shape_vec(IxDyn(&[input.len()]), input.iter().copied().collect())?;
    let by_columns = call.outputs[0].array::<T>()?;
    let flat = |a: &Whole<'_, T>, wanted: &ArrayD<T>, what: &str| {
        let found = if call.op == "ravel" {
            a.ravel(order(call))?.into_owned()
        } else {
            a.flatten(order(call))?
        };
        whole_alike(&found, wanted, 0.0, what)
    };
    for distribution in two(&shape_of(&input), at, comm.size()) {
        let what = format!("{call:?} over {distribution:?}");
        let first = (0..comm.size()).find(|&rank| tells_its_order(&distribution, rank));
        let a = spread_as(&input, &distribution, comm, Memory::Columns)?;
        let wanted = if first.is_some() {
            &by_columns
        } else {
            &by_rows
        };
        flat(&a, wanted, &what)?;
        let memory = if first == Some(comm.rank()) {
            Memory::Rows
        } else {
            Memory::Columns
        };
        let a = spread_as(&input, &distribution, comm, memory)?;
        flat(&a, &by_rows, &format!("{what}, {first:?} by rows"))?;
        let a = spread_as(&input, &distribution, comm, Memory::Backwards)?;
        flat(&a, &by_rows, &format!("{what}, backwards"))?;
    }
    let single = SingleComm::new();
    let single: &dyn Communicator = &single;
    let whole = distribution(&shape_of(&input), &vec![Kind::Block; input.ndim()], 1, 1);
    let a = spread_as(&input, &whole, single, Memory::Columns)?;
    let part = a.part()?;
    let part = LocalArray::from_array(part.local().to_owned(), part.distribution(), single)?;
    flat(&part, &by_columns, &format!("{call:?} on a part"))
}

/// Rows are in both orders at once, and so is nothing: where all parts are, A and K are C's order, and where one is by
/// columns alone, Fortran's.
fn rearrange_parts_in_both_orders(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    let stored = |bounds: Vec<u64>, memory: Memory| {
        let n = *bounds.last().unwrap_or(&0);
        let d = Distribution::over(ranks)
            .shape([n, 3])
            .grid([ranks, 1])
            .block_bounds(0, bounds)
            .build()?;
        let whole = ArrayD::from_shape_fn(IxDyn(&[n as usize, 3]), |at| (3 * at[0] + at[1]) as i64);
        Ok::<_, Failure>((spread_as(&whole, &d, comm, memory)?, whole))
    };
    let p = ranks as u64;
    // A row each; rows on the first ranks alone; then one rank has two.
    let rows: Vec<u64> = (0..=p).collect();
    let few: Vec<u64> = (0..=p).map(|r| r.min(2)).collect();
    let two: Vec<u64> = (0..=p).map(|r| r + u64::from(r == p)).collect();
    for (bounds, memory, by_columns) in [
        (&rows, Memory::Rows, false),
        (&rows, Memory::Columns, false),
        (&few, Memory::Columns, false),
        (&two, Memory::Columns, true),
        (&two, Memory::Rows, false),
    ] {
        let (a, whole) = stored(bounds.clone(), memory)?;
        let (rows, columns): (Vec<i64>, Vec<i64>) = (
            whole.iter().copied().collect(),
            whole.t().iter().copied().collect(),
        );
        let wanted = ndarray::arr1(if by_columns { &columns } else { &rows }).into_dyn();
        for order in [Order::A, Order::K] {
            let what = format!("{order:?} of {bounds:?}, {memory:?}");
            whole_alike(&a.flatten(order)?, &wanted, 0.0, &what)?;
            whole_alike(&a.ravel(order)?, &wanted, 0.0, &what)?;
        }
        let columns = ndarray::arr1(&columns).into_dyn();
        whole_alike(&a.ravel(Order::F)?, &columns, 0.0, "F")?;
        let own = ndarray::arr1(&a.owned().iter().copied().collect::<Vec<_>>()).into_dyn();
        if a.owned().len() < 4 {
            same(
                a.part()?.ravel(Order::A)?.local().to_owned().into_dyn(),
                own,
                "a row alone",
            )?;
        }
    }
    Ok(())
}

fn shapes<T: Close>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    if text(call, "memory") == "F" {
        return stored_by_columns::<T>(call, at, comm);
    }
    match &*call.op {
        "reshape" => {
            let shape = numbers(call, "shape").ok_or("a shape")?;
            check::<T>(call, at, comm, &|a| {
                Ok(vec![a.reshape(&shape)?.into_owned()])
            })
        }
        "ravel" => check::<T>(call, at, comm, &|a| {
            Ok(vec![a.ravel(order(call))?.into_owned().into_dyn()])
        }),
        "flatten" => check::<T>(call, at, comm, &|a| {
            Ok(vec![a.flatten(order(call))?.into_dyn()])
        }),
        _ => {
            let shape = numbers(call, "shape").ok_or("a shape")?;
            let shape: Vec<u64> = shape.into_iter().map(|n| n as u64).collect();
            check::<T>(call, at, comm, &|a| {
                let mut a = owned(a);
                a.resize(&shape, order(call))?;
                Ok(vec![a])
            })
        }
    }
}

fn rearrange_shapes(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some(&["reshape", "ravel", "flatten", "resize"], comm)? {
        by_type!(call, shapes(call, *at, comm))?;
    }
    Ok(())
}

fn of_axes<T: Close>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let axes = axes(call);
    let axes = axes.as_deref();
    let (first, second) = (
        axis(call, "axis1").unwrap_or(0),
        axis(call, "axis2").unwrap_or(0),
    );
    match &*call.op {
        "transpose" => check::<T>(call, at, comm, &|a| Ok(vec![owned(&a.transpose(axes)?)])),
        "squeeze" => check::<T>(call, at, comm, &|a| Ok(vec![a.squeeze(axes)?.into_owned()])),
        "swapaxes" => check::<T>(call, at, comm, &|a| {
            Ok(vec![owned(&a.swapaxes(first, second)?)])
        }),
        _ => {
            let offset = number(call, "offset").unwrap_or(0);
            check::<T>(call, at, comm, &|a| {
                Ok(vec![a.diagonal(offset, first, second)?])
            })
        }
    }
}

fn rearrange_axes(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some(&["transpose", "squeeze", "swapaxes", "diagonal"], comm)? {
        by_type!(call, of_axes(call, *at, comm))?;
    }
    Ok(())
}

fn copies<T: Close>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let axis = axis(call, "axis");
    if call.op == "repeat" {
        let repeats = call.inputs[1].array::<i64>()?;
        let repeats: Vec<usize> = repeats.iter().map(|&n| n as usize).collect();
        return check::<T>(call, at, comm, &|a| {
            Ok(vec![match *repeats {
                [all] => a.repeat(all, axis)?,
                _ => a.repeat(&*repeats, axis)?,
            }])
        });
    }
    let others: Vec<ArrayD<T>> = call.inputs[1..]
        .iter()
        .map(super::numpy::Encoded::array)
        .collect::<Result<_, _>>()?;
    check::<T>(call, at, comm, &|a| {
        let mut all = vec![owned(a)];
        for (number, other) in others.iter().enumerate() {
            // Some distributed alike, some not.
            let kinds = vec![
                [Kind::Cyclic(2), Kind::Block, Kind::List(9)][(at + number) % 3];
                other.ndim()
            ];
            let layout = match (at + number) % 4 {
                0 | 1 if shape_of(other) == a.global_shape() => a.distribution().clone(),
                _ => distribution(&shape_of(other), &kinds, 0, a.comm_size()),
            };
            all.push(spread(other, &layout, *a.comm())?);
        }
        let all: Vec<&Whole<'_, T>> = all.iter().collect();
        Ok(vec![concatenate(&all, axis)?])
    })
}

fn rearrange_copies(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some(&["repeat", "concatenate"], comm)? {
        by_type!(call, copies(call, *at, comm))?;
    }
    Ok(())
}

fn slices<T: Close>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let items = items(call);
    if call.op == "getitem" {
        return check::<T>(call, at, comm, &|a| {
            let taken = a.slice(&items)?;
            let indices: Option<Vec<i64>> = items
                .iter()
                .map(|item| match item {
                    Index::At(at) => Some(*at),
                    _ => None,
                })
                .collect();
            if let Some(index) = indices.filter(|index| index.len() == a.ndim()) {
                let found = a.get_item(&index)?;
                let wanted = call.outputs[0].array::<T>()?;
                ensure(found.is_close(wanted[[]], 0.0), || {
                    format!("{call:?}: get_item {found:?}")
                })?;
            }
            Ok(vec![taken.into_owned()])
        });
    }
    let value = call.inputs[1].array::<T>()?;
    check::<T>(call, at, comm, &|a| {
        let mut a = owned(a);
        let layouts = two(&shape_of(&value), at + 3, a.comm_size());
        let value = spread(&value, &layouts[0], *a.comm())?;
        a.set_slice(&items, &value)?;
        let mut b = owned(&a);
        if let Ok(mut part) = b.slice_mut(&items) {
            let own: Vec<T> = part.local().iter().copied().collect();
            part.fill(T::default());
            for (slot, element) in part.local_mut().iter_mut().zip(own) {
                *slot = element;
            }
        }
        let text = |a: &Whole<'_, T>| format!("{:?}", a.local());
        same(text(&b), text(&a), "slice_mut")?;
        Ok(vec![a])
    })
}

fn rearrange_slices(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some(&["getitem", "setitem"], comm)? {
        by_type!(call, slices(call, *at, comm))?;
    }
    Ok(())
}

/// Extents of 1 and missing or spare leading dimensions, against what `ndarray` makes of them.
fn rearrange_values_stretch_to_the_slice(comm: &dyn Communicator) -> Outcome {
    let taken: [(&[Index], &[&[usize]]); 4] = [
        (
            &[(1..5).into(), Slice::new(None, None, -2).into()],
            &[&[], &[1], &[2], &[4, 1], &[1, 2], &[4, 2], &[1, 1, 4, 2]],
        ),
        (&[Index::Ellipsis, 2.into()], &[&[], &[1], &[6], &[1, 6]]),
        (&[(-1).into()], &[&[], &[1], &[4], &[1, 1]]),
        (&[2.into(), Index::Ellipsis, 1.into()], &[&[], &[1, 1]]),
    ];
    for (number, d) in zoo(&[6, 4], comm.size()).iter().enumerate() {
        for (items, shapes) in taken {
            for (at, shape) in shapes.iter().enumerate() {
                let numbers: Vec<i64> = (10..).take(shape.iter().product()).collect();
                let value = ArrayD::from_shape_vec(*shape, numbers)?;
                let mut wanted = ArrayD::from_elem(vec![6, 4], -1);
                let mut part = match items.len() {
                    3 => wanted.slice_mut(ndarray::s![2, 1]).into_dyn(),
                    1 => wanted.slice_mut(ndarray::s![-1, ..]).into_dyn(),
                    _ if items[0] == Index::Ellipsis => {
                        wanted.slice_mut(ndarray::s![.., 2]).into_dyn()
                    }
                    _ => wanted.slice_mut(ndarray::s![1..5, ..;-2]).into_dyn(),
                };
                let spare = shape.len().saturating_sub(part.ndim());
                part.assign(&value.to_shape(&shape[spare..])?);
                let mut a = LocalArray::<i64, IxDyn, _>::full(d, comm, -1)?;
                let layout = &two(&shape_of(&value), number + at, comm.size())[at % 2];
                a.set_slice(items, &spread(&value, layout, comm)?)?;
                whole_alike(&a, &wanted, 0.0, &format!("{items:?} = {shape:?}"))?;
            }
        }
    }
    Ok(())
}

fn rearrange_outputs(comm: &dyn Communicator) -> Outcome {
    outputs_of_a_part()?;
    let shape = [7, 4];
    for (number, d) in zoo(&shape, comm.size()).iter().enumerate() {
        let a = LocalArray::<i64, IxDyn, _>::from_fn(d, comm, |g| g[0] * 4 + g[1])?;
        for out in two(&[3, 4], number, comm.size()) {
            let mut out = LocalArray::<i64, IxDyn, _>::full(&out, comm, -1)?;
            a.take_into([5, 0, -1], 0, IndexMode::Raise, &mut out)?;
            let wanted =
                ndarray::array![[20, 21, 22, 23], [0, 1, 2, 3], [24, 25, 26, 27]].into_dyn();
            whole_alike(&out, &wanted, 0.0, "take_into")?;
            a.compress_into(&[true, false, true, true], 0, &mut out)?;
            let wanted = ndarray::array![[0, 1, 2, 3], [8, 9, 10, 11], [12, 13, 14, 15]].into_dyn();
            whole_alike(&out, &wanted, 0.0, "compress_into")?;
            let wrong = a.compress_into(&[true], 0, &mut out);
            ensure(matches!(wrong, Err(ArrayError::Shape { .. })), || {
                format!("{wrong:?}")
            })?;
        }
        let mut b = a.to_owned();
        b.fill_slice(&[1.into(), (..).into()], 100)?;
        b.set_item(&[-1, -1], 200)?;
        same(
            b.sum()?,
            378 - (4 + 5 + 6 + 7) + 400 - 27 + 200,
            "fill_slice and set_item",
        )?;
    }
    Ok(())
}

/// On the part of one rank.
fn outputs_of_a_part() -> Outcome {
    let whole = distribution(&[3, 2], &[Kind::Block; 2], 0, 1);
    let a = LocalArray::<i64, IxDyn, _>::from_fn(&whole, SingleComm::new(), |g| g[0] * 2 + g[1])?;
    let part = a.part()?;
    let d = distribution(&[2, 2], &[Kind::Block; 2], 0, 1);
    let mut out = LocalArray::<i64, IxDyn, _>::zeros(&d, SingleComm::new())?;
    part.take_into([2, 0], 0, IndexMode::Raise, &mut out)?;
    same(
        out.local(),
        ndarray::array![[4, 5], [0, 1]].into_dyn(),
        "take_into",
    )?;
    part.compress_into(&[false, true, true], 0, &mut out)?;
    same(
        out.local(),
        ndarray::array![[2, 3], [4, 5]].into_dyn(),
        "compress_into",
    )
}

/// Explicit lists in which an index lies on several ranks, or on none.
fn rearrange_lists_on_several_ranks(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    let lists: Vec<Vec<i64>> = (0..ranks as i64)
        .map(|rank| {
            (0..6)
                .filter(|g| (g + rank) % 3 != 1 || rank == 0 || *g == 2)
                .collect()
        })
        .collect();
    let lists: Vec<Vec<i64>> = lists
        .into_iter()
        .enumerate()
        .map(|(rank, list)| {
            if rank == 0 {
                vec![5, 3, 1, 0, 2, 4]
            } else {
                list
            }
        })
        .collect();
    let d = Distribution::over(ranks)
        .shape([6])
        .unstructured(0, lists)
        .build()?;
    let fresh = || LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0] * 10);
    // Every owner of an element has the same value, whatever set it.
    let consistent = |a: &LocalArray<i64, IxDyn, &dyn Communicator>, wanted: &[i64]| {
        for (index, &element) in a.ndenumerate() {
            same(element, wanted[index[0] as usize], "a copy")?;
        }
        whole_alike(
            a,
            &ArrayD::from_shape_vec(IxDyn(&[6]), wanted.to_vec())?,
            0.0,
            "whole",
        )
    };
    let mut a = fresh()?;
    a.put([2, 4], &[-1, -2], IndexMode::Raise)?;
    consistent(&a, &[0, 10, -1, 30, -2, 50])?;
    let mut a = fresh()?;
    let at = spread(
        &ndarray::array![2, 4, 2].into_dyn(),
        &zoo(&[3], ranks)[2],
        comm,
    )?;
    let values = at.map(|x| -x);
    a.put_at(&at, &values, IndexMode::Raise)?;
    consistent(&a, &[0, 10, -2, 30, -4, 50])?;
    let mut a = fresh()?;
    a.set_slice(
        &[Slice::new(None, None, -2).into()],
        &spread(
            &ndarray::array![7, 8, 9].into_dyn(),
            &zoo(&[3], ranks)[0],
            comm,
        )?,
    )?;
    consistent(&a, &[0, 9, 20, 8, 40, 7])?;
    a.set_slice(
        &[3.into()],
        &spread(&ndarray::arr0(1).into_dyn(), &zoo(&[], ranks)[0], comm)?,
    )?;
    a.set_item(&[0], 5)?;
    consistent(&a, &[5, 9, 20, 1, 40, 7])?;
    a.sort(0, local_array::SortKind::Stable)?;
    consistent(&a, &[1, 5, 7, 9, 20, 40])?;
    let taken = a.take([5, 5, 0], 0, IndexMode::Raise)?;
    whole_alike(&taken, &ndarray::array![40, 40, 1].into_dyn(), 0.0, "take")?;
    let remote = local_array::RemoteElements::new(&d, &[1, 1, 3], comm)?;
    same(remote.fetch(&a)?, vec![5, 5, 9], "fetch")?;
    remote.store(&[0, 100 + comm.rank() as i64, 3], &mut a)?;
    consistent(&a, &[1, 99 + ranks as i64, 7, 3, 20, 40])?;
    // An index that is nobody's.
    let gap = Distribution::over(ranks)
        .shape([4])
        .unstructured(
            0,
            (0..ranks)
                .map(|rank| if rank == 0 { vec![0, 1, 3] } else { vec![] })
                .collect::<Vec<_>>(),
        )
        .build()?;
    let a = LocalArray::<i64, IxDyn, _>::ones(&gap, comm)?;
    ensure(
        a.take([2], 0, IndexMode::Raise).is_err() && a.take([2], None, IndexMode::Raise).is_err(),
        || "a gap is taken".into(),
    )?;
    ensure(
        a.get_item(&[2]).is_err()
            && a.nonzero().is_err()
            && a.sorted(0, local_array::SortKind::Heap).is_err(),
        || "a gap is found".into(),
    )
}

fn rearrange_views_borrow(comm: &dyn Communicator) -> Outcome {
    let rows = distribution(&[12, 5], &[Kind::Block, Kind::Whole], 1, comm.size());
    let a = LocalArray::<f64, IxDyn, _>::ones(&rows, comm)?;
    let active = |d: &Distribution| d.coords(comm.rank()).is_some();
    let slice = a.slice(&[Slice::new(None, None, -2).into(), 2.into()])?;
    ensure(!active(slice.distribution()) || slice.is_borrowed(), || {
        "a slice of blocks".into()
    })?;
    ensure(a.squeeze(None)?.is_borrowed(), || "squeeze".into())?;
    let cyclic = distribution(&[12], &[Kind::Cyclic(1)], 0, comm.size());
    let b = LocalArray::<f64, IxDyn, _>::ones(&cyclic, comm)?;
    let slice = b.slice(&[(1..9).into()])?;
    ensure(!active(slice.distribution()) || slice.is_borrowed(), || {
        "a slice of dealt elements".into()
    })?;
    let flat = distribution(&[12, 5], &[Kind::Block, Kind::Whole], 0, comm.size());
    let c = LocalArray::<f64, IxDyn, _>::ones(&flat, comm)?;
    let flat = c.ravel(Order::C)?;
    ensure(!active(flat.distribution()) || flat.is_borrowed(), || {
        "ravel of rows".into()
    })?;
    same(flat.distribution().axes()[0].kind(), "b", "ravel of rows")
}

fn rearrange_errors_are_the_same_everywhere(comm: &dyn Communicator) -> Outcome {
    let d = distribution(&[6, 4], &[Kind::Block, Kind::Cyclic(1)], 1, comm.size());
    let mut a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0])?;
    let b = a.to_owned();
    let check = |error: Option<ArrayError>, what: &str| {
        let text = error
            .ok_or_else(|| format!("{what} is allowed"))?
            .to_string();
        let all = comm.all_gather_v(text.as_bytes())?;
        ensure(all.iter().all(|other| *other == all[0]), || {
            format!("{what}: {text}")
        })
    };
    let raise = IndexMode::Raise;
    check(a.take([6], 0, raise).err(), "an index beyond the end")?;
    check(
        a.take([-25], None, raise).err(),
        "an index before the start",
    )?;
    check(a.take([0], 2, raise).err(), "an axis too many")?;
    check(a.put([24], &[1], raise).err(), "put beyond the end")?;
    check(a.compress(&[true; 7], 0).err(), "a condition too long")?;
    check(a.reshape(&[5, 5]).err(), "another size")?;
    check(a.reshape(&[-1, -1]).err(), "two unknown extents")?;
    check(a.reshape(&[-1, 7]).err(), "an extent that is no integer")?;
    check(
        a.slice(&[7.into()]).err(),
        "an index beyond the end of a slice",
    )?;
    check(
        a.slice(&[Slice::new(None, None, 0).into()]).err(),
        "a step of 0",
    )?;
    check(a.squeeze(Some(&[0])).err(), "squeezing six")?;
    check(a.transpose(Some(&[0, 0])).err(), "one axis twice")?;
    check(a.diagonal(0, 1, -1).err(), "the diagonal of one axis")?;
    check(a.repeat([1, 2], 0).err(), "two repeats for six")?;
    check(
        a.sort(2, local_array::SortKind::Quick).err(),
        "sorting along no axis",
    )?;
    check(a.get_item(&[0]).err(), "half an index")?;
    check(
        a.set_slice(&[0.into()], &b).err(),
        "a value of another shape",
    )?;
    let three = LocalArray::<i64, IxDyn, _>::ones(
        &distribution(&[3], &[Kind::Block], 0, comm.size()),
        comm,
    )?;
    check(
        a.set_slice(&[(0..3).into(), (0..2).into()], &three).err(),
        "three for two columns",
    )?;
    check(
        concatenate::<ndarray::OwnedRepr<i64>, IxDyn, &dyn Communicator>(&[], 0).err(),
        "nothing to join",
    )?;
    same(a.local(), b.local(), "an error changes nothing")?;
    if comm.size() > 1 {
        let mine = comm.rank() as i64 % 2;
        check(a.take([mine], 0, raise).err(), "different indices")?;
        check(
            a.reshape(&[if mine == 0 { 24 } else { -1 }]).err(),
            "different shapes",
        )?;
        check(
            a.sorted(mine as i32, local_array::SortKind::Quick).err(),
            "different axes",
        )?;
        let at = LocalArray::<i64, IxDyn, _>::full(
            &distribution(&[3], &[Kind::Block], 0, comm.size()),
            comm,
            if comm.rank() == 1 { 99 } else { 0 },
        )?;
        check(
            a.take_at(&at, raise).err(),
            "an index of rank 1 beyond the end",
        )?;
        check(
            a.take_at_along(&at, 0, raise).err(),
            "an index of rank 1 beyond the end of an axis",
        )?;
        let zero = LocalArray::<i64, IxDyn, _>::zeros(at.distribution(), comm)?;
        check(
            a.take_at_along(&zero, mine as i32, raise).err(),
            "different axes to take along",
        )?;
        check(
            a.take_at_along(&a, 0, raise).err(),
            "indices of several dimensions along an axis",
        )?;
    }
    let one = i64::ONE;
    same(a.get_item(&[1, 0])?, one, "the ranks are still in step")
}

fn rearrange_arguments_differ_between_the_ranks(comm: &dyn Communicator) -> Outcome {
    let (ranks, last) = (comm.size(), comm.rank() + 1 == comm.size());
    if ranks == 1 {
        return Ok(());
    }
    let spread = |n: u64, kind| {
        let d = distribution(&[n], &[kind], 0, ranks);
        LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0])
    };
    let (a, b) = (spread(12, Kind::Block)?, spread(12, Kind::Cyclic(1))?);
    let own = if last { &b } else { &a };
    // as the result lies on some ranks, elsewhere or of another shape on the last
    let raise = IndexMode::Raise;
    let indices: Vec<i64> = (0..12).collect();
    for other in [b.copy(), spread(11, Kind::Block)?] {
        let mut out = if last { other } else { a.copy() };
        let taken = a.take_into(&indices, None, raise, &mut out);
        refused_everywhere(comm, taken, "out of take")?;
        let kept = a.compress_into(&[true; 12], 0, &mut out);
        refused_everywhere(comm, kept, "out of compress")?;
    }
    refused_everywhere(comm, a.compress_where(own), "mask")?;
    let joined = concatenate(&[&a, own], 0);
    refused_everywhere(comm, joined, "arrays to join")?;
    let short = spread(11, Kind::Block)?;
    let joined = concatenate(&[&a, if last { &short } else { &a }], None);
    refused_everywhere(comm, joined, "lengths to join")
}

/// Lists may name indices outside the array, which have no copies.
fn rearrange_repeats_of_free_lists(comm: &dyn Communicator) -> Outcome {
    let mut lists = vec![Vec::new(); comm.size()];
    lists[0] = vec![-1, 0];
    lists[comm.size() - 1].push(1);
    let d = Distribution::over(comm.size())
        .shape([2])
        .unstructured_free(0, lists)
        .build()?;
    let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| 10 + g[0])?;
    for repeated in [a.repeat(2, 0)?, a.repeat([2, 2], 0)?] {
        same(repeated.global_shape(), [4], "shape")?;
        let found: Vec<(Vec<i64>, i64)> = repeated.ndenumerate().map(|(g, &x)| (g, x)).collect();
        for (index, x) in &found {
            same(*x, 10 + index[0] / 2, "a copy")?;
        }
        let here = if comm.rank() == 0 { 2 } else { 0 };
        let and = if comm.rank() + 1 == comm.size() { 2 } else { 0 };
        same(found.len(), here + and, "copies here")?;
    }
    Ok(())
}
