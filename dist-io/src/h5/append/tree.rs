//! The index of a dataset's chunks: a tree of nodes, read as a list, and written anew where it changes, never in place.
//!
//! By the HDF5 File Format Specification, version 3.0, III.A.1 (version 1 B-trees, node type 1). Nodes are filled from the left, so
//! that what is appended changes the last one of each level alone:
//!
//! ```text
//! root            r                 r'  a new root, to which the dataset's header is then turned
//!              /  |  \            / | \ \
//! nodes       a   b   c          a  b  c' d
//! ```

use std::fs::File;

use super::format::{NOWHERE, bytes, number, unsuited};
use crate::h5::Refusal;

/// A chunk: its place in the grid of chunks, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) coords: Vec<u64>,
    pub(super) offset: u64,
    pub(super) len: u32,
    pub(super) left_out: u32,
}

/// The chunks of a dataset, ascending, and where the nodes lie that were written here.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    chunk: Vec<u64>,
    fan: usize,
    entries: Vec<Entry>,
    /// Addresses of the nodes, by level from the leaves on.
    levels: Vec<Vec<u64>>,
}

/// Nodes to be written in one piece, and what comes of them.
pub(super) struct Nodes {
    pub(super) bytes: Vec<u8>,
    pub(super) root: u64,
    /// Words of older nodes that say what their right neighbour is: programs that go from node to node want them; others do not
    /// look at them.
    pub(super) neighbours: Vec<(u64, u64)>,
    levels: Vec<Vec<u64>>,
}

impl Tree {
    /// The chunks under a root, in a file that ends at byte `end`.
    ///
    /// Each node has a chunk that comes after all before it, so a damaged file cannot lead through one of them twice.
    pub(super) fn read(
        file: &File,
        root: u64,
        chunk: &[u64],
        fan: usize,
        end: u64,
    ) -> Result<Self, Refusal> {
        let mut tree = Self {
            chunk: chunk.to_vec(),
            fan,
            entries: Vec::new(),
            levels: Vec::new(),
        };
        let mut nodes = Vec::new();
        if root != NOWHERE {
            tree.walk(file, root, None, end, &mut nodes)?;
        }
        // nodes that are filled as they are filled here can stay
        let full = |level: &Vec<(u64, usize)>| {
            let mut inner = level.iter().rev().skip(1);
            inner.all(|&(_, used)| used == fan)
        };
        if !tree.entries.is_empty() && nodes.iter().all(full) {
            let addresses = |level: &Vec<(u64, usize)>| level.iter().map(|&(at, _)| at).collect();
            tree.levels = nodes.iter().map(addresses).collect();
        }
        Ok(tree)
    }

    /// Takes the chunks below a node; `nodes` are those that were found, by level: address and children.
    fn walk(
        &mut self,
        file: &File,
        at: u64,
        level: Option<u8>,
        end: u64,
        nodes: &mut Vec<Vec<(u64, usize)>>,
    ) -> Result<(), Refusal> {
        let head = bytes(file, at, 24, end)?;
        let used = usize::from(u16::from_le_bytes([head[6], head[7]]));
        let fits = head[..4] == *b"TREE" && head[4] == 1 && used <= self.fan;
        let is_empty = used == 0 && level.is_some();
        if !fits || is_empty || level.is_some_and(|level| level != head[5]) {
            return Err(unsuited("a node of the index of its chunks is none"));
        }
        let depth = usize::from(head[5]);
        if nodes.len() <= depth {
            nodes.resize(depth + 1, Vec::new());
        }
        nodes[depth].push((at, used));
        let step = self.key() + 8;
        let node = bytes(file, at + 24, used * step, end)?;
        for child in node.chunks_exact(step) {
            let address = number(child, step - 8, 8)?;
            if let Some(below) = head[5].checked_sub(1) {
                self.walk(file, address, Some(below), end, nodes)?;
                continue;
            }
            let mut coords = Vec::with_capacity(self.chunk.len());
            for (axis, &step) in self.chunk.iter().enumerate() {
                let origin = number(child, 8 + 8 * axis, 8)?;
                if !origin.is_multiple_of(step) {
                    return Err(unsuited("a chunk of its index begins within another one"));
                }
                coords.push(origin / step);
            }
            if self
                .entries
                .last()
                .is_some_and(|last| last.coords >= coords)
            {
                return Err(unsuited("the index of its chunks is out of order"));
            }
            let word = |at: usize| {
                u32::from_le_bytes([child[at], child[at + 1], child[at + 2], child[at + 3]])
            };
            self.entries.push(Entry {
                coords,
                offset: address,
                len: word(0),
                left_out: word(4),
            });
        }
        Ok(())
    }

    /// Bytes of a key.
    fn key(&self) -> usize {
        8 + 8 * (self.chunk.len() + 1)
    }

