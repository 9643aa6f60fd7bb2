//! Halo plans with one fault each.

use super::{Corners, HaloPlan};
use crate::plan::verify::tests::{changed, inexact, outside, shifted, twice};
use crate::plan::{self, PlanError};
use crate::{AxisDist, Distribution, Padding};

/// 8 x 8 on 2 x 2 ranks, padding 1. Rank 0 stores 5 x 5: column 4 of rank 1, row 4 of rank 2, the
/// corner of rank 3.
fn square(corners: Corners) -> HaloPlan {
    let d = Distribution::over(4).shape([8, 8]).block(0).block(1);
    let d = d.padding(1).build().unwrap();
    let plan = HaloPlan::with_corners(&d, 0, corners).unwrap();
    assert_eq!(plan.verify(), Ok(()));
    plan
}

/// One axis, the rank at coordinate `of` counted as rank 0.
fn line(bounds: [u64; 4], padding: Padding, of: usize) -> HaloPlan {
    let axis = AxisDist::block_bounds(bounds).unwrap();
    let axis = axis.with_padding(padding.lower, padding.upper).unwrap();
    let mut targets = [1, 2, 3];
    targets[of] = 0;
    let d = Distribution::from_axes(vec![axis], 4, targets).unwrap();
    let plan = HaloPlan::new(&d, 0).unwrap();
    assert_eq!(plan.verify(), Ok(()));
    plan
}

#[test]
fn a_box_given_twice() {
    let mut plan = square(Corners::Filled);
    plan.recvs.push(plan.recvs[2].clone());
    assert_eq!(plan.verify(), twice(0, 4));
    // 2 cells twice and 3 missing: as many and one more
    let mut plan = line([0, 4, 8, 12], Padding::new(2, 3), 1);
    assert_eq!(plan.recvs.len(), 2);
    plan.recvs[1] = plan.recvs[0].clone();
    assert_eq!(plan.verify(), twice(0, 0));
}

#[test]
fn a_box_that_is_missing() {
    let mut plan = square(Corners::Filled);
    plan.recvs.pop();
    assert_eq!(plan.verify(), inexact(8, 9));
    plan.recvs.clear();
    assert_eq!(plan.verify(), inexact(0, 9));
}

#[test]
fn a_box_in_another_place() {
    let mut plan = square(Corners::Filled);
    let right = plan.recvs[0].clone(); // rows 0 to 3 of column 4
    for (axis, by, expected) in [
        (0, 1, outside(0, 1)),  // row 4 is halo, the others are not
        (0, 2, outside(0, 5)),  // there is no row 5
        (1, 1, outside(1, 5)),  // nor a column 5
        (1, -1, outside(0, 0)), // column 3 is the rank's own
    ] {
        plan.recvs[0] = shifted(&right, axis, by);
        assert_eq!(plan.verify(), expected, "axis {axis} by {by}");
    }
}

#[test]
fn a_box_that_overlaps_another() {
    // the last of three ranks of 2 reaches 3 down: a cell of the first, two of the second
    let mut plan = line([0, 2, 4, 6], Padding::new(3, 0), 2);
    plan.recvs[0] = shifted(&plan.recvs[0], 0, 1);
    assert_eq!(plan.verify(), twice(0, 1));
    plan.recvs[0] = shifted(&plan.recvs[0], 0, -1);
    plan.recvs[0] = changed(&plan.recvs[0], 0, |piece| piece.len += 1);
    assert_eq!(plan.verify(), twice(0, 1));
}

#[test]
fn a_corner_that_is_to_be_skipped() {
    let corner = square(Corners::Filled).recvs[2].clone();
    let mut plan = square(Corners::Skipped);
    assert_eq!(plan.recvs.len(), 2);
    plan.recvs.push(corner);
    assert_eq!(plan.verify(), outside(0, 4));
}

#[test]
fn ends_that_differ() {
    let d = Distribution::over(2).shape([8]).block(0).padding(1);
    let d = d.build().unwrap();
    let plans = [0, 1].map(|rank| HaloPlan::new(&d, rank).unwrap());
    let check = |change: &dyn Fn(&mut [HaloPlan; 2])| {
        let mut plans = plans.clone();
        change(&mut plans);
        let ends = plans.each_ref().map(|p| (p.rank(), p.sends(), p.recvs()));
        plan::matched(&ends)
    };
    let unmatched = |from, to| Err(PlanError::Unmatched { from, to });
    assert_eq!(check(&|_| {}), Ok(()));
    assert_eq!(check(&|p| p[0].sends.clear()), unmatched(0, 1));
    assert_eq!(check(&|p| p[0].recvs.clear()), unmatched(1, 0));
    let shift = |p: &mut [HaloPlan; 2]| p[1].recvs[0] = shifted(&p[1].recvs[0], 0, 1);
    assert_eq!(check(&shift), unmatched(0, 1));
    let double = |p: &mut [HaloPlan; 2]| p[1].sends.push(p[1].sends[0].clone());
    assert_eq!(check(&double), unmatched(1, 0));
}
