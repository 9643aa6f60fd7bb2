//! Evenly spaced numbers: [`arange`](LocalArray::arange), [`linspace`](LocalArray::linspace), [`logspace`](LocalArray::logspace).

use bytemuck::Zeroable;
use dap_protocol::{Element, ElementType};
use dist_comm::Communicator;
use half::{bf16, f16};
use ndarray::Dimension;
use num_complex::{Complex32, Complex64};

use crate::fill::fill_by_index;
use crate::{Arithmetic, ArrayError, Cast, LocalArray, Spread};

/// An argument of [`arange`](LocalArray::arange): an integer or a float, made from any by `into()`. Local.
///
/// ```
/// use local_array::Number;
///
/// assert_eq!(Number::from(3_u8), Number::Int(3));
/// assert_eq!(Number::from(0.5_f32), Number::Float(0.5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer; all types of up to 64 bits have room.
    Int(i128),
    /// A float.
    Float(f64),
}

macro_rules! number {
    ($($t:ty => $variant:ident),* $(,)?) => {$(
        impl From<$t> for Number {
            fn from(x: $t) -> Self {
                Self::$variant(x.into())
            }
        }
    )*};
}

number! {
    i8 => Int, i16 => Int, i32 => Int, i64 => Int, u8 => Int, u16 => Int, u32 => Int, u64 => Int,
    f32 => Float, f64 => Float,
}

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "as NumPy turns integers into floats"
    )]
    fn to_f64(self) -> f64 {
        match self {
            Self::Int(x) => x as f64,
            Self::Float(x) => x,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Int(x) => x.to_string(),
            Self::Float(x) => x.to_string(),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low bits, as `Cast` says of integers"
    )]
    fn cast<T>(self) -> T
    where
        f64: Cast<T>,
        i64: Cast<T>,
        u64: Cast<T>,
    {
        match self {
            Self::Float(x) => x.cast(),
            Self::Int(x) => match u64::try_from(x) {
                Ok(x) => x.cast(),
                Err(_) => (x as i64).cast(),
            },
        }
    }
}

/// Elements that [`arange`](LocalArray::arange) counts in: all but `bool`. Local.
///
/// ```
/// use local_array::Steps;
///
/// assert_eq!(i8::step(1, 3, 4), 9); // 1 3 5 7 9
/// assert_eq!(f64::step(0.5, 1.0, 3), 2.0);
/// ```
pub trait Steps: Element {
    /// Element `i` of the sequence that begins with `first` and `second`, by `NumPy`'s formula.
    #[must_use]
    fn step(first: Self, second: Self, i: u64) -> Self;
}

macro_rules! steps {
    ($($t:ty: |$first:ident, $second:ident, $i:ident| $value:expr;)*) => {$(
        impl Steps for $t {
            #[inline]
            #[allow(
                clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_precision_loss,
                clippy::cast_sign_loss, clippy::unnecessary_cast,
                reason = "integers wrap, floats are rounded"
            )]
            fn step($first: Self, $second: Self, $i: u64) -> Self {
                match $i {
                    0 => $first,
                    1 => $second,
                    _ => $value,
                }
            }
        }
    )*};
}

macro_rules! integer_steps {
    ($($t:ty),*) => {
        steps! {$($t: |first, second, i| first.wrapping_add(second.wrapping_sub(first).wrapping_mul(i as $t));)*}
    };
}

integer_steps!(i8, i16, i32, i64, u8, u16, u32, u64);
steps! {
    f32: |first, second, i| first + i as f32 * (second - first);
    f64: |first, second, i| first + i as f64 * (second - first);
    f16: |first, second, i| f16::from_f32(f32::step(first.to_f32(), second.to_f32(), i));
    bf16: |first, second, i| bf16::from_f32(f32::step(first.to_f32(), second.to_f32(), i));
    Complex32: |first, second, i| Complex32::new(f32::step(first.re, second.re, i), f32::step(first.im, second.im, i));
    Complex64: |first, second, i| Complex64::new(f64::step(first.re, second.re, i), f64::step(first.im, second.im, i));
}

/// What [`linspace`](LocalArray::linspace) and [`logspace`](LocalArray::logspace) compute in: `f64` and `Complex64`. Local.
///
/// ```
/// use local_array::Spaced;
///
/// assert_eq!(f64::count(4), 4.0);
/// assert_eq!(Spaced::floor(-2.5_f64), -3.0);
/// assert_eq!(3.0_f64.power_of(2.0), 8.0); // 2³
/// ```
pub trait Spaced: Arithmetic {
    /// A count as a number.
    #[must_use]
    fn count(n: u64) -> Self;
    /// The integer below: of a complex number, of both its parts.
    #[must_use]
    fn floor(self) -> Self;
    /// `base` to this power.
    #[must_use]
    fn power_of(self, base: f64) -> Self;
}

