//! [`ExactSum`]: the sum of floats without any rounding, so that it does not depend on their order.
//!
//! The sum is kept as one long fixed-point number that has a place for every bit of every finite `f64`, as in Radford Neal's
//! superaccumulators ("Fast exact summation using small and large superaccumulators", 2015). Elements come in by blocks: two
//! constants split each element of a block into a multiple of a coarse unit and one of a fine unit, the units being such that
//! a thousand multiples add up in an `f64` without rounding (the binning of Demmel and Nguyen's reproducible sums). Only the
//! two sums of a block reach the long number. Where that leaves a rest, the block goes in element by element.

use bytemuck::{Pod, Zeroable};
use multiversion::multiversion;

/// Bits of a digit's place; the digits themselves have room for carries.
const DIGIT: u32 = 32;
/// Places for `2^-1074` to `2^1024`, and for the carries of 2⁶⁴ elements.
const DIGITS: usize = 68;
/// The place of the lowest bit of a subnormal.
const LOWEST: i32 = -1074;
/// Elements per block: 2¹⁰.
const BLOCK: usize = 1024;
const LANES: usize = 8;
/// Bits between the largest element of a block and the unit: 1024 multiples below 2⁴³ need 53 bits.
const WIDTH: i32 = 43;
/// Values that a digit takes before carries must be spread: each adds less than 2³².
const PATIENCE: u64 = 1 << 30;

/// The sum of `f64` numbers, exact until it is rounded once at the end.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct ExactSum {
    digits: [i64; DIGITS],
    /// Values taken in since carries were spread.
    pending: u64,
    /// The sum of the infinities and NaN among the elements, 0 without any.
    special: f64,
}

impl ExactSum {
    /// The sum of no element.
    pub(crate) const ZERO: Self = Self {
        digits: [0; DIGITS],
        pending: 0,
        special: 0.0,
    };

    /// Adds one number.
    pub(crate) fn add(&mut self, x: f64) {
        let bits = x.to_bits();
        let (exponent, fraction) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
        let (mantissa, place) = match exponent {
            0x7ff => {
                self.special += x;
                return;
            }
            0 => (fraction, 0),
            _ => (fraction | 1 << 52, exponent - 1),
        };
        let shifted = u128::from(mantissa) << (place % u64::from(DIGIT));
        let first = to_index(place / u64::from(DIGIT));
        let sign = 1 - 2 * (bits >> 63).cast_signed();
        for (i, digit) in (0..).zip(&mut self.digits[first..first + 3]) {
            *digit += sign * low_digit(shifted >> (DIGIT * i));
        }
        self.pending += 1;
        if self.pending >= PATIENCE {
            self.carry();
        }
    }

    /// Adds all numbers of a slice.
    pub(crate) fn add_all(&mut self, elements: &[f64]) {
        let (blocks, rest) = elements.as_chunks::<BLOCK>();
        let mut most = blocks.first().map_or(0.0, |block| largest(block));
        for (i, block) in blocks.iter().enumerate() {
            let next = blocks.get(i + 1).map_or(&[][..], |next| next);
            most = self.add_block(block, most, next);
        }
        // Few are not worth the search for their largest.
        if rest.len() < 4 * LANES {
            for &x in rest {
                self.add(x);
            }
        } else {
            self.add_block(rest, largest(rest), &[]);
        }
    }

