//! Other shapes of as many elements: [`reshape`](LocalArrayBase::reshape), [`ravel`](LocalArrayBase::ravel),
//! [`flatten`](LocalArrayBase::flatten); and of more or fewer: [`resize`](LocalArray::resize).

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution, MapError, choose_grid};
use ndarray::{Array, ArrayView, CowArray, Data, Dimension, Ix1, IxDyn};

use crate::agreement::same_everywhere;
use crate::concatenate::joined;
use crate::cow::{LocalArrayCow, without_padding};
use crate::nonzero::blocks;
use crate::part::check_ndim;
use crate::redistribute::moved_to;
use crate::strided::for_each_run;
use crate::{ArrayError, LocalArray, LocalArrayBase, LocalArrayView, Order};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The elements in another shape, in the same C order (`NumPy`'s `reshape`); one extent may be -1 and is what is left.
    /// Collective; every rank gives the same shape. Local meaning: on [`part`](Self::part).
    ///
    /// Where the parts of the ranks are boxes in the new shape too
    /// ([`Distribution::reshape`](dist_maps::Distribution::reshape)) no element moves, and none is copied if a rank's own lie
    /// in C order. Otherwise the elements are moved to blocks of the first dimension that has as many indices as there are
    /// ranks, or else of the longest. For a distribution of your choice see
    /// [`redistribute_reshaped`](Self::redistribute_reshaped).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, Order};
    /// use ndarray::Ix2;
    ///
    /// let flat = ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
    ///     let mut a = LocalArray::<i64, Ix2, _>::from_fn(&rows, comm, |g| g[0] * 3 + g[1])?;
    ///     let b = a.reshape(&[2, -1])?; // 2 × 6
    ///     assert!(b.is_borrowed());
    ///     assert_eq!(b.ravel(Order::C)?.global_shape(), [12]);
    ///     let by_columns = b.flatten(Order::F)?.gather_to(0)?;
    ///     a.resize(&[2, 2], Order::C)?;
    ///     Ok::<_, ArrayError>((by_columns.map(|x| x.to_vec()), a.sum()?))
    /// })?;
    /// assert_eq!(flat[0], (Some(vec![0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11]), 0 + 1 + 2 + 3));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Shape`] for another number of elements, [`ArrayError::Argument`] when the ranks
    /// give different shapes, [`ArrayError::Plan`] where elements would have to move and explicit lists leave some out,
    /// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
    pub fn reshape(
        &self,
        shape: &[i64],
    ) -> Result<LocalArrayCow<'_, S::Elem, IxDyn, C>, ArrayError> {
        same_everywhere(&self.comm, "shape", &shape)?;
        let shape = extents(shape, self.global_shape(), self.size_u64()?)?;
        reshaped(self.view_of(), &shape)
    }

    /// The elements in one dimension (`NumPy`'s `ravel`): in C order, or the first index fastest ([`Order::F`]).
    /// Collective, as [`reshape`](Self::reshape), whose example has it: borrowed where nothing has to move.
    ///
    /// [`Order::A`] and [`Order::K`], the order in memory, are Fortran's where that is how every rank stores its part, and C's
    /// otherwise. A part in both orders at once, a row for example, decides nothing, and where all are, the order is C's:
    /// `NumPy` does not call such an array Fortran's either (`isfortran`).
    ///
    /// # Errors
    /// As [`reshape`](Self::reshape).
    pub fn ravel(&self, order: Order) -> Result<LocalArrayCow<'_, S::Elem, Ix1, C>, ArrayError> {
        same_everywhere(&self.comm, "order", &order)?;
        let size = self.size_u64()?;
        let view = if self.is_by_columns(order)? {
            self.transpose(None)?
        } else {
            self.view_of()
        };
        reshaped(view, &[size])?.into_dimensionality()
    }

    /// As [`ravel`](Self::ravel), always a copy (`NumPy`'s `flatten`). Collective. Example: see [`reshape`](Self::reshape).
    ///
    /// # Errors
    /// As [`reshape`](Self::reshape).
    pub fn flatten(&self, order: Order) -> Result<LocalArray<S::Elem, Ix1, C>, ArrayError> {
        Ok(self.ravel(order)?.into_owned())
    }

    /// Whether an order puts the first index fastest; the same on every rank. Collective.
    fn is_by_columns(&self, order: Order) -> Result<bool, ArrayError> {
        match order {
            Order::C => return Ok(false),
            Order::F => return Ok(true),
            Order::A | Order::K => {}
        }
        let by_rows = self.data.is_standard_layout();
        let by_columns = self.data.view().reversed_axes().is_standard_layout();
        let votes = self
            .comm
            .all_gather_value([u8::from(by_rows), u8::from(by_columns)])?;
        // Where a rank stores both ways at once it does not matter.
        Ok(votes.iter().all(|vote| vote[1] == 1) && votes.iter().any(|vote| vote[0] == 0))
    }

    /// A view with the communicator by value.
    pub(crate) fn view_of(&self) -> LocalArrayView<'_, S::Elem, D, C> {
        self.with_data(self.data.view(), self.comm.clone())
    }
}

