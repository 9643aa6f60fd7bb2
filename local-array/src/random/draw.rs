//! [`Draw`]: from random words to an element, and the distributions that need one word.

use dap_protocol::Element;
use half::{bf16, f16};

use crate::{ArrayError, Cast};

/// A distribution to draw elements from. Open: implement it for yours and give it to
/// [`Random::array`](super::Random::array), which shows how. Local.
///
/// An attempt has a fixed number of random words, so that the words of an element can be found by its index; a draw that
/// rejects an attempt gets other words for the same element.
///
/// Those that are here:
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::random::{
///     Beta, Draw, Exponential, Normal, Randint, Random, StandardNormal, StandardUniform, Uniform,
/// };
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix1;
///
/// ThreadComm::run(2, |comm| {
///     let mut random = Random::new(5); // the same on each rank, as what is drawn
///     let share: f64 = random.value(&StandardUniform); // from one word
///     assert_eq!((Draw::<f64>::words(&StandardUniform), Draw::<f64>::words(&Beta::new(2.0, 3.0)?)), (1, 2));
///     let part: f32 = random.value(&Beta::new(2.0, 3.0)?);
///     let angle: f64 = random.value(&Uniform::new(-3.0, 3.0)?);
///     let error: f64 = random.value(&StandardNormal);
///     let height: f64 = random.value(&Normal::new(170.0, 8.0)?);
///     let die: u8 = random.value(&Randint::new::<u8>(1, 7)?);
///     assert!((0.0..1.0).contains(&share) && (0.0..=1.0).contains(&part) && angle.abs() <= 3.0);
///     assert!(error.abs() < 8.3 && (height - 170.0).abs() < 8.3 * 8.0 && (1..7).contains(&die));
///     let blocks = Distribution::over(2).shape([5]).block(0).build()?;
///     let waits: LocalArray<f64, Ix1, _> = random.array(&Exponential::new(2.0)?, &blocks, comm)?;
///     assert!(waits.min()? > 0.0);
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub trait Draw<T> {
    /// The words of one attempt.
    #[must_use]
    fn words(&self) -> usize {
        1
    }

    /// An element from [`words`](Self::words) random words, or `None` to be given others. The same words give the same answer.
    fn draw(&self, words: &[u64]) -> Option<T>;
}

/// Floats that can be drawn, as by [`rand`](super::Random::rand): `f16`, `bf16`, `f32`, `f64`. Local.
///
/// ```
/// use local_array::random::RandomFloat;
///
/// assert_eq!((f64::unit(1 << 63), f32::unit(3 << 62)), (0.5, 0.75));
/// assert_eq!(f32::nearest(0.1), 0.1_f32);
/// ```
pub trait RandomFloat: Element {
    /// Uniform in `[0, 1)`, as many bits as the type has below 1. Local.
    #[must_use]
    fn unit(word: u64) -> Self;
    /// The nearest of this type. Local.
    #[must_use]
    fn nearest(x: f64) -> Self;
}

macro_rules! random_float {
    ($($t:ty, $bits:literal;)*) => {$(
        impl RandomFloat for $t {
            #[inline]
            #[allow(clippy::cast_precision_loss, reason = "as many bits as the type holds")]
            fn unit(word: u64) -> Self {
                const SCALE: f64 = 1.0 / (1_u64 << $bits) as f64;
                Self::nearest((word >> (64 - $bits)) as f64 * SCALE)
            }
            #[inline]
            fn nearest(x: f64) -> Self {
                x.cast()
            }
        }
    )*};
}

random_float! {
    f16, 11;
    bf16, 8;
    f32, 24;
    f64, 53;
}

/// A number of `(0, 1)` that has `f64`'s full precision near 0, and its distance from 1 there too.
#[derive(Clone, Copy)]
pub(super) struct Open {
    /// The number, or its distance from 1 where that is less.
    pub(super) nearer: f64,
    /// Whether `nearer` is the distance from 1.
    pub(super) is_upper: bool,
}

impl Open {
    #[inline]
    #[expect(clippy::cast_precision_loss, reason = "at most 53 bits")]
    pub(super) fn new(word: u64) -> Self {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        let is_upper = word >> 63 == 1;
        let bits = (word >> 11) & ((1 << 52) - 1);
        Self {
            nearer: (bits as f64 + 0.5) * SCALE,
            is_upper,
        }
    }

    /// The number itself; 1 where only `nearer` tells it from 1.
    #[inline]
    pub(super) fn value(self) -> f64 {
        if self.is_upper {
            1.0 - self.nearer
        } else {
            self.nearer
        }
    }

    /// `ln(x)`.
    #[inline]
    pub(super) fn ln(self) -> f64 {
        if self.is_upper {
            libm::log1p(-self.nearer)
        } else {
            libm::log(self.nearer)
        }
    }

    /// `ln(x / (1 - x))`.
    #[inline]
    pub(super) fn logit(self) -> f64 {
        let odds = libm::log(self.nearer) - libm::log1p(-self.nearer);
        if self.is_upper { -odds } else { odds }
    }
}

/// Uniform in `[0, 1)`, from as many bits as the type has below 1. Example: see [`Draw`]. Local.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StandardUniform;

impl<T: RandomFloat> Draw<T> for StandardUniform {
    #[inline]
    fn draw(&self, words: &[u64]) -> Option<T> {
        Some(T::unit(words[0]))
    }
}

/// Uniform in `[low, high)`; where `high - low` has few bits, rounding may give `high`. Example: see [`Draw`]. Local.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform {
    low: f64,
    range: f64,
}

