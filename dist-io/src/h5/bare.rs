//! Files of unknown origin, read without the HDF5 library, which has errors of its own on damaged files.
//!
//! By the HDF5 File Format Specification, version 3.0. What the format allows and is seldom met is refused by name.
//!
//! ```text
//! superblock ─► groups, a name at a time ─► header of the dataset ─► type, shape, layout, attributes ─► where its chunks lie
//! ```
//!
//! Whatever is read of a file's structures is counted, and there is a limit ([`Limits::metadata_bytes`](super::Limits)): no walk over
//! damaged ones, or over those that lead in a circle, goes on for long, and no memory is asked for that is not read into.

mod attribute;
mod chunks;
mod dataset;
mod datatype;
mod dense;
mod group;
mod growing;
mod header;
mod heap;
mod layout;
mod mapping;
mod superblock;

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::source::steady;
use super::{Limits, Refusal, open};
use crate::identity::Identity;

pub(super) use dataset::Dataset;
pub(super) use datatype::record;
pub(super) use group::Item;

/// What a read costs beside its bytes, so that a walk over nothing ends too.
const READ_COST: u64 = 16;

/// A file of unknown origin. Local.
pub(super) struct Bare<'a> {
    path: PathBuf,
    image: Image<'a>,
    /// Where the header of the root group lies.
    root: u64,
}

/// Opens a file, and looks at it: again where it was replaced or written to meanwhile.
pub(super) fn opened<T>(
    path: &Path,
    limits: &Limits,
    look: impl FnMut(&Bare<'_>) -> Result<T, Refusal>,
) -> Result<(File, Identity, T), Refusal> {
    let left = Cell::new(limits.metadata_bytes);
    counted(path, limits, &left, look)
}

/// As [`opened`], where so many bytes may still be read.
fn counted<T>(
    path: &Path,
    limits: &Limits,
    left: &Cell<u64>,
    mut look: impl FnMut(&Bare<'_>) -> Result<T, Refusal>,
) -> Result<(File, Identity, T), Refusal> {
    steady(path, |file, identity| {
        open::share(&file)?;
        let bare = Bare::new(path, &file, identity, (limits, left))?;
        let looked = look(&bare);
        // as the library's lock would have seen to it
        let meta = file.metadata().map_err(Refusal::os("look at the file"))?;
        if Identity::of(&meta) != identity {
            return Err(Refusal::Changed);
        }
        Ok((file, identity, looked?))
    })
}

/// A file as bytes, a limited number of which is read.
struct Image<'a> {
    file: &'a File,
    /// Bytes of the file.
    len: u64,
    /// The byte that addresses count from.
    base: u64,
    widths: Widths,
    limits: &'a Limits,
    /// Bytes that may still be read.
    left: &'a Cell<u64>,
}

/// Bytes of an address, and of a length.
#[derive(Clone, Copy, Debug)]
struct Widths {
    address: usize,
    length: usize,
}

impl Bare<'_> {
    /// As [`opened`], of another file, whose bytes count as those of this one.
    pub(super) fn opened_beside<T>(
        &self,
        path: &Path,
        look: impl FnMut(&Bare<'_>) -> Result<T, Refusal>,
    ) -> Result<(File, Identity, T), Refusal> {
        counted(path, self.image.limits, self.image.left, look)
    }
}

impl Image<'_> {
    /// Counts so many bytes that are read, or made of what was read.
    fn charge(&self, bytes: u64) -> Result<(), Refusal> {
        let allowed = self.limits.metadata_bytes;
        let left = self.left.get();
        // what is refused counts too: nothing is read after it
        self.left.set(left.saturating_sub(bytes));
        if bytes <= left {
            return Ok(());
        }
        let given = (allowed - left).saturating_add(bytes);
        within("bytes of metadata", given, allowed)
    }

    /// The byte of the file that an address stands for.
    fn byte(&self, address: u64) -> u64 {
        self.base.saturating_add(address)
    }

    /// So many bytes from an address on.
    fn read(&self, address: u64, len: u64) -> Result<Block, Refusal> {
        let at = self.byte(address);
        let expected = at.saturating_add(len);
        if expected > self.len {
            return Err(Refusal::Truncated {
                expected,
                found: self.len,
            });
        }
        self.charge(len.saturating_add(READ_COST))?;
        let room = usize::try_from(len).map_err(|_| Refusal::Memory { bytes: len })?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(room)
            .map_err(|_| Refusal::Memory { bytes: len })?;
        bytes.resize(room, 0);
        self.file
            .read_exact_at(&mut bytes, at)
            .map_err(Refusal::os("read"))?;
        Ok(Block {
            at,
            bytes,
            widths: self.widths,
        })
    }

    /// As [`read`](Self::read), of a block that ends with its checksum, which is left out.
    fn read_summed(&self, address: u64, len: u64) -> Result<Block, Refusal> {
        let mut block = self.read(address, len)?;
        let wrong = || damaged(block.at, "the checksum of what begins here is wrong");
        let (rest, sum) = block.bytes.split_last_chunk::<4>().ok_or_else(wrong)?;
        // inputs that are made up would not get further
        if !cfg!(fuzzing) && u32::from_le_bytes(*sum) != super::append::checksum(rest) {
            return Err(wrong());
        }
        block.bytes.truncate(block.bytes.len() - 4);
        Ok(block)
    }
}

