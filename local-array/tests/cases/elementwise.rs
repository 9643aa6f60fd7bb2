//! Universal functions and what is built like them, against `NumPy`'s answers and plain loops.

use bytemuck::bytes_of;
use dap_protocol::Element;
use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use half::f16;
use local_array::ufunc::{self, BinaryOperation, Promote, UnaryOperation};
use local_array::{
    ArrayError, Axes, Cast, Equalised, IndexMode, LocalArray, Operand, Ordered, Rounding,
    Tolerance, equalise, where_,
};
use ndarray::{ArrayD, ArrayViewD, Ix1, Ix2, IxDyn, ShapeBuilder};
use num_complex::{Complex32, Complex64};

use super::numpy::{Call, Close, Encoded, Whole, calls, gathered, shape_of, spread, whole_alike};
use super::plain::{self, Kind, SHAPES, zoo};
use super::{Failure, Outcome, ensure, refused_everywhere, same};

cases! {
    elementwise_unary_operations_are_numpys,
    elementwise_binary_operations_are_numpys,
    elementwise_mixed_types_are_numpys,
    elementwise_named_methods_are_their_operations,
    elementwise_broadcasting_is_numpys,
    elementwise_broadcasting_needs_what_it_repeats,
    elementwise_equalised_operands_are_brought_together,
    elementwise_outputs_and_masks,
    elementwise_operators_in_place_and_from_either_side,
    elementwise_clip_and_round,
    elementwise_choose_where_and_putmask,
    elementwise_closeness,
    elementwise_closeness_of_scalars,
    elementwise_choices_differ,
    elementwise_quotients_of_large_complex_numbers,
    elementwise_astype_copy_and_fill,
    elementwise_views_as_another_type,
}

const FIXTURE: &str = include_str!("../fixtures/numpy/elementwise.jsonl");

fn chosen(test: impl Fn(&Call) -> bool) -> Result<Vec<&'static Call>, Failure> {
    let found: Vec<&Call> = calls(FIXTURE)?.iter().filter(|call| test(call)).collect();
    ensure(!found.is_empty(), || "no call in the fixture".into())?;
    Ok(found)
}

/// Fails with all that failed, so that one look shows it.
fn none_failed(failed: &[String]) -> Outcome {
    ensure(failed.is_empty(), || {
        format!("{} failed: {}", failed.len(), failed.join("; "))
    })
}

fn is_mixed(call: &Call) -> bool {
    call.args.contains_key("mixed")
}

fn is_of<T: Element>(encoded: &Encoded) -> bool {
    T::TYPE.numpy_code() == Some(encoded.dtype.trim_start_matches(['<', '|']))
}

/// One of the distributions of a shape, another one each time, and for each number of ranks.
fn some_distribution(shape: &[u64], ranks: usize, n: usize) -> Distribution {
    let mut all = zoo(shape, ranks);
    all.swap_remove((n + 3 * ranks) % all.len())
}

/// Some of the distributions of a shape, other ones for each number of ranks and for another `salt`.
fn few(shape: &[u64], ranks: usize, salt: usize) -> Vec<Distribution> {
    let all = zoo(shape, ranks);
    plain::turns(all.len(), ranks, salt)
        .map(|n| all[n].clone())
        .collect()
}

/// How exactly an operation is compared: bit by bit, or relative to the wanted value, of which tiny ones count as 1e-30.
#[derive(Clone, Copy)]
enum Exact {
    Bits,
    Relative,
}

fn tolerance<T: Element>() -> f64 {
    match size_of::<T>() {
        2 => 2e-3,
        4 => 2e-6,
        8 if T::TYPE == dap_protocol::ElementType::Complex32 => 2e-6,
        _ => 4e-14,
    }
}

/// Whether a value is the wanted one. NaN is NaN, and beside a NaN the sign of an infinity or zero is open, as in C.
fn agrees<T: Close + Cast<Complex64>>(found: T, wanted: T, exact: Exact) -> bool {
    if bytes_of(&found) == bytes_of(&wanted) {
        return true;
    }
    let (x, y): (Complex64, Complex64) = (found.cast(), wanted.cast());
    let nan = y.re.is_nan() || y.im.is_nan();
    let finite = x.re.is_finite() && x.im.is_finite() && y.re.is_finite() && y.im.is_finite();
    let part = |x: f64, y: f64| {
        (x.is_nan() && y.is_nan())
            || x == y && (nan || x.is_sign_negative() == y.is_sign_negative())
    };
    match exact {
        Exact::Bits => nan && part(x.re, y.re) && part(x.im, y.im),
        Exact::Relative if finite => (x - y).norm() <= tolerance::<T>() * y.norm() + 1e-30,
        Exact::Relative => {
            let near = |x: f64, y: f64| {
                (x.is_nan() && y.is_nan())
                    || x == y
                    || (x - y).abs() <= tolerance::<T>() * y.abs() && y.is_finite()
                    || (nan && x.abs() == y.abs())
            };
            near(x.re, y.re) && near(x.im, y.im)
        }
    }
}

fn all_agree<T: Close + Cast<Complex64>>(found: &ArrayD<T>, call: &Call, exact: Exact) -> Outcome {
    let wanted = call.outputs[0].array::<T>()?;
    same(found.shape(), wanted.shape(), &call.op)?;
    for (at, (&x, &y)) in found.iter().zip(&wanted).enumerate() {
        ensure(agrees(x, y, exact), || {
            let inputs: Vec<&str> = call
                .inputs
                .iter()
                .map(|input| input.dtype.as_str())
                .collect();
            format!(
                "{} of {inputs:?}, element {at}: found {x:?}, wanted {y:?}",
                call.op
            )
        })?;
    }
    Ok(())
}

fn unary<T, O>(comm: &dyn Communicator, call: &Call, n: usize, op: O, exact: Exact) -> Outcome
where
    T: Close,
    O: UnaryOperation<T, Output: Close + Cast<Complex64>> + Copy,
{
    let input = call.inputs[0].array::<T>()?;
    for d in few(&shape_of(&input), comm.size(), n) {
        let a = spread(&input, &d, comm)?;
        let found = a.unary(op);
        all_agree(&gathered(&found)?, call, exact)?;
        // On this rank's part alone it is the same.
        same_bits(&a.part()?.unary(op), found.owned(), "part")?;
    }
    Ok(())
}

/// The operation on plain values: arrays of each type with each operation would take minutes to build.
fn unary_values<T, O>(call: &Call, op: O, exact: Exact) -> Outcome
where
    T: Close,
    O: UnaryOperation<T, Output: Close + Cast<Complex64>>,
{
    let input = call.inputs[0].array::<T>()?;
    let mut found = Vec::new();
    for &x in &input {
        found.push(op.apply(x));
    }
    all_agree(
        &ArrayD::from_shape_vec(input.raw_dim(), found)?,
        call,
        exact,
    )
}

