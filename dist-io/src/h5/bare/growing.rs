//! Chunks along an unlimited dimension: a list that grows (extensible array). (File Format Specification, VII.D.)
//!
//! ```text
//! index block      first entries │ blocks of entries │ blocks of such blocks, of 2, 2, 4, 4, 8, ... each, ever larger
//! ```

use super::{Block, Image, damaged};
use crate::h5::Refusal;

/// A list that grows.
pub(super) struct Growing {
    /// Bytes of an entry.
    entry: usize,
    /// Entries in the index block, and in the smallest block.
    first: u64,
    smallest: u64,
    /// Entries of a page: larger blocks are in pages.
    page: u64,
    /// Bytes of an offset in the list.
    offset_width: usize,
    /// Levels of blocks whose addresses are in the index block, and how many blocks these are.
    near_levels: u64,
    near: u64,
    index: Option<Block>,
    client: u8,
    /// What was looked at last, by address.
    level: Option<(u64, Block)>,
    block: Option<(u64, Block)>,
}

/// Blocks of one level: how many, how many entries each has, the first entry, and the first block.
struct Level {
    count: u64,
    entries: u64,
    start: u64,
    first: u64,
}

impl Growing {
    pub(super) fn read(image: &Image<'_>, address: u64, client: u8) -> Result<Self, Refusal> {
        let (wide, long) = (image.widths.address, image.widths.length);
        let head = image.read_summed(address, (16 + 6 * long + wide) as u64)?;
        let mut bytes = head.cursor();
        bytes.expect(b"EAHD\0", "list of chunks")?;
        bytes.expect(&[client], "list of such chunks")?;
        let entry = bytes.count(1)?;
        let bits = bytes.number(1)?;
        let first = bytes.number(1)?;
        let smallest = bytes.number(1)?;
        let pointers = bytes.number(1)?;
        let page_bits = bytes.number(1)?;
        bytes.skip(6 * long)?;
        let index = bytes.address()?;
        let are_powers = smallest.is_power_of_two() && pointers.is_power_of_two();
        if !are_powers || !(1..=64).contains(&bits) || page_bits > 32 || entry < wide {
            return Err(damaged(head.at, "a list of no entries"));
        }
        let near = 2 * (pointers - 1);
        let near_levels = 2 * u64::from(pointers.ilog2());
        let levels = (1 + bits).saturating_sub(smallest.ilog2().into());
        let far = levels.saturating_sub(near_levels);
        let index = index.map(|index| {
            let addresses = (near + far) * wide as u64;
            let len = 6 + wide as u64 + first * entry as u64 + addresses;
            let mut index = image.read_summed(index, len + 4)?;
            index
                .cursor()
                .expect(b"EAIB\0", "index of a list of chunks")?;
            index.bytes.drain(..6 + wide);
            Ok::<_, Refusal>(index)
        });
        Ok(Self {
            entry,
            first,
            smallest,
            page: 1 << page_bits,
            offset_width: usize::try_from(bits.div_ceil(8)).unwrap_or(8),
            near_levels,
            near,
            index: index.transpose()?,
            client,
            level: None,
            block: None,
        })
    }

    /// Bytes of an entry.
    pub(super) fn entry(&self) -> usize {
        self.entry
    }

