//! `dap convert`: an array from one form to another, piece by piece.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use clap::Args as ClapArgs;
use dist_maps::Distribution;

use super::Outcome;
use super::dist::{Dist, Extents, bytes};
use super::error::CliError;
use super::place::{Place, output};
use super::progress::note;
use super::source::Source;
use super::storage::Storage;
use super::text::{count, times};
use super::write::Conversion;

/// Convert an array between .npy, .dnpy sets, HDF5 and virtual datasets, in any distribution.
///
/// The target is written beside itself and renamed when it is complete: an interrupted run leaves what was there. A dataset is
/// added to an HDF5 file that is there; a key that exists is an error. Nothing is converted in the elements but their byte order.
/// From one HDF5 dataset to another, attributes, names of codes, chunks and filters are kept.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap convert whole.npy run/part --dist b,b --grid 2x2
  dap convert run/part_*.dnpy whole.npy
  dap convert run/part all.h5:/heat --dist b,n --ranks 3
  dap convert run/part all.h5:/heat --chunk 64x64 --gzip 4 --shuffle
  dap convert all.h5:/heat run.h5:/heat --parts --dist b --ranks 8
  dap convert run/part other --dist c:64 --ranks 8 --budget 1GiB")]
pub(super) struct Args {
    /// What to read: a file, a dataset, the parts of a set, or the prefix of one
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
    #[command(flatten)]
    storage: Storage,
}

pub(super) fn run(args: &Args) -> Result<Outcome, CliError> {
    let target = output(&args.output)?;
    args.storage.check(&target)?;
    if let Place::Npy(_) = target {
        args.no_distribution(".npy file")?;
    }
    let source = Source::open(&args.input)?;
    let conversion = Conversion {
        source: &source,
        budget: args.budget,
    };
    let parts = match &target {
        Place::Npy(path) => {
            has_folder(path)?;
            leave_attributes(&source, ".npy file");
            conversion.to_npy(path)?;
            "one file".to_owned()
        }
        Place::Set(prefix) => {
            has_folder(prefix)?;
            let wanted = args.wanted(&source)?;
            leave_attributes(&source, "set of .dnpy files");
            conversion.to_set(prefix, &wanted)?;
            format!("{} over a grid of {}", parts(&wanted), grid(&wanted))
        }
        #[cfg(feature = "hdf5")]
        Place::Hdf5 { path, key } => {
            has_folder(path)?;
            let wanted = args.wanted(&source)?;
            let key = key.as_deref().unwrap_or(dist_io::DEFAULT_KEY);
            let save = dist_io::SaveHdf5::new(path).key(key);
            let save = args.storage.apply(save, &source);
            conversion.to_hdf5(&save, &wanted, args.storage.parts)?;
            let how = if args.storage.parts { "in" } else { "as" };
            let (parts, grid) = (parts(&wanted), grid(&wanted));
            format!("one dataset, {how} {parts} over a grid of {grid}")
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
}

fn parts(wanted: &Distribution) -> String {
    count(wanted.ranks(), "part")
}

fn grid(wanted: &Distribution) -> String {
    times(wanted.grid().shape())
}

/// Refuses a target in a folder that is not there, before anything is read.
pub(super) fn has_folder(path: &Path) -> Result<(), CliError> {
    match path.parent() {
        Some(folder) if folder != Path::new("") && !folder.exists() => Err(CliError::NoFolder {
            path: path.to_owned(),
            folder: folder.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Says that attributes have no place in the target.
fn leave_attributes(source: &Source, target: &str) {
    let names = source.attributes();
    if !names.is_empty() {
        let names = names.join(", ");
        note(format_args!(
            "attributes are left out ({names}): a {target} has no place for them"
        ));
    }
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
