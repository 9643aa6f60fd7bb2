//! [`LocalArrayBase`]: what an array is made of, and what it says of itself.

use std::fmt;
use std::sync::Arc;

use dist_comm::Communicator;
use dist_maps::Distribution;
use ndarray::{
    ArrayBase, ArrayView, ArrayViewMut, Data, DataMut, Dimension, OwnedRepr, RawData, ViewRepr,
};

use crate::ArrayError;
use crate::part::Part;

/// One rank's part of a distributed n-dimensional array: an `ndarray`, the distribution of the whole, a communicator.
///
/// `S` is `ndarray`'s storage (see the aliases [`LocalArray`], [`LocalArrayView`], [`LocalArrayViewMut`]), `D` its dimension,
/// `C` the communicator, owned or borrowed; operations that make a new array clone it, so a reference is the usual choice.
///
/// ```text
/// global      0   1   2   3   4   5   6   7   8      9 elements over 2 ranks, padding 1
/// rank 0    [ 0   1   2   3   4 ( 5 )]               stored 6, owned 5
/// rank 1            [( 4 ) 5   6   7   8 ]           stored 5, owned 4
/// ```
///
/// *Stored* is all that the rank has in memory; *owned* is that without the padding that belongs to neighbours. Reductions,
/// gathering and redistribution look at owned elements only. Each method says whether it is local, or collective: then all ranks
/// call it.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix2;
///
/// ThreadComm::run(2, |comm| {
///     let rows = Distribution::over(2).shape([5, 4]).block(0).padding(1).build()?; // 3 rows, 2 rows
///     let a = LocalArray::<f64, Ix2, _>::zeros(&rows, comm)?;
///     assert_eq!((a.comm_rank(), a.comm_size(), a.comm().rank()), (comm.rank(), 2, comm.rank()));
///     assert_eq!((a.ndim(), a.global_shape(), a.global_size()), (2, &[5, 4][..], 20));
///     assert_eq!((a.grid_shape(), a.cart_coords()), (&[2, 1][..], Some(&[comm.rank(), 0][..])));
///     assert_eq!(a.owned_shape(), [[3, 4], [2, 4]][comm.rank()]);
///     assert_eq!(a.local_shape(), [[4, 4], [3, 4]][comm.rank()]); // with a row of the neighbour's
///     assert_eq!(a.local_size(), [16, 12][comm.rank()]);
///     assert_eq!((a.distribution(), &**a.shared_distribution()), (&rows, &rows));
///     let a = a.into_dyn().into_dimensionality::<Ix2>()?; // nothing is copied
///     assert!(a.into_dimensionality::<ndarray::Ix3>().is_err());
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub struct LocalArrayBase<S: RawData, D, C> {
    pub(crate) data: ArrayBase<S, D>,
    pub(crate) part: Arc<Part>,
    pub(crate) comm: C,
}

/// A part that owns its elements: what most constructors make, as in the example of [`zeros`](LocalArrayBase::zeros).
pub type LocalArray<T, D, C> = LocalArrayBase<OwnedRepr<T>, D, C>;
/// A part whose elements are borrowed, as by [`view`](LocalArrayBase::view). Example: see [`local`](LocalArrayBase::local).
pub type LocalArrayView<'a, T, D, C> = LocalArrayBase<ViewRepr<&'a T>, D, C>;
/// A part whose elements are borrowed for writing, as by [`view_mut`](LocalArrayBase::view_mut). Example: see
/// [`local_mut`](LocalArrayBase::local_mut).
pub type LocalArrayViewMut<'a, T, D, C> = LocalArrayBase<ViewRepr<&'a mut T>, D, C>;

