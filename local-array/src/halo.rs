//! Halo exchange: padding filled from the ranks that own its elements.

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::{Communicator, ExchangeJob};
use dist_maps::copy::{CopyError, Layout};
use dist_maps::{Corners, Distribution, HaloPlan};
use ndarray::{DataMut, Dimension};

use crate::agreement::agreed;
use crate::part::summary;
use crate::redistribute::Messages;
use crate::strided::{self, with_memory_mut};
use crate::{ArrayError, LocalArrayBase};

/// The tag of the messages of a halo exchange.
const TAG: u32 = 0x4841;

/// A halo exchange, planned once and carried out many times: plan, messages and buffers are kept.
///
/// One packed message per neighbour; it waits for neighbours only, and is no barrier, but for the first exchange, and the first
/// with larger elements: in these all ranks agree that each has the memory for its messages.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, HaloExchanger, LocalArray};
/// use ndarray::Ix1;
///
/// let parts = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([6]).block(0).padding(1).build()?;
///     let mut halo = HaloExchanger::new(&blocks, comm)?;
///     let mut a = LocalArray::<i32, Ix1, _>::zeros(&blocks, comm)?;
///     for step in 1..=3 {
///         a.owned_mut().fill(step * 10 + comm.rank() as i32);
///         halo.exchange(&mut a)?; // collective
///     }
///     Ok::<_, ArrayError>(a.into_local().to_vec())
/// })?;
/// assert_eq!(parts, [[30, 30, 30, 31], [30, 31, 31, 31]]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct HaloExchanger<C> {
    distribution: Arc<Distribution>,
    plan: HaloPlan,
    comm: C,
    messages: Messages,
}

impl<C: Communicator> HaloExchanger<C> {
    /// Plans the exchange for arrays of this distribution, corners included. Local; every rank gives the same distribution.
    /// Example: see [`HaloExchanger`].
    ///
    /// # Errors
    /// [`ArrayError::InvalidBaseComm`], [`ArrayError::Plan`].
    pub fn new(distribution: &Distribution, comm: C) -> Result<Self, ArrayError> {
        Self::with_corners(distribution, Corners::Filled, comm)
    }

    /// The same, without corners if a stencil needs none. Local; every rank chooses the same.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::{Corners, Distribution};
    /// use local_array::{ArrayError, HaloExchanger, LocalArray};
    /// use ndarray::Ix2;
    ///
    /// ThreadComm::run(4, |comm| {
    ///     let grid = Distribution::over(4).shape([4, 4]).block(0).block(1).padding(1).build()?; // 2 × 2 blocks of 2 × 2
    ///     let mut halo = HaloExchanger::with_corners(&grid, Corners::Skipped, comm)?;
    ///     assert_eq!(halo.plan().recvs().len(), 2); // the two ranks beside this one
    ///     assert_eq!(HaloExchanger::new(&grid, comm)?.plan().recvs().len(), 3); // and the one across
    ///     let mut a = LocalArray::<u8, Ix2, _>::zeros(&grid, comm)?;
    ///     a.owned_mut().fill(1);
    ///     halo.exchange(&mut a)?; // collective
    ///     assert_eq!(a.local().map(|&x| i32::from(x)).sum(), 8); // of 3 × 3; the corner is not filled
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_corners(
        distribution: &Distribution,
        corners: Corners,
        comm: C,
    ) -> Result<Self, ArrayError> {
        if distribution.ranks() != comm.size() {
            return Err(ArrayError::InvalidBaseComm {
                given: comm.size(),
                allowed: distribution.ranks(),
            });
        }
        let plan = HaloPlan::with_corners(distribution, comm.rank(), corners)?;
        Ok(Self {
            distribution: Arc::new(distribution.clone()),
            plan,
            comm,
            messages: Messages::default(),
        })
    }

    /// The plan of this rank. Local. Example: see [`with_corners`](Self::with_corners).
    pub fn plan(&self) -> &HaloPlan {
        &self.plan
    }

