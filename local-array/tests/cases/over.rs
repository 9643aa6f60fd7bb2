//! Reductions over axes, and of the whole by the same engine.

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use half::f16;
use local_array::{
    Accumulate, ArrayError, Axes, Cast, Floating, LocalArray, Ordered, Over, Summable,
};
use ndarray::{Array, ArrayD, Axis, Data, Dimension, Ix2, IxDyn, ShapeBuilder};
use num_complex::{Complex32, Complex64};

use super::numpy::{Call, Close, Whole, alike, spread, whole_alike};
use super::plain::{self, Kind, SHAPES, some};
use super::support::arrays::{numbers, plainly};
use super::support::place::Place;
use super::support::schedule::OVER;
use super::{Failure, Outcome, ensure, same};

cases! {
    over_is_numpys,
    over_with_dtype_is_numpys,
    over_every_distribution_and_part,
    over_into_what_is_there,
    over_keeps_bounds_blocks_and_indices,
    over_nothing_has_no_extreme,
    over_wrong_arguments,
    over_repeated_indices_count_once,
    over_the_bits_stay,
}

/// How near a computed element of a type must be.
pub fn tolerance<T: Element>() -> f64 {
    match size_of::<T>() {
        2 => 1e-2,
        4 => 2e-6,
        _ if T::TYPE == dap_protocol::ElementType::Complex32 => 1e-4,
        _ => 1e-12,
    }
}

pub fn axes(call: &Call) -> Result<Axes, Failure> {
    let given = call.args.get("axes").ok_or("no axes")?;
    Ok(match given.as_array() {
        None => Axes::ALL,
        Some(list) => {
            let number =
                |axis: &serde_json::Value| axis.as_i64().and_then(|axis| i32::try_from(axis).ok());
            let list: Option<Vec<i32>> = list.iter().map(number).collect();
            list.ok_or("no number")?.into()
        }
    })
}

pub fn flag(call: &Call, name: &str) -> bool {
    call.args.get(name).and_then(serde_json::Value::as_bool) == Some(true)
}

fn ddof(call: &Call) -> f64 {
    call.args
        .get("ddof")
        .and_then(serde_json::Value::as_f64)
        .unwrap_or(0.0)
}

pub fn dtype(call: &Call) -> Option<&str> {
    call.args.get("dtype").and_then(serde_json::Value::as_str)
}

type On<'a, T> = Over<'a, T, &'a dyn Communicator>;

fn chosen<'a, T>(
    a: &'a Whole<'_, T>,
    call: &Call,
) -> Result<Over<'a, T, &'a dyn Communicator>, Failure>
where
    T: Element,
{
    let over = a.over(axes(call)?);
    Ok(if flag(call, "keepdims") {
        over.keepdims()
    } else {
        over
    })
}

/// The result over axes, and for all of them the value, are the answer.
fn answers<U: Close>(
    call: &Call,
    found: Result<LocalArray<U, IxDyn, &dyn Communicator>, ArrayError>,
    value: impl FnOnce() -> Result<U, ArrayError>,
) -> Outcome {
    let wanted = call.outputs[0].array::<U>()?;
    let what = format!("{} of {} {:?}", call.op, call.inputs[0].dtype, call.args);
    whole_alike(&found?, &wanted, tolerance::<U>(), &what)?;
    if call.args["axes"].is_null() {
        let found = ArrayD::from_elem(wanted.raw_dim(), value()?);
        alike(
            &found,
            &wanted,
            tolerance::<U>(),
            &format!("{what}, the value"),
        )?;
    }
    Ok(())
}

fn check<T>(call: &Call, number: usize, place: Place<'_>) -> Outcome
where
    T: Close + Summable + Ordered + Cast<bool>,
    T::Sum: Close,
    T::Mean: Close,
    <T::Mean as Floating>::Real: Close,
{
    let a = placed::<T>(call, number, place)?;
    let over: On<'_, T> = chosen(&a, call)?;
    let ddof = ddof(call);
    match &*call.op {
        "sum" => answers(call, over.sum(), || a.sum()),
        "prod" => answers(call, over.prod(), || a.prod()),
        "mean" => answers(call, over.mean(), || a.mean()),
        "var" => answers(call, over.var(ddof), || a.var(ddof)),
        "std" => answers(call, over.std(ddof), || a.std(ddof)),
        "min" => answers(call, over.min(), || a.min()),
        "max" => answers(call, over.max(), || a.max()),
        "argmin" => answers(call, over.argmin(), || a.argmin()),
        "argmax" => answers(call, over.argmax(), || a.argmax()),
        "any" => answers(call, over.any(), || a.any()),
        "all" => answers(call, over.all(), || a.all()),
        other => Err(format!("{other} is not known").into()),
    }
}

fn check_ptp<T: Close + Ordered + local_array::Arithmetic>(
    call: &Call,
    number: usize,
    place: Place<'_>,
) -> Outcome {
    let a = placed::<T>(call, number, place)?;
    answers(call, chosen(&a, call)?.ptp(), || a.ptp())
}

/// The input of a call, where its turn has it.
pub fn placed<'a, T: Element>(
    call: &Call,
    turn: usize,
    place: Place<'a>,
) -> Result<Whole<'a, T>, Failure> {
    placed_at(call, 0, turn, place)
}

