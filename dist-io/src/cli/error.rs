//! [`CliError`]: why a command failed.

use std::io;
use std::path::{Path, PathBuf};

use dap_protocol::{ElementType, ProtocolError};
use dist_io::IoError;
use dist_maps::{MapError, PlanError};
use dnpy_format::DnpyError;

use super::{FAILED, INTERRUPTED, USAGE};

/// Why a command failed; its text is what the user reads.
#[derive(Debug, thiserror::Error)]
pub(super) enum CliError {
    #[error(transparent)]
    Dnpy(#[from] DnpyError),
    #[error(transparent)]
    Io(#[from] IoError),
    #[error(transparent)]
    Map(#[from] MapError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    #[error("{operation} {}: {source}", path.display())]
    Os {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// Only where the feature is off.
    #[cfg_attr(feature = "hdf5", expect(dead_code, reason = "this dap reads HDF5"))]
    #[error(
        "{} is an HDF5 file, and this dap was built without HDF5; \
         with it: cargo install --path dist-io --features cli,hdf5",
        path.display()
    )]
    NeedsHdf5 { path: PathBuf },
    #[error(
        "{}: neither a .npy nor a .dnpy nor an HDF5 file, by its first bytes or by its name",
        path.display()
    )]
    UnknownFile { path: PathBuf },
    #[error("{given} arrays are named ({names}), allowed: one")]
    SeveralArrays { given: usize, names: String },
    #[error(
        "{}: a set is named by its prefix, what stands before \"_0.dnpy\": allowed: {}",
        path.display(), path.with_extension("").display()
    )]
    SetName { path: PathBuf },
    #[cfg_attr(not(feature = "hdf5"), expect(dead_code, reason = "of datasets"))]
    #[error("{}: {}", path.display(), which(keys))]
    WhichDataset { path: PathBuf, keys: Vec<String> },
    #[error("{option} is given, but a {target} has no distribution: the array lies whole in it")]
    NoDistribution {
        option: &'static str,
        target: &'static str,
    },
    #[error("{option} is given, but that is of HDF5 files, and a {target} is to be written")]
    OfHdf5 {
        option: &'static str,
        target: &'static str,
    },
    #[error("{}: this is a folder", path.display())]
    Folder { path: PathBuf },
    #[error("{}: there is no folder {}", path.display(), folder.display())]
    NoFolder { path: PathBuf, folder: PathBuf },
    #[error("{option} is given, which goes with {with}")]
    Alone {
        option: &'static str,
        with: &'static str,
    },
    #[error("interrupted: nothing was changed")]
    Interrupted,
    #[error("{option} is missing: give it, or a file")]
    Missing { option: &'static str },
    #[error("a file and {option} are given, allowed: one of them")]
    FileAnd { option: &'static str },
    #[error("--dist describes {given} dimensions, the array has {allowed}")]
    Dimensions { given: usize, allowed: usize },
    #[error("axis {axis}: the blocks end at {given}, allowed: at most {allowed}, rising")]
    Cut {
        axis: usize,
        given: u64,
        allowed: u64,
    },
    #[error("--axes names {given} axes, allowed: 1 or 2 different ones of 0..{ndim}")]
    Axes { given: String, ndim: usize },
    #[error("{given} ranks, allowed: {allowed} for this command")]
    TooManyRanks { given: usize, allowed: usize },
    #[error("a budget of {given} bytes, needed: {needed}, for whole chunks")]
    Budget { given: u64, needed: u64 },
    #[error("{element} has no place in a file of this kind")]
    NoType { element: ElementType },
    #[error("a PNG is bytes: name a file with --output")]
    Binary,
    #[error("{}: {message}", path.display())]
    Picture { path: PathBuf, message: String },
}

impl CliError {
    pub(super) fn os(
        operation: &'static str,
        path: impl AsRef<Path>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_owned();
        move |source| Self::Os {
            operation,
            path,
            source,
        }
    }

    /// What the user can do about it, where the error alone does not say it.
    pub(super) fn next_step(&self) -> Option<String> {
        Some(match self {
            Self::NoFolder { folder, .. } => format!("mkdir -p {}", folder.display()),
            Self::Folder { path } => format!(
                "name a file in it, or the beginning of the names of a set, as in {}",
                path.join("part").display()
            ),
            Self::Budget { needed, .. } => format!("give --budget {needed}, or smaller chunks"),
            Self::WhichDataset { path, keys } => {
                let key = keys.first()?;
                format!("name one, as in {}:/{key}", path.display())
            }
            Self::UnknownFile { .. } => {
                "dap --help lists the files that it knows, and how they are named".to_owned()
            }
            #[cfg(feature = "hdf5")]
            Self::Io(IoError::Hdf5 { path, refusal, .. }) => {
                use dist_io::Refusal as R;
                let path = path.display();
                match &**refusal {
                    R::KeyExists => {
                        format!("write under another key, as in {path}:/new, or to another file")
                    }
                    R::MissingKey { .. } | R::NotADataset { .. } => {
                        format!("dap show {path} lists the datasets that are in it")
                    }
                    R::Locked { .. } => "try again when that program is done".to_owned(),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    /// The exit status of a command that fails so.
    pub(super) fn status(&self) -> u8 {
        match self {
            Self::Interrupted => INTERRUPTED,
            // the command line is wrong, whatever the files hold
            Self::SetName { .. }
            | Self::NoDistribution { .. }
            | Self::Missing { .. }
            | Self::OfHdf5 { .. }
            | Self::Alone { .. }
            | Self::Folder { .. }
            | Self::FileAnd { .. }
            | Self::SeveralArrays { .. }
            | Self::Binary => USAGE,
            _ => FAILED,
        }
    }
}

/// How many datasets there are instead of one, and some of them by name.
fn which(keys: &[String]) -> String {
    const SHOWN: usize = 8;
    if keys.is_empty() {
        return "no dataset is in it".to_owned();
    }
    let shown = keys[..keys.len().min(SHOWN)].join(", ");
    let more = if keys.len() > SHOWN { ", …" } else { "" };
    format!(
        "{} datasets are in it ({shown}{more}), allowed: one",
        keys.len()
    )
}
