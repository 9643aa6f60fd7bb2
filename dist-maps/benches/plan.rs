//! Planning, and the copies that plans ask for, beside a `memcpy` of as many bytes in the same run.
//!
//! `plan/…`: one rank's plan. `copy/…`: what one of four ranks moves when a 4096 x 4096 `f64` array
//! changes its distribution (32 MiB), into memory that is already mapped.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use dist_maps::copy::{Layout, StridedRun, copy};
use dist_maps::{Distribution, HaloPlan, RedistPlan};

fn build(builder: dist_maps::DistributionBuilder) -> Distribution {
    builder.build().expect("a valid distribution")
}

fn blocks(ranks: usize, n: u64, grid: [usize; 2]) -> Distribution {
    build(
        Distribution::over(ranks)
            .shape([n, n])
            .block(0)
            .block(1)
            .grid(grid),
    )
}

fn cyclic(ranks: usize, n: u64, grid: [usize; 2], block: u64) -> Distribution {
    let builder = Distribution::over(ranks).shape([n, n]);
    build(
        builder
            .block_cyclic(0, block)
            .block_cyclic(1, block)
            .grid(grid),
    )
}

fn planning(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(2));
    let cases = [
        (1 << 12, [2, 2], 64),
        (1 << 16, [64, 64], 64),
        (1 << 30, [64, 64], 64),
    ];
    for (n, grid, block) in cases {
        let ranks = grid[0] * grid[1];
        let (from, to) = (blocks(ranks, n, grid), cyclic(ranks, n, grid, block));
        let rank = ranks / 2 + grid[1] / 2;
        RedistPlan::new(&from, &to, rank)
            .expect("a plan")
            .verify()
            .expect("exact");
        let id = format!("{n}x{n} on {}x{}", grid[0], grid[1]);
        group.bench_function(BenchmarkId::new("block to block-cyclic(64)", id), |b| {
            b.iter(|| RedistPlan::new(black_box(&from), black_box(&to), rank));
        });
    }
    let (from, to) = (
        cyclic(4096, 1 << 16, [64, 64], 36),
        cyclic(4096, 1 << 16, [64, 64], 128),
    );
    group.bench_function("block-cyclic(36) to (128)/65536x65536 on 64x64", |b| {
        b.iter(|| RedistPlan::new(black_box(&from), black_box(&to), 2080));
    });
    let (from, to) = (
        build(Distribution::over(64).shape([1 << 16, 1 << 16]).block(0)),
        build(Distribution::over(64).shape([1 << 16, 1 << 16]).block(1)),
    );
    group.bench_function("rows to columns/65536x65536 on 64", |b| {
        b.iter(|| RedistPlan::new(black_box(&from), black_box(&to), 31));
    });
    for width in [1, 4] {
        let builder = Distribution::over(4096)
            .shape([1 << 17, 1 << 17])
            .block(0)
            .block(1);
        let dist = build(
            builder
                .padding(width)
                .periodic(0)
                .periodic(1)
                .grid([64, 64]),
        );
        HaloPlan::new(&dist, 0)
            .expect("a plan")
            .verify()
            .expect("exact");
        group.bench_function(
            BenchmarkId::new("halo 2048x2048 a rank on 64x64", width),
            |b| {
                b.iter(|| HaloPlan::new(black_box(&dist), 2080));
            },
        );
    }
    group.finish();
}

/// All that `rank` gets, copied straight from the arrays of its peers.
fn receive(plan: &RedistPlan, src: &Distribution, parts: &[Vec<f64>], out: &mut [f64]) {
    let to = plan.dst_layout().expect("a layout");
    for t in plan.recvs().iter().chain(plan.local()) {
        let from = Layout::c_order(&src.local_shape(t.peer())).expect("a layout");
        t.copy(&parts[t.peer()], &from, out, &to).expect("a copy");
    }
}