impl Spaced for f64 {
    #[expect(
        clippy::cast_precision_loss,
        reason = "as NumPy turns integers into floats"
    )]
    fn count(n: u64) -> Self {
        n as f64
    }
    fn floor(self) -> Self {
        self.floor()
    }
    fn power_of(self, base: f64) -> Self {
        base.powf(self)
    }
}

impl Spaced for Complex64 {
    fn count(n: u64) -> Self {
        Self::new(f64::count(n), 0.0)
    }
    fn floor(self) -> Self {
        Self::new(self.re.floor(), self.im.floor())
    }
    fn power_of(self, base: f64) -> Self {
        Self::new(base, 0.0).powc(self)
    }
}

/// `num` numbers from `start` to `stop`.
#[derive(Clone, Copy)]
struct Line<N> {
    start: N,
    stop: N,
    num: u64,
    endpoint: bool,
    /// Distances from first to last; 0 where there is none.
    intervals: u64,
    step: N,
}

impl<N: Spaced> Line<N> {
    fn new(start: N, stop: N, num: u64, endpoint: bool) -> Self {
        let intervals = if endpoint { num.saturating_sub(1) } else { num };
        let step = match intervals {
            0 => N::count(0).over(N::count(0)), // NaN, as NumPy says
            _ => stop.minus(start).over(N::count(intervals)),
        };
        Self {
            start,
            stop,
            num,
            endpoint,
            intervals,
            step,
        }
    }

    fn at(&self, i: u64) -> N {
        if self.endpoint && self.num > 1 && i + 1 == self.num {
            return self.stop;
        }
        let (i, delta) = (N::count(i), self.stop.minus(self.start));
        let gone = if self.intervals == 0 {
            i.times(delta)
        } else if self.step == N::count(0) {
            i.over(N::count(self.intervals)).times(delta)
        } else {
            i.times(self.step)
        };
        gone.plus(self.start)
    }
}

impl<T: Element, D: Dimension, C: Communicator> LocalArray<T, D, C> {
    /// The numbers `start`, `start + step`, … below `stop`: `NumPy`'s `arange`, of shape `(⌈(stop - start) / step⌉,)`. Local;
    /// every rank gives the same.
    ///
    /// `T` is `DistArray`'s `dtype`. With integers alone the length is exact; where one argument is a float it is computed in
    /// `f64`. As in `NumPy` the first two elements are `start` and `start + step` as `T`, and what follows goes on in `T` with
    /// their difference. `DistArray`'s `arange(stop)` is `arange(0, stop, 1, …)`.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<f32, Ix1, _>::arange(1, 2, 0.25, "b", comm)?;
    ///     Ok::<_, ArrayError>(a.local().to_vec())
    /// })?;
    /// assert_eq!(parts, [[1.0, 1.25], [1.5, 1.75]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Argument`] for a step of 0, and for more elements than 63 bits count or none that can be counted; as
    /// [`zeros`](Self::zeros) and [`Spread::distribution`].
    pub fn arange(
        start: impl Into<Number>,
        stop: impl Into<Number>,
        step: impl Into<Number>,
        spread: impl Spread,
        comm: C,
    ) -> Result<Self, ArrayError>
    where
        T: Steps,
        f64: Cast<T>,
        i64: Cast<T>,
        u64: Cast<T>,
    {
        let (start, stop, step) = (start.into(), stop.into(), step.into());
        let len = length(start, stop, step)?;
        let second = match (start, step) {
            (Number::Int(a), Number::Int(b)) => Number::Int(a.saturating_add(b)),
            _ => Number::Float(start.to_f64() + step.to_f64()),
        };
        let is_float = matches!(second, Number::Float(_));
        let first = if is_float {
            Number::Float(start.to_f64())
        } else {
            start
        };
        let (first, second): (T, T) = (first.cast(), second.cast());
        Self::by_position(len, spread, comm, |i| T::step(first, second, i))
    }

