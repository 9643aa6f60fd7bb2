//! [`Layout`]: where the columns of a rank's rows lie in its part of the window.
//!
//! ```text
//! rows window     canary | column of field 0 | column of field 1 | …       each at a multiple of 64 bytes
//!   fixed           rows × bytes of an item
//!   ragged, text    rows + 1 ends, u64: sample i has items ends[i] .. ends[i + 1]
//! values window   canary | items of the first such field | …
//! ```

use crate::schema::Kind;
use crate::{DataError, Schema};

/// Where columns begin.
const ALIGNMENT: usize = 64;
/// What a part begins with: see [`canary`](crate::canary).
pub(crate) const CANARY: usize = 16;
/// Bytes of an end.
pub(crate) const END: usize = size_of::<u64>();

/// Offsets of columns, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    offsets: Vec<usize>,
    lens: Vec<usize>,
    len: usize,
}

impl Layout {
    /// Columns of these lengths, one behind the other.
    pub(crate) fn of_lens(lens: Vec<usize>) -> Result<Self, DataError> {
        let too_large = DataError::TooLarge {
            what: "the rows of a rank",
        };
        let mut len = CANARY;
        let mut offsets = Vec::with_capacity(lens.len());
        for &column in &lens {
            let place = len.checked_next_multiple_of(ALIGNMENT).and_then(|offset| {
                offsets.push(offset);
                offset.checked_add(column)
            });
            len = place.ok_or_else(|| too_large.clone())?;
        }
        if isize::try_from(len).is_err() {
            return Err(too_large);
        }
        Ok(Self { offsets, lens, len })
    }

    /// The columns of `rows` rows.
    pub(crate) fn of_rows(schema: &Schema, rows: usize) -> Result<Self, DataError> {
        let column = |kind: &Kind| match kind {
            Kind::Fixed { .. } => kind.item_bytes()?.checked_mul(rows),
            Kind::Ragged { .. } | Kind::Text => rows.checked_add(1)?.checked_mul(END),
        };
        let lens: Option<Vec<_>> = schema.fields().iter().map(|f| column(f.kind())).collect();
        Self::of_lens(lens.ok_or(DataError::TooLarge {
            what: "the rows of a rank",
        })?)
    }

    /// Bytes of the part.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where a column begins.
    pub(crate) fn offset(&self, column: usize) -> usize {
        self.offsets[column]
    }

    /// Bytes of a column.
    pub(crate) fn column_len(&self, column: usize) -> usize {
        self.lens[column]
    }

    /// A column of a part.
    pub(crate) fn column<'a>(&self, part: &'a mut [u8], column: usize) -> &'a mut [u8] {
        let start = self.offsets[column];
        &mut part[start..start + self.lens[column]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sample;

    #[test]
    fn columns_lie_one_behind_the_other() {
        let sample: Sample = (vec![0_f32; 3], Sample::ragged(vec![0_u8]), "x", 1_u8).into();
        let schema = Schema::of(&sample).unwrap();
        let layout = Layout::of_rows(&schema, 10).unwrap();
        assert_eq!(layout.offsets, [64, 192, 320, 448]);
        assert_eq!(layout.lens, [120, 88, 88, 10]);
        assert_eq!(layout.len(), 458);
        let empty = Layout::of_rows(&schema, 0).unwrap();
        assert_eq!(empty.lens, [0, 8, 8, 0]);
        assert!(Layout::of_rows(&schema, usize::MAX / 12).is_err());
        assert!(Layout::of_rows(&schema, usize::MAX).is_err());
        let none = Schema::new(crate::Structure::Tuple(vec![])).unwrap();
        assert_eq!(Layout::of_rows(&none, 5).unwrap().len(), CANARY);
    }
}
