//! [`Selection`]: what a part of a window reads or writes in the file, and in which order its buffer has it.

use std::ops::Range;

use dap_protocol::{DimData, DimDict};
use dist_maps::{AxisDist, IndexMap, map_from_dim_dict};

use super::Seen;
use crate::IoError;
use crate::part::Extent;

/// Positions of a window along one dimension, in the order of a buffer.
pub(super) enum Positions {
    Range(Range<u64>),
    List(Vec<u64>),
}

pub(super) fn positions(
    number: usize,
    axis: &AxisDist,
    coord: usize,
    extent: Extent,
) -> Result<Positions, IoError> {
    if let AxisDist::Block { .. } = axis {
        let range = match extent {
            Extent::Stored => axis.stored_range(coord),
            Extent::Owned => axis.owned_range(coord),
        };
        return Ok(Positions::Range(range.unwrap_or(0..0)));
    }
    let map = axis.map(coord)?;
    let size = axis.size();
    let mut list = Vec::with_capacity(map.size());
    for run in map.runs() {
        let inside = |g: i64| u64::try_from(g).is_ok_and(|g| g < size);
        for index in (run.global..).take(run.len) {
            if !inside(index) {
                let axis = number;
                return Err(IoError::Index { axis, index, size });
            }
            list.push(index.unsigned_abs());
        }
    }
    Ok(Positions::List(list))
}

/// What is read along one dimension: ascending indices, and their order in the part.
pub(super) struct Along {
    dim: DimDict,
    order: Order,
    /// Number of indices in the file, and of positions in the part.
    read: usize,
    len: usize,
}

/// Where the positions of a part lie among the ascending indices.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Order {
    Same,
    Reversed,
    Listed(Vec<usize>),
}

impl Order {
    fn of(&self, position: usize, len: usize) -> usize {
        match self {
            Self::Same => position,
            Self::Reversed => len - 1 - position,
            Self::Listed(list) => list[position],
        }
    }
}

pub(super) fn indices(seen: &Seen, size: u64, positions: &Positions) -> Result<Along, IoError> {
    if let Seen::At(at) = *seen {
        return Along::block(size, at..at + 1, Order::Same);
    }
    if let (&Seen::Range { start, step, .. }, Positions::Range(range)) = (seen, positions) {
        let count = range.end.saturating_sub(range.start);
        if count == 0 {
            return Along::block(size, 0..0, Order::Same);
        }
        let (first, last) = (seen.at(range.start), seen.at(range.end - 1));
        let (low, high) = (first.min(last), first.max(last));
        let order = if first <= last {
            Order::Same
        } else {
            Order::Reversed
        };
        if count == 1 || step.unsigned_abs() == 1 {
            return Along::block(size, low..high + 1, order);
        }
        debug_assert!(start < size, "inside the dimension");
        let stride = step.unsigned_abs();
        let list = room(count)?;
        let list = (0..count).fold(list, |mut list, k| {
            list.push((low + k * stride).cast_signed());
            list
        });
        return Along::list(size, list, order);
    }
    let all: Vec<u64> = match positions {
        Positions::Range(range) => range.clone().map(|position| seen.at(position)).collect(),
        Positions::List(list) => list.iter().map(|&position| seen.at(position)).collect(),
    };
    let ascends = |by: fn(u64, u64) -> bool| all.windows(2).all(|pair| by(pair[0], pair[1]));
    let order = if ascends(|a, b| a < b) {
        Order::Same
    } else if ascends(|a, b| a > b) {
        Order::Reversed
    } else {
        Order::Listed(Vec::new())
    };
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let order = match order {
        Order::Listed(_) => {
            let place = |index: &u64| sorted.partition_point(|other| other < index);
            Order::Listed(all.iter().map(place).collect())
        }
        known => known,
    };
    match (sorted.first(), sorted.last()) {
        (Some(&low), Some(&high)) if high - low + 1 == sorted.len() as u64 => {
            Along::block(size, low..high + 1, order)
        }
        _ => {
            let list = sorted.into_iter().map(u64::cast_signed).collect();
            Along::list(size, list, order)
        }
    }
}

/// Room for so many indices.
fn room(count: u64) -> Result<Vec<i64>, IoError> {
    let bytes = usize::try_from(count).unwrap_or(usize::MAX);
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| IoError::Memory {
        bytes: bytes.saturating_mul(8),
    })?;
    Ok(room)
}

impl Along {
    fn new(dim: DimDict, order: Order, read: u64) -> Result<Self, IoError> {
        let read = usize::try_from(read).map_err(|_| IoError::Overflow {
            what: "number of elements of a part",
        })?;
        let len = match &order {
            Order::Listed(list) => list.len(),
            _ => read,
        };
        Ok(Self {
            dim,
            order,
            read,
            len,
        })
    }

    fn block(size: u64, range: Range<u64>, order: Order) -> Result<Self, IoError> {
        let len = range.end - range.start;
        // one in the middle of three may be any range
        let dim = if len == size {
            DimDict::whole(size)?
        } else {
            DimDict::block(size, 3, 1, range)?
        };
        Self::new(dim, order, len)
    }

