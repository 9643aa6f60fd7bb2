//! [`BoxPart`]: a rank's elements as a box of the array and of its buffer, in pieces that one call of the library may have.

use dap_protocol::{DimData, Dist};

use super::ffi::{InMemory, Selected};
use crate::FileLayout;
use crate::part::Extent;

/// A box of the array, and where it lies in a rank's buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BoxPart {
    file: Selected,
    /// The buffer's shape, and where the box begins in it.
    shape: Vec<usize>,
    start: Vec<u64>,
}

impl BoxPart {
    /// What is meant of a part; `None` where it is no box.
    pub(super) fn new(dim_data: &DimData, extent: Extent) -> Option<Self> {
        let ndim = dim_data.ndim();
        let mut file = Selected::with_capacity(ndim);
        let (mut shape, mut begin) = (Vec::with_capacity(ndim), Vec::with_capacity(ndim));
        for dim in dim_data {
            let Dist::Block { start, stop, .. } = *dim.dist() else {
                return None;
            };
            let owned = dim.owned_range().filter(|_| extent == Extent::Owned);
            let meant = owned.unwrap_or(start..stop);
            file.push(meant.start, meant.end.checked_sub(meant.start)?);
            begin.push(meant.start.checked_sub(start)?);
            shape.push(usize::try_from(stop - start).ok()?);
        }
        Some(Self {
            file,
            shape,
            start: begin,
        })
    }

    /// The box in pieces of at most `most` elements, whole chunks as far as they go, in C order; none where there are no elements.
    pub(super) fn pieces(&self, most: u64, layout: &FileLayout) -> Vec<(Selected, InMemory)> {
        let count = &self.file.count;
        if count.contains(&0) {
            return Vec::new();
        }
        // slower dimensions one by one, then some of one dimension, and the faster ones whole
        let mut of_piece = count.clone();
        let mut faster = count.iter().fold(1, |n: u64, &k| n.saturating_mul(k));
        for axis in 0..count.len() {
            if faster <= most {
                break;
            }
            faster /= count[axis];
            let some = (most / faster.max(1)).clamp(1, count[axis]);
            let step = layout.step(axis);
            of_piece[axis] = if some > step {
                some - some % step
            } else {
                some
            };
            faster = faster.saturating_mul(of_piece[axis]);
        }
        let mut pieces = vec![(Vec::new(), Vec::new())];
        for (&n, &step) in count.iter().zip(&of_piece) {
            let cuts = (0..n).step_by(usize::try_from(step).unwrap_or(usize::MAX));
            let cuts: Vec<(u64, u64)> = cuts.map(|at| (at, step.min(n - at))).collect();
            pieces = pieces
                .iter()
                .flat_map(|(at, len): &(Vec<u64>, Vec<u64>)| {
                    cuts.iter().map(move |&(from, n)| {
                        ([&at[..], &[from]].concat(), [&len[..], &[n]].concat())
                    })
                })
                .collect();
        }
        let shifted =
            |start: &[u64], by: &[u64]| start.iter().zip(by).map(|(a, b)| a + b).collect();
        let piece = |(at, len): (Vec<u64>, Vec<u64>)| {
            let file = Selected {
                start: shifted(&self.file.start, &at),
                count: len.clone(),
            };
            let selected = Selected {
                start: shifted(&self.start, &at),
                count: len,
            };
            (file, in_memory(&self.shape, selected))
        };
        pieces.into_iter().map(piece).collect()
    }
}

/// Part of a buffer of this shape; in one piece, where it is, because that is what MPI moves fastest.
fn in_memory(shape: &[usize], selected: Selected) -> InMemory {
    let (mut offset, mut len, mut stride) = (0, 1, 1);
    // from the fastest dimension on: whole ones, then one that need not be, then single positions
    let mut is_whole = true;
    for (axis, &extent) in shape.iter().enumerate().rev() {
        // both within the buffer, whose elements are counted in usize
        let start = usize::try_from(selected.start[axis]).unwrap_or(usize::MAX);
        let count = usize::try_from(selected.count[axis]).unwrap_or(usize::MAX);
        if !is_whole && count != 1 {
            return InMemory {
                offset: 0,
                shape: shape.to_vec(),
                selected: Some(selected),
            };
        }
        is_whole &= count == extent;
        offset += start * stride;
        len *= count;
        stride *= extent;
    }
    let scalar = shape.is_empty();
    InMemory {
        offset,
        shape: if scalar { Vec::new() } else { vec![len] },
        selected: None,
    }
}

#[cfg(test)]
mod tests {
    use dap_protocol::DimDict;

    use super::*;

