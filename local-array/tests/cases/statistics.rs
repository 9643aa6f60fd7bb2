//! Sums along axes, traces, medians, averages, histograms and covariances.

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Distribution;
use half::f16;
use local_array::{
    Accumulate, Arithmetic, ArrayError, Axes, Bins, Cast, Floating, LocalArray, Middle, Ordered,
    Summable, Unweighted,
};
use ndarray::{Array1, ArrayD, Axis, Ix1, Ix2, IxDyn};
use num_complex::{Complex32, Complex64};
use serde_json::Value;

use super::numpy::{Call, Close, Encoded, Whole, alike, spread, whole_alike};
use super::over::{axes, by_dtype, dtype, flag, placed, placed_at, tolerance};
use super::plain::{self, Kind, zoo};
use super::support::arrays::{numbers, plainly};
use super::support::place::Place;
use super::support::schedule::STATISTICS;
use super::{Failure, Outcome, ensure, refused_everywhere, same};

cases! {
    cumulated_is_numpys,
    trace_is_numpys,
    median_is_numpys,
    average_is_numpys,
    histograms_are_numpys,
    covariances_are_numpys,
    statistics_of_a_part,
    statistics_into_what_is_there,
    statistics_with_wrong_arguments,
    averages_differ_between_the_ranks,
}

/// The calls of some operations that these ranks look at, each with its turn.
fn of(
    operations: &[&str],
    least: usize,
    comm: &dyn Communicator,
) -> Result<Vec<(usize, &'static Call)>, Failure> {
    STATISTICS.due_of(|call| operations.contains(&&*call.op), least, comm.size())
}

fn number(call: &Call, name: &str) -> Option<i64> {
    call.args.get(name).and_then(Value::as_i64)
}

fn axis(call: &Call, name: &str) -> Option<i32> {
    number(call, name).and_then(|axis| i32::try_from(axis).ok())
}

fn what(call: &Call) -> String {
    format!(
        "{} of {} {:?} {:?}",
        call.op, call.inputs[0].dtype, call.inputs[0].shape, call.args
    )
}

fn found<U: Close>(
    call: &Call,
    found: Result<LocalArray<U, IxDyn, &dyn Communicator>, ArrayError>,
) -> Outcome {
    whole_alike(
        &found?,
        &call.outputs[0].array::<U>()?,
        tolerance::<U>(),
        &what(call),
    )
}

fn cumulated<T: Element + Cast<A>, A: Close + Accumulate>(
    call: &Call,
    n: usize,
    place: Place<'_>,
) -> Outcome {
    let a = placed::<T>(call, n, place)?;
    let axis = axis(call, "axis");
    found(
        call,
        if call.op == "cumsum" {
            a.cumsum_as::<A>(axis)
        } else {
            a.cumprod_as::<A>(axis)
        },
    )
}

fn cumulated_plain<T: Element + Summable<Sum: Close>>(
    call: &Call,
    n: usize,
    place: Place<'_>,
) -> Outcome {
    let a = placed::<T>(call, n, place)?;
    let axis = axis(call, "axis");
    found(
        call,
        if call.op == "cumsum" {
            a.cumsum(axis)
        } else {
            a.cumprod(axis)
        },
    )
}

fn cumulated_call(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    let source = call.inputs[0].dtype.trim_start_matches(['<', '|']);
    match dtype(call) {
        None => by_dtype!(
            source,
            cumulated_plain(call, n, place),
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
        ),
        Some(target) => match (source, target) {
            ("i1", "i1") => cumulated::<i8, i8>(call, n, place)?,
            ("u1", "f4") => cumulated::<u8, f32>(call, n, place)?,
            ("f8", "i4") => cumulated::<f64, i32>(call, n, place)?,
            ("b1", "bool") => cumulated::<bool, bool>(call, n, place)?,
            ("f4", "f8") => cumulated::<f32, f64>(call, n, place)?,
            ("i4", "c16") => cumulated::<i32, Complex64>(call, n, place)?,
            pair => return Err(format!("{pair:?} is not known").into()),
        },
    }
    Ok(())
}

