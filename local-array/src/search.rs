//! Places in sorted arrays: [`searchsorted`](LocalArrayBase::searchsorted), [`digitize`](LocalArrayBase::digitize).

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use ndarray::{Data, Dimension};

use crate::agreement::in_step;
use crate::nonzero::InOrder;
use crate::remote::{Places, part_of, rounds};
use crate::take::check_ranks;
use crate::{ArrayError, IndexMode, LocalArray, LocalArrayBase, Ordered, Sortable};

/// Which of the places that keep an array sorted: `NumPy`'s `side` of [`searchsorted`](LocalArrayBase::searchsorted), which
/// has an example. Every rank gives the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SearchSide {
    /// The first: before all equal elements.
    #[default]
    Left,
    /// The last: behind all equal elements.
    Right,
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Sortable>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// Where each of `values` would have to stand in this sorted, one-dimensional array (`NumPy`'s `searchsorted`). Collective.
    /// Local meaning: on [`part`](Self::part).
    ///
    /// The result has the shape and distribution of `values`, its padding is zero. The order is that of
    /// [`sorted`](Self::sorted), NaN last; where this array is not sorted the result means nothing. Where very many values fall
    /// between the elements of one rank they are asked for in rounds, so that memory stays what the ranks own.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, SearchSide};
    /// use ndarray::Ix1;
    ///
    /// let found = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |g| g[0] / 2 * 10)?; // 0 0 10 10 20 20
    ///     let cyclic = Distribution::over(2).shape([3]).cyclic(0).build()?;
    ///     let v = LocalArray::<i64, Ix1, _>::from_fn(&cyclic, comm, |g| [10, 25, -1][g[0] as usize])?;
    ///     let left = a.searchsorted(&v, SearchSide::Left)?.gather_to(0)?;
    ///     let right = a.searchsorted(&v, SearchSide::Right)?.gather_to(0)?;
    ///     Ok::<_, ArrayError>(left.zip(right).map(|(l, r)| (l.to_vec(), r.to_vec())))
    /// })?;
    /// assert_eq!(found[0], Some((vec![2, 6, 0], vec![4, 6, 0])));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] when this array has not one dimension,
    /// [`ArrayError::InvalidBaseComm`] when the two are over different numbers of ranks, [`ArrayError::Argument`] for another
    /// side or other distributions on some rank, [`ArrayError::Plan`] where explicit lists leave elements out,
    /// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
    pub fn searchsorted<S2, D2, C2>(
        &self,
        values: &LocalArrayBase<S2, D2, C2>,
        side: SearchSide,
    ) -> Result<LocalArray<i64, D2, C>, ArrayError>
    where
        S2: Data<Elem = S::Elem>,
        D2: Dimension,
        C2: Communicator,
    {
        let fits = if self.ndim() == 1 {
            check_ranks(self.distribution(), values.distribution())
        } else {
            Err(ArrayError::InvalidDimension {
                what: "number of dimensions",
                given: self.ndim().cast_signed(),
                ndim: 1,
            })
        };
        let arguments = (side, S::Elem::TYPE, self.part.laid(), values.part.laid());
        let zeros = |()| values.part.zeros::<i64, D2>();
        let what = "side or distributions";
        let data = in_step(&self.comm, what, &arguments, fits, zeros)?;
        let order = self.in_order()?;
        let found = found(&order, &values.owned_elements(), side, &self.comm)?;
        let mut result = LocalArray {
            data,
            part: Arc::clone(&values.part),
            comm: self.comm.clone(),
        };
        result.with_owned_elements(|owned| owned.copy_from_slice(&found));
        Ok(result)
    }

    /// As [`searchsorted`](Self::searchsorted) in an array that `sorter` would sort: its indices in order, as
    /// [`argsort`](Self::argsort) gives them. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, SearchSide, SortKind};
    /// use ndarray::{Ix1, array};
    ///
    /// let found = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |g| [30, 10, 20][g[0] as usize])?;
    ///     let order = a.argsort(0, SortKind::Stable)?; // 1 2 0
    ///     let values = LocalArray::<i64, Ix1, _>::arange(15, 45, 10, "c", comm)?; // 15 25 35
    ///     a.searchsorted_by(&values, SearchSide::Left, &order)?.gather_to(0)
    /// })?;
    /// assert_eq!(found[0], Some(array![1, 2, 3]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`searchsorted`](Self::searchsorted) and [`take_at`](Self::take_at).
    pub fn searchsorted_by<S2, D2, C2, S3, D3, C3>(
        &self,
        values: &LocalArrayBase<S2, D2, C2>,
        side: SearchSide,
        sorter: &LocalArrayBase<S3, D3, C3>,
    ) -> Result<LocalArray<i64, D2, C>, ArrayError>
    where
        S2: Data<Elem = S::Elem>,
        S3: Data<Elem = i64>,
        D2: Dimension,
        D3: Dimension,
        C2: Communicator,
        C3: Communicator,
    {
        let fits = if sorter.global_shape() == self.global_shape() {
            Ok(())
        } else {
            Err(ArrayError::Shape {
                what: "sorter",
                given: sorter.global_shape().to_vec(),
                allowed: format!("{:?}", self.global_shape()),
            })
        };
        self.taken_at(sorter, IndexMode::Raise, fits)?
            .searchsorted(values, side)
    }

    /// For each element the number of the bin that it falls in (`NumPy`'s `digitize`): 0 before the first of `bins`, their number
    /// behind the last. Local; every rank gives the same bins. Local meaning: on [`part`](Self::part).
    ///
    /// `bins` ascend or descend. A bin contains its lower edge, or with `right` its upper one instead. The result is distributed
    /// as this array is; padding is computed too.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let bins = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).build()?;
    ///     let x = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |g| [0.2, 6.4, 3.0, 1.0][g[0] as usize])?;
    ///     let ascending = x.digitize(&[0.0, 1.0, 2.5, 4.0], false)?;
    ///     let descending = x.digitize(&[4.0, 2.5, 1.0, 0.0], true)?;
    ///     Ok::<_, ArrayError>((ascending.gather_to(0)?, descending.gather_to(0)?))
    /// })?;
    /// assert_eq!(bins[0], (Some(array![1, 4, 3, 2]), Some(array![3, 0, 1, 3])));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Argument`] when `bins` neither ascend nor descend, the same on every rank.
    pub fn digitize(
        &self,
        bins: &[S::Elem],
        right: bool,
    ) -> Result<LocalArray<i64, D, C>, ArrayError>
    where
        S::Elem: Ordered,
    {
        let keys: Vec<_> = bins.iter().map(|bin| bin.key()).collect();
        let ascend = keys.windows(2).all(|pair| pair[0] <= pair[1]);
        if !ascend && !keys.windows(2).all(|pair| pair[0] >= pair[1]) {
            return Err(ArrayError::Argument {
                what: "bins",
                given: format!("{} that begin {:?}", bins.len(), &bins[..bins.len().min(8)]),
                allowed: "edges that ascend or descend".to_owned(),
            });
        }
        let bin = |x: &S::Elem| {
            let x = x.key();
            // Descending edges are counted from the end, and so is the number.
            let count = match (ascend, right) {
                (true, false) => keys.partition_point(|edge| *edge <= x),
                (true, true) => keys.partition_point(|edge| *edge < x),
                (false, false) => keys.partition_point(|edge| *edge > x),
                (false, true) => keys.partition_point(|edge| *edge >= x),
            };
            i64::try_from(count).unwrap_or(i64::MAX)
        };
        Ok(self.with_data(self.data.map(bin), self.comm.clone()))
    }
}

