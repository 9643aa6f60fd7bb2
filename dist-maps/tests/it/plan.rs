//! Redistribution plans: every pair of distributions, executed in memory, against brute force.

use std::collections::BTreeMap;

use dist_maps::copy::{CopyError, Layout};
use dist_maps::{
    AxisDist, Distribution, Explanation, MAX_LISTED, MapError, PlanError, RedistPlan,
    Redistribution,
};
use proptest::prelude::*;

use crate::simulate::{Order, Spec, Whole, deliver, flat, long, order, shape, whole};

/// (global flat index in the source, rank it was read from); a negative index was never written.
type Tagged = (i64, usize);

/// Executes a change on all ranks and compares every stored element. `from` gives, for an index of
/// the destination, that of the source.
fn check(
    change: &Redistribution<'_>,
    (src, dst): (&Whole, &Whole),
    orders: (Order, Order),
    padding: bool,
    from: impl Fn(&[i64]) -> Vec<i64>,
) {
    let ranks = src.ranks.max(dst.ranks);
    let plans: Vec<RedistPlan> = (0..ranks).map(|r| change.plan(r).unwrap()).collect();
    let start: Vec<Vec<Tagged>> = (0..ranks)
        .map(|rank| {
            let value = |cells: Vec<(i64, bool)>| {
                let index: Vec<i64> = cells.iter().map(|c| c.0).collect();
                let owned = cells.iter().all(|c| c.1);
                if owned {
                    (flat(&index, &src.shape()), rank)
                } else {
                    (-1, rank)
                }
            };
            let elements = src.elements(rank, Spec::stored);
            let elements: Vec<Tagged> = elements.into_iter().map(value).collect();
            orders.0.arrange(&src.extents(rank), &elements)
        })
        .collect();
    let untouched = (-2, usize::MAX);
    let empty: Vec<Vec<Tagged>> = (0..ranks)
        .map(|rank| vec![untouched; dst.elements(rank, Spec::stored).len()])
        .collect();
    let src_layout = |rank| orders.0.layout(&src.extents(rank));
    let dst_layout = |rank| orders.1.layout(&dst.extents(rank));

    let mut end = empty.clone();
    let ends: Vec<_> = plans.iter().map(|p| (p.sends(), p.recvs())).collect();
    deliver(&ends, &start, src_layout, &mut end, dst_layout);
    // the same again without messages: every receiver reads the peers' arrays
    let mut direct = empty;
    for (rank, plan) in plans.iter().enumerate() {
        assert_eq!(plan.rank(), rank);
        for t in plan.recvs().iter().chain(plan.local()) {
            let peer = t.peer();
            let layout = src_layout(peer);
            t.copy(&start[peer], &layout, &mut direct[rank], &dst_layout(rank))
                .unwrap();
        }
        if let Some(t) = plan.local() {
            let (from, to) = (src_layout(rank), dst_layout(rank));
            t.copy(&start[rank], &from, &mut end[rank], &to).unwrap();
        }
    }
    assert_eq!(direct, end);

    let mut volume = BTreeMap::new();
    for (rank, end) in end.iter().enumerate() {
        let expected: Vec<Tagged> = dst
            .elements(rank, |axis, coord| {
                let cells = axis.cells(coord);
                axis.stored(coord).into_iter().zip(cells).collect()
            })
            .into_iter()
            .map(|cells| {
                let index = |((g, owned), cell)| match cell {
                    _ if owned => Some(g),
                    crate::simulate::Cell::Halo(g) if padding => Some(g),
                    _ => None,
                };
                let index: Option<Vec<i64>> = cells.into_iter().map(index).collect();
                index.map_or(untouched, |index| {
                    let index = from(&index);
                    let owner = src.owner(&index);
                    *volume.entry((owner, rank)).or_insert(0) += 1;
                    (flat(&index, &src.shape()), owner)
                })
            })
            .collect();
        assert_eq!(
            orders.1.read(&dst.extents(rank), end),
            expected,
            "rank {rank}"
        );
    }

    change.verify().unwrap();
    check_account(&change.explain(3).unwrap(), ranks, &volume);
}

