//! Owner and local position of 10^6 random global indices, and back, beside the limit: copying them.
//!
//! Every id is `maps/<direction>/<kind>`; the limit of a direction is `maps/<direction>/copy`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dist_maps::{AxisDist, IndexMap, map_from_dim_dict};

const COUNT: usize = 1_000_000;

/// A fixed sequence of well mixed numbers.
struct Mix(u64);

impl Mix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// A permutation of `0..size` in lists of equal length.
fn lists(size: usize, ranks: usize) -> Vec<Arc<[i64]>> {
    let mut all: Vec<i64> = (0..i64::try_from(size).unwrap()).collect();
    let mut mix = Mix(7);
    for i in (1..size).rev() {
        let j = usize::try_from(mix.below(i as u64 + 1)).unwrap();
        all.swap(i, j);
    }
    all.chunks(size / ranks).map(Arc::from).collect()
}

fn axes() -> Vec<(&'static str, AxisDist)> {
    let n = 8_000_000;
    vec![
        ("block", AxisDist::block(n, 8).unwrap()),
        ("block-prime", AxisDist::block(n + 1, 7).unwrap()),
        (
            "block-balanced",
            AxisDist::block_balanced(n + 1, 7).unwrap(),
        ),
        ("block-floor", AxisDist::block_floor(n + 1, 7).unwrap()),
        ("cyclic", AxisDist::cyclic(n, 8, 1).unwrap()),
        ("cyclic-prime", AxisDist::cyclic(n, 7, 1).unwrap()),
        ("block-cyclic64", AxisDist::cyclic(n, 8, 64).unwrap()),
        ("block-cyclic64-prime", AxisDist::cyclic(n, 7, 64).unwrap()),
        (
            "block-cyclic100-prime",
            AxisDist::cyclic(n, 7, 100).unwrap(),
        ),
        (
            "unstructured",
            AxisDist::unstructured(COUNT as u64, lists(COUNT, 8)).unwrap(),
        ),
        ("block-wide", AxisDist::block(1 << 40, 7).unwrap()),
        ("cyclic-wide", AxisDist::cyclic(1 << 40, 7, 1).unwrap()),
    ]
}

fn global_to_local(c: &mut Criterion) {
    let mut group = c.benchmark_group("maps/global_to_local");
    group.throughput(Throughput::Elements(COUNT as u64));
    let mut copy = vec![0_i64; COUNT];
    let mut owner = vec![0_u32; COUNT];
    let mut local = vec![0_u32; COUNT];
    let mut wide = vec![0_u64; COUNT];
    for (kind, axis) in axes() {
        let mut mix = Mix(1);
        let global: Vec<i64> = (0..COUNT)
            .map(|_| i64::try_from(mix.below(axis.size())).unwrap())
            .collect();
        if kind == "block" {
            group.bench_function("copy", |b| {
                b.iter(|| copy.copy_from_slice(black_box(&global)));
            });
        }
        let locator = axis.locator();
        let is_wide = axis.size() > 1 << 32;
        let mut run = || {
            if is_wide {
                locator.locate_bulk_wide(black_box(&global), &mut owner, &mut wide)
            } else {
                locator.locate_bulk(black_box(&global), &mut owner, &mut local)
            }
        };
        run().unwrap();
        for i in [0, 1, COUNT - 1] {
            let (coord, position) = locator.locate(global[i]).unwrap();
            assert_eq!(axis.owner(global[i]), Some(coord), "{kind}");
            assert_eq!(owner[i] as usize, coord, "{kind}");
            let got = if is_wide {
                wide[i]
            } else {
                u64::from(local[i])
            };
            assert_eq!(got, position as u64, "{kind}");
        }
        let mut run = || {
            if is_wide {
                locator.locate_bulk_wide(black_box(&global), &mut owner, &mut wide)
            } else {
                locator.locate_bulk(black_box(&global), &mut owner, &mut local)
            }
        };
        group.bench_function(kind, |b| b.iter(&mut run));
    }
    group.finish();
}

/// One rank's map: the position here, or none.
fn global_to_here(c: &mut Criterion) {
    let mut group = c.benchmark_group("maps/global_to_here");
    group.throughput(Throughput::Elements(COUNT as u64));
    let mut copy = vec![0_i64; COUNT];
    let mut local = vec![0_usize; COUNT];
    let mut first = true;
    for (kind, axis, coord) in one_rank() {
        let map = map_from_dim_dict(&axis.dim_dict(coord).unwrap()).unwrap();
        let mut mix = Mix(2);
        let global: Vec<i64> = (0..COUNT)
            .map(|_| i64::try_from(mix.below(axis.size())).unwrap())
            .collect();
        if std::mem::take(&mut first) {
            group.bench_function("copy", |b| {
                b.iter(|| copy.copy_from_slice(black_box(&global)));
            });
        }
        group.bench_function(kind, |b| {
            b.iter(|| map.local_from_global_bulk(black_box(&global), &mut local));
        });
    }
    group.finish();
}

fn one_rank() -> Vec<(&'static str, AxisDist, usize)> {
    let n = 8_000_000;
    vec![
        ("block", AxisDist::block(n, 8).unwrap(), 3),
        ("cyclic", AxisDist::cyclic(n, 8, 1).unwrap(), 3),
        ("block-cyclic64", AxisDist::cyclic(n, 8, 64).unwrap(), 3),
        ("block-cyclic100", AxisDist::cyclic(n, 7, 100).unwrap(), 3),
        (
            "unstructured",
            AxisDist::unstructured(COUNT as u64, lists(COUNT, 1)).unwrap(),
            0,
        ),
    ]
}

fn local_to_global(c: &mut Criterion) {
    let mut group = c.benchmark_group("maps/local_to_global");
    group.throughput(Throughput::Elements(COUNT as u64));
    let mut copy = vec![0_usize; COUNT];
    let mut global = vec![0_i64; COUNT];
    let mut first = true;
    for (kind, axis, coord) in one_rank() {
        let map = map_from_dim_dict(&axis.dim_dict(coord).unwrap()).unwrap();
        let mut mix = Mix(3);
        let local: Vec<usize> = (0..COUNT)
            .map(|_| usize::try_from(mix.below(map.size() as u64)).unwrap())
            .collect();
        if std::mem::take(&mut first) {
            group.bench_function("copy", |b| {
                b.iter(|| copy.copy_from_slice(black_box(&local)));
            });
        }
        group.bench_function(kind, |b| {
            b.iter(|| map.global_from_local_bulk(black_box(&local), &mut global));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30);
    targets = global_to_local, global_to_here, local_to_global
}
criterion_main!(benches);
