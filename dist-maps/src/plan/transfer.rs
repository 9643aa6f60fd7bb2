//! [`Transfer`]: what goes from one rank to another, and the copies that it asks for.

use std::sync::Arc;

use super::PlanError;
use crate::copy::{Axis, CopyError, Layout, Nest, Piece, Side};

/// The elements that one rank sends to another (or keeps), in the order of the message.
///
/// Both ends hold the positions of both ends: a sender packs, a receiver unpacks, and whoever can
/// read the peer's memory copies directly. Positions count stored elements, padding included.
///
/// All of it is local. A copy costs by its elements, and before that by its runs, which are made into
/// loops for the layouts at hand; nothing of that is kept, so a plan is as small as its runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    peer: usize,
    elements: usize,
    parts: Vec<Part>,
}

/// A box of elements: the product of its sections, the last one fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    elements: usize,
    sections: Vec<Section>,
}

/// Positions along one axis, or along a group of axes that a reshape merges, on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Section {
    /// Positions along one axis of each side.
    #[non_exhaustive]
    Axis {
        /// The axis of the source.
        src_axis: usize,
        /// The axis of the destination.
        dst_axis: usize,
        /// The positions, in order.
        pieces: Arc<[Piece]>,
    },
    /// Positions along neighbouring axes that a reshape merges: runs along the last axis of either
    /// side.
    #[non_exhaustive]
    Rows {
        /// The first axis of the source; there are `src_axes`.
        src_axis: usize,
        /// Axes of the source, at least 1.
        src_axes: usize,
        /// The first axis of the destination; there are `dst_axes`.
        dst_axis: usize,
        /// Axes of the destination, at least 1.
        dst_axes: usize,
        /// Per run: its positions in the source, those in the destination, and its length.
        rows: Arc<[usize]>,
    },
}

impl Section {
    pub(crate) fn elements(&self) -> Option<usize> {
        let sum = |mut lens: Box<dyn Iterator<Item = Option<usize>> + '_>| {
            lens.try_fold(0_usize, |sum, len| sum.checked_add(len?))
        };
        match self {
            Self::Axis { pieces, .. } => {
                sum(Box::new(pieces.iter().map(|p| p.len.checked_mul(p.count))))
            }
            Self::Rows { rows, .. } => sum(Box::new(
                rows.chunks_exact(self.row_width())
                    .map(|row| row.last().copied()),
            )),
        }
    }

    /// The axis of the destination, the first of several.
    pub(crate) fn dst_axis(&self) -> usize {
        match self {
            Self::Axis { dst_axis, .. } | Self::Rows { dst_axis, .. } => *dst_axis,
        }
    }

    /// The rows of [`Section::Rows`]; none of another section.
    pub(crate) fn rows(&self) -> std::slice::ChunksExact<'_, usize> {
        match self {
            Self::Axis { .. } => [].chunks_exact(1),
            Self::Rows { rows, .. } => rows.chunks_exact(self.row_width()),
        }
    }

    /// Numbers per row of [`Section::Rows`].
    pub(crate) fn row_width(&self) -> usize {
        match self {
            Self::Axis { .. } => 1,
            Self::Rows {
                src_axes, dst_axes, ..
            } => src_axes + dst_axes + 1,
        }
    }

    /// Loops over this section. `packed` is the distance of its elements in a packed buffer that
    /// stands for the side that has no layout.
    fn lower(
        &self,
        src: Option<&Layout>,
        dst: Option<&Layout>,
        packed: isize,
    ) -> Result<Axis, CopyError> {
        let mut axis = Axis::default();
        let mut at = 0;
        match self {
            Self::Axis {
                src_axis,
                dst_axis,
                pieces,
            } => {
                let stride = |side: Option<&Layout>, axis: usize| {
                    side.map_or(packed, |layout| layout.stride(axis))
                };
                let (src_scale, dst_scale) = (stride(src, *src_axis), stride(dst, *dst_axis));
                for &piece in pieces.iter() {
                    let mut piece = piece;
                    let dense = piece.len.cast_signed();
                    if src.is_none() {
                        (piece.src, piece.src_stride) = (at, dense);
                    }
                    if dst.is_none() {
                        (piece.dst, piece.dst_stride) = (at, dense);
                    }
                    at += piece.elements();
                    axis.push(&piece, src_scale, dst_scale)?;
                }
            }
            Self::Rows {
                src_axis,
                src_axes,
                dst_axis,
                dst_axes,
                rows,
            } => {
                let run = |side: Option<&Layout>, first: usize, positions: &[usize], at| {
                    let (offset, stride) = match side {
                        None => (at as i128 * packed as i128, packed),
                        Some(layout) => {
                            let strides = &layout.strides()[first..first + positions.len()];
                            let steps = positions.iter().zip(strides);
                            let offsets = steps.map(|(&i, &stride)| i as i128 * stride as i128);
                            // What saturates is too far to be an offset, and refused as such.
                            let offset = offsets.fold(0, i128::saturating_add);
                            (offset, strides.last().copied().unwrap_or(1))
                        }
                    };
                    Side {
                        offset,
                        run_stride: 0,
                        stride,
                    }
                };
                for row in rows.chunks_exact(self.row_width()) {
                    let (from, rest) = row.split_at(*src_axes);
                    let (to, len) = rest.split_at(*dst_axes);
                    let len = len[0];
                    let (from, to) = (run(src, *src_axis, from, at), run(dst, *dst_axis, to, at));
                    axis.push_runs(from, to, len, 1)?;
                    at += len;
                }
            }
        }
        Ok(axis)
    }

    /// (axes of the source, axes of the destination) needed.
    fn ndim(&self) -> (usize, usize) {
        match self {
            Self::Axis {
                src_axis, dst_axis, ..
            } => (src_axis + 1, dst_axis + 1),
            Self::Rows {
                src_axis,
                src_axes,
                dst_axis,
                dst_axes,
                ..
            } => (src_axis + src_axes, dst_axis + dst_axes),
        }
    }
}

