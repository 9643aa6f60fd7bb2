//! Groups: the names in them, and the way along a key. (File Format Specification, III.A.1, III.B, III.C, IV.A.2.g.)

use std::collections::HashSet;

use super::dense::Dense;
use super::header::{Header, Kind, LINK, LINK_INFO, SYMBOL_TABLE};
use super::heap::LocalHeap;
use super::{Bare, Cursor, Image, within};
use crate::h5::Refusal;
use crate::h5::attribute::decoded;

/// Soft links that one key may lead over, as many as the library follows.
const SOFT_LINKS: usize = 16;

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Link {
    /// The header at this address.
    Hard(u64),
    /// This name.
    Soft(Vec<u8>),
    /// Another file.
    External,
    /// Something that programs define for themselves.
    Other,
}

/// What is in a group: for whoever lists them.
pub(in crate::h5) enum Item {
    /// With the addresses of their headers.
    Group(u64),
    Dataset(u64),
    Datatype,
    /// A link into another file, or one that programs define.
    Elsewhere,
    /// A link that leads nowhere.
    Nothing,
}

/// What is wrong, and where: the key of a group or a dataset.
pub(in crate::h5) type Wrong = (String, Refusal);

/// An object that was found, and its header.
pub(super) struct Found {
    pub(super) address: u64,
    pub(super) header: Header,
    pub(super) kind: Option<Kind>,
}

/// Where a key leads.
enum Way {
    To(Found),
    /// The names so far: there is nothing.
    Missing(String),
    /// The names so far: that is in another file.
    Elsewhere(String),
    /// The names so far: that is no group.
    NoGroup(String),
}

