//! Making arrays: `NumPy`'s answers for every way to spread them, and what has no answer there.

use dap_protocol::{DimData, Element};

use dist_comm::{Communicator, SingleComm};
use dist_maps::{CompactIndex, Distribution, MapError};
use half::f16;
use local_array::{
    ArrayError, Cast, LocalArray, LocalArrayBase, Number, One, Order, Spaced, Steps,
    init_base_comm, init_comm,
};
use ndarray::{ArrayD, CowRepr, Dimension, Ix1, Ix2, IxDyn};
use num_complex::{Complex32, Complex64};
use serde_json::Value;

use super::numpy::{Call, Close, Whole, calls, shape_of, spread, whole_alike};
use super::plain::{self, Kind, SHAPES, cells, zoo};
use super::{Failure, Outcome, ensure, refused_everywhere, same};

cases! {
    construct_likes_have_the_distribution,
    construct_empty_ones_and_full,
    construct_fromfunction,
    construct_arange,
    construct_linspace,
    construct_logspace,
    construct_eye,
    construct_identity,
    construct_diag_global,
    construct_diag_local,
    construct_diag_of_lists,
    construct_spread_forms,
    construct_fromlocalarray_like,
    construct_aslocalarray,
    construct_partial_dim_data,
    construct_init_comm,
    construct_init_base_comm,
    construct_coords_and_ranks,
}

const FIXTURE: &str = include_str!("../fixtures/numpy/construct.jsonl");

/// Calls `$f::<T>` with the type that a dtype names.
macro_rules! by_type {
    ($dtype:expr, $($t:ty),* => $f:ident $args:tt) => {{
        let code = $dtype.trim_start_matches(['<', '|']);
        let mut outcome = Err(Failure::from(format!("a type that the test does not know: {code}")));
        $(if <$t as Element>::TYPE.numpy_code() == Some(code) {
            outcome = $f::<$t> $args;
        })*
        outcome
    }};
}

/// The calls of one name.
fn calls_of(op: &str, at_least: usize) -> Result<Vec<&'static Call>, Failure> {
    let calls: Vec<&Call> = calls(FIXTURE)?
        .iter()
        .filter(|call| call.op == op)
        .collect();
    ensure(calls.len() >= at_least, || {
        format!("only {} calls of {op}", calls.len())
    })?;
    Ok(calls)
}

fn number(value: &Value) -> Result<Number, Failure> {
    match value.as_i64() {
        Some(x) => Ok(x.into()),
        None => Ok(value.as_f64().ok_or("no number")?.into()),
    }
}

fn float(value: &Value) -> Result<f64, Failure> {
    match value {
        Value::String(text) => Ok(text.parse()?),
        value => Ok(value.as_f64().ok_or("no float")?),
    }
}

fn complex(value: &Value) -> Result<Complex64, Failure> {
    Ok(Complex64::new(float(&value[0])?, float(&value[1])?))
}

/// Ways to spread a shape, and the array that `make` makes that way; on one rank alone too. What each rank stores is
/// compared, padding included, as these arrays are made without messages.
fn in_every_way<T: Close>(
    comm: &dyn Communicator,
    wanted: &ArrayD<T>,
    tolerance: f64,
    what: &str,
    make: impl for<'a> Fn(&Distribution, &'a dyn Communicator) -> Result<Whole<'a, T>, Failure>,
) -> Outcome {
    let shape = shape_of(wanted);
    let alone = SingleComm::new();
    let whole = Distribution::over(1).shape(shape.clone()).build()?;
    let found = make(&whole, &alone)?;
    super::numpy::alike(
        &found.into_local(),
        wanted,
        tolerance,
        &format!("{what} local"),
    )?;
    // two of them by turns
    for distribution in zoo(&shape, comm.size())
        .iter()
        .skip(what.len() % 4)
        .step_by(4)
    {
        stores(&make(distribution, comm)?, wanted, tolerance, what, false)?;
    }
    Ok(())
}