impl Part {
    pub(crate) fn new(sections: Vec<Section>) -> Result<Self, PlanError> {
        let overflow = PlanError::Overflow {
            what: "number of elements in a message",
        };
        let elements = sections
            .iter()
            .try_fold(1_usize, |product, s| product.checked_mul(s.elements()?));
        // Byte counts are signed where they are used.
        match elements.filter(|&n| isize::try_from(n).is_ok()) {
            Some(elements) => Ok(Self { elements, sections }),
            None => Err(overflow),
        }
    }

    /// Elements in it.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// Its sections, in the order of the destination's axes.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Loops over this box; the side without a layout is packed.
    fn lower(&self, src: Option<&Layout>, dst: Option<&Layout>) -> Result<Vec<Axis>, CopyError> {
        let check = |side: Option<&Layout>, what, needed: usize| match side {
            Some(layout) if layout.ndim() < needed => layout.check_ndim(what, needed),
            _ => Ok(()),
        };
        for section in &self.sections {
            let (src_ndim, dst_ndim) = section.ndim();
            check(src, "the source layout", src_ndim)?;
            check(dst, "the destination layout", dst_ndim)?;
        }
        let mut axes = Vec::with_capacity(self.sections.len());
        let mut packed = 1_isize;
        for section in self.sections.iter().rev() {
            axes.push(section.lower(src, dst, packed)?);
            let n = section.elements().unwrap_or(0).cast_signed();
            packed = packed.saturating_mul(n);
        }
        axes.reverse();
        Ok(axes)
    }
}

impl Transfer {
    pub(crate) fn new(peer: usize, parts: Vec<Part>) -> Result<Self, PlanError> {
        let elements = parts
            .iter()
            .try_fold(0_usize, |sum, part| sum.checked_add(part.elements))
            .filter(|&n| isize::try_from(n).is_ok())
            .ok_or(PlanError::Overflow {
                what: "number of elements in a message",
            })?;
        Ok(Self {
            peer,
            elements,
            parts,
        })
    }

    /// The rank at the other end.
    #[must_use]
    pub fn peer(&self) -> usize {
        self.peer
    }

    /// Elements in the message.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The boxes that the message consists of, one after another.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Packs the message from the sender's array: `packed` gets [`Transfer::elements`] elements, in
    /// the order of the message.
    ///
    /// # Errors
    /// [`CopyError`] when `packed` has another length than [`Transfer::elements`], or `src` is
    /// smaller than the sender's part.
    pub fn pack<T: Copy>(
        &self,
        src: &[T],
        layout: &Layout,
        packed: &mut [T],
    ) -> Result<(), CopyError> {
        self.check_packed(packed.len())?;
        let nests = self.fit((Some(layout), src.len()), (None, packed.len()))?;
        run_all(&nests, src, packed);
        Ok(())
    }

