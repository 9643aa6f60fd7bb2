//! Elements with their global indices: [`ndenumerate`](LocalArrayBase::ndenumerate), [`GlobalIterator`], [`GlobalIndex`].

use std::iter::FusedIterator;
use std::ops::Range;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::Index;
use ndarray::iter::Iter;
use ndarray::{ArrayView, Data, DataMut, Dimension, IxDyn, RawData};

use crate::cow::LocalArrayCow;
use crate::{ArrayError, LocalArrayBase};

/// Elements of this rank with their global indices, in local C order: what
/// [`ndenumerate`](LocalArrayBase::ndenumerate), which has an example, and
/// [`ndenumerate_stored`](LocalArrayBase::ndenumerate_stored) give. Local.
#[derive(Debug)]
pub struct GlobalIterator<'a, T, D> {
    elements: Iter<'a, T, D>,
    /// Global indices of the positions gone through, per axis.
    globals: Vec<Vec<i64>>,
    /// Position of the next element, per axis.
    at: Vec<usize>,
    left: usize,
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator,
{
    /// Each element that this rank owns, with its global index (`DistArray`'s `ndenumerate`). Local; the ranks together see each
    /// element of the whole array, and where an index lies on several ranks each of them sees it. On [`part`](Self::part)
    /// indices count from 0 within the part.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let seen = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).padding(1).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |g| g[0] * 10)?;
    ///     let owned: Vec<(i64, i64)> = a.ndenumerate().map(|(g, &x)| (g[0], x)).collect();
    ///     let halo: Vec<i64> = a.ndenumerate_stored().filter(|(.., is_owned)| !is_owned).map(|(_, &x, _)| x).collect();
    ///     Ok::<_, ArrayError>((owned, halo))
    /// })?;
    /// assert_eq!(seen[0], (vec![(0, 0), (1, 10)], vec![20]));
    /// assert_eq!(seen[1], (vec![(2, 20), (3, 30)], vec![10]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn ndenumerate(&self) -> GlobalIterator<'_, S::Elem, D> {
        self.iterate(self.owned(), self.part.owned())
    }

    /// Each element that this rank stores, with its global index and whether the rank owns it or it is padding. Local: padding
    /// has the value it was given last, by [`exchange_halo`](LocalArrayBase::exchange_halo) or otherwise.
    ///
    /// For each element with all its neighbours see [`map_windows`](LocalArrayBase::map_windows). Example: see
    /// [`ndenumerate`](Self::ndenumerate).
    pub fn ndenumerate_stored(&self) -> impl Iterator<Item = (Vec<i64>, &S::Elem, bool)> + '_ {
        let stored: Vec<Range<usize>> = self.data.shape().iter().map(|&n| 0..n).collect();
        let mut all = self.iterate(self.data.view(), &stored);
        let owned = self.part.owned();
        std::iter::from_fn(move || {
            let is_owned = all
                .at
                .iter()
                .zip(owned)
                .all(|(at, owned)| owned.contains(at));
            let (index, element) = all.next()?;
            Some((index, element, is_owned))
        })
    }

    fn iterate<'a>(
        &self,
        elements: ArrayView<'a, S::Elem, D>,
        positions: &[Range<usize>],
    ) -> GlobalIterator<'a, S::Elem, D> {
        let of_axis = |(axis, positions): (usize, &Range<usize>)| {
            let globals = positions.clone().map(|at| self.part.global_of(axis, at));
            globals.map_while(|global| global).collect()
        };
        GlobalIterator {
            left: if self.part.is_active() {
                elements.len()
            } else {
                0
            },
            elements: elements.into_iter(),
            globals: positions.iter().enumerate().map(of_axis).collect(),
            at: vec![0; positions.len()],
        }
    }

    /// Access by global index, under `DistArray`'s name. Local. Example: see [`GlobalIndex`].
    pub fn global_index(&self) -> GlobalIndex<&Self> {
        GlobalIndex(self)
    }

    /// The same for writing. Local. Example: see [`GlobalIndex`].
    pub fn global_index_mut(&mut self) -> GlobalIndex<&mut Self> {
        GlobalIndex(self)
    }
}

