//! [`parts_of`]: where the elements of a virtual dataset lie, every source looked at. By one rank alone.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use hdf5_metno as hdf5;

use super::super::dataset::{Found, attribute, how};
use super::super::source::{Contents, Opened};
use super::super::{Refusal, ffi::fill_value};
use super::along::{Along, block_of, covered};
use super::block::{product, strides};
use super::ffi::{self, Mapping, Selected};
use super::mosaic::Piece;
use super::part_file::PART_KEY;
use super::pattern::Pattern;
use super::place::is_save;
use super::select::{Axis, Chosen, paired, selected};
use super::tiles::{Part, Tile, Tiles};
use super::{BOUNDS_ATTRIBUTE, SAVE_ATTRIBUTE};
use crate::identity::Identity;
use crate::layout::shape_text;
use crate::publish::{behind_links, directory};

/// How far sources may lie in other sources, and how many of those are looked at.
const DEPTH: usize = 8;
const SOURCES: usize = 10_000;

/// Sources that are virtual datasets themselves.
#[derive(Debug)]
pub(in crate::h5) struct Nesting {
    depth: usize,
    left: usize,
}

impl Nesting {
    /// Of a dataset that is no source.
    pub(in crate::h5) fn new() -> Self {
        Self {
            depth: 0,
            left: SOURCES,
        }
    }

    /// One more source is looked at.
    fn count(&mut self) -> Result<(), Refusal> {
        if self.depth == 0 {
            return Ok(()); // as many as the file lists
        }
        let left = self.left.checked_sub(1).filter(|_| self.depth <= DEPTH);
        self.left = left.ok_or_else(|| Refusal::NotBlocks {
            message: "its sources are made of sources without end".to_owned(),
        })?;
        Ok(())
    }
}

/// The parts of a virtual dataset of the file `path`, every one of which is looked at.
pub(in crate::h5) fn parts_of(
    path: &Path,
    dataset: &hdf5::Dataset,
    whole: &Found,
    nesting: &mut Nesting,
) -> Result<Contents, Refusal> {
    let how = how(dataset)?;
    let save = save_of(dataset)?;
    let mut look = |file: &Path, key: &str| {
        nesting.count()?;
        nesting.depth += 1;
        let looked = Opened::look_up_in(file, key, nesting);
        nesting.depth -= 1;
        let (opened, contents) = looked?;
        Ok(Seen {
            save: attribute(&opened.dataset, SAVE_ATTRIBUTE)?.transpose(),
            bounds: attribute(&opened.dataset, BOUNDS_ATTRIBUTE)?.transpose(),
            found: opened.found,
            identity: opened.identity,
            contents,
        })
    };
    let mappings = ffi::mappings(&how)?;
    let seen = seen_parts((path, whole), &mappings, save.as_deref(), &mut look)?;
    if let Some(pieces) = seen.pieces(whole)? {
        return Ok(Contents::Parts(pieces));
    }
    let ty = dataset.dtype();
    let ty = ty.map_err(Refusal::library("ask for the element type"))?;
    let fill = (fill_value(&how, &ty), seen.has_gaps);
    Ok(Contents::Tiles(Tiles::new(
        whole, seen.parts, seen.tiles, fill,
    )?))
}

/// A source that was looked up, and how it is stamped, or why that is unknown.
pub(in crate::h5) struct Seen {
    pub(in crate::h5) found: Found,
    pub(in crate::h5) identity: Identity,
    pub(in crate::h5) contents: Contents,
    pub(in crate::h5) save: Result<Option<String>, String>,
    pub(in crate::h5) bounds: Result<Option<String>, String>,
}

/// Looks a source up: a file, and a key in it.
type Look<'l> = dyn FnMut(&Path, &str) -> Result<Seen, Refusal> + 'l;

/// The sources of a virtual dataset, and what is theirs of it.
pub(in crate::h5) struct SeenParts {
    parts: Vec<Part>,
    tiles: Vec<Tile>,
    /// Whether it has elements that no source has.
    has_gaps: bool,
}