    /// Bytes of a node.
    fn node(&self) -> usize {
        24 + self.fan * (self.key() + 8) + self.key()
    }

    /// All chunks.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The chunks of one row of chunks.
    pub(super) fn row(&self, row: u64) -> impl Iterator<Item = &Entry> {
        let first = self.entries.partition_point(|entry| entry.coords[0] < row);
        let rest = self.entries[first..].iter();
        rest.take_while(move |entry| entry.coords[0] == row)
    }

    /// Puts chunks in, in place of those of the same coordinates; which is the first that changed.
    pub(super) fn put(&mut self, new: &[Entry]) -> usize {
        let mut first = self.entries.len();
        for entry in new {
            let place = self
                .entries
                .binary_search_by(|known| known.coords.cmp(&entry.coords));
            match place {
                Ok(at) => {
                    self.entries[at] = entry.clone();
                    first = first.min(at);
                }
                Err(at) => {
                    self.entries.insert(at, entry.clone());
                    first = first.min(at);
                }
            }
        }
        first
    }

    /// The nodes that say where the chunks from the first changed one on lie, to be written from byte `at` on.
    pub(super) fn nodes(&self, first: usize, at: u64) -> Nodes {
        let mut nodes = Nodes {
            bytes: Vec::new(),
            root: NOWHERE,
            neighbours: Vec::new(),
            levels: self.levels.clone(),
        };
        // the node before says where this one begins
        let mut from = first.saturating_sub(1) / self.fan;
        let mut children = self.entries.len();
        let mut width = 1_usize; // chunks below a child
        for level in 0_u8.. {
            let depth = usize::from(level);
            if nodes.levels.len() == depth {
                nodes.levels.push(Vec::new());
            }
            from = from.min(nodes.levels[depth].len());
            nodes.levels[depth].truncate(from);
            let count = children.div_ceil(self.fan);
            let below = depth
                .checked_sub(1)
                .map(|below| nodes.levels[below].clone());
            for index in from..count {
                let here = at + nodes.bytes.len() as u64;
                let right = if index + 1 < count {
                    here + self.node() as u64
                } else {
                    NOWHERE
                };
                let left = match index.checked_sub(1) {
                    Some(left) => nodes.levels[depth][left],
                    None => NOWHERE,
                };
                if index == from && left != NOWHERE {
                    nodes.neighbours.push((left + 16, here));
                }
                let places = index * self.fan..children.min((index + 1) * self.fan);
                self.node_bytes(
                    (level, left, right),
                    places,
                    width,
                    below.as_deref(),
                    &mut nodes.bytes,
                );
                nodes.levels[depth].push(here);
            }
            if count <= 1 {
                nodes.levels.truncate(depth + 1);
                break;
            }
            children = count;
            width = width.saturating_mul(self.fan);
            from /= self.fan;
        }
        nodes.root = nodes
            .levels
            .last()
            .and_then(|level| level.first().copied())
            .unwrap_or(NOWHERE);
        nodes
    }

    fn node_bytes(
        &self,
        (level, left, right): (u8, u64, u64),
        places: std::ops::Range<usize>,
        width: usize,
        below: Option<&[u64]>,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.extend_from_slice(b"TREE\x01");
        out.push(level);
        // at most `fan` of them, which came out of two bytes
        let used = u16::try_from(places.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&used.to_le_bytes());
        out.extend_from_slice(&left.to_le_bytes());
        out.extend_from_slice(&right.to_le_bytes());
        let end = places.end;
        for place in places {
            let entry = &self.entries[place * width];
            self.push_key(entry.len, entry.left_out, &entry.coords, out);
            let child = below.map_or(entry.offset, |below| below[place]);
            out.extend_from_slice(&child.to_le_bytes());
        }
        match (
            self.entries.get(end.saturating_mul(width)),
            self.entries.last(),
        ) {
            (Some(next), _) => self.push_key(next.len, next.left_out, &next.coords, out),
            // behind the last one, as the library has it
            (None, Some(last)) => {
                let behind: Vec<u64> = last.coords.iter().map(|at| at + 1).collect();
                self.push_key(0, 0, &behind, out);
            }
            (None, None) => {}
        }
        out.resize(start + self.node(), 0);
    }