impl<'a, T, D: Dimension> GlobalIterator<'a, T, D> {
    /// Shows the elements that are left to `see`, each with its global index: what iterating gives, without a list for each.
    /// Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let traces = ThreadComm::run(2, |comm| {
    ///     let columns = Distribution::over(2).shape([3, 3]).block(1).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&columns, comm, |g| 10 * g[0] + g[1])?;
    ///     let mut trace = 0; // of the two columns here, and of the last one
    ///     a.ndenumerate().visit(|g, &x| trace += if g[0] == g[1] { x } else { 0 });
    ///     Ok::<_, ArrayError>(trace)
    /// })?;
    /// assert_eq!(traces, [0 + 11, 22]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn visit(mut self, mut see: impl FnMut(&[i64], &'a T)) {
        let mut index = Vec::with_capacity(self.at.len());
        while let Some(element) = self.step(&mut index) {
            see(&index, element);
        }
    }

    /// The next element; writes its index.
    fn step(&mut self, index: &mut Vec<i64>) -> Option<&'a T> {
        self.left = self.left.checked_sub(1)?;
        let element = self.elements.next()?;
        let places = self.globals.iter().zip(&self.at);
        index.clear();
        index.extend(places.map(|(globals, &at)| globals.get(at).copied().unwrap_or(-1)));
        for (at, globals) in self.at.iter_mut().zip(&self.globals).rev() {
            *at += 1;
            if *at < globals.len() {
                break;
            }
            *at = 0;
        }
        Some(element)
    }
}

impl<'a, T, D: Dimension> Iterator for GlobalIterator<'a, T, D> {
    type Item = (Vec<i64>, &'a T);

    fn next(&mut self) -> Option<Self::Item> {
        let mut index = Vec::with_capacity(self.at.len());
        let element = self.step(&mut index)?;
        Some((index, element))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T, D: Dimension> ExactSizeIterator for GlobalIterator<'_, T, D> {}
impl<T, D: Dimension> FusedIterator for GlobalIterator<'_, T, D> {}

/// Access to an array by global index (`DistArray`'s `GlobalIndex`): made by [`global_index`](LocalArrayBase::global_index) and
/// [`global_index_mut`](LocalArrayBase::global_index_mut). `A` is a reference to the array.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix1;
///
/// let seen = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
///     let mut a = LocalArray::<i64, Ix1, _>::zeros(&blocks, comm)?;
///     a.global_index_mut().checked_setitem(&[4], 7);
///     let index = a.global_index();
///     assert_eq!(index.get_slice(&[(3..6).into()])?.sum()?, 7); // collective
///     Ok::<_, ArrayError>((index.checked_getitem(&[4]), index.global_to_local(&[4]), index.local_to_global(&[0])))
/// })?;
/// assert_eq!(seen, [(None, None, Some(vec![0])), (Some(7), Some(vec![1]), Some(vec![3]))]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Debug)]
pub struct GlobalIndex<A>(A);

impl<'a, S: RawData, D: Dimension, C: Communicator> GlobalIndex<&'a LocalArrayBase<S, D, C>> {
    /// [`LocalArrayBase::local_from_global`]. Local. Example: see [`GlobalIndex`].
    #[must_use]
    pub fn global_to_local(&self, global: &[i64]) -> Option<Vec<usize>> {
        self.0.local_from_global(global)
    }

    /// [`LocalArrayBase::global_from_local`]. Local. Example: see [`GlobalIndex`].
    #[must_use]
    pub fn local_to_global(&self, local: &[usize]) -> Option<Vec<i64>> {
        self.0.global_from_local(local)
    }

    /// [`LocalArrayBase::checked_getitem`]. Local. Example: see [`GlobalIndex`].
    #[must_use]
    pub fn checked_getitem(&self, global: &[i64]) -> Option<S::Elem>
    where
        S: Data<Elem: Copy>,
    {
        self.0.checked_getitem(global)
    }

    /// [`LocalArrayBase::slice`]. Collective. Example: see [`GlobalIndex`].
    ///
    /// # Errors
    /// As [`LocalArrayBase::slice`].
    pub fn get_slice(
        &self,
        items: &[Index],
    ) -> Result<LocalArrayCow<'a, S::Elem, IxDyn, C>, ArrayError>
    where
        S: Data<Elem: Element>,
        C: Clone,
    {
        self.0.slice(items)
    }
}

impl<S: DataMut, D: Dimension, C: Communicator> GlobalIndex<&mut LocalArrayBase<S, D, C>> {
    /// [`LocalArrayBase::checked_setitem`]. Local. Example: see [`GlobalIndex`].
    pub fn checked_setitem(&mut self, global: &[i64], value: S::Elem) -> bool {
        self.0.checked_setitem(global, value)
    }
}