/// Calls `$values` with the operation and type that a call of the fixture names, and for one of its types `$arrays`.
macro_rules! dispatch {
    ($failed:ident, $comm:ident, $call:ident, $n:ident, $values:ident, $arrays:ident;
     $($op:literal $ufunc:ident $exact:ident $array:ty, [$($t:ty),*];)*) => {
        match $call.op.as_str() {
            $($op => {
                if is_of::<$array>(&$call.inputs[0]) {
                    let outcome = $arrays::<$array, _>($comm, $call, $n, ufunc::$ufunc, Exact::$exact);
                    $failed.extend(outcome.err().map(|error| error.to_string()));
                }
                // The same on any number of ranks.
                if $comm.size() > 1 {
                    continue;
                }
                $(if is_of::<$t>(&$call.inputs[0]) {
                    let outcome = $values::<$t, _>($call, ufunc::$ufunc, Exact::$exact);
                    $failed.extend(outcome.err().map(|error| error.to_string()));
                    continue;
                })*
            })*
            _ => {}
        }
    };
}

fn elementwise_unary_operations_are_numpys(comm: &dyn Communicator) -> Outcome {
    let calls =
        chosen(|call| call.inputs.len() == 1 && !["round", "broadcast"].contains(&&*call.op))?;
    let mut seen = std::collections::BTreeSet::new();
    let mut failed = Vec::new();
    for (n, call) in calls.into_iter().enumerate() {
        seen.insert(call.op.clone());
        dispatch! { failed, comm, call, n, unary_values, unary;
            "absolute" Absolute Relative f16, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "arccos" Arccos Relative Complex64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "arccosh" Arccosh Relative u64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "arcsin" Arcsin Relative Complex32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "arcsinh" Arcsinh Relative i32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "arctan" Arctan Relative f64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "arctanh" Arctanh Relative i8, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "conjugate" Conjugate Bits f32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "cos" Cos Relative bool, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "cosh" Cosh Relative f16, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "exp" Exp Relative Complex64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "expm1" Expm1 Relative u64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "invert" Invert Bits bool, [bool, i8, i32, u64];
            "log" Log Relative i32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "log10" Log10 Relative f64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "log1p" Log1p Relative i8, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "negative" Negative Bits f32, [i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "reciprocal" Reciprocal Bits bool, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "rint" Rint Bits f16, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "sign" Sign Relative i8, [i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "sin" Sin Relative u64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "sinh" Sinh Relative Complex32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "sqrt" Sqrt Relative i32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "square" Square Bits f64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "tan" Tan Relative i8, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "tanh" Tanh Relative f32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
        }
        return Err(format!("{} of {} is not tested", call.op, call.inputs[0].dtype).into());
    }
    none_failed(&failed)?;
    same(seen.len(), 26, "operations")
}

fn binary<T, O>(comm: &dyn Communicator, call: &Call, n: usize, op: O, exact: Exact) -> Outcome
where
    T: Close,
    O: BinaryOperation<T, Output: Close + Cast<Complex64>> + Copy,
{
    let inputs = [call.inputs[0].array::<T>()?, call.inputs[1].array::<T>()?];
    for d in few(&shape_of(&inputs[0]), comm.size(), n) {
        let (a, b) = (spread(&inputs[0], &d, comm)?, spread(&inputs[1], &d, comm)?);
        let found = a.binary(op, &b)?;
        all_agree(&gathered(&found)?, call, exact)?;
        let reflected = b.binary(ufunc::Reflected(op), &a)?;
        all_agree(&gathered(&reflected)?, call, exact)?;
        let part = a.part()?.binary(op, &b.part()?)?;
        same_bits(&part, found.owned(), "part")?;
    }
    Ok(())
}

/// As [`unary_values`].
fn binary_values<T, O>(call: &Call, op: O, exact: Exact) -> Outcome
where
    T: Close,
    O: BinaryOperation<T, Output: Close + Cast<Complex64>>,
{
    let inputs = [call.inputs[0].array::<T>()?, call.inputs[1].array::<T>()?];
    let [a, b] = [
        inputs[0].as_slice().ok_or("order")?,
        inputs[1].as_slice().ok_or("order")?,
    ];
    same(a.len(), b.len(), "elements")?;
    let mut found = Vec::new();
    for at in 0..a.len() {
        found.push(op.apply(a[at], b[at]));
    }
    all_agree(
        &ArrayD::from_shape_vec(inputs[0].raw_dim(), found)?,
        call,
        exact,
    )
}

fn elementwise_binary_operations_are_numpys(comm: &dyn Communicator) -> Outcome {
    let others = ["isclose", "broadcast", "where", "choose", "putmask"];
    let calls =
        chosen(|call| call.inputs.len() == 2 && !is_mixed(call) && !others.contains(&&*call.op))?;
    let mut seen = std::collections::BTreeSet::new();
    let mut failed = Vec::new();
    for (n, call) in calls.into_iter().enumerate() {
        seen.insert(call.op.clone());
        dispatch! { failed, comm, call, n, binary_values, binary;
            "add" Add Bits bool, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "arctan2" Arctan2 Relative bool, [bool, i8, i32, u64, f16, f32, f64];
            "bitwise_and" BitwiseAnd Bits bool, [bool, i8, i32, u64];
            "bitwise_or" BitwiseOr Bits bool, [bool, i8, i32, u64];
            "bitwise_xor" BitwiseXor Bits bool, [bool, i8, i32, u64];
            "divide" Divide Relative i32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "equal" Equal Bits f64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "floor_divide" FloorDivide Bits u64, [bool, i8, i32, u64, f16, f32, f64];
            "fmod" Fmod Bits bool, [bool, i8, i32, u64, f16, f32, f64];
            "greater" Greater Bits bool, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "greater_equal" GreaterEqual Bits f16, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "hypot" Hypot Relative f32, [bool, i8, i32, u64, f16, f32, f64];
            "left_shift" LeftShift Bits bool, [bool, i8, i32, u64];
            "less" Less Bits Complex32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "less_equal" LessEqual Bits i32, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "maximum" Maximum Relative f64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "minimum" Minimum Relative i8, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "mod" Mod Bits i8, [bool, i8, i32, u64, f16, f32, f64];
            "multiply" Multiply Bits bool, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "not_equal" NotEqual Bits f16, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "power" Power Relative Complex64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "remainder" Remainder Bits u64, [bool, i8, i32, u64, f16, f32, f64];
            "right_shift" RightShift Bits bool, [bool, i8, i32, u64];
            "subtract" Subtract Bits i8, [i8, i32, u64, f16, f32, f64, Complex32, Complex64];
            "true_divide" TrueDivide Relative f64, [bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64];
        }
        return Err(format!("{} of {} is not tested", call.op, call.inputs[0].dtype).into());
    }
    none_failed(&failed)?;
    same(seen.len(), 25, "operations")
}

/// One operation on two types, without an array.
fn mixed<A, B, O>(call: &Call, op: O) -> Outcome
where
    A: Element,
    B: Element,
    O: BinaryOperation<A, B, Output: Close + Cast<Complex64>>,
{
    let (a, b) = (call.inputs[0].array::<A>()?, call.inputs[1].array::<B>()?);
    let (x, y) = (a.as_slice().ok_or("order")?, b.as_slice().ok_or("order")?);
    let mut found = Vec::new();
    for at in 0..x.len() {
        found.push(op.apply(x[at], y[at]));
    }
    all_agree(
        &ArrayD::from_shape_vec(a.raw_dim(), found)?,
        call,
        Exact::Relative,
    )
}

/// `mixed` for one of the first types and one of the second; calls of other pairs are passed over and not counted.
macro_rules! mixed_types {
    ($call:expr, $seen:ident, $op:expr, $all:tt, [$($b:ty),*]) => {{
        $(if is_of::<$b>(&$call.inputs[1]) {
            mixed_types!(@ $call, $seen, $op, $b, $all);
        })*
    }};
    (@ $call:expr, $seen:ident, $op:expr, $b:ty, [$($a:ty),*]) => {
        $(if is_of::<$a>(&$call.inputs[0]) {
            mixed::<$a, $b, _>($call, $op)?;
            $seen += 1;
        })*
    };
}

fn elementwise_mixed_types_are_numpys(comm: &dyn Communicator) -> Outcome {
    let mut seen = 0;
    for call in chosen(is_mixed)? {
        // The same on any number of ranks.
        if comm.size() > 1 {
            break;
        }
        match call.op.as_str() {
            "add" => mixed_types!(
                call,
                seen,
                ufunc::Add,
                [
                    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
                ],
                [
                    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
                ]
            ),
            "true_divide" => mixed_types!(
                call,
                seen,
                ufunc::TrueDivide,
                [
                    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
                ],
                [bool, i16, u64, f16, Complex32]
            ),
            "power" => mixed_types!(
                call,
                seen,
                ufunc::Power,
                [
                    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
                ],
                [bool, i64, u8, f32, Complex64]
            ),
            "less" => mixed_types!(
                call,
                seen,
                ufunc::Less,
                [
                    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64, Complex32, Complex64
                ],
                [bool, i8, u32, f64, Complex32]
            ),
            _ => mixed_types!(
                call,
                seen,
                ufunc::Hypot,
                [bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64],
                [bool, i32, u16, f16, f64]
            ),
        }
    }
    if comm.size() == 1 {
        same(seen, 14 * 14 + 3 * 14 * 5 + 12 * 5, "pairs of types")?;
    }
    // Through arrays, with an array and with a number of another type.
    let d = plain::distribution(&[9], &[Kind::Cyclic(2)], 0, comm.size());
    let a = LocalArray::<i32, Ix1, _>::from_fn(&d, comm, |g| g[0] as i32)?;
    let b = LocalArray::<f32, Ix1, _>::from_fn(&d, comm, |g| g[0] as f32 / 2.0)?;
    let sum: LocalArray<f64, Ix1, _> = a.binary(ufunc::Add, &b)?;
    same(
        sum.local(),
        a.local().mapv(|x| f64::from(x) * 1.5).view(),
        "i32 and f32",
    )?;
    let power: LocalArray<f64, Ix1, _> = a.binary(ufunc::Power, 0.5)?;
    same(
        power.local(),
        a.local().mapv(|x| f64::from(x).powf(0.5)).view(),
        "i32 and a number",
    )?;
    same((1_i64).promote(2_u64), (1.0, 2.0), "i64 and u64")
}

/// Each method is the operation of its name.
macro_rules! names {
    ($array:expr; $($method:ident $op:ident)*) => {
        $(same($array.$method().local(), $array.unary(ufunc::$op).local(), stringify!($method))?;)*
    };
    ($array:expr, $other:expr; $($method:ident $op:ident)*) => {
        $(same($array.$method($other)?.local(), $array.binary(ufunc::$op, $other)?.local(), stringify!($method))?;)*
    };
}

fn elementwise_named_methods_are_their_operations(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[12], &[Kind::Balanced], 1, comm.size());
    let a = LocalArray::<f64, Ix1, _>::from_fn(&d, comm, |g| (g[0] as f64 + 0.5) / 13.0)?;
    let b = &a + 1.0;
    let (m, n) = (a.map(|x| (x * 40.0) as i32), b.map(|x| (x * 4.0) as i32));
    names! { a; absolute Absolute arccos Arccos arcsin Arcsin arcsinh Arcsinh arctan Arctan arctanh Arctanh conj Conjugate
    conjugate Conjugate cos Cos cosh Cosh exp Exp expm1 Expm1 log Log log10 Log10 log1p Log1p negative Negative
    reciprocal Reciprocal rint Rint sign Sign sin Sin sinh Sinh sqrt Sqrt square Square tan Tan tanh Tanh }
    names! { b; arccosh Arccosh }
    names! { m; invert Invert }
    names! { a, &b; add Add arctan2 Arctan2 divide Divide equal Equal floor_divide FloorDivide fmod Fmod greater Greater
    greater_equal GreaterEqual hypot Hypot less Less less_equal LessEqual maximum Maximum minimum Minimum mod_ Mod
    multiply Multiply not_equal NotEqual power Power remainder Remainder subtract Subtract true_divide TrueDivide }
    names! { m, &n; bitwise_and BitwiseAnd bitwise_or BitwiseOr bitwise_xor BitwiseXor left_shift LeftShift
    right_shift RightShift }
    let z =
        LocalArray::<Complex64, Ix1, _>::from_fn(&d, comm, |g| Complex64::new(g[0] as f64, 1.5))?;
    names! { z; conj Conjugate conjugate Conjugate }
    let mut out = z.zeros_like::<Complex64>()?;
    z.unary_into(ufunc::Conjugate, &mut out)?;
    let wanted = z.local().mapv(|z| Complex64::new(z.re, -z.im));
    same(out.local(), wanted.view(), "conjugate, into")?;
    let (part, wanted) = (z.part()?, z.owned().mapv(|z| Complex64::new(z.re, -z.im)));
    let mut out = part.zeros_like::<Complex64>()?;
    part.unary_into(ufunc::Conjugate, &mut out)?;
    same(out.local(), wanted.view(), "conjugate of a part, into")?;
    for found in [part.conj(), part.conjugate()] {
        same(found.local(), wanted.view(), "conjugate of a part")?;
    }
    // A plain number takes the array's type.
    let single = a.astype::<f32>();
    let squares: LocalArray<f32, Ix1, _> = single.power(2.0)?;
    same(squares.local(), single.square().local(), "f32")
}

/// Where `b` must be for an array distributed like `d`.
fn replica<'a, T: Element>(
    b: &ArrayD<T>,
    d: &Distribution,
    comm: &'a dyn Communicator,
) -> Result<Whole<'a, T>, Failure> {
    let whole = plain::distribution(&shape_of(b), &vec![Kind::Block; b.ndim()], 0, comm.size());
    let target = LocalArray::<u8, IxDyn, _>::zeros(d, comm)?;
    Ok(spread(b, &whole, comm)?.replicate_like(&target)?)
}

