//! Elements by index: [`take`](LocalArrayBase::take), [`compress`](LocalArrayBase::compress).

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution};
use ndarray::{Axis, Data, DataMut, Dimension, IxDyn};

use crate::agreement::{in_step, same_everywhere};
use crate::axis::axis_of;
use crate::indices::Indices;
use crate::output::put_out;
use crate::remote::{Owners, Places, each_place, fetch_once, nobodys};
use crate::{ArrayError, IndexMode, LocalArray, LocalArrayBase};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The elements at `indices` along `axis`, or of the flattened array where it is `None` (`NumPy`'s `take`). Collective;
    /// every rank gives the same arguments. Local meaning: on [`part`](Self::part).
    ///
    /// Shape: this array's with `axis` replaced by the shape of `indices`; without an axis that of `indices`. No element moves:
    /// each stays on the rank that owns it, so the axis of the result is listed (or what the list amounts to). Where `indices`
    /// has another number of dimensions than one, the result is a [`reshape`](Self::reshape) of that. Padding of the other
    /// axes stays.
    ///
    /// Memory: the indices on every rank. For more of them than that, see [`take_at`](Self::take_at) and
    /// [`take_at_along`](Self::take_at_along).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, IndexMode, LocalArray};
    /// use ndarray::{Ix2, array};
    ///
    /// let taken = ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([3, 2]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&rows, comm, |g| g[0] * 2 + g[1])?; // [[0, 1], [2, 3], [4, 5]]
    ///     let kept = a.compress(&[true, false, true], 0)?; // the same as take([0, 2], …)
    ///     let some = a.take([-1, 0, 7], None, IndexMode::Clip)?;
    ///     Ok::<_, ArrayError>((a.take([2, 2, 0], 0, IndexMode::Raise)?.gather_to(0)?, kept.sum()?, some.gather_to(0)?))
    /// })?;
    /// assert_eq!(taken[0].0, Some(array![[4, 5], [4, 5], [0, 1]].into_dyn()));
    /// assert_eq!(taken[0].1, 10);
    /// assert_eq!(taken[0].2, Some(array![0, 0, 5].into_dyn()));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::OutOfBounds`] by the rules of `mode`, and where anything is to be taken of nothing;
    /// [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`] for an index that explicit lists
    /// leave out, or arguments that differ between the ranks.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "indices are numbers, lists and references alike"
    )]
    pub fn take(
        &self,
        indices: impl Indices,
        axis: impl Into<Option<i32>>,
        mode: IndexMode,
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        let (list, axis) = (indices.list(), axis.into());
        same_everywhere(
            &self.comm,
            "indices",
            &(&list.values, &list.shape, axis, mode),
        )?;
        let axis = axis.map(|axis| axis_of(axis, self.ndim())).transpose()?;
        let taken = match axis {
            None => self.take_flat(&resolved(&list.values, self.size_u64()?, mode)?)?,
            Some(axis) => {
                let size = self.global_shape()[axis];
                self.take_along(axis, &resolved(&list.values, size, mode)?)?
            }
        };
        if list.shape.len() == 1 {
            return Ok(taken);
        }
        let mut shape = taken.global_shape().to_vec();
        let axis = axis.unwrap_or(0);
        shape.splice(axis..=axis, list.shape);
        taken.into_shape(&shape)
    }

    /// As [`take`](Self::take), into an array that is there: of the same shape, distributed in any way. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, IndexMode, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i64, Ix1, _>::arange(0, 50, 10, "b", comm)?; // 0 10 20 30 40
    ///     let mut out = LocalArray::<i64, Ix1, _>::arange(0, 2, 1, "c", comm)?;
    ///     a.take_into([4, 0], 0, IndexMode::Raise, &mut out)?;
    ///     assert_eq!((out.get_item(&[0])?, out.get_item(&[1])?), (40, 0));
    ///     a.compress_into(&[false, true, true], 0, &mut out)?;
    ///     assert_eq!((out.get_item(&[0])?, out.get_item(&[1])?), (10, 20));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`take`](Self::take); [`ArrayError::Shape`], [`ArrayError::Plan`], [`ArrayError::Comm`].
    pub fn take_into<S2, D2, C2>(
        &self,
        indices: impl Indices,
        axis: impl Into<Option<i32>>,
        mode: IndexMode,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S2: DataMut<Elem = S::Elem>,
        D2: Dimension,
        C2: Communicator,
    {
        put_out(&self.take(indices, axis, mode)?, out)
    }

    /// The elements of the flattened array at indices that are themselves spread over the ranks. Collective.
    ///
    /// The result has the shape and distribution of `indices`, its padding is zero. Memory: what a rank owns of the two; where
    /// very many indices name elements of one rank, they are asked for in rounds.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, IndexMode, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let reversed = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([5]).block(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |g| g[0] as f64 / 2.0)?;
    ///     let cyclic = Distribution::over(3).shape([5]).cyclic(0).build()?;
    ///     let back = LocalArray::<i64, Ix1, _>::from_fn(&cyclic, comm, |g| -1 - g[0])?;
    ///     a.take_at(&back, IndexMode::Raise)?.gather_to(0)
    /// })?;
    /// assert_eq!(reversed[0].as_ref().map(|a| a.to_vec()), Some(vec![2.0, 1.5, 1.0, 0.5, 0.0]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidBaseComm`] when the two are over different numbers of ranks,
    /// [`ArrayError::Argument`] for another mode or other distributions on some rank, [`ArrayError::Agreed`] when an index of
    /// some rank lies outside by the rules of `mode`, [`ArrayError::Comm`].
    pub fn take_at<S2, D2, C2>(
        &self,
        indices: &LocalArrayBase<S2, D2, C2>,
        mode: IndexMode,
    ) -> Result<LocalArray<S::Elem, D2, C>, ArrayError>
    where
        S2: Data<Elem = i64>,
        D2: Dimension,
        C2: Communicator,
    {
        self.taken_at(indices, mode, Ok(()))
    }

    /// As [`take_at`](Self::take_at), where `fits` says whether what else is given goes together.
    pub(crate) fn taken_at<S2, D2, C2>(
        &self,
        indices: &LocalArrayBase<S2, D2, C2>,
        mode: IndexMode,
        fits: Result<(), ArrayError>,
    ) -> Result<LocalArray<S::Elem, D2, C>, ArrayError>
    where
        S2: Data<Elem = i64>,
        D2: Dimension,
        C2: Communicator,
    {
        let fits = fits
            .and_then(|()| check_ranks(self.distribution(), indices.distribution()))
            .and_then(|()| self.size_u64());
        let own = |size| {
            let flat = resolved(&indices.owned_elements(), size, mode)?;
            let places = Places::of(self.distribution(), &flat)?;
            Ok((places, indices.part.zeros::<S::Elem, D2>()?))
        };
        let arguments = (mode, S::Elem::TYPE, self.part.laid(), indices.part.laid());
        let what = "mode or distributions";
        let (places, data) = in_step(&self.comm, what, &arguments, fits, own)?;
        let found = fetch_once(self, &places)?;
        let mut result = LocalArray {
            data,
            part: Arc::clone(&indices.part),
            comm: self.comm.clone(),
        };
        result.with_owned_elements(|owned| owned.copy_from_slice(&found));
        Ok(result)
    }

    /// The elements along `axis` at indices that are themselves spread over the ranks, in one dimension: every rank gets what
    /// stands at the indices that it owns. Collective; every rank gives the same axis and mode.
    ///
    /// Shape: this array's, with the extent of `indices` along `axis`. That axis is distributed as `indices` are, and each rank
    /// has the others whole; the padding of the result is zero. Memory: what a rank owns of the two, and an index for each
    /// element of its result. [`take`](Self::take) moves nothing, but needs all indices on every rank.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, IndexMode, LocalArray};
    /// use ndarray::{Ix1, Ix2, array};
    ///
    /// let rows = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4, 2]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&blocks, comm, |g| 10 * g[0] + g[1])?;
    ///     let wanted = Distribution::over(2).shape([3]).block(0).build()?; // rank 0: 3 and 2, rank 1: 1
    ///     let indices = LocalArray::<i64, Ix1, _>::from_fn(&wanted, comm, |g| 3 - g[0])?;
    ///     Ok::<_, ArrayError>(a.take_at_along(&indices, 0, IndexMode::Raise)?.into_local())
    /// })?;
    /// assert_eq!(rows, [array![[30, 31], [20, 21]].into_dyn(), array![[10, 11]].into_dyn()]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`take_at`](Self::take_at); [`ArrayError::InvalidDimension`] for indices of another number of dimensions than one,
    /// [`ArrayError::Argument`] for an axis that is not there or differs between the ranks.
    pub fn take_at_along<S2, D2, C2>(
        &self,
        indices: &LocalArrayBase<S2, D2, C2>,
        axis: i32,
        mode: IndexMode,
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError>
    where
        S2: Data<Elem = i64>,
        D2: Dimension,
        C2: Communicator,
    {
        let laid = (self.part.laid(), indices.part.laid());
        same_everywhere(&self.comm, "axis and mode", &(axis, mode, laid))?;
        check_ranks(self.distribution(), indices.distribution())?;
        let axis = axis_of(axis, self.ndim())?;
        let [along] = indices.distribution().axes() else {
            return Err(ArrayError::InvalidDimension {
                what: "number of dimensions",
                given: indices.ndim().cast_signed(),
                ndim: 1,
            });
        };
        let shape = self.global_shape();
        let mut axes = shape
            .iter()
            .map(|&n| AxisDist::whole(n))
            .collect::<Result<Vec<_>, _>>()?;
        axes[axis] = along.clone();
        let targets = indices.distribution().targets().to_vec();
        let taken = Distribution::from_axes(axes, self.comm.size(), targets)?;
        let size = self.size_u64()?;
        let mine = resolved(&indices.owned_elements(), shape[axis], mode);
        let mine = agree(&self.comm, mine)?;
        let made = LocalArray::zeros_over(Arc::new(taken), self.comm.clone());
        let mut result: LocalArray<S::Elem, IxDyn, C> = agree(&self.comm, made)?;
        let mut flat = Vec::new();
        if size > 0 {
            // Per element of the result the flat index of the one that comes there; all below `size`, so nothing overflows.
            let after: u64 = shape[axis + 1..].iter().product();
            let block = shape[axis] * after;
            for outer in 0..size / block {
                for index in &mine {
                    let start = outer * block + index * after;
                    flat.extend(start..start + after);
                }
            }
        }
        let places = agree(&self.comm, Places::of(self.distribution(), &flat))?;
        let found = fetch_once(self, &places)?;
        result.with_owned_elements(|owned| owned.copy_from_slice(&found));
        Ok(result)
    }

    /// The elements along `axis`, or of the flattened array, where `condition` is true (`NumPy`'s `compress`). Collective;
    /// every rank gives the same arguments. A condition shorter than the axis counts as false beyond its end.
    ///
    /// No element moves, as with [`take`](Self::take), whose example has both. For a mask that is spread over the ranks see
    /// [`compress_where`](Self::compress_where).
    ///
    /// # Errors
    /// As [`take`](Self::take): [`ArrayError::OutOfBounds`] where the condition is true beyond the end.
    pub fn compress(
        &self,
        condition: &[bool],
        axis: impl Into<Option<i32>>,
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        let chosen: Vec<i64> = (0..)
            .zip(condition)
            .filter_map(|(at, &is_in)| is_in.then_some(at))
            .collect();
        self.take(&chosen, axis, IndexMode::Raise)
    }

    /// As [`compress`](Self::compress), into an array that is there: of the same shape, distributed in any way. Collective.
    /// Example: see [`take_into`](Self::take_into).
    ///
    /// # Errors
    /// As [`take`](Self::take) and [`take_into`](Self::take_into).
    pub fn compress_into<S2, D2, C2>(
        &self,
        condition: &[bool],
        axis: impl Into<Option<i32>>,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S2: DataMut<Elem = S::Elem>,
        D2: Dimension,
        C2: Communicator,
    {
        put_out(&self.compress(condition, axis)?, out)
    }

    /// The elements at flat indices that are inside, each on the rank that owns it; the list is the same on every rank.
    fn take_flat(&self, flat: &[u64]) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        let distribution = self.distribution();
        let mine = distribution.grid_rank(self.comm.rank());
        let owned = self.owned_elements();
        let mut lists = vec![Vec::new(); distribution.targets().len()];
        let mut elements = Vec::new();
        each_place(distribution, flat, |slot, place, position| {
            lists[place].push(i64::try_from(slot).unwrap_or(i64::MAX));
            if Some(place) == mine {
                elements.extend(usize::try_from(position).ok().map(|at| owned[at]));
            }
        })?;
        let axis = AxisDist::unstructured(flat.len() as u64, lists)?.canonical();
        let targets = Arc::<[usize]>::from(distribution.targets());
        let taken = Distribution::from_axes(vec![axis], distribution.ranks(), targets)?;
        LocalArray::from_owned(elements, taken, self.comm.clone())
    }

    /// The elements at indices along an axis that are inside, each on the rank that owns it.
    pub(crate) fn take_along(
        &self,
        axis: usize,
        globals: &[u64],
    ) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        let distribution = self.distribution();
        let coord = self.part.coords().map(|coords| coords[axis]);
        let (taken, positions) = picked(&distribution.axes()[axis], globals, coord)?;
        let mut axes = distribution.axes().to_vec();
        axes[axis] = taken;
        let targets = Arc::<[usize]>::from(distribution.targets());
        let taken = Distribution::from_axes(axes, distribution.ranks(), targets)?;
        let data = self.data.view().into_dyn().select(Axis(axis), &positions);
        LocalArray::from_stored(data, taken, self.comm.clone())
    }

    /// Elements of the whole array.
    pub(crate) fn size_u64(&self) -> Result<u64, ArrayError> {
        Ok(self.distribution().global_size()?)
    }
}

