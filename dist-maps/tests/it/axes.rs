//! Laws of one axis: its parts partition it, maps round-trip, owners and runs are right.

use std::collections::BTreeMap;

use dap_protocol::{DimData, DimDict};
use dist_maps::testkit::{Spec, axis};
use dist_maps::{
    AxisDist, BlockMap, CompactIndex, DimMap, GlobalIndex, IndexMap, LocalIndex, MapError,
    NOT_HERE, NOWHERE, Padding, compact_indices, map_from_dim_dict,
};
use proptest::prelude::*;

use crate::cases;

fn globals(map: &impl IndexMap) -> Vec<i64> {
    map.global_iter().map(GlobalIndex::get).collect()
}

/// Index → coordinate and position, from the brute-force reading.
fn table(spec: &Spec) -> BTreeMap<i64, (usize, usize)> {
    let each = |c| {
        spec.owned(c)
            .into_iter()
            .enumerate()
            .map(move |(l, g)| (g, (c, l)))
    };
    (0..spec.ranks()).flat_map(each).collect()
}

fn check(spec: &Spec) -> Result<(), TestCaseError> {
    let axis = spec.build().unwrap();
    let table = table(spec);
    let size = spec.size().cast_signed();
    prop_assert!(table.keys().copied().eq(0..size), "a partition");
    let queries: Vec<i64> = (-3..size + 3)
        .chain([i64::MIN, i64::MAX, 1 << 33])
        .collect();
    let (mut owner, mut local) = (vec![7; queries.len()], vec![7; queries.len()]);
    let mut wide = vec![7; queries.len()];
    let locator = axis.locator();
    locator
        .locate_bulk(&queries, &mut owner, &mut local)
        .unwrap();
    locator
        .locate_bulk_wide(&queries, &mut owner, &mut wide)
        .unwrap();
    for (i, &g) in queries.iter().enumerate() {
        let truth = table.get(&g).copied();
        prop_assert_eq!(axis.owner(g), truth.map(|t| t.0));
        prop_assert_eq!(
            axis.owners(g),
            truth.map(|t| t.0).into_iter().collect::<Vec<_>>()
        );
        prop_assert_eq!(locator.locate(g), truth);
        let (o, l) = truth.map_or((NOWHERE, NOWHERE), |(o, l)| {
            (u32::try_from(o).unwrap(), u32::try_from(l).unwrap())
        });
        prop_assert_eq!((owner[i], local[i]), (o, l));
        prop_assert_eq!(wide[i], if l == NOWHERE { u64::MAX } else { l.into() });
    }
    for coord in 0..spec.ranks() {
        let owned = spec.owned(coord);
        prop_assert_eq!(axis.owned_len(coord), owned.len());
        prop_assert_eq!(axis.owned_local(coord), 0..owned.len());
        let map = axis.map(coord).unwrap();
        prop_assert_eq!(&map, &map_from_dim_dict(map.dim_dict()).unwrap());
        prop_assert_eq!(map.size(), owned.len());
        prop_assert_eq!(&globals(&map), &owned);
        // runs cover exactly, and none can be merged with the next
        let runs: Vec<_> = map.runs().collect();
        let mut covered = Vec::new();
        for run in &runs {
            prop_assert!(run.len > 0);
            prop_assert_eq!(run.local, covered.len());
            covered.extend((run.global..).take(run.len));
        }
        prop_assert_eq!(&covered, &owned);
        let broken = owned
            .windows(2)
            .filter(|pair| pair[0] + 1 != pair[1])
            .count();
        prop_assert_eq!(runs.len(), if owned.is_empty() { 0 } else { broken + 1 });
        let mut here = vec![0; queries.len()];
        map.local_from_global_bulk(&queries, &mut here).unwrap();
        for (&g, &l) in queries.iter().zip(&here) {
            let truth = owned.iter().position(|&x| x == g);
            prop_assert_eq!(
                map.local_from_global(GlobalIndex::new(g)),
                truth.map(LocalIndex::new)
            );
            prop_assert_eq!(l, truth.unwrap_or(NOT_HERE));
        }
        let positions: Vec<usize> = (0..owned.len()).rev().collect();
        let mut back = vec![0; positions.len()];
        map.global_from_local_bulk(&positions, &mut back).unwrap();
        for (&l, &g) in positions.iter().zip(&back) {
            prop_assert_eq!(g, owned[l]);
            let one = map.global_from_local(LocalIndex::new(l));
            prop_assert_eq!(one, Some(GlobalIndex::new(g)));
        }
        let past = LocalIndex::new(owned.len());
        prop_assert_eq!(map.global_from_local(past), None);
        let error = map.global_from_local_bulk(&[owned.len()], &mut [0]);
        let expected = MapError::Local {
            given: owned.len(),
            len: owned.len(),
        };
        prop_assert_eq!(error, Err(expected));
        if let Some(told) = owned.first().and_then(|&g| map.owner(GlobalIndex::new(g))) {
            prop_assert_eq!(told, coord);
        }
    }
    // the same indices in the same order, whatever the canonical form
    let canonical = axis.canonical();
    for coord in 0..spec.ranks() {
        prop_assert_eq!(&globals(&canonical.map(coord).unwrap()), &spec.owned(coord));
    }
    prop_assert_eq!(&canonical.canonical(), &canonical);
    let listed = AxisDist::unstructured(spec.size(), (0..spec.ranks()).map(|c| spec.owned(c)));
    prop_assert_eq!(
        &listed.unwrap().canonical(),
        &canonical,
        "one form for one way of owning"
    );
    Ok(())
}