    /// Writes the message, [`Transfer::elements`] elements, into the receiver's array, and leaves
    /// all else there as it is.
    ///
    /// # Errors
    /// [`CopyError`] when `packed` has another length than [`Transfer::elements`], or `dst` is
    /// smaller than the receiver's part.
    pub fn unpack<T: Copy>(
        &self,
        packed: &[T],
        dst: &mut [T],
        layout: &Layout,
    ) -> Result<(), CopyError> {
        self.check_packed(packed.len())?;
        let nests = self.fit((None, packed.len()), (Some(layout), dst.len()))?;
        run_all(&nests, packed, dst);
        Ok(())
    }

    /// Copies from the sender's array to the receiver's, without a message. The layout of the peer's
    /// array is that of its own stored part.
    ///
    /// # Errors
    /// [`CopyError`] when `src` or `dst` is smaller than the part of its rank.
    ///
    /// ```
    /// use dist_maps::copy::Layout;
    /// use dist_maps::{Distribution, RedistPlan};
    /// let rows = Distribution::over(2).shape([2, 4]).block(0).build()?;
    /// let columns = Distribution::over(2).shape([2, 4]).block(1).build()?;
    /// // rank 0 takes the first half of row 1 out of the memory of rank 1
    /// let plan = RedistPlan::new(&rows, &columns, 0)?;
    /// let (recv, theirs) = (&plan.recvs()[0], [4, 5, 6, 7]);
    /// let layout = Layout::c_order(&rows.local_shape(recv.peer()))?;
    /// let mut mine = [0; 4]; // 2 × 2
    /// recv.copy(&theirs, &layout, &mut mine, &plan.dst_layout()?)?;
    /// assert_eq!(mine, [0, 0, 4, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy<T: Copy>(
        &self,
        src: &[T],
        src_layout: &Layout,
        dst: &mut [T],
        dst_layout: &Layout,
    ) -> Result<(), CopyError> {
        let nests = self.fit((Some(src_layout), src.len()), (Some(dst_layout), dst.len()))?;
        run_all(&nests, src, dst);
        Ok(())
    }

    /// The loops of all parts, once all are known to fit: layout and length of each side. The side without a layout is
    /// packed.
    fn fit(
        &self,
        (src, src_len): (Option<&Layout>, usize),
        (dst, dst_len): (Option<&Layout>, usize),
    ) -> Result<Vec<Nest>, CopyError> {
        let mut packed = 0;
        let nest = |part: &Part| {
            let origin = |side: Option<&Layout>| side.map_or(packed, Layout::origin);
            let (from, to) = (origin(src), origin(dst));
            packed += part.elements;
            Nest::fit(part.lower(src, dst)?, (from, src_len), (to, dst_len))
        };
        self.parts.iter().map(nest).collect()
    }

    /// Copies inside one array, as a halo exchange of a rank with itself does. What is written is what was there before:
    /// source and destination may overlap.
    ///
    /// # Errors
    /// [`CopyError`] when `array` is smaller than the rank's part.
    ///
    /// ```
    /// use dist_maps::{Distribution, HaloPlan};
    /// // one rank, periodic: a cell at either edge stands for the other end
    /// let d = Distribution::over(1).shape([6]).block(0).padding(1).periodic(0).build()?;
    /// let plan = HaloPlan::new(&d, 0)?;
    /// let mut array = [0, 1, 2, 3, 4, 0];
    /// plan.local().unwrap().copy_within(&mut array, &plan.layout()?)?;
    /// assert_eq!(array, [4, 1, 2, 3, 4, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn copy_within<T: Copy>(&self, array: &mut [T], layout: &Layout) -> Result<(), CopyError> {
        let (here, packed) = ((Some(layout), array.len()), (None, self.elements));
        let (gather, scatter) = (self.fit(here, packed)?, self.fit(packed, here)?);
        let Some(&first) = array.first() else {
            return Ok(()); // there is nothing to copy then
        };
        let mut packed = vec![first; self.elements];
        run_all(&gather, array, &mut packed);
        run_all(&scatter, &packed, array);
        Ok(())
    }

    fn check_packed(&self, given: usize) -> Result<(), CopyError> {
        if given == self.elements {
            Ok(())
        } else {
            Err(CopyError::PackedLength {
                given,
                allowed: self.elements,
            })
        }
    }
}

fn run_all<T: Copy>(nests: &[Nest], src: &[T], dst: &mut [T]) {
    for nest in nests {
        nest.run(src, dst);
    }
}
