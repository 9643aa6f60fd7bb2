//! [`FilePart`]: one rank's elements as runs that are contiguous in the file and in its buffer.
//!
//! ```text
//! 4 x 6, columns dealt by 2 to two ranks, rank 1 of them      file   . . 2 3 . .|. . 8 9 . .|…
//!                                                             buffer     0 1         2 3    …
//! ```
//!
//! Trailing dimensions that a rank stores whole are merged into one; of the dimension before them the runs are taken from its
//! map, and slower dimensions are walked one position at a time. Nothing here is as large as the part.

use std::ops::Range;

use dap_protocol::DimData;
use dist_maps::{DimMap, IndexMap, LocalIndex, Runs, map_from_dim_dict};

use crate::IoError;

/// Elements that are contiguous in the file and in a rank's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileRun {
    /// First byte, counted from the first element of the dataset.
    pub offset: u64,
    /// Position of the first element in the buffer, in elements.
    pub local: usize,
    /// Number of elements.
    pub len: usize,
}

/// Which elements of a part are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Those that it owns: communication padding is left out.
    Owned,
    /// All that it stores.
    Stored,
}

/// One dimension of a part.
#[derive(Clone, Debug)]
pub(crate) struct AxisPart {
    map: DimMap,
    /// The stored positions that are meant.
    meant: Range<usize>,
    /// Elements between neighbours along this dimension, in the file and in the buffer.
    file_stride: u64,
    local_stride: usize,
}

/// One rank's part of an array in a file, as runs; pure arithmetic. See [`IoPlan::part`](crate::IoPlan::part).
#[derive(Clone, Debug)]
#[must_use]
pub struct FilePart {
    /// Slower dimensions, then the one whose runs are taken.
    outer: Vec<AxisPart>,
    inner: Option<AxisPart>,
    /// Elements merged into one of the inner dimension.
    item: usize,
    elements: usize,
}

impl FilePart {
    /// The part of `dim_data` in a C-order array of `item` bytes an element.
    ///
    /// # Errors
    /// [`IoError::Overflow`], [`IoError::Index`] where an index lies outside the array, [`IoError::Map`].
    pub(crate) fn new(dim_data: &DimData, item: usize, extent: Extent) -> Result<Self, IoError> {
        let overflow = || IoError::Overflow {
            what: "number of bytes of the array",
        };
        let mut axes = axes_of(dim_data, extent)?;
        let elements = if axes.iter().any(|axis| axis.meant.is_empty()) {
            0
        } else {
            let product = axes
                .iter()
                .try_fold(1_usize, |n, axis| n.checked_mul(axis.meant.len()));
            product.ok_or_else(overflow)?
        };
        let mut file = item as u64;
        let mut merged = 1_usize;
        if elements > 0 {
            while let Some(last) = axes.last()
                && is_whole(last)
            {
                file = file
                    .checked_mul(last.map.global_size())
                    .ok_or_else(overflow)?;
                merged = merged.checked_mul(last.map.size()).ok_or_else(overflow)?;
                axes.pop();
            }
            let mut local = merged;
            for axis in axes.iter_mut().rev() {
                (axis.file_stride, axis.local_stride) = (file, local);
                file = file
                    .checked_mul(axis.map.global_size())
                    .filter(|&bytes| i64::try_from(bytes).is_ok())
                    .ok_or_else(overflow)?;
                local = local.checked_mul(axis.map.size()).ok_or_else(overflow)?;
            }
        }
        let inner = axes.pop();
        Ok(Self {
            outer: axes,
            inner,
            item: merged,
            elements,
        })
    }

    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Number of runs, found without walking them: slower positions times the runs of one row.
    #[must_use]
    pub fn run_count(&self) -> u64 {
        if self.elements == 0 {
            return 0;
        }
        let rows = self.outer.iter().fold(1, |rows: u64, axis| {
            rows.saturating_mul(axis.meant.len() as u64)
        });
        let of_row = self
            .inner
            .as_ref()
            .map_or(1, |axis| meant_runs(axis).count() as u64);
        rows.saturating_mul(of_row)
    }

    /// No elements at all.
    pub(crate) fn nothing() -> Self {
        Self {
            outer: Vec::new(),
            inner: None,
            item: 0,
            elements: 0,
        }
    }

    /// The runs, in the order of the buffer.
    pub fn runs(&self) -> FileRuns<'_> {
        FileRuns {
            part: self,
            at: self.outer.iter().map(|axis| axis.meant.start).collect(),
            row: self.inner.as_ref().map(|axis| axis.map.runs()),
            left: self.elements > 0,
            base: None,
        }
    }
}