/// Compares an account, in elements of three bytes, with the elements from rank to rank.
fn check_account(cost: &Explanation, ranks: usize, volume: &BTreeMap<(usize, usize), u64>) {
    let pairs: BTreeMap<_, _> = cost
        .pairs()
        .iter()
        .map(|p| ((p.from, p.to), p.elements))
        .collect();
    assert_eq!(&pairs, volume);
    let local: u64 = volume
        .iter()
        .filter(|((a, b), _)| a == b)
        .map(|(_, n)| n)
        .sum();
    assert_eq!(cost.local_bytes(), 3 * u128::from(local));
    assert_eq!(
        cost.total_bytes(),
        3 * u128::from(volume.values().sum::<u64>())
    );
    let degree = |rank, end: fn(&(usize, usize)) -> usize| {
        volume
            .keys()
            .filter(|pair| pair.0 != pair.1 && end(pair) == rank)
            .count()
    };
    assert_eq!(
        cost.max_out_degree(),
        (0..ranks).map(|r| degree(r, |p| p.0)).max().unwrap()
    );
    assert_eq!(
        cost.max_in_degree(),
        (0..ranks).map(|r| degree(r, |p| p.1)).max().unwrap()
    );
}

fn pair() -> impl Strategy<Value = (Whole, Whole)> {
    shape().prop_flat_map(|shape| (whole(&shape, true), whole(&shape, false)))
}

/// One axis over many ranks, in two ways.
fn long_pair() -> impl Strategy<Value = (Whole, Whole)> {
    (0..150_i64).prop_flat_map(|n| (long(n), long(n)))
}

fn permuted() -> impl Strategy<Value = (Whole, Whole, Vec<usize>)> {
    shape().prop_flat_map(|shape| {
        let axes: Vec<usize> = (0..shape.len()).collect();
        Just(axes).prop_shuffle().prop_flat_map(move |axes| {
            let turned: Vec<i64> = axes.iter().map(|&axis| shape[axis]).collect();
            (whole(&shape, true), whole(&turned, false), Just(axes))
        })
    })
}

