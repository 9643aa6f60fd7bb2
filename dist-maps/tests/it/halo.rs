//! Halo plans: every stored cell against brute force.

use dist_maps::{Corners, Distribution, HaloPlan, PlanError};
use proptest::prelude::*;

use crate::simulate::{Cell, Order, Spec, Whole, deliver, flat, long, order, shape, whole};

/// Exchanges on all ranks, then compares every stored element.
fn check(whole: &Whole, order: Order, corners: Corners) {
    let dist = whole.distribution();
    let plan = |rank| HaloPlan::with_corners(&dist, rank, corners).unwrap();
    let plans: Vec<HaloPlan> = (0..whole.ranks).map(plan).collect();
    let start: Vec<Vec<i64>> = (0..whole.ranks)
        .map(|rank| {
            let value = |cells: Vec<(i64, bool)>| {
                let index: Vec<i64> = cells.iter().map(|c| c.0).collect();
                let owned = cells.iter().all(|c| c.1);
                if owned {
                    flat(&index, &whole.shape())
                } else {
                    -1
                }
            };
            let elements = whole.elements(rank, Spec::stored);
            let elements: Vec<i64> = elements.into_iter().map(value).collect();
            order.arrange(&whole.extents(rank), &elements)
        })
        .collect();
    let layout = |rank| order.layout(&whole.extents(rank));
    let mut end = start.clone();
    let ends: Vec<_> = plans.iter().map(|p| (p.sends(), p.recvs())).collect();
    deliver(&ends, &start, layout, &mut end, layout);
    for (rank, plan) in plans.iter().enumerate() {
        assert_eq!(plan.shape(), whole.extents(rank));
        if let Some(t) = plan.local() {
            t.copy_within(&mut end[rank], &layout(rank)).unwrap();
        }
        plan.verify().unwrap();
    }
    HaloPlan::verify_all(&dist, corners).unwrap();
    for rank in 0..whole.ranks {
        let before = order.read(&whole.extents(rank), &start[rank]);
        let expected: Vec<i64> = whole
            .elements(rank, Spec::cells)
            .into_iter()
            .zip(before)
            .map(|(cells, before)| {
                let halos = cells.iter().filter(|c| matches!(c, Cell::Halo(_))).count();
                let index: Option<Vec<i64>> = cells
                    .iter()
                    .map(|&cell| match cell {
                        Cell::Own(g) | Cell::Halo(g) => Some(g),
                        Cell::Outside => None,
                    })
                    .collect();
                let filled = match corners {
                    Corners::Filled => halos > 0,
                    Corners::Skipped => halos == 1,
                };
                index
                    .filter(|_| filled)
                    .map_or(before, |g| flat(&g, &whole.shape()))
            })
            .collect();
        assert_eq!(
            order.read(&whole.extents(rank), &end[rank]),
            expected,
            "rank {rank}"
        );
    }
}

fn any_array() -> impl Strategy<Value = Whole> {
    shape().prop_flat_map(|shape| whole(&shape, true))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(64)))]

    #[test]
    fn every_halo_cell_is_filled(whole in any_array(), order in order()) {
        check(&whole, order, Corners::Filled);
    }

    #[test]
    fn many_ranks_find_their_neighbours(whole in (0..150_i64).prop_flat_map(long)) {
        check(&whole, Order::C, Corners::Filled);
    }

    #[test]
    fn corners_can_be_left(whole in any_array(), order in order()) {
        check(&whole, order, Corners::Skipped);
    }
}

fn blocks(bounds: &[&[i64]], padding: (i64, i64), boundary: (i64, i64), periodic: bool) -> Whole {
    let axis = |b: &&[i64]| Spec::Block(b.to_vec(), padding, boundary, periodic);
    let axes: Vec<Spec> = bounds.iter().map(axis).collect();
    let ranks = axes.iter().map(Spec::ranks).product();
    Whole::new(axes, ranks, (0..ranks).collect())
}

#[test]
fn one_periodic_rank_copies_its_ends() {
    // 1..=8, boundary 2: the known answer is 5 6 3 4 5 6 3 4
    let d = Distribution::over(1)
        .shape([8])
        .boundary(0, 2, 2)
        .periodic(0)
        .build()
        .unwrap();
    let plan = HaloPlan::new(&d, 0).unwrap();
    assert!(plan.sends().is_empty() && plan.recvs().is_empty());
    let mut a: Vec<i32> = (1..=8).collect();
    let local = plan.local().unwrap();
    local.copy_within(&mut a, &plan.layout().unwrap()).unwrap();
    assert_eq!(a, [5, 6, 3, 4, 5, 6, 3, 4]);
}

