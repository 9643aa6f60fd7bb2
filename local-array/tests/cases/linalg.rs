//! Products over all ranks against NumPy's, on whole arrays and on each rank's part.

use std::sync::LazyLock;

use dist_comm::Communicator;
use dist_maps::{Distribution, Index};
use half::f16;
use local_array::{
    Arithmetic, ArrayError, CrossAxes, Dot, LocalArray, MatMul, SlidingMode, convolve, correlate,
    cross, dot, inner, outer, tensordot, vdot,
};
use ndarray::{ArrayD, Ix1, Ix2, IxDyn};
use num_complex::{Complex32, Complex64};

use super::numpy::{Call, Close, Whole, alike, spread, whole_alike};
use super::plain::{self, Kind, some, zoo};
use super::support::place::Place;
use super::support::schedule::LINALG;
use super::{Outcome, ensure, same};

cases! {
    products_are_numpys,
    products_of_vectors_are_numbers,
    products_of_parts_are_local,
    large_products_equal_plain_ones,
    products_of_sums_have_fixed_bits,
    shapes_that_do_not_fit_are_refused_everywhere,
    arguments_that_differ_are_refused_everywhere,
    products_are_spread_over_all_ranks,
    sliding_and_crossing_parts_is_local,
    long_filters_come_in_panels,
}

/// The product that a call asks for.
fn product<'a, T: MatMul + Close>(
    call: &Call,
    a: &Whole<'a, T>,
    b: &Whole<'a, T>,
) -> Result<Whole<'a, T>, super::Failure> {
    let lists = |value: &serde_json::Value| -> Option<[Vec<i32>; 2]> {
        let list = |i: usize| {
            value[i]
                .as_array()?
                .iter()
                .map(|n| i32::try_from(n.as_i64()?).ok())
                .collect::<Option<Vec<i32>>>()
        };
        Some([list(0)?, list(1)?])
    };
    Ok(match call.op.as_str() {
        "dot" => dot(a, b)?,
        "inner" => inner(a, b)?,
        "outer" => outer(a, b)?.into_dyn(),
        "vdot" => {
            let value = vdot(a, b)?;
            let whole = plain::distribution(&[], &[], 0, a.comm_size());
            LocalArray::full(&whole, *a.comm(), value)?
        }
        "tensordot" => match (call.args["axes"].as_i64(), lists(&call.args["axes"])) {
            (Some(count), _) => tensordot(a, b, i32::try_from(count)?)?,
            (None, Some([first, second])) => {
                tensordot(a, b, (first.as_slice(), second.as_slice()))?
            }
            (None, None) => return Err("axes".into()),
        },
        "convolve" | "correlate" => {
            let mode = match call.args["mode"].as_str() {
                Some("full") => SlidingMode::Full,
                Some("same") => SlidingMode::Same,
                _ => SlidingMode::Valid,
            };
            let (a, b) = (
                a.view().into_dimensionality::<Ix1>()?,
                b.view().into_dimensionality::<Ix1>()?,
            );
            let slid = if call.op == "convolve" {
                convolve(&a, &b, mode)?
            } else {
                correlate(&a, &b, mode)?
            };
            LocalArray::from_array(
                slid.local().to_owned().into_dyn(),
                slid.distribution(),
                **slid.comm(),
            )?
        }
        other => return Err(format!("an operation that the test does not know: {other}").into()),
    })
}

fn cross_of<T: Arithmetic + Close>(call: &Call, number: usize, place: Place<'_>) -> Outcome {
    let axis = |name: &str| {
        call.args
            .get(name)
            .and_then(serde_json::Value::as_i64)
            .map(i32::try_from)
            .transpose()
    };
    let axes = match axis("axis")? {
        Some(axis) => CrossAxes::from(axis),
        None => CrossAxes {
            axisa: axis("axisa")?.unwrap_or(-1),
            axisb: axis("axisb")?.unwrap_or(-1),
            axisc: axis("axisc")?.unwrap_or(-1),
        },
    };
    let (a, b) = (call.inputs[0].array::<T>()?, call.inputs[1].array::<T>()?);
    let what = format!("cross of {:?} and {:?}, {axes:?}", a.shape(), b.shape());
    for turn in [number, number + 3] {
        let (a, b) = (place.array(&a, turn, 0)?, place.array(&b, turn, 1)?);
        let found = cross(&a, &b, axes)?;
        whole_alike(&found, &call.outputs[0].array::<T>()?, 0.0, &what)?;
    }
    Ok(())
}

