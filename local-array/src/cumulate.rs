//! Sums and products along an axis: [`cumsum`](LocalArrayBase::cumsum), [`cumprod`](LocalArrayBase::cumprod).
//!
//! Where the axis is in blocks, each rank adds up its own part and then what the ranks before it along the axis have, which
//! they find together by doubling. Another axis is brought into blocks first, and the result back.

use bytemuck::Pod;
use dap_protocol::Element;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution};
use ndarray::{ArrayD, Axis, Data, DataMut, Dimension, Ix1, IxDyn, Zip};

use crate::agreement::{in_step, same_everywhere};
use crate::axis::axis_of;
use crate::{
    Accumulate, Accumulator, ArrayError, Cast, LocalArray, LocalArrayBase, LocalArrayView, Summable,
};

/// The tag of the messages of a sum along an axis.
const TAG: u32 = 0x4355;

/// How two partial results are joined.
type Join<A> = fn(<A as Accumulate>::Acc, <A as Accumulate>::Acc) -> <A as Accumulate>::Acc;

/// A cumulation in three forms: in the type of a sum, in one that is chosen, and into an array that is there.
macro_rules! cumulations {
    ($($(#[$doc:meta])* $name:ident $as:ident $into:ident: $what:literal, $done:literal, $join:path;)*) => {$(
        $(#[$doc])*
        pub fn $name(
            &self,
            axis: impl Into<Option<i32>>,
        ) -> Result<LocalArray<<S::Elem as Summable>::Sum, IxDyn, C>, ArrayError>
        where
            S::Elem: Summable,
        {
            self.$as(axis)
        }

        #[doc = concat!("The ", $what, " up to each element, cast to `A` and ", $done, " in it (`NumPy`'s `dtype=`). Collective.")]
        #[doc = concat!("Example: see [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        ///
        /// # Errors
        /// As [`cumsum`](Self::cumsum).
        pub fn $as<A: Accumulate>(
            &self,
            axis: impl Into<Option<i32>>,
        ) -> Result<LocalArray<A, IxDyn, C>, ArrayError>
        where
            S::Elem: Cast<A>,
        {
            self.cumulated(stringify!($name), axis.into(), $join)
        }

        #[doc = concat!("The ", $what, " up to each element, ", $done, " in the type of `out` and written to what it owns. Collective.")]
        #[doc = concat!("Example: see [`", stringify!($name), "`](Self::", stringify!($name), ").")]
        ///
        /// # Errors
        /// As [`cumsum`](Self::cumsum), and [`ArrayError::IncompatibleArray`] when `out` is not distributed as the result.
        pub fn $into<S2, D2, C2>(
            &self,
            axis: impl Into<Option<i32>>,
            out: &mut LocalArrayBase<S2, D2, C2>,
        ) -> Result<(), ArrayError>
        where
            S::Elem: Cast<S2::Elem>,
            S2: DataMut<Elem: Accumulate>,
            D2: Dimension,
            C2: Communicator,
        {
            write(&self.$as(axis)?, out)
        }
    )*};
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    cumulations! {
        /// The sums of the elements up to each, along an axis; without one, of all elements in C order. Collective; every
        /// rank gives the same axis, negative from the end.
        ///
        /// Each rank adds up its own part; what stands before it the ranks along the axis find together by doubling (W. D.
        /// Hillis and G. L. Steele, "Data parallel algorithms", 1986).
        ///
        /// Along an axis the result has this array's shape and distribution. Without one it is of one dimension: distributed
        /// as this array where that has one too, else in blocks over all ranks. The type is that of a [`sum`](Self::sum).
        /// Padding of the result is zero.
        ///
        /// ```
        /// use dist_comm::ThreadComm;
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::{Ix2, array};
        ///
        /// let found = ThreadComm::run(2, |comm| {
        ///     let columns = Distribution::over(2).shape([2, 3]).block(1).build()?;
        ///     let a = LocalArray::<i16, Ix2, _>::from_fn(&columns, comm, |g| (g[0] * 3 + g[1]) as i16)?;
        ///     let mut out = LocalArray::<f32, Ix2, _>::zeros(&columns, comm)?;
        ///     a.cumsum_into(-1, &mut out)?;
        ///     assert_eq!((out.max()?, a.cumsum_as::<u8>(-1)?.max()?), (12.0, 12));
        ///     Ok::<_, ArrayError>((a.cumsum(-1)?.gather_to(0)?, a.cumsum(None)?.gather_to(0)?))
        /// })?;
        /// assert_eq!(found[0].0, Some(array![[0_i64, 1, 3], [3, 7, 12]].into_dyn()));
        /// assert_eq!(found[0].1, Some(array![0, 1, 3, 6, 10, 15].into_dyn()));
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        ///
        /// # Errors
        /// The same on every rank: [`ArrayError::InvalidDimension`] for an axis that is not there, [`ArrayError::Argument`]
        /// for one that differs between the ranks, [`ArrayError::Plan`] where elements have to move and explicit lists leave
        /// an index out, [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
        cumsum cumsum_as cumsum_into: "sums", "added up", Accumulator::add;
        /// The products of the elements up to each; all else as for [`cumsum`](Self::cumsum). Collective.
        ///
        /// ```
        /// use dist_comm::ThreadComm;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix1;
        ///
        /// ThreadComm::run(2, |comm| {
        ///     let a = LocalArray::<i16, Ix1, _>::arange(1, 6, 1, "b", comm)?; // 1 2 3 4 5
        ///     let products = a.cumprod(0)?; // 1 2 6 24 120
        ///     assert_eq!((products.sum()?, products.get_item(&[-1])?), (153, 120));
        ///     assert_eq!(a.cumprod_as::<f32>(None)?.max()?, 120.0);
        ///     let mut out = a.zeros_like::<f64>()?;
        ///     a.cumprod_into(0, &mut out)?;
        ///     assert_eq!(out.sum()?, 153.0);
        ///     Ok::<_, ArrayError>(())
        /// })?;
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        ///
        /// # Errors
        /// As [`cumsum`](Self::cumsum).
        cumprod cumprod_as cumprod_into: "products", "multiplied", Accumulator::mul;
    }

    fn cumulated<A: Accumulate>(
        &self,
        what: &'static str,
        axis: Option<i32>,
        join: Join<A>,
    ) -> Result<LocalArray<A, IxDyn, C>, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        let at = axis_of(
            axis.unwrap_or(0),
            self.ndim().max(usize::from(axis.is_none())),
        );
        same_everywhere(&self.comm, what, &(what, axis, at.is_ok(), A::TYPE))?;
        let at = at?;
        if axis.is_none() && self.ndim() != 1 {
            let size = self.distribution().global_size()?;
            let line = Distribution::over(self.comm.size())
                .shape([size])
                .block(0)
                .build()?;
            let line = self.redistribute_reshaped::<Ix1>(&line)?;
            return line.view_dyn().along(0, join);
        }
        let view = self.view_dyn();
        let axes = self.distribution().axes();
        if matches!(axes[at], AxisDist::Block { .. }) {
            return view.along(at, join);
        }
        let mut axes = axes.to_vec();
        axes[at] = AxisDist::block_balanced(axes[at].size(), axes[at].ranks())?;
        let targets = self.distribution().targets().to_vec();
        let blocks = Distribution::from_axes(axes, self.comm.size(), targets)?;
        let moved = view.redistribute(&blocks)?;
        moved
            .view_dyn()
            .along(at, join)?
            .redistribute(self.distribution())
    }

    pub(crate) fn view_dyn(&self) -> LocalArrayView<'_, S::Elem, IxDyn, C> {
        LocalArrayView {
            data: self.data.view().into_dyn(),
            part: self.part.clone(),
            comm: self.comm.clone(),
        }
    }
}

