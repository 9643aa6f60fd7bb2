//! Many links or attributes: in a heap of blocks (fractal), found by a tree of records (version 2 B-tree). (File Format
//! Specification, III.A.2 and III.G.)

use std::cell::RefCell;

use super::{Block, Cursor, Image, damaged, unread};
use crate::h5::Refusal;

/// A heap of blocks.
pub(super) struct Dense {
    /// Bytes of an offset in the heap, and of the length of an object.
    offset_width: usize,
    length_width: usize,
    has_sums: bool,
    /// Blocks of a row, and bytes of the first one and of the largest that holds objects.
    width: u64,
    first: u64,
    largest: u64,
    root: Option<u64>,
    /// Rows of the root; 0 where it is a block of objects.
    rows: u64,
    /// The block of objects that was looked at last, by address: neighbours lie in one as a rule.
    last: RefCell<Option<(u64, Block)>>,
}

impl Dense {
    pub(super) fn read(image: &Image<'_>, address: u64) -> Result<Self, Refusal> {
        let (wide, long) = (image.widths.address, image.widths.length);
        let len = 26 + 3 * wide + 12 * long;
        let head = image.read(address, len as u64)?;
        let mut bytes = head.cursor();
        bytes.expect(b"FRHP\0", "fractal heap")?;
        bytes.skip(2)?;
        if bytes.number(2)? != 0 {
            return Err(unread("links or attributes that went through filters"));
        }
        // of what has no filters the header is as long as was read
        let head = image.read_summed(address, len as u64)?;
        let mut bytes = head.cursor();
        bytes.skip(9)?;
        let has_sums = bytes.byte()? & 2 != 0;
        let managed = bytes.number(4)?;
        bytes.skip(long + wide + long + wide + 8 * long)?;
        let width = bytes.number(2)?;
        let (first, largest) = (bytes.length()?, bytes.length()?);
        let bits = bytes.number(2)?;
        bytes.skip(2)?;
        let root = bytes.address()?;
        let rows = bytes.number(2)?;
        let is_power = first.is_power_of_two() && largest.is_power_of_two() && first <= largest;
        if !is_power || width == 0 || bits == 0 || bits > 64 {
            return Err(damaged(head.at, "a fractal heap of no blocks"));
        }
        Ok(Self {
            offset_width: bytes_of_bits(bits),
            length_width: bytes_of_bits(largest.ilog2().into()).min(bytes_for(managed)),
            has_sums,
            width,
            first,
            largest,
            root,
            rows,
            last: RefCell::default(),
        })
    }

    /// Visits the objects that a tree of records of this kind names: those of links (5) and of attributes by name (8).
    pub(super) fn each(
        &self,
        image: &Image<'_>,
        tree: u64,
        kind: u8,
        id_at: usize,
        visit: &mut dyn FnMut(Cursor<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        records(image, tree, kind, &mut |mut record| {
            record.skip(id_at)?;
            self.object(image, record, visit)
        })
    }

    /// Visits the object of an identifier.
    fn object(
        &self,
        image: &Image<'_>,
        mut id: Cursor<'_>,
        visit: &mut dyn FnMut(Cursor<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let at = id.at;
        match id.byte()? >> 4 {
            0 => {}
            1 => return Err(unread("links or attributes too large for their heap")),
            2 => return Err(unread("links or attributes in the place of their names")),
            _ => return Err(damaged(at, "an object of a kind that there is not")),
        }
        let offset = id.number(self.offset_width)?;
        let len = id.number(self.length_width)?;
        let outside = || damaged(at, "an object that lies in no block of its heap");
        let mut address = self.root.ok_or_else(outside)?;
        // the part of the heap that the block at `address` is, from which offset on
        let (mut start, mut rows) = (0, self.rows);
        let mut size = self.first;
        while rows > 0 {
            let inside = offset - start;
            let (row, column, below) = self.place(inside).ok_or_else(outside)?;
            if row >= rows {
                return Err(outside());
            }
            (start, size) = (start + below, self.row_size(row).ok_or_else(outside)?);
            let entry = row * self.width + column;
            let wide = image.widths.address;
            let before = 5 + wide + self.offset_width;
            let addresses = rows.saturating_mul(self.width).saturating_mul(wide as u64);
            let all = addresses.saturating_add(before as u64 + 4);
            let blocks = image.read_summed(address, all)?;
            let mut bytes = blocks.cursor();
            bytes.expect(b"FHIB\0", "block of blocks")?;
            bytes.skip(before - 5)?;
            bytes.skip(
                usize::try_from(entry)
                    .unwrap_or(usize::MAX)
                    .saturating_mul(wide),
            )?;
            address = bytes.some_address()?;
            // rows of larger blocks are of blocks of blocks
            rows = if size <= self.largest {
                0
            } else {
                let whole = self.first.saturating_mul(self.width);
                u64::from((size / whole.max(1)).max(1).ilog2()) + 1
            };
        }
        let known = self.last.take();
        let block = match known {
            Some((known, block)) if known == address => block,
            _ => self.block(image, address, size)?,
        };
        let inside = usize::try_from(offset - start).map_err(|_| outside())?;
        let len = usize::try_from(len).map_err(|_| outside())?;
        image.charge(len as u64 + 1)?;
        let mut bytes = block.cursor();
        bytes.skip(inside)?;
        let visited = visit(bytes.part(len)?);
        self.last.replace(Some((address, block)));
        visited
    }

    /// A block of objects.
    fn block(&self, image: &Image<'_>, address: u64, size: u64) -> Result<Block, Refusal> {
        let mut block = image.read(address, size)?;
        block.cursor().expect(b"FHDB\0", "block of objects")?;
        let before = 5 + image.widths.address + self.offset_width;
        if self.has_sums {
            // of the block without it
            let sum = block.bytes.get_mut(before..before + 4);
            let sum = sum.ok_or_else(|| damaged(block.at, "a block of objects that is none"))?;
            let stored = u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]);
            sum.fill(0);
            let computed = super::super::append::checksum(&block.bytes);
            if !cfg!(fuzzing) && stored != computed {
                return Err(damaged(
                    block.at,
                    "the checksum of what begins here is wrong",
                ));
            }
        }
        Ok(block)
    }

