//! [`Redistributor`]: the same array, its elements on other ranks, planned once and carried out as often as wanted.
//!
//! The plan is made from the two distributions (`dist-maps`). Where ranks can read each other's memory (thread ranks always,
//! MPI ranks of one node for arrays in shared memory, see [`SharedArray`](crate::SharedArray)) each rank copies what it needs
//! straight from the others; else messages are packed, sent, and unpacked as they land.

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::{Communicator, ExchangeJob};
use dist_maps::copy::{CopyError, Layout};
use dist_maps::{Distribution, RedistPlan, Redistribution};
use ndarray::{ArrayView, ArrayViewMut, Data, DataMut, Dimension};

use super::Messages;
use crate::part::{Part, summary};
use crate::strided::{self, with_memory, with_memory_mut};
use crate::{ArrayError, LocalArrayBase};

/// The tag of the messages of a redistribution.
const TAG: u32 = 0x5244;

/// A change of distribution, planned once and carried out many times: plan, messages and buffers are kept.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, Redistributor};
/// use ndarray::Ix2;
///
/// ThreadComm::run(2, |comm| {
///     let rows = Distribution::over(2).shape([4, 6]).block(0).build()?;
///     let columns = Distribution::over(2).shape([4, 6]).block(1).build()?;
///     let mut turn = Redistributor::new(&rows, &columns, comm)?;
///     assert_eq!(turn.plan().sends().len(), 1); // to the other rank
///     let mut a = LocalArray::<f64, Ix2, _>::from_fn(&rows, comm, |g| (g[0] * 6 + g[1]) as f64)?;
///     let mut b = LocalArray::<f64, Ix2, _>::zeros(&columns, comm)?;
///     for _ in 0..3 {
///         turn.execute(&a, &mut b)?; // collective
///         a *= 2.0;
///     }
///     assert_eq!(b.checked_getitem(&[3, 5]), (comm.rank() == 1).then_some(23.0 * 4.0));
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Redistributor<C> {
    src: Arc<Distribution>,
    dst: Arc<Distribution>,
    plan: RedistPlan,
    comm: C,
    /// Elements that each rank stores of the source.
    stored: Vec<usize>,
    /// The source buffers of the peers that this rank receives from, in the order of `plan.recvs()`.
    peers: Vec<Layout>,
    messages: Messages,
}

impl<C: Communicator> Redistributor<C> {
    /// Plans the same array in another distribution. Local; every rank gives the same two. Example: see [`Redistributor`].
    ///
    /// # Errors
    /// [`ArrayError::InvalidBaseComm`] when the communicator has another size than a distribution, [`ArrayError::Plan`]
    /// when the shapes differ or the source lacks an index; the same on every rank.
    pub fn new(src: &Distribution, dst: &Distribution, comm: C) -> Result<Self, ArrayError> {
        Self::planned(&Redistribution::between(src, dst), src, dst, comm)
    }