fn elementwise_broadcasting_is_numpys(comm: &dyn Communicator) -> Outcome {
    for (number, call) in chosen(|call| call.op == "broadcast")?
        .into_iter()
        .enumerate()
    {
        let (a, b) = (
            call.inputs[0].array::<f64>()?,
            call.inputs[1].array::<f64>()?,
        );
        let wanted = call.outputs[0].array::<f64>()?;
        let layouts = few(&shape_of(&wanted), comm.size(), number);
        for (n, d) in layouts.into_iter().enumerate() {
            let n = n + 3 * number;
            let what = format!("{:?} and {:?} on {d:?}", a.shape(), b.shape());
            // Replicated to where the result is: without communication.
            let (x, y) = (replica(&a, &d, comm)?, replica(&b, &d, comm)?);
            let difference = (&x - &y)?;
            whole_alike(&difference, &wanted, 0.0, &what)?;
            // Into an output of that distribution, padding and all.
            let mut out = LocalArray::<f64, IxDyn, _>::full(&d, comm, 7.0)?;
            x.binary_into(ufunc::Subtract, &y, &mut out)?;
            whole_alike(&out, &wanted, 0.0, &what)?;
            out.fill(7.0);
            x.binary_where(ufunc::Subtract, &y, &x.greater(2.0)?, &mut out)?;
            let kept = ndarray::Zip::from(&wanted)
                .and_broadcast(&a)
                .map_collect(|&w, &a| if a > 2.0 { w } else { 7.0 });
            whole_alike(&out, &kept, 0.0, &what)?;
            // From wherever they are: collective.
            let (p, q) = (
                spread(&a, &some_distribution(&shape_of(&a), comm.size(), n), comm)?,
                spread(
                    &b,
                    &some_distribution(&shape_of(&b), comm.size(), n + 3),
                    comm,
                )?,
            );
            whole_alike(&(&p - Equalised(&q))?, &wanted, 0.0, &what)?;
            let (p, q) = equalise(&p, &q)?;
            whole_alike(&(&p - &q)?, &wanted, 0.0, &what)?;
            whole_alike(
                &p.broadcast_like(&out)?,
                &a.broadcast(wanted.raw_dim()).ok_or("shape")?.to_owned(),
                0.0,
                &what,
            )?;
            // On this rank's part.
            if d.coords(comm.rank()).is_some() && !difference.owned().is_empty() {
                same(
                    (&x.part()? - &y.part()?)?.local(),
                    difference.owned(),
                    "part",
                )?;
            }
        }
    }
    Ok(())
}

