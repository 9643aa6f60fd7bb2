//! Elementary functions of complex numbers, in `f64`, with the special values of C (ISO C, Annex G).
//!
//! The inverse functions follow Hull, Fairgrieve and Tang (ACM TOMS 23, 1997), who avoid cancellation everywhere.

use std::f64::consts::{FRAC_PI_2, LN_2, LOG10_E};

use num_complex::{Complex32, Complex64};

/// Beyond it a number's square has no use for a one added.
const LARGE: f64 = 1.0 / f64::EPSILON;
/// Below it `asinh(z)` is `z`, and `atanh(z)` too.
const TINY: f64 = 1e-9;

fn c(re: f64, im: f64) -> Complex64 {
    Complex64::new(re, im)
}

/// `i · z`'s mirror: real and imaginary part exchanged.
fn exchanged(z: Complex64) -> Complex64 {
    c(z.im, z.re)
}

/// Rounded to single precision.
#[allow(clippy::cast_possible_truncation, reason = "rounding is meant")]
pub(crate) fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

/// `scale · e^x · factor`, where `e^x` alone may overflow.
fn scaled_exp(x: f64, scale: f64, factor: f64) -> f64 {
    let half = (0.5 * x).exp();
    scale * half * factor * half
}

pub(crate) fn exp(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return c(x.exp(), y);
    }
    if x == 0.0 {
        return c(y.cos(), y.sin());
    }
    if !y.is_finite() {
        return match x {
            f64::INFINITY => c(x, f64::NAN),
            f64::NEG_INFINITY => c(0.0, 0.0),
            _ => c(f64::NAN, f64::NAN),
        };
    }
    let (sin, cos) = y.sin_cos();
    if x > 709.0 && x.is_finite() {
        return c(scaled_exp(x, 1.0, cos), scaled_exp(x, 1.0, sin));
    }
    let size = x.exp();
    c(size * cos, size * sin)
}

pub(crate) fn expm1(z: Complex64) -> Complex64 {
    let half = (0.5 * z.im).sin();
    let real = z.re.exp_m1() * z.im.cos() - 2.0 * half * half;
    c(real, z.re.exp() * z.im.sin())
}

pub(crate) fn cosh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return c(
            x.cosh(),
            if x.is_nan() {
                y
            } else {
                1.0_f64.copysign(x) * y
            },
        );
    }
    if !y.is_finite() {
        return if x == 0.0 {
            c(f64::NAN, 0.0)
        } else if x.is_infinite() {
            c(f64::INFINITY, f64::NAN)
        } else {
            c(f64::NAN, f64::NAN)
        };
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() > 709.0 && x.is_finite() {
        let size = x.abs();
        return c(
            scaled_exp(size, 0.5, cos),
            scaled_exp(size, 0.5, sin).copysign(x.signum() * sin),
        );
    }
    if x == 0.0 {
        return c(cos, x * sin);
    }
    c(x.cosh() * cos, x.sinh() * sin)
}

pub(crate) fn sinh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return c(x.sinh(), y);
    }
    if !y.is_finite() {
        return if x == 0.0 || x.is_infinite() {
            c(x, f64::NAN)
        } else {
            c(f64::NAN, f64::NAN)
        };
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() > 709.0 && x.is_finite() {
        let size = x.abs();
        return c(
            scaled_exp(size, 0.5, cos).copysign(x.signum() * cos),
            scaled_exp(size, 0.5, sin),
        );
    }
    if x == 0.0 {
        return c(x * cos, sin);
    }
    c(x.sinh() * cos, x.cosh() * sin)
}

pub(crate) fn tanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() {
        return c(x, if y == 0.0 { y } else { f64::NAN });
    }
    if x.is_infinite() {
        let turn = if y.is_finite() { y.sin() * y.cos() } else { y };
        return c(1.0_f64.copysign(x), 0.0_f64.copysign(turn));
    }
    if !y.is_finite() {
        return c(if x == 0.0 { x } else { f64::NAN }, f64::NAN);
    }
    let (sin, cos) = y.sin_cos();
    if x.abs() >= 22.0 {
        let rest = (-x.abs()).exp();
        return c(1.0_f64.copysign(x), 4.0 * sin * cos * rest * rest);
    }
    // tanh(x + iy) = (sinh x cosh x + i sin y cos y) / (sinh² x + cos² y)
    let s = x.sinh();
    let scale = s * s + cos * cos;
    c(s * x.cosh() / scale, sin * cos / scale)
}

pub(crate) fn sin(z: Complex64) -> Complex64 {
    exchanged(sinh(exchanged(z)))
}

pub(crate) fn cos(z: Complex64) -> Complex64 {
    cosh(c(-z.im, z.re))
}

pub(crate) fn tan(z: Complex64) -> Complex64 {
    exchanged(tanh(exchanged(z)))
}

