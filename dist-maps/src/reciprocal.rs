//! [`Reciprocal`]: division by a number known beforehand, without a division.

/// Divides by a fixed divisor by multiplication and shift.
///
/// With `l = ceil(log2 d)` and `m = ceil(2^(w + l) / d)`, `n * m >> (w + l)` is `n / d` for every
/// `n < 2^w`: `m * d` exceeds `2^(w + l)` by less than `d <= 2^l`, so that the error stays below
/// `n / 2^w * 1 / d < 1 / d`. `m` has at most `w + 1` bits, and `w` when `d` is no power of two.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reciprocal {
    divisor: u64,
    log2: u32,
    narrow: u64,
    wide: u64,
}

/// Operands of the fast path are below this.
pub(crate) const NARROW: u64 = 1 << 31;

impl Reciprocal {
    /// By `divisor`, which is at least 1 and below 2⁶³.
    pub(crate) fn new(divisor: u64) -> Self {
        debug_assert!((1..=1 << 63).contains(&divisor));
        let log2 = divisor.next_power_of_two().trailing_zeros();
        let magic = |w: u32| {
            u64::try_from((1_u128 << (w + log2)).div_ceil(u128::from(divisor))).unwrap_or(0)
        };
        Self {
            divisor,
            log2,
            // Operands below 2^31: the product stays below 2^63.
            narrow: if divisor < NARROW { magic(31) } else { 0 },
            wide: magic(63),
        }
    }

    pub(crate) fn divisor(self) -> u64 {
        self.divisor
    }

    /// `n / divisor` for `n` below 2⁶³.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the quotient is at most n")]
    pub(crate) fn divide(self, n: u64) -> u64 {
        ((u128::from(n) * u128::from(self.wide)) >> (63 + self.log2)) as u64
    }

    /// The shift, where the divisor is a power of two.
    pub(crate) fn shift(self) -> Option<Shift> {
        self.divisor.is_power_of_two().then_some(Shift {
            log2: self.log2,
            mask: self.divisor - 1,
        })
    }

    /// The form for operands below 2⁶³.
    pub(crate) fn wide(self) -> Wide {
        Wide(self)
    }

    /// The form for operands below [`NARROW`].
    pub(crate) fn multiply(self) -> Multiply {
        Multiply {
            magic: self.narrow,
            shift: 31 + self.log2,
            divisor: self.divisor,
        }
    }
}

/// Division with remainder of numbers below `2^BITS`.
pub(crate) trait Divide: Copy {
    /// 31, where everything vectorises, or 63.
    const BITS: u32;

    /// Quotient and remainder.
    fn divide(self, n: u64) -> (u64, u64);

    /// A product that stays below `2^BITS`, of factors that do.
    #[inline]
    fn multiply(a: u64, b: u64) -> u64 {
        if Self::BITS > 31 {
            a.wrapping_mul(b)
        } else {
            // Masking tells the compiler that 32 × 32 bits suffice.
            (a & LOW) * (b & LOW)
        }
    }
}

const LOW: u64 = u32::MAX as u64;

/// For operands that [`Multiply`] is too narrow for.
#[derive(Clone, Copy)]
pub(crate) struct Wide(Reciprocal);

impl Divide for Wide {
    const BITS: u32 = 63;

    #[inline]
    fn divide(self, n: u64) -> (u64, u64) {
        let q = self.0.divide(n);
        (q, n.wrapping_sub(q.wrapping_mul(self.0.divisor)))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Shift {
    log2: u32,
    mask: u64,
}

impl Divide for Shift {
    const BITS: u32 = 31;

    #[inline]
    fn divide(self, n: u64) -> (u64, u64) {
        (n >> self.log2, n & self.mask)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Multiply {
    magic: u64,
    shift: u32,
    divisor: u64,
}

impl Divide for Multiply {
    const BITS: u32 = 31;

    #[inline]
    fn divide(self, n: u64) -> (u64, u64) {
        let q = ((n & LOW) * (self.magic & LOW)) >> self.shift;
        (q, n - (q & LOW) * (self.divisor & LOW))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_exactly_at_the_edges() {
        let divisors = (1..200).chain([
            255,
            1000,
            65_537,
            NARROW - 1,
            NARROW,
            1 << 40,
            (1 << 40) + 1,
        ]);
        for d in divisors.chain([(1 << 62) + 1, (1 << 63) - 1]) {
            let r = Reciprocal::new(d);
            let multiples = [1, 2, 3, 1000, (1_u64 << 63) / d, ((1 << 31) / d).max(1)];
            for n in multiples
                .iter()
                .filter_map(|k| k.checked_mul(d))
                .flat_map(|m| [m - 1, m, m + 1])
                .chain([0, NARROW - 1, (1 << 63) - 1])
                .filter(|&n| n < 1 << 63)
            {
                assert_eq!(r.divide(n), n / d, "{n} / {d}");
                if n < NARROW && d < NARROW {
                    if let Some(shift) = r.shift() {
                        assert_eq!(shift.divide(n), (n / d, n % d), "{n} >> {d}");
                    } else {
                        assert_eq!(r.multiply().divide(n), (n / d, n % d), "{n} / {d}");
                    }
                }
            }
        }
    }
}