/// Compares what this rank stores, or owns, with the whole that is wanted.
fn stores<T: Close>(
    array: &Whole<'_, T>,
    wanted: &ArrayD<T>,
    tolerance: f64,
    what: &str,
    owned_only: bool,
) -> Outcome {
    let d = array.distribution();
    same(d.global_shape(), &*shape_of(wanted), "global shape")?;
    same(
        array.local_shape(),
        &*d.local_shape(array.comm_rank()),
        "local shape",
    )?;
    if d.coords(array.comm_rank()).is_none() {
        return Ok(());
    }
    for (x, (index, owned)) in array.local().iter().zip(cells(d, array.comm_rank())) {
        if owned || !owned_only {
            let index: Vec<usize> = index.iter().map(|&g| g as usize).collect();
            let y = wanted[&*index];
            ensure(x.is_close(y, tolerance), || {
                format!("{what} at {index:?}: found {x:?}, wanted {y:?}")
            })?;
        }
    }
    Ok(())
}

fn construct_likes_have_the_distribution(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()) {
            let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| plain::flat(shape, g))?;
            let (zeros, empty) = (a.zeros_like::<f64>()?, a.empty_like::<f16>()?);
            let (ones, full) = (
                a.ones_like::<bool>()?,
                a.full_like(Complex32::new(2.0, -1.0))?,
            );
            same(zeros.distribution(), &d, "zeros_like")?;
            same(full.distribution(), &d, "full_like")?;
            ensure(zeros.local().iter().all(|&x| x == 0.0), || {
                "zeros_like".into()
            })?;
            same(empty.local_shape(), a.local_shape(), "empty_like")?;
            ensure(ones.local().iter().all(|&x| x), || "ones_like".into())?;
            let value = Complex32::new(2.0, -1.0);
            ensure(full.local().iter().all(|&x| x == value), || {
                "full_like".into()
            })?;
            same(ones.local_shape(), a.local_shape(), "ones_like")?;
            if d.coords(comm.rank()).is_some() {
                let part = a.part()?.full_like(3_u8)?;
                same(part.local_shape(), &*a.owned_shape(), "full_like of a part")?;
            }
        }
    }
    Ok(())
}

fn construct_empty_ones_and_full(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()) {
            let empty = LocalArray::<f32, IxDyn, _>::empty(&d, comm)?;
            same(empty.local_shape(), &*d.local_shape(comm.rank()), "empty")?;
            let ones = LocalArray::<bool, IxDyn, _>::ones(&d, comm)?;
            let full = LocalArray::<i8, IxDyn, _>::full(&d, comm, -7)?;
            ensure(ones.local().iter().all(|&x| x), || "ones".into())?;
            ensure(full.local().iter().all(|&x| x == -7), || "full".into())?;
            let wanted: f64 = plain::size(shape) as f64;
            let ones = LocalArray::<f64, IxDyn, _>::ones(&d, comm)?;
            same(ones.sum()?, wanted, "sum of ones")?;
        }
    }
    Ok(())
}

fn construct_fromfunction(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        let f = |g: &[i64]| g.iter().fold(0.5, |sum, &g| sum * 10.0 + g as f64);
        let extents: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let wanted = ArrayD::from_shape_fn(IxDyn(&extents), |at| {
            f(&at.slice().iter().map(|&i| i as i64).collect::<Vec<_>>())
        });
        for d in zoo(shape, comm.size()) {
            let a = LocalArray::<f64, IxDyn, _>::fromfunction(f, shape, &d, comm)?;
            stores(&a, &wanted, 0.0, "fromfunction", false)?;
        }
        for dist in ["", "b", "c"] {
            if dist.len() <= shape.len() {
                let a = LocalArray::<f64, IxDyn, _>::fromfunction(f, shape, dist, comm)?;
                whole_alike(&a, &wanted, 0.0, "fromfunction of a letter")?;
            }
        }
    }
    Ok(())
}

