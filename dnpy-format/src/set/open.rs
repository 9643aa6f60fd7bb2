//! [`Set`]: the parts of one array, found and checked.

use std::fmt;
use std::fs;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use dap_protocol::check::{self, Strictness, set_report};
use dap_protocol::{DimData, ElementType, ProtocolVersion};
use dist_maps::Distribution;

use super::SetError;
use super::manifest::{Manifest, PartRecord};
use super::names::Prefix;
use super::part::{Part, is_not_found};
use super::place::place;
use crate::file::open;
use crate::{DnpyError, PartInfo, Repair};

/// How often a set that is replaced while it is opened is tried again.
const ATTEMPTS: usize = 3;

/// Something about a set that its reader should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// There is no manifest: nothing but the metadata says that the parts are of one save.
    NoManifest,
    /// Files that are named like parts of the set but follow a gap in the ranks: they are no part
    /// of it. Only without a manifest.
    Apart {
        /// The files.
        files: Vec<PathBuf>,
    },
    /// A part was read with repairs: spellings in its headers, or padding that is wider than the
    /// neighbour's block.
    Repaired {
        /// The part.
        path: PathBuf,
        /// What was repaired.
        repairs: Vec<Repair>,
    },
    /// Padding at the outer edges of a periodic dimension is owned, though the parts say that they are of protocol 0.9: only so
    /// the owned counts sum to the size.
    Edges {
        /// The dimension.
        axis: usize,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoManifest => f.write_str(
                "no manifest: nothing but the metadata says that the parts are of one save",
            ),
            Self::Apart { files } => {
                let all: Vec<String> = files.iter().map(|f| f.display().to_string()).collect();
                write!(f, "no part of the set: {}", all.join(", "))
            }
            Self::Repaired { path, repairs } => {
                let all: Vec<String> = repairs.iter().map(ToString::to_string).collect();
                write!(f, "{}: {}", path.display(), all.join("; "))
            }
            Self::Edges { axis } => {
                write!(
                    f,
                    "axis {axis}: padding at the periodic edges is owned, as protocol 0.10 says"
                )
            }
        }
    }
}

/// A set of files, its headers read and checked as a whole.
///
/// Opening reads headers only, except with plain names and a manifest, where all files are hashed
/// to exclude a mixture. Any number of ranks may open a set, each for itself.
#[derive(Clone, Debug)]
pub struct Set {
    pub(super) parts: Vec<Part>,
    /// Which part stands at each place of the grid.
    pub(super) places: Vec<usize>,
    /// Per axis, the protocol version by whose rule periodic edges are read.
    pub(super) edges: Vec<ProtocolVersion>,
    manifest: Option<Manifest>,
    notes: Vec<Note>,
}

impl Set {
    /// Opens the set whose names begin with `prefix`: by its manifest, or without one by
    /// `DistArray`'s names.
    ///
    /// # Errors
    /// [`SetError`] when there is no set, parts are missing, two saves are mixed, or the parts do
    /// not make one array; [`DnpyError`] when a part cannot be read.
    pub fn open(prefix: impl AsRef<Path>) -> Result<Self, DnpyError> {
        let path = prefix.as_ref();
        let prefix = Prefix::new(path)?;
        let mut last = None;
        for _ in 0..ATTEMPTS {
            let Some(manifest) = manifest_of(&prefix)? else {
                return Self::plain(path, &prefix);
            };
            let save = manifest.save();
            let check_hashes = manifest.has_plain_names();
            match Self::of_manifest(&prefix, manifest, check_hashes) {
                // a save published meanwhile has removed the parts: read its manifest
                Err(DnpyError::Set(
                    e @ (SetError::Missing { .. }
                    | SetError::Mixed { .. }
                    | SetError::Replaced { .. }),
                )) if last != Some(save) => {
                    let now = manifest_of(&prefix)?.map(|m| m.save());
                    if now == Some(save) {
                        return Err(e.into());
                    }
                    last = Some(save);
                }
                other => return other,
            }
        }
        Err(SetError::Manifest {
            path: prefix.manifest(),
            reason: "it was replaced each time its parts were read".to_owned(),
        }
        .into())
    }

