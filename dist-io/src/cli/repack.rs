//! `dap repack`: one plain HDF5 file of a file with parts.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::Outcome;
use super::error::CliError;

/// Write one plain HDF5 file of a file whose datasets are in parts.
///
/// Every virtual dataset becomes an ordinary one, with its names, attributes and elements; all else is copied as it is. Every part
/// is checked before its elements are copied. OUT is replaced when it is complete; it may be IN itself, and the parts that IN was
/// saved in are removed then.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  dap repack run.h5 one.h5
  dap repack run.h5 run.h5")]
pub(super) struct Args {
    /// An HDF5 file with virtual datasets
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

#[cfg(not(feature = "hdf5"))]
pub(super) fn run(args: &Args) -> Result<Outcome, CliError> {
    let Args { input, output } = args;
    let path = if input.exists() { input } else { output };
    Err(CliError::NeedsHdf5 { path: path.clone() })
}

#[cfg(feature = "hdf5")]
pub(super) fn run(args: &Args) -> Result<Outcome, CliError> {
    use dist_io::{Refusal, watched};

    use super::progress::Work;

    super::convert::has_folder(&args.output)?;
    let work = Work::writing(0);
    let mut stopped = None;
    let repacked = watched::repack(&args.input, &args.output, &mut |bytes, of| {
        work.of(of);
        work.done(bytes).map_err(|error| {
            let refusal = Refusal::Os {
                operation: "copy".to_owned(),
                message: error.to_string(),
            };
            stopped = Some(error);
            refusal
        })
    });
    match (stopped, repacked) {
        (Some(error), Err(_)) => return Err(error),
        (_, repacked) => repacked?,
    }
    let (input, output) = (args.input.display(), args.output.display());
    Ok(format!("{input} -> {output}: one plain HDF5 file\n").into())
}
