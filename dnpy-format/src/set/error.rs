//! [`SetError`]: why files are no set.

use std::path::{Path, PathBuf};

use dap_protocol::{ElementType, Violation};

use crate::SaveId;

/// Why files are no set, or records no manifest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetError {
    /// There is neither a manifest nor a first part.
    #[error("no set at {}: neither {} nor {} is there{}", prefix.display(), manifest.display(), first.display(), prefix_hint(prefix))]
    NotFound {
        /// What was asked for.
        prefix: PathBuf,
        /// The manifest looked for.
        manifest: PathBuf,
        /// The part of rank 0 looked for.
        first: PathBuf,
    },
    /// The prefix has no last component that could begin a file name.
    #[error("{} cannot begin a file name", prefix.display())]
    Prefix {
        /// What was given.
        prefix: PathBuf,
    },
    /// The manifest is no manifest.
    #[error("{}: {reason}", path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The records are not those of all ranks of one save.
    #[error("rank {rank}: {reason}")]
    Records {
        /// The rank.
        rank: usize,
        /// What is wrong.
        reason: &'static str,
    },
    /// A file has another name than the part of its rank must have.
    #[error("rank {rank}: the file is {given:?}, allowed: {expected:?}")]
    FileName {
        /// The rank.
        rank: usize,
        /// The name given.
        given: String,
        /// The name of the rank's part in this save.
        expected: String,
    },
    /// There is no manifest, and a save under plain names was begun and not published: the parts
    /// may be a mixture. Save again; or remove the marker to read the parts as they are.
    #[error("a save was begun and not published ({} is there): its parts and older ones may be mixed", marker.display())]
    Unfinished {
        /// The file that a save lays down before its first part and removes when it is published.
        marker: PathBuf,
    },
    /// A part has been replaced or changed since the set was opened. Open it again.
    #[error("{} was replaced after the set was opened", path.display())]
    Replaced {
        /// The part.
        path: PathBuf,
    },
    /// Parts that the manifest names are those of another save.
    #[error("two saves are mixed: {} not of save {save}", list(files))]
    Mixed {
        /// The files of the other save.
        files: Vec<PathBuf>,
        /// The save that the manifest describes.
        save: SaveId,
    },
    /// A part is missing.
    #[error("{} is missing: the set has {ranks} part(s)", path.display())]
    Missing {
        /// The part.
        path: PathBuf,
        /// Parts of the set.
        ranks: usize,
    },
    /// The parts are not those of all places of the process grid.
    #[error("the parts fill {filled} of the {ranks} places of the process grid")]
    Places {
        /// Places that have a part.
        filled: usize,
        /// Places of the grid.
        ranks: usize,
    },
    /// Parts that lie beside a set without a manifest and have no place in it.
    #[error(
        "two saves are mixed: {} no part of the set of {ranks} rank(s)",
        list(files)
    )]
    Surplus {
        /// The files.
        files: Vec<PathBuf>,
        /// Parts of the set.
        ranks: usize,
    },
    /// The parts do not describe one distributed array.
    #[error("the parts do not make one array: {}", join(violations, files))]
    Inconsistent {
        /// Every broken rule, with the rank in the process grid.
        violations: Vec<Violation>,
        /// The part of each rank of the process grid.
        files: Vec<PathBuf>,
    },
    /// A part has another element type than the part of rank 0.
    #[error("{}: the elements are {given}, those of rank 0 are {expected}", path.display())]
    ElementType {
        /// The part.
        path: PathBuf,
        /// Its element type.
        given: ElementType,
        /// The element type of rank 0.
        expected: ElementType,
    },
}

/// What to give instead of the name of one part.
fn prefix_hint(prefix: &Path) -> &'static str {
    match prefix.extension() {
        Some(extension) if extension == "dnpy" => "; give the prefix, what stands before `_0.dnpy`",
        _ => "",
    }
}

fn list(files: &[PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
    let verb = if files.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", names.join(", "))
}

fn join(violations: &[Violation], files: &[PathBuf]) -> String {
    let each = |v: &Violation| match v.rank.and_then(|rank| files.get(rank)) {
        Some(file) => format!("{}: {v}", file.display()),
        None => v.to_string(),
    };
    violations.iter().map(each).collect::<Vec<_>>().join("; ")
}
