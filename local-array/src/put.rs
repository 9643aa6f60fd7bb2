//! Elements set by index: [`put`](LocalArrayBase::put).

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::IndexMap;
use ndarray::{Data, DataMut, Dimension, IxDyn};

use crate::agreement::{in_step, same_everywhere};
use crate::indices::Indices;
use crate::remote::{Places, send};
use crate::strided::elements;
use crate::take::{check_ranks, resolved};
use crate::{ArrayError, IndexMode, LocalArrayBase};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    /// Sets the elements of the flattened array at `indices` to `values` (`NumPy`'s `put`), which are repeated where there are
    /// fewer; an index named twice gets the last of its values. Collective; every rank gives the same arguments. Local
    /// meaning: on a part of one rank.
    ///
    /// Every stored copy is set, in padding too, so that nothing needs to be exchanged. No value at all changes nothing.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, IndexMode, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
    ///     let mut a = LocalArray::<i64, Ix1, _>::zeros(&blocks, comm)?;
    ///     a.put([1, -1, 9], &[10, 20], IndexMode::Wrap)?; // 1: 10, 5: 20, 3: 10
    ///     Ok::<_, ArrayError>((a.sum()?, a.get_item(&[5])?))
    /// })?;
    /// assert_eq!(sums, [(40, 20); 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank, and nothing is set then: [`ArrayError::OutOfBounds`] by the rules of `mode`,
    /// [`ArrayError::Argument`] for arguments that differ between the ranks.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "indices are numbers, lists and references alike"
    )]
    pub fn put(
        &mut self,
        indices: impl Indices,
        values: &[S::Elem],
        mode: IndexMode,
    ) -> Result<(), ArrayError> {
        let list = indices.list();
        let bytes: &[u8] = bytemuck::cast_slice(values);
        same_everywhere(
            &self.comm,
            "indices or values",
            &(&list.values, mode, bytes),
        )?;
        let flat = resolved(&list.values, self.distribution().global_size()?, mode)?;
        if values.is_empty() {
            return Ok(());
        }
        self.set_stored(&flat, |slot| values[slot % values.len()])
    }

    /// Sets the elements of the flattened array at indices that are themselves spread over the ranks, to `values` of the same
    /// shape and distribution. Collective.
    ///
    /// An index named twice gets the value that comes last in C order of `indices`, whatever the layout. Padding keeps what it
    /// has, until [`exchange_halo`](LocalArrayBase::exchange_halo). Memory: what this rank gives, and what is sent to it.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, IndexMode, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let whole = ThreadComm::run(2, |comm| {
    ///     let mut a = LocalArray::<i64, Ix1, _>::arange(0, 5, 1, "b", comm)?;
    ///     let indices = LocalArray::<i64, Ix1, _>::arange(0, 3, 1, "c", comm)?.map(|i| 4 - 2 * i); // 4 2 0
    ///     let values = indices.map(|i| i * 10);
    ///     a.put_at(&indices, &values, IndexMode::Raise)?;
    ///     a.gather_to(0)
    /// })?;
    /// assert_eq!(whole[0], Some(array![0, 1, 20, 3, 40]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank, and nothing is set then: [`ArrayError::IncompatibleArray`] when `values` does not lie as
    /// `indices` does, [`ArrayError::InvalidBaseComm`], [`ArrayError::Argument`] for another mode or other distributions on some
    /// rank, [`ArrayError::Agreed`] when an index of some rank lies outside by the rules of `mode`, [`ArrayError::Comm`].
    pub fn put_at<S1, S2, D2, C1, C2>(
        &mut self,
        indices: &LocalArrayBase<S1, D2, C1>,
        values: &LocalArrayBase<S2, D2, C2>,
        mode: IndexMode,
    ) -> Result<(), ArrayError>
    where
        S1: Data<Elem = i64>,
        S2: Data<Elem = S::Elem>,
        D2: Dimension,
        C1: Communicator,
        C2: Communicator,
    {
        let fits = check_ranks(self.distribution(), indices.distribution())
            .and_then(|()| indices.part.check_compatible(&values.part))
            .and_then(|()| Ok(self.distribution().global_size()?));
        let own = |size| {
            let flat = resolved(&indices.owned_elements(), size, mode)?;
            let found = Places::of(self.distribution(), &flat)?;
            Ok(Places::with_copies(self.distribution(), &flat).unwrap_or(found))
        };
        let arguments = (
            mode,
            S::Elem::TYPE,
            [&self.part, &indices.part, &values.part].map(|part| part.laid()),
        );
        let what = "mode or distributions";
        let places = in_step(&self.comm, what, &arguments, fits, own)?;
        let (values, keys) = (values.owned_elements(), indices.part.owned_flat());
        let ranks = 0..self.comm.size();
        let positions = self.comm.all_to_all_slice(&places.positions(&..))?;
        let of_rank = |rank| places.slots(rank).iter().map(|&slot| keys[slot]).collect();
        let sent: Vec<Vec<u64>> = ranks.clone().map(of_rank).collect();
        let sent: Vec<&[u64]> = sent.iter().map(Vec::as_slice).collect();
        let keys = self.comm.all_to_all_slice(&sent)?;
        let of_rank = |rank| {
            let slots: &[usize] = places.slots(rank);
            slots.iter().map(|&slot| values[slot]).collect()
        };
        let sent: Vec<Vec<S::Elem>> = ranks.map(of_rank).collect();
        let received = send(&self.comm, &sent)?;
        // What comes last in C order is written last.
        let mut all: Vec<(u64, u64, S::Elem)> = Vec::new();
        for ((positions, keys), bytes) in positions.iter().zip(&keys).zip(&received) {
            let values = elements::<S::Elem>(bytes);
            let each = positions.iter().zip(keys).zip(values.iter());
            all.extend(each.map(|((&position, &key), &value)| (key, position, value)));
        }
        all.sort_by_key(|&(key, ..)| key);
        self.with_owned_elements(|owned| {
            for (_, position, value) in all {
                if let Some(slot) = usize::try_from(position)
                    .ok()
                    .and_then(|at| owned.get_mut(at))
                {
                    *slot = value;
                }
            }
        });
        Ok(())
    }

    /// Sets what this rank stores of the elements at flat indices, in their order. Local.
    pub(crate) fn set_stored(
        &mut self,
        flat: &[u64],
        value: impl Fn(usize) -> S::Elem,
    ) -> Result<(), ArrayError> {
        const BATCH: usize = 1024;
        let Some(maps) = self.part.map() else {
            return Ok(());
        };
        let shape: Vec<u64> = self.global_shape().to_vec();
        let mut data = self.data.view_mut().into_dyn();
        let mut at = IxDyn(&vec![0; shape.len()]);
        let mut columns = vec![vec![0_i64; BATCH]; shape.len()];
        let mut locals = vec![vec![0_usize; BATCH]; shape.len()];
        for (number, batch) in flat.chunks(BATCH).enumerate() {
            let n = batch.len();
            let mut rest = batch.to_vec();
            for (column, &extent) in columns.iter_mut().zip(&shape).rev() {
                for (index, rest) in column.iter_mut().zip(&mut rest) {
                    *index = (*rest % extent.max(1)).cast_signed();
                    *rest /= extent.max(1);
                }
            }
            for ((map, column), local) in maps.dims().iter().zip(&columns).zip(&mut locals) {
                map.local_from_global_bulk(&column[..n], &mut local[..n])?;
            }
            for i in 0..n {
                for (axis, local) in locals.iter().enumerate() {
                    at[axis] = local[i];
                }
                // What is not here is no position either.
                if let Some(slot) = data.get_mut(&at) {
                    *slot = value(number * BATCH + i);
                }
            }
        }
        Ok(())
    }
}