    /// Start and count in the file, and the first position in memory, of every piece; all are in one piece there.
    fn cut(part: &BoxPart, most: u64, layout: &FileLayout) -> Vec<(Vec<u64>, Vec<u64>, usize)> {
        let pieces = part.pieces(most, layout).into_iter();
        pieces
            .map(|(file, memory)| {
                assert_eq!(memory.selected, None);
                let elements: u64 = file.count.iter().product();
                assert_eq!(memory.shape.iter().product::<usize>() as u64, elements);
                (file.start, file.count, memory.offset)
            })
            .collect()
    }

    #[test]
    fn what_is_in_one_piece_in_memory_is_one_run() {
        let of = |start: &[u64], count: &[u64]| {
            let selected = Selected {
                start: start.to_vec(),
                count: count.to_vec(),
            };
            in_memory(&[4, 3, 5], selected)
        };
        let run = |offset, len| InMemory {
            offset,
            shape: vec![len],
            selected: None,
        };
        assert_eq!(of(&[0, 0, 0], &[4, 3, 5]), run(0, 60));
        assert_eq!(of(&[1, 0, 0], &[2, 3, 5]), run(15, 30));
        assert_eq!(of(&[2, 1, 0], &[1, 2, 5]), run(35, 10));
        assert_eq!(of(&[2, 1, 3], &[1, 1, 2]), run(38, 2));
        assert_eq!(of(&[3, 0, 4], &[1, 1, 1]), run(49, 1));
        for (start, count) in [([0, 0, 0], [2, 1, 5]), ([1, 1, 1], [1, 2, 3])] {
            let strided = of(&start, &count);
            assert_eq!((strided.offset, &strided.shape[..]), (0, &[4, 3, 5][..]));
            assert_eq!(strided.selected.unwrap().count, count);
        }
    }

    fn padded() -> DimData {
        let rows = DimDict::block(9, 3, 1, 2..7).unwrap();
        let rows = rows.with_padding(1, 1).unwrap();
        DimData::new(vec![rows, DimDict::whole(4).unwrap()])
    }

    #[test]
    fn padding_is_in_the_buffer_and_read() {
        let layout = FileLayout::Contiguous;
        let owned = BoxPart::new(&padded(), Extent::Owned).unwrap();
        let piece = (vec![3, 0], vec![3, 4], 4);
        assert_eq!(cut(&owned, 12, &layout), [piece]);
        assert_eq!(owned.shape, [5, 4]);
        let stored = BoxPart::new(&padded(), Extent::Stored).unwrap();
        let piece = (vec![2, 0], vec![5, 4], 0);
        assert_eq!(cut(&stored, 100, &layout), [piece]);
    }

    #[test]
    fn pieces_are_no_larger_than_asked_and_cover_the_box() {
        let part = BoxPart::new(&padded(), Extent::Owned).unwrap();
        let rows = vec![(vec![3, 0], vec![2, 4], 4), (vec![5, 0], vec![1, 4], 12)];
        assert_eq!(cut(&part, 11, &FileLayout::Contiguous), rows);
        let place = |row: u64, at: u64| usize::try_from((row - 2) * 4 + at).unwrap();
        let within: Vec<_> = (3..6)
            .flat_map(|row| {
                [(0, 3), (3, 1)].map(|(at, n)| (vec![row, at], vec![1, n], place(row, at)))
            })
            .collect();
        assert_eq!(cut(&part, 3, &FileLayout::Contiguous), within);
        // of a chunked array whole chunks, where these are small enough
        let chunked = FileLayout::Chunked { chunk: vec![1, 2] };
        let pairs: Vec<_> = (3..6)
            .flat_map(|row| [0, 2].map(|at| (vec![row, at], vec![1, 2], place(row, at))))
            .collect();
        assert_eq!(cut(&part, 3, &chunked), pairs);
        let single = cut(&part, 1, &chunked);
        assert_eq!(single.len(), 12);
        assert!(single.iter().all(|(_, count, _)| *count == [1, 1]));
    }

    #[test]
    fn what_is_no_box_and_what_is_empty() {
        let dealt = DimData::new(vec![DimDict::cyclic(7, 2, 0, 2).unwrap()]);
        assert_eq!(BoxPart::new(&dealt, Extent::Owned), None);
        let empty = DimData::new(vec![DimDict::whole(0).unwrap(), DimDict::whole(4).unwrap()]);
        let empty = BoxPart::new(&empty, Extent::Owned).unwrap();
        assert_eq!(cut(&empty, 5, &FileLayout::Contiguous), []);
        let scalar = BoxPart::new(&DimData::new(vec![]), Extent::Owned).unwrap();
        assert_eq!(
            cut(&scalar, 1, &FileLayout::Contiguous),
            [(vec![], vec![], 0)]
        );
    }
}