/// Its input number `array`.
pub fn placed_at<'a, T: Element>(
    call: &Call,
    array: usize,
    turn: usize,
    place: Place<'a>,
) -> Result<Whole<'a, T>, Failure> {
    place.array(&call.inputs[array].array::<T>()?, turn, array)
}

/// Calls `$check` for the listed element type of a dtype; another one fails.
macro_rules! by_dtype {
    ($dtype:expr, $check:ident $args:tt, $($t:ty),*) => {{
        let code = $dtype.trim_start_matches(['<', '|']);
        let mut outcome = Err(Failure::from(format!("a type that the test does not know: {code}")));
        $(if <$t>::TYPE.numpy_code() == Some(code) {
            outcome = $check::<$t> $args;
        })*
        outcome?;
    }};
}

pub(crate) use by_dtype;

/// Compares a call of the fixture with what comes out here.
pub fn check_call(call: &Call, number: usize, place: Place<'_>) -> Outcome {
    let code = &call.inputs[0].dtype;
    if dtype(call).is_some() {
        return check_with_dtype(call, number, place);
    }
    if call.op == "ptp" {
        by_dtype!(
            code,
            check_ptp(call, number, place),
            i8,
            i16,
            i32,
            i64,
            u8,
            u16,
            u32,
            u64,
            f16,
            f32,
            f64,
            Complex32,
            Complex64
        );
    } else {
        by_dtype!(
            code,
            check(call, number, place),
            bool,
            i8,
            i16,
            i32,
            i64,
            u8,
            u16,
            u32,
            u64,
            f16,
            f32,
            f64,
            Complex32,
            Complex64
        );
    }
    Ok(())
}

fn over_is_numpys(comm: &dyn Communicator) -> Outcome {
    for (number, call) in OVER.due_of(|call| dtype(call).is_none(), 1000, comm.size())? {
        check_call(call, number, Place::Ranks(comm))?;
    }
    Ok(())
}

