//! Saving, loading, reading into a buffer, opening; each beside its limit in the same run.
//!
//! `DNPY_BENCH_DIR` chooses the directory (by default the temporary one), `DNPY_BENCH_MIB` the
//! sizes (by default 64).

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
use dnpy_format::{MappedPart, load, read_into, read_localarray, save};

fn sizes() -> Vec<usize> {
    let text = std::env::var("DNPY_BENCH_MIB").unwrap_or_else(|_| "64".to_owned());
    text.split_whitespace()
        .map(|n| n.parse().expect("DNPY_BENCH_MIB is a list of sizes in MiB"))
        .collect()
}

fn directory() -> tempfile::TempDir {
    let parent = std::env::var_os("DNPY_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::Builder::new()
        .prefix("dnpy-bench")
        .tempdir_in(parent)
        .expect("a directory to write in")
}

#[expect(clippy::cast_precision_loss, reason = "any values do")]
fn part(mib: usize) -> DistBuffer<HostArray<f64>> {
    let n = (mib << 20) / 8;
    let data: Vec<f64> = (0..n).map(|i| i as f64).collect();
    let dim_data = DimData::new(vec![DimDict::whole(n as u64).expect("a size")]);
    DistBuffer::new(dim_data, HostArray::new(vec![n], data).expect("a shape")).expect("a part")
}

fn group<'a>(c: &'a mut Criterion, name: &str, mib: usize) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(format!("dnpy/{name}"));
    group
        .throughput(Throughput::Bytes((mib << 20) as u64))
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(4));
    group
}

/// What `save` does to the file system, without what it does besides.
fn raw_save(dir: &Path, bytes: &[u8]) {
    let (temporary, target) = (dir.join("raw.tmp"), dir.join("raw.bin"));
    let mut file = File::create_new(&temporary).expect("create");
    file.write_all(bytes).expect("write");
    file.sync_all().expect("sync");
    drop(file);
    fs::rename(&temporary, &target).expect("rename");
    File::open(dir)
        .and_then(|d| d.sync_all())
        .expect("sync the directory");
}

fn saving(c: &mut Criterion) {
    let dir = directory();
    for mib in sizes() {
        let part = part(mib);
        let path = dir.path().join("part_0.dnpy");
        let bytes: &[u8] = bytemuck::must_cast_slice(part.buffer().data());
        // both replace a file that is there; removing the old one is not timed
        let timed = |iters: u64, file: &Path, work: &dyn Fn()| {
            let mut total = Duration::ZERO;
            for _ in 0..iters {
                let _ = fs::remove_file(file);
                let begin = Instant::now();
                work();
                total += begin.elapsed();
            }
            total
        };
        let mut group = group(c, "save", mib);
        let raw = dir.path().join("raw.bin");
        group.bench_function(format!("raw write/{mib}MiB"), |b| {
            b.iter_custom(|n| timed(n, &raw, &|| raw_save(dir.path(), bytes)));
        });
        let _ = fs::remove_file(&raw);
        group.bench_function(format!("save/{mib}MiB"), |b| {
            b.iter_custom(|n| timed(n, &path, &|| save(&path, &part).expect("save")));
        });
        group.finish();
        assert_eq!(load::<f64>(&path).expect("load"), part);
    }
}

fn reading(c: &mut Criterion) {
    let dir = directory();
    for mib in sizes() {
        let part = part(mib);
        let path = dir.path().join("part_0.dnpy");
        save(&path, &part).expect("save");
        let mapped = || {
            let mapped = MappedPart::open(&path).expect("open");
            mapped.part::<f64>().expect("a part of f64")
        };
        let mut used = part.buffer().data().to_vec();
        used.fill(1.0);
        read_into(&path, &mut used).expect("read");
        assert_eq!(used, part.buffer().data());
        assert_eq!(load::<f64>(&path).expect("load"), part);

        let mut warm = group(c, "read_into", mib);
        warm.bench_function(format!("limit mmap and copy, used buffer/{mib}MiB"), |b| {
            b.iter(|| used.copy_from_slice(mapped().buffer().elements().expect("elements")));
        });
        warm.bench_function(format!("read_into/{mib}MiB"), |b| {
            b.iter(|| read_into(&path, &mut used).expect("read"));
        });
        warm.finish();

        let mut fresh = group(c, "load", mib);
        fresh.bench_function(format!("limit mmap and copy, fresh buffer/{mib}MiB"), |b| {
            b.iter(|| black_box(mapped().buffer().elements().expect("elements").to_vec()));
        });
        fresh.bench_function(format!("load/{mib}MiB"), |b| {
            b.iter(|| black_box(load::<f64>(&path).expect("load")));
        });
        fresh.bench_function(format!("read_localarray, streaming/{mib}MiB"), |b| {
            b.iter(|| {
                let mut file = File::open(&path).expect("open");
                black_box(read_localarray::<f64, _>(&mut file).expect("read"))
            });
        });
        fresh.finish();

        let mut open = c.benchmark_group("dnpy/open");
        open.bench_function(format!("mapped/{mib}MiB"), |b| {
            b.iter(|| black_box(mapped()));
        });
        open.finish();
    }
}

criterion_group!(benches, saving, reading);
criterion_main!(benches);
