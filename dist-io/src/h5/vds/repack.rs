//! [`repack`]: one plain file for a file whose datasets are in parts.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use hdf5_metno as hdf5;
use hdf5_metno::dataset::Layout;
use hdf5_metno::{IndexType, IterationOrder, LinkType, LocationToken, LocationType};

use super::super::open::{private, to_read};
use super::super::publish::{Pending, behind_links};
use super::super::together::is_regular;
use super::super::{Refusal, WriteMode, element};
use super::SAVE_ATTRIBUTE;
use super::block::product;
use super::ffi::copy_attributes;
use super::look_up::{LookedUp, look_up, text};
use super::part_file::{create_plain, no_place};
use super::place::{Place, publish};
use crate::IoError;

/// Bytes that are copied at once.
const COPIED: usize = 8 << 20;

/// Groups inside groups are followed this far.
const DEPTH: usize = 256;

/// Writes one plain HDF5 file with everything that is in `path`: every virtual dataset becomes a contiguous one, with its names,
/// attributes and elements; all else is copied as it is. Local: one rank, or a program without ranks.
///
/// Every part is checked before its elements are copied, as [`from_file`](crate::from_file) does. Elements are copied in pieces, so
/// memory does not depend on their number. `out` is replaced when the new file is complete and synced, and not touched before; it
/// may be `path` itself, and the parts that its datasets were saved in are removed then.
///
/// # Errors
/// [`IoError::Hdf5`] with what is wrong with the file, or with a dataset or a part of it; `out` is as it was.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::{Storage, inspect_hdf5, repack, to_file};
///
/// # let dir = tempfile::tempdir()?;
/// # let (path, out) = (dir.path().join("run.h5"), dir.path().join("one.h5"));
/// let dims = DimData::new(vec![DimDict::whole(3)?]);
/// let numbers = DistBuffer::new(dims, HostArray::new(vec![3], vec![1_i32, 2, 3])?)?;
/// to_file(&numbers, &path, "/a/n", &SingleComm::new())?;
/// assert_eq!(inspect_hdf5(&path, "/a/n")?.storage, Storage::Virtual);
/// repack(&path, &out)?;
/// assert!(matches!(inspect_hdf5(&out, "/a/n")?.storage, Storage::Contiguous { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn repack(path: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<(), IoError> {
    let (path, out) = (path.as_ref(), out.as_ref());
    let mut key = String::new();
    repacked(path, out, &mut key).map_err(|refusal| IoError::Hdf5 {
        path: path.to_owned(),
        key,
        refusal: Box::new(refusal),
    })
}

/// `key` is the dataset at work, for the error.
fn repacked(path: &Path, out: &Path, key: &mut String) -> Result<(), Refusal> {
    // to be written, the library would take an empty file for a new one
    is_regular(path)?.ok_or(Refusal::NotFound)?;
    let _source = to_read(path)?;
    let pending = Pending::new(out, WriteMode::Replace)?;
    let mut old = File::open(path).map_err(Refusal::os("open"))?;
    let mut copy = OpenOptions::new()
        .write(true)
        .open(pending.path())
        .map_err(Refusal::os("open the new file"))?;
    std::io::copy(&mut old, &mut copy).map_err(Refusal::os("copy"))?;
    drop(copy);
    let file = private(pending.path())?;
    let root = file
        .loc_info()
        .map_err(Refusal::library("look at the root group"))?;
    let mut walk = Walk {
        datasets: Vec::new(),
        shared: vec![(root.token, None)],
    };
    walk.visit(&file, "", 0)?;
    let mut saves = Vec::new();
    let mut copies = Vec::new();
    for names in &walk.datasets {
        key.clone_from(&names[0]);
        let looked_up = look_up(path, key)?;
        saves.extend(text(&open(&file, key)?, SAVE_ATTRIBUTE)?);
        let offset = replace(&file, names, &looked_up)?;
        copies.push((key.clone(), looked_up, offset));
    }
    key.clear();
    let close = |error| Refusal::library("close")(error);
    file.flush().map_err(close)?;
    file.close().map_err(close)?;
    let written = OpenOptions::new()
        .write(true)
        .open(pending.path())
        .map_err(Refusal::os("open the new file"))?;
    for (name, looked_up, offset) in copies {
        *key = name;
        copy_elements(path, looked_up, &written, offset)?;
    }
    key.clear();
    let target = behind_links(out)?;
    let in_place = target == behind_links(path)?;
    publish(pending, &target).0?;
    if in_place {
        let place = Place::of(target);
        for save in &saves {
            place.remove_parts(save);
        }
    }
    Ok(())
}