    /// Adds the products of two lists, each exact but for what lies below the least float.
    pub(crate) fn add_products(&mut self, a: &[f64], b: &[f64]) {
        let (mut products, mut errors) = ([0.0; BLOCK], [0.0; BLOCK]);
        for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
            let count = a.len().min(b.len());
            let (products, errors) = (&mut products[..count], &mut errors[..count]);
            for i in 0..count {
                (products[i], errors[i]) = product(a[i], b[i]);
            }
            self.add_all(products);
            if !errors.iter().sum::<f64>().is_finite() {
                // Factors that are too large do not split into halves. Each such product is mended by itself: what a
                // product gives must not depend on its neighbours.
                for i in 0..count {
                    if !errors[i].is_finite() {
                        let error = a[i].mul_add(b[i], -products[i]);
                        errors[i] = if products[i].is_finite() { error } else { 0.0 };
                    }
                }
            }
            self.add_all(errors);
        }
    }

    /// The sum as two floats: the nearest, and the nearest to what is left.
    pub(crate) fn pair(&self) -> [f64; 2] {
        let high = self.round();
        if !high.is_finite() {
            return [high, 0.0];
        }
        let mut rest = *self;
        rest.add(-high);
        [high, rest.round()]
    }

    /// Adds what another sum has.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut other = *other;
        other.carry();
        self.carry();
        for (digit, more) in self.digits.iter_mut().zip(other.digits) {
            *digit += more;
        }
        self.special += other.special;
        self.pending = 1;
    }

    /// The nearest `f64`, ties to even.
    pub(crate) fn round(&self) -> f64 {
        self.round_to(53, LOWEST)
    }

    /// The nearest number of `bits` leading bits, none below `2^lowest`; ties to even. At most those of `f64`.
    pub(crate) fn round_to(&self, bits: u32, lowest: i32) -> f64 {
        if self.special.is_nan() {
            return f64::NAN;
        }
        if self.special.is_infinite() {
            return self.special;
        }
        let mut sum = *self;
        sum.carry();
        let negative = sum.digits[DIGITS - 1] < 0;
        if negative {
            sum.digits.iter_mut().for_each(|digit| *digit = -*digit);
            sum.carry();
        }
        let Some(top) = sum.digits.iter().rposition(|&digit| digit != 0) else {
            return 0.0;
        };
        // The 96 bits from the top digit down, and whether anything lies below them.
        let from = top.saturating_sub(2);
        let high = (from..=top).rev().fold(0_u128, |high, i| {
            high << DIGIT | u128::from(sum.digits[i].cast_unsigned())
        });
        let sticky = sum.digits[..from].iter().any(|&digit| digit != 0);
        let first = LOWEST + to_place(from) * DIGIT.cast_signed();
        // Beyond the leading bits, and below the place of the lowest bit there is.
        let drop = (128 - high.leading_zeros()).saturating_sub(bits);
        let drop = drop.max(u32::try_from(lowest - first).unwrap_or(0));
        if drop >= 100 {
            return if negative { -0.0 } else { 0.0 }; // less than a half of the lowest: there are 96 bits
        }
        let (mut kept, rest) = (high >> drop, high & ((1 << drop) - 1));
        if drop > 0 {
            let half = 1_u128 << (drop - 1);
            let up = rest > half || (rest == half && (sticky || kept & 1 == 1));
            kept += u128::from(up);
        }
        let place = first + drop.cast_signed();
        let magnitude = scale(to_float(kept), place);
        if negative { -magnitude } else { magnitude }
    }

    /// Brings every digit but the last, which has the sign, into `0..2³²`.
    fn carry(&mut self) {
        let mut carry = 0;
        for digit in &mut self.digits[..DIGITS - 1] {
            let sum = *digit + carry;
            carry = sum >> DIGIT;
            *digit = sum & ((1 << DIGIT) - 1);
        }
        self.digits[DIGITS - 1] += carry;
        self.pending = 1;
    }

    /// Adds a block, whose largest magnitude is known; that of the next one.
    fn add_block(&mut self, block: &[f64], most: f64, next: &[f64]) -> f64 {
        let (sums, most_of_next) = binned(block, most, next);
        match sums {
            Some(sums) => sums.into_iter().for_each(|sum| self.add(sum)),
            None => block.iter().for_each(|&x| self.add(x)),
        }
        most_of_next
    }
}

/// A product, and the error of its rounding, by halves of the factors (Dekker, 1971).
#[inline]
fn product(a: f64, b: f64) -> (f64, f64) {
    let halves = |x: f64| {
        let scaled = 134_217_729.0 * x; // 2²⁷ + 1
        let high = scaled - (scaled - x);
        (high, x - high)
    };
    let p = a * b;
    let ((a, c), (b, d)) = (halves(a), halves(b));
    (p, ((a * b - p) + a * d + c * b) + c * d)
}