/// Owner and local position by division.
type Formula<'a> = &'a dyn Fn(u128) -> (u128, u128);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn an_axis_is_what_its_definition_says(spec in axis(40, 7)) {
        check(&spec)?;
    }

    #[test]
    fn lookup_in_bulk_agrees_with_division(
        size in prop_oneof![1_u64..5000, (1_u64 << 31) - 9..(1 << 31) + 9, 1_u64 << 40..1 << 62],
        ranks in 1_usize..70_000,
        block in prop_oneof![1_u64..200, 1_u64..1 << 40],
        seeds in prop::collection::vec(any::<u64>(), 600),
    ) {
        let n = u128::from(size);
        let p = ranks as u128;
        let b = u128::from(block);
        let ceil = n.div_ceil(p);
        let (short, longer) = (n / p, n % p);
        let query: Vec<i64> = seeds.iter().map(|s| (s % size).cast_signed()).collect();
        let (mut owner, mut local) = (vec![0; query.len()], vec![0; query.len()]);
        let ceiled: Formula<'_> = &|g| (g / ceil, g % ceil);
        let balanced: Formula<'_> = &|g| if g < longer * (short + 1) {
            (g / (short + 1), g % (short + 1))
        } else {
            let rest = g - longer * (short + 1);
            (longer + rest / short, rest % short)
        };
        let floored: Formula<'_> = &|g| {
            let c = (p * (g + 1) - 1) / n;
            (c, g - n * c / p)
        };
        let dealt: Formula<'_> = &|g| (g / b % p, g / b / p * b + g % b);
        for (axis, formula) in [
            (AxisDist::block(size, ranks).unwrap(), ceiled),
            (AxisDist::block_balanced(size, ranks).unwrap(), balanced),
            (AxisDist::block_floor(size, ranks).unwrap(), floored),
            (AxisDist::cyclic(size, ranks, block).unwrap(), dealt),
        ] {
            let locator = axis.locator();
            locator.locate_bulk_wide(&query, &mut owner, &mut local).unwrap();
            for ((&g, &o), &l) in query.iter().zip(&owner).zip(&local) {
                let truth = formula(g.cast_unsigned().into());
                prop_assert_eq!((u128::from(o), u128::from(l)), truth, "{} of {:?}", g, axis.kind());
                let coord = usize::try_from(o).unwrap();
                prop_assert_eq!(axis.owner(g), Some(coord));
            }
            let coord = usize::try_from(owner[0]).unwrap();
            let map = axis.map(coord).unwrap();
            let here = map.local_from_global(GlobalIndex::new(query[0])).unwrap();
            prop_assert_eq!(here.get() as u64, local[0]);
            prop_assert_eq!(map.global_from_local(here).unwrap().get(), query[0]);
        }
    }

    #[test]
    fn padding_is_stored_and_not_owned(
        spec in axis(30, 6),
        (lower, upper) in (0_u64..6, 0_u64..6),
    ) {
        let plain = spec.build().unwrap();
        let Ok(axis) = plain.clone().with_padding(lower, upper) else {
            prop_assert!(plain.kind() != "b");
            return Ok(());
        };
        for coord in 0..spec.ranks() {
            let owned = spec.owned(coord);
            let stored = globals(&axis.map(coord).unwrap());
            let (Some(&first), Some(&last)) = (owned.first(), owned.last()) else {
                prop_assert!(stored.is_empty());
                continue;
            };
            let low = (first - lower.cast_signed()).max(0);
            let high = (last + upper.cast_signed()).min(spec.size().cast_signed() - 1);
            prop_assert_eq!(&stored, &(low..=high).collect::<Vec<_>>());
            prop_assert_eq!(&stored[axis.owned_local(coord)], &owned[..]);
        }
    }
}

