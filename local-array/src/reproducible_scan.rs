//! [`Reproducible`] products and running sums and products: joined by a [fixed tree](crate::fixed_tree) over global indices.

use std::ops::Range;
use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;
use ndarray::{Data, Dimension, IxDyn};

use crate::agreement::{in_step, same_everywhere};
use crate::axis::axis_of;
use crate::fixed_tree::{BLOCK, Line, aligned, joined};
use crate::redistribute::moved_to;
use crate::reproducible::{Reduced, Reproducible, ReproducibleOver};
use crate::{Accumulate, Accumulator, ArrayError, Cast, LocalArray, LocalArrayBase, Summable};

/// Elements of a block, as a length in memory.
const LEN: usize = 128;
const _: () = assert!(LEN as u64 == BLOCK);

/// How elements are joined.
#[derive(Clone, Copy)]
enum Join {
    Add,
    Multiply,
}

impl Join {
    fn neutral<A: Accumulator>(self) -> A {
        match self {
            Self::Add => A::ZERO,
            Self::Multiply => A::ONE,
        }
    }

    #[inline]
    fn of<A: Accumulator>(self, left: A, right: A) -> A {
        match self {
            Self::Add => left.add(right),
            Self::Multiply => left.mul(right),
        }
    }
}

impl<S, D, C> Reproducible<'_, S, D, C>
where
    S: Data<Elem: Summable>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The product of all elements, the same bits for any layout; 1 of none. Collective.
    ///
    /// Axis by axis, from the last: along each by blocks of 128 indices, which are joined two by two. Elements are moved first
    /// where an axis does not lie in such blocks: on cyclic and unstructured layouts a rank then has a second copy of its share,
    /// as on others where the axis has too few blocks for its ranks and the other axes are spread instead.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(3, |comm| {
    ///     let dealt = Distribution::over(3).shape([5]).cyclic(0).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::arange(1, 6, 1, &dealt, comm)?; // 1 2 3 4 5
    ///     let same = a.reproducible();
    ///     assert_eq!(same.prod()?, 120);
    ///     assert_eq!(same.cumsum(0)?.get_item(&[3])?, 1 + 2 + 3 + 4);
    ///     assert_eq!(same.cumprod(None)?.get_item(&[3])?, 1 * 2 * 3 * 4);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`redistribute`](LocalArrayBase::redistribute).
    pub fn prod(&self) -> Result<<S::Elem as Summable>::Sum, ArrayError> {
        type Sum<T> = <T as Summable>::Sum;
        let axes: Vec<usize> = (0..self.array.ndim()).collect();
        let all = products::<_, Sum<S::Elem>, _, _>(self.array, &axes)?;
        let root = all.distribution().targets()[0];
        let own = all
            .local()
            .iter()
            .next()
            .map_or(<Sum<S::Elem> as Accumulate>::Acc::ONE, |x| x.widen());
        Ok(Accumulate::narrow(
            self.array.comm().broadcast_value(root, own)?,
        ))
    }

    /// The running sums along an axis, the same bits for any layout; without one, of all elements in C order. Shape, distribution
    /// and type are those of the plain [`cumsum`](LocalArrayBase::cumsum). Collective; every rank gives the same axis.
    ///
    /// Along the axis, elements are added one after the other within blocks of 128 indices, and what stands before a block is a
    /// tree of blocks. Memory as for [`prod`](Self::prod). Example: see [`prod`](Self::prod).
    ///
    /// # Errors
    /// [`ArrayError::InvalidDimension`] or [`ArrayError::Argument`] for an axis that is not there or differs between ranks; as
    /// [`redistribute`](LocalArrayBase::redistribute).
    pub fn cumsum(&self, axis: impl Into<Option<i32>>) -> Reduced<<S::Elem as Summable>::Sum, C> {
        self.running("cumsum", axis.into(), Join::Add)
    }

    /// The running products along an axis, the same bits for any layout; as [`cumsum`](Self::cumsum). Collective.
    /// Example: see [`prod`](Self::prod).
    ///
    /// # Errors
    /// As [`cumsum`](Self::cumsum).
    pub fn cumprod(&self, axis: impl Into<Option<i32>>) -> Reduced<<S::Elem as Summable>::Sum, C> {
        self.running("cumprod", axis.into(), Join::Multiply)
    }

    fn running(
        &self,
        what: &'static str,
        axis: Option<i32>,
        join: Join,
    ) -> Reduced<<S::Elem as Summable>::Sum, C> {
        let (array, comm) = (self.array, self.array.comm());
        let is_flat = axis.is_none() && array.ndim() != 1;
        let place = match axis {
            Some(axis) => axis_of(axis, array.ndim()),
            None => Ok(0),
        };
        let asked = (what, "reproducible", axis);
        let place = in_step(comm, what, &asked, place, Ok)?;
        let distribution = if is_flat {
            let flat = array.distribution().global_size()?;
            let line = Distribution::over(comm.size()).shape([flat]);
            &line.grid([comm.size()]).block(0).build()?
        } else {
            array.distribution()
        };
        let to = aligned(distribution, place)?;
        let moved: LocalArray<S::Elem, IxDyn, C> = moved_to(array, &to)?;
        let sums = scan::<_, <S::Elem as Summable>::Sum, _>(&moved, place, join)?;
        if is_flat {
            return Ok(sums);
        }
        moved_to(&sums, distribution)
    }
}