impl<T: Element, D: Dimension, C: Communicator + Clone> LocalArray<T, D, C> {
    /// The elements in another shape of as many, given up by this array. Collective.
    pub(crate) fn into_shape(self, shape: &[u64]) -> Result<LocalArray<T, IxDyn, C>, ArrayError> {
        if shape == self.global_shape() {
            return Ok(self.into_dyn());
        }
        Ok(reshaped(self.view_of(), shape)?.into_owned())
    }

    /// Another shape of any size for this array (`NumPy`'s method `resize`, whose `refcheck` the borrow checker is): the elements
    /// in C order, or in Fortran's, are cut off or followed by zeros. Collective; every rank gives the same arguments.
    ///
    /// The elements stay where they are if they can, as with [`reshape`](LocalArrayBase::reshape), whose example has both;
    /// otherwise they move to blocks.
    ///
    /// # Errors
    /// As [`reshape`](LocalArrayBase::reshape), except for the size; [`ArrayError::InvalidDimension`] when the array's type has
    /// another number of dimensions; the array is as it was then.
    pub fn resize(&mut self, shape: &[u64], order: Order) -> Result<(), ArrayError> {
        let asked = (shape, order);
        same_everywhere(&self.comm, "shape or order", &asked)?;
        let by_columns = self.is_by_columns(order)?;
        let order = if by_columns { Order::F } else { Order::C };
        let mut wanted = shape.to_vec();
        if by_columns {
            wanted.reverse();
        }
        // Refuses sizes and shapes that are none.
        let axes = wanted.iter().map(|&n| AxisDist::whole(n));
        let whole = Distribution::from_axes(axes.collect::<Result<_, _>>()?, 1, vec![0])?;
        check_ndim::<D>(&whole)?;
        let (old, new) = (self.size_u64()?, whole.global_size()?);
        let flat = self.ravel(order)?;
        let resized = if new <= old {
            let front = i64::try_from(new).unwrap_or(i64::MAX);
            let front = flat.sliced(&[(0..front).into()])?;
            reshaped(front.view_of(), &wanted)?.into_owned()
        } else {
            let zeros = LocalArray::<T, Ix1, _>::zeros(
                &blocks(new - old, self.comm.size())?,
                self.comm.clone(),
            );
            let zeros = agree(&self.comm, zeros)?;
            joined(&[flat.view_of(), zeros.view_of()], 0)?.into_shape(&wanted)?
        };
        let resized = if by_columns {
            let turned = resized.transpose(None)?;
            LocalArray {
                data: turned.data.to_owned(),
                part: Arc::clone(&turned.part),
                comm: turned.comm.clone(),
            }
        } else {
            resized
        };
        let resized = resized.into_dimensionality::<D>()?;
        *self = resized;
        Ok(())
    }
}

/// The array in another shape. Collective, in the same way on every rank.
pub(crate) fn reshaped<'a, T: Element, D: Dimension, C: Communicator + Clone>(
    array: LocalArrayView<'a, T, D, C>,
    shape: &[u64],
) -> Result<LocalArrayCow<'a, T, IxDyn, C>, ArrayError> {
    if shape == array.global_shape() {
        return Ok(LocalArrayBase {
            data: CowArray::from(array.data.into_dyn()),
            part: array.part,
            comm: array.comm,
        });
    }
    match array.distribution().reshape(shape) {
        Ok(distribution) => {
            let owned = array.part.owned_of(array.data);
            LocalArrayCow::made(without_padding(&distribution)?, array.comm, |part| {
                in_shape(&owned, part.shape(), array.part.is_active())
            })
        }
        Err(MapError::ReshapeSize { expected, .. }) => Err(ArrayError::Shape {
            what: "array",
            given: shape.to_vec(),
            allowed: format!("{expected} element(s)"),
        }),
        Err(_) => {
            let distribution = spread_out(shape, array.comm_size())?;
            let moved: LocalArray<T, IxDyn, C> = moved_to(&array, &distribution)?;
            Ok(LocalArrayBase {
                data: CowArray::from(moved.data),
                part: moved.part,
                comm: moved.comm,
            })
        }
    }
}