    /// `num` evenly spaced numbers from `start` on: up to and including `stop`, or short of it by one step where `endpoint` is
    /// false: `NumPy`'s `linspace`, of shape `(num,)`. Local; every rank gives the same.
    ///
    /// Computed in the type of `start` and `stop`, `f64` or `Complex64`, and then made `T` (`DistArray`'s `dtype`): rounded down
    /// where `T` is an integer. [`linspace_step`](Self::linspace_step) is `DistArray`'s `retstep=True`.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<f64, Ix1, _>::linspace(2.0, 3.0, 5, true, "b", comm)?;
    ///     let (b, step) = LocalArray::<i32, Ix1, _>::linspace_step(0.0, 10.0, 4, false, "b", comm)?;
    ///     assert_eq!((b.gather_to(0)?, step), ((comm.rank() == 0).then(|| array![0, 2, 5, 7]), 2.5));
    ///     let c = LocalArray::<f64, Ix1, _>::logspace(0.0, 3.0, 4, true, 2.0, "b", comm)?; // 1 2 4 8
    ///     assert_eq!(c.sum()?, 15.0);
    ///     Ok::<_, ArrayError>(a.local().to_vec())
    /// })?;
    /// assert_eq!(parts, [vec![2.0, 2.25, 2.5], vec![2.75, 3.0]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros) and [`Spread::distribution`].
    pub fn linspace<N: Spaced + Cast<T>>(
        start: N,
        stop: N,
        num: u64,
        endpoint: bool,
        spread: impl Spread,
        comm: C,
    ) -> Result<Self, ArrayError> {
        Ok(Self::linspace_step(start, stop, num, endpoint, spread, comm)?.0)
    }

    /// [`linspace`](Self::linspace) and its step: NaN where there are no two elements to step between. Local.
    /// Example: see [`linspace`](Self::linspace).
    ///
    /// # Errors
    /// As [`linspace`](Self::linspace).
    pub fn linspace_step<N: Spaced + Cast<T>>(
        start: N,
        stop: N,
        num: u64,
        endpoint: bool,
        spread: impl Spread,
        comm: C,
    ) -> Result<(Self, N), ArrayError> {
        let line = Line::new(start, stop, num, endpoint);
        let array = Self::by_position(num, spread, comm, |i| as_element(line.at(i)))?;
        Ok((array, line.step))
    }

    /// `num` numbers evenly spaced on a logarithmic scale, from `base` to the power of `start` on: `NumPy`'s `logspace`, of
    /// shape `(num,)`; see [`linspace`](Self::linspace) for the powers and an example. Local; every rank gives the same.
    ///
    /// # Errors
    /// As [`linspace`](Self::linspace).
    pub fn logspace<N: Spaced + Cast<T>>(
        start: N,
        stop: N,
        num: u64,
        endpoint: bool,
        base: f64,
        spread: impl Spread,
        comm: C,
    ) -> Result<Self, ArrayError> {
        let line = Line::new(start, stop, num, endpoint);
        Self::by_position(num, spread, comm, |i| line.at(i).power_of(base).cast())
    }

    fn by_position(
        len: u64,
        spread: impl Spread,
        comm: C,
        f: impl Fn(u64) -> T,
    ) -> Result<Self, ArrayError>
    where
        T: Zeroable,
    {
        let distribution = spread.distribution(&[len], comm.size())?;
        let mut array = Self::zeros(&distribution, comm)?;
        fill_by_index(&mut array.data, &array.part, |at| f(at[0].cast_unsigned()));
        Ok(array)
    }
}

/// A number as an element; rounded down where the element is an integer.
fn as_element<N: Spaced + Cast<T>, T: Element>(x: N) -> T {
    use ElementType::{I8, I16, I32, I64, U8, U16, U32, U64};
    match T::TYPE {
        I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => x.floor().cast(),
        _ => x.cast(),
    }
}

/// How many elements `arange` has.
fn length(start: Number, stop: Number, step: Number) -> Result<u64, ArrayError> {
    let wrong = |what, given: String, allowed: &str| ArrayError::Argument {
        what,
        given,
        allowed: allowed.to_owned(),
    };
    if step.to_f64() == 0.0 {
        return Err(wrong("step", step.text(), "any but 0"));
    }
    let too_many = |given| wrong("number of elements", given, "0 to 2^63 - 1");
    if let (Number::Int(start), Number::Int(stop), Number::Int(step)) = (start, stop, step) {
        let (from, to) = if step > 0 {
            (start, stop)
        } else {
            (stop, start)
        };
        let way = if from < to { from.abs_diff(to) } else { 0 };
        let len = way.div_ceil(step.unsigned_abs());
        let fits = i64::try_from(len).map_err(|_| too_many(len.to_string()))?;
        return Ok(fits.cast_unsigned());
    }
    let way = stop.to_f64() - start.to_f64();
    let steps = way / step.to_f64();
    if steps == 0.0 && way != 0.0 {
        return Ok(u64::from(steps.is_sign_positive())); // less than the least float of one step
    }
    let len = steps.ceil();
    if len.is_nan() || len >= 9.0e18 {
        return Err(too_many(len.to_string()));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an integer from 0 to 9e18"
    )]
    Ok(len.max(0.0) as u64)
}