fn with_dtype<T, A>(call: &Call, number: usize, place: Place<'_>) -> Outcome
where
    T: Element + Cast<A>,
    A: Close + Accumulate,
{
    let a = placed::<T>(call, number, place)?;
    let over = chosen(&a, call)?;
    match &*call.op {
        "sum" => answers(call, over.sum_as::<A>(), || a.sum_as()),
        "prod" => answers(call, over.prod_as::<A>(), || a.prod_as()),
        "mean" => answers(call, over.mean_as::<A>(), || a.mean_as()),
        other => Err(format!("{other} is not known").into()),
    }
}

fn spread_with_dtype<T, A>(call: &Call, number: usize, place: Place<'_>) -> Outcome
where
    T: Element + Cast<A>,
    A: Floating<Real: Close>,
{
    let a = placed::<T>(call, number, place)?;
    let (over, ddof) = (chosen(&a, call)?, ddof(call));
    match &*call.op {
        "var" => answers(call, over.var_as::<A>(ddof), || a.var_as::<A>(ddof)),
        "std" => answers(call, over.std_as::<A>(ddof), || a.std_as::<A>(ddof)),
        other => Err(format!("{other} is not known").into()),
    }
}

fn check_with_dtype(call: &Call, number: usize, place: Place<'_>) -> Outcome {
    let target = dtype(call).ok_or("no dtype")?;
    let target = if target == "bool" { "b1" } else { target };
    let source = call.inputs[0].dtype.trim_start_matches(['<', '|']);
    let mut seen = 0;
    macro_rules! pairs {
        ($check:ident: $($t:ty => $($a:ty),*;)*) => {$($(
            if (source, target) == (<$t>::TYPE.numpy_code().unwrap(), <$a>::TYPE.numpy_code().unwrap()) {
                $check::<$t, $a>(call, number, place)?;
                seen += 1;
            }
        )*)*};
    }
    if call.op == "var" || call.op == "std" {
        pairs! { spread_with_dtype: i8 => f32; i32 => f64; f64 => f32; f32 => f64; Complex32 => Complex64; u8 => f16; }
    } else {
        pairs! { with_dtype:
            i8 => i8, u16, f32, Complex32, bool; u8 => i64, f16, u64; i32 => f32, i16;
            f64 => i32, f32, Complex64, bool; bool => bool, u8, f64; f32 => f64, f32; Complex32 => Complex64;
        }
    }
    same(seen, 1, "calls of a pair of types")
}

fn over_with_dtype_is_numpys(comm: &dyn Communicator) -> Outcome {
    for (number, call) in OVER.due_of(|call| dtype(call).is_some(), 100, comm.size())? {
        check_call(call, number, Place::Ranks(comm))?;
    }
    Ok(())
}

fn variance(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n
}

fn first(x: &[f64], is_better: impl Fn(f64, f64) -> bool) -> i64 {
    (1..x.len()).fold(
        0,
        |best, at| if is_better(x[at], x[best]) { at } else { best },
    ) as i64
}

/// All reductions of `a` over `axes` are those of `whole`.
fn all_plain<S, D, C>(
    a: &local_array::LocalArrayBase<S, D, C>,
    whole: &ArrayD<f64>,
    axes: &[usize],
) -> Outcome
where
    S: Data<Elem = f64>,
    D: Dimension,
    C: Communicator + Clone,
{
    let listed: Vec<i32> = axes.iter().map(|&axis| axis as i32).collect();
    let over = || a.over(&*listed);
    let near = 1e-12;
    whole_alike(
        &over().sum()?,
        &plainly(whole, axes, |x| x.iter().sum()),
        near,
        "sum",
    )?;
    whole_alike(
        &over().prod()?,
        &plainly(whole, axes, |x| x.iter().product()),
        near,
        "prod",
    )?;
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    whole_alike(&over().mean()?, &plainly(whole, axes, mean), near, "mean")?;
    whole_alike(
        &over().var(0.0)?,
        &plainly(whole, axes, variance),
        near,
        "var",
    )?;
    let root = |x: &[f64]| variance(x).sqrt();
    whole_alike(&over().std(0.0)?, &plainly(whole, axes, root), near, "std")?;
    let any = |x: &[f64]| x.iter().any(|&x| x != 0.0);
    whole_alike(&over().any()?, &plainly(whole, axes, any), 0.0, "any")?;
    let all = |x: &[f64]| x.iter().all(|&x| x != 0.0);
    whole_alike(&over().all()?, &plainly(whole, axes, all), 0.0, "all")?;
    let count: usize = axes.iter().map(|&axis| whole.shape()[axis]).product();
    if count == 0 {
        return ensure(
            matches!(over().max(), Err(ArrayError::Empty { .. })),
            || "max".into(),
        );
    }
    let least = |x: &[f64]| x.iter().copied().fold(f64::INFINITY, f64::min);
    let most = |x: &[f64]| x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    whole_alike(&over().min()?, &plainly(whole, axes, least), 0.0, "min")?;
    whole_alike(&over().max()?, &plainly(whole, axes, most), 0.0, "max")?;
    whole_alike(
        &over().ptp()?,
        &plainly(whole, axes, |x| most(x) - least(x)),
        0.0,
        "ptp",
    )?;
    let place = |x: &[f64]| first(x, |x, y| x < y);
    whole_alike(
        &over().argmin()?,
        &plainly(whole, axes, place),
        0.0,
        "argmin",
    )?;
    let place = |x: &[f64]| first(x, |x, y| x > y);
    whole_alike(
        &over().argmax()?,
        &plainly(whole, axes, place),
        0.0,
        "argmax",
    )
}

fn over_every_distribution_and_part(comm: &dyn Communicator) -> Outcome {
    for (salt, &shape) in SHAPES.iter().enumerate() {
        let whole = numbers(shape, 5);
        let axes: &[&[usize]] = match shape.len() {
            0 => &[&[]],
            1 => &[&[0], &[]],
            2 => &[&[0], &[1], &[0, 1]],
            _ => &[&[0], &[1], &[2], &[0, 2], &[0, 1], &[1, 2], &[0, 1, 2]],
        };
        for (number, distribution) in some(shape, comm.size(), salt, 3).iter().enumerate() {
            let a = spread(&whole, distribution, comm)?;
            let axes = axes[(number + comm.size()) % axes.len()];
            all_plain(&a, &whole, axes)?;
            if distribution.coords(comm.rank()).is_some() {
                let part = a.part()?;
                all_plain(&part, &a.owned().to_owned(), axes)?;
            }
        }
    }
    Ok(())
}

fn over_into_what_is_there(comm: &dyn Communicator) -> Outcome {
    let whole = numbers(&[13, 9], 3);
    for distribution in some(&[13, 9], comm.size(), 0, 2) {
        let a = spread(&whole, &distribution, comm)?;
        let result = distribution.reduce(Some(&[0]), false)?;
        macro_rules! into {
            ($($t:ty: $call:ident($($arg:expr),*) == $wanted:expr;)*) => {$({
                let mut out = LocalArray::<$t, IxDyn, _>::zeros(&result, comm)?;
                a.over(0).$call($($arg,)* &mut out)?;
                same(out.distribution(), &result, "distribution")?;
                whole_alike(&out, &super::numpy::gathered(&$wanted)?, 1e-6, stringify!($call))?;
            })*};
        }
        into! {
            f32: sum_into() == a.over(0).sum_as::<f32>()?;
            i16: sum_into() == a.over(0).sum_as::<i16>()?;
            f64: prod_into() == a.over(0).prod()?;
            f32: mean_into() == a.over(0).mean_as::<f32>()?;
            f32: var_into(1.0) == a.over(0).var_as::<f32>(1.0)?;
            f64: std_into(0.0) == a.over(0).std(0.0)?;
            f64: min_into() == a.over(0).min()?;
            f64: max_into() == a.over(0).max()?;
            f64: ptp_into() == a.over(0).ptp()?;
            i64: argmin_into() == a.over(0).argmin()?;
            i64: argmax_into() == a.over(0).argmax()?;
            bool: any_into() == a.over(0).any()?;
            bool: all_into() == a.over(0).all()?;
        }
        let mut other = LocalArray::<f64, IxDyn, _>::zeros(&distribution, comm)?;
        let refused = a.over(0).sum_into(&mut other);
        ensure(
            matches!(refused, Err(ArrayError::IncompatibleArray { .. })),
            || format!("{refused:?}"),
        )?;
    }
    Ok(())
}

fn over_keeps_bounds_blocks_and_indices(comm: &dyn Communicator) -> Outcome {
    let kinds = [Kind::Bounds(11), Kind::Cyclic(3), Kind::List(5)];
    for kind in kinds {
        let d = plain::distribution(&[19, 4], &[kind, Kind::Whole], 1, comm.size());
        let a = spread(&numbers(&[19, 4], 1), &d, comm)?;
        let sums = a.over(1).sum()?;
        same(
            &sums.distribution().axes()[0],
            &d.axes()[0],
            "the kept axis",
        )?;
        let sums = a.over(-1).keepdims().sum()?;
        same(
            &sums.distribution().axes()[0],
            &d.axes()[0],
            "the kept axis",
        )?;
        same(sums.global_shape(), [19, 1], "shape")?;
    }
    // 2 × 2: the lowest of each group has the result
    let d = Distribution::over(4)
        .shape([4, 4])
        .block(0)
        .block(1)
        .build()?;
    if comm.size() == 4 {
        let a = spread(&numbers(&[4, 4], 1), &d, comm)?;
        same(a.over(0).sum()?.distribution().targets(), [0, 1], "over 0")?;
        same(a.over(1).sum()?.distribution().targets(), [0, 2], "over 1")?;
    }
    Ok(())
}

fn over_nothing_has_no_extreme(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[0, 5], &[Kind::Block, Kind::Block], 0, comm.size());
    let a = LocalArray::<f32, Ix2, _>::zeros(&d, comm)?;
    for (operation, outcome) in [
        ("min", a.over(0).min().err()),
        ("max", a.over([0, 1]).max().err()),
        ("argmin", a.over(0).argmin().err()),
        ("argmax", a.over(0).argmax().err()),
        ("ptp", a.over(0).ptp().err()),
        ("min", a.min().err()),
        ("argmax", a.argmax().err()),
    ] {
        let wanted = ArrayError::Empty {
            operation,
            shape: vec![0, 5],
        };
        same(outcome, Some(wanted), "of nothing")?;
    }
    same(a.over(1).max()?.global_shape(), [0], "nothing of five each")?;
    let sums = a.over(0).sum()?;
    ensure(sums.owned().iter().all(|&sum| sum == 0.0), || {
        format!("{sums:?}")
    })?;
    let means = a.over(0).mean()?;
    ensure(means.owned().iter().all(|mean| mean.is_nan()), || {
        format!("{means:?}")
    })?;
    let spread = a.over(0).var(0.0)?;
    ensure(spread.owned().iter().all(|var| var.is_nan()), || {
        format!("{spread:?}")
    })
}

fn over_wrong_arguments(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[6, 4], &[Kind::Block, Kind::Whole], 1, comm.size());
    let a = LocalArray::<i32, Ix2, _>::zeros(&d, comm)?;
    for axes in [
        Axes::from(2),
        Axes::from(-3),
        Axes::from([0, 0]),
        Axes::from([1, -1]),
    ] {
        let refused = a.over(axes.clone()).sum().err();
        let is_right = if axes == Axes::from(2) || axes == Axes::from(-3) {
            matches!(refused, Some(ArrayError::InvalidDimension { .. }))
        } else {
            matches!(refused, Some(ArrayError::Argument { .. }))
        };
        ensure(is_right, || format!("{axes:?}: {refused:?}"))?;
    }
    if comm.size() > 1 {
        let refused = a.over(i32::from(comm.rank() == 1)).sum().err();
        ensure(matches!(refused, Some(ArrayError::Argument { .. })), || {
            format!("{refused:?}")
        })?;
        let refused = if comm.rank() == 0 {
            a.over(0).sum().err()
        } else {
            a.over(7).sum().err()
        };
        ensure(matches!(refused, Some(ArrayError::Argument { .. })), || {
            format!("{refused:?}")
        })?;
    }
    same(a.over(0).sum()?.sum()?, 0, "the ranks are in step")
}