impl Uniform {
    /// The least, and what all are less than. Local. Example: see [`Draw`].
    ///
    /// # Errors
    /// [`ArrayError::Argument`] unless the bounds are finite and in order.
    pub fn new(low: f64, high: f64) -> Result<Self, ArrayError> {
        let range = high - low;
        check(
            "high",
            high,
            "a finite one, at least low",
            range >= 0.0 && range.is_finite(),
        )?;
        Ok(Self { low, range })
    }
}

impl<T: RandomFloat> Draw<T> for Uniform {
    #[inline]
    fn draw(&self, words: &[u64]) -> Option<T> {
        Some(T::nearest(self.low + self.range * f64::unit(words[0])))
    }
}

/// Normal with mean 0 and deviation 1, by inversion (M. J. Wichura, "Algorithm AS 241: the percentage points of the normal
/// distribution", 1988): within 8.3 deviations. Example: see [`Draw`]. Local.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StandardNormal;

impl<T: RandomFloat> Draw<T> for StandardNormal {
    #[inline]
    fn draw(&self, words: &[u64]) -> Option<T> {
        Some(T::nearest(quantile(Open::new(words[0]))))
    }
}

/// Normal, by inversion as [`StandardNormal`]. Example: see [`Draw`]. Local.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normal {
    loc: f64,
    scale: f64,
}

impl Normal {
    /// Mean and standard deviation. Local. Example: see [`Draw`].
    ///
    /// # Errors
    /// [`ArrayError::Argument`] for a negative deviation, or NaN.
    pub fn new(loc: f64, scale: f64) -> Result<Self, ArrayError> {
        check("scale", scale, "0 or more", scale >= 0.0)?;
        Ok(Self { loc, scale })
    }
}

impl<T: RandomFloat> Draw<T> for Normal {
    #[inline]
    fn draw(&self, words: &[u64]) -> Option<T> {
        Some(T::nearest(
            self.loc + self.scale * quantile(Open::new(words[0])),
        ))
    }
}

/// Exponential, by inversion: `-scale · ln(u)`. Example: see [`Draw`]. Local.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    scale: f64,
}

impl Exponential {
    /// The mean. Local. Example: see [`Draw`].
    ///
    /// # Errors
    /// [`ArrayError::Argument`] for a negative mean, or NaN.
    pub fn new(scale: f64) -> Result<Self, ArrayError> {
        check("scale", scale, "0 or more", scale >= 0.0)?;
        Ok(Self { scale })
    }
}

impl<T: RandomFloat> Draw<T> for Exponential {
    #[inline]
    fn draw(&self, words: &[u64]) -> Option<T> {
        Some(T::nearest(-self.scale * Open::new(words[0]).ln()))
    }
}

/// Elements of [`randint`](super::Random::randint), as in the example of [`rand`](super::Random::rand): the integers and `bool`.
/// Local.
///
/// ```
/// use local_array::random::RandomInteger;
///
/// assert_eq!((i8::LEAST, i8::END, bool::END), (-128, 128, 2));
/// assert_eq!((i8::from_integer(-3), bool::from_integer(1)), (-3, true));
/// ```
pub trait RandomInteger: Element {
    /// The least.
    const LEAST: i128;
    /// One past the greatest.
    const END: i128;
    /// The integer as an element; its low bits, though none given here is out of range. Local.
    #[must_use]
    fn from_integer(x: i128) -> Self;
}

macro_rules! random_integer {
    ($($t:ty),*) => {$(
        impl RandomInteger for $t {
            const LEAST: i128 = <$t>::MIN as i128;
            const END: i128 = <$t>::MAX as i128 + 1;
            #[inline]
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
            fn from_integer(x: i128) -> Self {
                x as $t
            }
        }
    )*};
}

random_integer!(i8, i16, i32, i64, u8, u16, u32, u64);

impl RandomInteger for bool {
    const LEAST: i128 = 0;
    const END: i128 = 2;
    #[inline]
    fn from_integer(x: i128) -> Self {
        x & 1 == 1
    }
}

/// Integers of `low..high`, each exactly as likely (D. Lemire, "Fast random integer generation in an interval", 2019).
/// Example: see [`Draw`]. Local.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Randint {
    low: i128,
    /// How many there are, at most 2^64.
    count: u128,
    /// Products below this in their low bits would make some integers likelier.
    unfair: u64,
}

