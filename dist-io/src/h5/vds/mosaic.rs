//! [`Mosaic`]: an array in C order whose elements lie in blocks of several files.
//!
//! ```text
//! bytes of the array, C order     0 ……………………………………………… n
//!                                 └ rows of block 0 ┘└ of 1 ┘└ of 0 ┘…
//! files                           x/0.h5             x/1.h5
//! ```
//!
//! To whoever reads or writes, it is one file whose elements lie in one piece: plans are carried out on it as on any other.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use dist_comm::agree::agree;
use dist_comm::{CommError, Communicator, Operation, SharedFile};
use serde::{Deserialize, Serialize};

use super::super::ByteOrder;
use super::block::{Block, strides};
use crate::identity::Identity;

/// Files that are kept open at most.
const OPEN_FILES: usize = 64;

/// A block of the array, and where its elements lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(in crate::h5) struct Piece {
    /// The path of the file.
    pub(in crate::h5) file: Vec<u8>,
    /// Byte of the file at which the block's first element lies.
    pub(in crate::h5) offset: u64,
    /// Elements of the file between neighbours along each dimension of the array.
    pub(in crate::h5) strides: Vec<u64>,
    pub(in crate::h5) byte_order: ByteOrder,
    pub(in crate::h5) target: Block,
    /// The file that was looked at, where one was: no other one is read.
    pub(in crate::h5) identity: Option<Identity>,
}

impl Piece {
    /// A block that lies in one piece, in this machine's byte order.
    pub(in crate::h5) fn dense(file: &Path, offset: u64, target: Block) -> Self {
        Self {
            file: file.as_os_str().as_bytes().to_vec(),
            offset,
            strides: strides(&target.shape),
            byte_order: ByteOrder::NATIVE,
            target,
            identity: None,
        }
    }

    pub(in crate::h5) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.file))
    }
}

/// An array whose elements lie in pieces. Every element of the array that is read or written lies in exactly one of them.
#[derive(Debug)]
pub(in crate::h5) struct Mosaic {
    shape: Vec<u64>,
    strides: Vec<u64>,
    /// Bytes an element, and bytes a number in it, which is what has a byte order.
    item: usize,
    word: usize,
    tiles: Vec<Tile>,
    writes: bool,
    state: Mutex<State>,
    /// Whether a file was gone, or another one than was looked at.
    changed: AtomicBool,
}

/// A piece, and how far its elements are neighbours in the array and in its file.
#[derive(Debug)]
struct Tile {
    piece: Piece,
    /// Elements are neighbours in both along this dimension and all after it; the number of dimensions where along none.
    inner: usize,
}

/// What is remembered between calls.
#[derive(Debug)]
struct State {
    open: HashMap<usize, Arc<File>>,
    /// The piece that was used last, and for every piece the one that came after it: most likely it does again.
    last: usize,
    after: Vec<usize>,
}

/// Elements that are neighbours in the array and in a file.
struct Segment {
    tile: usize,
    /// Byte of the file.
    offset: u64,
    elements: u64,
}

impl Mosaic {
    /// An array of this shape, `item` bytes an element of numbers of `word` bytes; the product fits 63 bits.
    pub(in crate::h5) fn new(
        shape: &[u64],
        (item, word): (usize, usize),
        pieces: Vec<Piece>,
        writes: bool,
    ) -> Self {
        let after = (1..=pieces.len()).collect();
        let tile = |piece: Piece| Tile {
            inner: inner(shape, &piece),
            piece,
        };
        Self {
            strides: strides(shape),
            shape: shape.to_vec(),
            item,
            word,
            tiles: pieces.into_iter().map(tile).collect(),
            writes,
            state: Mutex::new(State {
                open: HashMap::new(),
                last: 0,
                after,
            }),
            changed: AtomicBool::new(false),
        }
    }

    /// With the file of the only piece, which is open already.
    pub(in crate::h5) fn holding(mut self, file: File) -> Self {
        let state = self.state.get_mut();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        state.open.insert(0, Arc::new(file));
        self
    }

    /// Whether a file that was looked at was gone when it was to be read, or another one.
    pub(in crate::h5) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// Bytes of the whole array.
    fn bytes(&self) -> u64 {
        self.shape.iter().fold(self.item as u64, |bytes, &extent| {
            bytes.saturating_mul(extent)
        })
    }

