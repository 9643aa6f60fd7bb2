//! Placements against a plain list of owners, and plans against their definition.

use std::collections::{BTreeMap, BTreeSet};

use dist_maps::AxisDist;
use dist_torch::{Placement, ReadPlan, Share};
use proptest::prelude::*;

/// Rows, their owners in a plain list, and the placement that should say the same.
fn placements() -> impl Strategy<Value = (Vec<usize>, Placement)> {
    (0..30_u64, 1..7_usize, 0..5_u64, any::<u64>()).prop_map(|(rows, ranks, kind, seed)| {
        let (owners, share): (Vec<usize>, Share) = match kind {
            0 => {
                // as numpy.array_split does
                let (k, m) = (rows as usize / ranks, rows as usize % ranks);
                let lens = (0..ranks).map(|rank| k + usize::from(rank < m));
                let owners = lens
                    .enumerate()
                    .flat_map(|(rank, len)| vec![rank; len])
                    .collect();
                (owners, Share::Nsplit)
            }
            1 => (
                (0..rows as usize).map(|row| row % ranks).collect(),
                Share::Cyclic,
            ),
            2 => {
                let block = seed % 4 + 1;
                let owners = (0..rows)
                    .map(|row| (row / block) as usize % ranks)
                    .collect();
                (owners, Share::BlockCyclic(block))
            }
            _ => {
                let owner =
                    |row: u64| (seed.rotate_left((row * 7 % 64) as u32) ^ row) as usize % ranks;
                let owners: Vec<_> = (0..rows).map(owner).collect();
                let list = |rank| {
                    let mine = (0..rows as i64).filter(|&row| owners[row as usize] == rank);
                    if kind == 3 {
                        mine.collect()
                    } else {
                        mine.rev().collect::<Vec<_>>()
                    }
                };
                let lists: Vec<Vec<i64>> = (0..ranks).map(list).collect();
                let axis = AxisDist::unstructured(rows, lists).unwrap();
                (owners, Share::Axis(axis))
            }
        };
        let placement = Placement::new(rows, &share, (0..ranks).map(|rank| rank + 10)).unwrap();
        (owners, placement)
    })
}

proptest! {
    #[test]
    fn rows_are_where_the_list_says((owners, placement) in placements()) {
        let mut locals = BTreeMap::new();
        for &rank in placement.ranks() {
            let rows: Vec<u64> = placement.rows_on(rank).unwrap().collect();
            prop_assert_eq!(rows.len(), placement.rows_of(rank));
            for (local, &row) in rows.iter().enumerate() {
                prop_assert_eq!(owners[row as usize] + 10, rank);
                locals.insert(row, local);
            }
        }
        prop_assert_eq!(locals.len(), owners.len());
        for (row, owner) in owners.iter().enumerate() {
            let place = placement.locate(row as u64).unwrap();
            prop_assert_eq!((place.rank, place.local), (owner + 10, locals[&(row as u64)]));
        }
        prop_assert!(placement.locate(owners.len() as u64).is_err());
    }

    #[test]
    fn each_row_is_fetched_once_and_goes_to_all_its_places(
        (owners, placement) in placements(),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        runs: bool,
    ) {
        let n = owners.len();
        let mut rows: Vec<u64> = match n {
            0 => Vec::new(),
            _ => picks.iter().map(|pick| pick.index(n) as u64).collect(),
        };
        if runs {
            rows.sort_unstable();
        }
        let plan = ReadPlan::new(&placement, &rows).unwrap();
        let mut seen = vec![0; rows.len()];
        let mut fetched = BTreeSet::new();
        for fetch in plan.fetches() {
            prop_assert!(fetch.len > 0);
            for step in 0..fetch.len {
                let row = rows[fetch.at + step];
                let place = placement.locate(row).unwrap();
                prop_assert_eq!((place.rank, place.local), (fetch.rank, fetch.local + step));
                prop_assert!(fetched.insert(row), "row {} twice", row);
                seen[fetch.at + step] += 1;
            }
        }
        for repeat in plan.repeats() {
            prop_assert_eq!(rows[repeat.at], rows[repeat.first]);
            prop_assert!(repeat.first < repeat.at);
            prop_assert!(plan.fetches().iter().any(|f| (f.at..f.at + f.len).contains(&repeat.first)));
            seen[repeat.at] += 1;
        }
        prop_assert!(seen.iter().all(|&times| times == 1));
        // neighbours that could be one fetch are
        for pair in plan.fetches().windows(2) {
            let (a, b) = (pair[0], pair[1]);
            prop_assert!(a.at + a.len <= b.at);
            prop_assert!(!(a.rank == b.rank && a.local + a.len == b.local && a.at + a.len == b.at));
        }
    }
}
