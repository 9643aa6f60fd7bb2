//! Real floats: [`Wide`], [`Divisible`]; half floats by way of `f32`.

use half::{bf16, f16};

use super::{Divisible, Wide};

macro_rules! float {
    ($($t:ty),*) => {$(
        impl Wide for $t {
            #[inline]
            fn signum_of(self) -> Self {
                if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    self.abs()
                }
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                1.0 / self
            }
            #[inline]
            fn to_power(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self
            }
        }
        impl Divisible for $t {
            #[inline]
            fn floored(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                let rest = self % other;
                let mut quotient = (self - rest) / other;
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 {
                    return (0.0 as $t).copysign(self / other);
                }
                // The quotient is an integer but for rounding.
                let floor = quotient.floor();
                if quotient - floor > 0.5 { floor + 1.0 } else { floor }
            }
            #[inline]
            fn floored_rest(self, other: Self) -> Self {
                let rest = self % other;
                if rest == 0.0 {
                    rest.copysign(other)
                } else if (rest < 0.0) != (other < 0.0) {
                    rest + other
                } else {
                    rest
                }
            }
            #[inline]
            fn truncated_rest(self, other: Self) -> Self {
                self % other
            }
        }
    )*};
}

float!(f32, f64);

macro_rules! half {
    ($($t:ident),*) => {$(
        impl Wide for $t {
            #[inline]
            fn signum_of(self) -> Self {
                Self::from_f32(self.to_f32().signum_of())
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                Self::from_f32(1.0 / self.to_f32())
            }
            #[inline]
            fn to_power(self, exponent: Self) -> Self {
                Self::from_f32(self.to_f32().powf(exponent.to_f32()))
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self
            }
        }
        impl Divisible for $t {
            #[inline]
            fn floored(self, other: Self) -> Self {
                Self::from_f32(self.to_f32().floored(other.to_f32()))
            }
            #[inline]
            fn floored_rest(self, other: Self) -> Self {
                Self::from_f32(self.to_f32().floored_rest(other.to_f32()))
            }
            #[inline]
            fn truncated_rest(self, other: Self) -> Self {
                Self::from_f32(self.to_f32() % other.to_f32())
            }
        }
    )*};
}

half!(f16, bf16);
