//! One part: an HDF5 file with one dataset, stamped with its save and its place in the whole.

use std::fs::File;
use std::path::Path;

use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};

use super::super::attribute::{AttributeValue, attach};
use super::super::chunk::{self, Filter};
use super::super::open::unlocked;
use super::super::reserve::reserve;
use super::super::{Refusal, create, verify};
use super::block::Block;
use super::{BOUNDS_ATTRIBUTE, SAVE_ATTRIBUTE};
use crate::IoReport;

/// The name of the dataset in a part.
pub(super) const PART_KEY: &str = "part";

/// Where elements begin is a multiple of this, if they are as many bytes or more, so that they can be read past the page cache.
const ALIGNMENT: u64 = 4096;

/// Bytes of a part beside its elements, more than enough for what the library says of some of its chunks.
const SLACK: u64 = 1 << 20;

/// The name of a rank's part in the folder of a save.
pub(super) fn file_name(rank: usize) -> String {
    format!("{rank}.h5")
}

/// Whether a file in the folder of a save is a part, by its name.
pub(super) fn is_part(name: &str) -> bool {
    name.strip_suffix(".h5")
        .is_some_and(|rank| !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Makes a part, all of its bytes allocated and none written; where its elements begin.
pub(super) fn create(
    path: &Path,
    ty: &hdf5::Datatype,
    block: &Block,
    save: &str,
) -> Result<u64, Refusal> {
    let elements = block
        .elements()
        .and_then(|n| n.checked_mul(ty.size() as u64));
    // a file that may not be as long is told before the library has it
    let plain = plain(path)?;
    let room = plain.set_len(elements.unwrap_or(u64::MAX).saturating_add(SLACK));
    room.map_err(Refusal::os("make room for a part"))?;
    let file = unlocked()
        .with_fapl(|access| access.alignment(ALIGNMENT, ALIGNMENT))
        .create(path)
        .map_err(Refusal::library("make a part"))?;
    let dataset = create::contiguous(&file, PART_KEY, ty, &block.shape)?;
    stamp(&dataset, block, save)?;
    let offset = create::offset_of(&dataset, &block.shape)?;
    create::close(file, dataset)?;
    Ok(offset)
}

/// How the elements of a part are coded.
pub(super) struct Coding<'a> {
    pub(super) chunk: &'a [u64],
    pub(super) filters: &'a [Filter],
    /// Bytes of an element.
    pub(super) item: usize,
    pub(super) threads: usize,
}

/// Makes a part in chunks, with all of its elements, in C order.
pub(super) fn create_coded(
    path: &Path,
    ty: &hdf5::Datatype,
    block: &Block,
    save: &str,
    coding: &Coding<'_>,
    elements: &[u8],
    report: &mut IoReport,
) -> Result<(), Refusal> {
    let plain = plain(path)?;
    let room = |bytes: u64| {
        let len = plain
            .metadata()
            .map_err(Refusal::os("look at a part"))?
            .len();
        reserve(&plain, len, bytes.saturating_add(SLACK))
    };
    room(0)?;
    let file = unlocked()
        .create(path)
        .map_err(Refusal::library("make a part"))?;
    // no more than the part has
    let axes = coding.chunk.iter().zip(&block.shape);
    let chunk: Vec<u64> = axes.map(|(&chunk, &size)| chunk.min(size)).collect();
    let known: Vec<_> = coding.filters.iter().map(|filter| filter.known()).collect();
    let dataset = file
        .new_dataset_builder()
        .fill_time(FillTime::Never)
        .chunk(create::extents(&chunk)?)
        .set_filters(&known)
        .alloc_time(Some(AllocTime::Incr))
        .empty_as(ty)
        .shape(create::extents(&block.shape)?)
        .create(PART_KEY)
        .map_err(Refusal::library("make a part"))?;
    stamp(&dataset, block, save)?;
    let shape = (&*block.shape, coding.item);
    let how = (&*chunk, coding.filters);
    let to = (&dataset, &room as &dyn Fn(u64) -> Result<(), Refusal>);
    chunk::save_alone(to, shape, how, coding.threads, elements, report)?;
    create::close(file, dataset)
}

/// The file of a new part, empty.
fn plain(path: &Path) -> Result<File, Refusal> {
    File::create_new(path).map_err(Refusal::os("make a part"))
}

/// Says of which save a part is, and which block of the whole.
fn stamp(dataset: &hdf5::Dataset, block: &Block, save: &str) -> Result<(), Refusal> {
    for (name, text) in [
        (SAVE_ATTRIBUTE, save.to_owned()),
        (BOUNDS_ATTRIBUTE, block.text()),
    ] {
        attach(dataset, name, &AttributeValue::Text(text))?;
    }
    Ok(())
}

/// Gives a part its checksums.
pub(super) fn sum(path: &Path) -> Result<(), Refusal> {
    verify::keep_alone(path, PART_KEY)
}

/// Writes a part through to the device.
pub(super) fn sync(path: &Path) -> Result<(), Refusal> {
    let file = File::open(path).and_then(|file| file.sync_all());
    file.map_err(Refusal::os("sync a part"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_known_by_their_names() {
        assert!(is_part(&file_name(0)) && is_part(&file_name(1234)));
        for other in ["", ".h5", "a.h5", "1.hdf5", "-1.h5", "notes.txt"] {
            assert!(!is_part(other), "{other:?}");
        }
    }
}