    /// Fills `buf` with whole elements from byte `offset` of the array on, in this machine's byte order.
    pub(in crate::h5) fn read(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let mut left = buf;
        self.walk(offset, left.len() as u64, &mut |file, tile, at, len| {
            let (piece, rest) = std::mem::take(&mut left).split_at_mut(len);
            left = rest;
            file.read_exact_at(piece, at)
                .map_err(|error| named(tile, &error))?;
            if tile.byte_order != ByteOrder::NATIVE {
                piece.chunks_exact_mut(self.word).for_each(<[u8]>::reverse);
            }
            Ok(())
        })
    }

    /// Writes whole elements from byte `offset` of the array on.
    pub(in crate::h5) fn write(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        let mut left = buf;
        self.walk(offset, left.len() as u64, &mut |file, tile, at, len| {
            let (piece, rest) = left.split_at(len);
            left = rest;
            file.write_all_at(piece, at)
                .map_err(|error| named(tile, &error))
        })
    }

    /// Fills `buf` with a block of the array, in C order, by so many threads, this one among them.
    pub(in crate::h5) fn read_block(
        &self,
        block: &Block,
        buf: &mut [u8],
        threads: usize,
    ) -> io::Result<()> {
        if block.is_empty() {
            return Ok(());
        }
        let rows = Rows::of(self, block);
        let share = (buf.len() / self.item).div_ceil(threads.max(1)) * self.item;
        let read = |number: usize, mut part: &mut [u8]| {
            let mut at = number * share;
            while !part.is_empty() {
                let (row, before) = (at / rows.run, at % rows.run);
                let len = part.len().min(rows.run - before);
                let (bytes, rest) = part.split_at_mut(len);
                self.read(rows.offset(row) + before as u64, bytes)?;
                (at, part) = (at + len, rest);
            }
            Ok(())
        };
        let parts = Mutex::new(buf.chunks_mut(share.max(1)).enumerate());
        let next = || {
            let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
            parts.next()
        };
        let failed = Mutex::new(Ok(()));
        let worker = || {
            while let Some((number, part)) = next() {
                if let Err(error) = read(number, part) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..threads {
                // where there is no thread to be had, the others do its work
                if thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                    break;
                }
            }
            worker();
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was opened to be written is on the device when it returns.
    fn sync(&self) -> io::Result<()> {
        if !self.writes {
            return Ok(());
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.values().try_for_each(|file| file.sync_all())
    }

    /// Hands over bytes of the array as bytes of files, in order.
    fn walk(
        &self,
        offset: u64,
        len: u64,
        each: &mut dyn FnMut(&File, &Piece, u64, usize) -> io::Result<()>,
    ) -> io::Result<()> {
        let item = self.item as u64;
        let (mut at, mut left) = (offset / item, len / item);
        while left > 0 {
            let (segment, file) = {
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                let segment = self.segment(&mut state, at).ok_or_else(|| {
                    io::Error::new(
                        io::ErrorKind::NotFound,
                        format!("element {at} lies in no part"),
                    )
                })?;
                let file = self.open(&mut state, segment.tile)?;
                (segment, file)
            };
            let elements = segment.elements.min(left);
            // no more than a buffer that is there
            let bytes = usize::try_from(elements * item).unwrap_or(usize::MAX);
            each(
                &file,
                &self.tiles[segment.tile].piece,
                segment.offset,
                bytes,
            )?;
            at += elements;
            left -= elements;
        }
        Ok(())
    }

    /// The elements from a flat index on that are neighbours in the array and in a file.
    fn segment(&self, state: &mut State, flat: u64) -> Option<Segment> {
        let mut index = Vec::with_capacity(self.shape.len());
        let mut rest = flat;
        for &stride in &self.strides {
            // an array without elements has strides of 0
            index.push(rest.checked_div(stride)?);
            rest %= stride;
        }
        let tile = self.tile_of(state, &index)?;
        let Tile { piece, inner } = &self.tiles[tile];
        let inside: Vec<u64> = index
            .iter()
            .zip(&piece.target.start)
            .map(|(at, start)| at - start)
            .collect();
        let elements = match self.strides.get(*inner) {
            Some(stride) => {
                let run = piece.target.shape[*inner] * stride;
                let before: u64 = inside[*inner..]
                    .iter()
                    .zip(&self.strides[*inner..])
                    .map(|(at, stride)| at * stride)
                    .sum();
                run - before
            }
            None => 1,
        };
        let source: u64 = inside
            .iter()
            .zip(&piece.strides)
            .map(|(at, stride)| at * stride)
            .sum();
        Some(Segment {
            tile,
            offset: piece.offset + source * self.item as u64,
            elements,
        })
    }

    /// The piece in which an element lies.
    fn tile_of(&self, state: &mut State, index: &[u64]) -> Option<usize> {
        let holds = |tile: usize| {
            self.tiles
                .get(tile)
                .is_some_and(|tile| tile.piece.target.contains(index))
        };
        let last = state.last;
        if holds(last) {
            return Some(last);
        }
        let next = state.after.get(last).copied().unwrap_or(0);
        let found = if holds(next) {
            next
        } else {
            let found = (0..self.tiles.len()).find(|&tile| holds(tile))?;
            if let Some(after) = state.after.get_mut(last) {
                *after = found;
            }
            found
        };
        state.last = found;
        Some(found)
    }

    fn open(&self, state: &mut State, tile: usize) -> io::Result<Arc<File>> {
        if let Some(file) = state.open.get(&tile) {
            return Ok(Arc::clone(file));
        }
        let piece = &self.tiles[tile].piece;
        let file = self.open_piece(piece).map_err(|error| {
            if piece.identity.is_some() && error.kind() == io::ErrorKind::NotFound {
                self.changed.store(true, Ordering::Relaxed);
            }
            named(piece, &error)
        })?;
        if state.open.len() >= OPEN_FILES {
            if self.writes {
                state.open.values().try_for_each(|file| file.sync_all())?;
            }
            state.open.clear();
        }
        let file = Arc::new(file);
        state.open.insert(tile, Arc::clone(&file));
        Ok(file)
    }

    fn open_piece(&self, piece: &Piece) -> io::Result<File> {
        let file = OpenOptions::new()
            .read(true)
            .write(self.writes)
            .open(piece.path())?;
        if let Some(identity) = &piece.identity
            && Identity::of(&file.metadata()?) != *identity
        {
            let message = "it is another file than was looked at";
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        }
        Ok(file)
    }
}

/// The runs of a block: as many elements as are neighbours in the array.
struct Rows<'a> {
    block: &'a Block,
    strides: &'a [u64],
    item: u64,
    /// The dimensions whose indices tell a run.
    outer: usize,
    /// Bytes of a run.
    run: usize,
}

impl<'a> Rows<'a> {
    fn of(mosaic: &'a Mosaic, block: &'a Block) -> Self {
        let ndim = mosaic.shape.len();
        let whole = (0..ndim)
            .rev()
            .take_while(|&axis| block.shape[axis] == mosaic.shape[axis]);
        let outer = (ndim - whole.count()).saturating_sub(1);
        let run: u64 = block.shape[outer..].iter().product();
        let run = usize::try_from(run).unwrap_or(usize::MAX);
        Self {
            block,
            strides: &mosaic.strides,
            item: mosaic.item as u64,
            outer,
            run: run.saturating_mul(mosaic.item),
        }
    }

    /// The byte of the array at which a run begins.
    fn offset(&self, number: usize) -> u64 {
        let Block { start, shape } = self.block;
        let inner = start.iter().zip(self.strides).skip(self.outer);
        let mut flat: u64 = inner.map(|(at, stride)| at * stride).sum();
        let mut rest = number as u64;
        for axis in (0..self.outer).rev() {
            flat += (start[axis] + rest % shape[axis]) * self.strides[axis];
            rest /= shape[axis];
        }
        flat * self.item
    }
}

/// The first of the dimensions along which elements are neighbours in the array and in the piece's file alike.
fn inner(shape: &[u64], piece: &Piece) -> usize {
    let mut run = 1_u64;
    let mut inner = shape.len();
    for axis in (0..shape.len()).rev() {
        let extent = piece.target.shape[axis];
        if extent > 1 && piece.strides[axis] != run {
            break;
        }
        inner = axis;
        if extent != shape[axis] {
            break;
        }
        run = run.saturating_mul(extent);
    }
    inner
}

fn named(piece: &Piece, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", piece.path().display()))
}

/// A [`Mosaic`] as a file that all ranks read or write.
pub(in crate::h5) struct MosaicFile<'c, C: ?Sized> {
    comm: &'c C,
    mosaic: &'c Mosaic,
    path: &'c Path,
}

impl<'c, C: Communicator + ?Sized> MosaicFile<'c, C> {
    /// `path` is what errors name.
    pub(in crate::h5) fn new(comm: &'c C, path: &'c Path, mosaic: &'c Mosaic) -> Self {
        Self { comm, mosaic, path }
    }

