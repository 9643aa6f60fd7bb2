//! [`repack`]: one plain file for a file whose datasets are in parts.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hdf5_metno as hdf5;

use super::super::dataset::Found;
use super::super::open::{private, to_read};
use super::super::save::chosen;
use super::super::source::{Opened, Source};
use super::super::together::{is_regular, refused};
use super::super::walk::listed;
use super::super::{ByteOrder, Refusal, create, element, verify};
use super::block::{Block, product, strides};
use super::blockwise::Blockwise;
use super::ffi::copy_attributes;
use super::place::retired_with;
use super::{SAVE_ATTRIBUTE, look_up};
use crate::IoError;
use crate::publish::{Claim, Existing, behind_links};

/// Bytes that are copied at once.
const COPIED: u64 = 8 << 20;

/// Writes one plain HDF5 file with everything that is in `path`: every virtual dataset becomes a contiguous one, with its names,
/// attributes and elements; all else is copied as it is. Object references to a virtual dataset lead nowhere afterwards, and its
/// fill value is not kept. Local: one rank, or a program without ranks.
///
/// Every part is checked before its elements are copied, as [`from_file`](crate::legate::from_file) does. Where parts were saved with
/// checksums, the new dataset has some of its own. Elements are copied in pieces, so memory does not depend on their number. `out` is replaced when the new file is complete and synced, and not touched before; it
/// may be `path` itself, and the parts that its datasets were saved in are removed then.
///
/// # Errors
/// [`IoError::Hdf5`] with what is wrong with the file, or with a dataset or a part of it; `out` is as it was.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::legate::{repack, to_file};
/// use dist_io::{Storage, inspect_hdf5};
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
    repack_watched(path, out, &mut |_, _| Ok(()))
}

/// As [`repack`]; `watch` is told of bytes that were copied, and of how many there are, and may end it.
pub(crate) fn repack_watched(
    path: &Path,
    out: &Path,
    watch: &mut dyn FnMut(u64, u64) -> Result<(), Refusal>,
) -> Result<(), IoError> {
    let mut key = String::new();
    let repacked = repacked(path, out, &mut key, watch);
    repacked.map_err(|refusal| refused(path, &key, refusal))
}

/// `key` is the dataset at work, for the error.
fn repacked(
    path: &Path,
    out: &Path,
    key: &mut String,
    watch: &mut dyn FnMut(u64, u64) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    // to be written, the library would take an empty file for a new one
    is_regular(path)?.ok_or(Refusal::NotFound)?;
    let source = to_read(path)?;
    let claim = Claim::new(out)?;
    let retired = retired_with(claim.target());
    let mut pending = if claim.target() == behind_links(path)? {
        claim.pending(Existing::Copy)?
    } else {
        let pending = claim.pending(Existing::Replace)?;
        let mut old = File::open(path).map_err(Refusal::os("open"))?;
        std::io::copy(&mut old, &mut pending.file()).map_err(Refusal::os("copy"))?;
        pending
    };
    pending.retire(retired);
    let file = private(pending.path())?;
    let mut copies = Vec::new();
    for dataset in listed(&file)? {
        if !dataset.is_virtual {
            continue;
        }
        key.clone_from(&dataset.names[0]);
        let (opened, contents) = Opened::look_up(path, key)?;
        let (offset, has_sums) = replace(&file, &dataset.names, &opened.found)?;
        let what = (opened.identity, opened.found, contents);
        copies.push((key.clone(), what, offset, has_sums));
    }
    key.clear();
    let close = |error| Refusal::library("close")(error);
    file.flush().map_err(close)?;
    file.close().map_err(close)?;
    let mut total = 0_u64;
    for (_, (_, found, _), ..) in &copies {
        total = total.saturating_add(bytes_of(found)?);
    }
    for (name, (identity, found, contents), offset, has_sums) in copies {
        *key = name;
        let source = Source::again(path, key, identity, found, contents)?;
        let watch = &mut |bytes| watch(bytes, total);
        copy_elements(source, (pending.file(), offset), watch)?;
        if has_sums {
            verify::keep_alone(pending.path(), key)?;
        }
    }
    key.clear();
    drop(source);
    Ok(pending.publish()?)
}

