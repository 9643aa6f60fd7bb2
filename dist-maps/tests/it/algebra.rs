//! Laws of the algebra: every operation gives each rank the elements that it had.

use std::collections::BTreeMap;

use dist_maps::testkit::{DistSpec, distribution};
use dist_maps::{AxisDist, Distribution, Index, MapError, Slice};
use proptest::prelude::*;

use crate::cases;

/// What a rank owns, as (index tuple, index tuple) pairs are compared: all tuples of a product.
fn product(lists: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for list in lists {
        let longer = all.iter().flat_map(|head: &Vec<i64>| {
            list.iter().map(|&g| {
                let mut tuple = head.clone();
                tuple.push(g);
                tuple
            })
        });
        all = longer.collect();
    }
    all
}

/// What the crate says a rank owns, by its dictionaries, read element by element.
fn owned(d: &Distribution, rank: usize) -> Vec<Vec<i64>> {
    let Some(coords) = d.coords(rank) else {
        return Vec::new();
    };
    let lists: Vec<Vec<i64>> = d
        .axes()
        .iter()
        .zip(coords)
        .map(|(axis, c)| listed(axis, c))
        .collect();
    product(&lists)
}

fn listed(axis: &AxisDist, coord: usize) -> Vec<i64> {
    match axis {
        AxisDist::Block { bounds, .. } => (bounds[coord]..bounds[coord + 1])
            .map(u64::cast_signed)
            .collect(),
        AxisDist::Cyclic {
            size,
            ranks,
            block_size,
            ..
        } => (0..*size)
            .filter(|g| (g / block_size) % (*ranks as u64) == coord as u64)
            .map(u64::cast_signed)
            .collect(),
        AxisDist::Unstructured { indices, .. } => indices[coord].to_vec(),
    }
}

fn truth(spec: &DistSpec, rank: usize) -> Vec<Vec<i64>> {
    spec.owned(rank)
        .map_or_else(Vec::new, |lists| product(&lists))
}

fn flat(tuple: &[i64], shape: &[u64]) -> i64 {
    tuple
        .iter()
        .zip(shape)
        .fold(0, |at, (&i, &n)| at * n.cast_signed() + i)
}

/// Python's `range(n)[start:stop:step]`, one element at a time.
fn python_slice(n: i64, start: Option<i64>, stop: Option<i64>, step: i64) -> Vec<i64> {
    let from_end = |p: i64| if p < 0 { p + n } else { p };
    let in_slice = |g: i64| {
        let (start, stop) = (start.map(from_end), stop.map(from_end));
        if step > 0 {
            start.is_none_or(|s| g >= s) && stop.is_none_or(|s| g < s)
        } else {
            start.is_none_or(|s| g <= s) && stop.is_none_or(|s| g > s)
        }
    };
    let all: Vec<i64> = if step > 0 {
        (0..n).filter(|&g| in_slice(g)).collect()
    } else {
        (0..n).rev().filter(|&g| in_slice(g)).collect()
    };
    all.into_iter()
        .step_by(usize::try_from(step.abs()).unwrap())
        .collect()
}

fn items() -> impl Strategy<Value = Vec<Index>> {
    let position = || prop::option::of(-15_i64..15);
    let step = prop_oneof![-9_i64..=-1, 1_i64..=9];
    let slice = (position(), position(), step)
        .prop_map(|(start, stop, step)| Slice::new(start, stop, step).into());
    prop::collection::vec(
        prop_oneof![6 => slice, 2 => (-12_i64..12).prop_map(Index::At), 1 => Just(Index::Ellipsis)],
        0..4,
    )
}

/// The indices that an item takes of a dimension, or the single one with its dimension gone.
fn taken(item: Index, n: u64) -> Option<(Vec<i64>, bool)> {
    let n = n.cast_signed();
    match item {
        Index::At(at) => {
            let g = if at < 0 { at + n } else { at };
            (0..n).contains(&g).then_some((vec![g], true))
        }
        Index::Slice(slice) => {
            let text = format!("{slice:?}");
            // read the fields back from the text: they are private
            let field = |name: &str| {
                let from = text.find(&format!("{name}: ")).unwrap() + name.len() + 2;
                let rest = &text[from..];
                let rest = rest.strip_prefix("Some(").unwrap_or(rest);
                let end = rest
                    .find(|c: char| !(c.is_ascii_digit() || c == '-'))
                    .unwrap();
                rest[..end].parse::<i64>().ok()
            };
            let list = python_slice(n, field("start"), field("stop"), field("step").unwrap());
            Some((list, false))
        }
        Index::Ellipsis => None,
    }
}