fn check<T: MatMul + Close>(call: &Call, number: usize, place: Place<'_>) -> Outcome {
    let (a, b) = (call.inputs[0].array::<T>()?, call.inputs[1].array::<T>()?);
    let wanted = call.outputs[0].array::<T>()?;
    let what = format!(
        "{} of {:?} and {:?} of {}",
        call.op,
        a.shape(),
        b.shape(),
        T::TYPE
    );
    // Each call with another pair of distributions.
    let (a, b) = (place.array(&a, number, 0)?, place.array(&b, number, 1)?);
    whole_alike(&product(call, &a, &b)?, &wanted, 0.0, &what)
}

/// Calls `$f::<T>` for the type of the first input.
macro_rules! by_type {
    ($call:expr, $f:ident($($arg:expr),*)) => {
        match $call.inputs[0].dtype.trim_start_matches(['<', '|']) {
            "b1" => $f::<bool>($($arg),*),
            "i1" => $f::<i8>($($arg),*),
            "i4" => $f::<i32>($($arg),*),
            "i8" => $f::<i64>($($arg),*),
            "u1" => $f::<u8>($($arg),*),
            "u8" => $f::<u64>($($arg),*),
            "f2" => $f::<f16>($($arg),*),
            "f4" => $f::<f32>($($arg),*),
            "f8" => $f::<f64>($($arg),*),
            "c8" => $f::<Complex32>($($arg),*),
            "c16" => $f::<Complex64>($($arg),*),
            other => Err(format!("a type that the test does not know: {other}").into()),
        }
    };
}

/// Compares a call of the fixture with what comes out here.
pub fn check_call(call: &Call, number: usize, place: Place<'_>) -> Outcome {
    if call.op != "cross" {
        return by_type!(call, check(call, number, place));
    }
    match call.inputs[0].dtype.as_str() {
        "<f8" => cross_of::<f64>(call, number, place),
        "<i8" => cross_of::<i64>(call, number, place),
        "<c16" => cross_of::<Complex64>(call, number, place),
        other => Err(format!("a type that the test does not know: {other}").into()),
    }
}

fn products_are_numpys(comm: &dyn Communicator) -> Outcome {
    for (number, call) in LINALG.due_of(|_| true, 200, comm.size())? {
        check_call(call, number, Place::Ranks(comm))?;
    }
    Ok(())
}

fn numbered(shape: &[usize], step: f64) -> ArrayD<f64> {
    let mut next = 0.0;
    ArrayD::from_shape_simple_fn(IxDyn(shape), || {
        next = (next + step) % 7.0;
        next - 3.0
    })
}

fn products_of_vectors_are_numbers(comm: &dyn Communicator) -> Outcome {
    let (a, b) = (numbered(&[23], 2.0), numbered(&[23], 3.0));
    let wanted: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
    for (salt, left) in zoo(&[23], comm.size()).into_iter().enumerate() {
        for right in some(&[23], comm.size(), salt, 2) {
            let a = spread(&a, &left, comm)?.into_dimensionality::<Ix1>()?;
            let b = spread(&b, &right, comm)?.into_dimensionality::<Ix1>()?;
            same(a.dot(&b)?, wanted, "dot")?;
            same(vdot(&a, &b)?, wanted, "vdot")?;
        }
    }
    let matrix = numbered(&[5, 23], 5.0).into_dimensionality::<Ix2>()?;
    let rows = matrix
        .dot(&b.clone().into_dimensionality::<Ix1>()?)
        .into_dyn();
    let few = numbered(&[5], 3.0);
    let columns = few.clone().into_dimensionality::<Ix1>()?.dot(&matrix);
    let columns = columns.into_dyn();
    for left in some(&[5, 23], comm.size(), 0, 3) {
        let m = spread(&matrix.clone().into_dyn(), &left, comm)?.into_dimensionality::<Ix2>()?;
        let v = spread(&b, &zoo(&[23], comm.size())[2], comm)?.into_dimensionality::<Ix1>()?;
        let product = m.dot(&v)?;
        whole_alike(&product, &rows, 0.0, "matrix and vector")?;
        let kept = m.distribution().reduce(Some(&[1]), false)?;
        ensure(product.distribution().is_compatible(&kept), || {
            format!("the rows of {left:?} as {:?}", product.distribution())
        })?;
        let u = spread(&few, &zoo(&[5], comm.size())[4], comm)?.into_dimensionality::<Ix1>()?;
        whole_alike(&u.dot(&m)?, &columns, 0.0, "vector times matrix")?;
        let (u, m) = (u.view().into_dyn(), m.view().into_dyn());
        whole_alike(&dot(&u, &m)?, &columns, 0.0, "vector times matrix, IxDyn")?;
        whole_alike(
            &inner(&v.view().into_dyn(), &m)?,
            &rows,
            0.0,
            "vector and matrix",
        )?;
    }
    Ok(())
}

