//! Every row comes exactly once an epoch, whatever the number of ranks, and wherever it is cut.

use std::collections::BTreeSet;

use dist_torch::{Epoch, EpochOrder, LoaderState, Order, Schedule, Uneven};
use proptest::prelude::*;

/// The rows of all ranks of an epoch, step by step.
fn steps(epoch: &Epoch, ranks: usize) -> Vec<Vec<u64>> {
    let step = |step| {
        let parts: Vec<_> = (0..ranks)
            .map(|rank| epoch.rows(step, rank, ranks))
            .collect();
        // parts differ by one row at most, the longer ones first
        assert!(
            parts
                .windows(2)
                .all(|pair| (0..2).contains(&(pair[0].len() as i64 - pair[1].len() as i64)))
        );
        assert!(parts[0].len() - parts[ranks - 1].len() <= 1);
        let mut rows = Vec::new();
        for at in 0..parts[0].len() {
            rows.extend(parts.iter().filter_map(|part| part.get(at)));
        }
        assert_eq!(rows.len() as u64, epoch.step_len(step));
        rows
    };
    (0..epoch.steps()).map(step).collect()
}

#[test]
fn an_epoch_cut_anywhere_goes_on_on_any_number_of_ranks() {
    for n in 0..=40_u64 {
        for batch in 1..=7 {
            let schedule = Schedule::new(n, batch)
                .order(if n % 2 == 0 {
                    Order::Keyed
                } else {
                    Order::Torch
                })
                .seed(n);
            let epoch = schedule.epoch(batch).unwrap();
            let whole = steps(&epoch, 1);
            let mut all = whole.concat();
            assert_eq!(epoch.steps(), n.div_ceil(batch));
            all.sort_unstable();
            assert!(all.into_iter().eq(0..n), "{n} {batch}");
            for ranks in 1..=9 {
                // a batch has the same rows, in the same order, on any number of ranks
                assert_eq!(steps(&epoch, ranks), whole, "{n} {batch} {ranks}");
                for cut in 0..whole.len() {
                    let position = epoch.position_after(cut as u64);
                    let saved = schedule.state(batch, position, 1).to_bytes();
                    let rest = LoaderState::from_bytes(&saved).unwrap().epoch().unwrap();
                    assert_eq!(
                        steps(&rest, ranks),
                        whole[cut + 1..],
                        "{n} {batch} {ranks} {cut}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_epoch_may_go_on_with_batches_of_another_size() {
    for n in 0..=20_u64 {
        let schedule = Schedule::new(n, 3).seed(1);
        let whole: Vec<u64> = steps(&schedule.epoch(0).unwrap(), 1).concat();
        for position in 0..=n {
            for batch in 1..=7 {
                let state = schedule.state(0, position, 0).with_batch(batch);
                let rest = steps(&state.epoch().unwrap(), 4).concat();
                assert_eq!(rest, whole[position as usize..]);
            }
        }
    }
}

proptest! {
    #[test]
    fn padding_repeats_and_dropping_leaves_out(n in 0..60_u64, batch in 1..15_u64, ranks in 1..9_usize, start in 0..70_u64) {
        let order = || Order::Keyed.epoch(n, 3, 4).unwrap();
        let list: Vec<u64> = (0..n).map(|at| order().get(at).unwrap()).collect();
        let epoch = |uneven| Epoch::new(order(), batch).unwrap().uneven(uneven).starting_at(start);
        let rest = &list[(start.min(n)) as usize..];

        let padded = epoch(Uneven::Pad);
        let rows = steps(&padded, ranks).concat();
        prop_assert_eq!(rows.len() as u64, (rest.len() as u64).div_ceil(batch) * batch);
        prop_assert_eq!(&rows[..rest.len()], rest);
        let expected: Vec<u64> = list.iter().cycle().take(rows.len() - rest.len()).copied().collect();
        prop_assert_eq!(&rows[rest.len()..], &expected[..]);
        let real: usize = (0..padded.steps()).flat_map(|step| (0..ranks).map(move |rank| (step, rank)))
            .map(|(step, rank)| padded.real_rows(step, rank, ranks)).sum();
        prop_assert_eq!(real, rest.len());

        let dropped = epoch(Uneven::Drop);
        let rows = steps(&dropped, ranks).concat();
        prop_assert_eq!(rows.len() as u64, rest.len() as u64 / batch * batch);
        prop_assert_eq!(&rows[..], &rest[..rows.len()]);
    }

    #[test]
    fn orders_are_permutations(n in 0..400_u64, seed: u64, number: u64) {
        for order in [Order::Sequential, Order::Keyed, Order::Torch] {
            let epoch = order.epoch(n, seed, number).unwrap();
            let seen: BTreeSet<_> = (0..n).map(|at| epoch.get(at).unwrap()).collect();
            prop_assert!(seen.into_iter().eq(0..n));
            prop_assert_eq!(epoch.get(n), None);
        }
    }
}

#[test]
fn a_list_is_an_order_too() {
    let epoch = Epoch::new(EpochOrder::from_rows(vec![5, 5, 2]), 2).unwrap();
    assert_eq!(steps(&epoch, 2), [vec![5, 5], vec![2]]);
}

#[test]
fn epochs_differ_and_seeds_do() {
    let rows =
        |seed, epoch| steps(&Schedule::new(50, 50).seed(seed).epoch(epoch).unwrap(), 1).concat();
    let all = [rows(0, 0), rows(0, 1), rows(1, 0), rows(1, 1)];
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 4);
}