fn arange_call<T>(call: &Call, comm: &dyn Communicator) -> Outcome
where
    T: Close + Steps,
    f64: Cast<T>,
    i64: Cast<T>,
    u64: Cast<T>,
{
    let [start, stop, step] = ["start", "stop", "step"].map(|name| number(&call.args[name]));
    let (start, stop, step) = (start?, stop?, step?);
    let what = format!("arange {:?} {}", call.args, T::TYPE);
    in_every_way(
        comm,
        &call.outputs[0].array::<T>()?,
        0.0,
        &what,
        |d, comm| Ok(LocalArray::arange(start, stop, step, d, comm)?),
    )
}

fn construct_arange(comm: &dyn Communicator) -> Outcome {
    for call in calls_of("arange", 130)? {
        by_type!(call.outputs[0].dtype, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
            => arange_call(call, comm))?;
    }
    let wrong = |start: Number, stop: Number, step: Number| {
        matches!(
            LocalArray::<f64, Ix1, _>::arange(start, stop, step, "b", comm),
            Err(ArrayError::Argument { .. })
        )
    };
    ensure(wrong(0.into(), 5.into(), 0.into()), || "a step of 0".into())?;
    ensure(wrong(0.into(), f64::NAN.into(), 1.into()), || "NaN".into())?;
    ensure(wrong(0.into(), 1e300.into(), 1.into()), || {
        "too many".into()
    })?;
    ensure(wrong(i64::MIN.into(), u64::MAX.into(), 1.into()), || {
        "too many integers".into()
    })?;
    let (least, most) = (Number::Int(i128::MIN), Number::Int(i128::MAX));
    ensure(wrong(least, most, 1.into()), || "all integers".into())?;
    ensure(wrong(most, least, (-1).into()), || {
        "all integers, down".into()
    })?;
    let one = LocalArray::<f64, Ix1, _>::arange(most, 0, least, "b", comm)?;
    same(one.global_shape(), [1].as_slice(), "the longest step")
}

fn linspace_call<T: Close>(call: &Call, comm: &dyn Communicator) -> Outcome
where
    f64: Cast<T>,
{
    let (start, stop) = (float(&call.args["start"])?, float(&call.args["stop"])?);
    line_call::<f64, T>(call, comm, start, stop, 0.0)
}

/// `linspace`, or `logspace` where there is a base.
fn line_call<N: Spaced + Close + Cast<T>, T: Close>(
    call: &Call,
    comm: &dyn Communicator,
    start: N,
    stop: N,
    tolerance: f64,
) -> Outcome {
    let num = call.args["num"].as_u64().ok_or("num")?;
    let endpoint = call.args["endpoint"].as_bool().ok_or("endpoint")?;
    let what = format!("{} {:?} {}", call.op, call.args, T::TYPE);
    let wanted = call.outputs[0].array::<T>()?;
    if let Some(base) = call.args.get("base") {
        let base = float(base)?;
        // the power may differ in its last bits, which are more of a half float
        let tolerance = if size_of::<T>() == 2 {
            1e-3
        } else if size_of::<T>() == 4 {
            1e-6
        } else {
            1e-14
        };
        return in_every_way(comm, &wanted, tolerance, &what, |d, comm| {
            Ok(LocalArray::logspace(
                start, stop, num, endpoint, base, d, comm,
            )?)
        });
    }
    in_every_way(comm, &wanted, tolerance, &what, |d, comm| {
        let (array, step) = LocalArray::linspace_step(start, stop, num, endpoint, d, comm)?;
        let wanted = call.outputs[1].array::<N>()?;
        let found = ArrayD::from_elem(IxDyn(&[]), step);
        super::numpy::alike(&found, &wanted, tolerance, &format!("{what}: step"))?;
        let array: Whole<'_, T> = array;
        let again: Whole<'_, T> = LocalArray::linspace(start, stop, num, endpoint, d, comm)?;
        let alike = array
            .local()
            .iter()
            .zip(again.local())
            .all(|(x, &y)| x.is_close(y, 0.0));
        ensure(alike, || format!("{what}: another array without the step"))?;
        Ok(array)
    })
}

