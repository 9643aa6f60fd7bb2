//! Random shapes, distributions and numbers of ranks.

use dist_comm::{Communicator, ThreadComm};
use local_array::{ArrayError, LocalArray};
use ndarray::IxDyn;
use proptest::prelude::*;

use crate::support::Outcome;
use crate::support::arrays::{check, numbered};
use crate::support::plain::{self, Kind, cells};

pub(crate) fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Block),
        Just(Kind::Balanced),
        any::<u64>().prop_map(Kind::Bounds),
        (1..6_u64).prop_map(Kind::Cyclic),
        any::<u64>().prop_map(Kind::List),
        Just(Kind::Whole),
    ]
}

/// A number of ranks, a shape, and two lists of kinds with their padding.
pub(crate) type Change = (usize, Vec<u64>, [(Vec<Kind>, u64); 2]);

pub(crate) fn change() -> impl Strategy<Value = Change> {
    (1..8_usize, 0..4_usize).prop_flat_map(|(ranks, ndim)| {
        let kinds = || (prop::collection::vec(kind(), ndim), 0..4_u64);
        (
            Just(ranks),
            prop::collection::vec(0..14_u64, ndim),
            [kinds(), kinds()],
        )
    })
}

pub(crate) fn on_threads(
    ranks: usize,
    f: impl Fn(&ThreadComm) -> Outcome + Sync,
) -> Result<(), TestCaseError> {
    ThreadComm::run(ranks, |comm| f(comm).map_err(|failure| failure.to_string()))
        .map(|_| ())
        .map_err(|error| TestCaseError::fail(error.to_string()))
}

/// 48 cases, unless the usual variable says otherwise.
pub(crate) fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(48);
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn redistribution_and_back((ranks, shape, [(from, p), (to, q)]) in change()) {
        let (from, to) = (plain::distribution(&shape, &from, p, ranks), plain::distribution(&shape, &to, q, ranks));
        on_threads(ranks, |comm| {
            let a = numbered(&from, comm)?;
            let b = a.redistribute(&to)?;
            check(&b, |x| x, None, "there")?;
            check(&b.redistribute(&from)?, |x| x, None, "and back")
        })?;
    }

    #[test]
    fn sums_do_not_depend_on_the_layout((ranks, shape, [(from, p), (to, q)]) in change()) {
        let (from, to) = (plain::distribution(&shape, &from, p, ranks), plain::distribution(&shape, &to, q, ranks));
        on_threads(ranks, |comm| {
            let (a, b) = (numbered(&from, comm)?, numbered(&to, comm)?);
            let n = plain::size(&shape) as i64;
            crate::support::same(a.sum()?, n * (n - 1) / 2, "sum")?;
            crate::support::same(b.sum()?, a.sum()?, "sum of the other layout")?;
            crate::support::same(b.max().ok(), (n > 0).then_some(n - 1), "max")?;
            crate::support::same(b.gather_to(0)?, a.gather_to(0)?, "gathered")
        })?;
    }

    #[test]
    fn padding_is_filled((ranks, shape, [(kinds, p), _]) in change()) {
        let d = plain::distribution(&shape, &kinds, p, ranks);
        on_threads(ranks, |comm| {
            let wanted = numbered(&d, comm)?;
            let mut a = wanted.to_owned();
            for (x, (_, owned)) in a.local_mut().iter_mut().zip(cells(&d, comm.rank())) {
                if !owned {
                    *x = -1;
                }
            }
            a.exchange_halo()?;
            if d.coords(comm.rank()).is_some() {
                crate::support::same(a.local(), wanted.local(), "filled")?;
            }
            Ok(())
        })?;
    }

    #[test]
    fn arrays_combine_exactly_when_their_elements_lie_together((ranks, shape, [(a, p), (b, q)]) in change()) {
        let (a, b) = (plain::distribution(&shape, &a, p, ranks), plain::distribution(&shape, &b, q, ranks));
        let owned = |d: &dist_maps::Distribution, rank| -> Vec<Vec<i64>> {
            cells(d, rank).into_iter().filter(|cell| cell.1).map(|cell| cell.0).collect()
        };
        let together = (0..ranks).all(|rank| owned(&a, rank) == owned(&b, rank));
        on_threads(ranks, |comm| {
            let (a, b) = (numbered(&a, comm)?, numbered(&b, comm)?);
            match &a + &b {
                Ok(sum) => {
                    crate::support::ensure(together, || "combined although they lie apart".into())?;
                    check(&sum, |x| 2 * x, None, "sum")
                }
                Err(ArrayError::IncompatibleArray { .. }) => {
                    crate::support::ensure(!together, || "refused although they lie together".into())
                }
                Err(error) => Err(error.into()),
            }
        })?;
    }
}

#[test]
fn an_error_leaves_no_rank_behind() {
    // one rank gives a part of the wrong shape: import fails on all of them, and the next call finds them in step
    let errors = ThreadComm::run(4, |comm| {
        let d = plain::distribution(&[8], &[Kind::Block], 0, 4);
        let a = LocalArray::<f64, IxDyn, _>::zeros(&d, comm)?;
        let wrong = if comm.rank() == 2 { 3 } else { 2 };
        let start = comm.rank() as u64 * 2;
        let dim = dap_protocol::DimDict::block(8, 4, comm.rank(), start..(start + wrong).min(8))?;
        let n = dim.stored_len() as usize;
        let part = dap_protocol::DistBuffer::new(
            dap_protocol::DimData::new(vec![dim]),
            dap_protocol::HostArray::new(vec![n], vec![0.0; n])?,
        )?;
        let refused: Result<LocalArray<f64, IxDyn, _>, _> = LocalArray::from_distarray(part, comm);
        a.sum()?;
        Ok::<_, ArrayError>(refused.err().map(|error| error.to_string()))
    })
    .unwrap();
    assert!(errors[0].is_some());
    assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
}
