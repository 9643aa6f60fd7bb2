//! [`IndexMode`]: what an index outside the array means.

use crate::ArrayError;

/// What an index outside `0..n` means: `NumPy`'s `mode` of [`take`](crate::LocalArrayBase::take),
/// [`put`](crate::LocalArrayBase::put) and [`choose`](crate::LocalArrayBase::choose), whose examples have it. Every rank gives
/// the same.
///
/// | index, of 5 | `Raise` | `Wrap` | `Clip` |
/// |---|---|---|---|
/// | 7 | an error | 2 | 4 |
/// | -1 | 4 | 4 | 0 |
/// | -6 | an error | 4 | 0 |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IndexMode {
    /// Negative ones count from the end; beyond that it is [`ArrayError::OutOfBounds`].
    #[default]
    Raise,
    /// Counted on from the other end, as often as it takes.
    Wrap,
    /// The nearest index inside; negative ones do not count from the end.
    Clip,
}

impl IndexMode {
    /// The index meant, below `size`.
    pub(crate) fn resolve(self, index: i64, size: u64) -> Result<u64, ArrayError> {
        let (from, is_negative) = (index.unsigned_abs(), index < 0);
        let at = match self {
            Self::Raise | Self::Wrap if !is_negative && from < size => Some(from),
            Self::Raise if is_negative => size.checked_sub(from),
            Self::Raise => None,
            Self::Wrap => match from.checked_rem(size) {
                Some(rest) if is_negative && rest > 0 => Some(size - rest),
                rest => rest,
            },
            Self::Clip if is_negative => Some(0),
            Self::Clip => Some(from.min(size.saturating_sub(1))),
        };
        at.filter(|&at| at < size).ok_or(ArrayError::OutOfBounds {
            what: "index",
            axis: None,
            given: index.into(),
            allowed: size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_follow_the_table() {
        let at = |mode: IndexMode, index| mode.resolve(index, 5).ok();
        let of = |index| [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip].map(|m| at(m, index));
        assert_eq!(of(7), [None, Some(2), Some(4)]);
        assert_eq!(of(-1), [Some(4), Some(4), Some(0)]);
        assert_eq!(of(-6), [None, Some(4), Some(0)]);
        assert_eq!(of(i64::MIN), [None, Some(2), Some(0)]);
        assert_eq!(of(i64::MAX), [None, Some(2), Some(4)]);
        assert_eq!(of(-5), [Some(0), Some(0), Some(0)]);
        assert_eq!(of(-10), [None, Some(0), Some(0)]);
        assert_eq!(
            IndexMode::Wrap.resolve(-1, u64::MAX).ok(),
            Some(u64::MAX - 1)
        );
        for mode in [IndexMode::Raise, IndexMode::Wrap, IndexMode::Clip] {
            assert!(mode.resolve(0, 0).is_err());
        }
    }
}
