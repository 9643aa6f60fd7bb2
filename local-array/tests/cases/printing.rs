//! Arrays as text: `NumPy`'s, to the letter.

use dap_protocol::Element;
use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use half::{bf16, f16};
use local_array::{Cast, LocalArray, PrintOptions, Printed, get_printoptions, set_printoptions};
use ndarray::{ArrayD, Ix1, IxDyn};
use num_complex::{Complex32, Complex64};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::numpy::{Call, calls, spread};
use super::plain::{self, zoo};
use super::{Failure, Outcome, ensure, same};

cases! {
    printing_is_numpys_global,
    printing_is_numpys_local,
    printing_options_are_this_ranks,
    printing_shows_elements_once,
    printing_knows_every_type,
}

const FIXTURE: &str = include_str!("../fixtures/numpy/printing.jsonl");

fn options(call: &Call) -> PrintOptions {
    let number = |name: &str, default: usize| {
        call.args
            .get(name)
            .and_then(Value::as_u64)
            .map_or(default, |n| n as usize)
    };
    PrintOptions {
        precision: number("precision", 8),
        threshold: number("threshold", 1000),
        edgeitems: number("edgeitems", 3),
        linewidth: number("linewidth", 75),
        suppress: call
            .args
            .get("suppress")
            .and_then(Value::as_bool)
            .unwrap_or(false),
    }
}

/// The array of a call: the one that it has, or a ramp.
fn array<T: Printed>(call: &Call) -> Result<ArrayD<T>, Failure>
where
    f64: Cast<T>,
{
    if let Some(input) = call.inputs.first() {
        return input.array();
    }
    let extents = call.args["shape"].as_array().ok_or("shape")?.iter();
    let shape: Vec<usize> = extents
        .filter_map(|n| n.as_u64().map(|n| n as usize))
        .collect();
    let scale = call.args["scale"].as_f64().ok_or("scale")?;
    let count = shape.iter().product::<usize>();
    let elements = (0..count).map(|i| (i as f64 * scale).cast());
    Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements.collect())?)
}

fn call_global<T: Printed>(call: &Call, number: usize, comm: &dyn Communicator) -> Outcome
where
    f64: Cast<T>,
{
    let array = array::<T>(call)?;
    let text = call.args["text"].as_str().ok_or("text")?;
    let shape: Vec<u64> = array.shape().iter().map(|&n| n as u64).collect();
    let all = zoo(&shape, comm.size());
    // one way to spread it for each call, by turns
    let d = &all[number % all.len()];
    let found = spread(&array, d, comm)?.distarray2string_with(&options(call))?;
    same(
        found.as_str(),
        text,
        &format!("{:?} of {}", call.args, T::TYPE),
    )
}

fn call_local<T: Printed>(call: &Call, _: usize, comm: &dyn Communicator) -> Outcome
where
    f64: Cast<T>,
{
    let array = array::<T>(call)?;
    let shape: Vec<u64> = array.shape().iter().map(|&n| n as u64).collect();
    // all of it on the last rank, whose part it is
    let last = comm.size() - 1;
    let whole = Distribution::over(comm.size())
        .shape(shape)
        .targets([last])
        .build()?;
    let a = spread(&array, &whole, comm)?;
    if comm.rank() != last {
        return Ok(());
    }
    let before = get_printoptions();
    set_printoptions(options(call));
    let found = a.part()?.distarray2string();
    set_printoptions(before);
    same(
        found?.as_str(),
        call.args["text"].as_str().ok_or("text")?,
        &format!("{:?}", call.args),
    )
}

type Check<'a> = &'a dyn Communicator;

macro_rules! for_calls {
    ($check:ident, $comm:expr; $($t:ty),*) => {{
        let calls = calls(FIXTURE)?;
        ensure(calls.len() > 800, || format!("only {} texts", calls.len()))?;
        for (number, call) in calls.iter().enumerate().filter(|(_, call)| call.op != "halves") {
            // a third of the calls for each number of ranks, so that three numbers see all
            if !(number + $comm.size()).is_multiple_of(3) {
                continue;
            }
            let dtype = call.inputs.first().map(|input| input.dtype.as_str());
            let dtype = dtype.or(call.args.get("dtype").and_then(Value::as_str)).ok_or("dtype")?;
            let code = dtype.trim_start_matches(['<', '|']);
            let mut outcome = Err(Failure::from("a type that the test does not know"));
            $(if <$t as Element>::TYPE.numpy_code() == Some(code) {
                outcome = $check::<$t>(call, number, $comm);
            })*
            outcome?;
        }
        Ok(())
    }};
}

