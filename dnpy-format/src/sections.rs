//! Sections: which elements of a source a part wants, axis by axis, and the walk over them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;

use dap_protocol::{DimDict, Element, Order, ProtocolVersion};
use dist_maps::{IndexMap, Run, map_from_dim_dict};

use crate::DnpyError;
use crate::map::MappedFile;
use crate::npy::{self, Header};
use crate::positioned::read_exact_at;

/// Runs shorter than this, in bytes, are copied out of a mapping: a read call costs as much.
const SHORT: usize = 1 << 12;

/// Which elements of a part are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Those that it owns: communication padding left out.
    Owned,
    /// All that it stores.
    Stored,
}

/// `len` elements along one axis, contiguous on both sides of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) len: usize,
}

impl Piece {
    /// The same with source and target exchanged.
    pub(crate) fn turned(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            len: self.len,
        }
    }
}

/// What a part holds along one dimension, by rising global index.
pub(crate) fn runs(
    dim: &DimDict,
    version: ProtocolVersion,
    extent: Extent,
) -> Result<Vec<Run>, DnpyError> {
    let map = map_from_dim_dict(dim)?;
    let mut runs: Vec<Run> = map.runs().collect();
    if extent == Extent::Owned
        && let Some(owned) = dim.owned_range_in(version)
    {
        runs = runs.iter().filter_map(|run| clip(run, &owned)).collect();
    }
    runs.sort_unstable_by_key(|run| run.global);
    Ok(runs)
}

fn clip(run: &Run, to: &std::ops::Range<u64>) -> Option<Run> {
    let start = run.global.max(i64::try_from(to.start).ok()?);
    let end = (run.global + i64::try_from(run.len).ok()?).min(i64::try_from(to.end).ok()?);
    let len = usize::try_from(end.checked_sub(start)?)
        .ok()
        .filter(|&n| n > 0)?;
    Some(Run {
        global: start,
        local: run.local + usize::try_from(start - run.global).ok()?,
        len,
    })
}

/// The elements that both sides hold; each side by rising global index, without duplicates.
pub(crate) fn meet(src: &[Run], dst: &[Run]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut i, mut j) = (0, 0);
    while let (Some(s), Some(d)) = (src.get(i), dst.get(j)) {
        let (s_end, d_end) = (end(s), end(d));
        let start = s.global.max(d.global);
        if start < s_end.min(d_end) {
            pieces.push(Piece {
                src: s.local + distance(s.global, start),
                dst: d.local + distance(d.global, start),
                len: distance(start, s_end.min(d_end)),
            });
        }
        if s_end <= d_end {
            i += 1;
        } else {
            j += 1;
        }
    }
    pieces
}

/// One past the last global index of a run. An unstructured run may end at the largest `i64`; its
/// last element is then left to the check of the counts.
fn end(run: &Run) -> i64 {
    run.global
        .saturating_add(i64::try_from(run.len).unwrap_or(i64::MAX))
}

fn distance(from: i64, to: i64) -> usize {
    usize::try_from(to.abs_diff(from)).unwrap_or(usize::MAX)
}

/// Leaves each global index to the first coordinate that has it.
pub(crate) fn without_duplicates(coords: &mut [Vec<Run>]) {
    let mut claimed: BTreeMap<i64, i64> = BTreeMap::new(); // start → end, disjoint
    for runs in coords {
        let mut kept = Vec::with_capacity(runs.len());
        for run in runs.iter() {
            let mut at = run.global;
            let mut taken: Vec<(i64, i64)> = claimed
                .range(..at)
                .next_back()
                .into_iter()
                .chain(claimed.range(at..end(run)))
                .map(|(&start, &end)| (start, end))
                .filter(|&(_, end)| end > at)
                .collect();
            taken.push((end(run), end(run)));
            for (start, stop) in taken {
                if start > at {
                    kept.push(Run {
                        global: at,
                        local: run.local + distance(run.global, at),
                        len: distance(at, start),
                    });
                }
                at = at.max(stop);
            }
        }
        claimed.extend(kept.iter().map(|run| (run.global, end(run))));
        *runs = kept;
    }
}

/// The first global index of `dst` that `pieces` leave out.
pub(crate) fn first_missing(dst: &[Run], pieces: &[Piece]) -> Option<i64> {
    let wanted: usize = dst.iter().map(|run| run.len).sum();
    let found: usize = pieces.iter().map(|piece| piece.len).sum();
    if wanted == found {
        return None;
    }
    let mut filled: Vec<(usize, usize)> = pieces.iter().map(|p| (p.dst, p.dst + p.len)).collect();
    filled.sort_unstable();
    for run in dst {
        let (mut at, stop) = (run.local, run.local + run.len);
        let first = filled.partition_point(|&(_, end)| end <= at);
        for &(start, end) in &filled[first..] {
            if start > at {
                break;
            }
            at = end;
        }
        if at < stop {
            return Some(
                run.global
                    .saturating_add(i64::try_from(at - run.local).unwrap_or(0)),
            );
        }
    }
    None
}

