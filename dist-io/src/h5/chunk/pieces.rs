//! [`ChunkPieces`]: where the elements of every chunk lie in a rank's buffer.
//!
//! ```text
//! 7 columns dealt by 2 to two ranks, chunks of 3      file    0 1 . . 4 5 .
//!                                                     chunks  |-----|-----|-----|
//! rank 0's buffer is 0 1 4 5: chunk 0 holds its positions 0 and 1, chunk 1 its positions 2 and 3, chunk 2 nothing
//! ```
//!
//! Dimensions are independent: each is cut at the borders of chunks once, and a chunk is one place of each.

use std::collections::BTreeMap;

use dap_protocol::DimData;

use crate::IoError;
use crate::part::{Extent, axes_of};

/// Positions that are contiguous in a chunk and in a buffer, along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    in_chunk: usize,
    local: usize,
    len: usize,
}

/// The chunks along one dimension that hold elements of the part.
#[derive(Clone, Debug)]
enum Places {
    /// Those of one run, which need not be listed.
    Run {
        global: u64,
        local: usize,
        len: usize,
    },
    /// Their coordinates, ascending, and the pieces in each.
    List(Vec<(u64, Vec<Piece>)>),
}

/// The pieces of one chunk along a dimension.
enum Pieces<'a> {
    One([Piece; 1]),
    Many(&'a [Piece]),
}

impl std::ops::Deref for Pieces<'_> {
    type Target = [Piece];

    fn deref(&self) -> &[Piece] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}

impl Places {
    /// Cuts runs into chunks of `step` elements.
    fn new(runs: impl Iterator<Item = dist_maps::Run>, step: usize) -> Self {
        let mut runs = runs.peekable();
        let Some(first) = runs.next() else {
            return Self::List(Vec::new());
        };
        let index = |global: i64| u64::try_from(global).expect("it was checked to be in the array");
        if runs.peek().is_none() {
            return Self::Run {
                global: index(first.global),
                local: first.local,
                len: first.len,
            };
        }
        let mut places: BTreeMap<u64, Vec<Piece>> = BTreeMap::new();
        for run in std::iter::once(first).chain(runs) {
            let run = Self::Run {
                global: index(run.global),
                local: run.local,
                len: run.len,
            };
            let count = usize::try_from(run.count(step)).expect("no more than its elements");
            for at in 0..count {
                let pieces = places.entry(run.coord(at, step)).or_default();
                pieces.extend_from_slice(&run.pieces(at, step));
            }
        }
        Self::List(places.into_iter().collect())
    }

    /// Number of chunks.
    fn count(&self, step: usize) -> u64 {
        match self {
            Self::Run { len: 0, .. } => 0,
            Self::Run { global, len, .. } => {
                let step = step as u64;
                (global + *len as u64 - 1) / step - global / step + 1
            }
            Self::List(list) => list.len() as u64,
        }
    }

    /// A chunk's coordinate.
    fn coord(&self, at: usize, step: usize) -> u64 {
        match self {
            Self::Run { global, .. } => global / step as u64 + at as u64,
            Self::List(list) => list[at].0,
        }
    }

    fn pieces(&self, at: usize, step: usize) -> Pieces<'_> {
        match self {
            Self::Run { global, local, len } => {
                let within = usize::try_from(global % step as u64).expect("less than the step");
                // positions of the run, counted from the beginning of its first chunk
                let first = (at * step).max(within);
                let end = (at + 1)
                    .saturating_mul(step)
                    .min(within.saturating_add(*len));
                Pieces::One([Piece {
                    in_chunk: first - at * step,
                    local: local + (first - within),
                    len: end - first,
                }])
            }
            Self::List(list) => Pieces::Many(&list[at].1),
        }
    }
}

#[derive(Clone, Debug)]
struct Axis {
    places: Places,
    /// Elements along a chunk, and along the buffer.
    chunk: usize,
    stored: usize,
    /// Bytes between neighbours, in a chunk and in the buffer.
    chunk_stride: usize,
    local_stride: usize,
}

impl Axis {
    fn pieces(&self, at: usize) -> Pieces<'_> {
        self.places.pieces(at, self.chunk)
    }
}

/// The chunks of a part, and what of each lies where in the rank's buffer.
#[derive(Clone, Debug)]
pub(in crate::h5) struct ChunkPieces {
    axes: Vec<Axis>,
    item: usize,
    count: u64,
}