/// What is left of an axis when `globals` are picked, and what coordinate `mine` picks of what it stores.
fn picked(
    axis: &AxisDist,
    globals: &[u64],
    mine: Option<usize>,
) -> Result<(AxisDist, Vec<usize>), ArrayError> {
    let owners = Owners::of(axis);
    let mut lists = vec![Vec::new(); axis.ranks()];
    let mut positions = Vec::new();
    let shift = mine.map_or(0, |coord| axis.owned_local(coord).start);
    for (slot, &global) in (0_i64..).zip(globals) {
        let is_owned = owners.each(global.cast_signed(), |coord, local| {
            lists[coord].push(slot);
            if Some(coord) == mine {
                positions.extend(usize::try_from(local).ok().map(|local| local + shift));
            }
        });
        if !is_owned {
            return Err(nobodys(global));
        }
    }
    let axis = AxisDist::unstructured(globals.len() as u64, lists)?.canonical();
    Ok((axis, positions))
}

/// The indices meant, all below `size`.
pub(crate) fn resolved(
    indices: &[i64],
    size: u64,
    mode: IndexMode,
) -> Result<Vec<u64>, ArrayError> {
    indices
        .iter()
        .map(|&index| mode.resolve(index, size))
        .collect()
}

/// Checks that two arrays are over as many ranks.
pub(crate) fn check_ranks(a: &Distribution, b: &Distribution) -> Result<(), ArrayError> {
    if a.ranks() == b.ranks() {
        return Ok(());
    }
    Err(ArrayError::InvalidBaseComm {
        given: b.ranks(),
        allowed: a.ranks(),
    })
}