/// What each rank tells of its block: whether it has elements, and the key of its first.
type First = [u64; 3];

/// The places of this rank's values. Collective.
fn found<T: Sortable, C: Communicator>(
    order: &InOrder<'_, T>,
    values: &[T],
    side: SearchSide,
    comm: &C,
) -> Result<Vec<i64>, ArrayError> {
    let first = order.elements.first().map_or([0; 3], |x| {
        let [a, b] = T::words(x.key());
        [1, a, b]
    });
    let firsts: Vec<First> = comm.all_gather_value(first)?;
    // The blocks that have elements, in order.
    let blocks: Vec<(usize, [u64; 2])> = order
        .distribution
        .targets()
        .iter()
        .filter(|&&rank| firsts[rank][0] == 1)
        .map(|&rank| (rank, [firsts[rank][1], firsts[rank][2]]))
        .collect();
    let counts = |element: [u64; 2], value: [u64; 2]| match side {
        SearchSide::Left => element < value,
        SearchSide::Right => element <= value,
    };
    let keys: Vec<[u64; 2]> = values.iter().map(|x| T::words(x.key())).collect();
    // The last block whose first element counts knows; those before it count as a whole. Where none does the answer is 0, and
    // any block knows that.
    let whom = |&key: &[u64; 2]| {
        let below = blocks.partition_point(|&(_, first)| counts(first, key));
        let block = blocks.get(below.saturating_sub(1));
        block.map_or(comm.rank(), |&(rank, _)| rank)
    };
    let places = Places::by_rank(comm.size(), keys.iter().map(whom));
    let mut found = vec![0; values.len()];
    let rounds = rounds(comm, &places, order.elements.len())?;
    for round in 0..rounds {
        let asked = |rank| {
            let slots: &[usize] = places.slots(rank);
            &slots[part_of(slots.len(), round, rounds)]
        };
        let sent: Vec<Vec<[u64; 2]>> = (0..comm.size())
            .map(|rank| asked(rank).iter().map(|&slot| keys[slot]).collect())
            .collect();
        let sent: Vec<&[[u64; 2]]> = sent.iter().map(Vec::as_slice).collect();
        let received = comm.all_to_all_slice(&sent)?;
        let place = |&key: &[u64; 2]| {
            let below = order
                .elements
                .partition_point(|x| counts(T::words(x.key()), key));
            (order.first + below as u64).cast_signed()
        };
        let answers: Vec<Vec<i64>> = received
            .iter()
            .map(|keys| keys.iter().map(place).collect())
            .collect();
        let answers: Vec<&[i64]> = answers.iter().map(Vec::as_slice).collect();
        for (rank, answers) in comm.all_to_all_slice(&answers)?.iter().enumerate() {
            for (&slot, &place) in asked(rank).iter().zip(answers) {
                found[slot] = place;
            }
        }
    }
    Ok(found)
}
