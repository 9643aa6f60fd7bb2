//! Where an HDF5 file says how far it goes, how large a dataset is and where the index of its chunks begins: found, and set.
//!
//! By the HDF5 File Format Specification, version 3.0: II.A (superblock), IV.A.1 (object headers), IV.A.2.b (dataspace), IV.A.2.i
//! (layout, version 3). All that is set is one aligned word, or lies in one block with a checksum, and takes one write.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::h5::Refusal;

/// An address that is none.
pub(super) const NOWHERE: u64 = u64::MAX;

/// Blocks of one object header, at most; they are followed one by one.
const BLOCKS: usize = 64;

pub(super) fn unsuited(message: impl Into<String>) -> Refusal {
    Refusal::NotGrowable {
        message: message.into(),
    }
}

/// So many bytes of a file that ends at byte `end`.
pub(super) fn bytes(file: &File, at: u64, len: usize, end: u64) -> Result<Vec<u8>, Refusal> {
    let expected = at.saturating_add(len as u64);
    if expected > end {
        return Err(Refusal::Truncated {
            expected,
            found: end,
        });
    }
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, at)
        .map_err(Refusal::os("read"))?;
    Ok(bytes)
}

pub(super) fn write(file: &File, at: u64, bytes: &[u8]) -> Result<(), Refusal> {
    file.write_all_at(bytes, at).map_err(Refusal::os("write"))
}

