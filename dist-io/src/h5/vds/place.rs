//! The place that a save goes to: its folder of parts, what it replaces, and how both come and go. By rank 0 alone.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use hdf5_metno as hdf5;
use hdf5_metno::{IndexType, IterationOrder, LinkType};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::super::Refusal;
use super::super::dataset::{how, kind_at};
use super::super::open::{not_opened, to_read, unlocked};
use super::super::together::{is_regular, names};
use super::super::walk::listed;
use super::part_file::is_part;
use super::pattern::Pattern;
use super::{FOLDER_SUFFIX, ffi, look_up};
use crate::publish::{
    Claim, Existing, Pending, Retired, behind_links, directory, is_left, sync_directory,
};

/// Letters of the name of a save.
const SAVE_LETTERS: usize = 16;

/// Whether a text is the name of a save.
pub(super) fn is_save(text: &str) -> bool {
    text.len() == SAVE_LETTERS && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Where a save goes to.
#[derive(Debug)]
pub(super) struct Place {
    /// The file, symbolic links followed.
    target: PathBuf,
}

impl Place {
    /// Looks at the place, before anything is written: a folder that can be made, a file that can be added to, a name that is
    /// free or another dataset's.
    pub(super) fn new(path: &Path, key: &str) -> Result<Self, Refusal> {
        let names = names(key)?;
        let is_folder = path.as_os_str().as_bytes().ends_with(b"/");
        let target = behind_links(path)?;
        if is_folder || target.file_name().is_none() {
            return Err(if target.is_dir() {
                Refusal::NotAFile
            } else {
                Refusal::FileName
            });
        }
        // the library takes names of parts as text
        if target.file_name().and_then(OsStr::to_str).is_none() {
            return Err(Refusal::FileName);
        }
        if is_regular(&target)?.is_some() {
            replaceable(&to_read(&target)?, &names)?;
        }
        make_folders(directory(&target)).map_err(Refusal::os("make the folder"))?;
        Ok(Self { target })
    }

    /// A file that is there, symbolic links followed.
    pub(super) fn of(target: PathBuf) -> Self {
        Self { target }
    }

    fn file_name(&self) -> &OsStr {
        self.target.file_name().unwrap_or_default()
    }

    /// Who may do what with the file that is there.
    pub(super) fn access(&self) -> Option<Access> {
        let meta = fs::metadata(&self.target).ok()?;
        Some(Access {
            mode: meta.permissions().mode() & 0o777,
            group: meta.gid(),
        })
    }

    /// Makes a folder for the parts of a new save, with the name of that save. Dropped, it is removed.
    pub(super) fn folder(&self) -> Result<(TempDir, String), Refusal> {
        let mut prefix = self.file_name().to_owned();
        prefix.push(".");
        let folder = tempfile::Builder::new()
            .prefix(&prefix)
            .suffix(FOLDER_SUFFIX)
            .rand_bytes(SAVE_LETTERS)
            .permissions(fs::Permissions::from_mode(0o777)) // less the umask
            .tempdir_in(directory(&self.target))
            .map_err(Refusal::os("make a folder beside it"))?;
        let name = folder.path().file_name().unwrap_or_default().as_bytes();
        let save = &name[prefix.len()..name.len() - FOLDER_SUFFIX.len()];
        let save = String::from_utf8_lossy(save).into_owned();
        if let Some(access) = self.access() {
            let given = access.give(folder.path());
            given.map_err(Refusal::os("set the permissions"))?;
        }
        Ok((folder, save))
    }

    /// The folder of a save; `None` where that is no name of one.
    fn folder_of(&self, save: &str) -> Option<PathBuf> {
        let mut name: OsString = self.file_name().to_owned();
        name.push(".");
        name.push(save);
        name.push(FOLDER_SUFFIX);
        is_save(save).then(|| directory(&self.target).join(name))
    }

    /// The folder of a save with its parts, which go when nobody needs them.
    pub(super) fn retired(&self, save: &str) -> Option<Retired> {
        let folder = self.folder_of(save)?;
        let entries = fs::read_dir(&folder).ok()?.flatten();
        let names = entries.map(|entry| entry.file_name());
        let parts = names.filter(|name| name.to_str().is_some_and(is_part));
        let parts = parts.collect();
        Some(Retired::new(folder, parts))
    }

    /// The saves of which there are folders, and of these the ones that earlier saves left to readers who are gone.
    fn saves(&self) -> (Vec<String>, Vec<String>) {
        let (mut all, mut left) = (Vec::new(), Vec::new());
        let entries = fs::read_dir(directory(&self.target));
        for entry in entries.into_iter().flatten().flatten() {
            let name = entry.file_name();
            let save = name.to_str().and_then(|name| {
                let name = name.strip_prefix(self.file_name().to_str()?)?;
                name.strip_prefix('.')?.strip_suffix(FOLDER_SUFFIX)
            });
            if let Some(save) = save.filter(|save| is_save(save)) {
                if is_left(&entry.path()) {
                    left.push(save.to_owned());
                }
                all.push(save.to_owned());
            }
        }
        (all, left)
    }

    /// A file beside the target that begins as a copy of it, opened. The parts of the dataset that was there under this name go
    /// when it is published, where nothing else in the file needs them.
    pub(super) fn begin(&self, key: &str) -> Result<Begun, Refusal> {
        let names = names(key)?;
        let claim = Claim::new(&self.target)?;
        let mut existing = Existing::Copy;
        let mut replaced = None;
        let mut left = Vec::new();
        if claim.exists() {
            left = self.saves().1;
            let old = to_read(claim.target())?;
            let ask = |error| Refusal::library("look at the file")(error);
            // where it is all that is in the file, a new one is begun, which does not grow from save to save
            if replaceable(&old, &names)?
                && names.len() == 1
                && old.len() == 1
                && old.attr_names().map_err(ask)?.is_empty()
            {
                existing = Existing::Succeed;
                replaced = only_save(&old, &names)?;
            }
        }
        let mut pending = claim.pending(existing)?;
        let path = pending.path();
        let mut options = unlocked();
        // virtual datasets are of HDF5 1.10
        options.with_fapl(|access| access.libver_v110());
        let file = if pending.is_copy() {
            options
                .open_rw(path)
                .map_err(|error| not_opened(path, error))?
        } else {
            options.create(path).map_err(Refusal::library("create"))?
        };
        if replaceable(&file, &names)? {
            replaced = only_save(&file, &names)?;
            file.unlink(&names.join("/"))
                .map_err(Refusal::library("take the old dataset out"))?;
            if let Some(save) = &replaced
                && self.is_needed(&file, save)?
            {
                replaced = None;
            }
        }
        let mut gone: Vec<String> = replaced.into_iter().collect();
        for save in left {
            if !self.is_needed(&file, &save)? {
                gone.push(save);
            }
        }
        pending.retire(gone.iter().filter_map(|save| self.retired(save)));
        Ok(Begun { pending, file })
    }

    /// Whether a virtual dataset of a file names parts of a save; so it is taken where that cannot be told.
    fn is_needed(&self, file: &hdf5::File, save: &str) -> Result<bool, Refusal> {
        let Some(folder) = self.folder_of(save) else {
            return Ok(false);
        };
        for dataset in listed(file)?.iter().filter(|dataset| dataset.is_virtual) {
            let named = file.dataset(&dataset.names[0]);
            let named = named.map_err(Refusal::library("look at a virtual dataset"))?;
            for mapping in ffi::mappings(&how(&named)?)? {
                let name = Pattern::new(&mapping.file).filter(|name| !name.has_number());
                let of_folder = name.is_none_or(|name| {
                    let name = name.name(0);
                    let name = Path::new(OsStr::from_bytes(&name));
                    directory(&self.target).join(name).starts_with(&folder)
                });
                if of_folder {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Who may do what with a file that is replaced: with its parts too, which would otherwise be open to more people than it was.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Access {
    mode: u32,
    group: u32,
}

impl Access {
    /// Gives a file, or a folder, the same; the group as far as that is allowed.
    pub(super) fn give(self, path: &Path) -> io::Result<()> {
        let meta = fs::metadata(path)?;
        if meta.gid() != self.group {
            let _ = chown(path, None, Some(self.group));
        }
        let mode = if meta.is_dir() {
            // who may read may look into it
            self.mode | ((self.mode & 0o444) >> 2) | 0o700
        } else {
            self.mode | 0o600
        };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
    }
}

/// A file in which a dataset is about to be made.
pub(super) struct Begun {
    pub(super) pending: Pending,
    pub(super) file: hdf5::File,
}

/// The folders of parts that go when a file is replaced as a whole, whatever comes in its place.
pub(in crate::h5) fn retired_with(target: &Path) -> Vec<Retired> {
    let place = Place::of(target.to_owned());
    let (all, left) = place.saves();
    if all.is_empty() {
        return Vec::new();
    }
    // those of a file that cannot be read stay
    let mut gone = saved_in(target).unwrap_or_default();
    gone.retain(|save| all.contains(save) && !left.contains(save));
    let gone = gone.iter().chain(&left);
    gone.filter_map(|save| place.retired(save)).collect()
}

/// The saves of the virtual datasets in a file.
fn saved_in(file: &Path) -> Result<Vec<String>, Refusal> {
    let file = to_read(file)?;
    let mut saves = Vec::new();
    for dataset in listed(&file)?.iter().filter(|dataset| dataset.is_virtual) {
        let dataset = file.dataset(&dataset.names[0]);
        let dataset = dataset.map_err(Refusal::library("look at a virtual dataset"))?;
        saves.extend(look_up::save_of(&dataset)?);
    }
    saves.sort_unstable();
    saves.dedup();
    Ok(saves)
}

/// Whether a link of this name is there, which a dataset may replace. An error where none can be made.
fn replaceable(file: &hdf5::File, names: &[&str]) -> Result<bool, Refusal> {
    for end in 1..=names.len() {
        let path = names[..end].join("/");
        if !file.link_exists(&path) {
            return Ok(false);
        }
        let kind = kind_at(file, &path)?;
        let kind_text = match (kind, end == names.len()) {
            // a link that leads nowhere is replaced too
            (Some(hdf5::LocationType::Dataset) | None, true) => return Ok(true),
            (Some(hdf5::LocationType::Group), false) => continue,
            (_, false) => return Err(Refusal::NotAGroup { at: path }),
            (Some(hdf5::LocationType::Group), true) => "group",
            (_, true) => "named datatype",
        };
        return Err(Refusal::NotADataset {
            kind: kind_text.to_owned(),
        });
    }
    Ok(false)
}

/// The save that a dataset is of, where this is its only name: neither another one of it, nor a link to it.
fn only_save(file: &hdf5::File, names: &[&str]) -> Result<Option<String>, Refusal> {
    let ask = |error| Refusal::library("look at the old dataset")(error);
    let Some((last, groups)) = names.split_last() else {
        return Ok(None);
    };
    let root = file.group("/").map_err(ask)?;
    let group = if groups.is_empty() {
        root
    } else {
        root.group(&groups.join("/")).map_err(ask)?
    };
    let link = group
        .find_link(IndexType::Name, IterationOrder::Native, |name, link| {
            Ok((name == *last).then_some(link.link_type))
        })
        .map_err(ask)?;
    if link != Some(LinkType::Hard) {
        return Ok(None);
    }
    let dataset = group.dataset(last).map_err(ask)?;
    if dataset.loc_info().map_err(ask)?.num_links > 1 {
        return Ok(None);
    }
    look_up::save_of(&dataset)
}

/// Writes a folder's entries through to the device.
pub(super) fn sync_folder(folder: &Path) -> Result<(), Refusal> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(Refusal::os("sync the folder"))
}

/// Makes folders, each durably.
fn make_folders(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    make_folders(directory(folder))?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !folder.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    sync_directory(folder)
}
