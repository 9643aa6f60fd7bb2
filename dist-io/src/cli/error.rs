//! [`CliError`]: why a command failed.

use std::io;
use std::path::{Path, PathBuf};

use dap_protocol::{ElementType, ProtocolError};
use dist_io::IoError;
use dist_maps::{MapError, PlanError};
use dnpy_format::DnpyError;

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
    #[error("{option} is given, but a {target} has no distribution: the array lies whole in it")]
    NoDistribution {
        option: &'static str,
        target: &'static str,
    },
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
    #[cfg_attr(not(feature = "hdf5"), expect(dead_code, reason = "of chunks"))]
    #[error(
        "a budget of {given} bytes, needed: {needed}, for a row of chunks and one of them decoded"
    )]
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

    /// Whether the command line is wrong, whatever the files hold.
    pub(super) fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::SetName { .. }
                | Self::NoDistribution { .. }
                | Self::Missing { .. }
                | Self::FileAnd { .. }
                | Self::SeveralArrays { .. }
                | Self::Binary
        )
    }
}