/// One change of distribution: straight from the peers, and by messages.
fn case(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    (from, to): (&Distribution, &Distribution),
    parts: &[Vec<f64>],
    out: &mut [f64],
) {
    let plan = RedistPlan::new(from, to, 1).expect("a plan");
    plan.verify().expect("exact");
    group.bench_function(BenchmarkId::new("direct", name), |b| {
        b.iter(|| receive(&plan, from, parts, black_box(out)));
    });
    let mut message = vec![0.0; out.len()];
    let layout = plan.src_layout().expect("a layout");
    group.bench_function(BenchmarkId::new("pack", name), |b| {
        b.iter(|| {
            let mut rest = black_box(&mut message[..]);
            for t in plan.sends().iter().chain(plan.local()) {
                let (here, more) = rest.split_at_mut(t.elements());
                t.pack(&parts[1], &layout, here).expect("a copy");
                rest = more;
            }
        });
    });
    let layout = plan.dst_layout().expect("a layout");
    group.bench_function(BenchmarkId::new("unpack", name), |b| {
        b.iter(|| {
            let mut rest = black_box(&message[..]);
            for t in plan.recvs().iter().chain(plan.local()) {
                let (here, more) = rest.split_at(t.elements());
                t.unpack(here, out, &layout).expect("a copy");
                rest = more;
            }
        });
    });
}

fn copying(c: &mut Criterion) {
    let mut group = c.benchmark_group("copy");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(3));
    let n = 4096_u64;
    let len = 2048 * 2048;
    group.throughput(Throughput::Bytes(8 * len as u64));
    let parts: Vec<Vec<f64>> = (0..4).map(|rank| vec![f64::from(rank); len]).collect();
    let mut out = vec![0.0; len];
    group.bench_function("limit/memcpy 32 MiB", |b| {
        b.iter(|| black_box(&mut out).copy_from_slice(black_box(&parts[1])));
    });
    let rows = build(Distribution::over(4).shape([n, n]).block(0));
    let columns = build(Distribution::over(4).shape([n, n]).block(1));
    let cases = [
        ("identity", &rows, &rows),
        ("rows to columns", &rows, &columns),
        ("columns to rows", &columns, &rows),
        (
            "block to block-cyclic(64)",
            &blocks(4, n, [2, 2]),
            &cyclic(4, n, [2, 2], 64),
        ),
        (
            "block-cyclic(64) to block",
            &cyclic(4, n, [2, 2], 64),
            &blocks(4, n, [2, 2]),
        ),
        (
            "block to block-cyclic(1)",
            &blocks(4, n, [2, 2]),
            &cyclic(4, n, [2, 2], 1),
        ),
    ];
    for (name, from, to) in cases {
        case(&mut group, name, (from, to), &parts, &mut out);
    }
    let side = [StridedRun::range(0..2048)];
    let axes: [&[StridedRun]; 2] = [&side, &side];
    let (c_order, f_order) = (
        Layout::c_order(&[2048, 2048]).expect("a layout"),
        Layout::f_order(&[2048, 2048]).expect("a layout"),
    );
    group.bench_function("transpose/2048x2048", |b| {
        b.iter(|| {
            let out = black_box(&mut out[..]);
            copy(&parts[0], &c_order, &axes, out, &f_order, &axes).expect("a copy");
        });
    });
    group.finish();
}

/// The strips of a halo exchange, packed and unpacked.
fn strips(c: &mut Criterion) {
    let mut group = c.benchmark_group("copy/halo");
    group
        .sample_size(50)
        .measurement_time(Duration::from_secs(1));
    for width in [1, 4] {
        let builder = Distribution::over(4)
            .shape([4096, 4096])
            .block(0)
            .block(1)
            .grid([2, 2]);
        let dist = build(builder.padding(width));
        let plan = HaloPlan::new(&dist, 0).expect("a plan");
        plan.verify().expect("exact");
        let layout = plan.layout().expect("a layout");
        let elements: usize = plan.sends().iter().map(dist_maps::Transfer::elements).sum();
        let mut array = vec![1.0; plan.shape().iter().product()];
        let mut message = vec![0.0; elements];
        group.throughput(Throughput::Bytes(8 * elements as u64));
        let (from, mut to) = (vec![1.0; elements], vec![0.0; elements]);
        group.bench_function(BenchmarkId::new("limit: memcpy twice", width), |b| {
            b.iter(|| {
                black_box(&mut to).copy_from_slice(black_box(&from));
                black_box(&mut to).copy_from_slice(black_box(&from));
            });
        });
        group.bench_function(BenchmarkId::new("pack and unpack", width), |b| {
            b.iter(|| {
                let mut rest = black_box(&mut message[..]);
                for t in plan.sends() {
                    let (here, more) = rest.split_at_mut(t.elements());
                    t.pack(&array, &layout, here).expect("a copy");
                    rest = more;
                }
                let mut rest = black_box(&message[..]);
                for t in plan.recvs() {
                    let (here, more) = rest.split_at(t.elements());
                    t.unpack(here, &mut array, &layout).expect("a copy");
                    rest = more;
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, planning, copying, strips);
criterion_main!(benches);