    /// Plans a transposition: axis `i` of the destination is axis `axes[i]` of the source. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, Redistributor};
    /// use ndarray::{Ix2, array};
    ///
    /// let found = ThreadComm::run(2, |comm| {
    ///     let wide = Distribution::over(2).shape([2, 3]).block(0).build()?;
    ///     let high = Distribution::over(2).shape([3, 2]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix2, _>::from_fn(&wide, comm, |g| 3 * g[0] + g[1])?; // 0 1 2, 3 4 5
    ///     let mut b = LocalArray::<i64, Ix2, _>::zeros(&high, comm)?;
    ///     Redistributor::permuted(&wide, &high, &[1, 0], comm)?.execute(&a, &mut b)?;
    ///     let turned = b.gather_to(0)?;
    ///     Redistributor::reshaped(&wide, &high, comm)?.execute(&a, &mut b)?;
    ///     Ok::<_, ArrayError>((turned, b.gather_to(0)?))
    /// })?;
    /// assert_eq!(found[0].0, Some(array![[0, 3], [1, 4], [2, 5]]));
    /// assert_eq!(found[0].1, Some(array![[0, 1], [2, 3], [4, 5]]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn permuted(
        src: &Distribution,
        dst: &Distribution,
        axes: &[usize],
        comm: C,
    ) -> Result<Self, ArrayError> {
        Self::planned(
            &Redistribution::between(src, dst).permuted(axes),
            src,
            dst,
            comm,
        )
    }

    /// Plans another shape of as many elements, which keep their global C order. Local.
    /// Example: see [`permuted`](Self::permuted).
    ///
    /// # Errors
    /// As [`new`](Self::new), [`ArrayError::Plan`] also when the sizes differ.
    pub fn reshaped(src: &Distribution, dst: &Distribution, comm: C) -> Result<Self, ArrayError> {
        Self::planned(
            &Redistribution::between(src, dst).reshaped(),
            src,
            dst,
            comm,
        )
    }

    fn planned(
        change: &Redistribution<'_>,
        src: &Distribution,
        dst: &Distribution,
        comm: C,
    ) -> Result<Self, ArrayError> {
        for distribution in [src, dst] {
            if distribution.ranks() != comm.size() {
                return Err(ArrayError::InvalidBaseComm {
                    given: comm.size(),
                    allowed: distribution.ranks(),
                });
            }
        }
        let plan = change.plan(comm.rank())?;
        let count = |rank| {
            src.local_shape(rank)
                .into_iter()
                .fold(1, usize::saturating_mul)
        };
        let stored = (0..src.ranks()).map(count).collect();
        let peers = plan
            .recvs()
            .iter()
            .map(|recv| Layout::c_order(&src.local_shape(recv.peer())))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            src: Arc::new(src.clone()),
            dst: Arc::new(dst.clone()),
            plan,
            comm,
            stored,
            peers,
            messages: Messages::default(),
        })
    }

    /// The plan of this rank. Local. Example: see [`Redistributor`].
    pub fn plan(&self) -> &RedistPlan {
        &self.plan
    }

    /// Moves what `src` owns to `dst`; padding of `dst` is left alone, unless the two distributions are the same: then all
    /// that is stored is copied. Collective.
    ///
    /// Fastest with both arrays in C order; sources in another order are sent by messages. Example: see [`Redistributor`].
    ///
    /// # Errors
    /// Before anything moves and the same on every rank: [`ArrayError::IncompatibleArray`] when an array is not distributed as
    /// planned, [`ArrayError::Agreed`] when a rank cannot have the memory for its messages. [`ArrayError::Comm`].
    pub fn execute<S1, D1, C1, S2, D2, C2>(
        &mut self,
        src: &LocalArrayBase<S1, D1, C1>,
        dst: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S1: Data<Elem: Element>,
        S2: DataMut<Elem = S1::Elem>,
        D1: Dimension,
        D2: Dimension,
        C1: Communicator,
        C2: Communicator,
    {
        check_planned("source", &self.src, &src.part)?;
        check_planned("destination", &self.dst, &dst.part)?;
        let (src, dst) = (src.data.view(), dst.data.view_mut());
        if self.plan.is_identity() {
            copy_all(&src, dst);
            return Ok(());
        }
        if self.comm.size() == 1 {
            // No rank to send to, none to agree with.
            return Ok(with_memory(&src, |from, from_layout| {
                with_memory_mut(dst, |to, to_layout| {
                    copy_local(&self.plan, (from, from_layout), (to, to_layout))
                })
            })???);
        }
        with_memory_mut(dst, |to, to_layout| {
            if self.lend(&src, (to, to_layout))? {
                return Ok(());
            }
            with_memory(&src, |from, from_layout| {
                self.exchange((from, from_layout), (to, to_layout))
            })?
        })?
    }

    /// Copies straight from the peers' memory; false, on all ranks, where it cannot be read, or a source is not in C order.
    fn lend<T: Element, D: Dimension>(
        &self,
        src: &ArrayView<'_, T, D>,
        (to, to_layout): (&mut [T], &Layout),
    ) -> Result<bool, ArrayError> {
        // What is lent is in C order, so that the peers need not be told how it lies. What lies otherwise is not lent, which
        // every rank sees: no rank copies anything then.
        let mine = src.as_slice().unwrap_or(&[]);
        let mine_layout = self.plan.src_layout()?;
        let mut complete = true;
        let mut outcome = Ok(());
        let lent = self.comm.lend(bytemuck::cast_slice(mine), &mut |parts| {
            let mut all = parts.iter().zip(&self.stored);
            complete = all.all(|(part, &stored)| part.len() / size_of::<T>() == stored);
            if !complete {
                return;
            }
            outcome = (|| {
                copy_local(&self.plan, (mine, &mine_layout), (to, to_layout))?;
                let recvs = self.plan.recvs().iter().zip(&self.peers);
                // Each rank begins with another peer, lest all read the same memory at once.
                let after = self
                    .plan
                    .recvs()
                    .partition_point(|recv| recv.peer() < self.plan.rank());
                let (before, after) = (recvs.clone().take(after), recvs.skip(after));
                for (recv, layout) in after.chain(before) {
                    let theirs = parts.get(recv.peer()).copied().unwrap_or(&[]);
                    strided::copy(recv, (theirs, layout), (to, to_layout))?;
                }
                Ok::<_, CopyError>(())
            })();
        })?;
        outcome?;
        Ok(lent && complete)
    }

    fn exchange<T: Element>(
        &mut self,
        src: (&[T], &Layout),
        dst: (&mut [T], &Layout),
    ) -> Result<(), ArrayError> {
        let mut job = Job {
            plan: &self.plan,
            src,
            dst,
            outcome: Ok(()),
        };
        let transfers = (self.plan.sends(), self.plan.recvs());
        self.messages
            .exchange(&self.comm, TAG, transfers, size_of::<T>(), &mut job)?;
        Ok(job.outcome?)
    }
}

