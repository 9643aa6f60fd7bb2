//! The law of random arrays: they do not depend on the layout.

use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use local_array::LocalArray;
use local_array::random::Random;
use ndarray::{Axis, IxDyn};
use proptest::prelude::*;

use super::moving::{Change, change};
use crate::support::numpy::gathered;
use crate::support::{Outcome, ensure, plain, same};

/// A change, and a seed.
pub fn seeded() -> impl Strategy<Value = (Change, u64)> {
    (change(), any::<u64>())
}

pub fn layouts_do_not_matter(
    ((shape, layouts), seed): &(Change, u64),
    comm: &dyn Communicator,
) -> Outcome {
    let alone = Distribution::over(1).shape(shape.clone()).build()?;
    let mut random = Random::new(*seed);
    let normal: LocalArray<f64, IxDyn, _> = random.randn(&alone, SingleComm::new())?;
    let beta: LocalArray<f32, IxDyn, _> = random.beta(0.7, 2.0, &alone, SingleComm::new())?;
    let mut shuffled = normal.clone();
    if !shape.is_empty() {
        random.shuffle(&mut shuffled)?;
    }
    for (kinds, padding) in layouts {
        let d = plain::distribution(shape, kinds, *padding, comm.size());
        let mut random = Random::new(*seed);
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
                ensure(is_one, || format!("{row:?} is no row"))?;
            }
        }
    }
    Ok(())
}
