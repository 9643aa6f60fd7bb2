//! The product of two distributed matrices, by panels of the dimension that is summed over (SUMMA).
//!
//! For each panel every rank gets the rows of `a` and the columns of `b` that its part of the result needs, as a
//! redistribution to a layout in which a panel lies on several ranks; so both may be distributed in any way. Where the product
//! keeps few numbers the summed dimension is dealt to all ranks instead ([`few_sums`](super::few_sums)).

use std::ops::Range;
use std::sync::Arc;

use bytemuck::Zeroable;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution, choose_grid};
use ndarray::{Array2, Axis, Data, Ix2, RawData};

use super::MatMul;
use super::few_sums::{Dealt, Weights, joined, spreads};
use crate::output::room;
use crate::part::Part;
use crate::redistribute::moved_to;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// Indices of the summed dimension in a panel: enough that the kernel's work outweighs the movement, few enough that a panel
/// is small beside the matrices.
pub(super) const PANEL: u64 = 512;
/// The same where nothing moves.
pub(super) const STEP: usize = 512;

/// `a · b`. The same error on every rank.
pub(super) fn matmul<T, S1, S2, C>(
    a: &LocalArrayBase<S1, Ix2, C>,
    b: &LocalArrayBase<S2, Ix2, C>,
) -> Result<LocalArray<T, Ix2, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let target = product_of(a, b)?;
    let (comm, k) = (a.comm(), a.global_shape()[1]);
    let part = Part::new(Arc::new(target), comm)?;
    let target = part.distribution();
    let mut sums: Array2<T::Acc> = agree(comm, part.zeros())?;
    // One rank alone has all panels at once, where it has the summed dimension in order.
    let weights = Weights {
        element: size_of::<T>(),
        sum: size_of::<T::Acc>(),
        tile: None,
    };
    let dealt = Dealt::where_it_pays(a.distribution(), b.distribution(), target, weights)?;
    let in_order = a.distribution().axes()[1].is_whole() && b.distribution().axes()[0].is_whole();
    if a.comm_size() == 1 && in_order {
        T::multiply_add(&a.owned(), &b.owned(), &mut sums.view_mut());
    } else if let Some(dealt) = dealt {
        let [rows, columns] = dealt.factors(a, b)?;
        let shape = (rows.nrows(), columns.ncols());
        // The sums, and what is sent of them.
        let count = shape.0.saturating_mul(shape.1).saturating_mul(2);
        drop(agree(comm, room::<T::Acc>(count, comm.rank()))?);
        let mut partial = Array2::from_elem(shape, T::Acc::zeroed());
        let panels = rows.axis_chunks_iter(Axis(1), STEP);
        for (rows, columns) in panels.zip(columns.axis_chunks_iter(Axis(0), STEP)) {
            T::multiply_add(&rows, &columns, &mut partial.view_mut());
        }
        let (partial, _) = partial.into_raw_vec_and_offset();
        let join = |sum: &mut T::Acc, &more: &T::Acc| *sum = T::add(*sum, more);
        let mine = joined(&partial, target, comm, join)?;
        for (sum, found) in sums.iter_mut().zip(mine) {
            *sum = found;
        }
    } else {
        let mut first = 0;
        while first < k {
            let panel = first..k.min(first + PANEL);
            let (rows, columns) = panels(target, target.axes(), k, panel.clone())?;
            let rows: LocalArray<T, Ix2, C> = moved_to(a, &rows)?;
            let columns: LocalArray<T, Ix2, C> = moved_to(b, &columns)?;
            if part.is_active() {
                T::multiply_add(&rows.local(), &columns.local(), &mut sums.view_mut());
            }
            first = panel.end;
        }
    }
    LocalArray::from_part(T::sums_of(sums), Arc::new(part), comm.clone())
}

/// How the product of two matrices is distributed, or why there is none.
pub(super) fn product_of<S1, S2, C>(
    a: &LocalArrayBase<S1, Ix2, C>,
    b: &LocalArrayBase<S2, Ix2, C>,
) -> Result<Distribution, ArrayError>
where
    S1: RawData,
    S2: RawData,
    C: Communicator,
{
    let ([m, k], [given, n]) = (extents(a), extents(b));
    if given != k {
        return Err(ArrayError::Shape {
            what: "the second factor",
            given: b.global_shape().to_vec(),
            allowed: format!("{k} rows, as the first has columns"),
        });
    }
    if a.comm_size() != b.comm_size() {
        return Err(ArrayError::InvalidBaseComm {
            given: b.comm_size(),
            allowed: a.comm_size(),
        });
    }
    result(a.distribution(), b.distribution(), [m, n])
}

