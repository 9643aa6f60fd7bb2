//! A dataset in chunks that go through `deflate`, a quarter of the array; the limit codes and decodes the same chunks in memory, in as
//! many threads.

use std::thread;

use dist_comm::Communicator;
use dist_io::{Direction, FileLayout, IoPlan, LoadHdf5, SaveHdf5, WriteMode};
use dist_maps::Distribution;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use crate::ranks::{Bench, Pair, nothing};
use crate::{CHUNK, COLUMNS, filled};

const OURS: &str = "gzip.h5";
const LEVEL: u8 = 4;
/// Threads of all ranks together.
const THREADS: usize = 2;

pub fn run<C: Communicator>(bench: &mut Bench<'_, C>, rows: u64) {
    let site = bench.site;
    let (rank, ranks) = (site.comm.rank(), site.comm.size());
    // a process of `mpirun` may have one processor and no second thread
    if ranks > THREADS || bench.is_mpi() {
        return;
    }
    let rows = (rows / 4).next_multiple_of(CHUNK[0] * ranks as u64);
    let blocks = Distribution::over(ranks).shape([rows, COLUMNS]).block(0);
    let blocks = blocks.build().expect("a distribution");
    let layout = FileLayout::Chunked {
        chunk: CHUNK.to_vec(),
    };
    let plan = IoPlan::new(&blocks, 8, layout, Direction::Write).expect("a plan");
    let part = filled(&plan, rank, smooth);
    let elements = part.buffer().data();
    let save = SaveHdf5::new(site.file(OURS)).key("data");
    let save = save.chunk(CHUNK).deflate(LEVEL).mode(WriteMode::Replace);

    let plain = chunks(elements);
    let threads = (THREADS / ranks).max(1);
    let coded = in_threads(threads, &plain, coded);
    bench.pair(&mut Pair {
        case: "gzip-write",
        bytes: plan.total_bytes(),
        before: &mut || site.remove(&[OURS]),
        limit: &mut || Box::new(in_threads(threads, &plain, self::coded)),
        ours: &mut || {
            save.save(&part, site.comm).expect("saved");
            nothing()
        },
    });
    save.save(&part, site.comm).expect("saved");
    let load = LoadHdf5::new(site.file(OURS)).key("data");
    let mut ours = vec![0.0; elements.len()];
    bench.pair(&mut Pair {
        case: "gzip-read",
        bytes: plan.total_bytes(),
        before: &mut || {},
        limit: &mut || Box::new(in_threads(threads, &coded, decoded)),
        ours: &mut || {
            let read = load.load_into(&blocks, &mut ours, site.comm);
            read.expect("read");
            nothing()
        },
    });
    assert_eq!(ours, elements);
    site.remove(&[OURS]);
}

/// Steps, which compress well.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn smooth(number: u64) -> f64 {
    (number / COLUMNS / 8 + number % COLUMNS / 64) as f64
}

/// The chunks of some whole rows of chunks, as bytes.
fn chunks(elements: &[f64]) -> Vec<Vec<u8>> {
    let [height, width] = CHUNK.map(|extent| usize::try_from(extent).expect("elements in memory"));
    let row = usize::try_from(COLUMNS).expect("elements in memory");
    let mut chunks = Vec::new();
    for band in elements.chunks_exact(height * row) {
        for column in (0..row).step_by(width) {
            let rows = band
                .chunks_exact(row)
                .map(|row| &row[column..column + width]);
            let bytes = rows.flatten().flat_map(|x| x.to_ne_bytes());
            chunks.push(bytes.collect());
        }
    }
    chunks
}

fn in_threads(
    threads: usize,
    chunks: &[Vec<u8>],
    work: impl Fn(&[Vec<u8>]) -> Vec<Vec<u8>> + Sync,
) -> Vec<Vec<u8>> {
    let share = chunks.len().div_ceil(threads).max(1);
    let work = &work;
    thread::scope(|scope| {
        let shares = chunks.chunks(share);
        let threads: Vec<_> = shares
            .map(|share| scope.spawn(move || work(share)))
            .collect();
        let done = threads.into_iter().map(thread::ScopedJoinHandle::join);
        done.flat_map(|done| done.expect("coded")).collect()
    })
}

fn coded(chunks: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut state = Compress::new(Compression::new(u32::from(LEVEL)), true);
    let mut room = Vec::new();
    let code = |chunk: &Vec<u8>| {
        state.reset();
        room.clear();
        room.reserve(chunk.len());
        let status = state.compress_vec(chunk, &mut room, FlushCompress::Finish);
        status.expect("coded");
        room.clone()
    };
    chunks.iter().map(code).collect()
}

/// The last chunk of each thread, decoded: all are decoded into the same memory.
fn decoded(chunks: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut state = Decompress::new(true);
    let mut room = Vec::with_capacity(usize::try_from(CHUNK[0] * CHUNK[1] * 8).expect("bytes"));
    for chunk in chunks {
        state.reset(true);
        room.clear();
        let status = state.decompress_vec(chunk, &mut room, FlushDecompress::Finish);
        status.expect("decoded");
    }
    vec![room]
}
