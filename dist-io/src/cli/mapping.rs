//! [`Mapping`]: how much of a file of short runs is in memory while a piece of it is read, and how to have less of it.
//!
//! Runs of less than a page are copied out of a mapping of the file. A page that is touched counts as this process's memory until
//! the mapping goes, and so do those that the system maps around it.
//!
//! ```text
//! Fortran order, some rows of all columns:    ##......##......##......##......      a run a column; pages around each of them
//! ```

use std::ops::Range;

use dap_protocol::{DimData, DimDict, Dist, ElementType, HostBuffer, LocalBuffer, Order};

use super::error::CliError;

/// Runs of so many bytes are read, shorter ones are copied out of a mapping.
const SHORT: u64 = 1 << 12;

/// Bytes that may be mapped for a run besides its own: pages around it on both sides.
const AROUND: u64 = 1 << 17;

/// Bytes that may be mapped at once.
const MOST: u64 = 4 << 20;

/// Files of an array, whose elements are of `item` bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapping {
    pub(super) item: u64,
    pub(super) is_fortran: bool,
}

impl Mapping {
    /// The axis along which a piece is to be cut in two, if too much would be mapped for it: the slowest one in the file.
    pub(super) fn axis_to_cut(self, piece: &DimData) -> Option<usize> {
        let mut axes: Vec<(usize, &DimDict)> = piece.iter().enumerate().collect();
        if self.is_fortran {
            axes.reverse();
        }
        // those behind the run's axis are in it as a whole
        let mut unit = self.item;
        let (run, next) = loop {
            let (_, dim) = axes.pop()?;
            let whole = unit.saturating_mul(dim.size());
            match dim.dist() {
                Dist::Block { start, stop, .. } if stop - start < dim.size() => {
                    break (unit.saturating_mul(stop - start), whole);
                }
                Dist::Block { .. } => unit = whole,
                // runs of one index each, anywhere
                _ if unit >= SHORT => return None,
                _ => break (whole, whole),
            }
        };
        let has_elements = axes.iter().all(|(_, dim)| dim.stored_len() > 0);
        let is_short = run < SHORT || run == next;
        let count = axes
            .iter()
            .fold(1, |n: u64, (_, dim)| n.saturating_mul(dim.stored_len()));
        let mapped = count.saturating_mul(next.min(run.saturating_add(AROUND)));
        if !has_elements || !is_short || mapped <= MOST {
            return None;
        }
        axes.iter()
            .find(|(_, dim)| dim.stored_len() > 1)
            .map(|&(axis, _)| axis)
    }
}

/// Elements in C order, as bytes.
pub(super) struct Elements {
    shape: Vec<usize>,
    element: ElementType,
    bytes: Vec<u8>,
}

impl Elements {
    pub(super) fn zeros(shape: Vec<usize>, element: ElementType) -> Result<Self, CliError> {
        let count = shape
            .iter()
            .try_fold(element.size(), |n, &c| n.checked_mul(c));
        let mut bytes = Vec::new();
        let has_room = count.is_some_and(|count| bytes.try_reserve_exact(count).is_ok());
        let count = count.unwrap_or(usize::MAX);
        if !has_room {
            return Err(dist_io::IoError::Memory { bytes: count }.into());
        }
        bytes.resize(count, 0);
        Ok(Self {
            shape,
            element,
            bytes,
        })
    }

    /// Fills a range of an axis, all else of it, with a part of that shape.
    pub(super) fn put(&mut self, axis: usize, range: Range<usize>, part: &dyn HostBuffer) {
        let inner: usize = self.shape[axis + 1..].iter().product();
        let inner = inner * self.element.size();
        let (row, run) = (self.shape[axis] * inner, range.len() * inner);
        if run == 0 {
            return;
        }
        let first = range.start * inner;
        let mut at = 0;
        part.visit_bytes(&mut |mut bytes| {
            while !bytes.is_empty() {
                let (turn, within) = (at / run, at % run);
                let (now, later) = bytes.split_at(bytes.len().min(run - within));
                let to = turn * row + first + within;
                self.bytes[to..to + now.len()].copy_from_slice(now);
                at += now.len();
                bytes = later;
            }
        });
    }
}

impl LocalBuffer for Elements {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn element_type(&self) -> ElementType {
        self.element
    }
}

impl HostBuffer for Elements {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        Some((&self.bytes, Order::C))
    }

    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit(&self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(shape: [u64; 2], rows: Range<u64>, columns: Range<u64>) -> DimData {
        let [n, m] = shape;
        let rows = DimDict::block(n, 3, 1, rows).unwrap();
        DimData::new(vec![rows, DimDict::block(m, 3, 1, columns).unwrap()])
    }

    #[test]
    fn short_runs_far_apart_are_cut() {
        let cut = |is_fortran, piece: &DimData| {
            let mapping = Mapping {
                item: 8,
                is_fortran,
            };
            mapping.axis_to_cut(piece)
        };
        let shape = [4096, 4096];
        let rows = block(shape, 8..18, 0..4096);
        assert_eq!(cut(false, &rows), None, "rows of one run");
        assert_eq!(cut(true, &rows), Some(1), "a run in each of 4096 columns");
        assert_eq!(cut(true, &block(shape, 8..18, 0..100)), None, "few of them");
        assert_eq!(
            cut(true, &block(shape, 8..1000, 0..4096)),
            None,
            "long ones"
        );
        let columns = block(shape, 0..4096, 8..18);
        assert_eq!(cut(false, &columns), Some(0));
        assert_eq!(cut(true, &columns), None);
        // all rows in turn: they are next to each other
        let dealt = DimData::new(vec![
            DimDict::whole(4096).unwrap(),
            DimDict::cyclic(4096, 2, 0, 1).unwrap(),
        ]);
        assert_eq!(cut(false, &dealt), Some(0));
        assert_eq!(cut(false, &DimData::new(vec![])), None);
    }

    #[test]
    fn halves_are_put_together() {
        let part = |shape: Vec<usize>, bytes: Vec<u8>| Elements {
            shape,
            element: ElementType::U8,
            bytes,
        };
        let mut all = Elements::zeros(vec![2, 3, 2], ElementType::U8).unwrap();
        all.put(1, 0..1, &part(vec![2, 1, 2], vec![0, 1, 6, 7]));
        all.put(
            1,
            1..3,
            &part(vec![2, 2, 2], vec![2, 3, 4, 5, 8, 9, 10, 11]),
        );
        assert_eq!(all.bytes, (0..12).collect::<Vec<u8>>());
        assert!(Elements::zeros(vec![usize::MAX, 2], ElementType::U8).is_err());
    }
}