impl ChunkPieces {
    /// Cuts a part into chunks of `chunk` elements, all of them 1 or more; elements are of `item` bytes.
    ///
    /// # Errors
    /// [`IoError::Index`] for an index outside the array, [`IoError::Overflow`], [`IoError::Map`].
    pub(in crate::h5) fn new(
        dim_data: &DimData,
        chunk: &[usize],
        item: usize,
        extent: Extent,
    ) -> Result<Self, IoError> {
        let overflow = IoError::Overflow {
            what: "number of bytes of a part",
        };
        let mut axes = Vec::with_capacity(chunk.len());
        for (axis, &step) in axes_of(dim_data, extent)?.iter().zip(chunk) {
            axes.push(Axis {
                places: Places::new(axis.runs(), step),
                chunk: step,
                stored: axis.stored(),
                chunk_stride: 0,
                local_stride: 0,
            });
        }
        let count = axes
            .iter()
            .try_fold(1_u64, |n, axis| {
                n.checked_mul(axis.places.count(axis.chunk))
            })
            .ok_or_else(|| overflow.clone())?;
        if count > 0 {
            let (mut in_chunk, mut local) = (item, item);
            for axis in axes.iter_mut().rev() {
                (axis.chunk_stride, axis.local_stride) = (in_chunk, local);
                let more = (in_chunk.checked_mul(axis.chunk)).zip(local.checked_mul(axis.stored));
                (in_chunk, local) = more.ok_or_else(|| overflow.clone())?;
            }
        }
        Ok(Self { axes, item, count })
    }

    /// No chunks.
    pub(in crate::h5) const fn nothing() -> Self {
        Self {
            axes: Vec::new(),
            item: 0,
            count: 0,
        }
    }

    /// Number of chunks that hold elements of the part.
    pub(in crate::h5) const fn count(&self) -> u64 {
        self.count
    }

    /// The places, per dimension, of one of the chunks, which are in C order.
    pub(in crate::h5) fn at(&self, mut index: u64) -> Vec<usize> {
        let mut at = vec![0; self.axes.len()];
        for (at, axis) in at.iter_mut().zip(&self.axes).rev() {
            let places = axis.places.count(axis.chunk);
            *at = usize::try_from(index % places).expect("no more chunks than elements in memory");
            index /= places;
        }
        at
    }

    /// A chunk's place in the grid of chunks.
    pub(in crate::h5) fn coords(&self, at: &[usize]) -> Vec<u64> {
        let coords = self.axes.iter().zip(at);
        coords
            .map(|(axis, &at)| axis.places.coord(at, axis.chunk))
            .collect()
    }

    /// Whether the part holds every element of a chunk.
    pub(in crate::h5) fn is_whole(&self, at: &[usize]) -> bool {
        self.axes.iter().zip(at).all(|(axis, &at)| {
            let pieces = axis.pieces(at);
            pieces.iter().map(|piece| piece.len).sum::<usize>() == axis.chunk
        })
    }

    /// Bytes that are contiguous in a chunk and in the buffer, at least, as far as its first piece tells.
    pub(in crate::h5) fn run(&self, at: &[usize]) -> usize {
        let (depth, inner) = self.merged(at);
        match depth.checked_sub(1) {
            Some(axis) => {
                let pieces = self.axes[axis].pieces(at[axis]);
                pieces.first().map_or(0, |piece| piece.len * inner)
            }
            None => inner,
        }
    }