/// The items with the ellipsis spelled out.
fn spelled(items: &[Index], ndim: usize) -> Option<Vec<Index>> {
    let full = Index::from(..);
    let count = items.iter().filter(|i| **i != Index::Ellipsis).count();
    let ellipses = items.len() - count;
    // only the first ellipsis is one; a later one is a full slice
    let named = count + ellipses.saturating_sub(1);
    if named > ndim {
        return None;
    }
    let mut all = Vec::new();
    let mut seen = false;
    for &item in items {
        if item != Index::Ellipsis {
            all.push(item);
        } else if seen {
            all.push(full);
        } else {
            all.extend(vec![full; ndim - named]);
            seen = true;
        }
    }
    while all.len() < ndim {
        all.push(full);
    }
    Some(all)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(64)))]

    #[test]
    fn a_distribution_is_what_its_definition_says(spec in distribution(3, 9)) {
        let d = spec.build().unwrap();
        prop_assert_eq!(d.global_shape(), &spec.shape()[..]);
        let mut owners = BTreeMap::new();
        let mut parts = Vec::new();
        for rank in 0..spec.ranks {
            let truth = truth(&spec, rank);
            prop_assert_eq!(d.is_empty_on(rank), truth.is_empty());
            prop_assert_eq!(&owned(&d, rank), &truth);
            let shape: usize = d.owned_shape(rank).iter().product();
            if spec.owned(rank).is_some() {
                prop_assert_eq!(shape, truth.len());
            }
            for tuple in truth {
                prop_assert!(owners.insert(tuple, rank).is_none());
            }
            parts.push(d.dim_data(rank).unwrap());
        }
        prop_assert_eq!(owners.len() as u64, d.global_size().unwrap());
        for (tuple, rank) in owners {
            prop_assert_eq!(d.owner(&tuple), Some(rank));
        }
        // from the parts of all ranks alone; those of scalars do not say which rank has it
        if spec.axes.is_empty() && spec.targets != [0] {
            return Ok(());
        }
        let again = Distribution::from_dim_data_per_rank(&parts).unwrap();
        prop_assert!(again.is_compatible(&d));
        prop_assert_eq!(again.compatibility_hash(), d.compatibility_hash());
    }

    #[test]
    fn compatible_means_the_same_elements_on_every_rank(
        a in distribution(2, 5), b in distribution(2, 5),
    ) {
        let (x, y) = (a.build().unwrap(), b.build().unwrap());
        let same = a.shape() == b.shape() && a.ranks == b.ranks
            && (0..a.ranks).all(|rank| truth(&a, rank) == truth(&b, rank));
        prop_assert_eq!(x.is_compatible(&y), same);
        prop_assert_eq!(x.compatibility_hash() == y.compatibility_hash(), same);
        // other words for the same
        let listed = x.axes().iter().map(|axis| {
            let lists = (0..axis.ranks()).map(|c| listed(axis, c));
            AxisDist::unstructured(axis.size(), lists).unwrap()
        });
        let listed = Distribution::from_axes(listed.collect(), x.ranks(), x.targets()).unwrap();
        prop_assert!(listed.is_compatible(&x));
        prop_assert_eq!(listed.compatibility_hash(), x.compatibility_hash());
        let dropped = x.drop_empty();
        prop_assert!(dropped.is_compatible(&x));
        prop_assert!(dropped.axes().iter().all(|axis| axis.ranks() == 1
            || (0..axis.ranks()).all(|c| axis.owned_len(c) > 0)));
    }

    #[test]
    fn a_slice_takes_what_numpy_takes(spec in distribution(3, 12), items in items()) {
        let d = spec.build().unwrap();
        let Some(all) = spelled(&items, d.ndim()) else {
            prop_assert!(d.slice(&items).is_err());
            return Ok(());
        };
        let taken: Option<Vec<_>> =
            all.iter().zip(d.global_shape()).map(|(&item, &n)| taken(item, n)).collect();
        let Some(taken) = taken else {
            let refused = matches!(d.slice(&items), Err(MapError::Index { .. }));
            prop_assert!(refused);
            return Ok(());
        };
        let sliced = d.slice(&items).unwrap();
        let new = sliced.distribution();
        let shape: Vec<u64> = taken.iter().filter(|t| !t.1).map(|t| t.0.len() as u64).collect();
        prop_assert_eq!(new.global_shape(), &shape[..]);
        for rank in 0..d.ranks() {
            // old tuples of the rank that lie in the slice, in the order of the new part
            let new_lists = new.coords(rank).map(|coords| new.axes().iter().zip(coords)
                .map(|(axis, c)| listed(axis, c)).collect::<Vec<_>>());
            let Some(new_lists) = new_lists else {
                let hits = truth(&spec, rank).into_iter().filter(|tuple| {
                    tuple.iter().zip(&taken).all(|(g, t)| t.0.contains(g))
                });
                prop_assert_eq!(hits.count(), 0);
                prop_assert_eq!(sliced.local(rank), None);
                continue;
            };
            let old = spec.owned(rank).unwrap();
            let local = sliced.local(rank).unwrap();
            let mut next = new_lists.iter();
            for (axis, (part, (list, gone))) in local.iter().zip(&taken).enumerate() {
                let expected: Vec<i64> = if *gone {
                    list.clone()
                } else {
                    let new_list = next.next().unwrap();
                    new_list.iter().map(|&k| list[usize::try_from(k).unwrap()]).collect()
                };
                let got: Vec<i64> = part.positions().iter().map(|&l| old[axis][l]).collect();
                prop_assert_eq!(&got, &expected, "axis {} rank {}", axis, rank);
                prop_assert_eq!(part.len(), expected.len());
            }
        }
        // nothing lost
        let total: usize = (0..d.ranks()).map(|rank| owned(new, rank).len()).sum();
        prop_assert_eq!(total as u64, new.global_size().unwrap());
    }

    #[test]
    fn transposing_and_reducing_keep_elements_in_place(
        spec in distribution(3, 6), seed in any::<u64>(), keep in any::<bool>(),
    ) {
        let d = spec.build().unwrap();
        let ndim = d.ndim();
        let mut order: Vec<usize> = (0..ndim).collect();
        if ndim > 0 {
            order.rotate_left(usize::try_from(seed % 3).unwrap() % ndim);
            if seed & 8 == 8 { order.reverse(); }
        }
        let turned = d.transpose(Some(&order)).unwrap();
        for rank in 0..d.ranks() {
            let mut expected: Vec<Vec<i64>> = truth(&spec, rank).iter()
                .map(|tuple| order.iter().map(|&axis| tuple[axis]).collect()).collect();
            expected.sort();
            let mut got = owned(&turned, rank);
            got.sort();
            prop_assert_eq!(got, expected);
        }
        let gone: Vec<usize> = (0..ndim).filter(|axis| seed >> (8 + axis) & 1 == 1).collect();
        let reduced = d.reduce(Some(&gone), keep).unwrap();
        // each result lies on the lowest of the ranks at the places that are reduced together
        let mut lowest: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
        for rank in 0..d.ranks() {
            if let Some(coords) = d.coords(rank) {
                let kept = (0..ndim).filter(|axis| !gone.contains(axis)).map(|axis| coords[axis]);
                let slot = lowest.entry(kept.collect()).or_insert(rank);
                *slot = (*slot).min(rank);
            }
        }
        // and there each axis that stays is what it was: extent, bounds, block size, lists
        let stays = |axis: &usize| !gone.contains(axis);
        let shape: Vec<u64> = (0..ndim).filter_map(|axis| {
            if stays(&axis) { Some(spec.shape()[axis]) } else { keep.then_some(1) }
        }).collect();
        prop_assert_eq!(reduced.global_shape(), &shape[..]);
        for rank in 0..d.ranks() {
            let holds = d.coords(rank).is_some_and(|coords| {
                let group: Vec<usize> = (0..ndim).filter(stays).map(|axis| coords[axis]).collect();
                lowest[&group] == rank
            });
            let lists = spec.owned(rank).filter(|_| holds).map(|lists| {
                lists.into_iter().enumerate().filter_map(|(axis, list)| {
                    if stays(&axis) { Some(list) } else { keep.then(|| vec![0]) }
                }).collect::<Vec<_>>()
            });
            let expected = lists.map_or_else(Vec::new, |lists| product(&lists));
            prop_assert_eq!(owned(&reduced, rank), expected, "rank {} without {:?}", rank, &gone);
        }
        for (coords, rank) in lowest {
            let mut coords = coords.into_iter();
            let full: Vec<usize> = if keep {
                (0..ndim).map(|axis| if gone.contains(&axis) { 0 } else { coords.next().unwrap() }).collect()
            } else {
                coords.collect()
            };
            prop_assert_eq!(reduced.rank_at(&full), Some(rank));
        }
    }

    #[test]
    fn concatenating_keeps_elements_in_place(
        spec in distribution(2, 6), more in distribution(2, 6), axis in 0_usize..2,
    ) {
        let a = spec.build().unwrap();
        if axis >= a.ndim() {
            prop_assert!(a.concatenate(&[&a], axis).is_err());
            return Ok(());
        }
        // with itself, and with whatever fits
        let b = more.build().unwrap();
        for (other, other_spec) in [(&a, &spec), (&b, &more)] {
            let Ok(joined) = a.concatenate(&[other], axis) else {
                prop_assert!(!std::ptr::eq(other, &raw const a));
                continue;
            };
            let offset = a.global_shape()[axis].cast_signed();
            for rank in 0..a.ranks() {
                let mut expected = truth(&spec, rank);
                expected.extend(truth(other_spec, rank).into_iter().map(|mut tuple| {
                    tuple[axis] += offset;
                    tuple
                }));
                expected.sort();
                let mut got = owned(&joined, rank);
                got.sort();
                prop_assert_eq!(got, expected);
            }
        }
    }

    #[test]
    fn reshaping_keeps_elements_in_place(spec in distribution(3, 6), split in 1_u64..7) {
        let d = spec.build().unwrap();
        let size = d.global_size().unwrap();
        let mut shapes = vec![vec![size], vec![1, size, 1]];
        if size.is_multiple_of(split) {
            shapes.push(vec![split, size / split]);
            shapes.push(vec![size / split, 1, split]);
        }
        let mut reversed = spec.shape();
        reversed.reverse();
        shapes.push(reversed);
        for shape in shapes {
            match d.reshape(&shape) {
                Ok(new) => {
                    prop_assert_eq!(new.global_shape(), &shape[..]);
                    for rank in 0..d.ranks() {
                        let mut expected: Vec<i64> = truth(&spec, rank).iter()
                            .map(|t| flat(t, &spec.shape())).collect();
                        expected.sort_unstable();
                        let mut got: Vec<i64> = owned(&new, rank).iter()
                            .map(|t| flat(t, &shape)).collect();
                        got.sort_unstable();
                        prop_assert_eq!(got, expected, "rank {} of {:?}", rank, shape);
                    }
                }
                Err(error) => {
                    prop_assert!(shape.iter().filter(|&&n| n > 1).count() > 1, "{}", error);
                    let is_box = matches!(error, MapError::NotABox { .. });
                    prop_assert!(is_box, "{}", error);
                }
            }
        }
        prop_assert!(d.reshape(&[size, 2]).is_err() || size == 0);
    }
}

