//! Heaps: the names of the links of a group (local), and values of any length (global). (File Format Specification, III.D and III.E.)

use super::{Block, Cursor, Image, damaged};
use crate::h5::Refusal;

/// The names of the links of a group.
pub(super) struct LocalHeap(Block);

impl LocalHeap {
    pub(super) fn read(image: &Image<'_>, address: u64) -> Result<Self, Refusal> {
        let wide = (2 * image.widths.length + image.widths.address) as u64;
        let head = image.read(address, 8 + wide)?;
        let mut bytes = head.cursor();
        bytes.expect(b"HEAP\0", "local heap")?;
        bytes.skip(3)?;
        let len = bytes.length()?;
        bytes.length()?; // of free space
        Ok(Self(image.read(bytes.some_address()?, len)?))
    }

    /// The text at an offset.
    pub(super) fn text(&self, offset: u64) -> Result<&[u8], Refusal> {
        let mut bytes = self.0.cursor();
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        bytes.skip(offset)?;
        bytes.text()
    }
}

/// What a value of any length is, as it is referred to: its collection, and its number there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Reference {
    collection: u64,
    index: u64,
}

impl Reference {
    /// Takes a reference; `None` where there is no value.
    pub(super) fn take(bytes: &mut Cursor<'_>) -> Result<Option<Self>, Refusal> {
        let collection = bytes.address()?;
        let index = bytes.number(4)?;
        let collection = collection.filter(|&address| address != 0 && index != 0);
        Ok(collection.map(|collection| Self { collection, index }))
    }
}

/// Values of any length: the collection that was looked at last is kept, because neighbours lie in one as a rule.
#[derive(Default)]
pub(super) struct GlobalHeap {
    last: Option<(u64, Vec<Object>, Vec<u8>)>,
}

/// A value in a collection.
struct Object {
    index: u64,
    start: usize,
    len: usize,
}

impl GlobalHeap {
    /// A value, whose bytes are counted each time.
    pub(super) fn get(
        &mut self,
        image: &Image<'_>,
        reference: Reference,
    ) -> Result<Cursor<'_>, Refusal> {
        let Reference { collection, index } = reference;
        if self
            .last
            .as_ref()
            .is_none_or(|(known, ..)| *known != collection)
        {
            let (objects, bytes) = read(image, collection)?;
            self.last = Some((collection, objects, bytes));
        }
        let missing = || {
            let message = format!("the global heap that begins here has no value {index}");
            damaged(image.byte(collection), &message)
        };
        let (_, objects, bytes) = self.last.as_ref().ok_or_else(missing)?;
        let object = objects.binary_search_by_key(&index, |object| object.index);
        let object = &objects[object.map_err(|_| missing())?];
        image.charge(object.len as u64 + 1)?;
        Ok(Cursor {
            at: image.byte(collection).saturating_add(object.start as u64),
            rest: &bytes[object.start..object.start + object.len],
            widths: image.widths,
        })
    }
}

/// The values of a collection, ascending by number, and its bytes.
fn read(image: &Image<'_>, address: u64) -> Result<(Vec<Object>, Vec<u8>), Refusal> {
    let wide = image.widths.length;
    let head = image.read(address, 8 + wide as u64)?;
    let mut bytes = head.cursor();
    bytes.expect(b"GCOL\x01", "global heap")?;
    bytes.skip(3)?;
    let block = image.read(address, bytes.length()?)?;
    let mut bytes = block.cursor();
    bytes.skip(8 + wide)?;
    let mut objects = Vec::new();
    // what is shorter than the head of a value is free, and so is all behind number 0
    while bytes.rest.len() >= 8 + wide {
        let index = bytes.number(2)?;
        bytes.skip(6)?;
        let len = bytes.count(wide)?;
        if index == 0 {
            break;
        }
        let start = block.bytes.len() - bytes.rest.len();
        bytes.skip(len)?;
        bytes.skip(bytes.rest.len().min(len.next_multiple_of(8) - len))?;
        objects.push(Object { index, start, len });
    }
    objects.sort_by_key(|object| object.index);
    Ok((objects, block.bytes))
}
