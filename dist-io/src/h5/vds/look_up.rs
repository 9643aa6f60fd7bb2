//! [`parts_of`]: where the elements of a virtual dataset lie, every part looked at. By one rank alone.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use hdf5_metno as hdf5;

use super::super::Refusal;
use super::super::dataset::{Found, attribute, how};
use super::super::source::Opened;
use super::block::{Block, check_cover, strides};
use super::ffi::{self, Mapping, Selected};
use super::mosaic::Piece;
use super::place::is_save;
use super::{BOUNDS_ATTRIBUTE, SAVE_ATTRIBUTE};
use crate::identity::Identity;
use crate::layout::shape_text;
use crate::publish::{behind_links, directory};

/// The parts of a virtual dataset of the file `path`, every one of which is looked at.
pub(in crate::h5) fn parts_of(
    path: &Path,
    dataset: &hdf5::Dataset,
    whole: &Found,
) -> Result<Vec<Piece>, Refusal> {
    let mappings = ffi::mappings(&how(dataset)?)?;
    let save = save_of(dataset)?;
    pieces(path, whole, &mappings, save.as_deref(), &|file, key| {
        let opened = Opened::new(file, key)?;
        Ok(Part {
            save: attribute(&opened.dataset, SAVE_ATTRIBUTE)?.transpose(),
            bounds: attribute(&opened.dataset, BOUNDS_ATTRIBUTE)?.transpose(),
            found: opened.found,
            identity: opened.identity,
        })
    })
}

/// A part that was looked up, and how it is stamped, or why that is unknown.
pub(in crate::h5) struct Part {
    pub(in crate::h5) found: Found,
    pub(in crate::h5) identity: Identity,
    pub(in crate::h5) save: Result<Option<String>, String>,
    pub(in crate::h5) bounds: Result<Option<String>, String>,
}

/// Looks a part up: a file, and a key in it.
type Look<'l> = dyn Fn(&Path, &str) -> Result<Part, Refusal> + 'l;

/// As [`parts_of`], for the mappings and the save of a virtual dataset; `look` looks a part up.
pub(in crate::h5) fn pieces(
    path: &Path,
    whole: &Found,
    mappings: &[Mapping],
    save: Option<&str>,
    look: &Look<'_>,
) -> Result<Vec<Piece>, Refusal> {
    let mut pieces = Vec::new();
    for (number, mapping) in mappings.iter().enumerate() {
        let target = match &mapping.target {
            Selected::All => Block::whole(&whole.shape),
            Selected::Block(block) => block.clone(),
            Selected::Other => return Err(not_blocks(number, GAPS)),
        };
        if !target.fits(&whole.shape) {
            return Err(not_blocks(number, "reaches beyond the dataset"));
        }
        if target.is_empty() {
            continue;
        }
        let name = unescaped(&mapping.file).ok_or_else(|| not_blocks(number, PATTERN))?;
        let dataset = unescaped(&mapping.dataset).ok_or_else(|| not_blocks(number, PATTERN))?;
        let dataset = String::from_utf8_lossy(&dataset).into_owned();
        let file = resolve(path, OsStr::from_bytes(&name))?;
        let wrong = |refusal: Refusal| Refusal::Part {
            part: String::from_utf8_lossy(&name).into_owned(),
            refusal: Box::new(refusal),
        };
        let stamp = save.map(|save| (save, target.text()));
        let looked = look(&file, &dataset).and_then(|part| checked(part, whole, stamp));
        let (part, identity) = looked.map_err(wrong)?;
        let another_shape = |allowed: String| {
            wrong(Refusal::Stamp {
                what: "the shape".to_owned(),
                given: shape_text(&part.shape),
                allowed,
            })
        };
        let source = match &mapping.source {
            Selected::All => Block::whole(&part.shape),
            Selected::Block(block) if block.fits(&part.shape) => block.clone(),
            Selected::Block(block) => return Err(another_shape(block.text())),
            Selected::Other => return Err(not_blocks(number, GAPS)),
        };
        let strides = match brought_over(&source, &part.shape, &target) {
            Some(strides) => strides,
            None if matches!(mapping.source, Selected::All) => {
                return Err(another_shape(shape_text(&target.shape)));
            }
            None => return Err(not_blocks(number, "has blocks of two shapes")),
        };
        let first: u64 = source
            .start
            .iter()
            .zip(self::strides(&part.shape))
            .map(|(at, stride)| at * stride)
            .sum();
        let size = whole.element()?.size() as u64;
        pieces.push(Piece {
            file: file.as_os_str().as_bytes().to_vec(),
            // inside the file, whose length was looked at
            offset: part.offset(IN_ONE_PIECE)? + first * size,
            strides,
            byte_order: part.byte_order,
            target,
            identity: Some(identity),
        });
    }
    let targets: Vec<&Block> = pieces.iter().map(|piece| &piece.target).collect();
    check_cover(&whole.shape, &targets)?;
    Ok(pieces)
}

/// How a part may be stored.
const IN_ONE_PIECE: &str = "in one piece";

const PATTERN: &str = "names its source by a pattern";

const GAPS: &str = "is not from one block to another";

fn not_blocks(number: usize, what: &str) -> Refusal {
    Refusal::NotBlocks {
        message: format!("mapping {number} {what}"),
    }
}

