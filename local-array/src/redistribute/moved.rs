//! [`moved_to`]: a copy in another distribution, for callers that know that the ranks agree.

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::Distribution;
use ndarray::{Data, Dimension};

use super::Redistributor;
use crate::part::check_ndim;
use crate::{ArrayError, LocalArray, LocalArrayBase};

/// Plans a movement: [`Redistributor::new`] or [`Redistributor::reshaped`].
type Planner<C> = fn(&Distribution, &Distribution, C) -> Result<Redistributor<C>, ArrayError>;

/// A copy in another distribution, or in another shape of as many elements. Collective.
///
/// `to` follows from what all ranks share, so nothing is compared; what
/// [`redistribute`](LocalArrayBase::redistribute) and
/// [`redistribute_reshaped`](LocalArrayBase::redistribute_reshaped) do after they have.
pub(crate) fn moved_to<T, S, D, D2, C>(
    array: &LocalArrayBase<S, D, C>,
    to: &Distribution,
) -> Result<LocalArray<T, D2, C>, ArrayError>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    if array.global_shape() == to.global_shape() {
        carried(array, to, Redistributor::new)
    } else {
        carried(array, to, Redistributor::reshaped)
    }
}

/// What a movement makes of an array. The errors before anything moves follow from the distributions, which are the same on
/// every rank.
pub(super) fn carried<T, S, D, D2, C>(
    array: &LocalArrayBase<S, D, C>,
    to: &Distribution,
    plan: Planner<C>,
) -> Result<LocalArray<T, D2, C>, ArrayError>
where
    T: Element,
    S: Data<Elem = T>,
    D: Dimension,
    D2: Dimension,
    C: Communicator + Clone,
{
    check_ndim::<D2>(to)?;
    let comm = &array.comm;
    let mut change = plan(array.distribution(), to, comm.clone())?;
    let mut moved = agree(comm, LocalArray::zeros(to, comm.clone()))?;
    change.execute(array, &mut moved)?;
    Ok(moved)
}