/// Two shapes of as many elements.
fn reshaped() -> impl Strategy<Value = (Whole, Whole)> {
    let factors = proptest::collection::vec(prop_oneof![Just(1), 2..4_i64, Just(5)], 0..4);
    let cuts = || proptest::collection::vec(0..4_usize, 0..3);
    (factors, cuts(), cuts(), any::<u8>()).prop_flat_map(|(factors, a, b, zero)| {
        let group = |mut cuts: Vec<usize>| {
            cuts.sort_unstable();
            let mut shape = Vec::new();
            let mut at = 0;
            for cut in cuts.into_iter().chain([factors.len()]) {
                let cut = cut.clamp(at, factors.len());
                shape.push(factors[at..cut].iter().product());
                at = cut;
            }
            if zero < 10 {
                shape.push(0);
            }
            if shape == [1] { Vec::new() } else { shape }
        };
        (whole(&group(a), true), whole(&group(b), false))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::cases(64)))]

    #[test]
    fn every_element_arrives_from_its_lowest_owner(
        (src, dst) in pair(), a in order(), b in order(),
    ) {
        let (from, to) = (src.distribution(), dst.distribution());
        let change = Redistribution::between(&from, &to);
        check(&change, (&src, &dst), (a, b), false, <[i64]>::to_vec);
    }

    #[test]
    fn padding_is_filled_on_request((src, dst) in pair(), a in order(), b in order()) {
        let (from, to) = (src.distribution(), dst.distribution());
        let change = Redistribution::between(&from, &to).filling_padding();
        check(&change, (&src, &dst), (a, b), true, <[i64]>::to_vec);
    }

    #[test]
    fn axes_are_permuted((src, dst, axes) in permuted(), a in order(), b in order()) {
        let (from, to) = (src.distribution(), dst.distribution());
        let change = Redistribution::between(&from, &to).permuted(&axes);
        check(&change, (&src, &dst), (a, b), false, |index| {
            let mut turned = vec![0; index.len()];
            for (&axis, &g) in axes.iter().zip(index) {
                turned[axis] = g;
            }
            turned
        });
    }

    #[test]
    fn reshapes_keep_the_flat_order((src, dst) in reshaped(), a in order(), b in order()) {
        let (from, to) = (src.distribution(), dst.distribution());
        let change = Redistribution::between(&from, &to).reshaped();
        let (src_shape, dst_shape) = (src.shape(), dst.shape());
        check(&change, (&src, &dst), (a, b), false, |index| {
            let mut rest = flat(index, &dst_shape);
            let mut unravelled = vec![0; src_shape.len()];
            for (i, n) in unravelled.iter_mut().zip(&src_shape).rev() {
                *i = rest % n;
                rest /= n;
            }
            unravelled
        });
    }

    #[test]
    fn larger_cyclic_patterns_meet_exactly(
        n in 0..3000_i64, p in 1..9_usize, b in 1..40_i64, q in 1..9_usize, c in 1..40_i64,
    ) {
        let one = |spec: Spec| {
            let ranks = spec.ranks();
            Whole::new(vec![spec], ranks, (0..ranks).collect())
        };
        let (src, dst) = (one(Spec::Cyclic(n, p, b)), one(Spec::Cyclic(n, q, c)));
        let (from, to) = (src.distribution(), dst.distribution());
        let change = Redistribution::between(&from, &to);
        check(&change, (&src, &dst), (Order::C, Order::C), false, <[i64]>::to_vec);
    }

    #[test]
    fn long_axes_meet_wherever_they_must((src, dst) in long_pair(), padding in any::<bool>()) {
        let (from, to) = (src.distribution(), dst.distribution());
        let change = Redistribution::between(&from, &to);
        let change = if padding { change.filling_padding() } else { change };
        check(&change, (&src, &dst), (Order::C, Order::C), padding, <[i64]>::to_vec);
    }

    #[test]
    fn a_gap_in_the_source_is_found(
        n in 1..30_i64, gaps in proptest::collection::btree_set(0..30_i64, 1..4), ranks in 1..4_usize,
    ) {
        let missing = gaps.iter().copied().find(|&g| g < n);
        let lists = vec![(0..n).filter(|g| !gaps.contains(g)).collect::<Vec<_>>()];
        let src = Distribution::from_axes(vec![Spec::Lists(n, lists).axis()], 1, vec![0]).unwrap();
        let dst = Spec::Cyclic(n, ranks, 1);
        let dst = Distribution::from_axes(vec![dst.axis()], ranks, (0..ranks).collect::<Vec<_>>());
        let dst = dst.unwrap();
        for rank in 0..ranks {
            let plan = RedistPlan::new(&src, &dst, rank);
            match missing {
                Some(index) => prop_assert_eq!(plan, Err(PlanError::Missing { axis: 0, index })),
                None => prop_assert!(plan.is_ok()),
            }
        }
    }
}

#[test]
fn bad_pairs_are_refused_on_every_rank() {
    let of = |shape: &[u64]| Distribution::over(2).shape(shape).block(0).build().unwrap();
    let (a, b, c) = (of(&[4, 6]), of(&[6, 4]), of(&[24]));
    for rank in 0..2 {
        let new = |src, dst| RedistPlan::new(src, dst, rank).unwrap_err();
        assert_eq!(
            new(&a, &b),
            PlanError::Extent {
                axis: 0,
                src: 4,
                dst: 6
            }
        );
        assert_eq!(new(&a, &c), PlanError::Dimensions { src: 2, dst: 1 });
        let twice = Redistribution::between(&a, &b).permuted(&[1, 1]).plan(rank);
        assert_eq!(
            twice.unwrap_err(),
            PlanError::Permutation {
                given: vec![1, 1],
                ndim: 2
            }
        );
        let d = of(&[25]);
        let filled = Redistribution::between(&a, &c).filling_padding();
        let refused = filled.reshaped().plan(rank).unwrap_err();
        assert_eq!(refused, PlanError::ReshapePadding);
        let larger = Redistribution::between(&a, &d).reshaped().plan(rank);
        assert_eq!(larger.unwrap_err(), PlanError::Size { src: 24, dst: 25 });
    }
    assert_eq!(
        RedistPlan::new(&a, &a, 2).unwrap_err(),
        PlanError::Rank { given: 2, ranks: 2 }
    );
}