fn open(file: &hdf5::File, name: &str) -> Result<hdf5::Dataset, Refusal> {
    file.dataset(name)
        .map_err(Refusal::library("open the dataset"))
}

/// Puts a contiguous dataset in the place of a virtual one, without its elements; where those begin, and whether there were
/// checksums of them.
fn replace(file: &hdf5::File, names: &[String], found: &Found) -> Result<(u64, bool), Refusal> {
    let make = |error| Refusal::library("replace the dataset")(error);
    let old = open(file, &names[0])?;
    // elements are brought into this machine's byte order; the codes of an enumeration have a type of their own
    let ty = match found.element()? {
        _ if !found.is_enumeration => element::in_file(found.element()?)?,
        element if found.byte_order == ByteOrder::NATIVE || element.size() == 1 => {
            old.dtype().map_err(make)?
        }
        element => {
            return Err(Refusal::ElementType {
                given: format!("codes of an enumeration, {element} in another byte order"),
            });
        }
    };
    for name in names {
        file.unlink(name).map_err(make)?;
    }
    let new = create::contiguous(file, &names[0], &ty, &found.shape)?;
    copy_attributes(&old, &new)?;
    if look_up::save_of(&new)?.is_some() {
        new.delete_attr(SAVE_ATTRIBUTE).map_err(make)?; // it has no parts now
    }
    let has_sums = verify::has_sums(&new)?;
    if has_sums {
        new.delete_attr(verify::OF).map_err(make)?; // new ones are of what will be here
    }
    for name in &names[1..] {
        file.link_hard(&names[0], name).map_err(make)?;
    }
    Ok((create::offset_of(&new, &found.shape)?, has_sums))
}

/// Bytes of the elements, which the parts hold: they were looked at.
fn bytes_of(found: &Found) -> Result<u64, Refusal> {
    let item = found.element()?.size() as u64;
    Ok(product(&found.shape).unwrap_or(0).saturating_mul(item))
}

/// Copies a dataset block by block, each of whole rows as far as they fit.
fn copy_elements(
    source: Source,
    (file, offset): (&File, u64),
    watch: &mut dyn FnMut(u64) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let (shape, item) = (source.found.shape.clone(), source.found.element()?.size());
    let source = Blockwise::new(source)?;
    let extents = chosen(&shape, item, COPIED);
    let counts = shape.iter().zip(&extents);
    let counts: Vec<u64> = counts
        .map(|(size, &extent)| size.div_ceil(extent))
        .collect();
    let steps = strides(&shape);
    let mut at = vec![0; shape.len()];
    let mut bytes = Vec::new();
    // as many elements as the parts hold, which were looked at
    for _ in 0..product(&counts).unwrap_or(0) {
        let start = at.iter().zip(&extents).map(|(at, extent)| at * extent);
        let start: Vec<u64> = start.collect();
        let left = shape.iter().zip(&start).map(|(size, start)| size - start);
        let extent = left.zip(&extents).map(|(left, &extent)| left.min(extent));
        let shape = extent.collect();
        let block = Block::new(start, shape);
        let len = block.elements().and_then(|n| usize::try_from(n).ok());
        bytes.resize(len.unwrap_or(0) * item, 0);
        source.read(&block, &mut bytes, 1)?;
        let before = block.start.iter().zip(&steps).map(|(at, step)| at * step);
        let first = offset + before.sum::<u64>() * item as u64;
        file.write_all_at(&bytes, first)
            .map_err(Refusal::os("write"))?;
        watch(bytes.len() as u64)?;
        for (at, &count) in at.iter_mut().zip(&counts).rev() {
            *at += 1;
            if *at < count {
                break;
            }
            *at = 0;
        }
    }
    Ok(())
}
