//! The names of a set's files.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::SetError;
use crate::{DnpyError, SaveId};

/// A directory and the beginning of the file names in it.
#[derive(Clone, Debug)]
pub(super) struct Prefix {
    dir: PathBuf,
    stem: String,
}

impl Prefix {
    pub(super) fn new(prefix: &Path) -> Result<Self, SetError> {
        let refuse = || SetError::Prefix {
            prefix: prefix.to_path_buf(),
        };
        let stem = prefix.file_name().ok_or_else(refuse)?;
        let stem = stem.to_str().ok_or_else(refuse)?.to_owned();
        let dir = match prefix.parent() {
            Some(dir) if dir != Path::new("") => dir.to_path_buf(),
            _ => PathBuf::from("."),
        };
        Ok(Self { dir, stem })
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.dir.join(file)
    }

    pub(super) fn manifest(&self) -> PathBuf {
        self.dir.join(format!("{}.manifest.json", self.stem))
    }

    /// The file that says that a save under plain names has begun.
    pub(super) fn marker(&self) -> PathBuf {
        self.dir.join(format!("{}.saving", self.stem))
    }

    /// `DistArray`'s name.
    pub(super) fn plain(&self, rank: usize) -> String {
        format!("{}_{rank}.dnpy", self.stem)
    }

    /// The name with the id of the save in it.
    pub(super) fn of_save(&self, save: SaveId, rank: usize) -> String {
        format!("{}_{save}_{rank}.dnpy", self.stem)
    }

    /// Calls `found` with every file name of the directory.
    fn list(&self, found: &mut dyn FnMut(&str)) -> Result<(), DnpyError> {
        let entries = fs::read_dir(&self.dir).map_err(DnpyError::io("list", &self.dir))?;
        for entry in entries {
            let name: OsString = entry.map_err(DnpyError::io("list", &self.dir))?.file_name();
            if let Some(name) = name.to_str() {
                found(name);
            }
        }
        Ok(())
    }

    /// The ranks whose plainly named parts are there, rising.
    pub(super) fn plain_ranks(&self) -> Result<Vec<usize>, DnpyError> {
        let mut ranks = Vec::new();
        self.list(&mut |name| {
            if let Some(rest) = self.rest(name)
                && let Ok(rank) = rest.parse::<usize>()
                && self.plain(rank) == name
            {
                ranks.push(rank);
            }
        })?;
        ranks.sort_unstable();
        Ok(ranks)
    }

    /// The parts of other saves than `save`, their leftover temporary files included. A plainly named
    /// part of the set `<prefix>_<16 hexadecimal digits>` looks like one, and is left alone.
    pub(super) fn of_other_saves(&self, save: SaveId) -> Result<Vec<String>, DnpyError> {
        let mut names = Vec::new();
        self.list(&mut |name| {
            // a temporary file is `.<name>.<random>.tmp`
            let part = name
                .strip_prefix('.')
                .and_then(|rest| rest.strip_suffix(".tmp"))
                .and_then(|rest| rest.rsplit_once('.'))
                .map_or(name, |(part, _)| part);
            if let Some(rest) = self.rest(part)
                && let Some((id, rank)) = rest.split_once('_')
                && let (Ok(id), Ok(rank)) = (id.parse::<SaveId>(), rank.parse::<usize>())
                && id != save
                && self.of_save(id, rank) == part
                && !self.is_prefix(id)
            {
                names.push(name.to_owned());
            }
        })?;
        Ok(names)
    }

    /// Whether `<prefix>_<id>` is a set by itself.
    fn is_prefix(&self, id: SaveId) -> bool {
        let other = Self {
            dir: self.dir.clone(),
            stem: format!("{}_{id}", self.stem),
        };
        other.manifest().exists() || other.marker().exists()
    }

    /// What stands between `<stem>_` and `.dnpy`.
    fn rest<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.strip_prefix(&self.stem)?
            .strip_prefix('_')?
            .strip_suffix(".dnpy")
    }
}