    /// The set that a manifest names.
    pub(super) fn of_manifest(
        prefix: &Prefix,
        manifest: Manifest,
        check_hashes: bool,
    ) -> Result<Self, DnpyError> {
        let ranks = manifest.parts().len();
        let mut mixed = Vec::new();
        for part in manifest.parts() {
            let path = prefix.path(part.file());
            let len = match fs::metadata(&path) {
                Ok(meta) => meta.len(),
                Err(e) if e.kind() == io::ErrorKind::NotFound => {
                    return Err(SetError::Missing { path, ranks }.into());
                }
                Err(e) => return Err(DnpyError::io("open", &path)(e)),
            };
            if len != part.bytes() {
                mixed.push(path);
            }
        }
        let save = manifest.save();
        if !mixed.is_empty() {
            return Err(SetError::Mixed { files: mixed, save }.into());
        }
        let part = |record: &PartRecord| {
            let path = prefix.path(record.file());
            match Part::new(path.clone()) {
                // removed since its length was looked at
                Err(e) if is_not_found(&e) => Err(SetError::Missing { path, ranks }.into()),
                part => part,
            }
        };
        let parts = manifest
            .parts()
            .iter()
            .map(part)
            .collect::<Result<Vec<_>, _>>()?;
        if check_hashes {
            check_hashes_of(&parts, &manifest)?;
        }
        let mut set = Self::of_parts(parts)?;
        set.manifest = Some(manifest);
        Ok(set)
    }

    /// The set of `DistArray`'s names, without a manifest.
    fn plain(path: &Path, prefix: &Prefix) -> Result<Self, DnpyError> {
        let first = prefix.path(&prefix.plain(0));
        let marker = prefix.marker();
        if marker.exists() {
            return Err(SetError::Unfinished { marker }.into());
        }
        let there = match prefix.plain_ranks() {
            Err(e) if first.exists() => return Err(e),
            there => there.unwrap_or_default(),
        };
        if there.first() != Some(&0) {
            return Err(SetError::NotFound {
                prefix: path.to_path_buf(),
                manifest: prefix.manifest(),
                first,
            }
            .into());
        }
        // as many as there are without a gap, for ranks without a place in the grid save parts
        // too; at least as many as the grid of rank 0 has
        let first = Part::new(first)?;
        let grid = first.info.dim_data().grid().map_err(protocol)?.len();
        let ranks = there.iter().zip(0..).take_while(|&(&a, b)| a == b).count();
        if ranks < grid {
            let path = prefix.path(&prefix.plain(ranks));
            return Err(SetError::Missing { path, ranks: grid }.into());
        }
        let paths = (1..ranks).map(|rank| prefix.path(&prefix.plain(rank)));
        let others = paths.map(Part::new);
        let parts = std::iter::once(Ok(first)).chain(others);
        let mut set = Self::of_parts(parts.collect::<Result<_, _>>()?)?;
        if ranks < there.len() {
            let apart = there[ranks..].iter();
            let files = apart.map(|&rank| prefix.path(&prefix.plain(rank)));
            set.notes.insert(
                0,
                Note::Apart {
                    files: files.collect(),
                },
            );
        }
        set.notes.insert(0, Note::NoManifest);
        Ok(set)
    }

    /// Opens the parts of one array by their names, in rank order.
    ///
    /// # Errors
    /// As [`Set::open`].
    pub fn of_files(paths: Vec<PathBuf>) -> Result<Self, DnpyError> {
        let parts = paths.into_iter().map(Part::new);
        Self::of_parts(parts.collect::<Result<_, _>>()?)
    }