    /// The block that holds the entry of a number, and the byte in it at which it begins; `None` where there is none.
    pub(super) fn find(
        &mut self,
        image: &Image<'_>,
        number: u64,
    ) -> Result<Option<(&Block, usize)>, Refusal> {
        let wide = image.widths.address;
        let entry = self.entry;
        let byte = |at: u64| {
            usize::try_from(at)
                .unwrap_or(usize::MAX)
                .saturating_mul(entry)
        };
        let Some(behind) = number.checked_sub(self.first) else {
            return Ok(self.index.as_ref().map(|index| (index, byte(number))));
        };
        let Some(index) = &self.index else {
            return Ok(None);
        };
        let before_blocks = byte(self.first);
        let (number, level) = self.level(behind);
        let inside = behind - level.start;
        let (block, inside) = (inside / level.entries, inside % level.entries);
        let address_at = |bytes: &Block, before: usize, at: u64| {
            let mut bytes = bytes.cursor();
            bytes.skip(before)?;
            bytes.skip(
                usize::try_from(at)
                    .unwrap_or(usize::MAX)
                    .saturating_mul(wide),
            )?;
            bytes.address()
        };
        if number < self.near_levels {
            let found = address_at(index, before_blocks, level.first + block)?;
            return self.block(image, found, (level.entries, None), inside);
        }
        let far = self.near + (number - self.near_levels);
        let Some(address) = address_at(index, before_blocks, far)? else {
            return Ok(None);
        };
        let pages = if level.entries > self.page {
            level.entries / self.page
        } else {
            0
        };
        // a bit for each page of each block
        let map = level.count.saturating_mul(pages.div_ceil(8));
        let map_len = usize::try_from(map).unwrap_or(usize::MAX);
        let level_block = match self.level.take() {
            Some((known, block)) if known == address => block,
            _ => {
                let addresses = level.count.saturating_mul(wide as u64);
                let before = 6 + wide + self.offset_width;
                let len = (before as u64 + 4)
                    .saturating_add(map)
                    .saturating_add(addresses);
                let mut found = image.read_summed(address, len)?;
                found
                    .cursor()
                    .expect(b"EASB\0", "block of blocks of a list of chunks")?;
                found.bytes.drain(..before);
                found
            }
        };
        let found = address_at(&level_block, map_len, block);
        let is_there = pages == 0 || {
            let bit = block * pages + inside / self.page;
            let byte = usize::try_from(bit / 8).ok();
            let byte = byte.filter(|&byte| byte < map_len);
            let byte = byte.and_then(|byte| level_block.bytes.get(byte));
            byte.is_some_and(|byte| byte >> (7 - bit % 8) & 1 != 0)
        };
        self.level = Some((address, level_block));
        if !is_there {
            return Ok(None);
        }
        let page = (pages > 0).then_some(inside / self.page);
        let inside = if pages > 0 {
            inside % self.page
        } else {
            inside
        };
        self.block(image, found?, (level.entries, page), inside)
    }

    /// An entry of a block, or of a page of it.
    fn block(
        &mut self,
        image: &Image<'_>,
        address: Option<u64>,
        (entries, page): (u64, Option<u64>),
        inside: u64,
    ) -> Result<Option<(&Block, usize)>, Refusal> {
        let Some(address) = address else {
            return Ok(None);
        };
        let before = 6 + image.widths.address + self.offset_width;
        let bytes_of = |entries: u64| entries.saturating_mul(self.entry as u64).saturating_add(4);
        let (place, len) = match page {
            None => (address, bytes_of(entries).saturating_add(before as u64)),
            Some(page) => {
                let skipped = page.saturating_mul(bytes_of(self.page));
                let first = address.saturating_add(before as u64 + 4);
                (first.saturating_add(skipped), bytes_of(self.page))
            }
        };
        if self.block.as_ref().is_none_or(|(known, _)| *known != place) {
            let head = image.read(address, 6)?;
            let mut head = head.cursor();
            head.expect(b"EADB\0", "block of a list of chunks")?;
            head.expect(&[self.client], "block of such chunks")?;
            let mut block = image.read_summed(place, len)?;
            if page.is_none() {
                block.bytes.drain(..before);
            }
            self.block = Some((place, block));
        }
        let byte = usize::try_from(inside).unwrap_or(usize::MAX);
        let byte = byte.saturating_mul(self.entry);
        Ok(self.block.as_ref().map(|(_, block)| (block, byte)))
    }

    /// The level of blocks that an entry behind those of the index block lies in.
    fn level(&self, behind: u64) -> (u64, Level) {
        let number = u64::from((behind / self.smallest).saturating_add(1).ilog2());
        let (mut start, mut first) = (0_u64, 0_u64);
        let of = |level: u64| {
            let count = 1_u64 << (level / 2);
            (count, self.smallest.saturating_mul(1 << level.div_ceil(2)))
        };
        for level in 0..number {
            let (count, entries) = of(level);
            start = start.saturating_add(count.saturating_mul(entries));
            first += count;
        }
        let (count, entries) = of(number);
        let level = Level {
            count,
            entries,
            start,
            first,
        };
        (number, level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fill_one_level_after_another() {
        let growing = Growing {
            entry: 8,
            first: 4,
            smallest: 16,
            page: 1024,
            offset_width: 4,
            near_levels: 4,
            near: 6,
            index: None,
            client: 0,
            level: None,
            block: None,
        };
        // 16 entries, then 1 block of 32, 2 of 32, 2 of 64, 4 of 64, ...
        let (mut level, mut start) = (0, 0);
        for behind in 0..20_000 {
            let (number, found) = growing.level(behind);
            if number > level {
                level = number;
                start = behind;
            }
            assert_eq!((number, found.start), (level, start), "{behind}");
            assert!(behind - start < found.count * found.entries);
        }
        assert_eq!(level, 10);
    }
}
