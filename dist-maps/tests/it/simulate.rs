//! Arrays on all ranks of a distribution, in memory, with a brute-force reading of what each rank
//! holds that shares nothing with the crate.

use std::ops::Range;
use std::sync::Arc;

use dist_maps::copy::Layout;
use dist_maps::{AxisDist, Distribution, Transfer};
use proptest::prelude::*;

/// One axis as its definition.
#[derive(Clone, Debug)]
pub(crate) enum Spec {
    /// Bounds, padding, boundary, periodic.
    Block(Vec<i64>, (i64, i64), (i64, i64), bool),
    /// Size, ranks, block size.
    Cyclic(i64, usize, i64),
    /// Size, lists.
    Lists(i64, Vec<Vec<i64>>),
}

/// Where an element of a stored axis comes from in a halo exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// It is the rank's own.
    Own(i64),
    /// It stands for this index.
    Halo(i64),
    /// It stands for nothing.
    Outside,
}

impl Spec {
    pub(crate) fn size(&self) -> i64 {
        match self {
            Self::Block(bounds, ..) => *bounds.last().unwrap(),
            Self::Cyclic(size, ..) | Self::Lists(size, _) => *size,
        }
    }

    pub(crate) fn ranks(&self) -> usize {
        match self {
            Self::Block(bounds, ..) => bounds.len() - 1,
            Self::Cyclic(_, ranks, _) => *ranks,
            Self::Lists(_, lists) => lists.len(),
        }
    }

    pub(crate) fn axis(&self) -> AxisDist {
        let unsigned = |n: i64| u64::try_from(n).unwrap();
        match self {
            Self::Block(bounds, padding, boundary, periodic) => {
                let bounds: Vec<u64> = bounds.iter().map(|&b| unsigned(b)).collect();
                AxisDist::block_bounds(bounds)
                    .and_then(|a| a.with_padding(unsigned(padding.0), unsigned(padding.1)))
                    .and_then(|a| a.with_boundary(unsigned(boundary.0), unsigned(boundary.1)))
                    .and_then(|a| a.with_periodic(*periodic))
                    .unwrap()
            }
            Self::Cyclic(size, ranks, block) => {
                AxisDist::cyclic(unsigned(*size), *ranks, unsigned(*block)).unwrap()
            }
            Self::Lists(size, lists) => {
                let lists = lists.iter().map(|list| Arc::from(&list[..]));
                AxisDist::unstructured::<Arc<[i64]>>(unsigned(*size), lists).unwrap()
            }
        }
    }

    /// Stored cells of a coordinate: the global index, and whether it is owned.
    pub(crate) fn stored(&self, coord: usize) -> Vec<(i64, bool)> {
        match self {
            Self::Block(bounds, padding, ..) => {
                let owned = bounds[coord]..bounds[coord + 1];
                if owned.is_empty() {
                    return Vec::new();
                }
                let first = (owned.start - padding.0).max(0);
                let past = (owned.end + padding.1).min(self.size());
                (first..past).map(|g| (g, owned.contains(&g))).collect()
            }
            Self::Cyclic(size, ranks, block) => (0..*size)
                .filter(|g| usize::try_from(g / block).unwrap() % ranks == coord)
                .map(|g| (g, true))
                .collect(),
            Self::Lists(_, lists) => lists[coord].iter().map(|&g| (g, true)).collect(),
        }
    }

    /// The same cells as a halo exchange sees them.
    pub(crate) fn cells(&self, coord: usize) -> Vec<Cell> {
        let interior = match self {
            Self::Block(_, _, boundary, true) => boundary.0..self.size() - boundary.1,
            _ => 0..self.size(),
        };
        let cell = |(g, owned)| {
            if owned && interior.contains(&g) {
                return Cell::Own(g);
            }
            wrap(g, &interior).map_or(Cell::Outside, Cell::Halo)
        };
        self.stored(coord).into_iter().map(cell).collect()
    }

    /// The lowest coordinate that owns an index.
    pub(crate) fn owner(&self, g: i64) -> Option<usize> {
        (0..self.ranks()).find(|&coord| self.stored(coord).contains(&(g, true)))
    }
}

fn wrap(mut g: i64, interior: &Range<i64>) -> Option<i64> {
    let period = interior.end - interior.start;
    if period <= 0 {
        return None;
    }
    while g < interior.start {
        g += period;
    }
    while g >= interior.end {
        g -= period;
    }
    Some(g)
}

/// An array's axes, and the rank at each place of the grid.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) axes: Vec<Spec>,
    pub(crate) ranks: usize,
    pub(crate) targets: Vec<usize>,
}