fn elementwise_broadcasting_needs_what_it_repeats(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    let rows = plain::distribution(&[6, 4], &[Kind::Block, Kind::Whole], 1, ranks);
    let a = LocalArray::<i64, Ix2, _>::from_fn(&rows, comm, |g| 10 * g[0] + g[1])?;
    // One column, beside each row: each rank has its own.
    let column = plain::distribution(&[6, 1], &[Kind::Block, Kind::Whole], 0, ranks);
    let c = LocalArray::<i64, Ix2, _>::from_fn(&column, comm, |g| g[0])?;
    let sum = (&a + &c)?;
    let wanted = ndarray::Array::from_shape_fn((6, 4), |(i, j)| (11 * i + j) as i64);
    same(gathered(&sum)?, wanted.clone().into_dyn(), "a column")?;
    same(gathered(&(&c + &a)?)?, wanted.into_dyn(), "a column first")?;
    same(
        sum.distribution(),
        a.distribution(),
        "the larger one's distribution",
    )?;
    // One row, on one rank alone.
    let row = plain::distribution(&[4], &[Kind::Whole], 0, ranks);
    let r = LocalArray::<i64, Ix1, _>::from_fn(&row, comm, |g| g[0])?;
    let outcome = &a + &r;
    ensure(outcome.is_ok() == (ranks == 1), || {
        "one rank has the row".into()
    })?;
    if let Err(error) = outcome {
        ensure(
            matches!(
                error,
                ArrayError::IncompatibleArray {
                    what: "distribution",
                    ..
                }
            ),
            || error.to_string(),
        )?;
        let texts = comm.all_gather_v(error.to_string().as_bytes())?;
        ensure(texts.iter().all(|text| *text == texts[0]), || {
            "differs between ranks".into()
        })?;
    }
    let wanted = ndarray::Array::from_shape_fn((6, 4), |(i, j)| (10 * i + 2 * j) as i64).into_dyn();
    same(
        gathered(&(&a + &r.replicate_like(&a)?)?)?,
        wanted.clone(),
        "replicated",
    )?;
    // The same row written out on every rank by a list each.
    let lists = Distribution::over(ranks)
        .shape([4])
        .unstructured(0, vec![vec![0_i64, 1, 2, 3]; ranks])
        .build()?;
    let r = LocalArray::<i64, Ix1, _>::from_fn(&lists, comm, |g| g[0])?;
    same(gathered(&(&a + &r)?)?, wanted.clone(), "lists")?;
    same(gathered(&(&r + &a)?)?, wanted, "lists first")?;
    // A column over the ranks and a row on each: a table.
    let table = (&c + &r)?;
    let wanted = ndarray::Array::from_shape_fn((6, 4), |(i, j)| (i + j) as i64).into_dyn();
    same(gathered(&table)?, wanted, "column and row")?;
    // Shapes that do not fit.
    let wrong = plain::distribution(&[5], &[Kind::Whole], 0, ranks);
    let w = LocalArray::<i64, Ix1, _>::ones(&wrong, comm)?;
    for error in [
        (&a + &w).err(),
        (&a + Equalised(&w)).err(),
        equalise(&a, &w).err(),
    ] {
        let fits = matches!(
            error,
            Some(ArrayError::IncompatibleArray {
                what: "global shape",
                ..
            })
        );
        ensure(fits, || format!("{error:?}"))?;
    }
    ensure(
        matches!(w.replicate_like(&a), Err(ArrayError::Shape { .. })),
        || "five of four".into(),
    )?;
    let mut out = r.copy();
    ensure(a.unary_into(ufunc::Negative, &mut out).is_err(), || {
        "into less".into()
    })
}

