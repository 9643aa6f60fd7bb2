//! `out`: results in arrays that are already there.

use dap_protocol::Element;
use dist_comm::Communicator;
use ndarray::{DataMut, Dimension};

use crate::agreement::in_step;
use crate::{ArrayError, LocalArray, LocalArrayBase, Redistributor};

/// Puts a result into `out`, which has the same shape and any distribution. Collective.
pub(crate) fn put_out<T, D1, C1, S, D2, C2>(
    result: &LocalArray<T, D1, C1>,
    out: &mut LocalArrayBase<S, D2, C2>,
) -> Result<(), ArrayError>
where
    T: Element,
    D1: Dimension,
    C1: Communicator,
    S: DataMut<Elem = T>,
    D2: Dimension,
    C2: Communicator,
{
    in_step(
        result.comm(),
        "out",
        &(result.part.laid(), out.part.laid()),
        check_out(result.global_shape(), out),
        Ok,
    )?;
    let (from, to) = (result.distribution(), out.distribution());
    if from.is_compatible(to) {
        // Nothing moves, and padding need not be the same.
        let elements = result.owned_elements();
        out.with_owned_elements(|owned| owned.copy_from_slice(&elements));
        return Ok(());
    }
    Redistributor::new(from, to, result.comm())?.execute(result, out)
}

/// Checks the shape of `out`.
fn check_out<S: ndarray::RawData, D: Dimension, C: Communicator>(
    shape: &[u64],
    out: &LocalArrayBase<S, D, C>,
) -> Result<(), ArrayError> {
    if out.global_shape() == shape {
        return Ok(());
    }
    Err(ArrayError::Shape {
        what: "out",
        given: out.global_shape().to_vec(),
        allowed: format!("{shape:?}"),
    })
}

/// Room for as many values.
pub(crate) fn room<A>(count: usize, rank: usize) -> Result<Vec<A>, ArrayError> {
    let mut all = Vec::new();
    all.try_reserve_exact(count)
        .map_err(|_| ArrayError::Allocation {
            rank,
            shape: vec![count],
            bytes: count.checked_mul(size_of::<A>()),
        })?;
    Ok(all)
}