#[test]
fn identity_is_the_same_answer_on_every_rank() {
    let d = Distribution::over(3)
        .shape([9, 5])
        .block(0)
        .padding(1)
        .build()
        .unwrap();
    let e = Distribution::over(3)
        .shape([9, 5])
        .block(0)
        .build()
        .unwrap();
    for rank in 0..3 {
        assert!(RedistPlan::new(&d, &d, rank).unwrap().is_identity());
        let plan = RedistPlan::new(&d, &e, rank).unwrap();
        assert!(plan.is_local() && !plan.is_identity());
    }
}

#[test]
fn extreme_free_indices_meet() {
    let axis = |list: &[i64]| {
        let lists: Vec<std::sync::Arc<[i64]>> = vec![list.into()];
        Distribution::from_axes(
            vec![dist_maps::AxisDist::unstructured_free(9, lists).unwrap()],
            1,
            vec![0],
        )
    };
    let src = axis(&[i64::MAX, 7, i64::MIN, -1, 0]).unwrap();
    let dst = axis(&[-1, i64::MIN, i64::MAX]).unwrap();
    let plan = RedistPlan::new(&src, &dst, 0).unwrap();
    let mut out = [0; 3];
    let local = plan.local().unwrap();
    let (from, to) = (plan.src_layout().unwrap(), plan.dst_layout().unwrap());
    local.copy(&[1, 2, 3, 4, 5], &from, &mut out, &to).unwrap();
    assert_eq!(out, [4, 3, 1]);
    let lacking = axis(&[5]).unwrap();
    let refused = RedistPlan::new(&src, &lacking, 0).unwrap_err();
    assert_eq!(refused, PlanError::Missing { axis: 0, index: 5 });
}

/// Elements of the messages as (from, to, elements).
pub(crate) fn messages(change: &Redistribution<'_>) -> Vec<(usize, usize, u64)> {
    let cost = change.explain(1).unwrap();
    cost.pairs()
        .iter()
        .map(|p| (p.from, p.to, p.elements))
        .collect()
}

#[test]
fn indices_outside_the_array_stay_behind_in_a_reshape() {
    // the source holds 7 and -1 too, which are no elements of an axis of size 4
    for lists in [[vec![0, 1, 7], vec![2, 3]], [vec![-1, 0, 1], vec![3, 2]]] {
        let src = Distribution::over(2)
            .shape([4])
            .unstructured_free(0, lists)
            .build()
            .unwrap();
        let dst = Distribution::over(2)
            .shape([2, 2])
            .block(0)
            .build()
            .unwrap();
        let change = Redistribution::between(&src, &dst).reshaped();
        change.verify().unwrap();
        let moved: usize = (0..2)
            .map(|rank| change.plan(rank).unwrap())
            .map(|plan| {
                let sent: usize = plan.sends().iter().map(dist_maps::Transfer::elements).sum();
                sent + plan.local().map_or(0, dist_maps::Transfer::elements)
            })
            .sum();
        assert_eq!(moved, 4);
    }
}

#[test]
fn padding_to_be_filled_is_no_identity() {
    let d = Distribution::over(2)
        .shape([6])
        .block(0)
        .padding(1)
        .build()
        .unwrap();
    assert!(
        Redistribution::between(&d, &d)
            .plan(0)
            .unwrap()
            .is_identity()
    );
    let filling = Redistribution::between(&d, &d)
        .filling_padding()
        .plan(0)
        .unwrap();
    assert!(!filling.is_identity());
    let received: Vec<_> = filling
        .recvs()
        .iter()
        .map(|t| (t.peer(), t.elements()))
        .collect();
    assert_eq!(received, [(1, 1)]);
}

#[test]
fn more_elements_than_128_bits_is_an_error() {
    let d = Distribution::over(1).shape([1 << 40; 4]).build().unwrap();
    let overflow = |e| matches!(e, PlanError::Overflow { .. });
    assert!(RedistPlan::new(&d, &d, 0).is_err_and(overflow));
    assert!(dist_maps::HaloPlan::new(&d, 0).is_err_and(overflow));
}

