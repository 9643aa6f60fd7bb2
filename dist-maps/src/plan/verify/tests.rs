//! Plans with one fault each.

use super::matched;
use crate::copy::Piece;
use crate::plan::{Part, PlanError, RedistPlan, Redistribution, Section, Transfer};
use crate::{AxisDist, Distribution};

/// The transfer with one section changed: piece by piece, of an axis.
pub(crate) fn changed(transfer: &Transfer, axis: usize, change: impl Fn(&mut Piece)) -> Transfer {
    let part = |part: &Part| {
        let mut sections = part.sections().to_vec();
        let Section::Axis { pieces, .. } = &mut sections[axis] else {
            panic!("an axis");
        };
        let mut list = pieces.to_vec();
        list.iter_mut().for_each(&change);
        *pieces = list.into();
        Part::new(sections).unwrap()
    };
    let parts = transfer.parts().iter().map(part).collect();
    Transfer::new(transfer.peer(), parts).unwrap()
}

/// The transfer with its place in the destination shifted along an axis.
pub(crate) fn shifted(transfer: &Transfer, axis: usize, by: isize) -> Transfer {
    changed(transfer, axis, |piece| {
        piece.dst = piece.dst.strict_add_signed(by);
    })
}

pub(crate) fn twice(axis: usize, position: usize) -> Result<(), PlanError> {
    Err(PlanError::WrittenTwice {
        rank: 0,
        axis,
        position,
    })
}

pub(crate) fn outside(axis: usize, position: usize) -> Result<(), PlanError> {
    Err(PlanError::Outside {
        rank: 0,
        axis,
        position,
    })
}

pub(crate) fn inexact(written: u128, allowed: u128) -> Result<(), PlanError> {
    Err(PlanError::Inexact {
        rank: 0,
        written,
        allowed,
    })
}

/// A 4 x 6 array on two ranks, by rows or by columns.
fn split(axis: usize) -> Distribution {
    let d = Distribution::over(2).shape([4, 6]).block(axis);
    d.build().unwrap()
}

/// Rank 0 keeps rows 0 and 1 of columns 0 to 2 and gets rows 2 and 3 of them from rank 1.
fn columns() -> RedistPlan {
    let plan = RedistPlan::new(&split(0), &split(1), 0).unwrap();
    assert_eq!(plan.verify(), Ok(()));
    plan
}

#[test]
fn a_box_given_twice() {
    let mut plan = columns();
    plan.recvs.push(plan.recvs[0].clone());
    assert_eq!(plan.verify(), twice(0, 2));
    // 2 elements twice and 3 missing: as many and one more
    let src = AxisDist::block_bounds([0, 2, 5]).unwrap();
    let src = Distribution::from_axes(vec![src], 2, [0, 1]).unwrap();
    let dst = AxisDist::block(5, 1).unwrap();
    let dst = Distribution::from_axes(vec![dst], 2, [0]).unwrap();
    let mut plan = RedistPlan::new(&src, &dst, 0).unwrap();
    assert_eq!(plan.verify(), Ok(()));
    plan.recvs = plan.local.iter().cloned().collect();
    assert_eq!(plan.verify(), twice(0, 0));
}

#[test]
fn a_scalar_given_twice() {
    let d = Distribution::over(1).shape([]).build().unwrap();
    let mut plan = RedistPlan::new(&d, &d, 0).unwrap();
    assert_eq!(plan.verify(), Ok(()));
    plan.recvs = plan.local.iter().cloned().collect();
    assert_eq!(plan.verify(), twice(0, 0));
    (plan.recvs, plan.local) = (Vec::new(), None);
    assert_eq!(plan.verify(), inexact(0, 1));
}

#[test]
fn a_box_that_is_missing() {
    let mut plan = columns();
    plan.recvs.clear();
    assert_eq!(plan.verify(), inexact(6, 12));
    plan.local = None;
    assert_eq!(plan.verify(), inexact(0, 12));
}

#[test]
fn a_box_in_another_place() {
    let mut plan = columns();
    let right = plan.recvs[0].clone();
    for (axis, by, expected) in [
        (0, -1, twice(0, 1)),
        (0, -2, twice(0, 0)),
        (0, 1, outside(0, 4)),
        (0, 9, outside(0, 11)),
        (1, 1, outside(1, 3)),
    ] {
        plan.recvs[0] = shifted(&right, axis, by);
        assert_eq!(plan.verify(), expected, "axis {axis} by {by}");
    }
    // into padding that is not to be filled
    let padded = Distribution::over(2).shape([4, 6]).block(1).padding(1);
    let padded = padded.build().unwrap();
    let mut plan = RedistPlan::new(&split(0), &padded, 0).unwrap();
    assert_eq!((plan.verify(), plan.dst_shape()), (Ok(()), &[4, 4][..]));
    plan.recvs[0] = shifted(&plan.recvs[0], 1, 1);
    assert_eq!(plan.verify(), outside(1, 3));
    // that which is to be filled is of the plan
    let (rows, change) = (split(0), |rows| {
        Redistribution::between(rows, &padded).filling_padding()
    });
    assert_eq!(change(&rows).verify(), Ok(()));
    let mut plan = change(&rows).plan(0).unwrap();
    plan.recvs[0] = shifted(&plan.recvs[0], 1, 1);
    assert_eq!(plan.verify(), outside(1, 4));
}

