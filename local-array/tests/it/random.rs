//! Random arrays over random shapes and distributions.

use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use local_array::LocalArray;
use local_array::random::Random;
use ndarray::{Axis, IxDyn};
use proptest::prelude::*;

use crate::properties::{Change, change, config, on_threads};
use crate::support::numpy::gathered;
use crate::support::{plain, same};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn layouts_do_not_matter((ranks, shape, [(from, p), (to, q)]) in change(), seed in any::<u64>()) {
        layouts((ranks, shape, [(from, p), (to, q)]), seed)?;
    }
}

fn layouts((ranks, shape, layouts): Change, seed: u64) -> Result<(), TestCaseError> {
    let alone = Distribution::over(1)
        .shape(shape.clone())
        .build()
        .expect("one rank");
    let mut random = Random::new(seed);
    let fail = |error: local_array::ArrayError| TestCaseError::fail(error.to_string());
    let normal: LocalArray<f64, IxDyn, _> =
        random.randn(&alone, SingleComm::new()).map_err(fail)?;
    let beta: LocalArray<f32, IxDyn, _> = random
        .beta(0.7, 2.0, &alone, SingleComm::new())
        .map_err(fail)?;
    let mut shuffled = normal.clone();
    if !shape.is_empty() {
        random.shuffle(&mut shuffled).map_err(fail)?;
    }
    for (kinds, padding) in layouts {
        let d = plain::distribution(&shape, &kinds, padding, ranks);
        on_threads(ranks, |comm| {
            let mut random = Random::new(seed);
            let mut a: LocalArray<f64, IxDyn, _> = random.randn(&d, comm)?;
            same(gathered(&a)?.view(), normal.local(), "randn")?;
            let b: LocalArray<f32, IxDyn, _> = random.beta(0.7, 2.0, &d, comm)?;
            same(gathered(&b)?.view(), beta.local(), "beta")?;
            if !shape.is_empty() {
                random.shuffle(&mut a)?;
                same(gathered(&a)?.view(), shuffled.local(), "shuffle")?;
            }
            if comm.rank() == 0 && shape.first().is_some_and(|&n| n > 1) {
                // rows stay whole
                let whole = normal.local();
                for row in shuffled.local().axis_iter(Axis(0)) {
                    let is_one = whole.axis_iter(Axis(0)).any(|other| other == row);
                    crate::support::ensure(is_one, || format!("{row:?} is no row"))?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}
