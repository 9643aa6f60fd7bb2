//! The place that a save goes to: its folder of parts, what it replaces, and how both come and go. By rank 0 alone.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hdf5_metno as hdf5;
use hdf5_metno::{IndexType, IterationOrder, LinkType};
use tempfile::TempDir;

use super::super::dataset::{kind_at, not_opened};
use super::super::open::unlocked;
use super::super::publish::{Pending, behind_links, directory};
use super::super::together::{is_regular, names};
use super::super::{Refusal, WriteMode};
use super::part_file::is_part;
use super::{FOLDER_SUFFIX, SAVE_ATTRIBUTE, look_up};

/// Letters of the name of a save.
const SAVE_LETTERS: usize = 16;

/// Where a save goes to.
pub(super) struct Place {
    /// The file, symbolic links followed.
    target: PathBuf,
    /// Whether the dataset that is to be replaced is all that is in the file, and its save: then a new file is begun, which does
    /// not grow from save to save.
    is_all: bool,
    replaced: Option<String>,
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
        let (mut is_all, mut replaced) = (false, None);
        if is_regular(&target)?.is_some() {
            let file = hdf5::File::open(&target).map_err(|error| not_opened(&target, error))?;
            let ask = |error| Refusal::library("look at the file")(error);
            is_all = replaceable(&file, &names)?
                && names.len() == 1
                && file.len() == 1
                && file.attr_names().map_err(ask)?.is_empty();
            if is_all {
                replaced = only_save(&file, &names)?;
            }
        }
        fs::create_dir_all(directory(&target)).map_err(Refusal::os("make the folder"))?;
        Ok(Self {
            target,
            is_all,
            replaced,
        })
    }

    /// A file that is there, symbolic links followed.
    pub(super) fn of(target: PathBuf) -> Self {
        Self {
            target,
            is_all: false,
            replaced: None,
        }
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    fn file_name(&self) -> &OsStr {
        self.target.file_name().unwrap_or_default()
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
        Ok((folder, save))
    }

    /// The folder of a save; `None` where that is no name of one.
    fn folder_of(&self, save: &str) -> Option<PathBuf> {
        let is_name =
            save.len() == SAVE_LETTERS && save.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let mut name: OsString = self.file_name().to_owned();
        name.push(".");
        name.push(save);
        name.push(FOLDER_SUFFIX);
        is_name.then(|| directory(&self.target).join(name))
    }

    /// Removes the parts of a save that no dataset names any more, and nothing else. What cannot be removed is left.
    pub(super) fn remove_parts(&self, save: &str) {
        let Some(folder) = self.folder_of(save) else {
            return;
        };
        let Ok(entries) = fs::read_dir(&folder) else {
            return;
        };
        for entry in entries.flatten() {
            if entry.file_name().to_str().is_some_and(is_part) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(&folder); // unless somebody put something else there
    }

    /// A file beside the target that begins as a copy of it, opened; with it the save of the dataset that was there under this
    /// name and is not any more, where nothing else in the file is that dataset.
    pub(super) fn begin(&self, key: &str) -> Result<Begun, Refusal> {
        let names = names(key)?;
        let mode = if self.is_all {
            WriteMode::Replace
        } else {
            WriteMode::Append
        };
        let pending = Pending::new(&self.target, mode)?;
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
        let mut replaced = self.replaced.clone();
        if replaceable(&file, &names)? {
            replaced = only_save(&file, &names)?;
            file.unlink(&names.join("/"))
                .map_err(Refusal::library("take the old dataset out"))?;
        }
        Ok(Begun {
            pending,
            file,
            replaced,
        })
    }
}

/// A file in which a dataset is about to be made.
pub(super) struct Begun {
    pub(super) pending: Pending,
    pub(super) file: hdf5::File,
    /// The save that it replaces.
    pub(super) replaced: Option<String>,
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
    // a stamp that cannot be read is none
    Ok(look_up::text(&dataset, SAVE_ATTRIBUTE).ok().flatten())
}

/// Writes a folder's entries through to the device.
pub(super) fn sync_folder(folder: &Path) -> Result<(), Refusal> {
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(Refusal::os("sync the folder"))
}

/// Publishes; whether the target is the new file now, which it may be after an error too.
pub(super) fn publish(pending: Pending, target: &Path) -> (Result<(), Refusal>, bool) {
    let inode = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    let new = inode(pending.path());
    let outcome = pending.publish();
    let is_new = outcome.is_ok() || (new.is_some() && inode(target) == new);
    (outcome, is_new)
}
