//! Sorting and searching: what `NumPy` answers.

use dap_protocol::Element;
use dist_comm::{Communicator, SingleComm};
use half::f16;
use local_array::{LocalArray, Ordered, SearchSide, SortKind, Sortable};
use ndarray::{ArrayD, IxDyn};
use num_complex::{Complex32, Complex64};
use serde_json::Value;

use super::numpy::{Call, Close, alike, gathered, shape_of, spread, whole_alike};
use super::plain::{Kind, distribution, draw, zoo};
use super::support::schedule::{SORTING, one_of};
use super::{Failure, Outcome, ensure, refused_everywhere, same};

cases! {
    sorting_sort,
    sorting_argsort,
    sorting_searchsorted,
    sorting_digitize,
    sorting_many_elements,
    sorting_where_some_ranks_have_padding,
    sorting_searches_differ_between_the_ranks,
}

/// The calls of an operation that these ranks look at, each with its turn.
fn some(op: &str, comm: &dyn Communicator) -> Result<Vec<(usize, &'static Call)>, Failure> {
    SORTING.due_of(|call| call.op.starts_with(op), 100, comm.size())
}

fn axis(call: &Call) -> Option<i32> {
    call.args
        .get("axis")
        .and_then(Value::as_i64)
        .map(|axis| axis as i32)
}

fn kind(call: &Call) -> SortKind {
    match call.args.get("kind").and_then(Value::as_str) {
        Some("mergesort") => SortKind::Merge,
        Some("heapsort") => SortKind::Heap,
        Some("stable") => SortKind::Stable,
        _ => SortKind::Quick,
    }
}

fn side(call: &Call) -> SearchSide {
    match call.args.get("side").and_then(Value::as_str) {
        Some("right") => SearchSide::Right,
        _ => SearchSide::Left,
    }
}

/// Runs `test` with the element type of a call.
macro_rules! by_type {
    ($call:expr, $test:ident $args:tt, $($t:ty: $code:literal),*) => {
        match &*$call.inputs[0].dtype {
            $($code => $test::<$t> $args,)*
            other => Err(format!("a type that the test does not know: {other}").into()),
        }
    };
    ($call:expr, $test:ident $args:tt) => {
        by_type!($call, $test $args, bool: "|b1", i8: "|i1", i16: "<i2", i32: "<i4", i64: "<i8", u8: "|u1", u16: "<u2",
            u32: "<u4", u64: "<u8", f16: "<f2", f32: "<f4", f64: "<f8", Complex32: "<c8", Complex64: "<c16")
    };
}

/// The array alone on this rank: what its part is.
fn alone<T: Element>(array: &ArrayD<T>) -> Result<LocalArray<T, IxDyn, SingleComm>, Failure> {
    let whole = distribution(&shape_of(array), &vec![Kind::Whole; array.ndim()], 0, 1);
    Ok(LocalArray::from_array(
        array.clone(),
        &whole,
        SingleComm::new(),
    )?)
}

/// Elements by their bits: -0 is not 0, and NaN is NaN.
fn bits<T: Element>(array: &ArrayD<T>) -> Vec<Vec<u8>> {
    array
        .iter()
        .map(|x| bytemuck::bytes_of(x).to_vec())
        .collect()
}

fn sort<T: Close + Sortable>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let (input, wanted) = (call.inputs[0].array::<T>()?, call.outputs[0].array::<T>()?);
    let exact = !format!("{input:?}").contains("NaN");
    let d = one_of(&shape_of(&input), comm.size(), at, 0);
    let what = format!("{call:?} over {d:?}");
    let mut a = spread(&input, &d, comm)?;
    let sorted = gathered(
        &a.sorted(axis(call), kind(call))
            .map_err(|e| format!("{what}: {e}"))?,
    )?;
    alike(&sorted, &wanted, 0.0, &what)?;
    if exact {
        same(bits(&sorted), bits(&wanted), &what)?;
    }
    if let Some(axis) = axis(call) {
        a.sort(axis, kind(call))?;
        whole_alike(&a, &wanted, 0.0, &what)?;
    }

    let mut own = alone(&input)?;
    let found = own.part()?.sorted(axis(call), kind(call))?;
    if let Some(axis) = axis(call) {
        own.sort(axis, kind(call))?;
        alike(&own.local().to_owned(), &wanted, 0.0, "sort of a part")?;
    }
    alike(
        &found.local().to_owned(),
        &wanted,
        0.0,
        &format!("{call:?} on a part"),
    )
}