impl SeenParts {
    /// The sources as blocks that lie in files without gaps or chunks and fill the whole, where they do.
    pub(in crate::h5) fn pieces(&self, whole: &Found) -> Result<Option<Vec<Piece>>, Refusal> {
        if self.has_gaps {
            return Ok(None);
        }
        pieces(&self.parts, &self.tiles, whole)
    }
}

/// As [`parts_of`], for the mappings and the save of a virtual dataset, whatever its file is read by; `look` looks a source up.
pub(in crate::h5) fn seen_parts(
    (path, whole): (&Path, &Found),
    mappings: &[Mapping],
    save: Option<&str>,
    look: &mut Look<'_>,
) -> Result<SeenParts, Refusal> {
    let mut looked = Looked {
        path,
        whole,
        save,
        look,
        known: HashMap::new(),
        parts: Vec::new(),
        tiles: Vec::new(),
    };
    for (number, mapping) in mappings.iter().enumerate() {
        looked.mapping(number, mapping)?;
    }
    let Looked { parts, tiles, .. } = looked;
    let targets: Vec<&[Along]> = tiles.iter().map(|tile| &*tile.target).collect();
    let covered = covered(&whole.shape, &targets)?;
    let size = product(&whole.shape).unwrap_or(u64::MAX);
    if save.is_some() && covered < size {
        return Err(Refusal::Uncovered { covered, size });
    }
    Ok(SeenParts {
        parts,
        tiles,
        has_gaps: covered < size,
    })
}

/// What has been looked at of a virtual dataset.
struct Looked<'a, 'l> {
    path: &'a Path,
    whole: &'a Found,
    save: Option<&'a str>,
    look: &'a mut Look<'l>,
    /// The numbers of parts, by file and key.
    known: HashMap<(PathBuf, String), usize>,
    parts: Vec<Part>,
    tiles: Vec<Tile>,
}

impl Looked<'_, '_> {
    fn mapping(&mut self, number: usize, mapping: &Mapping) -> Result<(), Refusal> {
        for block in 0.. {
            let found = target_of(number, mapping, &self.whole.shape, block)?;
            let Some(source) = found else {
                return Ok(());
            };
            self.tile(number, mapping, &source)?;
            if !mapping.is_pattern() {
                break;
            }
        }
        Ok(())
    }

    fn tile(&mut self, number: usize, mapping: &Mapping, named: &Named) -> Result<(), Refusal> {
        let whole = self.whole;
        let axes = named.target.iter();
        let mut target: Vec<Along> = axes.map(|axis| axis.along.clone()).collect();
        let stamp = self.save.map(|save| {
            let text = block_of(&target).map_or_else(String::new, |block| block.text());
            (save, text)
        });
        let part = self.part(named, stamp)?;
        let shape = &self.parts[part].found.shape;
        let another_shape = |allowed: String| Refusal::Part {
            part: String::from_utf8_lossy(&named.file).into_owned(),
            refusal: Box::new(Refusal::Stamp {
                what: "the shape".to_owned(),
                given: shape_text(shape),
                allowed,
            }),
        };
        let source = match selected(&mapping.source, shape) {
            Chosen::Axes(axes) => axes,
            Chosen::Nothing => return Ok(()),
            Chosen::Beyond(needed) => return Err(another_shape(needed)),
            Chosen::Other => return Err(not_blocks(number, PRODUCT)),
        };
        let Some(pairs) = paired(&source, &named.target) else {
            if matches!(mapping.source, Selected::All)
                && let Some(block) = block_of(&target)
                && block.shape.len() == whole.shape.len()
            {
                return Err(another_shape(shape_text(&block.shape)));
            }
            return Err(not_blocks(number, "has blocks of two shapes"));
        };
        let mut source: Vec<Along> = source.into_iter().map(|axis| axis.along).collect();
        for (axis, pair) in pairs.iter().enumerate() {
            // what has no limit goes as far as there is room on both sides
            if let Some(pair) = *pair {
                let len = target[axis].len().min(source[pair].len());
                target[axis] = target[axis].clone().truncated(len);
                source[pair] = source[pair].clone().truncated(len);
            }
        }
        self.tiles.push(Tile {
            part,
            target,
            source,
            pairs,
        });
        Ok(())
    }