fn products_of_parts_are_local(comm: &dyn Communicator) -> Outcome {
    for distribution in some(&[9, 9], comm.size(), 0, 3) {
        let a =
            spread(&numbered(&[9, 9], 3.0), &distribution, comm)?.into_dimensionality::<Ix2>()?;
        let (part, transposed) = (a.part()?, a.owned().reversed_axes());
        let wanted = a.owned().dot(&transposed);
        let shape = dist_maps::Distribution::over(1)
            .shape([transposed.nrows() as u64, transposed.ncols() as u64])
            .build()?;
        let other =
            LocalArray::from_array(transposed.to_owned(), &shape, dist_comm::SingleComm::new())?;
        // the ranks need not be in step: nobody waits for another
        let product = tensordot(&part, &part, (1, 1))?;
        alike(
            &product.local().to_owned(),
            &wanted.clone().into_dyn(),
            0.0,
            "tensordot of a part",
        )?;
        let product = part.dot(&other)?;
        alike(
            &product.local().to_owned().into_dyn(),
            &wanted.into_dyn(),
            0.0,
            "dot of a part",
        )?;
        let squares: f64 = a.owned().iter().map(|x| x * x).sum();
        same(vdot(&part, &part)?, squares, "vdot of a part")?;
        same(
            inner(&part, &part)?.global_shape(),
            [transposed.ncols() as u64; 2].as_slice(),
            "inner of a part",
        )?;
        let count = a.owned().len() as u64;
        same(
            outer(&part, &part)?.global_shape(),
            [count; 2].as_slice(),
            "outer of a part",
        )?;
    }
    Ok(())
}

/// More than one panel, and extents that no grid divides.
fn large_products_equal_plain_ones(comm: &dyn Communicator) -> Outcome {
    let (a, b) = (numbered(&[37, 1100], 2.0), numbered(&[1100, 29], 3.0));
    let (x, y) = (
        a.clone().into_dimensionality::<Ix2>()?,
        b.clone().into_dimensionality::<Ix2>()?,
    );
    let wanted = x.dot(&y).into_dyn();
    let kinds = [
        [Kind::Block, Kind::Block],
        [Kind::Whole, Kind::Cyclic(3)],
        [Kind::List(4), Kind::Balanced],
    ];
    for (n, left) in kinds.into_iter().enumerate() {
        // Each pair at some numbers of ranks.
        let right = kinds[(n + comm.size()) % 3];
        let left = plain::distribution(&[37, 1100], &left, 1, comm.size());
        let right = plain::distribution(&[1100, 29], &right, 0, comm.size());
        whole_alike(
            &dot(&spread(&a, &left, comm)?, &spread(&b, &right, comm)?)?,
            &wanted,
            0.0,
            "large",
        )?;
    }
    Ok(())
}

fn products_of_sums_have_fixed_bits(comm: &dyn Communicator) -> Outcome {
    let a = numbered(&[2000], 2.0).mapv(|x| 1.0 / (x + 0.3));
    for distribution in some(&[2000], comm.size(), 0, 2) {
        let a = spread(&a, &distribution, comm)?.into_dimensionality::<Ix1>()?;
        let first: f64 = a.dot(&a)?;
        same(first.to_bits(), a.dot(&a)?.to_bits(), "twice")?;
    }
    Ok(())
}

