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

/// `calls` calls on every rank: the time of the slowest.
fn timed(
    ranks: usize,
    calls: u64,
    run: impl Fn(&ThreadComm, u64) -> Result<(), CommError> + Sync,
) -> Duration {
    let times = ThreadComm::run(ranks, |comm| {
        run(comm, 1)?;
        comm.barrier()?;
        let began = Instant::now();
        run(comm, calls)?;
        Ok::<_, CommError>(began.elapsed())
    });
    times
        .expect("all ranks succeed")
        .into_iter()
        .max()
        .unwrap_or_default()
}

fn short(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("collectives/short");
    for ranks in RANKS {
        group.bench_function(BenchmarkId::new("std::sync::Barrier", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                let barrier = std::sync::Barrier::new(ranks);
                timed(ranks, calls, |_, calls| {
                    for _ in 0..calls {
                        barrier.wait();
                    }
                    Ok(())
                })
            });
        });
        group.bench_function(BenchmarkId::new("barrier", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |comm, calls| {
                    (0..calls).try_for_each(|_| comm.barrier())
                })
            });
        });
        group.bench_function(BenchmarkId::new("all_reduce/8", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |comm, calls| {
                    (0..calls).try_for_each(|_| {
                        let sum = comm.all_reduce_value(comm.rank() as u64, ReduceOp::Sum)?;
                        assert_eq!(sum, (ranks * (ranks - 1) / 2) as u64);
                        Ok(())
                    })
                })
            });
        });
        group.bench_function(BenchmarkId::new("all_gather/8", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |comm, calls| {
                    let mut all = vec![0; 8 * ranks];
                    (0..calls).try_for_each(|_| comm.all_gather(&[1; 8], black_box(&mut all)))
                })
            });
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
        group.bench_function(BenchmarkId::new("memcpy", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |_, calls| {
                    let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG]);
                    (0..calls).for_each(|_| black_box(&mut to).copy_from_slice(black_box(&from)));
                    Ok(())
                })
            });
        });
        group.bench_function(BenchmarkId::new("lend and copy", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |comm, calls| {
                    let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG]);
                    let next = (comm.rank() + 1) % ranks;
                    (0..calls).try_for_each(|_| {
                        comm.lend(&from, &mut |all| to.copy_from_slice(all[next]))
                            .map(drop)
                    })?;
                    assert!(to.iter().all(|&byte| byte == 1));
                    Ok(())
                })
            });
        });
        group.bench_function(BenchmarkId::new("exchange", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |comm, calls| {
                    let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG]);
                    let (next, previous) =
                        ((comm.rank() + 1) % ranks, (comm.rank() + ranks - 1) % ranks);
                    let (sends, recvs) = (
                        [Message {
                            peer: next,
                            len: LONG,
                        }],
                        [Message {
                            peer: previous,
                            len: LONG,
                        }],
                    );
                    let mut workspace = Workspace::new();
                    (0..calls).try_for_each(|_| {
                        let mut job = Copies {
                            from: &from,
                            to: &mut to,
                        };
                        comm.exchange(0, &sends, &recvs, &mut job, &mut workspace)
                    })?;
                    assert!(to.iter().all(|&byte| byte == 1));
                    Ok(())
                })
            });
        });
        group.bench_function(BenchmarkId::new("all_gather", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |comm, calls| {
                    let (from, mut to) = (vec![1u8; LONG], vec![0u8; LONG * ranks]);
                    (0..calls).try_for_each(|_| comm.all_gather(&from, &mut to))?;
                    assert!(to.iter().all(|&byte| byte == 1));
                    Ok(())
                })
            });
        });
        group.bench_function(BenchmarkId::new("all_reduce", ranks), |bencher| {
            bencher.iter_custom(|calls| {
                timed(ranks, calls, |comm, calls| {
                    let mut values = vec![0f64; LONG / 8];
                    (0..calls).try_for_each(|_| comm.all_reduce_slice(&mut values, ReduceOp::Max))
                })
            });
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
