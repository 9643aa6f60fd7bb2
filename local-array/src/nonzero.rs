//! Where elements are not zero: [`nonzero`](LocalArrayBase::nonzero), and elements by a mask.

use std::borrow::Cow;
use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use ndarray::{Data, Dimension, Ix1};

use crate::agreement::in_step;
use crate::cow::without_padding;
use crate::{ArrayError, Cast, LocalArray, LocalArrayBase};

/// All elements in C order, cut into one piece for each rank: what has an order of its own starts from it.
pub(crate) struct InOrder<'a, T: Clone> {
    /// Ascending blocks.
    pub(crate) distribution: Distribution,
    /// The flat global index of the first element here.
    pub(crate) first: u64,
    pub(crate) elements: Cow<'a, [T]>,
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The elements in C order, cut between ranks; where they do not lie so they are moved to blocks. Collective.
    pub(crate) fn in_order(&self) -> Result<InOrder<'_, S::Elem>, ArrayError> {
        let size = self.size_u64()?;
        let flat = self.distribution().reshape(&[size]).ok();
        if let Some(distribution) = flat.filter(|flat| flat.axes()[0].kind() == "b") {
            let distribution = without_padding(&distribution)?;
            return Ok(InOrder {
                first: first_of(&distribution, self.comm.rank()),
                elements: self.owned_elements(),
                distribution,
            });
        }
        let moved: LocalArray<S::Elem, Ix1, C> =
            self.redistribute_reshaped(&blocks(size, self.comm.size())?)?;
        Ok(InOrder {
            distribution: Distribution::clone(moved.distribution()),
            first: first_of(moved.distribution(), self.comm.rank()),
            elements: Cow::Owned(moved.into_local().into_raw_vec_and_offset().0),
        })
    }

    /// The indices of the elements that are not zero, one array per dimension, in C order (`NumPy`'s `nonzero`, and its `where`
    /// of one argument). Collective. Local meaning: on [`part`](Self::part).
    ///
    /// Each array is one-dimensional, in blocks: a rank has the hits among its share of the elements in C order. Arrays that do
    /// not lie in C order are moved first.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// let hits = ThreadComm::run(2, |comm| {
    ///     let columns = Distribution::over(2).shape([2, 3]).block(1).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&columns, comm, |g| (g[0] + g[1]) % 2)?; // [[0, 1, 0], [1, 0, 1]]
    ///     let [rows, columns] = a.nonzero()?.try_into().expect("two dimensions");
    ///     Ok::<_, ArrayError>((rows.gather_to(0)?, columns.gather_to(0)?))
    /// })?;
    /// assert_eq!(hits[0].0.as_ref().map(|a| a.to_vec()), Some(vec![0, 1, 1]));
    /// assert_eq!(hits[0].1.as_ref().map(|a| a.to_vec()), Some(vec![1, 0, 2]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] for an array without dimensions, as `NumPy` 2 has it;
    /// [`ArrayError::Plan`] where explicit lists leave elements out, [`ArrayError::Comm`].
    pub fn nonzero(&self) -> Result<Vec<LocalArray<i64, Ix1, C>>, ArrayError>
    where
        S::Elem: Cast<bool>,
    {
        if self.ndim() == 0 {
            return Err(ArrayError::InvalidDimension {
                what: "number of dimensions",
                given: 0,
                ndim: 1,
            });
        }
        let order = self.in_order()?;
        let hits: Vec<u64> = (order.first..)
            .zip(order.elements.iter())
            .filter_map(|(flat, &element)| Cast::<bool>::cast(element).then_some(flat))
            .collect();
        let distribution = counted_blocks(&order.distribution, hits.len(), &self.comm)?;
        let shape = self.global_shape();
        let mut rest = hits;
        let mut arrays = Vec::with_capacity(shape.len());
        for &extent in shape.iter().rev() {
            let column = rest.iter_mut().map(|rest| {
                let index = (*rest % extent.max(1)).cast_signed();
                *rest /= extent.max(1);
                index
            });
            let column: Vec<i64> = column.collect();
            arrays.push(LocalArray::from_owned(
                column,
                distribution.clone(),
                self.comm.clone(),
            )?);
        }
        arrays.reverse();
        Ok(arrays)
    }

    /// The elements where `mask` is not zero, in C order: a mask of the same shape, distributed in the same way (`NumPy`'s
    /// `a[mask]`). Collective.
    ///
    /// The result is one-dimensional, in blocks, as [`nonzero`](Self::nonzero) has it.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let kept = ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i64, Ix1, _>::arange(0, 6, 1, "c", comm)?;
    ///     let even = a.remainder(2)?.equal(0)?;
    ///     let kept = a.compress_where(&even)?;
    ///     assert_eq!(kept.dist(), "b");
    ///     kept.gather_to(0)
    /// })?;
    /// assert_eq!(kept[0], Some(array![0, 2, 4]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::IncompatibleArray`] for another distribution, [`ArrayError::Argument`] when that is
    /// so on some ranks alone; as [`nonzero`](Self::nonzero).
    pub fn compress_where<S2, C2>(
        &self,
        mask: &LocalArrayBase<S2, D, C2>,
    ) -> Result<LocalArray<S::Elem, Ix1, C>, ArrayError>
    where
        S2: Data<Elem: Element + Cast<bool>>,
        C2: Communicator + Clone,
    {
        let arguments = (self.part.laid(), mask.part.laid(), S::Elem::TYPE);
        let fits = self.part.check_compatible(&mask.part);
        in_step(&self.comm, "mask", &arguments, fits, Ok)?;
        let (order, mask) = (self.in_order()?, mask.in_order()?);
        let chosen = order.elements.iter().zip(mask.elements.iter());
        let chosen: Vec<S::Elem> = chosen
            .filter(|(_, is_in)| Cast::<bool>::cast(**is_in))
            .map(|(&element, _)| element)
            .collect();
        let distribution = counted_blocks(&order.distribution, chosen.len(), &self.comm)?;
        LocalArray::from_owned(chosen, distribution, self.comm.clone())
    }
}

/// Blocks of as nearly equal length as there are ranks.
pub(crate) fn blocks(size: u64, ranks: usize) -> Result<Distribution, ArrayError> {
    let axis = AxisDist::block_balanced(size, ranks)?;
    let all: Arc<[usize]> = (0..ranks).collect();
    Ok(Distribution::from_axes(vec![axis], ranks, all)?)
}

/// Blocks in the order of those of `order`, with the given number of elements on this rank. Collective.
pub(crate) fn counted_blocks<C: Communicator>(
    order: &Distribution,
    here: usize,
    comm: &C,
) -> Result<Distribution, ArrayError> {
    let counts = comm.all_gather_value(here as u64)?;
    let mut bounds = vec![0];
    for &rank in order.targets() {
        bounds.push(bounds.last().copied().unwrap_or(0) + counts[rank]);
    }
    let axis = AxisDist::block_bounds(bounds)?;
    let targets = Arc::<[usize]>::from(order.targets());
    Ok(Distribution::from_axes(vec![axis], order.ranks(), targets)?)
}

/// The first index of a rank's block; 0 where it has none.
fn first_of(blocks: &Distribution, rank: usize) -> u64 {
    let owned = blocks
        .grid_rank(rank)
        .and_then(|coord| blocks.axes()[0].owned_range(coord));
    owned.map_or(0, |owned| owned.start)
}
