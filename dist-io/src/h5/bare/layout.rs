//! How the elements of a dataset are stored: layout, filters, fill value. (File Format Specification, IV.A.2.e to IV.A.2.l.)

use super::chunks::Index;
use super::header::FILL;
use super::heap::Reference;
use super::{Cursor, damaged, unread};
use crate::h5::Refusal;

/// How elements are stored.
pub(super) enum Layout {
    Compact(Vec<u8>),
    /// From this address on, if there are any yet.
    Contiguous(Option<u64>),
    Chunked {
        index: (Index, Option<u64>),
        chunk: Vec<u64>,
        raw_edges: bool,
    },
    /// By mappings in the global heap.
    Virtual(Option<Reference>),
}

/// Takes a layout of elements in so many dimensions.
pub(super) fn layout(bytes: &mut Cursor<'_>, ndim: usize) -> Result<Layout, Refusal> {
    let at = bytes.at;
    let version = bytes.byte()?;
    if matches!(version, 1 | 2) {
        return old_layout(bytes, ndim);
    }
    if !matches!(version, 3 | 4) {
        return Err(unread(&format!("a layout of version {version}")));
    }
    match bytes.byte()? {
        0 => {
            let len = bytes.count(2)?;
            Ok(Layout::Compact(bytes.take(len)?.to_vec()))
        }
        1 => Ok(Layout::Contiguous(bytes.address()?)),
        2 if version == 3 => {
            let axes = bytes.count(1)?;
            let address = bytes.address()?;
            let chunk = chunk(bytes, axes, ndim, 4)?;
            Ok(Layout::Chunked {
                index: (Index::Nodes, address),
                chunk,
                raw_edges: false,
            })
        }
        2 => {
            let flags = bytes.byte()?;
            let axes = bytes.count(1)?;
            let width = bytes.count(1)?;
            if !(1..=8).contains(&width) {
                return Err(damaged(at, "chunks of extents that are no numbers"));
            }
            let chunk = chunk(bytes, axes, ndim, width)?;
            let index = match bytes.byte()? {
                1 if flags & 2 != 0 => {
                    let len = bytes.length()?;
                    let mask = bytes.take(4)?;
                    let mask = u32::from_le_bytes([mask[0], mask[1], mask[2], mask[3]]);
                    Index::One(Some((len, mask)))
                }
                1 => Index::One(None),
                2 => Index::Implicit,
                3 => {
                    bytes.skip(1)?;
                    Index::List
                }
                4 => {
                    bytes.skip(5)?;
                    Index::Growing
                }
                5 => {
                    bytes.skip(6)?;
                    Index::Records
                }
                _ => return Err(damaged(at, "chunks that are found in no known way")),
            };
            Ok(Layout::Chunked {
                index: (index, bytes.address()?),
                chunk,
                raw_edges: flags & 1 != 0,
            })
        }
        3 if version == 4 => Ok(Layout::Virtual(Reference::take(bytes)?)),
        _ => Err(damaged(at, "elements that are stored in no known way")),
    }
}

/// The layouts of the first releases.
fn old_layout(bytes: &mut Cursor<'_>, ndim: usize) -> Result<Layout, Refusal> {
    let at = bytes.at;
    let (axes, class) = (bytes.count(1)?, bytes.byte()?);
    bytes.skip(5)?;
    match class {
        0 => {
            bytes.skip(4 * axes)?;
            let len = bytes.count(4)?;
            Ok(Layout::Compact(bytes.take(len)?.to_vec()))
        }
        1 => Ok(Layout::Contiguous(bytes.address()?)),
        2 => {
            let address = bytes.address()?;
            Ok(Layout::Chunked {
                index: (Index::Nodes, address),
                chunk: chunk(bytes, axes, ndim, 4)?,
                raw_edges: false,
            })
        }
        _ => Err(damaged(at, "elements that are stored in no known way")),
    }
}

/// The extents of a chunk, behind which the bytes of an element stand.
fn chunk(
    bytes: &mut Cursor<'_>,
    axes: usize,
    ndim: usize,
    width: usize,
) -> Result<Vec<u64>, Refusal> {
    let at = bytes.at;
    if axes != ndim + 1 {
        return Err(damaged(at, "chunks of another number of dimensions"));
    }
    let mut chunk = Vec::with_capacity(ndim);
    for _ in 0..ndim {
        chunk.push(bytes.number(width)?);
    }
    bytes.skip(width)?;
    if chunk.contains(&0) {
        return Err(Refusal::ChunkShape { given: chunk });
    }
    Ok(chunk)
}

/// The filters of a pipeline: number, and the first value that it is given, which for `deflate` is the level.
pub(super) fn filters(bytes: &mut Cursor<'_>) -> Result<Vec<(i32, u32)>, Refusal> {
    let at = bytes.at;
    let (version, count) = (bytes.byte()?, bytes.byte()?);
    match version {
        1 => bytes.skip(6)?,
        2 => {}
        _ => return Err(damaged(at, "here are no filters")),
    }
    let mut filters = Vec::new();
    for _ in 0..count {
        let number = bytes.number(2)?;
        let name = if version == 1 || number >= 256 {
            bytes.count(2)?
        } else {
            0
        };
        bytes.skip(2)?;
        let values = bytes.count(2)?;
        bytes.skip(if version == 1 {
            name.next_multiple_of(8)
        } else {
            name
        })?;
        let mut given = bytes.part(4 * values)?;
        if version == 1 && values % 2 != 0 {
            bytes.skip(4)?;
        }
        let first = if values > 0 { given.number(4)? } else { 0 };
        let number = i32::try_from(number).unwrap_or(i32::MAX);
        filters.push((number, u32::try_from(first).unwrap_or(u32::MAX)));
    }
    Ok(filters)
}

/// The value of elements that were never written; of no bytes where none is defined.
pub(super) fn fill_value(bytes: &mut Cursor<'_>, kind: u16) -> Result<Vec<u8>, Refusal> {
    if kind == FILL {
        let version = bytes.byte()?;
        let is_defined = match version {
            1 | 2 => {
                bytes.skip(2)?;
                bytes.byte()? != 0
            }
            3 => bytes.byte()? & 0x20 != 0,
            _ => return Err(bytes.damaged("here is no fill value")),
        };
        if !is_defined {
            return Ok(Vec::new());
        }
    }
    let len = bytes.count(4)?;
    // of no bytes, or of all ones: as many zeros as an element has
    if len == 0 || len > bytes.rest.len() {
        return Ok(Vec::new());
    }
    Ok(bytes.take(len)?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h5::bare::Widths;

    #[test]
    fn old_layouts() {
        let widths = Widths {
            address: 4,
            length: 4,
        };
        let cursor = |rest| Cursor {
            at: 0,
            rest,
            widths,
        };
        let contiguous = [1, 2, 1, 0, 0, 0, 0, 0, 7, 1, 0, 0];
        let found = layout(&mut cursor(&contiguous), 2).unwrap();
        assert!(matches!(found, Layout::Contiguous(Some(0x107))));
        let nowhere = [3, 1, 255, 255, 255, 255];
        let found = layout(&mut cursor(&nowhere), 2).unwrap();
        assert!(matches!(found, Layout::Contiguous(None)));
        let empty = [3, 2, 2, 9, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0];
        let refused = layout(&mut cursor(&empty), 1).err();
        assert_eq!(refused, Some(Refusal::ChunkShape { given: vec![0] }));
    }
}
