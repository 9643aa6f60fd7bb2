//! `dap convert`: an array from one form to another, piece by piece.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Args as ClapArgs;
use dap_protocol::{DimData, DistBuffer, ElementType, HostBuffer, LocalBuffer, Order};
#[cfg(feature = "hdf5")]
use dist_io::SaveHdf5;
use dist_maps::Distribution;
use dnpy_format::set::{PartRecord, SetWriter};
use dnpy_format::{SaveId, npy};
use indicatif::{ProgressBar, ProgressStyle};

use super::Outcome;
use super::dist::{Dist, Extents, bytes};
use super::error::CliError;
use super::pieces::whole;
use super::place::{Place, output};
use super::source::Source;
use super::text::{count, times};

/// Convert an array between .npy, .dnpy sets and HDF5, in any distribution.
///
/// The target is written beside itself and renamed when it is complete: an interrupted run leaves what was there. A dataset is
/// added to an HDF5 file that is there; a key that exists is an error. Nothing is converted in the elements but their byte order.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap convert whole.npy run/part --dist b,b --grid 2x2
  dap convert run/part_*.dnpy whole.npy
  dap convert run/part all.h5:/heat --dist b,n --ranks 3
  dap convert run/part other --dist c:64 --ranks 8 --budget 1GiB")]
pub(super) struct Args {
    /// What to read: a file, the parts of a set, or the prefix of one
    #[arg(required = true, num_args = 1.., value_name = "IN")]
    input: Vec<OsString>,
    /// What to write: FILE.npy, a dataset as in `all.h5:/heat`, or the prefix of a set
    #[arg(value_name = "OUT")]
    output: OsString,
    /// How OUT is distributed [default: as IN is; `b` where a grid or ranks are given]
    #[arg(long)]
    dist: Option<Dist>,
    /// Ranks along each dimension, as in 2x2 [default: chosen by the shape]
    #[arg(long)]
    grid: Option<Extents>,
    /// Number of ranks [default: as many as the grid has]
    #[arg(long)]
    ranks: Option<usize>,
    /// Memory for elements
    #[arg(long, value_parser = bytes, default_value = "64MiB")]
    budget: u64,
    /// Say how much memory it took
    #[arg(long)]
    report: bool,
}

pub(super) fn run(args: &Args) -> Result<Outcome, CliError> {
    let target = output(&args.output)?;
    let source = Source::open(&args.input)?;
    let parts = match &target {
        Place::Npy(path) => {
            args.no_distribution("`.npy` file")?;
            args.to_npy(&source, path)?;
            "one file".to_owned()
        }
        Place::Set(prefix) => {
            let wanted = args.wanted(&source)?;
            args.to_set(&source, prefix, &wanted)?;
            format!(
                "{} over a grid of {}",
                count(wanted.ranks(), "part"),
                times(wanted.grid().shape())
            )
        }
        #[cfg(feature = "hdf5")]
        Place::Hdf5 { path, key } => {
            let wanted = args.wanted(&source)?;
            args.to_hdf5(&source, path, key.as_deref(), &wanted)?;
            format!(
                "one dataset, as {} over a grid of {}",
                count(wanted.ranks(), "part"),
                times(wanted.grid().shape())
            )
        }
        #[cfg(not(feature = "hdf5"))]
        Place::Hdf5 { path, .. } => return Err(CliError::NeedsHdf5 { path: path.clone() }),
        Place::Parts(_) | Place::Unknown(_) => {
            return Err(CliError::UnknownFile {
                path: args.output.clone().into(),
            });
        }
    };
    let mut text = format!(
        "{} -> {}: {} of {}, {parts}\n",
        source.name(),
        target.name(),
        times(&source.shape()),
        source.element(),
    );
    if args.report {
        let peak = peak_memory().map_or("unknown".to_owned(), |bytes| format!("{bytes} bytes"));
        // writing to a string cannot fail
        let _ = writeln!(text, "peak memory {peak}, budget {} bytes", args.budget);
    }
    Ok(text.into())
}

impl Args {
    fn no_distribution(&self, target: &'static str) -> Result<(), CliError> {
        let given = [
            ("--dist", self.dist.is_some()),
            ("--grid", self.grid.is_some()),
            ("--ranks", self.ranks.is_some()),
        ];
        match given.into_iter().find(|&(_, given)| given) {
            Some((option, _)) => Err(CliError::NoDistribution { option, target }),
            None => Ok(()),
        }
    }

    /// The distribution of the target.
    fn wanted(&self, source: &Source) -> Result<Distribution, CliError> {
        let blocks = || "b".parse::<Dist>().ok();
        let dist = match (&self.dist, &self.grid, self.ranks) {
            (None, None, None) => return source.distribution(),
            (Some(dist), ..) => Some(dist.clone()),
            // a scalar has no dimension to cut
            (None, ..) if source.shape().is_empty() => "n".parse().ok(),
            (None, ..) => blocks(),
        };
        let dist = dist.ok_or(CliError::Missing { option: "--dist" })?;
        dist.build(&source.shape(), self.grid.as_ref(), self.ranks)
    }