/// What an array is made of, and what it says of itself. All of it is local.
impl<S: RawData, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// The part of this rank from memory that is already there; nothing is copied. Local.
    ///
    /// `data` has the stored shape of this rank, padding included, in any memory order. Every rank must give the same
    /// distribution: this is the fast way in, which trusts that; [`from_distarray`](Self::from_distarray) checks it.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Array1;
    ///
    /// let sums = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(comm.size()).shape([7]).block(0).build()?; // 3, 3, 1 elements
    ///     let mine = Array1::from_elem(blocks.local_shape(comm.rank())[0], 2.0);
    ///     LocalArray::from_array(mine, &blocks, comm)?.sum()
    /// })?;
    /// assert_eq!(sums, [14.0; 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::InvalidBaseComm`] when the communicator has another size than the distribution,
    /// [`ArrayError::InvalidDimension`] when `D` has another number of dimensions, [`ArrayError::LocalShape`].
    pub fn from_array(
        data: ArrayBase<S, D>,
        distribution: &Distribution,
        comm: C,
    ) -> Result<Self, ArrayError> {
        let part = Part::new(Arc::new(distribution.clone()), &comm)?;
        Self::from_part(data, Arc::new(part), comm)
    }

    pub(crate) fn from_part(
        data: ArrayBase<S, D>,
        part: Arc<Part>,
        comm: C,
    ) -> Result<Self, ArrayError> {
        part.check_data(&data)?;
        Ok(Self { data, part, comm })
    }

    /// The distribution of the whole array. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        self.part.distribution()
    }

    /// The distribution, shared. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn shared_distribution(&self) -> &Arc<Distribution> {
        self.part.distribution()
    }

    /// The communicator. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn comm(&self) -> &C {
        &self.comm
    }

    /// The number of this rank (`DistArray`'s `comm_rank`). Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn comm_rank(&self) -> usize {
        self.comm.rank()
    }

    /// The number of ranks (`DistArray`'s `comm_size`). Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn comm_size(&self) -> usize {
        self.comm.size()
    }

    /// Number of dimensions. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.data.ndim()
    }

    /// Extent of the whole array per dimension, in elements. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn global_shape(&self) -> &[u64] {
        self.part.distribution().global_shape()
    }

    /// Elements of the whole array; 1 where it has no dimension. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn global_size(&self) -> u128 {
        // 64 bits each: the product of two fits, of more it saturates.
        self.global_shape()
            .iter()
            .fold(1, |product: u128, &n| product.saturating_mul(u128::from(n)))
    }

    /// Extent of what this rank stores per dimension, padding included, in elements. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn local_shape(&self) -> &[usize] {
        self.data.shape()
    }

    /// Elements that this rank stores, padding included. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn local_size(&self) -> usize {
        self.data.len()
    }

    /// Extent of what this rank owns per dimension, in elements; what it stores without the padding of neighbours. Local.
    /// Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn owned_shape(&self) -> Vec<usize> {
        self.part
            .owned()
            .iter()
            .map(ExactSizeIterator::len)
            .collect()
    }

    /// Extent of the process grid per dimension, in ranks. Local. Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn grid_shape(&self) -> &[usize] {
        self.part.distribution().grid().shape()
    }

    /// This rank's coordinates in the process grid; `None` where the grid has no place for it. Local.
    /// Example: see [`LocalArrayBase`].
    #[must_use]
    pub fn cart_coords(&self) -> Option<&[usize]> {
        self.part.coords()
    }

    /// The same array with another type for its number of dimensions; nothing is copied. Local.
    /// Example: see [`LocalArrayBase`].
    ///
    /// # Errors
    /// [`ArrayError::InvalidDimension`] when `D2` has another number of dimensions, the same on every rank.
    pub fn into_dimensionality<D2: Dimension>(
        self,
    ) -> Result<LocalArrayBase<S, D2, C>, ArrayError> {
        let ndim = self.ndim();
        let failed = |_| ArrayError::InvalidDimension {
            what: "number of dimensions",
            given: D2::NDIM.unwrap_or(ndim).cast_signed(),
            ndim,
        };
        Ok(LocalArrayBase {
            data: self.data.into_dimensionality().map_err(failed)?,
            part: self.part,
            comm: self.comm,
        })
    }

    /// The same array with a number of dimensions known at run time; nothing is copied. Local. Example: see [`LocalArrayBase`].
    pub fn into_dyn(self) -> LocalArrayBase<S, ndarray::IxDyn, C> {
        LocalArrayBase {
            data: self.data.into_dyn(),
            part: self.part,
            comm: self.comm,
        }
    }

    /// The same part with another view of it as storage.
    pub(crate) fn with_data<S2: RawData, C2>(
        &self,
        data: ArrayBase<S2, D>,
        comm: C2,
    ) -> LocalArrayBase<S2, D, C2> {
        LocalArrayBase {
            data,
            part: Arc::clone(&self.part),
            comm,
        }
    }
}

