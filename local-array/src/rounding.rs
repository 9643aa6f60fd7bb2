//! `clip` and `round`.

use dap_protocol::Element;
use dist_comm::Communicator;
use half::{bf16, f16};
use ndarray::{Data, DataMut, Dimension};
use num_complex::{Complex32, Complex64};

use crate::combine::combine;
use crate::operand::Side;
use crate::ufunc::Elementary;
use crate::{ArrayError, LocalArray, LocalArrayBase, Operand, Ordered};

/// Elements that [`round`](LocalArrayBase::round) rounds to decimals. Sealed, as the list of elements is. Local.
///
/// ```
/// use local_array::Rounding;
///
/// assert_eq!((2.5_f64.rounded(0), 0.25_f32.rounded(1)), (2.0, 0.2)); // half way the even one
/// assert_eq!((1250_i32.rounded(-2), 1250_i32.rounded(2)), (1200, 1250));
/// ```
pub trait Rounding: Element {
    /// What comes out: `f16` for `bool`, else the element itself.
    type Rounded: Element;
    /// Rounded to that many digits behind the point; in front of it where negative. Half way the even one.
    #[must_use]
    fn rounded(self, decimals: i32) -> Self::Rounded;
}

macro_rules! float_rounding {
    ($($t:ident: $power:expr;)*) => {$(
        impl Rounding for $t {
            type Rounded = Self;
            #[inline]
            #[allow(clippy::cast_possible_truncation, reason = "the power is taken in the element's precision")]
            fn rounded(self, decimals: i32) -> Self {
                let power: fn(i32) -> Self = $power;
                match decimals {
                    0 => self.rint(),
                    1.. => (self * power(decimals)).rint() / power(decimals),
                    _ => (self / power(decimals.saturating_neg())).rint() * power(decimals.saturating_neg()),
                }
            }
        }
    )*};
}

float_rounding! {
    f16: |decimals| f16::from_f64(10_f64.powi(decimals));
    bf16: |decimals| bf16::from_f64(10_f64.powi(decimals));
    f32: |decimals| 10_f64.powi(decimals) as f32;
    f64: |decimals| 10_f64.powi(decimals);
}

macro_rules! integer_rounding {
    ($($t:ident)*) => {$(
        impl Rounding for $t {
            type Rounded = Self;
            #[inline]
            #[allow(
                clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_lossless, clippy::cast_sign_loss,
                reason = "integers are rounded as f64"
            )]
            fn rounded(self, decimals: i32) -> Self {
                if decimals >= 0 { self } else { (self as f64).rounded(decimals) as Self }
            }
        }
    )*};
}

integer_rounding!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Rounding for bool {
    type Rounded = f16;
    fn rounded(self, decimals: i32) -> f16 {
        f16::from_f32(f32::from(u8::from(self))).rounded(decimals)
    }
}

impl Rounding for Complex32 {
    type Rounded = Self;
    fn rounded(self, decimals: i32) -> Self {
        Self::new(self.re.rounded(decimals), self.im.rounded(decimals))
    }
}

