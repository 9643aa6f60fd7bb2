//! [`Beta`]: by rejection, from two words an attempt.

use super::draw::{Draw, Open, RandomFloat, check};
use crate::ArrayError;

/// Beta with parameters `a` and `b`: density `x^(a-1) (1-x)^(b-1)`, by the algorithms BB and BC of R. C. H. Cheng
/// (Communications of the ACM 21, 1978), which accept more than half of all attempts.
/// Example: see [`Draw`]. Local.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beta {
    /// The parameter that the odds are of, in the algorithm's order, and the other one.
    a: f64,
    b: f64,
    /// Whether `a` is the caller's second parameter.
    is_swapped: bool,
    sum: f64,
    power: f64,
    how: How,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum How {
    /// Both above 1, `a` the lesser.
    Above { gamma: f64 },
    /// One at most 1, `a` the greater.
    Below { k1: f64, k2: f64 },
}

impl Beta {
    /// The two parameters. Local. Example: see [`Draw`].
    ///
    /// # Errors
    /// [`ArrayError::Argument`] unless both are finite and above 0.
    pub fn new(a: f64, b: f64) -> Result<Self, ArrayError> {
        check("a", a, "finite, above 0", a > 0.0 && a.is_finite())?;
        check("b", b, "finite, above 0", b > 0.0 && b.is_finite())?;
        let sum = a + b;
        check("a + b", sum, "finite", sum.is_finite())?;
        let (least, most) = if a <= b { (a, b) } else { (b, a) };
        Ok(if least > 1.0 {
            let beta = ((sum - 2.0) / (2.0 * a * b - sum)).sqrt();
            // of parameters whose product overflows
            let beta = if beta > 0.0 {
                beta
            } else {
                (0.5 / most + 0.5 / least).sqrt()
            };
            Self {
                a: least,
                b: most,
                is_swapped: a > b,
                sum,
                power: beta,
                how: How::Above {
                    gamma: least + 1.0 / beta,
                },
            }
        } else {
            let beta = 1.0 / least;
            let delta = 1.0 + most - least;
            let k1 = delta * (1.0 / 72.0 + least / 24.0) / (most * beta - 7.0 / 9.0);
            let k2 = 0.25 + (0.5 + 0.25 / delta) * least;
            Self {
                a: most,
                b: least,
                is_swapped: a < b,
                sum,
                power: beta,
                how: How::Below { k1, k2 },
            }
        })
    }

    /// Whether the odds `w = exp(v)`, times `a`, come from the density rather than from its envelope alone.
    fn attempt(&self, first: Open, second: Open) -> Option<f64> {
        let (u1, u2) = (first.value(), second.value());
        let v = self.power * first.logit();
        match self.how {
            How::Above { gamma } => {
                let z = u1 * u1 * u2;
                let r = gamma * v - 2.0 * std::f64::consts::LN_2;
                let w = self.a * libm::exp(v);
                let s = self.a + r - w;
                let five = 2.609_437_912_434_100_3; // 1 + ln 5
                if s + five >= 5.0 * z {
                    return Some(v);
                }
                let t = 2.0 * first.ln() + second.ln();
                (s >= t || r + self.log_ratio(v) >= t).then_some(v)
            }
            How::Below { k1, k2 } => {
                let y = u1 * u2;
                let z = u1 * y;
                if u1 < 0.5 {
                    if 0.25 * u2 + z - y >= k1 {
                        return None;
                    }
                } else if z <= 0.25 {
                    return Some(v);
                } else if z >= k2 {
                    return None;
                }
                let t = 2.0 * first.ln() + second.ln();
                let four = 2.0 * std::f64::consts::LN_2;
                (self.log_ratio(v) + self.sum * v - four >= t).then_some(v)
            }
        }
    }

    /// `sum · ln(sum / (b + w))`.
    fn log_ratio(&self, v: f64) -> f64 {
        let w = self.a * libm::exp(v);
        let log = if w.is_finite() {
            libm::log(self.b + w)
        } else {
            libm::log(self.a) + v
        };
        self.sum * (libm::log(self.sum) - log)
    }
}

impl<T: RandomFloat> Draw<T> for Beta {
    fn words(&self) -> usize {
        2
    }

    fn draw(&self, words: &[u64]) -> Option<T> {
        let v = self.attempt(Open::new(words[0]), Open::new(words[1]))?;
        let w = self.a * libm::exp(v);
        let is_of_w = !self.is_swapped;
        let x = match (is_of_w, w.is_finite()) {
            (true, true) => w / (self.b + w),
            (true, false) => 1.0,
            (false, _) => self.b / (self.b + w),
        };
        Some(T::nearest(x))
    }
}
