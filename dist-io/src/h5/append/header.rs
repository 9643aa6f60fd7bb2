//! [`Header`]: where a dataset says how large it is, and where the index of its chunks begins.
//!
//! By the HDF5 File Format Specification, version 3.0: IV.A.1 (object headers), IV.A.2.b (dataspace), IV.A.2.i (layout, version 3).
//!
//! Whoever reads the header while it is changed finds the old number of rows with either index, or the new one with the new index:
//! the index is named first, and no header grows in which a reader comes to the rows later than to the index. What is written
//! at once lies in one page of memory, so that a process which is killed in it has written all of it or nothing.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;

use super::checksum::checksum;
use super::format::{NOWHERE, bytes, count, is_torn, number, unsuited, write};
use crate::h5::Refusal;

/// Blocks of one header, at most, and bytes of all of them; blocks are followed one by one.
const BLOCKS: usize = 64;
const BYTES: usize = 16 << 20;

/// Dimensions of a dataset, at most.
const DIMENSIONS: usize = 32;

/// A piece of an object header.
#[derive(Clone, Debug)]
struct Block {
    at: u64,
    /// With its checksum, if it has one.
    bytes: Vec<u8>,
}

/// A place in a block: which one, and where in it. Readers come to them in ascending order.
type Spot = (usize, usize);

/// What a dataset says of itself.
#[derive(Clone, Debug)]
pub(super) struct Header {
    blocks: Vec<Block>,
    has_checksums: bool,
    /// Where the number of rows is, and the address of the index.
    rows_at: Spot,
    root_at: Spot,
    root: u64,
    /// Elements per dimension, of the dataset and of a chunk.
    pub(super) shape: Vec<u64>,
    pub(super) chunk: Vec<u64>,
}

impl Header {
    /// The header of a dataset at this address.
    pub(super) fn read(file: &File, at: u64, end: u64) -> Result<Self, Refusal> {
        let messages = Messages::read(file, at, end)?;
        let Messages {
            blocks,
            has_checksums,
            extent: Some((rows_at, shape)),
            layout: Some((root_at, root, chunk)),
            ..
        } = messages
        else {
            return Err(unsuited("its header says no shape, or no chunks"));
        };
        if shape.len() != chunk.len() {
            return Err(unsuited("its chunks have other dimensions than it has"));
        }
        Ok(Self {
            blocks,
            has_checksums,
            rows_at,
            root_at,
            root,
            shape,
            chunk,
        })
    }

    /// Refuses a header that cannot be changed while others read it, or not by a process that may be killed.
    pub(super) fn growable(&self) -> Result<(), Refusal> {
        if self.rows_at > self.root_at {
            return Err(unsuited(
                "its header names the chunks before the shape: make it anew in another file",
            ));
        }
        let torn = |(block, from): Spot| {
            let block = &self.blocks[block];
            is_torn(block.at + from as u64, block.bytes.len() - from)
        };
        if self.has_checksums && (torn(self.rows_at) || torn(self.root_at)) {
            return Err(unsuited(
                "its header lies in two pages, and a kill might tear it: a copy of the file (h5repack) may be grown",
            ));
        }
        Ok(())
    }

    /// Where the index of the chunks begins; [`NOWHERE`] where there is none yet, or nothing that is in it.
    pub(super) fn root(&self) -> u64 {
        if self.shape[0] == 0 {
            NOWHERE
        } else {
            self.root
        }
    }

    /// Says where the index begins, then how many rows there are.
    pub(super) fn set(&mut self, file: &File, root: u64, rows: u64) -> Result<(), Refusal> {
        let has_rows = self.shape[0] > 0;
        let (root_at, rows_at) = (self.root_at, self.rows_at);
        let (roots, counts) = (self.put(root_at, root), self.put(rows_at, rows));
        (self.root, self.shape[0]) = (root, rows);
        if self.has_checksums && root_at.0 == rows_at.0 {
            // the rows come first
            let from = if counts.is_empty() { roots } else { counts };
            return self.write(file, rows_at.0, from);
        }
        let torn = |(block, _): Spot, bytes: &Range<usize>| {
            is_torn(self.blocks[block].at + bytes.start as u64, bytes.len())
        };
        // without rows there are no chunks to lose
        let root_torn = has_rows && torn(root_at, &roots);
        if !self.has_checksums && (root_torn || torn(rows_at, &counts)) {
            return Err(unsuited(
                "a number of its header lies in two pages, and a kill might tear it",
            ));
        }
        self.write(file, root_at.0, roots)?;
        self.write(file, rows_at.0, counts)
    }