impl Rounding for Complex64 {
    type Rounded = Self;
    fn rounded(self, decimals: i32) -> Self {
        Self::new(self.re.rounded(decimals), self.im.rounded(decimals))
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The elements rounded to `decimals` digits behind the point, half way to the even one, in a new array; integers stay as
    /// they are unless `decimals` is negative. Local; padding is computed too.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let found = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |g| [0.5, 15.25, -155.0][g[0] as usize])?;
    ///     let mut tens = a.zeros_like::<f64>()?;
    ///     a.round_into(-1, &mut tens)?;
    ///     Ok::<_, ArrayError>((a.round(0).gather_to(0)?, a.round(1).gather_to(0)?, tens.gather_to(0)?))
    /// })?;
    /// assert_eq!(found[0].0, Some(array![0.0, 15.0, -155.0]));
    /// assert_eq!(found[0].1, Some(array![0.5, 15.2, -155.0]));
    /// assert_eq!(found[0].2, Some(array![0.0, 20.0, -160.0]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[must_use]
    pub fn round(&self, decimals: i32) -> LocalArray<<S::Elem as Rounding>::Rounded, D, C>
    where
        S::Elem: Rounding,
    {
        self.each(|x| x.rounded(decimals))
    }

    /// [`round`](Self::round), whose example has it, written to `out`. Local.
    ///
    /// # Errors
    /// As [`unary_into`](Self::unary_into).
    pub fn round_into<S2, D2, C2>(
        &self,
        decimals: i32,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Rounding,
        S2: DataMut<Elem = <S::Elem as Rounding>::Rounded>,
        D2: Dimension,
        C2: Communicator,
    {
        self.unary_into(Round(decimals), out)
    }

    /// The elements, at least `min` and at most `max`, in a new array: each bound an array, one value or
    /// [`Equalised`](crate::Equalised). Local; collective with `Equalised`. For one bound alone see
    /// [`maximum`](Self::maximum) and [`minimum`](Self::minimum).
    ///
    /// NaN, of an element or a bound, stays NaN; where the bounds cross, it is `max`. Complex numbers are ordered by real,
    /// then imaginary part.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |global| global[0])?;
    ///     let mut out = a.zeros_like::<i64>()?;
    ///     a.clip_into(1, 3, &mut out)?; // 1, 1, 2, 3, 3, 3
    ///     assert_eq!(out.sum()?, 13);
    ///     a.clip(2, &a.square())?.clip(0, 4)?.sum() // 0, 1, 2, 3, 4, 4
    /// })?;
    /// assert_eq!(sums, [14; 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn clip<L, H>(&self, min: L, max: H) -> Result<LocalArray<S::Elem, H::Dim, C>, ArrayError>
    where
        S::Elem: Ordered,
        L: Operand<S::Elem, D>,
        H: Operand<S::Elem, L::Dim>,
    {
        let (low, high) = (min.side(), max.side());
        let mine = if low.moves() || high.moves() {
            self.lent_to_move()
        } else {
            self.lent()
        };
        let push =
            &mut |x: &[S::Elem], low: &[S::Elem], high: &[S::Elem], out: &mut Vec<S::Elem>| {
                let clipped = x
                    .iter()
                    .zip(low)
                    .zip(high)
                    .map(|((&x, &low), &high)| clipped(x, low, high));
                out.extend(clipped);
            };
        combine((Side::Array(mine), low, high), &self.comm, push)
    }

    /// [`clip`](Self::clip), whose example has it, written to `out`. Local; collective with `Equalised`.
    ///
    /// # Errors
    /// As [`binary_into`](Self::binary_into).
    pub fn clip_into<S2, D2, C2>(
        &self,
        min: impl Operand<S::Elem, D>,
        max: impl Operand<S::Elem, D>,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Ordered,
        S2: DataMut<Elem = S::Elem>,
        D2: Dimension,
        C2: Communicator,
    {
        let (low, high) = (min.side(), max.side());
        let mine = if low.moves() || high.moves() {
            self.lent_to_move()
        } else {
            self.lent()
        };
        out.update_from((Side::Array(mine), low, high), &mut |out, x, low, high| {
            for (((out, &x), &low), &high) in out.iter_mut().zip(x).zip(low).zip(high) {
                *out = clipped(x, low, high);
            }
        })
    }
}

#[inline]
fn clipped<T: Ordered>(x: T, low: T, high: T) -> T {
    Ordered::lesser(Ordered::greater(x, low), high)
}

/// Rounding to so many decimals.
struct Round(i32);

impl<T: Rounding> crate::ufunc::UnaryOperation<T> for Round {
    type Output = T::Rounded;
    #[inline]
    fn apply(&self, x: T) -> T::Rounded {
        x.rounded(self.0)
    }
}