    fn to_npy(&self, source: &Source, path: &Path) -> Result<(), CliError> {
        let shape = source.shape();
        let all = whole(&shape)?;
        let writer = npy::PartsWriter::create(path, SaveId::random(), source.element(), &shape)?;
        let bar = bar(stored_bytes(&all, source.element()));
        let write = || {
            let mut written = 0;
            for piece in source.pieces(&all, self.budget)? {
                let piece = piece?;
                let part = source.read(&piece)?;
                let bytes = writer.write_part(&DistBuffer::new(piece, part.buffer())?)?;
                written += bytes;
                bar.inc(bytes);
            }
            Ok::<u64, CliError>(written)
        };
        match write() {
            Ok(written) => writer.publish(written)?,
            Err(error) => {
                // the first error is the one to tell
                let _ = writer.discard();
                return Err(error);
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    fn to_set(
        &self,
        source: &Source,
        prefix: &Path,
        wanted: &Distribution,
    ) -> Result<(), CliError> {
        let writer = SetWriter::new(prefix, SaveId::random());
        let mut parts = Vec::with_capacity(wanted.ranks());
        let mut total = 0_u64;
        for rank in 0..wanted.ranks() {
            let part = wanted.dim_data(rank)?;
            total = total.saturating_add(stored_bytes(&part, source.element()));
            parts.push(part);
        }
        let bar = bar(total);
        let mut records: Vec<PartRecord> = Vec::new();
        let mut save = || -> Result<(), CliError> {
            for (rank, part) in parts.iter().enumerate() {
                let stream = Stream::new(source, part, self.budget, &bar)?;
                let record = writer.save_part(rank, &DistBuffer::new(part.clone(), &stream)?)?;
                records.push(record);
                stream.outcome()?;
            }
            Ok(())
        };
        if let Err(error) = save() {
            for record in &records {
                // no manifest names it; what cannot be removed is removed by the next save
                let _ = fs::remove_file(prefix.with_file_name(record.file()));
            }
            return Err(error);
        }
        writer.publish(&records)?;
        bar.finish_and_clear();
        Ok(())
    }

    #[cfg(feature = "hdf5")]
    fn to_hdf5(
        &self,
        source: &Source,
        path: &Path,
        key: Option<&str>,
        wanted: &Distribution,
    ) -> Result<(), CliError> {
        let key = key.unwrap_or(dist_io::DEFAULT_KEY);
        let all = whole(&source.shape())?;
        let mut save = SaveHdf5::new(path).key(key);
        if let Source::Hdf5 { reader, .. } = source {
            for (name, value) in &reader.info().attributes {
                save = save.attribute(name, value.clone());
            }
        }
        let mut writer = save.begin(wanted, source.element())?;
        let bar = bar(stored_bytes(&all, source.element()));
        for piece in source.pieces(&all, self.budget)? {
            let part = source.read(&piece?)?;
            let mut outcome = Ok(());
            part.buffer().visit_bytes(&mut |bytes| {
                bar.inc(bytes.len() as u64);
                if outcome.is_ok() {
                    outcome = writer.write(bytes);
                }
            });
            outcome?;
        }
        writer.publish()?;
        bar.finish_and_clear();
        Ok(())
    }
}

/// Bytes of a part, padding included.
fn stored_bytes(part: &DimData, element: ElementType) -> u64 {
    let extents = part.local_shape().into_iter();
    extents.fold(element.size() as u64, u64::saturating_mul)
}

/// A bar on the terminal; nothing where there is none.
fn bar(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    if let Ok(style) = ProgressStyle::with_template(
        "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    ) {
        bar.set_style(style);
    }
    bar
}

/// The most memory that this process has had, as the system counts it.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// A part whose elements are read when they are asked for: a buffer that is never in memory as a whole.
struct Stream<'a> {
    source: &'a Source,
    part: &'a DimData,
    shape: Vec<usize>,
    budget: u64,
    bar: &'a ProgressBar,
    /// Why it stopped; whoever visits the bytes cannot be told.
    failed: RefCell<Option<CliError>>,
}

impl<'a> Stream<'a> {
    fn new(
        source: &'a Source,
        part: &'a DimData,
        budget: u64,
        bar: &'a ProgressBar,
    ) -> Result<Self, CliError> {
        let extents = part.local_shape().into_iter();
        let shape = extents.map(usize::try_from).collect::<Result<_, _>>();
        let too_large = |_| dap_protocol::ProtocolError::Overflow {
            what: "extent of a part",
        };
        Ok(Self {
            source,
            part,
            shape: shape.map_err(too_large)?,
            budget,
            bar,
            failed: RefCell::new(None),
        })
    }

    /// Whether all bytes were visited.
    fn outcome(&self) -> Result<(), CliError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    fn visit(&self, visit: &mut dyn FnMut(&[u8])) -> Result<(), CliError> {
        for piece in self.source.pieces(self.part, self.budget)? {
            let part = self.source.read(&piece?)?;
            part.buffer().visit_bytes(&mut |bytes| {
                visit(bytes);
                self.bar.inc(bytes.len() as u64);
            });
        }
        Ok(())
    }
}

impl LocalBuffer for Stream<'_> {
    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn element_type(&self) -> ElementType {
        self.source.element()
    }
}

impl HostBuffer for Stream<'_> {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        None
    }

    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        self.failed.replace(self.visit(visit).err());
    }
}