fn printing_is_numpys_global(comm: Check<'_>) -> Outcome {
    for_calls!(call_global, comm; bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64)
}

fn printing_is_numpys_local(comm: Check<'_>) -> Outcome {
    for_calls!(call_local, comm; bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64)
}

fn printing_options_are_this_ranks(comm: &dyn Communicator) -> Outcome {
    let before = get_printoptions();
    same(before, PrintOptions::default(), "at first")?;
    let a = LocalArray::<f64, Ix1, _>::linspace(0.0, 2.0, 4, true, "b", comm)?;
    let long = "[0.         0.66666667 1.33333333 2.        ]";
    same(a.distarray2string()?.as_str(), long, "by default")?;
    // rank 0's count, whatever the others have
    set_printoptions(PrintOptions {
        precision: if comm.rank() == 0 { 2 } else { 5 },
        ..before
    });
    let found = a.distarray2string();
    // on a part its own
    let alone = LocalArray::<f64, Ix1, _>::linspace(0.0, 2.0, 4, true, "n", SingleComm::new())?;
    let of_part = alone.part()?.distarray2string();
    set_printoptions(before);
    let wanted = if comm.rank() == 0 {
        "[0.   0.67 1.33 2.  ]"
    } else {
        "[0.      0.66667 1.33333 2.     ]"
    };
    same(of_part?.as_str(), wanted, "of a part")?;
    same(
        found?.as_str(),
        "[0.   0.67 1.33 2.  ]",
        "with fewer digits",
    )?;
    same(a.distarray2string()?.as_str(), long, "as before")
}

fn printing_shows_elements_once(comm: &dyn Communicator) -> Outcome {
    // an index on every rank, with values of the rank: the first one's are shown
    let lists = vec![vec![2_i64, 0, 1]; comm.size()];
    let d = Distribution::over(comm.size())
        .shape([3])
        .unstructured(0, lists)
        .build()?;
    let rank = comm.rank() as i64;
    let a = LocalArray::<i64, Ix1, _>::from_fn(&d, comm, |g| g[0] + 10 * rank)?;
    same(
        a.distarray2string()?.as_str(),
        "[0 1 2]",
        "repeated indices",
    )?;
    // padding is nothing that is shown
    let d = plain::distribution(&[8], &[plain::Kind::Block], 2, comm.size());
    let mut a = LocalArray::<i64, Ix1, _>::full(&d, comm, 99)?;
    a.owned_mut().fill(rank);
    let text = a.distarray2string()?;
    ensure(!text.contains("99"), || text.clone())?;
    // without edges the last one of each dimension is left
    let a = LocalArray::<i64, Ix1, _>::arange(0, 30, 1, "c", comm)?;
    let bare = PrintOptions {
        threshold: 5,
        edgeitems: 0,
        ..PrintOptions::default()
    };
    same(
        a.distarray2string_with(&bare)?.as_str(),
        "[... 29]",
        "no edges",
    )
}

fn printing_knows_every_type(comm: &dyn Communicator) -> Outcome {
    // NumPy has no bf16: the shortest digits that tell it from its neighbours
    let values = [0.1, 1.0, 2.75, -2.5].map(bf16::from_f64);
    let d = Distribution::from_shape(&[4], "b", None, comm.size())?;
    let a = LocalArray::<bf16, Ix1, _>::from_fn(&d, comm, |g| values[g[0] as usize])?;
    same(
        a.distarray2string()?.as_str(),
        "[ 0.1   1.    2.75 -2.5 ]",
        "bf16",
    )?;
    // half floats of every size have NumPy's digits
    if comm.size() > 1 {
        return Ok(());
    }
    let d = Distribution::over(1).shape([]).build()?;
    for call in calls(FIXTURE)?.iter().filter(|call| call.op == "halves") {
        let options = options(call);
        let line = |bits| {
            LocalArray::<f16, IxDyn, _>::full(&d, comm, f16::from_bits(bits))?
                .distarray2string_with(&options)
        };
        let lines = (0..0x7c00)
            .step_by(5)
            .map(line)
            .collect::<Result<Vec<_>, _>>()?;
        let digest = Sha256::digest(lines.join("\n").as_bytes());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        same(
            Some(digest.as_str()),
            call.args["sha256"].as_str(),
            &format!("{options:?}"),
        )?;
    }
    Ok(())
}