/// A part, if what the dataset says of it is so.
fn checked(
    part: Part,
    whole: &Found,
    stamp: Option<(&str, String)>,
) -> Result<(Found, Identity), Refusal> {
    let Part {
        found: part,
        identity,
        save: of_save,
        bounds: of_block,
    } = part;
    let (given, allowed) = (part.element()?, whole.element()?);
    if given != allowed || part.is_enumeration != whole.is_enumeration {
        return Err(Refusal::Stamp {
            what: "the element type".to_owned(),
            given: given.to_string(),
            allowed: allowed.to_string(),
        });
    }
    part.offset(IN_ONE_PIECE)?;
    if let Some((save, bounds)) = stamp {
        for (given, name, what, allowed) in [
            (of_save, SAVE_ATTRIBUTE, "the save", save),
            (of_block, BOUNDS_ATTRIBUTE, "the block", bounds.as_str()),
        ] {
            let given = given.map_err(|message| Refusal::Attribute {
                name: name.to_owned(),
                message,
            })?;
            let given = given.unwrap_or_else(|| "not stated".to_owned());
            if given != allowed {
                return Err(Refusal::Stamp {
                    what: what.to_owned(),
                    given,
                    allowed: allowed.to_owned(),
                });
            }
        }
    }
    Ok((part, identity))
}

/// The save that a virtual dataset is of, where it is one of ours.
pub(super) fn save_of(dataset: &hdf5::Dataset) -> Result<Option<String>, Refusal> {
    Ok(save_in(attribute(dataset, SAVE_ATTRIBUTE)?))
}

/// The save that the text of the attribute names: anything else under its name is somebody else's.
pub(in crate::h5) fn save_in(text: Option<Result<String, String>>) -> Option<String> {
    text.and_then(Result::ok).filter(|save| is_save(save))
}

/// Whether a part lies in the folder of the file that names it, or below it, links followed.
pub(in crate::h5) fn is_below(path: &Path, part: &[u8]) -> bool {
    let Some(name) = unescaped(part) else {
        return true; // a pattern, which is never read
    };
    let name = Path::new(OsStr::from_bytes(&name));
    if name == Path::new(".") {
        return true; // the file itself
    }
    let plain =
        |component: Component<'_>| matches!(component, Component::Normal(_) | Component::CurDir);
    if !name.components().all(plain) {
        return false;
    }
    let here = Path::new(".");
    let (Ok(folder), Ok(part)) = (
        here.join(directory(path)).canonicalize(),
        resolve(path, name.as_os_str()),
    ) else {
        return false;
    };
    // one that is not there is not read either
    match here.join(part).canonicalize() {
        Ok(part) => part.starts_with(folder),
        Err(_) => true,
    }
}

/// What the system knows of the file of a part, if it is there.
pub(in crate::h5) fn part_file(path: &Path, part: &[u8]) -> Option<std::fs::Metadata> {
    let part = resolve(path, OsStr::from_bytes(&unescaped(part)?)).ok()?;
    std::fs::metadata(part).ok()
}

/// Strides of the source along the dimensions of the target; `None` where the blocks differ by more than dimensions of extent 1.
fn brought_over(source: &Block, source_shape: &[u64], target: &Block) -> Option<Vec<u64>> {
    let mut of_source = source
        .shape
        .iter()
        .zip(strides(source_shape))
        .filter(|(extent, _)| **extent != 1);
    let mut brought = Vec::with_capacity(target.shape.len());
    for &extent in &target.shape {
        if extent == 1 {
            brought.push(0);
            continue;
        }
        let (&other, stride) = of_source.next()?;
        if other != extent {
            return None;
        }
        brought.push(stride);
    }
    of_source.next().is_none().then_some(brought)
}

/// The name that the library reads from one with escapes: `%%` stands for `%`; `None` for a pattern.
pub(super) fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(name.len());
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        if byte == b'%' && bytes.next() != Some(&b'%') {
            return None;
        }
        plain.push(byte);
    }
    Some(plain)
}

/// The path of a source, as the library finds it: `.` is the file itself, and a relative name counts from the folder of the
/// file, or of the one that a symbolic link leads to.
fn resolve(path: &Path, name: &OsStr) -> Result<PathBuf, Refusal> {
    if name == "." {
        return Ok(path.to_owned());
    }
    let beside = directory(path).join(name); // an absolute name stays as it is
    if beside.exists() {
        return Ok(beside);
    }
    let behind = directory(&behind_links(path)?).join(name);
    Ok(if behind.exists() { behind } else { beside })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_escapes() {
        assert_eq!(unescaped(b"a%%b.h5").unwrap(), b"a%b.h5");
        assert_eq!(unescaped(b"plain").unwrap(), b"plain");
        for pattern in [&b"a%b.h5"[..], b"%", b"a%%%"] {
            assert_eq!(unescaped(pattern), None);
        }
    }

    #[test]
    fn blocks_of_other_dimensions() {
        let block = |shape: &[u64]| Block::whole(shape);
        let over = |source: &[u64], shape: &[u64], target: &[u64]| {
            brought_over(&block(source), shape, &block(target))
        };
        // a row of 100 as the row of a table
        assert_eq!(over(&[100], &[100], &[1, 100]), Some(vec![0, 1]));
        // a column of a table as a list
        assert_eq!(over(&[9, 1], &[9, 4], &[9]), Some(vec![4]));
        assert_eq!(over(&[2, 3], &[5, 7], &[2, 3]), Some(vec![7, 1]));
        assert_eq!(over(&[6], &[6], &[2, 3]), None);
        assert_eq!(over(&[2, 3], &[2, 3], &[6]), None);
    }
}