pub(crate) fn sqrt(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x == 0.0 && y == 0.0 {
        return c(0.0, y);
    }
    if y.is_infinite() {
        return c(f64::INFINITY, y);
    }
    if x.is_nan() {
        return c(x, x);
    }
    if x.is_infinite() {
        let rest = 0.0 * y; // 0, or NaN for NaN
        return if x < 0.0 {
            c(rest.abs(), f64::INFINITY.copysign(y))
        } else {
            c(x, rest.copysign(y))
        };
    }
    if y.is_nan() {
        return c(y, y);
    }
    // Powers of 4, so that their roots are exact.
    let largest = x.abs().max(y.abs());
    let (scale, root) = if largest > 1e300 {
        (2_f64.powi(-4), 4.0)
    } else if largest < 1e-290 {
        (2_f64.powi(108), 2_f64.powi(-54))
    } else {
        (1.0, 1.0)
    };
    let (x, y) = (x * scale, y * scale);
    let t = (0.5 * (x.abs() + x.hypot(y))).sqrt();
    let other = y.abs() / (2.0 * t);
    if x >= 0.0 {
        c(t * root, (other * root).copysign(y))
    } else {
        c(other * root, (t * root).copysign(y))
    }
}

/// `ln |z|`, without cancellation near the unit circle and without overflow.
fn log_abs(z: Complex64) -> f64 {
    let (a, b) = (z.re.abs(), z.im.abs());
    let (big, small) = if a >= b { (a, b) } else { (b, a) };
    let size = big.hypot(small);
    if !size.is_finite() && big.is_finite() && small.is_finite() {
        return (0.25 * big).hypot(0.25 * small).ln() + 2.0 * LN_2;
    }
    if size > 0.5 && size < 2.0 {
        // |z|² - 1, with the rounding of the squares put back
        let (bb, ss) = (big * big, small * small);
        let (b_rest, s_rest) = (big.mul_add(big, -bb), small.mul_add(small, -ss));
        let (first, second) = (bb - 1.0, ss);
        let sum = first + second;
        let (larger, lesser) = if first.abs() >= second.abs() {
            (first, second)
        } else {
            (second, first)
        };
        let lost = lesser - (sum - larger);
        return 0.5 * (sum + (lost + b_rest + s_rest)).ln_1p();
    }
    if size != 0.0 && size < 1e-290 {
        let up = 2_f64.powi(200);
        return (big * up).hypot(small * up).ln() - 200.0 * LN_2;
    }
    size.ln()
}

pub(crate) fn log(z: Complex64) -> Complex64 {
    c(log_abs(z), z.im.atan2(z.re))
}

pub(crate) fn log10(z: Complex64) -> Complex64 {
    let log = log(z);
    c(log.re * LOG10_E, log.im * LOG10_E)
}

pub(crate) fn log1p(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.abs() < 0.5 && y.abs() < 0.5 {
        return c(0.5 * (2.0 * x + (x * x + y * y)).ln_1p(), y.atan2(1.0 + x));
    }
    log(c(1.0 + x, y))
}

/// `(√(a² + b²) − b) / 2` from the root, without cancellation.
fn above(a: f64, b: f64, hypot: f64) -> f64 {
    if b < 0.0 {
        0.5 * (hypot - b)
    } else if b == 0.0 {
        0.5 * a
    } else {
        0.5 * a * a / (hypot + b)
    }
}

/// How the angle of an inverse function comes out.
enum Angle {
    /// The sine of it.
    Sine(f64),
    /// Its two legs: opposite, adjacent.
    Legs(f64, f64),
}

/// For `x, y ≥ 0`: the real part of `asinh(x + iy)`, and the angle that is its imaginary part.
fn hull(x: f64, y: f64) -> (f64, Angle) {
    let (r, s) = (x.hypot(y + 1.0), x.hypot(y - 1.0));
    let a = (0.5 * (r + s)).max(1.0);
    let near = x >= f64::EPSILON * (y - 1.0).abs();
    let real = if a >= 10.0 {
        (a + (a * a - 1.0).sqrt()).ln()
    } else if near {
        let less_one = above(x, 1.0 + y, r) + above(x, 1.0 - y, s);
        (less_one + (less_one * (a + 1.0)).sqrt()).ln_1p()
    } else if y < 1.0 {
        x / ((1.0 - y) * (1.0 + y)).sqrt()
    } else {
        ((y - 1.0) + ((y - 1.0) * (y + 1.0)).sqrt()).ln_1p()
    };
    let sine = y / a;
    if sine <= 0.6417 {
        return (real, Angle::Sine(sine));
    }
    let adjacent = if near {
        let rest = above(x, y + 1.0, r) + above(x, y - 1.0, s);
        (rest * (a + y)).sqrt()
    } else if y > 1.0 {
        x * y / ((y + 1.0) * (y - 1.0)).sqrt()
    } else {
        ((1.0 - y) * (1.0 + y)).sqrt()
    };
    (real, Angle::Legs(y, adjacent))
}