impl Randint {
    /// The first integer and one past the last, of those that `T` has. Local. Example: see [`Draw`].
    ///
    /// # Errors
    /// [`ArrayError::Argument`] when there is none, or `T` does not have them all.
    pub fn new<T: RandomInteger>(low: i128, high: i128) -> Result<Self, ArrayError> {
        if low >= high || low < T::LEAST || high > T::END {
            return Err(ArrayError::Argument {
                what: "low..high",
                given: format!("{low}..{high}"),
                allowed: format!("some of {}..{} of {}", T::LEAST, T::END, T::TYPE),
            });
        }
        let count = (high - low).cast_unsigned();
        let unfair = (1_u128 << 64) % count;
        Ok(Self {
            low,
            count,
            unfair: u64::try_from(unfair).unwrap_or(0),
        })
    }
}

impl<T: RandomInteger> Draw<T> for Randint {
    #[inline]
    fn draw(&self, words: &[u64]) -> Option<T> {
        // The high half of the product, after Lemire; below 2^128 as count is at most 2^64.
        let product = u128::from(words[0]) * self.count;
        #[expect(clippy::cast_possible_truncation, reason = "the low half")]
        let is_fair = product as u64 >= self.unfair;
        is_fair.then(|| T::from_integer(self.low + (product >> 64).cast_signed()))
    }
}

/// Checks an argument.
pub(super) fn check(
    what: &'static str,
    given: f64,
    allowed: &str,
    condition: bool,
) -> Result<(), ArrayError> {
    if condition {
        return Ok(());
    }
    Err(ArrayError::Argument {
        what,
        given: given.to_string(),
        allowed: allowed.to_owned(),
    })
}

/// The standard normal's quantile, by the rational approximations of algorithm AS 241 (M. J. Wichura, Applied Statistics 37,
/// 1988), good to about 16 digits.
#[inline]
fn quantile(p: Open) -> f64 {
    let q = if p.is_upper {
        0.5 - p.nearer
    } else {
        p.nearer - 0.5
    };
    if q.abs() <= 0.425 {
        let r = 0.425 * 0.425 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let r = libm::log(p.nearer);
    let r = (-r).sqrt();
    let x = if r <= 5.0 {
        ratio(r - 1.6, &TAIL)
    } else {
        ratio(r - 5.0, &FAR)
    };
    if p.is_upper { x } else { -x }
}

/// The quotient of two polynomials, the coefficients of the powers ascending.
#[inline]
fn ratio(x: f64, [above, below]: &[[f64; 8]; 2]) -> f64 {
    let polynomial = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, &c| sum * x + c);
    polynomial(above) / polynomial(below)
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];
const TAIL: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_normals() {
        // From Python 3.11's statistics.NormalDist().inv_cdf.
        for (p, wanted) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.025, -1.959_963_984_540_054),
            (0.9, 1.281_551_565_544_600_4),
            (1e-10, -6.361_340_902_404_056),
            (1e-16, -8.222_082_216_130_436),
        ] {
            let open = Open {
                nearer: if p > 0.5 { 1.0 - p } else { p },
                is_upper: p > 0.5,
            };
            assert!(
                (quantile(open) - wanted).abs() <= 1e-14 * f64::abs(wanted),
                "{p}"
            );
        }
    }

    #[test]
    fn the_ends_are_in_range() {
        for word in [0, u64::MAX, 1 << 63, (1 << 63) - 1] {
            let open = Open::new(word);
            assert!(open.nearer > 0.0 && open.nearer < 0.5 + f64::EPSILON);
            assert!(open.ln() <= 0.0 && open.ln().is_finite() && open.logit().is_finite());
            assert!(quantile(open).abs() < 8.3);
            assert!(f64::unit(word) < 1.0 && f32::unit(word) < 1.0);
            assert!(f16::unit(word) < f16::ONE && bf16::unit(word) < bf16::ONE);
        }
    }

    #[test]
    fn integers_are_fair_and_in_range() {
        let dice = Randint::new::<u8>(1, 7).unwrap();
        let draw = |word: u64| -> Option<u8> { dice.draw(&[word]) };
        assert_eq!((draw(u64::MAX), draw((1 << 63) + 1)), (Some(6), Some(4)));
        assert_eq!(draw(0), None); // 2^64 is 4 more than a multiple of 6
        let all = Randint::new::<i64>(i64::MIN.into(), 1 << 63).unwrap();
        let draw = |word: u64| -> Option<i64> { all.draw(&[word]) };
        assert_eq!((draw(0), draw(u64::MAX)), (Some(i64::MIN), Some(i64::MAX)));
        for (low, high) in [(3, 3), (4, 3), (-1, 3), (0, 257)] {
            assert!(matches!(
                Randint::new::<u8>(low, high),
                Err(ArrayError::Argument { .. })
            ));
        }
    }
}