/// `(xy - x · y / n) / m` from sums of products and of factors: a covariance, or a variance. The sums have twice the digits
/// of a float, so that a mean far from zero costs none of the result's.
pub(crate) fn covariance(xy: [f64; 2], x: [f64; 2], y: [f64; 2], n: f64, m: f64) -> f64 {
    // x · y
    let p = x[0] * y[0];
    let e = x[0].mul_add(y[0], -p) + (x[0] * y[1] + x[1] * y[0]);
    // / n
    let q = p / n;
    let r = ((-q).mul_add(n, p) + e) / n;
    // xy - that
    let d = xy[0] - q;
    let t = d - xy[0];
    let error = (xy[0] - (d - t)) - (q + t);
    (d + (error + (xy[1] - r))) / m
}

/// A small number: of a digit, or an exponent.
fn to_index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// A small number, too.
fn to_place(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// The lowest digit.
#[expect(clippy::cast_possible_truncation, reason = "that is what is wanted")]
fn low_digit(bits: u128) -> i64 {
    i64::from(bits as u32)
}

/// At most 54 bits, and then an even number.
#[expect(clippy::cast_precision_loss, reason = "53 bits, or a power of two")]
fn to_float(bits: u128) -> f64 {
    bits as f64
}

/// `x · 2^place`, exact where the result is a float.
fn scale(x: f64, place: i32) -> f64 {
    // In two steps, as the power alone may lie outside the range.
    let half = place / 2;
    x * power(half) * power(place - half)
}

/// `2^n` for `-1022 <= n <= 1023`.
fn power(n: i32) -> f64 {
    f64::from_bits(u64::from((n + 1023).unsigned_abs()) << 52)
}

/// Two numbers that add up to what a block does, `None` where two do not suffice or it has no sum; and the largest magnitude of
/// the next block, which is as long or empty.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
fn binned(block: &[f64], most: f64, next: &[f64]) -> (Option<[f64; 2]>, f64) {
    let Some((coarse, fine)) = units(most) else {
        return (None, largest(next));
    };
    let mut split = Split::new(coarse, fine);
    let mut most_of_next = [0.0; LANES];
    let (rows, tail) = block.as_chunks::<LANES>();
    if next.len() == block.len() {
        // Both in one loop: the next block comes from memory while this one is worked on.
        let (rows_ahead, tail_ahead) = next.as_chunks::<LANES>();
        for (row, ahead) in rows.iter().zip(rows_ahead) {
            greater(&mut most_of_next, ahead);
            split.take(row);
        }
        greater(&mut most_of_next, tail_ahead);
    } else {
        for row in rows {
            split.take(row);
        }
    }
    split.take(tail);
    let most_of_next = most_of_next.into_iter().fold(0.0, f64::max);
    (split.sums(), most_of_next)
}

/// The largest magnitude; NaN may be overlooked.
#[multiversion(targets("x86_64+avx512bw+avx512dq+avx512f+avx512vl", "x86_64+avx2"))]
fn largest(block: &[f64]) -> f64 {
    let mut most = [0.0; LANES];
    let (rows, tail) = block.as_chunks::<LANES>();
    for row in rows {
        greater(&mut most, row);
    }
    greater(&mut most, tail);
    most.into_iter().fold(0.0, f64::max)
}

/// Keeps the larger magnitudes.
#[inline(always)]
#[expect(
    clippy::inline_always,
    reason = "else it is compiled without the wide registers"
)]
fn greater(most: &mut [f64; LANES], row: &[f64]) {
    for (most, x) in most.iter_mut().zip(row) {
        let x = x.abs();
        *most = if x > *most { x } else { *most };
    }
}

/// Two numbers whose last bits are the units of a block: adding one and taking it away again rounds to its unit. `None`
/// where they would lie outside the range.
fn units(largest: f64) -> Option<(f64, f64)> {
    // 2^exponent > largest
    let exponent = to_place(to_index((largest.to_bits() >> 52) & 0x7ff)) - 1022;
    let range = -900..900;
    let unit = |place: i32| 1.5 * power(place + 52);
    range
        .contains(&exponent)
        .then(|| (unit(exponent - WIDTH), unit(exponent - 2 * WIDTH)))
}

/// The sums of the coarse and the fine parts, exact, and the bits of all that is left.
struct Split {
    start: [f64; 2],
    high: [f64; LANES],
    low: [f64; LANES],
    rest: [u64; LANES],
}

