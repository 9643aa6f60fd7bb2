//! Integers: [`Wide`], [`Divisible`], [`Shift`].

use super::{Divisible, Shift, Wide};

macro_rules! integer {
    ($($t:ty: |$x:ident| $signum:expr, $is_unit:expr;)*) => {$(
        impl Wide for $t {
            #[inline]
            fn signum_of(self) -> Self {
                let $x = self;
                $signum
            }
            #[inline]
            fn reciprocal_of(self) -> Self {
                let $x = self;
                if $is_unit { self } else { 0 }
            }
            #[inline]
            fn to_power(self, exponent: Self) -> Self {
                let (mut base, mut left, mut power) = (self, exponent, 1 as $t);
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                if left < 0 {
                    base = self.reciprocal_of();
                    // Only whether it is odd counts: the base is -1, 0 or 1.
                    left &= 1;
                    if base == 0 || left == 0 {
                        return if base == 0 { 0 } else { 1 };
                    }
                }
                while left > 0 {
                    if left & 1 == 1 {
                        power = power.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                power
            }
            #[inline]
            fn conjugate_of(self) -> Self {
                self
            }
        }
        impl Divisible for $t {
            #[inline]
            fn floored(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let (quotient, rest) = (self.wrapping_div(other), self.wrapping_rem(other));
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                if rest != 0 && (rest < 0) != (other < 0) { quotient - 1 } else { quotient }
            }
            #[inline]
            fn floored_rest(self, other: Self) -> Self {
                let rest = self.truncated_rest(other);
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                if rest != 0 && (rest < 0) != (other < 0) { rest + other } else { rest }
            }
            #[inline]
            fn truncated_rest(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
        }
        impl Shift for $t {
            #[inline]
            fn shifted_left(self, count: Self) -> Self {
                u32::try_from(count).ok().and_then(|count| self.checked_shl(count)).unwrap_or(0)
            }
            #[inline]
            fn shifted_right(self, count: Self) -> Self {
                #[allow(unused_comparisons, reason = "one text for signed and unsigned")]
                let beyond = if self < 0 { !0 } else { 0 };
                u32::try_from(count).ok().and_then(|count| self.checked_shr(count)).unwrap_or(beyond)
            }
        }
    )*};
}

integer! {
    i8: |x| x.signum(), x == 1 || x == -1;
    i16: |x| x.signum(), x == 1 || x == -1;
    i32: |x| x.signum(), x == 1 || x == -1;
    i64: |x| x.signum(), x == 1 || x == -1;
    u8: |x| x.min(1), x == 1;
    u16: |x| x.min(1), x == 1;
    u32: |x| x.min(1), x == 1;
    u64: |x| x.min(1), x == 1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_powers_quotients_and_shifts() {
        assert_eq!([3_i8.to_power(4), 3_i8.to_power(5)], [81, -13]);
        assert_eq!(
            [
                2_i32.to_power(-1),
                1_i32.to_power(-3),
                (-1_i32).to_power(-3)
            ],
            [0, 1, -1]
        );
        assert_eq!(
            [(-1_i64).to_power(-2), 0_i64.to_power(0), 0_i64.to_power(-1)],
            [1, 1, 0]
        );
        assert_eq!(
            [(-7_i32).floored(2), 7_i32.floored(-2), 7_i32.floored(0)],
            [-4, -4, 0]
        );
        assert_eq!(
            [
                (-7_i32).floored_rest(2),
                7_i32.floored_rest(-2),
                i32::MIN.floored_rest(-1)
            ],
            [1, -1, 0]
        );
        assert_eq!(i32::MIN.floored(-1), i32::MIN);
        assert_eq!(
            [
                1_u8.shifted_left(7),
                1_u8.shifted_left(8),
                200_u8.shifted_right(9)
            ],
            [128, 0, 0]
        );
        assert_eq!(
            [
                1_i8.shifted_left(-1),
                (-1_i8).shifted_right(100),
                (-8_i8).shifted_right(1)
            ],
            [0, -1, -4]
        );
    }
}