fn elementwise_equalised_operands_are_brought_together(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        let all = zoo(shape, comm.size());
        let n = all.len();
        for i in plain::turns(n, comm.size(), shape.len()) {
            // Beside itself, and at other numbers of ranks beside others.
            let (d, e) = (&all[i], &all[(i + 1 + comm.size() % 3) % n]);
            let a =
                LocalArray::<f64, IxDyn, _>::from_fn(d, comm, |g| plain::flat(shape, g) as f64)?;
            let b = LocalArray::<f64, IxDyn, _>::from_fn(e, comm, |g| {
                100.0 * plain::flat(shape, g) as f64
            })?;
            let wanted = gathered(&a)?.mapv(|x| 101.0 * x);
            let sum = (&a + Equalised(&b))?;
            whole_alike(&sum, &wanted, 0.0, "sum")?;
            same(sum.distribution(), d, "the left one's distribution")?;
            let mut c = a.copy();
            c.try_add_assign(Equalised(&b))?;
            whole_alike(&c, &wanted, 0.0, "in place")?;
            a.binary_into(ufunc::Add, Equalised(&b), &mut c)?;
            whole_alike(&c, &wanted, 0.0, "into")?;
            let mut c = b.zeros_like::<f64>()?;
            a.binary_into(ufunc::Add, Equalised(&b), &mut c)?;
            whole_alike(&c, &wanted, 0.0, "into the other")?;
            whole_alike(
                &a.zip_map(Equalised(&b), |a, b| a + b)?,
                &wanted,
                0.0,
                "zip_map",
            )?;
            whole_alike(&a.maximum(Equalised(&b))?, &gathered(&b)?, 0.0, "maximum")?;
            let chosen = where_(&a.greater(3.0)?, &a, Equalised(&b))?;
            let wanted = gathered(&a)?.mapv(|x| if x > 3.0 { x } else { 100.0 * x });
            whole_alike(&chosen, &wanted, 0.0, "where")?;
        }
    }
    Ok(())
}

fn elementwise_outputs_and_masks(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in few(shape, comm.size(), shape.len()) {
            let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| plain::flat(shape, g) - 4)?;
            let whole = gathered(&a)?;
            let mut out = a.zeros_like::<i64>()?;
            a.unary_into(ufunc::Square, &mut out)?;
            same(gathered(&out)?, whole.mapv(|x| x * x), "into")?;
            a.unary_where(ufunc::Negative, &a.less(0)?, &mut out)?;
            same(
                gathered(&out)?,
                whole.mapv(|x| if x < 0 { -x } else { x * x }),
                "where",
            )?;
            a.unary_where(ufunc::Absolute, true, &mut out)?;
            a.unary_where(ufunc::Square, false, &mut out)?;
            same(gathered(&out)?, whole.mapv(i64::abs), "where all and none")?;
            a.binary_into(ufunc::Subtract, 3, &mut out)?;
            same(gathered(&out)?, whole.mapv(|x| x - 3), "binary into")?;
            a.binary_where(ufunc::Multiply, &a, &a.greater(2)?, &mut out)?;
            same(
                gathered(&out)?,
                whole.mapv(|x| if x > 2 { x * x } else { x - 3 }),
                "binary where",
            )?;
            out.unary_inplace(ufunc::Negative);
            out.binary_inplace(ufunc::Add, &a)?;
            let wanted = whole.mapv(|x| x - if x > 2 { x * x } else { x - 3 });
            same(gathered(&out)?, wanted, "in place")?;
            // On this rank's part.
            let mut part = a.part()?.to_owned();
            a.part()?.unary_into(ufunc::Negative, &mut part)?;
            same(part.local(), (-&a).owned(), "part")?;
            // Another memory order of the output.
            let zeros = ndarray::ArrayD::<i64>::zeros(IxDyn(a.local_shape()).f());
            let mut fortran = LocalArray::from_array(zeros, &d, comm)?;
            a.unary_into(ufunc::Square, &mut fortran)?;
            same(gathered(&fortran)?, whole.mapv(|x| x * x), "Fortran order")?;
            same(
                gathered(&(&fortran + &a)?)?,
                whole.mapv(|x| x * x + x),
                "two orders",
            )?;
        }
    }
    Ok(())
}

/// Each operator, with an array and a number on either side and in place, against a plain loop.
macro_rules! operators {
    ($a:expr, $b:expr, $t:ty, $number:expr; $($op:tt $assign:tt $try:ident |$x:ident, $y:ident| $plain:expr;)*) => {$({
        let f = |$x: $t, $y: $t| -> $t { $plain };
        let (a, b) = (gathered($a)?, gathered($b)?);
        let wanted = ndarray::Zip::from(&a).and(&b).map_collect(|&x, &y| f(x, y));
        same(gathered(&($a $op $b)?)?, wanted.clone(), stringify!($op))?;
        same(gathered(&($a $op Equalised($b))?)?, wanted.clone(), stringify!($op))?;
        let right = a.mapv(|x| f(x, $number));
        same(gathered(&($a $op $number))?, right.clone(), stringify!($op))?;
        same(gathered(&($number $op $a))?, a.mapv(|x| f($number, x)), stringify!($op))?;
        let mut c = $a.copy();
        c $assign $number;
        same(gathered(&c)?, right, stringify!($assign))?;
        let mut c = $a.copy();
        c.$try($b)?;
        same(gathered(&c)?, wanted, stringify!($try))?;
        let part = &$a.part()? $op $number;
        same(part.local(), ($a $op $number).owned(), "part")?;
    })*};
}

fn elementwise_operators_in_place_and_from_either_side(comm: &dyn Communicator) -> Outcome {
    for (n, &shape) in SHAPES.iter().enumerate() {
        let d = some_distribution(shape, comm.size(), n);
        let a =
            LocalArray::<i32, IxDyn, _>::from_fn(&d, comm, |g| plain::flat(shape, g) as i32 - 3)?;
        let b =
            LocalArray::<i32, IxDyn, _>::from_fn(&d, comm, |g| plain::flat(shape, g) as i32 % 4)?;
        operators! { &a, &b, i32, 3;
            + += try_add_assign |x, y| x + y;
            - -= try_sub_assign |x, y| x - y;
            * *= try_mul_assign |x, y| x * y;
            / /= try_div_assign |x, y| if y == 0 { 0 } else { x / y };
            % %= try_rem_assign |x, y| if y == 0 { 0 } else { x % y };
            & &= try_and_assign |x, y| x & y;
            | |= try_or_assign |x, y| x | y;
            ^ ^= try_xor_assign |x, y| x ^ y;
            << <<= try_shl_assign |x, y| if (0..32).contains(&y) { x << y } else { 0 };
            >> >>= try_shr_assign |x, y| if (0..32).contains(&y) { x >> y } else if x < 0 { -1 } else { 0 };
        }
        same(gathered(&-&a)?, gathered(&a)?.mapv(|x| -x), "-")?;
        same(gathered(&!&a)?, gathered(&a)?.mapv(|x| !x), "!")?;
        let z = a.astype::<Complex64>();
        let turned = gathered(&(Complex64::i() * &z))?;
        same(
            turned,
            gathered(&a)?.mapv(|x| Complex64::new(-0.0 * f64::from(x), f64::from(x))),
            "complex",
        )?;
    }
    Ok(())
}