#[test]
fn sizes_up_to_the_largest_need_no_memory() {
    let n = i64::MAX.unsigned_abs();
    for axis in [
        AxisDist::block(n, 7).unwrap(),
        AxisDist::block_balanced(n, 7).unwrap(),
        AxisDist::block_floor(n, 7).unwrap(),
        AxisDist::cyclic(n, 7, 1).unwrap(),
        AxisDist::cyclic(n, 7, 64).unwrap(),
        AxisDist::cyclic(n, 7, n).unwrap(),
        AxisDist::cyclic(n, 7, u64::MAX).unwrap(),
    ] {
        let total: u128 = (0..7).map(|c| axis.owned_len(c) as u128).sum();
        assert_eq!(total, u128::from(n));
        for g in [0, 1, i64::MAX / 2, i64::MAX - 1] {
            let coord = axis.owner(g).unwrap();
            let map = axis.map(coord).unwrap();
            let local = map.local_from_global(GlobalIndex::new(g)).unwrap();
            assert_eq!(map.global_from_local(local), Some(GlobalIndex::new(g)));
            assert_eq!(axis.locator().locate(g), Some((coord, local.get())));
            assert!(map.runs().next().is_some());
        }
        assert_eq!(axis.owner(i64::MAX), None);
        assert_eq!(axis.owner(-1), None);
    }
    assert!(matches!(
        AxisDist::block(n + 1, 7),
        Err(MapError::Size { .. })
    ));
    assert!(matches!(
        AxisDist::block(n, usize::MAX),
        Err(MapError::Ranks { .. })
    ));
    assert!(matches!(
        AxisDist::cyclic(n, 0, 1),
        Err(MapError::Ranks { .. })
    ));
    assert_eq!(
        AxisDist::cyclic(n, 1, 0),
        Err(MapError::BlockSize { axis: None })
    );
}