fn lines(op: &str, at_least: usize, comm: &dyn Communicator) -> Outcome {
    for call in calls_of(op, at_least)? {
        if call.args["start"].is_array() {
            let (start, stop) = (complex(&call.args["start"])?, complex(&call.args["stop"])?);
            line_call::<Complex64, Complex64>(call, comm, start, stop, 1e-14)?;
        } else {
            by_type!(call.outputs[0].dtype, bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex64
                => linspace_call(call, comm))?;
        }
    }
    Ok(())
}

fn construct_linspace(comm: &dyn Communicator) -> Outcome {
    lines("linspace", 150, comm)
}

fn construct_logspace(comm: &dyn Communicator) -> Outcome {
    lines("logspace", 100, comm)
}

fn eye_call<T: Close + One>(call: &Call, comm: &dyn Communicator) -> Outcome {
    let count = |name| call.args.get(name).and_then(Value::as_u64);
    let n = count("n").ok_or("n")?;
    let what = format!("{} {:?} {}", call.op, call.args, T::TYPE);
    in_every_way(
        comm,
        &call.outputs[0].array::<T>()?,
        0.0,
        &what,
        |d, comm| {
            let array = match call.args.get("k") {
                None => LocalArray::identity(n, d, comm)?,
                Some(k) => LocalArray::eye(n, count("m"), k.as_i64().ok_or("k")?, d, comm)?,
            };
            Ok(array)
        },
    )
}

fn eyes(op: &str, at_least: usize, comm: &dyn Communicator) -> Outcome {
    for call in calls_of(op, at_least)? {
        by_type!(call.outputs[0].dtype, bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
            => eye_call(call, comm))?;
    }
    Ok(())
}

fn construct_eye(comm: &dyn Communicator) -> Outcome {
    eyes("eye", 98, comm)?;
    // corners that no index reaches
    for k in [i64::MIN, i64::MAX] {
        let a = LocalArray::<u8, Ix2, _>::eye(3, None, k, "b", comm)?;
        same(a.sum()?, 0, "eye beyond the corner")?;
    }
    Ok(())
}

fn construct_identity(comm: &dyn Communicator) -> Outcome {
    eyes("identity", 14, comm)
}

fn diag_global<T: Close>(call: &Call, number: usize, comm: &dyn Communicator) -> Outcome {
    let input = call.inputs[0].array::<T>()?;
    let k = call.args["k"].as_i64().ok_or("k")?;
    let wanted = call.outputs[0].array::<T>()?;
    let all = zoo(&shape_of(&input), comm.size());
    // two of them by turns
    for turn in [number, number / 3 + 4] {
        let found = spread(&input, &all[turn % all.len()], comm)?.diag(k)?;
        stores(
            &found,
            &wanted,
            0.0,
            &format!("diag {k} of {:?}", input.shape()),
            true,
        )?;
    }
    Ok(())
}

