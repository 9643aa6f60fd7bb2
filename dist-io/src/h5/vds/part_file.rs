//! One part: an HDF5 file with one dataset, stamped with its save and its place in the whole.

use std::path::Path;

use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};
use hdf5_metno::types::VarLenUnicode;

use super::super::Refusal;
use super::super::open::unlocked;
use super::block::Block;
use super::{BOUNDS_ATTRIBUTE, SAVE_ATTRIBUTE};

/// The name of the dataset in a part.
pub(super) const PART_KEY: &str = "part";

/// Where elements begin is a multiple of this, so that they can be read past the page cache.
const ALIGNMENT: u64 = 4096;

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
    let make = |error| Refusal::library("make a part")(error);
    let file = unlocked()
        .with_fapl(|access| access.alignment(ALIGNMENT, ALIGNMENT))
        .create_excl(path)
        .map_err(make)?;
    let dataset = create_plain(&file, PART_KEY, ty, &block.shape)?;
    set_text(&dataset, SAVE_ATTRIBUTE, save)?;
    set_text(&dataset, BOUNDS_ATTRIBUTE, &block.text())?;
    let offset = dataset.offset();
    drop(dataset);
    file.flush().map_err(make)?;
    file.close().map_err(make)?;
    offset.ok_or_else(no_place)
}

/// Makes a contiguous dataset, all of its bytes allocated and none written.
pub(super) fn create_plain(
    file: &hdf5::Group,
    key: &str,
    ty: &hdf5::Datatype,
    shape: &[u64],
) -> Result<hdf5::Dataset, Refusal> {
    let builder = file
        .new_dataset_builder()
        .no_chunk()
        .alloc_time(Some(AllocTime::Early))
        .fill_time(FillTime::Never)
        .empty_as(ty);
    let builder = if shape.is_empty() {
        builder.shape(())
    } else {
        builder.shape(extents(shape)?)
    };
    builder
        .create(key)
        .map_err(Refusal::library("make the dataset"))
}

/// A shape as the library's crate takes it.
pub(super) fn extents(shape: &[u64]) -> Result<Vec<usize>, Refusal> {
    let extents = shape.iter().map(|&extent| usize::try_from(extent));
    extents
        .collect::<Result<_, _>>()
        .map_err(|error| Refusal::Library {
            operation: "make the dataset".to_owned(),
            message: error.to_string(),
        })
}

/// Writes a text attribute.
pub(super) fn set_text(object: &hdf5::Location, name: &str, text: &str) -> Result<(), Refusal> {
    let make = |error| Refusal::library("write an attribute")(error);
    let text: VarLenUnicode = text.parse().map_err(|_| Refusal::DimData {
        message: "a text with a zero byte".to_owned(),
    })?;
    let attribute = object
        .new_attr::<VarLenUnicode>()
        .create(name)
        .map_err(make)?;
    attribute.write_scalar(&text).map_err(make)
}

/// What is wrong with a dataset that has elements and no place for them.
pub(super) fn no_place() -> Refusal {
    Refusal::Library {
        operation: "make the dataset".to_owned(),
        message: "its elements have no place".to_owned(),
    }
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