    /// Puts a word into a block; the bytes that are to be written for it: all of it, so that whoever reads it meanwhile gets it
    /// whole, or those that change where it lies in two pages, or none.
    fn put(&mut self, (block, at): Spot, word: u64) -> Range<usize> {
        let block = &mut self.blocks[block];
        let bytes = &mut block.bytes[at..at + 8];
        let new = word.to_le_bytes();
        let mut changes = (0..8).filter(|&byte| bytes[byte] != new[byte]);
        let changes = match changes.next() {
            None => at..at,
            Some(first) if is_torn(block.at + at as u64, 8) => {
                at + first..at + changes.next_back().unwrap_or(first) + 1
            }
            Some(_) => at..at + 8,
        };
        bytes.copy_from_slice(&new);
        changes
    }

    /// Writes bytes of a block; where it has a checksum, all of it from there on.
    fn write(&mut self, file: &File, block: usize, changes: Range<usize>) -> Result<(), Refusal> {
        if changes.is_empty() {
            return Ok(());
        }
        let block = &mut self.blocks[block];
        let mut to = changes.end;
        if self.has_checksums {
            to = block.bytes.len();
            let sum = checksum(&block.bytes[..to - 4]);
            block.bytes[to - 4..].copy_from_slice(&sum.to_le_bytes());
        }
        let at = block.at + changes.start as u64;
        write(file, at, &block.bytes[changes.start..to])
    }
}

/// The messages of a header, as they are read.
struct Messages {
    blocks: Vec<Block>,
    has_checksums: bool,
    /// Bytes before the data of a message.
    width: usize,
    extent: Option<(Spot, Vec<u64>)>,
    layout: Option<(Spot, u64, Vec<u64>)>,
}

impl Messages {
    fn read(file: &File, at: u64, end: u64) -> Result<Self, Refusal> {
        let head = bytes(file, at, 16, end)?;
        let mut messages = Self {
            blocks: Vec::new(),
            has_checksums: head[..4] == *b"OHDR",
            width: 8,
            extent: None,
            layout: None,
        };
        let first = if messages.has_checksums {
            if head[4] != 2 {
                return Err(unsuited("its header is of another version"));
            }
            let flags = head[5];
            messages.width = if flags & 4 == 0 { 4 } else { 6 };
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
        // in the order of readers
        let mut waiting = VecDeque::from([first]);
        let mut left = BYTES;
        while let Some((at, len, from)) = waiting.pop_front() {
            let len = len.filter(|&len| len <= left);
            let len = len.ok_or_else(|| unsuited("its header is too long"))?;
            left -= len;
            if messages.blocks.len() == BLOCKS {
                return Err(unsuited("its header is in too many pieces"));
            }
            let block = Block {
                at,
                bytes: bytes(file, at, len, end)?,
            };
            messages.block(&block, from, &mut waiting)?;
            messages.blocks.push(block);
        }
        Ok(messages)
    }

    /// Looks at the messages of a block, from byte `from` of it on.
    fn block(
        &mut self,
        block: &Block,
        from: usize,
        waiting: &mut VecDeque<(u64, Option<usize>, usize)>,
    ) -> Result<(), Refusal> {
        let all = &block.bytes;
        let mut end = all.len();
        if self.has_checksums {
            end = end.saturating_sub(4);
            if number(all, end, 4)? != u64::from(checksum(&all[..end])) {
                return Err(unsuited("the checksum of its header is wrong"));
            }
        }
        let mut at = from;
        // a gap at the end is shorter than the head of a message
        while at + self.width <= end {
            let (kind, len, flags) = if self.has_checksums {
                (number(all, at, 1)?, count(all, at + 1, 2)?, all[at + 3])
            } else {
                (number(all, at, 2)?, count(all, at + 2, 2)?, all[at + 4])
            };
            let data = at + self.width;
            let next = data + len;
            if next > end {
                return Err(unsuited("a message of its header is cut off"));
            }
            let message = &all[data..next];
            if matches!(kind, 1 | 8) && flags & 2 != 0 {
                return Err(unsuited("a message of its header is shared"));
            }
            let index = self.blocks.len();
            let spot = |at: usize| (index, data + at);
            match kind {
                1 => {
                    let (at, shape) = dataspace(message)?;
                    if self.extent.replace((spot(at), shape)).is_some() {
                        return Err(unsuited("its header says two shapes"));
                    }
                }
                8 => {
                    let (root, chunk) = layout(message)?;
                    if self.layout.replace((spot(3), root, chunk)).is_some() {
                        return Err(unsuited("its header says twice where its chunks are"));
                    }
                }
                16 => {
                    let len = count(message, 8, 8)?;
                    let from = if self.has_checksums { 4 } else { 0 };
                    waiting.push_back((number(message, 0, 8)?, Some(len), from));
                }
                _ => {}
            }
            at = next;
        }
        Ok(())
    }
}

/// A message that says the shape: where the rows stand in it, and elements per dimension.
fn dataspace(message: &[u8]) -> Result<(usize, Vec<u64>), Refusal> {
    let at = match (number(message, 0, 1)?, number(message, 3, 1)?) {
        (1, _) => 8,
        (2, 1) => 4,
        _ => return Err(unsuited("its shape is of another kind")),
    };
    let dims = count(message, 1, 1)?;
    if dims == 0 || dims > DIMENSIONS {
        return Err(unsuited(format!("it has {dims} dimensions")));
    }
    let shape = (0..dims).map(|axis| number(message, at + 8 * axis, 8));
    Ok((at, shape.collect::<Result<_, _>>()?))
}

/// A message that says where the chunks are: the address of their index, and elements of a chunk per dimension.
fn layout(message: &[u8]) -> Result<(u64, Vec<u64>), Refusal> {
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
    Ok((number(message, 3, 8)?, chunk))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use hdf5_metno as hdf5;
    use hdf5_metno::file::LibraryVersion;

    use super::*;
    use crate::h5::ffi;

    /// A header of 64 bytes, without a checksum or with one.
    fn header(at: u64, has_checksums: bool, rows: u64, root: u64) -> (File, Header) {
        let mut bytes = vec![7; 64];
        bytes[16..24].copy_from_slice(&rows.to_le_bytes());
        bytes[35..43].copy_from_slice(&root.to_le_bytes());
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, at).unwrap();
        let header = Header {
            blocks: vec![Block { at, bytes }],
            has_checksums,
            rows_at: (0, 16),
            root_at: (0, 35),
            root,
            shape: vec![rows, 5],
            chunk: vec![1, 5],
        };
        (file, header)
    }