/// The elements of this rank, as views of `ndarray`'s. All of it is local.
impl<S: Data, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// What this rank stores, padding included: shape [`local_shape`](Self::local_shape). Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, LocalArrayView};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([4, 2]).block(0).padding(1).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&rows, comm, |g| 10 * g[0] + g[1])?;
    ///     assert_eq!(a.local().column(0).to_vec(), [[0, 10, 20], [10, 20, 30]][comm.rank()]);
    ///     assert_eq!(a.owned().column(0).to_vec(), [[0, 10], [20, 30]][comm.rank()]); // without padding
    ///     let borrowed: LocalArrayView<'_, i64, Ix2, _> = a.view();
    ///     assert_eq!(borrowed.local().as_ptr(), a.local().as_ptr());
    ///     assert_ne!(borrowed.to_owned().local().as_ptr(), a.local().as_ptr());
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    #[doc(alias = "get_localarray")]
    #[doc(alias = "local_data")]
    pub fn local(&self) -> ArrayView<'_, S::Elem, D> {
        self.data.view()
    }

    /// What this rank owns: shape [`owned_shape`](Self::owned_shape). Local.
    ///
    /// On a rank without a place in the process grid the view of a 0-d array still has its one element, which counts for
    /// nothing. Example: see [`local`](Self::local).
    pub fn owned(&self) -> ArrayView<'_, S::Elem, D> {
        self.part.owned_of(self.data.view())
    }

    /// The part with its elements borrowed; nothing is copied. Local. Example: see [`local`](Self::local).
    pub fn view(&self) -> LocalArrayView<'_, S::Elem, D, &C> {
        self.with_data(self.data.view(), &self.comm)
    }

    /// A copy of the part (`DistArray`'s `copy`). Local. Example: see [`local`](Self::local).
    #[doc(alias = "copy")]
    pub fn to_owned(&self) -> LocalArray<S::Elem, D, C>
    where
        S::Elem: Clone,
        C: Clone,
    {
        self.with_data(self.data.to_owned(), self.comm.clone())
    }
}

/// The elements of this rank, to be changed. All of it is local.
impl<S: DataMut, D: Dimension, C: Communicator> LocalArrayBase<S, D, C> {
    /// What this rank stores, padding included, to be changed in place. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, LocalArrayViewMut};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([4, 2]).block(0).padding(1).build()?;
    ///     let mut a = LocalArray::<i64, Ix2, _>::zeros(&rows, comm)?;
    ///     a.fill(7); // padding too
    ///     a.owned_mut().fill(comm.rank() as i64);
    ///     assert_eq!(a.local().column(0).to_vec(), [[0, 0, 7], [7, 1, 1]][comm.rank()]);
    ///     a.local_mut()[[1, 1]] = 5;
    ///     let mut borrowed: LocalArrayViewMut<'_, i64, Ix2, _> = a.view_mut();
    ///     borrowed.exchange_halo()?; // collective
    ///     let mine: ndarray::Array2<i64> = a.into_local();
    ///     assert_eq!(mine.column(1).to_vec(), [[0, 5, 5], [5, 5, 1]][comm.rank()]);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn local_mut(&mut self) -> ArrayViewMut<'_, S::Elem, D> {
        self.data.view_mut()
    }

    /// What this rank owns, to be changed in place. Local. Example: see [`local_mut`](Self::local_mut).
    pub fn owned_mut(&mut self) -> ArrayViewMut<'_, S::Elem, D> {
        self.part.owned_of_mut(self.data.view_mut())
    }

    /// The part with its elements borrowed for writing. Local. Example: see [`local_mut`](Self::local_mut).
    pub fn view_mut(&mut self) -> LocalArrayViewMut<'_, S::Elem, D, &C> {
        LocalArrayBase {
            data: self.data.view_mut(),
            part: Arc::clone(&self.part),
            comm: &self.comm,
        }
    }

    /// Sets every stored element, padding included. Local. Example: see [`local_mut`](Self::local_mut).
    pub fn fill(&mut self, value: S::Elem)
    where
        S::Elem: Clone,
    {
        self.data.fill(value);
    }
}

impl<T, D: Dimension, C: Communicator> LocalArray<T, D, C> {
    /// The stored elements, padding included, without a copy. Local. Example: see [`local_mut`](Self::local_mut).
    #[must_use]
    pub fn into_local(self) -> ndarray::Array<T, D> {
        self.data
    }
}

impl<S, D, C> Clone for LocalArrayBase<S, D, C>
where
    S: ndarray::RawDataClone,
    D: Clone,
    C: Clone,
{
    fn clone(&self) -> Self {
        Self {
            data: self.data.clone(),
            part: Arc::clone(&self.part),
            comm: self.comm.clone(),
        }
    }
}

impl<S, D, C> fmt::Debug for LocalArrayBase<S, D, C>
where
    S: Data<Elem: fmt::Debug>,
    D: Dimension,
    C: Communicator,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalArray")
            .field("rank", &self.comm.rank())
            .field("global_shape", &self.global_shape())
            .field("local", &self.data)
            .finish_non_exhaustive()
    }
}