fn construct_diag_global(comm: &dyn Communicator) -> Outcome {
    for (number, call) in calls_of("diag", 200)?.into_iter().enumerate() {
        // a third of the calls for each number of ranks, so that three numbers see all
        if !(number + comm.size()).is_multiple_of(3) {
            continue;
        }
        by_type!(call.outputs[0].dtype, bool, i16, f64, Complex64 => diag_global(call, number, comm))?;
    }
    let kinds = [Kind::Block, Kind::Whole, Kind::Whole];
    let d = plain::distribution(&[2, 2, 2], &kinds, 0, comm.size());
    let a = LocalArray::<u8, IxDyn, _>::zeros(&d, comm)?;
    ensure(
        matches!(a.diag(0), Err(ArrayError::InvalidDimension { .. })),
        || "3-d".into(),
    )?;
    let d = plain::distribution(&[4], &kinds[..1], 0, comm.size());
    let a = LocalArray::<u8, IxDyn, _>::zeros(&d, comm)?;
    for k in [i64::MIN, i64::MAX] {
        let refused = a.diag(k);
        ensure(matches!(refused, Err(ArrayError::Argument { .. })), || {
            format!("{refused:?}")
        })?;
    }
    // an index on every rank counts once, and comes to every rank that has its row
    let lists = vec![vec![0_i64, 2, 1]; comm.size()];
    let d = Distribution::over(comm.size())
        .shape([3])
        .unstructured(0, lists)
        .build()?;
    let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0] + 5)?;
    let square = a.diag(1)?;
    same(square.checked_getitem(&[2, 3]), Some(7), "on every rank")?;
    same(
        square.diag(1)?.owned().as_slice(),
        Some(&[5, 7, 6][..]),
        "and back",
    )
}

fn diag_local<T: Close>(call: &Call) -> Outcome {
    let input = call.inputs[0].array::<T>()?;
    let k = call.args["k"].as_i64().ok_or("k")?;
    let alone = SingleComm::new();
    let whole = Distribution::over(1).shape(shape_of(&input)).build()?;
    let a = LocalArray::from_array(input, &whole, &alone)?;
    whole_alike(
        &a.part()?.diag(k)?,
        &call.outputs[0].array::<T>()?,
        0.0,
        "diag of a part",
    )
}

fn construct_diag_local(comm: &dyn Communicator) -> Outcome {
    if comm.size() > 1 && comm.size() != 4 || comm.rank() > 0 {
        return Ok(()); // it would be the same again
    }
    for call in calls_of("diag", 200)? {
        by_type!(call.outputs[0].dtype, bool, i16, f64, Complex64 => diag_local(call))?;
    }
    Ok(())
}

fn construct_spread_forms(comm: &dyn Communicator) -> Outcome {
    let p = comm.size();
    let a = LocalArray::<u8, Ix2, _>::eye(6, Some(8), 0, ("cb", [1, p]), comm)?;
    same(a.grid_shape(), [1, p], "grid_shape")?;
    let grid = [p, 1];
    let a = LocalArray::<u8, Ix2, _>::eye(6, Some(8), 0, ("cb", &grid[..]), comm)?;
    let wanted = Distribution::from_shape(&[6, 8], "cb", Some(&[p, 1]), p)?;
    same(a.distribution(), &wanted, "distribution")?;
    let wrong = LocalArray::<u8, Ix2, _>::eye(8, Some(6), 0, &wanted, comm).err();
    let expected = ArrayError::Shape {
        what: "the distribution",
        given: vec![6, 8],
        allowed: "[8, 6]".into(),
    };
    same(wrong, Some(expected), "another shape")?;
    let [lists, alone] = [p, 1].map(|ranks| plain::distribution(&[11], &[Kind::List(5)], 0, ranks));
    fn check(a: LocalArray<i64, Ix1, &dyn Communicator>, d: &Distribution) -> Outcome {
        let ramp = ArrayD::from_shape_fn(IxDyn(&[11]), |at| at[0] as i64);
        same(a.distribution(), d, "arange")?;
        whole_alike(&a, &ramp, 0.0, "arange")
    }
    let single = SingleComm::new();
    let single: &dyn Communicator = &single;
    for letter in ["b", "c", "n"] {
        for (comm, ranks) in [(comm, p), (single, 1)] {
            let d = Distribution::from_shape(&[11], letter, None, ranks)?;
            check(LocalArray::arange(0, 11, 1, letter, comm)?, &d)?;
            let grid = [if letter == "n" { 1 } else { ranks.div_ceil(2) }];
            let d = Distribution::from_shape(&[11], letter, Some(&grid), ranks)?;
            check(LocalArray::arange(0, 11, 1, (letter, grid), comm)?, &d)?;
        }
    }
    check(LocalArray::arange(0, 11, 1, &lists, comm)?, &lists)?;
    check(LocalArray::arange(0, 11, 1, &alone, single)?, &alone)?;
    let wrong = LocalArray::<u8, Ix1, _>::arange(0, 3, 1, "x", comm);
    ensure(
        matches!(wrong, Err(ArrayError::InvalidMapCode { given: 'x', .. })),
        || "x".into(),
    )?;
    let wrong = LocalArray::<u8, Ix1, _>::arange(0, 3, 1, ("b", [p + 1]), comm);
    ensure(matches!(wrong, Err(ArrayError::Map(_))), || {
        "a grid too large".into()
    })?;
    let wrong = LocalArray::<u8, Ix2, _>::arange(0, 3, 1, "b", comm);
    ensure(
        matches!(wrong, Err(ArrayError::InvalidDimension { .. })),
        || "two dimensions".into(),
    )
}