impl<T: Element, C: Communicator + Clone> LocalArrayView<'_, T, IxDyn, C> {
    /// Along an axis in blocks.
    fn along<A: Accumulate>(
        &self,
        axis: usize,
        join: Join<A>,
    ) -> Result<LocalArray<A, IxDyn, C>, ArrayError>
    where
        T: Cast<A>,
    {
        let mut result = self.with_data(
            agree(&self.comm, self.part.zeros::<A, IxDyn>())?,
            self.comm.clone(),
        );
        let Some(coords) = self.part.coords() else {
            return Ok(result);
        };
        let mut sums: ArrayD<A::Acc> = self.owned().mapv(|x| x.cast().widen());
        let n = sums.len_of(Axis(axis));
        let step = |&before: &A::Acc, sum: &mut A::Acc| *sum = join(before, *sum);
        if sums.strides()[axis] == 1 {
            for mut lane in sums.lanes_mut(Axis(axis)) {
                lane.accumulate_axis_inplace(Axis(0), step);
            }
        } else {
            sums.accumulate_axis_inplace(Axis(axis), step);
        }
        let lines: usize = (0..sums.ndim())
            .filter(|&a| a != axis)
            .map(|a| sums.len_of(Axis(a)))
            .product();
        let totals = |sums: &ArrayD<A::Acc>| -> Option<Vec<A::Acc>> {
            (n > 0).then(|| sums.index_axis(Axis(axis), n - 1).iter().copied().collect())
        };
        let before = if lines == 0 {
            None
        } else {
            self.before(coords, axis, lines, totals(&sums), join)?
        };
        if let Some(before) = before {
            // In the order of memory, whichever axis it is.
            let mut shape = sums.raw_dim();
            shape[axis] = 1;
            if let Ok(before) = ArrayD::from_shape_vec(shape, before) {
                Zip::from(&mut sums)
                    .and_broadcast(&before)
                    .for_each(|sum, &before| *sum = join(before, *sum));
            }
        }
        for (slot, &sum) in result.owned_mut().iter_mut().zip(&sums) {
            *slot = A::narrow(sum);
        }
        Ok(result)
    }

    /// What the ranks before this one along the axis come to, per line: each step doubles how many are taken in.
    fn before<A: Pod>(
        &self,
        coords: &[usize],
        axis: usize,
        lines: usize,
        mut all: Option<Vec<A>>,
        join: fn(A, A) -> A,
    ) -> Result<Option<Vec<A>>, ArrayError> {
        let distribution = self.distribution();
        let (ranks, me) = (distribution.grid().shape()[axis], coords[axis]);
        let rank_at = |coord: usize| {
            let mut coords = coords.to_vec();
            coords[axis] = coord;
            distribution.rank_at(&coords)
        };
        let mut before: Option<Vec<A>> = None;
        // A word that says whether there is anything, then the lines.
        let bytes = lines * size_of::<A>();
        let mut message = vec![0_u64; 1 + bytes.div_ceil(size_of::<u64>())];
        let mut distance = 1;
        while distance < ranks {
            if let Some(to) = (me + distance < ranks)
                .then(|| rank_at(me + distance))
                .flatten()
            {
                message[0] = u64::from(all.is_some());
                if let Some(all) = &all {
                    bytemuck::cast_slice_mut::<u64, u8>(&mut message[1..])[..bytes]
                        .copy_from_slice(bytemuck::cast_slice(all));
                }
                self.comm.send(to, TAG, bytemuck::cast_slice(&message))?;
            }
            if let Some(from) = me.checked_sub(distance).and_then(rank_at) {
                self.comm
                    .recv(from, TAG, bytemuck::cast_slice_mut(&mut message))?;
                if message[0] != 0 {
                    let theirs = &bytemuck::cast_slice::<u64, u8>(&message[1..])[..bytes];
                    let theirs: &[A] = bytemuck::cast_slice(theirs);
                    for known in [&mut all, &mut before] {
                        match known {
                            Some(known) => {
                                known
                                    .iter_mut()
                                    .zip(theirs)
                                    .for_each(|(a, &b)| *a = join(b, *a));
                            }
                            None => *known = Some(theirs.to_vec()),
                        }
                    }
                }
            }
            distance *= 2;
        }
        Ok(before)
    }
}

