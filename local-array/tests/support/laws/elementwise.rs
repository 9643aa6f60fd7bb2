//! Laws of element-wise operations.

use dist_comm::Communicator;
use local_array::{Equalised, LocalArray, equalise, ufunc, where_};
use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;

use super::kind;
use crate::support::numpy::{Whole, gathered, spread, whole_alike};
use crate::support::plain::{self, Kind};
use crate::support::{Failure, Outcome, same};

/// A shape, which of its axes have extent 1 in an operand, and how many leading ones that lacks; and its distribution.
#[derive(Clone, Debug)]
pub struct Operand {
    shape: Vec<u64>,
    kinds: Vec<Kind>,
    padding: u64,
}

fn operand(shape: Vec<u64>) -> impl Strategy<Value = Operand> {
    let ndim = shape.len();
    (
        prop::collection::vec(any::<bool>(), ndim),
        0..=ndim,
        prop::collection::vec(kind(), ndim),
        0..3_u64,
    )
        .prop_map(move |(ones, dropped, kinds, padding)| {
            let extents = shape
                .iter()
                .zip(&ones)
                .map(|(&n, &one)| if one { 1 } else { n });
            Operand {
                shape: extents.skip(dropped).collect(),
                kinds: kinds.into_iter().skip(dropped).collect(),
                padding,
            }
        })
}

/// Two operands that broadcast to one shape.
pub fn pair() -> impl Strategy<Value = [Operand; 2]> {
    prop::collection::vec(0..7_u64, 0..4)
        .prop_flat_map(|shape| [operand(shape.clone()), operand(shape)])
}

fn placed<'a>(
    o: &Operand,
    scale: i64,
    comm: &'a dyn Communicator,
) -> Result<Whole<'a, i64>, Failure> {
    let d = plain::distribution(&o.shape, &o.kinds, o.padding, comm.size());
    spread(&plain_array(o, scale), &d, comm)
}

fn plain_array(operand: &Operand, scale: i64) -> ArrayD<i64> {
    let extents: Vec<usize> = operand.shape.iter().map(|&n| n as usize).collect();
    let mut next = 0;
    ArrayD::from_shape_simple_fn(IxDyn(&extents), || {
        next += 1;
        scale * next
    })
}

/// `f` of both, broadcast by `ndarray`.
fn broadcast(a: &ArrayD<i64>, b: &ArrayD<i64>, f: impl Fn(i64, i64) -> i64) -> ArrayD<i64> {
    let sum = a + b;
    let (a, b) = (
        a.broadcast(sum.raw_dim()).unwrap(),
        b.broadcast(sum.raw_dim()).unwrap(),
    );
    ndarray::Zip::from(a).and(b).map_collect(|&a, &b| f(a, b))
}

pub fn equalised_arrays_broadcast_as_plain_ones(
    [a, b]: &[Operand; 2],
    comm: &dyn Communicator,
) -> Outcome {
    let (first, second) = (plain_array(a, 1), plain_array(b, 10));
    let wanted = [
        broadcast(&first, &second, |x, y| x - 3 * y),
        broadcast(&first, &second, |x, y| if x % 2 == 0 { x } else { y }),
    ];
    let (x, y) = (placed(a, 1, comm)?, placed(b, 10, comm)?);
    let f = |x: i64, y: i64| x - 3 * y;
    let mapped = x
        .zip_map(Equalised(&y), f)
        .or_else(|_| y.zip_map(Equalised(&x), |y, x| f(x, y)))
        .or_else(|_| {
            let (x, y) = equalise(&x, &y)?;
            x.zip_map(&y, f)
        });
    whole_alike(&mapped?, &wanted[0], 0.0, "zip_map")?;
    let threes = &y * 3;
    // Where the left array has to move too, only `equalise` brings them together.
    let plain = || {
        let (x, y) = equalise(&x, &threes)?;
        &x - &y
    };
    let difference = (&x - Equalised(&threes)).or_else(|_| plain());
    whole_alike(&difference?, &wanted[0], 0.0, "operator")?;
    let difference = x.binary(ufunc::Subtract, Equalised(&threes));
    whole_alike(&difference.or_else(|_| plain())?, &wanted[0], 0.0, "binary")?;
    let (p, q) = equalise(&x, &y)?;
    whole_alike(&p.zip_map(&q, f)?, &wanted[0], 0.0, "equalise")?;
    let even = x.remainder(2)?.equal(0)?;
    let chosen =
        where_(&even, &x, Equalised(&y)).or_else(|_| where_(&p.remainder(2)?.equal(0)?, &p, &q));
    whole_alike(&chosen?, &wanted[1], 0.0, "where")
}