fn clip<T>(comm: &dyn Communicator, call: &Call, n: usize) -> Outcome
where
    T: Close + Ordered + Cast<Complex64> + Operand<T, IxDyn, Dim = IxDyn>,
{
    let input = call.inputs[0].array::<T>()?;
    let d = some_distribution(&shape_of(&input), comm.size(), n);
    let a = spread(&input, &d, comm)?;
    let (low, high) = (call.inputs[1].array::<T>()?, call.inputs[2].array::<T>()?);
    let (part, mut into) = (a.part()?, a.zeros_like::<T>()?);
    let mut part_into = part.zeros_like::<T>()?;
    let (found, of_part) = match (low.ndim(), low.first(), high.first()) {
        (0, Some(&low), Some(&high)) => {
            a.clip_into(low, high, &mut into)?;
            part.clip_into(low, high, &mut part_into)?;
            (a.clip(low, high)?, part.clip(low, high)?)
        }
        _ => {
            let (low, high) = (spread(&low, &d, comm)?, spread(&high, &d, comm)?);
            a.clip_into(&low, &high, &mut into)?;
            let found = a.clip(&low, &high)?;
            let (low, high) = (low.part()?, high.part()?);
            part.clip_into(&low, &high, &mut part_into)?;
            (found, part.clip(&low, &high)?)
        }
    };
    all_agree(&gathered(&found)?, call, Exact::Relative)?;
    all_agree(&gathered(&into)?, call, Exact::Relative)?;
    same_bits(&of_part, found.owned(), "part")?;
    same_bits(&part_into, found.owned(), "into a part")
}

/// A part is, bit by bit, what the rank owns of the whole.
fn same_bits<T: Element>(
    part: &LocalArray<T, IxDyn, SingleComm>,
    owned: ArrayViewD<'_, T>,
    what: &str,
) -> Outcome {
    same(part.local().shape(), owned.shape(), what)?;
    for (x, y) in part.local().iter().zip(owned) {
        same(bytes_of(x), bytes_of(y), what)?;
    }
    Ok(())
}

fn round<T>(comm: &dyn Communicator, call: &Call, n: usize) -> Outcome
where
    T: Close + Rounding<Rounded: Close + Cast<Complex64>>,
{
    let input = call.inputs[0].array::<T>()?;
    let a = spread(
        &input,
        &some_distribution(&shape_of(&input), comm.size(), n),
        comm,
    )?;
    let decimals = call.args["decimals"].as_i64().ok_or("decimals")? as i32;
    all_agree(&gathered(&a.round(decimals))?, call, Exact::Bits)?;
    let mut into = a.zeros_like::<T::Rounded>()?;
    a.round_into(decimals, &mut into)?;
    all_agree(&gathered(&into)?, call, Exact::Bits)?;
    let (part, whole) = (a.part()?, a.round(decimals));
    same_bits(&part.round(decimals), whole.owned(), "part")?;
    let mut into = part.zeros_like::<T::Rounded>()?;
    part.round_into(decimals, &mut into)?;
    same_bits(&into, whole.owned(), "into a part")
}

fn elementwise_clip_and_round(comm: &dyn Communicator) -> Outcome {
    let of = |op: &str| chosen(|call| call.op == op).map(|calls| calls.into_iter().enumerate());
    for (number, call) in of("clip")?.chain(of("round")?) {
        // One rank looks at all, more at a fourth each: at least eight, each in another distribution.
        if comm.size() > 1 && !(number + comm.size()).is_multiple_of(4) {
            continue;
        }
        let n = if comm.size() > 1 { number / 4 } else { number };
        macro_rules! run {
            ($run:ident: $($t:ty),*) => {
                $(if is_of::<$t>(&call.inputs[0]) {
                    $run::<$t>(comm, call, n)?;
                    continue;
                })*
            };
        }
        if call.op == "clip" {
            run!(clip: bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64);
        } else {
            run!(round: bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64);
        }
        return Err(format!("{} of {} is not tested", call.op, call.inputs[0].dtype).into());
    }
    Ok(())
}

fn conditions<T: Close + Cast<bool>>(comm: &dyn Communicator, call: &Call, n: usize) -> Outcome {
    let input = call.inputs[0].array::<T>()?;
    let d = some_distribution(&shape_of(&input), comm.size(), n);
    let c = spread(&input, &d, comm)?;
    let (x, y) = (
        spread(&call.inputs[1].array::<f64>()?, &d, comm)?,
        spread(&call.inputs[2].array::<f64>()?, &d, comm)?,
    );
    all_agree(&gathered(&where_(&c, &x, &y)?)?, call, Exact::Bits)?;
    let (c, x, y, whole) = (c.part()?, x.part()?, y.part()?, where_(&c, &x, &y)?);
    same(where_(&c, &x, &y)?.local(), whole.owned(), "part")?;
    let chosen = where_(&c, &x, -1.5)?;
    let wanted = ndarray::Zip::from(c.local())
        .and(x.local())
        .map_collect(|&c, &x| if Cast::<bool>::cast(c) { x } else { -1.5 });
    same(
        chosen.local(),
        wanted.view(),
        "an array and a number on a part",
    )
}