fn extents<S: RawData, C: Communicator>(matrix: &LocalArrayBase<S, Ix2, C>) -> [u64; 2] {
    [matrix.global_shape()[0], matrix.global_shape()[1]]
}

/// The products of each element of a column with each of a row: `m × 1` with `1 × n`.
pub(super) fn outer_product<T, S1, S2, C>(
    column: &LocalArrayBase<S1, Ix2, C>,
    row: &LocalArrayBase<S2, Ix2, C>,
) -> Result<LocalArray<T, Ix2, C>, ArrayError>
where
    T: MatMul,
    S1: Data<Elem = T>,
    S2: Data<Elem = T>,
    C: Communicator + Clone,
{
    let shape = [column.global_shape()[0], row.global_shape()[1]];
    let target = result(column.distribution(), row.distribution(), shape)?;
    let comm = column.comm();
    let mut product = agree(comm, LocalArray::<T, Ix2, C>::zeros(&target, comm.clone()))?;
    let (rows, columns) = panels(&target, target.axes(), 1, 0..1)?;
    let (rows, columns): (LocalArray<T, Ix2, C>, LocalArray<T, Ix2, C>) =
        (moved_to(column, &rows)?, moved_to(row, &columns)?);
    // Rows and columns have one element along the other dimension, on every rank that has a part of the product.
    let mut products = product.owned_mut();
    for (mut line, &x) in products.axis_iter_mut(Axis(0)).zip(rows.local()) {
        line.zip_mut_with(&columns.local().index_axis(Axis(0), 0), |slot, &y| {
            *slot = T::sum_of(x.product(y, false));
        });
    }
    Ok(product)
}

/// How the product is distributed: the rows as those of `a` and the columns as those of `b` where that leaves no rank more than
/// twice its share, else in blocks over a grid of all ranks.
fn result(a: &Distribution, b: &Distribution, shape: [u64; 2]) -> Result<Distribution, ArrayError> {
    let ranks = a.ranks();
    let (rows, columns) = (&a.axes()[0], &b.axes()[1]);
    let plain = rows.is_one_to_one() && columns.is_one_to_one();
    if plain && spreads(rows, columns, ranks) {
        let bare = [rows, columns].map(|axis| match axis {
            AxisDist::Block { bounds, .. } => AxisDist::block_bounds(bounds.clone()),
            other => Ok(other.clone()),
        });
        let [rows, columns] = bare;
        let same_grid =
            a.grid() == b.grid() && a.targets() == b.targets() && a.targets().len() == ranks;
        let targets = if same_grid {
            a.targets().to_vec()
        } else {
            (0..ranks).collect()
        };
        return Ok(Distribution::from_axes(
            vec![rows?, columns?],
            ranks,
            targets,
        )?);
    }
    let grid = choose_grid(&shape, &[true, true], ranks)?;
    let used = grid.iter().product();
    let axes = [
        AxisDist::block_balanced(shape[0], grid[0])?,
        AxisDist::block_balanced(shape[1], grid[1])?,
    ];
    Ok(Distribution::from_axes(
        axes.to_vec(),
        ranks,
        (0..used).collect::<Vec<_>>(),
    )?)
}

/// Where the panel of `a` and that of `b` go: the rows, or columns, of `axes`, which lie over the grid of `target`, and all of
/// the panel on each coordinate of the other dimension.
pub(super) fn panels(
    target: &Distribution,
    axes: &[AxisDist],
    k: u64,
    panel: Range<u64>,
) -> Result<(Distribution, Distribution), ArrayError> {
    let [rows, columns] = [&axes[0], &axes[1]];
    let list: Arc<[i64]> = panel.map(u64::cast_signed).collect();
    let on_all = |ranks: usize| AxisDist::unstructured(k, vec![list.clone(); ranks]);
    let place = |axes: Vec<AxisDist>| {
        Distribution::from_axes(axes, target.ranks(), target.targets().to_vec())
    };
    Ok((
        place(vec![rows.clone(), on_all(columns.ranks())?])?,
        place(vec![on_all(rows.ranks())?, columns.clone()])?,
    ))
}
