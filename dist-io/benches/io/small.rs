//! 8 KiB at a time: saves, loads and appends, with their syncs; the limit is the system's calls alone.

use std::fs::File;
use std::os::unix::fs::FileExt;

use dap_protocol::HostBuffer;
use dist_comm::Communicator;
use dist_io::{Direction, FileLayout, IoPlan, LoadHdf5, SaveHdf5, Series, WriteMode};
use dist_maps::Distribution;

use crate::ranks::{Bench, Pair, nothing};
use crate::{bytes, filled, numbered, raw};

const OURS: &str = "small.h5";
const RAW: &str = "small.bin";
/// Elements of a call.
const ELEMENTS: u64 = 1024;
/// Calls of one measurement.
const CALLS: u32 = 32;

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>) {
    let site = bench.site;
    let (rank, ranks) = (site.comm.rank(), site.comm.size());
    let blocks = Distribution::over(ranks).shape([ELEMENTS]).block(0);
    let blocks = blocks.build().expect("a distribution");
    let plan = IoPlan::new(&blocks, 8, FileLayout::Contiguous, Direction::Write).expect("a plan");
    let part = filled(&plan, rank, numbered);
    let (len, pieces) = (plan.total_bytes(), raw::pieces(&plan, rank));
    let mine = part.buffer().contiguous_bytes().expect("contiguous").0;
    let of_all = |one: &dyn Fn()| {
        for _ in 0..CALLS {
            one();
        }
        nothing()
    };
    let save = SaveHdf5::new(site.file(OURS)).key("data");
    let save = save.mode(WriteMode::Replace);
    let measured = len * u64::from(CALLS);
    bench.pair(&mut Pair {
        case: "small-save",
        bytes: measured,
        before: &mut || {},
        limit: &mut || {
            of_all(&|| raw::save(site.comm, &site.file(RAW), len, &pieces, bytes(&part)))
        },
        ours: &mut || {
            of_all(&|| {
                save.save(&part, site.comm).expect("saved");
            })
        },
    });
    let load = LoadHdf5::new(site.file(OURS)).key("data");
    bench.pair(&mut Pair {
        case: "small-load",
        bytes: measured,
        before: &mut || {},
        limit: &mut || {
            of_all(&|| {
                let mut fresh = vec![0; mine.len()];
                raw::read(&site.file(RAW), &pieces, &mut fresh);
            })
        },
        ours: &mut || {
            of_all(&|| {
                let loaded = load.load::<f64>(&blocks, site.comm).expect("loaded");
                assert_eq!(loaded.dim_data(), part.dim_data());
            })
        },
    });
    assert_eq!(load.load::<f64>(&blocks, site.comm).expect("loaded"), part);

    site.remove(&[OURS, RAW]);
    let begun = SaveHdf5::new(site.file(OURS)).key("data");
    let begun = begun.begin_series::<f64>(&[ELEMENTS], site.comm);
    begun.expect("a dataset");
    let mut series = Series::open(site.file(OURS), site.comm).expect("a series");
    raw::save(site.comm, &site.file(RAW), 0, &[], &[]);
    let file = File::options().write(true).open(site.file(RAW));
    let file = file.expect("a file");
    let mut end = 0;
    bench.pair(&mut Pair {
        case: "small-append",
        bytes: measured,
        before: &mut || {},
        limit: &mut || {
            for _ in 0..CALLS {
                for (offset, range) in &pieces {
                    let written = file.write_all_at(&mine[range.clone()], end + offset);
                    written.expect("written");
                }
                file.sync_data().expect("synced");
                end += len;
                site.comm.barrier().expect("barrier");
            }
            nothing()
        },
        ours: &mut || {
            for _ in 0..CALLS {
                series.append("data", &part, site.comm).expect("appended");
            }
            nothing()
        },
    });
    drop(series);
    site.remove(&[OURS, RAW]);
}