/// Copies what is owned to an array distributed alike. Collective.
pub(crate) fn write<A, S, D, C, C1>(
    from: &LocalArray<A, IxDyn, C1>,
    out: &mut LocalArrayBase<S, D, C>,
) -> Result<(), ArrayError>
where
    A: Copy,
    S: DataMut<Elem = A>,
    D: Dimension,
    C: Communicator,
    C1: Communicator,
{
    let laid = (from.part.laid(), out.part.laid());
    let fits = from.part.check_compatible(&out.part);
    in_step(from.comm(), "out", &laid, fits, Ok)?;
    if from.part.is_active() {
        out.owned_mut()
            .iter_mut()
            .zip(from.owned())
            .for_each(|(slot, &x)| *slot = x);
    }
    Ok(())
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The sums of the [diagonals](Self::diagonal): of the elements whose index along `axis2` is `offset` more than that along
    /// `axis1`. Collective; every rank gives the same arguments.
    ///
    /// Shape: the other dimensions, none of a matrix; each sum on the lowest of the ranks that share it. The type is that of a
    /// [`sum`](Self::sum).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let traces = ThreadComm::run(4, |comm| {
    ///     let grid = Distribution::over(4).shape([3, 4]).block(0).block(1).build()?;
    ///     let a = LocalArray::<i8, Ix2, _>::from_fn(&grid, comm, |g| (10 * g[0] + g[1]) as i8)?;
    ///     let mut sum = a.trace_as::<f32>(1, 0, 1)?; // 1 + 12 + 23
    ///     sum.fill(0.0);
    ///     a.trace_into(1, 0, 1, &mut sum)?;
    ///     Ok::<_, ArrayError>((a.trace(0, 0, 1)?.sum()?, sum.sum()?)) // 0 + 11 + 22
    /// })?;
    /// assert_eq!(traces, [(33, 36.0); 4]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`diagonal`](Self::diagonal).
    pub fn trace(
        &self,
        offset: i64,
        axis1: i32,
        axis2: i32,
    ) -> Result<LocalArray<<S::Elem as Summable>::Sum, IxDyn, C>, ArrayError>
    where
        S::Elem: Summable,
    {
        self.trace_as(offset, axis1, axis2)
    }

    /// The sums of the diagonals, cast to `A` and added up in it (`NumPy`'s `dtype=`). Collective.
    /// Example: see [`trace`](Self::trace).
    ///
    /// # Errors
    /// As [`diagonal`](Self::diagonal).
    pub fn trace_as<A: Accumulate>(
        &self,
        offset: i64,
        axis1: i32,
        axis2: i32,
    ) -> Result<LocalArray<A, IxDyn, C>, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        self.diagonal(offset, axis1, axis2)?.over(-1).sum_as()
    }

    /// The sums of the diagonals, added up in the type of `out` and written to what it owns. Collective.
    /// Example: see [`trace`](Self::trace).
    ///
    /// # Errors
    /// As [`diagonal`](Self::diagonal), and [`ArrayError::IncompatibleArray`] when `out` is not distributed as the result.
    pub fn trace_into<S2, D2, C2>(
        &self,
        offset: i64,
        axis1: i32,
        axis2: i32,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Cast<S2::Elem>,
        S2: DataMut<Elem: Accumulate>,
        D2: Dimension,
        C2: Communicator,
    {
        self.diagonal(offset, axis1, axis2)?.over(-1).sum_into(out)
    }
}