    fn in_file(file: &File, at: u64) -> (u64, u64, Vec<u8>) {
        let mut bytes = vec![0; 64];
        file.read_exact_at(&mut bytes, at).unwrap();
        let word = |from: usize| number(&bytes, from, 8).unwrap();
        (word(16), word(35), bytes)
    }

    #[test]
    fn two_numbers_are_set_and_nothing_else() {
        for has_checksums in [false, true] {
            let (file, mut header) = header(1000, has_checksums, 0, NOWHERE);
            assert_eq!(header.root(), NOWHERE);
            header.set(&file, 5000, 1).unwrap();
            header.set(&file, 7000, 300).unwrap();
            let (rows, root, bytes) = in_file(&file, 1000);
            assert_eq!((rows, root, header.root()), (300, 7000, 7000));
            let others = [&bytes[..16], &bytes[24..35], &bytes[43..60]].concat();
            assert!(others.iter().all(|&byte| byte == 7));
            let sum = number(&bytes, 60, 4).unwrap();
            let expected = if has_checksums {
                u64::from(checksum(&bytes[..60]))
            } else {
                0x0707_0707
            };
            assert_eq!(sum, expected);
        }
    }

    #[test]
    fn what_a_kill_might_tear_is_refused_before_it_is_written() {
        // the address of the index lies across the end of a page, its five low bytes before it
        let at = 4096 - 40;
        let (file, mut header) = header(at, false, 0, NOWHERE);
        header.growable().unwrap();
        header.set(&file, 5000, 1).unwrap(); // there are no chunks to lose
        header.set(&file, 1 << 39, 2).unwrap();
        assert_eq!(in_file(&file, at).1, 1 << 39);
        let before = in_file(&file, at);
        let error = header.set(&file, 1 << 40, 3).unwrap_err();
        assert!(error.to_string().contains("two pages"), "{error}");
        assert_eq!(in_file(&file, at), before);
        // and so the number of rows
        let at = 4096 - 20;
        let (file, mut header) = self::header(at, false, (1 << 32) - 2, 5000);
        header.set(&file, 6000, (1 << 32) - 1).unwrap();
        let before = in_file(&file, at);
        assert!(header.set(&file, 7000, 1 << 32).is_err());
        assert_eq!(in_file(&file, at), before);
        // with a checksum all is one piece
        let (_, header) = self::header(at, true, 0, NOWHERE);
        let error = header.growable().unwrap_err();
        assert!(error.to_string().contains("two pages"), "{error}");
        let (_, mut header) = self::header(0, true, 0, NOWHERE);
        header.growable().unwrap();
        (header.rows_at, header.root_at) = (header.root_at, header.rows_at);
        let error = header.growable().unwrap_err();
        assert!(error.to_string().contains("before the shape"), "{error}");
    }