    /// Fills the padding of `array` from the ranks that own its elements; on a periodic axis from the other end too. Without
    /// padding there is nothing to do. Collective. Example: see [`HaloExchanger`].
    ///
    /// # Errors
    /// [`ArrayError::IncompatibleArray`] when the array is not distributed as planned, [`ArrayError::Agreed`] when a rank cannot
    /// have the memory for its messages, the same on every rank; [`ArrayError::Comm`].
    pub fn exchange<S, D, C2>(
        &mut self,
        array: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem: Element>,
        D: Dimension,
        C2: Communicator,
    {
        let given = array.part.distribution();
        if !Arc::ptr_eq(&self.distribution, given) {
            if self.distribution != *given {
                return Err(ArrayError::IncompatibleArray {
                    what: "distribution",
                    given: summary(given),
                    allowed: format!("{}, as planned", summary(&self.distribution)),
                });
            }
            // The next comparison is one of addresses.
            self.distribution = Arc::clone(given);
        }
        with_memory_mut(array.data.view_mut(), |elements, layout| {
            self.exchange_in(elements, layout)
        })?
    }

    fn exchange_in<T: Element>(
        &mut self,
        elements: &mut [T],
        layout: &Layout,
    ) -> Result<(), ArrayError> {
        let mut job = Job {
            plan: &self.plan,
            elements,
            layout,
            outcome: Ok(()),
        };
        if self.comm.size() == 1 {
            job.local();
        } else {
            let transfers = (self.plan.sends(), self.plan.recvs());
            self.messages
                .exchange(&self.comm, TAG, transfers, size_of::<T>(), &mut job)?;
        }
        Ok(job.outcome?)
    }
}

struct Job<'a, T> {
    plan: &'a HaloPlan,
    elements: &'a mut [T],
    layout: &'a Layout,
    outcome: Result<(), CopyError>,
}

impl<T> Job<'_, T> {
    fn note(&mut self, result: Result<(), CopyError>) {
        if self.outcome.is_ok() {
            self.outcome = result;
        }
    }
}

impl<T: Element> ExchangeJob for Job<'_, T> {
    fn pack(&mut self, i: usize, buf: &mut [u8]) {
        let result = strided::pack(&self.plan.sends()[i], self.elements, self.layout, buf);
        self.note(result);
    }

    fn local(&mut self) {
        if let Some(local) = self.plan.local() {
            let result = local.copy_within(self.elements, self.layout);
            self.note(result);
        }
    }

    fn unpack(&mut self, i: usize, buf: &[u8]) {
        let result = strided::unpack(&self.plan.recvs()[i], buf, self.elements, self.layout);
        self.note(result);
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    /// Fills the padding from the ranks that own its elements; on a periodic axis from the other end too. Collective.
    ///
    /// Any width, over several neighbours, corners included. For repeated use see [`HaloExchanger`].
    ///
    /// An array without padding has nothing to be filled, which is no error: on one rank, or where an axis is not distributed,
    /// that is so in a program that is right. Where padding was forgotten, [`map_windows`](Self::map_windows) says so, with the
    /// width it needs.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     // a ring of 4 cells, 1..=4 of a shape of 4 + 2: the places 0 and 5 are for the other end
    ///     let ring = Distribution::over(2).shape([4 + 2]).block(0).padding(1).periodic(0).build()?;
    ///     let mut a = LocalArray::<i64, Ix1, _>::from_fn(&ring, comm, |g| if (1..=4).contains(&g[0]) { g[0] * 10 } else { 0 })?;
    ///     a.exchange_halo()?; // collective
    ///     let mut bare = LocalArray::<i64, Ix1, _>::ones(&Distribution::over(2).shape([6]).block(0).build()?, comm)?;
    ///     bare.exchange_halo()?; // nothing to do
    ///     assert!(matches!(bare.map_windows(1, |w| w.sum()), Err(ArrayError::Padding { axis: 0, given: 1, allowed: 0 })));
    ///     Ok::<_, ArrayError>(a.local().to_vec())
    /// })?;
    /// assert_eq!(parts, [[40, 10, 20, 30], [20, 30, 40, 10]]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::IncompatibleArray`] when the ranks have the array in different distributions,
    /// [`ArrayError::Agreed`] when the plan of a rank cannot be made, or the memory for its messages cannot be had; [`ArrayError::Comm`].
    pub fn exchange_halo(&mut self) -> Result<(), ArrayError> {
        let (comm, distribution) = (&self.comm, self.part.distribution());
        let planned = HaloExchanger::new(distribution, comm);
        let given = [("the distribution", Some(&**distribution))];
        let mut halo = agreed(comm, &given, planned)?;
        with_memory_mut(self.data.view_mut(), |elements, layout| {
            halo.exchange_in(elements, layout)
        })?
    }
}
