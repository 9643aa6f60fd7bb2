//! A limit and ours, measured in turn on several ranks: rank 0 measures, and tells the others when to go on.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use dist_comm::{CommExt, Communicator, ThreadComm};

/// What a measured call leaves behind; it is dropped when the time has been taken.
pub type Left = Box<dyn Any>;

/// A call with nothing to leave behind.
pub fn nothing() -> Left {
    Box::new(())
}

/// Two ways to do the same, which take turns.
pub struct Pair<'a> {
    /// How it stands in the report: `io/case`.
    pub case: &'a str,
    /// Bytes moved by all ranks together.
    pub bytes: u64,
    /// What comes before each of them, and is not measured.
    pub before: &'a mut dyn FnMut(),
    pub limit: &'a mut dyn FnMut() -> Left,
    pub ours: &'a mut dyn FnMut() -> Left,
}

/// The ranks, and the folder that their files are in.
pub struct Site<'a, C> {
    pub comm: &'a C,
    folder: &'a Path,
}

impl<C> Clone for Site<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Site<'_, C> {}

impl<C: Communicator> Site<'_, C> {
    /// A file of the benchmark.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("dist-io-bench-{name}"))
    }

    /// Removes files, and those of virtual datasets in them. Collective.
    pub fn remove(&self, names: &[&str]) {
        if self.comm.rank() == 0 {
            for name in names {
                remove(&self.file(name));
            }
        }
        self.comm.barrier().expect("barrier");
    }
}

/// One rank of a benchmark.
pub struct Bench<'a, C> {
    pub site: Site<'a, C>,
    place: &'static str,
    criterion: Option<Criterion>,
}

impl<'a, C: Communicator> Bench<'a, C> {
    fn new(comm: &'a C, folder: &'a Path, place: &'static str) -> Self {
        // Every sample is one call, and one call warms up: so sample i of a limit stands beside sample i of ours.
        let criterion = || {
            Criterion::default()
                .sample_size(10)
                .nresamples(1000)
                .without_plots()
                .configure_from_args()
                .warm_up_time(Duration::from_nanos(1))
                .measurement_time(Duration::from_nanos(1))
        };
        Self {
            site: Site { comm, folder },
            place,
            criterion: (comm.rank() == 0).then(criterion),
        }
    }

    /// Whether the ranks are MPI processes.
    pub fn is_mpi(&self) -> bool {
        self.place == "mpi"
    }

    /// Measures both, all ranks together: from when all are ready to when all are done. Collective.
    pub fn pair(&mut self, pair: &mut Pair<'_>) {
        let comm = self.site.comm;
        let mut turns = 0_usize;
        let mut both = || {
            let mut times = [Duration::ZERO; 2];
            // each goes first every other time
            for at in [turns % 2, 1 - turns % 2] {
                (pair.before)();
                comm.barrier().expect("barrier");
                let start = Instant::now();
                let left = if at == 0 {
                    (pair.limit)()
                } else {
                    (pair.ours)()
                };
                comm.barrier().expect("barrier");
                times[at] = start.elapsed();
                drop(left);
            }
            turns += 1;
            times
        };
        let go_on = |more: bool| {
            let more = comm.broadcast_value(0, u64::from(more));
            more.expect("whether to go on") == 1
        };
        let Some(criterion) = &mut self.criterion else {
            while go_on(false) {
                both();
            }
            return;
        };
        let mut group = criterion.benchmark_group(format!("io/{}", pair.case));
        group.sampling_mode(SamplingMode::Flat);
        group.throughput(Throughput::Bytes(pair.bytes));
        let parameter = format!("{}-{}", self.place, comm.size());
        let mut limits = Vec::new();
        group.bench_function(BenchmarkId::new("ours", &parameter), |bencher| {
            bencher.iter_custom(|times| {
                let mut ours = Duration::ZERO;
                for _ in 0..times {
                    go_on(true);
                    let [limit, time] = both();
                    limits.push(limit);
                    ours += time;
                }
                ours
            });
        });
        go_on(false);
        // what was measured beside it
        let mut limits = limits.into_iter();
        let mut next = move || limits.next().unwrap_or(Duration::from_nanos(1));
        group.bench_function(BenchmarkId::new("limit", &parameter), |bencher| {
            bencher.iter_custom(|times| (0..times).map(|_| next()).sum());
        });
        group.finish();
    }
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    let Some((folder, name)) = path.parent().zip(path.file_name()) else {
        return;
    };
    // the folders of a virtual dataset are named after it
    let parts = format!("{}.", name.to_string_lossy());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&parts) && name.ends_with(".parts") {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// A benchmark for any communicator.
pub trait Job: Sync {
    /// What each rank does.
    fn run<C: Communicator>(&self, bench: &mut Bench<'_, C>);
}

/// Runs `job` under MPI when `mpirun` started this process, else on thread ranks, once for each of `ranks`.
pub fn main(job: &impl Job, folder: &Path, ranks: &[usize]) {
    #[cfg(feature = "mpi")]
    if std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some() || std::env::var_os("PMI_SIZE").is_some()
    {
        let comm = dist_comm::MpiComm::world().expect("MPI starts");
        job.run(&mut Bench::new(&comm, folder, "mpi"));
        return;
    }
    for &ranks in ranks {
        ThreadComm::run(ranks, |comm| {
            job.run(&mut Bench::new(comm, folder, "threads"));
            Ok::<_, std::convert::Infallible>(())
        })
        .expect("all ranks");
    }
}
