//! Laws of movement, padding and of what lies together.

use dist_comm::Communicator;
use local_array::ArrayError;
use proptest::prelude::*;

use super::kind;
use crate::support::arrays::{check, numbered};
use crate::support::plain::{self, Kind, cells};
use crate::support::{Outcome, ensure, same};

/// A shape, and two lists of kinds with their padding.
pub type Change = (Vec<u64>, [(Vec<Kind>, u64); 2]);

pub fn change() -> impl Strategy<Value = Change> {
    (0..4_usize).prop_flat_map(|ndim| {
        let kinds = || (prop::collection::vec(kind(), ndim), 0..4_u64);
        (prop::collection::vec(0..14_u64, ndim), [kinds(), kinds()])
    })
}

/// The two distributions.
fn both((shape, kinds): &Change, ranks: usize) -> [dist_maps::Distribution; 2] {
    [0, 1].map(|at| plain::distribution(shape, &kinds[at].0, kinds[at].1, ranks))
}

pub fn redistribution_and_back(change: &Change, comm: &dyn Communicator) -> Outcome {
    let [from, to] = both(change, comm.size());
    let a = numbered(&from, comm)?;
    let b = a.redistribute(&to)?;
    check(&b, |x| x, None, "there")?;
    check(&b.redistribute(&from)?, |x| x, None, "and back")
}

pub fn sums_do_not_depend_on_the_layout(change: &Change, comm: &dyn Communicator) -> Outcome {
    let [from, to] = both(change, comm.size());
    let (a, b) = (numbered(&from, comm)?, numbered(&to, comm)?);
    let n = plain::size(&change.0) as i64;
    same(a.sum()?, n * (n - 1) / 2, "sum")?;
    same(b.sum()?, a.sum()?, "sum of the other layout")?;
    same(b.max().ok(), (n > 0).then_some(n - 1), "max")?;
    same(b.gather_to(0)?, a.gather_to(0)?, "gathered")
}

pub fn padding_is_filled(change: &Change, comm: &dyn Communicator) -> Outcome {
    let [d, _] = both(change, comm.size());
    let wanted = numbered(&d, comm)?;
    let mut a = wanted.to_owned();
    for (x, (_, owned)) in a.local_mut().iter_mut().zip(cells(&d, comm.rank())) {
        if !owned {
            *x = -1;
        }
    }
    a.exchange_halo()?;
    if d.coords(comm.rank()).is_some() {
        same(a.local(), wanted.local(), "filled")?;
    }
    Ok(())
}

pub fn arrays_combine_exactly_when_their_elements_lie_together(
    change: &Change,
    comm: &dyn Communicator,
) -> Outcome {
    let ranks = comm.size();
    let [a, b] = both(change, ranks);
    let owned = |d: &dist_maps::Distribution, rank| -> Vec<Vec<i64>> {
        let owned = cells(d, rank).into_iter().filter(|cell| cell.1);
        owned.map(|cell| cell.0).collect()
    };
    let together = (0..ranks).all(|rank| owned(&a, rank) == owned(&b, rank));
    let (a, b) = (numbered(&a, comm)?, numbered(&b, comm)?);
    match &a + &b {
        Ok(sum) => {
            ensure(together, || "combined although they lie apart".into())?;
            check(&sum, |x| 2 * x, None, "sum")
        }
        Err(ArrayError::IncompatibleArray { .. }) => {
            ensure(!together, || "refused although they lie together".into())
        }
        Err(error) => Err(error.into()),
    }
}