#[test]
fn indices_on_several_ranks_and_on_none() {
    let axis = AxisDist::unstructured(9, [vec![4, 1], vec![1, 8]]).unwrap();
    assert!(!axis.is_one_to_one());
    assert_eq!(axis.owners(1), [0, 1]);
    assert_eq!(axis.owner(0), None);
    assert_eq!(axis.locator().locate(1), Some((0, 1)));
    let sparse = AxisDist::unstructured(1 << 50, [vec![1 << 49, 5], vec![5, 6]]).unwrap();
    assert_eq!(sparse.locator().locate(5), Some((0, 1)));
    assert_eq!(sparse.locator().locate(6), Some((1, 1)));
    assert_eq!(sparse.locator().locate(7), None);
    let error = AxisDist::unstructured(9, [vec![1, 2, 1]]);
    let repeated = MapError::RepeatedIndex {
        axis: None,
        coord: 0,
        given: 1,
    };
    assert_eq!(error, Err(repeated));
    let error = AxisDist::unstructured(9, [vec![-1]]);
    let outside = MapError::Index {
        axis: None,
        given: -1,
        size: 9,
    };
    assert_eq!(error, Err(outside));
    let free = DimDict::unstructured(9, 1, 0, vec![-7, i64::MAX, 3], false).unwrap();
    let map = map_from_dim_dict(&free).unwrap();
    assert_eq!(globals(&map), [-7, i64::MAX, 3]);
    let local = map.local_from_global(GlobalIndex::new(i64::MAX));
    assert_eq!(local, Some(LocalIndex::new(1)));
    assert_eq!(map.local_from_global(GlobalIndex::new(i64::MIN)), None);
}

#[test]
fn the_largest_and_the_smallest_index_are_found() {
    let lists = [
        vec![i64::MIN, i64::MAX - 1, i64::MAX],
        vec![i64::MAX, i64::MIN],
    ];
    let lists: Vec<std::sync::Arc<[i64]>> = lists.map(Into::into).into();
    let axis = AxisDist::unstructured_free(9, lists).unwrap();
    let locator = axis.locator();
    let (mut owner, mut local) = ([7; 5], [7; 5]);
    let query = [i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX, 0];
    locator.locate_bulk(&query, &mut owner, &mut local).unwrap();
    let none = dist_maps::NOWHERE;
    assert_eq!(owner, [0, none, 0, 0, none]);
    assert_eq!(local, [0, none, 1, 2, none]);
    for (&g, (&owner, &local)) in query.iter().zip(owner.iter().zip(&local)) {
        let place = (owner != none).then_some((owner as usize, local as usize));
        assert_eq!(locator.locate(g), place);
    }
}

#[test]
fn bulk_lookup_checks_its_slices() {
    let locator = AxisDist::block(1 << 40, 2).unwrap().locator();
    let (mut owner, mut local) = ([0; 2], [0; 2]);
    let error = locator.locate_bulk(&[1, 2], &mut owner, &mut local);
    assert!(matches!(error, Err(MapError::Size { .. })));
    let locator = AxisDist::block(10, 2).unwrap().locator();
    let error = locator.locate_bulk(&[1], &mut owner, &mut local);
    assert!(matches!(error, Err(MapError::Count { .. })));
}

#[test]
fn long_lists_convert_in_bulk() {
    let n = 100_000_i64;
    for offset in [0, -5, i64::MAX - n] {
        // every third one, so that the order is no run
        let list: Vec<i64> = (0..n).map(|i| offset + i * 3 % n).collect();
        let dict = DimDict::unstructured(1 << 20, 1, 0, list.clone(), true).unwrap();
        let map = map_from_dim_dict(&dict).unwrap();
        let positions: Vec<usize> = (0..list.len()).rev().collect();
        let (mut global, mut local) = (vec![0; list.len()], vec![0; list.len()]);
        map.global_from_local_bulk(&positions, &mut global).unwrap();
        assert!(global.iter().rev().eq(&list));
        map.local_from_global_bulk(&global, &mut local).unwrap();
        assert_eq!(local, positions);
        assert!(map.global_from_local_bulk(&[list.len()], &mut [0]).is_err());
    }
}