#[test]
fn golden_plans() {
    // 40 on two ranks, the same on two others
    let a = Distribution::over(4)
        .shape([40])
        .block(0)
        .grid([2])
        .targets([0, 1])
        .build()
        .unwrap();
    let b = Distribution::over(4)
        .shape([40])
        .block(0)
        .grid([2])
        .targets([2, 3])
        .build()
        .unwrap();
    assert_eq!(
        messages(&Redistribution::between(&a, &b)),
        [(0, 2, 20), (1, 3, 20)]
    );
    // 9 x 9 on 2 x 2 to one rank: four boxes split at 5
    let a = Distribution::over(4)
        .shape([9, 9])
        .block(0)
        .block(1)
        .build()
        .unwrap();
    let b = Distribution::over(4).shape([9, 9]).build().unwrap();
    let boxes = [(0, 0, 25), (1, 0, 20), (2, 0, 20), (3, 0, 16)];
    assert_eq!(messages(&Redistribution::between(&a, &b)), boxes);
    // reshape (40,) on 2 to (5, 8) on two rows
    let a = Distribution::over(2).shape([40]).block(0).build().unwrap();
    let b = Distribution::over(2)
        .shape([5, 8])
        .block(0)
        .build()
        .unwrap();
    let rows = [(0, 0, 20), (1, 0, 4), (1, 1, 16)];
    assert_eq!(messages(&Redistribution::between(&a, &b).reshaped()), rows);
    // (4, 4) on 2 x 2 to (16,) on 2: rank 1 sends 2..4 and 6..8
    let a = Distribution::over(4)
        .shape([4, 4])
        .block(0)
        .block(1)
        .build()
        .unwrap();
    let b = Distribution::over(4)
        .shape([16])
        .block(0)
        .grid([2])
        .build()
        .unwrap();
    let change = Redistribution::between(&a, &b).reshaped();
    assert_eq!(
        messages(&change),
        [(0, 0, 4), (1, 0, 4), (2, 1, 4), (3, 1, 4)]
    );
    let plan = change.plan(1).unwrap();
    let mut message = [0; 4];
    let layout = plan.src_layout().unwrap();
    plan.sends()[0]
        .pack(&[2, 3, 6, 7], &layout, &mut message)
        .unwrap();
    assert_eq!(message, [2, 3, 6, 7]);
    let mut out = [0; 8];
    let receiver = change.plan(0).unwrap();
    let recv = receiver.recvs().iter().find(|t| t.peer() == 1).unwrap();
    recv.unpack(&message, &mut out, &receiver.dst_layout().unwrap())
        .unwrap();
    assert_eq!(out, [0, 0, 2, 3, 0, 0, 6, 7]);
}

#[test]
fn the_account_reads() {
    let rows = Distribution::over(2)
        .shape([4, 6])
        .block(0)
        .build()
        .unwrap();
    let columns = Distribution::over(2)
        .shape([4, 6])
        .block(1)
        .build()
        .unwrap();
    let text = Redistribution::between(&rows, &columns)
        .explain(8)
        .unwrap()
        .to_string();
    let expected = "192 bytes on 2 ranks, 96 of them stay (50.0 %)\n\
                    a rank sends at most 48 bytes to 1 ranks, and receives at most 48 bytes from 1\n\
                    \x20    0 -> 1      48 bytes\n     1 -> 0      48 bytes\n";
    assert_eq!(text, expected);
}

/// A distribution of two dimensions, and the owner of an element by division.
type End<'a> = (&'a Distribution, &'a dyn Fn(u64, u64) -> u64);

