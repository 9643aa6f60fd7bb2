//! Products whose bits do not depend on the layout: [`Dot`] for [`Reproducible`], and its `vdot`.

use std::ops::Range;
use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution, GlobalIndex, IndexMap};
use ndarray::{ArrayView2, Axis, Data, Dimension, Ix1, Ix2, IxDyn};

use super::Dot;
use super::few_sums::{Dealt, Weights, joined};
use super::summa::{PANEL, STEP, panels, product_of};
use super::tensordot::{Sums, TensorAxes, contract};
use super::vector::{alike, same_size, with_pairs};
use crate::exact::ExactSum;
use crate::output::room;
use crate::redistribute::moved_to;
use crate::reduction::CHUNK;
use crate::reproducible::{Parts, Reproducible, sum_of};
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// Rows and columns of the sums that a rank keeps at a time: a KiB each.
const TILE: usize = 128;

/// Whether elements are conjugated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conjugate {
    Neither,
    First,
}

/// Exact sums of exact products: the real, then the imaginary part.
type Sum = [ExactSum; 2];

const NOTHING: Sum = [ExactSum::ZERO; 2];

/// Adds the products of two lists of one length.
fn add_products<T: Parts>(sum: &mut Sum, a: &[T], b: &[T], conjugate: Conjugate) {
    let sign = match conjugate {
        Conjugate::Neither => 1.0,
        Conjugate::First => -1.0,
    };
    let ([mut re, mut im], [mut theirs, mut minus]) = ([[0.0; CHUNK]; 2], [[0.0; CHUNK]; 2]);
    for (a, b) in a.chunks(CHUNK).zip(b.chunks(CHUNK)) {
        let count = a.len().min(b.len());
        for i in 0..count {
            let [x, y] = a[i].parts();
            let [u, v] = b[i].parts();
            (re[i], im[i], theirs[i], minus[i]) = (x, sign * y, u, v);
        }
        // (x + iy)(u + iv) = xu - yv + i(xv + yu)
        sum[0].add_products(&re[..count], &theirs[..count]);
        if T::COUNT == 2 {
            sum[1].add_products(&re[..count], &minus[..count]);
            sum[1].add_products(&im[..count], &theirs[..count]);
            im[..count].iter_mut().for_each(|y| *y = -*y);
            sum[0].add_products(&im[..count], &minus[..count]);
        }
    }
}

/// The sum of products of all elements of two arrays, both taken flat: the same number on every rank. Collective.
pub(crate) fn exact_sum_of_products<T, S1, D1, S2, D2, C>(
    a: &LocalArrayBase<S1, D1, C>,
    b: &LocalArrayBase<S2, D2, C>,
    conjugate: Conjugate,
) -> Result<T, ArrayError>
where
    T: Parts,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    D1: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    same_size(a, b)?;
    let mut sum = with_pairs(a, b, |a, b| {
        let mut sum = NOTHING;
        add_products(&mut sum, a, b, conjugate);
        sum
    })?;
    a.comm().all_reduce_with(&mut sum, ExactSum::merge)?;
    Ok(sum_of(&sum))
}

/// Exactly, rounded once.
struct Exact;

