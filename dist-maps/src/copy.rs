//! Strided copies: gather, scatter and direct copy over run lists.
//!
//! A box of an array is named by one list of [`StridedRun`]s per dimension, in local positions; the
//! elements are those of the product of the lists, in C order. [`gather`] packs them into a dense
//! buffer, [`scatter`] writes such a buffer back, [`copy`] moves from one strided array to another
//! without a buffer between. Loops are reordered and fused first, so that the innermost one is a
//! `memcpy` wherever both sides are contiguous, and is blocked for the cache where the contiguous
//! dimensions differ.
//!
//! ```text
//! local positions   0 1 2 3 4 5 6 7 8 9      StridedRun { start: 1, len: 2, count: 3, stride: 3 }
//!                     x x   x x   x x        (start 1, 4, 7; two elements each)
//! ```
//!
//! Nothing here knows of ranks or communication. For elements whose size is known only at run time,
//! take `u8` as the element, multiply the strides by the element's size, and add a last dimension
//! of that extent with stride 1: it is fused away.

mod axis;
mod layout;
mod nest;
mod pair;
mod piece;
mod rows;
mod span;
mod stream;
mod transpose;

use span::Span;

pub use layout::Layout;
pub use piece::{Piece, StridedRun};

pub(crate) use axis::{Axis, Side};
pub(crate) use nest::Nest;

/// Why a copy was refused. Nothing has been written then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// The layout, or a list of runs, has another number of dimensions.
    #[error("{what} has {given} dimensions, not {allowed}")]
    Dimensions {
        /// What was given.
        what: &'static str,
        /// Its number of dimensions.
        given: usize,
        /// The number needed.
        allowed: usize,
    },
    /// The packed buffer is not as long as the box.
    #[error("a packed buffer of {given} elements for {allowed}")]
    PackedLength {
        /// Elements in the buffer.
        given: usize,
        /// Elements of the box.
        allowed: usize,
    },
    /// The two sides of a direct copy select different numbers of elements.
    #[error("axis {axis}: {src} elements into {dst}")]
    Extents {
        /// The dimension.
        axis: usize,
        /// Elements selected in the source.
        src: usize,
        /// Elements selected in the destination.
        dst: usize,
    },
    /// The box reaches outside the slice.
    #[error("{side} elements {lowest} to {highest} of a slice of {len}")]
    OutOfBounds {
        /// `"source"` or `"destination"`.
        side: &'static str,
        /// The lowest element touched, counted in the slice; may be negative.
        lowest: i128,
        /// The highest element touched.
        highest: i128,
        /// Elements in the slice.
        len: usize,
    },
    /// A position or a number of elements exceeds the address space.
    #[error("the {what} overflows")]
    Overflow {
        /// What overflows.
        what: &'static str,
    },
}

/// Packs the box `axes` of a strided array into `packed`, in C order.
///
/// # Errors
/// [`CopyError`] when `packed` has another length than the box, or the box lies outside `src`.
///
/// ```
/// use dist_maps::copy::{Layout, StridedRun, gather};
/// // rows 0 and 2, columns 1..3, of a 3 x 4 array
/// let a: Vec<i32> = (0..12).collect();
/// let rows = [StridedRun { start: 0, len: 1, count: 2, stride: 2 }];
/// let cols = [StridedRun::range(1..3)];
/// let mut packed = [0; 4];
/// gather(&a, &Layout::c_order(&[3, 4])?, &[&rows, &cols], &mut packed)?;
/// assert_eq!(packed, [1, 2, 9, 10]);
/// # Ok::<(), dist_maps::copy::CopyError>(())
/// ```
pub fn gather<T: Copy>(
    src: &[T],
    layout: &Layout,
    axes: &[&[StridedRun]],
    packed: &mut [T],
) -> Result<(), CopyError> {
    let dense = packed_layout(axes, packed.len())?;
    layout.check_ndim("the source layout", axes.len())?;
    let loops = lower(axes, |axis, run, at| {
        let piece = run.piece(at, true)?;
        Ok((piece, layout.stride(axis), dense.stride(axis)))
    })?;
    let nest = Nest::fit(loops, (layout.origin(), src.len()), (0, packed.len()))?;
    nest.run(src, packed);
    Ok(())
}

/// Writes `packed`, in C order, into the box `axes` of a strided array.
///
/// # Errors
/// [`CopyError`] when `packed` has another length than the box, or the box lies outside `dst`.
///
/// ```
/// use dist_maps::copy::{Layout, StridedRun, scatter};
/// let mut a = [0; 6];
/// let every_other = [StridedRun { start: 1, len: 1, count: 3, stride: 2 }];
/// scatter(&[7, 8, 9], &mut a, &Layout::c_order(&[6])?, &[&every_other])?;
/// assert_eq!(a, [0, 7, 0, 8, 0, 9]);
/// # Ok::<(), dist_maps::copy::CopyError>(())
/// ```
pub fn scatter<T: Copy>(
    packed: &[T],
    dst: &mut [T],
    layout: &Layout,
    axes: &[&[StridedRun]],
) -> Result<(), CopyError> {
    let dense = packed_layout(axes, packed.len())?;
    layout.check_ndim("the destination layout", axes.len())?;
    let loops = lower(axes, |axis, run, at| {
        let piece = run.piece(at, false)?;
        Ok((piece, dense.stride(axis), layout.stride(axis)))
    })?;
    let nest = Nest::fit(loops, (0, packed.len()), (layout.origin(), dst.len()))?;
    nest.run(packed, dst);
    Ok(())
}