/// One axis of a copy: its pieces, and the distance of neighbours on both sides, in elements.
struct Axis {
    pieces: Vec<Piece>,
    src_extent: usize,
    src_stride: usize,
    dst_stride: usize,
}

/// A copy of a product of pieces, ordered for a source that is read front to back.
pub(crate) struct Walk {
    outer: Vec<Axis>,
    inner: Axis,
}

/// Distance of neighbours along each axis, in elements.
pub(crate) fn strides(shape: &[usize], order: Order) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    let mut next = 1_usize;
    let mut set = |axis: usize| {
        strides[axis] = next;
        next = next.saturating_mul(shape[axis]);
    };
    match order {
        Order::C => (0..shape.len()).rev().for_each(&mut set),
        Order::Fortran => (0..shape.len()).for_each(&mut set),
    }
    strides
}

impl Walk {
    /// The copy between two arrays; `order` is the source's.
    pub(crate) fn new(
        pieces: Vec<Vec<Piece>>,
        src_shape: &[usize],
        order: Order,
        dst_strides: &[usize],
    ) -> Self {
        let src_strides = strides(src_shape, order);
        let mut axes: Vec<Axis> = pieces
            .into_iter()
            .enumerate()
            .map(|(axis, pieces)| Axis {
                pieces,
                src_extent: src_shape[axis],
                src_stride: src_strides[axis],
                dst_stride: dst_strides[axis],
            })
            .collect();
        if order == Order::Fortran {
            axes.reverse();
        }
        let mut inner = axes.pop().unwrap_or(Axis {
            pieces: vec![Piece {
                src: 0,
                dst: 0,
                len: 1,
            }],
            src_extent: 1,
            src_stride: 1,
            dst_stride: 1,
        });
        // an axis that is copied whole becomes part of the next slower one
        while let [only] = inner.pieces[..]
            && let Some(slower) = axes.last()
            && (only.src, only.dst, only.len) == (0, 0, inner.src_extent)
            && slower.dst_stride == inner.dst_stride.saturating_mul(only.len)
        {
            let scale = only.len;
            let Some(slower) = axes.pop() else { break };
            inner = Axis {
                pieces: slower
                    .pieces
                    .iter()
                    .map(|p| Piece {
                        src: p.src * scale,
                        dst: p.dst * scale,
                        len: p.len * scale,
                    })
                    .collect(),
                src_extent: slower.src_extent.saturating_mul(scale),
                src_stride: inner.src_stride,
                dst_stride: inner.dst_stride,
            };
        }
        Self { outer: axes, inner }
    }

    /// Elements in the copy.
    pub(crate) fn len(&self) -> usize {
        let count = |axis: &Axis| axis.pieces.iter().map(|p| p.len).sum::<usize>();
        self.outer
            .iter()
            .map(count)
            .fold(count(&self.inner), usize::saturating_mul)
    }

    /// Elements of the longest run.
    fn longest(&self) -> usize {
        self.inner.pieces.iter().map(|p| p.len).max().unwrap_or(0)
    }

    /// Distance of a run's neighbours in the target, in elements; 1 in the source.
    pub(crate) fn dst_stride(&self) -> usize {
        self.inner.dst_stride
    }

