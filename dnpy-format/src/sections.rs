//! [`Walk`]: a product of pieces, one list an axis, as runs of a file.

use std::fs::File;
use std::io;

use dap_protocol::{Element, Order};
use dist_maps::copy::Piece;

use crate::DnpyError;
use crate::map::MappedFile;
use crate::npy::{self, Header};
use crate::positioned::read_exact_at;

/// Runs shorter than this, in bytes, are copied out of a mapping: a read call costs as much.
const SHORT: usize = 1 << 12;

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
            pieces: vec![Piece::single(0, 0, 1)],
            src_extent: 1,
            src_stride: 1,
            dst_stride: 1,
        });
        // a slower axis of one element is no level to descend
        axes.retain(|axis| axis.src_extent != 1 || axis.pieces[..] != [Piece::single(0, 0, 1)]);
        // an axis that is copied whole becomes part of the next slower one
        while let [only] = inner.pieces[..]
            && let Some(slower) = axes.last()
            && (only.src, only.dst, only.len, only.count) == (0, 0, inner.src_extent, 1)
            && slower.dst_stride == inner.dst_stride.saturating_mul(only.len)
        {
            let scale = only.len;
            let Some(slower) = axes.pop() else { break };
            inner = Axis {
                pieces: slower.pieces.iter().map(|p| scaled(p, scale)).collect(),
                src_extent: slower.src_extent.saturating_mul(scale),
                src_stride: inner.src_stride,
                dst_stride: inner.dst_stride,
            };
        }
        Self { outer: axes, inner }
    }

    /// Elements in the copy.
    pub(crate) fn len(&self) -> usize {
        let count = |axis: &Axis| axis.pieces.iter().map(Piece::elements).sum::<usize>();
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
        let axis = self.outer.get(depth).unwrap_or(&self.inner);
        let runs = axis.pieces.iter().flat_map(runs);
        for (src_first, dst_first, len) in runs {
            let mut src = src + src_first * axis.src_stride;
            let mut dst = dst + dst_first * axis.dst_stride;
            if depth >= self.outer.len() {
                visit(src, dst, len)?;
                continue;
            }
            for _ in 0..len {
                self.level(depth + 1, src, dst, visit)?;
                src += axis.src_stride;
                dst += axis.dst_stride;
            }
        }
        Ok(())
    }
}

/// A piece of an axis each of whose elements is `scale` elements.
fn scaled(piece: &Piece, scale: usize) -> Piece {
    let by = scale.cast_signed();
    Piece {
        src: piece.src * scale,
        dst: piece.dst * scale,
        len: piece.len * scale,
        count: piece.count,
        src_stride: piece.src_stride * by,
        dst_stride: piece.dst_stride * by,
    }
}

/// The runs of a piece: source position, target position, length.
fn runs(piece: &Piece) -> impl Iterator<Item = (usize, usize, usize)> {
    let piece = *piece;
    (0..piece.count).map(move |i| {
        let at = |first: usize, stride: isize| {
            // inside the part, which fits the address space
            first.wrapping_add_signed(stride.wrapping_mul(i.cast_signed()))
        };
        (
            at(piece.src, piece.src_stride),
            at(piece.dst, piece.dst_stride),
            piece.len,
        )
    })
}

/// The same piece with source and target exchanged.
pub(crate) fn turned(piece: &Piece) -> Piece {
    Piece {
        src: piece.dst,
        dst: piece.src,
        src_stride: piece.dst_stride,
        dst_stride: piece.src_stride,
        ..*piece
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
        npy::checked_copy(&scratch, out, 0).map_err(|e| in_file(e, header, walk))?;
    }
    Ok(count)
}

/// The error of an element at a byte of the target, at the byte of the file that it was read from.
fn in_file(error: DnpyError, header: &Header, walk: &Walk) -> DnpyError {
    let DnpyError::Element { offset, element } = error else {
        return error;
    };
    let size = element.size();
    let at = usize::try_from(offset).unwrap_or(usize::MAX) / size;
    let found = walk.for_each(&mut |src, dst, len| {
        let behind = at
            .checked_sub(dst)
            .map(|n| (n / walk.dst_stride(), n % walk.dst_stride()));
        match behind {
            Some((steps, 0)) if steps < len => Err(src + steps),
            _ => Ok(()),
        }
    });
    // an element that no run has brought was there before
    let position = found.err().unwrap_or(0);
    DnpyError::Element {
        offset: header.data_offset() + (position * size) as u64,
        element,
    }
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

    #[test]
    fn whole_axes_collapse_into_one_run() {
        let whole = |len| vec![Piece::single(0, 0, len)];
        let rows = vec![Piece::single(2, 0, 3)];
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

    #[test]
    fn one_element_of_a_longer_axis_is_no_axis_of_one_element() {
        let pieces = vec![
            vec![Piece::single(0, 0, 2)],
            vec![Piece::single(0, 0, 1)],
            vec![Piece::single(0, 0, 1)],
        ];
        let walk = Walk::new(pieces, &[2, 3, 1], Order::C, &[1, 1, 1]);
        let mut seen = Vec::new();
        walk.for_each(&mut |src, dst, len| {
            seen.push((src, dst, len));
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(seen, [(0, 0, 1), (3, 1, 1)]);
    }

    #[test]
    fn repeated_runs_are_visited_in_order() {
        // rows 1 and 3 of four; columns 0, 2, 4 of five
        let every_other = |first, count| Piece {
            src: first,
            dst: 0,
            len: 1,
            count,
            src_stride: 2,
            dst_stride: 1,
        };
        let pieces = vec![vec![every_other(1, 2)], vec![every_other(0, 3)]];
        let walk = Walk::new(pieces, &[4, 5], Order::C, &[3, 1]);
        assert_eq!(walk.len(), 6);
        let mut seen = Vec::new();
        walk.for_each(&mut |src, dst, len| {
            seen.push((src, dst, len));
            Ok::<(), ()>(())
        })
        .unwrap();
        let expected = [(5, 0), (7, 1), (9, 2), (15, 3), (17, 4), (19, 5)];
        assert_eq!(seen, expected.map(|(src, dst)| (src, dst, 1)));
    }
}