    fn of_parts(parts: Vec<Part>) -> Result<Self, DnpyError> {
        let Some(first) = parts.first() else {
            let reason = "there is no part";
            return Err(SetError::Records { rank: 0, reason }.into());
        };
        let element = first.info.array().element_type();
        if let Some(other) = parts
            .iter()
            .find(|p| p.info.array().element_type() != element)
        {
            return Err(SetError::ElementType {
                path: other.path.clone(),
                given: other.info.array().element_type(),
                expected: element,
            }
            .into());
        }
        let grid = first.info.dim_data().grid().map_err(protocol)?;
        let places = place(&parts, &grid)?;
        let placed: Vec<(ProtocolVersion, DimData)> = places
            .iter()
            .map(|&i| (parts[i].info.version(), parts[i].info.dim_data().clone()))
            .collect();
        let report = set_report(&placed, Strictness::Lenient);
        if !report.violations.is_empty() {
            return Err(SetError::Inconsistent {
                violations: report.violations,
                files: places.iter().map(|&i| parts[i].path.clone()).collect(),
            }
            .into());
        }
        if !report.repairs.is_empty() {
            // wide padding is let pass where all ranks agree on who owns what
            let placed: Vec<DimData> = placed.into_iter().map(|(_, dim_data)| dim_data).collect();
            Distribution::from_dim_data_per_rank(&placed)?;
        }
        let version = first.info.version();
        let mut notes = notes_on_repairs(&parts, &places, report.repairs);
        let mut edges = vec![version; grid.shape().len()];
        for (axis, _) in report
            .periodic_edges
            .iter()
            .enumerate()
            .filter(|(_, padded)| **padded)
        {
            edges[axis] = ProtocolVersion::CURRENT;
            if !version.periodic_edge_is_owned() {
                notes.push(Note::Edges { axis });
            }
        }
        Ok(Self {
            parts,
            places,
            edges,
            manifest: None,
            notes,
        })
    }

    /// Number of parts: the ranks that saved.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.parts.len()
    }

    /// Global extent per dimension, in elements.
    #[must_use]
    pub fn global_shape(&self) -> Vec<u64> {
        self.parts[0].info.dim_data().global_shape()
    }

    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.parts[0].info.array().element_type()
    }

    /// The file of a rank, and what its headers say.
    #[must_use]
    pub fn part(&self, rank: usize) -> Option<(&Path, &PartInfo)> {
        self.parts
            .get(rank)
            .map(|part| (part.path.as_path(), &part.info))
    }

    /// The manifest, where there is one.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// What the reader should know about the set.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// The distribution of the ranks that saved.
    ///
    /// # Errors
    /// [`DnpyError::Map`].
    pub fn distribution(&self) -> Result<Distribution, DnpyError> {
        let all: Vec<DimData> = self
            .parts
            .iter()
            .map(|part| part.info.dim_data().clone())
            .collect();
        Ok(Distribution::from_dim_data_per_rank(&all)?)
    }

    /// Reads all files and compares them with the manifest's hashes. Without a manifest there is
    /// nothing to compare with, and all is well.
    ///
    /// # Errors
    /// [`SetError::Mixed`] with the files that are others; [`DnpyError::Io`].
    pub fn verify(&self) -> Result<(), DnpyError> {
        let Some(manifest) = &self.manifest else {
            return Ok(());
        };
        check_hashes_of(&self.parts, manifest)
    }
}

/// One note for each part that was repaired, by itself or as part of the whole.
fn notes_on_repairs(parts: &[Part], places: &[usize], of_set: Vec<check::Repair>) -> Vec<Note> {
    let mut all: Vec<Vec<Repair>> = parts.iter().map(|p| p.info.repairs().to_vec()).collect();
    for repair in of_set {
        // its rank is a place of the grid
        let part = repair.rank.and_then(|rank| places.get(rank)).copied();
        if let Some(repairs) = all.get_mut(part.unwrap_or(0)) {
            repairs.push(Repair::Metadata(repair));
        }
    }
    let both = parts.iter().zip(all).filter(|(_, all)| !all.is_empty());
    both.map(|(part, repairs)| Note::Repaired {
        path: part.path.clone(),
        repairs,
    })
    .collect()
}

/// Reads all files and compares them with the hashes in the manifest.
fn check_hashes_of(parts: &[Part], manifest: &Manifest) -> Result<(), DnpyError> {
    let mut files = Vec::new();
    for (record, part) in manifest.parts().iter().zip(parts) {
        if part.sha256()? != record.sha256() {
            files.push(part.path.clone());
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    let save = manifest.save();
    Err(SetError::Mixed { files, save }.into())
}

fn protocol(source: dap_protocol::ProtocolError) -> DnpyError {
    DnpyError::Protocol { offset: 0, source }
}

/// The manifest, `None` where there is none.
pub(super) fn manifest_of(prefix: &Prefix) -> Result<Option<Manifest>, DnpyError> {
    let path = prefix.manifest();
    match open(&path) {
        Ok(file) => Ok(Some(Manifest::from_reader(prefix, BufReader::new(file))?)),
        Err(e) if is_not_found(&e) => Ok(None),
        Err(e) => Err(e),
    }
}