/// The elements of a view in C order, in another shape.
fn in_shape<'a, T: Element, D: Dimension>(
    owned: &ArrayView<'a, T, D>,
    shape: &[usize],
    is_active: bool,
) -> Result<CowArray<'a, T, IxDyn>, ArrayError> {
    let wrong = |given: usize| ArrayError::LocalShape {
        rank: 0,
        given: vec![given],
        allowed: shape.to_vec(),
    };
    if let Some(elements) = owned.to_slice().filter(|_| is_active) {
        let view = ArrayView::from_shape(IxDyn(shape), elements);
        return Ok(view.map_err(|_| wrong(elements.len()))?.into());
    }
    let mut elements = Vec::with_capacity(owned.len());
    if is_active {
        for_each_run(owned, |run| elements.extend_from_slice(run));
    }
    let given = elements.len();
    let array = Array::from_shape_vec(IxDyn(shape), elements);
    Ok(array.map_err(|_| wrong(given))?.into())
}

/// The extents that a shape means, of which one may be -1.
fn extents(shape: &[i64], from: &[u64], size: u64) -> Result<Vec<u64>, ArrayError> {
    let wrong = || ArrayError::Argument {
        what: "shape",
        given: format!("{shape:?}"),
        allowed: format!("as many elements as {from:?}; one extent may be -1"),
    };
    let known = shape.iter().filter(|&&n| n != -1);
    let known = known.map(|&n| u64::try_from(n).map_err(|_| wrong()));
    let product = known.clone().try_fold(1_u64, |product, n| {
        product.checked_mul(n?).ok_or_else(wrong)
    })?;
    let unknown = shape.len() - known.count();
    let left = size.checked_div(product);
    if unknown > 1 || unknown == 1 && (left.is_none() || !size.is_multiple_of(product)) {
        return Err(wrong());
    }
    let extent = |&n: &i64| u64::try_from(n).ok().or(left).unwrap_or(0);
    Ok(shape.iter().map(extent).collect())
}

/// Blocks of all axes but one, which is whole.
pub(crate) fn with_whole(source: &Distribution, axis: usize) -> Result<Distribution, ArrayError> {
    let shape = source.global_shape();
    let mut others = shape.to_vec();
    others.remove(axis);
    let mut grid = choose_grid(&others, &vec![true; others.len()], source.ranks())?;
    grid.insert(axis, 1);
    let axes = shape.iter().zip(&grid);
    let axes = axes.map(|(&n, &ranks)| AxisDist::block_balanced(n, ranks));
    let targets: Vec<usize> = (0..grid.iter().product()).collect();
    Ok(Distribution::from_axes(
        axes.collect::<Result<_, _>>()?,
        source.ranks(),
        targets,
    )?)
}

/// Blocks of the first dimension that has an index for every rank, or else of the longest.
pub(crate) fn spread_out(shape: &[u64], ranks: usize) -> Result<Distribution, ArrayError> {
    let enough = shape.iter().position(|&n| n >= ranks as u64);
    let longest = (0..shape.len()).rev().max_by_key(|&axis| shape[axis]);
    let cut = enough.or(longest);
    let axes = shape.iter().enumerate().map(|(axis, &n)| {
        if Some(axis) == cut {
            AxisDist::block_balanced(n, ranks)
        } else {
            AxisDist::whole(n)
        }
    });
    let axes: Vec<AxisDist> = axes.collect::<Result<_, _>>()?;
    let used = if axes.is_empty() { 1 } else { ranks };
    let targets: Arc<[usize]> = (0..used).collect();
    Ok(Distribution::from_axes(axes, ranks, targets)?)
}
