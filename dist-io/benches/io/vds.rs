//! A virtual dataset of four parts, read by these ranks; the limit reads the same bytes of one plain file.

use dist_comm::{Communicator, ThreadComm};
use dist_io::legate::{from_file, to_file};
use dist_io::{Direction, FileLayout, IoError, IoPlan};
use dist_maps::Distribution;

use crate::ranks::{Bench, Pair};
use crate::{COLUMNS, bytes, filled, numbered, raw};

const OURS: &str = "vds.h5";
const RAW: &str = "vds.bin";
const PARTS: usize = 4;

fn plan(ranks: usize, rows: u64) -> IoPlan {
    let blocks = Distribution::over(ranks).shape([rows, COLUMNS]).block(0);
    let blocks = blocks.build().expect("a distribution");
    IoPlan::new(&blocks, 8, FileLayout::Contiguous, Direction::Write).expect("a plan")
}

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, rows: u64) {
    let site = bench.site;
    let (rank, ranks) = (site.comm.rank(), site.comm.size());
    if rank == 0 {
        let parts = plan(PARTS, rows);
        let saved = ThreadComm::run(PARTS, |comm| {
            let part = filled(&parts, comm.rank(), numbered);
            to_file(&part, site.file(OURS), "data", comm)?;
            Ok::<_, IoError>(())
        });
        saved.expect("saved");
    }
    site.comm.barrier().expect("barrier");
    let plan = plan(ranks, rows);
    let part = filled(&plan, rank, numbered);
    let (len, pieces) = (plan.total_bytes(), raw::pieces(&plan, rank));
    raw::save(site.comm, &site.file(RAW), len, &pieces, bytes(&part));
    let distribution = plan.distribution();
    let load = || from_file::<f64>(site.file(OURS), "data", distribution, site.comm);
    assert_eq!(load().expect("loaded"), part);
    bench.pair(&mut Pair {
        case: "vds-load",
        bytes: len,
        before: &mut || {},
        limit: &mut || {
            let mut fresh = raw::fresh(bytes(&part).len());
            raw::read(&site.file(RAW), &pieces, &mut fresh);
            Box::new(fresh)
        },
        ours: &mut || Box::new(load().expect("loaded")),
    });
    site.remove(&[OURS, RAW]);
}