    /// Of one dimension and of several, in both kinds of headers, in one piece and in several.
    #[test]
    fn headers_of_the_library_are_understood() {
        let folder = tempfile::tempdir().unwrap();
        for version in [LibraryVersion::Earliest, LibraryVersion::V18] {
            let path = folder.path().join(format!("{version:?}.h5"));
            let file = hdf5::File::with_options()
                .with_fapl(|access| access.libver_bounds(version, LibraryVersion::V18))
                .create(&path)
                .unwrap();
            let mut made = Vec::new();
            for attributes in 0..9 {
                for shape in [vec![3], vec![3, 5], vec![3, 5, 7]] {
                    let name = format!("{attributes} {}", shape.len());
                    let extents = shape.iter().enumerate().map(|(axis, &size)| match axis {
                        0 => hdf5::Extent::resizable(size),
                        _ => hdf5::Extent::fixed(size),
                    });
                    let extents = hdf5::SimpleExtents::from_vec(extents.collect());
                    let builder = file.new_dataset_builder().chunk(vec![2; shape.len()]);
                    let dataset = builder
                        .empty::<f64>()
                        .shape(extents)
                        .create(&*name)
                        .unwrap();
                    for number in 0..attributes {
                        let name = "n".repeat(1 + 3 * number);
                        let attribute = dataset.new_attr::<f64>().create(&*name).unwrap();
                        attribute.write_scalar(&0.5).unwrap();
                    }
                    made.push((name, shape, ffi::header_address(&dataset).unwrap()));
                }
            }
            file.close().unwrap();
            let file = File::open(&path).unwrap();
            let end = file.metadata().unwrap().len();
            for (name, shape, at) in made {
                let header = Header::read(&file, at, end).unwrap();
                assert_eq!(
                    header.shape,
                    shape.iter().map(|&n| n as u64).collect::<Vec<_>>()
                );
                assert_eq!(header.chunk, vec![2; shape.len()]);
                assert_eq!(header.has_checksums, version == LibraryVersion::V18);
                let torn = matches!(header.growable(), Err(error) if error.to_string().contains("two pages"));
                assert!(torn || header.growable().is_ok(), "{name}: {header:?}");
            }
        }
    }

    #[test]
    fn damaged_headers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for version in [LibraryVersion::Earliest, LibraryVersion::V18] {
            let path = folder.path().join(format!("{version:?}.h5"));
            let file = hdf5::File::with_options()
                .with_fapl(|access| access.libver_bounds(version, LibraryVersion::V18))
                .create(&path)
                .unwrap();
            let at = {
                let extents = vec![hdf5::Extent::resizable(3), hdf5::Extent::fixed(4)];
                let builder = file.new_dataset_builder().chunk(vec![1, 4]).empty::<i32>();
                let builder = builder.shape(hdf5::SimpleExtents::from_vec(extents));
                let dataset = builder.create("a").unwrap();
                for name in ["one", "two", "three", "four", "five", "six"] {
                    dataset.new_attr::<i64>().create(name).unwrap();
                }
                ffi::header_address(&dataset).unwrap()
            };
            file.close().unwrap();
            let whole = std::fs::read(&path).unwrap();
            let end = whole.len() as u64;
            let from = usize::try_from(at).unwrap();
            let file = File::options().read(true).write(true).open(&path).unwrap();
            let good = Header::read(&file, at, end).unwrap();
            let spoiled = from..(from + 600).min(whole.len());
            let mut refused = 0;
            for byte in spoiled {
                for value in [0, 1, 0x80, 0xff] {
                    file.write_all_at(&[value], byte as u64).unwrap();
                    match Header::read(&file, at, end) {
                        Ok(header) => assert!(
                            version == LibraryVersion::Earliest || header.shape == good.shape
                        ),
                        Err(_) => refused += 1,
                    }
                }
                file.write_all_at(&whole[byte..=byte], byte as u64).unwrap();
            }
            assert!(refused > 50, "{refused}");
            for cut in from..whole.len().min(from + 600) {
                let _ = Header::read(&file, at, cut as u64);
            }
            assert!(Header::read(&file, at, at + 15).is_err());
        }
    }
}