fn sorting_sort(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some("sort", comm)? {
        by_type!(call, sort(call, *at, comm))?;
    }
    Ok(())
}

fn argsort<T: Close + Sortable>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let (input, wanted) = (
        call.inputs[0].array::<T>()?,
        call.outputs[0].array::<i64>()?,
    );
    let d = one_of(&shape_of(&input), comm.size(), at, 0);
    let what = format!("{call:?} over {d:?}");
    let a = spread(&input, &d, comm)?;
    let found = a
        .argsort(axis(call), kind(call))
        .map_err(|e| format!("{what}: {e}"))?;
    whole_alike(&found, &wanted, 0.0, &what)?;

    let found = alone(&input)?.part()?.argsort(axis(call), kind(call))?;
    alike(
        &found.local().to_owned(),
        &wanted,
        0.0,
        &format!("{call:?} on a part"),
    )
}

fn sorting_argsort(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some("argsort", comm)? {
        by_type!(call, argsort(call, *at, comm))?;
    }
    Ok(())
}

fn searchsorted<T: Close + Sortable>(call: &Call, at: usize, comm: &dyn Communicator) -> Outcome {
    let (input, values) = (call.inputs[0].array::<T>()?, call.inputs[1].array::<T>()?);
    let wanted = call.outputs[0].array::<i64>()?;
    let sorter = match call.inputs.get(2) {
        Some(sorter) => Some(sorter.array::<i64>()?),
        None => None,
    };
    let d = &one_of(&shape_of(&input), comm.size(), at, 0);
    let what = format!("{call:?} over {d:?}");
    let a = spread(&input, d, comm)?;
    let keys = spread(
        &values,
        &one_of(&shape_of(&values), comm.size(), at, 1),
        comm,
    )?;
    let found = match &sorter {
        None => a.searchsorted(&keys, side(call))?,
        Some(sorter) => {
            let sorter = spread(sorter, &one_of(&shape_of(sorter), comm.size(), at, 2), comm)?;
            a.searchsorted_by(&keys, side(call), &sorter)?
        }
    };
    same(found.distribution(), keys.distribution(), "distribution")?;
    whole_alike(&found, &wanted, 0.0, &what)?;

    let (a, values) = (alone(&input)?, alone(&values)?);
    let (a, values) = (a.part()?, values.part()?);
    let found = match &sorter {
        None => a.searchsorted(&values, side(call))?,
        Some(sorter) => a.searchsorted_by(&values, side(call), &alone(sorter)?)?,
    };
    alike(
        &found.local().to_owned(),
        &wanted,
        0.0,
        &format!("{call:?} on a part"),
    )
}

fn sorting_searchsorted(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some("searchsorted", comm)? {
        by_type!(call, searchsorted(call, *at, comm))?;
    }
    let square = LocalArray::<f64, IxDyn, _>::zeros(&zoo(&[3, 3], comm.size())[0], comm)?;
    ensure(
        square.searchsorted(&square, SearchSide::Left).is_err(),
        || "two dimensions are searched".into(),
    )
}

fn digitize<T: Close + Sortable + Ordered>(
    call: &Call,
    at: usize,
    comm: &dyn Communicator,
) -> Outcome {
    let (input, bins) = (call.inputs[0].array::<T>()?, call.inputs[1].array::<T>()?);
    let wanted = call.outputs[0].array::<i64>()?;
    let right = call
        .args
        .get("right")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let bins = bins.as_slice().unwrap_or(&[]);
    let d = one_of(&shape_of(&input), comm.size(), at, 0);
    let found = spread(&input, &d, comm)?.digitize(bins, right)?;
    whole_alike(&found, &wanted, 0.0, &format!("{call:?} over {d:?}"))?;

    let found = alone(&input)?.part()?.digitize(bins, right)?;
    alike(
        &found.local().to_owned(),
        &wanted,
        0.0,
        &format!("{call:?} on a part"),
    )
}

fn sorting_digitize(comm: &dyn Communicator) -> Outcome {
    for (at, call) in &some("digitize", comm)? {
        by_type!(call, digitize(call, *at, comm), i8: "|i1", i16: "<i2", i32: "<i4", i64: "<i8", u8: "|u1", u16: "<u2",
            u32: "<u4", u64: "<u8", f16: "<f2", f32: "<f4", f64: "<f8")?;
    }
    let x = LocalArray::<i64, IxDyn, _>::zeros(&zoo(&[5], comm.size())[0], comm)?;
    ensure(x.digitize(&[1, 3, 2], false).is_err(), || {
        "edges up and down".into()
    })
}

