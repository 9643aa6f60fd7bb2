//! Criterion on several ranks: rank 0 measures and tells the others how often to repeat; 0 ends a measurement.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use dist_comm::{CommExt, Communicator, ThreadComm};

/// What is measured, and how it stands in the report: `group/function/where-ranks`.
pub struct Measure<'a> {
    pub group: &'a str,
    pub function: &'a str,
    /// Bytes moved by all ranks together.
    pub bytes: u64,
}

/// One rank of a benchmark.
pub struct Bench<'a, C> {
    pub comm: &'a C,
    /// How often each measurement is repeated, at least.
    pub samples: usize,
    place: &'static str,
    criterion: Option<Criterion>,
}

impl<'a, C: Communicator> Bench<'a, C> {
    fn new(comm: &'a C, place: &'static str) -> Self {
        let criterion = || {
            Criterion::default()
                .warm_up_time(Duration::from_millis(500))
                .measurement_time(Duration::from_secs(2))
                .configure_from_args()
        };
        Self {
            comm,
            samples: 20,
            place,
            criterion: (comm.rank() == 0).then(criterion),
        }
    }

    /// Whether the ranks are MPI processes.
    #[allow(dead_code, reason = "not every benchmark asks")]
    pub fn is_mpi(&self) -> bool {
        self.place == "mpi"
    }

    /// Measures `work`, which all ranks do together. Collective.
    pub fn run(&mut self, measure: &Measure<'_>, mut work: impl FnMut()) {
        let comm = self.comm;
        let mut repeat = |times: u64| {
            comm.barrier().expect("barrier");
            let start = Instant::now();
            for _ in 0..times {
                work();
            }
            comm.barrier().expect("barrier");
            start.elapsed()
        };
        let Some(criterion) = &mut self.criterion else {
            loop {
                match comm
                    .broadcast_value(0, 0_u64)
                    .expect("the number of repetitions")
                {
                    0 => return,
                    times => repeat(times),
                };
            }
        };
        let mut group = criterion.benchmark_group(measure.group);
        group.sample_size(self.samples);
        group.throughput(Throughput::Bytes(measure.bytes));
        let parameter = format!("{}-{}", self.place, comm.size());
        group.bench_function(BenchmarkId::new(measure.function, parameter), |bencher| {
            bencher.iter_custom(|times| {
                comm.broadcast_value(0, times)
                    .expect("the number of repetitions");
                repeat(times)
            });
        });
        group.finish();
        comm.broadcast_value(0, 0_u64).expect("the end");
    }
}

/// A benchmark for any communicator.
pub trait Job: Sync {
    /// What each rank does.
    fn run<C: Communicator>(&self, bench: &mut Bench<'_, C>);
}

/// Runs `job` under MPI when `mpirun` started this process, else on thread ranks, once for each of `ranks`.
pub fn main(job: &impl Job, ranks: &[usize]) {
    #[cfg(feature = "mpi")]
    if std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some() || std::env::var_os("PMI_SIZE").is_some()
    {
        let comm = dist_comm::MpiComm::world().expect("MPI starts");
        job.run(&mut Bench::new(&comm, "mpi"));
        return;
    }
    for &ranks in ranks {
        ThreadComm::run(ranks, |comm| {
            job.run(&mut Bench::new(comm, "threads"));
            Ok::<_, std::convert::Infallible>(())
        })
        .expect("all ranks");
    }
}