    /// Looks a source up, unless it was before; its number.
    fn part(&mut self, named: &Named, stamp: Option<(&str, String)>) -> Result<usize, Refusal> {
        let path = resolve(self.path, OsStr::from_bytes(&named.file))?;
        let key = String::from_utf8_lossy(&named.dataset).into_owned();
        let place = (path, key);
        if let (Some(known), None) = (self.known.get(&place), &stamp) {
            return Ok(*known);
        }
        let name = String::from_utf8_lossy(&named.file).into_owned();
        let key = place.1.clone();
        let seen = (self.look)(&place.0, &key);
        let part = seen.and_then(|seen| checked(seen, self.whole, stamp));
        let seen = part.map_err(|refusal| match refusal {
            Refusal::Changed => refusal,
            refusal => Refusal::Part {
                part: name.clone(),
                refusal: Box::new(refusal),
            },
        })?;
        let part = Part {
            path: place.0.as_os_str().as_bytes().to_vec(),
            name,
            key,
            identity: seen.identity,
            found: seen.found,
            contents: seen.contents,
        };
        self.known.insert(place, self.parts.len());
        self.parts.push(part);
        Ok(self.parts.len() - 1)
    }
}

/// A source, and the elements of the whole that are its own.
struct Named {
    file: Vec<u8>,
    dataset: Vec<u8>,
    target: Vec<Axis>,
}

const PATTERN: &str = "names its source by a pattern that is none";

const PRODUCT: &str = "is not from rows and columns to rows and columns";

const BEYOND: &str = "reaches beyond the dataset";

fn not_blocks(number: usize, what: &str) -> Refusal {
    Refusal::NotBlocks {
        message: format!("mapping {number} {what}"),
    }
}

impl Mapping {
    fn names(&self) -> Option<(Pattern, Pattern)> {
        Some((Pattern::new(&self.file)?, Pattern::new(&self.dataset)?))
    }

    /// Whether it has a source for each of its blocks.
    fn is_pattern(&self) -> bool {
        let names = self.names();
        names.is_some_and(|(file, dataset)| file.has_number() || dataset.has_number())
    }
}

/// The source of a mapping, of a pattern that of its block of this number; `None` where there is none in a dataset of this shape.
fn target_of(
    number: usize,
    mapping: &Mapping,
    shape: &[u64],
    block: u64,
) -> Result<Option<Named>, Refusal> {
    let names = mapping.names().ok_or_else(|| not_blocks(number, PATTERN))?;
    let target = match selected(&mapping.target, shape) {
        Chosen::Nothing => return Ok(None),
        Chosen::Beyond(_) => return Err(not_blocks(number, BEYOND)),
        Chosen::Other => return Err(not_blocks(number, PRODUCT)),
        Chosen::Axes(axes) => axes,
    };
    let target = match &mapping.target {
        Selected::Regular(blocks) if mapping.is_pattern() => {
            let one = blocks.iter().zip(target).zip(shape);
            let one = one.map(
                |((blocks, axis), &size)| match (blocks.count, blocks.block) {
                    (None, Some(len)) => {
                        let start = block
                            .checked_mul(blocks.stride)?
                            .checked_add(blocks.start)?;
                        let left = size.checked_sub(start)?;
                        Some(Axis {
                            along: Along::run(start, len.min(left))?,
                            asked: Some(len),
                        })
                    }
                    _ => Some(axis),
                },
            );
            let one: Option<Vec<Axis>> = one.collect();
            if blocks.iter().all(|blocks| blocks.count.is_some()) {
                return Err(not_blocks(number, PATTERN)); // a pattern without numbers for it
            }
            one
        }
        _ if mapping.is_pattern() => return Err(not_blocks(number, PATTERN)),
        _ => Some(target),
    };
    Ok(target.map(|target| Named {
        file: names.0.name(block),
        dataset: names.1.name(block),
        target,
    }))
}