fn construct_fromlocalarray_like(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()) {
            let like = LocalArray::<f64, IxDyn, _>::zeros(&d, comm)?;
            let mine = like.local().map(|_| 3_i16);
            let at = mine.as_ptr();
            let a = LocalArray::fromlocalarray_like(mine, &like)?;
            same(a.distribution(), &d, "distribution")?;
            ensure(std::ptr::eq(a.local().as_ptr(), at), || "a copy".into())?;
            let mut wrong = like.local_shape().to_vec();
            wrong.push(2);
            let wrong = LocalArray::fromlocalarray_like(ArrayD::<u8>::zeros(wrong), &like);
            ensure(wrong.is_err(), || "another shape".into())?;
        }
    }
    Ok(())
}

fn construct_aslocalarray(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()).into_iter().step_by(3) {
            if shape.is_empty() && d.grid().len() < comm.size() {
                continue; // the protocol cannot say that a rank has nothing of a scalar
            }
            let a =
                LocalArray::<i32, IxDyn, _>::from_fn(&d, comm, |g| plain::flat(shape, g) as i32)?;
            for order in [Order::C, Order::F, Order::A, Order::K] {
                let b: LocalArrayBase<CowRepr<'_, i32>, IxDyn, _> =
                    LocalArrayBase::aslocalarray(&a, order, comm)?;
                same(b.local(), a.local(), "elements")?;
                let is_copied = !std::ptr::eq(a.local().as_ptr(), b.local().as_ptr());
                if order != Order::F {
                    ensure(!is_copied || a.local_size() == 0, || {
                        format!("{order:?} copied")
                    })?;
                } else {
                    ensure(b.local().t().is_standard_layout(), || {
                        "not in order F".into()
                    })?;
                }
                let c: Whole<'_, f64> = LocalArray::aslocalarray_as(&b, order, comm)?;
                same(
                    c.local(),
                    a.local().map(|&x| f64::from(x)).view(),
                    "as another type",
                )?;
                let wanted = match order {
                    Order::F => c.local().t().is_standard_layout(),
                    _ => c.local().is_standard_layout(),
                };
                ensure(wanted, || format!("not in order {order:?}"))?;
                let f: Whole<'_, i32> = LocalArray::aslocalarray_as(&a, Order::F, comm)?;
                let back: Whole<'_, i32> = LocalArray::aslocalarray_as(&f, order, comm)?;
                same(back.local(), a.local(), "from order F")?;
                let wanted = match order {
                    Order::C => back.local().is_standard_layout(),
                    _ => back.local().t().is_standard_layout(),
                };
                ensure(wanted, || format!("not in order {order:?} from F"))?;
            }
        }
    }
    Ok(())
}