#[test]
fn a_box_that_overlaps_another() {
    let mut plan = columns();
    let longer = changed(&plan.local.take().unwrap(), 0, |piece| piece.len += 1);
    plan.local = Some(longer);
    assert_eq!(plan.verify(), twice(0, 2));
}

#[test]
fn the_axis_is_that_of_the_destination() {
    let turned = Distribution::over(2).shape([6, 4]).block(0);
    let turned = turned.build().unwrap();
    let rows = split(0);
    let change = Redistribution::between(&rows, &turned).permuted(&[1, 0]);
    let mut plan = change.plan(0).unwrap();
    // columns 0 to 2 are its rows; what rank 1 had is to be columns 2 and 3 of them
    plan.recvs[0] = shifted(&plan.recvs[0], 1, -1);
    assert_eq!(plan.verify(), twice(1, 1));
}

#[test]
fn rows_of_a_reshape() {
    let flat = Distribution::over(2).shape([40]).block(0);
    let flat = flat.build().unwrap();
    let table = Distribution::over(2).shape([5, 8]).block(0);
    let table = table.build().unwrap();
    // rank 0 gets rows 0 to 2: 0..20 of its own, 20..24 of rank 1
    let right = Redistribution::between(&flat, &table).reshaped().plan(0);
    let right = right.unwrap();
    assert_eq!(right.verify(), Ok(()));
    let with = |change: &dyn Fn(&mut Vec<usize>)| {
        let mut plan = right.clone();
        let Section::Rows { rows, .. } = &right.recvs[0].parts()[0].sections()[0] else {
            panic!("rows");
        };
        assert_eq!(rows[..], [0, 2, 4, 4]); // from 0; to 2, 4; 4 elements
        let mut list = rows.to_vec();
        change(&mut list);
        let mut section = right.recvs[0].parts()[0].sections()[0].clone();
        if let Section::Rows { rows, .. } = &mut section {
            *rows = list.into();
        }
        let part = Part::new(vec![section]).unwrap();
        plan.recvs[0] = Transfer::new(1, vec![part]).unwrap();
        plan.verify()
    };
    assert_eq!(with(&|_| {}), Ok(()));
    assert_eq!(with(&|row| row[2] = 3), twice(0, 3));
    assert_eq!(with(&|row| row[1] = 1), twice(0, 4));
    assert_eq!(with(&|row| row[2] = 5), outside(1, 8));
    assert_eq!(with(&|row| row[1] = 3), outside(0, 3));
    assert_eq!(with(&|row| row[3] = 3), inexact(23, 24));
    assert_eq!(with(&|row| row.extend([0, 2, 4, 4])), twice(0, 4));
}

#[test]
fn ends_that_differ() {
    let (rows, columns) = (split(0), split(1));
    let plans: Vec<_> = (0..2)
        .map(|rank| RedistPlan::new(&rows, &columns, rank).unwrap())
        .collect();
    let check = |change: &dyn Fn(&mut Vec<RedistPlan>)| {
        let mut plans = plans.clone();
        change(&mut plans);
        let ends = plans.iter().map(|p| (p.rank(), p.sends(), p.recvs()));
        matched(&ends.collect::<Vec<_>>())
    };
    let unmatched = |from, to| Err(PlanError::Unmatched { from, to });
    assert_eq!(check(&|_| {}), Ok(()));
    assert_eq!(check(&|p| p[0].sends.clear()), unmatched(0, 1));
    assert_eq!(check(&|p| p[0].recvs.clear()), unmatched(1, 0));
    assert_eq!(
        check(&|p| p[1].sends[0] = shifted(&p[1].sends[0], 0, 1)),
        unmatched(1, 0)
    );
    let double = |list: &mut Vec<Transfer>| list.push(list[0].clone());
    assert_eq!(check(&|p| double(&mut p[0].sends)), unmatched(0, 1));
    assert_eq!(check(&|p| double(&mut p[0].recvs)), unmatched(1, 0));
    // to a rank that there is not
    let stray = |p: &mut Vec<RedistPlan>| {
        let parts = p[0].sends[0].parts().to_vec();
        p[0].sends.push(Transfer::new(7, parts).unwrap());
    };
    assert_eq!(check(&stray), unmatched(0, 7));
}