/// The dimensions of a part; every index that is meant lies inside the array.
///
/// # Errors
/// [`IoError::Index`] where an index lies outside the array, [`IoError::Map`].
pub(crate) fn axes_of(dim_data: &DimData, extent: Extent) -> Result<Vec<AxisPart>, IoError> {
    let mut axes = Vec::with_capacity(dim_data.ndim());
    for (axis, dim) in dim_data.iter().enumerate() {
        let map = map_from_dim_dict(dim)?;
        if let DimMap::Unstructured(_) = &map {
            let size = i64::try_from(dim.size()).unwrap_or(i64::MAX);
            let outside = map.global_iter().find(|g| !(0..size).contains(&g.get()));
            if let Some(index) = outside {
                return Err(IoError::Index {
                    axis,
                    index: index.get(),
                    size: dim.size(),
                });
            }
        }
        let meant = match (extent, dim.owned_range(), map.runs().next()) {
            (Extent::Owned, Some(owned), Some(first)) => {
                let start = u64::try_from(first.global).unwrap_or(0);
                let at = |bound: u64| usize::try_from(bound.saturating_sub(start)).unwrap_or(0);
                at(owned.start)..at(owned.end)
            }
            _ => 0..map.size(),
        };
        axes.push(AxisPart {
            map,
            meant,
            file_stride: 1,
            local_stride: 1,
        });
    }
    Ok(axes)
}

#[cfg(feature = "hdf5")]
impl AxisPart {
    /// The runs that are meant, in the order of the buffer.
    pub(crate) fn runs(&self) -> impl Iterator<Item = dist_maps::Run> + '_ {
        meant_runs(self)
    }

    /// Positions of the buffer along this dimension.
    pub(crate) fn stored(&self) -> usize {
        self.map.size()
    }
}

/// Whether a dimension is stored whole and in order, and all of it is meant.
fn is_whole(axis: &AxisPart) -> bool {
    let size = axis.map.size();
    axis.meant == (0..size)
        && size as u64 == axis.map.global_size()
        && axis
            .map
            .runs()
            .next()
            .is_some_and(|run| run.global == 0 && run.len == size)
}

/// A run cut to the positions that are meant.
fn cut(run: dist_maps::Run, meant: &Range<usize>) -> Option<dist_maps::Run> {
    let (first, end) = (
        run.local.max(meant.start),
        (run.local + run.len).min(meant.end),
    );
    if first >= end {
        return None;
    }
    let skipped = i64::try_from(first - run.local).ok()?;
    Some(dist_maps::Run {
        global: run.global + skipped,
        local: first,
        len: end - first,
    })
}

fn meant_runs(axis: &AxisPart) -> impl Iterator<Item = dist_maps::Run> + '_ {
    axis.map.runs().filter_map(|run| cut(run, &axis.meant))
}

/// The runs of a [`FilePart`], in the order of the buffer.
#[derive(Clone, Debug)]
#[must_use]
pub struct FileRuns<'a> {
    part: &'a FilePart,
    /// Position along each slower dimension.
    at: Vec<usize>,
    /// What is left of the row.
    row: Option<Runs<'a>>,
    left: bool,
    /// Byte and element at which the row begins, once they are known.
    base: Option<(u64, usize)>,
}

impl FileRuns<'_> {
    /// Where the row begins.
    fn row_start(&mut self) -> (u64, usize) {
        if let Some(base) = self.base {
            return base;
        }
        let (mut offset, mut local) = (0, 0);
        for (axis, &at) in self.part.outer.iter().zip(&self.at) {
            let global = axis.map.global_from_local(LocalIndex::new(at));
            let global = global.map_or(0, |g| u64::try_from(g.get()).unwrap_or(0));
            // below the number of bytes of the array, which was checked
            offset += global * axis.file_stride;
            local += at * axis.local_stride;
        }
        self.base = Some((offset, local));
        (offset, local)
    }

    /// Moves on to the next row; whether there is one.
    fn next_row(&mut self) -> bool {
        self.base = None;
        for (axis, at) in self.part.outer.iter().zip(&mut self.at).rev() {
            *at += 1;
            if *at < axis.meant.end {
                self.row = self.part.inner.as_ref().map(|axis| axis.map.runs());
                return true;
            }
            *at = axis.meant.start;
        }
        false
    }
}

impl Iterator for FileRuns<'_> {
    type Item = FileRun;

    fn next(&mut self) -> Option<FileRun> {
        while self.left {
            let (offset, local) = self.row_start();
            let Some(axis) = &self.part.inner else {
                self.left = false;
                return Some(FileRun {
                    offset,
                    local,
                    len: self.part.item,
                });
            };
            let row = self.row.as_mut()?;
            if let Some(run) = row.find_map(|run| cut(run, &axis.meant)) {
                return Some(FileRun {
                    offset: offset + u64::try_from(run.global).unwrap_or(0) * axis.file_stride,
                    local: local + run.local * axis.local_stride,
                    len: run.len * self.part.item,
                });
            }
            self.left = self.next_row();
        }
        None
    }
}

impl std::iter::FusedIterator for FileRuns<'_> {}
