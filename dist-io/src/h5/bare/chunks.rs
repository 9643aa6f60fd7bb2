//! Where the chunks of a dataset lie. (File Format Specification, III.A.1, III.A.2, VII.A to VII.D.)

use super::growing::Growing;
use super::{Block, Cursor, Image, damaged, dense};
use crate::h5::Refusal;
use crate::h5::chunk::Chunks;

/// What a chunk counts that is listed, and one that is looked for, beside the bytes that say where it lies.
const LISTED: u64 = 32;
const LOOKED_FOR: u64 = 8;

/// How chunks are found.
#[derive(Clone, Copy, Debug)]
pub(super) enum Index {
    /// By a tree of nodes, as old files have it.
    Nodes,
    /// There is one: bytes and mask of the filters that it went through, if it did.
    One(Option<(u64, u32)>),
    /// One behind another.
    Implicit,
    /// By their number in a list.
    List,
    /// By their number in a list that grows, along an unlimited dimension.
    Growing,
    /// By a tree of records.
    Records,
}

/// What is known of all chunks.
pub(super) struct Grid<'a> {
    pub(super) shape: &'a [u64],
    /// Extents that the shape may grow to, by which chunks are numbered.
    pub(super) most: &'a [u64],
    /// Elements of a chunk per dimension, none of which is 0.
    pub(super) chunk: &'a [u64],
    /// Bytes of a chunk without filters.
    pub(super) bytes: u64,
    pub(super) is_filtered: bool,
}

/// Adds all chunks that an index at an address names.
pub(super) fn find(
    image: &Image<'_>,
    (index, address): (Index, u64),
    grid: &Grid<'_>,
    chunks: &mut Chunks,
) -> Result<(), Refusal> {
    let ndim = grid.shape.len();
    match index {
        Index::Nodes => grid.node(image, address, None, chunks),
        Index::One(filtered) => {
            let (len, left_out) = filtered.unwrap_or((grid.bytes, 0));
            grid.add(image, chunks, &vec![0; ndim], (address, len, left_out))
        }
        Index::Implicit => grid.numbered(image, chunks, 0, |number| {
            let before = number.saturating_mul(grid.bytes);
            let at = address.saturating_add(before);
            Ok(Some((at, grid.bytes, 0)))
        }),
        Index::List => grid.list(image, address, chunks),
        Index::Growing => grid.growing(image, address, chunks),
        Index::Records => {
            let kind = if grid.is_filtered { 11 } else { 10 };
            dense::records(image, address, kind, &mut |mut record| {
                let place = if grid.is_filtered {
                    // an address, the mask, and the place in the grid are of one width; the rest is the length
                    let rest = image.widths.address + 4 + 8 * ndim;
                    let width = record.rest.len().saturating_sub(rest);
                    grid.place(&mut record, width)?
                } else {
                    grid.place(&mut record, 0)?
                };
                let mut coords = Vec::with_capacity(ndim);
                for _ in 0..ndim {
                    coords.push(record.number(8)?);
                }
                match place {
                    Some(place) => grid.add(image, chunks, &coords, place),
                    None => Ok(()),
                }
            })
        }
    }
}

/// Address, bytes and mask of a chunk.
type Place = (u64, u64, u32);

