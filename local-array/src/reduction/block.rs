//! [`Block`]: the elements of this rank that count, as rows.

use std::borrow::Cow;
use std::ops::Range;

use dist_maps::copy::{Layout, StridedRun, gather};
use ndarray::{ArrayViewD, Axis};

use super::Order;
use super::places::Places;
use crate::ArrayError;
use crate::part::Part;

/// The counted elements of a rank: rows of contiguous elements over leading axes, each axis reduced or kept.
pub(crate) struct Block<'a, T: Copy> {
    memory: Memory<'a, T>,
    /// Elements of a row.
    pub(crate) len: usize,
    /// Whether the last axis, that of the rows, is reduced.
    pub(crate) last_reduced: bool,
    /// Where the elements of a row stand along a reduced last axis.
    pub(crate) along: Places,
    /// The position of the first row, in elements or rows.
    pub(crate) origin: isize,
    /// The place of the first row.
    pub(crate) base: i64,
    pub(crate) leading: Vec<Leading>,
    /// Elements of each output.
    pub(crate) reduced: usize,
}

enum Memory<'a, T: Copy> {
    Dense(Cow<'a, [T]>),
    Rows(Vec<&'a [T]>),
}

/// A leading axis.
#[derive(Clone, Debug)]
pub(crate) struct Leading {
    pub(crate) len: usize,
    /// From one position to the next, in elements or rows.
    pub(crate) stride: isize,
    pub(crate) reduced: bool,
    /// The places of the positions.
    pub(crate) places: Places,
}

impl<'a, T: Copy> Block<'a, T> {
    /// The elements of `stored` that count: owned, and along reduced axes not those whose index a lower coordinate has too.
    /// `None` where the rank has no place in the grid. `owned` is the owned part of `stored`.
    ///
    /// With `strides`, the places of the elements are kept: an element's is the sum over the reduced axes of its global index
    /// times the axis' stride. In [any order](Order::Any) the elements of an output need not come in C order of their axes.
    pub(crate) fn of_part(
        part: &Part,
        stored: &'a ArrayViewD<'a, T>,
        owned: &'a ArrayViewD<'a, T>,
        reduced: &[bool],
        strides: Option<&[i64]>,
        order: Order,
    ) -> Result<Option<Self>, ArrayError> {
        if !part.is_active() {
            return Ok(None);
        }
        let chosen = part.chosen(reduced);
        let places = |axis: usize| match strides {
            Some(strides) if reduced[axis] => {
                let chosen = chosen.map(|chosen| &*chosen[axis]);
                Places::of_axis(part, axis, chosen, strides[axis])
            }
            _ => Places::Unasked,
        };
        let places: Vec<Places> = (0..reduced.len()).map(places).collect();
        let as_one_run = order == Order::Any && strides.is_none() && !reduced.contains(&false);
        let run = owned.as_slice_memory_order().filter(|_| as_one_run);
        let block = match (chosen, run) {
            (Some(positions), _) => {
                let mut picked = owned.to_owned();
                for (axis, positions) in positions.iter().enumerate() {
                    if reduced[axis] {
                        picked = picked.select(Axis(axis), positions);
                    }
                }
                let elements = picked.iter().copied().collect();
                Self::copied(picked.shape(), elements, reduced, places)
            }
            (None, Some(run)) => {
                let (memory, places) = (Memory::Dense(Cow::Borrowed(run)), vec![Places::Unasked]);
                Self::new(memory, 0, &[run.len()], &[1], &[true], places)
            }
            (None, None) => Self::of_views(stored, owned, part, reduced, places)?,
        };
        Ok(Some(block))
    }

    fn of_views(
        stored: &'a ArrayViewD<'a, T>,
        owned: &'a ArrayViewD<'a, T>,
        part: &Part,
        reduced: &[bool],
        places: Vec<Places>,
    ) -> Result<Self, ArrayError> {
        let shape = owned.shape();
        if owned.is_empty() {
            return Ok(Self::copied(shape, Vec::new(), reduced, places));
        }
        let last = shape.iter().rposition(|&n| n > 1);
        let all = vec![0..usize::MAX; shape.len()];
        let dense = match owned.as_slice_memory_order() {
            Some(memory) => Some((memory, owned, &*all)),
            None => stored
                .as_slice_memory_order()
                .map(|memory| (memory, stored, part.owned())),
        };
        if let Some((memory, whole, cut)) = dense {
            let layout = Layout::in_memory_order(whole.shape(), whole.strides())?;
            if last.is_none_or(|last| whole.strides()[last] == 1) {
                let starts = cut.iter().zip(layout.strides());
                let shift: isize = starts.map(|(cut, &s)| cut.start.cast_signed() * s).sum();
                let strides = layout.strides().to_vec();
                let origin = layout.origin().cast_signed() + shift;
                let memory = Memory::Dense(Cow::Borrowed(memory));
                return Ok(Self::new(memory, origin, shape, &strides, reduced, places));
            }
            let range =
                |(cut, &n): (&Range<usize>, &usize)| [StridedRun::range(cut.start..cut.start + n)];
            let runs: Vec<[StridedRun; 1]> = cut.iter().zip(shape).map(range).collect();
            let axes: Vec<&[StridedRun]> = runs.iter().map(|run| &run[..]).collect();
            let mut packed = vec![memory[0]; owned.len()];
            gather(memory, &layout, &axes, &mut packed)?;
            return Ok(Self::copied(shape, packed, reduced, places));
        }
        let Some(last) = last.filter(|&last| owned.strides()[last] == 1 && last + 1 == shape.len())
        else {
            return Ok(Self::copied(
                shape,
                owned.iter().copied().collect(),
                reduced,
                places,
            ));
        };
        let mut rows = Vec::with_capacity(owned.len() / shape[last]);
        for lane in owned.lanes(Axis(last)) {
            match lane.to_slice() {
                Some(row) => rows.push(row),
                None => break,
            }
        }
        let mut strides = c_strides(&shape[..last]);
        strides.push(1);
        Ok(Self::new(
            Memory::Rows(rows),
            0,
            shape,
            &strides,
            reduced,
            places,
        ))
    }

    /// Elements of their own, in C order.
    pub(crate) fn copied(
        shape: &[usize],
        elements: Vec<T>,
        reduced: &[bool],
        places: Vec<Places>,
    ) -> Self {
        let memory = Memory::Dense(Cow::Owned(elements));
        Self::new(memory, 0, shape, &c_strides(shape), reduced, places)
    }

    fn new(
        memory: Memory<'a, T>,
        origin: isize,
        shape: &[usize],
        strides: &[isize],
        reduced: &[bool],
        places: Vec<Places>,
    ) -> Self {
        let extents = shape.iter().zip(reduced);
        let reduced_extents = extents.filter(|(_, reduced)| **reduced).map(|(&n, _)| n);
        let mut block = Self {
            memory,
            len: 1,
            last_reduced: true,
            along: Places::Unasked,
            origin,
            base: 0,
            leading: Vec::with_capacity(shape.len()),
            reduced: reduced_extents.product(),
        };
        let with_places = places.iter().any(Places::are_asked);
        for (axis, places) in places.into_iter().enumerate() {
            if shape[axis] == 1 {
                block.base += places.at(0);
                continue;
            }
            let next = Leading {
                len: shape[axis],
                stride: strides[axis],
                reduced: reduced[axis],
                places,
            };
            block.push(next, with_places);
        }
        if let Some(last) = block.leading.pop() {
            block.len = last.len;
            block.last_reduced = last.reduced;
            block.along = last.places;
        }
        block
    }

    /// Takes in the next axis: as part of the one before where the two are of a kind and lie in memory as one.
    fn push(&mut self, next: Leading, with_places: bool) {
        if let Some(before) = self.leading.last_mut()
            && before.reduced == next.reduced
            && !with_places
            && before.stride == next.stride * next.len.cast_signed()
        {
            before.len *= next.len;
            before.stride = next.stride;
            return;
        }
        self.leading.push(next);
    }

    /// The elements of the row at a position.
    pub(crate) fn row(&self, at: isize) -> &[T] {
        let at = at.cast_unsigned();
        match &self.memory {
            Memory::Dense(memory) => &memory[at..at + self.len],
            Memory::Rows(rows) => rows[at],
        }
    }
}

fn c_strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].cast_signed();
    }
    strides
}
