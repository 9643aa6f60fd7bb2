//! What `NumPy` answers: fixtures made by the scripts beside them, and arrays to compare with them.

use std::cell::Cell;
use std::sync::Mutex;

use bytemuck::checked;
use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;
use local_array::{LocalArray, LocalArrayBase};
use ndarray::{ArrayD, Axis, Data, Dimension, IxDyn, ShapeBuilder};
use serde::Deserialize;

use super::{Failure, Outcome, ensure};

/// An array of the whole, on thread or MPI ranks.
pub type Whole<'a, T> = LocalArray<T, IxDyn, &'a dyn Communicator>;

/// One call: the arguments and what came out.
#[derive(Debug, Deserialize)]
pub struct Call {
    pub op: String,
    #[serde(default)]
    pub args: serde_json::Map<String, serde_json::Value>,
    pub inputs: Vec<Encoded>,
    pub outputs: Vec<Encoded>,
}

/// An array as dtype, shape and little-endian bytes in hex.
#[derive(Debug, Deserialize)]
pub struct Encoded {
    pub dtype: String,
    pub shape: Vec<usize>,
    hex: String,
}

impl Encoded {
    /// The array, whose dtype must be `T`'s.
    pub fn array<T: Element>(&self) -> Result<ArrayD<T>, Failure> {
        let code = self.dtype.trim_start_matches(['<', '|']);
        ensure(T::TYPE.numpy_code() == Some(code), || {
            format!("a fixture of {code} read as {}", T::TYPE)
        })?;
        let digits = self.hex.as_bytes().chunks_exact(2);
        let byte =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair)?, 16).map_err(Failure::from);
        let bytes: Vec<u8> = digits.map(byte).collect::<Result<_, _>>()?;
        let elements = bytes
            .chunks_exact(size_of::<T>())
            .map(checked::try_pod_read_unaligned);
        let elements: Vec<T> = elements
            .collect::<Result<_, _>>()
            .map_err(|e| e.to_string())?;
        Ok(ArrayD::from_shape_vec(IxDyn(&self.shape), elements)?)
    }
}

/// The calls in the text of a fixture, read once for all ranks and cases; its first line names `NumPy`'s version.
pub fn calls(fixture: &'static str) -> Result<&'static [Call], Failure> {
    static READ: Mutex<Vec<(&str, &[Call])>> = Mutex::new(Vec::new());
    let mut read = READ.lock().map_err(|_| "a panic while reading")?;
    let known = read.iter().find(|(text, _)| std::ptr::eq(*text, fixture));
    if let Some(&(_, calls)) = known {
        return Ok(calls);
    }
    let lines = fixture.lines().skip(1);
    let calls: Result<Vec<Call>, _> = lines.map(serde_json::from_str).collect();
    let calls: &'static [Call] = calls?.leak();
    read.push((fixture, calls));
    Ok(calls)
}

/// The extents of an array as the maps count them.
pub fn shape_of<T>(array: &ArrayD<T>) -> Vec<u64> {
    array.shape().iter().map(|&n| n as u64).collect()
}

/// How a part lies in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Memory {
    /// The last index fastest.
    Rows,
    /// The first index fastest.
    Columns,
    /// Negative strides.
    Backwards,
}

impl Memory {
    /// Another one each time on this rank.
    fn next() -> Self {
        thread_local!(static COUNT: Cell<usize> = const { Cell::new(0) });
        let count = COUNT.get();
        COUNT.set(count + 1);
        [Self::Rows, Self::Columns, Self::Backwards][count % 3]
    }

    fn filled<T: Element>(self, shape: &[usize], element: T) -> ArrayD<T> {
        let mut data = match self {
            Self::Columns => ArrayD::from_elem(IxDyn(shape).f(), element),
            Self::Rows | Self::Backwards => ArrayD::from_elem(IxDyn(shape), element),
        };
        if self == Self::Backwards {
            (0..shape.len()).for_each(|axis| data.invert_axis(Axis(axis)));
        }
        data
    }
}

/// `array`, spread over the ranks: owned elements by their global index, padding filled with what must not count; its
/// order in memory is another one each time.
pub fn spread<'a, T: Element>(
    array: &ArrayD<T>,
    distribution: &Distribution,
    comm: &'a dyn Communicator,
) -> Result<Whole<'a, T>, Failure> {
    spread_as(array, distribution, comm, Memory::next())
}