    fn push_key(&self, len: u32, left_out: u32, coords: &[u64], out: &mut Vec<u8>) {
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&left_out.to_le_bytes());
        for (at, step) in coords.iter().zip(&self.chunk) {
            out.extend_from_slice(&at.saturating_mul(*step).to_le_bytes());
        }
        out.extend_from_slice(&0_u64.to_le_bytes());
    }

    /// Takes note that the nodes are in the file.
    pub(super) fn written(&mut self, nodes: Nodes) {
        self.levels = nodes.levels;
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    fn entry(step: u64, column: u64) -> Entry {
        Entry {
            coords: vec![step, column],
            offset: 1000 * step + column,
            len: 80,
            left_out: 1,
        }
    }

    /// What is appended a few chunks at a time reads the same as what was put in, and old roots stay readable.
    #[test]
    fn trees_grow_and_come_back() {
        let file = tempfile::tempfile().unwrap();
        let chunk = [2, 5];
        let mut tree = Tree::read(&file, NOWHERE, &chunk, 4, 0).unwrap();
        let mut end = 10_u64;
        let mut roots = Vec::new();
        for step in 0..60_u64 {
            let new: Vec<Entry> = (0..=step % 3).map(|column| entry(step, column)).collect();
            let first = tree.put(&new);
            let nodes = tree.nodes(first, end);
            file.write_all_at(&nodes.bytes, end).unwrap();
            end += nodes.bytes.len() as u64;
            for (at, word) in &nodes.neighbours {
                file.write_all_at(&word.to_le_bytes(), *at).unwrap();
            }
            roots.push((nodes.root, tree.entries.clone()));
            tree.written(nodes);
        }
        for (root, entries) in roots {
            let found = Tree::read(&file, root, &chunk, 4, end).unwrap();
            assert_eq!(found.entries, entries);
        }
        // read again, it grows by as little as before
        let last = |tree: &Tree| {
            let mut tree = tree.clone();
            let first = tree.put(&[entry(60, 0)]);
            tree.nodes(first, end).bytes
        };
        let root = *tree.levels.last().unwrap().first().unwrap();
        let again = Tree::read(&file, root, &chunk, 4, end).unwrap();
        assert_eq!(again.levels, tree.levels);
        assert_eq!(last(&again), last(&tree));
        assert!(last(&again).len() <= 2 * tree.levels.len() * tree.node());
        assert_eq!(tree.row(7).count(), 2);
        assert!(tree.levels.len() > 2);
        assert!(Tree::read(&file, 11, &chunk, 4, end).is_err());
        assert!(Tree::read(&file, end, &chunk, 4, end).is_err());
    }

    /// A file with one tree of two levels, and where its nodes lie.
    fn grown() -> (File, Tree, Vec<Vec<u64>>, u64) {
        let file = tempfile::tempfile().unwrap();
        let mut tree = Tree::read(&file, NOWHERE, &[2, 5], 4, 0).unwrap();
        let entries: Vec<Entry> = (0..14).map(|step| entry(step, 0)).collect();
        let first = tree.put(&entries);
        let nodes = tree.nodes(first, 0);
        file.write_all_at(&nodes.bytes, 0).unwrap();
        let end = nodes.bytes.len() as u64;
        tree.written(nodes);
        let levels = tree.levels.clone();
        (file, tree, levels, end)
    }

    #[test]
    fn damage_is_refused_and_ends() {
        let (file, tree, levels, end) = grown();
        assert_eq!(levels.iter().map(Vec::len).collect::<Vec<_>>(), [4, 1]);
        let root = levels[1][0];
        let step = (tree.key() + 8) as u64;
        let child = |at: u64| root + 24 + at * step + step - 8;
        let read = |file: &File| Tree::read(file, root, &[2, 5], 4, end);
        assert_eq!(read(&file).unwrap().entries, tree.entries);
        let spoiled = |at: u64, bytes: &[u8]| {
            let mut old = vec![0; bytes.len()];
            file.read_exact_at(&mut old, at).unwrap();
            file.write_all_at(bytes, at).unwrap();
            let error = read(&file).unwrap_err();
            file.write_all_at(&old, at).unwrap();
            error.to_string()
        };
        // one leaf again and again, the root below itself, nowhere, none, too many, and empty ones
        assert!(spoiled(child(2), &levels[0][0].to_le_bytes()).contains("out of order"));
        assert!(spoiled(child(2), &root.to_le_bytes()).contains("is none"));
        assert!(spoiled(child(2), &NOWHERE.to_le_bytes()).contains("the file ends"));
        assert!(spoiled(levels[0][1], b"BEET").contains("is none"));
        assert!(spoiled(levels[0][1] + 6, &[5, 0]).contains("is none"));
        assert!(spoiled(levels[0][1] + 6, &[0, 0]).contains("is none"));
        assert!(spoiled(levels[0][1] + 24 + 8, &[3]).contains("within another"));
        assert_eq!(read(&file).unwrap().entries, tree.entries);
    }

    /// As the library leaves them behind: the nodes are written anew, filled.
    #[test]
    fn nodes_that_are_not_full_are_not_kept() {
        let (file, _, levels, end) = grown();
        file.write_all_at(&[3, 0], levels[0][1] + 6).unwrap();
        let tree = Tree::read(&file, levels[1][0], &[2, 5], 4, end).unwrap();
        assert_eq!((tree.entries.len(), tree.levels.len()), (13, 0));
        let nodes = tree.nodes(tree.entries.len(), end);
        assert_eq!(nodes.bytes.len(), 5 * tree.node());
    }
}