impl<T: Summable, C: Communicator + Clone> ReproducibleOver<'_, T, C> {
    /// The products, axis by axis from the last: see [`Reproducible::prod`]. Collective. Example: see [`ReproducibleOver`].
    ///
    /// # Errors
    /// As [`Over::prod`](crate::Over::prod).
    pub fn prod(&self) -> Reduced<T::Sum, C> {
        let over = &self.0;
        let distribution = over.part.distribution();
        let axes = over.axes.listed(distribution.ndim());
        same_everywhere(
            over.comm,
            "prod",
            &("reproducible", axes.as_ref().ok(), over.keepdims),
        )?;
        let mut axes = axes?;
        axes.sort_unstable();
        let array = LocalArrayBase {
            data: over.stored.view(),
            part: Arc::clone(over.part),
            comm: over.comm.clone(),
        };
        let products = products::<_, T::Sum, _, _>(&array, &axes)?;
        if !over.keepdims {
            return Ok(products);
        }
        // The same ranks have the same elements, with an axis of one element where there was none.
        let kept = distribution.reduce(Some(&axes), true)?;
        let mut result: LocalArray<T::Sum, IxDyn, C> =
            agree(over.comm, LocalArray::zeros(&kept, over.comm.clone()))?;
        let mut slots = result.owned_mut();
        slots
            .iter_mut()
            .zip(products.owned())
            .for_each(|(slot, &product)| *slot = product);
        Ok(result)
    }
}

/// The elements of a rank along an axis, in C order: stretches of `len` rows, each with one element of `inner` neighbouring
/// lanes.
struct Lanes<'a, T> {
    elements: &'a [T],
    len: usize,
    inner: usize,
    /// All lanes.
    count: usize,
}

impl<'a, T: Copy> Lanes<'a, T> {
    /// What a rank has of an array in C order, as one that was just moved is.
    fn of<C: Communicator>(moved: &'a LocalArray<T, IxDyn, C>, axis: usize) -> Self {
        let shape = moved.data.shape();
        let inner: usize = shape[axis + 1..].iter().product();
        Self {
            elements: moved.data.as_slice().unwrap_or(&[]),
            len: shape[axis],
            inner,
            count: shape[..axis].iter().product::<usize>() * inner,
        }
    }

    /// For each stretch where it begins, in elements, and its first lane.
    fn stretches(&self) -> impl Iterator<Item = (usize, usize)> + use<T> {
        let (step, inner) = (self.len * self.inner, self.inner);
        let count = self.elements.len().checked_div(step).unwrap_or(0);
        (0..count).map(move |number| (number * step, number * inner))
    }

    /// Where the elements of each block lie in a stretch.
    fn blocks(&self) -> impl Iterator<Item = Range<usize>> + use<T> {
        let (len, inner) = (self.len, self.inner);
        let rows = (0..len)
            .step_by(LEN)
            .map(move |row| row..len.min(row + LEN));
        rows.map(move |rows| rows.start * inner..rows.end * inner)
    }

    /// The value of each block in every lane.
    fn block_values<A: Accumulator>(&self, join: Join, widen: impl Fn(T) -> A) -> Vec<Vec<A>> {
        let value = |block: Range<usize>| {
            let mut values = Vec::with_capacity(self.count);
            for (start, lane) in self.stretches() {
                let block = &self.elements[start + block.start..start + block.end];
                let (first, rest) = block.split_at(self.inner);
                values.extend(first.iter().map(|&x| widen(x)));
                let values = &mut values[lane..];
                for row in rest.chunks_exact(self.inner) {
                    for (value, &x) in values.iter_mut().zip(row) {
                        *value = join.of(*value, widen(x));
                    }
                }
            }
            values
        };
        self.blocks().map(value).collect()
    }
}

