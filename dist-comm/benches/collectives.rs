//! Collective calls of thread ranks, with what limits them beside them: `memcpy` of the same bytes by as many threads.
//!
//! A time is that of one call on all ranks, the slowest rank counting.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use dist_comm::{
    CommError, CommExt, Communicator, ExchangeJob, Message, ReduceOp, ThreadComm, Workspace,
};

const RANKS: [usize; 2] = [2, 4];
const LONG: usize = 1 << 20;

/// Runs `rank` on every rank; it makes its buffers and gives the time of its calls. The time of the slowest.
fn slowest(
    ranks: usize,
    rank: impl Fn(&ThreadComm) -> Result<Duration, CommError> + Sync,
) -> Duration {
    let times = ThreadComm::run(ranks, rank).expect("all ranks succeed");
    times.into_iter().max().unwrap_or_default()
}

/// The time of `calls` calls, after one that is not counted.
fn time(
    comm: &ThreadComm,
    calls: u64,
    mut call: impl FnMut() -> Result<(), CommError>,
) -> Result<Duration, CommError> {
    call()?;
    comm.barrier()?;
    let began = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(began.elapsed())
}

fn short(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("collectives/short");
    for ranks in RANKS {
        let mut bench =
            |name, rank: &(dyn Fn(&ThreadComm, u64) -> Result<Duration, CommError> + Sync)| {
                group.bench_function(BenchmarkId::new(name, ranks), |bencher| {
                    bencher.iter_custom(|calls| slowest(ranks, |comm| rank(comm, calls)));
                });
            };
        let barrier = std::sync::Barrier::new(ranks);
        bench("std::sync::Barrier", &|comm, calls| {
            time(comm, calls, || {
                barrier.wait();
                Ok(())
            })
        });
        bench("barrier", &|comm, calls| {
            time(comm, calls, || comm.barrier())
        });
        bench("all_reduce/8", &|comm, calls| {
            time(comm, calls, || {
                let sum = comm.all_reduce_value(comm.rank() as u64, ReduceOp::Sum)?;
                assert_eq!(sum, (ranks * (ranks - 1) / 2) as u64);
                Ok(())
            })
        });
        bench("all_gather/8", &|comm, calls| {
            let mut all = vec![0; 8 * ranks];
            time(comm, calls, || {
                comm.all_gather(&[1; 8], black_box(&mut all))
            })
        });
    }
    group.finish();
}

/// Copies in and out, as a halo exchange of contiguous faces does.
struct Copies<'a> {
    from: &'a [u8],
    to: &'a mut [u8],
}

impl ExchangeJob for Copies<'_> {
    fn pack(&mut self, _: usize, buf: &mut [u8]) {
        buf.copy_from_slice(self.from);
    }
    fn local(&mut self) {}
    fn unpack(&mut self, _: usize, buf: &[u8]) {
        self.to.copy_from_slice(buf);
    }
}

fn long(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("collectives/long");
    group.throughput(Throughput::Bytes(LONG as u64));
    for ranks in RANKS {
        let mut bench =
            |name, rank: &(dyn Fn(&ThreadComm, u64) -> Result<Duration, CommError> + Sync)| {
                group.bench_function(BenchmarkId::new(name, ranks), |bencher| {
                    bencher.iter_custom(|calls| slowest(ranks, |comm| rank(comm, calls)));
                });
            };
        bench("memcpy", &|comm, calls| {
            let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG]);
            time(comm, calls, || {
                black_box(&mut to).copy_from_slice(black_box(&from));
                Ok(())
            })
        });
        bench("lend and copy", &|comm, calls| {
            let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG]);
            let next = (comm.rank() + 1) % ranks;
            let took = time(comm, calls, || {
                comm.lend(&from, &mut |all| to.copy_from_slice(all[next]))
                    .map(drop)
            })?;
            assert!(to.iter().all(|&byte| byte == 1));
            Ok(took)
        });
        bench("exchange", &|comm, calls| {
            let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG]);
            let message = |peer| [Message { peer, len: LONG }];
            let (sends, recvs) = (
                message((comm.rank() + 1) % ranks),
                message((comm.rank() + ranks - 1) % ranks),
            );
            let mut workspace = Workspace::new();
            let took = time(comm, calls, || {
                let mut job = Copies {
                    from: &from,
                    to: &mut to,
                };
                comm.exchange(0, &sends, &recvs, &mut job, &mut workspace)
            })?;
            assert!(to.iter().all(|&byte| byte == 1));
            Ok(took)
        });
        bench("all_gather", &|comm, calls| {
            let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG * ranks]);
            let took = time(comm, calls, || comm.all_gather(&from, &mut to))?;
            assert!(to.iter().all(|&byte| byte == 1));
            Ok(took)
        });
        bench("all_reduce", &|comm, calls| {
            let mut values = vec![0f64; LONG / 8];
            time(comm, calls, || {
                comm.all_reduce_slice(&mut values, ReduceOp::Max)
            })
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = short, long
}
criterion_main!(benches);