impl Grid<'_> {
    fn add(
        &self,
        image: &Image<'_>,
        chunks: &mut Chunks,
        coords: &[u64],
        (address, len, left_out): Place,
    ) -> Result<(), Refusal> {
        let axes = coords.iter().zip(self.shape.iter().zip(self.chunk));
        // a dataset that became smaller may have kept some
        if axes
            .into_iter()
            .any(|(&at, (&size, step))| at >= size.div_ceil(*step))
        {
            return Ok(());
        }
        image.charge(LISTED)?;
        chunks.add(coords, (image.byte(address), len), left_out);
        Ok(())
    }

    /// Takes what a list says of a chunk, whose length is a number of so many bytes; `None` where there is none.
    fn place(&self, bytes: &mut Cursor<'_>, width: usize) -> Result<Option<Place>, Refusal> {
        let address = bytes.address()?;
        if !self.is_filtered {
            return Ok(address.map(|address| (address, self.bytes, 0)));
        }
        if !(1..=8).contains(&width) {
            return Err(bytes.damaged("the length of a chunk that is no number"));
        }
        let len = bytes.number(width)?;
        let mask = bytes.take(4)?;
        let mask = u32::from_le_bytes([mask[0], mask[1], mask[2], mask[3]]);
        Ok(address.map(|address| (address, len, mask)))
    }

    /// A node of the tree, of this level where it is not the root.
    fn node(
        &self,
        image: &Image<'_>,
        address: u64,
        level: Option<u8>,
        chunks: &mut Chunks,
    ) -> Result<(), Refusal> {
        let wide = image.widths.address as u64;
        let head = image.read(address, 8 + 2 * wide)?;
        let mut bytes = head.cursor();
        bytes.expect(b"TREE\x01", "tree of chunks")?;
        let own = bytes.byte()?;
        if level.is_some_and(|level| level != own) {
            return Err(bytes.damaged("a node of another level"));
        }
        let count = bytes.number(2)?;
        let child = 8 + 8 * (self.shape.len() as u64 + 1) + wide;
        let block = image.read(address.saturating_add(8 + 2 * wide), count * child)?;
        let mut bytes = block.cursor();
        for _ in 0..count {
            let len = bytes.number(4)?;
            let mask = bytes.take(4)?;
            let mask = u32::from_le_bytes([mask[0], mask[1], mask[2], mask[3]]);
            let mut coords = Vec::with_capacity(self.chunk.len());
            let at = bytes.at;
            let mut is_first = true;
            for step in self.chunk {
                let origin = bytes.number(8)?;
                is_first &= origin.is_multiple_of(*step);
                coords.push(origin / step);
            }
            bytes.skip(8)?;
            let address = bytes.some_address()?;
            match own.checked_sub(1) {
                Some(below) => self.node(image, address, Some(below), chunks)?,
                None if is_first => self.add(image, chunks, &coords, (address, len, mask))?,
                None => return Err(damaged(at, "a chunk that begins within another")),
            }
        }
        Ok(())
    }

    /// Adds all chunks of the array; `place` says where the one of a number lies, which counts along `slowest` last.
    fn numbered(
        &self,
        image: &Image<'_>,
        chunks: &mut Chunks,
        slowest: usize,
        mut place: impl FnMut(u64) -> Result<Option<Place>, Refusal>,
    ) -> Result<(), Refusal> {
        let counts = |extents: &[u64]| -> Vec<u64> {
            let axes = extents.iter().zip(self.chunk);
            axes.map(|(size, step)| size.div_ceil(*step)).collect()
        };
        let (counts, most) = (counts(self.shape), counts(self.most));
        if counts.contains(&0) {
            return Ok(());
        }
        let mut coords = vec![0_u64; counts.len()];
        loop {
            image.charge(LOOKED_FOR)?;
            let first = coords.get(slowest).copied().unwrap_or(0);
            let axes = coords.iter().zip(&most).enumerate();
            let axes = axes.filter(|(axis, _)| *axis != slowest);
            let number = axes.fold(first, |number, (_, (at, count))| {
                number.saturating_mul(*count).saturating_add(*at)
            });
            if let Some(place) = place(number)? {
                self.add(image, chunks, &coords, place)?;
            }
            let mut axis = counts.len();
            loop {
                let Some(next) = axis.checked_sub(1) else {
                    return Ok(());
                };
                axis = next;
                coords[axis] += 1;
                if coords[axis] < counts[axis] {
                    break;
                }
                coords[axis] = 0;
            }
        }
    }

    /// A list that grows along the dimension without a limit.
    fn growing(&self, image: &Image<'_>, address: u64, chunks: &mut Chunks) -> Result<(), Refusal> {
        let mut list = Growing::read(image, address, u8::from(self.is_filtered))?;
        let width = list.entry().saturating_sub(image.widths.address + 4);
        let unlimited = self.most.iter().position(|&most| most == u64::MAX);
        self.numbered(image, chunks, unlimited.unwrap_or(0), |number| {
            let Some((block, skipped)) = list.find(image, number)? else {
                return Ok(None);
            };
            let mut bytes = block.cursor();
            bytes.skip(skipped)?;
            self.place(&mut bytes, width)
        })
    }

    /// A list by number, in one block or in pages.
    fn list(&self, image: &Image<'_>, address: u64, chunks: &mut Chunks) -> Result<(), Refusal> {
        let (wide, long) = (image.widths.address, image.widths.length);
        let head = image.read_summed(address, (12 + long + wide) as u64)?;
        let mut bytes = head.cursor();
        bytes.expect(b"FAHD\0", "list of chunks")?;
        let client = u8::from(self.is_filtered);
        bytes.expect(&[client], "list of such chunks")?;
        let entry = bytes.count(1)?;
        let page_bits = bytes.number(1)?;
        let count = bytes.length()?;
        let Some(block) = bytes.address()? else {
            return Ok(());
        };
        let width = entry.saturating_sub(wide + 4);
        let fits = if self.is_filtered {
            (1..=8).contains(&width)
        } else {
            entry == wide
        };
        if !fits || page_bits > 32 {
            return Err(damaged(head.at, "a list of entries that are none"));
        }
        let page = 1_u64 << page_bits;
        let len = |entries: u64| entries.saturating_mul(entry as u64);
        let before = 6 + wide as u64;
        image
            .read(block, before)?
            .cursor()
            .expect(b"FADB\0", "block of a list of chunks")?;
        let entry_at = |page: &Block, inside: u64| {
            let mut bytes = page.cursor();
            let skipped = usize::try_from(inside).unwrap_or(usize::MAX);
            bytes.skip(skipped.saturating_mul(entry))?;
            self.place(&mut bytes, width)
        };
        if count <= page {
            let all = before.saturating_add(len(count)).saturating_add(4);
            let mut all = image.read_summed(block, all)?;
            all.bytes.drain(..6 + wide);
            return self.numbered(image, chunks, 0, |number| {
                (number < count)
                    .then(|| entry_at(&all, number))
                    .transpose()
                    .map(Option::flatten)
            });
        }
        // a bit for each page that is there, and a checksum
        let map = count.div_ceil(page).div_ceil(8);
        let first = before.saturating_add(map).saturating_add(4);
        let map = image.read_summed(block, first)?.bytes.split_off(6 + wide);
        let mut now: Option<(u64, Block)> = None;
        self.numbered(image, chunks, 0, |number| {
            if number >= count {
                return Ok(None);
            }
            let (at, inside) = (number / page, number % page);
            let byte = usize::try_from(at / 8).ok().and_then(|byte| map.get(byte));
            if byte.is_none_or(|byte| byte >> (7 - at % 8) & 1 == 0) {
                return Ok(None);
            }
            let page = match now.take() {
                Some((known, page)) if known == at => page,
                _ => {
                    let before = at.saturating_mul(len(page).saturating_add(4));
                    let place = block.saturating_add(first).saturating_add(before);
                    image.read_summed(place, len(page.min(count - at * page)).saturating_add(4))?
                }
            };
            let place = entry_at(&page, inside);
            now = Some((at, page));
            place
        })
    }
}