pub(crate) fn asinh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() || y.is_nan() {
        return if x.is_infinite() {
            c(x, f64::NAN)
        } else if y.is_infinite() {
            c(y, f64::NAN)
        } else if y == 0.0 {
            c(f64::NAN, y)
        } else {
            c(f64::NAN, f64::NAN)
        };
    }
    let (a, b) = (x.abs(), y.abs());
    let (real, imaginary) = if a > LARGE || b > LARGE {
        (log_abs(z) + LN_2, b.atan2(a))
    } else if a < TINY && b < TINY {
        return z;
    } else {
        let (real, angle) = hull(a, b);
        let imaginary = match angle {
            Angle::Sine(sine) => sine.asin(),
            Angle::Legs(opposite, adjacent) => opposite.atan2(adjacent),
        };
        (real, imaginary)
    };
    c(real.copysign(x), imaginary.copysign(y))
}

pub(crate) fn asin(z: Complex64) -> Complex64 {
    exchanged(asinh(exchanged(z)))
}

pub(crate) fn acos(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() || y.is_nan() {
        return if x.is_infinite() {
            c(f64::NAN, f64::NEG_INFINITY)
        } else if y.is_infinite() {
            c(f64::NAN, -y)
        } else if x == 0.0 {
            c(FRAC_PI_2, f64::NAN)
        } else {
            c(f64::NAN, f64::NAN)
        };
    }
    let (a, b) = (x.abs(), y.abs());
    let (real, imaginary) = if a > LARGE || b > LARGE {
        (b.atan2(x), log_abs(z) + LN_2)
    } else if a < TINY && b < TINY {
        return c(FRAC_PI_2 - x, -y);
    } else {
        let (imaginary, angle) = hull(b, a);
        let real = match angle {
            Angle::Sine(cosine) => cosine.copysign(x).acos(),
            Angle::Legs(adjacent, opposite) => opposite.atan2(adjacent.copysign(x)),
        };
        (real, imaginary)
    };
    c(real, imaginary.copysign(-y))
}

pub(crate) fn acosh(z: Complex64) -> Complex64 {
    let w = acos(z);
    if w.im.is_nan() {
        return c(w.im, w.im);
    }
    if w.re.is_nan() {
        return c(w.im.abs(), w.re);
    }
    c(w.im.abs(), w.re.copysign(z.im))
}

#[expect(clippy::float_cmp, reason = "the pole is at 1 exactly")]
pub(crate) fn atanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let (a, b) = (x.abs(), y.abs());
    if b == 0.0 && a <= 1.0 {
        return c(super::elementary::atanh(x), y);
    }
    if a == 0.0 {
        return c(x, y.atan());
    }
    if a.is_nan() || b.is_nan() {
        return if x.is_infinite() {
            c(0.0_f64.copysign(x), f64::NAN)
        } else if y.is_infinite() {
            c(0.0_f64.copysign(x), FRAC_PI_2.copysign(y))
        } else {
            c(f64::NAN, f64::NAN)
        };
    }
    if a > LARGE || b > LARGE {
        let size = a.hypot(b);
        let real = if size.is_finite() {
            a / size / size
        } else {
            0.0
        };
        return c(real.copysign(x), FRAC_PI_2.copysign(y));
    }
    if a < TINY && b < TINY {
        return z;
    }
    let real = if a == 1.0 && b < f64::EPSILON {
        0.5 * (LN_2 - b.ln())
    } else {
        let to_pole = (a - 1.0) * (a - 1.0) + if b < 1e-150 { 0.0 } else { b * b };
        0.25 * (4.0 * a / to_pole).ln_1p()
    };
    let imaginary = if a == 1.0 {
        0.5 * 2_f64.atan2(-b)
    } else {
        0.5 * (2.0 * b).atan2((1.0 - a) * (1.0 + a) - b * b)
    };
    c(real.copysign(x), imaginary.copysign(y))
}

pub(crate) fn atan(z: Complex64) -> Complex64 {
    exchanged(atanh(exchanged(z)))
}

pub(crate) fn rint(z: Complex64) -> Complex64 {
    c(z.re.round_ties_even(), z.im.round_ties_even())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_undo_even_where_the_plain_formulas_cancel() {
        for z in [
            c(1e-5, 2e-6),
            c(0.5, -0.3),
            c(-2.0, 1e-7),
            c(0.999_999, 1e-9),
            c(-3.0, 40.0),
        ] {
            for (there, back) in [
                (
                    asinh as fn(Complex64) -> Complex64,
                    sinh as fn(Complex64) -> Complex64,
                ),
                (asin, sin),
                (acosh, cosh),
                (acos, cos),
                (atanh, tanh),
                (atan, tan),
                (log, exp),
                (log1p, expm1),
            ] {
                let found = back(there(z));
                assert!(
                    (found - z).norm() <= 1e-9 * z.norm().max(1e-6),
                    "{z}: {found}"
                );
            }
            let root = sqrt(z);
            assert!((root * root - z).norm() <= 1e-15 * z.norm());
        }
    }

    #[test]
    fn large_numbers_do_not_overflow_on_the_way() {
        let z = c(1e300, -1e300);
        assert!((log(z).re - (300.0 * std::f64::consts::LN_10 + 0.5 * LN_2)).abs() < 1e-12);
        assert!((sqrt(z).norm() - 2_f64.powf(0.25) * 1e150).abs() < 1e136);
        assert!(asinh(z).re.is_finite() && exp(c(709.9, 1.5)).re.is_finite());
    }
}
