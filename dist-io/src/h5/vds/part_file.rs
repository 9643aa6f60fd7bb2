//! One part: an HDF5 file with one dataset, stamped with its save and its place in the whole.

use std::path::Path;

use hdf5_metno as hdf5;

use super::super::attribute::{AttributeValue, attach};
use super::super::open::unlocked;
use super::super::{Refusal, create};
use super::block::Block;
use super::{BOUNDS_ATTRIBUTE, SAVE_ATTRIBUTE};

/// The name of the dataset in a part.
pub(super) const PART_KEY: &str = "part";

/// Where elements begin is a multiple of this, if they are as many bytes or more, so that they can be read past the page cache.
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
    let dataset = create::contiguous(&file, PART_KEY, ty, &block.shape)?;
    for (name, text) in [
        (SAVE_ATTRIBUTE, save.to_owned()),
        (BOUNDS_ATTRIBUTE, block.text()),
    ] {
        attach(&dataset, name, &AttributeValue::Text(text))?;
    }
    let offset = create::offset_of(&dataset, &block.shape)?;
    create::close(file, dataset)?;
    Ok(offset)
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
