//! A dataset: its shape, type and layout, and where its elements lie. (File Format Specification, IV.A.2.b to IV.A.2.l.)

use std::collections::{BTreeMap, HashSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::attribute::{Attributes, attributes};
use super::chunks::{self, Grid};
use super::datatype::{self, Type};
use super::header::{DATATYPE, EXTERNAL, FILL, FILTERS, Header, LAYOUT, OLD_FILL, SPACE};
use super::heap::GlobalHeap;
use super::layout::{Layout, fill_value, filters, layout};
use super::{Bare, Cursor, Image, damaged, mapping, unread, within};
use crate::h5::attribute::OWN_ATTRIBUTES;
use crate::h5::chunk::{Chunks, Filter, filter_name};
use crate::h5::dataset::Found;
use crate::h5::source::{Contents, READ};
use crate::h5::vds::{self, BOUNDS_ATTRIBUTE, Mapping, SAVE_ATTRIBUTE, Seen};
use crate::h5::{
    AttributeValue, DIM_DATA_ATTRIBUTE, DatasetInfo, Refusal, Storage, VERSION_ATTRIBUTE, together,
};

/// A dataset of a file of unknown origin, within the limits.
pub(in crate::h5) struct Dataset {
    pub(super) ty: Type,
    pub(in crate::h5) found: Found,
    layout: Layout,
    /// One element, as it is in the file; of no bytes where none is defined.
    fill: Vec<u8>,
    /// Extents that the shape may grow to.
    most: Vec<u64>,
    /// Number and first value of each filter.
    filters: Vec<(i32, u32)>,
    attributes: Attributes,
    mappings: Vec<Mapping>,
}

impl Bare<'_> {
    /// The dataset under the names of a key.
    pub(in crate::h5) fn dataset(&self, names: &[&str]) -> Result<Dataset, Refusal> {
        let found = self.at(names)?;
        self.described(&found.header)
    }

    /// The dataset whose header lies at an address.
    pub(in crate::h5) fn dataset_at(&self, address: u64) -> Result<Dataset, Refusal> {
        self.described(&Header::read(&self.image, address)?)
    }

    fn described(&self, header: &Header) -> Result<Dataset, Refusal> {
        let (image, limits) = (&self.image, self.image.limits);
        let space = header.expect(SPACE, "a shape")?;
        let Space { shape, most } =
            space_of(&mut space.cursor()?)?.ok_or(Refusal::NullDataspace)?;
        within("dimensions", shape.len() as u64, limits.dimensions as u64)?;
        let ty = header.expect(DATATYPE, "a type")?;
        let ty = if ty.is_shared() {
            shared_type(image, &mut ty.own_cursor())?
        } else {
            datatype::take(&mut ty.cursor()?)?
        };
        let layout = layout(
            &mut header.expect(LAYOUT, "a layout")?.cursor()?,
            shape.len(),
        )?;
        let filters = match header.get(FILTERS) {
            Some(message) => filters(&mut message.cursor()?)?,
            None => Vec::new(),
        };
        let mut fill = Vec::new();
        for kind in [FILL, OLD_FILL] {
            if let (Some(message), true) = (header.get(kind), fill.is_empty()) {
                fill = fill_value(&mut message.cursor()?, kind)?;
            }
        }
        let attributes = attributes(image, header)?;
        let mut mappings = Vec::new();
        if let Layout::Virtual(Some(reference)) = layout {
            let mut heap = GlobalHeap::default();
            mappings = mapping::take(heap.get(image, reference)?)?;
        }
        let storage = if header.get(EXTERNAL).is_some() {
            Storage::External
        } else {
            match &layout {
                Layout::Compact(_) => Storage::Compact,
                Layout::Contiguous(address) => Storage::Contiguous {
                    offset: address.map(|address| image.byte(address)),
                },
                Layout::Chunked { chunk, .. } => Storage::Chunked {
                    chunk: chunk.clone(),
                },
                Layout::Virtual(_) => Storage::Virtual,
            }
        };
        let dataset = Dataset {
            found: Found::of(
                shape,
                ty.stored().map_err(|_| ty.named()),
                storage,
                dim_data(&attributes),
            ),
            ty,
            layout,
            fill,
            most,
            filters,
            attributes,
            mappings,
        };
        self.check(&dataset)?;
        Ok(dataset)
    }

    /// Whether a dataset is within the limits, and ends before the file does.
    fn check(&self, dataset: &Dataset) -> Result<(), Refusal> {
        let limits = self.image.limits;
        let bytes = bytes_of(dataset.ty.size, &dataset.found.shape);
        let by_file = |limit: u64, file: u64| match limits.times_file {
            Some(times) => limit.min(file.saturating_mul(times)),
            None => limit,
        };
        match &dataset.found.storage {
            Storage::Contiguous { offset: Some(at) } if bytes > 0 => {
                let expected = at.saturating_add(bytes);
                if expected > self.image.len {
                    return Err(Refusal::Truncated {
                        expected,
                        found: self.image.len,
                    });
                }
            }
            Storage::Chunked { chunk } => within(
                "bytes of a chunk",
                bytes_of(dataset.ty.size, chunk),
                by_file(limits.chunk_bytes, self.image.len),
            )?,
            _ => {}
        }
        let parts = dataset.mappings.len() as u64;
        within("parts", parts, limits.datasets as u64)?;
        let mut file = self.image.len;
        let own = self.image.file.metadata();
        let own = own.map_err(Refusal::os("look at the file"))?;
        // one file may have many names
        let mut files = HashSet::from([(own.dev(), own.ino())]);
        for Mapping { file: part, .. } in &dataset.mappings {
            if !limits.parts_elsewhere && !vds::is_below(&self.path, part) {
                return Err(Refusal::Limit {
                    what: "parts in other folders".to_owned(),
                    given: 1,
                    allowed: 0,
                });
            }
            if let Some(part) = vds::part_file(&self.path, part)
                && files.insert((part.dev(), part.ino()))
            {
                file = file.saturating_add(part.len());
            }
        }
        within("bytes of the elements", bytes, by_file(limits.bytes, file))
    }

    /// Where the elements of a dataset are; of a virtual one every part is looked at.
    pub(in crate::h5) fn contents(&self, dataset: &Dataset) -> Result<Contents, Refusal> {
        let found = &dataset.found;
        if found.shape.contains(&0) {
            return Ok(Contents::At(0));
        }
        let size = dataset.ty.size;
        let mut fill = dataset.fill.clone();
        if fill.len() != size {
            fill = vec![0; size]; // an element's, which was checked
        }
        if found.storage == Storage::External {
            return Ok(Contents::At(found.offset(READ)?));
        }
        match &dataset.layout {
            Layout::Contiguous(None) => Ok(Contents::Nowhere(fill)),
            Layout::Contiguous(Some(_)) => Ok(Contents::At(found.offset(READ)?)),
            Layout::Compact(all) => {
                let expected = bytes_of(size, &found.shape);
                if (all.len() as u64) < expected {
                    return Err(Refusal::Truncated {
                        expected,
                        found: all.len() as u64,
                    });
                }
                Ok(Contents::Here(all.clone()))
            }
            Layout::Chunked {
                index: (index, address),
                chunk,
                raw_edges,
            } => {
                let filters = dataset.filters.iter();
                let filters = filters.map(|&(number, value)| Filter::of(number, value));
                let filters = filters.collect::<Result<Vec<_>, _>>()?;
                let grid = Grid {
                    shape: &found.shape,
                    most: &dataset.most,
                    chunk,
                    bytes: bytes_of(size, chunk),
                    is_filtered: !filters.is_empty(),
                };
                let mut chunks = Chunks::none(&found.shape, chunk, filters, *raw_edges, fill);
                if let Some(address) = address {
                    chunks::find(&self.image, (*index, *address), &grid, &mut chunks)?;
                }
                chunks.sort();
                Ok(Contents::Chunks(chunks))
            }
            Layout::Virtual(_) => {
                let save = vds::save_in(text(&dataset.attributes, SAVE_ATTRIBUTE));
                let mut look = |file: &Path, key: &str| {
                    let names = together::names(key)?;
                    let (_, identity, part) =
                        self.opened_beside(file, |bare| bare.dataset(&names))?;
                    Ok(Seen {
                        contents: Contents::At(part.found.offset("in one piece")?),
                        save: text(&part.attributes, SAVE_ATTRIBUTE).transpose(),
                        bounds: text(&part.attributes, BOUNDS_ATTRIBUTE).transpose(),
                        found: part.found,
                        identity,
                    })
                };
                let whole = (&*self.path, found);
                let parts = vds::seen_parts(whole, &dataset.mappings, save.as_deref(), &mut look)?;
                parts
                    .pieces(found)?
                    .map(Contents::Parts)
                    .ok_or_else(|| unread("virtual datasets but those of blocks that fill them up"))
            }
        }
    }
}