#[test]
fn slices_of_dealt_axes_stay_dealt() {
    let over = |p: usize| Distribution::over(p).shape([1 << 40]);
    let cyclic = over(6).cyclic(0).build().unwrap();
    let sliced = cyclic
        .slice(&[Slice::new(Some(1), None, 4).into()])
        .unwrap();
    let new = sliced.distribution();
    assert_eq!(new.targets(), [1, 5, 3]); // 6 / gcd(4, 6)
    assert!(matches!(
        new.axes()[0],
        AxisDist::Cyclic {
            ranks: 3,
            block_size: 1,
            ..
        }
    ));
    let dealt = over(5).block_cyclic(0, 64).build().unwrap();
    for (start, step, block, ranks) in [
        (128, 1, 64, 5),
        (64 + 3, 16, 4, 5),
        (7, 320, 1, 1),
        (7, 192, 1, 5),
    ] {
        let sliced = dealt
            .slice(&[Slice::new(Some(start), None, step).into()])
            .unwrap();
        match &sliced.distribution().axes()[0] {
            AxisDist::Cyclic {
                ranks: r,
                block_size,
                ..
            } => assert_eq!((*r, *block_size), (ranks, block)),
            AxisDist::Block { .. } => assert_eq!(ranks, 1),
            other @ AxisDist::Unstructured { .. } => panic!("{}", other.kind()),
        }
    }
    let error = dealt.slice(&[(3..).into()]);
    assert!(matches!(error, Err(MapError::TooManyToList { .. })));
    let short = dealt.slice(&[(3..1000).into()]).unwrap();
    assert_eq!(short.distribution().global_shape(), [997]);
}

