//! Object headers: the messages that say what a group or a dataset is. (File Format Specification, IV.A.)

use super::{Cursor, Image, Widths, damaged, unread};
use crate::h5::Refusal;

pub(super) const SPACE: u16 = 0x01;
pub(super) const LINK_INFO: u16 = 0x02;
pub(super) const DATATYPE: u16 = 0x03;
pub(super) const OLD_FILL: u16 = 0x04;
pub(super) const FILL: u16 = 0x05;
pub(super) const LINK: u16 = 0x06;
pub(super) const EXTERNAL: u16 = 0x07;
pub(super) const LAYOUT: u16 = 0x08;
pub(super) const FILTERS: u16 = 0x0b;
pub(super) const ATTRIBUTE: u16 = 0x0c;
const CONTINUATION: u16 = 0x10;
pub(super) const SYMBOL_TABLE: u16 = 0x11;
pub(super) const ATTRIBUTE_INFO: u16 = 0x15;
/// Kinds of messages from here on are not known.
const UNKNOWN: u16 = 0x19;

/// Flags of a message: it lies elsewhere, and who does not know it must not go on.
const SHARED: u8 = 0x02;
const MUST_BE_KNOWN: u8 = 0x80;

/// The messages of an object.
pub(super) struct Header {
    pub(super) messages: Vec<Message>,
}

/// One of them.
pub(super) struct Message {
    pub(super) kind: u16,
    flags: u8,
    /// Byte of the file at which its data begin.
    at: u64,
    data: Vec<u8>,
    widths: Widths,
}

impl Message {
    /// What it says.
    pub(super) fn cursor(&self) -> Result<Cursor<'_>, Refusal> {
        if self.is_shared() {
            return Err(unread("messages that several objects share"));
        }
        Ok(self.own_cursor())
    }

    /// Whether it says where it lies, and no more.
    pub(super) fn is_shared(&self) -> bool {
        self.flags & SHARED != 0
    }

    /// What is here, even where it lies elsewhere.
    pub(super) fn own_cursor(&self) -> Cursor<'_> {
        Cursor {
            at: self.at,
            rest: &self.data,
            widths: self.widths,
        }
    }
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Group,
    Dataset,
    Datatype,
}

/// How the messages of a block look.
#[derive(Clone, Copy)]
struct Form {
    /// Of version 2 of the header.
    is_new: bool,
    has_order: bool,
}

impl Header {
    /// The header at an address.
    pub(super) fn read(image: &Image<'_>, address: u64) -> Result<Self, Refusal> {
        let mut header = Self {
            messages: Vec::new(),
        };
        let start = image.read(address, 8)?;
        let mut waiting = Vec::new();
        let form;
        if start.bytes.starts_with(b"OHDR") {
            if start.bytes[4] != 2 {
                return Err(damaged(start.at, "a header of a version that there is not"));
            }
            let flags = start.bytes[5];
            form = Form {
                is_new: true,
                has_order: flags & 0x04 != 0,
            };
            let times = if flags & 0x20 != 0 { 16 } else { 0 };
            let changes = if flags & 0x10 != 0 { 4 } else { 0 };
            let width = 1_usize << (flags & 3);
            let before = 6 + times + changes;
            let len = image.read(address.saturating_add(before as u64), width as u64)?;
            let len = len.cursor().number(width)?;
            let all = len.saturating_add((before + width + 4) as u64);
            let block = image.read_summed(address, all)?;
            let mut messages = block.cursor();
            messages.skip(before + width)?;
            header.block(messages, form, &mut waiting)?;
        } else {
            form = Form {
                is_new: false,
                has_order: false,
            };
            if start.bytes[0] != 1 {
                return Err(damaged(start.at, "here is no header of an object"));
            }
            let len = image
                .read(address.saturating_add(8), 4)?
                .cursor()
                .number(4)?;
            let block = image.read(address.saturating_add(16), len)?;
            header.block(block.cursor(), form, &mut waiting)?;
        }
        while let Some((address, len)) = waiting.pop() {
            let block = if form.is_new {
                image.read_summed(address, len)?
            } else {
                image.read(address, len)?
            };
            let mut messages = block.cursor();
            if form.is_new {
                messages.expect(b"OCHK", "continuation of a header")?;
            }
            header.block(messages, form, &mut waiting)?;
        }
        Ok(header)
    }

    /// Takes the messages of a block, and notes where others lie.
    fn block(
        &mut self,
        mut bytes: Cursor<'_>,
        form: Form,
        waiting: &mut Vec<(u64, u64)>,
    ) -> Result<(), Refusal> {
        let head = match (form.is_new, form.has_order) {
            (false, _) => 8,
            (true, false) => 4,
            (true, true) => 6,
        };
        // a gap at the end is shorter than the head of a message
        while bytes.rest.len() >= head {
            let mut start = bytes.part(head)?;
            let (kind, len, flags) = if form.is_new {
                (u16::from(start.byte()?), start.count(2)?, start.byte()?)
            } else {
                let kind = start.take(2)?;
                let kind = u16::from_le_bytes([kind[0], kind[1]]);
                (kind, start.count(2)?, start.byte()?)
            };
            let at = bytes.at;
            let widths = bytes.widths;
            let mut data = bytes.part(len)?;
            if kind >= UNKNOWN && flags & MUST_BE_KNOWN != 0 {
                return Err(unread(&format!("a message of kind {kind}")));
            }
            match kind {
                0 => {}
                CONTINUATION => waiting.push((data.some_address()?, data.length()?)),
                _ => self.messages.push(Message {
                    kind,
                    flags,
                    at,
                    data: data.rest.to_vec(),
                    widths,
                }),
            }
        }
        Ok(())
    }

    /// The first message of a kind.
    pub(super) fn get(&self, kind: u16) -> Option<&Message> {
        self.messages.iter().find(|message| message.kind == kind)
    }

    /// The first message of a kind that has to be there.
    pub(super) fn expect(&self, kind: u16, what: &str) -> Result<&Message, Refusal> {
        self.get(kind).ok_or_else(|| Refusal::Format {
            at: self.messages.first().map_or(0, |message| message.at),
            message: format!("the header of a dataset without {what}"),
        })
    }

    /// What the object is, as the library tells them apart; `None` where it is nothing that the format has.
    pub(super) fn kind(&self) -> Option<Kind> {
        let has = |kind| self.get(kind).is_some();
        if has(SYMBOL_TABLE) || has(LINK_INFO) {
            return Some(Kind::Group);
        }
        match (has(DATATYPE), has(SPACE)) {
            (true, true) => Some(Kind::Dataset),
            (true, false) => Some(Kind::Datatype),
            _ => None,
        }
    }
}