#[test]
fn one_rank_without_an_interior_is_left_alone() {
    // everything is boundary: there is nothing to fill it from
    check(
        &blocks(&[&[0, 4]], (0, 0), (2, 2), true),
        Order::C,
        Corners::Filled,
    );
    let d = Distribution::over(1)
        .shape([4])
        .boundary(0, 2, 2)
        .periodic(0)
        .build()
        .unwrap();
    assert!(HaloPlan::new(&d, 0).unwrap().is_empty());
}

#[test]
fn wide_halos_reach_over_several_neighbours() {
    // (5, 6, 7) halos on (4, 4, 4) blocks, and 3 on a 2 x 5 array
    let wide = [5, 6, 7].map(|w| Spec::Block(vec![0, 4, 8, 12], (w, w), (0, 0), false));
    let whole = Whole::new(wide.to_vec(), 27, (0..27).collect());
    check(&whole, Order::C, Corners::Filled);
    check(
        &blocks(&[&[0, 1, 2], &[0, 3, 5]], (3, 3), (0, 0), false),
        Order::C,
        Corners::Filled,
    );
}

#[test]
fn wraps_more_than_once_and_over_empty_ranks() {
    // a period of 2 under boundaries of 5 and 4, with ranks that own nothing between
    let bounds: &[i64] = &[0, 3, 3, 6, 6, 11];
    check(
        &blocks(&[bounds], (4, 4), (5, 4), true),
        Order::C,
        Corners::Filled,
    );
    check(
        &blocks(&[bounds, bounds], (4, 4), (5, 4), true),
        Order::Fortran,
        Corners::Filled,
    );
    check(
        &blocks(&[bounds, bounds], (2, 1), (1, 1), true),
        Order::Reversed,
        Corners::Skipped,
    );
}

#[test]
fn messages_are_one_per_peer() {
    let d = Distribution::over(9)
        .shape([9, 9])
        .block(0)
        .block(1)
        .padding(2)
        .build()
        .unwrap();
    let plan = HaloPlan::new(&d, 4).unwrap();
    let peers: Vec<usize> = plan.recvs().iter().map(dist_maps::Transfer::peer).collect();
    assert_eq!(peers, [0, 1, 2, 3, 5, 6, 7, 8]);
    assert_eq!(
        plan.recvs()
            .iter()
            .map(dist_maps::Transfer::elements)
            .sum::<usize>(),
        49 - 9
    );
    let faces = HaloPlan::with_corners(&d, 4, Corners::Skipped).unwrap();
    let peers: Vec<usize> = faces
        .sends()
        .iter()
        .map(dist_maps::Transfer::peer)
        .collect();
    assert_eq!(peers, [1, 3, 5, 7]);
}

#[test]
fn a_message_that_does_not_fit_is_refused_whole() {
    // a torus of two ranks: each message has several boxes
    let d = Distribution::over(2)
        .shape([6, 6])
        .block(0)
        .padding(1)
        .periodic(0)
        .periodic(1)
        .build()
        .unwrap();
    let plan = HaloPlan::new(&d, 0).unwrap();
    let layout = plan.layout().unwrap();
    let full: usize = plan.shape().iter().product();
    let [recv] = plan.recvs() else {
        panic!("{plan:?}");
    };
    assert!(recv.parts().len() > 1);
    let message = vec![1; recv.elements()];
    let mut whole = vec![0; full];
    recv.unpack(&message, &mut whole, &layout).unwrap();
    let last = whole.iter().rposition(|&x| x == 1).unwrap();
    for len in 0..=last {
        let mut short = vec![0; len];
        let refused = recv.unpack(&message, &mut short, &layout);
        assert!(refused.is_err() && short.iter().all(|&x| x == 0), "{len}");
        let copied = recv.copy(&vec![1; full], &layout, &mut short, &layout);
        assert!(copied.is_err() && short.iter().all(|&x| x == 0), "{len}");
    }
}

#[test]
fn a_rank_that_does_not_exist_is_refused() {
    let d = Distribution::over(2).shape([4]).block(0).build().unwrap();
    let refused = HaloPlan::new(&d, 2).unwrap_err();
    assert_eq!(refused, PlanError::Rank { given: 2, ranks: 2 });
}