    fn failure(&self, operation: Operation, rank: usize, message: String) -> CommError {
        CommError::File {
            operation,
            rank,
            path: self.path.to_owned(),
            message,
        }
    }

    fn local(&self, operation: Operation, outcome: io::Result<()>) -> Result<(), CommError> {
        let rank = self.comm.rank();
        outcome.map_err(|error| self.failure(operation, rank, error.to_string()))
    }

    fn all(&self, operation: Operation, outcome: io::Result<()>) -> Result<(), CommError> {
        let agreed = agree(self.comm, outcome);
        agreed.map_err(|agreed| self.failure(operation, agreed.rank, agreed.cause))
    }
}

impl<C: Communicator + ?Sized> SharedFile for MosaicFile<'_, C> {
    fn len(&self) -> Result<u64, CommError> {
        Ok(self.mosaic.bytes())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError> {
        self.local(Operation::FileRead, self.mosaic.read(offset, buf))
    }

    fn write_at(&self, offset: u64, buf: &[u8]) -> Result<(), CommError> {
        self.local(Operation::FileWrite, self.mosaic.write(offset, buf))
    }

    fn read_at_all(&self, offset: u64, buf: &mut [u8]) -> Result<(), CommError> {
        self.all(Operation::FileRead, self.mosaic.read(offset, buf))
    }

    fn write_at_all(&self, offset: u64, buf: &[u8]) -> Result<(), CommError> {
        self.all(Operation::FileWrite, self.mosaic.write(offset, buf))
    }

    fn set_len(&self, _: u64) -> Result<(), CommError> {
        // the same on every rank, whatever they ask for
        let message = "the length of an array in parts is that of its shape".to_owned();
        Err(self.failure(Operation::FileSetLen, 0, message))
    }

    fn sync(&self) -> Result<(), CommError> {
        self.all(Operation::FileSync, self.mosaic.sync())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 3 x 6 array of single bytes: columns 0..2 in one file, the others, in rows of 5, in another.
    fn two_files(folder: &Path) -> Mosaic {
        std::fs::write(folder.join("a"), [0, 1, 6, 7, 12, 13]).unwrap();
        std::fs::write(
            folder.join("b"),
            [9, 2, 3, 4, 5, 9, 8, 9, 10, 11, 9, 14, 15, 16, 17],
        )
        .unwrap();
        let left = Piece::dense(&folder.join("a"), 0, Block::new(vec![0, 0], vec![3, 2]));
        let right = Piece {
            strides: vec![5, 1],
            ..Piece::dense(&folder.join("b"), 1, Block::new(vec![0, 2], vec![3, 4]))
        };
        Mosaic::new(&[3, 6], (1, 1), vec![left, right], false)
    }

    #[test]
    fn bytes_are_found_across_files() {
        let folder = tempfile::tempdir().unwrap();
        let mosaic = two_files(folder.path());
        for start in 0..18_u8 {
            for end in start..=18 {
                let mut buf = vec![99; usize::from(end - start)];
                mosaic.read(u64::from(start), &mut buf).unwrap();
                assert_eq!(buf, (start..end).collect::<Vec<_>>());
            }
        }
        let mut buf = [0; 6];
        let middle = Block::new(vec![1, 1], vec![2, 3]);
        for threads in 0..4 {
            buf.fill(0);
            mosaic.read_block(&middle, &mut buf, threads).unwrap();
            assert_eq!(buf, [7, 8, 9, 13, 14, 15]);
        }
        let mut buf = [0; 12];
        let rows = Block::new(vec![1, 0], vec![2, 6]);
        mosaic.read_block(&rows, &mut buf, 2).unwrap();
        assert_eq!(buf, [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
        assert!(mosaic.read(12, &mut [0; 7]).is_err());
    }

    #[test]
    fn one_run_where_neighbours_are_neighbours() {
        let piece = |strides: &[u64], start: &[u64], shape: &[u64]| Piece {
            strides: strides.to_vec(),
            ..Piece::dense(
                Path::new("a"),
                0,
                Block::new(start.to_vec(), shape.to_vec()),
            )
        };
        assert_eq!(inner(&[4, 6], &piece(&[6, 1], &[2, 0], &[2, 6])), 0);
        assert_eq!(inner(&[4, 6], &piece(&[3, 1], &[0, 3], &[4, 3])), 1);
        assert_eq!(inner(&[4, 6], &piece(&[1, 4], &[0, 0], &[4, 6])), 2);
        assert_eq!(inner(&[4, 6], &piece(&[7, 1], &[2, 0], &[2, 6])), 1);
        assert_eq!(inner(&[4, 6], &piece(&[7, 1], &[2, 0], &[1, 6])), 0);
        assert_eq!(inner(&[], &piece(&[], &[], &[])), 0);
    }
}