impl<T: Parts> Sums<T> for Exact {
    fn of_matrices<S1, S2, C>(
        &self,
        a: &LocalArrayBase<S1, Ix2, C>,
        b: &LocalArrayBase<S2, Ix2, C>,
    ) -> Result<LocalArray<T, Ix2, C>, ArrayError>
    where
        S1: Data<Elem = T>,
        S2: Data<Elem = T>,
        C: Communicator + Clone,
    {
        let target = product_of(a, b)?;
        let comm = a.comm();
        let weights = Weights {
            element: size_of::<T>(),
            sum: size_of::<Sum>(),
            tile: Some(TILE),
        };
        let dealt = Dealt::where_it_pays(a.distribution(), b.distribution(), &target, weights)?;
        if let Some(dealt) = dealt {
            return few(a, b, &dealt, &target);
        }
        let made = LocalArray::<T, Ix2, C>::zeros(&target, comm.clone()).and_then(|product| {
            let shape = product.owned().dim();
            let (height, width) = (shape.0.min(TILE), shape.1.min(TILE));
            Ok((product, [height, width], room(height * width, comm.rank())?))
        });
        let (mut product, [height, width], mut sums) = agree(comm, made)?;
        for rows in Tile::all(&target.axes()[0]) {
            for columns in Tile::all(&target.axes()[1]) {
                sums.clear();
                sums.resize(height * width, NOTHING);
                add_tile(a, b, &target, [rows, columns], (&mut sums, width))?;
                let (high, wide) = (rows.here(&product, 0), columns.here(&product, 1));
                let mut tile = product.owned_mut();
                tile.slice_axis_inplace(Axis(0), high.into());
                tile.slice_axis_inplace(Axis(1), wide.into());
                for (mut line, sums) in tile.rows_mut().into_iter().zip(sums.chunks(width.max(1))) {
                    line.iter_mut()
                        .zip(sums)
                        .for_each(|(slot, sum)| *slot = sum_of(sum));
                }
            }
        }
        Ok(product)
    }

    fn of_all<S1, D1, S2, D2, C>(
        &self,
        a: &LocalArrayBase<S1, D1, C>,
        b: &LocalArrayBase<S2, D2, C>,
    ) -> Result<T, ArrayError>
    where
        S1: Data<Elem = T>,
        S2: Data<Elem = T>,
        D1: Dimension,
        D2: Dimension,
        C: Communicator + Clone,
    {
        exact_sum_of_products(a, b, Conjugate::Neither)
    }
}

/// At most [`TILE`] indices of each rank along a dimension: the same positions of each.
#[derive(Clone, Copy)]
struct Tile<'a> {
    axis: &'a AxisDist,
    first: usize,
}

impl<'a> Tile<'a> {
    /// As many as the longest rank needs.
    fn all(axis: &'a AxisDist) -> impl Iterator<Item = Self> {
        let longest = (0..axis.ranks()).map(|coord| axis.owned_len(coord)).max();
        let firsts = (0..longest.unwrap_or(0)).step_by(TILE);
        firsts.map(move |first| Self { axis, first })
    }

    /// Its positions along dimension `axis` of what this rank owns of an array.
    fn here<T: Element, C: Communicator>(
        self,
        array: &LocalArray<T, Ix2, C>,
        axis: usize,
    ) -> Range<usize> {
        let owned = array.owned().len_of(Axis(axis));
        self.first.min(owned)..(self.first + TILE).min(owned)
    }

    /// Its global indices, by rank along the dimension.
    fn listed(self) -> Result<AxisDist, ArrayError> {
        let lists = (0..self.axis.ranks()).map(|coord| {
            let map = self.axis.map(coord)?;
            let mine = map.global_iter().skip(self.first).take(TILE);
            Ok(mine.map(GlobalIndex::get).collect::<Arc<[i64]>>())
        });
        let lists = lists.collect::<Result<Vec<_>, ArrayError>>()?;
        Ok(AxisDist::unstructured(self.axis.size(), lists)?)
    }
}

/// A product of few numbers: each rank adds up the products of its share of the summed dimension.
fn few<T, S1, S2, C>(
    a: &LocalArrayBase<S1, Ix2, C>,
    b: &LocalArrayBase<S2, Ix2, C>,
    dealt: &Dealt,
    target: &Distribution,
) -> Result<LocalArray<T, Ix2, C>, ArrayError>
where
    T: Parts,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let comm = a.comm();
    let [rows, columns] = dealt.factors(a, b)?;
    let (width, count) = (columns.ncols(), rows.nrows() * columns.ncols());
    let made = LocalArray::<T, Ix2, C>::zeros(target, comm.clone())
        .and_then(|product| Ok((product, room(count, comm.rank())?)));
    let (mut product, mut sums) = agree(comm, made)?;
    sums.resize(count, NOTHING);
    let panels = rows.axis_chunks_iter(Axis(1), STEP);
    for (rows, columns) in panels.zip(columns.axis_chunks_iter(Axis(0), STEP)) {
        add_panel(&rows, &columns, (&mut sums, width));
    }
    let merge = |sum: &mut Sum, more: &Sum| {
        sum.iter_mut()
            .zip(more)
            .for_each(|(sum, more)| sum.merge(more));
    };
    let mine = joined(&sums, target, comm, merge)?;
    let mut cells = product.owned_mut();
    cells
        .iter_mut()
        .zip(&mine)
        .for_each(|(slot, sum)| *slot = sum_of(sum));
    Ok(product)
}