fn check_planned(
    what: &'static str,
    planned: &Arc<Distribution>,
    part: &Part,
) -> Result<(), ArrayError> {
    let given = part.distribution();
    if Arc::ptr_eq(planned, given) || planned == given {
        return Ok(());
    }
    Err(ArrayError::IncompatibleArray {
        what,
        given: summary(given),
        allowed: format!("{}, as planned", summary(planned)),
    })
}

fn copy_local<T: Element>(
    plan: &RedistPlan,
    (from, from_layout): (&[T], &Layout),
    (to, to_layout): (&mut [T], &Layout),
) -> Result<(), CopyError> {
    plan.local()
        .map_or(Ok(()), |local| local.copy(from, from_layout, to, to_layout))
}

/// One copy of all that is stored.
fn copy_all<T: Element, D1: Dimension, D2: Dimension>(
    src: &ArrayView<'_, T, D1>,
    mut dst: ArrayViewMut<'_, T, D2>,
) {
    let dense = if src.strides() == dst.strides() {
        (src.as_slice_memory_order(), dst.as_slice_memory_order_mut())
    } else {
        (src.as_slice(), dst.as_slice_mut())
    };
    if let (Some(from), Some(to)) = dense
        && from.len() == to.len()
    {
        to.copy_from_slice(from);
        return;
    }
    for (slot, &element) in dst.iter_mut().zip(src) {
        *slot = element;
    }
}

/// Packs, keeps and unpacks for [`Communicator::exchange`].
struct Job<'a, T> {
    plan: &'a RedistPlan,
    src: (&'a [T], &'a Layout),
    dst: (&'a mut [T], &'a Layout),
    outcome: Result<(), CopyError>,
}

impl<T> Job<'_, T> {
    /// Keeps the first error: the messages go on, so that no peer waits in vain.
    fn note(&mut self, result: Result<(), CopyError>) {
        if self.outcome.is_ok() {
            self.outcome = result;
        }
    }
}

impl<T: Element> ExchangeJob for Job<'_, T> {
    fn pack(&mut self, i: usize, buf: &mut [u8]) {
        let result = strided::pack(&self.plan.sends()[i], self.src.0, self.src.1, buf);
        self.note(result);
    }

    fn local(&mut self) {
        let result = copy_local(self.plan, self.src, (self.dst.0, self.dst.1));
        self.note(result);
    }

    fn unpack(&mut self, i: usize, buf: &[u8]) {
        let result = strided::unpack(&self.plan.recvs()[i], buf, self.dst.0, self.dst.1);
        self.note(result);
    }
}
