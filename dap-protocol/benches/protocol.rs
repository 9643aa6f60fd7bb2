//! Checking, printing and parsing metadata, by the number of ranks. Printing and parsing stand
//! beside copying the same text, checking beside cloning what is checked.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dap_protocol::check::{self, Strictness};
use dap_protocol::literal::parse;
use dap_protocol::{DimData, DimDict, ProtocolVersion};

/// Padded blocks × cyclic on a grid of `ranks` × 4.
fn parts(ranks: u32) -> Vec<(ProtocolVersion, DimData)> {
    let rows = u64::from(ranks) * 100;
    let grid = usize::try_from(ranks).expect("a count");
    let dims = (0..grid).flat_map(|row| {
        let start = row as u64 * 100;
        let (low, high) = (u64::from(row > 0), u64::from(row + 1 < grid));
        let block = DimDict::block(rows, grid, row, start - low..start + 100 + high)
            .and_then(|dim| dim.with_padding(low, high))
            .expect("a block");
        (0..4).map(move |column| {
            let cyclic = DimDict::cyclic(1000, 4, column, 8).expect("cyclic");
            DimData::new(vec![block.clone(), cyclic])
        })
    });
    dims.map(|data| (ProtocolVersion::CURRENT, data)).collect()
}

fn protocol(c: &mut Criterion) {
    let mut group = c.benchmark_group("protocol");
    for rows in [1, 16, 256] {
        let parts = parts(rows);
        assert_eq!(check::set(&parts), []);
        let ranks = parts.len();
        group.throughput(Throughput::Elements(ranks as u64));
        group.bench_function(BenchmarkId::new("check_set/ours", ranks), |b| {
            b.iter(|| check::set(black_box(&parts)));
        });
        group.bench_function(BenchmarkId::new("check_set/clone", ranks), |b| {
            b.iter(|| black_box(&parts).clone());
        });
        let values: Vec<_> = parts.iter().map(|(_, data)| data.to_value()).collect();
        group.bench_function(BenchmarkId::new("check_rank/ours", ranks), |b| {
            b.iter(|| {
                for value in black_box(&values) {
                    let found =
                        check::dim_data(value, None, ProtocolVersion::CURRENT, Strictness::Strict);
                    assert!(found.value.is_some());
                }
            });
        });
        group.bench_function(BenchmarkId::new("check_rank/clone", ranks), |b| {
            b.iter(|| black_box(&values).clone());
        });
    }
    // One rank with many indices: the longest header there is.
    for count in [10_u32, 1000, 100_000] {
        let indices: Vec<i64> = (0..i64::from(count)).map(|i| 3 * i).collect();
        let dim = DimDict::unstructured(1 << 40, 1, 0, indices, true).expect("indices");
        let value = DimData::new(vec![dim]).to_value();
        let text = value.to_string();
        assert_eq!(parse(&text).as_ref(), Ok(&value));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("parse/ours", count), |b| {
            b.iter(|| parse(black_box(&text)));
        });
        group.bench_function(BenchmarkId::new("print/ours", count), |b| {
            b.iter(|| black_box(&value).to_string());
        });
        group.bench_function(BenchmarkId::new("parse/copy", count), |b| {
            b.iter(|| black_box(&text).clone());
        });
    }
    group.finish();
}

criterion_group!(benches, protocol);
criterion_main!(benches);
