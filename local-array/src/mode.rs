//! [`Mode`]: what becomes of an index beyond the ends.

/// What `choose`, `take` and `put` do with an index that is out of range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// It is an error, the same on every rank. Negative indices count from the end where the operation says so.
    #[default]
    Raise,
    /// It is taken modulo the extent.
    Wrap,
    /// It is the nearest that there is: negative ones are 0.
    Clip,
}

impl Mode {
    /// The position of `index` among `extent` many; `None` where it is out of range and that is an error, or where there are none.
    #[must_use]
    pub(crate) fn place(self, index: i64, extent: u64) -> Option<u64> {
        let last = extent.checked_sub(1)?;
        match self {
            Self::Raise => u64::try_from(index).ok().filter(|&index| index < extent),
            // Extents are below 2^63.
            Self::Wrap => match i64::try_from(extent) {
                Ok(extent) => u64::try_from(index.rem_euclid(extent)).ok(),
                Err(_) => Some(u64::try_from(index).unwrap_or(0)),
            },
            Self::Clip => Some(u64::try_from(index).unwrap_or(0).min(last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Mode;

    #[test]
    fn indices_beyond_the_ends_have_their_place() {
        let places = |mode: Mode| [-4, -1, 0, 2, 3, 7].map(|index| mode.place(index, 3));
        assert_eq!(
            places(Mode::Raise),
            [None, None, Some(0), Some(2), None, None]
        );
        assert_eq!(places(Mode::Wrap), [2, 2, 0, 2, 0, 1].map(Some));
        assert_eq!(places(Mode::Clip), [0, 0, 0, 2, 2, 2].map(Some));
        for mode in [Mode::Raise, Mode::Wrap, Mode::Clip] {
            assert_eq!(mode.place(0, 0), None);
        }
    }
}
