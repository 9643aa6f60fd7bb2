//! Sorting: [`sort`](LocalArrayBase::sort), [`sorted`](LocalArrayBase::sorted), [`argsort`](LocalArrayBase::argsort).
//!
//! Along a dimension that is not distributed every rank sorts its own rows. Along a distributed one:
//!
//! ```text
//! 1-D   each rank sorts its block;            cuts: where each sorted block is cut so that exactly the right
//!       every rank gets its piece of each  <- number of elements goes to every rank, found by bisection together;
//!       block and merges them.                equal elements go by their place, so that the order is stable
//! n-D   the array is turned so that the dimension is whole on every rank, sorted there, and turned back;
//!       where there are fewer rows than ranks, row by row as 1-D
//! ```
//!
//! Nothing is sampled: the pieces are exact whatever the elements, so memory is what a rank owns.

mod blocks;
mod cuts;
mod float;
mod key;
mod merge;

use std::borrow::Cow;
use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Index;
use large_pages::prefer_large_pages;
use ndarray::{Array, ArrayView, ArrayViewMut, Axis, Data, DataMut, Dimension, Ix1, IxDyn};

pub use key::Sortable;

use crate::agreement::same_everywhere;
use crate::axis::axis_of;
use crate::nonzero::InOrder;
use crate::remote::unpack;
use crate::reshape::{reshaped, with_whole};
use crate::strided::for_each_run;
use crate::{ArrayError, LocalArray, LocalArrayBase, LocalArrayView, Redistributor};

/// `NumPy`'s `kind` of sorting. All kinds have one result here, the stable one, in one way: the names are kept so that calls
/// can be written as they were. Example: see [`sorted`](LocalArrayBase::sorted). Every rank gives the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SortKind {
    /// `"quicksort"`.
    #[default]
    Quick,
    /// `"mergesort"`.
    Merge,
    /// `"heapsort"`.
    Heap,
    /// `"stable"`.
    Stable,
}

/// What is done to each row along a dimension: sorting it, or finding the order.
pub(crate) trait RowOperation<T: Element> {
    /// What a row becomes.
    type Out: Element;

    /// What is kept from one row to the next.
    type Buffer: Default;

    /// A row that lies here.
    fn row(&self, row: &[T], out: &mut [Self::Out], buffer: &mut Self::Buffer);

    /// One row that is cut between ranks: this rank's block of the result. Collective.
    fn blocks<C: Communicator>(
        &self,
        row: InOrder<'_, T>,
        comm: &C,
    ) -> Result<Vec<Self::Out>, ArrayError>;
}

struct Sort;
struct FindOrder;

impl<T: Sortable> RowOperation<T> for Sort {
    type Out = T;
    type Buffer = ();

    fn row(&self, row: &[T], out: &mut [T], (): &mut ()) {
        T::sort_into(row, out);
    }

    fn blocks<C: Communicator>(&self, row: InOrder<'_, T>, comm: &C) -> Result<Vec<T>, ArrayError> {
        let run = match row.elements {
            Cow::Owned(mut run) => {
                T::sort_run(&mut run);
                run
            }
            Cow::Borrowed(elements) => {
                let mut run = bytemuck::zeroed_vec(elements.len());
                prefer_large_pages(&mut run);
                T::sort_into(elements, &mut run);
                run
            }
        };
        blocks::dealt(comm, run, &row.distribution)
    }
}

impl<T: Sortable> RowOperation<T> for FindOrder {
    type Out = i64;
    type Buffer = Vec<(T::Key, usize)>;

    fn row(&self, row: &[T], out: &mut [i64], pairs: &mut Self::Buffer) {
        pairs.clear();
        pairs.extend(row.iter().map(|x| x.key()).zip(0..));
        pairs.sort_unstable();
        for (slot, &(_, at)) in out.iter_mut().zip(&*pairs) {
            *slot = i64::try_from(at).unwrap_or(i64::MAX);
        }
    }