fn elementwise_choose_where_and_putmask(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    for (n, call) in chosen(|call| call.op == "where")?.into_iter().enumerate() {
        macro_rules! run {
            ($($t:ty),*) => {
                $(if is_of::<$t>(&call.inputs[0]) && call.inputs[0].shape.len() == 1 {
                    conditions::<$t>(comm, call, n)?;
                    continue;
                })*
            };
        }
        run!(bool, i8, i32, u64, f16, f32, f64, Complex32, Complex64);
        let wanted = call.outputs[0].array::<i64>()?;
        let d = some_distribution(&shape_of(&wanted), ranks, n);
        let c = replica(&call.inputs[0].array::<bool>()?, &d, comm)?;
        let x = replica(&call.inputs[1].array::<i64>()?, &d, comm)?;
        let y = replica(&call.inputs[2].array::<i64>()?, &d, comm)?;
        whole_alike(&where_(&c, &x, &y)?, &wanted, 0.0, "where, broadcast")?;
    }
    for (number, call) in chosen(|call| call.op == "choose")?.into_iter().enumerate() {
        let mode = match call.args["mode"].as_str() {
            Some("raise") => IndexMode::Raise,
            Some("wrap") => IndexMode::Wrap,
            _ => IndexMode::Clip,
        };
        let wanted = call.outputs[0].array::<f64>()?;
        for d in few(&shape_of(&wanted), ranks, number) {
            let numbers = match call.inputs[0].array::<i32>() {
                Ok(numbers) => numbers.mapv(i64::from),
                Err(_) => call.inputs[0].array::<i64>()?,
            };
            let a = spread(&numbers, &d, comm)?;
            let choices: Result<Vec<_>, Failure> = call.inputs[1..]
                .iter()
                .map(|choice| spread(&choice.array::<f64>()?, &d, comm))
                .collect();
            let choices = choices?;
            whole_alike(&a.choose(&choices, mode)?, &wanted, 0.0, "choose")?;
            let mut out = a.zeros_like::<f64>()?;
            a.choose_into(&choices, mode, &mut out)?;
            whole_alike(&out, &wanted, 0.0, "choose into")?;
            let wild = a.choose([0.0], IndexMode::Raise);
            ensure(
                matches!(wild, Err(ArrayError::OutOfBounds { allowed: 1, .. })),
                || format!("{wild:?}"),
            )?;
            let none = a.choose(Vec::<f64>::new(), mode);
            ensure(none.is_err(), || "no choice".into())?;
            let part = a.part()?.choose([1.5, 2.5, 3.5], mode)?;
            same(
                part.local(),
                a.choose([1.5, 2.5, 3.5], mode)?.owned(),
                "part",
            )?;
            let own: Result<Vec<_>, _> = choices.iter().map(LocalArray::part).collect();
            let (own, part) = (own?, a.part()?);
            let chosen = part.choose(&own, mode)?;
            same(chosen.local(), out.owned(), "arrays on a part")?;
            let mut part_out = part.zeros_like::<f64>()?;
            part.choose_into(&own, mode, &mut part_out)?;
            same(part_out.local(), out.owned(), "into a part")?;
        }
    }
    for (number, call) in chosen(|call| call.op == "putmask")?.into_iter().enumerate() {
        let input = call.inputs[0].array::<f64>()?;
        for d in few(&shape_of(&input), ranks, number) {
            let mut a = spread(&input, &d, comm)?;
            let mask = spread(&call.inputs[1].array::<bool>()?, &d, comm)?;
            let values: Vec<f64> = call.inputs[2].array::<f64>()?.into_iter().collect();
            a.putmask_repeated(&mask, &values)?;
            whole_alike(&a, &call.outputs[0].array::<f64>()?, 0.0, "putmask")?;
            a.putmask_repeated(&mask, &[])?;
            let mut b = spread(&input, &d, comm)?;
            b.putmask(&mask, &a)?;
            whole_alike(
                &b,
                &call.outputs[0].array::<f64>()?,
                0.0,
                "putmask, one for each",
            )?;
            b.putmask(&mask, -1.0)?;
            let wanted = ndarray::Zip::from(&input)
                .and(&call.inputs[1].array::<bool>()?)
                .map_collect(|&x, &mask| if mask { -1.0 } else { x });
            whole_alike(&b, &wanted, 0.0, "putmask, one for all")?;
            let mut part = spread(&input, &d, comm)?.part()?.to_owned();
            part.putmask(&mask.part()?, &a.part()?)?;
            same(part.local(), a.owned(), "part")?;
            part.putmask(true, 5.0)?;
            ensure(part.local().iter().all(|&x| x == 5.0), || "part".into())?;
        }
    }
    Ok(())
}

fn close<T: Close + Cast<Complex64>>(comm: &dyn Communicator, call: &Call, n: usize) -> Outcome {
    let (a, b) = (call.inputs[0].array::<T>()?, call.inputs[1].array::<T>()?);
    let number = |name: &str| call.args[name].as_f64().ok_or("a number");
    let mut tolerance = Tolerance::new(number("rtol")?, number("atol")?);
    if call.args["equal_nan"].as_bool() == Some(true) {
        tolerance = tolerance.equal_nan();
    }
    let d = some_distribution(&shape_of(&a), comm.size(), n);
    let (a, b) = (spread(&a, &d, comm)?, spread(&b, &d, comm)?);
    let wanted = call.outputs[0].array::<bool>()?;
    whole_alike(
        &a.isclose(&b, tolerance)?,
        &wanted,
        0.0,
        &format!("isclose {tolerance:?}"),
    )?;
    let all = call.outputs[1].array::<bool>()?;
    same(
        Some(a.allclose(&b, tolerance)?),
        all.first().copied(),
        "allclose",
    )?;
    let part = a.part()?.allclose(&b.part()?, tolerance)?;
    let here = a.isclose(&b, tolerance)?.owned().iter().all(|&close| close);
    same(part, here, "part")
}

fn elementwise_closeness(comm: &dyn Communicator) -> Outcome {
    for (n, call) in chosen(|call| call.op == "isclose")?.into_iter().enumerate() {
        if is_of::<f64>(&call.inputs[0]) {
            close::<f64>(comm, call, n)?;
        } else {
            close::<Complex64>(comm, call, n)?;
        }
    }
    // Arrays without elements are close, and one rank's difference is seen by all.
    let empty = LocalArray::<f64, Ix1, _>::ones(
        &plain::distribution(&[0], &[Kind::Block], 0, comm.size()),
        comm,
    )?;
    same(empty.allclose(5.0, Tolerance::default())?, true, "empty")?;
    let d = plain::distribution(&[30], &[Kind::Block], 0, comm.size());
    let a = LocalArray::<i64, Ix1, _>::from_fn(&d, comm, |g| g[0])?;
    let mut b = a.copy();
    b.checked_setitem(&[29], 1000);
    same(a.allclose(&b, Tolerance::default())?, false, "the last")
}

fn elementwise_astype_copy_and_fill(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()) {
            let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| plain::flat(shape, g) - 2)?;
            same(
                a.astype::<f16>().local(),
                a.local().mapv(|x| f16::from_f64(x as f64)).view(),
                "f16",
            )?;
            same(
                a.astype::<u8>().local(),
                a.local().mapv(|x| x as u8).view(),
                "u8",
            )?;
            same(
                a.part()?.astype::<bool>().local(),
                a.owned().mapv(|x| x != 0).view(),
                "part",
            )?;
            let mut b = a.copy();
            b.fill(9);
            ensure(b.local().iter().all(|&x| x == 9), || "filled".into())?;
            same(b.copy().local(), b.local(), "copy")?;
            same(
                a.map(|x| x + 1).local(),
                a.local().mapv(|x| x + 1).view(),
                "map",
            )?;
            same(
                (&a + 1).local(),
                a.local().mapv(|x| x + 1).view(),
                "padding too",
            )?;
        }
    }
    Ok(())
}

