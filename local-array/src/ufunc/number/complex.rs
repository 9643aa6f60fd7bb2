//! Complex numbers: [`Wide`].

use num_complex::{Complex32, Complex64};

use super::Wide;
use crate::numeric::complex_quotient;
use crate::ufunc::complex as functions;

macro_rules! complex {
    ($($t:ty, $real:ty, $power:path;)*) => {$(
        impl Wide for $t {
            fn signum_of(self) -> Self {
                let size = self.re.hypot(self.im);
                if size == 0.0 {
                    return Self::new(0.0, 0.0);
                }
                if size.is_infinite() {
                    // Where one part alone is infinite the other is nothing beside it.
                    return match (self.re.is_infinite(), self.im.is_infinite()) {
                        (true, false) => Self::new(self.re.signum(), 0.0),
                        (false, true) => Self::new(0.0, self.im.signum()),
                        (false, false) => Self::new(self.re / size, self.im / size),
                        (true, true) => Self::new(<$real>::NAN, <$real>::NAN),
                    };
                }
                Self::new(self.re / size, self.im / size)
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                if self.im.abs() <= self.re.abs() {
                    let ratio = self.im / self.re;
                    let scale = self.re + self.im * ratio;
                    Self::new(1.0 / scale, -ratio / scale)
                } else {
                    let ratio = self.re / self.im;
                    let scale = self.re * ratio + self.im;
                    Self::new(ratio / scale, -1.0 / scale)
                }
            }
            fn to_power(self, exponent: Self) -> Self {
                $power(self, exponent)
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self.conj()
            }
        }
    )*};
}

complex! {
    Complex32, f32, power32;
    Complex64, f64, power64;
}

fn power32(base: Complex32, exponent: Complex32) -> Complex32 {
    let wide = |z: Complex32| Complex64::new(f64::from(z.re), f64::from(z.im));
    functions::narrow(power64(wide(base), wide(exponent)))
}

/// Small whole powers by products, the rest by `exp(exponent · ln(base))`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a whole number below 100 is what it is"
)]
fn power64(base: Complex64, exponent: Complex64) -> Complex64 {
    let zero = Complex64::new(0.0, 0.0);
    if exponent == zero {
        return Complex64::new(1.0, 0.0);
    }
    if base == zero {
        return if exponent.re > 0.0 {
            zero
        } else {
            Complex64::new(f64::NAN, f64::NAN)
        };
    }
    if exponent.im == 0.0 && exponent.re.abs() < 100.0 && exponent.re.fract() == 0.0 {
        let mut left = exponent.re.abs() as u32;
        let (mut square, mut power) = (base, None);
        while left > 0 {
            if left & 1 == 1 {
                power = Some(power.map_or(square, |power: Complex64| power * square));
            }
            square *= square;
            left >>= 1;
        }
        let power = power.unwrap_or(Complex64::new(1.0, 0.0));
        return if exponent.re < 0.0 {
            complex_quotient(Complex64::new(1.0, 0.0), power)
        } else {
            power
        };
    }
    functions::exp(exponent * functions::log(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_do_not_overflow_on_the_way() {
        let z = Complex64::new(3e200, 4e200);
        assert_eq!(complex_quotient(z, z), Complex64::new(1.0, 0.0));
    }
}
