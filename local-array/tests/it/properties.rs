//! The laws for random numbers of ranks, on threads.

use dist_comm::{Communicator, ThreadComm};
use local_array::{ArrayError, LocalArray};
use ndarray::IxDyn;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::support::Outcome;
use crate::support::laws::{self, every_law};
use crate::support::plain::{self, Kind};

/// 48 cases, unless the usual variable says otherwise.
fn config() -> ProptestConfig {
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

/// Checks a law on 1 to 7 thread ranks; a failure is told by its least input.
fn check<I: std::fmt::Debug + Sync>(
    inputs: impl Strategy<Value = I>,
    law: impl Fn(&I, &dyn Communicator) -> Outcome + Sync,
) {
    let outcome = TestRunner::new(config()).run(&(1..8_usize, inputs), |(ranks, input)| {
        ThreadComm::run(ranks, |comm| {
            law(&input, comm).map_err(|failure| failure.to_string())
        })
        .map(|_| ())
        .map_err(|error| TestCaseError::fail(error.to_string()))
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

macro_rules! tests {
    ($($area:ident $law:ident $inputs:ident;)*) => {$(
        #[test]
        fn $law() {
            check(laws::$area::$inputs(), laws::$area::$law);
        }
    )*};
}

every_law!(tests);

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