/// As [`spread`], in an order in memory of this rank.
pub fn spread_as<'a, T: Element>(
    array: &ArrayD<T>,
    distribution: &Distribution,
    comm: &'a dyn Communicator,
    memory: Memory,
) -> Result<Whole<'a, T>, Failure> {
    let zeros = LocalArray::<T, IxDyn, _>::zeros(distribution, comm)?;
    let odd = array.iter().next().copied().unwrap_or_default();
    let mut data = memory.filled(zeros.local().shape(), odd);
    let cells = super::plain::cells(distribution, comm.rank());
    for (slot, (index, owned)) in data.iter_mut().zip(cells) {
        if owned {
            let index: Vec<usize> = index.iter().map(|&g| g as usize).collect();
            *slot = array[&*index];
        }
    }
    Ok(LocalArray::from_array(data, distribution, comm)?)
}

/// The whole array, on every rank.
pub fn gathered<S, D, C>(array: &LocalArrayBase<S, D, C>) -> Result<ArrayD<S::Elem>, Failure>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    let whole = array.gather_to(0)?;
    let bytes = whole.map_or(Vec::new(), |whole| {
        whole
            .iter()
            .flat_map(|element| bytemuck::bytes_of(element).to_vec())
            .collect()
    });
    let bytes = array.comm().broadcast_vec(0, bytes)?;
    let elements = bytes
        .chunks_exact(size_of::<S::Elem>())
        .map(checked::try_pod_read_unaligned);
    let elements: Vec<S::Elem> = elements
        .collect::<Result<_, _>>()
        .map_err(|e| e.to_string())?;
    let shape: Vec<usize> = array.global_shape().iter().map(|&n| n as usize).collect();
    Ok(ArrayD::from_shape_vec(IxDyn(&shape), elements)?)
}

/// Elements that a test compares, exactly or with a tolerance relative to the wanted one. NaN equals NaN.
pub trait Close: Element + std::fmt::Debug {
    fn is_close(self, wanted: Self, tolerance: f64) -> bool;
}

macro_rules! close {
    ($($t:ty: |$x:ident, $y:ident, $tol:ident| $test:expr;)*) => {$(
        impl Close for $t {
            fn is_close(self, wanted: Self, $tol: f64) -> bool {
                let ($x, $y) = (self, wanted);
                $test
            }
        }
    )*};
}

fn near(x: f64, y: f64, tolerance: f64) -> bool {
    x == y
        || (x.is_nan() && y.is_nan())
        || (x - y).abs() <= tolerance * y.abs().max(f64::MIN_POSITIVE)
}

close! {
    bool: |x, y, _t| x == y;
    i8: |x, y, _t| x == y;
    i16: |x, y, _t| x == y;
    i32: |x, y, _t| x == y;
    i64: |x, y, _t| x == y;
    u8: |x, y, _t| x == y;
    u16: |x, y, _t| x == y;
    u32: |x, y, _t| x == y;
    u64: |x, y, _t| x == y;
    half::f16: |x, y, t| near(x.to_f64(), y.to_f64(), t);
    half::bf16: |x, y, t| near(x.to_f64(), y.to_f64(), t);
    f32: |x, y, t| near(f64::from(x), f64::from(y), t);
    f64: |x, y, t| near(x, y, t);
    num_complex::Complex32: |x, y, t| near(f64::from(x.re), f64::from(y.re), t) && near(f64::from(x.im), f64::from(y.im), t);
    num_complex::Complex64: |x, y, t| near(x.re, y.re, t) && near(x.im, y.im, t);
}

/// Fails unless the two have the same shape and elements.
pub fn alike<T: Close>(
    found: &ArrayD<T>,
    wanted: &ArrayD<T>,
    tolerance: f64,
    what: &str,
) -> Outcome {
    let same = found.shape() == wanted.shape()
        && found
            .iter()
            .zip(wanted)
            .all(|(&x, &y)| x.is_close(y, tolerance));
    ensure(same, || {
        format!("{what}: found {found:?}, wanted {wanted:?}")
    })
}

/// Fails unless the whole of `found` is `wanted`. Collective.
pub fn whole_alike<S, D, C>(
    found: &LocalArrayBase<S, D, C>,
    wanted: &ArrayD<S::Elem>,
    tolerance: f64,
    what: &str,
) -> Outcome
where
    S: Data<Elem: Close>,
    D: Dimension,
    C: Communicator + Clone,
{
    alike(&gathered(found)?, wanted, tolerance, what)
}