impl Dataset {
    /// What there is to know of it.
    pub(in crate::h5) fn info(&self) -> Result<DatasetInfo, Refusal> {
        let members = if self.found.is_enumeration {
            self.ty.members()?
        } else {
            Vec::new()
        };
        let filters = self.filters.iter();
        let filters = filters.map(|&(number, _)| filter_name(number).to_owned());
        let names = filters.collect();
        let mut filters = self.filters.iter().rev();
        let deflate = filters.find(|(number, _)| *number == 1);
        let deflate = deflate.map(|(_, level)| u8::try_from(*level).unwrap_or(9).min(9));
        DatasetInfo::of(
            self.found.clone(),
            members,
            (names, deflate),
            self.attributes(),
        )
    }

    /// Its attributes, save those of this crate.
    pub(in crate::h5) fn attributes(&self) -> BTreeMap<String, AttributeValue> {
        let all = self.attributes.iter();
        all.filter(|(name, _)| !OWN_ATTRIBUTES.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// An attribute, those of this crate among them.
    pub(in crate::h5) fn attribute(&self, name: &str) -> Option<&AttributeValue> {
        self.attributes.get(name)
    }

    /// Bytes of an element.
    pub(in crate::h5) fn item(&self) -> usize {
        self.ty.size
    }
}

/// The text of an attribute, or why it is none; `None` where there is no such attribute.
fn text(attributes: &Attributes, name: &str) -> Option<Result<String, String>> {
    attributes.get(name).map(|value| match value {
        AttributeValue::Text(text) => Ok(text.clone()),
        _ => Err(format!("{name} is no text")),
    })
}

/// Version and text of the metadata of all ranks, or why there is no text.
fn dim_data(attributes: &Attributes) -> Option<Result<(String, String), String>> {
    let text_of = text(attributes, DIM_DATA_ATTRIBUTE)?;
    let version = text(attributes, VERSION_ATTRIBUTE);
    let version = version.unwrap_or_else(|| Err("no __version__ beside it".to_owned()));
    Some(version.and_then(|version| Ok((version, text_of?))))
}

/// Bytes of so many elements, each of `item` bytes.
pub(super) fn bytes_of(item: usize, extents: &[u64]) -> u64 {
    if extents.contains(&0) {
        return 0;
    }
    let bytes = extents.iter();
    bytes.fold(item as u64, |bytes, &extent| bytes.saturating_mul(extent))
}

/// Extents, and those that they may grow to.
#[derive(Debug, PartialEq, Eq)]
struct Space {
    shape: Vec<u64>,
    most: Vec<u64>,
}

/// Takes the extents of a dataspace; `None` where it is null.
pub(super) fn shape(bytes: &mut Cursor<'_>) -> Result<Option<Vec<u64>>, Refusal> {
    Ok(space_of(bytes)?.map(|space| space.shape))
}

fn space_of(bytes: &mut Cursor<'_>) -> Result<Option<Space>, Refusal> {
    let at = bytes.at;
    let (version, ndim) = (bytes.byte()?, bytes.byte()?);
    let has_most = bytes.byte()? & 1 != 0;
    let widest = bytes.widths.length;
    let kind = bytes.byte()?;
    match (version, kind) {
        (1, _) => bytes.skip(4)?,
        (2, 0 | 1) => {}
        (2, 2) => return Ok(None),
        _ => return Err(damaged(at, "here is no shape")),
    }
    let mut extents = || {
        (0..ndim)
            .map(|_| bytes.length())
            .collect::<Result<Vec<_>, _>>()
    };
    let shape = extents()?;
    let mut most = if has_most { extents()? } else { shape.clone() };
    // all ones: without a limit
    let unlimited = u64::MAX >> (64 - 8 * widest);
    most.iter_mut()
        .filter(|most| **most == unlimited)
        .for_each(|most| *most = u64::MAX);
    let axes = shape.iter().zip(&most);
    if axes.into_iter().any(|(size, most)| size > most) {
        return Err(damaged(at, "a shape that is larger than it may become"));
    }
    Ok(Some(Space { shape, most }))
}

/// The type that a message stands for which says where it lies: that of a named datatype.
pub(super) fn shared_type(image: &Image<'_>, bytes: &mut Cursor<'_>) -> Result<Type, Refusal> {
    let (version, kind) = (bytes.byte()?, bytes.byte()?);
    match (version, kind) {
        (1, _) => bytes.skip(6 + image.widths.length)?,
        (2, _) | (3, 2) => {}
        _ => return Err(unread("types that several objects share")),
    }
    let header = Header::read(image, bytes.some_address()?)?;
    let ty = header.expect(DATATYPE, "a type")?;
    datatype::take(&mut ty.cursor()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h5::ByteOrder;
    use crate::h5::bare::Widths;

    #[test]
    fn shapes_of_both_versions() {
        let widths = Widths {
            address: 4,
            length: 4,
        };
        let cursor = |rest| Cursor {
            at: 0,
            rest,
            widths,
        };
        let simple = [1, 2, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0];
        assert_eq!(shape(&mut cursor(&simple)).unwrap(), Some(vec![3, 5]));
        assert_eq!(shape(&mut cursor(&[2, 0, 0, 2])).unwrap(), None);
        assert_eq!(shape(&mut cursor(&[2, 0, 0, 0])).unwrap(), Some(vec![]));
    }

    #[test]
    fn byte_order_of_single_bytes_is_this_machines() {
        // an enumeration of two codes of one byte, big-endian: FALSE and TRUE
        let mut bytes = vec![0x38, 2, 0, 0, 1, 0, 0, 0];
        bytes.extend([0x10, 9, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0]);
        bytes.extend(b"FALSE\0TRUE\0\0\x01");
        let widths = Widths {
            address: 8,
            length: 8,
        };
        let mut cursor = Cursor {
            at: 0,
            rest: &bytes,
            widths,
        };
        let stored = datatype::take(&mut cursor).unwrap().stored().unwrap();
        assert_eq!(stored.element, dap_protocol::ElementType::Bool);
        assert_eq!(stored.byte_order, ByteOrder::NATIVE);
        assert!(!stored.is_enumeration && cursor.rest.is_empty());
    }
}