/// Copies the box `src_axes` of one strided array to the box `dst_axes` of another. Per dimension
/// both lists select equally many elements; they are paired in order.
///
/// # Errors
/// [`CopyError`] when the boxes differ in extent or lie outside their slices.
///
/// ```
/// use dist_maps::copy::{Layout, StridedRun, copy};
/// // a 2 x 3 array in C order, to Fortran order
/// let (rows, cols) = ([StridedRun::range(0..2)], [StridedRun::range(0..3)]);
/// let (a, mut b) = ([1, 2, 3, 4, 5, 6], [0; 6]);
/// let axes: [&[StridedRun]; 2] = [&rows, &cols];
/// copy(&a, &Layout::c_order(&[2, 3])?, &axes, &mut b, &Layout::f_order(&[2, 3])?, &axes)?;
/// assert_eq!(b, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), dist_maps::copy::CopyError>(())
/// ```
pub fn copy<T: Copy>(
    src: &[T],
    src_layout: &Layout,
    src_axes: &[&[StridedRun]],
    dst: &mut [T],
    dst_layout: &Layout,
    dst_axes: &[&[StridedRun]],
) -> Result<(), CopyError> {
    let ndim = src_axes.len();
    if dst_axes.len() != ndim {
        return Err(CopyError::Dimensions {
            what: "the destination box",
            given: dst_axes.len(),
            allowed: ndim,
        });
    }
    src_layout.check_ndim("the source layout", ndim)?;
    dst_layout.check_ndim("the destination layout", ndim)?;
    // Pairing may cost as much as there are repetitions: only once they are known to be there.
    check_box("source", src_layout, src_axes, src.len())?;
    check_box("destination", dst_layout, dst_axes, dst.len())?;
    let mut loops = Vec::with_capacity(src_axes.len());
    for (axis, (from, to)) in src_axes.iter().zip(dst_axes).enumerate() {
        let mut lowered = Axis::default();
        for piece in pair::pair(axis, from, to)? {
            lowered.push(&piece, src_layout.stride(axis), dst_layout.stride(axis))?;
        }
        loops.push(lowered);
    }
    let (from, to) = (src_layout.origin(), dst_layout.origin());
    let nest = Nest::fit(loops, (from, src.len()), (to, dst.len()))?;
    nest.run(src, dst);
    Ok(())
}

/// Elements selected by a box.
fn packed_layout(axes: &[&[StridedRun]], given: usize) -> Result<Layout, CopyError> {
    let shape = axes
        .iter()
        .map(|runs| piece::total(runs))
        .collect::<Result<Vec<_>, _>>()?;
    let layout = Layout::c_order(&shape)?;
    let allowed = layout::product(&shape)?;
    if given == allowed {
        Ok(layout)
    } else {
        Err(CopyError::PackedLength { given, allowed })
    }
}

/// Checks that a box of a strided array lies inside its slice.
fn check_box(
    side: &'static str,
    layout: &Layout,
    axes: &[&[StridedRun]],
    len: usize,
) -> Result<(), CopyError> {
    let mut spans = vec![Span::default(); axes.len()];
    for ((axis, runs), span) in axes.iter().enumerate().zip(&mut spans) {
        for run in runs.iter().filter(|run| run.elements() > 0) {
            let (stride, run_stride) = (layout.stride(axis), run.signed_stride()?);
            let positions = Side::new(run.start, run_stride, run.count, stride)?;
            span.cover(&positions, run.len, run.count)?;
        }
    }
    Span::check(side, spans.iter().copied(), (layout.origin(), len))
}

/// Lowers every run with its position in the packed buffer.
fn lower(
    axes: &[&[StridedRun]],
    mut with_packed: impl FnMut(usize, &StridedRun, usize) -> Result<(Piece, isize, isize), CopyError>,
) -> Result<Vec<Axis>, CopyError> {
    let mut loops = Vec::with_capacity(axes.len());
    for (axis, runs) in axes.iter().enumerate() {
        let mut lowered = Axis::default();
        let mut at = 0;
        for run in *runs {
            let (piece, src, dst) = with_packed(axis, run, at)?;
            lowered.push(&piece, src, dst)?;
            at += run.elements();
        }
        loops.push(lowered);
    }
    Ok(loops)
}