impl Split {
    fn new(coarse: f64, fine: f64) -> Self {
        Self {
            start: [coarse, fine],
            high: [coarse; LANES],
            low: [fine; LANES],
            rest: [0; LANES],
        }
    }

    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "else it is compiled without the wide registers"
    )]
    fn take(&mut self, row: &[f64]) {
        for (lane, &x) in row.iter().take(LANES).enumerate() {
            // What the sum grew by is the part of `x` that its unit can express.
            let grown = self.high[lane] + x;
            let left = x - (grown - self.high[lane]);
            self.high[lane] = grown;
            let grown = self.low[lane] + left;
            self.rest[lane] |= (left - (grown - self.low[lane])).to_bits();
            self.low[lane] = grown;
        }
    }

    /// Both, if nothing is left.
    fn sums(&self) -> Option<[f64; 2]> {
        let sum = |lanes: [f64; LANES], start: f64| lanes.iter().map(|lane| lane - start).sum();
        let left = self.rest.iter().fold(0, |all, bits| all | bits);
        (left == 0).then(|| [sum(self.high, self.start[0]), sum(self.low, self.start[1])])
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "sums are exact")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(numbers: &[f64]) -> ExactSum {
        let mut sum = ExactSum::ZERO;
        sum.add_all(numbers);
        sum
    }

    fn finite() -> impl Strategy<Value = f64> {
        prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Multiples of 2^-40 add up as integers do.
        #[test]
        #[expect(clippy::cast_precision_loss, reason = "one rounding, to nearest")]
        fn sums_are_integers_rounded_once(numbers in prop::collection::vec((any::<i32>(), 0..48_u32), 0..3000)) {
            let integers: Vec<i128> = numbers.iter().map(|&(m, shift)| i128::from(m) << shift).collect();
            let floats: Vec<f64> = integers.iter().map(|&n| n as f64 * 2_f64.powi(-40)).collect();
            let wanted = integers.iter().sum::<i128>() as f64 * 2_f64.powi(-40);
            prop_assert_eq!(exact(&floats).round(), wanted);
        }

        /// The hardware adds two numbers with one rounding.
        #[test]
        fn two_numbers_add_up_as_in_hardware(a in finite(), b in finite()) {
            prop_assert_eq!(exact(&[a, b]).round().to_bits(), (a + b + 0.0).to_bits());
        }

        #[test]
        fn order_and_cuts_do_not_matter(
            numbers in prop::collection::vec(finite(), 0..2500), cut: prop::sample::Index,
        ) {
            let (left, right) = numbers.split_at(cut.index(numbers.len() + 1));
            let mut merged = exact(right);
            merged.merge(&exact(left));
            let mut backwards = numbers.clone();
            backwards.reverse();
            let whole = exact(&numbers);
            prop_assert_eq!(merged.round().to_bits(), whole.round().to_bits());
            prop_assert_eq!(exact(&backwards).round().to_bits(), whole.round().to_bits());
            // and all of it can be taken away again
            let mut rest = whole;
            for x in &mut backwards {
                *x = -*x;
            }
            rest.add_all(&backwards);
            rest.add(5e-324);
            prop_assert_eq!(rest.round(), 5e-324);
        }
    }

    #[test]
    fn products_are_exact() {
        // (2^27 + k)² needs 55 bits
        let numbers: Vec<f64> = (1..3000_i32)
            .map(|k| 134_217_728.0 + f64::from(k))
            .collect();
        let wanted: i128 = (1..3000_i128)
            .map(|k| (134_217_728 + k) * (134_217_728 + k))
            .sum();
        let mut sum = ExactSum::ZERO;
        sum.add_products(&numbers, &numbers);
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers below 2^53")]
        let found = sum.pair().map(|x| x as i128);
        assert_eq!(found[0] + found[1], wanted);
        // factors that do not split, and a product beyond the range
        let mut sum = ExactSum::ZERO;
        sum.add_products(&[f64::MAX, 3.0], &[0.5, 7.0]);
        assert_eq!(sum.round(), f64::MAX / 2.0);
        sum.add(-f64::MAX / 2.0);
        assert_eq!(sum.round(), 21.0);
        sum.add_products(&[f64::MAX], &[-2.0]);
        assert_eq!(sum.round(), f64::NEG_INFINITY);
    }

    #[test]
    fn products_do_not_depend_on_their_neighbours() {
        // the error of the first product lies below the least float; a factor of 2^1000 does not split into halves
        let large = power(1000);
        let a = [
            f64::from_bits(0x20b2_265b_1f23_6eb0),
            f64::from_bits(0x00e0_c3ea_d841_0b94),
            large,
            large,
        ];
        let b = [f64::from_bits(0x201d_8f16_ad9a_c27c), -1.0, 1.0, -1.0];
        let mut together = ExactSum::ZERO;
        together.add_products(&a, &b);
        let mut apart = ExactSum::ZERO;
        for (x, y) in a.iter().zip(&b) {
            apart.add_products(&[*x], &[*y]);
        }
        assert_eq!(together.round().to_bits(), apart.round().to_bits());
        let mut halves = ExactSum::ZERO;
        halves.add_products(&a[..2], &b[..2]);
        halves.add_products(&a[2..], &b[2..]);
        assert_eq!(together.round().to_bits(), halves.round().to_bits());
    }

    #[test]
    fn narrower_floats_are_rounded_once() {
        let f32_of = |sum: &ExactSum| sum.round_to(24, -149);
        let sum = exact(&[1.0, power(-24), power(-60)]);
        assert_eq!(sum.round(), 1.0 + power(-24));
        assert_eq!(f32_of(&sum), 1.0 + power(-23));
        assert_eq!(f32_of(&exact(&[1.0, power(-24)])), 1.0); // a tie, to even
        assert_eq!(
            f32_of(&exact(&[-1.0, -power(-24), -power(-60)])),
            -1.0 - power(-23)
        );
        // below the least normal number: multiples of 2^-149
        assert_eq!(f32_of(&exact(&[power(-150), power(-300)])), power(-149));
        assert_eq!(f32_of(&exact(&[power(-150)])), 0.0);
        assert_eq!(f32_of(&exact(&[power(-400)])), 0.0);
        // beyond the greatest
        assert_eq!(f32_of(&exact(&[power(127), power(127)])), power(128));
        // half-precision: 11 bits, 2^-24
        assert_eq!(exact(&[2048.0, 1.0, power(-50)]).round_to(11, -24), 2050.0);
    }

    #[test]
    fn a_far_mean_costs_no_digits() {
        let numbers: Vec<f64> = (0..1000).map(|i| 1e12 + f64::from(i % 2)).collect();
        let mut squares = ExactSum::ZERO;
        squares.add_products(&numbers, &numbers);
        let sum = exact(&numbers).pair();
        assert_eq!(covariance(squares.pair(), sum, sum, 1000.0, 1000.0), 0.25);
    }

    #[test]
    fn ends_of_the_range() {
        let mut sum = exact(&[f64::MAX, f64::MAX]);
        assert_eq!(sum.round(), f64::INFINITY);
        sum.add(-f64::MAX);
        assert_eq!(sum.round(), f64::MAX);
        assert_eq!(exact(&vec![-5e-324; 2000]).round(), -2000.0 * 5e-324);
        assert_eq!(exact(&vec![1e300; 3000]).round(), 3000.0 * 1e300);
        assert_eq!(exact(&[]).round().to_bits(), 0);
    }

    #[test]
    fn infinities_and_nan_win() {
        assert_eq!(
            exact(&[1.0, f64::INFINITY, -f64::MAX]).round(),
            f64::INFINITY
        );
        assert!(exact(&[f64::INFINITY, f64::NEG_INFINITY]).round().is_nan());
        let mut numbers = vec![1.0; 5000];
        numbers[4321] = f64::NAN;
        assert!(exact(&numbers).round().is_nan());
        let mut merged = exact(&[f64::NEG_INFINITY]);
        merged.merge(&exact(&[2.0]));
        assert_eq!(merged.round(), f64::NEG_INFINITY);
    }

    #[test]
    fn carries_are_spread_in_time() {
        let mut sum = ExactSum::ZERO;
        sum.pending = PATIENCE - 2;
        sum.digits[40] = i64::MAX - (1 << 33);
        let before = sum;
        sum.add_all(&[1.0; 4]);
        sum.add_all(&[-1.0; 4]);
        assert_eq!(sum.round().to_bits(), before.round().to_bits());
    }
}
