//! The main job on real terrain: read by parts, fill the halos, shade, redistribute, save, read back on other ranks.
//!
//! ```sh
//! make demo RANKS=7     # 7 threads of this process
//! make demo-mpi         # the same program under mpirun
//! ```
//!
//! [`shade`] and [`reload`] are what a user would write; they take any communicator. `plain.rs` computes everything
//! again without these crates, `report.rs` prints, compares and draws. Exits non-zero if a single element differs.

mod plain;
mod report;

use std::f64::consts::FRAC_1_SQRT_2;
use std::fs;
use std::path::{Path, PathBuf};

use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator, ReduceOp, ThreadComm};
use dist_maps::Distribution;
use dnpy_format::set::{PartRecord, Set, SetWriter};
use dnpy_format::{DnpyError, SaveId, npy};
use local_array::LocalArray;
use ndarray::{ArrayView2, Ix2};

use plain::Terrain;
use report::Report;

/// Elevation in metres, int16, rows from north to south; see `data/README.md`.
const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/jacksboro_dem.npy");
const SHAPE: [u64; 2] = [344, 403];
/// A cell's extent in metres: 3 arc-seconds at 36.6° N.
const NORTH_SOUTH: f64 = 92.5;
const EAST_WEST: f64 = 74.3;
/// No elevation: what the padding holds until a neighbour fills it.
const POISON: i16 = i16::MIN;
/// What the names of the saved files begin with.
const PARTS: &str = "hillshade";
/// How many ranks read the files back.
const READERS: usize = 3;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Reads the terrain, shades it and saves the result, on all ranks of `comm`.
fn shade<C: Communicator>(comm: &C, out: &Path) -> Result<()> {
    let rank = comm.rank();
    let mut report = Report::new(comm);

    // Blocks with one cell of padding. Each rank reads the elements that it owns and no others.
    let blocks = Distribution::over(comm.size())
        .shape(SHAPE)
        .block(0)
        .block(1)
        .padding(1)
        .build()?;
    let read = agree(comm, npy::read_owned::<i16>(DATA, &blocks.dim_data(rank)?))?;
    let bytes = read.bytes_read;
    let mut dem = LocalArray::<i16, Ix2, _>::from_distarray(read.part, comm)?;
    report.table(
        "The elevation, block × block with one cell of padding",
        &dem,
        Some(bytes),
    )?;

    // The padding is poisoned, so that only the neighbours can have filled it.
    let owned = dem.owned().to_owned();
    dem.fill(POISON);
    dem.owned_mut().assign(&owned);
    report.poisoned("before", &dem)?;
    dem.exchange_halo()?;
    report.poisoned("after", &dem)?;

    // Slope and hillshade from the 3 × 3 cells around each cell. At the edge of the terrain, and only there, the
    // nearest cell stands in for a missing one.
    let slope = dem.map_windows(1, |cells| Gradient::of(&cells).slope())?;
    let shaded = dem.map_windows(1, |cells| Gradient::of(&cells).hillshade())?;

    // Over all ranks, and the same bits on each.
    let elevation = (dem.min()?, dem.mean()?, dem.max()?);
    let steepness = (slope.min()?, slope.mean()?, slope.max()?);
    report.statistics(
        "elevation, m",
        elevation.0.into(),
        elevation.1,
        elevation.2.into(),
    );
    report.statistics("slope, degrees", steepness.0, steepness.1, steepness.2);

    // Dealt out anew, in squares of 32 × 32 cells.
    let squares = Distribution::over(comm.size())
        .shape(SHAPE)
        .block_cyclic(0, 32)
        .block_cyclic(1, 32)
        .build()?;
    let dealt = shaded.redistribute(&squares)?;
    report.table("The hillshade, block-cyclic 32 × 32", &dealt, None)?;

    // One .dnpy per rank. The save counts from the moment that its manifest is there, which comes last.
    let mut id = SaveId::random().to_string().into_bytes();
    comm.broadcast(0, &mut id)?;
    let writer = SetWriter::new(out.join(PARTS), std::str::from_utf8(&id)?.parse()?);
    let record = agree(comm, writer.save_part(rank, &dealt))?;
    let published = match comm.gather_v(0, &record.to_bytes())? {
        Some(records) => publish(&writer, &records),
        None => Ok(()),
    };
    agree(comm, published)?;

    // Everything again, plainly.
    let terrain = agree(comm, Terrain::read(DATA))?;
    let hillshade = terrain.hillshade();
    let own = plain::blocks(blocks.grid().shape(), rank, 0);
    let padded = plain::blocks(blocks.grid().shape(), rank, 1);
    let square = plain::squares(squares.grid().shape(), rank, 32);
    report.compare(
        "elevation with halo",
        &dem.local(),
        &terrain.elevation,
        &padded,
    )?;
    report.compare("slope", &slope.owned(), &terrain.slope(), &own)?;
    report.compare("hillshade", &shaded.owned(), &hillshade, &own)?;
    report.compare("redistributed", &dealt.local(), &hillshade, &square)?;
    report.expect("statistics", terrain.has_statistics(elevation, steepness))?;
    report.expect(
        "read once each",
        comm.all_reduce_value(bytes, ReduceOp::Sum)? == terrain.bytes(),
    )?;

    let grey = shaded.map(|&brightness| report::grey(brightness));
    let picture = grey.gather_to(0)?;
    let drawn = picture.map_or(Ok(()), |pixels| {
        report::png(&out.join("hillshade.png"), &pixels)
    });
    agree(comm, drawn)?;
    report.draw(&out.join("blocks.svg"), &blocks)?;
    report.draw(&out.join("squares.svg"), &squares)?;
    report.verdict()
}

