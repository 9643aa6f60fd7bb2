//! [`Span`]: how far the loops of a dimension reach.

use super::CopyError;
use super::axis::Side;

/// The lowest and the highest offset touched on one side, in elements; nothing yet where `low` is above `high`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    low: i128,
    high: i128,
}

impl Default for Span {
    fn default() -> Self {
        Self {
            low: i128::MAX,
            high: i128::MIN,
        }
    }
}

/// Beyond every address, and so little that sums of such numbers, as many as there are dimensions, stay inside 128 bits.
const FAR: u128 = 1 << 100;

impl Span {
    /// Adds `count` runs of `len` elements, both at least 1.
    ///
    /// # Errors
    /// [`CopyError::Overflow`] when one of them begins or reaches too far to be counted.
    pub(super) fn cover(&mut self, side: &Side, len: usize, count: usize) -> Result<(), CopyError> {
        let reach = |n: usize, stride: isize| (n as i128 - 1) * stride as i128;
        let (a, b) = (reach(count, side.run_stride), reach(len, side.stride));
        if [side.offset, a, b].iter().any(|n| n.unsigned_abs() > FAR) {
            return Err(CopyError::Overflow { what: "position" });
        }
        self.low = self.low.min(side.offset + a.min(0) + b.min(0));
        self.high = self.high.max(side.offset + a.max(0) + b.max(0));
        Ok(())
    }

    /// Checks that the sums of one offset of each span, from `origin` on, lie inside a slice of `len` elements.
    ///
    /// # Errors
    /// [`CopyError::OutOfBounds`] when one does not.
    pub(super) fn check(
        side: &'static str,
        spans: impl Iterator<Item = Self> + Clone,
        (origin, len): (usize, usize),
    ) -> Result<(), CopyError> {
        if spans.clone().any(|span| span.low > span.high) {
            return Ok(());
        }
        let (mut lowest, mut highest) = (origin as i128, origin as i128);
        for span in spans {
            lowest += span.low;
            highest += span.high;
        }
        if lowest < 0 || highest >= len as i128 {
            return Err(CopyError::OutOfBounds {
                side,
                lowest,
                highest,
                len,
            });
        }
        Ok(())
    }
}
