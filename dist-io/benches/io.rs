//! Datasets written and read by all ranks. The limit is what the operating system takes to move the same bytes at offsets of a plain
//! file, by the same ranks and with the same syncs; it takes turns with ours.
//!
//! `IO_MIB` (1024): the array; `IO_FOLDER` (`/dev/shm`): where files go; `IO_RANKS` (`1 2 4`): on how many threads; `IO_PARTS`: what is
//! measured, see [`PARTS`].
#![allow(missing_docs, unreachable_pub, reason = "a benchmark")]

#[path = "io/batched.rs"]
mod batched;
#[path = "io/dataset.rs"]
mod dataset;
#[path = "io/gzip.rs"]
mod gzip;
#[path = "io/ranks.rs"]
mod ranks;
#[path = "io/raw.rs"]
mod raw;
#[path = "io/rows.rs"]
mod rows;
#[path = "io/small.rs"]
mod small;
#[path = "io/vds.rs"]
mod vds;

use std::path::PathBuf;

use dap_protocol::{DistBuffer, HostArray, HostBuffer};
use dist_comm::Communicator;
use dist_io::IoPlan;
use ranks::{Bench, Job};

const PARTS: &str = "contiguous chunked cyclic rows vds gzip batched small";

/// Columns of the array, and a chunk of it.
const COLUMNS: u64 = 16384;
const CHUNK: [u64; 2] = [256, 2048];

/// A rank's part of an array.
type Part = DistBuffer<HostArray<f64>>;

struct Io {
    parts: String,
    rows: u64,
}

impl Job for Io {
    fn run<C: Communicator>(&self, bench: &mut Bench<'_, C>) {
        for part in self.parts.split_whitespace() {
            match part {
                "contiguous" => dataset::contiguous(bench, self.rows),
                "chunked" => dataset::chunked(bench, self.rows),
                "cyclic" => dataset::cyclic(bench, self.rows),
                "rows" => rows::run(bench, self.rows),
                "vds" => vds::run(bench, self.rows),
                "gzip" => gzip::run(bench, self.rows),
                "batched" => batched::run(bench, self.rows),
                "small" => small::run(bench),
                other => panic!("no part {other}: {PARTS}"),
            }
        }
    }
}

/// A rank's part of an array that is saved by this plan, by the number of each element in the array.
fn filled(plan: &IoPlan, rank: usize, value: impl Fn(u64) -> f64) -> Part {
    let distribution = plan.distribution();
    let shape = distribution.local_shape(rank);
    let mut elements = vec![0.0; shape.iter().product()];
    let part = plan.part(rank).expect("a rank of the plan");
    for run in part.runs() {
        let first = run.offset / 8;
        let numbers = first..first + run.len as u64;
        for (number, x) in numbers.zip(&mut elements[run.local..]) {
            *x = value(number);
        }
    }
    let dim_data = distribution.dim_data(rank).expect("a rank of the plan");
    let elements = HostArray::new(shape, elements).expect("an array");
    DistBuffer::new(dim_data, elements).expect("a part")
}

/// Every element another one.
#[expect(clippy::cast_precision_loss, reason = "numbers below 2^53")]
fn numbered(number: u64) -> f64 {
    number as f64
}

fn bytes(part: &Part) -> &[u8] {
    part.buffer().contiguous_bytes().expect("contiguous").0
}

fn main() {
    let text =
        |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
    let mib: u64 = text("IO_MIB", "1024").parse().expect("MiB");
    let job = Io {
        parts: text("IO_PARTS", PARTS),
        rows: (mib * (1 << 20) / 8 / COLUMNS).next_multiple_of(CHUNK[0]),
    };
    let folder = PathBuf::from(text("IO_FOLDER", "/dev/shm"));
    let ranks = text("IO_RANKS", "1 2 4");
    let ranks = ranks.split_whitespace().map(|n| n.parse().expect("ranks"));
    ranks::main(&job, &folder, &ranks.collect::<Vec<usize>>());
}