pub fn what_is_replicated_needs_no_communication(
    [a, b]: &[Operand; 2],
    comm: &dyn Communicator,
) -> Outcome {
    let wanted = broadcast(&plain_array(a, 1), &plain_array(b, 10), |x, y| x + y);
    let shape: Vec<u64> = wanted.shape().iter().map(|&n| n as u64).collect();
    let longer = if a.shape.len() >= b.shape.len() { a } else { b };
    let mut kinds = longer.kinds.clone();
    kinds.resize(shape.len(), Kind::Block);
    let d = plain::distribution(&shape, &kinds, 1, comm.size());
    let mut out = LocalArray::<i64, IxDyn, _>::zeros(&d, comm)?;
    let x = placed(a, 1, comm)?.replicate_like(&out)?;
    let y = placed(b, 10, comm)?.replicate_like(&out)?;
    // Only rank 0 goes on at first: were there communication, it would wait.
    let sum = if comm.rank() == 0 {
        Some((&x + &y)?)
    } else {
        None
    };
    comm.barrier()?;
    let sum = match sum {
        Some(sum) => sum,
        None => (&x + &y)?,
    };
    whole_alike(&sum, &wanted, 0.0, "sum")?;
    x.binary_into(ufunc::Add, &y, &mut out)?;
    same(gathered(&out)?, wanted, "into")
}

pub fn numbers() -> impl Strategy<Value = Vec<(i16, i16)>> {
    prop::collection::vec(any::<(i16, i16)>(), 0..40)
}

#[expect(clippy::ptr_arg, reason = "the type of the input")]
pub fn arithmetic_keeps_its_laws(numbers: &Vec<(i16, i16)>, comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[numbers.len() as u64], &[Kind::Cyclic(3)], 0, comm.size());
    let a = LocalArray::<i16, IxDyn, _>::from_fn(&d, comm, |g| numbers[g[0] as usize].0)?;
    let b = LocalArray::<i16, IxDyn, _>::from_fn(&d, comm, |g| numbers[g[0] as usize].1)?;
    // a = (a // b) · b + a mod b, and the same truncated, wherever b is not 0
    let floored = (&(&a.floor_divide(&b)? * &b)? + &a.remainder(&b)?)?;
    let truncated = (&(&(&a / &b)? * &b)? + &a.fmod(&b)?)?;
    let zero = b.equal(0)?;
    same(where_(&zero, &a, &floored)?.local(), a.local(), "floored")?;
    same(
        where_(&zero, &a, &truncated)?.local(),
        a.local(),
        "truncated",
    )?;
    same((&a + &b)?.local(), (&b + &a)?.local(), "+ commutes")?;
    same((!&(&a & &b)?).local(), (&!&a | &!&b)?.local(), "de Morgan")?;
    let reflected = a.binary(ufunc::Reflected(ufunc::Subtract), &b)?;
    same(reflected.local(), (&b - &a)?.local(), "reflected")?;
    let less = a.less(&b)?;
    same((!&less).local(), a.greater_equal(&b)?.local(), "an order")?;
    same(
        a.maximum(&b)?.local(),
        where_(&less, &b, &a)?.local(),
        "maximum",
    )?;
    same(
        a.clip(-5, 5)?.local(),
        a.maximum(-5)?.minimum(5)?.local(),
        "clip",
    )
}
