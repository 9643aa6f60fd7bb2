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
    let mut list = room(map.size())?;
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
    /// The first one lies there, and each other one behind the one before it.
    From(usize),
    /// The first one lies there, and each other one in front of the one before it.
    Back(usize),
    Listed(Vec<usize>),
}

impl Order {
    const SAME: Self = Self::From(0);

    fn of(&self, position: usize) -> usize {
        match self {
            Self::From(first) => first + position,
            Self::Back(last) => last - position,
            Self::Listed(list) => list[position],
        }
    }

    /// The same behind so many more indices.
    fn behind(&self, more: usize) -> Result<Self, IoError> {
        Ok(match self {
            Self::From(first) => Self::From(first + more),
            Self::Back(last) => Self::Back(last + more),
            Self::Listed(list) => Self::Listed(collected(list.iter().map(|at| at + more))?),
        })
    }
}

pub(super) fn indices(seen: &Seen, size: u64, positions: &Positions) -> Result<Along, IoError> {
    if let Seen::At(at) = *seen {
        return Along::block(size, at..at + 1, Order::SAME, 1);
    }
    if let (&Seen::Range { start, step, .. }, Positions::Range(range)) = (seen, positions) {
        let count = range.end.saturating_sub(range.start);
        if count == 0 {
            return Along::block(size, 0..0, Order::SAME, 0);
        }
        let len = index(count)?;
        let (first, last) = (seen.at(range.start), seen.at(range.end - 1));
        let (low, high) = (first.min(last), first.max(last));
        let order = if first <= last {
            Order::SAME
        } else {
            Order::Back(len - 1)
        };
        if count == 1 || step.unsigned_abs() == 1 {
            return Along::block(size, low..high + 1, order, len);
        }
        debug_assert!(start < size, "inside the dimension");
        let stride = step.unsigned_abs();
        let list = (0..len).map(|k| (low + k as u64 * stride).cast_signed());
        return Along::list(size, collected(list)?, order, len);
    }
    let all: Vec<u64> = match positions {
        Positions::Range(range) => {
            let len = index(range.end.saturating_sub(range.start))?;
            collected((0..len).map(|k| seen.at(range.start + k as u64)))?
        }
        Positions::List(list) => collected(list.iter().map(|&at| seen.at(at)))?,
    };
    let len = all.len();
    let mut sorted = collected(all.iter().copied())?;
    sorted.sort_unstable();
    sorted.dedup();
    let ascends = |by: fn(u64, u64) -> bool| all.windows(2).all(|pair| by(pair[0], pair[1]));
    let order = if ascends(|a, b| a < b) {
        Order::SAME
    } else if ascends(|a, b| a > b) {
        Order::Back(len - 1)
    } else {
        let place = |index: &u64| sorted.partition_point(|other| other < index);
        Order::Listed(collected(all.iter().map(place))?)
    };
    match (sorted.first(), sorted.last()) {
        (Some(&low), Some(&high)) if high - low + 1 == sorted.len() as u64 => {
            Along::block(size, low..high + 1, order, len)
        }
        _ => {
            let list = sorted.into_iter().map(u64::cast_signed);
            Along::list(size, collected(list)?, order, len)
        }
    }
}

/// A number of indices, or a place among them, in memory.
fn index(count: u64) -> Result<usize, IoError> {
    usize::try_from(count).map_err(|_| IoError::Overflow {
        what: "number of elements of a part",
    })
}

/// Room for so many: files say how many there are.
fn room<T>(count: usize) -> Result<Vec<T>, IoError> {
    let mut room = Vec::new();
    room.try_reserve_exact(count).map_err(|_| IoError::Memory {
        bytes: count.saturating_mul(size_of::<T>()),
    })?;
    Ok(room)
}