/// Adds the products of rows and columns to sums in lines of `width`.
fn add_panel<T: Parts>(
    rows: &ArrayView2<'_, T>,
    columns: &ArrayView2<'_, T>,
    (sums, width): (&mut [Sum], usize),
) {
    let len = rows.ncols().max(1);
    // row after row and column after column
    let rows: Vec<T> = rows.iter().copied().collect();
    let columns: Vec<T> = columns.t().iter().copied().collect();
    for (line, row) in sums.chunks_mut(width.max(1)).zip(rows.chunks(len)) {
        for (sum, column) in line.iter_mut().zip(columns.chunks(len)) {
            add_products(sum, row, column, Conjugate::Neither);
        }
    }
}

/// Adds the products of a tile of rows and one of columns, panel by panel, to sums in lines of `width`.
fn add_tile<T, S1, S2, C>(
    a: &LocalArrayBase<S1, Ix2, C>,
    b: &LocalArrayBase<S2, Ix2, C>,
    target: &Distribution,
    [rows, columns]: [Tile<'_>; 2],
    (sums, width): (&mut [Sum], usize),
) -> Result<(), ArrayError>
where
    T: Parts,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let k = a.global_shape()[1];
    let axes = [rows.listed()?, columns.listed()?];
    let mut first = 0;
    while first < k {
        let panel = first..k.min(first + PANEL);
        first = panel.end;
        let (rows, columns) = panels(target, &axes, k, panel)?;
        let rows: LocalArray<T, Ix2, C> = moved_to(a, &rows)?;
        let columns: LocalArray<T, Ix2, C> = moved_to(b, &columns)?;
        add_panel(&rows.local(), &columns.local(), (&mut *sums, width));
    }
    Ok(())
}

/// [`Dot`] of a [`Reproducible`] for a pair of numbers of dimensions.
macro_rules! dots {
    ($($left:ty, $right:ty => $output:ty: |$a:ident, $b:ident| $product:expr;)*) => {$(
        /// Exact, rounded once: the same bits for any layout.
        impl<T, S1, S2, C> Dot<LocalArrayBase<S2, $right, C>> for Reproducible<'_, S1, $left, C>
        where
            T: Parts,
            S1: Data<Elem = T>,
            S2: Data<Elem = T>,
            C: Communicator + Clone,
        {
            type Output = $output;

            fn dot(&self, other: &LocalArrayBase<S2, $right, C>) -> Result<$output, ArrayError> {
                let ($a, $b) = (self.array, other);
                alike($a, $b)?;
                $product
            }
        }
    )*};
}

dots! {
    Ix1, Ix1 => T: |a, b| exact_sum_of_products(a, b, Conjugate::Neither);
    Ix2, Ix2 => LocalArray<T, Ix2, C>: |a, b| Exact.of_matrices(a, b);
    Ix2, Ix1 => LocalArray<T, Ix1, C>: |a, b| contract(a, b, (-1, 0).into(), &Exact)?.into_dimensionality();
    Ix1, Ix2 => LocalArray<T, Ix1, C>: |a, b| contract(a, b, (-1, 0).into(), &Exact)?.into_dimensionality();
    IxDyn, IxDyn => LocalArray<T, IxDyn, C>: |a, b| {
        let axes: TensorAxes = match (a.ndim(), b.ndim()) {
            (0, _) | (_, 0) => 0.into(),
            (_, 1) => (-1, 0).into(),
            _ => (-1, -2).into(),
        };
        contract(a, b, axes, &Exact)
    };
}