/// Running results along an axis that lies in whole blocks.
fn scan<T, A, C>(
    moved: &LocalArray<T, IxDyn, C>,
    axis: usize,
    join: Join,
) -> Result<LocalArray<A, IxDyn, C>, ArrayError>
where
    T: Cast<A>,
    A: Accumulate,
    C: Communicator + Clone,
{
    let (distribution, comm) = (moved.distribution(), moved.comm());
    let mut result: LocalArray<A, IxDyn, C> =
        agree(comm, LocalArray::zeros(distribution, comm.clone()))?;
    let Some(line) = Line::of(distribution, axis, comm.rank()) else {
        return Ok(result);
    };
    let lanes = Lanes::of(moved, axis);
    let join_one = |a, b| join.of::<A::Acc>(a, b);
    let widen = |x: T| x.cast().widen();
    let values = lanes.block_values(join, widen);
    let mut before = line.before(comm, lanes.count, &values, join_one)?;
    let slots = result.data.as_slice_mut().unwrap_or(&mut []);
    let mut within: Vec<A::Acc> = Vec::with_capacity(lanes.inner);
    for (block, value) in lanes.blocks().zip(values) {
        // What stands before the block, and what each lane of it comes to so far.
        let prefix = before
            .clone()
            .finish(|left, right| joined(left, &right, join_one));
        for (start, lane) in lanes.stretches() {
            let block = start + block.start..start + block.end;
            let rows = lanes.elements[block.clone()].chunks_exact(lanes.inner);
            within.clear();
            for (row, slots) in rows.zip(slots[block].chunks_exact_mut(lanes.inner)) {
                if within.is_empty() {
                    within.extend(row.iter().map(|&x| widen(x)));
                } else {
                    for (within, &x) in within.iter_mut().zip(row) {
                        *within = join.of(*within, widen(x));
                    }
                }
                match prefix.as_ref().map(|prefix| &prefix[lane..]) {
                    None => {
                        for (slot, &within) in slots.iter_mut().zip(&within) {
                            *slot = A::narrow(within);
                        }
                    }
                    Some(prefix) => {
                        let pairs = prefix.iter().zip(&within);
                        for (slot, (&prefix, &within)) in slots.iter_mut().zip(pairs) {
                            *slot = A::narrow(join.of(prefix, within));
                        }
                    }
                }
            }
        }
        before.push(value, |left, right| joined(left, &right, join_one));
    }
    Ok(result)
}

/// The products over some axes, from the last.
fn products<S, A, D, C>(array: &LocalArrayBase<S, D, C>, axes: &[usize]) -> Reduced<A, C>
where
    S: Data<Elem: Cast<A>>,
    A: Accumulate,
    D: Dimension,
    C: Communicator + Clone,
{
    let Some((&last, others)) = axes.split_last() else {
        return Ok(LocalArrayBase {
            data: array.data.map(|x| x.cast()).into_dyn(),
            part: Arc::clone(&array.part),
            comm: array.comm.clone(),
        });
    };
    let mut product: LocalArray<A, IxDyn, C> = product(array, last, |x: S::Elem| x.cast().widen())?;
    for &axis in others.iter().rev() {
        product = self::product(&product, axis, A::widen)?;
    }
    Ok(product)
}

/// The products over one axis.
fn product<S, A, D, C>(
    array: &LocalArrayBase<S, D, C>,
    axis: usize,
    widen: impl Fn(S::Elem) -> A::Acc,
) -> Reduced<A, C>
where
    S: Data<Elem: Element>,
    A: Accumulate,
    D: Dimension,
    C: Communicator + Clone,
{
    let comm = array.comm();
    let to = aligned(array.distribution(), axis)?;
    let moved: LocalArray<S::Elem, IxDyn, C> = moved_to(array, &to)?;
    let reduced = array.distribution().reduce(Some(&[axis]), false)?;
    let on_line = to.reduce(Some(&[axis]), false)?;
    if on_line.grid() != reduced.grid() || on_line.targets() != reduced.targets() {
        // Other axes were spread: the products come back to where theirs are.
        let product = product::<_, A, _, _>(&moved, axis, widen)?;
        return moved_to(&product, &reduced);
    }
    let mut result: LocalArray<A, IxDyn, C> =
        agree(comm, LocalArray::zeros(&reduced, comm.clone()))?;
    let Some(line) = Line::of(&to, axis, comm.rank()) else {
        return Ok(result);
    };
    let join = Join::Multiply;
    let lanes = Lanes::of(&moved, axis);
    let values = lanes.block_values(join, widen);
    let totals = line.total(comm, lanes.count, &values, join.neutral(), |a, b| {
        join.of::<A::Acc>(a, b)
    })?;
    if let Some(totals) = totals {
        result
            .owned_mut()
            .iter_mut()
            .zip(totals)
            .for_each(|(slot, total)| *slot = A::narrow(total));
    }
    Ok(result)
}