/// A number of so many bytes, lowest first.
pub(super) fn number(bytes: &[u8], at: usize, len: usize) -> Result<u64, Refusal> {
    let found = at.checked_add(len).and_then(|end| bytes.get(at..end));
    let found = found.ok_or_else(|| unsuited("a message of its header is cut off"))?;
    Ok(found
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// A number that counts bytes or messages in memory.
fn count(bytes: &[u8], at: usize, len: usize) -> Result<usize, Refusal> {
    usize::try_from(number(bytes, at, len)?).map_err(|_| unsuited("a message is too long"))
}

/// How far a file goes, and what its indices of chunks look like.
#[derive(Clone, Debug)]
pub(super) struct Superblock {
    /// All of it.
    bytes: Vec<u8>,
    /// Where it says how far the file goes.
    eof_at: usize,
    pub(super) eof: u64,
    /// Children of a node, at most.
    pub(super) fan: usize,
}

impl Superblock {
    pub(super) fn read(file: &File) -> Result<Self, Refusal> {
        let end = file
            .metadata()
            .map_err(Refusal::os("look at the file"))?
            .len();
        let head = bytes(file, 0, 48, end)?;
        if head[..8] != *b"\x89HDF\r\n\x1a\n" {
            return Err(unsuited("it begins with a user block"));
        }
        let version = head[8];
        let (sizes, len, fan, base_at) = match version {
            0 => (13, 96, 64, 24),
            1 => (13, 100, 2 * count(&head, 24, 2)?, 28),
            2 | 3 => (9, 48, 64, 12),
            _ => return Err(unsuited(format!("its superblock is of version {version}"))),
        };
        let eof_at = base_at + 16;
        // the driver's in the old ones, extensions in the new ones
        let more_at = if version < 2 { base_at + 24 } else { 20 };
        let block = bytes(file, 0, len, end)?;
        if block[sizes..sizes + 2] != [8, 8] {
            return Err(unsuited("its addresses are not of 8 bytes"));
        }
        if number(&block, base_at, 8)? != 0 {
            return Err(unsuited("it begins with a user block"));
        }
        if number(&block, more_at, 8)? != NOWHERE {
            return Err(unsuited("its superblock has extensions"));
        }
        if version == 3 && block[11] != 0 {
            return Err(Refusal::Locked {
                message: "it is marked as open for writing".to_owned(),
            });
        }
        if version >= 2 && number(&block, 44, 4)? != u64::from(checksum(&block[..44])) {
            return Err(unsuited("the checksum of its superblock is wrong"));
        }
        let eof = number(&block, eof_at, 8)?;
        if eof > end {
            return Err(Refusal::Truncated {
                expected: eof,
                found: end,
            });
        }
        Ok(Self {
            bytes: block,
            eof_at,
            eof,
            fan: fan.max(2),
        })
    }

    /// Says that the file goes so far.
    pub(super) fn set(&mut self, file: &File, eof: u64) -> Result<(), Refusal> {
        let at = self.eof_at;
        self.bytes[at..at + 8].copy_from_slice(&eof.to_le_bytes());
        let end = if self.bytes.len() == 48 {
            let sum = checksum(&self.bytes[..44]);
            self.bytes[44..].copy_from_slice(&sum.to_le_bytes());
            48
        } else {
            at + 8
        };
        self.eof = eof;
        write(file, at as u64, &self.bytes[at..end])
    }
}

/// A piece of an object header.
#[derive(Clone, Debug)]
struct Block {
    at: u64,
    /// With its checksum, if it has one.
    bytes: Vec<u8>,
}

/// A place in a block.
type Spot = (usize, usize);

/// What a dataset says of itself.
#[derive(Clone, Debug)]
pub(super) struct Header {
    blocks: Vec<Block>,
    has_checksums: bool,
    extent: Option<Spot>,
    root: Option<(Spot, u64)>,
    /// Elements of a chunk per dimension.
    pub(super) chunk: Vec<u64>,
}

impl Header {
    /// The header of a dataset at this address.
    pub(super) fn read(file: &File, at: u64, end: u64) -> Result<Self, Refusal> {
        let head = bytes(file, at, 16, end)?;
        let mut header = Self {
            blocks: Vec::new(),
            has_checksums: head[..4] == *b"OHDR",
            extent: None,
            root: None,
            chunk: Vec::new(),
        };
        let mut tracked = false;
        let first = if header.has_checksums {
            let flags = head[5];
            tracked = flags & 4 != 0;
            let before =
                6 + if flags & 0x20 != 0 { 16 } else { 0 } + if flags & 0x10 != 0 { 4 } else { 0 };
            let width = 1 << (flags & 3);
            let len = count(&bytes(file, at, before + width, end)?, before, width)?;
            let all = len.checked_add(before + width + 4);
            (at, all, before + width)
        } else if head[0] == 1 {
            let len = count(&head, 8, 4)?;
            (at, len.checked_add(16), 16)
        } else {
            return Err(unsuited("its header is of another version"));
        };
        let mut waiting = vec![first];
        while let Some((at, len, from)) = waiting.pop() {
            if header.blocks.len() == BLOCKS {
                return Err(unsuited("its header is in too many pieces"));
            }
            let len = len.ok_or_else(|| unsuited("its header is too long"))?;
            // before there is room for it
            if len as u64 > end {
                return Err(Refusal::Truncated {
                    expected: at.saturating_add(len as u64),
                    found: end,
                });
            }
            let block = Block {
                at,
                bytes: bytes(file, at, len, end)?,
            };
            header.messages(&block, from, tracked, &mut waiting)?;
            header.blocks.push(block);
        }
        if header.extent.is_none() || header.root.is_none() {
            return Err(unsuited("its header says no shape, or no chunks"));
        }
        Ok(header)
    }

    /// Looks at the messages of a block, from byte `from` of it on.
    fn messages(
        &mut self,
        block: &Block,
        from: usize,
        tracked: bool,
        waiting: &mut Vec<(u64, Option<usize>, usize)>,
    ) -> Result<(), Refusal> {
        let all = &block.bytes;
        let mut end = all.len();
        if self.has_checksums {
            end = end.saturating_sub(4);
            if number(all, end, 4)? != u64::from(checksum(&all[..end])) {
                return Err(unsuited("the checksum of its header is wrong"));
            }
        }
        let width = match (self.has_checksums, tracked) {
            (false, _) => 8,
            (true, false) => 4,
            (true, true) => 6,
        };
        let mut at = from;
        // a gap at the end is shorter than the head of a message
        while at + width <= end {
            let (kind, len, flags) = if self.has_checksums {
                (number(all, at, 1)?, count(all, at + 1, 2)?, all[at + 3])
            } else {
                (number(all, at, 2)?, count(all, at + 2, 2)?, all[at + 4])
            };
            let data = at + width;
            let next = data + len;
            if next > end {
                return Err(unsuited("a message of its header is cut off"));
            }
            let message = &all[data..next];
            if matches!(kind, 1 | 8) && flags & 2 != 0 {
                return Err(unsuited("a message of its header is shared"));
            }
            let block = self.blocks.len();
            match kind {
                1 => {
                    let before = match number(message, 0, 1)? {
                        1 => 8,
                        _ => 4,
                    };
                    if number(message, 1, 1)? == 0 {
                        return Err(unsuited("it has no dimensions"));
                    }
                    number(message, before, 8)?;
                    self.extent = Some((block, data + before));
                }
                8 => {
                    if number(message, 0, 1)? != 3 {
                        return Err(unsuited(
                            "its chunks are indexed as version 1.10 of the format does (libver=\"latest\")",
                        ));
                    }
                    if number(message, 1, 1)? != 2 {
                        return Err(unsuited("it is not in chunks"));
                    }
                    let dims = count(message, 2, 1)?;
                    let chunk = (0..dims).map(|axis| number(message, 11 + 4 * axis, 4));
                    let mut chunk = chunk.collect::<Result<Vec<u64>, _>>()?;
                    chunk.pop(); // bytes of an element
                    if chunk.contains(&0) {
                        return Err(unsuited("its chunks are empty"));
                    }
                    self.chunk = chunk;
                    self.root = Some(((block, data + 3), number(message, 3, 8)?));
                }
                16 => {
                    let len = count(message, 8, 8)?;
                    let from = if self.has_checksums { 4 } else { 0 };
                    waiting.push((number(message, 0, 8)?, Some(len), from));
                }
                _ => {}
            }
            at = next;
        }
        Ok(())
    }

    /// Where the index of the chunks begins; [`NOWHERE`] where there is none yet.
    pub(super) fn root(&self) -> u64 {
        self.root.map_or(NOWHERE, |(_, root)| root)
    }

    /// Says where the index begins, then how many rows there are.
    pub(super) fn set(&mut self, file: &File, root: u64, rows: u64) -> Result<(), Refusal> {
        let (Some((root_spot, old)), Some(extent)) = (self.root, self.extent) else {
            return Err(unsuited("its header says no shape, or no chunks"));
        };
        self.root = Some((root_spot, root));
        if root != old {
            self.put(root_spot, root);
        }
        if self.has_checksums && root_spot.0 == extent.0 {
            self.put(extent, rows);
            return self.write(file, extent.0, extent.1.min(root_spot.1));
        }
        if root != old {
            self.write_word(file, root_spot)?;
        }
        self.put(extent, rows);
        self.write_word(file, extent)
    }

    fn put(&mut self, (block, at): Spot, word: u64) {
        self.blocks[block].bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
    }

    fn write_word(&mut self, file: &File, (block, at): Spot) -> Result<(), Refusal> {
        if self.has_checksums {
            return self.write(file, block, at);
        }
        let block = &self.blocks[block];
        write(file, block.at + at as u64, &block.bytes[at..at + 8])
    }

    /// Writes a block from there to its checksum.
    fn write(&mut self, file: &File, block: usize, from: usize) -> Result<(), Refusal> {
        let block = &mut self.blocks[block];
        let end = block.bytes.len() - 4;
        let sum = checksum(&block.bytes[..end]);
        block.bytes[end..].copy_from_slice(&sum.to_le_bytes());
        write(file, block.at + from as u64, &block.bytes[from..])
    }
}

/// The checksum of metadata: Bob Jenkins' `lookup3`, with 0 to begin with.
pub(in crate::h5) fn checksum(bytes: &[u8]) -> u32 {
    // the length is taken modulo 2³²
    #[expect(clippy::cast_possible_truncation, reason = "so it is defined")]
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let words = |bytes: &[u8]| {
        let mut padded = [0; 12];
        padded[..bytes.len()].copy_from_slice(bytes);
        let word = |at: usize| {
            u32::from_le_bytes([padded[at], padded[at + 1], padded[at + 2], padded[at + 3]])
        };
        [word(0), word(4), word(8)]
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        let [x, y, z] = words(&rest[..12]);
        (a, b, c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
        rest = &rest[12..];
    }
    if rest.is_empty() {
        return c;
    }
    let [x, y, z] = words(rest);
    (a, b, c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_lookup3() {
        // the values that its author gives for the start 0
        assert_eq!(checksum(b""), 0xdead_beef);
        assert_eq!(checksum(b"Four score and seven years ago"), 0x1777_0551);
    }
}
