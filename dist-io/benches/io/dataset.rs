//! One dataset: rows in blocks, contiguous and in chunks, and rows dealt by 64 in chunks.

use std::hint::black_box;

use dist_comm::Communicator;
use dist_io::{Direction, FileLayout, IoPlan, LoadHdf5, SaveHdf5, WriteMode};
use dist_maps::Distribution;

use crate::ranks::{Bench, Pair, Site, nothing};
use crate::{CHUNK, COLUMNS, Part, bytes, filled, numbered, raw};

const OURS: &str = "dataset.h5";
const RAW: &str = "dataset.bin";

pub fn contiguous<C: Communicator>(bench: &mut Bench<'_, C>, rows: u64) {
    let blocks = blocks(bench.site.comm.size(), rows);
    let case = Case::new("contiguous", &blocks, None, bench.site);
    case.write(bench);
    case.read(bench);
    case.load(bench);
    bench.site.remove(&[OURS, RAW]);
}

pub fn chunked<C: Communicator>(bench: &mut Bench<'_, C>, rows: u64) {
    let blocks = blocks(bench.site.comm.size(), rows);
    let case = Case::new("chunked", &blocks, Some(CHUNK), bench.site);
    case.write(bench);
    case.read(bench);
    bench.site.remove(&[OURS, RAW]);
}

pub fn cyclic<C: Communicator>(bench: &mut Bench<'_, C>, rows: u64) {
    let ranks = bench.site.comm.size();
    if ranks == 1 {
        return; // all rows are its own
    }
    let dealt = Distribution::over(ranks).shape([rows, COLUMNS]);
    let dealt = dealt.block_cyclic(0, 64).build().expect("a distribution");
    let case = Case::new("cyclic64", &dealt, Some(CHUNK), bench.site);
    case.write(bench);
    case.read(bench);
    case.plan(bench);
    bench.site.remove(&[OURS, RAW]);
}

fn blocks(ranks: usize, rows: u64) -> Distribution {
    let blocks = Distribution::over(ranks).shape([rows, COLUMNS]).block(0);
    blocks.build().expect("a distribution")
}

/// A dataset, and a rank's part of it.
struct Case {
    name: &'static str,
    plan: IoPlan,
    part: Part,
    pieces: Vec<raw::Piece>,
}

impl Case {
    fn new<C: Communicator>(
        name: &'static str,
        distribution: &Distribution,
        chunk: Option<[u64; 2]>,
        site: Site<'_, C>,
    ) -> Self {
        let layout = match chunk {
            None => FileLayout::Contiguous,
            Some(chunk) => FileLayout::Chunked {
                chunk: chunk.to_vec(),
            },
        };
        let plan = IoPlan::new(distribution, 8, layout, Direction::Write).expect("a plan");
        let rank = site.comm.rank();
        Self {
            name,
            part: filled(&plan, rank, numbered),
            pieces: raw::pieces(&plan, rank),
            plan,
        }
    }

    fn save<C: Communicator>(&self, site: Site<'_, C>) {
        let mut save = SaveHdf5::new(site.file(OURS)).key("data");
        if let FileLayout::Chunked { chunk } = self.plan.layout() {
            save = save.chunk(chunk.clone());
        }
        let save = save.mode(WriteMode::Replace);
        save.save(&self.part, site.comm).expect("saved");
    }

    fn save_raw<C: Communicator>(&self, site: Site<'_, C>) {
        let (path, len) = (site.file(RAW), self.plan.total_bytes());
        raw::save(site.comm, &path, len, &self.pieces, bytes(&self.part));
    }

    /// A new file each time.
    fn write<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        let site = bench.site;
        bench.pair(&mut Pair {
            case: &format!("{}-write", self.name),
            bytes: self.plan.total_bytes(),
            before: &mut || site.remove(&[OURS, RAW]),
            limit: &mut || {
                self.save_raw(site);
                nothing()
            },
            ours: &mut || {
                self.save(site);
                nothing()
            },
        });
    }

    /// Into memory that was used before.
    fn read<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        let site = bench.site;
        self.save_raw(site);
        self.save(site);
        let load = LoadHdf5::new(site.file(OURS)).key("data");
        let distribution = self.plan.distribution();
        let mut ours = self.part.buffer().data().to_vec();
        ours.fill(0.0);
        let mut limit = vec![1_u8; bytes(&self.part).len()];
        bench.pair(&mut Pair {
            case: &format!("{}-read", self.name),
            bytes: self.plan.total_bytes(),
            before: &mut || {},
            limit: &mut || {
                raw::read(&site.file(RAW), &self.pieces, &mut limit);
                nothing()
            },
            ours: &mut || {
                let read = load.load_into(distribution, &mut ours, site.comm);
                read.expect("read");
                nothing()
            },
        });
        assert_eq!(ours, self.part.buffer().data());
        assert_eq!(limit, bytes(&self.part));
    }

    /// Into fresh memory.
    fn load<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        let site = bench.site;
        self.save_raw(site);
        self.save(site);
        let load = LoadHdf5::new(site.file(OURS)).key("data");
        let distribution = self.plan.distribution();
        bench.pair(&mut Pair {
            case: &format!("{}-load", self.name),
            bytes: self.plan.total_bytes(),
            before: &mut || {},
            limit: &mut || {
                let mut fresh = raw::fresh(bytes(&self.part).len());
                raw::read(&site.file(RAW), &self.pieces, &mut fresh);
                Box::new(fresh)
            },
            ours: &mut || Box::new(load.load::<f64>(distribution, site.comm).expect("loaded")),
        });
    }

    /// The plan of a save and of a load, of all that a rank needs; the limit is such a save.
    fn plan<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        let site = bench.site;
        bench.pair(&mut Pair {
            case: &format!("{}-plan", self.name),
            bytes: self.plan.total_bytes(),
            before: &mut || site.remove(&[OURS, RAW]),
            limit: &mut || {
                self.save(site);
                nothing()
            },
            ours: &mut || {
                for direction in [Direction::Write, Direction::Read] {
                    let (distribution, layout) = (self.plan.distribution(), self.plan.layout());
                    let plan = IoPlan::new(distribution, 8, layout.clone(), direction);
                    let plan = plan.expect("a plan");
                    let rank = site.comm.rank();
                    let _ = black_box(plan.requests(rank).expect("requests"));
                    let _ = black_box(plan.exchange(rank).expect("an exchange"));
                    let _ = black_box(plan.chunks(rank).expect("chunks"));
                }
                nothing()
            },
        });
    }
}