fn construct_partial_dim_data(comm: &dyn Communicator) -> Outcome {
    // lists cannot be made up
    let lists = dist_maps::make_partial_dim_data(&[9, 4], "nu", None);
    ensure(
        matches!(lists, Err(MapError::NeedsIndices { axis: 1 })),
        || format!("{lists:?}"),
    )?;
    for (dist, shape) in [("b", [9, 4]), ("c", [9, 4]), ("nb", [3, 10]), ("", [3, 3])] {
        let whole = Distribution::from_shape(&shape, dist, None, comm.size())?;
        let grid = whole.grid().shape();
        let mut dims = dist_maps::make_partial_dim_data(&shape, dist, Some(grid))?;
        // what has no place in the grid stands at its end, with nothing
        let Some(coords) = whole.coords(comm.rank()) else {
            let a = LocalArray::<i64, Ix2, _>::from_dim_data(&whole.dim_data(comm.rank())?, comm)?;
            same(a.local_size(), 0, "without a place")?;
            continue;
        };
        for (dim, &coord) in dims.iter_mut().zip(&coords) {
            dim.grid_rank = Some(coord);
        }
        let mut each = dims.clone();
        dist_maps::distribute_indices(&mut dims)?;
        for dim in &mut each {
            match dim.kind {
                dist_maps::PartialKind::Cyclic => dist_maps::distribute_cyclic_indices(dim)?,
                _ => dist_maps::distribute_block_indices(dim)?,
            }
        }
        same(&each, &dims, "one by one")?;
        let dim_data = DimData::new(
            dims.iter()
                .map(|dim| dim.complete())
                .collect::<Result<_, _>>()?,
        );
        let a = LocalArray::<i64, Ix2, _>::from_dim_data(&dim_data, comm)?;
        same(
            a.local_shape(),
            &*whole.local_shape(comm.rank()),
            "local shape",
        )?;
        // the compact indices name the rank's cells in order
        let lists: Vec<Vec<i64>> = dist_maps::compact_indices(&dim_data)?
            .into_iter()
            .map(|index| match index {
                CompactIndex::Slice { start, stop, step } => (start..stop)
                    .step_by(step as usize)
                    .map(|g| g as i64)
                    .collect(),
                CompactIndex::List(list) => list,
            })
            .collect();
        let named: Vec<Vec<i64>> = lists[0]
            .iter()
            .flat_map(|&i| lists[1].iter().map(move |&j| vec![i, j]))
            .collect();
        let stored: Vec<Vec<i64>> = cells(&whole, comm.rank())
            .into_iter()
            .map(|cell| cell.0)
            .collect();
        same(named, stored, "compact indices")?;
    }
    Ok(())
}

fn construct_init_comm(comm: &dyn Communicator) -> Outcome {
    let p = comm.size();
    for grid in [
        vec![p],
        vec![1, p],
        vec![p.div_ceil(2), 1],
        vec![],
        vec![2, 2],
    ] {
        let places: usize = grid.iter().product();
        let made = init_comm(&comm, &grid);
        if places > p {
            let wanted = ArrayError::InvalidBaseComm {
                given: p,
                allowed: places,
            };
            same(made.err(), Some(wanted), "too many places")?;
            continue;
        }
        if comm.rank() >= places {
            same(made.err(), Some(ArrayError::NullComm), "no place")?;
            continue;
        }
        let cart = made?;
        same(cart.grid_shape(), &*grid, "grid")?;
        same(
            (cart.rank(), cart.size()),
            (comm.rank(), places),
            "rank and size",
        )?;
        same(
            cart.rank_from_coords(&cart.cart_coords())?,
            cart.rank(),
            "coordinates",
        )?;
        // row by row
        let mut rank = 0;
        for (coord, extent) in cart.cart_coords().iter().zip(&grid) {
            rank = rank * extent + coord;
        }
        same(rank, cart.rank(), "order")?;
        same(
            cart.coords_from_rank(cart.rank())?,
            cart.cart_coords(),
            "coordinates of a rank",
        )?;
        ensure(cart.coords_from_rank(places).is_err(), || {
            "no such rank".into()
        })?;
        ensure(
            cart.rank_from_coords(&vec![p; grid.len() + 1]).is_err(),
            || "no such place".into(),
        )?;
        let a = LocalArray::<i64, Ix1, _>::arange(0, 10, 1, "b", &cart)?;
        same(a.sum()?, 45, "an array on it")?;
    }
    let wrong = init_comm(&comm, &[0]);
    ensure(matches!(wrong, Err(ArrayError::Protocol(_))), || {
        "no extent".into()
    })?;
    if p > 1 {
        let wrong = init_comm(&comm, &[1, 1][..1 + usize::from(comm.rank() == p - 1)]);
        ensure(
            matches!(
                wrong,
                Err(ArrayError::Argument {
                    what: "grid_shape",
                    ..
                })
            ),
            || "different grids".into(),
        )?;
    }
    Ok(())
}