    /// Row and column of the block that an offset lies in, and where that block begins.
    fn place(&self, offset: u64) -> Option<(u64, u64, u64)> {
        let (mut row, mut start) = (0, 0_u64);
        loop {
            let size = self.row_size(row)?;
            let all = size.checked_mul(self.width)?;
            if offset - start < all {
                let column = (offset - start) / size;
                return Some((row, column, start + column * size));
            }
            start = start.checked_add(all)?;
            row += 1;
        }
    }

    /// Bytes of a block of a row; `None` where it overflows.
    fn row_size(&self, row: u64) -> Option<u64> {
        let doubled = u32::try_from(row.saturating_sub(1)).ok()?;
        self.first.checked_mul(1_u64.checked_shl(doubled)?)
    }
}

/// Bytes that so many bits take.
fn bytes_of_bits(bits: u64) -> usize {
    usize::try_from(bits.div_ceil(8)).unwrap_or(8).min(8)
}

/// Bytes that a number up to this one takes.
pub(super) fn bytes_for(most: u64) -> usize {
    bytes_of_bits(u64::from(most.max(1).ilog2()) + 1)
}

/// A tree of records.
struct Tree {
    kind: u8,
    record: usize,
    /// Bytes of the number of records of a child, and of all below it by level.
    count_width: usize,
    below_widths: Vec<usize>,
}

/// Visits the records of a tree of this kind, in its order.
pub(super) fn records(
    image: &Image<'_>,
    address: u64,
    kind: u8,
    visit: &mut dyn FnMut(Cursor<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let (wide, long) = (image.widths.address, image.widths.length);
    let head = image.read_summed(address, (22 + wide + long) as u64)?;
    let mut bytes = head.cursor();
    bytes.expect(b"BTHD\0", "tree of records")?;
    bytes.expect(&[kind], "tree of such records")?;
    let node = bytes.number(4)?;
    let record = bytes.number(2)?;
    let depth = usize::try_from(bytes.number(2)?).unwrap_or(usize::MAX);
    bytes.skip(2)?;
    let root = bytes.address()?;
    let count = bytes.number(2)?;
    // signature, version, kind and checksum
    let room = node.saturating_sub(10);
    if record == 0 || room < record || depth > 64 {
        return Err(damaged(head.at, "a tree of no records"));
    }
    let mut most = room / record;
    let mut tree = Tree {
        kind,
        record: usize::try_from(record).unwrap_or(usize::MAX),
        count_width: bytes_for(most),
        below_widths: vec![0],
    };
    for level in 1..=depth {
        let pointer = (wide + tree.count_width + tree.below_widths[level - 1]) as u64;
        let here = room.saturating_sub(pointer) / (record + pointer);
        most = (here + 1).saturating_mul(most).saturating_add(here);
        tree.below_widths.push(bytes_for(most));
    }
    match root {
        Some(root) => tree.node(image, root, depth, count, visit),
        None => Ok(()),
    }
}

impl Tree {
    fn node(
        &self,
        image: &Image<'_>,
        address: u64,
        level: usize,
        count: u64,
        visit: &mut dyn FnMut(Cursor<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let wide = image.widths.address;
        let pointer =
            wide + self.count_width + level.checked_sub(1).map_or(0, |n| self.below_widths[n]);
        let pointers = if level == 0 {
            0
        } else {
            count.saturating_add(1)
        };
        let len = count
            .saturating_mul(self.record as u64)
            .saturating_add(pointers.saturating_mul(pointer as u64));
        let block = image.read_summed(address, len.saturating_add(10))?;
        let mut bytes = block.cursor();
        let signature = if level == 0 { b"BTLF\0" } else { b"BTIN\0" };
        bytes.expect(signature, "node of a tree of records")?;
        bytes.expect(&[self.kind], "node of such records")?;
        let mut all = bytes.clone();
        bytes.skip(
            usize::try_from(count)
                .unwrap_or(usize::MAX)
                .saturating_mul(self.record),
        )?;
        for at in 0..pointers.max(count) {
            if level > 0 {
                let child = bytes.some_address()?;
                let below = bytes.number(self.count_width)?;
                bytes.skip(pointer - wide - self.count_width)?;
                self.node(image, child, level - 1, below, visit)?;
            }
            if at < count {
                visit(all.part(self.record)?)?;
            }
        }
        Ok(())
    }
}