impl Whole {
    pub(crate) fn new(axes: Vec<Spec>, ranks: usize, targets: Vec<usize>) -> Self {
        Self {
            axes,
            ranks,
            targets,
        }
    }

    pub(crate) fn distribution(&self) -> Distribution {
        let axes = self.axes.iter().map(Spec::axis).collect();
        Distribution::from_axes(axes, self.ranks, self.targets.clone()).unwrap()
    }

    pub(crate) fn shape(&self) -> Vec<i64> {
        self.axes.iter().map(Spec::size).collect()
    }

    pub(crate) fn coords(&self, rank: usize) -> Option<Vec<usize>> {
        let mut rest = self.targets.iter().position(|&t| t == rank)?;
        let mut coords = Vec::new();
        for axis in self.axes.iter().rev() {
            coords.insert(0, rest % axis.ranks());
            rest /= axis.ranks();
        }
        Some(coords)
    }

    pub(crate) fn rank_at(&self, coords: &[usize]) -> usize {
        let place = coords.iter().zip(&self.axes);
        self.targets[place.fold(0, |place, (c, axis)| place * axis.ranks() + c)]
    }

    /// Every stored element of a rank in C order: one item per axis.
    pub(crate) fn elements<T: Copy>(
        &self,
        rank: usize,
        f: impl Fn(&Spec, usize) -> Vec<T>,
    ) -> Vec<Vec<T>> {
        let Some(coords) = self.coords(rank) else {
            return Vec::new();
        };
        let mut all = vec![Vec::new()];
        for (axis, &coord) in self.axes.iter().zip(&coords) {
            let cells = f(axis, coord);
            let longer = |prefix: Vec<T>| {
                let one = |&cell| prefix.iter().copied().chain([cell]).collect();
                cells.iter().map(one).collect::<Vec<Vec<T>>>()
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    /// Extents of what a rank stores.
    pub(crate) fn extents(&self, rank: usize) -> Vec<usize> {
        match self.coords(rank) {
            Some(coords) => {
                let axes = self.axes.iter().zip(&coords);
                axes.map(|(axis, &coord)| axis.stored(coord).len())
                    .collect()
            }
            None => vec![0; self.axes.len()],
        }
    }

    pub(crate) fn owner(&self, index: &[i64]) -> usize {
        let axes = self.axes.iter().zip(index);
        let coords: Vec<usize> = axes.map(|(axis, &g)| axis.owner(g).unwrap()).collect();
        self.rank_at(&coords)
    }
}

/// C order.
pub(crate) fn flat(index: &[i64], shape: &[i64]) -> i64 {
    index.iter().zip(shape).fold(0, |flat, (i, n)| flat * n + i)
}

/// How a local array lies in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    C,
    Fortran,
    /// C order backwards: every stride negative.
    Reversed,
}

impl Order {
    pub(crate) fn layout(self, shape: &[usize]) -> Layout {
        match self {
            Self::C => Layout::c_order(shape).unwrap(),
            Self::Fortran => Layout::f_order(shape).unwrap(),
            Self::Reversed => {
                let c = Layout::c_order(shape).unwrap();
                let strides: Vec<isize> = c.strides().iter().map(|s| -s).collect();
                Layout::in_memory_order(shape, &strides).unwrap()
            }
        }
    }

    /// Elements given in C order, in this one.
    pub(crate) fn arrange<T: Copy>(self, shape: &[usize], elements: &[T]) -> Vec<T> {
        let mut out = elements.to_vec();
        for (&element, at) in elements.iter().zip(self.offsets(shape)) {
            out[at] = element;
        }
        out
    }

    /// Elements in this order, in C order.
    pub(crate) fn read<T: Copy>(self, shape: &[usize], memory: &[T]) -> Vec<T> {
        let at = self.offsets(shape).into_iter();
        at.take(memory.len()).map(|at| memory[at]).collect()
    }

    fn offsets(self, shape: &[usize]) -> Vec<usize> {
        let n: usize = shape.iter().product();
        let offset = |c: usize| match self {
            Self::C => c,
            Self::Reversed => n - 1 - c,
            Self::Fortran => {
                let (mut rest, mut at, mut stride) = (c, 0, n);
                for &extent in shape.iter().rev() {
                    stride /= extent;
                    at += rest % extent * stride;
                    rest /= extent;
                }
                at
            }
        };
        (0..n).map(offset).collect()
    }
}

pub(crate) fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::C), Just(Order::Fortran), Just(Order::Reversed)]
}