    /// Calls `f` with every run of a chunk: its first byte in the chunk, in the buffer, and its length in bytes.
    pub(in crate::h5) fn each<E>(
        &self,
        at: &[usize],
        f: &mut dyn FnMut(usize, usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let (depth, inner) = self.merged(at);
        self.walk(&at[..depth], 0, (0, 0), inner, f)
    }

    /// The dimensions that are walked, and the bytes of what the others merge to: those that the chunk and the buffer both
    /// hold whole.
    fn merged(&self, at: &[usize]) -> (usize, usize) {
        let (mut depth, mut inner) = (self.axes.len(), self.item);
        while let Some(axis) = depth.checked_sub(1).map(|last| &self.axes[last]) {
            match *axis.pieces(at[depth - 1]) {
                [
                    Piece {
                        in_chunk: 0,
                        local: 0,
                        len,
                    },
                ] if len == axis.chunk && len == axis.stored => inner *= len,
                _ => break,
            }
            depth -= 1;
        }
        (depth, inner)
    }

    fn walk<E>(
        &self,
        at: &[usize],
        axis: usize,
        (from, to): (usize, usize),
        inner: usize,
        f: &mut dyn FnMut(usize, usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(&place) = at.get(axis) else {
            return f(from, to, inner);
        };
        let is_last = axis + 1 == at.len();
        let axis_of = &self.axes[axis];
        for piece in &*axis_of.pieces(place) {
            if is_last {
                let from = from + piece.in_chunk * inner;
                f(from, to + piece.local * inner, piece.len * inner)?;
                continue;
            }
            for k in 0..piece.len {
                let from = from + (piece.in_chunk + k) * axis_of.chunk_stride;
                let to = to + (piece.local + k) * axis_of.local_stride;
                self.walk(at, axis + 1, (from, to), inner, f)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use dap_protocol::DimDict;

    use super::*;

    fn runs(pieces: &ChunkPieces, index: u64) -> (Vec<u64>, Vec<(usize, usize, usize)>) {
        let at = pieces.at(index);
        let mut runs = Vec::new();
        let Ok(()) = pieces.each(&at, &mut |from, to, len| {
            runs.push((from, to, len));
            Ok::<_, Infallible>(())
        });
        (pieces.coords(&at), runs)
    }

    #[test]
    fn dealt_columns_are_cut_at_chunks() {
        let columns = DimDict::cyclic(7, 2, 0, 2).unwrap(); // 0 1 4 5
        let part = DimData::new(vec![DimDict::whole(2).unwrap(), columns]);
        let pieces = ChunkPieces::new(&part, &[2, 3], 4, Extent::Owned).unwrap();
        assert_eq!(pieces.count(), 2);
        let first = vec![(0, 0, 8), (12, 16, 8)];
        assert_eq!(runs(&pieces, 0), (vec![0, 0], first));
        let second = vec![(4, 8, 8), (16, 24, 8)];
        assert_eq!(runs(&pieces, 1), (vec![0, 1], second));
        assert!(!pieces.is_whole(&[0, 0]));
        assert_eq!(pieces.run(&[0, 0]), 8);
    }

    #[test]
    fn what_both_hold_whole_is_one_run() {
        let rows = DimDict::block(6, 3, 1, 2..4).unwrap();
        let part = DimData::new(vec![rows, DimDict::whole(5).unwrap()]);
        let pieces = ChunkPieces::new(&part, &[2, 5], 8, Extent::Owned).unwrap();
        assert_eq!(pieces.count(), 1);
        assert_eq!(runs(&pieces, 0), (vec![1, 0], vec![(0, 0, 80)]));
        assert!(pieces.is_whole(&[0, 0]));
        // the last chunk of columns reaches beyond the array
        let pieces = ChunkPieces::new(&part, &[2, 3], 8, Extent::Owned).unwrap();
        assert_eq!(pieces.count(), 2);
        let edge = vec![(0, 24, 16), (24, 64, 16)];
        assert_eq!(runs(&pieces, 1), (vec![1, 1], edge));
        assert!(pieces.is_whole(&[0, 0]) && !pieces.is_whole(&[0, 1]));
    }

    #[test]
    fn padding_is_left_out_where_only_owned_elements_are_meant() {
        let padded = DimDict::block(6, 2, 1, 2..6)
            .unwrap()
            .with_padding(1, 0)
            .unwrap();
        let part = DimData::new(vec![padded]);
        let owned = ChunkPieces::new(&part, &[3], 1, Extent::Owned).unwrap();
        assert_eq!(owned.count(), 1);
        assert_eq!(runs(&owned, 0), (vec![1], vec![(0, 1, 3)]));
        let stored = ChunkPieces::new(&part, &[3], 1, Extent::Stored).unwrap();
        assert_eq!(stored.count(), 2);
        assert_eq!(runs(&stored, 0), (vec![0], vec![(2, 0, 1)]));
    }

    #[test]
    fn unsorted_indices_each_have_a_piece() {
        let list = DimDict::unstructured(6, 1, 0, vec![5, 4, 3, 0], false).unwrap();
        let pieces = ChunkPieces::new(&DimData::new(vec![list]), &[4], 1, Extent::Stored).unwrap();
        assert_eq!(runs(&pieces, 0), (vec![0], vec![(3, 2, 1), (0, 3, 1)]));
        assert_eq!(runs(&pieces, 1), (vec![1], vec![(1, 0, 1), (0, 1, 1)]));
    }

    #[test]
    fn chunks_of_one_run_are_not_listed() {
        let size = 1_u64 << 40;
        let block = DimDict::block(size, 2, 1, 3..size).unwrap();
        let part = DimData::new(vec![block]);
        let pieces = ChunkPieces::new(&part, &[2], 1, Extent::Stored).unwrap();
        assert_eq!(pieces.count(), (size - 2) / 2);
        assert_eq!(runs(&pieces, 0), (vec![1], vec![(1, 0, 1)]));
        assert_eq!(runs(&pieces, 1), (vec![2], vec![(0, 1, 2)]));
        let last = usize::try_from(size - 5).unwrap();
        let number = pieces.count() - 1;
        assert_eq!(
            runs(&pieces, number),
            (vec![size / 2 - 1], vec![(0, last, 2)])
        );
    }

    #[test]
    fn nothing_has_no_chunks() {
        let empty = DimData::new(vec![DimDict::whole(0).unwrap(), DimDict::whole(4).unwrap()]);
        let pieces = ChunkPieces::new(&empty, &[1, 2], 8, Extent::Stored).unwrap();
        assert_eq!((pieces.count(), ChunkPieces::nothing().count()), (0, 0));
    }
}
