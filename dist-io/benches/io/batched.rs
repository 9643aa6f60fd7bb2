//! A dataset read in chunks by one rank, each chunk dropped before the next; the limit reads the same pieces into one chunk's memory.

use dist_comm::{Communicator, SingleComm};
use dist_io::legate::from_file_batched;
use dist_io::{Direction, FileLayout, IoPlan, SaveHdf5, WriteMode};
use dist_maps::Distribution;

use crate::ranks::{Bench, Pair, nothing};
use crate::{COLUMNS, bytes, filled, numbered, raw};

const OURS: &str = "batched.h5";
const RAW: &str = "batched.bin";
/// A chunk: rows of 32 KiB.
const BATCH: [u64; 2] = [4096, 4096];

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, rows: u64) {
    let site = bench.site;
    if site.comm.size() > 1 {
        return;
    }
    let alone = SingleComm::new();
    let whole = Distribution::over(1).shape([rows, COLUMNS]).build();
    let whole = whole.expect("a distribution");
    let plan = IoPlan::new(&whole, 8, FileLayout::Contiguous, Direction::Write).expect("a plan");
    let part = filled(&plan, 0, numbered);
    let pieces = raw::pieces(&plan, 0);
    raw::save(
        site.comm,
        &site.file(RAW),
        plan.total_bytes(),
        &pieces,
        bytes(&part),
    );
    let save = SaveHdf5::new(site.file(OURS)).key("data");
    let save = save.mode(WriteMode::Replace);
    save.save(&part, &alone).expect("saved");
    drop(part);

    let height = BATCH[0].min(rows);
    let row = usize::try_from(BATCH[1] * 8).expect("bytes in memory");
    let mut chunk = vec![1_u8; usize::try_from(height).expect("rows in memory") * row];
    let mut batches: Vec<Vec<raw::Piece>> = Vec::new();
    for first in (0..rows).step_by(4096) {
        for column in (0..COLUMNS).step_by(4096) {
            let rows = first..(first + height).min(rows);
            let offsets = rows.map(|row| (row * COLUMNS + column) * 8);
            let pieces = offsets.enumerate();
            let pieces = pieces.map(|(at, offset)| (offset, at * row..(at + 1) * row));
            batches.push(pieces.collect());
        }
    }
    let path = site.file(OURS);
    let all = || from_file_batched::<f64>(&path, "data", &BATCH).expect("a dataset");
    bench.pair(&mut Pair {
        case: "batched-read",
        bytes: plan.total_bytes(),
        before: &mut || {},
        limit: &mut || {
            for pieces in &batches {
                raw::read(&site.file(RAW), pieces, &mut chunk);
            }
            nothing()
        },
        ours: &mut || {
            let mut batches = all();
            while let Some(batch) = batches.next() {
                batches.recycle(batch.expect("a chunk").0);
            }
            nothing()
        },
    });
    for batch in all() {
        let (batch, corner) = batch.expect("a chunk");
        let first = numbered(corner[0] * COLUMNS + corner[1]);
        assert_eq!(batch.data()[..1], [first]);
    }
    site.remove(&[OURS, RAW]);
}