fn over_repeated_indices_count_once(comm: &dyn Communicator) -> Outcome {
    // every rank of the axis holds 0 and 1, and its own share besides
    let ranks = comm.size();
    let lists: Vec<Vec<i64>> = (0..ranks as i64).map(|r| vec![1, 2 + r, 0]).collect();
    let shape = [2 + ranks as u64, 3];
    let d = Distribution::over(ranks)
        .shape(shape)
        .unstructured(0, lists.clone())
        .build()?;
    let whole = numbers(&shape, 9);
    let a = spread(&whole, &d, comm)?;
    all_plain(&a, &whole, &[0])?;
    all_plain(&a, &whole, &[0, 1])?;
    // over the other axis each copy has its sum
    let sums = a.over(1).sum()?;
    let wanted = plainly(&whole, &[1], |x| x.iter().sum::<f64>());
    let own = lists[comm.rank()].iter().map(|&g| wanted[[g as usize]]);
    same(
        sums.owned().iter().copied().collect::<Vec<_>>(),
        own.collect::<Vec<_>>(),
        "sums of copies",
    )
}

fn over_the_bits_stay(comm: &dyn Communicator) -> Outcome {
    let shape = [37, 29, 7];
    let whole = numbers(&shape, 21).mapv(|x| (x * 1.1).exp());
    let d = plain::distribution(
        &shape,
        &[Kind::Block, Kind::Cyclic(2), Kind::Whole],
        1,
        comm.size(),
    );
    let a = spread(&whole, &d, comm)?;
    let mut fortran = Array::zeros(IxDyn(a.local_shape()).f());
    fortran.assign(&a.local());
    let b = LocalArray::from_array(fortran, &d, comm)?;
    let mut backwards = a.local().to_owned();
    for axis in 0..3 {
        backwards.invert_axis(Axis(axis));
    }
    backwards = backwards.as_standard_layout().into_owned();
    for axis in 0..3 {
        backwards.invert_axis(Axis(axis));
    }
    let c = LocalArray::from_array(backwards, &d, comm)?;
    let bits = |array: LocalArray<f64, IxDyn, &dyn Communicator>| -> Vec<u64> {
        array.owned().iter().map(|x| x.to_bits()).collect()
    };
    for axes in [&[0][..], &[1], &[2], &[0, 2], &[1, 2], &[0, 1, 2]] {
        let wanted = bits(a.over(axes).sum()?);
        same(bits(a.over(axes).sum()?), wanted.clone(), "the second run")?;
        same(bits(b.over(axes).sum()?), wanted.clone(), "Fortran order")?;
        same(bits(c.over(axes).sum()?), wanted, "backwards")?;
        same(
            bits(b.over(axes).var(1.0)?),
            bits(a.over(axes).var(1.0)?),
            "var",
        )?;
    }
    // halves add up in f32
    let d = plain::distribution(&[5000], &[Kind::Block], 0, comm.size());
    let ones = LocalArray::<f16, IxDyn, _>::full(&d, comm, f16::from_f32(1.0))?;
    let wanted = ArrayD::from_elem(IxDyn(&[]), f16::from_f32(5000.0));
    whole_alike(&ones.over(0).sum()?, &wanted, 0.0, "halves")
}
