//! What all operations stand on: casts, this rank's part, the number of dimensions.

use dap_protocol::Element;
use dist_comm::Communicator;
use half::f16;
use local_array::{ArrayError, Cast, LocalArray};
use ndarray::{Dimension, Ix1, Ix2, IxDyn};
use num_complex::{Complex32, Complex64};

use super::numpy::{Call, Close, alike, calls, shape_of, spread, whole_alike};
use super::plain::{self, SHAPES, cells, zoo};
use super::{Failure, Outcome, ensure, same};

cases! {
    casts_are_numpys,
    a_part_is_what_the_rank_owns,
    dimensions_are_checked,
    spreading_and_gathering_are_inverse,
}

const FIXTURE: &str = include_str!("../fixtures/numpy/foundation.jsonl");

fn cast_call<T: Close + Cast<U>, U: Close>(call: &Call) -> Outcome {
    ensure(call.op == "astype" && call.args.is_empty(), || {
        format!("{call:?}")
    })?;
    let input = call.inputs[0].array::<T>()?;
    let what = format!("{} to {}", T::TYPE, U::TYPE);
    alike(
        &input.mapv(Cast::<U>::cast),
        &call.outputs[0].array::<U>()?,
        0.0,
        &what,
    )
}

/// Casts between the types that a fixture names.
macro_rules! for_types {
    ($call:expr, $($t:ty),*) => {{
        let call = $call;
        let mut outcome = Err(Failure::from("a type that the test does not know"));
        $(if is_dtype::<$t>(&call.inputs[0].dtype) {
            outcome = for_types!(@ call, $t; bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64);
        })*
        outcome
    }};
    (@ $call:expr, $t:ty; $($u:ty),*) => {{
        let mut outcome = Err(Failure::from("a type that the test does not know"));
        $(if is_dtype::<$u>(&$call.outputs[0].dtype) {
            outcome = cast_call::<$t, $u>($call);
        })*
        outcome
    }};
}

fn is_dtype<T: Element>(dtype: &str) -> bool {
    T::TYPE.numpy_code() == Some(dtype.trim_start_matches(['<', '|']))
}

fn casts_are_numpys(_: &dyn Communicator) -> Outcome {
    let calls = calls(FIXTURE)?;
    ensure(calls.len() > 180, || format!("only {} casts", calls.len()))?;
    for call in calls {
        for_types!(
            call, bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
        )?;
    }
    Ok(())
}

fn a_part_is_what_the_rank_owns(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for distribution in zoo(shape, comm.size()) {
            let a = LocalArray::<i64, IxDyn, _>::from_fn(&distribution, comm, |g| {
                plain::flat(shape, g)
            })?;
            let part = a.part()?;
            same(part.comm_size(), 1, "ranks of a part")?;
            same(part.local(), a.owned(), "elements of a part")?;
            if distribution.coords(comm.rank()).is_some() {
                let owned = cells(&distribution, comm.rank())
                    .into_iter()
                    .filter(|(_, owned)| *owned);
                let sum: i64 = owned.map(|(index, _)| plain::flat(shape, &index)).sum();
                same(part.sum()?, sum, "sum of a part")?;
            }
        }
    }
    Ok(())
}

fn dimensions_are_checked(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[6], &[plain::Kind::Block], 1, comm.size());
    let a = LocalArray::<u8, IxDyn, _>::zeros(&d, comm)?;
    let wrong = a.clone().into_dimensionality::<Ix2>().err();
    let expected = ArrayError::InvalidDimension {
        what: "number of dimensions",
        given: 2,
        ndim: 1,
    };
    same(wrong, Some(expected), "two of one")?;
    let narrow = a.clone().into_dimensionality::<Ix1>()?;
    same(narrow.into_dyn().local(), a.local(), "there and back")
}

fn spreading_and_gathering_are_inverse(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        let extents: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let whole = ndarray::Array::from_shape_fn(IxDyn(&extents), |at| {
            at.slice().iter().fold(1.5, |x, &i| x * 10.0 + i as f64)
        });
        for distribution in zoo(&shape_of(&whole), comm.size()) {
            let found = spread(&whole, &distribution, comm)?;
            whole_alike(&found, &whole, 0.0, "whole")?;
        }
    }
    Ok(())
}