#[test]
fn joining_blocks_behind_blocks() {
    let a = Distribution::over(4)
        .shape([6])
        .block(0)
        .grid([2])
        .build()
        .unwrap();
    let b = Distribution::over(4)
        .shape([4])
        .block(0)
        .grid([2])
        .targets([2, 3])
        .build()
        .unwrap();
    let joined = a.concatenate(&[&b], 0).unwrap();
    assert_eq!(
        joined.axes()[0],
        AxisDist::block_bounds([0, 3, 6, 8, 10]).unwrap()
    );
    assert_eq!(joined.targets(), [0, 1, 2, 3]);
    let other = Distribution::over(4)
        .shape([4, 2])
        .block(0)
        .build()
        .unwrap();
    let error = a.concatenate(&[&b, &other], 0);
    assert!(matches!(error, Err(MapError::NotAligned { array: 2, .. })));
    let large = Distribution::over(4)
        .shape([i64::MAX.unsigned_abs()])
        .block(0)
        .build()
        .unwrap();
    assert!(matches!(
        large.concatenate(&[&large], 0),
        Err(MapError::Size { .. })
    ));
}

#[test]
fn ranks_on_other_lines_of_the_grid_cannot_be_joined() {
    let grid = |targets: [usize; 4]| {
        let d = Distribution::over(6).shape([4, 4]).block(0).block(1);
        d.grid([2, 2]).targets(targets).build().unwrap()
    };
    let a = grid([0, 1, 2, 3]);
    let swapped = a.concatenate(&[&grid([2, 3, 0, 1])], 0).unwrap();
    assert_eq!(swapped.targets(), [0, 1, 2, 3]);
    let more = a.concatenate(&[&grid([2, 3, 4, 5])], 0).unwrap();
    assert_eq!(more.targets(), [0, 1, 2, 3, 4, 5]);
    for targets in [[0, 2, 1, 3], [1, 0, 3, 2], [0, 4, 2, 3], [4, 1, 5, 3]] {
        let what = "ranks that share another part of the array";
        let refused = MapError::NotAligned {
            array: 1,
            axis: 0,
            what,
        };
        assert_eq!(a.concatenate(&[&grid(targets)], 0), Err(refused));
    }
}

#[test]
fn the_hash_is_the_same_everywhere() {
    // Computed by hand from the documented bytes with another implementation of FNV-1a.
    let d = Distribution::over(2).shape([6]).block(0).build().unwrap();
    let numbers: [u64; 10] = [2, 1, 6, 0, 3, 0, 3, 6, 0, 1];
    let bytes = numbers.iter().flat_map(|n| n.to_le_bytes());
    let expected = bytes.fold(14_695_981_039_346_656_037_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211)
    });
    assert_eq!(d.compatibility_hash(), expected);
}
