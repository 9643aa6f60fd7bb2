//! The superblock: where a file begins, how wide its numbers are, and where its root group lies. (File Format Specification, II.A.)

use std::cell::Cell;
use std::fs::File;
use std::path::Path;

use super::header::Header;
use super::{Bare, Image, Widths, damaged, unread};
use crate::h5::{Limits, Refusal};
use crate::identity::Identity;

/// Messages of the superblock's extension: a driver of its own, and metadata that lie elsewhere.
const DRIVER: u16 = 0x14;
const CACHE_IMAGE: u16 = 0x18;

impl<'a> Bare<'a> {
    pub(super) fn new(
        path: &Path,
        file: &'a File,
        identity: Identity,
        (limits, left): (&'a Limits, &'a Cell<u64>),
    ) -> Result<Self, Refusal> {
        let mut image = Image {
            file,
            len: identity.len,
            base: 0,
            widths: Widths {
                address: 8,
                length: 8,
            },
            limits,
            left,
        };
        let at = signature(&image)?;
        let root = superblock(&mut image, at)?;
        Ok(Self {
            path: path.to_owned(),
            image,
            root,
        })
    }
}

/// The byte at which the format's signature stands: 0, 512, 1024, 2048, ...
fn signature(image: &Image<'_>) -> Result<u64, Refusal> {
    let mut at = 0_u64;
    while at.saturating_add(8) <= image.len {
        if image.read(at, 8)?.bytes == b"\x89HDF\r\n\x1a\n" {
            return Ok(at);
        }
        at = if at == 0 { 512 } else { at.saturating_mul(2) };
    }
    Err(Refusal::NotHdf5)
}

/// Reads the superblock at a byte; the address of the root group's header.
fn superblock(image: &mut Image<'_>, at: u64) -> Result<u64, Refusal> {
    let version = image.read(at + 8, 1)?.cursor().byte()?;
    let is_old = version < 2;
    if version > 3 {
        return Err(unread(&format!("a superblock of version {version}")));
    }
    let sizes = image.read(at + if is_old { 13 } else { 9 }, 2)?;
    let width = |at: usize| match sizes.bytes[at] {
        width @ (2 | 4 | 8) => Ok(usize::from(width)),
        _ => Err(damaged(sizes.at, "addresses and lengths of this size")),
    };
    image.widths = Widths {
        address: width(0)?,
        length: width(1)?,
    };
    let wide = image.widths.address as u64;
    let (base, extension, end, root) = if is_old {
        let head = if version == 0 { 24 } else { 28 };
        let block = image.read(at, head + 6 * wide)?;
        let mut bytes = block.cursor();
        bytes.skip(if version == 0 { 24 } else { 28 })?;
        let base = bytes.some_address()?;
        bytes.address()?; // of free space
        let end = bytes.some_address()?;
        if bytes.address()?.is_some() {
            return Err(unread("a file of a driver of its own"));
        }
        bytes.address()?; // the root group's name
        (base, None, end, bytes.some_address()?)
    } else {
        let block = image.read_summed(at, 16 + 4 * wide)?;
        let mut bytes = block.cursor();
        bytes.skip(11)?;
        if bytes.byte()? & 1 != 0 && version == 3 {
            return Err(Refusal::Locked {
                message: "it is marked as open for writing".to_owned(),
            });
        }
        let base = bytes.some_address()?;
        let extension = bytes.address()?;
        (
            base,
            extension,
            bytes.some_address()?,
            bytes.some_address()?,
        )
    };
    if base != at {
        return Err(damaged(at, "a superblock of another place"));
    }
    // behind a user block some releases count from its end
    if end > image.len {
        return Err(Refusal::Truncated {
            expected: end,
            found: image.len,
        });
    }
    image.base = base;
    if let Some(extension) = extension {
        let header = Header::read(image, extension)?;
        if header.messages.iter().any(|message| message.kind == DRIVER) {
            return Err(unread("a file of a driver of its own"));
        }
        if header
            .messages
            .iter()
            .any(|message| message.kind == CACHE_IMAGE)
        {
            return Err(unread("a file with an image of the cache of its metadata"));
        }
    }
    Ok(root)
}