fn shapes_that_do_not_fit_are_refused_everywhere(comm: &dyn Communicator) -> Outcome {
    let array = |shape: &[usize]| {
        let d = plain::distribution(
            &shape.iter().map(|&n| n as u64).collect::<Vec<_>>(),
            &vec![Kind::Block; shape.len()],
            0,
            comm.size(),
        );
        spread(&numbered(shape, 1.0), &d, comm)
    };
    let (a, b) = (array(&[3, 4])?, array(&[3, 5])?);
    let refused = |outcome: Result<Whole<'_, f64>, ArrayError>| {
        let error = outcome.err();
        ensure(
            matches!(
                error,
                Some(
                    ArrayError::Shape { .. }
                        | ArrayError::Argument { .. }
                        | ArrayError::InvalidDimension { .. }
                )
            ),
            || format!("{error:?}"),
        )
    };
    refused(dot(&a, &b))?;
    refused(inner(&a, &b))?;
    refused(tensordot(&a, &b, 1))?;
    refused(tensordot(&a, &b, (2, 0)))?;
    refused(tensordot(&a, &b, ([0, 0], [0, 0])))?;
    refused(tensordot(&a, &b, (&[0][..], &[][..])))?;
    ensure(
        matches!(vdot(&a, &b), Err(ArrayError::Shape { .. })),
        || "vdot".into(),
    )?;
    let (m, v) = (
        a.view().into_dyn().into_dimensionality::<Ix2>()?,
        array(&[5])?,
    );
    let v = v.view().into_dimensionality::<Ix1>()?;
    ensure(matches!(m.dot(&v), Err(ArrayError::Shape { .. })), || {
        "matrix and vector".into()
    })?;
    ensure(matches!(v.dot(&m), Err(ArrayError::Shape { .. })), || {
        "vector and matrix".into()
    })
}

/// A result with a short first dimension is not on one rank.
fn products_are_spread_over_all_ranks(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    let a = spread(&numbered(&[1, 3], 1.0), &zoo(&[1, 3], ranks)[0], comm)?;
    let b = spread(
        &numbered(&[3, 4, 50], 1.0),
        &zoo(&[3, 4, 50], ranks)[0],
        comm,
    )?;
    let product = tensordot(&a, &b, 1)?;
    same(product.global_shape(), [1, 4, 50].as_slice(), "shape")?;
    let mine = product.local_size();
    ensure(mine <= 2 * 200 / ranks, || {
        format!("{mine} of 200 elements on one of {ranks} ranks")
    })
}

/// One typed error on all ranks, where each would go its own way.
fn arguments_that_differ_are_refused_everywhere(comm: &dyn Communicator) -> Outcome {
    if comm.size() == 1 {
        return Ok(());
    }
    let odd = comm.rank() == 1;
    let (d, e) = (zoo(&[3, 3], comm.size()), zoo(&[7], comm.size()));
    let a = spread(&numbered(&[3, 3], 1.0), &d[0], comm)?;
    let v = spread(&numbered(&[7], 1.0), &e[0], comm)?.into_dimensionality::<Ix1>()?;
    let refused = |error: Option<ArrayError>, wanted: [&str; 3]| {
        let text = format!("{error:?}");
        let all = comm.all_gather_v(text.as_bytes())?;
        let is_typed = match &error {
            Some(ArrayError::Argument {
                what,
                given,
                allowed,
            }) => *what == wanted[0] && given.contains(wanted[1]) && allowed.contains(wanted[2]),
            _ => false,
        };
        ensure(is_typed && all.iter().all(|other| *other == all[0]), || {
            text
        })
    };
    let axes = if odd { (0, 1) } else { (1, 0) };
    refused(tensordot(&a, &a, axes).err(), ["axes", "[0]", "[1]"])?;
    let count = i32::from(odd);
    refused(tensordot(&a, &a, count).err(), ["axes", "[-1]", "[]"])?;
    let axis = CrossAxes::from(-i32::from(odd));
    refused(cross(&a, &a, axis).err(), ["axes", "-1", "axisc: 0"])?;
    let mode = if odd {
        SlidingMode::Full
    } else {
        SlidingMode::Same
    };
    refused(convolve(&v, &v, mode).err(), ["mode", "Full", "Same"])?;
    refused(correlate(&v, &v, mode).err(), ["mode", "Full", "Same"])?;
    // a second factor that lies otherwise on one rank
    let lies = |shape: &[u64]| {
        let over = Distribution::over(comm.size()).shape(shape.to_vec());
        let builder = if odd { over.cyclic(0) } else { over.block(0) };
        LocalArray::<f64, IxDyn, _>::zeros(&builder.build()?, comm)
    };
    let w = lies(&[7])?.into_dimensionality::<Ix1>()?;
    let b = lies(&[3, 3])?;
    let n = b.view().into_dyn().into_dimensionality::<Ix2>()?;
    let m = a.view().into_dyn().into_dimensionality::<Ix2>()?;
    let differ = ["factors", "cyclic", "block"];
    refused(v.dot(&w).err(), differ)?;
    refused(vdot(&v, &w).err(), differ)?;
    refused(outer(&v, &w).err(), differ)?;
    refused(m.dot(&n).err(), differ)?;
    refused(v.reproducible().dot(&w).err(), differ)?;
    refused(v.reproducible().vdot(&w).err(), differ)?;
    refused(m.reproducible().dot(&n).err(), differ)?;
    refused(tensordot(&a, &b, 1).err(), ["axes", "cyclic", "block"])?;
    refused(cross(&a, &b, -1).err(), ["axes", "cyclic", "block"])?;
    refused(
        convolve(&v, &w, SlidingMode::Full).err(),
        ["mode", "cyclic", "block"],
    )?;
    let both = a.covariance().with(&b).cov().err();
    refused(both, ["covariance", "cyclic", "block"])?;
    let mut out = lies(&[3, 3])?;
    refused(a.cumsum_into(0, &mut out).err(), ["out", "cyclic", "block"])?;
    let mut target = lies(&[7])?.into_dimensionality::<Ix1>()?;
    let all: [Index; 1] = [(..).into()];
    refused(
        target.set_slice(&all, &v).err(),
        ["items", "cyclic", "block"],
    )?;
    // The ranks are still in step.
    same(vdot(&v, &v)?, v.dot(&v)?, "vdot")
}