/// Delivers every message of all ranks: `sends[r]` and `recvs[r]` are those of rank `r`.
pub(crate) fn deliver<T: Copy + Default>(
    plans: &[(&[Transfer], &[Transfer])],
    src: &[Vec<T>],
    src_layout: impl Fn(usize) -> Layout,
    dst: &mut [Vec<T>],
    dst_layout: impl Fn(usize) -> Layout,
) {
    let mut sent = 0;
    for (to, (_, recvs)) in plans.iter().enumerate() {
        for recv in *recvs {
            let from = recv.peer();
            let send = plans[from].0.iter().find(|t| t.peer() == to).unwrap();
            assert_eq!(send.elements(), recv.elements(), "{from} to {to}");
            let mut message = vec![T::default(); send.elements()];
            send.pack(&src[from], &src_layout(from), &mut message)
                .unwrap();
            recv.unpack(&message, &mut dst[to], &dst_layout(to))
                .unwrap();
            sent += 1;
        }
    }
    let all: usize = plans.iter().map(|(sends, _)| sends.len()).sum();
    assert_eq!(sent, all, "every message is expected by its receiver");
}

/// An axis of `size` elements over at most `ranks` ranks. `source`: every index is somewhere.
pub(crate) fn axis(size: i64, ranks: usize, source: bool) -> BoxedStrategy<Spec> {
    let pads = || (0..4_i64, 0..4_i64);
    let block = (1..=ranks).prop_flat_map(move |p| {
        let cuts = proptest::collection::vec(0..=size, p - 1);
        (cuts, pads(), 0..=size.min(3), 0..=3_i64, any::<bool>()).prop_map(
            move |(mut cuts, padding, lower, upper, periodic)| {
                cuts.sort_unstable();
                let bounds: Vec<i64> = [0].into_iter().chain(cuts).chain([size]).collect();
                let boundary = (lower, upper.min(size - lower));
                Spec::Block(bounds, padding, boundary, periodic)
            },
        )
    });
    let cyclic = (1..=ranks, 1..5_i64).prop_map(move |(p, b)| Spec::Cyclic(size, p, b));
    let lists = (1..=ranks).prop_flat_map(move |p| {
        let n = usize::try_from(size).unwrap();
        let holders = proptest::collection::vec((0..1_u32 << p, 0..p, any::<bool>()), n);
        let order = Just((0..size).collect::<Vec<_>>()).prop_shuffle();
        (holders, order, any::<bool>(), any::<bool>()).prop_map(
            move |(holders, order, shuffled, overlap)| {
                let mut lists = vec![Vec::new(); p];
                let order = if shuffled { order } else { (0..size).collect() };
                for g in order {
                    let (mask, one, gap) = holders[usize::try_from(g).unwrap()];
                    for (coord, list) in lists.iter_mut().enumerate() {
                        let here = if overlap {
                            mask & 1 << coord != 0 || source && mask == 0 && coord == one
                        } else {
                            coord == one && (source || !gap)
                        };
                        if here {
                            list.push(g);
                        }
                    }
                }
                Spec::Lists(size, lists)
            },
        )
    });
    prop_oneof![3 => block, 2 => cyclic, 2 => lists].boxed()
}

/// Axes of a shape over a communicator with up to two more ranks than the grid has, in any order.
pub(crate) fn whole(shape: &[i64], source: bool) -> BoxedStrategy<Whole> {
    let ranks = [6, 4, 3][shape.len().clamp(1, 3) - 1];
    let axes: Vec<_> = shape.iter().map(|&n| axis(n, ranks, source)).collect();
    (axes, 0..3_usize)
        .prop_flat_map(|(axes, more)| {
            let grid: usize = axes.iter().map(Spec::ranks).product();
            let ranks = grid + more;
            let order = Just((0..ranks).collect::<Vec<_>>()).prop_shuffle();
            (Just(axes), Just(ranks), Just(grid), order)
        })
        .prop_map(|(axes, ranks, grid, mut targets)| {
            targets.truncate(grid);
            Whole::new(axes, ranks, targets)
        })
        .boxed()
}

/// One axis over many ranks in order, every index somewhere.
pub(crate) fn long(size: i64) -> impl Strategy<Value = Whole> {
    axis(size, 30, true).prop_map(|axis| {
        let ranks = axis.ranks();
        Whole::new(vec![axis], ranks, (0..ranks).collect())
    })
}

pub(crate) fn shape() -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![
        1 => Just(Vec::new()),
        3 => proptest::collection::vec(0..40_i64, 1),
        4 => proptest::collection::vec(0..12_i64, 2),
        2 => proptest::collection::vec(1..6_i64, 3),
    ]
}