fn cumulated_is_numpys(comm: &dyn Communicator) -> Outcome {
    for (n, call) in &of(&["cumsum", "cumprod"], 100, comm)? {
        check_call(call, *n, Place::Ranks(comm))?;
    }
    // every distribution
    let whole = numbers(&[13, 9], 4);
    for distribution in zoo(&[13, 9], comm.size()) {
        let a = spread(&whole, &distribution, comm)?;
        for axis in 0..2 {
            let mut wanted = whole.clone();
            wanted.accumulate_axis_inplace(Axis(axis), |&before, sum| *sum += before);
            let sums = a.cumsum(axis as i32)?;
            same(sums.distribution(), &distribution, "the distribution stays")?;
            whole_alike(&sums, &wanted, 1e-12, "cumsum")?;
        }
    }
    Ok(())
}

fn trace<T: Element + Summable<Sum: Close>>(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    let a = placed::<T>(call, n, place)?;
    let (first, second) = (
        axis(call, "axis1").ok_or("axis1")?,
        axis(call, "axis2").ok_or("axis2")?,
    );
    found(
        call,
        a.trace(number(call, "offset").ok_or("offset")?, first, second),
    )
}

fn trace_call(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    match dtype(call) {
        None => by_dtype!(
            call.inputs[0].dtype,
            trace(call, n, place),
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
        ),
        Some(target) => {
            let a = placed::<i32>(call, n, place)?;
            match target {
                "i2" => found(call, a.trace_as::<i16>(0, 0, 1))?,
                "f4" => found(call, a.trace_as::<f32>(0, 0, 1))?,
                _ => found(call, a.trace_as::<bool>(0, 0, 1))?,
            }
        }
    }
    Ok(())
}

fn trace_is_numpys(comm: &dyn Communicator) -> Outcome {
    for (n, call) in &of(&["trace"], 40, comm)? {
        check_call(call, *n, Place::Ranks(comm))?;
    }
    Ok(())
}

fn median<T: Close + Middle + Summable<Mean: Close>>(
    call: &Call,
    n: usize,
    place: Place<'_>,
) -> Outcome {
    let a = placed::<T>(call, n, place)?;
    let over = a.over(axes(call)?);
    let keepdims = flag(call, "keepdims");
    found(
        call,
        if keepdims {
            over.keepdims().median()
        } else {
            over.median()
        },
    )?;
    if call.args["axes"].is_null() {
        let wanted = call.outputs[0].array::<T::Mean>()?;
        let value = ArrayD::from_elem(wanted.raw_dim(), a.median()?);
        alike(&value, &wanted, tolerance::<T::Mean>(), &what(call))?;
    }
    Ok(())
}

