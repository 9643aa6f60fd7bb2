//! [`Decimal`]: floats as decimal digits, as few as tell them from all others of their type.

use half::{bf16, f16};

/// `d.ddd… × 10^exponent`, without a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    /// The digits as text; zeros at the end are cut off, but for the first digit.
    digits: String,
    exponent: i32,
}

impl Decimal {
    /// From `1.25e-3`.
    fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let kept = digits.trim_end_matches('0').len().max(1);
        Self {
            digits: digits[..kept].to_owned(),
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    /// The digits after the first.
    fn fraction(&self) -> &str {
        &self.digits[1..]
    }

    /// Digits after the decimal point when written without an exponent.
    fn places(&self) -> usize {
        let digits = i64::try_from(self.digits.len()).unwrap_or(0); // a few hundred at most
        let places = digits - 1 - i64::from(self.exponent);
        usize::try_from(places).unwrap_or(0)
    }

    /// What stands before and after the decimal point.
    fn positional(&self) -> (String, String) {
        let Ok(exponent) = usize::try_from(self.exponent) else {
            let zeros = self.exponent.unsigned_abs() as usize - 1;
            return ("0".to_owned(), "0".repeat(zeros) + &self.digits);
        };
        let mut whole = self.digits.clone();
        while whole.len() <= exponent {
            whole.push('0');
        }
        let fraction = whole.split_off(exponent + 1);
        (whole, fraction)
    }
}

/// Floats whose digits are written.
pub(crate) trait Digits: Copy {
    fn is_finite(self) -> bool;
    fn is_nan(self) -> bool;
    fn is_negative(self) -> bool;
    /// Without its sign.
    fn size(self) -> Self;
    /// The same value; exact.
    fn to_f64(self) -> f64;
    /// As few digits as tell a finite value, without its sign, from all others.
    fn shortest(self) -> Decimal;
    /// Whether numbers of these magnitudes are written with exponents, by the type's own arithmetic; the least and the
    /// greatest of those that are not 0.
    fn needs_exponent(least: Self, greatest: Self, suppress: bool) -> bool;
}

macro_rules! digits {
    ($($t:ty),*) => {$(
        impl Digits for $t {
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn size(self) -> Self {
                self.abs()
            }
            #[allow(clippy::cast_lossless, clippy::unnecessary_cast, reason = "one of them is f64")]
            fn to_f64(self) -> f64 {
                self as f64
            }
            fn shortest(self) -> Decimal {
                let shortest = format!("{:e}", self.abs());
                let decimal = Decimal::parse(&shortest);
                // Of two such numbers equally near the one with an even last digit.
                let places = decimal.fraction().len();
                let nearest = format!("{:.places$e}", self.abs());
                if nearest.parse() == Ok(self.abs()) {
                    Decimal::parse(&nearest)
                } else {
                    decimal
                }
            }
            fn needs_exponent(least: Self, greatest: Self, suppress: bool) -> bool {
                greatest >= 1e8 || (!suppress && (least < 1e-4 || greatest / least > 1e3))
            }
        }
    )*};
}

digits!(f32, f64);

macro_rules! half_digits {
    ($($t:ty),*) => {$(
        impl Digits for $t {
            fn is_finite(self) -> bool {
                self.is_finite()
            }
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn is_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn size(self) -> Self {
                if self.is_sign_negative() { -self } else { self }
            }
            fn to_f64(self) -> f64 {
                self.to_f64()
            }
            fn shortest(self) -> Decimal {
                let size = self.to_f64().abs();
                let (me, mut places) = (self.size(), 0_i32);
                let is_it = |x: f64| <$t>::from_f64(x) == me;
                // At most 5 digits are needed: try fewer first, the nearest number of so many and its neighbours.
                for digits in 0..5_usize {
                    let nearest = format!("{size:.digits$e}");
                    if is_it(nearest.parse().unwrap_or(f64::NAN)) {
                        return Decimal::parse(&nearest);
                    }
                    let exponent = Decimal::parse(&nearest).exponent;
                    let unit: f64 = format!("1e{}", exponent - places).parse().unwrap_or(0.0);
                    let value: f64 = nearest.parse().unwrap_or(0.0);
                    places += 1;
                    for other in [value + unit, value - unit] {
                        if is_it(other) {
                            return Decimal::parse(&format!("{other:.digits$e}"));
                        }
                    }
                }
                Decimal::parse(&format!("{size:e}"))
            }
            fn needs_exponent(least: Self, greatest: Self, suppress: bool) -> bool {
                let ratio = Self::from_f32(greatest.to_f32() / least.to_f32());
                greatest.to_f32() >= 1e8
                    || (!suppress && (least < Self::from_f64(1e-4) || ratio > Self::from_f32(1e3)))
            }
        }
    )*};
}

half_digits!(f16, bf16);

/// A number with an exponent: before the point with its sign, after it, and the exponent with its sign and at least two digits.
pub(crate) fn scientific<T: Digits>(x: T, precision: usize) -> [String; 3] {
    let mut decimal = x.shortest();
    if decimal.fraction().len() > precision {
        decimal = Decimal::parse(&format!("{:.precision$e}", x.to_f64().abs()));
    }
    scientific_parts(x, &decimal)
}

fn scientific_parts<T: Digits>(x: T, decimal: &Decimal) -> [String; 3] {
    let sign = if decimal.exponent < 0 { '-' } else { '+' };
    [
        signed(x, &decimal.digits[..1]),
        decimal.fraction().to_owned(),
        format!("{sign}{:02}", decimal.exponent.unsigned_abs()),
    ]
}

/// The same with exactly `places` digits after the point: beyond those that tell it from others, the value's own.
pub(crate) fn scientific_to<T: Digits>(x: T, places: usize) -> [String; 3] {
    let parts = scientific(x, places);
    if parts[1].len() == places {
        return parts;
    }
    let text = format!("{:.places$e}", x.to_f64().abs());
    let (mantissa, _) = text.split_once('e').unwrap_or((&text, ""));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let [_, _, exponent] = scientific_parts(x, &Decimal::parse(&text));
    [signed(x, whole), fraction.to_owned(), exponent]
}

/// A number without an exponent: before the point with its sign, and after it without zeros at the end. Digits before the
/// point are the value's own, even beyond those that tell it from others.
pub(crate) fn positional<T: Digits>(x: T, precision: usize) -> [String; 2] {
    let decimal = x.shortest();
    let ends_before_the_point =
        usize::try_from(decimal.exponent).is_ok_and(|exponent| decimal.digits.len() <= exponent);
    let (whole, fraction) = if decimal.places() > precision || ends_before_the_point {
        let places = decimal.places().min(precision);
        let text = format!("{:.places$}", x.to_f64().abs());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        (whole.to_owned(), fraction.to_owned())
    } else {
        decimal.positional()
    };
    [signed(x, &whole), fraction.trim_end_matches('0').to_owned()]
}

fn signed<T: Digits>(x: T, digits: &str) -> String {
    if x.is_negative() {
        format!("-{digits}")
    } else {
        digits.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_few_and_right() {
        assert_eq!(scientific(1.25e-3, 8), ["1", "25", "-03"]);
        assert_eq!(scientific(-1.0 / 3.0 * 1e120, 4), ["-3", "3333", "+119"]);
        assert_eq!(scientific(0.0, 8), ["0", "", "+00"]);
        assert_eq!(scientific_to(0.0, 2), ["0", "00", "+00"]);
        assert_eq!(scientific_to(0.1_f32, 9), ["1", "000000015", "-01"]);
        assert_eq!(scientific_to(0.5, 3), ["5", "000", "-01"]);
        assert_eq!(positional(1234.5, 8), ["1234", "5"]);
        assert_eq!(positional(-0.0, 8), ["-0", ""]);
        assert_eq!(positional(0.000_123_456_789_012, 8), ["0", "00012346"]);
        assert_eq!(positional(100.0, 8), ["100", ""]);
        assert_eq!(positional(2.0 / 3.0, 0), ["1", ""]);
        assert_eq!(positional(f16::from_f32(0.1), 8), ["0", "1"]);
        assert_eq!(positional(f16::from_f32(65504.0), 8), ["65504", ""]);
        assert_eq!(positional(bf16::from_f32(3.0), 8), ["3", ""]);
        assert_eq!(positional(0.1_f32, 20), ["0", "1"]);
        assert_eq!(positional(3_555_961.3_f32, 8), ["3555961", "2"]);
    }
}