/// All of them, where there is room.
fn collected<T>(all: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, IoError> {
    let mut list = room(all.len())?;
    list.extend(all);
    Ok(list)
}

impl Along {
    /// A range of indices, of which `len` positions have some.
    fn block(size: u64, range: Range<u64>, order: Order, len: usize) -> Result<Self, IoError> {
        let read = range.end - range.start;
        // one in the middle of three may be any range
        let dim = if read == size {
            DimDict::whole(size)?
        } else {
            DimDict::block(size, 3, 1, range)?
        };
        Ok(Self {
            dim,
            order,
            read: index(read)?,
            len,
        })
    }

    /// As [`block`](Self::block), of ascending indices.
    fn list(size: u64, list: Vec<i64>, order: Order, len: usize) -> Result<Self, IoError> {
        Ok(Self {
            read: list.len(),
            dim: DimDict::unstructured(size, 1, 0, list, false)?,
            order,
            len,
        })
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
            .map(|&size| Along::block(size, size..size, Order::SAME, 0));
        let mut nothing = Self::new(along.collect::<Result<_, _>>()?);
        if file.is_empty() {
            // no dictionary says that a rank has no scalar
            nothing.read = vec![0];
            nothing.lens = vec![0];
            nothing.orders = vec![Order::SAME];
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

    /// Whether the part's buffer has all that is read, in the order of the file.
    pub(crate) fn is_in_order(&self) -> bool {
        (0..self.orders.len()).all(|axis| self.is_same(axis))
    }

    fn is_same(&self, axis: usize) -> bool {
        self.orders[axis] == Order::SAME && self.read[axis] == self.lens[axis]
    }

    /// The same part among all indices of the chunks that it touches: it is then read from there, or put there.
    pub(crate) fn rounded(&self, file: &[u64], chunk: &[u64]) -> Result<Self, IoError> {
        let axes = self.dim_data.iter().zip(file.iter().zip(chunk)).enumerate();
        let along = axes.map(|(axis, (dim, (&size, &step)))| {
            let map = map_from_dim_dict(dim)?;
            let runs = || {
                map.runs().map(|run| {
                    let first = run.global.unsigned_abs();
                    first..first + run.len as u64
                })
            };
            // ranges of whole chunks, and how many indices lie in those before the last
            let mut ranges: Vec<Range<u64>> = Vec::new();
            let mut before = 0;
            let lists_places = runs().nth(1).is_some();
            let mut places = room(if lists_places { self.read[axis] } else { 0 })?;
            for run in runs() {
                let range = around(&run, step.max(1), size);
                match ranges.last_mut() {
                    Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                    last => {
                        before += last.map_or(0, |last| last.end - last.start);
                        ranges.push(range);
                    }
                }
                if lists_places {
                    let start = ranges.last().map_or(0, |last| last.start);
                    for at in run {
                        places.push(index(before + (at - start))?);
                    }
                }
            }
            let total = before + ranges.last().map_or(0, |last| last.end - last.start);
            let (order, len) = (&self.orders[axis], self.lens[axis]);
            let order = if total == self.read[axis] as u64 {
                order.clone()
            } else if lists_places {
                let place = |position| places[order.of(position)];
                Order::Listed(collected((0..len).map(place))?)
            } else {
                // one run lies among its chunks as it is
                let first = runs().next().map_or(0, |run| run.start);
                let start = ranges.first().map_or(0, |range| range.start);
                order.behind(index(first - start)?)?
            };
            match &ranges[..] {
                [] => Along::block(size, size..size, order, len),
                [one] => Along::block(size, one.clone(), order, len),
                many => {
                    let mut list = room(index(total)?)?;
                    list.extend(many.iter().cloned().flatten().map(u64::cast_signed));
                    Along::list(size, list, order, len)
                }
            }
        });
        Ok(Self::new(along.collect::<Result<_, IoError>>()?))
    }

    /// Calls `f` with every run of `item` bytes an element: its first byte in the order of the file, in the part's buffer, and its
    /// length in bytes.
    pub(crate) fn each(&self, item: usize, f: &mut dyn FnMut(usize, usize, usize)) {
        if self.lens.contains(&0) {
            return;
        }
        let depth = (0..self.orders.len())
            .rposition(|axis| !self.is_same(axis))
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
        if let (Order::From(first), true) = (&self.orders[axis], axis + 1 == depth) {
            return f(from + first * inner, to, self.lens[axis] * inner);
        }
        let stride = |lens: &[usize]| lens[axis + 1..depth].iter().product::<usize>() * inner;
        let (read, written) = (stride(&self.read), stride(&self.lens));
        for position in 0..self.lens[axis] {
            let place = self.orders[axis].of(position);
            let (from, to) = (from + place * read, to + position * written);
            self.walk(axis + 1, depth, (from, to), inner, f);
        }
    }
}

/// The indices of all chunks of `step` that a range lies in, of an axis of `size`.
fn around(range: &Range<u64>, step: u64, size: u64) -> Range<u64> {
    let end = range.end.div_ceil(step).saturating_mul(step);
    range.start / step * step..end.min(size)
}