#[test]
fn one_rank_of_a_large_grid_moves_what_its_elements_say() {
    let (n, m) = (777, 1001);
    let over = || Distribution::over(4096).shape([n, m]).grid([64, 64]);
    // 60 x 63 of the ranks own something
    let blocks = over().block(0).block(1).build().unwrap();
    let of_blocks = |i: u64, j: u64| i / 13 * 64 + j / 16;
    for dealt in [5, 64] {
        let cyclic = over().block_cyclic(0, dealt).block_cyclic(1, 7);
        let cyclic = cyclic.build().unwrap();
        let of_cyclic = |i: u64, j: u64| i / dealt % 64 * 64 + j / 7 % 64;
        let ends: [End<'_>; 2] = [(&blocks, &of_blocks), (&cyclic, &of_cyclic)];
        for (src, dst) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            for rank in [0, 77, 2080, 3774, 3775, 4095] {
                // (elements here in C order, those that go to and come from each rank)
                let mut here = Vec::new();
                let (mut sends, mut recvs) = (BTreeMap::new(), BTreeMap::new());
                for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i, j))) {
                    let (from, to) = (src.1(i, j), dst.1(i, j));
                    if from == rank {
                        here.push(i * m + j);
                        sends.entry(to).or_insert_with(Vec::new).push(i * m + j);
                    }
                    if to == rank {
                        *recvs.entry(from).or_insert(0) += 1;
                    }
                }
                let rank = usize::try_from(rank).unwrap();
                let plan = RedistPlan::new(src.0, dst.0, rank).unwrap();
                plan.verify().unwrap();
                let layout = plan.src_layout().unwrap();
                let message = |t: &dist_maps::Transfer| {
                    let mut message = vec![0; t.elements()];
                    t.pack(&here, &layout, &mut message).unwrap();
                    message.sort_unstable();
                    (t.peer() as u64, message)
                };
                let sent: BTreeMap<u64, Vec<u64>> = plan
                    .sends()
                    .iter()
                    .chain(plan.local())
                    .map(message)
                    .collect();
                assert_eq!(sent, sends, "rank {rank}");
                let received = plan.recvs().iter().chain(plan.local());
                let received: BTreeMap<u64, usize> =
                    received.map(|t| (t.peer() as u64, t.elements())).collect();
                assert_eq!(received, recvs, "rank {rank}");
            }
        }
    }
}

#[test]
fn plans_do_not_grow_with_elements() {
    // 2^40 elements an axis: as many pieces as for 65,536
    let pieces = |n: u64| {
        let a = Distribution::over(4096)
            .shape([n, n])
            .block(0)
            .block(1)
            .grid([64, 64])
            .build();
        let b = Distribution::over(4096)
            .shape([n, n])
            .block_cyclic(0, 64)
            .block_cyclic(1, 64);
        let (a, b) = (a.unwrap(), b.grid([64, 64]).build().unwrap());
        let plan = RedistPlan::new(&a, &b, 77).unwrap();
        let count = |t: &dist_maps::Transfer| {
            let sections = t.parts().iter().flat_map(dist_maps::Part::sections);
            sections
                .map(|s| match s {
                    dist_maps::Section::Axis { pieces, .. } => pieces.len(),
                    _ => 0,
                })
                .sum::<usize>()
        };
        let sends = plan.sends();
        (
            sends.len(),
            sends.iter().map(count).max().unwrap(),
            plan.sent(),
        )
    };
    // a block of 1,024 meets 16 of the 64 coordinates an axis
    assert_eq!(pieces(1 << 16), (256, 2, 1 << 20));
    let (peers, most, sent) = pieces(1 << 30);
    assert_eq!((peers, most), (4095, 2));
    assert_eq!(sent, (1 << 48) - (1 << 36));
    // and 2^40 in one dimension, cyclic to cyclic of another period
    let a = Distribution::over(7)
        .shape([1 << 40])
        .cyclic(0)
        .build()
        .unwrap();
    let b = Distribution::over(7)
        .shape([1 << 40])
        .block_cyclic(0, 1000)
        .build()
        .unwrap();
    assert_eq!(RedistPlan::new(&a, &b, 3).unwrap().rank(), 3);
}

#[test]
fn copies_within_a_small_array_allocate_nothing() {
    // 2^44 columns on one rank, both edges of the rows copied: far more than there is memory
    let d = Distribution::over(1)
        .shape([6, 1 << 44])
        .block(0)
        .padding(1)
        .periodic(0)
        .build()
        .unwrap();
    let plan = dist_maps::HaloPlan::new(&d, 0).unwrap();
    let local = plan.local().unwrap();
    assert_eq!(local.elements(), 2 << 44);
    let refused = local.copy_within(&mut [0_u8; 100], &plan.layout().unwrap());
    assert!(
        matches!(refused, Err(CopyError::OutOfBounds { len: 100, .. })),
        "{refused:?}"
    );
}