    /// Visits the runs: source position, target position, length; all in elements.
    pub(crate) fn for_each<E>(
        &self,
        visit: &mut dyn FnMut(usize, usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.len() == 0 {
            return Ok(());
        }
        self.level(0, 0, 0, visit)
    }

    fn level<E>(
        &self,
        depth: usize,
        src: usize,
        dst: usize,
        visit: &mut dyn FnMut(usize, usize, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(axis) = self.outer.get(depth) else {
            let axis = &self.inner;
            return axis.pieces.iter().try_for_each(|p| {
                let (src, dst) = (src + p.src * axis.src_stride, dst + p.dst * axis.dst_stride);
                visit(src, dst, p.len)
            });
        };
        for piece in &axis.pieces {
            for i in 0..piece.len {
                let src = src + (piece.src + i) * axis.src_stride;
                let dst = dst + (piece.dst + i) * axis.dst_stride;
                self.level(depth + 1, src, dst, visit)?;
            }
        }
        Ok(())
    }
}

/// What a read took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) bytes: u64,
    pub(crate) reads: u64,
}

/// Reads the runs of a walk from a file into `out`, in native byte order.
pub(crate) fn read_walk<T: Element>(
    file: &File,
    header: &Header,
    walk: &Walk,
    out: &mut [T],
) -> Result<Count, DnpyError> {
    let mut scratch = Vec::new();
    let checked = T::bytes_mut(out).is_none();
    if checked {
        scratch.resize(size_of_val(out), 0_u8);
        for (byte, value) in scratch.iter_mut().zip(&*out) {
            *byte = bytemuck::bytes_of(value)[0]; // the checked type is `bool`
        }
    }
    let bytes = T::bytes_mut(out).unwrap_or(&mut scratch);
    let count = read_runs(file, header, walk, bytes)?;
    if checked {
        npy::checked_copy(&scratch, out, header.data_offset())?;
    }
    Ok(count)
}

fn read_runs(
    file: &File,
    header: &Header,
    walk: &Walk,
    out: &mut [u8],
) -> Result<Count, DnpyError> {
    let element = header.element_type();
    let size = element.size();
    let map = if walk.longest().saturating_mul(size) < SHORT && header.len() > 0 {
        MappedFile::new(file).ok()
    } else {
        None
    };
    let read_at = |buf: &mut [u8], offset: u64| match &map {
        None => read_exact_at(file, buf, offset),
        Some(map) => usize::try_from(offset)
            .ok()
            .and_then(|at| map.bytes().get(at..at.checked_add(buf.len())?))
            .map(|bytes| buf.copy_from_slice(bytes))
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into()),
    };
    let mut count = Count::default();
    let mut run_bytes = Vec::new();
    walk.for_each(&mut |src, dst, len| {
        let offset = header.data_offset() + (src * size) as u64;
        count.bytes += (len * size) as u64;
        count.reads += 1;
        let failed = DnpyError::stream("read");
        if walk.dst_stride() == 1 || len == 1 {
            let target = &mut out[dst * size..(dst + len) * size];
            read_at(target, offset).map_err(failed)?;
            npy::finish_bytes(target, element, header.byte_order());
            return Ok(());
        }
        run_bytes.resize(len * size, 0);
        read_at(&mut run_bytes, offset).map_err(failed)?;
        npy::finish_bytes(&mut run_bytes, element, header.byte_order());
        for (i, bytes) in run_bytes.chunks_exact(size).enumerate() {
            let at = (dst + i * walk.dst_stride()) * size;
            out[at..at + size].copy_from_slice(bytes);
        }
        Ok::<(), DnpyError>(())
    })?;
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(global: i64, local: usize, len: usize) -> Run {
        Run { global, local, len }
    }

    #[test]
    fn pieces_are_what_both_sides_hold() {
        let src = [run(0, 0, 5), run(8, 5, 3)];
        let dst = [run(-2, 9, 1), run(3, 0, 6), run(9, 6, 4)];
        let pieces: Vec<_> = meet(&src, &dst)
            .iter()
            .map(|p| (p.src, p.dst, p.len))
            .collect();
        assert_eq!(pieces, [(3, 0, 2), (5, 5, 1), (6, 6, 2)]);
        assert_eq!(first_missing(&dst, &meet(&src, &dst)), Some(-2));
        assert_eq!(first_missing(&dst[1..], &meet(&src, &dst[1..])), Some(5));
    }

    #[test]
    fn an_index_on_two_coordinates_stays_with_the_first() {
        let mut coords = [
            vec![run(5, 0, 5)],
            vec![run(3, 0, 5), run(9, 5, 3)],
            vec![run(0, 0, 20)],
        ];
        without_duplicates(&mut coords);
        assert_eq!(coords[0], [run(5, 0, 5)]);
        assert_eq!(coords[1], [run(3, 0, 2), run(10, 6, 2)]);
        assert_eq!(coords[2], [run(0, 0, 3), run(12, 12, 8)]);
    }

    #[test]
    fn whole_axes_collapse_into_one_run() {
        let whole = |len| {
            vec![Piece {
                src: 0,
                dst: 0,
                len,
            }]
        };
        let rows = vec![Piece {
            src: 2,
            dst: 0,
            len: 3,
        }];
        let walk = Walk::new(
            vec![rows, whole(4), whole(5)],
            &[9, 4, 5],
            Order::C,
            &[20, 5, 1],
        );
        let mut seen = Vec::new();
        walk.for_each(&mut |src, dst, len| {
            seen.push((src, dst, len));
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(seen, [(40, 0, 60)]);
    }
}