/// A source, if what the dataset says of it is so.
fn checked(seen: Seen, whole: &Found, stamp: Option<(&str, String)>) -> Result<Seen, Refusal> {
    let (given, allowed) = (seen.found.element()?, whole.element()?);
    if given != allowed || seen.found.is_enumeration != whole.is_enumeration {
        return Err(Refusal::Stamp {
            what: "the element type".to_owned(),
            given: given.to_string(),
            allowed: allowed.to_string(),
        });
    }
    if let Some((save, bounds)) = stamp {
        for (given, name, what, allowed) in [
            (&seen.save, SAVE_ATTRIBUTE, "the save", save),
            (&seen.bounds, BOUNDS_ATTRIBUTE, "the block", bounds.as_str()),
        ] {
            let given = given.clone().map_err(|message| Refusal::Attribute {
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
    Ok(seen)
}

/// Tiles as blocks that lie in files without gaps or chunks, where all do.
fn pieces(parts: &[Part], tiles: &[Tile], whole: &Found) -> Result<Option<Vec<Piece>>, Refusal> {
    let size = whole.element()?.size() as u64;
    let mut pieces = Vec::with_capacity(tiles.len());
    for tile in tiles {
        let part = &parts[tile.part];
        let blocks = block_of(&tile.target).zip(block_of(&tile.source));
        let (Contents::At(offset), Some((target, source))) = (&part.contents, blocks) else {
            return Ok(None);
        };
        let of_source = strides(&part.found.shape);
        let first: u64 = source
            .start
            .iter()
            .zip(&of_source)
            .map(|(at, stride)| at * stride)
            .sum();
        let pairs = tile.pairs.iter();
        pieces.push(Piece {
            file: part.path.clone(),
            // inside the file, whose length was looked at
            offset: offset + first * size,
            strides: pairs
                .map(|pair| pair.map_or(0, |axis| of_source[axis]))
                .collect(),
            byte_order: part.found.byte_order,
            target,
            identity: Some(part.identity),
        });
    }
    Ok(Some(pieces))
}

/// The save that a virtual dataset is of, where it is one of ours.
pub(super) fn save_of(dataset: &hdf5::Dataset) -> Result<Option<String>, Refusal> {
    Ok(save_in(attribute(dataset, SAVE_ATTRIBUTE)?))
}

/// The save that the text of the attribute names: anything else under its name is somebody else's.
pub(in crate::h5) fn save_in(text: Option<Result<String, String>>) -> Option<String> {
    text.and_then(Result::ok).filter(|save| is_save(save))
}

/// A name without the library's escapes; `None` where it is a pattern, or none at all.
fn unescaped(name: &[u8]) -> Option<Vec<u8>> {
    let name = Pattern::new(name).filter(|name| !name.has_number())?;
    Some(name.name(0))
}

/// Whether a part lies in the folder of the file that names it, or below it, links followed.
pub(in crate::h5) fn is_below(path: &Path, part: &[u8]) -> bool {
    let Some(name) = unescaped(part) else {
        return true; // a pattern, which is not read without the library
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

/// The path of a source, as the library finds it: `.` is the file itself, and a relative name counts from the folder of the
/// file, or of the one that a symbolic link leads to. A file that is not where an absolute name says is looked for there too.
fn resolve(path: &Path, name: &OsStr) -> Result<PathBuf, Refusal> {
    if name == "." {
        return Ok(path.to_owned());
    }
    let beside = directory(path).join(name); // an absolute name stays as it is
    if beside.exists() {
        return Ok(beside);
    }
    let name = Path::new(name);
    let last = name.file_name().filter(|_| name.is_absolute());
    let (here, there) = (directory(path), behind_links(path)?);
    let others = [
        last.map(|last| here.join(last)),
        Some(directory(&there).join(name)),
        last.map(|last| directory(&there).join(last)),
    ];
    let found = others.into_iter().flatten().find(|path| path.exists());
    Ok(found.unwrap_or(beside))
}

/// The files of the parts that a save of this crate has, and the keys of their datasets.
pub(in crate::h5) fn part_files(contents: &Contents) -> Vec<(PathBuf, String)> {
    match contents {
        Contents::Parts(pieces) => {
            let files = pieces.iter().map(Piece::path);
            files
                .map(|file| (file.to_owned(), PART_KEY.to_owned()))
                .collect()
        }
        Contents::Tiles(tiles) => {
            let files = tiles.files();
            files
                .map(|(file, key)| (file.to_owned(), key.to_owned()))
                .collect()
        }
        _ => Vec::new(),
    }
}