impl Bare<'_> {
    fn object(&self, address: u64) -> Result<Found, Refusal> {
        let header = Header::read(&self.image, address)?;
        Ok(Found {
            address,
            kind: header.kind(),
            header,
        })
    }

    /// The dataset under the names of a key.
    pub(super) fn at(&self, names: &[&str]) -> Result<Found, Refusal> {
        match self.way(self.root, names.iter().map(|name| name.as_bytes()))? {
            Way::To(found) => match found.kind {
                Some(Kind::Dataset) => Ok(found),
                Some(Kind::Group) => Err(Refusal::NotADataset {
                    kind: "group".to_owned(),
                }),
                _ => Err(Refusal::NotADataset {
                    kind: "named datatype".to_owned(),
                }),
            },
            Way::Missing(missing) => Err(Refusal::MissingKey { missing }),
            Way::Elsewhere(at) => Err(Refusal::AnotherFile { at }),
            Way::NoGroup(at) => Err(Refusal::NotAGroup { at }),
        }
    }

    /// What is under a key; the key of no names is the root group.
    pub(in crate::h5) fn item(&self, names: &[&str]) -> Result<Item, Refusal> {
        match self.way(self.root, names.iter().map(|name| name.as_bytes()))? {
            Way::To(found) => Ok(found.item()),
            Way::Missing(missing) => Err(Refusal::MissingKey { missing }),
            Way::Elsewhere(at) => Err(Refusal::AnotherFile { at }),
            Way::NoGroup(at) => Err(Refusal::NotAGroup { at }),
        }
    }

    /// Follows names from a group on, a group at a time, and soft links on the way.
    fn way<'n>(
        &self,
        from: u64,
        names: impl DoubleEndedIterator<Item = &'n [u8]>,
    ) -> Result<Way, Refusal> {
        // the last one is next; of those that a link leads over only their number is kept
        let mut waiting: Vec<(Vec<u8>, bool)> =
            names.rev().map(|name| (name.to_vec(), true)).collect();
        let mut at = String::new();
        let mut links = 0;
        let mut depth = 0_u64;
        let mut here = self.object(from)?;
        while let Some((name, is_own)) = waiting.pop() {
            self.image.charge(name.len() as u64 + 1)?;
            if here.kind != Some(Kind::Group) {
                return Ok(if is_own {
                    Way::NoGroup(at)
                } else {
                    Way::Missing(at)
                });
            }
            if is_own {
                if !at.is_empty() {
                    at.push('/');
                }
                at.push_str(&String::from_utf8_lossy(&name));
            }
            if name.is_empty() || name == b"." {
                continue;
            }
            depth += 1;
            within("depth of groups", depth, self.image.limits.depth as u64)?;
            match self.link(&here, &name)? {
                None => return Ok(Way::Missing(at)),
                Some(Link::Hard(address)) => here = self.object(address)?,
                Some(Link::Soft(to)) => {
                    links += 1;
                    if links > SOFT_LINKS {
                        return Ok(Way::Missing(at));
                    }
                    self.image.charge(to.len() as u64)?;
                    depth -= 1;
                    if to.starts_with(b"/") {
                        depth = 0;
                        here = self.object(self.root)?;
                    }
                    let names = to.rsplit(|&byte| byte == b'/');
                    waiting.extend(names.map(|name| (name.to_vec(), false)));
                }
                Some(Link::External | Link::Other) => return Ok(Way::Elsewhere(at)),
            }
        }
        Ok(Way::To(here))
    }

    /// The link of a name in a group.
    fn link(&self, group: &Found, name: &[u8]) -> Result<Option<Link>, Refusal> {
        let mut found = None;
        links(&self.image, &group.header, &mut |known, link| {
            if known == name && found.is_none() {
                found = Some(link);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// All names in the group at an address and what they lead to, sorted.
    pub(in crate::h5) fn names(&self, group: u64) -> Result<Vec<(String, Item)>, Refusal> {
        let header = Header::read(&self.image, group)?;
        let mut found = Vec::new();
        links(&self.image, &header, &mut |name, link| {
            found.push((name.to_vec(), link));
            Ok(())
        })?;
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let mut names = Vec::with_capacity(found.len());
        for (name, link) in found {
            let item = match link {
                Link::Hard(address) => self.object(address)?.item(),
                Link::External | Link::Other => Item::Elsewhere,
                Link::Soft(_) => match self.way(group, [name.as_slice()].into_iter())? {
                    Way::To(found) => found.item(),
                    Way::Elsewhere(_) => Item::Elsewhere,
                    Way::Missing(_) | Way::NoGroup(_) => Item::Nothing,
                },
            };
            names.push((decoded(&name), item));
        }
        Ok(names)
    }

    /// A name behind those of the groups that it is in, which are counted: each may be long, and in many others.
    pub(in crate::h5) fn joined(&self, groups: &str, name: &str) -> Result<String, Refusal> {
        self.image.charge((groups.len() + name.len()) as u64 + 1)?;
        Ok(if groups.is_empty() {
            name.to_owned()
        } else {
            format!("{groups}/{name}")
        })
    }

    /// Visits all groups under one, each once, whatever loops they are linked to: `visit` gets the keys of datasets, and the
    /// addresses of their headers; soft links are not followed, they lead to what has a name of its own.
    pub(in crate::h5) fn each(
        &self,
        visit: &mut dyn FnMut(&str, u64) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let limits = self.image.limits;
        let mut seen = HashSet::from([self.root]);
        let mut count = 0;
        let mut waiting = vec![(String::new(), self.root, 0)];
        while let Some((group, address, depth)) = waiting.pop() {
            let wrong = |refusal| (group.clone(), refusal);
            within("depth of groups", depth, limits.depth as u64).map_err(wrong)?;
            let header = Header::read(&self.image, address).map_err(wrong)?;
            let mut found = Vec::new();
            let listed = links(&self.image, &header, &mut |name, link| {
                if let Link::Hard(address) = link {
                    found.push((name.to_vec(), address));
                }
                Ok(())
            });
            listed.map_err(wrong)?;
            found.sort();
            let mut inner = Vec::new();
            for (name, address) in found {
                if !seen.insert(address) {
                    continue;
                }
                let key = self.joined(&group, &decoded(&name)).map_err(wrong)?;
                let wrong = |refusal| (key.clone(), refusal);
                count += 1;
                within("datasets and groups", count, limits.datasets as u64).map_err(wrong)?;
                match self.object(address).map_err(wrong)?.kind {
                    Some(Kind::Group) => inner.push((key, address, depth + 1)),
                    Some(Kind::Dataset) => visit(&key, address)?,
                    _ => {}
                }
            }
            waiting.extend(inner.into_iter().rev());
        }
        Ok(())
    }
}

impl Found {
    fn item(&self) -> Item {
        match self.kind {
            Some(Kind::Group) => Item::Group(self.address),
            Some(Kind::Dataset) => Item::Dataset(self.address),
            _ => Item::Datatype,
        }
    }
}

type Visit<'v> = dyn FnMut(&[u8], Link) -> Result<(), Refusal> + 'v;

/// All links of a group, in the order of the file.
fn links(image: &Image<'_>, header: &Header, visit: &mut Visit<'_>) -> Result<(), Refusal> {
    if let Some(table) = header.get(SYMBOL_TABLE) {
        let mut bytes = table.cursor()?;
        let (tree, heap) = (bytes.address()?, bytes.address()?);
        if let (Some(tree), Some(heap)) = (tree, heap) {
            let heap = LocalHeap::read(image, heap)?;
            symbols(image, &heap, tree, None, visit)?;
        }
    }
    for message in &header.messages {
        if message.kind == LINK {
            let (name, link) = link(&mut message.cursor()?)?;
            visit(name, link)?;
        }
    }
    if let Some(info) = header.get(LINK_INFO) {
        let mut bytes = info.cursor()?;
        bytes.expect(&[0], "link information")?;
        let flags = bytes.byte()?;
        if flags & 1 != 0 {
            bytes.skip(8)?;
        }
        let (heap, tree) = (bytes.address()?, bytes.address()?);
        if let (Some(heap), Some(tree)) = (heap, tree) {
            let dense = Dense::read(image, heap)?;
            dense.each(image, tree, 5, 4, &mut |bytes| {
                let (name, link) = link(&mut bytes.clone())?;
                visit(name, link)
            })?;
        }
    }
    Ok(())
}

/// The links under a node of a group's tree, of this level where it is not the root.
fn symbols(
    image: &Image<'_>,
    heap: &LocalHeap,
    address: u64,
    level: Option<u8>,
    visit: &mut Visit<'_>,
) -> Result<(), Refusal> {
    let (wide, len) = (image.widths.address as u64, image.widths.length as u64);
    let head = image.read(address, 8 + 2 * wide)?;
    let mut bytes = head.cursor();
    bytes.expect(b"TREE\0", "tree of a group")?;
    let own = bytes.byte()?;
    if level.is_some_and(|level| level != own) {
        return Err(bytes.damaged("a node of another level"));
    }
    let count = bytes.number(2)?;
    let children = image.read(address.saturating_add(8 + 2 * wide), count * (wide + len))?;
    let mut bytes = children.cursor();
    for _ in 0..count {
        bytes.length()?;
        let child = bytes.some_address()?;
        match own.checked_sub(1) {
            Some(below) => symbols(image, heap, child, Some(below), visit)?,
            None => entries(image, heap, child, visit)?,
        }
    }
    Ok(())
}

/// The links of a leaf of a group's tree.
fn entries(
    image: &Image<'_>,
    heap: &LocalHeap,
    address: u64,
    visit: &mut Visit<'_>,
) -> Result<(), Refusal> {
    let head = image.read(address, 8)?;
    let mut bytes = head.cursor();
    bytes.expect(b"SNOD\x01", "node of a group")?;
    bytes.skip(1)?;
    let count = bytes.number(2)?;
    let entry = 2 * image.widths.address as u64 + 24;
    let entries = image.read(address.saturating_add(8), count * entry)?;
    let mut bytes = entries.cursor();
    for _ in 0..count {
        let name = bytes.address()?.unwrap_or(u64::MAX);
        let header = bytes.address()?;
        let kind = bytes.number(4)?;
        bytes.skip(4)?;
        let mut scratch = bytes.part(16)?;
        let name = heap.text(name)?;
        image.charge(name.len() as u64)?;
        match (kind, header) {
            (2, _) => {
                let to = heap.text(scratch.number(4)?)?;
                image.charge(to.len() as u64)?;
                visit(name, Link::Soft(to.to_vec()))?;
            }
            (_, Some(header)) => visit(name, Link::Hard(header))?,
            (_, None) => {}
        }
    }
    Ok(())
}

/// The link that a message says.
fn link<'b>(bytes: &mut Cursor<'b>) -> Result<(&'b [u8], Link), Refusal> {
    bytes.expect(&[1], "link")?;
    let flags = bytes.byte()?;
    let kind = if flags & 0x08 != 0 { bytes.byte()? } else { 0 };
    if flags & 0x04 != 0 {
        bytes.skip(8)?;
    }
    if flags & 0x10 != 0 {
        bytes.skip(1)?;
    }
    let len = bytes.count(1 << (flags & 3))?;
    let name = bytes.take(len)?;
    let link = match kind {
        0 => Link::Hard(bytes.some_address()?),
        1 => {
            let len = bytes.count(2)?;
            Link::Soft(bytes.take(len)?.to_vec())
        }
        64 => Link::External,
        _ => Link::Other,
    };
    Ok((name, link))
}