/// Bytes of a file, and where they are from.
struct Block {
    /// Byte of the file.
    at: u64,
    bytes: Vec<u8>,
    widths: Widths,
}

impl Block {
    fn cursor(&self) -> Cursor<'_> {
        Cursor {
            at: self.at,
            rest: &self.bytes,
            widths: self.widths,
        }
    }
}

/// Bytes that are taken from the front.
#[derive(Clone)]
struct Cursor<'b> {
    /// Byte of the file that comes next.
    at: u64,
    rest: &'b [u8],
    widths: Widths,
}

impl<'b> Cursor<'b> {
    fn damaged(&self, message: &str) -> Refusal {
        damaged(self.at, message)
    }

    fn take(&mut self, len: usize) -> Result<&'b [u8], Refusal> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.damaged("what begins here is cut off"));
        };
        (self.at, self.rest) = (self.at.saturating_add(len as u64), rest);
        Ok(taken)
    }

    /// Steps over so many bytes.
    fn skip(&mut self, len: usize) -> Result<(), Refusal> {
        self.take(len).map(drop)
    }

    /// Takes these bytes, or says what should be there.
    fn expect(&mut self, bytes: &[u8], what: &str) -> Result<(), Refusal> {
        if self.rest.starts_with(bytes) {
            return self.skip(bytes.len());
        }
        Err(self.damaged(&format!("here is no {what}")))
    }

    fn byte(&mut self) -> Result<u8, Refusal> {
        Ok(self.take(1)?[0])
    }

    /// A number of so many bytes, at most 8, lowest first.
    fn number(&mut self, len: usize) -> Result<u64, Refusal> {
        let bytes = self.take(len)?.iter().rev();
        Ok(bytes.fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// A number of so many bytes, at most 8, that counts something in memory.
    fn count(&mut self, len: usize) -> Result<usize, Refusal> {
        let at = self.at;
        usize::try_from(self.number(len)?).map_err(|_| damaged(at, "this number is too large"))
    }

    /// A length, or a number of elements.
    fn length(&mut self) -> Result<u64, Refusal> {
        self.number(self.widths.length)
    }

    /// An address; `None` for that which is none.
    fn address(&mut self) -> Result<Option<u64>, Refusal> {
        let width = self.widths.address;
        let address = self.number(width)?;
        Ok((address != u64::MAX >> (64 - 8 * width)).then_some(address))
    }

    /// An address where there has to be one.
    fn some_address(&mut self) -> Result<u64, Refusal> {
        let at = self.at;
        let address = self.address()?;
        address.ok_or_else(|| damaged(at, "here has to be an address"))
    }

    /// Bytes up to a zero, which is taken too.
    fn text(&mut self) -> Result<&'b [u8], Refusal> {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let end = end.ok_or_else(|| self.damaged("a name without an end"))?;
        let text = self.take(end)?;
        self.skip(1)?;
        Ok(text)
    }

    /// A cursor over so many bytes, which are taken.
    fn part(&mut self, len: usize) -> Result<Self, Refusal> {
        let at = self.at;
        let rest = self.take(len)?;
        Ok(Self {
            at,
            rest,
            widths: self.widths,
        })
    }
}

/// Bytes that are not what the format has there.
fn damaged(at: u64, message: &str) -> Refusal {
    Refusal::Format {
        at,
        message: message.to_owned(),
    }
}

/// What the format has and is not read here.
fn unread(what: &str) -> Refusal {
    Refusal::Untrusted {
        what: what.to_owned(),
    }
}

/// Refuses what is beyond a limit.
pub(super) fn within(what: &str, given: u64, allowed: u64) -> Result<(), Refusal> {
    if given <= allowed {
        return Ok(());
    }
    Err(Refusal::Limit {
        what: what.to_owned(),
        given,
        allowed,
    })
}