fn construct_init_base_comm(comm: &dyn Communicator) -> Outcome {
    let group = comm.split((comm.rank() == 0).then_some(3), 0)?;
    let made = init_base_comm(group);
    same(made.is_ok(), comm.rank() == 0, "a member")?;
    same(
        made.err() == Some(ArrayError::NullComm),
        comm.rank() != 0,
        "none",
    )
}

fn construct_coords_and_ranks(comm: &dyn Communicator) -> Outcome {
    for d in zoo(&[13, 9], comm.size()) {
        let a = LocalArray::<u8, IxDyn, _>::zeros(&d, comm)?;
        let mut seen = 0;
        for rank in 0..comm.size() {
            if let Some(coords) = a.coords_from_rank(rank) {
                same(a.rank_from_coords(&coords), Some(rank), "there and back")?;
                seen += 1;
            }
        }
        same(seen, a.grid_shape().iter().product::<usize>(), "places")?;
        same(
            a.coords_from_rank(comm.rank()).as_deref(),
            a.cart_coords(),
            "this rank",
        )?;
        same(a.coords_from_rank(comm.size()), None, "no such rank")?;
        same(a.rank_from_coords(a.grid_shape()), None, "no such place")?;
    }
    Ok(())
}

fn construct_diag_of_lists(comm: &dyn Communicator) -> Outcome {
    let (ranks, last) = (comm.size(), comm.rank() + 1 == comm.size());
    for kind in [Kind::Block, Kind::List(3)] {
        let d = plain::distribution(&[4], &[kind], 0, ranks);
        let a = LocalArray::<i64, Ix1, _>::from_fn(&d, comm, |g| g[0] + 1)?;
        if ranks > 1 {
            for far in [1, i64::MAX] {
                let own = a.diag(if last { far } else { 0 });
                refused_everywhere(comm, own, "k differs")?;
            }
            let square = a.diag(0)?;
            let own = square.diag(if last { 1 } else { 0 });
            refused_everywhere(comm, own, "k differs")?;
        }
        same(a.diag(2)?.diag(2)?.sum()?, 10, "there and back")?;
    }
    // more rows than can be listed, without asking for their memory
    let lists: Vec<Vec<i64>> = (0..ranks as i64).map(|rank| vec![rank]).collect();
    let d = Distribution::over(ranks)
        .shape([ranks as u64])
        .unstructured(0, lists)
        .build()?;
    let a = LocalArray::<i64, Ix1, _>::ones(&d, comm)?;
    for k in [1 << 40, -(1 << 40)] {
        let refused = a.diag(k);
        ensure(
            matches!(
                refused,
                Err(ArrayError::Map(dist_maps::MapError::TooManyToList { .. }))
            ),
            || format!("{refused:?}"),
        )?;
    }
    // the last number of a long line of complex ones is finite
    let line = LocalArray::<Complex64, Ix1, _>::linspace(
        Complex64::new(0.0, 0.0),
        Complex64::new(1e308, 0.0),
        50,
        true,
        "b",
        comm,
    )?;
    ensure(line.owned().iter().all(|z| z.re.is_finite()), || {
        format!("{line:?}")
    })
}