fn elementwise_views_as_another_type(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    for &shape in SHAPES {
        for d in few(shape, ranks, shape.len()) {
            let a = LocalArray::<f64, IxDyn, _>::from_fn(&d, comm, |g| {
                plain::flat(shape, g) as f64 - 1.5
            })?;
            let bits = a.view_as::<u64>()?;
            same(bits.local(), a.local().mapv(f64::to_bits).view(), "bits")?;
            same(bits.distribution(), a.distribution(), "distribution")?;
            same(
                a.local_view::<i64>()?,
                a.local().mapv(|x| x.to_bits() as i64).view(),
                "local bits",
            )?;
            let padded = d.axes().last().is_none_or(|axis| {
                (0..axis.ranks()).any(|c| axis.stored_len(c) != axis.owned_len(c))
            });
            let words = a.view_as::<u16>();
            ensure(words.is_ok() != padded, || {
                format!("{d:?}: {:?}", words.as_ref().err())
            })?;
            let Ok(words) = words else { continue };
            let wanted = gathered(&a)?;
            let flat: Vec<u16> = wanted
                .iter()
                .flat_map(|x| bytemuck::cast::<f64, [u16; 4]>(*x))
                .collect();
            let mut extents = wanted.shape().to_vec();
            if let Some(last) = extents.last_mut() {
                *last *= 4;
            }
            same(
                gathered(&words)?,
                ArrayD::from_shape_vec(IxDyn(&extents), flat)?,
                "words",
            )?;
            // And back: the bounds are whole.
            let back = words.view_as::<f64>()?;
            same(back.local(), a.local(), "back")?;
            ensure(back.distribution().is_compatible(&d), || {
                "the distribution back".into()
            })?;
            same(words.part()?.view_as::<f64>()?.local(), a.owned(), "part")?;
        }
    }
    // Fortran order and reversed axes keep theirs where the sizes are the same.
    let d = plain::distribution(&[4, 6], &[Kind::Block, Kind::Whole], 0, ranks);
    let shape = d.local_shape(comm.rank());
    let mut data =
        ndarray::Array2::from_shape_fn((shape[0], shape[1]).f(), |(i, j)| (10 * i + j) as f32);
    data.invert_axis(ndarray::Axis(1));
    let a = LocalArray::from_array(data, &d, comm)?;
    same(
        a.local_view::<u32>()?,
        a.local().mapv(f32::to_bits).view(),
        "any order",
    )?;
    if a.local_size() > 0 {
        ensure(a.local_view::<u8>().is_err(), || {
            "bytes of another order".into()
        })?;
    }
    // Three bytes make no u16, and 2 is no bool, wherever it lies.
    let d = plain::distribution(&[3], &[Kind::Whole], 0, ranks);
    let a = LocalArray::<u8, Ix1, _>::full(&d, comm, 2)?;
    ensure(
        matches!(a.view_as::<u16>(), Err(ArrayError::Argument { .. })),
        || "three bytes".into(),
    )?;
    ensure(
        a.local_view::<bool>().is_err() == (a.local_size() > 0),
        || "2 as bool".into(),
    )
}

/// A rank without a place stores one element of a 0-d array, which counts for nothing.
fn elementwise_closeness_of_scalars(comm: &dyn Communicator) -> Outcome {
    let line = plain::distribution(&[3], &[Kind::Block], 0, comm.size());
    let a = LocalArray::<f64, Ix1, _>::from_fn(&line, comm, |g| g[0] as f64 + 1.0)?;
    let sum = a.over(Axes::ALL).sum()?;
    let t = Tolerance::default();
    same(sum.allclose(6.0, t)?, true, "the sum is 6")?;
    same(sum.allclose(7.0, t)?, false, "the sum is not 7")?;
    let point = plain::distribution(&[], &[], 0, comm.size());
    let six = LocalArray::<f64, IxDyn, _>::full(&point, comm, 6.0)?;
    same(six.allclose(&sum, t)?, true, "a value and the sum")?;
    same(sum.allclose(&six, t)?, true, "the sum and a value")?;
    if comm.size() > 1 {
        let spread = |kind| {
            let d = plain::distribution(&[15], &[kind], 0, comm.size());
            LocalArray::<f64, Ix1, _>::ones(&d, comm)
        };
        let (a, other) = (spread(Kind::Block)?, spread(Kind::Cyclic(1))?);
        let apart = a.allclose(&other, t);
        ensure(
            matches!(apart, Err(ArrayError::IncompatibleArray { .. })),
            || format!("{apart:?}"),
        )?;
        let own = Tolerance::new(comm.rank() as f64, 0.0);
        refused_everywhere(comm, a.allclose(&a, own), "tolerances")?;
        let own = if comm.rank() == 1 { &other } else { &a };
        refused_everywhere(comm, a.allclose(own, t), "operands")?;
    }
    Ok(())
}

fn elementwise_choices_differ(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[6], &[Kind::Block], 0, comm.size());
    let a = LocalArray::<i64, Ix1, _>::from_fn(&d, comm, |g| g[0] % 2)?;
    let other = plain::distribution(&[6], &[Kind::Cyclic(1)], 0, comm.size());
    let b = LocalArray::<i64, Ix1, _>::from_fn(&other, comm, |g| g[0])?;
    let first = a.choose([Equalised(&b), Equalised(&a)], IndexMode::Raise)?;
    same(first.sum()?, 2 + 4 + 3, "numbers and their parities")?;
    if comm.size() == 1 {
        return Ok(());
    }
    let last = comm.rank() == comm.size() - 1;
    let few = vec![Equalised(&b); if last { 2 } else { 3 }];
    refused_everywhere(comm, a.choose(few, IndexMode::Raise), "number of choices")?;
    let mode = if last {
        IndexMode::Wrap
    } else {
        IndexMode::Clip
    };
    refused_everywhere(comm, a.choose([1_i64, 2], mode), "mode")?;
    let (mut fits, mut apart) = (a.copy(), b.copy());
    let out = if last { &mut apart } else { &mut fits };
    refused_everywhere(
        comm,
        a.choose_into([1_i64, 2], IndexMode::Raise, out),
        "out",
    )
}

/// No square of a divisor overflows or vanishes on the way.
fn elementwise_quotients_of_large_complex_numbers(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[6], &[Kind::Block], 0, comm.size());
    for size in [2_f32.powi(66), 2_f32.powi(-83)] {
        let a = LocalArray::<Complex32, Ix1, _>::full(&d, comm, Complex32::new(size, -size))?;
        let same_again = &a;
        let ones = (&a / same_again)?;
        same(ones.sum()?, Complex32::new(6.0, 0.0), "of the same")?;
        let turned = &a / Complex32::new(0.0, size);
        same(turned.sum()?, Complex32::new(-6.0, -6.0), "by i")?;
    }
    Ok(())
}