fn open(file: &hdf5::File, name: &str) -> Result<hdf5::Dataset, Refusal> {
    file.dataset(name)
        .map_err(Refusal::library("open the dataset"))
}

/// The virtual datasets of a file, each with all of its names.
struct Walk {
    datasets: Vec<Vec<String>>,
    /// Objects with several names, and which of the datasets they are, if one.
    shared: Vec<(LocationToken, Option<usize>)>,
}

impl Walk {
    fn visit(&mut self, group: &hdf5::Group, path: &str, depth: usize) -> Result<(), Refusal> {
        let ask = |error| Refusal::library("list a group")(error);
        if depth > DEPTH {
            return Err(Refusal::Library {
                operation: "list a group".to_owned(),
                message: format!("groups in groups, more than {DEPTH} deep"),
            });
        }
        let links = group.links(IndexType::Name, IterationOrder::Native);
        for (name, link) in links.map_err(ask)? {
            if link.link_type != LinkType::Hard {
                continue; // it still leads where it led
            }
            let name = if path.is_empty() {
                name
            } else {
                format!("{path}/{name}")
            };
            let here = name.rsplit('/').next().unwrap_or(&name);
            let info = group.loc_info_by_name(here).map_err(ask)?;
            if info.num_links > 1 {
                if let Some((_, known)) = self.shared.iter().find(|(token, _)| *token == info.token)
                {
                    if let Some(dataset) = known {
                        self.datasets[*dataset].push(name);
                    }
                    continue;
                }
                self.shared.push((info.token, None));
            }
            if info.loc_type == LocationType::Group {
                let inner = group.group(here).map_err(ask)?;
                self.visit(&inner, &name, depth + 1)?;
            } else if info.loc_type == LocationType::Dataset {
                let dataset = group.dataset(here).map_err(ask)?;
                if dataset.layout() != Layout::Virtual {
                    continue;
                }
                if info.num_links > 1
                    && let Some(shared) = self.shared.last_mut()
                {
                    shared.1 = Some(self.datasets.len());
                }
                self.datasets.push(vec![name]);
            }
        }
        Ok(())
    }
}

/// Puts a contiguous dataset in the place of a virtual one, without its elements; where those begin.
fn replace(file: &hdf5::File, names: &[String], looked_up: &LookedUp) -> Result<u64, Refusal> {
    let make = |error| Refusal::library("replace the dataset")(error);
    let element = looked_up.found.element()?;
    let ty = element::in_file(element)?;
    let old = open(file, &names[0])?;
    for name in names {
        file.unlink(name).map_err(make)?;
    }
    let shape = &looked_up.found.shape;
    let new = create_plain(file, &names[0], &ty, shape)?;
    copy_attributes(&old, &new)?;
    if text(&new, SAVE_ATTRIBUTE)?.is_some() {
        new.delete_attr(SAVE_ATTRIBUTE).map_err(make)?; // it has no parts now
    }
    for name in &names[1..] {
        file.link_hard(&names[0], name).map_err(make)?;
    }
    match new.offset() {
        Some(offset) => Ok(offset),
        None if shape.contains(&0) => Ok(0),
        None => Err(no_place()),
    }
}

fn copy_elements(
    path: &Path,
    looked_up: LookedUp,
    file: &File,
    offset: u64,
) -> Result<(), Refusal> {
    let size = looked_up.found.element()?.size();
    let elements = product(&looked_up.found.shape).unwrap_or(0);
    // as many as the parts hold, which were looked at
    let bytes = elements * size as u64;
    let mosaic = looked_up.mosaic(path)?;
    let mut buffer = vec![0; COPIED.min(usize::try_from(bytes).unwrap_or(COPIED))];
    let mut at = 0;
    while at < bytes {
        let len = usize::try_from(bytes - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        mosaic
            .read(at, &mut buffer[..len])
            .map_err(Refusal::os("read"))?;
        file.write_all_at(&buffer[..len], offset + at)
            .map_err(Refusal::os("write"))?;
        at += len as u64;
    }
    Ok(())
}