/// Makes the parts of all ranks a set, on one of them.
fn publish(writer: &SetWriter, records: &[Vec<u8>]) -> std::result::Result<(), DnpyError> {
    let records: Vec<_> = records
        .iter()
        .map(|bytes| PartRecord::from_bytes(bytes))
        .collect::<std::result::Result<_, _>>()?;
    writer.publish(&records)
}

/// Reads the saved files back on other ranks, columns dealt in turn: from the files alone.
fn reload<C: Communicator>(comm: &C, out: &Path) -> Result<()> {
    let mut report = Report::new(comm);
    let columns = Distribution::over(comm.size())
        .shape(SHAPE)
        .cyclic(1)
        .build()?;
    let read = agree(
        comm,
        Set::open(out.join(PARTS)).and_then(|set| set.read::<f32>(&columns.dim_data(comm.rank())?)),
    )?;
    let bytes = read.bytes_read;
    let again = LocalArray::<f32, Ix2, _>::from_distarray(read.part, comm)?;
    report.table(
        "The hillshade read back from the files, columns cyclic",
        &again,
        Some(bytes),
    )?;

    let hillshade = agree(comm, Terrain::read(DATA))?.hillshade();
    report.compare(
        "read back",
        &again.local(),
        &hillshade,
        &plain::columns(comm.size(), comm.rank()),
    )?;
    report.draw(&out.join("columns.svg"), &columns)?;
    report.verdict()
}

/// How the land rises at a cell, in metres per metre.
struct Gradient {
    east: f64,
    north: f64,
}

impl Gradient {
    /// Horn's method on 3 × 3 cells, the first row in the north.
    fn of(cells: &ArrayView2<'_, i16>) -> Self {
        let at = |row, column| f64::from(cells[[row, column]]);
        let east = at(0, 2) + 2.0 * at(1, 2) + at(2, 2) - at(0, 0) - 2.0 * at(1, 0) - at(2, 0);
        let north = at(0, 0) + 2.0 * at(0, 1) + at(0, 2) - at(2, 0) - 2.0 * at(2, 1) - at(2, 2);
        Self {
            east: east / (8.0 * EAST_WEST),
            north: north / (8.0 * NORTH_SOUTH),
        }
    }

    /// Steepness in degrees.
    fn slope(&self) -> f64 {
        (self.east * self.east + self.north * self.north)
            .sqrt()
            .atan()
            .to_degrees()
    }

    /// Brightness, 0 to 255, under a light in the north-west, 45° high: the cosine between the light, (-½, ½, √½), and the
    /// surface's normal.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "single precision is plenty for a brightness"
    )]
    fn hillshade(&self) -> f32 {
        let facing = 0.5 * self.east - 0.5 * self.north + FRAC_1_SQRT_2;
        let length = (self.east * self.east + self.north * self.north + 1.0).sqrt();
        (255.0 * (facing / length).max(0.0)) as f32
    }
}

fn main() -> Result<()> {
    let mut ranks = 4;
    let mut mpi = false;
    let mut out = PathBuf::from("out/demo");
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--ranks" => ranks = value()?.parse()?,
            "--out" => out = value()?.into(),
            "--mpi" => mpi = true,
            _ => {
                return Err(format!(
                    "{argument} is not known, allowed: --ranks N, --out FOLDER, --mpi"
                )
                .into());
            }
        }
    }
    fs::create_dir_all(&out)?;
    if mpi {
        under_mpi(&out)
    } else {
        on_threads(ranks, &out)
    }
}

/// Ranks are threads of this process.
fn on_threads(ranks: usize, out: &Path) -> Result<()> {
    ThreadComm::run(ranks, |comm| shade(comm, out)).map_err(|e| e.to_string())?;
    ThreadComm::run(READERS, |comm| reload(comm, out)).map_err(|e| e.to_string())?;
    report::files(out)
}

/// Ranks are the processes that `mpirun` started; the first three read the files back.
#[cfg(feature = "mpi")]
fn under_mpi(out: &Path) -> Result<()> {
    let world = dist_comm::MpiComm::world()?;
    shade(&world, out)?;
    world.barrier()?;
    let reads = world.rank() < READERS;
    if let Some(readers) = world.split(reads.then_some(0), 0)? {
        reload(&readers, out)?;
    }
    world.barrier()?;
    if world.rank() == 0 {
        report::files(out)
    } else {
        Ok(())
    }
}

#[cfg(not(feature = "mpi"))]
fn under_mpi(_: &Path) -> Result<()> {
    Err("built without MPI, allowed: --features mpi (make demo-mpi)".into())
}