/// More elements than are told to all ranks at once, so that cuts are sought by bisection; many equal ones among them.
fn sorting_many_elements(comm: &dyn Communicator) -> Outcome {
    let n = 5_000;
    for (number, spread_of) in [1, 7, 1 << 30].into_iter().enumerate() {
        let mut seed = 11;
        let input: Vec<i64> = (0..n)
            .map(|_| (draw(&mut seed) % spread_of) as i64 - 3)
            .collect();
        let input = ArrayD::from_shape_vec(IxDyn(&[n]), input)?;
        let mut order: Vec<i64> = (0..n as i64).collect();
        order.sort_by_key(|&at| input[at as usize]);
        let order = ArrayD::from_shape_vec(IxDyn(&[n]), order)?;
        let kinds = [[Kind::Cyclic(7)], [Kind::Bounds(3)], [Kind::Block]];
        for kinds in [kinds[number], kinds[(number + comm.size()) % 3]] {
            let d = distribution(&[n as u64], &kinds, 0, comm.size());
            let a = spread(&input, &d, comm)?;
            let found = a.argsort(0, SortKind::Stable)?;
            whole_alike(&found, &order, 0.0, "order of many")?;
            let sorted = a.sorted(0, SortKind::Quick)?;
            same(sorted.distribution(), a.distribution(), "distribution")?;
            whole_alike(&sorted, &order.map(|&at| input[at as usize]), 0.0, "many")?;
            let back = a.take_at(&found, local_array::IndexMode::Raise)?;
            same(
                back.local().to_owned(),
                sorted.local().to_owned(),
                "taken in order",
            )?;
            // All values between the elements of few ranks: they are asked for in rounds.
            let places = sorted.searchsorted(&a.map(|_| 100 * number as i64), SearchSide::Right)?;
            let below = input.iter().filter(|&&x| x <= 100 * number as i64).count() as i64;
            ensure(places.owned().iter().all(|&place| place == below), || {
                "places of many".into()
            })?;
        }
    }
    Ok(())
}

/// A rank without elements has no padding, and must not go another way than the others.
fn sorting_where_some_ranks_have_padding(comm: &dyn Communicator) -> Outcome {
    let d = distribution(&[2], &[Kind::Block], 1, comm.size());
    let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |index| 5 - index[0])?;
    same(
        gathered(&a.sorted(0, SortKind::Quick)?)?,
        ndarray::array![4, 5].into_dyn(),
        "sorted",
    )?;
    same(
        gathered(&a.argsort(0, SortKind::Stable)?)?,
        ndarray::array![1, 0].into_dyn(),
        "order",
    )
}

fn sorting_searches_differ_between_the_ranks(comm: &dyn Communicator) -> Outcome {
    let (ranks, last) = (comm.size(), comm.rank() + 1 == comm.size());
    if ranks == 1 {
        return Ok(());
    }
    let made = |kind, n: u64| {
        let d = distribution(&[n], &[kind], 0, ranks);
        LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0] / 2)
    };
    let (a, v) = (made(Kind::Block, 12)?, made(Kind::Block, 5)?);
    let side = if last {
        SearchSide::Right
    } else {
        SearchSide::Left
    };
    refused_everywhere(comm, a.searchsorted(&v, side), "side")?;
    let other = made(Kind::Cyclic(1), 5)?;
    let own = if last { &other } else { &v };
    let left = SearchSide::Left;
    refused_everywhere(comm, a.searchsorted(own, left), "values")?;
    let order = a.argsort(None, SortKind::Stable)?;
    let own = if last { &v } else { &order };
    let found = a.searchsorted_by(&v, left, own);
    refused_everywhere(comm, found, "sorter")?;
    let square = LocalArray::<i64, IxDyn, _>::zeros(
        &distribution(&[2, 2], &[Kind::Block, Kind::Whole], 0, ranks),
        comm,
    )?;
    refused_everywhere(comm, square.searchsorted(&v, left), "two dimensions")?;
    let own = if last { &square } else { &a };
    refused_everywhere(comm, own.searchsorted(&v, left), "dimensions")
}