fn sliding_and_crossing_parts_is_local(comm: &dyn Communicator) -> Outcome {
    for distribution in some(&[40], comm.size(), 0, 3) {
        let a = spread(&numbered(&[40], 2.0), &distribution, comm)?.into_dimensionality::<Ix1>()?;
        let own: Vec<f64> = a.owned().to_vec();
        let part = a.part()?;
        if own.is_empty() {
            ensure(
                matches!(
                    convolve(&part, &part, SlidingMode::Full),
                    Err(ArrayError::Empty { .. })
                ),
                || "empty".into(),
            )?;
            continue;
        }
        let slid = correlate(&part, &part, SlidingMode::Full)?;
        let lag = |k: usize| -> f64 { own.iter().zip(&own[k..]).map(|(x, y)| x * y).sum() };
        let wanted: Vec<f64> = (1..own.len()).rev().chain(0..own.len()).map(lag).collect();
        same(slid.local().to_vec(), wanted, "correlate of a part")?;
    }
    for distribution in some(&[9, 3], comm.size(), 0, 3) {
        let a = spread(&numbered(&[9, 3], 2.0), &distribution, comm)?;
        let part = a.part()?;
        match (
            part.global_shape()[1],
            cross(&part, &part, CrossAxes::default()),
        ) {
            (3, Ok(zeros)) => ensure(zeros.local().iter().all(|&x| x == 0.0), || {
                "cross of a part".into()
            })?,
            (2, Ok(zeros)) => same(zeros.ndim(), 1, "cross of a part of two components")?,
            (_, Err(ArrayError::Shape { .. })) => {}
            (_, other) => return Err(format!("cross of a part: {other:?}").into()),
        }
    }
    Ok(())
}

/// More weights than a panel has, and more than the blocks of the result have elements.
fn long_filters_come_in_panels(comm: &dyn Communicator) -> Outcome {
    let (x, y) = (numbered(&[9500], 2.0), numbered(&[9000], 3.0));
    let (d, e) = (zoo(&[9500], comm.size()), zoo(&[9000], comm.size()));
    let (p, q) = (
        spread(&x, &d[3], comm)?.into_dimensionality::<Ix1>()?,
        spread(&y, &e[2], comm)?.into_dimensionality::<Ix1>()?,
    );
    // Once for all ranks: millions of products.
    static WANTED: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let (x, y) = (numbered(&[9500], 2.0), numbered(&[9000], 3.0));
        let x: Vec<f64> = x.into_iter().collect();
        let mut y: Vec<f64> = y.into_iter().collect();
        y.reverse();
        let sum = |window: &[f64]| window.iter().zip(&y).map(|(x, y)| x * y).sum();
        x.windows(9000).map(sum).collect()
    });
    let wanted = ndarray::Array::from_vec(WANTED.clone()).into_dyn();
    whole_alike(
        &convolve(&q, &p, SlidingMode::Valid)?,
        &wanted,
        0.0,
        "long filters",
    )
}