#[test]
fn a_reshape_in_a_layout_beyond_all_memory_is_refused() {
    let src = Distribution::over(1).shape([6]).build().unwrap();
    let dst = Distribution::over(1).shape([2, 3]).build().unwrap();
    let plan = Redistribution::between(&dst, &src)
        .reshaped()
        .plan(0)
        .unwrap();
    let far = Layout::new(0, &[isize::MAX, isize::MAX]);
    let mut out = [0; 6];
    let refused = plan
        .local()
        .unwrap()
        .copy(&[1; 6], &far, &mut out, &plan.dst_layout().unwrap());
    assert!(
        matches!(refused, Err(CopyError::OutOfBounds { .. })),
        "{refused:?}"
    );
    assert_eq!(out, [0; 6]);
}

#[test]
fn a_reshape_of_too_many_rows_is_refused_before_they_are_listed() {
    let long = i64::MAX.cast_unsigned();
    for (ranks, n) in [(1, long), (3, 1 << 40)] {
        let over = || Distribution::over(ranks);
        let dealt = over().shape([n]).cyclic(0).build().unwrap();
        let row = over().shape([1, n]).cyclic(1).build().unwrap();
        let blocks = over().shape([1, n]).block(1).build().unwrap();
        for (src, dst) in [
            (&dealt, &row),
            (&row, &dealt),
            (&dealt, &blocks),
            (&blocks, &dealt),
        ] {
            let change = Redistribution::between(src, dst).reshaped();
            let errors: Vec<_> = (0..ranks).map(|rank| change.plan(rank).err()).collect();
            let Some(PlanError::Map(MapError::TooManyToList { given, allowed })) = errors[0] else {
                panic!("{:?}", errors[0]);
            };
            assert_eq!(allowed, MAX_LISTED);
            assert!(given >= n / ranks as u64);
            assert!(errors.iter().all(|error| *error == errors[0]));
        }
        // a dimension that stays as it is needs no rows
        let column = dealt.reshape(&[n, 1]).unwrap();
        let change = Redistribution::between(&dealt, &column).reshaped();
        let plan = change.plan(0).unwrap();
        assert!(plan.is_local());
        let share = usize::try_from(n.div_ceil(ranks as u64)).unwrap();
        assert_eq!(plan.local().unwrap().elements(), share);
    }
    // what counts is a rank's share: here 4 lines of the 2^32 elements
    let over = || Distribution::over(4096);
    let flat = over().shape([1 << 32]).block(0).build().unwrap();
    let lines = over().shape([1 << 14, 1 << 18]).block(0).build().unwrap();
    let change = Redistribution::between(&flat, &lines).reshaped();
    let plan = change.plan(77).unwrap();
    assert!(plan.is_local());
    assert_eq!(plan.local().unwrap().elements(), 1 << 20);
    // as many lines as there may be dealt blocks of
    let dealt = over().shape([1 << 32]).block_cyclic(0, 1 << 18).build();
    let dealt = dealt.unwrap();
    let change = Redistribution::between(&dealt, &lines).reshaped();
    let plan = change.plan(77).unwrap();
    assert_eq!(plan.sends().len(), 4);
    assert_eq!(plan.sent(), 1 << 20);
    // nothing is listed of an array without elements
    let none = Distribution::over(2).shape([1 << 62, 0]).cyclic(0).build();
    let none = none.unwrap();
    let flat = Distribution::over(2).shape([0]).block(0).build().unwrap();
    for (src, dst) in [(&none, &flat), (&flat, &none)] {
        let plan = Redistribution::between(src, dst).reshaped().plan(1);
        let plan = plan.unwrap();
        assert!(plan.is_local() && plan.local().is_none());
    }
}

#[test]
fn an_index_on_several_ranks_goes_to_each_in_a_reshape() {
    let lists = vec![(0..1 << 12).collect::<Vec<i64>>(); 1 << 4];
    let shared = AxisDist::unstructured(1 << 12, lists).unwrap();
    let shared = Distribution::from_axes(vec![shared], 1 << 4, (0..1 << 4).collect::<Vec<_>>());
    let shared = shared.unwrap();
    let split = Distribution::over(1 << 4).shape([1 << 6, 1 << 6]).block(0);
    let split = split.build().unwrap();
    let change = Redistribution::between(&split, &shared).reshaped();
    let plan = change.plan(3).unwrap();
    assert_eq!(plan.sends().len(), 15); // each other rank wants what rank 3 has
    assert_eq!(plan.sent(), 15 << 8);
    change.verify().unwrap();
}