    fn list(size: u64, list: Vec<i64>, order: Order) -> Result<Self, IoError> {
        let len = list.len() as u64;
        Self::new(DimDict::unstructured(size, 1, 0, list, false)?, order, len)
    }
}

/// What a part reads or writes: a product of ascending indices of the file, and the order of the part's buffer.
pub(crate) struct Selection {
    dim_data: DimData,
    orders: Vec<Order>,
    read: Vec<usize>,
    lens: Vec<usize>,
}

impl Selection {
    pub(super) fn new(along: Vec<Along>) -> Self {
        let mut dims = Vec::with_capacity(along.len());
        let (mut orders, mut read, mut lens) = (Vec::new(), Vec::new(), Vec::new());
        for one in along {
            dims.push(one.dim);
            orders.push(one.order);
            read.push(one.read);
            lens.push(one.len);
        }
        Self {
            dim_data: DimData::new(dims),
            orders,
            read,
            lens,
        }
    }

    pub(super) fn nothing(file: &[u64]) -> Result<Self, IoError> {
        let along = file
            .iter()
            .map(|&size| Along::block(size, size..size, Order::Same));
        let mut nothing = Self::new(along.collect::<Result<_, _>>()?);
        if file.is_empty() {
            // no dictionary says that a rank has no scalar
            nothing.read = vec![0];
            nothing.lens = vec![0];
            nothing.orders = vec![Order::Same];
        }
        Ok(nothing)
    }

    /// The indices, ascending along each dimension of the file.
    pub(crate) fn dim_data(&self) -> &DimData {
        &self.dim_data
    }

    /// Number of elements in the file.
    pub(crate) fn elements(&self) -> Option<usize> {
        if self.read.contains(&0) {
            return Some(0);
        }
        let mut read = self.read.iter();
        read.try_fold(1_usize, |n, &len| n.checked_mul(len))
    }

    /// Whether the part's buffer has the order of the file.
    pub(crate) fn is_in_order(&self) -> bool {
        self.orders.iter().all(|order| *order == Order::Same)
    }

    /// The same part among all indices of the chunks that it touches: it is then read from there, or put there.
    pub(crate) fn rounded(&self, file: &[u64], chunk: &[u64]) -> Result<Self, IoError> {
        let mut along = Vec::with_capacity(self.orders.len());
        let axes = self.dim_data.iter().zip(file.iter().zip(chunk)).enumerate();
        for (axis, (dim, (&size, &step))) in axes {
            let step = step.max(1);
            let mut ranges: Vec<Range<u64>> = Vec::new();
            let mut places = Vec::with_capacity(self.read[axis]);
            let mut before = 0; // the length of all ranges but the last
            for run in map_from_dim_dict(dim)?.runs() {
                let first = run.global.unsigned_abs();
                let end = first + run.len as u64;
                let low = first / step * step;
                let high = (end.div_ceil(step).saturating_mul(step)).min(size);
                match ranges.last_mut() {
                    Some(last) if low <= last.end => last.end = last.end.max(high),
                    last => {
                        before += last.map_or(0, |last| last.end - last.start);
                        ranges.push(low..high);
                    }
                }
                let start = ranges.last().map_or(0, |last| last.start);
                let place = |index: u64| usize::try_from(before + (index - start));
                places.extend((first..end).map(|index| place(index).unwrap_or(usize::MAX)));
            }
            let total: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            let order = if total == self.read[axis] as u64 {
                self.orders[axis].clone()
            } else {
                let place = |position| places[self.orders[axis].of(position, self.lens[axis])];
                Order::Listed((0..self.lens[axis]).map(place).collect())
            };
            along.push(match &ranges[..] {
                [] => Along::block(size, size..size, order)?,
                [one] => Along::block(size, one.clone(), order)?,
                many => {
                    let list = many.iter().cloned().flatten().map(u64::cast_signed);
                    Along::list(size, list.collect(), order)?
                }
            });
        }
        Ok(Self::new(along))
    }

    /// Calls `f` with every run of `item` bytes an element: its first byte in the order of the file, in the part's buffer, and its
    /// length in bytes.
    pub(crate) fn each(&self, item: usize, f: &mut dyn FnMut(usize, usize, usize)) {
        if self.lens.contains(&0) {
            return;
        }
        let is_ordered = |order: &Order| *order != Order::Same;
        let depth = self
            .orders
            .iter()
            .rposition(is_ordered)
            .map_or(0, |at| at + 1);
        let inner = self.lens[depth..].iter().product::<usize>() * item;
        self.walk(0, depth, (0, 0), inner, f);
    }

    fn walk(
        &self,
        axis: usize,
        depth: usize,
        (from, to): (usize, usize),
        inner: usize,
        f: &mut dyn FnMut(usize, usize, usize),
    ) {
        if axis == depth {
            return f(from, to, inner);
        }
        let stride = |lens: &[usize]| lens[axis + 1..depth].iter().product::<usize>() * inner;
        let (read, written) = (stride(&self.read), stride(&self.lens));
        for position in 0..self.lens[axis] {
            let place = self.orders[axis].of(position, self.lens[axis]);
            let (from, to) = (from + place * read, to + position * written);
            if axis + 1 == depth {
                f(from, to, inner);
            } else {
                self.walk(axis + 1, depth, (from, to), inner, f);
            }
        }
    }
}