#[test]
fn block_maps_have_padding_and_wrap_around() {
    let inner = BlockMap::new(100, 3, 1, 20, 50).unwrap();
    assert_eq!((inner.size(), inner.owned_local()), (30, 0..30));
    let padded = inner.clone().with_padding(3, 4).unwrap();
    assert_eq!((padded.size(), padded.owned_local()), (30, 3..26));
    assert_eq!(globals(&padded), (20..50).collect::<Vec<_>>());
    // owned: 23..46
    let owner = |g| padded.owner(GlobalIndex::new(g));
    assert_eq!([22, 23, 45, 46].map(owner), [None, Some(1), Some(1), None]);
    let expected = DimDict::block(100, 3, 1, 20..50)
        .and_then(|dim| dim.with_padding(3, 4))
        .unwrap();
    assert_eq!(padded.dim_dict(), &expected);
    // at the outer edges padding is owned, on a periodic dimension too
    for (rank, start, stop, owned) in [(0, 0, 24, 0..20), (2, 46, 100, 3..54)] {
        for periodic in [false, true] {
            let map = BlockMap::new(100, 3, rank, start, stop).unwrap();
            let map = map.with_padding(3, 4).unwrap().with_periodic(periodic);
            assert_eq!(map.owned_local(), owned);
            assert_eq!(map.dim_dict().is_periodic(), periodic);
            assert_eq!(map.dim_dict().padding(), Padding::new(3, 4));
            let read = map_from_dim_dict(map.dim_dict()).unwrap();
            assert_eq!(read, DimMap::Block(map));
        }
    }
    let plain = padded.with_periodic(true).with_periodic(false);
    assert_eq!(plain.dim_dict(), &expected);
    assert!(inner.clone().with_padding(30, 0).is_ok());
    for (lower, upper) in [(30, 1), (u64::MAX, 1)] {
        let refused = inner.clone().with_padding(lower, upper).unwrap_err();
        assert!(refused.to_string().contains("B5"), "{refused}");
    }
}

/// What [`compact_indices`] gives enumerates what the rank stores, and is a list only where no slice
/// can be it.
fn check_compact(dict: &DimDict, stored: &[i64]) {
    let part = DimData::new(vec![dict.clone()]);
    assert_eq!(globals(&map_from_dim_dict(dict).unwrap()), stored);
    let found = compact_indices(&part).unwrap();
    let [found] = &found[..] else {
        panic!("one dimension");
    };
    match found {
        CompactIndex::Slice { start, stop, step } => {
            assert!(*step > 0 && *stop <= dict.size(), "{found:?}");
            let mut listed = Vec::new();
            let mut at = *start;
            while at < *stop {
                listed.push(at.cast_signed());
                at += step;
            }
            assert_eq!(listed, stored, "{found:?}");
        }
        CompactIndex::List(list) => {
            assert_eq!(list, stored);
            let steps: Vec<i64> = list.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let even = steps.iter().all(|&step| step > 0 && step == steps[0]);
            let inside = |g: &i64| (0..dict.size().cast_signed()).contains(g);
            let dealt = dict.dist_type() == "c";
            assert!(
                dealt || !even || !list.iter().all(inside),
                "{list:?} is a slice"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn compact_indices_enumerate_what_is_stored(
        spec in axis(14, 5), lower in 0_u64..4, upper in 0_u64..4,
        list in prop::collection::hash_set(-9_i64..30, 0..8), size in 1_u64..25,
    ) {
        let axis = spec.build().unwrap();
        for coord in 0..axis.ranks() {
            check_compact(&axis.dim_dict(coord).unwrap(), &spec.owned(coord));
        }
        // padding is stored too
        if let AxisDist::Block { bounds, .. } = &axis {
            let padded = axis.clone().with_padding(lower, upper).unwrap();
            for coord in 0..axis.ranks() {
                let dict = padded.dim_dict(coord).unwrap();
                let pad = padded.padding(coord);
                let (start, stop) = (bounds[coord] - pad.lower, bounds[coord + 1] + pad.upper);
                let stored: Vec<i64> = (start..stop).map(u64::cast_signed).collect();
                check_compact(&dict, &stored);
            }
        }
        // lists with any indices, in any order and in steps
        let list: Vec<i64> = list.into_iter().collect();
        check_compact(&DimDict::unstructured(size, 1, 0, &list[..], false).unwrap(), &list);
        let evens: Vec<i64> = (0..6).map(|i| lower.cast_signed() + 3 * i).collect();
        check_compact(&DimDict::unstructured(size, 1, 0, &evens[..], false).unwrap(), &evens);
    }
}