fn median_call(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    by_dtype!(
        call.inputs[0].dtype,
        median(call, n, place),
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
    Ok(())
}

fn median_is_numpys(comm: &dyn Communicator) -> Outcome {
    for (n, call) in &of(&["median"], 100, comm)? {
        check_call(call, *n, Place::Ranks(comm))?;
    }
    Ok(())
}

fn average<T, W>(call: &Call, n: usize, place: Place<'_>) -> Outcome
where
    T: Element + Summable<Mean: Close> + Cast<<T as Summable>::Mean>,
    W: Element + Cast<T::Mean>,
{
    let a = placed::<T>(call, n, place)?;
    let over = a.over(axes(call)?);
    let (means, sums, value) = if call.inputs.len() == 1 {
        let (means, sums) = over.average_returned(Unweighted)?;
        (means, sums, a.average_returned(Unweighted)?)
    } else {
        let weights = call.inputs[1].array::<W>()?;
        // Weights of the whole shape lie as the elements do, others anywhere.
        let weights = if weights.shape() == call.inputs[0].shape {
            spread(&weights, a.distribution(), place.comm())?
        } else {
            place.array(&weights, n, 1)?
        };
        let (means, sums) = over.average_returned(&weights)?;
        whole_alike(
            &over.average(&weights)?,
            &super::numpy::gathered(&means)?,
            0.0,
            "average",
        )?;
        let mut out = LocalArray::<T::Mean, IxDyn, _>::zeros(means.distribution(), place.comm())?;
        over.average_into(&weights, &mut out)?;
        let wanted = super::numpy::gathered(&means)?;
        whole_alike(&out, &wanted, 0.0, "average_into")?;
        let value = if call.args["axes"].is_null() {
            a.average_returned(&weights)?
        } else {
            Default::default()
        };
        (means, sums, value)
    };
    let (wanted, weight) = (
        call.outputs[0].array::<T::Mean>()?,
        call.outputs[1].array::<T::Mean>()?,
    );
    whole_alike(&means, &wanted, tolerance::<T::Mean>(), &what(call))?;
    whole_alike(&sums, &weight, tolerance::<T::Mean>(), &what(call))?;
    if call.args["axes"].is_null() {
        alike(
            &ArrayD::from_elem(IxDyn(&[]), value.0),
            &wanted,
            tolerance::<T::Mean>(),
            &what(call),
        )?;
        alike(
            &ArrayD::from_elem(IxDyn(&[]), value.1),
            &weight,
            tolerance::<T::Mean>(),
            &what(call),
        )?;
    }
    Ok(())
}

/// With weights in double precision.
fn wide_average<T>(call: &Call, n: usize, place: Place<'_>) -> Outcome
where
    T: Element + Summable<Mean: Close> + Cast<<T as Summable>::Mean>,
    f64: Cast<T::Mean>,
{
    average::<T, f64>(call, n, place)
}

fn average_call(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    let source = call.inputs[0].dtype.trim_start_matches(['<', '|']);
    match source {
        "f2" => average::<f16, f16>(call, n, place)?,
        "f4" => average::<f32, f32>(call, n, place)?,
        "c8" => average::<Complex32, f32>(call, n, place)?,
        "c16" => average::<Complex64, f64>(call, n, place)?,
        "b1" => average::<bool, f64>(call, n, place)?,
        _ => by_dtype!(
            source,
            wide_average(call, n, place),
            i8,
            i16,
            i32,
            i64,
            u8,
            u16,
            u32,
            u64,
            f64
        ),
    }
    Ok(())
}

fn average_is_numpys(comm: &dyn Communicator) -> Outcome {
    for (n, call) in &of(&["average"], 80, comm)? {
        check_call(call, *n, Place::Ranks(comm))?;
    }
    Ok(())
}

fn bins(value: &Value) -> Result<Bins, Failure> {
    if value.is_null() {
        return Ok(None.into());
    }
    if let Some(count) = value.as_i64() {
        return Ok(i32::try_from(count)?.into());
    }
    let edges = value.as_array().ok_or("no bins")?.iter().map(Value::as_f64);
    Ok(edges.collect::<Option<Vec<f64>>>().ok_or("no edge")?.into())
}

fn span(value: &Value) -> Option<(f64, f64)> {
    let pair = value.as_array()?;
    Some((pair.first()?.as_f64()?, pair.get(1)?.as_f64()?))
}

fn equal<U: Close>(found: &ArrayD<U>, wanted: &Encoded, call: &Call) -> Outcome {
    alike(found, &wanted.array::<U>()?, 1e-12, &what(call))
}

fn histogram<T>(call: &Call, n: usize, place: Place<'_>) -> Outcome
where
    T: Ordered + Cast<f64>,
{
    let a = placed::<T>(call, n, place)?;
    let mut histogram = a.histogram(bins(&call.args["bins"])?);
    if let Some((low, high)) = span(&call.args["range"]) {
        histogram = histogram.range(low, high);
    }
    let density = flag(call, "density");
    let edges = match call.inputs.get(1) {
        None if density => {
            let (values, edges) = histogram.density()?;
            equal(&values.into_dyn(), &call.outputs[0], call)?;
            edges
        }
        None => {
            let (values, edges) = histogram.count()?;
            equal(&values.into_dyn(), &call.outputs[0], call)?;
            edges
        }
        Some(weights) if weights.dtype == "<i8" => {
            let weights = spread(&weights.array::<i64>()?, a.distribution(), place.comm())?;
            let (values, edges) = histogram.weighted(&weights)?;
            equal(&values.into_dyn(), &call.outputs[0], call)?;
            edges
        }
        Some(weights) if weights.dtype == "<c16" => {
            let weights = spread(
                &weights.array::<Complex64>()?,
                a.distribution(),
                place.comm(),
            )?;
            let (values, edges) = histogram.weighted(&weights)?;
            equal(&values.into_dyn(), &call.outputs[0], call)?;
            edges
        }
        Some(weights) => {
            let weights = spread(&weights.array::<f64>()?, a.distribution(), place.comm())?;
            let (values, edges) = if density {
                histogram.weighted_density(&weights)?
            } else {
                histogram.weighted(&weights)?
            };
            equal(&values.into_dyn(), &call.outputs[0], call)?;
            edges
        }
    };
    equal(&edges.into_dyn(), &call.outputs[1], call)
}

fn histogram2d(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    let x = placed::<f64>(call, n, place)?;
    let y = spread(
        &call.inputs[1].array::<f64>()?,
        x.distribution(),
        place.comm(),
    )?;
    let both = call.args["bins"].as_array().ok_or("two bins")?;
    let mut histogram = x.histogram2d(&y, bins(&both[0])?, bins(&both[1])?);
    if let Some(ranges) = call.args["range"].as_array() {
        histogram = histogram.range(span(&ranges[0]).ok_or("x")?, span(&ranges[1]).ok_or("y")?);
    }
    let weights = call
        .inputs
        .get(2)
        .map(|weights| spread(&weights.array::<f64>()?, x.distribution(), place.comm()));
    let (values, x_edges, y_edges) = match (weights.transpose()?, flag(call, "density")) {
        (None, false) => histogram.count()?,
        (None, true) => histogram.density()?,
        (Some(weights), false) => histogram.weighted(&weights)?,
        (Some(weights), true) => histogram.weighted_density(&weights)?,
    };
    equal(&values.into_dyn(), &call.outputs[0], call)?;
    equal(&x_edges.into_dyn(), &call.outputs[1], call)?;
    equal(&y_edges.into_dyn(), &call.outputs[2], call)
}

fn histogram_call(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    by_dtype!(
        call.inputs[0].dtype,
        histogram(call, n, place),
        u8,
        i64,
        f64
    );
    Ok(())
}

fn histograms_are_numpys(comm: &dyn Communicator) -> Outcome {
    for (n, call) in &of(&["histogram"], 30, comm)? {
        check_call(call, *n, Place::Ranks(comm))?;
    }
    for (n, call) in &of(&["histogram2d"], 20, comm)? {
        check_call(call, *n, Place::Ranks(comm))?;
    }
    Ok(())
}

/// What a covariance is kept in cannot be named as a parameter: one function for each.
macro_rules! covariance {
    ($($name:ident: $kept:ty, $one:expr;)*) => {$(
        fn $name<T>(call: &Call, n: usize, place: Place<'_>) -> Outcome
        where
            T: Element + Summable<Mean: Floating<Center = $kept>>,
        {
            let a = placed::<T>(call, n, place)?;
            let mut covariance = a
                .covariance()
                .rowvar(flag(call, "rowvar"))
                .bias(flag(call, "bias"));
            if let Some(ddof) = call.args.get("ddof").and_then(Value::as_f64) {
                covariance = covariance.ddof(ddof);
            }
            if call.inputs.len() > 1 {
                covariance = covariance.with(&placed_at::<T>(call, 1, n, place)?);
            }
            let result = if call.op == "cov" {
                covariance.cov()?
            } else {
                covariance.corrcoef()?
            };
            // Relative to one, for the sake of those near zero.
            let up = |x: $kept| x.plus($one);
            let wanted = call.outputs[0].array::<$kept>()?.mapv(up);
            alike(
                &super::numpy::gathered(&result)?.mapv(up),
                &wanted,
                1e-6,
                &what(call),
            )
        }
    )*};
}

covariance! {
    real_covariance: f64, 1.0;
    complex_covariance: Complex64, Complex64::new(1.0, 1.0);
}

fn covariance_call(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    let source = call.inputs[0].dtype.trim_start_matches(['<', '|']);
    if source.starts_with('c') {
        by_dtype!(
            source,
            complex_covariance(call, n, place),
            Complex32,
            Complex64
        );
    } else {
        by_dtype!(
            source,
            real_covariance(call, n, place),
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
            f64
        );
    }
    Ok(())
}

fn covariances_are_numpys(comm: &dyn Communicator) -> Outcome {
    for (n, call) in &of(&["cov", "corrcoef"], 80, comm)? {
        check_call(call, *n, Place::Ranks(comm))?;
    }
    Ok(())
}

/// Compares a call of the fixture with what comes out here.
pub fn check_call(call: &Call, n: usize, place: Place<'_>) -> Outcome {
    match &*call.op {
        "cumsum" | "cumprod" => cumulated_call(call, n, place),
        "trace" => trace_call(call, n, place),
        "median" => median_call(call, n, place),
        "average" => average_call(call, n, place),
        "histogram" => histogram_call(call, n, place),
        "histogram2d" => histogram2d(call, n, place),
        "cov" | "corrcoef" => covariance_call(call, n, place),
        other => Err(format!("an operation that the test does not know: {other}").into()),
    }
}

fn sorted_median(x: &[f64]) -> f64 {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    if x.is_empty() {
        f64::NAN
    } else {
        f64::midpoint(x[(x.len() - 1) / 2], x[x.len() / 2])
    }
}

/// What each means on this rank's part, by plain loops.
fn statistics_of_a_part(comm: &dyn Communicator) -> Outcome {
    let shape = [14, 9];
    for distribution in zoo(&shape, comm.size()) {
        let a = spread(&numbers(&shape, 8), &distribution, comm)?;
        if distribution.coords(comm.rank()).is_none() {
            continue;
        }
        let (part, own) = (a.part()?, a.owned().to_owned());
        for axis in 0..2 {
            let (mut sums, mut products) = (own.clone(), own.clone());
            sums.accumulate_axis_inplace(Axis(axis), |&before, sum| *sum += before);
            products.accumulate_axis_inplace(Axis(axis), |&before, product| *product *= before);
            whole_alike(&part.cumsum(axis as i32)?, &sums, 1e-12, "cumsum")?;
            whole_alike(&part.cumprod(axis as i32)?, &products, 1e-12, "cumprod")?;
            whole_alike(
                &part.over(axis as i32).median()?,
                &plainly(&own, &[axis], sorted_median),
                1e-12,
                "median",
            )?;
            let weights = part.map(|x| x * x + 1.0);
            let weighted = |x: &[f64]| {
                let all: f64 = x.iter().map(|x| x * x + 1.0).sum();
                x.iter().map(|x| x * (x * x + 1.0)).sum::<f64>() / all
            };
            if own.len_of(Axis(axis)) > 0 {
                let wanted = plainly(&own, &[axis], weighted);
                whole_alike(
                    &part.over(axis as i32).average(&weights)?,
                    &wanted,
                    1e-12,
                    "average",
                )?;
            }
        }
        let flat: Vec<f64> = own.iter().copied().collect();
        let running: Array1<f64> = flat
            .iter()
            .scan(0.0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect();
        whole_alike(
            &part.cumsum(None)?,
            &running.into_dyn(),
            1e-12,
            "flat cumsum",
        )?;
        let n = own.nrows_ncols();
        let diagonal: f64 = (0..n.0.min(n.1.saturating_sub(1)))
            .map(|i| own[[i, i + 1]])
            .sum();
        same(part.trace(1, 0, 1)?.sum()?, diagonal, "trace")?;
        let median = part.median()?;
        ensure(
            median == sorted_median(&flat) || (flat.is_empty() && median.is_nan()),
            || format!("median {median}"),
        )?;
        let (counts, edges) = part.histogram(4).range(-2.0, 2.0).count()?;
        same(edges.len(), 5, "edges")?;
        for bin in 0..4 {
            let inside = |x: &&f64| {
                **x >= edges[bin] && (**x < edges[bin + 1] || (bin == 3 && **x == edges[4]))
            };
            same(
                counts[bin],
                flat.iter().filter(inside).count() as i64,
                "histogram",
            )?;
        }
        let (pairs, ..) = part
            .histogram2d(&part, 4, 4)
            .range((-2.0, 2.0), (-2.0, 2.0))
            .count()?;
        same(
            pairs.diag().iter().map(|&n| n as i64).collect::<Vec<_>>(),
            counts.to_vec(),
            "histogram2d",
        )?;
        if n.0 > 1 && n.1 > 1 {
            let cov = super::numpy::gathered(&part.covariance().cov()?)?;
            let corr = super::numpy::gathered(&part.covariance().corrcoef()?)?;
            let row = |i: usize| {
                own.index_axis(Axis(0), i)
                    .iter()
                    .copied()
                    .collect::<Vec<f64>>()
            };
            let plain = |x: &[f64], y: &[f64]| {
                let count = x.len() as f64;
                let (p, q) = (x.iter().sum::<f64>() / count, y.iter().sum::<f64>() / count);
                x.iter().zip(y).map(|(x, y)| (x - p) * (y - q)).sum::<f64>() / (count - 1.0)
            };
            for i in 0..n.0 {
                for j in 0..n.0 {
                    let wanted = plain(&row(i), &row(j));
                    ensure((cov[[i, j]] - wanted).abs() < 1e-12, || {
                        format!("cov {} {wanted}", cov[[i, j]])
                    })?;
                    let scale = (plain(&row(i), &row(i)) * plain(&row(j), &row(j))).sqrt();
                    ensure(
                        scale == 0.0 || (corr[[i, j]] - wanted / scale).abs() < 1e-12,
                        || "corrcoef".into(),
                    )?;
                }
            }
        }
    }
    Ok(())
}

trait Extents {
    fn nrows_ncols(&self) -> (usize, usize);
}

impl Extents for ArrayD<f64> {
    fn nrows_ncols(&self) -> (usize, usize) {
        (self.shape()[0], self.shape()[1])
    }
}

fn statistics_into_what_is_there(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[12, 5], &[Kind::Bounds(3), Kind::Whole], 1, comm.size());
    let a = spread(&numbers(&[12, 5], 2), &d, comm)?;
    let mut out = LocalArray::<f32, Ix2, _>::zeros(&d, comm)?;
    a.cumsum_into(0, &mut out)?;
    whole_alike(
        &out,
        &super::numpy::gathered(&a.cumsum_as::<f32>(0)?)?,
        0.0,
        "cumsum",
    )?;
    a.cumprod_into(1, &mut out)?;
    whole_alike(
        &out,
        &super::numpy::gathered(&a.cumprod_as::<f32>(1)?)?,
        0.0,
        "cumprod",
    )?;
    let line = Distribution::over(comm.size())
        .shape([60])
        .block(0)
        .build()?;
    let mut flat = LocalArray::<f64, Ix1, _>::zeros(&line, comm)?;
    a.cumsum_into(None, &mut flat)?;
    whole_alike(
        &flat,
        &super::numpy::gathered(&a.cumsum(None)?)?,
        0.0,
        "flat cumsum",
    )?;
    let mut medians = LocalArray::<f64, Ix1, _>::zeros(&d.reduce(Some(&[0]), false)?, comm)?;
    a.over(0).median_into(&mut medians)?;
    whole_alike(
        &medians,
        &super::numpy::gathered(&a.over(0).median()?)?,
        0.0,
        "median",
    )?;
    let trace = a.trace(0, 0, 1)?;
    let mut out = LocalArray::<i32, IxDyn, _>::zeros(trace.distribution(), comm)?;
    a.trace_into(0, 0, 1, &mut out)?;
    whole_alike(
        &out,
        &super::numpy::gathered(&a.trace_as::<i32>(0, 0, 1)?)?,
        0.0,
        "trace",
    )
}

fn statistics_with_wrong_arguments(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[12, 5], &[Kind::Block, Kind::Whole], 1, comm.size());
    let a: Whole<'_, f64> = spread(&numbers(&[12, 5], 2), &d, comm)?;
    let refused = |outcome: Option<ArrayError>, name: &str| {
        ensure(matches!(outcome, Some(ArrayError::Argument { .. })), || {
            format!("{name}: {outcome:?}")
        })
    };
    let none = a.cumsum(2).err();
    ensure(
        matches!(none, Some(ArrayError::InvalidDimension { .. })),
        || format!("axis: {none:?}"),
    )?;
    refused(a.histogram(0).count().err(), "bins")?;
    refused(a.histogram([1.0, 0.0]).count().err(), "edges")?;
    refused(a.histogram(3).range(1.0, 0.0).count().err(), "range")?;
    refused(
        a.histogram(3).range(0.0, f64::INFINITY).density().err(),
        "range",
    )?;
    let odd = a.map(|&x| if x > 1.0 { f64::NAN } else { x });
    refused(odd.histogram(3).count().err(), "the range of NaN")?;
    refused(a.histogram2d(&a, 3, -1).count().err(), "bins of y")?;
    refused(a.average(&a.map(|_| 0.0)).err(), "no weight")?;
    refused(a.over(0).average(&a.map(|_| 0.0)).err(), "no weight")?;
    let few = LocalArray::<f64, Ix1, _>::ones(
        &Distribution::over(comm.size()).shape([4]).build()?,
        comm,
    )?;
    for outcome in [
        a.over(0).average(&few).err(),
        a.average(&few).map(|_| few.clone().into_dyn()).err(),
    ] {
        ensure(matches!(outcome, Some(ArrayError::Shape { .. })), || {
            format!("{outcome:?}")
        })?;
    }
    if comm.size() > 1 {
        refused(
            a.cumsum(i32::from(comm.rank() == 0)).err(),
            "different axes",
        )?;
        refused(a.histogram(3 + comm.rank()).count().err(), "different bins")?;
    }
    let three = LocalArray::<f64, IxDyn, _>::ones(
        &Distribution::over(comm.size()).shape([2, 3, 4]).build()?,
        comm,
    )?;
    for outcome in [
        three.covariance().cov().err(),
        a.covariance().with(&few).corrcoef().err(),
    ] {
        ensure(matches!(outcome, Some(ArrayError::Shape { .. })), || {
            format!("{outcome:?}")
        })?;
    }
    same(
        a.over(Axes::ALL).any()?.any()?,
        true,
        "the ranks are in step",
    )
}

fn averages_differ_between_the_ranks(comm: &dyn Communicator) -> Outcome {
    let (ranks, last) = (comm.size(), comm.rank() + 1 == comm.size());
    let line = plain::distribution(&[4], &[Kind::Block], 0, ranks);
    let one = Complex32::new(1.0, 0.0);
    let ones = LocalArray::<Complex32, Ix1, _>::full(&line, comm, one)?;
    // the square of the weight is no float
    let light = LocalArray::<f32, Ix1, _>::full(&line, comm, 2_f32.powi(-83))?;
    same(ones.average(&light)?, one, "a light weight")?;
    let sums = ones.over(0).average(&light)?;
    if sums.cart_coords().is_some() {
        same(sums.local().first(), Some(&one), "over an axis")?;
    }
    if ranks == 1 {
        return Ok(());
    }
    let d = plain::distribution(&[6, 5], &[Kind::Block, Kind::Whole], 0, ranks);
    let turned = plain::distribution(&[6, 5], &[Kind::Whole, Kind::Block], 0, ranks);
    let a = LocalArray::<f64, IxDyn, _>::ones(&d, comm)?;
    let b = LocalArray::<f64, IxDyn, _>::ones(&turned, comm)?;
    let weights = |n: u64, kind| {
        let d = plain::distribution(&[n], &[kind], 0, ranks);
        LocalArray::<f64, IxDyn, _>::ones(&d, comm)
    };
    let (rows, dealt) = (weights(6, Kind::Block)?, weights(6, Kind::Cyclic(1))?);
    let short = weights(4, Kind::Block)?;
    for (own, other) in [(&a, &b), (&rows, &dealt), (&a, &rows), (&rows, &short)] {
        let own = if last { other } else { own };
        refused_everywhere(comm, a.over(0).average(own), "weights over an axis")?;
        refused_everywhere(comm, a.average(own), "weights of all")?;
        let exact = a.reproducible().average(own);
        refused_everywhere(comm, exact, "weights of all, exactly")?;
    }
    same(a.average(&a)?, 1.0, "the ranks are in step")
}
