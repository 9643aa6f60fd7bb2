//! 10,000 rows of 8 KiB, scattered over a contiguous dataset, in no order.

use dap_protocol::{DimData, DimDict};
use dist_comm::Communicator;
use dist_io::{Direction, FileLayout, IoPlan, LoadHdf5, SaveHdf5, WriteMode};
use dist_maps::Distribution;

use crate::ranks::{Bench, Pair, nothing};
use crate::{COLUMNS, bytes, filled, numbered, raw};

const OURS: &str = "rows.h5";
const RAW: &str = "rows.bin";
const WANTED: u64 = 10_000;
/// From one of them to the next, around the array: no row comes twice.
const PRIME: u64 = 1_000_003;
/// Elements of a row.
const WIDTH: u64 = 1024;

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, rows: u64) {
    let site = bench.site;
    let (rank, ranks) = (site.comm.rank(), site.comm.size());
    let rows = rows * (COLUMNS / WIDTH);
    let blocks = Distribution::over(ranks).shape([rows, WIDTH]).block(0);
    let blocks = blocks.build().expect("a distribution");
    let plan = IoPlan::new(&blocks, 8, FileLayout::Contiguous, Direction::Write).expect("a plan");
    let part = filled(&plan, rank, numbered);
    let (len, pieces) = (plan.total_bytes(), raw::pieces(&plan, rank));
    raw::save(site.comm, &site.file(RAW), len, &pieces, bytes(&part));
    let save = SaveHdf5::new(site.file(OURS)).key("data");
    let save = save.mode(WriteMode::Replace);
    save.save(&part, site.comm).expect("saved");
    drop(part);

    // each rank some of them
    let wanted = WANTED.min(rows);
    let mine: Vec<i64> = (rank as u64..wanted)
        .step_by(ranks)
        .map(|number| (number * PRIME % rows).cast_signed())
        .collect();
    let row = usize::try_from(WIDTH * 8).expect("bytes in memory");
    let offsets = mine.iter().map(|&index| index.cast_unsigned() * WIDTH * 8);
    let pieces = offsets.enumerate();
    let pieces: Vec<raw::Piece> = pieces
        .map(|(at, offset)| (offset, at * row..(at + 1) * row))
        .collect();
    let list = DimDict::unstructured(rows, ranks, rank, mine, false).expect("indices");
    let part = DimData::new(vec![list, DimDict::whole(WIDTH).expect("an extent")]);

    let load = LoadHdf5::new(site.file(OURS)).key("data");
    let mut ours = vec![0.0_f64; pieces.len() * row / 8];
    let mut limit = vec![1_u8; pieces.len() * row];
    bench.pair(&mut Pair {
        case: "rows-read",
        bytes: wanted * WIDTH * 8,
        before: &mut || {},
        limit: &mut || {
            raw::read(&site.file(RAW), &pieces, &mut limit);
            nothing()
        },
        ours: &mut || {
            let read = load.load_into(&part, &mut ours, site.comm);
            read.expect("read");
            nothing()
        },
    });
    let read: Vec<u8> = ours.iter().flat_map(|x| x.to_ne_bytes()).collect();
    assert_eq!(read, limit);
    site.remove(&[OURS, RAW]);
}