    fn blocks<C: Communicator>(
        &self,
        row: InOrder<'_, T>,
        comm: &C,
    ) -> Result<Vec<i64>, ArrayError> {
        let mut run: Vec<key::Keyed> = (row.first..)
            .zip(row.elements.iter())
            .map(|(at, x)| key::Keyed {
                key: T::words(x.key()),
                at,
            })
            .collect();
        run.sort_unstable();
        let run = blocks::dealt_keyed(comm, run, &row.distribution)?;
        Ok(run.into_iter().map(|x| x.at.cast_signed()).collect())
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Sortable>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// A sorted copy: along `axis`, negative from the end, or of the flattened array where it is `None` (`NumPy`'s function
    /// `sort`). Collective; every rank gives the same axis. Local meaning: on [`part`](Self::part).
    ///
    /// The result has the shape and distribution of this array, its padding zero; flattened it is in one dimension, in
    /// blocks. NaN comes last; complex numbers go by their real parts, then their imaginary ones, those with a NaN last as in
    /// `NumPy`. The order of equal elements, 0 and -0 say, is kept, so the result does not depend on the layout. Each rank
    /// sorts its block; where to cut the blocks is found by bisection with weighted medians, exactly, and the pieces are
    /// merged (D. R. Cheng, V. B. Shah, J. R. Gilbert and A. Edelman, "A novel parallel sorting algorithm for contemporary
    /// architectures", 2007; the cuts after E. L. G. Saukas and S. W. Song, "A note on parallel selection on coarse-grained
    /// multicomputers", 1999).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, SortKind};
    /// use ndarray::{Ix1, Ix2, array};
    ///
    /// let found = ThreadComm::run(3, |comm| {
    ///     let cyclic = Distribution::over(3).shape([5]).cyclic(0).build()?;
    ///     let x = LocalArray::<f64, Ix1, _>::from_fn(&cyclic, comm, |g| [3.0, f64::NAN, -1.0, 2.0, 0.0][g[0] as usize])?;
    ///     let order = x.argsort(-1, SortKind::Stable)?.gather_to(0)?;
    ///     let rows = Distribution::over(3).shape([3, 2]).block(0).build()?;
    ///     let mut a = LocalArray::<i64, Ix2, _>::from_fn(&rows, comm, |g| 10 * (2 - g[0]) + g[1])?;
    ///     a.sort(0, SortKind::Quick)?; // along the distributed dimension
    ///     Ok::<_, ArrayError>((order.map(|x| x.iter().copied().collect::<Vec<_>>()), a.gather_to(0)?))
    /// })?;
    /// assert_eq!(found[0].0, Some(vec![2, 4, 3, 0, 1]));
    /// assert_eq!(found[0].1, Some(array![[0, 1], [10, 11], [20, 21]]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`] for
    /// one that differs between the ranks, [`ArrayError::Plan`] where explicit lists leave elements out,
    /// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
    pub fn sorted(
        &self,
        axis: impl Into<Option<i32>>,
        kind: SortKind,
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        self.by_rows(axis.into(), kind, &Sort)
    }

    /// The indices that would sort the array: along `axis`, or of the flattened array where it is `None` (`NumPy`'s `argsort`).
    /// Collective; every rank gives the same axis. Local meaning: on [`part`](Self::part).
    ///
    /// The result has the shape and distribution that [`sorted`](Self::sorted) has, and holds global indices along `axis`,
    /// or flat ones in C order. Equal elements keep their order.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, SortKind};
    /// use ndarray::{Ix2, array};
    ///
    /// let found = ThreadComm::run(2, |comm| {
    ///     let columns = Distribution::over(2).shape([2, 3]).block(1).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&columns, comm, |g| [[5, 3, 4], [1, 1, 0]][g[0] as usize][g[1] as usize])?;
    ///     let of_rows = a.argsort(1, SortKind::Quick)?.gather_to(0)?; // along the distributed dimension
    ///     let flat = a.argsort(None, SortKind::Quick)?.gather_to(0)?;
    ///     Ok::<_, ArrayError>((of_rows, flat))
    /// })?;
    /// assert_eq!(found[0].0, Some(array![[1, 2, 0], [2, 0, 1]].into_dyn()));
    /// assert_eq!(found[0].1, Some(array![5, 3, 4, 1, 2, 0].into_dyn()));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`sorted`](Self::sorted).
    pub fn argsort(
        &self,
        axis: impl Into<Option<i32>>,
        kind: SortKind,
    ) -> Result<LocalArray<i64, IxDyn, C>, ArrayError> {
        self.by_rows(axis.into(), kind, &FindOrder)
    }

    fn by_rows<O: RowOperation<S::Elem>>(
        &self,
        axis: Option<i32>,
        kind: SortKind,
        operation: &O,
    ) -> Result<LocalArray<O::Out, IxDyn, C>, ArrayError> {
        same_everywhere(&self.comm, "axis or kind", &(axis, kind))?;
        if let Some(axis) = axis {
            let axis = axis_of(axis, self.ndim())?;
            return Ok(along(&self.view_of(), axis, operation)?.into_dyn());
        }
        let flat = reshaped(self.view_of(), &[self.size_u64()?])?;
        along(&flat.view_of(), 0, operation)
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut<Elem: Sortable>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// Sorts along `axis`, negative from the end, in place (`NumPy`'s method `sort`). Collective; as
    /// [`sorted`](Self::sorted), whose example has it. Padding keeps what it has, until
    /// [`exchange_halo`](LocalArrayBase::exchange_halo).
    ///
    /// # Errors
    /// As [`sorted`](Self::sorted); the array is as it was then.
    pub fn sort(&mut self, axis: i32, kind: SortKind) -> Result<(), ArrayError> {
        same_everywhere(&self.comm, "axis or kind", &(axis, kind))?;
        let axis = axis_of(axis, self.ndim())?;
        if axis + 1 == self.ndim() && self.distribution().axes()[axis].is_whole() {
            if self.part.is_active() {
                sort_lanes(self.owned_mut(), axis);
            }
            return Ok(());
        }
        let sorted = along(&self.view_of(), axis, &Sort)?;
        self.with_owned_elements(|owned| owned.copy_from_slice(&sorted.owned_elements()));
        Ok(())
    }
}

/// The operation on every row along an axis, distributed as the array is. Collective, in the same way on every rank.
pub(crate) fn along<T: Element, D: Dimension, C: Communicator + Clone, O: RowOperation<T>>(
    array: &LocalArrayView<'_, T, D, C>,
    axis: usize,
    operation: &O,
) -> Result<LocalArray<O::Out, D, C>, ArrayError> {
    let source = array.distribution();
    let is_empty = source.global_shape().contains(&0);
    if source.ndim() == 1 && !source.axes()[axis].is_whole() && !is_empty {
        return one_row(array, operation);
    }
    let mut result = LocalArray {
        data: agree(&array.comm, array.part.zeros::<O::Out, D>())?,
        part: Arc::clone(&array.part),
        comm: array.comm.clone(),
    };
    if is_empty {
        return Ok(result);
    }
    if source.axes()[axis].is_whole() {
        if array.part.is_active() {
            rows_here(&array.owned(), &mut result.owned_mut(), axis, operation);
        }
        return Ok(result);
    }
    let mut rows: Vec<u64> = source.global_shape().to_vec();
    rows[axis] = 1;
    let count = rows
        .iter()
        .fold(1_u64, |product, &n| product.saturating_mul(n));
    if count >= array.comm_size() as u64 && source.ndim() > 1 {
        let turned = with_whole(source, axis)?;
        let mut moved = agree(
            &array.comm,
            LocalArray::<T, IxDyn, _>::zeros(&turned, array.comm.clone()),
        )?;
        Redistributor::new(source, &turned, array.comm.clone())?.execute(array, &mut moved)?;
        let moved = along(&moved.view_of(), axis, operation)?;
        Redistributor::new(&turned, source, array.comm.clone())?.execute(&moved, &mut result)?;
        return Ok(result);
    }
    for row in 0..count {
        let items: Vec<Index> = unpack(&rows, row)
            .into_iter()
            .enumerate()
            .map(|(at, index)| {
                if at == axis {
                    (..).into()
                } else {
                    index.into()
                }
            })
            .collect();
        let cut = array.sliced(&items)?;
        let row = cut.in_order()?;
        let distribution = row.distribution.clone();
        let done = operation.blocks(row, &array.comm)?;
        let done: LocalArray<O::Out, Ix1, _> =
            LocalArray::from_owned(done, distribution, array.comm.clone())?;
        result.set_slice(&items, &done)?;
    }
    Ok(result)
}

/// A distributed array of one dimension. Collective.
fn one_row<T: Element, D: Dimension, C: Communicator + Clone, O: RowOperation<T>>(
    array: &LocalArrayView<'_, T, D, C>,
    operation: &O,
) -> Result<LocalArray<O::Out, D, C>, ArrayError> {
    let comm = array.comm.clone();
    let row = array.in_order()?;
    let distribution = row.distribution.clone();
    let done = operation.blocks(row, &comm)?;
    let done = LocalArray::<_, D, _>::from_owned(done, distribution, comm.clone())?;
    if array.part.is_unpadded_everywhere()
        && done.distribution().is_compatible(array.distribution())
    {
        return LocalArray::from_part(done.data, Arc::clone(&array.part), comm);
    }
    let mut result = LocalArray {
        data: agree(&comm, array.part.zeros::<O::Out, D>())?,
        part: Arc::clone(&array.part),
        comm,
    };
    crate::output::put_out(&done, &mut result)?;
    Ok(result)
}

/// Sorts rows that lie here whole, in place.
fn sort_lanes<T: Sortable, D: Dimension>(mut rows: ArrayViewMut<'_, T, D>, axis: usize) {
    let mut buffer = Vec::new();
    for mut lane in rows.lanes_mut(Axis(axis)) {
        if let Some(run) = lane.as_slice_mut() {
            T::sort_run(run);
            continue;
        }
        buffer.clear();
        buffer.extend(lane.iter().copied());
        T::sort_run(&mut buffer);
        lane.iter_mut()
            .zip(&buffer)
            .for_each(|(slot, &x)| *slot = x);
    }
}

/// The operation on every row that lies here whole.
fn rows_here<T: Element, D: Dimension, O: RowOperation<T>>(
    rows: &ArrayView<'_, T, D>,
    out: &mut ArrayViewMut<'_, O::Out, D>,
    axis: usize,
    operation: &O,
) {
    let n = rows.len_of(Axis(axis));
    if rows.is_empty() {
        return;
    }
    let mut buffer = O::Buffer::default();
    if let (Some(from), Some(to), true) =
        (rows.as_slice(), out.as_slice_mut(), axis + 1 == rows.ndim())
    {
        for (row, out) in from.chunks_exact(n).zip(to.chunks_exact_mut(n)) {
            operation.row(row, out, &mut buffer);
        }
        return;
    }
    // Rows are laid end to end, done, and put back.
    let order: Vec<usize> = (0..rows.ndim())
        .filter(|&at| at != axis)
        .chain([axis])
        .collect();
    let turned = rows.view().into_dyn().permuted_axes(IxDyn(&order));
    let mut elements = Vec::with_capacity(turned.len());
    for_each_run(&turned, |run| elements.extend_from_slice(run));
    let mut done = vec![O::Out::default(); elements.len()];
    for (row, out) in elements.chunks_exact(n).zip(done.chunks_exact_mut(n)) {
        operation.row(row, out, &mut buffer);
    }
    let mut back = out.view_mut().into_dyn().permuted_axes(IxDyn(&order));
    if let Ok(done) = Array::from_shape_vec(back.raw_dim(), done) {
        back.assign(&done);
    }
}

/// The elements at places `targets` of all that the ranks hold, in ascending order, each below the number of all: on every
/// rank. `run` is this rank's, and is sorted here. Collective.
pub(crate) fn order_statistics<T: Sortable>(
    comm: &dyn Communicator,
    run: &mut [T],
    targets: &[u64],
) -> Result<Vec<T>, ArrayError> {
    T::sort_run(run);
    let places: Vec<usize> = (0..comm.size()).collect();
    let key = |at: usize| T::words(run[at].key());
    let cuts = cuts::cuts(comm, run.len(), &key, &places, targets)?;
    // The next element behind each cut: the least of those of all ranks.
    let next: Vec<T> = cuts
        .iter()
        .map(|&at| run.get(at).copied().unwrap_or_default())
        .collect();
    let there: Vec<u8> = cuts.iter().map(|&at| u8::from(at < run.len())).collect();
    let all = comm.all_gather_v(bytemuck::cast_slice(&next))?;
    let there = comm.all_gather_v(&there)?;
    let all: Vec<_> = all
        .iter()
        .map(|bytes| crate::strided::elements::<T>(bytes))
        .collect();
    let found = (0..targets.len()).map(|number| {
        let heads = all.iter().zip(&there);
        let heads = heads.filter(|(_, there)| there.get(number) == Some(&1));
        let heads = heads.filter_map(|(heads, _)| heads.get(number).copied());
        let least = heads.reduce(|least, next| if next.precedes(&least) { next } else { least });
        least.ok_or(ArrayError::OutOfBounds {
            what: "place in the order",
            axis: None,
            given: targets[number].into(),
            allowed: 0,
        })
    });
    found.collect()
}
